//! Binding of queries: FROM, select lists, grouping, ordering, set operations, common table expressions.

mod cte;
mod determined;
mod from;
mod full_group_by;
mod rollup;
mod select;
mod set_operation;
mod using;

pub(crate) use from::named_columns;
pub use select::Ordered;
pub(crate) use set_operation::convert_to;
pub use using::JoinColumns;

use crate::binder::{Binder, Result, Scope, Source, check_stack};
use crate::derived::{UnionBlocks, Waiting};
use crate::expr::{Expr, ExprKind, Slot, SubqueryKind};
use crate::logical::{Block, JoinTree, slots_of};
use crate::plan::{Kept, LimitSpec, Node, OutputColumn, Query, Subplan};
use crate::statement::by_digits;
use crate::typing;
use crate::widths;
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::BTreeSet;
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value};

/// Nesting of queries past which a statement is refused.
const QUERY_DEPTH_MAX: usize = parser::SELECT_NESTING_MAX as usize;

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

impl BoundQuery {
    /// [`narrow`] for a query that reads no table.
    pub(crate) fn narrow_literals(&mut self) {
        if matches!(self.query.root, Node::Unit) {
            self.query.output.iter_mut().zip(&mut self.columns).for_each(|(expr, column)| narrow(expr, column));
        }
    }
}

/// MySQL keeps the row of a derived table that reads no table, and keeps a small integer literal in an INT.
fn narrow(expr: &mut Expr, column: &mut OutputColumn) {
    if let ExprKind::Literal(Value::Int(n)) = expr.kind
        && column.ty.kind == TypeKind::BigInt
        && is_int_literal(n)
    {
        column.ty = ColumnType { nullable: column.ty.nullable, length: column.ty.length, ..ColumnType::int() };
        expr.ty = column.ty.clone();
    }
}

/// What the binding of an expression knows of a subquery's column.
pub struct SubqueryColumn {
    /// Type.
    pub ty: ColumnType,
    /// How strongly a string holds to its collation.
    pub coercibility: u8,
    /// The subquery has one row, whatever there is in tables.
    pub always: bool,
}

impl SubqueryColumn {
    fn new(expr: &Expr, meta: &OutputColumn, always: bool) -> SubqueryColumn {
        let coercibility = if matches!(expr.kind, ExprKind::Slot(_)) { meta.coercibility } else { typing::coercibility(expr) };
        SubqueryColumn { ty: expr.ty.clone(), coercibility, always }
    }

    /// The single value of a subquery with this column.
    pub fn value(&self, subplan: u32) -> Expr {
        let kind = SubqueryKind::Scalar { coercibility: self.coercibility };
        Expr {
            kind: ExprKind::Subquery(subplan, Box::new(kind)),
            ty: ColumnType { nullable: !self.always || self.ty.nullable, ..typing::unfilled(&self.ty) },
        }
    }
}

/// MySQL keeps the rows of a derived table that cannot become part of the block around it: what it computes there is INT or BIGINT by its digits,
/// but for aggregates.
fn keep_by_digits(block: &mut Block) {
    if block.is_simple() && !block.distinct {
        return;
    }
    let scope = &block.scope;
    let is_column = |slot: &Slot| scope.relations.iter().any(|relation| relation.slots.contains(&Some(*slot)));
    let aggregate = |slot: &Slot| scope.aggregates.iter().find(|(of, _)| of == slot).map(|(_, aggregate)| aggregate);
    for (expr, column) in &mut block.items {
        let kept = match &expr.kind {
            ExprKind::Slot(slot) => match aggregate(slot).map(|aggregate| &aggregate.args[..]) {
                None if is_column(slot) => None,
                None => Some(by_digits(&expr.ty)),
                // The least and the greatest of a column have its type.
                Some([Expr { kind: ExprKind::Slot(_), .. }]) => None,
                Some(_) if expr.ty.kind.is_integer() || expr.ty.kind == TypeKind::Year => {
                    Some(widths::whole(typing::display_chars(&expr.ty), expr.ty.unsigned))
                }
                Some(_) => None,
            },
            _ if column.org_name.is_empty() => Some(by_digits(&expr.ty)),
            _ => None,
        };
        if let Some(ty) = kept {
            let ty = ColumnType { nullable: expr.ty.nullable, ..ty };
            if ty.kind != expr.ty.kind {
                column.ty = ColumnType { nullable: column.ty.nullable, ..ty.clone() };
                expr.ty = ty;
            }
        }
        // A table made of it has its columns.
        if column.org_name.is_empty() && expr.ty.kind.is_integer() {
            column.kept = Kept::AsItIs;
        }
    }
}

