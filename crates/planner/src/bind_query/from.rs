//! FROM: tables, derived tables, joins and the columns they show; locking clauses.

use crate::binder::{Binder, Clause, RelColumn, Relation, Result, Source};
use crate::conditions::compare_expr;
use crate::context::PlanContext;
use crate::expr::{CmpOp, Expr, ExprKind};
use crate::func::Func;
use crate::logical::JoinTree;
use crate::plan::{Kept, LockMode, LockWait, OutputColumn};
use crate::typing;
use crate::views::take_view_filter;
use catalog::{DefaultValue, TableEntry, Visibility};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind};

/// Tables of one block; MySQL's limit.
const RELATIONS_MAX: usize = 61;

impl<'c> Binder<'c> {
    /// Binds a table reference: adds its relations to the scope.
    pub fn table_ref(&mut self, t: &ast::TableRef<'_>) -> Result<JoinTree> {
        match t {
            ast::TableRef::Table(factor) => self.table_factor(factor),
            ast::TableRef::Derived(derived) => self.derived(derived).map(JoinTree::Relation),
            ast::TableRef::JsonTable(table) => self.json_table(table).map(JoinTree::Relation),
            ast::TableRef::List(list) => {
                let parts = list.iter().map(|t| self.table_ref(t)).collect::<Result<Vec<_>>>()?;
                Ok(JoinTree::Inner { parts, on: Vec::new(), straight: false })
            }
            ast::TableRef::Join(join) => self.join(join),
        }
    }

    fn join(&mut self, join: &ast::Join<'_>) -> Result<JoinTree> {
        // Long chains lean left; go down in a loop.
        let mut chain = vec![join];
        let mut first = &join.left;
        while let ast::TableRef::Join(inner) = first {
            chain.push(inner);
            first = &inner.left;
        }
        if chain.len() > RELATIONS_MAX {
            return Err(codes::too_many_tables(RELATIONS_MAX));
        }
        let start = self.scope().relations.len();
        let mut on_error = self.scope().on_error.take();
        let using_error = self.scope().using_error.take();
        // Which operands an outer join of the chain may put NULLs for.
        let outer_side = self.views.outer_side;
        let right_follows = |joins: &[&ast::Join<'_>]| joins.iter().any(|join| join.kind == ast::JoinKind::Right);
        self.views.outer_side = outer_side || right_follows(&chain);
        let tree = self.table_ref(first);
        self.views.outer_side = outer_side;
        let mut tree = tree?;
        for no in (0..chain.len()).rev() {
            let join = chain[no];
            // The conditions of later joins come first, and those inside an operand before its own.
            on_error = self.scope().on_error.take().or(on_error);
            let of_left = self.scope().using_error.take();
            let middle = self.scope().relations.len();
            // What a RIGHT JOIN keeps does not depend on its other side.
            let unseen = (join.kind == ast::JoinKind::Right).then_some(start..middle);
            let seen = self.scope().unseen.len();
            self.scope().unseen.extend(unseen);
            self.views.outer_side = outer_side || join.kind == ast::JoinKind::Left || right_follows(&chain[..no]);
            let right = self.table_ref(&join.right);
            self.views.outer_side = outer_side;
            self.scope().unseen.truncate(seen);
            let mut right = right?;
            let end = self.scope().relations.len();
            let mut on = Vec::new();
            let outer = matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right);
            match join.condition {
                ast::JoinCondition::None | ast::JoinCondition::Using(_) => {}
                ast::JoinCondition::On(condition) => {
                    let scope = self.scope();
                    let visible = std::mem::replace(&mut scope.visible, start..end);
                    let clause = std::mem::replace(&mut scope.clause, Clause::On);
                    let inside = std::mem::replace(&mut self.in_on.inside, self.in_on.of_change);
                    let bound = self.condition(condition);
                    self.in_on.inside = inside;
                    let scope = self.scope();
                    scope.visible = visible;
                    scope.clause = clause;
                    match bound {
                        Ok(condition) => condition.into_conjuncts(&mut on),
                        Err(error) => _ = scope.on_error.get_or_insert(error),
                    }
                    self.use_generated(&mut on)?;
                }
            }
            let of_right = self.scope().using_error.take();
            self.using_or_natural(join, [(&tree, of_left), (&right, of_right)], start..end, &mut on);
            if outer {
                let nullable = if join.kind == ast::JoinKind::Left { middle..end } else { start..middle };
                for r in &mut self.scope().relations[nullable] {
                    r.nullable = true;
                }
            }
            match join.kind {
                ast::JoinKind::Left => lift_conditions(&mut right, &mut on),
                ast::JoinKind::Right => lift_conditions(&mut tree, &mut on),
                _ => {}
            }
            tree = match join.kind {
                ast::JoinKind::Inner => JoinTree::Inner { parts: vec![tree, right], on, straight: false },
                ast::JoinKind::Straight => JoinTree::Inner { parts: vec![tree, right], on, straight: true },
                ast::JoinKind::Left => JoinTree::Left { left: Box::new(tree), right: Box::new(right), on },
                ast::JoinKind::Right => JoinTree::Left { left: Box::new(right), right: Box::new(tree), on },
            };
        }
        let scope = self.scope();
        scope.on_error = scope.on_error.take().or(on_error);
        scope.using_error = scope.using_error.take().or(using_error);
        Ok(tree)
    }

