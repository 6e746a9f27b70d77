//! Expressions: operators by precedence, and the simple expressions between them.
//!
//! Levels, loosest first: OR, XOR, AND, NOT, comparisons and IS, predicates (IN, BETWEEN, LIKE, REGEXP, …), `|`, `&`, shifts,
//! `+ -`, `* / DIV % MOD`, `^`, `||` as concatenation, unary, COLLATE.

use super::function::minds_space;
use super::{PResult, Parser, RUN_HEIGHT_MAX};
use crate::ast::{BinaryOp, Case, ColumnRef, Expr, ExprKind, Introduced, IsTest, Literal, ObjectName, Query, SysVar, UnaryOp, VarScope};
use crate::keyword::Kw;
use crate::lexer::{LIFTED, Tok, Token};
use crate::mode::SqlMode;
use crate::text;
use bumpalo::collections::Vec as ArenaVec;

const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
pub(super) const COMPARISON: u8 = 5;
const PREDICATE: u8 = 6;
/// Operands of predicates: MySQL's `bit_expr`.
pub(super) const BIT_OR: u8 = 7;
const BIT_AND: u8 = 8;
const SHIFT: u8 = 9;
const ADD: u8 = 10;
const MUL: u8 = 11;
const BIT_XOR: u8 = 12;
/// MySQL's `simple_expr`.
const CONCAT: u8 = 13;
/// Operands of unary operators.
const UNARY: u8 = 14;
const COLLATE: u8 = 15;

