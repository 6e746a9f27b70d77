//! [`PreparedStatements`]: those of one session, by the handles that its client has for them.
//!
//! A session may keep hundreds, and a server ten thousand sessions, each of which runs another statement whenever it is served: so a statement
//! is one line of the processor's cache, in a place that its handle names, and what few statements ever have lies apart.
//!
//! # Invariants
//! 1. The server's count of prepared statements has each of them while it is there.
//! 2. A statement runs in the database that was the current one when it was prepared. It holds that one's name only while another is current: to change the
//!    current database costs a look at each statement, to run one costs nothing.

use super::handles::Handles;
use crate::context::Core;
use crate::shared::Shared;
use crate::statement::cursors::Cursor;
use crate::statement::hinted::Assignment;
use crate::statement::plan_cache::CachedPlan;
use crate::variables::variable;
use memory::{Kind, Tally};
use mysql_error::{SqlError, codes};
use parser::ast;
use protocol::ParamTypes;
use std::collections::HashMap;
use std::sync::Arc;
use sync::atomic::Ordering;

/// Longer texts are each session's own, and booked as such: a plan that its cache has let go of must not keep them from the accounts.
const SHARED_TEXT_MAX: usize = 4096;

/// More prepared statements fill pages by themselves.
const PACKED_MAX: usize = 256;

/// Prepared statements of a session.
pub(crate) struct PreparedStatements {
    by_handle: Handles<Prepared>,
    by_name: HashMap<String, u32>,
    /// Texts and values that came in pieces. (Plans are the plan cache's.)
    held: Tally,
    /// Open cursors.
    cursors: usize,
    /// None before the first.
    counted: Option<Counted>,
}

impl Default for PreparedStatements {
    fn default() -> Self {
        Self { by_handle: Handles::default(), by_name: HashMap::new(), held: Tally::new(Kind::Prepared), cursors: 0, counted: None }
    }
}

/// What a client's wish for a cursor does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CursorUse {
    /// It opens one, if the statement has rows.
    Opens,
    /// Nothing: rows are sent at once.
    Ignored,
    /// SELECT … INTO: 1323.
    Refused,
}

impl CursorUse {
    fn of(statement: &ast::Statement<'_>) -> Self {
        match statement {
            ast::Statement::Query(query) if query.into.is_some() => Self::Refused,
            ast::Statement::Explain(_) => Self::Ignored,
            _ => Self::Opens,
        }
    }
}

/// Counts prepared statements of the server while they are there.
pub(super) struct Counted {
    shared: Arc<Shared>,
    count: u64,
}

impl Counted {
    /// One more, unless there are `max_prepared_stmt_count` (1461).
    pub(super) fn one(shared: &Arc<Shared>) -> Result<Self, SqlError> {
        let max = shared.number(variable!("max_prepared_stmt_count"));
        let counted = Self { shared: Arc::clone(shared), count: 1 };
        if shared.prepared_statements.fetch_add(1, Ordering::Relaxed) >= max {
            return Err(codes::max_prepared_stmt_count_reached(max));
        }
        Ok(counted)
    }

    fn forget(&mut self, count: u64) {
        self.count -= count;
        self.shared.prepared_statements.fetch_sub(count, Ordering::Relaxed);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.forget(self.count);
    }
}

/// A prepared statement.
#[repr(align(64))]
pub(super) struct Prepared {
    pub(super) sql: Arc<[u8]>,
    /// Out while it runs by it.
    pub(super) plan: Option<Arc<CachedPlan>>,
    /// Those of the last execution.
    types: ParamTypes,
    rare: Option<Box<Rare>>,
    pub(super) param_count: u16,
    /// The text is that of a plan, which many sessions have.
    shares_text: bool,
    /// It runs by a plan, not from its text.
    pub(super) planned: bool,
    cursor_use: CursorUse,
}

/// One line of the processor's cache.
const _: () = assert!(size_of::<Option<Prepared>>() == 64);