    /// WHERE, with the conditions of merged views; then what is wrong with the conditions of joins is told.
    pub(crate) fn where_clause(&mut self, condition: Option<&ast::Expr<'_>>) -> Result<Vec<Expr>> {
        self.scope().clause = Clause::Where;
        let mut filter = take_view_filter(self.scope());
        if let Some(condition) = condition {
            let mut bound = self.condition(condition)?;
            if self.context.auto_is_null() {
                bound = self.ask_for_last_row(bound);
            }
            bound.into_conjuncts(&mut filter);
            self.use_generated(&mut filter)?;
        }
        self.scope().on_error.take().map_or(Ok(filter), Err)
    }

    /// `sql_auto_is_null`: a condition that asks nothing but whether an AUTO_INCREMENT column is NULL, which it never is, asks for the row of LAST_INSERT_ID().
    #[cold]
    fn ask_for_last_row(&mut self, condition: Expr) -> Expr {
        let operand = match &condition.kind {
            ExprKind::IsNull { operand, negated: false } => &**operand,
            ExprKind::Func(Func::IsNull, args) if args.len() == 1 => &args[0],
            _ => return condition,
        };
        let ExprKind::Slot(slot) = operand.kind else { return condition };
        let operand = operand.clone();
        let tables = &self.tables;
        let counts = |relation: &Relation| match relation.source {
            Source::Base(no) if !relation.nullable => relation.column_of(slot).is_some_and(|column| {
                let column = tables[no as usize].def.columns.get(column);
                column.is_some_and(|column| column.auto_increment && !column.ty.nullable)
            }),
            _ => false,
        };
        if !self.scopes.last().is_some_and(|scope| scope.relations.iter().any(counts)) {
            return condition;
        }
        self.note_volatile();
        let last = Expr {
            kind: ExprKind::Func(Func::LastInsertId, Vec::new()),
            ty: ColumnType { nullable: false, ..ColumnType::bigint_unsigned() },
        };
        compare_expr(CmpOp::Eq, operand.ty.collation, operand, last)
    }

    pub(crate) fn add_relation(&mut self, relation: Relation) -> Result<usize> {
        let scope = self.scope();
        let is_merged = |r: &Relation| matches!(r.source, Source::Merged(_));
        let tables = scope.relations.iter().filter(|r| !is_merged(r)).count();
        if tables + usize::from(!is_merged(&relation)) > RELATIONS_MAX {
            return Err(codes::too_many_tables(RELATIONS_MAX));
        }
        if scope.relations.iter().any(|r| !r.of_view && r.alias == relation.alias && r.database == relation.database) {
            return Err(codes::nonuniq_table(&relation.alias));
        }
        scope.relations.push(relation);
        Ok(scope.relations.len() - 1)
    }

