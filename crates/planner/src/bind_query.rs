//! Binding of queries: FROM, select lists, grouping, ordering, set operations, common table expressions.

mod cte;
mod from;
mod full_group_by;
mod rollup;
mod select;
mod set_operation;

pub(crate) use from::named_columns;

use crate::binder::{Binder, Result, Scope};
use crate::expr::Slot;
use crate::logical::Block;
use crate::plan::{LimitSpec, Node, OutputColumn, Query, Subplan};
use mysql_error::{SqlError, codes};
use parser::ast;
use std::collections::BTreeSet;
use types::ColumnType;

/// Nesting of queries past which a statement is refused.
const QUERY_DEPTH_MAX: usize = 30;

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
            return Err(codes::misplaced_into());
        }
        self.into_allowed = false;
        self.check_stack()?;
        let ctes = self.ctes.len();
        let result = self.bind_with(q.with).and_then(|()| self.bind_body(q));
        self.ctes.truncate(ctes);
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
    pub fn bind_source(&mut self, q: &ast::Query<'_>) -> Result<Bound> {
        self.bind_query(q)
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
        self.scopes.push(Scope::new());
        let count = self.expr(&limit.count);
        let offset = limit.offset.as_ref().map(|o| self.expr(o)).transpose();
        self.scopes.pop();
        Ok(Some(LimitSpec { count: Some(count?), offset: offset? }))
    }

    // ---- SELECT ----

    // ---- FROM ----

    // ---- ONLY_FULL_GROUP_BY ----
}
