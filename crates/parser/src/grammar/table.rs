//! FROM: tables, subqueries, joins.

use super::{PResult, Parser};
use crate::ast::{
    Derived, IndexHint, IndexHintKind, IndexHintScope, Join, JoinCondition, JoinKind, ObjectName, Query, TableFactor, TableRef,
};
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::Tok;

/// A reference on the join stack.
#[derive(Clone, Copy)]
struct Pending<'a> {
    table: TableRef<'a>,
    /// Built by joins outside parentheses at this level.
    joined: bool,
    /// The join that waits for a condition between the reference before and this one.
    kind: JoinKind,
}

/// What a parenthesis in FROM held.
enum Inside<'a> {
    Query(&'a Query<'a>),
    Table(TableRef<'a>),
}

impl<'a> Parser<'a> {
    /// What follows FROM.
    pub(super) fn tables_of_from(&mut self) -> PResult<&'a [TableRef<'a>]> {
        if self.eat(Kw::DUAL) {
            return Ok(&[]);
        }
        self.table_refs()
    }

    /// References separated by commas.
    pub(super) fn table_refs(&mut self) -> PResult<&'a [TableRef<'a>]> {
        self.list(Self::table_ref)
    }

    /// A reference with its joins.
    #[inline]
    pub(super) fn table_ref(&mut self) -> PResult<TableRef<'a>> {
        let first = self.table_factor()?;
        if self.tok.tok == Tok::Keyword && self.join_kind().is_some() { self.joins(first) } else { Ok(first) }
    }

    /// The join that begins at the current word.
    fn join_kind(&self) -> Option<JoinKind> {
        match self.tok.kw {
            Kw::JOIN | Kw::INNER | Kw::CROSS | Kw::NATURAL => Some(JoinKind::Inner),
            Kw::STRAIGHT_JOIN => Some(JoinKind::Straight),
            Kw::LEFT => Some(JoinKind::Left),
            Kw::RIGHT => Some(JoinKind::Right),
            _ => None,
        }
    }

    /// Joins after `first`. A condition belongs to the nearest join without one, as in `a JOIN b JOIN c ON … ON …`; joins left
    /// without a condition are cross joins, which bind from the left.
    #[inline(never)]
    fn joins(&mut self, first: TableRef<'a>) -> PResult<TableRef<'a>> {
        let mut stack = self.vec();
        stack.push(Pending { table: first, joined: false, kind: JoinKind::Inner });
        loop {
            if matches!(self.tok.kw, Kw::ON | Kw::USING) && stack.len() > 1 {
                let condition = self.join_condition()?;
                self.reduce(&mut stack, condition);
                continue;
            }
            let Some(mut kind) = self.join_kind() else { break };
            let natural = self.eat(Kw::NATURAL);
            if natural {
                kind = self.join_kind().ok_or_else(|| self.unexpected())?;
            }
            match kind {
                JoinKind::Inner => {
                    if !self.eat(Kw::INNER) && !natural {
                        self.eat(Kw::CROSS);
                    }
                    self.expect(Kw::JOIN)?;
                }
                JoinKind::Straight if natural => return Err(self.unexpected()),
                JoinKind::Straight => self.bump(),
                JoinKind::Left | JoinKind::Right => {
                    self.bump();
                    self.eat(Kw::OUTER);
                    self.expect(Kw::JOIN)?;
                }
            }
            self.grow()?;
            let table = self.table_factor()?;
            if natural {
                let left = stack.pop().map_or(table, |left| left.table);
                let joined = self.join(kind, true, left, table, JoinCondition::None);
                let kind = stack.last().map_or(JoinKind::Inner, |p| p.kind);
                stack.push(Pending { table: joined, joined: true, kind });
            } else {
                stack.push(Pending { table, joined: false, kind });
            }
        }
        while stack.len() > 1 {
            if stack.last().is_some_and(|last| matches!(last.kind, JoinKind::Left | JoinKind::Right)) {
                return Err(self.unexpected()); // An outer join needs a condition.
            }
            self.reduce(&mut stack, JoinCondition::None);
        }
        stack.first().map(|p| p.table).ok_or_else(|| self.unexpected())
    }

    /// Joins the two references on top of the stack.
    fn reduce(&self, stack: &mut bumpalo::collections::Vec<'a, Pending<'a>>, condition: JoinCondition<'a>) {
        let (Some(right), Some(left)) = (stack.pop(), stack.pop()) else { return };
        let bare = matches!(condition, JoinCondition::None);
        let table = if bare && right.joined {
            self.cross_leftmost(left.table, right.table, right.kind)
        } else {
            self.join(right.kind, false, left.table, right.table, condition)
        };
        stack.push(Pending { table, joined: true, kind: left.kind });
    }

    /// `left × (a JOIN b …)` as `(left × a) JOIN b …`: what MySQL makes of a cross join without a condition.
    fn cross_leftmost(&self, left: TableRef<'a>, right: TableRef<'a>, kind: JoinKind) -> TableRef<'a> {
        let mut spine = self.vec();
        let mut at = right;
        while let TableRef::Join(join) = at {
            spine.push(*join);
            at = join.left;
        }
        let mut table = self.join(kind, false, left, at, JoinCondition::None);
        for join in spine.iter().rev() {
            table = TableRef::Join(self.arena.alloc(Join { left: table, ..*join }));
        }
        table
    }

    fn join(&self, kind: JoinKind, natural: bool, left: TableRef<'a>, right: TableRef<'a>, condition: JoinCondition<'a>) -> TableRef<'a> {
        TableRef::Join(self.arena.alloc(Join { kind, natural, left, right, condition }))
    }

    fn join_condition(&mut self) -> PResult<JoinCondition<'a>> {
        if self.eat(Kw::ON) {
            return Ok(JoinCondition::On(self.expr_ref()?));
        }
        self.expect(Kw::USING)?;
        Ok(JoinCondition::Using(self.names_in_parens()?))
    }

    /// A table, a subquery, or references in parentheses.
    #[inline]
    fn table_factor(&mut self) -> PResult<TableRef<'a>> {
        if Self::is_name(self.tok) {
            return self.named_table();
        }
        self.other_table()
    }

    fn named_table(&mut self) -> PResult<TableRef<'a>> {
        let name = self.object()?;
        let mut factor = TableFactor { name, alias: None, partitions: &[], index_hints: &[] };
        if !matches!(self.tok.tok, Tok::Eof | Tok::Comma | Tok::RParen) {
            if self.eat(Kw::PARTITION) {
                factor.partitions = self.names_in_parens()?;
            }
            factor.alias = self.table_alias()?;
            if matches!(self.tok.kw, Kw::USE | Kw::FORCE | Kw::IGNORE) {
                factor.index_hints = self.index_hints()?;
            }
            if self.at(Kw::TABLESAMPLE) {
                return Err(Box::new(ParseError::unsupported("TABLESAMPLE")));
            }
        }
        Ok(TableRef::Table(self.arena.alloc(factor)))
    }

    pub(super) fn table_alias(&mut self) -> PResult<Option<&'a str>> {
        if self.eat(Kw::AS) || self.eat_tok(Tok::Eq) {
            return Ok(Some(self.table_alias_name()?));
        }
        if Self::is_name(self.tok) { Ok(Some(self.table_alias_name()?)) } else { Ok(None) }
    }

    fn table_alias_name(&mut self) -> PResult<&'a str> {
        if !Self::is_name(self.tok) {
            return Err(self.unexpected());
        }
        self.alias()
    }

    #[inline(never)]
    fn other_table(&mut self) -> PResult<TableRef<'a>> {
        if self.at(Kw::JSON_TABLE) {
            return self.json_table();
        }
        if self.eat(Kw::LATERAL) {
            let query = self.subquery_in_parens()?;
            return self.derived(query, true);
        }
        if self.at_tok(Tok::LBrace) {
            // ODBC `{OJ a LEFT JOIN b ON …}`.
            self.enter()?;
            self.bump();
            self.name()?;
            let table = self.table_ref()?;
            self.expect_tok(Tok::RBrace)?;
            self.depth -= 1;
            return Ok(table);
        }
        if !self.at_tok(Tok::LParen) {
            return Err(self.unexpected());
        }
        match self.parenthesised_table()? {
            Inside::Query(query) => self.derived(query, false),
            Inside::Table(table) => Ok(table),
        }
    }

    /// `( … )`, where `((SELECT …) UNION …)` and `((SELECT …) AS a JOIN b)` differ only late.
    fn parenthesised_table(&mut self) -> PResult<Inside<'a>> {
        self.enter()?;
        if matches!(self.peek().kw, Kw::SELECT | Kw::WITH | Kw::VALUES | Kw::TABLE) {
            let query = self.subquery_in_parens()?;
            self.depth -= 1;
            return Ok(Inside::Query(query));
        }
        self.expect_tok(Tok::LParen)?;
        let first = if self.at_tok(Tok::LParen) {
            match self.parenthesised_table()? {
                Inside::Query(query) if self.at_query_continuation() => {
                    let query = self.query_after(query)?;
                    self.expect_tok(Tok::RParen)?;
                    self.depth -= 1;
                    return Ok(Inside::Query(query));
                }
                Inside::Query(query) if self.at_tok(Tok::RParen) => {
                    self.bump();
                    self.depth -= 1;
                    return Ok(Inside::Query(query));
                }
                Inside::Query(query) => self.derived(query, false)?,
                Inside::Table(table) => table,
            }
        } else {
            self.table_factor()?
        };
        let first = if self.join_kind().is_some() { self.joins(first)? } else { first };
        let table = if self.eat_tok(Tok::Comma) {
            let mut tables = self.vec();
            tables.push(first);
            tables.extend_from_slice_copy(self.table_refs()?);
            TableRef::List(tables.into_bump_slice())
        } else {
            first
        };
        self.expect_tok(Tok::RParen)?;
        self.depth -= 1;
        Ok(Inside::Table(table))
    }

    fn derived(&mut self, query: &'a Query<'a>, lateral: bool) -> PResult<TableRef<'a>> {
        let Some(alias) = self.table_alias()? else {
            return Err(Box::new(ParseError::new(1248, "42000", "Every derived table must have its own alias".into())));
        };
        let columns = self.optional_names()?;
        Ok(TableRef::Derived(self.arena.alloc(Derived { lateral, query, alias, columns })))
    }

    fn index_hints(&mut self) -> PResult<&'a [IndexHint<'a>]> {
        let mut hints = self.vec();
        loop {
            let kind = match self.tok.kw {
                Kw::USE => IndexHintKind::Use,
                Kw::FORCE => IndexHintKind::Force,
                Kw::IGNORE => IndexHintKind::Ignore,
                _ => return Ok(hints.into_bump_slice()),
            };
            self.bump();
            if !self.eat(Kw::INDEX) {
                self.expect(Kw::KEY)?;
            }
            let mut scope = None;
            if self.eat(Kw::FOR) {
                scope = Some(match self.tok.kw {
                    Kw::JOIN => IndexHintScope::Join,
                    Kw::ORDER => IndexHintScope::OrderBy,
                    Kw::GROUP => IndexHintScope::GroupBy,
                    _ => return Err(self.unexpected()),
                });
                self.bump();
                if scope != Some(IndexHintScope::Join) {
                    self.expect(Kw::BY)?;
                }
            }
            self.expect_tok(Tok::LParen)?;
            let names = if kind == IndexHintKind::Use && self.at_tok(Tok::RParen) { &[][..] } else { self.list(Self::index_name)? };
            self.expect_tok(Tok::RParen)?;
            hints.push(IndexHint { kind, scope, names });
        }
    }

    /// An index name; PRIMARY is one.
    pub(super) fn index_name(&mut self) -> PResult<&'a str> {
        if self.eat(Kw::PRIMARY) {
            return Ok("PRIMARY");
        }
        self.name()
    }

    /// `[schema.]name` or `name.*`-less table list item.
    pub(super) fn objects(&mut self) -> PResult<&'a [ObjectName<'a>]> {
        self.list(Self::object)
    }
}
