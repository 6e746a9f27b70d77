//! Expressions that begin with a word: constants, calls, and the functions with a grammar of their own.

use super::expr::{BIT_OR, COMPARISON};
use super::{PResult, Parser};
use crate::ast::{
    AT_TIME_ZONE, AggregateCall, AggregateFn, DataTypeKind, Expr, ExprKind, FunctionCall, IntervalUnit, JsonInstead, JsonValue, Literal,
    MatchAgainst, MatchMode, ObjectName, TrimMode,
};
use crate::keyword::Kw;
use crate::lexer::{SPACE_BEFORE, Tok};
use crate::mode::SqlMode;

/// Functions whose parsing IGNORE_SPACE changes.
const MINDING_SPACE: &[Kw] = &[
    Kw::ADDDATE,
    Kw::BIT_AND,
    Kw::BIT_OR,
    Kw::BIT_XOR,
    Kw::CAST,
    Kw::COUNT,
    Kw::CURDATE,
    Kw::CURTIME,
    Kw::DATE_ADD,
    Kw::DATE_SUB,
    Kw::EXTRACT,
    Kw::GROUP_CONCAT,
    Kw::JSON_ARRAYAGG,
    Kw::JSON_OBJECTAGG,
    Kw::MAX,
    Kw::MID,
    Kw::MIN,
    Kw::NOW,
    Kw::POSITION,
    Kw::STD,
    Kw::STDDEV,
    Kw::STDDEV_POP,
    Kw::STDDEV_SAMP,
    Kw::SESSION_USER,
    Kw::SUBDATE,
    Kw::SUBSTR,
    Kw::SUBSTRING,
    Kw::SUM,
    Kw::SYSDATE,
    Kw::SYSTEM_USER,
    Kw::TRIM,
    Kw::VARIANCE,
    Kw::VAR_POP,
    Kw::VAR_SAMP,
];

/// Whether a word is one of them.
pub(super) fn minds_space(word: Kw) -> bool {
    MINDING_SPACE.contains(&word)
}

impl<'a> Parser<'a> {
    /// A simple expression that begins with a word of the grammar.
    #[inline(never)]
    pub(super) fn word(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let kw = self.tok.kw;
        let literal = match kw {
            Kw::NULL => Literal::Null,
            Kw::TRUE => Literal::Bool(true),
            Kw::FALSE => Literal::Bool(false),
            Kw::DATE | Kw::TIME | Kw::TIMESTAMP if self.peek().tok == Tok::String => return self.typed_literal(kw),
            _ if kw.is_reserved() => return self.reserved_word(kw),
            _ if self.calls_next() => return self.special_call(kw),
            _ => return self.named(),
        };
        self.bump();
        Ok(self.node(start, ExprKind::Literal(literal)))
    }

    /// Whether the word looked at is a call: a parenthesis follows, without white space where that matters.
    fn calls_next(&self) -> bool {
        self.peek().tok == Tok::LParen && (!minds_space(self.tok.kw) || self.is_call())
    }

    /// Whether a parenthesis follows, without white space unless IGNORE_SPACE is set.
    pub(super) fn is_call(&self) -> bool {
        let next = self.peek();
        next.tok == Tok::LParen && (!next.has(SPACE_BEFORE) || self.lexer.mode.has(SqlMode::IGNORE_SPACE))
    }

    /// Whether the word looked at is the name of a function that it cannot but call here.
    pub(super) fn begins_call(&self) -> bool {
        minds_space(self.tok.kw) && self.is_call()
    }

    /// A call of what can be a stored function alone: its name is in backquotes, or one of those that want no space behind them has one.
    #[cold]
    pub(super) fn stored_call(&mut self, start: u32, name: &'a str) -> PResult<Expr<'a>> {
        let name = ObjectName { schema: None, name };
        self.expect_tok(Tok::LParen)?;
        let args = if self.at_tok(Tok::RParen) { &[][..] } else { self.list(Self::expr)? };
        self.expect_tok(Tok::RParen)?;
        let call = self.arena.alloc(FunctionCall { name, args, charset: None, stored: true });
        Ok(self.node(start, ExprKind::Function(call)))
    }

    fn typed_literal(&mut self, kw: Kw) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        let value = self.string()?;
        let literal = match kw {
            Kw::DATE => Literal::Date(value),
            Kw::TIME => Literal::Time(value),
            _ => Literal::Timestamp(value),
        };
        Ok(self.node(start, ExprKind::Literal(literal)))
    }

