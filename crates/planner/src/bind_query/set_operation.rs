//! UNION, INTERSECT, EXCEPT.

use crate::bind_query::{Bound, BoundQuery, Ordered};
use crate::binder::{Binder, Clause, RelColumn, Relation, Result, Scope, Source, check_stack};
use crate::charsets;
use crate::derived::UnionBlocks;
use crate::expr::{Expr, ExprKind, Slot};
use crate::plan::{Kept, Node, OutputColumn, Query};
use crate::typing::{self, UnionClash};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::BTreeSet;
use types::{Collation, ColumnType, Value};

impl<'c> Binder<'c> {
    pub(super) fn bind_body(&mut self, q: &ast::Query<'_>) -> Result<Bound> {
        let plain = q.order_by.is_empty() && q.limit.is_none() && q.locking.is_empty();
        match q.body {
            ast::QueryBody::Select(select) => self.bind_select(select, q).map(|b| Bound::Block(Box::new(b))),
            ast::QueryBody::Parens(inner) if plain => self.bind_query(inner),
            ast::QueryBody::Parens(inner) if takes_order(inner) => {
                let locking = with_locks(inner, q.locking);
                self.bind_query(&ast::Query { order_by: q.order_by, limit: q.limit, locking: &locking, ..*inner })
            }
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
                let bound = self.bind_select(&select, q);
                self.note_table_star(std::ptr::from_ref(&select).addr(), &name);
                bound.map(|b| Bound::Block(Box::new(b)))
            }
            ast::QueryBody::SetOp(set) if plain && set.op == ast::SetOperator::Union => {
                let branches = self.bind_branches(set, &[])?;
                if !branches.iter().all(|branch| matches!(branch, Bound::Block(_))) {
                    let (node, slots, columns, rows, outer, volatile) = self.plan_branches(set, branches)?;
                    return self.finish_set(node, slots, columns, rows, outer, volatile, q).map(Bound::Planned);
                }
                let columns = union_columns(&branches)?;
                let blocks = branches.into_iter().filter_map(|branch| if let Bound::Block(block) = branch { Some(*block) } else { None });
                Ok(Bound::Union(Box::new(UnionBlocks { branches: blocks.collect(), all: set.all, columns })))
            }
            ast::QueryBody::Parens(_) | ast::QueryBody::SetOp(_) | ast::QueryBody::Values(_) => {
                let (node, slots, columns, rows, outer, volatile) = self.bind_operand(&q.body, q.locking)?;
                self.finish_set(node, slots, columns, rows, outer, volatile, q).map(Bound::Planned)
            }
        }
    }

    /// Binds the body of a set operation (or a parenthesised query) to a node that fills slots. Locking clauses behind it are of its last part.
    fn bind_operand(
        &mut self,
        body: &ast::QueryBody<'_>,
        locks: &[ast::LockClause<'_>],
    ) -> Result<(Node, Vec<Slot>, Vec<OutputColumn>, f64, BTreeSet<Slot>, bool)> {
        check_stack()?;
        match body {
            ast::QueryBody::Values(rows) => {
                let width = rows.first().map_or(0, |r| r.len());
                if width == 0 {
                    return Err(codes::table_value_constructor_must_have_columns());
                }
                let (scope, bound) = self.enter(Scope::new(), |b| {
                    let row = |(at, row): (usize, &&[ast::Expr<'_>])| match row.len() == width {
                        true => row.iter().map(|e| b.expr(e)).collect::<Result<Vec<_>>>(),
                        false => Err(codes::wrong_value_count_on_row(at + 1)),
                    };
                    rows.iter().enumerate().map(row).collect::<Result<Vec<_>>>()
                });
                let bound = bound?;
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
                let branches = self.bind_branches(set, locks)?;
                self.plan_branches(set, branches)
            }
            _ => {
                let bound = self.bind_branch(body, locks)?;
                let slots: Vec<Slot> = bound.columns.iter().map(|c| self.new_slot(c.ty.clone())).collect();
                let node = Node::Union { branches: vec![bound.query], slots: slots.clone() };
                Ok((node, slots, bound.columns, bound.rows, bound.outer, bound.volatile))
            }
        }
    }

    /// Binds the parts of a set operation. Locking clauses behind it are of its last part.
    fn bind_branches(&mut self, set: &ast::SetOp<'_>, locks: &[ast::LockClause<'_>]) -> Result<Vec<Bound>> {
        let mut branches = Vec::with_capacity(set.operands.len());
        for (no, operand) in set.operands.iter().enumerate() {
            let last = no + 1 == set.operands.len();
            let branch = self.bind_unplanned_branch(operand, if last { locks } else { &[] })?;
            if branches.first().is_some_and(|first| width(first) != width(&branch)) {
                return Err(codes::wrong_number_of_columns_in_select());
            }
            branches.push(branch);
        }
        Ok(branches)
    }

    /// Plans the parts of a set operation to a node that fills slots.
    fn plan_branches(
        &mut self,
        set: &ast::SetOp<'_>,
        branches: Vec<Bound>,
    ) -> Result<(Node, Vec<Slot>, Vec<OutputColumn>, f64, BTreeSet<Slot>, bool)> {
        let columns = union_columns(&branches)?;
        let mut planned = Vec::with_capacity(branches.len());
        for branch in branches {
            planned.push(match branch {
                Bound::Block(block) => self.plan_bound(*block)?,
                Bound::Union(union) => self.plan_union(*union)?,
                Bound::Planned(planned) => planned,
            });
        }
        Ok(self.unite(set.op, set.all, planned, columns))
    }

    /// Plans a UNION of blocks.
    pub(crate) fn plan_union(&mut self, union: UnionBlocks) -> Result<BoundQuery> {
        let mut planned = Vec::with_capacity(union.branches.len());
        for block in union.branches {
            planned.push(self.plan_bound(block)?);
        }
        let (root, slots, columns, rows, outer, volatile) = self.unite(ast::SetOperator::Union, union.all, planned, union.columns);
        let output = slots.iter().zip(&columns).map(|(s, c)| Expr::slot(*s, c.ty.clone())).collect();
        Ok(BoundQuery { query: Query { root, output }, columns, rows, outer, volatile })
    }

    fn unite(
        &mut self,
        op: ast::SetOperator,
        all: bool,
        planned: Vec<BoundQuery>,
        columns: Vec<OutputColumn>,
    ) -> (Node, Vec<Slot>, Vec<OutputColumn>, f64, BTreeSet<Slot>, bool) {
        let mut outer = BTreeSet::new();
        let (mut volatile, mut rows) = (false, 0.0);
        let mut branches = Vec::with_capacity(planned.len());
        for bound in planned {
            outer.extend(bound.outer);
            volatile |= bound.volatile;
            rows += bound.rows;
            let mut branch = bound.query;
            for (e, c) in branch.output.iter_mut().zip(&columns) {
                convert_to(e, &c.ty);
            }
            branches.push(branch);
        }
        let slots: Vec<Slot> = columns.iter().map(|c| self.new_slot(c.ty.clone())).collect();
        let collations: Vec<Collation> = columns.iter().map(|c| c.ty.collation).collect();
        let node = match (op, all) {
            (ast::SetOperator::Union, all) => {
                let union = Node::Union { branches, slots: slots.clone() };
                if all { union } else { Node::Distinct { input: Box::new(union), slots: slots.clone(), collations } }
            }
            (op, all) => Node::SetOperation { branches, slots: slots.clone(), collations, except: op == ast::SetOperator::Except, all },
        };
        (node, slots, columns, rows, outer, volatile)
    }

    /// A part of a set operation; a single block is left to be planned.
    fn bind_unplanned_branch(&mut self, body: &ast::QueryBody<'_>, locks: &[ast::LockClause<'_>]) -> Result<Bound> {
        match body {
            ast::QueryBody::Select(_) | ast::QueryBody::Table(_) => {
                let span = ast::Span::default();
                self.bind_body(&ast::Query { with: None, body: *body, order_by: &[], limit: None, locking: locks, into: None, span })
            }
            _ => self.bind_branch(body, locks).map(Bound::Planned),
        }
    }

    fn bind_branch(&mut self, body: &ast::QueryBody<'_>, locks: &[ast::LockClause<'_>]) -> Result<BoundQuery> {
        let whole =
            ast::Query { with: None, body: *body, order_by: &[], limit: None, locking: locks, into: None, span: ast::Span::default() };
        match body {
            ast::QueryBody::Parens(inner) if locks.is_empty() => self.query(inner),
            ast::QueryBody::Parens(inner) => {
                let locking = with_locks(inner, locks);
                self.query(&ast::Query { locking: &locking, ..**inner })
            }
            ast::QueryBody::Select(_) | ast::QueryBody::Table(_) => match self.bind_body(&whole)? {
                Bound::Block(block) => self.plan_bound(*block),
                Bound::Union(union) => self.plan_union(*union),
                Bound::Planned(p) => Ok(p),
            },
            _ => {
                let (node, slots, columns, rows, outer, volatile) = self.bind_operand(body, locks)?;
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
        let rel_columns = columns.iter().map(|c| RelColumn {
            name: c.name.to_string(),
            ty: c.ty.clone(),
            meta: c.clone(),
            hidden: false,
            invisible: false,
        });
        scope.relations.push(Relation {
            slots: slots.iter().map(|s| Some(*s)).collect(),
            ..Relation::new(String::new(), Source::RecursiveScan(u32::MAX), rel_columns.collect())
        });
        scope.clause = Clause::OrderBy;
        let outputs: Vec<Expr> = columns.iter().zip(&slots).map(|(c, s)| Expr::slot(*s, c.ty.clone())).collect();
        let (scope, keys) = self.enter(scope, |b| b.order_keys(q.order_by, &outputs, Ordered::Set));
        let keys = keys?;
        let limit = self.limit(q.limit)?;
        if !keys.is_empty() {
            node = Node::Sort { input: Box::new(node), keys: crate::members::sorting(keys), saved: slots.clone(), limit: limit.clone() };
        } else if let Some(limit) = &limit {
            node = Node::Limit { input: Box::new(node), limit: limit.clone() };
        }
        let output = slots.iter().zip(&columns).map(|(s, c)| Expr::slot(*s, c.ty.clone())).collect();
        let mut all_outer = outer;
        all_outer.extend(scope.outer);
        Ok(BoundQuery { query: Query { root: node, output }, columns, rows, outer: all_outer, volatile: volatile || scope.volatile })
    }

    pub(super) fn bind_union(&mut self, operands: &[ast::QueryBody<'_>], all: bool) -> Result<BoundQuery> {
        if let [one] = operands {
            return self.bind_branch(one, &[]);
        }
        let set = ast::SetOp { op: ast::SetOperator::Union, all, operands };
        self.bind_branch(&ast::QueryBody::SetOp(&set), &[])
    }
}

fn width(bound: &Bound) -> usize {
    match bound {
        Bound::Block(block) => block.items.len(),
        Bound::Union(union) => union.columns.len(),
        Bound::Planned(planned) => planned.columns.len(),
    }
}

/// The columns that the parts of a set operation have in common.
fn union_columns(branches: &[Bound]) -> Result<Vec<OutputColumn>> {
    let all: Vec<Vec<&OutputColumn>> = branches
        .iter()
        .map(|branch| match branch {
            Bound::Block(block) => block.items.iter().map(|(_, column)| column).collect(),
            Bound::Union(union) => union.columns.iter().collect(),
            Bound::Planned(planned) => planned.columns.iter().collect(),
        })
        .collect();
    let mut columns = Vec::with_capacity(all[0].len());
    for i in 0..all[0].len() {
        let merged = typing::union_collation(all.iter().map(|c| (c[i].coercibility, &c[i].ty))).map_err(illegal_mix)?;
        let types = all.iter().map(|c| &c[i].ty);
        let mut ty = match merged {
            Some((_, collation)) if collation != Collation::Binary && types.clone().any(charsets::is_of_bytes) => {
                let texts: Vec<ColumnType> = types.map(|ty| charsets::type_as_text(ty, collation)).collect();
                typing::common(texts.iter())
            }
            _ => typing::common(types),
        };
        let coercibility = match merged {
            Some((coercibility, collation)) => {
                if typing::is_string_class(&ty) && ty.collation != Collation::Binary && collation != Collation::Binary {
                    ty.collation = collation;
                }
                coercibility
            }
            None => typing::COERCIBLE,
        };
        let ty = typing::unfilled(&ty);
        columns.push(OutputColumn { name: all[0][i].name.clone(), ty, coercibility, kept: Kept::AsItIs, ..OutputColumn::default() });
    }
    Ok(columns)
}

/// Makes an output expression yield values of a type.
pub(crate) fn convert_to(e: &mut Expr, ty: &ColumnType) {
    if matches!(e.kind, ExprKind::Literal(Value::Null))
        || (typing::class(&e.ty) == typing::class(ty) && e.ty.kind == ty.kind && e.ty.decimals == ty.decimals)
    {
        return;
    }
    let mut inner = std::mem::replace(e, Expr::literal(Value::Null, ty.clone()));
    if typing::is_string_class(ty) {
        inner = charsets::text_of_bytes(inner, ty.collation);
        inner.ty = typing::unfilled(&inner.ty);
    }
    *e = Expr { kind: ExprKind::Func(crate::func::Func::Coalesce, vec![inner]), ty: ColumnType { nullable: true, ..ty.clone() } };
}

fn illegal_mix(clash: UnionClash) -> SqlError {
    match clash {
        UnionClash::Explicit(a, b) => codes::cant_aggregate_2collations(a.name(), "EXPLICIT", b.name(), "EXPLICIT", "UNION"),
        UnionClash::Implicit => codes::cant_aggregate_ncollations("UNION"),
    }
}

/// Whether what stands behind the parentheses around a query orders and limits the query itself, and sees its columns: it has no order or limit of
/// its own, and is no set operation.
fn takes_order(inner: &ast::Query<'_>) -> bool {
    inner.with.is_none()
        && inner.order_by.is_empty()
        && inner.limit.is_none()
        && match inner.body {
            ast::QueryBody::Select(_) | ast::QueryBody::Table(_) => true,
            ast::QueryBody::Parens(inner) => takes_order(inner),
            ast::QueryBody::SetOp(_) | ast::QueryBody::Values(_) => false,
        }
}

/// A parenthesised query with the locking clauses that stand behind the parentheses.
fn with_locks<'q>(inner: &ast::Query<'q>, behind: &[ast::LockClause<'q>]) -> Vec<ast::LockClause<'q>> {
    inner.locking.iter().chain(behind).copied().collect()
}
