//! State of binding one statement: scopes, slots, tables, subplans; and name resolution.

use crate::context::PlanContext;
use crate::expr::{Expr, ExprKind, Slot};
use crate::func::Func;
use crate::plan::{Aggregate, LimitSpec, OutputColumn, Query, Subplan};
use crate::scopes::Scopes;
use crate::window::{BoundWindow, Frame};
use catalog::{TableEntry, VirtualTableDef};
use foldhash::fast::FixedState;
use mysql_error::{SqlError, Warning, codes};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use types::ColumnType;

/// Result of binding.
pub type Result<T> = std::result::Result<T, SqlError>;

/// What binding, planning and running a statement leave of the stack, where they ask ([`check_stack`]), to what does not ask: a single block or operator, walks over the
/// finished plan, libraries. A connection's has 1.9 MiB.
const STACK_BYTES_KEPT: usize = 512 << 10;

/// Refuses what nests deeper than the stack is.
///
/// # Errors
/// 1436.
#[inline]
pub fn check_stack() -> Result<()> {
    match stacker::remaining_stack() {
        Some(left) if left < STACK_BYTES_KEPT => Err(overrun()),
        _ => Ok(()),
    }
}

#[cold]
fn overrun() -> SqlError {
    let error = parser::ParseError::too_deep();
    SqlError::with_message(error.code, error.message)
}

/// What is read by subqueries in the conditions of the joins of an UPDATE or DELETE: those are bound before it is known which of its tables it changes.
#[derive(Debug, Default)]
pub(crate) struct InOn {
    /// What is bound are the tables of such a statement, and not a query among them.
    pub of_change: bool,
    /// What is bound is in one of the conditions.
    pub inside: bool,
    /// What they read.
    pub read: Vec<base::TableId>,
}

/// A relation of a FROM clause.
#[derive(Debug, Clone)]
pub struct Relation {
    /// Alias, or name.
    pub alias: String,
    /// Database of a base table.
    pub database: String,
    /// Where its rows come from.
    pub source: Source,
    /// Its columns.
    pub columns: Vec<RelColumn>,
    /// Slot of each column that is used.
    pub slots: Vec<Option<Slot>>,
    /// On the right of an outer join.
    pub nullable: bool,
    /// Index hints: (kind, index numbers).
    pub hints: Vec<(parser::ast::IndexHintKind, Vec<u32>)>,
    /// Hints about looking up many keys at once.
    pub batches: crate::hints::BatchHints,
    /// Hints that choose a way to read it.
    pub ways: Vec<crate::hints::WayHint>,
    /// Locking.
    pub lock: crate::plan::LockMode,
    /// DML target: slot of the row's primary key.
    pub keep_key: Option<Slot>,
    /// Further slots for columns: where LATERAL relations read a DML target's, which got new slots.
    pub also: Vec<(u32, Slot)>,
    /// Columns that nothing but conditions reads, as far as an index might do without them.
    pub only_tested: Vec<crate::only_tested::OnlyTested>,
    /// It is part of a merged view: no name finds it.
    pub of_view: bool,
    /// No hint keeps it from being merged, if it is a derived table.
    pub merges: bool,
    /// The view whose rows they are, where these are made first.
    pub view: Option<std::sync::Arc<catalog::ViewEntry>>,
    /// The views that lead to the table, where it is the row of a change through them.
    pub links: std::sync::Arc<[crate::views::ViewLink]>,
}

impl Relation {
    /// The column whose value a slot holds.
    pub fn column_of(&self, slot: Slot) -> Option<usize> {
        let own = self.slots.iter().position(|s| *s == Some(slot));
        own.or_else(|| self.also.iter().find(|(_, s)| *s == slot).map(|(column, _)| *column as usize))
    }

    /// The columns that are used, each with the slot that gets its value; a column may have several.
    pub fn used_columns(&self) -> impl Iterator<Item = (u32, Slot)> {
        let own = self.slots.iter().enumerate().filter_map(|(column, slot)| slot.map(|slot| (column as u32, slot)));
        own.chain(self.also.iter().copied())
    }