    fn reserved_word(&mut self, kw: Kw) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        match kw {
            Kw::CASE => self.case(),
            Kw::EXISTS => {
                self.bump();
                let query = self.subquery_in_parens()?;
                Ok(self.node(start, ExprKind::Exists(query)))
            }
            Kw::ROW => {
                self.bump();
                self.expect_tok(Tok::LParen)?;
                let parts = self.list(Self::expr)?;
                if parts.len() < 2 {
                    return Err(self.unexpected());
                }
                self.expect_tok(Tok::RParen)?;
                Ok(self.node(start, ExprKind::Row(parts)))
            }
            Kw::DEFAULT => self.default_value(),
            Kw::VALUES => {
                self.bump();
                self.expect_tok(Tok::LParen)?;
                let column = self.column_ref()?;
                self.expect_tok(Tok::RParen)?;
                let column = self.arena.alloc(column);
                Ok(self.node(start, ExprKind::InsertValue(column)))
            }
            Kw::CONVERT => self.convert(),
            Kw::MATCH => self.match_against(),
            Kw::INTERVAL => self.interval_first(),
            Kw::CHAR => self.char_function(),
            Kw::CURRENT_DATE | Kw::CURRENT_TIME | Kw::CURRENT_TIMESTAMP | Kw::LOCALTIME | Kw::LOCALTIMESTAMP => self.clock(),
            Kw::UTC_DATE | Kw::UTC_TIME | Kw::UTC_TIMESTAMP | Kw::CURRENT_USER => self.clock(),
            Kw::ROW_NUMBER | Kw::RANK | Kw::DENSE_RANK | Kw::PERCENT_RANK | Kw::CUME_DIST | Kw::NTILE => self.window_function(kw),
            Kw::LAG | Kw::LEAD | Kw::FIRST_VALUE | Kw::LAST_VALUE | Kw::NTH_VALUE => self.window_function(kw),
            Kw::IF | Kw::LEFT | Kw::RIGHT | Kw::REPEAT | Kw::REPLACE | Kw::INSERT | Kw::MOD | Kw::DATABASE | Kw::SCHEMA | Kw::GROUPING => {
                let name = self.name_text(self.tok)?;
                self.bump();
                if !self.at_tok(Tok::LParen) {
                    return Err(self.unexpected());
                }
                if kw == Kw::GROUPING && self.peek().tok == Tok::RParen {
                    self.bump();
                    return Err(self.unexpected());
                }
                self.call(start, ObjectName { schema: None, name })
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A call `name(args)`; the parenthesis is next.
    #[inline(never)]
    pub(super) fn call(&mut self, start: u32, name: ObjectName<'a>) -> PResult<Expr<'a>> {
        self.expect_tok(Tok::LParen)?;
        let args = if self.at_tok(Tok::RParen) { &[][..] } else { self.list(Self::expr)? };
        self.expect_tok(Tok::RParen)?;
        Ok(self.function(start, name, args))
    }

    fn function(&mut self, start: u32, name: ObjectName<'a>, args: &'a [Expr<'a>]) -> Expr<'a> {
        let call = self.arena.alloc(FunctionCall { name, args, charset: None, stored: false });
        self.node(start, ExprKind::Function(call))
    }

    /// A call of a word that is not reserved, some of which have a grammar of their own.
    fn special_call(&mut self, kw: Kw) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let aggregate = match kw {
            Kw::COUNT => AggregateFn::Count,
            Kw::SUM => AggregateFn::Sum,
            Kw::AVG => AggregateFn::Avg,
            Kw::MIN => AggregateFn::Min,
            Kw::MAX => AggregateFn::Max,
            Kw::GROUP_CONCAT => AggregateFn::GroupConcat,
            Kw::BIT_AND => AggregateFn::BitAnd,
            Kw::BIT_OR => AggregateFn::BitOr,
            Kw::BIT_XOR => AggregateFn::BitXor,
            Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => AggregateFn::StdPop,
            Kw::STDDEV_SAMP => AggregateFn::StdSamp,
            Kw::VARIANCE | Kw::VAR_POP => AggregateFn::VarPop,
            Kw::VAR_SAMP => AggregateFn::VarSamp,
            Kw::JSON_ARRAYAGG => AggregateFn::JsonArrayAgg,
            Kw::JSON_OBJECTAGG => AggregateFn::JsonObjectAgg,
            Kw::CAST => return self.cast(),
            Kw::TRIM => return self.trim(),
            Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => return self.substring(),
            Kw::POSITION => return self.position(),
            Kw::EXTRACT => return self.extract(),
            Kw::DATE_ADD | Kw::ADDDATE => return self.date_add(false),
            Kw::DATE_SUB | Kw::SUBDATE => return self.date_add(true),
            Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => return self.timestamp_unit(kw),
            Kw::GET_FORMAT => return self.get_format(),
            Kw::NOW | Kw::SYSDATE | Kw::CURTIME => return self.clock(),
            Kw::WEIGHT_STRING => return self.weight_string(),
            Kw::JSON_VALUE => return self.json_value(),
            _ => {
                let name = self.name_text(self.tok)?;
                self.bump();
                return self.call(start, ObjectName { schema: None, name });
            }
        };
        self.aggregate(aggregate)
    }

    #[inline(never)]
    fn aggregate(&mut self, func: AggregateFn) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut call = AggregateCall { func, distinct: false, args: &[], order_by: &[], separator: None, over: None };
        if func == AggregateFn::Count && self.eat_tok(Tok::Star) {
            self.expect_tok(Tok::RParen)?;
        } else {
            use AggregateFn as F;
            call.distinct = matches!(func, F::Count | F::Sum | F::Avg | F::Min | F::Max | F::GroupConcat) && self.eat(Kw::DISTINCT);
            let all = !call.distinct && func != F::GroupConcat && self.eat(Kw::ALL);
            if all && func == F::Count && self.eat_tok(Tok::Star) {
                self.expect_tok(Tok::RParen)?;
                return self.aggregate_over(start, call);
            }
            let many = call.distinct && func == F::Count || matches!(func, F::GroupConcat | F::JsonObjectAgg);
            call.args = if many { self.list(Self::expr)? } else { std::slice::from_ref(self.expr_ref()?) };
            if func == F::JsonObjectAgg && call.args.len() != 2 {
                return Err(self.unexpected());
            }
            if func == AggregateFn::GroupConcat {
                call.order_by = self.optional_order_by()?;
                if self.eat(Kw::SEPARATOR) {
                    call.separator = Some(self.text_or_hex()?);
                }
            }
            self.expect_tok(Tok::RParen)?;
        }
        self.aggregate_over(start, call)
    }

    fn aggregate_over(&mut self, start: u32, mut call: AggregateCall<'a>) -> PResult<Expr<'a>> {
        if self.at(Kw::OVER) {
            call.over = Some(self.over()?);
        }
        let call = self.arena.alloc(call);
        Ok(self.node(start, ExprKind::Aggregate(call)))
    }

    /// A function that may stand without parentheses and takes at most a number of fractional digits.
    fn clock(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        let mut args = &[][..];
        if self.eat_tok(Tok::LParen) {
            if self.at_tok(Tok::Int) {
                let digit_start = self.tok.start;
                let digits = self.int()?;
                args = std::slice::from_ref(self.arena.alloc(self.node(digit_start, ExprKind::Literal(Literal::Int(digits)))));
            }
            self.expect_tok(Tok::RParen)?;
        }
        Ok(self.function(start, ObjectName { schema: None, name }, args))
    }

    fn default_value(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        if !self.eat_tok(Tok::LParen) {
            return Ok(self.node(start, ExprKind::Default));
        }
        let column = self.column_ref()?;
        self.expect_tok(Tok::RParen)?;
        let column = self.arena.alloc(column);
        Ok(self.node(start, ExprKind::DefaultOf(column)))
    }

    #[inline(never)]
    fn cast(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut expr = self.expr_ref()?;
        let zoned = self.eat(Kw::AT);
        if zoned {
            if self.at(Kw::LOCAL) {
                return Err(Box::new(crate::ParseError::unsupported("AT LOCAL")));
            }
            self.expect(Kw::TIME)?;
            self.expect(Kw::ZONE)?;
            self.eat(Kw::INTERVAL);
            let zone_start = self.tok.start;
            let zone = self.string()?;
            let zone = self.node(zone_start, ExprKind::Literal(Literal::String(zone)));
            let args = self.arena.alloc([*expr, zone]);
            let call = self.function(expr.span.start, ObjectName { schema: None, name: AT_TIME_ZONE }, args);
            expr = self.arena.alloc(call);
        }
        self.expect(Kw::AS)?;
        let target = self.tok;
        let ty = self.cast_type()?;
        if zoned && ty.kind != DataTypeKind::DateTime {
            return Err(self.error_at(target));
        }
        let ty = self.arena.alloc(ty);
        let array = self.eat(Kw::ARRAY);
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, ExprKind::Cast { expr, ty, array }))
    }

    #[inline(never)]
    fn convert(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let expr = self.expr_ref()?;
        let kind = if self.eat(Kw::USING) {
            ExprKind::ConvertUsing { expr, charset: self.charset_name()? }
        } else {
            self.expect_tok(Tok::Comma)?;
            let ty = self.cast_type()?;
            let ty = self.arena.alloc(ty);
            ExprKind::Cast { expr, ty, array: false }
        };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, kind))
    }

