//! Plans by statement text: one cache for the server, and a small one in front of it in each session.
//!
//! # Invariants
//! 1. A plan is used only while the catalogue's version is the one it was made under; the text's fingerprint, the current database,
//!    the modes and the collation of literals are part of its key.
//! 2. A hit in a session's own cache writes nothing shared: the plan is taken out while it runs, and put back.
//! 3. What is kept is bounded by its bytes, as the allocator counted them when the plan was made.
//! 4. A plan whose estimates rest on the time or on variables is used for [`DRIFTS_MICROS_MAX`]; others as long as their tables are of about the same size. (What
//!    it reads never rests on an estimate: bounds are evaluated by each run.)
//! 5. A plan that rests on what indexes tell of its parameters is asked before each run whether they tell about as much of the values at hand
//!    (`ClientSession::suits_values`), and made anew where they do not. Short plans are not asked: for a few rows there is no other way.
//!
//! A session looks first whether the text is one it has run before, but for its literals (`OwnTexts`); only otherwise the text is read and hashed.

use crate::context::{Core, Settings, UserVariables, variable_type};
use crate::temporary::Changed;
use executor::StatementContext;
use parser::{LiftedLiteral, SqlMode, Template};
use planner::Plan;
use protocol::ColumnBlock;
use std::sync::Arc;
use sync::atomic::{AtomicBool, Ordering};
use sync::{CachePadded, Rank, RwLock};

impl AsRef<Plan> for CachedPlan {
    fn as_ref(&self) -> &Plan {
        &self.plan
    }
}

impl CachedPlan {
    /// Whether it was made under these settings, which a prepared statement obeys as they are when it runs.
    pub(crate) fn suits(&self, settings: &Settings) -> bool {
        self.select_limit == settings.select_limit
            && self.max_join_size == settings.max_join_size
            && self.switches == settings.switches
            && self.plan.safe_updates == settings.safe_updates
            && self.temporary == settings.temporary
            && self.results == settings.charsets.results
    }
}

/// What a plan was made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlanKey {
    /// Fingerprint of the text.
    pub text: u128,
    /// Hash of database, modes and collation.
    pub environment: u64,
}

/// A plan, ready to run again and again.
pub struct CachedPlan {
    /// The plan.
    pub plan: Plan,
    /// The head of its result.
    pub columns: ColumnBlock,
    /// A number that no other plan has.
    pub serial: u64,
    /// [`catalog::Catalog::version`] when it was made.
    pub catalog_version: u64,
    /// When the statement began that it was made for, in microseconds since the epoch, if that counts.
    pub made_micros: i64,
    /// It suits those values of its parameters of which indexes tell about as much as when it was made ([`Plan::suits_values`]); otherwise, all.
    pub rests_on_values: bool,
    /// It was chosen without knowing the parameters' values, which could have led to a better one: good until the first execution.
    pub provisional: bool,
    /// It is a prepared statement's: what it is warned of was said by PREPARE.
    pub prepared: bool,
    /// `sql_select_limit` when it was made.
    pub select_limit: u64,
    /// `max_join_size` when it was made.
    pub max_join_size: u64,
    /// `optimizer_switch` when it was made.
    pub switches: planner::switches::Switches,
    /// `character_set_results` when it was made, by its collation: the head of its result is written for that.
    pub results: Option<types::Collation>,
    /// What its rows are written in: that, or as they are inside where no column needs another form.
    pub written_in: Option<types::Charset>,
    /// It reads or writes tables, those computed of the dictionary included: it is part of a transaction.
    pub uses_tables: bool,
    /// What it writes, or locks rows of exclusively.
    pub changed: Changed,
    /// What the session's temporary tables made of names when it was made: [`Settings::temporary`].
    pub temporary: u64,
    /// What it asks of admission.
    pub work: admission::Work,
    /// Its statement may wait for a row without a thread (`left.rs`).
    pub may_be_left: bool,
    /// What its runs count for, beside being statements.
    pub shape: Option<Box<planner::shape::Shape>>,
    /// The text it was made for, to recognise texts like it.
    pub template: Option<Template>,
    /// That text, where it is a prepared statement's: those who prepare the same share it.
    pub text: Option<Arc<[u8]>>,
    /// Bytes of the text it was made for.
    pub text_bytes: usize,
    /// Bytes that making it took and did not give back.
    pub bytes: usize,
    /// Somebody has taken it from the shared cache since that looked for plans to give up. (Relaxed: advice.)
    pub used: AtomicBool,
}

impl CachedPlan {
    /// Whether it may be run: made under this catalogue version, for tables of about this size, and for about this time if that counts.
    #[inline]
    pub(crate) fn is_fresh(&self, catalog_version: u64, core: &Core) -> bool {
        self.catalog_version == catalog_version && !self.plan.is_outgrown() && !(self.plan.drifts && self.is_past(core))
    }