    /// One that nobody reads a column of yet, and of which nothing else is said.
    pub fn new(alias: impl Into<String>, source: Source, columns: Vec<RelColumn>) -> Relation {
        Relation {
            alias: alias.into(),
            database: String::new(),
            source,
            slots: vec![None; columns.len()],
            columns,
            nullable: false,
            hints: Vec::new(),
            batches: Default::default(),
            ways: Vec::new(),
            lock: crate::plan::LockMode::None,
            keep_key: None,
            also: Vec::new(),
            only_tested: Vec::new(),
            of_view: false,
            merges: true,
            view: None,
            links: Default::default(),
        }
    }
}

/// Where a relation's rows come from.
#[derive(Debug, Clone)]
pub enum Source {
    /// A table, by its number in the plan.
    Base(u32),
    /// A view that is merged: its relations stand before this one.
    Merged(Box<crate::views::Merged>),
    /// A computed table.
    Virtual(&'static VirtualTableDef),
    /// JSON_TABLE, with the slots that its document reads.
    JsonTable(Arc<crate::json_table::JsonTable>, BTreeSet<Slot>),
    /// A query whose output goes to the relation's slots.
    Derived(Arc<Query>, BTreeSet<Slot>, f64),
    /// Such a query, as long as it has no plan: until the block is planned that it stands in. `None` while that is made.
    Waiting(Option<Box<crate::derived::Waiting>>),
    /// A shared common table expression: query, cache number, expected rows, slots of enclosing queries that it reads.
    Cte(Arc<Query>, u32, f64, BTreeSet<Slot>),
    /// The recursive reference inside a recursive CTE.
    RecursiveScan(u32),
    /// A recursive CTE.
    Recursive(Arc<RecursiveCte>),
}

impl Source {
    /// Slots of what stands before it, or of enclosing queries, that it reads.
    pub fn outer_slots(&self) -> impl Iterator<Item = &Slot> {
        let outer: Box<dyn Iterator<Item = &Slot>> = match self {
            Source::Derived(_, outer, _) | Source::JsonTable(_, outer) | Source::Cte(_, _, _, outer) => Box::new(outer.iter()),
            Source::Recursive(parts) => Box::new(parts.outer.iter()),
            Source::Waiting(waiting) => Box::new(waiting.iter().flat_map(|waiting| waiting.outer())),
            _ => Box::new(std::iter::empty()),
        };
        outer
    }
}

/// Parts of a recursive CTE.
#[derive(Debug)]
pub struct RecursiveCte {
    /// First rows.
    pub seed: Arc<Query>,
    /// Following rows.
    pub step: Arc<Query>,
    /// UNION DISTINCT.
    pub distinct: bool,
    /// LIMIT: with so many rows the recursion ends.
    pub limit: Option<LimitSpec>,
    /// Cache of a round.
    pub cache: u32,
    /// Cache of the result.
    pub result_cache: u32,
    /// Its columns.
    pub columns: Vec<crate::plan::RecursiveColumn>,
    /// Slots of enclosing queries that it reads.
    pub outer: BTreeSet<Slot>,
}

/// A column of a relation.
#[derive(Debug, Clone)]
pub struct RelColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub ty: ColumnType,
    /// Metadata to show.
    pub meta: OutputColumn,
    /// Not part of `*`, nor found by its name alone: a column behind a view, or of the row that INSERT gives a name.
    pub hidden: bool,
    /// Not part of `*`, nor of NATURAL joins: an `INVISIBLE` column.
    pub invisible: bool,
}

/// The two rows of ON DUPLICATE KEY UPDATE.
#[derive(Debug, Clone, Copy)]
pub struct InsertRow {
    /// First slot of the one that was to be inserted.
    pub new_slots: Slot,
    /// First slot of the one that is there.
    pub existing_slots: Slot,
}

/// What clause is being bound: it decides how names resolve and what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clause {
    /// Select list.
    Fields,
    /// WHERE.
    Where,
    /// ON.
    On,
    /// The document of JSON_TABLE.
    TableFunction,
    /// GROUP BY.
    GroupBy,
    /// HAVING.
    Having,
    /// ORDER BY.
    OrderBy,
    /// PARTITION BY of a window.
    WindowPartition,
    /// ORDER BY of a window.
    WindowOrder,
    /// Values of INSERT, UPDATE.
    FieldList,
}

