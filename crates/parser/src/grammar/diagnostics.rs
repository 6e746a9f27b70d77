//! GET DIAGNOSTICS, SIGNAL and RESIGNAL. Their words are ordinary names everywhere else, so they are compared by their text and are no words of the grammar.

use super::{PResult, Parser};
use crate::ast::{ConditionItem, Diagnosed, Expr, GetDiagnostics, Raised, Signal, Statement, StatementItem};
use crate::error::ParseError;
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// `GET [CURRENT | STACKED] DIAGNOSTICS …`.
    #[inline(never)]
    pub(super) fn get_diagnostics(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let stacked = self.eat_text("STACKED");
        if !stacked {
            self.eat_text("CURRENT");
        }
        if !self.eat_text("DIAGNOSTICS") {
            return Err(self.unexpected());
        }
        let about = if self.eat(Kw::CONDITION) {
            let number = self.condition_number()?;
            Diagnosed::Condition { number, items: self.list(|p| p.diagnosed_item(ConditionItem::of))? }
        } else {
            Diagnosed::Statement(self.list(|p| p.diagnosed_item(StatementItem::of))?)
        };
        Ok(Statement::GetDiagnostics(self.arena.alloc(GetDiagnostics { stacked, about })))
    }

    /// `SIGNAL {SQLSTATE [VALUE] 'value' | name} [SET ITEM = value, …]`, and RESIGNAL, where all of it may be missing.
    #[inline(never)]
    pub(super) fn signal(&mut self) -> PResult<Statement<'a>> {
        let again = self.at(Kw::RESIGNAL);
        self.bump();
        let condition = if self.eat(Kw::SQLSTATE) {
            self.eat(Kw::VALUE);
            Some(Raised::State(self.string()?))
        } else if again && (self.at_end() || self.at(Kw::SET)) {
            None
        } else {
            Some(Raised::Named(self.name()?))
        };
        let items = if self.eat(Kw::SET) { self.list(Self::signal_item)? } else { &[] };
        Ok(Statement::Signal(self.arena.alloc(Signal { again, condition, items })))
    }

    /// `ITEM = value`.
    fn signal_item(&mut self) -> PResult<(ConditionItem, Expr<'a>)> {
        let found = if Self::is_name(self.tok) { ConditionItem::of(self.name_text(self.tok)?) } else { None };
        // The state is said once, by what is raised.
        let Some(item) = found.filter(|item| *item != ConditionItem::ReturnedSqlstate) else { return Err(self.unexpected()) };
        self.bump();
        self.expect_tok(Tok::Eq)?;
        // Names would be variables of a stored program.
        if Self::is_name(self.tok) {
            return Err(self.unexpected());
        }
        Ok((item, self.condition_number()?))
    }

    /// `@variable = ITEM`.
    fn diagnosed_item<T>(&mut self, item: fn(&str) -> Option<T>) -> PResult<(&'a str, T)> {
        if !self.at_tok(Tok::UserVar) {
            return Err(self.undeclared());
        }
        let variable = self.user_var()?;
        self.expect_tok(Tok::Eq)?;
        let found = if Self::is_name(self.tok) { item(self.name_text(self.tok)?) } else { None };
        let Some(found) = found else { return Err(self.unexpected()) };
        self.bump();
        Ok((variable, found))
    }

    /// A literal or a variable: no expression.
    fn condition_number(&mut self) -> PResult<Expr<'a>> {
        match self.tok.tok {
            Tok::UserVar => {
                let start = self.tok.start;
                let variable = self.user_var()?;
                Ok(self.node(start, crate::ast::ExprKind::UserVar(variable)))
            }
            Tok::Int | Tok::Decimal | Tok::Float | Tok::String | Tok::NString | Tok::Hex | Tok::Bit | Tok::Introducer | Tok::AtAt => {
                self.simple()
            }
            Tok::Keyword if matches!(self.tok.kw, Kw::NULL | Kw::TRUE | Kw::FALSE) => self.simple(),
            _ => Err(self.undeclared()),
        }
    }

    /// 1327 at a name, which would be a variable of a stored program.
    fn undeclared(&self) -> Box<ParseError> {
        if !Self::is_name(self.tok) {
            return self.unexpected();
        }
        match self.name_text(self.tok) {
            Ok(name) => Box::new(ParseError::new(1327, "42000", format!("Undeclared variable: {name}"))),
            Err(e) => e,
        }
    }

    /// Takes the word if it is next, a name or a word of the grammar.
    fn eat_text(&mut self, word: &str) -> bool {
        let found = matches!(self.tok.tok, Tok::Ident | Tok::Keyword) && self.bytes(self.tok).eq_ignore_ascii_case(word.as_bytes());
        if found {
            self.bump();
        }
        found
    }
}
