//! SELECT: its clauses in the order of their scopes, the select list, ORDER BY.

use crate::alike::{By, ExprSet, same};
use crate::binder::{Binder, Clause, Result, Scope, Source};
use crate::expr::{Expr, ExprKind, Slot};
use crate::logical::Block;
use crate::plan::{Kept, OutputColumn, SortKey};
use crate::typing;
use mysql_error::{SqlError, codes};
use parser::ast;
use types::{Collation, SqlMode};

/// What ORDER BY orders, as far as aggregates may stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ordered {
    /// Groups; or rows of a statement that takes no aggregates anywhere.
    Groups,
    /// Rows of a query that does not group: an aggregate would make one group of them (3029).
    Rows,
    /// What a set operation makes (3028).
    Set,
}

impl<'c> Binder<'c> {
    pub(super) fn bind_select(&mut self, select: &ast::Select<'_>, q: &ast::Query<'_>) -> Result<Block> {
        let (scope, bound) = self.enter(Scope::new(), |b| b.bind_select_in_scope(select, q));
        let mut block = bound?;
        block.scope = scope;
        self.pad_block(&mut block);
        Ok(block)
    }

    fn bind_select_in_scope(&mut self, select: &ast::Select<'_>, q: &ast::Query<'_>) -> Result<Block> {
        if select.qualify.is_some() {
            return Err(codes::not_supported_yet("QUALIFY"));
        }
        self.note_found_rows(select)?;
        let from = select.from.iter().map(|t| self.table_ref(t)).collect::<Result<Vec<_>>>()?;
        let fixed = (!select.hints.is_empty() || !self.hints.of_insert.is_empty()) && self.take_hints(select.hints);
        self.apply_locks(q.locking)?;
        self.check_using()?;
        // What is wrong with the select list is told first.
        let filter = self.where_clause(select.filter);
        if select.rollup {
            self.let_columns_be_null();
        }
        self.scope().clause = Clause::Fields;
        self.scope().aggregates_allowed = true;
        self.bind_windows(select.windows)?;
        let mut items = self.select_items(select)?;
        let filter = filter?;
        if matches!(q.into, Some(ast::SelectInto::Variables(_))) {
            for (expr, _) in &mut items {
                let null = Expr::literal(types::Value::Null, expr.ty.clone());
                let item = std::mem::replace(expr, null);
                // Others are taken as computed when the rows are out: they may be what is grouped by.
                *expr = if matches!(item.kind, ExprKind::Slot(_)) { self.as_computed(item) } else { item };
            }
        }
        // GROUP BY
        let mut group_by: Vec<Expr> = Vec::with_capacity(select.group_by.len());
        let mut grouped_by = ExprSet::new(By::Value);
        self.scope().clause = Clause::GroupBy;
        for item in select.group_by {
            let expr = match item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(n)) => match items.get((n as usize).wrapping_sub(1)) {
                    Some((e, _)) => e.clone(),
                    None => return Err(codes::bad_field_error(n, "group statement")),
                },
                // A constant groups nothing, but it can be summed up.
                ast::ExprKind::Param(_) | ast::ExprKind::Literal(_) if !select.rollup => continue,
                _ => self.group_expr(&item.expr, &items)?,
            };
            self.refuse_aggregate_in_group(&expr, &items)?;
            if let Some(alias) = self.window_alias(&expr) {
                return Err(codes::wrong_group_field(alias));
            }
            if self.calls_grouping(&expr) {
                return Err(codes::wrong_group_field("GROUPING function"));
            }
            // With ROLLUP each is summed up by itself.
            if select.rollup || grouped_by.insert(&expr) {
                group_by.push(expr);
            }
        }
        self.scope().grouped_by =
            group_by.iter().filter_map(|e| if let ExprKind::Slot(slot) = e.kind { Some(slot) } else { None }).collect();
        self.scope().clause = Clause::Having;
        let having = select.having.map(|h| self.condition(h)).transpose()?;
        if let Some(alias) = having.as_ref().and_then(|having| self.window_alias(having)) {
            return Err(codes::window_invalid_window_func_alias_use(alias));
        }
        self.scope().clause = Clause::OrderBy;
        let outputs: Vec<Expr> = items.iter().map(|(e, _)| e.clone()).collect();
        let aggregated = !select.group_by.is_empty() || !self.scope().aggregates.is_empty();
        let order = self.order_keys(q.order_by, &outputs, if aggregated { Ordered::Groups } else { Ordered::Rows })?;
        let limit = self.limit(q.limit)?;
        if let Some(error) = self.scope().window_error.take() {
            return Err(error);
        }
        let grouped = !select.group_by.is_empty() || !self.scope().aggregates.is_empty();
        if (grouped || self.scope().windows.iter().any(|window| !window.calls.is_empty()))
            && let Some(name) = self.recursion_read()
        {
            return Err(codes::cte_recursive_forbids_aggregation(name));
        }
        let mut block = Block {
            scope: Scope::new(),
            from,
            filter,
            items,
            grouped,
            implicit: grouped && select.group_by.is_empty(),
            group_by,
            rollup: None,
            having,
            order,
            distinct: select.options.distinct,
            limit,
            straight: select.options.straight_join || fixed,
            asked_for_one: false,
        };
        if !block.grouped && !block.distinct && self.scope().windows.is_empty() && self.views.names.is_none() {
            self.sort_by_generated(&mut block.order)?;
        }
        self.order_of_view(&mut block);
        self.note_kept(&mut block);
        let calls = self.grouping_calls(&block)?;
        if select.rollup {
            self.roll_up(&mut block, calls);
        } else {
            self.no_rollup(&mut block, &calls);
        }
        // A view is defined whatever its groups and its order are; who reads it is told.
        if self.views.names.is_none() && self.sql_mode_of_groups().contains(SqlMode::ONLY_FULL_GROUP_BY) {
            if block.grouped {
                self.check_full_group_by(&block)?;
            }
            if block.distinct {
                self.check_order_of_distinct(&block)?;
            }
        }
        Ok(block)
    }

    /// 3065 where a DISTINCT query is ordered by what its rows do not tell: each may come of several that differ in it.
    fn check_order_of_distinct(&self, block: &Block) -> Result<()> {
        if block.order.is_empty() {
            return Ok(());
        }
        let selected = ExprSet::of(By::Value, block.items.iter().map(|(e, _)| e));
        for (i, key) in block.order.iter().enumerate() {
            if let Some(slot) = self.not_selected(&key.expr, &block.items, &selected) {
                return Err(codes::field_in_order_not_select(i + 1, "ORDER BY clause", self.slot_name(slot), "DISTINCT"));
            }
        }
        Ok(())
    }

    /// Notes what MySQL keeps in temporary tables for the windows of the block, or for DISTINCT.
    fn note_kept(&self, block: &mut Block) {
        let Some(scope) = self.scopes.last() else { return };
        let called: Vec<Slot> = scope.windows.iter().flat_map(|window| &window.calls).map(|(slot, _)| *slot).collect();
        let of_rows = !block.from.is_empty() && !block.grouped;
        // Of aggregates a table that is made of them has the types.
        for (expr, column) in &mut block.items {
            if matches!(expr.kind, ExprKind::Slot(slot) if expr.ty.kind.is_integer() && scope.aggregates.iter().any(|(of, _)| *of == slot))
            {
                column.kept = Kept::AsItIs;
            }
        }
        if called.is_empty() && !(block.distinct && of_rows) {
            return;
        }
        for (expr, column) in &mut block.items {
            column.kept = match expr.kind {
                // Constants are not kept, and columns are what they are.
                _ if expr.is_constant() || !column.org_name.is_empty() => continue,
                // Nor are values of subqueries, of assignments and of what is grouped.
                ExprKind::Subquery(..) | ExprKind::AssignVariable(..) => continue,
                ExprKind::Slot(slot) if scope.aggregates.iter().any(|(of, _)| *of == slot) => continue,
                ExprKind::Slot(slot) if called.contains(&slot) => Kept::Widened,
                _ => Kept::ByDigits,
            };
        }
    }

    /// An expression that is grouped by: an aggregate may be but an item of the select list, and is refused by its name then.
    fn group_expr(&mut self, expr: &ast::Expr<'_>, items: &[(Expr, OutputColumn)]) -> Result<Expr> {
        if let ast::ExprKind::Aggregate(call) = &expr.kind
            && call.over.is_none()
        {
            let bound = self.expr(expr).map_err(|_| codes::invalid_group_func_use())?;
            let is_item = items.iter().any(|(item, _)| same(item, &bound));
            return if is_item { Ok(bound) } else { Err(codes::invalid_group_func_use()) };
        }
        let depth = self.scopes.len() - 1;
        if let ast::ExprKind::Column(ast::ColumnRef { table: None, column, .. }) = expr.kind {
            self.one_item(depth, column)?;
        }
        self.scope().aggregates_allowed = false;
        let bound = self.expr(expr);
        self.scope().aggregates_allowed = true;
        match (bound, &expr.kind) {
            // A name that several columns have is that of the item.
            (Err(error), ast::ExprKind::Column(column)) if error.code == codes::ER_NON_UNIQ_ERROR && column.table.is_none() => {
                self.item_named(depth, column.column)?.ok_or(error)
            }
            (bound, _) => bound,
        }
    }

    /// 1056 when rows are grouped by an aggregate, which an item's name may mean.
    fn refuse_aggregate_in_group(&self, expr: &Expr, items: &[(Expr, OutputColumn)]) -> Result<()> {
        let Some(scope) = self.scopes.last() else { return Ok(()) };
        let aggregated = expr.any(&mut |x| matches!(x.kind, ExprKind::Slot(s) if scope.aggregates.iter().any(|(a, _)| *a == s)));
        if !aggregated {
            return Ok(());
        }
        let item = items.iter().find(|(item, _)| same(item, expr));
        // MySQL has no name for an expression over an item.
        Err(codes::wrong_group_field(item.map_or("???", |(_, column)| &column.name)))
    }

    /// 1051 for a star of a table that is not there: stars are looked at before expressions.
    fn check_stars(&mut self, items: &[ast::SelectItem<'_>]) -> Result<()> {
        for item in items {
            match item {
                ast::SelectItem::Wildcard if self.scope().relations.is_empty() => return Err(codes::no_tables_used()),
                ast::SelectItem::TableWildcard(name) if self.relation_of_star(name).is_none() => {
                    return Err(codes::bad_table_error(name.name));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn relation_of_star(&self, name: &ast::ObjectName<'_>) -> Option<usize> {
        let relations = &self.scopes.last()?.relations;
        relations.iter().position(|r| !r.of_view && r.alias == name.name && name.schema.is_none_or(|s| r.database == s))
    }

    fn select_items(&mut self, select: &ast::Select<'_>) -> Result<Vec<(Expr, OutputColumn)>> {
        let items = select.items;
        let mut out = Vec::with_capacity(items.len());
        let depth = self.scopes.len() - 1;
        self.check_stars(items)?;
        for (no, item) in items.iter().enumerate() {
            let block = (std::ptr::from_ref(select).addr(), no);
            match item {
                ast::SelectItem::Wildcard => {
                    let columns = self.scope().star();
                    self.show_all(block, depth, &columns, &mut out);
                }
                ast::SelectItem::TableWildcard(name) => {
                    let r = self.relation_of_star(name).ok_or_else(|| codes::bad_table_error(name.name))?;
                    let own = self.scopes[depth].relations[r].columns.iter().enumerate();
                    let columns: Vec<(usize, usize)> = own.filter(|(_, column)| !column.invisible).map(|(c, _)| (r, c)).collect();
                    self.show_all(block, depth, &columns, &mut out);
                }
                ast::SelectItem::Expr { expr, alias } => {
                    let name = String::from_utf8_lossy(item.column_name(self.sql)).into_owned();
                    if let Some(names) = &mut self.views.names {
                        names.items.insert(std::ptr::from_ref(item).addr(), name.clone());
                    }
                    let bound = match self.expr(expr) {
                        Ok(bound) => bound,
                        Err(error) => return Err(self.forward_reference(error, &items[no..])),
                    };
                    let mut meta = self.meta_of(&bound, &name);
                    if let (None, Some(own)) = (alias, self.own_column_name(&bound, &name)) {
                        meta.name = own;
                    }
                    out.push((bound, meta));
                }
            }
            // Subqueries of later items may name the earlier ones.
            let named = self.scopes[depth].aliases.len();
            for (expr, column) in &out[named..] {
                let alias = (column.name.to_string(), expr.clone());
                self.scopes[depth].aliases.push(alias);
            }
        }
        Ok(out)
    }

    /// 1247 where a subquery of the first of these items names it or a later one by its alias; else what is wrong with it.
    #[cold]
    fn forward_reference(&self, error: SqlError, items: &[ast::SelectItem<'_>]) -> SqlError {
        let Some((name, depth)) = &self.missing else { return error };
        let is_that = error.code == codes::ER_BAD_FIELD_ERROR && error.message.starts_with(&format!("Unknown column '{name}' "));
        let is_named = |item: &ast::SelectItem<'_>| match item {
            ast::SelectItem::Expr { .. } => String::from_utf8_lossy(item.column_name(self.sql)).eq_ignore_ascii_case(name),
            _ => false,
        };
        if is_that && *depth >= self.scopes.len() && items.iter().any(is_named) {
            return codes::illegal_reference(name, "forward reference in item list");
        }
        error
    }

    /// Adds the columns that a star stands for.
    fn show_all(&mut self, star: (usize, usize), depth: usize, columns: &[(usize, usize)], out: &mut Vec<(Expr, OutputColumn)>) {
        self.accesses.all_columns = true;
        out.reserve(columns.len());
        for (r, c) in columns {
            let expr = self.column_expr(depth, *r, *c);
            out.push((expr, self.column_meta(depth, *r, *c)));
        }
        self.accesses.all_columns = false;
        self.note_star(star, depth, columns);
    }

    fn column_meta(&self, depth: usize, r: usize, c: usize) -> OutputColumn {
        let relation = &self.scopes[depth].relations[r];
        let mut meta = relation.columns[c].meta.clone();
        meta.table = relation.alias.as_str().into();
        meta.ty = relation.columns[c].ty.clone();
        meta.ty.nullable |= relation.nullable;
        meta
    }

    /// The name of a column that heads a result by its own name, however the statement spells it: that of a view.
    fn own_column_name(&self, expr: &Expr, name: &str) -> Option<Box<str>> {
        let ExprKind::Slot(slot) = expr.kind else { return None };
        for (depth, scope) in self.scopes.iter().enumerate().rev() {
            for relation in &scope.relations {
                let Some(c) = relation.slots.iter().position(|s| *s == Some(slot)) else { continue };
                if relation.of_view {
                    let (r, c) = self.view_column_of(depth, slot, name)?;
                    return Some(scope.relations[r].columns[c].name.as_str().into());
                }
                let is_view = match &relation.source {
                    Source::Virtual(table) => table.is_view,
                    Source::Waiting(Some(waiting)) if self.would_merge(relation, waiting) => true,
                    Source::Derived(..) | Source::Waiting(_) => !relation.database.is_empty(),
                    _ => false,
                };
                return is_view.then(|| relation.columns[c].name.as_str().into());
            }
        }
        None
    }

    /// Metadata of a result column: a plain column keeps its origin.
    fn meta_of(&self, expr: &Expr, name: &str) -> OutputColumn {
        if let ExprKind::Slot(slot) = expr.kind {
            for depth in (0..self.scopes.len()).rev() {
                for r in 0..self.scopes[depth].relations.len() {
                    if let Some(c) = self.scopes[depth].relations[r].slots.iter().position(|s| *s == Some(slot)) {
                        let shown = if self.scopes[depth].relations[r].of_view { self.view_column_of(depth, slot, name) } else { None };
                        let (r, c) = shown.unwrap_or((r, c));
                        let mut meta = self.column_meta(depth, r, c);
                        meta.name = name.into();
                        return meta;
                    }
                }
            }
        }
        let coercibility = match expr.kind {
            ExprKind::Slot(slot) => self.coercibility_of_result(slot),
            _ => typing::coercibility_in_union(expr),
        };
        OutputColumn { name: name.into(), ty: expr.ty.clone(), coercibility, ..OutputColumn::default() }
    }

    /// An aggregate's result holds to its collation as the arguments do.
    fn coercibility_of_result(&self, slot: Slot) -> u8 {
        let aggregates = self.scopes.last().map_or(&[][..], |scope| &scope.aggregates);
        match aggregates.iter().find(|(of, _)| *of == slot) {
            Some((_, aggregate)) => aggregate.args.iter().map(typing::coercibility_in_union).fold(typing::COERCIBLE, u8::min),
            None => typing::IMPLICIT,
        }
    }

    /// A name alone is that of an item of the select list before that of a column; in an expression it is the other way round.
    fn order_key(&mut self, expr: &ast::Expr<'_>) -> Result<Expr> {
        let mut whole = expr;
        while let ast::ExprKind::Unary(ast::UnaryOp::Plus, operand) = whole.kind {
            whole = operand;
        }
        if let ast::ExprKind::Column(ast::ColumnRef { table: None, column, .. }) = whole.kind {
            self.column_at(whole.span.start);
            if let Some(item) = self.item_named(self.scopes.len() - 1, column)? {
                return Ok(item);
            }
        }
        self.expr(expr)
    }

    /// ORDER BY: positions, aliases, expressions.
    pub fn order_keys(&mut self, items: &[ast::OrderItem<'_>], outputs: &[Expr], of: Ordered) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            let expr = match item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(n)) => match outputs.get((n as usize).wrapping_sub(1)) {
                    Some(e) => e.clone(),
                    None => return Err(codes::bad_field_error(n, "order clause")),
                },
                // A lifted constant or a parameter orders nothing.
                ast::ExprKind::Param(_) | ast::ExprKind::Literal(_) => continue,
                _ => match (self.order_key(&item.expr), of) {
                    (Err(e), Ordered::Set)
                        if [codes::ER_INVALID_GROUP_FUNC_USE, codes::ER_WINDOW_INVALID_WINDOW_FUNC_USE].contains(&e.code) =>
                    {
                        return Err(codes::aggregate_order_for_union(at + 1));
                    }
                    (bound, _) => bound?,
                },
            };
            if of == Ordered::Rows && !self.scope().aggregates.is_empty() {
                return Err(codes::aggregate_order_non_agg_query(at + 1));
            }
            let collation = if typing::is_string_class(&expr.ty) { expr.ty.collation } else { Collation::Binary };
            keys.push(SortKey { expr, descending: item.descending, collation });
        }
        Ok(keys)
    }
}
