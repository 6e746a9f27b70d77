//! A view where FROM names it.

use super::{Merged, ViewUse};
use crate::alike::{By, Wording, wording};
use crate::bind_query::{Bound, named_columns};
use crate::binder::{Binder, Clause, Relation, Result, Scope, Source, check_stack};
use crate::expr::{Expr, ExprKind};
use crate::logical::{Block, JoinTree};
use crate::plan::{OutputColumn, SortKey};
use crate::switches::Switch;
use catalog::{TableEntry, ViewAlgorithm, ViewEntry};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::HashSet;
use std::sync::Arc;
use types::{Collation, ColumnType, SqlMode};

/// Views that may name each other in a row.
const VIEW_DEPTH_MAX: usize = 61;

/// What the binder remembers of views.
#[derive(Debug, Default)]
pub struct ViewState {
    /// All that were met, see [`crate::Plan::views`].
    pub uses: Vec<ViewUse>,
    /// Those whose text is being bound, from the outermost inward: positions in `uses`.
    pub open: Vec<u32>,
    /// Tables that are reached through views: (position in the plan's tables, alias, position in `uses`).
    pub tables: Vec<(u32, Box<str>, u32)>,
    /// The collation under which the text being bound was made.
    pub collation: Option<Collation>,
    /// FROM is being bound where an outer join may put NULLs in place of rows.
    pub outer_side: bool,
    /// Tables of views have a slot for each column, in a row: the statement changes them.
    pub whole_rows: bool,
    /// What the statement does, for its errors.
    pub command: &'static str,
    /// It changes a table through a view.
    pub changes_view: bool,
    /// The statement defines a view: names are noted, and errors are those of a statement.
    pub names: Option<Box<super::NameRecord>>,
    /// Subqueries in what CHECK OPTION asks: they stay subqueries.
    pub kept: Vec<u32>,
}

impl<'c> Binder<'c> {
    /// The mode that expressions are bound under.
    pub fn sql_mode(&self) -> SqlMode {
        if self.views.open.is_empty() { self.context.sql_mode() } else { SqlMode::default() }
    }

    /// The mode that decides about groups: the statement's, in views, too.
    pub(crate) fn sql_mode_of_groups(&self) -> SqlMode {
        self.context.sql_mode()
    }

    /// The collation of texts that name none.
    pub fn connection_collation(&self) -> Collation {
        match self.views.collation {
            Some(collation) => collation,
            None => self.context.connection_collation(),
        }
    }

    /// Looks up a view after no table was found.
    #[cold]
    pub(crate) fn view_instead(&mut self, database: &str, name: &str, error: SqlError) -> Result<Arc<ViewEntry>> {
        if !matches!(error.code, codes::ER_NO_SUCH_TABLE | codes::ER_TABLE_NOT_LOCKED) {
            return Err(error);
        }
        self.context.view(database, name)?.ok_or(error)
    }

    /// What a subquery is told that reads a table which the statement changes.
    #[cold]
    pub(crate) fn changed_table_used(&self, name: &str) -> SqlError {
        if !self.views.changes_view {
            return codes::update_table_used(name);
        }
        let command = self.views.command;
        SqlError::with_message(1443, format!("The definition of table '{name}' prevents operation {command} on table '{name}'."))
    }

    /// A view keeps no temporary table.
    #[cold]
    pub(crate) fn refuse_temporary_in_view(&self, entry: &TableEntry) -> Result<()> {
        if self.views.names.is_none() {
            return Ok(());
        }
        Err(SqlError::with_message(1352, format!("View's SELECT refers to a temporary table '{}'", entry.def.name)))
    }

