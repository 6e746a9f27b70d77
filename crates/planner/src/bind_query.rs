//! Binding of queries: FROM, select lists, grouping, ordering, set operations, common table expressions.

use crate::bind_expr::{compare_expr, logic};
use crate::binder::{Binder, Clause, CteEntry, RecursiveCte, RelColumn, Relation, Result, Scope, Source};
use crate::expr::{CmpOp, Expr, ExprKind, Slot};
use crate::logical::{Block, JoinTree, same, slots_of};
use crate::plan::{LimitSpec, LockMode, LockWait, Node, OutputColumn, Query, SortKey, Subplan};
use crate::typing;
use catalog::{DefaultValue, TableEntry};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{Collation, ColumnType, SqlMode, TypeKind, Value};

/// Nesting of queries past which a statement is refused.
const QUERY_DEPTH_MAX: usize = 30;
/// Tables of one block; MySQL's limit.
const RELATIONS_MAX: usize = 61;

/// A bound and planned query.
#[derive(Debug)]
pub struct BoundQuery {
    /// Plan.
    pub query: Query,
    /// Its columns.
    pub columns: Vec<OutputColumn>,
    /// Expected rows.
    pub rows: f64,
    /// Slots of enclosing blocks it reads.
    pub outer: BTreeSet<Slot>,
    /// Nothing of it may be cached.
    pub volatile: bool,
}

/// A bound query, planned or not.
#[allow(clippy::large_enum_variant)] // One per query, moved once.
#[derive(Debug)]
pub enum Bound {
    /// A single block, to be planned by the receiver.
    Block(Box<Block>),
    /// Done.
    Planned(BoundQuery),
}

impl<'c> Binder<'c> {
    /// Binds and plans a query.
    pub fn query(&mut self, q: &ast::Query<'_>) -> Result<BoundQuery> {
        match self.bind_query(q)? {
            Bound::Planned(planned) => Ok(planned),
            Bound::Block(block) => self.plan_bound(*block),
        }
    }

    /// Plans a block with what its users need to know.
    pub fn plan_bound(&mut self, block: Block) -> Result<BoundQuery> {
        let columns = block.items.iter().map(|(_, c)| c.clone()).collect();
        let (outer, volatile) = (block.scope.outer.clone(), block.scope.volatile);
        let (query, rows) = self.plan_block(block)?;
        Ok(BoundQuery { query, columns, rows, outer, volatile })
    }

    /// Binds a subquery of an expression; its plan is made when the enclosing block is planned.
    pub fn subquery(&mut self, q: &ast::Query<'_>) -> Result<(u32, Vec<ColumnType>)> {
        let bound = self.bind_query(q)?;
        let number = self.subplans.len() as u32;
        let empty = Query { root: Node::Empty, output: Vec::new() };
        let types: Vec<ColumnType>;
        match bound {
            Bound::Block(block) => {
                types = block.items.iter().map(|(e, _)| e.ty.clone()).collect();
                self.subplans.push(Subplan {
                    query: empty,
                    outer_slots: block.scope.outer.iter().copied().collect(),
                    volatile: block.scope.volatile,
                    types: types.clone(),
                    lookup: None,
                });
                self.pending.push(Some(block));
            }
            Bound::Planned(p) => {
                types = p.columns.iter().map(|c| c.ty.clone()).collect();
                self.subplans.push(Subplan {
                    query: p.query,
                    outer_slots: p.outer.into_iter().collect(),
                    volatile: p.volatile,
                    types: types.clone(),
                    lookup: None,
                });
                self.pending.push(None);
            }
        }
        Ok((number, types))
    }

    fn bind_query(&mut self, q: &ast::Query<'_>) -> Result<Bound> {
        if self.scopes.len() >= QUERY_DEPTH_MAX {
            return Err(SqlError::with_message(1473, "Too high level of nesting for select"));
        }
        if q.into.is_some() && !std::mem::take(&mut self.into_allowed) {
            return Err(codes::wrong_usage("INTO", "subquery"));
        }
        self.into_allowed = false;
        self.check_stack()?;
        let ctes = self.ctes.len();
        if let Some(with) = q.with {
            for cte in with.ctes {
                if self.ctes[ctes..].iter().any(|c| c.name.eq_ignore_ascii_case(cte.name)) {
                    return Err(codes::nonuniq_table(cte.name));
                }
                self.bind_cte(cte, with.recursive)?;
            }
        }
        let result = self.bind_body(q);
        self.ctes.truncate(ctes);
        result
    }

    fn bind_body(&mut self, q: &ast::Query<'_>) -> Result<Bound> {
        let plain = q.order_by.is_empty() && q.limit.is_none() && q.locking.is_empty();
        match q.body {
            ast::QueryBody::Select(select) => self.bind_select(select, q).map(|b| Bound::Block(Box::new(b))),
            ast::QueryBody::Parens(inner) if plain => self.bind_query(inner),
            ast::QueryBody::Table(name) => {
                let item = [ast::SelectItem::Wildcard];
                let factor = ast::TableFactor { name, alias: None, partitions: &[], index_hints: &[] };
                let from = [ast::TableRef::Table(&factor)];
                let select = ast::Select {
                    options: ast::SelectOptions::default(),
                    hints: &[],
                    items: &item,
                    from: &from,
                    filter: None,
                    group_by: &[],
                    rollup: false,
                    having: None,
                    windows: &[],
                    qualify: None,
                };
                self.bind_select(&select, q).map(|b| Bound::Block(Box::new(b)))
            }
            ast::QueryBody::Parens(_) | ast::QueryBody::SetOp(_) | ast::QueryBody::Values(_) => {
                let (node, slots, columns, rows, outer, volatile) = self.bind_operand(&q.body)?;
                self.finish_set(node, slots, columns, rows, outer, volatile, q).map(Bound::Planned)
            }
        }
    }