impl Clause {
    /// The words of error 1054.
    pub fn words(self) -> &'static str {
        match self {
            Clause::Fields | Clause::FieldList => "field list",
            Clause::Where => "where clause",
            Clause::On => "on clause",
            Clause::TableFunction => "a table function argument",
            Clause::GroupBy => "group statement",
            Clause::Having => "having clause",
            Clause::OrderBy => "order clause",
            Clause::WindowPartition => "window partition by",
            Clause::WindowOrder => "window order by",
        }
    }
}

/// Where in a window function's call something is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InWindow {
    /// Among its arguments.
    Arguments,
    /// In the specification of the window of this name.
    Specification(Box<str>),
}

/// A window with a name, as specified.
#[derive(Debug, Clone)]
pub struct NamedWindow {
    /// Name.
    pub name: Box<str>,
    /// PARTITION BY, of what it extends.
    pub partition: Vec<crate::plan::SortKey>,
    /// ORDER BY, its own or of what it extends.
    pub order: Vec<crate::plan::SortKey>,
    /// Its frame, if it has one.
    pub frame: Option<Frame>,
}

/// Names visible in a query block.
#[derive(Debug, Clone)]
pub struct Scope {
    /// Relations in FROM order.
    pub relations: Vec<Relation>,
    /// Only the first this many relations are visible (binding of ON conditions).
    pub visible: std::ops::Range<usize>,
    /// Relations that a LATERAL derived table which is being bound does not see.
    pub unseen: Vec<std::ops::Range<usize>>,
    /// Select list: alias (lower case), expression.
    pub aliases: Vec<(String, Expr)>,
    /// What the block is grouped by, once that is bound.
    pub grouped_by: Vec<Slot>,
    /// Aggregates of the block.
    pub aggregates: Vec<(Slot, Aggregate)>,
    /// The slots of those that calls were bound to, by their text.
    pub aggregate_slots: HashMap<String, Slot>,
    /// Calls of GROUPING, with their arguments.
    pub groupings: Vec<(Slot, Vec<Expr>)>,
    /// Windows of the block, with their calls.
    pub windows: Vec<BoundWindow>,
    /// Windows that the WINDOW clause names.
    pub named_windows: Vec<NamedWindow>,
    /// Inside a call of a window function, or a window's specification: its name.
    pub in_window: Option<InWindow>,
    /// Aggregates may stand here.
    pub aggregates_allowed: bool,
    /// Inside the argument of an aggregate.
    pub in_aggregate: bool,
    /// Clause being bound.
    pub clause: Clause,
    /// What is wrong with an ON condition: told once the select list and WHERE have nothing wrong, as MySQL does.
    pub on_error: Option<SqlError>,
    /// What is wrong with a window's keys or frame: told once the rest of the block has nothing wrong, as MySQL does.
    pub window_error: Option<SqlError>,
    /// What is wrong with USING or NATURAL: told once all of FROM is bound.
    pub using_error: Option<SqlError>,
    /// Slots of enclosing blocks that this block (or one inside it) reads.
    pub outer: BTreeSet<Slot>,
    /// Something volatile was bound.
    pub volatile: bool,
    /// Columns read outside aggregates since the last reset: (relation, column), for 1055 and 1140.
    pub loose_columns: Vec<(usize, usize)>,
    /// What joins with USING and NATURAL show.
    pub joins: Vec<crate::bind_query::JoinColumns>,
    /// Conditions of merged views, to be those of the block.
    pub view_filter: Vec<Expr>,
    /// Hints on the order of the join, with relations by number.
    pub join_hints: Vec<(crate::hints::Place, Vec<usize>)>,
}

impl Scope {
    /// An empty scope.
    pub fn new() -> Scope {
        Scope {
            relations: Vec::new(),
            visible: 0..usize::MAX,
            unseen: Vec::new(),
            aliases: Vec::new(),
            grouped_by: Vec::new(),
            aggregates: Vec::new(),
            aggregate_slots: HashMap::new(),
            groupings: Vec::new(),
            windows: Vec::new(),
            named_windows: Vec::new(),
            in_window: None,
            aggregates_allowed: false,
            in_aggregate: false,
            clause: Clause::Fields,
            on_error: None,
            window_error: None,
            using_error: None,
            outer: BTreeSet::new(),
            volatile: false,
            loose_columns: Vec::new(),
            joins: Vec::new(),
            view_filter: Vec::new(),
            join_hints: Vec::new(),
        }
    }

