//! SELECT, VALUES, TABLE, set operations, WITH.

use super::{PResult, Parser, SELECT_NESTING_MAX};
use crate::ast::{
    Cte, Expr, ExprKind, IntoTarget, Limit, Literal, LockClause, LockStrength, LockWait, ObjectName, OrderItem, Query, QueryBody, Select,
    SelectInto, SelectItem, SelectOptions, SetOp, SetOperator, With,
};
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::{LIFTED, Tok, Token};
use crate::text;

impl<'a> Parser<'a> {
    /// A query expression, up to but not including a closing parenthesis.
    #[inline(never)]
    pub fn query(&mut self) -> PResult<&'a Query<'a>> {
        self.enter()?;
        let start = self.tok.start;
        let with = if self.at(Kw::WITH) { Some(self.with()?) } else { None };
        let query = self.query_with(start, with)?;
        self.depth -= 1;
        Ok(query)
    }

    /// A query expression after its WITH.
    pub(super) fn query_with(&mut self, start: u32, with: Option<&'a With<'a>>) -> PResult<&'a Query<'a>> {
        let outer = self.into.take();
        let body = self.term()?;
        let query = self.query_tail(start, with, body)?;
        self.into = outer;
        Ok(query)
    }

    /// A query that begins with the parenthesised `first`, whose closing parenthesis was taken.
    pub(super) fn query_after(&mut self, first: &'a Query<'a>) -> PResult<&'a Query<'a>> {
        self.enter()?;
        let outer = self.into.take();
        let query = self.query_tail(first.span.start, None, QueryBody::Parens(first))?;
        self.into = outer;
        self.depth -= 1;
        Ok(query)
    }

    /// Whether a query in parentheses goes on after them.
    pub(super) fn at_query_continuation(&self) -> bool {
        matches!(self.tok.kw, Kw::UNION | Kw::EXCEPT | Kw::INTERSECT | Kw::ORDER | Kw::LIMIT)
    }

    /// Set operators after the first term, then ORDER BY and the rest.
    fn query_tail(&mut self, start: u32, with: Option<&'a With<'a>>, first: QueryBody<'a>) -> PResult<&'a Query<'a>> {
        let body = if matches!(self.tok.kw, Kw::UNION | Kw::EXCEPT | Kw::INTERSECT) { self.set_operations(first)? } else { first };
        let mut query = Query { with, body, order_by: &[], limit: None, locking: &[], into: None, span: self.span_from(start) };
        if self.tok.tok == Tok::Keyword {
            query.order_by = self.optional_order_by()?;
            query.limit = self.optional_limit()?;
            if matches!(self.tok.kw, Kw::INTO | Kw::FOR | Kw::LOCK) {
                query.locking = self.locking_and_into()?;
            }
            if self.at(Kw::PROCEDURE) {
                return Err(self.unexpected());
            }
        }
        query.into = self.into.take();
        query.span = self.span_from(start);
        Ok(self.arena.alloc(query))
    }

