//! What a table's definition computes of a row and asks of it: expression defaults, generated columns, CHECK constraints, bound.
//!
//! # Invariants
//! 1. A table without such expressions has no rules, and its statements plan and run as if there were none anywhere.
//! 2. The expressions are bound under fixed settings: what they mean does not depend on the session that writes.
//! 3. They read the slots of one row and nothing else: no table, no variable, no parameter.

use crate::binder::{Binder, Clause, RelColumn, Relation, Result, Scope, Source};
use crate::context::PlanContext;
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::{Body, Node, OutputColumn, Plan, Query};
use crate::views::ViewCheck;
use catalog::{ColumnDef, DefaultValue, TableDef, TableEntry, Visibility};
use engine::KeyRange;
use mysql_error::{SqlError, codes};
use std::sync::Arc;
use types::{Collation, ColumnType, SqlMode};

/// The rules of a table, over a row of slots.
#[derive(Debug)]
pub struct RowRules {
    /// Slot of the first column; the others follow.
    pub first_slot: Slot,
    /// Columns that any of the expressions reads.
    pub reads: Vec<u32>,
    /// Expression defaults, in the order of columns.
    pub defaults: Vec<(u32, Expr)>,
    /// Generated columns, in the order of columns: later ones read earlier ones.
    pub generated: Vec<(u32, Expr)>,
    /// Conditions of the CHECK constraints that are enforced, with their names.
    pub checks: Vec<(Box<str>, Expr)>,
    /// What the view asks that the statement writes through.
    pub view_check: Option<Box<ViewCheck>>,
}

impl RowRules {
    /// Of a table that has none.
    pub(crate) fn none() -> RowRules {
        RowRules { first_slot: 0, reads: Vec::new(), defaults: Vec::new(), generated: Vec::new(), checks: Vec::new(), view_check: None }
    }

    /// Notes what the expressions read.
    fn find_reads(&mut self) {
        let all = self.defaults.iter().chain(&self.generated).map(|(_, e)| e).chain(self.checks.iter().map(|(_, e)| e));
        let mut reads = Vec::new();
        for e in all {
            e.walk(&mut |e| {
                if let ExprKind::Slot(slot) = e.kind {
                    reads.push(slot - self.first_slot);
                }
            });
        }
        reads.sort_unstable();
        reads.dedup();
        self.reads = reads;
    }
}

/// The settings under which stored expressions are bound.
struct Fixed;

impl PlanContext for Fixed {
    fn database(&self) -> Option<&str> {
        None
    }
    fn table(&self, database: &str, name: &str) -> std::result::Result<Arc<TableEntry>, SqlError> {
        Err(codes::no_such_table(database, name))
    }
    fn sql_mode(&self) -> SqlMode {
        SqlMode::default()
    }
    fn connection_collation(&self) -> Collation {
        Collation::DEFAULT
    }
    fn system_variable_type(&self, name: &str) -> std::result::Result<ColumnType, SqlError> {
        Err(codes::unknown_system_variable(name))
    }
    fn estimate(&self, _: &TableEntry, _: usize, _: &KeyRange) -> Option<u64> {
        None
    }
    fn rows_estimate(&self, _: &TableEntry) -> u64 {
        0
    }
}

static FIXED: Fixed = Fixed;