    #[inline(never)]
    fn trim(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let (mode, explicit) = match self.tok.kw {
            Kw::BOTH => (TrimMode::Both, true),
            Kw::LEADING => (TrimMode::Leading, true),
            Kw::TRAILING => (TrimMode::Trailing, true),
            _ => (TrimMode::Both, false),
        };
        if explicit {
            self.bump();
        }
        let mut remove = None;
        let expr = if explicit && self.eat(Kw::FROM) {
            self.expr_ref()?
        } else {
            let first = self.expr_ref()?;
            if self.eat(Kw::FROM) {
                remove = Some(first);
                self.expr_ref()?
            } else if explicit {
                return Err(self.unexpected());
            } else {
                first
            }
        };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, ExprKind::Trim { mode, remove, expr }))
    }

    #[inline(never)]
    fn substring(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut args = self.vec();
        args.push(self.expr()?);
        let by_words = self.eat(Kw::FROM);
        if !by_words {
            self.expect_tok(Tok::Comma)?;
        }
        args.push(self.expr()?);
        if if by_words { self.eat(Kw::FOR) } else { self.eat_tok(Tok::Comma) } {
            args.push(self.expr()?);
        }
        self.expect_tok(Tok::RParen)?;
        Ok(self.function(start, ObjectName { schema: None, name }, args.into_bump_slice()))
    }

    /// `POSITION(needle IN text)` is `LOCATE(needle, text)`.
    #[inline(never)]
    fn position(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let needle = self.expr_above(BIT_OR)?;
        self.expect(Kw::IN)?;
        let text = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        let args = self.arena.alloc([needle, text]);
        Ok(self.function(start, ObjectName { schema: None, name: "LOCATE" }, args))
    }

    #[inline(never)]
    fn extract(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let unit = self.interval_unit()?;
        self.expect(Kw::FROM)?;
        let expr = self.expr_ref()?;
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, ExprKind::Extract { unit, expr }))
    }

    #[inline(never)]
    fn date_add(&mut self, subtract: bool) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let days_allowed = matches!(self.tok.kw, Kw::ADDDATE | Kw::SUBDATE);
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let expr = self.expr_ref()?;
        self.expect_tok(Tok::Comma)?;
        let (amount, unit) = if self.eat(Kw::INTERVAL) {
            let amount = self.expr_ref()?;
            (amount, self.interval_unit()?)
        } else if days_allowed {
            (self.expr_ref()?, IntervalUnit::Day)
        } else {
            return Err(self.unexpected());
        };
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(start, ExprKind::DateAdd { expr, amount, unit, subtract }))
    }

    #[inline(never)]
    fn timestamp_unit(&mut self, kw: Kw) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let unit = self.simple_unit()?;
        self.expect_tok(Tok::Comma)?;
        let first = self.expr_ref()?;
        self.expect_tok(Tok::Comma)?;
        let second = self.expr_ref()?;
        self.expect_tok(Tok::RParen)?;
        Ok(self.node(
            start,
            match kw {
                Kw::TIMESTAMPADD => ExprKind::TimestampAdd { unit, amount: first, expr: second },
                _ => ExprKind::TimestampDiff { unit, from: first, to: second },
            },
        ))
    }

    /// `GET_FORMAT(DATE, 'USA')`: the word becomes a string argument.
    fn get_format(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let at = self.tok;
        if !matches!(at.kw, Kw::DATE | Kw::TIME | Kw::DATETIME | Kw::TIMESTAMP) {
            return Err(self.unexpected());
        }
        self.bump();
        let kind = self.node(at.start, ExprKind::Literal(Literal::String(at.kw.text().as_bytes())));
        self.expect_tok(Tok::Comma)?;
        let format = self.expr()?;
        self.expect_tok(Tok::RParen)?;
        let args = self.arena.alloc([kind, format]);
        Ok(self.function(start, ObjectName { schema: None, name }, args))
    }

    /// `WEIGHT_STRING(expr [AS CHAR(n) | AS BINARY(n)])`: the length is the second argument, `char` or `binary` the character set.
    fn weight_string(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut args = self.vec();
        args.push(self.expr()?);
        let mut charset = None;
        if self.eat(Kw::AS) {
            charset = match self.tok.kw {
                Kw::CHAR => Some("char"),
                Kw::BINARY => Some("binary"),
                _ => return Err(self.unexpected()),
            };
            self.bump();
            self.expect_tok(Tok::LParen)?;
            let at = self.tok;
            let length = self.expr()?;
            if !matches!(length.kind, ExprKind::Literal(Literal::Int(1..))) {
                return Err(self.error_at(at));
            }
            args.push(length);
            self.expect_tok(Tok::RParen)?;
        }
        self.expect_tok(Tok::RParen)?;
        let call = FunctionCall { name: ObjectName { schema: None, name }, args: args.into_bump_slice(), charset, stored: false };
        Ok(self.node(start, ExprKind::Function(self.arena.alloc(call))))
    }

    /// `JSON_VALUE(doc, path [RETURNING type] [… ON EMPTY] [… ON ERROR])`.
    #[inline(never)]
    fn json_value(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let document = self.expr()?;
        self.expect_tok(Tok::Comma)?;
        let path = self.expr()?;
        let returning = if self.eat(Kw::RETURNING) { Some(self.cast_type()?) } else { None };
        let (mut on_empty, mut on_error) = (None, None);
        while !self.at_tok(Tok::RParen) && on_error.is_none() {
            let instead = if self.eat(Kw::NULL) {
                JsonInstead::Null
            } else if self.eat(Kw::ERROR) {
                JsonInstead::Error
            } else {
                self.expect(Kw::DEFAULT)?;
                JsonInstead::Default(self.expr()?)
            };
            self.expect(Kw::ON)?;
            if on_empty.is_none() && self.eat(Kw::EMPTY) {
                on_empty = Some(instead);
            } else {
                self.expect(Kw::ERROR)?;
                on_error = Some(instead);
            }
        }
        self.expect_tok(Tok::RParen)?;
        let call = self.arena.alloc(JsonValue { document, path, returning, on_empty, on_error });
        Ok(self.node(start, ExprKind::JsonValue(call)))
    }

    #[inline(never)]
    fn char_function(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let args = self.list(Self::expr)?;
        let charset = if self.eat(Kw::USING) { Some(self.charset_name()?) } else { None };
        self.expect_tok(Tok::RParen)?;
        let call = self.arena.alloc(FunctionCall { name: ObjectName { schema: None, name }, args, charset, stored: false });
        Ok(self.node(start, ExprKind::Function(call)))
    }

    #[inline(never)]
    fn match_against(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        self.bump();
        let column = |p: &mut Self| {
            let column_start = p.tok.start;
            let column = p.column_ref()?;
            let column = p.arena.alloc(column);
            Ok(p.node(column_start, ExprKind::Column(column)))
        };
        let columns = if self.at_tok(Tok::LParen) { self.parens(column)? } else { self.list(column)? };
        self.expect(Kw::AGAINST)?;
        self.expect_tok(Tok::LParen)?;
        let against = self.expr_above(BIT_OR)?;
        let mut mode = MatchMode::NaturalLanguage;
        if self.eat(Kw::IN) {
            if self.eat(Kw::BOOLEAN) {
                mode = MatchMode::Boolean;
            } else {
                self.expect(Kw::NATURAL)?;
                self.expect(Kw::LANGUAGE)?;
            }
            self.expect(Kw::MODE)?;
        }
        if mode == MatchMode::NaturalLanguage && self.eat(Kw::WITH) {
            self.expect(Kw::QUERY)?;
            self.expect(Kw::EXPANSION)?;
            mode = MatchMode::QueryExpansion;
        }
        self.expect_tok(Tok::RParen)?;
        let node = self.arena.alloc(MatchAgainst { columns, against, mode });
        Ok(self.node(start, ExprKind::Match(node)))
    }

    /// `INTERVAL n unit + date`, or the function `INTERVAL(n, a, …)`.
    #[inline(never)]
    fn interval_first(&mut self) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        let amount = match self.interval_amount()? {
            Amount::One(amount) => amount,
            Amount::List(args) => return Ok(self.function(start, ObjectName { schema: None, name }, args)),
        };
        let unit = self.interval_unit()?;
        self.expect_tok(Tok::Plus)?;
        // All of it but AND, OR and XOR, as in MySQL.
        let expr = self.expr_above(COMPARISON)?;
        let (expr, amount) = (self.arena.alloc(expr), self.arena.alloc(amount));
        Ok(self.node(start, ExprKind::DateAdd { expr, amount, unit, subtract: false }))
    }

    /// `left ± INTERVAL n unit`; INTERVAL is next. `left + INTERVAL(n, a, …)` adds the function's value instead.
    #[inline(never)]
    pub(super) fn plus_interval(&mut self, left: Expr<'a>, subtract: bool) -> PResult<Expr<'a>> {
        let start = left.span.start;
        let call_start = self.tok.start;
        let name = self.name_text(self.tok)?;
        self.bump();
        let amount = self.interval_amount()?;
        self.grow()?;
        let left = self.arena.alloc(left);
        match amount {
            Amount::One(amount) => {
                let amount = self.arena.alloc(amount);
                let unit = self.interval_unit()?;
                Ok(self.node(start, ExprKind::DateAdd { expr: left, amount, unit, subtract }))
            }
            Amount::List(args) => {
                let call = self.function(call_start, ObjectName { schema: None, name }, args);
                let right = self.summand(call)?;
                let right = self.arena.alloc(right);
                let op = if subtract { crate::ast::BinaryOp::Sub } else { crate::ast::BinaryOp::Add };
                Ok(self.node(start, ExprKind::Binary { op, left, right }))
            }
        }
    }

    fn interval_amount(&mut self) -> PResult<Amount<'a>> {
        if !self.at_tok(Tok::LParen) {
            return Ok(Amount::One(self.expr()?));
        }
        let first = self.simple()?;
        Ok(match first.kind {
            // The function's arguments: what follows is about its value.
            ExprKind::Row(args) => Amount::List(args),
            _ => Amount::One(self.any_infix(first)?),
        })
    }

    /// A unit of EXTRACT and INTERVAL.
    pub fn interval_unit(&mut self) -> PResult<IntervalUnit> {
        let unit = match self.tok.kw {
            Kw::SECOND_MICROSECOND => IntervalUnit::SecondMicrosecond,
            Kw::MINUTE_MICROSECOND => IntervalUnit::MinuteMicrosecond,
            Kw::MINUTE_SECOND => IntervalUnit::MinuteSecond,
            Kw::HOUR_MICROSECOND => IntervalUnit::HourMicrosecond,
            Kw::HOUR_SECOND => IntervalUnit::HourSecond,
            Kw::HOUR_MINUTE => IntervalUnit::HourMinute,
            Kw::DAY_MICROSECOND => IntervalUnit::DayMicrosecond,
            Kw::DAY_SECOND => IntervalUnit::DaySecond,
            Kw::DAY_MINUTE => IntervalUnit::DayMinute,
            Kw::DAY_HOUR => IntervalUnit::DayHour,
            Kw::YEAR_MONTH => IntervalUnit::YearMonth,
            _ => return self.simple_unit(),
        };
        self.bump();
        Ok(unit)
    }

    /// A unit of TIMESTAMPADD and TIMESTAMPDIFF, with or without `SQL_TSI_`.
    fn simple_unit(&mut self) -> PResult<IntervalUnit> {
        if !matches!(self.tok.tok, Tok::Ident | Tok::Keyword) {
            return Err(self.unexpected());
        }
        let name = self.bytes(self.tok);
        let name = match name.get(..8) {
            Some(prefix) if prefix.eq_ignore_ascii_case(b"SQL_TSI_") => &name[8..],
            _ => name,
        };
        let unit = match Kw::find(name, 0, name.len()) {
            Kw::MICROSECOND => IntervalUnit::Microsecond,
            Kw::SECOND => IntervalUnit::Second,
            Kw::MINUTE => IntervalUnit::Minute,
            Kw::HOUR => IntervalUnit::Hour,
            Kw::DAY => IntervalUnit::Day,
            Kw::WEEK => IntervalUnit::Week,
            Kw::MONTH => IntervalUnit::Month,
            Kw::QUARTER => IntervalUnit::Quarter,
            Kw::YEAR => IntervalUnit::Year,
            _ => return Err(self.unexpected()),
        };
        self.bump();
        Ok(unit)
    }
}

/// What follows INTERVAL.
enum Amount<'a> {
    One(Expr<'a>),
    List(&'a [Expr<'a>]),
}
