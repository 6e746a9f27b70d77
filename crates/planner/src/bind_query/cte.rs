//! Common table expressions, recursive ones too.

use crate::bind_query::from::named_columns;
use crate::bind_query::set_operation::convert_to;
use crate::binder::{Binder, CteEntry, RecursiveCte, Result, Source};
use crate::plan::LimitSpec;
use crate::typing;
use mysql_error::{SqlError, codes};
use parser::ast;
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind};

impl<'c> Binder<'c> {
    pub(super) fn bind_cte(&mut self, cte: &ast::Cte<'_>, recursive: bool) -> Result<()> {
        let refers = recursive && query_names(cte.query, cte.name);
        let entry = if refers { self.bind_recursive(cte)? } else { self.bind_plain_cte(cte)? };
        self.ctes.push(entry);
        Ok(())
    }

    /// A number to count uses by.
    fn new_cte(&mut self) -> usize {
        self.cte_uses.push(0);
        self.cte_uses.len() - 1
    }

    fn bind_plain_cte(&mut self, cte: &ast::Cte<'_>) -> Result<CteEntry> {
        let number = self.new_cte();
        if self.cte_once.get(number) == Some(&true) {
            // As a derived table where it is named.
            let bound = self.bind_query(cte.query)?;
            let (columns, source) = self.waiting(bound);
            let columns = named_columns(columns, cte.columns, cte.name)?;
            return Ok(CteEntry { name: cte.name.to_owned(), source, number, depth: self.scopes.len(), columns });
        }
        let mut bound = self.query(cte.query)?;
        bound.narrow_literals();
        let columns = named_columns(bound.columns, cte.columns, cte.name)?;
        let cache = self.new_cache();
        let source = Source::Cte(Arc::new(bound.query), cache, bound.rows, bound.outer);
        Ok(CteEntry { name: cte.name.to_owned(), source, number, depth: self.scopes.len(), columns })
    }

    fn bind_recursive(&mut self, cte: &ast::Cte<'_>) -> Result<CteEntry> {
        let (query, limit) = in_parentheses(cte.query);
        let ast::QueryBody::SetOp(set) = query.body else {
            if limit.is_some() && query.is_limited() {
                return Err(codes::not_supported_yet("LIMIT over LIMIT in recursive Common Table Expression"));
            }
            return Err(SqlError::with_message(3573, format!("Recursive Common Table Expression '{}' should contain a UNION", cte.name)));
        };
        if set.op != ast::SetOperator::Union || !query.order_by.is_empty() {
            return Err(codes::not_supported_yet("ORDER BY over UNION in recursive Common Table Expression"));
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
        let limit = self.limit(limit)?;
        self.bind_recursive_parts(cte, set, split, limit)
    }

    fn bind_recursive_parts(
        &mut self,
        cte: &ast::Cte<'_>,
        set: &ast::SetOp<'_>,
        split: usize,
        limit: Option<LimitSpec>,
    ) -> Result<CteEntry> {
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
        let source = Source::RecursiveScan(cache);
        let depth = self.scopes.len();
        let number = self.new_cte();
        self.ctes.push(CteEntry { name: cte.name.to_owned(), source, number, depth, columns: columns.clone() });
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
        let (seed_query, step_query) = (Arc::new(seed_query), Arc::new(step.query));
        let outer = seed.outer.union(&step.outer).copied().collect();
        let parts = RecursiveCte { seed: seed_query, step: step_query, distinct: !set.all, limit, cache, result_cache, types, outer };
        Ok(CteEntry { name: cte.name.to_owned(), source: Source::Recursive(Arc::new(parts)), number, depth, columns })
    }

    /// Makes the relations of the block being bound invisible to a derived table.
    pub(super) fn hide_relations(&mut self) -> Option<std::ops::Range<usize>> {
        self.scopes.last_mut().map(|s| std::mem::replace(&mut s.visible, 0..0))
    }

    pub(super) fn show_relations(&mut self, visible: Option<std::ops::Range<usize>>) {
        if let (Some(scope), Some(visible)) = (self.scopes.last_mut(), visible) {
            scope.visible = visible;
        }
    }
}

/// What stands in the parentheses around a whole query, and the LIMIT of the one or the other.
fn in_parentheses<'q>(q: &'q ast::Query<'q>) -> (&'q ast::Query<'q>, Option<ast::Limit<'q>>) {
    let (mut query, mut limit) = (q, q.limit);
    while let ast::QueryBody::Parens(inner) = query.body
        && query.order_by.is_empty()
        && inner.with.is_none()
        && (limit.is_none() || inner.limit.is_none())
    {
        limit = limit.or(inner.limit);
        query = inner;
    }
    (query, limit)
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
            ast::TableRef::JsonTable(_) => false,
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
