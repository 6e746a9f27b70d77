//! Physical plans: what the executor runs.
//!
//! # Invariants
//! 1. A plan is immutable and shared by all sessions; values come from the parameters at execution.
//! 2. Every slot is written by exactly one node of the plan (or by the enclosing DML), and read only above it.
//! 3. `depends` lists every table with the schema version the plan was made for.
//!
//! # Start at
//! [`Plan`], then [`Node`].

use crate::explain::parts_used;
use crate::expr::{Expr, Slot};
use crate::json_table::JsonTableNode;
use crate::literal_rows::LiteralRows;
use crate::row_rules::RowRules;
use crate::short::ShortPlan;
use crate::typing;
use crate::views::ViewUse;
use crate::window::Window;
use base::TableId;
use catalog::{TableEntry, VirtualTableDef};
use mysql_error::Warning;
use record::KeyRestore;
use std::ops::Range;
use std::sync::Arc;
use types::{Collation, ColumnType, Value};

/// A bound and optimised statement; by default one that does nothing, for expressions that belong to none.
#[derive(Debug, Default)]
pub struct Plan {
    /// What it does.
    pub body: Body,
    /// Subqueries that expressions evaluate, by [`crate::expr::ExprKind::Subquery`] number.
    pub subplans: Vec<Subplan>,
    /// Tables it uses.
    pub tables: Vec<Arc<TableEntry>>,
    /// Where the statement names tables: (position in [`Plan::tables`], the name it uses).
    pub references: Vec<(u32, Box<str>)>,
    /// Views it names, and those that they name.
    pub views: Vec<ViewUse>,
    /// Where views name tables: (position in [`Plan::tables`], the name they use, position in [`Plan::views`]).
    pub view_tables: Vec<(u32, Box<str>, u32)>,
    /// Rows that each table had when the plan was made.
    pub table_rows: Vec<u64>,
    /// (table, schema version) it was made for.
    pub depends: Vec<(TableId, u16)>,
    /// Length of the frame.
    pub frame_slots: u32,
    /// Number of parameters it expects.
    pub param_count: u32,
    /// Parameters that a select list shows, or that an ENUM or SET is compared with, and what they were planned as (unsigned or not): [`crate::PlanContext::bound_type`].
    pub free_params: Vec<(u32, Option<(types::TypeKind, bool)>)>,
    /// Number of table nodes.
    pub table_nodes: u32,
    /// Number of materialisation caches ([`Node::Materialize`]).
    pub cache_count: u32,
    /// User variables that SELECT … INTO sets instead of sending a row.
    pub into: Vec<Box<str>>,
    /// SQL_CALC_FOUND_ROWS: all rows are counted, and those within this limit are sent.
    pub counted: Option<Box<Option<LimitSpec>>>,
    /// Columns of the result set; empty for statements without one.
    pub columns: Vec<OutputColumn>,
    /// The same statement as a short compiled plan, where it is one.
    pub short: Option<ShortPlan>,
    /// The statement writes or locks rows, so that it needs a transaction.
    pub writes: bool,
    /// It locks rows against others' locking reads (`FOR UPDATE`).
    pub locks_exclusively: bool,
    /// Some expression has effects or is not the same for every evaluation (user variables, RAND, SLEEP …): rows go through the plan one by one.
    pub volatile: bool,
    /// It may do otherwise on another server or connection (RAND, UUID, USER …, LIMIT): what MySQL calls unsafe for statement-based replication.
    pub differs_elsewhere: bool,
    /// Its estimates rest on the time or on variables as they were when it was made.
    pub drifts: bool,
    /// It reads computed tables of the dictionary.
    pub reads_dictionary: bool,
    /// Texts that are compared with numbers: each is told of once, before the plan runs, if it is none ([`crate::typing::is_told_once`]).
    pub number_texts: Vec<NumberText>,
    /// Parameters that stand beside a column of whole numbers, or (true) of decimals: texts are taken as such numbers before the plan runs
    /// ([`types::number_operand`]), so that neighbours that are one DOUBLE stay apart.
    pub exact_params: Vec<(u32, bool)>,
    /// User variables that it reads, with the types they had: [`crate::PlanContext::user_variable_type`].
    pub user_variables: Vec<(Box<str>, Option<ColumnType>)>,
    /// What it takes of whose privileges.
    pub accesses: Vec<crate::accesses::Access>,
    /// What the statement is warned of before it runs: deprecated words in it.
    pub warnings: Vec<Warning>,
    /// The setting it was made with: [`crate::PlanContext::safe_updates`].
    pub safe_updates: bool,
    /// An UPDATE or DELETE without LIMIT that reads all rows of a table it changes: `sql_safe_updates` refuses it (1175).
    pub unsafe_change: bool,
    /// One of its queries is expected to read more rows than `max_join_size` (1104). Of the sizes that tables had when it was made.
    pub too_big: bool,
    /// It is refused before it runs: one of the two.
    pub refused: bool,
    /// The hint `MAX_EXECUTION_TIME`.
    pub max_execution_time_ms: Option<u32>,
    /// The foreign keys of what it changes, where there are any.
    pub foreign_keys: Option<Box<crate::foreign_keys::ForeignKeys>>,
}