    /// The column of a visible table that a name means; 1052 when they are several.
    #[inline]
    fn column_of_tables(&self, schema: Option<&str>, table: Option<&str>, column: &str) -> Result<Option<(usize, usize)>> {
        let mut found: Option<(usize, usize)> = None;
        for (r, relation) in self.relations.iter().enumerate() {
            if !self.visible.contains(&r) || self.unseen.iter().any(|range| range.contains(&r)) || relation.of_view {
                continue;
            }
            if let Some(table) = table {
                if relation.alias != table && !(matches!(relation.source, Source::Cte(..)) && relation.alias.eq_ignore_ascii_case(table)) {
                    continue;
                }
                if let Some(schema) = schema
                    && relation.database != schema
                {
                    continue;
                }
            }
            for (c, candidate) in relation.columns.iter().enumerate() {
                if candidate.name.eq_ignore_ascii_case(column) && (!candidate.hidden || table.is_some()) {
                    if found.is_some() {
                        let name = spelled(schema, table, column);
                        return Err(codes::non_uniq_error(name, self.clause.words()));
                    }
                    found = Some((r, c));
                    if table.is_some() {
                        break;
                    }
                }
            }
        }
        Ok(found)
    }
}

/// A CTE that can be named.
#[derive(Debug, Clone)]
pub struct CteEntry {
    /// Name.
    pub name: String,
    /// Source for a reference.
    pub source: Source,
    /// Its place in [`Binder::cte_uses`].
    pub number: usize,
    /// How many blocks stand around it.
    pub depth: usize,
    /// How many blocks it is made of, one within or behind the other: [`Binder::levels`].
    pub levels: usize,
    /// What naming it costs.
    pub copies: CteCopies,
    /// Columns.
    pub columns: Vec<RelColumn>,
}

/// How many queries behind WITH a part of the statement names again, those within them too: what walks over the plan goes through each of them. MySQL counts, and
/// bounds, its copies so: the first who names one has the query itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct CteCopies {
    /// Where the part stands for the first time.
    pub first: u32,
    /// Where it is a copy itself.
    pub again: u32,
}

impl CteCopies {
    /// Of a query that names none.
    pub const PLAIN: CteCopies = CteCopies { first: 0, again: 1 };
}

