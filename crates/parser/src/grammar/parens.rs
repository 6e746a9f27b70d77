//! What is in parentheses among expressions: one, a row, a query.

use super::expr::{Operands, operands_of};
use super::{PResult, Parser};
use crate::ast::{Expr, ExprKind, Query, QueryBody};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// `(query)`, `(expr)` or `(expr, …)`.
    #[inline(never)]
    pub(super) fn parenthesised(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        if let Some(query) = self.try_subquery_in_parens()? {
            return Ok(self.node(start, ExprKind::Subquery(query)));
        }
        self.bump();
        if self.at_tok(Tok::LParen) {
            return self.within_parens(start);
        }
        let first = self.expr()?;
        self.close_parens(start, first)
    }

    /// `((…) …)`: parentheses at the beginning of what is in parentheses take no level of the nesting each. A long chain of operators is stored so, with
    /// as many of them as operators.
    #[inline(never)]
    fn within_parens(&mut self, start: u32) -> PResult<Expr<'a>> {
        let depth = self.depth;
        let mut opened = self.vec();
        opened.push(start);
        let mut expr = loop {
            if !self.at_tok(Tok::LParen) {
                let inner = self.expr()?;
                // The parentheses around it are no part of the tree.
                self.height -= 1;
                break inner;
            }
            let inner = self.tok.start;
            if let Some(query) = self.try_subquery_in_parens()? {
                let query = self.node(inner, ExprKind::Subquery(query));
                break self.any_infix(query)?;
            }
            opened.push(inner);
            self.bump();
        };
        // The operands of `expr`, where it is a chain that has gone on behind its parenthesis: they are copied once, however often it does.
        let mut grown: Option<(u8, u32, Operands<'a>)> = None;
        while let Some(start) = opened.pop() {
            match &mut grown {
                Some((_, begins, _)) if self.at_tok(Tok::RParen) => {
                    self.bump();
                    *begins = start;
                }
                _ => {
                    if let Some((level, begins, operands)) = grown.take() {
                        let chain = self.chained(begins, operands, level);
                        expr = self.any_infix(chain)?;
                    }
                    // Rows and set operations are as high as they nest.
                    let nests = self.at_tok(Tok::Comma) || matches!(expr.kind, ExprKind::Subquery(_));
                    expr = self.close_parens(start, expr)?;
                    if nests {
                        self.enter()?;
                        self.grow()?;
                    }
                }
            }
            if opened.is_empty() {
                break;
            }
            let level = self.junction();
            match (&mut grown, level) {
                (Some((of, _, operands)), Some(level)) if *of == level => self.more_operands(operands, level)?,
                (None, Some(level)) if operands_of(&expr, level).is_some() => {
                    let mut operands = self.operands_of_more(&expr, level);
                    self.more_operands(&mut operands, level)?;
                    grown = Some((level, start, operands));
                }
                _ => {
                    if let Some((level, begins, operands)) = grown.take() {
                        expr = self.chained(begins, operands, level);
                    }
                    expr = self.any_infix(expr)?;
                }
            }
        }
        if let Some((level, begins, operands)) = grown {
            expr = self.chained(begins, operands, level);
        }
        self.depth = depth;
        Ok(expr)
    }

    /// The rest of what is in parentheses and begins with `first`.
    #[inline]
    fn close_parens(&mut self, start: u32, first: Expr<'a>) -> PResult<Expr<'a>> {
        if self.at_tok(Tok::Comma) {
            return self.row_after(start, first);
        }
        let kind = match first.kind {
            // `((SELECT …) UNION …)`: what began as an expression was a query.
            ExprKind::Subquery(query) if self.at_query_continuation() => ExprKind::Subquery(self.query_after(query)?),
            kind => kind,
        };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, kind))
    }

    #[inline(never)]
    fn row_after(&mut self, start: u32, first: Expr<'a>) -> PResult<Expr<'a>> {
        let mut parts = self.vec();
        parts.push(first);
        while self.eat_tok(Tok::Comma) {
            parts.push(self.expr()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, ExprKind::Row(parts.into_bump_slice())))
    }

    /// A query in parentheses, when that is what the parenthesis opens for certain.
    #[inline]
    pub(super) fn try_subquery_in_parens(&mut self) -> PResult<Option<&'a Query<'a>>> {
        let next = self.peek();
        let is_query = match next.kw {
            Kw::SELECT | Kw::WITH | Kw::TABLE => true,
            Kw::VALUES => self.peek_two().1.kw == Kw::ROW,
            _ => false,
        };
        if is_query { self.subquery_in_parens().map(Some) } else { Ok(None) }
    }

    /// A query in parentheses.
    #[inline(never)]
    pub fn subquery_in_parens(&mut self) -> PResult<&'a Query<'a>> {
        self.expect_tok(Tok::LParen)?;
        let query = self.query()?;
        self.expect_tok(Tok::RParen)?;
        let inner = match query.body {
            // `((SELECT 1))` is `(SELECT 1)`.
            QueryBody::Parens(inner) if query.is_bare() => inner,
            _ => query,
        };
        Ok(inner)
    }
}
