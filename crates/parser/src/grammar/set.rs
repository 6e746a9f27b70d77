//! SET.

use super::expr::scope_named;
use super::{PResult, Parser};
use crate::ast::{ColumnRef, Expr, ExprKind, Secret, SetItem, SetPassword, Statement, VarScope};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    /// SET in all forms.
    #[inline(never)]
    pub(super) fn set(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::TRANSACTION => return self.set_transaction(None),
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL if self.peek().kw == Kw::TRANSACTION => {
                let scope = if self.at(Kw::GLOBAL) { VarScope::Global } else { VarScope::Session };
                self.bump();
                return self.set_transaction(Some(scope));
            }
            Kw::PASSWORD if self.peek().tok != Tok::Assign => return self.set_password(),
            Kw::ROLE => {
                self.bump();
                return Ok(Statement::SetRole(self.role_selection(true)?));
            }
            Kw::DEFAULT if self.peek().kw == Kw::ROLE => {
                self.bump();
                self.bump();
                let roles = self.role_selection(false)?;
                self.expect(Kw::TO)?;
                return Ok(Statement::SetDefaultRole { roles, users: self.accounts()? });
            }
            Kw::RESOURCE if self.peek().kw == Kw::GROUP => return self.unsupported("SET RESOURCE GROUP"),
            _ => {}
        }
        // Unlike `@@name`, a bare name is the session's value: of `transaction_isolation` that makes a difference.
        let mut scope = Some(VarScope::Session);
        Ok(Statement::Set(self.list(|parser| parser.set_item(&mut scope))?))
    }

    /// One of the list; `scope` is what bare names are of: a word that says otherwise holds for those behind it, too.
    fn set_item(&mut self, scope: &mut Option<VarScope>) -> PResult<SetItem<'a>> {
        match self.tok.kw {
            Kw::NAMES if !matches!(self.peek().tok, Tok::Eq | Tok::Assign) => return self.set_names(),
            Kw::CHARACTER | Kw::CHAR | Kw::CHARSET if self.at_charset() && !matches!(self.peek().tok, Tok::Eq | Tok::Assign) => {
                if !self.eat(Kw::CHARSET) {
                    self.bump();
                    self.bump();
                }
                if self.eat(Kw::DEFAULT) {
                    return Ok(SetItem::Charset(None));
                }
                return Ok(SetItem::Charset(Some(self.charset_name()?)));
            }
            _ => {}
        }
        if self.at_tok(Tok::UserVar) {
            let name = self.user_var()?;
            self.equals()?;
            return Ok(SetItem::User { name, value: self.expr()? });
        }
        if self.eat_tok(Tok::AtAt) {
            let var = *self.system_variable_name()?;
            self.equals()?;
            return Ok(SetItem::System { scope: var.scope, component: var.component, name: var.name, value: self.set_value()? });
        }
        if matches!(self.tok.kw, Kw::GLOBAL | Kw::SESSION | Kw::LOCAL | Kw::PERSIST | Kw::PERSIST_ONLY)
            && !matches!(self.peek().tok, Tok::Eq | Tok::Assign | Tok::Dot)
        {
            *scope = scope_named(self.name_text(self.tok)?);
            self.bump();
        }
        let mut component = None;
        let mut name = self.name()?;
        if self.eat_tok(Tok::Dot) {
            component = Some(name);
            name = self.name()?;
        }
        self.equals()?;
        Ok(SetItem::System { scope: *scope, component, name, value: self.set_value()? })
    }

    fn equals(&mut self) -> PResult<()> {
        if self.eat_tok(Tok::Eq) { Ok(()) } else { self.expect_tok(Tok::Assign) }
    }

    /// A value; ON, ALL, BINARY, ROW and SYSTEM are words here, DEFAULT is none.
    fn set_value(&mut self) -> PResult<Option<Expr<'a>>> {
        let at = self.tok;
        match at.kw {
            Kw::DEFAULT if self.peek().tok != Tok::LParen => {
                self.bump();
                Ok(None)
            }
            Kw::ON | Kw::ALL | Kw::BINARY | Kw::ROW | Kw::SYSTEM if matches!(self.peek().tok, Tok::Eof | Tok::Comma | Tok::Semicolon) => {
                self.bump();
                let column = self.arena.alloc(ColumnRef { schema: None, table: None, column: at.kw.text() });
                Ok(Some(self.node(at.start, ExprKind::Column(column))))
            }
            _ => Ok(Some(self.expr()?)),
        }
    }

    fn set_names(&mut self) -> PResult<SetItem<'a>> {
        self.bump();
        if self.eat(Kw::DEFAULT) {
            return Ok(SetItem::Names { charset: None, collation: None });
        }
        let charset = Some(self.charset_name()?);
        let collation = if self.eat(Kw::COLLATE) { Some(self.charset_name()?) } else { None };
        Ok(SetItem::Names { charset, collation })
    }

    fn set_password(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let user = if self.eat(Kw::FOR) { Some(self.account()?) } else { None };
        let mut set = SetPassword { user, secret: Secret::None, replace: None, retain_current: false };
        if self.eat(Kw::TO) {
            self.expect(Kw::RANDOM)?;
            set.secret = Secret::Random;
        } else {
            self.equals()?;
            set.secret = Secret::Password(self.string()?);
        }
        if self.eat(Kw::REPLACE) {
            set.replace = Some(self.string()?);
        }
        if self.eat(Kw::RETAIN) {
            self.expect(Kw::CURRENT)?;
            self.expect(Kw::PASSWORD)?;
            set.retain_current = true;
        }
        Ok(Statement::SetPassword(self.arena.alloc(set)))
    }
}
