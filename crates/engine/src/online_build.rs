//! Building secondary indexes while others write the table. Why it is right: `docs/design/online-index.md`.
//!
//! The rows are read as of a snapshot that was taken while nobody else had the table; meanwhile transactions note the keys of the rows that they change
//! (`changed_keys.rs`). Then, in rounds: a newer snapshot is taken, what was noted is taken out, and for each of those keys the entries as of the older
//! snapshot are replaced by those as of the newer one. The last round is run while nobody else has the table again.
//!
//! # Invariants
//! 1. The trees are nobody else's: no transaction, no purge and no recovery touches them before the dictionary names them.
//! 2. After the build, and after each round, the trees hold exactly the entries of the rows that the snapshot `seen` sees.
//! 3. What a round must look at was noted before: a transaction that the newer snapshot sees and the older one does not has noted its keys before it
//!    finished, so before the newer snapshot; and a key whose changers were not all seen is put back for the next round.
//! 4. Of a round all entries are removed before the first is added, so that two rows with one key in a unique index are two committed rows.

use crate::build::{BuildError, key_has_null};
use crate::changed_keys::{ChangedKeys, Changers};
use crate::engine::Engine;
use crate::key_sort::{KeySort, Keys};
use crate::session::{Isolation, Session};
use crate::table::{IndexSpec, Table, new_entry_value};
use crate::{Direction, Error, KeyRange, Read, Result, Step};
use btree::{BTree, Seek};
use lock_manager::Cancel;
use record::RowRef;
use std::sync::Arc;
use std::time::Instant;
use sync::atomic::{AtomicBool, Ordering};
use sync::{Mutex, Rank};

type BuildResult<T> = std::result::Result<T, BuildError>;

/// Rows, keys or entries between two looks at whether to stop.
const STRETCH: u64 = 256;

/// What a build may take.
#[derive(Clone)]
pub struct BuildLimits {
    /// Memory for the keys of changed rows (`innodb_online_alter_log_max_size`).
    pub changed_bytes_max: u64,
    /// Memory for sorting, of all indexes together.
    pub sort_bytes_max: usize,
    /// Where sorted runs go that have no room in memory. Without, all are kept in memory.
    pub directory: Option<Arc<spill::Directory>>,
}

/// What a build does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStage {
    /// Rows are read.
    Read,
    /// Keys are sorted and merged, and put into the trees.
    Fill,
    /// What was changed meanwhile is carried over.
    CatchUp,
    /// The same, while nobody else has the table.
    LastRound,
}

/// How far a build is, for others to look at.
#[derive(Debug)]
pub struct BuildProgress {
    stages: Mutex<Vec<StageLook>>,
}

/// A stage of a build.
#[derive(Debug, Clone, Copy)]
pub struct StageLook {
    /// Which.
    pub stage: BuildStage,
    /// Since when.
    pub begun: Instant,
    /// Until when.
    pub ended: Option<Instant>,
    /// Rows, entries or keys that are done.
    pub done: u64,
    /// Of so many, as far as is known.
    pub of: u64,
}

impl Default for BuildProgress {
    fn default() -> BuildProgress {
        BuildProgress { stages: Mutex::new(Rank::Leaf, Vec::new()) }
    }
}

impl BuildProgress {
    /// Begins a stage, or goes on with it.
    fn begin(&self, stage: BuildStage, of: u64) {
        let mut stages = self.stages.lock();
        match stages.last_mut() {
            Some(last) if last.stage == stage => {
                // What there was is done.
                last.done = last.of;
                last.of += of;
            }
            last => {
                let now = Instant::now();
                if let Some(last) = last {
                    last.finish(now);
                }
                stages.push(StageLook { stage, begun: now, ended: None, done: 0, of });
            }
        }
    }

    fn add(&self, done: u64) {
        if let Some(last) = self.stages.lock().last_mut() {
            last.done += done;
            last.of = last.of.max(last.done);
        }
    }

    /// The build has ended, one way or another.
    pub fn end(&self) {
        if let Some(last) = self.stages.lock().last_mut() {
            last.ended.get_or_insert_with(Instant::now);
        }
    }

    /// All stages so far; the last one is the one it is at.
    pub fn stages(&self) -> Vec<StageLook> {
        self.stages.lock().clone()
    }
}