    /// Binds the body of a set operation (or a parenthesised query) to a node that fills slots.
    fn bind_operand(&mut self, body: &ast::QueryBody<'_>) -> Result<(Node, Vec<Slot>, Vec<OutputColumn>, f64, BTreeSet<Slot>, bool)> {
        match body {
            ast::QueryBody::Values(rows) => {
                let width = rows.first().map_or(0, |r| r.len());
                let mut bound = Vec::with_capacity(rows.len());
                self.scopes.push(Scope::new());
                for row in *rows {
                    if row.len() != width {
                        self.scopes.pop();
                        return Err(codes::wrong_value_count_on_row(bound.len() + 1));
                    }
                    match row.iter().map(|e| self.expr(e)).collect::<Result<Vec<_>>>() {
                        Ok(row) => bound.push(row),
                        Err(e) => {
                            self.scopes.pop();
                            return Err(e);
                        }
                    }
                }
                let scope = self.scopes.pop().expect("pushed above");
                let mut slots = Vec::new();
                let mut columns = Vec::new();
                for i in 0..width {
                    let ty = typing::common(bound.iter().map(|r| &r[i].ty));
                    slots.push(self.new_slot(ty.clone()));
                    columns.push(OutputColumn { name: format!("column_{i}").into(), ty, ..OutputColumn::default() });
                }
                let count = bound.len() as f64;
                Ok((Node::Values { rows: bound, slots: slots.clone() }, slots, columns, count, scope.outer, scope.volatile))
            }
            ast::QueryBody::SetOp(set) => {
                let mut branches = Vec::with_capacity(set.operands.len());
                let mut all_columns: Vec<Vec<OutputColumn>> = Vec::new();
                let mut outer = BTreeSet::new();
                let mut volatile = false;
                let mut rows = 0.0;
                for operand in set.operands {
                    let bound = self.bind_branch(operand)?;
                    if let Some(first) = all_columns.first()
                        && first.len() != bound.columns.len()
                    {
                        return Err(codes::wrong_number_of_columns_in_select());
                    }
                    outer.extend(bound.outer);
                    volatile |= bound.volatile;
                    rows += bound.rows;
                    all_columns.push(bound.columns);
                    branches.push(bound.query);
                }
                let mut slots = Vec::new();
                let mut columns = Vec::new();
                for i in 0..all_columns[0].len() {
                    let ty = typing::common(all_columns.iter().map(|c| &c[i].ty));
                    slots.push(self.new_slot(ty.clone()));
                    let name = all_columns[0][i].name.clone();
                    columns.push(OutputColumn { name, ty, ..OutputColumn::default() });
                }
                for branch in &mut branches {
                    for (e, c) in branch.output.iter_mut().zip(&columns) {
                        convert_to(e, &c.ty);
                    }
                }
                let collations: Vec<Collation> = columns.iter().map(|c| c.ty.collation).collect();
                let node = match (set.op, set.all) {
                    (ast::SetOperator::Union, all) => {
                        let union = Node::Union { branches, slots: slots.clone() };
                        if all { union } else { Node::Distinct { input: Box::new(union), slots: slots.clone(), collations } }
                    }
                    (op, all) => {
                        Node::SetOperation { branches, slots: slots.clone(), collations, except: op == ast::SetOperator::Except, all }
                    }
                };
                Ok((node, slots, columns, rows, outer, volatile))
            }
            _ => {
                let bound = self.bind_branch(body)?;
                let slots: Vec<Slot> = bound.columns.iter().map(|c| self.new_slot(c.ty.clone())).collect();
                let node = Node::Union { branches: vec![bound.query], slots: slots.clone() };
                Ok((node, slots, bound.columns, bound.rows, bound.outer, bound.volatile))
            }
        }
    }

