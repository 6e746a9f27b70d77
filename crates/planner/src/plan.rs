//! Physical plans: what the executor runs.
//!
//! # Invariants
//! 1. A plan is immutable and shared by all sessions; values come from the parameters at execution.
//! 2. Every slot is written by exactly one node of the plan (or by the enclosing DML), and read only above it.
//! 3. `depends` lists every table with the schema version the plan was made for.
//!
//! # Start at
//! [`Plan`], then [`Node`]; how a table is read is in `plan/table.rs`, what a statement changes in `plan/change.rs`.

mod change;
mod table;

pub use change::*;
pub use table::*;

use crate::expr::{Expr, Slot};
use crate::json_table::JsonTableNode;
use crate::short::ShortPlan;
use crate::typing;
use crate::views::ViewUse;
use crate::window::Window;
use base::TableId;
use catalog::TableEntry;
use mysql_error::Warning;
use std::sync::Arc;
use types::{Collation, ColumnType};

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
    /// What indexes told of the parameters' values that it was made for: [`Plan::suits_values`].
    pub dives: Vec<crate::dives::Dive>,
    /// The LIMITs by parameters that it was chosen for.
    pub limits: Vec<crate::dives::Limited>,
    /// It reads computed tables of the dictionary.
    pub reads_dictionary: bool,
    /// Texts that are compared with numbers ([`crate::typing::is_told_once`]), and numbers with dates: each is told of once, before the plan runs, if it is none.
    pub told_constants: Vec<ToldConstant>,
    /// Its parameters are literals that were lifted out of the text, not a client's.
    pub lifted: bool,
    /// Parameters that are compared, and for what their values are taken before the plan runs.
    pub taken_as: Vec<(u32, TakenAs)>,
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

/// A constant that is compared and may be none of what it is compared with.
#[derive(Debug, Clone)]
pub struct ToldConstant {
    /// The constant.
    pub value: Expr,
    /// What is said of it.
    pub told_as: ToldAs,
    /// It is of a list that may have it more often than the text: lists of about the same length share a plan ([`parser::PADDED_MIN`]).
    pub padded: bool,
}

/// For what the value of a parameter is taken, as what it is compared with asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenAs {
    /// Beside a column of whole numbers a text is the number that it says ([`types::number_operand`]), so that neighbours that are one DOUBLE stay apart.
    Whole,
    /// The same beside a column of decimals.
    Decimal,
    /// Beside a date or a moment a text of a day that its month has not is that day all the same (`2024-02-31`, which is behind all of February), and a number
    /// the day whose digits it has. Of what a client binds only: a literal that is no date is an error.
    Moment,
}

/// What a constant is to be, and how it is told of if it is not.
#[derive(Debug, Clone)]
pub enum ToldAs {
    /// A text a number, which MySQL calls so.
    Number(&'static str),
    /// A text that is to begin with a year.
    Year,
    /// A number or a text a value of the column beside it, of this type and name; without a name a text a date or moment beside one that is computed.
    Moment(ColumnType, Box<str>),
    /// The same of an end of a range, where a text that is none at all fails nothing.
    MomentBound(ColumnType, Box<str>),
    /// The same of one among several.
    ListedMoment(ColumnType),
}

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