impl StageLook {
    fn finish(&mut self, now: Instant) {
        self.of = self.of.max(self.done);
        if self.stage == BuildStage::Read {
            // The rows were guessed.
            self.of = self.done;
        }
        self.done = self.of;
        self.ended = Some(now);
    }
}

/// Indexes under construction beside writers.
pub struct OnlineBuild {
    /// Whose changes are noted.
    table: Arc<Table>,
    /// The same rows, read by the layouts of the new definition.
    reader: Arc<Table>,
    indexes: Vec<(IndexSpec, BTree)>,
    changed: Arc<ChangedKeys>,
    /// Holds the snapshot that the trees are of.
    seen: Session,
    /// Takes the newer one.
    newer: Session,
    limits: BuildLimits,
    progress: Arc<BuildProgress>,
    held: memory::Use,
    /// For the simulator: a key with an unseen changer is forgotten.
    pub(crate) forgets_unseen: AtomicBool,
}

impl Engine {
    /// Begins to note what changes in `table`, and takes the snapshot that its rows are read as of. The caller has the table alone, and lets others use it afterwards; `reader` is
    /// a view of it ([`Engine::table_view`]) that has its primary index only. `new` are empty trees.
    pub fn begin_online_build(
        self: &Arc<Engine>,
        table: &Arc<Table>,
        reader: Arc<Table>,
        new: Vec<IndexSpec>,
        limits: BuildLimits,
        progress: Arc<BuildProgress>,
    ) -> Result<OnlineBuild> {
        let mut seen = self.connect();
        seen.begin(Isolation::RepeatableRead, true);
        seen.ensure_view()?;
        let changed = Arc::new(ChangedKeys::new(limits.changed_bytes_max));
        let indexes = new.into_iter().map(|index| {
            let tree = BTree::open(&self.pool, &self.space, index.id, index.root);
            (index, tree)
        });
        let build = OnlineBuild {
            table: Arc::clone(table),
            reader,
            indexes: indexes.collect(),
            changed: Arc::clone(&changed),
            seen,
            newer: self.connect(),
            limits,
            progress,
            held: memory::Use::new(memory::Kind::Ddl, 0),
            forgets_unseen: AtomicBool::new(false),
        };
        table.watch.set(Some(changed));
        Ok(build)
    }
}

impl OnlineBuild {
    /// Fills the trees with the rows of the snapshot. Once, and before the first round.
    pub fn build(&mut self, cancel: &Cancel) -> BuildResult<()> {
        let count = self.indexes.len().max(1);
        let new_sort = || KeySort::new(self.limits.sort_bytes_max / count, self.limits.directory.clone());
        let mut sorts: Vec<KeySort> = self.indexes.iter().map(|_| new_sort()).collect();
        self.progress.begin(BuildStage::Read, self.reader.rows_estimate());
        self.read_rows(&mut sorts, cancel)?;
        let rows = self.progress.stages().last().map_or(0, |last| last.done);
        self.progress.begin(BuildStage::Fill, rows * self.indexes.len() as u64);
        for (no, sort) in sorts.into_iter().enumerate() {
            self.fill(no, sort, cancel)?;
        }
        self.held.resize(0);
        Ok(())
    }

