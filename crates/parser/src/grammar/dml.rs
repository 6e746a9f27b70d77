//! INSERT, REPLACE, UPDATE, DELETE, CALL, DO.

use super::{PResult, Parser};
use crate::ast::{
    Assignment, Call, ColumnRef, Delete, Expr, ExprKind, Insert, InsertSource, ObjectName, Query, QueryBody, RowAlias, Statement, Update,
    With,
};
use crate::keyword::Kw;
use crate::lexer::{Tok, Token};

impl<'a> Parser<'a> {
    /// INSERT and REPLACE.
    #[inline(never)]
    pub(super) fn insert(&mut self) -> PResult<Statement<'a>> {
        let replace = self.at(Kw::REPLACE);
        self.bump();
        let hints = self.take_hints();
        let mut insert = Insert {
            replace,
            ignore: false,
            priority: false,
            delayed: false,
            hints,
            table: ObjectName { schema: None, name: "" },
            partitions: &[],
            columns: None,
            source: InsertSource::Values(&[]),
            row_alias: None,
            on_duplicate: &[],
        };
        while matches!(self.tok.kw, Kw::LOW_PRIORITY | Kw::DELAYED | Kw::HIGH_PRIORITY) {
            insert.priority = true;
            insert.delayed |= self.at(Kw::DELAYED);
            self.bump();
        }
        insert.ignore = !replace && self.eat(Kw::IGNORE);
        self.eat(Kw::INTO);
        insert.table = self.object()?;
        if self.eat(Kw::PARTITION) {
            insert.partitions = self.names_in_parens()?;
        }
        if self.eat(Kw::SET) {
            self.insert_set(&mut insert)?;
        } else {
            if self.at_tok(Tok::LParen) && !self.parenthesis_opens_query() {
                insert.columns = Some(self.insert_columns()?);
            }
            self.insert_source(&mut insert)?;
        }
        if !replace && self.at(Kw::AS) {
            self.bump();
            let name = self.name()?;
            insert.row_alias = Some(RowAlias { name, columns: self.optional_names()? });
        }
        if !replace && self.eat(Kw::ON) {
            self.expect(Kw::DUPLICATE)?;
            self.expect(Kw::KEY)?;
            self.expect(Kw::UPDATE)?;
            insert.on_duplicate = self.list(Self::assignment)?;
        }
        Ok(Statement::Insert(self.arena.alloc(insert)))
    }

    /// Whether the parenthesis looked at begins a query, not a list of columns.
    fn parenthesis_opens_query(&self) -> bool {
        let next = self.peek();
        next.tok == Tok::LParen || matches!(next.kw, Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES)
    }

    fn insert_columns(&mut self) -> PResult<&'a [ColumnRef<'a>]> {
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::RParen) {
            return Ok(&[]);
        }
        let columns = self.list(Self::column_ref)?;
        self.expect_tok(Tok::RParen)?;
        Ok(columns)
    }

    fn insert_set(&mut self, insert: &mut Insert<'a>) -> PResult<()> {
        let (mut columns, mut values) = (self.vec(), self.vec());
        loop {
            let assignment = self.assignment()?;
            columns.push(assignment.column);
            values.push(assignment.value);
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        insert.columns = Some(columns.into_bump_slice());
        let row: &'a [Expr<'a>] = values.into_bump_slice();
        insert.source = InsertSource::Values(std::slice::from_ref(self.arena.alloc(row)));
        Ok(())
    }

    fn insert_source(&mut self, insert: &mut Insert<'a>) -> PResult<()> {
        let values = match self.tok.kw {
            // `VALUES ROW(…)` is a table value constructor.
            Kw::VALUES => self.peek().kw != Kw::ROW,
            Kw::VALUE => true,
            _ => false,
        };
        if values {
            self.bump();
            insert.source = match self.literal_rows() {
                Some(rows) => InsertSource::Literals(rows),
                None => InsertSource::Values(self.list(Self::insert_row)?),
            };
            return Ok(());
        }
        if !matches!(self.tok, Token { kw: Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES, .. } | Token { tok: Tok::LParen, .. }) {
            return Err(self.unexpected());
        }
        let query = self.query()?;
        insert.source = match query.body {
            QueryBody::Values(rows) if query.is_bare() => InsertSource::Values(rows),
            _ => InsertSource::Query(unwrap_parens(query)),
        };
        Ok(())
    }

    fn insert_row(&mut self) -> PResult<&'a [Expr<'a>]> {
        self.expect_tok(Tok::LParen)?;
        if self.eat_tok(Tok::RParen) {
            return Ok(&[]);
        }
        let row = self.list(Self::expr)?;
        self.expect_tok(Tok::RParen)?;
        Ok(row)
    }

    /// `column = value`.
    pub(super) fn assignment(&mut self) -> PResult<Assignment<'a>> {
        let column = self.column_ref()?;
        if !self.eat_tok(Tok::Eq) {
            self.expect_tok(Tok::Assign)?;
        }
        Ok(Assignment { column, value: self.expr()? })
    }

    /// UPDATE.
    #[inline(never)]
    pub(super) fn update(&mut self, with: Option<&'a With<'a>>) -> PResult<Statement<'a>> {
        self.bump();
        let hints = self.take_hints();
        let low_priority = self.eat(Kw::LOW_PRIORITY);
        let ignore = self.eat(Kw::IGNORE);
        let tables = self.table_refs()?;
        self.expect(Kw::SET)?;
        let assignments = self.list(Self::assignment)?;
        let filter = if self.eat(Kw::WHERE) { Some(self.expr_ref()?) } else { None };
        let order_by = self.optional_order_by()?;
        let limit = self.single_limit()?;
        let update = Update { with, ignore, low_priority, hints, tables, assignments, filter, order_by, limit };
        Ok(Statement::Update(self.arena.alloc(update)))
    }

    /// LIMIT without an offset.
    fn single_limit(&mut self) -> PResult<Option<crate::ast::Limit<'a>>> {
        let limit = self.optional_limit()?;
        if limit.is_some_and(|l| l.offset.is_some()) {
            return Err(self.unexpected());
        }
        Ok(limit)
    }

    /// DELETE.
    #[inline(never)]
    pub(super) fn delete(&mut self, with: Option<&'a With<'a>>) -> PResult<Statement<'a>> {
        self.bump();
        let hints = self.take_hints();
        let mut delete = Delete {
            with,
            ignore: false,
            low_priority: false,
            quick: false,
            hints,
            targets: &[],
            from: &[],
            filter: None,
            order_by: &[],
            limit: None,
        };
        loop {
            match self.tok.kw {
                Kw::LOW_PRIORITY => delete.low_priority = true,
                Kw::QUICK if self.peek().tok != Tok::Comma && self.peek().tok != Tok::Dot => delete.quick = true,
                Kw::IGNORE => delete.ignore = true,
                _ => break,
            }
            self.bump();
        }
        let mut single = false;
        if self.eat(Kw::FROM) {
            let table = self.tok;
            let targets = self.list(Self::delete_target)?;
            if self.eat(Kw::USING) {
                delete.targets = targets;
                delete.from = self.table_refs()?;
            } else {
                let &[name] = targets else { return Err(self.unexpected()) };
                if self.prev_end > 0 && self.lexer.sql[self.prev_end as usize - 1] == b'*' && table.end != self.prev_end {
                    return Err(self.unexpected());
                }
                delete.from = std::slice::from_ref(self.arena.alloc(self.delete_table(name)?));
                single = true;
            }
        } else {
            delete.targets = self.list(Self::delete_target)?;
            self.expect(Kw::FROM)?;
            delete.from = self.table_refs()?;
        }
        delete.filter = if self.eat(Kw::WHERE) { Some(self.expr_ref()?) } else { None };
        if single {
            delete.order_by = self.optional_order_by()?;
            delete.limit = self.single_limit()?;
        }
        Ok(Statement::Delete(self.arena.alloc(delete)))
    }

    /// `[schema.]table[.*]`.
    fn delete_target(&mut self) -> PResult<ObjectName<'a>> {
        if let Some(name) = self.table_wildcard_if_name()? {
            return Ok(name);
        }
        self.object()
    }

    fn table_wildcard_if_name(&mut self) -> PResult<Option<ObjectName<'a>>> {
        if Self::is_name(self.tok) { self.table_wildcard() } else { Ok(None) }
    }

    fn delete_table(&mut self, name: ObjectName<'a>) -> PResult<crate::ast::TableRef<'a>> {
        let alias = self.table_alias()?;
        let partitions = if self.eat(Kw::PARTITION) { self.names_in_parens()? } else { &[] };
        Ok(crate::ast::TableRef::Table(self.arena.alloc(crate::ast::TableFactor { name, alias, partitions, index_hints: &[] })))
    }

    /// CALL.
    pub(super) fn call_statement(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let name = self.object()?;
        let mut args = &[][..];
        if self.eat_tok(Tok::LParen) {
            if !self.at_tok(Tok::RParen) {
                args = self.list(Self::expr)?;
            }
            self.expect_tok(Tok::RParen)?;
        }
        Ok(Statement::Call(self.arena.alloc(Call { name, args })))
    }

    /// DO.
    pub(super) fn do_statement(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let exprs = self.list(|p| {
            let expr = p.expr()?;
            if p.eat(Kw::AS) || Self::is_name(p.tok) {
                p.alias()?;
            }
            Ok(expr)
        })?;
        if exprs.iter().any(|e| matches!(e.kind, ExprKind::Default)) {
            return Err(self.unexpected());
        }
        Ok(Statement::Do(exprs))
    }
}

/// `(SELECT …)` as `SELECT …` where nothing stands outside the parentheses.
fn unwrap_parens<'a>(mut query: &'a Query<'a>) -> &'a Query<'a> {
    while let QueryBody::Parens(inner) = query.body
        && query.is_bare()
    {
        query = inner;
    }
    query
}