    /// Binds a view as a relation of the current block.
    pub(crate) fn view_relation(&mut self, view: Arc<ViewEntry>, alias: String, database: String) -> Result<JoinTree> {
        let def = &view.def;
        if self.views.open.iter().any(|open| self.views.uses[*open as usize].view.def.id == def.id) {
            return Err(codes::view_recursive(&def.database, &def.name));
        }
        if self.views.open.len() >= VIEW_DEPTH_MAX {
            return Err(SqlError::with_message(1436, "Thread stack overrun: views are nested too deeply"));
        }
        if let Some((_, target)) = self.changed.first().filter(|_| self.view_reads_changed(&view)) {
            let command = self.views.command;
            let message = format!("The definition of table '{alias}' prevents operation {command} on table '{target}'.");
            return Err(SqlError::with_message(1443, message));
        }
        let number = self.views.uses.len() as u32;
        let within = self.views.open.last().copied();
        self.views.uses.push(ViewUse { view: Arc::clone(&view), alias: alias.as_str().into(), within });
        let bound = self.view_body(&view, number)?;
        match bound {
            Bound::Block(block) if self.can_merge(&view, &block) => self.merge(view, *block, alias, database),
            bound => self.view_derived(view, bound, alias, database).map(JoinTree::Relation),
        }
    }

    /// Whether one of the tables that the statement changes is behind a view.
    fn view_reads_changed(&self, view: &ViewEntry) -> bool {
        fn reads(b: &Binder<'_>, view: &ViewEntry, depth: usize) -> bool {
            view.def.tables.iter().any(|(database, name)| match b.context.table(database, name) {
                Ok(entry) => b.changed.iter().any(|(id, _)| *id == entry.def.id),
                Err(_) if depth < VIEW_DEPTH_MAX => {
                    matches!(b.context.view(database, name), Ok(Some(inner)) if reads(b, &inner, depth + 1))
                }
                Err(_) => false,
            })
        }
        reads(self, view, 0)
    }

    /// Binds a view's query, with nothing of the statement in sight.
    pub(super) fn view_body(&mut self, view: &Arc<ViewEntry>, number: u32) -> Result<Bound> {
        check_stack()?;
        let arena = parser::Bump::new();
        let parsed = parser::parse_view(view.def.query.as_bytes(), &arena).map_err(|_| invalid(view))?;
        let ast::Statement::Query(query) = parsed.statement else { return Err(invalid(view)) };
        let sql = std::mem::replace(&mut self.sql, b"");
        let ctes = std::mem::take(&mut self.ctes);
        let (changed, in_on) = (std::mem::take(&mut self.changed), std::mem::take(&mut self.in_on));
        let row_columns = self.row_columns.take();
        let collation = self.views.collation.replace(Collation::from_name(&view.def.connection_collation).unwrap_or(Collation::DEFAULT));
        let outer_side = std::mem::replace(&mut self.views.outer_side, false);
        let names = self.views.names.take();
        let volatile = self.volatile;
        // Its tables are read with the rights of who defined it, unless it says otherwise.
        let outside = self.accesses.step_behind(&view.def);
        self.views.open.push(number);
        let bound = self.outside_of_blocks(|b| b.bind_query(query));
        self.views.open.pop();
        self.accesses.step_out(outside);
        self.volatile |= volatile;
        self.views.names = names;
        self.views.outer_side = outer_side;
        self.views.collation = collation;
        self.row_columns = row_columns;
        (self.sql, self.ctes, self.changed, self.in_on) = (sql, ctes, changed, in_on);
        // That it leads to the view that is being made is told as it is.
        let own = self.context.view_being_made().map(|(database, name)| codes::no_such_table(database, name).message);
        bound.map_err(|error| if hides(&error) && own.as_ref() != Some(&error.message) { invalid(view) } else { error })
    }

    fn can_merge(&self, view: &ViewEntry, block: &Block) -> bool {
        let plain = |e: &Expr| matches!(e.kind, ExprKind::Slot(_));
        let has_subquery = |e: &Expr| e.any(&mut |e| matches!(e.kind, ExprKind::Subquery(..)));
        let mut exprs = block.items.iter().map(|(e, _)| e);
        view.def.algorithm != ViewAlgorithm::TempTable
            && (self.views.whole_rows || self.context.switches().has(Switch::DerivedMerge))
            && block.is_simple()
            && !block.distinct
            && !block.scope.volatile
            && self.scopes.last().is_some_and(|scope| scope.clause == Clause::Fields && !scope.in_aggregate)
            && if self.views.outer_side { exprs.all(plain) } else { self.views.whole_rows || !exprs.any(has_subquery) }
    }

