//! OVER, WINDOW and the functions that need them.

use super::{PResult, Parser};
use crate::ast::{Expr, ExprKind, Frame, FrameBound, FrameUnit, Literal, NamedWindow, Over, WindowCall, WindowFn, WindowSpec};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// A call of the window function `kw`.
    #[inline(never)]
    pub(super) fn window_function(&mut self, kw: Kw) -> PResult<Expr<'a>> {
        let start = self.tok.start;
        let (func, args_min, args_max) = match kw {
            Kw::ROW_NUMBER => (WindowFn::RowNumber, 0, 0),
            Kw::RANK => (WindowFn::Rank, 0, 0),
            Kw::DENSE_RANK => (WindowFn::DenseRank, 0, 0),
            Kw::PERCENT_RANK => (WindowFn::PercentRank, 0, 0),
            Kw::CUME_DIST => (WindowFn::CumeDist, 0, 0),
            Kw::NTILE => (WindowFn::Ntile, 1, 1),
            Kw::LAG => (WindowFn::Lag, 1, 3),
            Kw::LEAD => (WindowFn::Lead, 1, 3),
            Kw::FIRST_VALUE => (WindowFn::FirstValue, 1, 1),
            Kw::LAST_VALUE => (WindowFn::LastValue, 1, 1),
            _ => (WindowFn::NthValue, 2, 2),
        };
        self.bump();
        self.expect_tok(Tok::LParen)?;
        let mut at = 0;
        let args = if self.at_tok(Tok::RParen) {
            &[][..]
        } else {
            self.list(|p| {
                at += 1;
                // How many buckets, how far, which: a number that stands there.
                let counts = matches!((func, at), (WindowFn::Ntile, 1) | (WindowFn::Lag | WindowFn::Lead | WindowFn::NthValue, 2));
                if counts { p.stable_integer() } else { p.expr() }
            })?
        };
        if args.len() < args_min || args.len() > args_max {
            return Err(self.unexpected());
        }
        self.expect_tok(Tok::RParen)?;
        let mut from_last = false;
        if func == WindowFn::NthValue && self.eat(Kw::FROM) {
            from_last = self.eat(Kw::LAST);
            if !from_last {
                self.expect(Kw::FIRST)?;
            }
        }
        let mut ignore_nulls = false;
        if args_min > 0 && func != WindowFn::Ntile && (self.at(Kw::IGNORE) || self.at(Kw::RESPECT)) {
            ignore_nulls = self.at(Kw::IGNORE);
            self.bump();
            self.expect(Kw::NULLS)?;
        }
        let over = self.over()?;
        let call = self.arena.alloc(WindowCall { func, args, ignore_nulls, from_last, over });
        Ok(self.node(start, ExprKind::Window(call)))
    }

    /// A number, a parameter, a user variable, or the name of what would be a variable of a stored program.
    fn stable_integer(&mut self) -> PResult<Expr<'a>> {
        let token = self.tok;
        let expr = self.expr()?;
        let stable = match expr.kind {
            ExprKind::Literal(Literal::Int(_)) | ExprKind::Param(_) | ExprKind::UserVar(_) => true,
            ExprKind::Column(column) => column.table.is_none(),
            _ => false,
        };
        if stable { Ok(expr) } else { Err(self.error_at(token)) }
    }

    /// OVER and what follows.
    #[inline(never)]
    pub(super) fn over(&mut self) -> PResult<Over<'a>> {
        self.expect(Kw::OVER)?;
        if self.at_tok(Tok::LParen) {
            return Ok(Over::Spec(self.window_spec()?));
        }
        Ok(Over::Named(self.name()?))
    }

    /// `(…)`.
    fn window_spec(&mut self) -> PResult<&'a WindowSpec<'a>> {
        self.expect_tok(Tok::LParen)?;
        let base = if Self::is_name(self.tok) { Some(self.name()?) } else { None };
        let mut partition_by = &[][..];
        if self.eat(Kw::PARTITION) {
            self.expect(Kw::BY)?;
            partition_by = self.list(Self::expr)?;
        }
        let order_by = self.optional_order_by()?;
        let frame = if matches!(self.tok.kw, Kw::ROWS | Kw::RANGE | Kw::GROUPS) { Some(self.frame()?) } else { None };
        self.expect_tok(Tok::RParen)?;
        Ok(self.arena.alloc(WindowSpec { base, partition_by, order_by, frame }))
    }

    fn frame(&mut self) -> PResult<Frame<'a>> {
        let unit = match self.tok.kw {
            Kw::ROWS => FrameUnit::Rows,
            Kw::RANGE => FrameUnit::Range,
            _ => FrameUnit::Groups,
        };
        self.bump();
        let (start, end) = if self.eat(Kw::BETWEEN) {
            let start = self.frame_bound(true)?;
            self.expect(Kw::AND)?;
            (start, Some(self.frame_bound(true)?))
        } else {
            (self.frame_bound(false)?, None)
        };
        let exclude = self.eat(Kw::EXCLUDE);
        if exclude {
            match self.tok.kw {
                Kw::CURRENT => {
                    self.bump();
                    self.expect(Kw::ROW)?;
                }
                Kw::GROUP | Kw::TIES => self.bump(),
                _ => {
                    self.expect(Kw::NO)?;
                    self.expect(Kw::OTHERS)?;
                }
            }
        }
        Ok(Frame { unit, start, end, exclude })
    }

    /// A bound that stands alone does not follow the row.
    fn frame_bound(&mut self, may_follow: bool) -> PResult<FrameBound<'a>> {
        if self.eat(Kw::CURRENT) {
            self.expect(Kw::ROW)?;
            return Ok(FrameBound::CurrentRow);
        }
        if self.eat(Kw::UNBOUNDED) {
            if self.eat(Kw::PRECEDING) {
                return Ok(FrameBound::UnboundedPreceding);
            }
            self.expect_following(may_follow)?;
            return Ok(FrameBound::UnboundedFollowing);
        }
        let interval = self.eat(Kw::INTERVAL);
        if !interval && !matches!(self.tok.tok, Tok::Int | Tok::Decimal | Tok::Float | Tok::Question) {
            return Err(self.unexpected());
        }
        let amount = if interval {
            self.expr_ref()?
        } else {
            let number = self.simple()?;
            self.arena.alloc(number)
        };
        let unit = if interval { Some(self.interval_unit()?) } else { None };
        if self.eat(Kw::PRECEDING) {
            return Ok(FrameBound::Preceding(amount, unit));
        }
        self.expect_following(may_follow)?;
        Ok(FrameBound::Following(amount, unit))
    }

    fn expect_following(&mut self, may_follow: bool) -> PResult<()> {
        if may_follow { self.expect(Kw::FOLLOWING) } else { Err(self.unexpected()) }
    }

    /// WINDOW when it is there.
    pub(super) fn windows(&mut self) -> PResult<&'a [NamedWindow<'a>]> {
        if !self.eat(Kw::WINDOW) {
            return Ok(&[]);
        }
        self.list(|p| {
            let name = p.name()?;
            p.expect(Kw::AS)?;
            Ok(NamedWindow { name, spec: p.window_spec()? })
        })
    }
}