    /// Whether the time that it was made for is over.
    #[cold]
    fn is_past(&self, core: &Core) -> bool {
        core.statement_micros().abs_diff(self.made_micros) > DRIFTS_MICROS_MAX
    }

    /// Whether a prepared statement may be run by it as it is.
    #[inline]
    pub(crate) fn is_ready(&self, catalog_version: u64, core: &Core) -> bool {
        self.is_fresh(catalog_version, core) && !self.provisional && self.suits(&core.settings)
    }

    /// Whether user variables are of the types that it was made for.
    #[inline]
    pub(crate) fn knows(&self, variables: &UserVariables) -> bool {
        let has_type = |(name, ty): &(Box<str>, _)| variable_type(variables.get(name)) == *ty;
        self.plan.user_variables.is_empty() || self.plan.user_variables.iter().all(has_type)
    }
}

/// How long a plan is good whose estimates rest on the time, or on variables.
const DRIFTS_MICROS_MAX: u64 = 60_000_000;

const SHARDS: usize = 64;
/// Bytes of a shard's plans; 128 MiB for all. When there are more, those that nobody has used lately go, and half of the rest if need be.
const SHARD_BYTES_MAX: usize = 2 << 20;
/// Longest text whose plan is kept.
pub const TEXT_BYTES_MAX: usize = 1 << 20;
/// Longest text whose plan a session keeps for itself.
const OWN_TEXT_BYTES_MAX: usize = 16 << 10;
/// Largest such plan: those of long lists are the server's only.
const OWN_PLAN_BYTES_MAX: usize = 128 << 10;

#[derive(Default)]
struct Shard {
    plans: hashbrown::HashMap<PlanKey, Arc<CachedPlan>, foldhash::fast::FixedState>,
    bytes: usize,
}

impl Shard {
    /// Makes room for so many bytes.
    #[cold]
    fn make_room(&mut self, bytes: usize) {
        let wanted = SHARD_BYTES_MAX.saturating_sub(bytes);
        let held = &mut self.bytes;
        self.plans.retain(|_, plan| {
            let keeps = plan.used.swap(false, Ordering::Relaxed);
            *held -= if keeps { 0 } else { plan.bytes };
            keeps
        });
        // All were used: each second one goes, so that what is used most is soon back.
        let mut goes = false;
        while *held > wanted && !self.plans.is_empty() {
            self.plans.retain(|_, plan| {
                goes = !goes && *held > wanted;
                *held -= if goes { plan.bytes } else { 0 };
                !goes
            });
        }
    }
}

/// The server's plans.
pub struct PlanCache {
    shards: Box<[CachePadded<RwLock<Shard>>]>,
}

impl PlanCache {
    /// An empty cache.
    pub fn new() -> PlanCache {
        PlanCache { shards: (0..SHARDS).map(|_| CachePadded::new(RwLock::new(Rank::Leaf, Shard::default()))).collect() }
    }

    fn shard(&self, key: &PlanKey) -> &RwLock<Shard> {
        &self.shards[key.text as usize % SHARDS]
    }

    /// The plan of a key, if it is of this catalogue version.
    pub(crate) fn get(&self, key: &PlanKey, catalog_version: u64, core: &Core) -> Option<Arc<CachedPlan>> {
        let shard = self.shard(key).read();
        let plan = shard.plans.get(key).filter(|plan| plan.is_fresh(catalog_version, core) && plan.knows(&core.user_variables))?;
        if !plan.used.load(Ordering::Relaxed) {
            plan.used.store(true, Ordering::Relaxed);
        }
        Some(Arc::clone(plan))
    }

    /// Keeps a plan.
    pub fn put(&self, key: PlanKey, plan: &Arc<CachedPlan>) {
        if plan.text_bytes > TEXT_BYTES_MAX || plan.bytes > SHARD_BYTES_MAX / 2 {
            return;
        }
        // The server's from now on, and not the statement's that has made it.
        memory::transfer(plan.bytes as i64);
        let mut guard = self.shard(&key).write();
        let shard = &mut *guard;
        if let Some(old) = shard.plans.remove(&key) {
            shard.bytes -= old.bytes;
        }
        if shard.bytes + plan.bytes > SHARD_BYTES_MAX {
            shard.make_room(plan.bytes);
        }
        shard.bytes += plan.bytes;
        shard.plans.insert(key, Arc::clone(plan));
    }

    /// Bytes of the plans held.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.read().bytes as u64).sum()
    }

    /// Plans held.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.read().plans.len()).sum()
    }

    /// Whether none is held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Default for PlanCache {
    fn default() -> Self {
        Self::new()
    }
}

/// Slots of a session's own cache.
const OWN_SLOTS: usize = 32;