/// What few statements ever have.
#[derive(Default)]
struct Rare {
    cursor: Option<Cursor>,
    /// Values that came in pieces, by parameter.
    long_data: HashMap<u16, Vec<u8>>,
    /// Why one of them could not be kept: there is no such parameter, it became longer than `max_allowed_packet`, or there was no memory for it.
    unfit: Option<fn() -> SqlError>,
    /// Variables that its hints set.
    hinted: Box<[Assignment]>,
    /// The database that it was prepared in, or none, where that is not the current one.
    elsewhere: Option<Option<Arc<str>>>,
    /// It nests deeper than a connection's stack is.
    with_room: bool,
}

/// What is otherwise in the session while a statement runs.
pub(super) struct Setting {
    /// Variables that its hints set.
    pub(super) hinted: Box<[Assignment]>,
    /// The database that it was prepared in, or none, where that is not the current one.
    pub(super) elsewhere: Option<Option<Arc<str>>>,
    /// It nests deeper than a connection's stack is.
    pub(super) with_room: bool,
}

/// Values that came in pieces, by parameter.
pub(super) struct LongData<'a>(Option<&'a HashMap<u16, Vec<u8>>>);

impl<'a> LongData<'a> {
    #[inline]
    pub(super) fn get(&self, index: usize) -> Option<&'a Vec<u8>> {
        self.0?.get(&(index as u16))
    }
}

impl Rare {
    fn runs_as_is(&self) -> bool {
        self.hinted.is_empty() && self.elsewhere.is_none() && !self.with_room
    }
}

impl Prepared {
    /// Of a text that was read as this statement with so many parameters; it runs from its text.
    pub(super) fn new(sql: &[u8], statement: &ast::Statement<'_>, param_count: u16, hinted: Vec<Assignment>) -> Self {
        Self {
            sql: sql.into(),
            plan: None,
            types: ParamTypes::new(),
            rare: (!hinted.is_empty()).then(|| Box::new(Rare { hinted: hinted.into(), ..Rare::default() })),
            param_count,
            shares_text: false,
            planned: false,
            cursor_use: CursorUse::of(statement),
        }
    }

    /// It nests deeper than a connection's stack is ([`crate::statement::deep`]).
    #[cold]
    pub(super) fn run_with_room(&mut self) {
        self.rare.get_or_insert_default().with_room = true;
    }

    /// What it holds beside values that came in pieces.
    fn bytes(&self) -> usize {
        size_of::<Prepared>() + if self.shares_text { 0 } else { self.sql.len() }
    }

    /// It runs by this plan, and shares its text.
    pub(super) fn run_by(&mut self, plan: Arc<CachedPlan>) {
        if let Some(text) = plan.text.as_ref().filter(|text| text.len() <= SHARED_TEXT_MAX && **text == self.sql) {
            self.sql = Arc::clone(text);
            self.shares_text = true;
        }
        self.planned = true;
        self.plan = Some(plan);
    }

    /// Takes out a plan that is good for whatever parameters.
    #[inline]
    pub(super) fn take_plan(&mut self, version: u64, core: &Core) -> Option<Arc<CachedPlan>> {
        let as_is = self.rare.as_ref().is_none_or(|rare| rare.runs_as_is());
        self.plan.take_if(|plan| as_is && !plan.rests_on_values && plan.plan.free_params.is_empty() && plan.is_ready(version, core))
    }

    /// What is otherwise while it runs, if something is.
    pub(super) fn setting(&self) -> Option<Setting> {
        let rare = self.rare.as_ref().filter(|rare| !rare.runs_as_is())?;
        Some(Setting { hinted: rare.hinted.clone(), elsewhere: rare.elsewhere.clone(), with_room: rare.with_room })
    }