impl Binder<'_> {
    /// The rules of a table, over slots of their own; `None` when it has none.
    pub(crate) fn row_rules(&mut self, def: &TableDef) -> Result<Option<Box<RowRules>>> {
        if !def.has_expressions() {
            return Ok(None);
        }
        let first_slot = self.slot_count;
        for column in &def.columns {
            self.new_slot(column.ty.clone());
        }
        let mut rules = RowRules { first_slot, ..RowRules::none() };
        for (at, column) in def.columns.iter().enumerate() {
            if let Some(generated) = &column.generated {
                rules.generated.push((at as u32, self.stored_expr(def, &generated.text, first_slot)?));
            } else if let DefaultValue::Expression(text) = &column.default {
                rules.defaults.push((at as u32, self.stored_expr(def, text, first_slot)?));
            }
        }
        for check in def.checks.iter().filter(|check| check.enforced) {
            rules.checks.push((check.name.as_str().into(), self.stored_expr(def, &check.text, first_slot)?));
        }
        rules.find_reads();
        Ok(Some(Box::new(rules)))
    }

    /// DEFAULT as a value: what a statement says for a column, of the row in these slots.
    pub(crate) fn default_of_row(&mut self, def: &TableDef, column: &ColumnDef, first_slot: Slot) -> Result<Expr> {
        match &column.default {
            DefaultValue::Expression(text) => self.stored_expr(def, text, first_slot),
            _ => Ok(crate::dml::default_expr(column)),
        }
    }

    /// Binds the text of a stored expression to the row in these slots.
    pub(crate) fn stored_expr(&mut self, def: &TableDef, text: &str, first_slot: Slot) -> Result<Expr> {
        self.bind_stored(&def.columns, &def.database, &def.name, text, first_slot)
    }

    fn bind_stored(&mut self, columns: &[ColumnDef], database: &str, table: &str, text: &str, first_slot: Slot) -> Result<Expr> {
        let arena = parser::Bump::new();
        let parsed = parser::parse_expression(text.as_bytes(), &arena).map_err(|error| match error.code {
            // Its parentheses nest more deeply than what was written.
            1436 => SqlError::with_message(error.code, error.message),
            _ => SqlError::with_message(1105, format!("an expression of table {table}: {}", error.message)),
        })?;
        let mut scope = Scope::new();
        scope.clause = Clause::FieldList;
        scope.relations.push(row_relation(columns, database, table, first_slot));
        let context = std::mem::replace(&mut self.context, &FIXED);
        let row_columns = self.row_columns.replace((first_slot, columns.to_vec()));
        let volatile = self.volatile;
        let (open, collation) = (std::mem::take(&mut self.views.open), self.views.collation.take());
        let told = self.told_constants.len();
        let (_, bound) = self.outside_of_blocks(|b| b.enter(scope, |b| b.expr(&parsed)));
        self.told_constants.truncate(told);
        (self.views.open, self.views.collation) = (open, collation);
        self.volatile = volatile;
        self.row_columns = row_columns;
        self.context = context;
        bound
    }
}

/// The row as a relation, for names. Nothing is ever read from it.
fn row_relation(columns: &[ColumnDef], database: &str, table: &str, first_slot: Slot) -> Relation {
    let named = columns.iter().take_while(|column| column.visibility != Visibility::Hidden);
    let columns: Vec<RelColumn> = named
        .map(|column| RelColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            meta: OutputColumn { coercibility: crate::typing::IMPLICIT, ..OutputColumn::default() },
            hidden: false,
            invisible: false,
        })
        .collect();
    Relation {
        database: database.to_owned(),
        slots: (0..columns.len()).map(|at| Some(first_slot + at as Slot)).collect(),
        ..Relation::new(table, Source::RecursiveScan(u32::MAX), columns)
    }
}

/// The rules of a definition by themselves, for DDL: a plan that does nothing, whose frame they read.
pub fn plan_row_rules(def: &TableDef) -> Result<Option<(Plan, Box<RowRules>)>> {
    let mut b = Binder::new(&FIXED, b"");
    let Some(rules) = b.row_rules(def)? else { return Ok(None) };
    let plan = crate::statement::finish(b, Body::Query(Query { root: Node::Unit, output: Vec::new() }), Vec::new())?;
    Ok(Some((plan, rules)))
}

/// One generated column by itself: rules that compute nothing else, and a plan that does nothing, whose frame they read.
pub fn plan_generated(def: &TableDef, column: usize) -> Result<(Plan, Box<RowRules>)> {
    let mut b = Binder::new(&FIXED, b"");
    let mut rules = RowRules { first_slot: b.slot_count, ..RowRules::none() };
    for column in &def.columns {
        b.new_slot(column.ty.clone());
    }
    if let Some(generated) = def.columns.get(column).and_then(|column| column.generated.as_ref()) {
        rules.generated.push((column as u32, b.stored_expr(def, &generated.text, rules.first_slot)?));
    }
    rules.find_reads();
    let plan = crate::statement::finish(b, Body::Query(Query { root: Node::Unit, output: Vec::new() }), Vec::new())?;
    Ok((plan, Box::new(rules)))
}

/// Binds one expression over a row of a definition, for DDL to see whether it can be, and of what type it is.
pub fn stored_expression_type(columns: &[ColumnDef], table: &str, text: &str) -> Result<ColumnType> {
    let mut b = Binder::new(&FIXED, b"");
    let first_slot = b.slot_count;
    for column in columns {
        b.new_slot(column.ty.clone());
    }
    b.bind_stored(columns, "", table, text, first_slot).map(|e| e.ty)
}