    fn table_factor(&mut self, factor: &ast::TableFactor<'_>) -> Result<JoinTree> {
        if !factor.partitions.is_empty() {
            return Err(SqlError::with_message(1747, "PARTITION () clause on non partitioned table"));
        }
        let alias = factor.alias.unwrap_or(factor.name.name).to_owned();
        if factor.name.schema.is_none()
            && let Some(cte) = self.ctes.iter().rev().find(|c| c.name.eq_ignore_ascii_case(factor.name.name)).cloned()
        {
            self.check_recursive_reference(&cte)?;
            self.name_cte(&cte)?;
            // What it reads outside, the blocks between read, too.
            for scope in self.scopes.iter_mut().skip(cte.depth) {
                scope.outer.extend(cte.source.outer_slots());
            }
            self.note_name(&factor.name, None, &cte.name);
            let relation = self.add_relation(Relation::new(alias, cte.source, cte.columns));
            return relation.map(JoinTree::Relation);
        }
        if factor.name.schema.is_none()
            && let Some(name) = self.recursing.iter().find(|name| name.eq_ignore_ascii_case(factor.name.name))
        {
            return Err(codes::cte_recursive_requires_single_reference(name));
        }
        if factor.name.schema.is_none() && factor.name.name.eq_ignore_ascii_case("dual") {
            return Err(codes::no_such_table(self.context.database().unwrap_or(""), factor.name.name));
        }
        let database = match factor.name.schema.or(self.context.database()) {
            Some(db) => db.to_owned(),
            None => return Err(codes::no_db_error()),
        };
        self.access_in_from(&database, factor.name.name)?;
        if let Some(table) = self.context.virtual_table(&database, factor.name.name)? {
            self.reads_dictionary |= table.is_dictionary;
            if let Some(name) = factor.index_hints.iter().flat_map(|hint| hint.names).next() {
                return Err(codes::key_does_not_exits(name, &alias));
            }
            self.note_name(&factor.name, Some(&database), table.name);
            return self.add_relation(crate::virtual_table::relation(table, alias, database)).map(JoinTree::Relation);
        }
        let found = match self.views.open.is_empty() {
            true => self.context.table(&database, factor.name.name),
            // Temporary tables of the session are none of a view's.
            false => self.context.related_table(&database, factor.name.name),
        };
        let entry = match found {
            Ok(entry) => entry,
            Err(error) => {
                let view = self.view_instead(&database, factor.name.name, error)?;
                if let Some(name) = factor.index_hints.iter().flat_map(|hint| hint.names).next() {
                    return Err(codes::key_does_not_exits(name, &alias));
                }
                self.note_name(&factor.name, Some(&database), &view.def.name);
                return self.view_relation(view, alias, database);
            }
        };
        self.note_name(&factor.name, Some(&database), &entry.def.name);
        if entry.temporary {
            self.refuse_temporary_in_view(&entry)?;
            self.refuse_reopening(&entry)?;
        }
        if let Some((_, name)) = self.changed.iter().find(|(id, _)| *id == entry.def.id) {
            return Err(self.changed_table_used(name));
        }
        if self.in_on.inside {
            self.in_on.read.push(entry.def.id);
        }
        let mut hints = Vec::new();
        for hint in factor.index_hints {
            let mut numbers = Vec::new();
            for name in hint.names {
                match entry.def.index_no(name).filter(|no| !entry.def.indexes[*no].invisible) {
                    Some(n) => numbers.push(n as u32),
                    None => return Err(codes::key_does_not_exits(name, &alias)),
                }
            }
            if hint.scope.is_none() || hint.scope == Some(ast::IndexHintScope::Join) {
                hints.push((hint.kind, numbers));
            }
        }
        let relation = self.base_relation(entry, alias, database, hints);
        if let Source::Base(table) = relation.source {
            self.note_table(table, &relation.alias);
        }
        self.add_relation(relation).map(JoinTree::Relation)
    }

    /// A temporary table may be named once in a statement. The error tells the name that it had there.
    #[cold]
    fn refuse_reopening(&self, entry: &TableEntry) -> Result<()> {
        let is_it = |(no, _): &&(u32, Box<str>)| self.tables[*no as usize].def.id == entry.def.id;
        self.references.iter().find(is_it).map_or(Ok(()), |(_, alias)| Err(codes::cant_reopen_table(alias)))
    }