impl<'a> Parser<'a> {
    /// Any expression.
    #[inline]
    pub fn expr(&mut self) -> PResult<Expr<'a>> {
        self.expr_above(OR)
    }

    /// Any expression, in the arena.
    #[inline]
    pub fn expr_ref(&mut self) -> PResult<&'a Expr<'a>> {
        let expr = self.expr()?;
        Ok(self.arena.alloc(expr))
    }

    /// An expression of operators that bind at least as tightly as `level`.
    pub fn expr_above(&mut self, level: u8) -> PResult<Expr<'a>> {
        self.enter()?;
        let outer = std::mem::take(&mut self.height);
        let left = self.prefix(level)?;
        let expr = self.infix(left, level)?;
        self.height = outer.max(self.height + 1);
        self.depth -= 1;
        Ok(expr)
    }

    fn operand(&mut self, level: u8) -> PResult<&'a Expr<'a>> {
        let expr = self.expr_above(level)?;
        Ok(self.arena.alloc(expr))
    }

    pub(super) fn node(&self, start: u32, kind: ExprKind<'a>) -> Expr<'a> {
        Expr { kind, span: self.span_from(start) }
    }

    #[inline]
    fn prefix(&mut self, level: u8) -> PResult<Expr<'a>> {
        let op = match self.tok.tok {
            Tok::Keyword => match self.tok.kw {
                Kw::NOT => {
                    if self.lexer.mode.has(SqlMode::HIGH_NOT_PRECEDENCE) {
                        return self.unary(UnaryOp::Not, UNARY);
                    }
                    if level > NOT {
                        return Err(self.unexpected());
                    }
                    return self.unary(UnaryOp::Not, NOT);
                }
                Kw::BINARY => UnaryOp::Binary,
                _ => return self.simple(),
            },
            Tok::Minus => UnaryOp::Neg,
            Tok::Plus => UnaryOp::Plus,
            Tok::Tilde => UnaryOp::BitNot,
            Tok::Bang => UnaryOp::Not,
            _ => return self.simple(),
        };
        self.unary(op, UNARY)
    }

    #[inline(never)]
    fn unary(&mut self, op: UnaryOp, level: u8) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        let operand = self.operand(level)?;
        Ok(self.node(start, ExprKind::Unary(op, operand)))
    }

    /// Operators after `left`, as long as they bind at least as tightly as `level`.
    #[inline(always)]
    fn infix(&mut self, mut left: Expr<'a>, level: u8) -> PResult<Expr<'a>> {
        // The level of what `left` is by now: what binds more tightly would have been its right operand's.
        let mut built = u8::MAX;
        loop {
            let (op, bound) = match self.tok.tok {
                Tok::Eq => (BinaryOp::Eq, COMPARISON),
                Tok::NullEq => (BinaryOp::NullSafeEq, COMPARISON),
                Tok::Ne => (BinaryOp::Ne, COMPARISON),
                Tok::Lt => (BinaryOp::Lt, COMPARISON),
                Tok::Le => (BinaryOp::Le, COMPARISON),
                Tok::Gt => (BinaryOp::Gt, COMPARISON),
                Tok::Ge => (BinaryOp::Ge, COMPARISON),
                Tok::Plus => (BinaryOp::Add, ADD),
                Tok::Minus => (BinaryOp::Sub, ADD),
                Tok::Star => (BinaryOp::Mul, MUL),
                Tok::Slash => (BinaryOp::Div, MUL),
                Tok::Percent => (BinaryOp::Mod, MUL),
                Tok::Pipe => (BinaryOp::BitOr, BIT_OR),
                Tok::Amp => (BinaryOp::BitAnd, BIT_AND),
                Tok::Caret => (BinaryOp::BitXor, BIT_XOR),
                Tok::Shl => (BinaryOp::ShiftLeft, SHIFT),
                Tok::Shr => (BinaryOp::ShiftRight, SHIFT),
                Tok::PipePipe if self.lexer.mode.has(SqlMode::PIPES_AS_CONCAT) => (BinaryOp::Concat, CONCAT),
                Tok::PipePipe => {
                    if level > OR {
                        return Ok(left);
                    }
                    left = self.chain(left, OR)?;
                    built = OR;
                    continue;
                }
                Tok::AmpAmp => {
                    if level > AND {
                        return Ok(left);
                    }
                    left = self.chain(left, AND)?;
                    built = AND;
                    continue;
                }
                Tok::Keyword => match self.tok.kw {
                    Kw::AND if level <= AND => {
                        left = self.chain(left, AND)?;
                        built = AND;
                        continue;
                    }
                    Kw::OR if level <= OR => {
                        left = self.chain(left, OR)?;
                        built = OR;
                        continue;
                    }
                    Kw::XOR => (BinaryOp::Xor, XOR),
                    Kw::DIV => (BinaryOp::IntDiv, MUL),
                    Kw::MOD => (BinaryOp::Mod, MUL),
                    Kw::IS if level <= COMPARISON => {
                        self.follows(COMPARISON, built)?;
                        left = self.is_test(left)?;
                        // IS NULL is one more comparison, the others are none.
                        let is_null = matches!(left.kind, ExprKind::Is { test: IsTest::Null, .. });
                        built = if is_null { COMPARISON } else { NOT };
                        continue;
                    }
                    Kw::NOT | Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE | Kw::SOUNDS | Kw::MEMBER if level <= PREDICATE => {
                        match self.predicate(left, built)? {
                            (expr, true) => left = expr,
                            (expr, false) => return Ok(expr),
                        }
                        built = COMPARISON;
                        continue;
                    }
                    Kw::COLLATE if level <= COLLATE => {
                        self.follows(COLLATE, built)?;
                        left = self.collate(left)?;
                        continue;
                    }
                    _ => return Ok(left),
                },
                _ => return Ok(left),
            };
            if bound < level {
                return Ok(left);
            }
            self.follows(bound, built)?;
            left = self.binary(left, op, bound)?;
            // `+ INTERVAL n unit` ends with a word: nothing behind it could have been its own.
            built = if matches!(left.kind, ExprKind::DateAdd { .. }) { BIT_XOR } else { bound };
        }
    }

    /// Refuses an operator behind what binds less tightly.
    #[inline]
    fn follows(&self, bound: u8, built: u8) -> PResult<()> {
        if bound > built && !self.stored { Err(self.unexpected()) } else { Ok(()) }
    }

    /// The rest of any expression that begins with `left`.
    pub(super) fn any_infix(&mut self, left: Expr<'a>) -> PResult<Expr<'a>> {
        self.rest(left, OR)
    }

    /// The rest of what a sum or difference has on its right, which begins with `left`.
    pub(super) fn summand(&mut self, left: Expr<'a>) -> PResult<Expr<'a>> {
        self.rest(left, ADD + 1)
    }

    /// The operators once more, for those who have the left operand already: so that all others have them inlined.
    #[inline(never)]
    fn rest(&mut self, left: Expr<'a>, level: u8) -> PResult<Expr<'a>> {
        self.infix(left, level)
    }

    #[inline(never)]
    fn binary(&mut self, left: Expr<'a>, op: BinaryOp, bound: u8) -> PResult<Expr<'a>> {
        let start = left.span.start;
        self.bump();
        if self.tok.tok == Tok::Keyword {
            match self.tok.kw {
                Kw::INTERVAL if matches!(op, BinaryOp::Add | BinaryOp::Sub) => return self.plus_interval(left, op == BinaryOp::Sub),
                Kw::ALL | Kw::ANY | Kw::SOME if bound == COMPARISON && self.peek().tok == Tok::LParen => return self.quantified(left, op),
                _ => {}
            }
        }
        let right = self.operand(bound + 1)?;
        if !is_long_run(op, &left) {
            self.grow()?;
        }
        let left = self.arena.alloc(left);
        Ok(self.node(start, ExprKind::Binary { op, left, right }))
    }

    /// AND or OR: all operands of an unbroken chain in one list.
    #[inline(never)]
    fn chain(&mut self, left: Expr<'a>, level: u8) -> PResult<Expr<'a>> {
        let start = left.span.start;
        let mut operands = match operands_of(&left, level) {
            Some(_) => self.operands_of_more(&left, level),
            None => {
                self.grow()?;
                let mut operands = bumpalo::collections::Vec::with_capacity_in(2, self.arena);
                operands.push(left);
                operands
            }
        };
        self.more_operands(&mut operands, level)?;
        Ok(self.chained(start, operands, level))
    }

    /// The operands of a chain in parentheses, to which more are added: `(a OR b) OR c` is one chain, as MySQL has it.
    #[cold]
    pub(super) fn operands_of_more(&self, chain: &Expr<'a>, level: u8) -> Operands<'a> {
        let list = operands_of(chain, level).unwrap_or_default();
        let mut operands = bumpalo::collections::Vec::with_capacity_in(list.len() + 1, self.arena);
        operands.extend_from_slice_copy(list);
        operands
    }

    /// Operators of `level`, which is that of AND or OR, with what is on their right.
    pub(super) fn more_operands(&mut self, operands: &mut Operands<'a>, level: u8) -> PResult<()> {
        while self.junction() == Some(level) {
            self.bump();
            operands.push(self.expr_above(level + 1)?);
        }
        Ok(())
    }

    /// The level of the AND or OR that is looked at.
    #[inline]
    pub(super) fn junction(&self) -> Option<u8> {
        match self.tok.tok {
            Tok::AmpAmp => Some(AND),
            Tok::PipePipe if !self.lexer.mode.has(SqlMode::PIPES_AS_CONCAT) => Some(OR),
            Tok::Keyword if self.tok.kw == Kw::AND => Some(AND),
            Tok::Keyword if self.tok.kw == Kw::OR => Some(OR),
            _ => None,
        }
    }

    pub(super) fn chained(&self, start: u32, operands: Operands<'a>, level: u8) -> Expr<'a> {
        let operands = operands.into_bump_slice();
        self.node(start, if level == AND { ExprKind::And(operands) } else { ExprKind::Or(operands) })
    }

    #[inline(never)]
    fn is_test(&mut self, left: Expr<'a>) -> PResult<Expr<'a>> {
        self.bump();
        let negated = self.eat(Kw::NOT);
        let test = match self.tok {
            Token { kw: Kw::NULL, .. } => IsTest::Null,
            Token { kw: Kw::TRUE, .. } => IsTest::True,
            Token { kw: Kw::FALSE, .. } => IsTest::False,
            Token { kw: Kw::UNKNOWN, .. } => IsTest::Unknown,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        self.grow()?;
        let start = left.span.start;
        let expr = self.arena.alloc(left);
        Ok(self.node(start, ExprKind::Is { expr, test, negated }))
    }

    #[inline(never)]
    fn collate(&mut self, left: Expr<'a>) -> PResult<Expr<'a>> {
        self.bump();
        let collation = self.charset_name()?;
        self.grow()?;
        let start = left.span.start;
        let expr = self.arena.alloc(left);
        Ok(self.node(start, ExprKind::Collate { expr, collation }))
    }

    #[inline(never)]
    fn quantified(&mut self, left: Expr<'a>, op: BinaryOp) -> PResult<Expr<'a>> {
        let all = self.at(Kw::ALL);
        self.bump();
        let query = unlimited(self.subquery_in_parens()?)?;
        self.grow()?;
        let start = left.span.start;
        let left = self.arena.alloc(left);
        Ok(self.node(start, ExprKind::Quantified { op, left, all, query }))
    }

    /// IN, BETWEEN, LIKE, … `false` when the word turned out not to be an operator.
    #[inline(never)]
    fn predicate(&mut self, left: Expr<'a>, built: u8) -> PResult<(Expr<'a>, bool)> {
        let start = left.span.start;
        let mut negated = false;
        match self.tok.kw {
            Kw::NOT => {
                if !matches!(self.peek().kw, Kw::IN | Kw::BETWEEN | Kw::LIKE | Kw::REGEXP | Kw::RLIKE) {
                    return Ok((left, false));
                }
                self.follows(PREDICATE, built)?;
                self.bump();
                negated = true;
            }
            // Where no operator may come it is an alias.
            Kw::SOUNDS if self.peek().kw != Kw::LIKE || PREDICATE > built => return Ok((left, false)),
            Kw::MEMBER if self.peek().kw != Kw::OF => return Ok((left, false)),
            _ => {}
        }
        self.follows(PREDICATE, built)?;
        let word = self.tok.kw;
        self.bump();
        let expr: &'a Expr<'a> = self.arena.alloc(left);
        let kind = match word {
            Kw::IN => self.in_list(expr, negated)?,
            Kw::BETWEEN => {
                let low = self.operand(BIT_OR)?;
                self.expect(Kw::AND)?;
                let high = self.operand(PREDICATE)?;
                ExprKind::Between { expr, low, high, negated }
            }
            Kw::LIKE => {
                let pattern = self.operand(CONCAT)?;
                let escape = if self.eat(Kw::ESCAPE) { Some(self.operand(CONCAT)?) } else { None };
                ExprKind::Like { expr, pattern, escape, negated }
            }
            Kw::REGEXP | Kw::RLIKE => ExprKind::Regexp { expr, pattern: self.operand(BIT_OR)?, negated },
            Kw::SOUNDS => {
                self.expect(Kw::LIKE)?;
                ExprKind::Binary { op: BinaryOp::SoundsLike, left: expr, right: self.operand(BIT_OR)? }
            }
            _ => {
                self.expect(Kw::OF)?;
                self.expect_tok(Tok::LParen)?;
                let right = self.operand(CONCAT)?;
                self.expect_tok(Tok::RParen)?;
                ExprKind::Binary { op: BinaryOp::MemberOf, left: expr, right }
            }
        };
        self.grow()?;
        Ok((self.node(start, kind), true))
    }

    fn in_list(&mut self, expr: &'a Expr<'a>, negated: bool) -> PResult<ExprKind<'a>> {
        if !self.at_tok(Tok::LParen) {
            return Err(self.unexpected());
        }
        if let Some(query) = self.try_subquery_in_parens()? {
            return Ok(ExprKind::InSubquery { expr, query: unlimited(query)?, negated });
        }
        self.expect_tok(Tok::LParen)?;
        let list = self.list(Self::expr)?;
        // `IN ((SELECT …) UNION …)`: what began as a list was a query.
        if let [Expr { kind: ExprKind::Subquery(first), .. }] = list
            && self.at_query_continuation()
        {
            let query = unlimited(self.query_after(first)?)?;
            self.expect_tok(Tok::RParen)?;
            return Ok(ExprKind::InSubquery { expr, query, negated });
        }
        let list = self.padded(list);
        self.expect_tok(Tok::RParen)?;
        if let [Expr { kind: ExprKind::Subquery(query), .. }] = list {
            return Ok(ExprKind::InSubquery { expr, query: unlimited(query)?, negated });
        }
        Ok(ExprKind::In { expr, list, negated })
    }

    /// A list before whose closing parenthesis the parser is, and its last literal as often again as it is lifted.
    fn padded(&self, list: &'a [Expr<'a>]) -> &'a [Expr<'a>] {
        let padding = self.lifter.as_ref().map_or(0, |lifter| lifter.padding);
        let (Some(last), Some(lifter), true) = (list.last(), &self.lifter, padding > 0 && self.at_tok(Tok::RParen)) else { return list };
        let again = (lifter.count - padding..lifter.count).map(|index| Expr { kind: ExprKind::Param(index), span: last.span });
        let mut longer = ArenaVec::with_capacity_in(list.len() + padding as usize, self.arena);
        longer.extend_from_slice(list);
        longer.extend(again);
        longer.into_bump_slice()
    }

    /// What stands between operators.
    #[inline]
    pub(super) fn simple(&mut self) -> PResult<Expr<'a>> {
        let token = self.tok;
        let literal = match token.tok {
            Tok::Ident | Tok::Quoted => return self.named(),
            Tok::Int | Tok::Decimal | Tok::Float | Tok::String if token.has(LIFTED) => {
                // The current token is the last one the lifter saw.
                let index = self.lifter.as_ref().map_or(0, |l| l.count).saturating_sub(1);
                self.bump();
                if token.tok == Tok::String && self.at_tok(Tok::String) {
                    return Err(self.unexpected());
                }
                return Ok(self.node(token.start, ExprKind::Param(index)));
            }
            Tok::Int => {
                self.bump();
                let digits = self.bytes(token);
                match text::int_value(digits) {
                    Some(value) => Literal::Int(value),
                    None => Literal::Decimal(text::utf8(digits)?),
                }
            }
            Tok::String => return self.string_literal(),
            Tok::Decimal => {
                self.bump();
                Literal::Decimal(text::utf8(self.bytes(token))?)
            }
            Tok::Float => {
                self.bump();
                Literal::Float(text::utf8(self.bytes(token))?)
            }
            Tok::Question => return self.placeholder(),
            Tok::LParen => return self.parenthesised(),
            Tok::Keyword => return self.word(),
            _ => return self.rare_simple(),
        };
        Ok(self.node(token.start, ExprKind::Literal(literal)))
    }

    fn placeholder(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        if self.lifter.is_some() {
            return Err(self.unexpected());
        }
        self.bump();
        self.param_count += 1;
        Ok(self.node(start, ExprKind::Param(self.param_count - 1)))
    }

    /// A string; adjacent ones are one. Bytes that are not UTF-8 are a binary string: dumps write those of BLOB columns so, without an introducer.
    #[inline(never)]
    fn string_literal(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let value = self.adjacent_strings()?;
        let literal = match std::str::from_utf8(value) {
            Ok(_) => Literal::String(value),
            Err(_) => Literal::Introduced(self.arena.alloc(Introduced { charset: "binary", value, quoted: true })),
        };
        Ok(self.node(start, ExprKind::Literal(literal)))
    }

    /// The string looked at, of any kind, with those that follow it.
    fn adjacent_strings(&mut self) -> PResult<&'a [u8]> {
        let value = self.string_value(self.tok);
        self.bump();
        if !self.at_tok(Tok::String) {
            return Ok(value);
        }
        let mut joined = self.vec();
        joined.extend_from_slice_copy(value);
        // What counts is the whole: a part need not be UTF-8, nor even a whole character.
        while self.at_tok(Tok::String) {
            if self.tok.has(LIFTED) {
                return Err(self.unexpected());
            }
            joined.extend_from_slice_copy(self.string_value(self.tok));
            self.bump();
        }
        Ok(joined.into_bump_slice())
    }

    #[inline(never)]
    fn rare_simple(&mut self) -> PResult<Expr<'a>> {
        let token = self.tok;
        let start = token.start;
        let kind = match token.tok {
            Tok::Hex => ExprKind::Literal(Literal::Hex(self.radix_value(token)?)),
            Tok::Bit => ExprKind::Literal(Literal::Bit(self.radix_value(token)?)),
            Tok::NString => {
                let value = self.adjacent_strings()?;
                text::utf8(value)?;
                return Ok(self.node(start, ExprKind::Literal(Literal::National(value))));
            }
            Tok::Introducer => return self.introduced(),
            Tok::UserVar => return self.user_variable(),
            Tok::AtAt => return self.system_variable(),
            Tok::LBrace => return self.odbc(),
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(self.node(start, kind))
    }

    fn introduced(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = text::utf8(&self.bytes(self.tok)[1..])?;
        let charset = if name.bytes().any(|b| b.is_ascii_uppercase()) {
            let lower = self.arena.alloc_str(name);
            lower.make_ascii_lowercase();
            &*lower
        } else {
            name
        };
        self.bump();
        let token = self.tok;
        let value = match token.tok {
            Tok::String => self.adjacent_strings()?,
            Tok::Hex | Tok::Bit => {
                let value = self.radix_value(token)?;
                self.bump();
                value
            }
            _ => return Err(self.unexpected()),
        };
        if charset.starts_with("utf8") && token.tok == Tok::String {
            text::utf8(value)?;
        }
        let literal = self.arena.alloc(Introduced { charset, value, quoted: token.tok == Tok::String });
        Ok(self.node(start, ExprKind::Literal(Literal::Introduced(literal))))
    }

    fn user_variable(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let var = self.user_var()?;
        if self.eat_tok(Tok::Assign) {
            let value = self.operand(OR)?;
            return Ok(self.node(start, ExprKind::Assign { var, value }));
        }
        Ok(self.node(start, ExprKind::UserVar(var)))
    }

    fn system_variable(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        let var = self.system_variable_name()?;
        self.reads_conditions |= ["warning_count", "error_count"].iter().any(|name| var.name.eq_ignore_ascii_case(name));
        Ok(self.node(start, ExprKind::SysVar(var)))
    }

    /// What follows `@@`.
    pub(super) fn system_variable_name(&mut self) -> PResult<&'a SysVar<'a>> {
        let first = self.name()?;
        if !self.eat_tok(Tok::Dot) {
            return Ok(self.arena.alloc(SysVar { scope: None, component: None, name: first }));
        }
        let second = self.name()?;
        let scope = scope_named(first);
        let var = match scope {
            None => SysVar { scope: None, component: Some(first), name: second },
            Some(_) if self.eat_tok(Tok::Dot) => SysVar { scope, component: Some(second), name: self.name()? },
            Some(_) => SysVar { scope, component: None, name: second },
        };
        Ok(self.arena.alloc(var))
    }

    /// `{d '…'}`, `{t '…'}`, `{ts '…'}`, `{fn expr}`, `{name expr}`.
    fn odbc(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        let name = self.name()?;
        let expr = self.operand(OR)?;
        self.expect_tok(Tok::RBrace)?;
        let kind = match expr.kind {
            ExprKind::Literal(Literal::String(value)) if name.eq_ignore_ascii_case("d") => ExprKind::Literal(Literal::Date(value)),
            ExprKind::Literal(Literal::String(value)) if name.eq_ignore_ascii_case("t") => ExprKind::Literal(Literal::Time(value)),
            ExprKind::Literal(Literal::String(value)) if name.eq_ignore_ascii_case("ts") => ExprKind::Literal(Literal::Timestamp(value)),
            _ => ExprKind::Odbc { name, expr },
        };
        Ok(self.node(start, kind))
    }

    /// A name: a column, or a call when a parenthesis follows.
    #[inline]
    pub(super) fn named(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let (kind, word) = (self.tok.tok, self.tok.kw);
        let first = self.name_text(self.tok)?;
        self.bump();
        match self.tok.tok {
            Tok::LParen if kind == Tok::Quoted || kind == Tok::Keyword && minds_space(word) => self.stored_call(start, first),
            Tok::LParen => self.call(start, ObjectName { schema: None, name: first }),
            Tok::Dot => self.qualified(start, first),
            Tok::Arrow | Tok::LongArrow => self.json_path(start, ColumnRef { schema: None, table: None, column: first }),
            _ => {
                let column = self.arena.alloc(ColumnRef { schema: None, table: None, column: first });
                Ok(self.node(start, ExprKind::Column(column)))
            }
        }
    }

    #[inline(never)]
    fn qualified(&mut self, start: u32, first: &'a str) -> PResult<Expr<'a>> {
        self.bump();
        let second = self.name()?;
        if self.at_tok(Tok::LParen) {
            return self.call(start, ObjectName { schema: Some(first), name: second });
        }
        let column = if self.eat_tok(Tok::Dot) {
            ColumnRef { schema: Some(first), table: Some(second), column: self.name()? }
        } else {
            ColumnRef { schema: None, table: Some(first), column: second }
        };
        if matches!(self.tok.tok, Tok::Arrow | Tok::LongArrow) {
            return self.json_path(start, column);
        }
        let column = self.arena.alloc(column);
        Ok(self.node(start, ExprKind::Column(column)))
    }

    #[inline(never)]
    fn json_path(&mut self, start: u32, column: ColumnRef<'a>) -> PResult<Expr<'a>> {
        let unquote = self.at_tok(Tok::LongArrow);
        self.bump();
        let path = self.string()?;
        let column = self.arena.alloc(column);
        Ok(self.node(start, ExprKind::JsonPath { column, path, unquote }))
    }

    /// A column name with up to two qualifiers.
    pub fn column_ref(&mut self) -> PResult<ColumnRef<'a>> {
        let first = self.name()?;
        if !self.eat_tok(Tok::Dot) {
            return Ok(ColumnRef { schema: None, table: None, column: first });
        }
        let second = self.name()?;
        if !self.eat_tok(Tok::Dot) {
            return Ok(ColumnRef { schema: None, table: Some(first), column: second });
        }
        Ok(ColumnRef { schema: Some(first), table: Some(second), column: self.name()? })
    }

    /// CASE.
    #[inline(never)]
    pub(super) fn case(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        let operand = if self.at(Kw::WHEN) { None } else { Some(self.expr()?) };
        let mut whens = self.vec();
        while self.eat(Kw::WHEN) {
            let when = self.expr()?;
            self.expect(Kw::THEN)?;
            whens.push((when, self.expr()?));
        }
        if whens.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = if self.eat(Kw::ELSE) { Some(self.expr()?) } else { None };
        self.expect(Kw::END)?;
        let case = self.arena.alloc(Case { operand, whens: whens.into_bump_slice(), otherwise });
        Ok(self.node(start, ExprKind::Case(case)))
    }
}

/// The operands of an AND or OR.
pub(super) type Operands<'a> = bumpalo::collections::Vec<'a, Expr<'a>>;

/// The operands of an expression that is a chain of AND or OR, whichever `level` says.
#[inline]
pub(super) fn operands_of<'a>(e: &Expr<'a>, level: u8) -> Option<&'a [Expr<'a>]> {
    match e.kind {
        ExprKind::And(list) if level == AND => Some(list),
        ExprKind::Or(list) if level == OR => Some(list),
        _ => None,
    }
}

/// Whether an operator goes on with a chain that is as long as counts for the height of the tree.
fn is_long_run(op: BinaryOp, left: &Expr<'_>) -> bool {
    let Some(of) = op.run() else { return false };
    let mut left = left;
    for _ in 0..RUN_HEIGHT_MAX {
        match left.kind {
            ExprKind::Binary { op, left: next, .. } if op.run() == Some(of) => left = next,
            _ => return false,
        }
    }
    true
}

/// The query of an IN, ANY, ALL or SOME, which may have no LIMIT.
fn unlimited<'a>(query: &'a Query<'a>) -> PResult<&'a Query<'a>> {
    if query.is_limited() {
        return Err(Box::new(crate::ParseError::unsupported("LIMIT & IN/ALL/ANY/SOME subquery")));
    }
    Ok(query)
}

/// The scope a word before the dot names.
pub(super) fn scope_named(word: &str) -> Option<VarScope> {
    if word.eq_ignore_ascii_case("global") {
        Some(VarScope::Global)
    } else if word.eq_ignore_ascii_case("session") || word.eq_ignore_ascii_case("local") {
        Some(VarScope::Session)
    } else if word.eq_ignore_ascii_case("persist") {
        Some(VarScope::Persist)
    } else if word.eq_ignore_ascii_case("persist_only") {
        Some(VarScope::PersistOnly)
    } else {
        None
    }
}