/// A session's own plans, found by one look.
#[derive(Default)]
pub struct OwnPlans {
    slots: Vec<Option<(PlanKey, Arc<CachedPlan>)>>,
}

impl OwnPlans {
    fn slot(key: &PlanKey) -> usize {
        (key.text as usize ^ key.environment as usize) % OWN_SLOTS
    }

    /// Takes the plan of a key out, if it is fresh.
    #[inline]
    pub(crate) fn take(&mut self, key: &PlanKey, catalog_version: u64, core: &Core) -> Option<Arc<CachedPlan>> {
        let slot = self.slots.get_mut(Self::slot(key))?;
        let may_run = |plan: &CachedPlan| plan.is_fresh(catalog_version, core) && plan.knows(&core.user_variables);
        slot.take_if(|(of, plan)| of == key && may_run(plan)).map(|(_, plan)| plan)
    }

    /// Keeps a plan.
    #[inline]
    pub fn put(&mut self, key: PlanKey, plan: Arc<CachedPlan>) {
        if plan.text_bytes > OWN_TEXT_BYTES_MAX || plan.bytes > OWN_PLAN_BYTES_MAX {
            return;
        }
        if self.slots.is_empty() {
            self.slots.resize_with(OWN_SLOTS, || None);
        }
        self.slots[Self::slot(&key)] = Some((key, plan));
    }
}

/// First bytes of a text by which its template is looked for. A literal among them makes a text hard to find again.
const HEAD_BYTES: usize = 24;
const QUOTE: u8 = b'\'';
/// Texts that are longer, and begin alike, are told apart by their commas: they may differ in the length of a list, of which a client has many (`IN (…)`, rows of an INSERT).
const LIST_BYTES_MIN: usize = 64;
const TEXT_SETS: usize = 32;
/// Texts of a set: those that begin alike are all in one, but for those with other lists.
const TEXT_WAYS: usize = 4;

/// Not 0 where a byte of a word is a quotation mark.
#[inline]
fn quotes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let others = word ^ (QUOTE as u64 * ONES);
    others.wrapping_sub(ONES) & !others & (ONES << 7)
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// Where in [`OwnTexts`] a plan was taken from.
#[derive(Debug, Clone, Copy)]
pub struct TextPlace {
    at: usize,
    by: u64,
}

/// A session's plans by their templates.
#[derive(Default)]
pub struct OwnTexts {
    /// Sets of [`TEXT_WAYS`], newest first: hash of a text's head and of the session's environment, and the plan.
    plans: Vec<Option<(u64, Arc<CachedPlan>)>>,
}

impl OwnTexts {
    /// Hash of the head of a text, which ends before the first string; `None` for one that is too short.
    #[inline]
    fn head(sql: &[u8], environment: u64) -> Option<u64> {
        let head = sql.first_chunk::<HEAD_BYTES>()?;
        let [one, two, three] = *head.as_chunks::<8>().0 else { return None };
        let (one, two, three) = (u64::from_le_bytes(one), u64::from_le_bytes(two), u64::from_le_bytes(three));
        if quotes(one) | quotes(two) | quotes(three) != 0 {
            return Some(Self::head_before_string(head, environment));
        }
        Some(mix(mix(mix(environment, one), two), three))
    }

    /// What is behind the first quotation mark counts as nothing.
    #[inline(never)]
    fn head_before_string(head: &[u8; HEAD_BYTES], environment: u64) -> u64 {
        let mut before = [0; HEAD_BYTES];
        let length = head.iter().position(|&byte| byte == QUOTE).unwrap_or(HEAD_BYTES);
        before[..length].copy_from_slice(&head[..length]);
        before.as_chunks::<8>().0.iter().fold(environment, |hash, word| mix(hash, u64::from_le_bytes(*word)))
    }

    /// By what else a text is looked for: its head, and its list.
    #[inline]
    fn listed(head: u64, sql: &[u8]) -> u64 {
        if sql.len() < LIST_BYTES_MIN {
            return head;
        }
        mix(head, parser::commas(sql).into())
    }

    /// By what a text is kept that has this template: by its list, unless that cannot be told from commas in its strings.
    fn kept_by(sql: &[u8], template: &Template, environment: u64) -> Option<u64> {
        let head = Self::head(template.text(), environment)?;
        Some(if parser::commas(sql) == template.commas() { Self::listed(head, sql) } else { head })
    }

    #[inline]
    fn set(head: u64) -> usize {
        head as usize % TEXT_SETS * TEXT_WAYS
    }