    /// UNION and EXCEPT from the left; INTERSECT binds tighter.
    #[inline(never)]
    fn set_operations(&mut self, first: QueryBody<'a>) -> PResult<QueryBody<'a>> {
        let mut left = self.intersections(first)?;
        loop {
            let op = match self.tok.kw {
                Kw::UNION => SetOperator::Union,
                Kw::EXCEPT => SetOperator::Except,
                _ => return Ok(left),
            };
            left = self.set_operation(left, op)?;
        }
    }

    fn intersections(&mut self, mut left: QueryBody<'a>) -> PResult<QueryBody<'a>> {
        while self.at(Kw::INTERSECT) {
            left = self.set_operation(left, SetOperator::Intersect)?;
        }
        Ok(left)
    }

    /// A run of the same operator with the same quantifier.
    fn set_operation(&mut self, left: QueryBody<'a>, op: SetOperator) -> PResult<QueryBody<'a>> {
        self.grow()?;
        let word = self.tok.kw;
        let mut all = None;
        let mut operands = self.vec();
        operands.push(left);
        while self.at(word) {
            let this_all = self.peek().kw == Kw::ALL;
            if all.is_some_and(|all| all != this_all) {
                break;
            }
            all = Some(this_all);
            self.bump();
            if !self.eat(Kw::ALL) {
                self.eat(Kw::DISTINCT);
            }
            let term = self.term()?;
            operands.push(if op == SetOperator::Intersect { term } else { self.intersections(term)? });
        }
        let operands = operands.into_bump_slice();
        Ok(QueryBody::SetOp(self.arena.alloc(SetOp { op, all: all == Some(true), operands })))
    }

    fn term(&mut self) -> PResult<QueryBody<'a>> {
        match self.tok {
            Token { kw: Kw::SELECT, .. } => Ok(QueryBody::Select(self.select()?)),
            Token { kw: Kw::VALUES, .. } => self.values_rows(),
            Token { kw: Kw::TABLE, .. } => {
                self.bump();
                Ok(QueryBody::Table(self.object()?))
            }
            Token { tok: Tok::LParen, .. } => {
                self.bump();
                let query = self.query()?;
                self.expect_tok(Tok::RParen)?;
                Ok(QueryBody::Parens(query))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// `VALUES ROW(…), …`.
    fn values_rows(&mut self) -> PResult<QueryBody<'a>> {
        self.bump();
        let rows = self.list(|p| {
            p.expect(Kw::ROW)?;
            if p.at_tok(Tok::LParen) && p.peek().tok == Tok::RParen {
                p.bump();
                p.bump();
                return Ok(&[][..]);
            }
            p.parens(Self::expr)
        })?;
        Ok(QueryBody::Values(rows))
    }

    /// WITH.
    pub(super) fn with(&mut self) -> PResult<&'a With<'a>> {
        self.expect(Kw::WITH)?;
        let recursive = self.eat(Kw::RECURSIVE);
        let ctes = self.list(|p| {
            let name = p.name()?;
            let columns = p.optional_names()?;
            p.expect(Kw::AS)?;
            Ok(Cte { name, columns, query: p.subquery_in_parens()? })
        })?;
        Ok(self.arena.alloc(With { recursive, ctes }))
    }

    /// One SELECT block.
    fn select(&mut self) -> PResult<&'a Select<'a>> {
        self.select_depth += 1;
        if self.select_depth > SELECT_NESTING_MAX {
            return Err(Box::new(ParseError::new(1473, "HY000", "Too high level of nesting for select".into())));
        }
        self.bump();
        let hints = self.take_hints();
        let mut select = Select {
            options: SelectOptions::default(),
            hints,
            items: &[],
            from: &[],
            filter: None,
            group_by: &[],
            rollup: false,
            having: None,
            windows: &[],
            qualify: None,
        };
        if self.tok.tok == Tok::Keyword {
            select.options = self.select_options()?;
        }
        select.items = self.select_items()?;
        if self.at(Kw::INTO) {
            self.select_into()?;
        }
        if self.eat(Kw::FROM) {
            select.from = self.tables_of_from()?;
        }
        if self.eat(Kw::WHERE) {
            select.filter = Some(self.expr_ref()?);
        }
        if self.tok.tok == Tok::Keyword {
            self.select_tail(&mut select)?;
        }
        self.select_depth -= 1;
        Ok(self.arena.alloc(select))
    }

    fn select_tail(&mut self, select: &mut Select<'a>) -> PResult<()> {
        if self.eat(Kw::GROUP) {
            self.expect(Kw::BY)?;
            if self.at(Kw::ROLLUP) && self.peek().tok == Tok::LParen {
                self.bump();
                select.rollup = true;
                select.group_by = self.parens(Self::group_item)?;
            } else {
                select.group_by = self.list(Self::group_item)?;
                if self.eat(Kw::WITH) {
                    self.expect(Kw::ROLLUP)?;
                    select.rollup = true;
                }
            }
        }
        if self.eat(Kw::HAVING) {
            select.having = Some(self.expr_ref()?);
        }
        select.windows = self.windows()?;
        if self.eat(Kw::QUALIFY) {
            select.qualify = Some(self.expr_ref()?);
        }
        Ok(())
    }

    fn select_options(&mut self) -> PResult<SelectOptions> {
        let mut options = SelectOptions::default();
        let mut all = false;
        loop {
            match self.tok.kw {
                Kw::ALL => all = true,
                Kw::DISTINCT | Kw::DISTINCTROW => options.distinct = true,
                Kw::HIGH_PRIORITY => options.high_priority = true,
                Kw::STRAIGHT_JOIN => options.straight_join = true,
                Kw::SQL_CALC_FOUND_ROWS => options.calc_found_rows = true,
                Kw::SQL_NO_CACHE => options.no_cache = true,
                Kw::SQL_BIG_RESULT => options.big_result = true,
                Kw::SQL_SMALL_RESULT => options.small_result = true,
                Kw::SQL_BUFFER_RESULT => options.buffer_result = true,
                _ => break,
            }
            self.bump();
        }
        if all && options.distinct {
            return Err(Box::new(ParseError::new(1221, "HY000", "Incorrect usage of ALL and DISTINCT".into())));
        }
        Ok(options)
    }

    fn select_items(&mut self) -> PResult<&'a [SelectItem<'a>]> {
        if self.at_tok(Tok::Star) {
            // Only the first item may be a bare star.
            self.bump();
            if !self.at_tok(Tok::Comma) {
                return Ok(&[SelectItem::Wildcard]);
            }
            let mut items = self.vec();
            items.push(SelectItem::Wildcard);
            while self.eat_tok(Tok::Comma) {
                items.push(self.select_item()?);
            }
            return Ok(items.into_bump_slice());
        }
        self.list(Self::select_item)
    }

    fn select_item(&mut self) -> PResult<SelectItem<'a>> {
        if Self::is_name(self.tok)
            && self.dot_is_near()
            && let Some(name) = self.table_wildcard()?
        {
            return Ok(SelectItem::TableWildcard(name));
        }
        let expr = self.expr()?;
        let named = self.eat(Kw::AS) || Self::is_name(self.tok) || self.at_tok(Tok::String);
        let alias = if named { Some(self.alias()?) } else { None };
        Ok(SelectItem::Expr { expr, alias })
    }

    /// A cheap test that spares looking ahead for most items.
    fn dot_is_near(&self) -> bool {
        let rest = &self.lexer.sql[self.lexer.pos..];
        matches!(rest.iter().find(|b| !b.is_ascii_whitespace()), Some(b'.' | b'/' | b'-' | b'#'))
    }

    /// `[schema.]table.*` when that is what comes.
    pub(super) fn table_wildcard(&mut self) -> PResult<Option<ObjectName<'a>>> {
        let first = self.tok;
        let mut ahead = self.lexer;
        if ahead.next().tok != Tok::Dot {
            return Ok(None);
        }
        let second = ahead.next();
        let (schema, table) = if second.tok == Tok::Star {
            (None, first)
        } else if Self::is_name(second) && ahead.next().tok == Tok::Dot && ahead.next().tok == Tok::Star {
            (Some(first), second)
        } else {
            return Ok(None);
        };
        let schema = schema.map(|token| self.name_text(token)).transpose()?;
        let name = self.name_text(table)?;
        while !self.at_tok(Tok::Star) {
            self.bump();
        }
        self.bump();
        Ok(Some(ObjectName { schema, name }))
    }

    /// ORDER BY when it is there.
    #[inline]
    pub fn optional_order_by(&mut self) -> PResult<&'a [OrderItem<'a>]> {
        if !self.eat(Kw::ORDER) {
            return Ok(&[]);
        }
        self.expect(Kw::BY)?;
        self.list(Self::order_item)
    }