/// Metadata of a result column.
#[derive(Clone, Debug)]
pub struct OutputColumn {
    /// Database of the table it comes from, or empty.
    pub database: Box<str>,
    /// Alias of the table.
    pub table: Box<str>,
    /// Name of the table.
    pub org_table: Box<str>,
    /// Name as shown.
    pub name: Box<str>,
    /// Name of the column in its table.
    pub org_name: Box<str>,
    /// Type, with nullability.
    pub ty: ColumnType,
    /// Part of a primary key.
    pub primary_key: bool,
    /// Whole of a unique key.
    pub unique_key: bool,
    /// First of a key.
    pub multiple_key: bool,
    /// Part of some key.
    pub part_of_key: bool,
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// NOT NULL without a default.
    pub no_default: bool,
    /// Set to NOW() on update.
    pub on_update_now: bool,
    /// How strongly a string holds to its collation where a UNION mixes it with others: [`crate::typing::coercibility`].
    pub coercibility: u8,
    /// Whether MySQL keeps its values before it sends them.
    pub kept: Kept,
}

/// How MySQL keeps a computed column in a temporary table before it sends it, which clients can tell by the type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Not at all, or nobody can tell.
    No,
    /// With its type: a UNION's.
    AsItIs,
    /// A whole number of few digits as an INT, all else with its type: what DISTINCT looks at, and what stands beside window functions.
    ByDigits,
    /// As a number or string of the common sizes: what window functions return.
    Widened,
}

impl Default for OutputColumn {
    fn default() -> OutputColumn {
        OutputColumn {
            database: "".into(),
            table: "".into(),
            org_table: "".into(),
            name: "".into(),
            org_name: "".into(),
            ty: ColumnType::new(types::TypeKind::Null),
            primary_key: false,
            unique_key: false,
            multiple_key: false,
            part_of_key: false,
            auto_increment: false,
            no_default: false,
            on_update_now: false,
            coercibility: typing::COERCIBLE,
            kept: Kept::No,
        }
    }
}

/// The kinds of statement.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One per plan.
pub enum Body {
    /// SELECT, VALUES, TABLE, UNION ….
    Query(Query),
    /// INSERT and REPLACE.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
}

impl Default for Body {
    fn default() -> Body {
        Body::Query(Query::default())
    }
}

/// A stream of rows.
#[derive(Debug, Default)]
pub struct Query {
    /// Produces the rows in the frame.
    pub root: Node,
    /// Values of one row.
    pub output: Vec<Expr>,
}

/// A subquery of an expression.
#[derive(Debug)]
pub struct Subplan {
    /// Its rows.
    pub query: Query,
    /// Slots of enclosing queries that it reads. Empty: evaluated once per statement. Else a cache keyed by their values.
    pub outer_slots: Vec<Slot>,
    /// It contains volatile functions or variables, so that nothing may be cached.
    pub volatile: bool,
    /// Display type of each output column.
    pub types: Vec<ColumnType>,
    /// A correlated aggregate answered from a table grouped by the correlated columns.
    pub lookup: Option<Lookup>,
}

/// `(SELECT agg(…) FROM t WHERE t.a = outer.b)` as a grouped query that runs once and a key to probe it with.
#[derive(Debug)]
pub struct Lookup {
    /// Yields the grouping columns, then the subquery's columns.
    pub grouped: Query,
    /// The subquery over no rows: the answer for keys that are absent.
    pub empty: Query,
    /// Key, from the outer row.
    pub probe: Vec<Expr>,
    /// Collation of each key.
    pub collations: Vec<Collation>,
    /// Form of each key.
    pub forms: Vec<KeyForm>,
}

/// Join kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// Both sides.
    Inner,
    /// Left rows without a partner get NULLs.
    Left,
    /// Left rows with a partner, once.
    Semi,
    /// Left rows without a partner.
    Anti,
}