    fn read_rows(&mut self, sorts: &mut [KeySort], cancel: &Cancel) -> BuildResult<()> {
        let OnlineBuild { seen, reader, indexes, progress, held, changed, .. } = self;
        let mut scan = seen.scan(reader, 0, KeyRange::all(), Direction::Forward, Read::Snapshot)?;
        loop {
            let (mut rows, mut failed) = (0, None);
            let mut key = Vec::new();
            let more = scan.for_each(|row, primary_key| {
                rows += 1;
                key.clear();
                primary_key.append_to(&mut key);
                for ((index, _), sort) in indexes.iter().zip(sorts.iter_mut()) {
                    if let Err(error) = sort.keys.push(row, &index.parts, &key) {
                        failed = Some(error);
                        return Step::Stop;
                    }
                }
                if rows == STRETCH { Step::Stop } else { Step::Continue }
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
            progress.add(rows);
            look_at(cancel, changed)?;
            for sort in sorts.iter_mut().filter(|sort| sort.is_full()) {
                sort.spill()?;
            }
            held.resize(sorts.iter().map(|sort| sort.keys.bytes()).sum::<u64>() + changed.bytes());
            if !more {
                return Ok(());
            }
        }
    }

    fn fill(&mut self, no: usize, sort: KeySort, cancel: &Cancel) -> BuildResult<()> {
        let (index, tree) = &self.indexes[no];
        let mut builder = tree.builder(base::TxnId::NONE)?;
        let (mut before, mut before_bytes, mut since_look) = (Vec::new(), 0, 0);
        let filled = sort.drain(|key, user_bytes| {
            if index.unique
                && !before.is_empty()
                && before[..before_bytes] == key[..user_bytes]
                && !key_has_null(&self.reader, &index.parts, &key[..user_bytes])?
            {
                return Err(Stopped::Duplicate(key[user_bytes..].to_vec()));
            }
            before.clear();
            before.extend_from_slice(key);
            before_bytes = user_bytes;
            builder.push(key, &new_entry_value(0, user_bytes)).map_err(Error::from)?;
            since_look += 1;
            if since_look == STRETCH {
                since_look = 0;
                self.progress.add(STRETCH);
                look_at(cancel, &self.changed).map_err(Stopped::Build)?;
            }
            Ok(())
        });
        match filled {
            Ok(()) => {
                builder.finish()?;
                Ok(())
            }
            Err(Stopped::Build(error)) => Err(error),
            Err(Stopped::Duplicate(primary_key)) => {
                drop(builder);
                let row = row_of(&mut self.seen, &self.reader, &primary_key)?;
                Err(BuildError::Duplicate { index_no: no, row })
            }
        }
    }

    /// Keys that wait for the next round.
    pub fn waiting(&self) -> u64 {
        self.changed.count()
    }

    /// One round: carries over what was changed since the last one, as far as it is committed. Returns how many keys it looked at.
    pub fn catch_up(&mut self, cancel: &Cancel) -> BuildResult<u64> {
        self.round(BuildStage::CatchUp, cancel)
    }

    /// The last round, while nobody else has the table, and no transaction that changed it is unfinished. From here on nothing is noted any more.
    pub fn finish(&mut self, cancel: &Cancel) -> BuildResult<u64> {
        let keys = self.round(BuildStage::LastRound, cancel)?;
        self.table.watch.set(None);
        if self.waiting() > 0 {
            // What is unfinished in spite of all would be missed.
            return Err(Error::LockWaitTimeout.into());
        }
        Ok(keys)
    }

    fn round(&mut self, stage: BuildStage, cancel: &Cancel) -> BuildResult<u64> {
        look_at(cancel, &self.changed)?;
        // The snapshot first: whoever it sees has noted its keys by now.
        self.newer.begin(Isolation::RepeatableRead, true);
        self.newer.ensure_view()?;
        let keys = self.changed.take();
        self.progress.begin(stage, keys.len() as u64);
        let count = keys.len() as u64;
        let mut moves = Moves::new(self.indexes.len());
        let mut since_look = 0;
        for (key, changers) in keys {
            self.compare(&key, &mut moves)?;
            let unseen: Changers = changers.into_iter().filter(|txn| !self.newer.sees(*txn)).collect();
            if !unseen.is_empty() && !self.forgets_unseen.load(Ordering::Relaxed) {
                self.changed.put_back(key, unseen);
            }
            since_look += 1;
            if since_look == STRETCH {
                since_look = 0;
                self.progress.add(STRETCH);
                look_at(cancel, &self.changed)?;
                self.held.resize(moves.bytes() + self.changed.bytes());
            }
        }
        self.carry_out(&mut moves, cancel)?;
        // The older snapshot is let go of, and the newer one is what the trees are of.
        std::mem::swap(&mut self.seen, &mut self.newer);
        self.newer.commit()?;
        self.held.resize(self.changed.bytes());
        Ok(count)
    }

    /// The entries that a row leaves and gets between the two snapshots.
    fn compare(&mut self, key: &[u8], moves: &mut Moves) -> Result<()> {
        let OnlineBuild { seen, newer, reader, indexes, .. } = self;
        let entries = |session: &mut Session, into: &mut [Keys]| -> Result<bool> {
            let found = session.get(reader, key, Read::Snapshot, |row| -> Result<()> {
                indexes.iter().zip(into).try_for_each(|((index, _), keys)| keys.push(row, &index.parts, key))
            })?;
            found.transpose().map(|found| found.is_some())
        };
        let (was, is) = (entries(seen, &mut moves.removed)?, entries(newer, &mut moves.added)?);
        if was && is {
            for (removed, added) in moves.removed.iter_mut().zip(&mut moves.added) {
                if removed.last() == added.last() {
                    removed.pop();
                    added.pop();
                }
            }
        }
        Ok(())
    }

    fn carry_out(&mut self, moves: &mut Moves, cancel: &Cancel) -> BuildResult<()> {
        let mut since_look = 0;
        let mut look = |changed: &ChangedKeys| {
            since_look += 1;
            if since_look % STRETCH == 0 { look_at(cancel, changed) } else { Ok(()) }
        };
        for ((_, tree), keys) in self.indexes.iter().zip(&mut moves.removed) {
            keys.sort();
            for no in 0..keys.len() {
                remove(tree, keys.key(no).0)?;
                look(&self.changed)?;
            }
        }
        for (index_no, ((index, tree), keys)) in self.indexes.iter().zip(&mut moves.added).enumerate() {
            keys.sort();
            for no in 0..keys.len() {
                let (key, user_bytes) = keys.key(no);
                let user = &key[..user_bytes];
                if index.unique && !key_has_null(&self.reader, &index.parts, user)? && has_user_key(tree, user)? {
                    let row = row_of(&mut self.newer, &self.reader, &key[user_bytes..])?;
                    return Err(BuildError::Duplicate { index_no, row });
                }
                add(tree, key, user_bytes)?;
                look(&self.changed)?;
            }
        }
        Ok(())
    }
}

impl Drop for OnlineBuild {
    fn drop(&mut self) {
        self.table.watch.set(None);
    }
}

impl std::fmt::Debug for OnlineBuild {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OnlineBuild(table {}, {:?}, {:?})", self.table.id, self.progress.stages().last(), self.changed)
    }
}

/// Why filling a tree ended early.
enum Stopped {
    Build(BuildError),
    /// The primary key of the second of two rows with one key.
    Duplicate(Vec<u8>),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Build(error.into())
    }
}