    /// Another database is the current one.
    fn leave(&mut self, old: &Option<Arc<str>>, new: Option<&str>) {
        let rare = self.rare.get_or_insert_default();
        let prepared_in = rare.elsewhere.take().unwrap_or_else(|| old.clone());
        rare.elsewhere = (prepared_in.as_deref() != new).then_some(prepared_in);
    }

    /// Whether it has something that few have: hints, values in pieces, a cursor, another database.
    #[inline]
    pub(super) fn is_rare(&self) -> bool {
        self.rare.is_some()
    }

    /// Why it cannot run: something was wrong with a value that came in pieces. COM_STMT_RESET makes it fit again.
    #[inline]
    pub(super) fn unfit(&self) -> Option<SqlError> {
        self.rare.as_ref()?.unfit.map(|unfit| unfit())
    }

    /// The types of its parameters, and the values that came in pieces.
    #[inline]
    pub(super) fn bound(&mut self) -> (&mut ParamTypes, LongData<'_>) {
        (&mut self.types, LongData(self.rare.as_deref().map(|rare| &rare.long_data)))
    }

    fn long_data_bytes(&self) -> usize {
        self.rare.as_ref().map_or(0, |rare| rare.long_data.values().map(Vec::capacity).sum())
    }

    fn has_cursor(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.cursor.is_some())
    }
}

impl PreparedStatements {
    /// See [`crate::front::service::Session::pack`].
    pub(crate) fn pack(&mut self) {
        if self.by_handle.places() > PACKED_MAX {
            return;
        }
        self.by_handle.pack(|prepared| {
            if !prepared.shares_text {
                prepared.sql = Arc::from(&*prepared.sql);
            }
            prepared.types = prepared.types.clone();
        });
        self.by_name = self.by_name.iter().map(|(name, handle)| (name.clone(), *handle)).collect();
    }

    /// Asks the processor's caches for the first few: which one is wanted nobody knows yet.
    #[inline]
    pub(crate) fn bring_near(&self) {
        self.by_handle.bring_near();
    }

    /// The statement of a handle.
    #[inline]
    pub(super) fn get(&self, handle: u32) -> Option<&Prepared> {
        self.by_handle.get(handle)
    }

    /// The same.
    #[inline]
    pub(super) fn get_mut(&mut self, handle: u32) -> Option<&mut Prepared> {
        self.by_handle.get_mut(handle)
    }

    /// One more; its handle. Of who has all that handles can name: 1461.
    pub(super) fn add(&mut self, prepared: Prepared, mut counted: Counted) -> Result<u32, SqlError> {
        let bytes = prepared.bytes();
        let handle = self
            .by_handle
            .add(prepared)
            .ok_or_else(|| codes::max_prepared_stmt_count_reached(counted.shared.number(variable!("max_prepared_stmt_count"))))?;
        self.held.add(bytes);
        match &mut self.counted {
            Some(all) => all.count += std::mem::take(&mut counted.count),
            None => self.counted = Some(counted),
        }
        Ok(handle)
    }

    /// The session begins anew: all are closed, and their handles are nobody's, since a client may yet close one.
    pub(crate) fn close_all(&mut self) {
        self.by_handle.clear();
        *self = Self { by_handle: std::mem::take(&mut self.by_handle), ..Self::default() };
    }

    /// Another database is the current one: a statement stays in that in which it was prepared.
    pub(crate) fn leave(&mut self, old: Option<&str>, new: Option<&str>) {
        if old != new {
            let old = old.map(Arc::from);
            self.by_handle.iter_mut().for_each(|prepared| prepared.leave(&old, new));
        }
    }

    /// COM_STMT_CLOSE.
    pub(crate) fn close(&mut self, handle: u32) {
        let Some(prepared) = self.by_handle.remove(handle) else { return };
        self.held.remove(prepared.bytes() + prepared.long_data_bytes());
        self.cursors -= usize::from(prepared.has_cursor());
        self.counted.as_mut().into_iter().for_each(|counted| counted.forget(1));
    }