/// An operator.
#[derive(Debug, Default)]
pub enum Node {
    /// One row.
    #[default]
    Unit,
    /// No row.
    Empty,
    /// Reads a table.
    Table(Box<TableNode>),
    /// Reads a computed table.
    Virtual(Box<VirtualNode>),
    /// JSON_TABLE.
    JsonTable(Box<JsonTableNode>),
    /// Rows of expressions.
    Values {
        /// Rows.
        rows: Vec<Vec<Expr>>,
        /// Where they go.
        slots: Vec<Slot>,
    },
    /// For each row of `outer` runs `inner`, whose accesses may read the outer's slots.
    Nested {
        /// Left side.
        outer: Box<Node>,
        /// Right side.
        inner: Box<Node>,
        /// Kind.
        kind: JoinKind,
        /// Join condition (beside what the inner side's accesses and filters do).
        on: Option<Expr>,
        /// Slots to set to NULL for a left row without a partner.
        null_slots: Vec<Slot>,
    },
    /// Builds a hash table of `build`, probes it with each row of `probe`.
    Hash(Box<HashJoin>),
    /// Rows for which the predicate is true.
    Filter {
        /// Input.
        input: Box<Node>,
        /// Condition.
        predicate: Expr,
    },
    /// Computes expressions into slots.
    Project {
        /// Input.
        input: Box<Node>,
        /// Target and expression.
        exprs: Vec<(Slot, Expr)>,
        /// Whether the targets are slots of the input: what it had in them is gone.
        replaces: bool,
    },
    /// Groups.
    Group(Box<Group>),
    /// Window functions.
    Window(Box<Window>),
    /// Orders all rows; with a limit keeps only the first ones.
    Sort {
        /// Input.
        input: Box<Node>,
        /// Keys.
        keys: Vec<SortKey>,
        /// Slots that are used above.
        saved: Vec<Slot>,
        /// Row limit (count and offset together), for top-N.
        limit: Option<LimitSpec>,
    },
    /// LIMIT.
    Limit {
        /// Input.
        input: Box<Node>,
        /// Bounds.
        limit: LimitSpec,
    },
    /// One row of each set of rows that are equal in `slots`.
    Distinct {
        /// Input.
        input: Box<Node>,
        /// Slots compared.
        slots: Vec<Slot>,
        /// Collations of the slots.
        collations: Vec<Collation>,
    },
    /// The branches' rows after each other, put into `slots`.
    Union {
        /// Branches.
        branches: Vec<Query>,
        /// Target.
        slots: Vec<Slot>,
    },
    /// EXCEPT (`except`) or INTERSECT of the branches from the left.
    SetOperation {
        /// Branches.
        branches: Vec<Query>,
        /// Target.
        slots: Vec<Slot>,
        /// For strings.
        collations: Vec<Collation>,
        /// EXCEPT, else INTERSECT.
        except: bool,
        /// ALL.
        all: bool,
    },
    /// Runs `input` once per execution and keeps what it put into `slots`.
    Materialize {
        /// Input.
        input: Arc<Query>,
        /// Number of the cache; references to the same CTE share it.
        cache: u32,
        /// Where the values of a row go.
        slots: Vec<Slot>,
        /// Slots of enclosing queries the input reads: the cache is dropped when they change.
        outer_slots: Vec<Slot>,
        /// Others may read the same cache: a common table expression's.
        shared: bool,
        /// What the statement calls it, for EXPLAIN.
        of: Box<Named>,
    },
    /// WITH RECURSIVE: `seed`, then `step` for as long as it finds rows; `step` reads the last round through [`Node::RecursiveScan`].
    Recursive {
        /// First rows.
        seed: Arc<Query>,
        /// Following rows.
        step: Arc<Query>,
        /// Drop rows already seen (UNION DISTINCT).
        distinct: bool,
        /// With so many rows it ends.
        limit: Option<LimitSpec>,
        /// Cache that holds the last round.
        cache: u32,
        /// Target of each row.
        slots: Vec<Slot>,
        /// What the rows are converted to.
        columns: Vec<RecursiveColumn>,
        /// Cache that keeps the whole result.
        result_cache: u32,
        /// Slots of enclosing queries that it reads: the result is dropped when they change.
        outer_slots: Vec<Slot>,
        /// What the statement calls it, for EXPLAIN.
        of: Box<Named>,
    },
    /// Reads the last round of a recursive CTE.
    RecursiveScan {
        /// Cache of the round.
        cache: u32,
        /// Target.
        slots: Vec<Slot>,
        /// What the statement calls it, for EXPLAIN.
        of: Box<Named>,
    },
}