/// The state of binding.
pub struct Binder<'c> {
    /// Surroundings.
    pub context: &'c dyn PlanContext,
    /// Text of the statement, for column names.
    pub sql: &'c [u8],
    /// Tables of the plan.
    pub tables: Vec<Arc<TableEntry>>,
    /// See [`crate::Plan`]'s field.
    pub references: Vec<(u32, Box<str>)>,
    /// Subqueries of expressions.
    pub subplans: Vec<Subplan>,
    /// Blocks of subqueries that are not planned yet, by subplan number.
    pub pending: Vec<Option<Box<crate::logical::Block>>>,
    /// Next free slot.
    pub slot_count: u32,
    /// Type of each slot.
    pub slot_types: Vec<ColumnType>,
    /// Next free cache.
    pub cache_count: u32,
    /// Next table node number.
    pub table_nodes: u32,
    /// Something volatile was bound anywhere in the statement.
    pub volatile: bool,
    /// Parameters in select lists, with what they were bound as: see [`crate::plan::Plan::free_params`].
    pub free_params: Vec<(u32, Option<(types::TypeKind, bool)>)>,
    /// Parameters seen.
    pub param_count: u32,
    /// The last name of a column that was not found, and how many blocks stood around the one that names it.
    pub missing: Option<(String, usize)>,
    /// Query blocks from the outermost inward.
    pub scopes: Scopes,
    /// CTEs in scope; later ones hide earlier ones.
    pub ctes: Vec<CteEntry>,
    /// Names of CTEs of WITH RECURSIVE that are being bound and do not name themselves in a FROM: a subquery that does is refused.
    pub recursing: Vec<String>,
    /// The next query may have INTO: it is the outermost one.
    pub into_allowed: bool,
    /// The next block may have SQL_CALC_FOUND_ROWS.
    pub counts_allowed: bool,
    /// Rows are locked.
    pub locks: bool,
    /// Rows that are read are to be changed: UPDATE and DELETE.
    pub changes_read_rows: bool,
    /// Against locking reads.
    pub locks_exclusively: bool,
    /// For VALUES(col) in ON DUPLICATE KEY UPDATE.
    pub insert_row: Option<InsertRow>,
    /// Tables that the statement changes: its subqueries may not read them, but for derived tables, which are read before.
    pub changed: Vec<(base::TableId, String)>,
    /// What subqueries in the conditions of its joins read.
    pub(crate) in_on: InOn,
    /// Rows per key of index prefixes that were asked for: (table, index, parts).
    pub densities: RefCell<HashMap<(usize, usize, usize), Option<f64>, FixedState>>,
    /// Derived tables may become part of the block that they stand in: the statement changes nothing.
    pub merges: bool,
    /// How often each common table expression is named, in the order in which they are bound.
    pub cte_uses: Vec<u32>,
    /// Blocks that the query being bound is made of so far, one within the other, or behind a CTE: what walks over a plan goes as deep.
    pub levels: usize,
    /// Those that are named already, a recursive one not by itself.
    pub cte_named: Vec<bool>,
    /// Of the query behind WITH that is being bound, or of the statement.
    pub cte_copies: CteCopies,
    /// Those that are named once, known from binding the statement before.
    pub cte_once: Vec<bool>,
    /// Rows of columns that were looked at.
    pub samples: RefCell<HashMap<crate::sample::SampleOf, Option<Arc<crate::sample::Sample>>, FixedState>>,
    /// What they told.
    pub told: RefCell<Vec<crate::selectivity::Told>>,
    /// What rows of a large table tell of those they refer to: (referring column, the other table's key).
    pub partners: RefCell<HashMap<(Slot, Slot), crate::join::Partners>>,
    /// How often each subquery of an expression is expected to be asked, by subplan number.
    pub executions: HashMap<u32, f64>,
    /// How often the block that is being planned is expected to run.
    pub block_executions: f64,
    /// What reading and joining the tables of the block costs that was planned last.
    pub joined_cost: f64,
    /// Slots of UPDATE targets that were replaced by those of the whole row: (old, new).
    pub replaced_slots: Vec<(Slot, Slot)>,
    /// See [`crate::Plan`]'s field.
    pub user_variables: Vec<(Box<str>, Option<ColumnType>)>,
    /// User variables that the statement assigns, by lower-case name.
    pub assigned_variables: Vec<Box<str>>,
    /// It says what LAST_INSERT_ID() is to be.
    pub assigns_insert_id: bool,
    /// See [`crate::Plan`]'s field.
    pub drifts: Cell<bool>,
    /// See [`crate::Plan`]'s field.
    pub dives: RefCell<Vec<crate::dives::Dive>>,
    /// See [`crate::Plan`]'s field.
    pub limits: Vec<crate::dives::Limited>,
    /// See [`crate::Plan`]'s field.
    pub told_constants: Vec<crate::plan::ToldConstant>,
    /// See [`crate::plan::Plan::taken_as`].
    pub taken_as: Vec<(u32, crate::plan::TakenAs)>,
    /// What the statement touches.
    pub accesses: crate::accesses::Accesses,
    /// See [`crate::Plan`]'s field.
    pub warnings: Vec<Warning>,
    /// See [`crate::Plan`]'s field.
    pub reads_dictionary: bool,
    /// See [`crate::Plan`]'s field.
    pub differs_elsewhere: bool,
    /// While a stored expression is bound: the first slot of its row, and the columns.
    pub row_columns: Option<(Slot, Vec<catalog::ColumnDef>)>,
    /// Views.
    pub views: crate::views::ViewState,
    /// Hints of the statement.
    pub hints: crate::hints::StatementHints,
}