    fn bind_branch(&mut self, body: &ast::QueryBody<'_>) -> Result<BoundQuery> {
        let whole =
            ast::Query { with: None, body: *body, order_by: &[], limit: None, locking: &[], into: None, span: ast::Span::default() };
        match body {
            ast::QueryBody::Parens(inner) => self.query(inner),
            ast::QueryBody::Select(_) | ast::QueryBody::Table(_) => match self.bind_body(&whole)? {
                Bound::Block(block) => self.plan_bound(*block),
                Bound::Planned(p) => Ok(p),
            },
            _ => {
                let (node, slots, columns, rows, outer, volatile) = self.bind_operand(body)?;
                let output = slots.iter().zip(&columns).map(|(s, c)| Expr::slot(*s, c.ty.clone())).collect();
                Ok(BoundQuery { query: Query { root: node, output }, columns, rows, outer, volatile })
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn finish_set(
        &mut self,
        mut node: Node,
        slots: Vec<Slot>,
        columns: Vec<OutputColumn>,
        rows: f64,
        outer: BTreeSet<Slot>,
        volatile: bool,
        q: &ast::Query<'_>,
    ) -> Result<BoundQuery> {
        let mut scope = Scope::new();
        let rel_columns = columns.iter().map(|c| RelColumn { name: c.name.to_string(), ty: c.ty.clone(), meta: c.clone(), hidden: false });
        scope.relations.push(Relation {
            alias: String::new(),
            database: String::new(),
            source: Source::RecursiveScan(u32::MAX),
            columns: rel_columns.collect(),
            slots: slots.iter().map(|s| Some(*s)).collect(),
            nullable: false,
            hints: Vec::new(),
            lock: LockMode::None,
            keep_row: None,
        });
        scope.clause = Clause::OrderBy;
        self.scopes.push(scope);
        let keys = self.order_keys(q.order_by, &columns.iter().zip(&slots).map(|(c, s)| Expr::slot(*s, c.ty.clone())).collect::<Vec<_>>());
        let scope = self.scopes.pop().expect("pushed above");
        let keys = keys?;
        let limit = self.limit(q.limit)?;
        if !keys.is_empty() {
            node = Node::Sort { input: Box::new(node), keys, saved: slots.clone(), limit: limit.clone() };
        } else if let Some(limit) = &limit {
            node = Node::Limit { input: Box::new(node), limit: limit.clone() };
        }
        let output = slots.iter().zip(&columns).map(|(s, c)| Expr::slot(*s, c.ty.clone())).collect();
        let mut all_outer = outer;
        all_outer.extend(scope.outer);
        Ok(BoundQuery { query: Query { root: node, output }, columns, rows, outer: all_outer, volatile: volatile || scope.volatile })
    }

    /// LIMIT.
    pub fn limit(&mut self, limit: Option<ast::Limit<'_>>) -> Result<Option<LimitSpec>> {
        let Some(limit) = limit else { return Ok(None) };
        self.scopes.push(Scope::new());
        let count = self.expr(&limit.count);
        let offset = limit.offset.as_ref().map(|o| self.expr(o)).transpose();
        self.scopes.pop();
        Ok(Some(LimitSpec { count: Some(count?), offset: offset? }))
    }

    fn bind_cte(&mut self, cte: &ast::Cte<'_>, recursive: bool) -> Result<()> {
        let refers = recursive && query_names(cte.query, cte.name);
        let entry = if refers { self.bind_recursive(cte)? } else { self.bind_plain_cte(cte)? };
        self.ctes.push(entry);
        Ok(())
    }

    fn bind_plain_cte(&mut self, cte: &ast::Cte<'_>) -> Result<CteEntry> {
        let hidden = self.hide_relations();
        let bound = self.query(cte.query);
        self.show_relations(hidden);
        let bound = bound?;
        let columns = named_columns(bound.columns, cte.columns, cte.name)?;
        let cache = self.new_cache();
        Ok(CteEntry { name: cte.name.to_owned(), source: Source::Cte(Arc::new(bound.query), cache, bound.rows), columns })
    }

    fn bind_recursive(&mut self, cte: &ast::Cte<'_>) -> Result<CteEntry> {
        let ast::QueryBody::SetOp(set) = cte.query.body else {
            return Err(SqlError::with_message(3573, format!("Recursive Common Table Expression '{}' should contain a UNION", cte.name)));
        };
        if set.op != ast::SetOperator::Union || !cte.query.order_by.is_empty() || cte.query.limit.is_some() {
            return Err(codes::not_supported_yet("ORDER BY / LIMIT over UNION in recursive Common Table Expression"));
        }
        let split = set.operands.iter().position(|o| body_names(o, cte.name)).unwrap_or(0);
        if split == 0 {
            return Err(SqlError::with_message(
                3574,
                format!(
                    "Recursive Common Table Expression '{}' should have one or more non-recursive query blocks followed by one or more recursive ones",
                    cte.name
                ),
            ));
        }
        let hidden = self.hide_relations();
        let result = self.bind_recursive_parts(cte, set, split);
        self.show_relations(hidden);
        result
    }

    fn bind_recursive_parts(&mut self, cte: &ast::Cte<'_>, set: &ast::SetOp<'_>, split: usize) -> Result<CteEntry> {
        let seed = self.bind_union(&set.operands[..split], set.all)?;
        let mut columns = named_columns(seed.columns, cte.columns, cte.name)?;
        for c in &mut columns {
            // MySQL takes the types of the seed, made nullable.
            c.ty.nullable = true;
            if c.ty.kind == TypeKind::Null {
                c.ty = typing::string(0, Collation::Binary);
            }
            c.meta.ty = c.ty.clone();
        }
        let types: Vec<ColumnType> = columns.iter().map(|c| c.ty.clone()).collect();
        let (cache, result_cache) = (self.new_cache(), self.new_cache());
        self.ctes.push(CteEntry { name: cte.name.to_owned(), source: Source::RecursiveScan(cache), columns: columns.clone() });
        let step = self.bind_union(&set.operands[split..], true);
        self.ctes.pop();
        let mut step = step?;
        if step.columns.len() != columns.len() {
            return Err(codes::wrong_number_of_columns_in_select());
        }
        for (e, ty) in step.query.output.iter_mut().zip(&types) {
            convert_to(e, ty);
        }
        let mut seed_query = seed.query;
        for (e, ty) in seed_query.output.iter_mut().zip(&types) {
            convert_to(e, ty);
        }
        let parts = RecursiveCte { seed: Arc::new(seed_query), step: Arc::new(step.query), distinct: !set.all, cache, result_cache, types };
        Ok(CteEntry { name: cte.name.to_owned(), source: Source::Recursive(Arc::new(parts)), columns })
    }

    fn bind_union(&mut self, operands: &[ast::QueryBody<'_>], all: bool) -> Result<BoundQuery> {
        if let [one] = operands {
            return self.bind_branch(one);
        }
        let set = ast::SetOp { op: ast::SetOperator::Union, all, operands };
        self.bind_branch(&ast::QueryBody::SetOp(&set))
    }

    /// Makes the relations of the block being bound invisible to a derived table.
    fn hide_relations(&mut self) -> Option<std::ops::Range<usize>> {
        self.scopes.last_mut().map(|s| std::mem::replace(&mut s.visible, 0..0))
    }

    fn show_relations(&mut self, visible: Option<std::ops::Range<usize>>) {
        if let (Some(scope), Some(visible)) = (self.scopes.last_mut(), visible) {
            scope.visible = visible;
        }
    }

    // ---- SELECT ----

    fn bind_select(&mut self, select: &ast::Select<'_>, q: &ast::Query<'_>) -> Result<Block> {
        self.scopes.push(Scope::new());
        let result = self.bind_select_in_scope(select, q);
        let scope = self.scopes.pop().expect("pushed above");
        let mut block = result?;
        block.scope = scope;
        Ok(block)
    }

    fn bind_select_in_scope(&mut self, select: &ast::Select<'_>, q: &ast::Query<'_>) -> Result<Block> {
        if !select.windows.is_empty() || select.qualify.is_some() {
            return Err(codes::not_supported_yet("window functions"));
        }
        if select.options.calc_found_rows {
            return Err(codes::not_supported_yet("SQL_CALC_FOUND_ROWS"));
        }
        if select.rollup {
            return Err(codes::not_supported_yet("WITH ROLLUP"));
        }
        let from = select.from.iter().map(|t| self.table_ref(t)).collect::<Result<Vec<_>>>()?;
        self.apply_locks(q.locking)?;
        self.scope().clause = Clause::Where;
        let mut filter = Vec::new();
        if let Some(condition) = select.filter {
            self.expr(condition)?.into_conjuncts(&mut filter);
        }
        self.scope().clause = Clause::Fields;
        self.scope().aggregates_allowed = true;
        let items = self.select_items(select.items)?;
        for (expr, column) in &items {
            let alias = (column.name.to_string(), expr.clone());
            self.scope().aliases.push(alias);
        }
        // GROUP BY
        let mut group_by: Vec<Expr> = Vec::with_capacity(select.group_by.len());
        self.scope().clause = Clause::GroupBy;
        for item in select.group_by {
            let expr = match item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(n)) => match items.get((n as usize).wrapping_sub(1)) {
                    Some((e, _)) => e.clone(),
                    None => return Err(codes::bad_field_error(n, "group statement")),
                },
                ast::ExprKind::Param(_) | ast::ExprKind::Literal(_) => continue,
                _ => self.expr(&item.expr)?,
            };
            let aggregated = |b: &Self, e: &Expr| {
                let scope = b.scopes.last().expect("a block is being bound");
                e.any(&mut |x| matches!(x.kind, ExprKind::Slot(s) if scope.aggregates.iter().any(|(a, _)| *a == s)))
            };
            if aggregated(self, &expr) {
                return Err(codes::wrong_group_field("aggregate"));
            }
            if !group_by.iter().any(|g| same(g, &expr)) {
                group_by.push(expr);
            }
        }
        self.scope().clause = Clause::Having;
        let having = select.having.map(|h| self.expr(h)).transpose()?;
        self.scope().clause = Clause::OrderBy;
        let outputs: Vec<Expr> = items.iter().map(|(e, _)| e.clone()).collect();
        let order = self.order_keys(q.order_by, &outputs)?;
        let limit = self.limit(q.limit)?;
        let grouped = !select.group_by.is_empty() || !self.scope().aggregates.is_empty();
        let block = Block {
            scope: Scope::new(),
            from,
            filter,
            items,
            grouped,
            group_by,
            having,
            order,
            distinct: select.options.distinct,
            limit,
            straight: select.options.straight_join,
        };
        if block.grouped && self.context.sql_mode().contains(SqlMode::ONLY_FULL_GROUP_BY) {
            self.check_full_group_by(&block)?;
        }
        if block.distinct {
            for (i, key) in block.order.iter().enumerate() {
                if !key.expr.is_constant() && !block.items.iter().any(|(e, _)| same(e, &key.expr)) {
                    return Err(SqlError::with_message(
                        3065,
                        format!(
                            "Expression #{} of ORDER BY clause is not in SELECT list, references column which is not in SELECT list; this is incompatible with DISTINCT",
                            i + 1
                        ),
                    ));
                }
            }
        }
        Ok(block)
    }

    fn select_items(&mut self, items: &[ast::SelectItem<'_>]) -> Result<Vec<(Expr, OutputColumn)>> {
        let mut out = Vec::with_capacity(items.len());
        let depth = self.scopes.len() - 1;
        for item in items {
            match item {
                ast::SelectItem::Wildcard => {
                    if self.scope().relations.is_empty() {
                        return Err(codes::no_tables_used());
                    }
                    // Merged columns of USING and NATURAL joins come first.
                    let merged = self.scope().merged.clone();
                    for (name, expr) in &merged {
                        let meta = self.meta_of(expr, name);
                        out.push((expr.clone(), meta));
                    }
                    for r in 0..self.scopes[depth].relations.len() {
                        self.expand(depth, r, !merged.is_empty(), &mut out);
                    }
                }
                ast::SelectItem::TableWildcard(name) => {
                    let found = self.scopes[depth]
                        .relations
                        .iter()
                        .position(|r| r.alias == name.name && name.schema.is_none_or(|s| r.database == s));
                    match found {
                        Some(r) => {
                            for c in 0..self.scopes[depth].relations[r].columns.len() {
                                let expr = self.column_expr(depth, r, c);
                                let meta = self.column_meta(depth, r, c);
                                out.push((expr, meta));
                            }
                        }
                        None => return Err(codes::bad_table_error(name.name)),
                    }
                }
                ast::SelectItem::Expr { expr, .. } => {
                    let name = String::from_utf8_lossy(item.column_name(self.sql)).into_owned();
                    let bound = self.expr(expr)?;
                    let meta = self.meta_of(&bound, &name);
                    out.push((bound, meta));
                }
            }
        }
        Ok(out)
    }

    fn expand(&mut self, depth: usize, r: usize, merged: bool, out: &mut Vec<(Expr, OutputColumn)>) {
        for c in 0..self.scopes[depth].relations[r].columns.len() {
            let name = &self.scopes[depth].relations[r].columns[c].name;
            if self.scopes[depth].relations[r].columns[c].hidden
                || (merged && self.scopes[depth].merged.iter().any(|(m, _)| m.eq_ignore_ascii_case(name)))
            {
                continue;
            }
            let expr = self.column_expr(depth, r, c);
            let meta = self.column_meta(depth, r, c);
            out.push((expr, meta));
        }
    }

    fn column_meta(&self, depth: usize, r: usize, c: usize) -> OutputColumn {
        let relation = &self.scopes[depth].relations[r];
        let mut meta = relation.columns[c].meta.clone();
        meta.table = relation.alias.as_str().into();
        meta.ty = relation.columns[c].ty.clone();
        meta.ty.nullable |= relation.nullable;
        meta
    }

    /// Metadata of a result column: a plain column keeps its origin.
    fn meta_of(&self, expr: &Expr, name: &str) -> OutputColumn {
        if let ExprKind::Slot(slot) = expr.kind {
            for depth in (0..self.scopes.len()).rev() {
                for r in 0..self.scopes[depth].relations.len() {
                    if let Some(c) = self.scopes[depth].relations[r].slots.iter().position(|s| *s == Some(slot)) {
                        let mut meta = self.column_meta(depth, r, c);
                        meta.name = name.into();
                        return meta;
                    }
                }
            }
        }
        OutputColumn { name: name.into(), ty: expr.ty.clone(), ..OutputColumn::default() }
    }

    /// ORDER BY: positions, aliases, expressions.
    pub fn order_keys(&mut self, items: &[ast::OrderItem<'_>], outputs: &[Expr]) -> Result<Vec<SortKey>> {
        let mut keys = Vec::with_capacity(items.len());
        for item in items {
            let expr = match item.expr.kind {
                ast::ExprKind::Literal(ast::Literal::Int(n)) => match outputs.get((n as usize).wrapping_sub(1)) {
                    Some(e) => e.clone(),
                    None => return Err(codes::bad_field_error(n, "order clause")),
                },
                // A lifted constant or a parameter orders nothing.
                ast::ExprKind::Param(_) | ast::ExprKind::Literal(_) => continue,
                _ => self.expr(&item.expr)?,
            };
            let collation = if typing::is_string_class(&expr.ty) { expr.ty.collation } else { Collation::Binary };
            keys.push(SortKey { expr, descending: item.descending, collation });
        }
        Ok(keys)
    }

    // ---- FROM ----

    /// Binds a table reference: adds its relations to the scope.
    pub fn table_ref(&mut self, t: &ast::TableRef<'_>) -> Result<JoinTree> {
        match t {
            ast::TableRef::Table(factor) => self.table_factor(factor).map(JoinTree::Relation),
            ast::TableRef::Derived(derived) => self.derived(derived).map(JoinTree::Relation),
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
        let mut tree = self.table_ref(first)?;
        for join in chain.into_iter().rev() {
            let middle = self.scope().relations.len();
            let right = self.table_ref(&join.right)?;
            let end = self.scope().relations.len();
            let mut on = Vec::new();
            let outer = matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right);
            match join.condition {
                ast::JoinCondition::None => {}
                ast::JoinCondition::On(condition) => {
                    let scope = self.scope();
                    let visible = std::mem::replace(&mut scope.visible, start..end);
                    let clause = std::mem::replace(&mut scope.clause, Clause::On);
                    let bound = self.expr(condition);
                    let scope = self.scope();
                    scope.visible = visible;
                    scope.clause = clause;
                    bound?.into_conjuncts(&mut on);
                }
                ast::JoinCondition::Using(names) => {
                    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
                    self.merge_columns(&names, start..middle, middle..end, join.kind, &mut on)?;
                }
            }
            if join.natural {
                let depth = self.scopes.len() - 1;
                let relations = &self.scopes[depth].relations;
                let mut names = Vec::new();
                for c in relations[start..middle].iter().flat_map(|r| &r.columns).filter(|c| !c.hidden) {
                    if relations[middle..end].iter().flat_map(|r| &r.columns).any(|d| !d.hidden && d.name.eq_ignore_ascii_case(&c.name))
                        && !names.iter().any(|n: &String| n.eq_ignore_ascii_case(&c.name))
                    {
                        names.push(c.name.clone());
                    }
                }
                self.merge_columns(&names, start..middle, middle..end, join.kind, &mut on)?;
            }
            if outer {
                let nullable = if join.kind == ast::JoinKind::Left { middle..end } else { start..middle };
                for r in &mut self.scope().relations[nullable] {
                    r.nullable = true;
                }
            }
            tree = match join.kind {
                ast::JoinKind::Inner => JoinTree::Inner { parts: vec![tree, right], on, straight: false },
                ast::JoinKind::Straight => JoinTree::Inner { parts: vec![tree, right], on, straight: true },
                ast::JoinKind::Left => JoinTree::Left { left: Box::new(tree), right: Box::new(right), on },
                ast::JoinKind::Right => JoinTree::Left { left: Box::new(right), right: Box::new(tree), on },
            };
        }
        Ok(tree)
    }

    fn merge_columns(
        &mut self,
        names: &[String],
        left: std::ops::Range<usize>,
        right: std::ops::Range<usize>,
        kind: ast::JoinKind,
        on: &mut Vec<Expr>,
    ) -> Result<()> {
        let depth = self.scopes.len() - 1;
        for name in names {
            let find = |b: &Self, range: std::ops::Range<usize>| -> Result<(usize, usize)> {
                let mut found = None;
                for r in range {
                    for (c, column) in b.scopes[depth].relations[r].columns.iter().enumerate() {
                        if !column.hidden && column.name.eq_ignore_ascii_case(name) {
                            if found.is_some() {
                                return Err(codes::non_uniq_error(name, "from clause"));
                            }
                            found = Some((r, c));
                        }
                    }
                }
                found.ok_or_else(|| codes::bad_field_error(name, "from clause"))
            };
            let (lr, lc) = find(self, left.clone())?;
            let (rr, rc) = find(self, right.clone())?;
            let a = self.column_expr(depth, lr, lc);
            let b = self.column_expr(depth, rr, rc);
            let collation = self.collation_of(&[&a, &b])?;
            on.push(compare_expr(CmpOp::Eq, collation, a.clone(), b.clone()));
            let (hidden_r, hidden_c, shown) = if kind == ast::JoinKind::Right { (lr, lc, b) } else { (rr, rc, a) };
            self.scopes[depth].relations[hidden_r].columns[hidden_c].hidden = true;
            let merged = &mut self.scopes[depth].merged;
            match merged.iter_mut().find(|(n, _)| n.eq_ignore_ascii_case(name)) {
                Some((_, e)) if kind == ast::JoinKind::Right => *e = shown,
                Some(_) => {}
                None => merged.push((name.clone(), shown)),
            }
        }
        Ok(())
    }

    fn add_relation(&mut self, relation: Relation) -> Result<usize> {
        let scope = self.scope();
        if scope.relations.len() >= RELATIONS_MAX {
            return Err(codes::too_many_tables(RELATIONS_MAX));
        }
        if scope.relations.iter().any(|r| r.alias == relation.alias && r.database == relation.database) {
            return Err(codes::nonuniq_table(&relation.alias));
        }
        scope.relations.push(relation);
        Ok(scope.relations.len() - 1)
    }

    fn table_factor(&mut self, factor: &ast::TableFactor<'_>) -> Result<usize> {
        if !factor.partitions.is_empty() {
            return Err(SqlError::with_message(1747, "PARTITION () clause on non partitioned table"));
        }
        let alias = factor.alias.unwrap_or(factor.name.name).to_owned();
        if factor.name.schema.is_none()
            && let Some(cte) = self.ctes.iter().rev().find(|c| c.name.eq_ignore_ascii_case(factor.name.name)).cloned()
        {
            let slots = vec![None; cte.columns.len()];
            return self.add_relation(Relation {
                alias,
                database: String::new(),
                source: cte.source,
                columns: cte.columns,
                slots,
                nullable: false,
                hints: Vec::new(),
                lock: LockMode::None,
                keep_row: None,
            });
        }
        if factor.name.schema.is_none() && factor.name.name.eq_ignore_ascii_case("dual") {
            return Err(codes::no_such_table(self.context.database().unwrap_or(""), factor.name.name));
        }
        let database = match factor.name.schema.or(self.context.database()) {
            Some(db) => db.to_owned(),
            None => return Err(codes::no_db_error()),
        };
        let entry = self.context.table(&database, factor.name.name)?;
        if let Some((_, name)) = self.changed.iter().find(|(id, _)| *id == entry.def.id) {
            return Err(codes::update_table_used(name));
        }
        let mut hints = Vec::new();
        for hint in factor.index_hints {
            let mut numbers = Vec::new();
            for name in hint.names {
                match entry.def.index_no(name) {
                    Some(n) => numbers.push(n as u32),
                    None => return Err(codes::key_does_not_exits(name, &alias)),
                }
            }
            if hint.scope.is_none() || hint.scope == Some(ast::IndexHintScope::Join) {
                hints.push((hint.kind, numbers));
            }
        }
        let relation = self.base_relation(entry, alias, database, hints);
        self.add_relation(relation)
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
        let slots = vec![None; columns.len()];
        let table = self.add_table(entry);
        Relation {
            alias,
            database,
            source: Source::Base(table),
            columns,
            slots,
            nullable: false,
            hints,
            lock: LockMode::None,
            keep_row: None,
        }
    }

    fn derived(&mut self, derived: &ast::Derived<'_>) -> Result<usize> {
        if derived.lateral {
            return Err(codes::not_supported_yet("LATERAL"));
        }
        if derived.alias.is_empty() {
            return Err(codes::derived_must_have_alias());
        }
        let hidden = self.hide_relations();
        let changed = std::mem::take(&mut self.changed);
        let bound = self.query(derived.query);
        self.changed = changed;
        self.show_relations(hidden);
        let bound = bound?;
        let columns = named_columns(bound.columns, derived.columns, derived.alias)?;
        let slots = vec![None; columns.len()];
        self.add_relation(Relation {
            alias: derived.alias.to_owned(),
            database: String::new(),
            source: Source::Derived(Arc::new(bound.query), bound.outer, bound.rows),
            columns,
            slots,
            nullable: false,
            hints: Vec::new(),
            lock: LockMode::None,
            keep_row: None,
        })
    }

    fn apply_locks(&mut self, clauses: &[ast::LockClause<'_>]) -> Result<()> {
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
            self.locks = true;
            for name in clause.of {
                if !self.scope().relations.iter().any(|r| r.alias == name.name) {
                    return Err(SqlError::with_message(3568, format!("Unresolved table name `{}` in locking clause.", name.name)));
                }
            }
            for relation in &mut self.scope().relations {
                if clause.of.is_empty() || clause.of.iter().any(|n| n.name == relation.alias) {
                    relation.lock = mode;
                }
            }
        }
        Ok(())
    }

    // ---- ONLY_FULL_GROUP_BY ----

    fn check_full_group_by(&mut self, block: &Block) -> Result<()> {
        let determined = self.determined_slots(block);
        let implicit = block.group_by.is_empty();
        let exprs = block.items.iter().enumerate().map(|(i, (e, _))| (i, e, "SELECT list"));
        let order = block.order.iter().enumerate().map(|(i, k)| (i, &k.expr, "ORDER BY"));
        for (i, expr, clause) in exprs.chain(order) {
            if let Some(slot) = self.undetermined(expr, block, &determined) {
                let name = self.slot_name(slot);
                return Err(if implicit && clause == "SELECT list" {
                    codes::mix_of_group_func_and_fields(i + 1, clause, name)
                } else if implicit {
                    continue;
                } else {
                    codes::wrong_field_with_group(i + 1, clause, name)
                });
            }
        }
        Ok(())
    }

    fn slot_name(&self, slot: Slot) -> String {
        for scope in self.scopes.iter().rev() {
            for r in &scope.relations {
                if let Some(c) = r.slots.iter().position(|s| *s == Some(slot)) {
                    let meta = &r.columns[c].meta;
                    return if meta.database.is_empty() {
                        format!("{}.{}", r.alias, r.columns[c].name)
                    } else {
                        format!("{}.{}.{}", meta.database, r.alias, r.columns[c].name)
                    };
                }
            }
        }
        String::new()
    }

    fn undetermined(&self, expr: &Expr, block: &Block, determined: &BTreeSet<Slot>) -> Option<Slot> {
        if block.group_by.iter().any(|g| same(g, expr)) {
            return None;
        }
        match &expr.kind {
            ExprKind::Slot(s) => {
                let scope = self.scopes.last()?;
                let own = scope.relations.iter().any(|r| r.slots.contains(&Some(*s)));
                (own && !determined.contains(s)).then_some(*s)
            }
            ExprKind::Func(crate::func::Func::AnyValue, _) => None,
            _ => {
                let mut bad = None;
                if let ExprKind::Subquery(n, _) = &expr.kind {
                    let scope = self.scopes.last()?;
                    bad = self.subplans[*n as usize]
                        .outer_slots
                        .iter()
                        .find(|s| scope.relations.iter().any(|r| r.slots.contains(&Some(**s))) && !determined.contains(s))
                        .copied();
                }
                expr.for_each_child(&mut |c| bad = bad.or_else(|| self.undetermined(c, block, determined)));
                bad
            }
        }
    }

    /// Slots that have one value per group: grouped ones, constants, and what a key of theirs determines.
    fn determined_slots(&self, block: &Block) -> BTreeSet<Slot> {
        let mut determined = BTreeSet::new();
        for g in &block.group_by {
            if let ExprKind::Slot(s) = g.kind {
                determined.insert(s);
            }
        }
        let mut equalities: Vec<(Expr, Expr)> = Vec::new();
        let mut add = |e: &Expr| {
            if let ExprKind::Compare(CmpOp::Eq, _, a, b) = &e.kind {
                equalities.push(((**a).clone(), (**b).clone()));
            }
        };
        block.filter.iter().for_each(&mut add);
        fn inner_conditions(tree: &JoinTree, add: &mut dyn FnMut(&Expr)) {
            match tree {
                JoinTree::Relation(_) => {}
                JoinTree::Inner { parts, on, .. } => {
                    on.iter().for_each(&mut *add);
                    parts.iter().for_each(|p| inner_conditions(p, add));
                }
                JoinTree::Left { left, .. } => inner_conditions(left, add),
            }
        }
        block.from.iter().for_each(|t| inner_conditions(t, &mut add));
        let scope = self.scopes.last().expect("a block is being bound");
        loop {
            let before = determined.len();
            for (a, b) in &equalities {
                for (x, y) in [(a, b), (b, a)] {
                    if let ExprKind::Slot(s) = x.kind {
                        let mut slots = Vec::new();
                        slots_of(y, &self.subplans, &mut slots);
                        let own = |s: &Slot| scope.relations.iter().any(|r| r.slots.contains(&Some(*s)));
                        if slots.iter().all(|s| determined.contains(s) || !own(s)) {
                            determined.insert(s);
                        }
                    }
                }
            }
            for relation in &scope.relations {
                let Source::Base(table) = relation.source else { continue };
                let def = &self.tables[table as usize].def;
                let keyed = def.indexes.iter().any(|index| {
                    index.unique
                        && !index.parts.is_empty()
                        && index.parts.iter().all(|p| {
                            p.prefix_chars.is_none()
                                && !def.columns[p.column].ty.nullable
                                && relation.slots[p.column].is_some_and(|s| determined.contains(&s))
                        })
                });
                if keyed {
                    determined.extend(relation.slots.iter().flatten());
                }
            }
            if determined.len() == before {
                return determined;
            }
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
                name: c.name.clone(),
                ty: c.ty.clone(),
                hidden: false,
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
                    auto_increment: c.auto_increment,
                    no_default: !c.ty.nullable && matches!(c.default, DefaultValue::None) && !c.auto_increment,
                    on_update_now: c.on_update_now,
                },
            }
        })
        .collect()
}

fn named_columns(columns: Vec<OutputColumn>, names: &[&str], of: &str) -> Result<Vec<RelColumn>> {
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
        (meta.primary_key, meta.unique_key, meta.multiple_key, meta.auto_increment) = (false, false, false, false);
        if meta.ty.kind == TypeKind::Null {
            meta.ty = ColumnType { nullable: true, ..typing::string(0, Collation::Binary) };
        }
        let ty = meta.ty.clone();
        out.push(RelColumn { name, ty, meta, hidden: false });
    }
    Ok(out)
}

/// Makes an output expression yield values of a type.
fn convert_to(e: &mut Expr, ty: &ColumnType) {
    if matches!(e.kind, ExprKind::Literal(Value::Null))
        || (typing::class(&e.ty) == typing::class(ty) && e.ty.kind == ty.kind && e.ty.decimals == ty.decimals)
    {
        return;
    }
    let inner = std::mem::replace(e, Expr::literal(Value::Null, ty.clone()));
    *e = Expr { kind: ExprKind::Func(crate::func::Func::Coalesce, vec![inner]), ty: ColumnType { nullable: true, ..ty.clone() } };
}

fn query_names(q: &ast::Query<'_>, name: &str) -> bool {
    body_names(&q.body, name)
}

/// Whether a query's FROM clauses name a table (subqueries of expressions are not searched: MySQL refuses recursion there).
fn body_names(body: &ast::QueryBody<'_>, name: &str) -> bool {
    fn table_names(t: &ast::TableRef<'_>, name: &str) -> bool {
        match t {
            ast::TableRef::Table(f) => f.name.schema.is_none() && f.name.name.eq_ignore_ascii_case(name),
            ast::TableRef::Derived(d) => query_names(d.query, name),
            ast::TableRef::Join(j) => table_names(&j.left, name) || table_names(&j.right, name),
            ast::TableRef::List(l) => l.iter().any(|t| table_names(t, name)),
        }
    }
    match body {
        ast::QueryBody::Select(s) => s.from.iter().any(|t| table_names(t, name)),
        ast::QueryBody::SetOp(s) => s.operands.iter().any(|o| body_names(o, name)),
        ast::QueryBody::Values(_) => false,
        ast::QueryBody::Table(t) => t.schema.is_none() && t.name.eq_ignore_ascii_case(name),
        ast::QueryBody::Parens(q) => query_names(q, name),
    }
}

/// A conjunction of conditions, or nothing.
pub fn conjunction(mut list: Vec<Expr>) -> Option<Expr> {
    match list.len() {
        0 => None,
        1 => list.pop(),
        _ => Some(logic(ExprKind::And, list)),
    }
}