/// What a statement calls a relation whose rows it makes itself.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// Its alias.
    pub alias: Box<str>,
    /// The columns, one for each slot.
    pub columns: Vec<Box<str>>,
}

/// A column of a recursive CTE.
#[derive(Debug, Clone)]
pub struct RecursiveColumn {
    /// Its type.
    pub ty: ColumnType,
    /// Its name, where a step's values are stored as in a table's column, with errors and warnings. Elsewhere the step's expressions convert them.
    pub stored_as: Option<Box<str>>,
}

/// LIMIT.
#[derive(Clone, Debug)]
pub struct LimitSpec {
    /// Rows to return.
    pub count: Option<Expr>,
    /// Rows to pass over.
    pub offset: Option<Expr>,
}

/// A key of ORDER BY.
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Value.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
    /// For strings.
    pub collation: Collation,
}

/// A hash join.
#[derive(Debug)]
pub struct HashJoin {
    /// Left side.
    pub probe: Node,
    /// Right side; does not read the left's slots.
    pub build: Node,
    /// Key of a left row.
    pub probe_keys: Vec<Expr>,
    /// Key of a right row.
    pub build_keys: Vec<Expr>,
    /// Collation of each key, for strings.
    pub collations: Vec<Collation>,
    /// How each key pair is brought to one comparable form.
    pub key_forms: Vec<KeyForm>,
    /// Slots of the right side that are used above.
    pub build_slots: Vec<Slot>,
    /// Further condition.
    pub on: Option<Expr>,
    /// Kind.
    pub kind: JoinKind,
    /// For [`JoinKind::Anti`] from NOT IN: a NULL on either side makes the answer unknown, so the row is dropped.
    pub null_aware: bool,
    /// Key values are compared NULL-safe (`<=>`).
    pub null_safe: bool,
    /// Cache number: the table is built once per execution while `outer_slots` stay the same.
    pub cache: u32,
    /// Slots of enclosing queries that the right side reads.
    pub outer_slots: Vec<Slot>,
    /// Where the left rows come in an order that somebody relies on: by what to sort when that is lost, a slot for their numbers.
    pub order: Option<SortKey>,
    /// Expected rows, for EXPLAIN.
    pub rows: f64,
}

/// Common form of two hash key sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyForm {
    /// Same kind of value on both sides: integers, decimals, strings under the collation, dates.
    Same,
    /// Compared as DOUBLE.
    Double,
    /// Compared as DATETIME.
    Temporal,
}

/// GROUP BY.
#[derive(Debug)]
pub struct Group {
    /// Input.
    pub input: Node,
    /// Grouping expressions with their target slots.
    pub keys: Vec<(Slot, Expr)>,
    /// For strings.
    pub collations: Vec<Collation>,
    /// Aggregates with their target slots.
    pub aggregates: Vec<(Slot, Aggregate)>,
    /// Slots whose values of the first row of a group are used above.
    pub carried: Vec<Slot>,
    /// The input comes ordered by the keys.
    pub ordered: bool,
    /// No GROUP BY: one group even without rows.
    pub implicit: bool,
    /// WITH ROLLUP: the input comes ordered by the keys, and each key is NULL in the rows that sum it up.
    pub rollup: Option<Rollup>,
}

impl Group {
    /// Whether all rows are one group.
    pub fn is_single(&self) -> bool {
        self.keys.is_empty()
    }
}

/// WITH ROLLUP.
#[derive(Debug)]
pub struct Rollup {
    /// Calls of GROUPING: where the value goes, and the positions of the keys that it asks for.
    pub groupings: Vec<(Slot, Vec<usize>)>,
}

/// Aggregate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AggregateKind {
    CountStar,
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    /// JSON_ARRAYAGG
    JsonArray,
    /// JSON_OBJECTAGG
    JsonObject,
    BitAnd,
    BitOr,
    BitXor,
    StdPop,
    StdSamp,
    VarPop,
    VarSamp,
    AnyValue,
}

/// One aggregate of a query.
#[derive(Clone, Debug)]
pub struct Aggregate {
    /// Function.
    pub kind: AggregateKind,
    /// DISTINCT.
    pub distinct: bool,
    /// Arguments.
    pub args: Vec<Expr>,
    /// Result type.
    pub ty: ColumnType,
    /// For MIN, MAX and DISTINCT of strings.
    pub collation: Collation,
    /// GROUP_CONCAT: ORDER BY.
    pub order: Vec<SortKey>,
    /// GROUP_CONCAT: SEPARATOR.
    pub separator: Box<str>,
}