    /// A relation over a stored table.
    pub fn base_relation(
        &mut self,
        entry: Arc<TableEntry>,
        alias: String,
        database: String,
        hints: Vec<(ast::IndexHintKind, Vec<u32>)>,
    ) -> Relation {
        let columns: Vec<RelColumn> = base_columns(&entry, &alias);
        let mut slots = vec![None; columns.len()];
        if self.views.whole_rows && !self.views.open.is_empty() {
            slots = columns.iter().map(|c| Some(self.new_slot(c.ty.clone()))).collect();
        }
        let table = self.add_table(entry);
        Relation { database, slots, hints, ..Relation::new(alias, Source::Base(table), columns) }
    }

    pub(super) fn derived(&mut self, derived: &ast::Derived<'_>) -> Result<usize> {
        if derived.alias.is_empty() {
            return Err(codes::derived_must_have_alias());
        }
        // LATERAL: it reads the tables before it, as a subquery in WHERE would, but for what USING has merged: it finds both columns.
        let hidden = if derived.lateral { None } else { self.hide_relations() };
        let (changed, in_on) = (std::mem::take(&mut self.changed), std::mem::take(&mut self.in_on));
        let joins = std::mem::take(&mut self.scope().joins);
        let bound = self.bind_query(derived.query);
        self.scope().joins = joins;
        (self.changed, self.in_on) = (changed, in_on);
        self.show_relations(hidden);
        let (columns, source) = self.waiting(bound?);
        let columns = named_columns(columns, derived.columns, derived.alias)?;
        self.add_relation(Relation::new(derived.alias, source, columns))
    }

    pub(super) fn apply_locks(&mut self, clauses: &[ast::LockClause<'_>]) -> Result<()> {
        if clauses.is_empty() {
            return Ok(());
        }
        let mut locked = vec![false; self.scope().relations.len()];
        for clause in clauses {
            let wait = match clause.wait {
                ast::LockWait::Wait => LockWait::Block,
                ast::LockWait::NoWait => LockWait::NoWait,
                ast::LockWait::SkipLocked => LockWait::SkipLocked,
            };
            let mode = match clause.strength {
                ast::LockStrength::Share => LockMode::Share(wait),
                ast::LockStrength::Update => LockMode::Exclusive(wait),
            };
            self.locks |= self.context.locks_rows();
            self.locks_exclusively |= clause.strength == ast::LockStrength::Update && self.context.locks_rows();
            let context = self.context;
            let relations = &mut self.scope().relations;
            for name in clause.of {
                let Some(at) = relations.iter().position(|r| !r.of_view && r.alias == name.name) else {
                    return Err(SqlError::with_message(3568, format!("Unresolved table name `{}` in locking clause.", name.name)));
                };
                // MySQL has given a derived table's rows their lock before it looks at the name.
                if locked[at] || matches!(relations[at].source, Source::Derived(..) | Source::Waiting(_) | Source::JsonTable(..)) {
                    return Err(codes::duplicate_table_lock(format!("`{}`", name.name)));
                }
                locked[at] = true;
                // What a view has merged is locked with it.
                let members = if let Source::Merged(merged) = &relations[at].source { merged.members.clone() } else { at..at };
                for at in members {
                    locked[at] = true;
                    lock_relation(&mut relations[at], mode, context)?;
                }
                lock_relation(&mut relations[at], mode, context)?;
            }
            for (relation, locked) in relations.iter_mut().zip(&mut locked).filter(|_| clause.of.is_empty()) {
                // Nor has a table function rows to lock: MySQL says the same of it.
                if std::mem::replace(locked, true) || matches!(relation.source, Source::JsonTable(..)) {
                    return Err(codes::duplicate_table_lock(&relation.alias));
                }
                lock_relation(relation, mode, context)?;
            }
        }
        let depth = self.scopes.len() - 1;
        for relation in 0..self.scopes[depth].relations.len() {
            if matches!(self.scopes[depth].relations[relation].lock, LockMode::Exclusive(_)) {
                self.access_locked(depth, relation);
            }
        }
        if !self.context.locks_rows() {
            self.scope().relations.iter_mut().for_each(|relation| relation.lock = LockMode::None);
        }
        Ok(())
    }
}

/// The conditions of the one table on the inner side of an outer join are the join's: so the table is found by a key.
fn lift_conditions(side: &mut JoinTree, on: &mut Vec<Expr>) {
    if let JoinTree::Inner { parts, on: own, straight: false } = side
        && let [JoinTree::Relation(table)] = parts[..]
    {
        on.append(own);
        *side = JoinTree::Relation(table);
    }
}

fn computed(relation: &Relation) -> Option<&'static catalog::VirtualTableDef> {
    match relation.source {
        Source::Virtual(table) => Some(table),
        _ => None,
    }
}

