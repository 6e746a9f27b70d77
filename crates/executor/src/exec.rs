//! State of one executing statement.

use crate::batch::HashTable;
use crate::batch::chunk::Chunk;
use crate::context::StatementContext;
use crate::errors::Error;
use crate::memory::Memory;
use crate::run::Result;
use crate::spill::Kept;
use engine::{Read, RowBatch, Wait};
use mysql_error::SqlError;
use planner::expr::Slot;
use planner::plan::{Body, Plan};
use std::rc::Rc;
use types::Value;

/// Buffers that a session keeps between statements.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(crate) frame: Vec<Value>,
    pub(crate) key: Vec<u8>,
    /// A row's bytes.
    pub(crate) row: Vec<u8>,
    /// Rows of a scan.
    pub(crate) batch: RowBatch,
    pub(crate) sort: crate::short::sorted_range::SortBuffers,
}

impl Scratch {
    /// Gives back large buffers (an idle connection keeps little).
    pub fn shrink(&mut self) {
        *self = Scratch::default();
    }
}

/// Rows that were computed once.
pub struct Cache {
    /// The rows.
    pub(crate) rows: Rc<Kept>,
    /// Values of the outer slots they were computed for.
    pub outer: Vec<Value>,
    /// The same as a hash table.
    pub table: Option<Rc<HashTable>>,
}

/// What a unique lookup found last, so that a repeated key costs nothing.
#[derive(Default)]
pub struct LookupState {
    /// Key of the last lookup.
    pub key: Vec<u8>,
    /// Whether `key` and the slots are valid.
    pub valid: bool,
    /// Whether a row was found.
    pub found: bool,
}

/// One executing statement.
pub struct Exec<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Parameter values.
    pub params: &'a [Value],
    /// The frame.
    pub frame: Vec<Value>,
    /// The engine; taken away while one of its callbacks runs.
    pub session: Option<&'a mut engine::Session>,
    /// The session.
    pub context: &'a mut dyn StatementContext,
    /// Memory held.
    pub memory: Memory,
    /// Materialised rows and hash tables.
    pub caches: Vec<Option<Cache>>,
    /// By cache: the rows were given out without being kept.
    pub(crate) streamed: Vec<bool>,
    /// Answers of subqueries.
    pub subqueries: Vec<crate::subquery::State>,
    /// Within how many subqueries of expressions the evaluation is.
    pub(crate) subquery_depth: u32,
    /// Expressions may be evaluated by columns. Not in statements that change rows: there also what is harmless elsewhere may be an error.
    pub kernels: bool,
    /// While a batch evaluates by row: whether something had to be told. It is told when the rows are evaluated one by one.
    pub(crate) hushed: Option<bool>,
    /// A batch of rows that no scan uses now, for its memory.
    pub(crate) batch: RowBatch,
    /// Chunks that are free, for their memory.
    pub chunks: Vec<Chunk>,
    /// Last unique lookups.
    pub lookups: Vec<LookupState>,
    /// Counts down to the next look at the cancel flag.
    pub ticks: u32,
    /// How tables without a locking clause are read. See [`Exec::read_as_source`].
    pub plain_read: Read,
    /// Whether the plan may end a scan before its end, once somebody has asked. See `locking.rs`.
    pub(crate) stops_early: Option<bool>,
    /// A scan for this UPDATE passes by rows that others have and that do not match. See `locking.rs`.
    pub(crate) passes_by: bool,
    /// NULL for a NOT NULL column becomes the implicit default.
    pub null_lenient: bool,
    /// In INSERT: the columns of which that was told. It is told once of each, of other statements in each row.
    pub(crate) nulls_told: Option<Vec<Box<str>>>,
    /// Value of LAST_INSERT_ID(expr).
    pub explicit_insert_id: Option<u64>,
    /// Regular expressions that were compiled.
    pub patterns: crate::functions::regexp::Patterns,
    /// Sequences of RAND(seed), by call.
    pub random_sequences: Vec<(usize, env::SplitMix64)>,
    /// What JSON_TABLE remembers between its runs, by the address of its node.
    pub(crate) json_tables: Vec<(usize, crate::json_table::State)>,
    /// EXPLAIN ANALYZE counts what runs.
    pub(crate) analysis: Option<Box<crate::analysis::Analysis>>,
    /// Rows that the limit which ended last has passed over.
    pub(crate) passed_over: u64,
    /// Casts of documents are those of a functional index, which takes what is no value of its type, too.
    pub(crate) index_cast: IndexCast,
    /// Error of a value being stored is turned into a warning: not strict, or IGNORE.
    pub lenient: bool,
}

/// Whether a value for a functional index is being computed, and what a document was found not to be meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum IndexCast {
    #[default]
    No,
    Runs,
    Told(crate::document_cast::Fault),
}

/// Rows between two looks at the cancel flag.
const TICKS: u32 = 256;