/// How rows are read and locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// Consistent read.
    None,
    /// FOR SHARE.
    Share(LockWait),
    /// FOR UPDATE and DML.
    Exclusive(LockWait),
}

/// What to do when a row is locked by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait.
    Block,
    /// 3572.
    NoWait,
    /// Leave the row out.
    SkipLocked,
}

/// Reads one table.
#[derive(Debug)]
pub struct TableNode {
    /// Number of the node in the plan, for what the executor remembers of it.
    pub id: u32,
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// Alias, for EXPLAIN.
    pub alias: Box<str>,
    /// How.
    pub access: Access,
    /// How the used columns come back from the index's entries, when they all do: then rows are not fetched.
    pub cover: Option<Box<KeyRestore>>,
    /// What the index's entries are asked before their rows are fetched.
    pub key_filter: Option<Box<KeyFilter>>,
    /// (column, slot) of the columns that are used.
    pub columns: Vec<(u32, Slot)>,
    /// Condition on this table's row (may read outer slots).
    pub filter: Option<Expr>,
    /// The ranges that are read say all that the filter does, where they come out exact.
    pub filter_is_ranges: bool,
    /// Locking.
    pub lock: LockMode,
    /// Expected rows per execution, for EXPLAIN.
    pub rows: f64,
    /// Share of them that pass the filter, in percent, for EXPLAIN.
    pub filtered: f64,
    /// Indexes that could have been used, for EXPLAIN.
    pub possible: Vec<u32>,
    /// Stop after this many rows have passed (LIMIT pushed down); a hint for batch sizes.
    pub rows_hint: Option<u64>,
    /// DML target: the row's bytes go into this slot and its primary key into the next one.
    pub keep_row: Option<Slot>,
    /// Where it is looked up for each row of a nested loop: whether many of them may be looked up together.
    pub key_batches: KeyBatches,
}

/// Whether the keys of many left rows are looked up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBatches {
    /// One by one.
    Never,
    /// Where the left rows come by chunks.
    ByCost,
    /// The statement or the session asks for it: MySQL's batched key access.
    Always,
}

/// A condition that the entries of a secondary index tell: part of the table's filter, which holds all the same.
#[derive(Debug)]
pub struct KeyFilter {
    /// How its columns come back from an entry.
    pub restore: KeyRestore,
    /// (column, slot) of them.
    pub columns: Vec<(u32, Slot)>,
    /// The condition; it neither warns nor fails.
    pub filter: Expr,
}

/// Reads a computed table.
#[derive(Debug)]
pub struct VirtualNode {
    /// Its definition; the session makes the rows.
    pub table: &'static VirtualTableDef,
    /// Alias, for EXPLAIN.
    pub alias: Box<str>,
    /// (column, slot) of the columns that are used.
    pub columns: Vec<(u32, Slot)>,
    /// (position in the table's keys, values): the column is one of them. The conditions stay in a filter above.
    pub keys: Vec<(u32, Vec<Expr>)>,
    /// Expected rows per execution, for EXPLAIN.
    pub rows: f64,
}

/// An access method.
#[derive(Debug)]
pub enum Access {
    /// Every row, in primary key order.
    Full {
        /// Descending.
        backward: bool,
    },
    /// Ranges of an index.
    Index {
        /// Position in the table's indexes.
        index: u32,
        /// Ranges; all of the index when `None`.
        ranges: Option<RangeSpec>,
        /// Descending.
        backward: bool,
        /// At most one row matches a given key (unique index, all parts by equality).
        unique: bool,
        /// Only the first (or last) row is wanted: MIN/MAX.
        first_only: bool,
    },
    /// One entry, or two, of each group of entries that have the leading parts of an index in common; the index covers.
    Groups(Groups),
    /// Rows that several indexes find, fetched once each, in primary key order.
    Merge {
        /// Whether a row is in any arm, or in all.
        kind: MergeKind,
        /// What each index reads.
        arms: Vec<MergeArm>,
    },
}

/// Groups of entries that have the leading parts of an index in common, and what is read of each.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Position in the table's indexes.
    pub index: u32,
    /// How many parts.
    pub parts: u32,
    /// Ranges of those parts: the groups in them are read, or all.
    pub ranges: Option<RangeSpec>,
    /// The filter asks for nothing but the parts in common.
    pub alike: bool,
    /// Ranges of the parts behind: the first that find a row count. Where there are none, all of a group, which is alike then.
    pub within: Vec<RangeSpec>,
    /// Which entries.
    pub ends: GroupEnds,
}