/// Entries to be removed and added, by index.
struct Moves {
    removed: Vec<Keys>,
    added: Vec<Keys>,
}

impl Moves {
    fn new(indexes: usize) -> Moves {
        let empty = || (0..indexes).map(|_| Keys::default()).collect();
        Moves { removed: empty(), added: empty() }
    }

    fn bytes(&self) -> u64 {
        self.removed.iter().chain(&self.added).map(Keys::bytes).sum()
    }
}

fn look_at(cancel: &Cancel, changed: &ChangedKeys) -> BuildResult<()> {
    if cancel.is_cancelled() {
        return Err(Error::Killed.into());
    }
    if changed.has_overflown() { Err(BuildError::TooManyChanges) } else { Ok(()) }
}

/// The stored bytes of a row as `session` sees it, for a message.
fn row_of(session: &mut Session, reader: &Arc<Table>, key: &[u8]) -> Result<Vec<u8>> {
    Ok(session.get(reader, key, Read::Snapshot, |row: RowRef<'_>| row.bytes().to_vec())?.unwrap_or_default())
}

fn remove(tree: &BTree, entry: &[u8]) -> Result<()> {
    let mut leaf = tree.write(entry)?;
    if leaf.found().is_none() {
        return Err(Error::corrupt("an entry is missing in an index under construction"));
    }
    leaf.remove(|_| {});
    let shrink = leaf.is_underfull();
    leaf.finish();
    if shrink {
        tree.shrink(entry)?;
    }
    Ok(())
}

fn add(tree: &BTree, entry: &[u8], user_bytes: usize) -> Result<()> {
    let value = new_entry_value(0, user_bytes);
    loop {
        let mut leaf = tree.write(entry)?;
        if leaf.found().is_some() {
            return Err(Error::corrupt("an entry is there twice in an index under construction"));
        }
        match leaf.insert(&value, |_| {})? {
            Ok(()) => {
                leaf.finish();
                return Ok(());
            }
            Err(btree::NoRoom) => {
                drop(leaf);
                tree.make_room(entry, value.len())?;
            }
        }
    }
}

/// Whether some row has these user parts.
fn has_user_key(tree: &BTree, user: &[u8]) -> Result<bool> {
    let mut cursor = tree.cursor();
    cursor.seek(user, Seek::AtOrAfter)?;
    Ok(cursor.valid() && cursor.key().starts_with(user))
}