/// Whether MySQL makes an INT of an integer literal that it keeps: it goes by the digits, of which the sign of a positive one takes one.
pub fn is_int_literal(n: i64) -> bool {
    const MAX: i64 = 99_999_999;
    (i64::from(i32::MIN)..=MAX).contains(&n)
}

/// A bound query, planned or not.
#[allow(clippy::large_enum_variant)] // One per query, moved once.
#[derive(Debug)]
pub enum Bound {
    /// A single block, to be planned by the receiver.
    Block(Box<Block>),
    /// A UNION of blocks: the same.
    Union(Box<UnionBlocks>),
    /// Done.
    Planned(BoundQuery),
}

/// A bound query whose UNION, if it is one, is planned.
#[allow(clippy::large_enum_variant)] // One per query, moved once.
#[derive(Debug)]
pub enum BlockOrPlan {
    /// A single block, to be planned by the receiver.
    Block(Box<Block>),
    /// Done.
    Planned(BoundQuery),
}

#[cold]
fn too_high() -> SqlError {
    SqlError::with_message(1473, "Too high level of nesting for select")
}

impl<'c> Binder<'c> {
    /// Binds and plans a query.
    pub fn query(&mut self, q: &ast::Query<'_>) -> Result<BoundQuery> {
        match self.bind_query(q)? {
            Bound::Planned(planned) => Ok(planned),
            Bound::Block(block) => self.plan_bound(*block),
            Bound::Union(union) => self.plan_union(*union),
        }
    }

    /// As [`Self::query`], of rows that are kept.
    pub(crate) fn kept_query(&mut self, q: &ast::Query<'_>) -> Result<BoundQuery> {
        match self.bind_query(q)? {
            Bound::Planned(planned) => Ok(planned),
            Bound::Block(mut block) => {
                keep_by_digits(&mut block);
                self.plan_bound(*block)
            }
            Bound::Union(union) => self.plan_union(*union),
        }
    }

    /// What a relation of the current block gets of a query: its columns, and where its rows come from.
    pub(crate) fn waiting(&mut self, bound: Bound) -> (Vec<OutputColumn>, Source) {
        match bound {
            Bound::Block(mut block) => {
                keep_by_digits(&mut block);
                (block.items.iter().map(|(_, c)| c.clone()).collect(), Source::Waiting(Some(Box::new(Waiting::Block(block)))))
            }
            Bound::Union(union) => (union.columns.clone(), Source::Waiting(Some(Box::new(Waiting::Union(*union))))),
            Bound::Planned(mut bound) => {
                bound.narrow_literals();
                (bound.columns, Source::Derived(Arc::new(bound.query), bound.outer, bound.rows))
            }
        }
    }

    /// Plans a block with what its users need to know.
    pub fn plan_bound(&mut self, block: Block) -> Result<BoundQuery> {
        let columns = block.items.iter().map(|(_, c)| c.clone()).collect();
        let (outer, volatile) = (block.scope.outer.clone(), block.scope.volatile);
        let (query, rows) = self.plan_block(block)?;
        Ok(BoundQuery { query, columns, rows, outer, volatile })
    }

    /// Binds a subquery of an expression; its plan is made when the enclosing block is planned. The second result is its columns.
    pub fn subquery(&mut self, q: &ast::Query<'_>) -> Result<(u32, Vec<SubqueryColumn>)> {
        let bound = self.bind_source(q)?;
        let number = self.subplans.len() as u32;
        let empty = Query { root: Node::Empty, output: Vec::new() };
        let columns: Vec<SubqueryColumn>;
        let types = |columns: &[SubqueryColumn]| columns.iter().map(|column| column.ty.clone()).collect();
        match bound {
            BlockOrPlan::Block(block) => {
                let always =
                    block.from.is_empty() && block.filter.is_empty() && block.having.is_none() && block.limit.is_none() && !block.grouped;
                columns = block.items.iter().map(|(expr, meta)| SubqueryColumn::new(expr, meta, always)).collect();
                self.subplans.push(Subplan {
                    query: empty,
                    outer_slots: block.scope.outer.iter().copied().collect(),
                    volatile: block.scope.volatile,
                    types: types(&columns),
                    lookup: None,
                });
                self.pending.push(Some(block));
            }
            BlockOrPlan::Planned(p) => {
                columns =
                    p.columns.iter().map(|c| SubqueryColumn { ty: c.ty.clone(), coercibility: c.coercibility, always: false }).collect();
                self.subplans.push(Subplan {
                    query: p.query,
                    outer_slots: p.outer.into_iter().collect(),
                    volatile: p.volatile,
                    types: types(&columns),
                    lookup: None,
                });
                self.pending.push(None);
            }
        }
        Ok((number, columns))
    }