impl Groups {
    /// The parts that ranges bound behind those in common.
    pub(crate) fn bounded_within(&self) -> Range<usize> {
        let parts = self.parts as usize;
        parts..parts + self.within.first().map_or(0, parts_used)
    }

    /// All parts that ranges bound.
    pub(crate) fn bounded(&self) -> impl Iterator<Item = usize> {
        (0..self.ranges.as_ref().map_or(0, parts_used)).chain(self.bounded_within())
    }
}

/// Which entries of a group are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupEnds {
    /// All in the ranges: a skip scan.
    All,
    /// The first.
    First,
    /// The last.
    Last,
    /// Both.
    Both,
}

/// How indexes are merged; the names are those that EXPLAIN gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeKind {
    /// In all arms.
    Intersection,
    /// In any arm, each of which comes in the order of the primary key.
    Union,
    /// In any arm.
    SortUnion,
}

impl MergeKind {
    /// The name that EXPLAIN gives.
    pub fn name(self) -> &'static str {
        match self {
            MergeKind::Intersection => "intersect",
            MergeKind::Union => "union",
            MergeKind::SortUnion => "sort_union",
        }
    }
}

/// One of the indexes that are merged.
#[derive(Clone, Debug)]
pub struct MergeArm {
    /// Position in the table's indexes.
    pub index: u32,
    /// Its ranges.
    pub ranges: RangeSpec,
}

/// Ranges of an index: a disjunction.
#[derive(Clone, Debug)]
pub struct RangeSpec {
    /// Alternatives; their union is read.
    pub any: Vec<PrefixRange>,
}

impl RangeSpec {
    /// Whether it is one value for each of the leading parts.
    pub fn is_point(&self) -> bool {
        matches!(self.any.as_slice(), [only] if only.interval.is_none() && only.points.iter().all(|p| p.len() == 1))
    }

    /// The bounds.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        self.any.iter().flat_map(|prefix| {
            let points = prefix.points.iter().flatten().map(|point| &point.value);
            let intervals = prefix.interval.iter().flat_map(|interval| {
                let bounds = interval.low.iter().chain(&interval.high).map(|(bound, _)| bound);
                bounds.chain(interval.like.iter().map(|(pattern, _)| pattern))
            });
            points.chain(intervals)
        })
    }
}

/// Bounds on the leading parts of an index.
#[derive(Clone, Debug, Default)]
pub struct PrefixRange {
    /// For each leading part the values it may have (one: equality; more: IN).
    pub points: Vec<Vec<Point>>,
    /// Bounds on the next part.
    pub interval: Option<Interval>,
}

/// A value an index part may have.
#[derive(Clone, Debug)]
pub struct Point {
    /// Value.
    pub value: Expr,
    /// NULL is a value (IS NULL, `<=>`); else NULL matches nothing.
    pub null_safe: bool,
}

/// Bounds on one index part; the tightest of each side counts.
#[derive(Clone, Debug, Default)]
pub struct Interval {
    /// Lower bounds: value, included.
    pub low: Vec<(Expr, bool)>,
    /// Upper bounds: value, included.
    pub high: Vec<(Expr, bool)>,
    /// LIKE pattern with its escape: its literal prefix bounds both sides.
    pub like: Option<(Expr, Option<char>)>,
    /// NULL is left out although no lower bound says so.
    pub not_null: bool,
}

/// INSERT or REPLACE.
#[derive(Debug)]
pub struct Insert {
    /// Target, position in [`Plan::tables`].
    pub table: u32,
    /// Where rows come from.
    pub source: InsertSource,
    /// For each table column: what it gets.
    pub columns: Vec<InsertColumn>,
    /// REPLACE.
    pub replace: bool,
    /// IGNORE.
    pub ignore: bool,
    /// ON DUPLICATE KEY UPDATE: (column, value); the values read the existing row through `existing_slots`, the new one through `new_slots`.
    pub on_duplicate: Vec<(u32, Expr)>,
    /// First slot of the new row (one per table column).
    pub new_slots: Slot,
    /// First slot of the existing row (one per table column).
    pub existing_slots: Slot,
    /// What `on_duplicate` reads of the SELECT's tables: (position in the source's row, slot).
    pub source_slots: Vec<(u32, Slot)>,
    /// What the table's definition computes and asks of the new row.
    pub rules: Option<Box<RowRules>>,
}