    /// COM_STMT_RESET; false when there is no such statement.
    pub(crate) fn reset(&mut self, handle: u32) -> bool {
        let Some(prepared) = self.get_mut(handle) else { return false };
        let Some(rare) = &mut prepared.rare else { return true };
        rare.unfit = None;
        let had_cursor = rare.cursor.take().is_some();
        self.cursors -= usize::from(had_cursor);
        self.forget_long_data(handle);
        true
    }

    /// What a cursor is to a statement; `None` when there is no such statement.
    pub(crate) fn cursor_use(&self, handle: u32) -> Option<CursorUse> {
        self.get(handle).map(|prepared| prepared.cursor_use)
    }

    /// A statement's cursor; the outer `None` when there is no such statement.
    pub(crate) fn cursor(&mut self, handle: u32) -> Option<Option<&mut Cursor>> {
        self.get_mut(handle).map(|prepared| prepared.rare.as_mut().and_then(|rare| rare.cursor.as_mut()))
    }

    /// Opens or closes it.
    #[inline(always)] // Most sessions have none, and each execution closes the one of its statement.
    pub(crate) fn set_cursor(&mut self, handle: u32, cursor: Option<Cursor>) {
        if cursor.is_some() || self.cursors > 0 {
            self.replace_cursor(handle, cursor);
        }
    }

    fn replace_cursor(&mut self, handle: u32, cursor: Option<Cursor>) {
        let Some(prepared) = self.get_mut(handle) else { return };
        if cursor.is_none() && prepared.rare.is_none() {
            return;
        }
        let opened = cursor.is_some();
        let had = std::mem::replace(&mut prepared.rare.get_or_insert_default().cursor, cursor).is_some();
        self.cursors += usize::from(opened);
        self.cursors -= usize::from(had);
    }

    /// COM_STMT_SEND_LONG_DATA: there is no reply, so what is wrong is told at execution.
    pub(crate) fn add_long_data(&mut self, handle: u32, param: u16, data: &[u8], bytes_max: usize) {
        let Some(prepared) = self.get_mut(handle) else { return };
        let is_there = param < prepared.param_count;
        let rare = prepared.rare.get_or_insert_default();
        if !is_there {
            rare.unfit = Some(|| codes::wrong_arguments("mysql_stmt_precheck"));
            return;
        }
        let value = rare.long_data.entry(param).or_default();
        let before = value.capacity();
        if value.len() + data.len() > bytes_max {
            rare.unfit = Some(too_long);
        } else if memory::reserve_shared(value, data.len()).is_err() {
            rare.unfit = Some(codes::out_of_resources);
        } else {
            value.extend_from_slice(data);
        }
        let more = value.capacity() - before;
        self.held.add(more);
    }

    /// The values that came in pieces were used, or cannot be.
    #[inline]
    pub(super) fn forget_long_data(&mut self, handle: u32) {
        if let Some(prepared) = self.get_mut(handle)
            && prepared.rare.is_some()
        {
            let bytes = prepared.long_data_bytes();
            prepared.rare.as_mut().into_iter().for_each(|rare| rare.long_data = HashMap::new());
            self.held.remove(bytes);
        }
    }

    /// PREPARE: the name is this statement's.
    pub(super) fn name(&mut self, name: String, handle: u32) {
        self.by_name.insert(name, handle);
    }

    /// The handle of a name.
    pub(super) fn named(&self, name: &str) -> Option<u32> {
        self.by_name.get(name).copied()
    }

    /// Closes the statement of a name; false when there is none.
    pub(super) fn close_named(&mut self, name: &str) -> bool {
        let handle = self.by_name.remove(name);
        handle.into_iter().for_each(|handle| self.close(handle));
        handle.is_some()
    }
}

/// In MySQL's words.
fn too_long() -> SqlError {
    let message = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than 'max_allowed_packet' bytes";
    SqlError { message: message.to_owned(), ..codes::unknown_error() }
}