    /// Binds the subquery of an EXISTS: nobody looks at the columns of its rows, so that they need not be read.
    pub fn exists(&mut self, q: &ast::Query<'_>) -> Result<u32> {
        let (number, _) = self.subquery(q)?;
        if let Some(mut block) = self.pending[number as usize].take() {
            if block.is_simple() && !block.scope.volatile && !self.views.whole_rows {
                let one = Expr::literal(types::Value::Int(1), ColumnType::bigint().not_null());
                block.items = vec![(one, OutputColumn::default())];
                block.distinct = false;
                block.order.clear();
                block.asked_for_one = true;
                self.subplans[number as usize].types = vec![ColumnType::bigint().not_null()];
                self.forget_unread(&mut block);
            }
            self.pending[number as usize] = Some(block);
        }
        Ok(number)
    }

    /// Takes the slots from columns that nothing of a block reads but its select list, which is gone.
    fn forget_unread(&self, block: &mut Block) {
        fn of_tree(tree: &JoinTree, subplans: &[Subplan], out: &mut Vec<Slot>) {
            match tree {
                JoinTree::Relation(_) => {}
                JoinTree::Inner { parts, on, .. } => {
                    on.iter().for_each(|e| slots_of(e, subplans, out));
                    parts.iter().for_each(|part| of_tree(part, subplans, out));
                }
                JoinTree::Left { left, right, on } => {
                    on.iter().for_each(|e| slots_of(e, subplans, out));
                    of_tree(left, subplans, out);
                    of_tree(right, subplans, out);
                }
            }
        }
        let mut read = Vec::new();
        block.filter.iter().for_each(|e| slots_of(e, &self.subplans, &mut read));
        block.from.iter().for_each(|tree| of_tree(tree, &self.subplans, &mut read));
        block.scope.relations.iter().for_each(|r| read.extend(r.source.outer_slots()));
        for relation in block.scope.relations.iter_mut().filter(|r| matches!(r.source, Source::Base(_)) && r.keep_key.is_none()) {
            relation.slots.iter_mut().for_each(|slot| *slot = slot.filter(|slot| read.contains(slot)));
        }
    }

    /// Binds a query, and plans it unless the receiver may.
    pub(crate) fn bind_query(&mut self, q: &ast::Query<'_>) -> Result<Bound> {
        if self.scopes.len() >= QUERY_DEPTH_MAX {
            return Err(too_high());
        }
        if q.into.is_some() && !std::mem::take(&mut self.into_allowed) {
            return Err(codes::misplaced_into());
        }
        self.into_allowed = false;
        check_stack()?;
        let ctes = self.ctes.len();
        let beside = std::mem::take(&mut self.levels);
        let result = self.bind_with(q.with).and_then(|()| self.bind_body(q));
        self.ctes.truncate(ctes);
        self.levels += 1;
        if self.levels > QUERY_DEPTH_MAX {
            return Err(too_high());
        }
        self.levels = self.levels.max(beside);
        result
    }

    /// WITH: what it names can be named until the caller takes it away.
    pub fn bind_with(&mut self, with: Option<&ast::With<'_>>) -> Result<()> {
        let Some(with) = with else { return Ok(()) };
        let ctes = self.ctes.len();
        for cte in with.ctes {
            if self.ctes[ctes..].iter().any(|c| c.name.eq_ignore_ascii_case(cte.name)) {
                return Err(codes::nonuniq_table(cte.name));
            }
            self.bind_cte(cte, with.recursive)?;
        }
        Ok(())
    }

    /// Binds a query that is a single block, to be planned by the caller; any other one is planned.
    pub fn bind_source(&mut self, q: &ast::Query<'_>) -> Result<BlockOrPlan> {
        Ok(match self.bind_query(q)? {
            Bound::Block(block) => BlockOrPlan::Block(block),
            Bound::Union(union) => BlockOrPlan::Planned(self.plan_union(*union)?),
            Bound::Planned(planned) => BlockOrPlan::Planned(planned),
        })
    }

    /// LIMIT.
    pub fn limit(&mut self, limit: Option<ast::Limit<'_>>) -> Result<Option<LimitSpec>> {
        let Some(limit) = limit else { return Ok(None) };
        // A name would be a variable of a stored program.
        for bound in std::iter::once(&limit.count).chain(&limit.offset) {
            if let ast::ExprKind::Column(variable) = &bound.kind {
                return Err(codes::sp_undeclared_var(variable.column));
            }
        }
        self.differs_elsewhere = true;
        let (_, bound) = self.enter(Scope::new(), |b| {
            let count = b.expr(&limit.count)?;
            let offset = limit.offset.as_ref().map(|o| b.expr(o)).transpose()?;
            Ok(LimitSpec { count: Some(count), offset })
        });
        bound.map(Some)
    }

    // ---- SELECT ----

    // ---- FROM ----

    // ---- ONLY_FULL_GROUP_BY ----
}