/// Rows to insert.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One per plan.
pub enum InsertSource {
    /// VALUES: for each row one entry per given column; `None` is DEFAULT.
    Values(Vec<Vec<Option<Expr>>>),
    /// VALUES of plain literals.
    Literals(LiteralRows),
    /// SELECT.
    Query(Query),
    /// Rows are handed in at execution (LOAD DATA).
    External(Box<Load>),
}

/// What LOAD DATA makes of a line.
#[derive(Debug)]
pub struct Load {
    /// Where its fields go, in order.
    pub fields: Vec<LoadField>,
    /// SET: (column, value), in the order written; the values read the row through [`Insert::new_slots`], and later ones see earlier ones' results.
    pub set: Vec<(u32, Expr)>,
}

/// Where a field of a file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadField {
    /// To a column of the table.
    Column(u32),
    /// To a user variable.
    Variable(Box<str>),
}

/// Where a column of an inserted row comes from.
#[derive(Clone, Debug)]
pub enum InsertColumn {
    /// Position in the source row.
    Source(u32),
    /// Not given: the default applies.
    Default,
}

/// UPDATE.
#[derive(Debug)]
pub struct Update {
    /// Finds the rows; the target tables' nodes have `keep_row`.
    pub input: Node,
    /// Targets.
    pub targets: Vec<UpdateTarget>,
    /// Evaluate everything first, then change: needed when changes could move rows in the scanned index, or for joins.
    pub buffered: bool,
    /// The target whose new values the assignments to those behind it read: that of the table that the join begins with, where nothing else goes by them.
    pub shown: Option<usize>,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// IGNORE.
    pub ignore: bool,
}

/// A table of an UPDATE.
#[derive(Debug)]
pub struct UpdateTarget {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// First slot of its row: all columns are read, one slot each.
    pub first_slot: Slot,
    /// (column, new value), in the order written; later ones see earlier ones' results.
    pub set: Vec<(u32, Expr)>,
    /// Slot of the row's bytes; the next slot holds its key.
    pub row_slot: Slot,
    /// What the table's definition computes and asks of the changed row.
    pub rules: Option<Box<RowRules>>,
    /// Another target is the same table, under another name: a row may be changed by both.
    pub shared: bool,
}

/// A text, literal or parameter, that is compared with numbers.
#[derive(Debug, Clone)]
pub struct NumberText {
    /// The text.
    pub text: Expr,
    /// What MySQL calls the number that is made of it.
    pub kind: &'static str,
}

/// DELETE.
#[derive(Debug)]
pub struct Delete {
    /// Finds the rows; the target tables' nodes have `keep_row`.
    pub input: Node,
    /// Targets.
    pub targets: Vec<DeleteTarget>,
    /// Find all rows first, then delete: a subquery reads the table again.
    pub buffered: bool,
    /// LIMIT.
    pub limit: Option<Expr>,
    /// IGNORE.
    pub ignore: bool,
}

/// A table of a DELETE.
#[derive(Debug)]
pub struct DeleteTarget {
    /// Position in [`Plan::tables`].
    pub table: u32,
    /// Slot of the row's bytes; the next slot holds its key.
    pub row_slot: Slot,
}

/// A constant of the plan with its type.
pub type TypedValue = (Value, ColumnType);

/// Growth (or shrinking) of a table past which another plan may be better.
const OUTGROWN_FACTOR: u64 = 16;
/// Changes of tables smaller than this do not matter.
const OUTGROWN_ROWS_MIN: u64 = 1000;
/// A table that was empty has filled when it has more rows.
const FILLED_ROWS_MIN: u64 = 16;

impl AsRef<Plan> for Plan {
    fn as_ref(&self) -> &Plan {
        self
    }
}

impl Plan {
    /// It reads or writes tables, those computed of the dictionary included: it is part of a transaction.
    pub fn uses_tables(&self) -> bool {
        !self.tables.is_empty() || self.reads_dictionary || !self.views.is_empty()
    }

    /// Whether a table has grown or shrunk so much that the statement should be planned again. A few loads; never for plans that are right
    /// at any size.
    #[inline]
    pub fn is_outgrown(&self) -> bool {
        !self.short.as_ref().is_some_and(ShortPlan::suits_any_size)
            && self.tables.iter().zip(&self.table_rows).any(|(table, then)| {
                let now = table.storage.rows_estimate();
                if *then == 0 && now > FILLED_ROWS_MIN && self.tables.len() > 1 {
                    // A join begins with a table that is empty.
                    return true;
                }
                let now = now.max(OUTGROWN_ROWS_MIN);
                let then = (*then).max(OUTGROWN_ROWS_MIN);
                now / OUTGROWN_FACTOR > then || then / OUTGROWN_FACTOR > now
            })
    }