    fn merge(&mut self, view: Arc<ViewEntry>, block: Block, alias: String, database: String) -> Result<JoinTree> {
        let Block { scope: inner, mut from, filter, items, order, straight, .. } = block;
        let start = self.scope().relations.len();
        let end = start + inner.relations.len();
        let (exprs, columns): (Vec<_>, Vec<_>) = items.into_iter().unzip();
        let names: Vec<&str> = view.def.columns.iter().map(String::as_str).collect();
        let origins = columns.clone();
        let mut columns = named_columns(columns, &names, &alias)?;
        // Columns of tables stay what they are, but for the names.
        for (column, origin) in columns.iter_mut().zip(origins).filter(|(_, origin)| !origin.org_table.is_empty()) {
            column.meta = OutputColumn { table: alias.as_str().into(), name: column.name.as_str().into(), ty: column.ty.clone(), ..origin };
        }
        let mut own = filter.clone();
        let mut outer_join = false;
        from.iter().for_each(|tree| own_conditions(tree, &mut own, &mut outer_join));
        let mut relations = inner.relations;
        for relation in &mut relations {
            relation.of_view = true;
            relation.columns.iter_mut().for_each(|column| column.hidden = true);
            if let Source::Merged(merged) = &mut relation.source {
                merged.members = merged.members.start + start..merged.members.end + start;
            }
        }
        let direct = |at: usize| !relations.iter().any(|r| matches!(&r.source, Source::Merged(m) if m.members.contains(&(start + at))));
        let below = relations.iter().enumerate().filter_map(|(at, r)| match &r.source {
            Source::Merged(merged) if direct(at) => Some(&**merged),
            _ => None,
        });
        // What views below ask is told by them: conditions of theirs stand among this view's.
        let whole = |e: &Expr| (wording(e, By::All), e.ty.clone());
        let inherited: HashSet<(Wording, ColumnType)> = below.clone().flat_map(|m| &m.all).map(whole).collect();
        own.retain(|e| !inherited.contains(&whole(e)));
        let (all, checked) = Merged::conditions(view.def.check, &own, below);
        if self.views.whole_rows {
            let kept = &mut self.views.kept;
            checked.iter().for_each(|e| {
                e.walk(&mut |e| {
                    if let ExprKind::Subquery(n, _) = e.kind {
                        kept.push(n);
                    }
                });
            });
        }
        from.iter_mut().for_each(|tree| tree.shift(start));
        self.scope().relations.extend(relations);
        let merged = Merged { view, exprs, members: start..end, order, own, all, checked, outer_join };
        let at = self.add_relation(Relation { database, ..Relation::new(alias, Source::Merged(Box::new(merged)), columns) })?;
        debug_assert_eq!(at, end);
        let on = if self.views.outer_side {
            filter
        } else {
            self.scope().view_filter.extend(filter);
            Vec::new()
        };
        Ok(match from.len() {
            1 if on.is_empty() && !straight => from.remove(0),
            _ => JoinTree::Inner { parts: from, on, straight },
        })
    }

    fn view_derived(&mut self, view: Arc<ViewEntry>, bound: Bound, alias: String, database: String) -> Result<usize> {
        let (columns, source) = self.waiting(bound);
        let names: Vec<&str> = view.def.columns.iter().map(String::as_str).collect();
        let origins: Vec<_> = columns.iter().map(|c| (c.database.clone(), c.org_table.clone(), c.org_name.clone())).collect();
        let mut columns = named_columns(columns, &names, &alias)?;
        for (column, origin) in columns.iter_mut().zip(origins) {
            (column.meta.database, column.meta.org_table, column.meta.org_name) = origin;
        }
        self.add_relation(Relation { database, view: Some(view), ..Relation::new(alias, source, columns) })
    }

