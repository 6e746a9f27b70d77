//! SQL_CALC_FOUND_ROWS: the query runs without its LIMIT, all rows are counted, and those that LIMIT shows are sent.

use crate::binder::Binder;
use mysql_error::{SqlError, codes};
use parser::ast;

/// The block whose options count for a query as a whole: the first one of all.
fn first_block<'a>(query: &ast::Query<'a>) -> Option<&'a ast::Select<'a>> {
    let mut body = query.body;
    loop {
        match body {
            ast::QueryBody::Select(select) => return Some(select),
            ast::QueryBody::Parens(inner) => body = inner.body,
            ast::QueryBody::SetOp(operation) => body = *operation.operands.first()?,
            _ => return None,
        }
    }
}

/// Whether a query asks for the count.
pub(crate) fn is_asked_for(query: &ast::Query<'_>) -> bool {
    first_block(query).is_some_and(|select| select.options.calc_found_rows)
}

/// A query that asks for the count: the query without its LIMIT, and that.
pub(crate) fn without_limit<'a>(query: &ast::Query<'a>) -> Option<(ast::Query<'a>, Option<ast::Limit<'a>>)> {
    if query.into.is_some() || !is_asked_for(query) {
        return None;
    }
    let mut query = *query;
    // Parentheses around all of it say nothing.
    while let ast::QueryBody::Parens(inner) = query.body
        && query.limit.is_none()
        && query.order_by.is_empty()
        && query.with.is_none()
    {
        query = *inner;
    }
    let limit = query.limit.take();
    Some((query, limit))
}

impl Binder<'_> {
    /// A block with the option; 1234 for any but the first.
    pub(crate) fn note_found_rows(&mut self, select: &ast::Select<'_>) -> Result<(), SqlError> {
        if !select.options.calc_found_rows {
            return Ok(());
        }
        if !std::mem::take(&mut self.counts_allowed) {
            return Err(SqlError::with_message(1234, "Incorrect usage/placement of 'SQL_CALC_FOUND_ROWS'"));
        }
        let what =
            "SQL_CALC_FOUND_ROWS is deprecated and will be removed in a future release. Consider using two separate queries instead.";
        self.warnings.push(SqlError::with_message(codes::ER_WARN_DEPRECATED_SYNTAX, what).into());
        Ok(())
    }
}