    /// Has an UPDATE or DELETE find all its rows before it changes the first where a subquery reads the changed table again (which it may behind a derived
    /// table only): a subquery that is asked for a later row only, behind an OR, would see what was changed by then.
    pub(crate) fn find_before_changing(&mut self) {
        let changed: Vec<u32> = match &self.body {
            Body::Update(update) => update.targets.iter().map(|target| target.table).collect(),
            Body::Delete(delete) => delete.targets.iter().map(|target| target.table).collect(),
            Body::Query(_) | Body::Insert(_) => return,
        };
        let id = |table: u32| self.tables[table as usize].def.id;
        let mut again = false;
        for subplan in &self.subplans {
            subplan.query.root.for_each_table(&mut |node| again |= changed.iter().any(|table| id(*table) == id(node.table)));
        }
        match &mut self.body {
            Body::Update(update) => update.buffered |= again,
            Body::Delete(delete) => delete.buffered = again,
            Body::Query(_) | Body::Insert(_) => {}
        }
    }

    /// Calls `f` with every table node.
    pub fn for_each_table<'p>(&'p self, f: &mut dyn FnMut(&'p TableNode)) {
        match &self.body {
            Body::Query(q) => q.root.for_each_table(f),
            Body::Insert(i) => {
                if let InsertSource::Query(q) = &i.source {
                    q.root.for_each_table(f);
                }
            }
            Body::Update(u) => u.input.for_each_table(f),
            Body::Delete(d) => d.input.for_each_table(f),
        }
        for s in &self.subplans {
            s.query.root.for_each_table(f);
            if let Some(l) = &s.lookup {
                l.grouped.root.for_each_table(f);
            }
        }
    }
}

impl Node {
    /// Calls `f` with the number of every cache below that depends on a round of a recursive CTE; says whether a round of a recursive CTE is read there.
    pub fn for_each_cache(&self, f: &mut dyn FnMut(u32)) -> bool {
        match self {
            Node::Unit | Node::Empty | Node::Values { .. } | Node::Table(_) | Node::Virtual(_) | Node::JsonTable(_) => false,
            Node::RecursiveScan { .. } => true,
            Node::Nested { outer, inner, .. } => outer.for_each_cache(f) | inner.for_each_cache(f),
            Node::Hash(h) => {
                let built_of_round = h.build.for_each_cache(f);
                if built_of_round {
                    f(h.cache);
                }
                h.probe.for_each_cache(f) | built_of_round
            }
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. } => input.for_each_cache(f),
            Node::Group(g) => g.input.for_each_cache(f),
            Node::Window(w) => w.input.for_each_cache(f),
            Node::Union { branches, .. } | Node::SetOperation { branches, .. } => {
                branches.iter().fold(false, |any, b| any | b.root.for_each_cache(f))
            }
            Node::Materialize { input, cache, .. } => {
                let of_round = input.root.for_each_cache(f);
                if of_round {
                    f(*cache);
                }
                of_round
            }
            Node::Recursive { seed, step, .. } => seed.root.for_each_cache(f) | step.root.for_each_cache(f),
        }
    }

    /// Calls `f` with every table node below.
    pub fn for_each_table<'p>(&'p self, f: &mut dyn FnMut(&'p TableNode)) {
        match self {
            Node::Unit | Node::Empty | Node::Values { .. } | Node::Virtual(_) | Node::JsonTable(_) | Node::RecursiveScan { .. } => {}
            Node::Table(t) => f(t),
            Node::Nested { outer, inner, .. } => {
                outer.for_each_table(f);
                inner.for_each_table(f);
            }
            Node::Hash(h) => {
                h.probe.for_each_table(f);
                h.build.for_each_table(f);
            }
            Node::Filter { input, .. }
            | Node::Project { input, .. }
            | Node::Sort { input, .. }
            | Node::Limit { input, .. }
            | Node::Distinct { input, .. } => input.for_each_table(f),
            Node::Group(g) => g.input.for_each_table(f),
            Node::Window(w) => w.input.for_each_table(f),
            Node::Union { branches, .. } | Node::SetOperation { branches, .. } => {
                branches.iter().for_each(|b| b.root.for_each_table(f));
            }
            Node::Materialize { input, .. } => input.root.for_each_table(f),
            Node::Recursive { seed, step, .. } => {
                seed.root.for_each_table(f);
                step.root.for_each_table(f);
            }
        }
    }
}