    /// What a column of a merged view stands for.
    pub(crate) fn merged_column(&mut self, depth: usize, relation: usize, column: usize) -> Option<Expr> {
        let rel = &self.scopes[depth].relations[relation];
        let Source::Merged(merged) = &rel.source else { return None };
        let mut expr = merged.exprs[column].clone();
        expr.ty.nullable |= rel.nullable;
        self.note_outer(depth, &expr);
        Some(expr)
    }

    /// A view's column that a table's column is read by: (relation, column).
    pub(crate) fn view_column_of(&self, depth: usize, slot: crate::expr::Slot, name: &str) -> Option<(usize, usize)> {
        let mut found = None;
        for (r, relation) in self.scopes[depth].relations.iter().enumerate().filter(|(_, r)| !r.of_view) {
            let Source::Merged(merged) = &relation.source else { continue };
            for (c, e) in merged.exprs.iter().enumerate().filter(|(_, e)| matches!(e.kind, ExprKind::Slot(s) if s == slot)) {
                let _ = e;
                if relation.columns[c].name.eq_ignore_ascii_case(name) {
                    return Some((r, c));
                }
                found = found.or(Some((r, c)));
            }
        }
        found
    }

    /// The ORDER BY of the one view that a block reads, where the block has none.
    pub(crate) fn order_of_view(&self, block: &mut Block) {
        if block.grouped || block.distinct || !block.order.is_empty() {
            return;
        }
        let Some(scope) = self.scopes.last() else { return };
        let mut named = scope.relations.iter().filter(|r| !r.of_view);
        if let (Some(Relation { source: Source::Merged(merged), .. }), None) = (named.next(), named.next()) {
            block.order = merged.order.clone();
        }
    }

    /// The same for an UPDATE or DELETE with LIMIT.
    pub(crate) fn order_of_changed(&self, order: &mut Vec<SortKey>) {
        let Some(scope) = self.scopes.last().filter(|_| order.is_empty()) else { return };
        let mut named = scope.relations.iter().filter(|r| !r.of_view);
        if let (Some(Relation { source: Source::Merged(merged), .. }), None) = (named.next(), named.next()) {
            order.clone_from(&merged.order);
        }
    }

    /// Notes a table that a view's text names, in place of [`Binder::references`].
    pub(crate) fn note_table(&mut self, table: u32, alias: &str) {
        match self.views.open.last() {
            Some(view) => self.views.tables.push((table, alias.into(), *view)),
            None => self.references.push((table, alias.into())),
        }
    }
}

/// A condition of a scope's views that is not in its tree: taken when WHERE is bound.
pub(crate) fn take_view_filter(scope: &mut Scope) -> Vec<Expr> {
    std::mem::take(&mut scope.view_filter)
}

/// The conditions of joins, and whether one is an outer join.
fn own_conditions(tree: &JoinTree, out: &mut Vec<Expr>, outer_join: &mut bool) {
    match tree {
        JoinTree::Relation(_) => {}
        JoinTree::Inner { parts, on, .. } => {
            out.extend_from_slice(on);
            parts.iter().for_each(|part| own_conditions(part, out, outer_join));
        }
        JoinTree::Left { left, .. } => {
            *outer_join = true;
            own_conditions(left, out, outer_join);
        }
    }
}

/// 1356.
fn invalid(view: &ViewEntry) -> SqlError {
    codes::view_invalid(&view.def.database, &view.def.name)
}

/// Errors that tell what a view is made of.
fn hides(error: &SqlError) -> bool {
    matches!(
        error.code,
        codes::ER_BAD_FIELD_ERROR
            | codes::ER_NO_SUCH_TABLE
            | codes::ER_BAD_DB_ERROR
            | codes::ER_SP_DOES_NOT_EXIST
            | codes::ER_VIEW_INVALID
            | codes::ER_VIEW_WRONG_LIST
            | codes::ER_NON_UNIQ_ERROR
            | codes::ER_DUP_FIELDNAME
            | codes::ER_KEY_DOES_NOT_EXITS
    )
}