impl<'c> Binder<'c> {
    /// A fresh state.
    pub fn new(context: &'c dyn PlanContext, sql: &'c [u8]) -> Binder<'c> {
        Binder {
            context,
            sql,
            tables: Vec::new(),
            references: Vec::new(),
            subplans: Vec::new(),
            pending: Vec::new(),
            slot_count: 0,
            slot_types: Vec::new(),
            cache_count: 0,
            table_nodes: 0,
            volatile: false,
            free_params: Vec::new(),
            missing: None,
            param_count: 0,
            scopes: Scopes::new(),
            ctes: Vec::new(),
            recursing: Vec::new(),
            into_allowed: false,
            counts_allowed: false,
            locks: false,
            changes_read_rows: false,
            locks_exclusively: false,
            insert_row: None,
            changed: Vec::new(),
            in_on: InOn::default(),
            densities: RefCell::default(),
            samples: RefCell::default(),
            told: RefCell::default(),
            partners: RefCell::default(),
            merges: false,
            cte_uses: Vec::new(),
            cte_named: Vec::new(),
            cte_copies: CteCopies::default(),
            levels: 0,
            cte_once: Vec::new(),
            executions: HashMap::new(),
            block_executions: 1.0,
            joined_cost: 0.0,
            replaced_slots: Vec::new(),
            user_variables: Vec::new(),
            assigned_variables: Vec::new(),
            assigns_insert_id: false,
            drifts: Cell::new(false),
            dives: RefCell::default(),
            limits: Vec::new(),
            told_constants: Vec::new(),
            taken_as: Vec::new(),
            accesses: Default::default(),
            warnings: Vec::new(),
            reads_dictionary: false,
            differs_elsewhere: false,
            row_columns: None,
            views: Default::default(),
            hints: Default::default(),
        }
    }

    /// Whether its value may change while the statement runs, by what the statement itself does.
    pub(crate) fn is_reassigned(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::UserVariable(name) => self.assigned_variables.contains(name),
            ExprKind::Func(Func::LastInsertId, _) => self.assigns_insert_id,
            _ => false,
        }
    }

    /// Takes a new slot.
    pub fn new_slot(&mut self, ty: ColumnType) -> Slot {
        self.slot_types.push(ty);
        self.slot_count += 1;
        self.slot_count - 1
    }

    /// Takes a new cache number.
    pub fn new_cache(&mut self) -> u32 {
        self.cache_count += 1;
        self.cache_count - 1
    }

    /// Takes a new table node number.
    pub fn new_table_node(&mut self) -> u32 {
        self.table_nodes += 1;
        self.table_nodes - 1
    }

    /// The innermost scope: of the block that is being bound.
    pub fn scope(&mut self) -> &mut Scope {
        self.scopes.innermost()
    }

    /// Registers a table; the same table twice is two entries, since each reference locks and reads by itself.
    pub fn add_table(&mut self, entry: Arc<TableEntry>) -> u32 {
        if let Some(at) = self.tables.iter().position(|t| Arc::ptr_eq(t, &entry)) {
            return at as u32;
        }
        self.tables.push(entry);
        self.tables.len() as u32 - 1
    }

    /// The slot of a relation's column, allocated at first use.
    pub fn column_slot(&mut self, depth: usize, relation: usize, column: usize) -> Slot {
        if let Some(slot) = self.scopes[depth].relations[relation].slots[column] {
            return slot;
        }
        let ty = self.scopes[depth].relations[relation].columns[column].ty.clone();
        let slot = self.new_slot(ty);
        self.scopes[depth].relations[relation].slots[column] = Some(slot);
        slot
    }

    /// An expression for a relation's column.
    pub fn column_expr(&mut self, depth: usize, relation: usize, column: usize) -> Expr {
        self.access_column(depth, relation, column);
        if let Some(expr) = self.merged_column(depth, relation, column) {
            return expr;
        }
        let slot = self.column_slot(depth, relation, column);
        let rel = &self.scopes[depth].relations[relation];
        let mut ty = rel.columns[column].ty.clone();
        ty.nullable |= rel.nullable;
        if depth + 1 == self.scopes.len() {
            let scope = &mut self.scopes[depth];
            if !scope.in_aggregate {
                scope.loose_columns.push((relation, column));
            }
        } else {
            for inner in &mut self.scopes[depth + 1..] {
                inner.outer.insert(slot);
            }
            // Read by a subquery: it must survive grouping.
            let scope = &mut self.scopes[depth];
            if !scope.in_aggregate {
                scope.loose_columns.push((relation, column));
            }
        }
        Expr::slot(slot, ty)
    }

    /// Resolves a column name from the innermost block outward.
    pub fn resolve_column(&mut self, schema: Option<&str>, table: Option<&str>, column: &str) -> Result<Expr> {
        let innermost = self.scopes.len().saturating_sub(1);
        for depth in (0..self.scopes.len()).rev() {
            let scope = &self.scopes[depth];
            // A subquery of HAVING finds columns first.
            if table.is_none()
                && depth == innermost
                && scope.clause == Clause::Having
                && !scope.in_aggregate
                && let Some(expr) = self.item_for_having(depth, column)?
            {
                return Ok(expr);
            }
            let scope = &self.scopes[depth];
            let found = match table {
                None if !scope.joins.is_empty() => scope.shown_column(column)?,
                _ => scope.column_of_tables(schema, table, column)?,
            };
            if let Some((r, c)) = found
                && (depth < innermost || self.having_sees(depth, r, c))
            {
                self.note_column(depth, r, c);
                return Ok(self.column_expr(depth, r, c));
            }
            let scope = &self.scopes[depth];
            let items_are_seen = match scope.clause {
                Clause::Having | Clause::GroupBy | Clause::OrderBy => true,
                Clause::Fields => depth < innermost && !scope.visible.is_empty(),
                _ => false,
            };
            if table.is_none()
                && items_are_seen
                && let Some(item) = self.one_item(depth, column)?.cloned()
            {
                self.refuse_result(depth, column, &item)?;
                return Ok(self.noted_alias(depth, column, item));
            }
        }
        let clause = self.scopes.last().map_or(Clause::FieldList, |s| s.clause);
        let name = spelled(schema, table, column);
        if let Some(table) = table {
            // What set operations make has columns, but no tables.
            let of_set = |r: &Relation| matches!(r.source, Source::RecursiveScan(u32::MAX));
            if self.scopes.last().is_some_and(|scope| scope.relations.iter().any(of_set)) {
                return Err(codes::tablename_not_allowed_here(table, "global ORDER clause"));
            }
            if !self.sees_tables() {
                return Err(codes::unknown_table(table, clause.words()));
            }
        }
        if table.is_none() {
            self.missing = Some((column.to_owned(), innermost));
        }
        Err(codes::bad_field_error(name, clause.words()))
    }

    /// Whether a name may mean this column where it stands: in HAVING only what is selected or grouped by is seen, unless an aggregate is taken of it.
    fn having_sees(&self, depth: usize, r: usize, c: usize) -> bool {
        let scope = &self.scopes[depth];
        if scope.clause != Clause::Having || scope.in_aggregate {
            return true;
        }
        match scope.relations[r].slots[c] {
            Some(slot) => {
                let is_it = |expr: &Expr| matches!(expr.kind, ExprKind::Slot(of) if of == slot);
                scope.grouped_by.contains(&slot) || scope.aliases.iter().any(|(_, item)| is_it(item))
            }
            // Of a view that has become part of the query.
            None => match &scope.relations[r].source {
                Source::Merged(merged) => {
                    let expr = &merged.exprs[c];
                    let grouped = matches!(expr.kind, ExprKind::Slot(slot) if scope.grouped_by.contains(&slot));
                    grouped || scope.aliases.iter().any(|(_, item)| crate::alike::same(item, expr))
                }
                _ => false,
            },
        }
    }

    /// What says that an item may not be named where it is, for it is an aggregate's result or a window's: in an aggregate, or in a subquery.
    fn refuse_result(&self, depth: usize, name: &str, item: &Expr) -> Result<()> {
        let scope = &self.scopes[depth];
        let has = |is: &dyn Fn(Slot) -> bool| item.any(&mut |e| matches!(e.kind, ExprKind::Slot(slot) if is(slot)));
        let of_aggregate = has(&|slot| scope.aggregates.iter().any(|(of, _)| *of == slot));
        let of_window = has(&|slot| scope.windows.iter().flat_map(|w| &w.calls).any(|(of, _)| *of == slot));
        if scope.in_aggregate && (of_aggregate || of_window) {
            return Err(codes::invalid_group_func_use());
        }
        if depth + 1 == self.scopes.len() {
            return Ok(());
        }
        if of_window {
            return Err(codes::window_invalid_window_func_alias_use(name));
        }
        if of_aggregate {
            return Err(codes::illegal_reference(name, "reference to group function"));
        }
        Ok(())
    }

    /// Whether a name could be that of a table's column: the block has a table, or stands in one whose names it sees.
    fn sees_tables(&self) -> bool {
        let Some((innermost, enclosing)) = self.scopes.split_last() else { return false };
        let seen = |r: usize| innermost.visible.contains(&r) && !innermost.unseen.iter().any(|range| range.contains(&r));
        (0..innermost.relations.len()).any(seen) || enclosing.iter().any(|scope| !scope.visible.is_empty())
    }

    /// The item of the select list that a name in HAVING means: there items come before columns, but for those that the block is grouped by. The first
    /// computed item of that name is meant; where all are columns, there must be but one.
    fn item_for_having(&mut self, depth: usize, name: &str) -> Result<Option<Expr>> {
        let scope = &self.scopes[depth];
        let grouped = |(r, c): (usize, usize)| scope.relations[r].slots[c].is_some_and(|slot| scope.grouped_by.contains(&slot));
        let named = |(_, column): &(usize, &RelColumn)| column.name.eq_ignore_ascii_case(name);
        let columns = |r: usize| scope.relations[r].columns.iter().enumerate().filter(named).map(move |(c, _)| (r, c));
        if (0..scope.relations.len()).flat_map(columns).any(grouped) {
            return Ok(None);
        }
        self.item_named(depth, name)
    }

    /// The item of the select list that a name means, noted as read; see [`Binder::one_item`].
    pub(crate) fn item_named(&mut self, depth: usize, name: &str) -> Result<Option<Expr>> {
        let found = self.one_item(depth, name)?.cloned();
        Ok(found.map(|item| self.noted_alias(depth, name, item)))
    }

    /// The item of the select list with this name: the first that is computed, else the column that all of them are; 1052 when they are several.
    pub(crate) fn one_item(&self, depth: usize, name: &str) -> Result<Option<&Expr>> {
        let scope = &self.scopes[depth];
        let mut found: Option<&Expr> = None;
        for (_, item) in scope.aliases.iter().filter(|(alias, _)| alias.eq_ignore_ascii_case(name)) {
            let is_column = matches!(item.kind, ExprKind::Slot(slot) if scope.relations.iter().any(|r| r.slots.contains(&Some(slot))));
            match found {
                _ if !is_column => {
                    found = Some(item);
                    break;
                }
                Some(other) if !crate::alike::same(other, item) => {
                    return Err(codes::non_uniq_error(name.to_owned(), scope.clause.words()));
                }
                _ => found = Some(item),
            }
        }
        Ok(found)
    }

    fn noted_alias(&mut self, depth: usize, name: &str, expr: Expr) -> Expr {
        self.note_alias(depth, name, &expr);
        self.note_outer(depth, &expr);
        expr
    }

    /// Notes that blocks inside `depth` read the slots of an expression of that block.
    pub(crate) fn note_outer(&mut self, depth: usize, expr: &Expr) {
        let mut slots = Vec::new();
        expr.walk(&mut |e| {
            if let ExprKind::Slot(s) = e.kind {
                slots.push(s);
            }
        });
        for inner in &mut self.scopes[depth + 1..] {
            inner.outer.extend(slots.iter().copied());
        }
        // Columns behind the expression are read outside aggregates as far as 1055 is concerned.
        let scope = &mut self.scopes[depth];
        if !scope.in_aggregate {
            for (r, relation) in scope.relations.iter().enumerate() {
                for (c, slot) in relation.slots.iter().enumerate() {
                    if slot.is_some_and(|s| slots.contains(&s)) {
                        scope.loose_columns.push((r, c));
                    }
                }
            }
        }
    }
}

/// A column name as error messages spell it.
pub fn spelled(schema: Option<&str>, table: Option<&str>, column: &str) -> String {
    match (schema, table) {
        (Some(s), Some(t)) => format!("{s}.{t}.{column}"),
        (None, Some(t)) => format!("{t}.{column}"),
        _ => column.to_owned(),
    }
}