    /// Takes out the plan of a text like `sql`, whose literals are then in `literals`.
    #[inline]
    pub(crate) fn take(
        &mut self,
        sql: &[u8],
        mode: SqlMode,
        environment: u64,
        catalog_version: u64,
        core: &Core,
        literals: &mut Vec<LiftedLiteral>,
    ) -> Option<(TextPlace, Arc<CachedPlan>)> {
        let head = Self::head(sql, environment)?;
        let mut by = Self::listed(head, sql);
        loop {
            let set = Self::set(by);
            let ways = self.plans.get_mut(set..set + TEXT_WAYS)?;
            for (way, entry) in ways.iter_mut().enumerate() {
                let found = entry.take_if(|(of, plan)| {
                    *of == by
                        && plan.is_fresh(catalog_version, core)
                        && plan.knows(&core.user_variables)
                        && plan.template.as_ref().is_some_and(|template| template.matches(sql, mode, literals))
                });
                if let Some((_, plan)) = found {
                    return Some((TextPlace { at: set + way, by }, plan));
                }
            }
            if by == head {
                return None;
            }
            // A text with commas in its strings is found by its head alone.
            by = head;
        }
    }

    /// Puts a plan back that was taken out.
    #[inline]
    pub fn put_back(&mut self, place: TextPlace, plan: Arc<CachedPlan>) {
        self.plans[place.at] = Some((place.by, plan));
    }

    /// Keeps a plan for texts like this, which has just run by it.
    pub fn put(&mut self, sql: &[u8], environment: u64, plan: &Arc<CachedPlan>) {
        let Some(by) = plan.template.as_ref().and_then(|template| Self::kept_by(sql, template, environment)) else { return };
        if self.plans.is_empty() {
            self.plans.resize_with(TEXT_SETS * TEXT_WAYS, || None);
        }
        let set = Self::set(by);
        let ways = &mut self.plans[set..set + TEXT_WAYS];
        if ways.iter().flatten().any(|(of, known)| *of == by && Arc::ptr_eq(known, plan)) {
            // The text is written otherwise than the plan's own.
            return;
        }
        let free = ways.iter().position(Option::is_none).unwrap_or(TEXT_WAYS - 1);
        ways[..=free].rotate_right(1);
        ways[0] = Some((by, Arc::clone(plan)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_tell_texts_and_environments_apart() {
        let head = |sql: &str, environment| OwnTexts::head(sql.as_bytes(), environment);
        assert_eq!(head("SELECT 1", 1), None);
        let (one, other) = ("SELECT c FROM sbtest1 WHERE id=1", "SELECT c FROM sbtest2 WHERE id=1");
        assert_eq!(head(one, 1), head("SELECT c FROM sbtest1 WHERE id=22", 1));
        assert_ne!(head(one, 1), head(other, 1));
        assert_ne!(head(one, 1), head(one, 2));
    }

    #[test]
    fn heads_end_before_the_first_string() {
        let head = |sql: &str| OwnTexts::head(sql.as_bytes(), 1).expect("long enough");
        let texts = |value: &str| {
            [
                format!("UPDATE sbtest1 SET c='{value}'"),
                format!("SELECT '{value}', 1 FROM sbtest1"),
                format!("DO           '{value}{value}'"),
            ]
        };
        for (one, other) in texts("0123456789").iter().zip(texts("'x-9876543")) {
            assert_eq!(head(one), head(&other), "{one}, {other}");
        }
        assert_ne!(head("UPDATE sbtest1 SET c='0'  "), head("UPDATE sbtest1 SET d='0'  "));
        assert_ne!(head("SELECT 'a' FROM sbtest1 "), head("SELECU 'a' FROM sbtest1 "));
    }

    #[test]
    fn lists_are_told_apart_by_their_commas_unless_strings_have_some() {
        let template = |sql: &[u8]| {
            let mut literals = Vec::new();
            parser::fingerprint(sql, SqlMode::default(), &mut literals);
            Template::new(sql, &literals).expect("a text like others")
        };
        let kept_by = |sql: &str, like: &str| OwnTexts::kept_by(sql.as_bytes(), &template(like.as_bytes()), 1);
        let looked_for_by = |sql: &str| {
            let head = OwnTexts::head(sql.as_bytes(), 1).expect("long enough");
            [OwnTexts::listed(head, sql.as_bytes()), head].map(Some)
        };
        let insert = "INSERT INTO order_line (ol_o_id, ol_number, ol_dist_info) VALUES ";
        let (one, two) = (format!("{insert}(1,2,'a')"), format!("{insert}(1,2,'a'),(1,3,'b')"));
        assert_ne!(kept_by(&one, &one), kept_by(&two, &two));
        let commas = format!("{insert}(1,2,'a, b, c')");
        for (sql, like) in [(&one, &one), (&two, &two), (&commas, &one), (&one, &commas), (&commas, &commas)] {
            assert!(looked_for_by(sql).contains(&kept_by(sql, like)), "{sql} like {like}");
        }
        assert_eq!(kept_by(&commas, &one), looked_for_by(&one)[1], "by its head alone, as any number of them may come");
    }
}
