//! Which statement begins here.

use super::{PResult, Parser};
use crate::ast::Statement;
use crate::keyword::Kw;
use crate::lexer::{Tok, Token};

impl<'a> Parser<'a> {
    /// One statement, up to its semicolon or the end.
    pub(super) fn statement(&mut self) -> PResult<Statement<'a>> {
        match self.tok {
            Token { kw: Kw::SELECT | Kw::VALUES | Kw::TABLE, .. } | Token { tok: Tok::LParen, .. } => Ok(Statement::Query(self.query()?)),
            Token { kw: Kw::INSERT | Kw::REPLACE, .. } => self.insert(),
            Token { kw: Kw::UPDATE, .. } => self.update(None),
            Token { kw: Kw::DELETE, .. } => self.delete(None),
            Token { kw: Kw::COMMIT, .. } => self.commit(),
            Token { kw: Kw::BEGIN, .. } => self.begin(),
            Token { kw: Kw::SET, .. } => self.set(),
            Token { kw: Kw::WITH, .. } => self.with_statement(),
            Token { tok: Tok::Eof | Tok::Semicolon, .. } => Ok(Statement::Empty),
            Token { tok: Tok::Keyword, .. } => self.other_statement(),
            _ => Err(self.unexpected()),
        }
    }

    fn with_statement(&mut self) -> PResult<Statement<'a>> {
        let start = self.tok.start;
        let with = self.with()?;
        match self.tok.kw {
            Kw::UPDATE => self.update(Some(with)),
            Kw::DELETE => self.delete(Some(with)),
            _ => Ok(Statement::Query(self.query_with(start, Some(with))?)),
        }
    }

    #[inline(never)]
    fn other_statement(&mut self) -> PResult<Statement<'a>> {
        match self.tok.kw {
            Kw::START => self.start(),
            Kw::ROLLBACK => self.rollback(),
            Kw::SAVEPOINT => {
                self.bump();
                Ok(Statement::Savepoint(self.savepoint_name()?))
            }
            Kw::RELEASE => {
                self.bump();
                self.expect(Kw::SAVEPOINT)?;
                Ok(Statement::ReleaseSavepoint(self.savepoint_name()?))
            }
            Kw::CREATE => self.create(),
            Kw::ALTER => self.alter(),
            Kw::DROP => self.drop_statement(),
            Kw::RENAME => self.rename(),
            Kw::TRUNCATE => {
                self.bump();
                self.eat(Kw::TABLE);
                Ok(Statement::Truncate(self.object()?))
            }
            Kw::USE => {
                self.bump();
                Ok(Statement::Use(self.name()?))
            }
            Kw::SHOW => self.show(),
            Kw::DESCRIBE | Kw::DESC | Kw::EXPLAIN => self.explain(),
            Kw::LOAD => self.load(),
            Kw::CALL => self.call_statement(),
            Kw::DO => self.do_statement(),
            Kw::LOCK => self.lock(),
            Kw::UNLOCK => self.unlock(),
            Kw::BACKUP => self.backup(),
            Kw::PREPARE => self.prepare(),
            Kw::EXECUTE => self.execute(),
            Kw::DEALLOCATE => {
                self.bump();
                self.expect(Kw::PREPARE)?;
                Ok(Statement::Deallocate(self.name()?))
            }
            Kw::KILL => self.kill(),
            Kw::FLUSH => self.flush(),
            Kw::ANALYZE | Kw::CHECK | Kw::OPTIMIZE | Kw::REPAIR | Kw::CHECKSUM => self.maintenance(),
            Kw::GRANT | Kw::REVOKE => self.grant(),
            Kw::XA => self.xa(),
            Kw::GET => self.get_diagnostics(),
            Kw::SIGNAL | Kw::RESIGNAL => self.signal(),
            Kw::HELP => {
                self.bump();
                self.alias()?;
                Ok(Statement::Help)
            }
            Kw::SHUTDOWN => {
                self.bump();
                Ok(Statement::Shutdown)
            }
            Kw::RESET if self.peek().kw == Kw::PERSIST => self.reset_persist(),
            Kw::INSTALL | Kw::UNINSTALL if self.peek().kw == Kw::COMPONENT => self.component(),
            _ => self.rare_statement(),
        }
    }

    /// `RESET PERSIST [[IF EXISTS] name]`.
    fn reset_persist(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        self.bump();
        let if_exists = self.if_exists()?;
        let name = if if_exists || Self::is_name(self.tok) { Some(self.name()?) } else { None };
        Ok(Statement::ResetPersist { name, if_exists })
    }

    /// `INSTALL COMPONENT 'urn', …` and UNINSTALL. `INSTALL … SET` is not carried out.
    fn component(&mut self) -> PResult<Statement<'a>> {
        let install = self.at(Kw::INSTALL);
        self.bump();
        self.bump();
        let mut urns = bumpalo::collections::Vec::new_in(self.arena);
        loop {
            urns.push(self.string()?);
            if !self.eat_tok(Tok::Comma) {
                break;
            }
        }
        if install && self.at(Kw::SET) {
            return self.unsupported("INSTALL COMPONENT ... SET");
        }
        Ok(Statement::Component { install, urns: urns.into_bump_slice() })
    }

    /// Statements that are recognised and not carried out.
    fn rare_statement(&mut self) -> PResult<Statement<'a>> {
        let what = match self.tok.kw {
            Kw::HANDLER => "HANDLER",
            Kw::RESET => "RESET",
            Kw::INSTALL => "INSTALL",
            Kw::UNINSTALL => "UNINSTALL",
            Kw::PURGE => "PURGE BINARY LOGS",
            Kw::CHANGE => "CHANGE REPLICATION SOURCE",
            Kw::STOP => "STOP REPLICA",
            Kw::CLONE => "CLONE",
            Kw::RESTART => "RESTART",
            Kw::BINLOG => "BINLOG",
            Kw::CACHE => "CACHE INDEX",
            Kw::IMPORT => "IMPORT TABLE",
            _ => return Err(self.unexpected()),
        };
        self.bump();
        if self.at_end() && !matches!(what, "RESTART") {
            return Err(self.unexpected());
        }
        self.unsupported(what)
    }
}