impl<'a> Exec<'a> {
    /// Prepares an execution.
    pub fn new(
        plan: &'a Plan,
        params: &'a [Value],
        session: &'a mut engine::Session,
        context: &'a mut dyn StatementContext,
        scratch: &mut Scratch,
    ) -> Exec<'a> {
        let plain_read = session.plain_read();
        let mut x = Exec::bare(plan, params, Some(session), context, scratch);
        x.batch = std::mem::take(&mut scratch.batch);
        x.lookups.resize_with(plan.table_nodes as usize, LookupState::default);
        x.plain_read = plain_read;
        x
    }

    /// Prepares expressions over the columns of one row: what reads of tables, subqueries and caches need is not made. [`Exec::finish_one_row`] ends it.
    #[inline]
    pub(crate) fn of_one_row(
        plan: &'a Plan,
        params: &'a [Value],
        session: Option<&'a mut engine::Session>,
        context: &'a mut dyn StatementContext,
        scratch: &mut Scratch,
    ) -> Exec<'a> {
        Exec::bare(plan, params, session, context, scratch)
    }

    /// An execution that reads and writes no table.
    pub(crate) fn without_engine(
        plan: &'a Plan,
        params: &'a [Value],
        context: &'a mut dyn StatementContext,
        scratch: &mut Scratch,
    ) -> Exec<'a> {
        let mut x = Exec::bare(plan, params, None, context, scratch);
        x.lookups.resize_with(plan.table_nodes as usize, LookupState::default);
        x
    }

    #[inline]
    fn bare(
        plan: &'a Plan,
        params: &'a [Value],
        session: Option<&'a mut engine::Session>,
        context: &'a mut dyn StatementContext,
        scratch: &mut Scratch,
    ) -> Exec<'a> {
        let mut frame = std::mem::take(&mut scratch.frame);
        frame.clear();
        frame.resize_with(plan.frame_slots as usize, || Value::Null);
        let memory = Memory::with_operators(context.statement_memory_max(), context.operator_memory_max());
        let mut caches = Vec::new();
        caches.resize_with(plan.cache_count as usize, || None);
        let mut subqueries = Vec::new();
        subqueries.resize_with(plan.subplans.len(), Default::default);
        Exec {
            null_lenient: false,
            nulls_told: None,
            explicit_insert_id: None,
            patterns: crate::functions::regexp::Patterns::default(),
            random_sequences: Vec::new(),
            plan,
            params,
            frame,
            session,
            context,
            memory,
            streamed: vec![false; caches.len()],
            caches,
            subqueries,
            subquery_depth: 0,
            kernels: matches!(plan.body, Body::Query(_)),
            hushed: None,
            batch: RowBatch::default(),
            chunks: Vec::new(),
            lookups: Vec::new(),
            ticks: TICKS,
            plain_read: Read::Snapshot,
            stops_early: None,
            passes_by: false,
            json_tables: Vec::new(),
            analysis: None,
            passed_over: 0,
            index_cast: IndexCast::No,
            lenient: false,
        }
    }

    /// What a statement reads to change something by it is locked, unless the level is READ COMMITTED: as MySQL does, so that the
    /// statement, run again in the order of commits, finds the same.
    pub fn read_as_source(&mut self) {
        if self.session.as_deref().is_some_and(|s| !s.isolation().is_per_statement()) {
            self.plain_read = Read::Share(Wait::Block);
        }
    }

    /// Gives the buffers back.
    pub fn finish(mut self, scratch: &mut Scratch) {
        scratch.batch = std::mem::take(&mut self.batch);
        scratch.batch.rest();
        self.finish_one_row(scratch);
    }

    /// Gives back what [`Exec::of_one_row`] took.
    #[inline]
    pub(crate) fn finish_one_row(mut self, scratch: &mut Scratch) {
        scratch.frame = std::mem::take(&mut self.frame);
        scratch.frame.clear();
    }

    /// A slot's value.
    #[inline]
    pub fn get(&self, slot: Slot) -> &Value {
        &self.frame[slot as usize]
    }

    /// Stores a slot's value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.frame[slot as usize] = value;
    }

    /// The slots of lookups were overwritten: their remembered keys are void.
    pub fn forget_lookups(&mut self) {
        for l in &mut self.lookups {
            l.valid = false;
        }
    }

    /// Called for each row: every few hundred looks at the cancel flag.
    #[inline]
    pub fn tick(&mut self) -> Result<()> {
        self.ticks -= 1;
        if self.ticks == 0 {
            self.ticks = TICKS;
            return self.check_cancel();
        }
        Ok(())
    }

    /// Fails when the statement was killed.
    pub fn check_cancel(&self) -> Result<()> {
        if self.context.is_cancelled() { Err(Error::Sql(self.context.cancel_error())) } else { Ok(()) }
    }

    /// Tells of what MySQL's manual lists under "Strict SQL Mode": an error where a strict statement changes rows, elsewhere a warning.
    #[cold]
    pub fn tell(&mut self, error: SqlError) -> Result<()> {
        if self.changes_strictly() {
            return Err(error.into());
        }
        self.warn(error.code, error.message);
        Ok(())
    }

    /// Adds a warning.
    pub fn warn(&mut self, code: u16, message: String) {
        if let Some(told) = &mut self.hushed {
            *told = true;
            return;
        }
        self.context.warn(mysql_error::Warning { level: mysql_error::WarningLevel::Warning, code, message });
    }
}
