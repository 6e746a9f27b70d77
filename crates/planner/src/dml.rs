//! Binding of INSERT, REPLACE, UPDATE and DELETE.

use crate::access::Wanted;
use crate::bind_query::{Bound, Ordered};
use crate::binder::{Binder, Clause, Relation, Result, Scope, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::func::Func;
use crate::logical::{Block, JoinTree, slots_of};
use crate::members::{store_chosen, stored_in};
use crate::plan::{
    Access, Body, Delete, DeleteTarget, Insert, InsertColumn, InsertSource, LockMode, LockWait, Node, OutputColumn, TableNode, Update,
    UpdateTarget,
};
use crate::views::InsertTarget;
use accounts::Privileges;
use catalog::{ColumnDef, DefaultValue, TableDef};
use mysql_error::{SqlError, codes};
use parser::{Bump, ast};
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind, Value};

/// The expression of a column's DEFAULT. An ENUM without one has its first member, in strict mode, too.
pub fn default_expr(column: &ColumnDef) -> Expr {
    match &column.default {
        DefaultValue::None if column.ty.nullable => Expr::literal(Value::Null, column.ty.clone()),
        DefaultValue::None if column.ty.kind == TypeKind::Enum => Expr::literal(types::implicit_default(&column.ty), column.ty.clone()),
        DefaultValue::None => Expr { kind: ExprKind::NoDefault(column.name.as_str().into()), ty: column.ty.clone() },
        DefaultValue::Null => Expr::literal(Value::Null, column.ty.clone()),
        DefaultValue::Constant(v) => Expr::literal(v.clone(), column.ty.clone()),
        DefaultValue::CurrentTimestamp => now_expr(&column.ty),
        // Bound to the row by whoever can (`row_rules.rs`).
        DefaultValue::Expression(_) => Expr { kind: ExprKind::NoDefault(column.name.as_str().into()), ty: column.ty.clone() },
    }
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

/// NOW() with the precision of a column.
pub fn now_expr(ty: &ColumnType) -> Expr {
    let digits = Expr::literal(Value::Int(i64::from(ty.decimals)), ColumnType::bigint().not_null());
    let now = ColumnType::temporal(types::TypeKind::DateTime, ty.decimals).not_null();
    Expr { kind: ExprKind::Func(Func::Now, vec![digits]), ty: now }
}

/// ON DUPLICATE KEY UPDATE, bound.
struct Upsert {
    existing_slots: Slot,
    on_duplicate: Vec<(u32, Expr)>,
    source_slots: Vec<(u32, Slot)>,
}

impl<'c> Binder<'c> {
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
        self.access_table(&database, i.table.name, Privileges::INSERT)?;
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
        // Which source value goes to which column.
        let named: Vec<usize> = match i.columns {
            None => target.all(),
            Some(list) => {
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
                named
            }
        };
        let no_list = i.columns.is_none_or(<[_]>::is_empty);
        // Who names none writes all of them.
        let written = if no_list { &target.all() } else { &named };
        self.access_inserted(&database, &target, written, no_list, i.replace);
        let new_slots = self.row_slots(&entry.def.columns);
        let mut upsert = None;
        let source = match i.source {
            ast::InsertSource::Values(rows) => self.insert_values(i, rows, &named, &target, &database, new_slots)?,
            ast::InsertSource::Literals(rows) => match self.literal_rows(&rows, &named, def, i.hints) {
                Some(rows) => InsertSource::Literals(rows),
                None => {
                    let arena = Bump::new();
                    self.insert_values(i, &crate::literal_rows::as_expressions(&rows, &arena), &named, &target, &database, new_slots)?
                }
            },
            ast::InsertSource::Query(q) => {
                self.hints_of_insert(i.hints);
                let bound = self.bind_source(q)?;
                let width = match &bound {
                    Bound::Block(block) => block.items.len(),
                    Bound::Union(union) => union.columns.len(),
                    Bound::Planned(planned) => planned.columns.len(),
                };
                if width != named.len() {
                    return Err(codes::wrong_value_count_on_row(1));
                }
                refuse_generated(def, &named)?;
                let mut planned = match bound {
                    Bound::Planned(planned) => planned,
                    Bound::Union(union) => self.plan_union(*union)?,
                    Bound::Block(mut block) => {
                        if !block.grouped && !i.on_duplicate.is_empty() {
                            upsert = Some(self.upsert_beside(i, &mut block, &target, table, &database, new_slots)?);
                        }
                        self.plan_bound(*block)?
                    }
                };
                let types: Vec<&ColumnType> = named.iter().map(|at| &def.columns[*at].ty).collect();
                store_chosen(&mut planned.query.output, &types);
                crate::charsets::store_all(&mut planned.query.output, &types);
                InsertSource::Query(planned.query)
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
        // ON DUPLICATE KEY UPDATE reads the existing row by name, the new one by VALUES(col) or the row alias.
        let Upsert { existing_slots, mut on_duplicate, source_slots } = match upsert {
            Some(upsert) => upsert,
            None => Upsert {
                existing_slots: self.row_slots(&entry.def.columns),
                on_duplicate: Vec::with_capacity(i.on_duplicate.len()),
                source_slots: Vec::new(),
            },
        };
        if on_duplicate.is_empty() && !i.on_duplicate.is_empty() {
            let mut scope = Scope::new();
            scope.clause = Clause::FieldList;
            let mut existing = self.base_relation(entry.clone(), i.table.name.to_owned(), database.clone(), Vec::new());
            target.rename(&mut existing);
            existing.slots = (0..def.columns.len()).map(|c| Some(existing_slots + c as Slot)).collect();
            scope.relations.push(existing);
            if let Some(alias) = &i.row_alias {
                let mut new = self.base_relation(entry.clone(), alias.name.to_owned(), String::new(), Vec::new());
                target.rename(&mut new);
                new.slots = (0..def.columns.len()).map(|c| Some(new_slots + c as Slot)).collect();
                for (at, name) in alias.columns.iter().enumerate() {
                    if let Some(column) = named.get(at) {
                        new.columns[*column].name = (*name).to_owned();
                    }
                }
                // Only qualified names reach the new row.
                if alias.columns.is_empty() {
                    new.columns.iter_mut().for_each(|c| c.hidden = true);
                }
                scope.relations.push(new);
            }
            self.scopes.push(scope);
            self.insert_row = Some((table, new_slots));
            self.changed.push((def.id, i.table.name.to_owned()));
            let result = self.assignments(i.on_duplicate, &target, existing_slots, i.table.name, &mut on_duplicate);
            self.changed.clear();
            self.insert_row = None;
            self.scopes.pop();
            result?;
        }
        Ok(Body::Insert(Box::new(Insert {
            table,
            source,
            columns,
            replace: i.replace,
            ignore: i.ignore,
            on_duplicate,
            new_slots,
            existing_slots,
            source_slots,
            rules: self.insert_rules(&mut target)?,
        })))
    }

    /// ON DUPLICATE KEY UPDATE behind a SELECT that does not group: it reads the tables of the SELECT, too. What it reads of them is added to what the
    /// SELECT yields.
    fn upsert_beside(
        &mut self,
        i: &ast::Insert<'_>,
        block: &mut Block,
        target: &InsertTarget,
        table: u32,
        database: &str,
        new_slots: Slot,
    ) -> Result<Upsert> {
        let entry = &target.entry;
        let def = &entry.def;
        let existing_slots = self.row_slots(&def.columns);
        let mut existing = self.base_relation(entry.clone(), i.table.name.to_owned(), database.to_owned(), Vec::new());
        target.rename(&mut existing);
        existing.slots = (0..def.columns.len()).map(|c| Some(existing_slots + c as Slot)).collect();
        let mut scope = std::mem::replace(&mut block.scope, Scope::new());
        scope.clause = Clause::FieldList;
        scope.aggregates_allowed = false;
        scope.relations.push(existing);
        self.scopes.push(scope);
        self.insert_row = Some((table, new_slots));
        self.changed.push((def.id, i.table.name.to_owned()));
        let mut on_duplicate = Vec::with_capacity(i.on_duplicate.len());
        let result = self.assignments(i.on_duplicate, target, existing_slots, i.table.name, &mut on_duplicate);
        self.changed.clear();
        self.insert_row = None;
        let mut scope = self.scopes.pop().expect("pushed above");
        scope.relations.pop();
        result?;
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

    /// VALUES as expressions.
    fn insert_values(
        &mut self,
        i: &ast::Insert<'_>,
        rows: &[&[ast::Expr<'_>]],
        named: &[usize],
        target: &InsertTarget,
        database: &str,
        new_slots: Slot,
    ) -> Result<InsertSource> {
        let entry = &target.entry;
        let mut bound = Vec::with_capacity(rows.len());
        let mut scope = Scope::new();
        scope.clause = Clause::FieldList;
        // Columns of the row being built may be named in later values; they read the new row.
        let mut relation = self.base_relation(Arc::clone(entry), i.table.name.to_owned(), database.to_owned(), Vec::new());
        target.rename(&mut relation);
        relation.slots = (0..entry.def.columns.len()).map(|c| Some(new_slots + c as Slot)).collect();
        scope.relations.push(relation);
        self.scopes.push(scope);
        if !i.hints.is_empty() {
            self.take_hints(i.hints);
        }
        self.changed.push((entry.def.id, i.table.name.to_owned()));
        let no_list = i.columns.is_none_or(<[_]>::is_empty);
        let result = self.insert_rows(rows, named, no_list, &entry.def, new_slots, &mut bound);
        self.changed.clear();
        self.scopes.pop();
        result?;
        Ok(InsertSource::Values(bound))
    }

    fn insert_rows(
        &mut self,
        rows: &[&[ast::Expr<'_>]],
        named: &[usize],
        no_list: bool,
        def: &catalog::TableDef,
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

    fn assignments(
        &mut self,
        list: &[ast::Assignment<'_>],
        target: &InsertTarget,
        first_slot: Slot,
        table: &str,
        out: &mut Vec<(u32, Expr)>,
    ) -> Result<()> {
        let def = &target.entry.def;
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
        Ok(())
    }

    /// UPDATE.
    pub fn update(&mut self, u: &ast::Update<'_>) -> Result<Body> {
        let ctes = self.ctes.len();
        let bound = self.bind_with(u.with);
        self.scopes.push(Scope::new());
        let result = bound.and_then(|()| self.update_in_scope(u));
        self.changed.clear();
        self.scopes.pop();
        self.ctes.truncate(ctes);
        result.map(|u| Body::Update(Box::new(u)))
    }

    fn update_in_scope(&mut self, u: &ast::Update<'_>) -> Result<Update> {
        self.accesses.next = matches!(u.tables, [ast::TableRef::Table(_)]).then_some(Privileges::UPDATE);
        let trees = self.changed_tables(u.tables, u.hints, "UPDATE")?;
        self.check_using()?;
        let depth = self.scopes.len() - 1;
        let multi = self.has_several(depth);
        let targets = self.update_targets(u);
        // What is wrong with WHERE is told first.
        let filter = self.where_clause(u.filter)?;
        let mut targets = targets?;
        self.note_shared(&mut targets)?;
        self.pad_targets(&mut targets);
        let (mut input, limit) = self.dml_input(trees, filter, u.order_by, u.limit, multi)?;
        // Changing what the scan is ordered by could make it meet a row again.
        let moved = moves_rows(&input, &targets, self);
        let sorted = matches!(input, Node::Sort { .. });
        if limit.is_some() {
            hint_one(&mut input);
        }
        let shown = shown_target(&input, &targets, self);
        Ok(Update { input, targets, buffered: (moved || multi) && !sorted, shown, limit, ignore: u.ignore })
    }

    /// The tables that an UPDATE changes, with what it assigns.
    fn update_targets(&mut self, u: &ast::Update<'_>) -> Result<Vec<UpdateTarget>> {
        let depth = self.scopes.len() - 1;
        // Resolve the targets of the assignments first: they decide which tables are locked and kept.
        let mut resolved: Vec<(usize, u32, &ast::Assignment<'_>)> = Vec::with_capacity(u.assignments.len());
        self.scope().clause = Clause::FieldList;
        for a in u.assignments {
            let (r, c) = self.find_target(depth, &a.column)?;
            let (r, c) = self.assigned_column(depth, r, c)?;
            resolved.push((r, c, a));
        }
        let mut target_relations: Vec<usize> = resolved.iter().map(|(r, ..)| *r).collect();
        target_relations.sort_unstable();
        target_relations.dedup();
        self.refuse_several(depth, &target_relations)?;
        let mut targets = Vec::new();
        for r in &target_relations {
            if let Source::Virtual(table) = self.scopes[depth].relations[*r].source {
                return Err(self.context.virtual_table_denied(table, "UPDATE"));
            }
            let Source::Base(table) = self.scopes[depth].relations[*r].source else {
                let alias = self.scopes[depth].relations[*r].alias.clone();
                return Err(codes::non_updatable_table(alias, "UPDATE"));
            };
            let entry = self.tables[table as usize].clone();
            let first_slot = self.target_slots(depth, *r);
            let row_slot = self.keep_row(depth, *r);
            let (name, check) = self.target_view(depth, *r);
            self.changed.push((entry.def.id, name));
            let rules = self.rules_with(&entry, check)?;
            targets.push(UpdateTarget { table, first_slot, set: Vec::new(), row_slot, rules, shared: false });
        }
        for (r, c, a) in resolved {
            self.access_assigned(depth, r, c as usize);
            let at = target_relations.iter().position(|t| *t == r).expect("collected above");
            let entry = self.tables[targets[at].table as usize].clone();
            let value = match a.value.kind {
                ast::ExprKind::Default if entry.def.columns[c as usize].generated.is_some() => continue,
                ast::ExprKind::Default => self.default_of_row(&entry.def, &entry.def.columns[c as usize], targets[at].first_slot)?,
                _ if entry.def.columns[c as usize].generated.is_some() => return Err(generated_given(&entry.def, c as usize)),
                _ => {
                    let ty = &entry.def.columns[c as usize].ty;
                    crate::charsets::stored(stored_in(self.expr(&a.value)?, ty), ty)
                }
            };
            targets[at].set.push((c, value));
        }
        Ok(targets)
    }

    /// Finds the targets that are one table under several names. None of them may move its rows: the others would not find them again.
    fn note_shared(&self, targets: &mut [UpdateTarget]) -> Result<()> {
        for later in 1..targets.len() {
            for earlier in 0..later {
                // What is changed stands in the order of the targets.
                let [(id, name), (other_id, other_name)] = [&self.changed[earlier], &self.changed[later]];
                if id != other_id {
                    continue;
                }
                let key = &self.tables[targets[later].table as usize].def.indexes[0].parts;
                let moves = |target: &UpdateTarget| target.set.iter().any(|(c, _)| key.iter().any(|part| part.column == *c as usize));
                if moves(&targets[earlier]) || moves(&targets[later]) {
                    return Err(codes::multi_update_key_conflict(name, other_name));
                }
                (targets[earlier].shared, targets[later].shared) = (true, true);
            }
        }
        Ok(())
    }

    /// Binds what an UPDATE or DELETE reads: tables of views with all their columns, for they may be changed.
    fn changed_tables(&mut self, tables: &[ast::TableRef<'_>], hints: &[&str], command: &'static str) -> Result<Vec<JoinTree>> {
        (self.views.command, self.views.whole_rows) = (command, true);
        let trees: Result<Vec<JoinTree>> = tables.iter().map(|t| self.table_ref(t)).collect();
        self.views.whole_rows = false;
        if trees.is_ok() && !hints.is_empty() {
            self.hints.fixed_order = self.take_hints(hints);
        }
        trees
    }

    /// Whether a block has more than one table.
    fn has_several(&self, depth: usize) -> bool {
        self.scopes[depth].relations.iter().filter(|r| !matches!(r.source, Source::Merged(_))).count() > 1
    }

    fn find_target(&self, depth: usize, c: &ast::ColumnRef<'_>) -> Result<(usize, u32)> {
        let mut found = None;
        if c.table.is_none() && !self.scopes[depth].joins.is_empty() {
            let shown = self.scopes[depth].shown_column(c.column)?;
            return shown.map(|(r, at)| (r, at as u32)).ok_or_else(|| codes::bad_field_error(c.column, "field list"));
        }
        for (r, relation) in self.scopes[depth].relations.iter().enumerate().filter(|(_, r)| !r.of_view) {
            if c.table.is_some_and(|t| t != relation.alias) || c.schema.is_some_and(|s| s != relation.database) {
                continue;
            }
            if let Some(at) = relation.columns.iter().position(|x| x.name.eq_ignore_ascii_case(c.column)) {
                if found.is_some() {
                    return Err(codes::non_uniq_error(c.column, "field list"));
                }
                found = Some((r, at as u32));
            }
        }
        found.ok_or_else(|| codes::bad_field_error(crate::binder::spelled(c.schema, c.table, c.column), "field list"))
    }

    /// Gives a relation one slot per column, in order, before any of them is used.
    fn target_slots(&mut self, depth: usize, r: usize) -> Slot {
        let relation = &self.scopes[depth].relations[r];
        if relation.of_view
            && let Some(first) = relation.slots.first().copied().flatten()
        {
            // A view's table has them already.
            return first;
        }
        let columns = relation.columns.clone();
        let first = self.slot_count;
        for c in &columns {
            self.new_slot(c.ty.clone());
        }
        // ON conditions of a multi-table update may have taken slots already. They are bound anew; what stands in subqueries and LATERAL tables is not: for it
        // the slots that it reads are filled, too.
        let relations = &mut self.scopes[depth].relations;
        let lateral = relations.iter().flat_map(|relation| relation.source.outer_slots());
        let read_within: BTreeSet<Slot> = lateral.chain(self.subplans.iter().flat_map(|subplan| &subplan.outer_slots)).copied().collect();
        let Relation { slots, also, .. } = &mut relations[r];
        for (i, slot) in slots.iter_mut().enumerate() {
            if let Some(old) = slot.replace(first + i as Slot) {
                self.replaced_slots.push((old, first + i as Slot));
                if read_within.contains(&old) {
                    also.push((i as u32, old));
                }
            }
        }
        first
    }

    fn keep_row(&mut self, depth: usize, r: usize) -> Slot {
        let ty = ColumnType::varchar(65_535, Collation::Binary);
        let slot = self.new_slot(ty.clone());
        self.new_slot(ty);
        let relation = &mut self.scopes[depth].relations[r];
        relation.keep_row = Some(slot);
        relation.lock = LockMode::Exclusive(LockWait::Block);
        self.locks = true;
        slot
    }

    /// Plans what an UPDATE or DELETE reads.
    fn dml_input(
        &mut self,
        mut trees: Vec<JoinTree>,
        mut filter: Vec<Expr>,
        order_by: &[ast::OrderItem<'_>],
        limit: Option<ast::Limit<'_>>,
        multi: bool,
    ) -> Result<(Node, Option<Expr>)> {
        if multi && !order_by.is_empty() {
            return Err(codes::wrong_usage("UPDATE", "ORDER BY"));
        }
        if multi && limit.is_some() {
            return Err(codes::wrong_usage("UPDATE", "LIMIT"));
        }
        self.scope().clause = Clause::OrderBy;
        let mut order = self.order_keys(order_by, &[], Ordered::Groups)?;
        if limit.is_some() {
            // The rows that a view shows first.
            self.order_of_changed(&mut order);
        }
        let limit = self.limit(limit)?.and_then(|l| l.count);
        let replaced = std::mem::take(&mut self.replaced_slots);
        if !replaced.is_empty() {
            let new = |slot: Slot| replaced.iter().find(|(old, _)| *old == slot).map(|(_, new)| *new);
            let rename = |e: &mut Expr| e.rename_slots(&mut |slot| new(slot));
            filter.iter_mut().for_each(rename);
            trees.iter_mut().for_each(|tree| tree.for_each_on_mut(&mut |on| on.iter_mut().for_each(rename)));
        }
        self.pad_conditions(&mut trees, &mut filter, &mut order);
        let mut relations: Vec<Relation> = self.scope().relations.clone();
        let mut group = self.build_group(&mut relations, trees, filter, self.hints.fixed_order);
        group.hints = std::mem::take(&mut self.scope().join_hints);
        self.plan_waiting(&mut relations, &mut group)?;
        group.keep_rows(&relations);
        let wanted = Wanted { order: &order, limit: limit.as_ref().map(|_| 1000.0), sort_cost: 0.3 };
        let planned = self.plan_group(&relations, &group, &BTreeSet::new(), (!order.is_empty()).then_some(wanted))?;
        let mut node = planned.node;
        if !order.is_empty() && !planned.ordered {
            let mut saved: Vec<Slot> = group.items.iter().flat_map(|i| i.slots.iter().copied()).collect();
            saved.sort_unstable();
            saved.dedup();
            node = Node::Sort { input: Box::new(node), keys: crate::members::sorting(order), saved, limit: None };
        }
        Ok((node, limit))
    }

    /// DELETE.
    pub fn delete(&mut self, d: &ast::Delete<'_>) -> Result<Body> {
        let ctes = self.ctes.len();
        let bound = self.bind_with(d.with);
        self.scopes.push(Scope::new());
        let result = bound.and_then(|()| self.delete_in_scope(d));
        self.changed.clear();
        self.scopes.pop();
        self.ctes.truncate(ctes);
        result.map(|d| Body::Delete(Box::new(d)))
    }

    fn delete_in_scope(&mut self, d: &ast::Delete<'_>) -> Result<Delete> {
        self.accesses.next = d.targets.is_empty().then_some(Privileges::DELETE);
        let trees = self.changed_tables(d.from, d.hints, "DELETE")?;
        let depth = self.scopes.len() - 1;
        let multi = !d.targets.is_empty();
        let mut target_relations = Vec::new();
        if multi {
            for name in d.targets {
                let found = self.scopes[depth]
                    .relations
                    .iter()
                    .position(|r| !r.of_view && r.alias == name.name && name.schema.is_none_or(|s| s == r.database));
                match found {
                    Some(r) => target_relations.push(r),
                    None => return Err(codes::unknown_table(name.name, "MULTI DELETE")),
                }
            }
        } else {
            target_relations.push(self.scopes[depth].relations.iter().position(|r| !r.of_view).unwrap_or(0));
        }
        self.check_using()?;
        let mut targets = Vec::new();
        for r in target_relations {
            let r = self.deleted_relation(depth, r)?;
            if let Source::Virtual(table) = self.scopes[depth].relations[r].source {
                return Err(self.context.virtual_table_denied(table, "DELETE"));
            }
            let Source::Base(table) = self.scopes[depth].relations[r].source else {
                let alias = self.scopes[depth].relations[r].alias.clone();
                return Err(codes::non_updatable_table(alias, "DELETE"));
            };
            self.access_deleted(depth, r);
            let row_slot = self.keep_row(depth, r);
            let (name, _) = self.target_view(depth, r);
            self.changed.push((self.tables[table as usize].def.id, name));
            targets.push(DeleteTarget { table, row_slot });
        }
        let filter = self.where_clause(d.filter)?;
        let (mut input, limit) = self.dml_input(trees, filter, d.order_by, d.limit, multi)?;
        if limit.is_some() {
            hint_one(&mut input);
        }
        Ok(Delete { input, targets, buffered: false, limit, ignore: d.ignore })
    }
}

/// Generated columns take no value from a statement.
pub(crate) fn refuse_generated(def: &TableDef, given: &[usize]) -> Result<()> {
    match given.iter().find(|at| def.columns[**at].generated.is_some()) {
        Some(at) => Err(generated_given(def, *at)),
        None => Ok(()),
    }
}

fn generated_given(def: &TableDef, at: usize) -> SqlError {
    codes::non_default_value_for_generated_column(&def.columns[at].name, &def.name)
}

/// With LIMIT no row beyond the last may be locked: read one at a time.
fn hint_one(node: &mut Node) {
    if let Node::Table(t) = node {
        t.rows_hint = Some(1);
    }
}

/// Whether an UPDATE changes columns of the index it reads. A list of keys, or a scan that goes on behind each row, would meet such a row again.
fn moves_rows(input: &Node, targets: &[UpdateTarget], b: &Binder<'_>) -> bool {
    let Node::Table(t) = input else { return true };
    moves_rows_of(t, targets, b)
}

fn moves_rows_of(t: &TableNode, targets: &[UpdateTarget], b: &Binder<'_>) -> bool {
    let def = &b.tables[t.table as usize].def;
    let index = match &t.access {
        Access::Full { .. } | Access::Merge { .. } => 0,
        Access::Groups(groups) => groups.index as usize,
        Access::Index { index, .. } => *index as usize,
    };
    let mut parts: Vec<usize> = def.indexes[index].parts.iter().map(|p| p.column).collect();
    parts.extend(def.indexes[0].parts.iter().map(|p| p.column));
    // ON UPDATE CURRENT_TIMESTAMP columns change, too. Subqueries on the same table would see half-done changes.
    targets.iter().any(|target| {
        let moves = |(column, value): &(u32, Expr)| {
            parts.contains(&(*column as usize)) || value.any(&mut |x| matches!(x.kind, ExprKind::Subquery(..)))
        };
        target.set.iter().any(moves) || parts.iter().any(|p| def.columns[*p].on_update_now || def.columns[*p].generated.is_some())
    })
}

/// The target that is shown to those behind it ([`Update::shown`]): MySQL changes the rows of such a table as it meets them.
fn shown_target(input: &Node, targets: &[UpdateTarget], b: &Binder<'_>) -> Option<usize> {
    let first = first_table(input)?;
    let at = targets.iter().position(|target| first.keep_row == Some(target.row_slot))?;
    let (target, behind) = (&targets[at], &targets[at + 1..]);
    let changed: Vec<Slot> = target.set.iter().map(|(column, _)| target.first_slot + column).collect();
    let reads = |e: &Expr| {
        let mut slots = Vec::new();
        slots_of(e, &b.subplans, &mut slots);
        slots.iter().any(|slot| changed.contains(slot))
    };
    let is_read = behind.iter().flat_map(|target| &target.set).any(|(_, e)| reads(e));
    let is_one_row = matches!(&first.access, Access::Index { ranges: Some(spec), unique: true, .. } if spec.is_point());
    let stays = is_one_row || !moves_rows_of(first, std::slice::from_ref(target), b);
    (is_read && stays && !goes_by(input, first, &reads)).then_some(at)
}

/// The table that a nested loop begins with.
fn first_table(node: &Node) -> Option<&TableNode> {
    match node {
        Node::Table(table) => Some(table),
        Node::Nested { outer: input, .. } | Node::Filter { input, .. } => first_table(input),
        _ => None,
    }
}

/// Whether anything in a nested loop behind its first table reads what `reads` tells of, as far as that is known.
fn goes_by(node: &Node, first: &TableNode, reads: &dyn Fn(&Expr) -> bool) -> bool {
    match node {
        Node::Table(table) if std::ptr::eq(&**table, first) => false,
        Node::Table(table) => {
            let by_key = match &table.access {
                Access::Full { .. } | Access::Index { ranges: None, .. } => false,
                Access::Index { ranges: Some(spec), .. } => spec.expressions().any(reads),
                Access::Groups(_) | Access::Merge { .. } => true,
            };
            by_key || table.filter.as_ref().is_some_and(reads)
        }
        Node::Nested { outer, inner, on, .. } => {
            on.as_ref().is_some_and(reads) || goes_by(outer, first, reads) || goes_by(inner, first, reads)
        }
        Node::Filter { input, predicate } => reads(predicate) || goes_by(input, first, reads),
        _ => true,
    }
}