/// Has a relation's rows locked. Computed ones have no rows to lock: MySQL's rights on them allow FOR SHARE in one of the two databases.
fn lock_relation(relation: &mut Relation, mode: LockMode, context: &dyn PlanContext) -> Result<()> {
    match (computed(relation), mode) {
        (Some(table), LockMode::Share(_)) if table.database == "information_schema" => {
            Err(SqlError::with_message(3550, "Information schema queries do not support the 'LOCK IN SHARE MODE' clause."))
        }
        (Some(_), LockMode::Share(_)) => Ok(()),
        (Some(table), _) => Err(context.virtual_table_denied(table, "SELECT with locking clause")),
        (None, _) => {
            relation.lock = mode;
            Ok(())
        }
    }
}

/// The columns of a stored table.
pub fn base_columns(entry: &TableEntry, alias: &str) -> Vec<RelColumn> {
    let def = &entry.def;
    def.columns
        .iter()
        .enumerate()
        .map(|(i, c)| {
            let in_key = |unique: bool| {
                def.indexes
                    .iter()
                    .skip(usize::from(def.indexes[0].name == "PRIMARY"))
                    .any(|x| x.unique == unique && x.parts.first().is_some_and(|p| p.column == i) && (!unique || x.parts.len() == 1))
            };
            let primary = def.indexes[0].name == "PRIMARY" && def.indexes[0].parts.iter().any(|p| p.column == i);
            let composite = def.indexes.iter().any(|x| x.name != "PRIMARY" && x.parts.len() > 1 && x.parts[0].column == i);
            RelColumn {
                // What nobody sees has no name to find it by.
                name: if c.visibility == Visibility::Hidden { String::new() } else { c.name.clone() },
                ty: c.ty.clone(),
                hidden: false,
                invisible: c.visibility != Visibility::Visible,
                meta: OutputColumn {
                    database: def.database.as_str().into(),
                    table: alias.into(),
                    org_table: def.name.as_str().into(),
                    name: c.name.as_str().into(),
                    org_name: c.name.as_str().into(),
                    ty: c.ty.clone(),
                    primary_key: primary,
                    unique_key: in_key(true),
                    multiple_key: in_key(false) || composite,
                    part_of_key: def.indexes.iter().any(|x| x.parts.iter().any(|p| p.column == i)),
                    auto_increment: c.auto_increment,
                    no_default: !c.ty.nullable && matches!(c.default, DefaultValue::None) && !c.auto_increment,
                    on_update_now: c.on_update_now,
                    coercibility: typing::IMPLICIT,
                    kept: Kept::No,
                },
            }
        })
        .collect()
}

pub(crate) fn named_columns(columns: Vec<OutputColumn>, names: &[&str], of: &str) -> Result<Vec<RelColumn>> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(SqlError::with_message(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column names list have different column counts",
        ));
    }
    let mut out: Vec<RelColumn> = Vec::with_capacity(columns.len());
    for (i, c) in columns.into_iter().enumerate() {
        let name = names.get(i).map_or_else(|| c.name.to_string(), |n| (*n).to_owned());
        if out.iter().any(|o| o.name.eq_ignore_ascii_case(&name)) {
            return Err(codes::dup_fieldname(&name));
        }
        let mut meta = c;
        meta.name = name.as_str().into();
        meta.org_name = name.as_str().into();
        meta.org_table = "".into();
        meta.database = "".into();
        meta.table = of.into();
        (meta.primary_key, meta.unique_key, meta.multiple_key, meta.part_of_key, meta.auto_increment) = (false, false, false, false, false);
        if meta.ty.kind == TypeKind::Null {
            meta.ty = ColumnType { nullable: true, ..typing::string(0, Collation::Binary) };
        }
        let ty = meta.ty.clone();
        out.push(RelColumn { name, ty, meta, hidden: false, invisible: false });
    }
    Ok(out)
}