    pub(super) fn order_item(&mut self) -> PResult<OrderItem<'a>> {
        let expr = self.expr()?;
        let descending = self.eat(Kw::DESC);
        if !descending {
            self.eat(Kw::ASC);
        }
        Ok(OrderItem { expr, descending })
    }

    /// An item of GROUP BY: it has no direction any more.
    fn group_item(&mut self) -> PResult<OrderItem<'a>> {
        Ok(OrderItem { expr: self.expr()?, descending: false })
    }

    /// LIMIT when it is there.
    #[inline]
    pub fn optional_limit(&mut self) -> PResult<Option<Limit<'a>>> {
        if !self.eat(Kw::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_value()?;
        if self.eat_tok(Tok::Comma) {
            return Ok(Some(Limit { count: self.limit_value()?, offset: Some(first) }));
        }
        let offset = if self.eat(Kw::OFFSET) { Some(self.limit_value()?) } else { None };
        Ok(Some(Limit { count: first, offset }))
    }

    fn limit_value(&mut self) -> PResult<Expr<'a>> {
        let ok = match self.tok.tok {
            Tok::Int => {
                // A lifted value must be one the planner can take as an integer.
                !self.tok.has(LIFTED) || text::int_value(self.bytes(self.tok)).is_some()
            }
            Tok::Question | Tok::Hex => true,
            _ => Self::is_name(self.tok),
        };
        if !ok {
            return Err(self.unexpected());
        }
        let at = self.tok;
        let value = self.simple()?;
        match value.kind {
            ExprKind::Literal(Literal::Int(_) | Literal::Hex(_)) | ExprKind::Param(_) | ExprKind::Column(_) => Ok(value),
            _ => Err(self.error_at(at)),
        }
    }

    /// INTO and locking clauses, in any order MySQL allows.
    #[inline(never)]
    fn locking_and_into(&mut self) -> PResult<&'a [LockClause<'a>]> {
        let mut clauses = self.vec();
        loop {
            match self.tok.kw {
                Kw::INTO => self.select_into()?,
                Kw::FOR => clauses.push(self.lock_clause()?),
                Kw::LOCK => {
                    self.bump();
                    self.expect(Kw::IN)?;
                    self.expect(Kw::SHARE)?;
                    self.expect(Kw::MODE)?;
                    clauses.push(LockClause { strength: LockStrength::Share, of: &[], wait: LockWait::Wait });
                }
                _ => return Ok(clauses.into_bump_slice()),
            }
        }
    }

    fn lock_clause(&mut self) -> PResult<LockClause<'a>> {
        self.bump();
        let strength = if self.eat(Kw::UPDATE) {
            LockStrength::Update
        } else {
            self.expect(Kw::SHARE)?;
            LockStrength::Share
        };
        let of = if self.eat(Kw::OF) { self.list(Self::object)? } else { &[] };
        let wait = if self.eat(Kw::NOWAIT) {
            LockWait::NoWait
        } else if self.eat(Kw::SKIP) {
            self.expect(Kw::LOCKED)?;
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(LockClause { strength, of, wait })
    }

    /// INTO variables, OUTFILE or DUMPFILE.
    fn select_into(&mut self) -> PResult<()> {
        if self.into.is_some() {
            return Err(self.unexpected());
        }
        self.expect(Kw::INTO)?;
        let into = if self.eat(Kw::OUTFILE) {
            let path = self.string()?;
            let charset = self.optional_charset()?;
            SelectInto::Outfile { path, charset, format: self.file_format()? }
        } else if self.eat(Kw::DUMPFILE) {
            SelectInto::Dumpfile(self.string()?)
        } else {
            SelectInto::Variables(self.list(|p| {
                if p.at_tok(Tok::UserVar) {
                    return Ok(IntoTarget::User(p.user_var()?));
                }
                Ok(IntoTarget::Local(p.name()?))
            })?)
        };
        self.into = Some(self.arena.alloc(into));
        Ok(())
    }
}
