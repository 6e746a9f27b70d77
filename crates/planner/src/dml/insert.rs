//! INSERT and REPLACE, with ON DUPLICATE KEY UPDATE.

use super::generated_given;
use crate::bind_query::BlockOrPlan;
use crate::binder::{Binder, Clause, InsertRow, Relation, Result, Scope};
use crate::expr::{Expr, Slot};
use crate::logical::{Block, slots_of};
use crate::members::{store_chosen, stored_in};
use crate::plan::{Body, Insert, InsertColumn, InsertSource, OutputColumn, Query, order_of};
use crate::views::InsertTarget;
use accounts::Privileges;
use catalog::{ColumnDef, DefaultValue, TableDef};
use mysql_error::{SqlError, codes};
use parser::{Bump, ast};
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind, Value};

/// ON DUPLICATE KEY UPDATE, bound.
struct Upsert {
    existing_slots: Slot,
    on_duplicate: Vec<(u32, Expr)>,
    source_slots: Vec<(u32, Slot)>,
}

/// Where the rows of a statement go.
struct Destination<'s> {
    database: &'s str,
    target: &'s InsertTarget,
    /// The columns that are given values, in their order.
    named: &'s [usize],
    new_slots: Slot,
}

impl Binder<'_> {
    /// INSERT and REPLACE.
    pub fn insert(&mut self, i: &ast::Insert<'_>) -> Result<Body> {
        if !i.partitions.is_empty() {
            return Err(codes::not_supported_yet("PARTITION"));
        }
        if i.delayed {
            let word = if i.replace { "REPLACE" } else { "INSERT" };
            let what = format!("{word} DELAYED is no longer supported. The statement was converted to {word}.");
            self.warnings.push(SqlError::with_message(3005, what).into());
        }
        let database = match i.table.schema.or(self.context.database()) {
            Some(db) => db.to_owned(),
            None => return Err(codes::no_db_error()),
        };
        // What it takes is asked for together, so that a refusal names all of it.
        let beside = match i.replace {
            true => Privileges::DELETE,
            false if !i.on_duplicate.is_empty() => Privileges::UPDATE,
            false => Privileges::NONE,
        };
        self.access_table(&database, i.table.name, Privileges::INSERT.with(beside))?;
        if let Some(table) = self.context.virtual_table(&database, i.table.name)? {
            return Err(self.context.virtual_table_denied(table, "INSERT"));
        }
        let mut listed: Option<Vec<&str>> = i.columns.map(|list| list.iter().map(|c| c.column).collect());
        if let (None, ast::InsertSource::Values(rows)) = (&listed, i.source)
            && rows.iter().all(|row| row.is_empty())
        {
            listed = Some(Vec::new());
        }
        let command = if i.replace { "REPLACE" } else { "INSERT" };
        let (table, mut target) = self.insert_target(&database, i.table.name, listed.as_deref(), command)?;
        let entry = Arc::clone(&target.entry);
        let def = &entry.def;
        let named = given_columns(i, &target)?;
        let no_list = i.columns.is_none_or(<[_]>::is_empty);
        // Who names none writes all of them.
        let written = if no_list { &target.all() } else { &named };
        self.access_inserted(&database, &target, written, no_list, i.replace);
        let new_slots = self.row_slots(&entry.def.columns);
        let to = Destination { database: &database, target: &target, named: &named, new_slots };
        let mut upsert = None;
        let source = match i.source {
            ast::InsertSource::Values(rows) => self.insert_values(i, rows, &to)?,
            ast::InsertSource::Literals(rows) => match self.literal_rows(&rows, &named, def, i.hints) {
                Some(rows) => InsertSource::Literals(rows),
                None => {
                    let arena = Bump::new();
                    self.insert_values(i, &crate::literal_rows::as_expressions(&rows, &arena), &to)?
                }
            },
            ast::InsertSource::Query(q) => {
                let query;
                (query, upsert) = self.insert_query(i, q, &to)?;
                InsertSource::Query(query)
            }
        };
        let mut columns = vec![InsertColumn::Default; def.columns.len()];
        let given = match &source {
            InsertSource::Values(rows) if rows.iter().all(Vec::is_empty) => &[][..],
            _ => &named[..],
        };
        for (at, column) in given.iter().enumerate() {
            columns[*column] = InsertColumn::Source(at as u32);
        }
        let Upsert { existing_slots, on_duplicate, source_slots } = match upsert {
            Some(upsert) => upsert,
            None => self.upsert(i, &to)?,
        };
        Ok(Body::Insert(Box::new(Insert {
            table,
            source,
            order: order_of(&columns),
            columns,
            replace: i.replace,
            ignore: i.ignore,
            on_duplicate,
            met: None,
            new_slots,
            existing_slots,
            source_slots,
            rules: self.insert_rules(&mut target)?,
        })))
    }

    /// The rows of a SELECT; and ON DUPLICATE KEY UPDATE where it may read the tables of that.
    fn insert_query(&mut self, i: &ast::Insert<'_>, q: &ast::Query<'_>, to: &Destination<'_>) -> Result<(Query, Option<Upsert>)> {
        self.hints_of_insert(i.hints);
        let bound = self.bind_source(q)?;
        let width = match &bound {
            BlockOrPlan::Block(block) => block.items.len(),
            BlockOrPlan::Planned(planned) => planned.columns.len(),
        };
        if width != to.named.len() {
            return Err(codes::wrong_value_count_on_row(1));
        }
        let def = &to.target.entry.def;
        refuse_generated(def, to.named)?;
        let mut upsert = None;
        let mut planned = match bound {
            BlockOrPlan::Planned(planned) => planned,
            BlockOrPlan::Block(mut block) => {
                if !block.grouped && !i.on_duplicate.is_empty() {
                    upsert = Some(self.upsert_beside(i, &mut block, to)?);
                }
                self.plan_bound(*block)?
            }
        };
        let types: Vec<&ColumnType> = to.named.iter().map(|at| &def.columns[*at].ty).collect();
        store_chosen(&mut planned.query.output, &types);
        crate::charsets::store_all(&mut planned.query.output, &types);
        Ok((planned.query, upsert))
    }

    /// ON DUPLICATE KEY UPDATE reads the existing row by name, the new one by VALUES(col) or the row alias.
    fn upsert(&mut self, i: &ast::Insert<'_>, to: &Destination<'_>) -> Result<Upsert> {
        let existing_slots = self.row_slots(&to.target.entry.def.columns);
        let mut upsert = Upsert { existing_slots, on_duplicate: Vec::new(), source_slots: Vec::new() };
        if i.on_duplicate.is_empty() {
            return Ok(upsert);
        }
        let mut scope = Scope::new();
        scope.clause = Clause::FieldList;
        scope.relations.push(self.row_relation(to.target, i.table.name, to.database, existing_slots));
        if let Some(alias) = &i.row_alias {
            let mut new = self.row_relation(to.target, alias.name, "", to.new_slots);
            for (name, column) in alias.columns.iter().zip(to.named) {
                new.columns[*column].name = (*name).to_owned();
            }
            // Only qualified names reach the new row.
            if alias.columns.is_empty() {
                new.columns.iter_mut().for_each(|c| c.hidden = true);
            }
            scope.relations.push(new);
        }
        upsert.on_duplicate = self.enter(scope, |b| b.upsert_assignments(i, to, existing_slots)).1?;
        Ok(upsert)
    }

    /// ON DUPLICATE KEY UPDATE behind a SELECT that does not group: it reads the tables of the SELECT, too. What it reads of them is added to what the
    /// SELECT yields.
    fn upsert_beside(&mut self, i: &ast::Insert<'_>, block: &mut Block, to: &Destination<'_>) -> Result<Upsert> {
        let existing_slots = self.row_slots(&to.target.entry.def.columns);
        let existing = self.row_relation(to.target, i.table.name, to.database, existing_slots);
        let mut scope = std::mem::replace(&mut block.scope, Scope::new());
        scope.clause = Clause::FieldList;
        scope.aggregates_allowed = false;
        scope.relations.push(existing);
        let (mut scope, assigned) = self.enter(scope, |b| b.upsert_assignments(i, to, existing_slots));
        scope.relations.pop();
        let on_duplicate = assigned?;
        let mut read = Vec::new();
        for (_, value) in &on_duplicate {
            slots_of(value, &self.subplans, &mut read);
        }
        read.sort_unstable();
        read.dedup();
        read.retain(|slot| scope.relations.iter().any(|r| r.slots.contains(&Some(*slot))));
        let mut source_slots = Vec::with_capacity(read.len());
        for slot in read {
            let ty = self.slot_types[slot as usize].clone();
            source_slots.push((block.items.len() as u32, slot));
            block.items.push((Expr::slot(slot, ty.clone()), OutputColumn { ty, ..OutputColumn::default() }));
        }
        block.scope = scope;
        Ok(Upsert { existing_slots, on_duplicate, source_slots })
    }

    /// The target's row as a relation, whose columns have their slots in a row.
    fn row_relation(&mut self, target: &InsertTarget, alias: &str, database: &str, first_slot: Slot) -> Relation {
        let mut relation = self.base_relation(Arc::clone(&target.entry), alias.to_owned(), database.to_owned(), Vec::new());
        target.rename(&mut relation);
        relation.links = Arc::clone(&target.links);
        relation.slots = (0..target.entry.def.columns.len()).map(|c| Some(first_slot + c as Slot)).collect();
        relation
    }

    /// VALUES as expressions.
    fn insert_values(&mut self, i: &ast::Insert<'_>, rows: &[&[ast::Expr<'_>]], to: &Destination<'_>) -> Result<InsertSource> {
        let entry = &to.target.entry;
        let mut bound = Vec::with_capacity(rows.len());
        let mut scope = Scope::new();
        scope.clause = Clause::FieldList;
        // Columns of the row being built may be named in later values; they read the new row.
        scope.relations.push(self.row_relation(to.target, i.table.name, to.database, to.new_slots));
        let no_list = i.columns.is_none_or(<[_]>::is_empty);
        let (_, result) = self.enter(scope, |b| {
            if !i.hints.is_empty() {
                b.take_hints(i.hints);
            }
            b.changed.push((entry.def.id, i.table.name.to_owned()));
            b.insert_rows(rows, to.named, no_list, &entry.def, to.new_slots, &mut bound)
        });
        self.changed.clear();
        result?;
        Ok(InsertSource::Values(bound))
    }

    fn insert_rows(
        &mut self,
        rows: &[&[ast::Expr<'_>]],
        named: &[usize],
        no_list: bool,
        def: &TableDef,
        new_slots: Slot,
        out: &mut Vec<Vec<Option<Expr>>>,
    ) -> Result<()> {
        let connection = self.connection_collation();
        for (n, row) in rows.iter().enumerate() {
            if row.len() != named.len() && !(row.is_empty() && no_list) {
                return Err(codes::wrong_value_count_on_row(n + 1));
            }
            let mut bound = Vec::with_capacity(row.len());
            for (value, column) in row.iter().zip(named) {
                bound.push(match value.kind {
                    ast::ExprKind::Default => {
                        let column = &def.columns[*column];
                        // AUTO_INCREMENT, and a column without a default, are the executor's usual default handling.
                        let missing = matches!(column.default, DefaultValue::None) && !column.ty.nullable;
                        let usual = column.auto_increment || column.generated.is_some() || missing;
                        if usual { None } else { Some(self.default_of_row(def, column, new_slots)?) }
                    }
                    _ if def.columns[*column].generated.is_some() => return Err(generated_given(def, *column)),
                    ast::ExprKind::Literal(literal) => {
                        let ty = &def.columns[*column].ty;
                        match plain_constant(literal, ty, connection) {
                            Some(constant) => Some(constant),
                            None => Some(crate::charsets::stored(stored_in(self.expr(value)?, ty), ty)),
                        }
                    }
                    _ => Some(crate::charsets::stored(stored_in(self.expr(value)?, &def.columns[*column].ty), &def.columns[*column].ty)),
                });
            }
            out.push(bound);
        }
        Ok(())
    }

    /// One slot for each column, in order.
    pub(crate) fn row_slots(&mut self, columns: &[ColumnDef]) -> Slot {
        let first = self.slot_count;
        for c in columns {
            self.new_slot(c.ty.clone());
        }
        first
    }

    /// What ON DUPLICATE KEY UPDATE assigns, in the innermost scope.
    fn upsert_assignments(&mut self, i: &ast::Insert<'_>, to: &Destination<'_>, existing_slots: Slot) -> Result<Vec<(u32, Expr)>> {
        self.insert_row = Some(InsertRow { new_slots: to.new_slots, existing_slots });
        self.changed.push((to.target.entry.def.id, i.table.name.to_owned()));
        let assigned = self.assignments(i.on_duplicate, to.target, existing_slots, i.table.name);
        self.changed.clear();
        self.insert_row = None;
        assigned
    }

    fn assignments(
        &mut self,
        list: &[ast::Assignment<'_>],
        target: &InsertTarget,
        first_slot: Slot,
        table: &str,
    ) -> Result<Vec<(u32, Expr)>> {
        let def = &target.entry.def;
        let mut out = Vec::with_capacity(list.len());
        for a in list {
            if a.column.table.is_some_and(|t| t != table) {
                return Err(codes::bad_field_error(crate::binder::spelled(a.column.schema, a.column.table, a.column.column), "field list"));
            }
            let at = target.column(a.column.column).ok_or_else(|| codes::bad_field_error(a.column.column, "field list"))?;
            self.access_changed(target, at);
            let value = match a.value.kind {
                // What is computed stays what it is until the row changes.
                ast::ExprKind::Default if def.columns[at].generated.is_some() => {
                    Expr::slot(first_slot + at as Slot, def.columns[at].ty.clone())
                }
                ast::ExprKind::Default => self.default_of_row(def, &def.columns[at], first_slot)?,
                _ if def.columns[at].generated.is_some() => return Err(generated_given(def, at)),
                _ => crate::charsets::stored(stored_in(self.expr(&a.value)?, &def.columns[at].ty), &def.columns[at].ty),
            };
            out.push((at as u32, value));
        }
        Ok(out)
    }
}

/// The columns that a statement gives values for.
fn given_columns(i: &ast::Insert<'_>, target: &InsertTarget) -> Result<Vec<usize>> {
    let Some(list) = i.columns else { return Ok(target.all()) };
    let mut named = Vec::with_capacity(list.len());
    for c in list {
        if c.table.is_some_and(|t| t != i.table.name) {
            return Err(codes::bad_field_error(c.column, "field list"));
        }
        let at = target.column(c.column).ok_or_else(|| codes::bad_field_error(c.column, "field list"))?;
        if named.contains(&at) {
            return Err(codes::field_specified_twice(c.column));
        }
        named.push(at);
    }
    Ok(named)
}

/// A constant that means the same wherever it stands, for a column that asks for nothing more: most values of a long VALUES are.
fn plain_constant(literal: ast::Literal<'_>, column: &ColumnType, connection: Collation) -> Option<Expr> {
    match literal {
        ast::Literal::Int(n) => i64::try_from(n).ok().map(|n| Expr::literal(Value::Int(n), ColumnType::bigint().not_null())),
        ast::Literal::String(text) if text.is_ascii() && connection.charset().is_utf8_bytes() => {
            let as_it_is = match column.kind {
                TypeKind::VarChar | TypeKind::Char => column.collation.charset() == connection.charset(),
                TypeKind::Date | TypeKind::DateTime | TypeKind::Timestamp | TypeKind::Decimal => true,
                kind => kind.is_integer(),
            };
            as_it_is.then(|| Expr::literal(Value::bytes(text), crate::typing::string(text.len() as u64, connection).not_null()))
        }
        _ => None,
    }
}

/// Generated columns take no value from a statement.
fn refuse_generated(def: &TableDef, given: &[usize]) -> Result<()> {
    match given.iter().find(|at| def.columns[**at].generated.is_some()) {
        Some(at) => Err(generated_given(def, *at)),
        None => Ok(()),
    }
}
