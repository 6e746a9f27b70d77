//! Transactions, savepoints, table locks, XA.

use super::{PResult, Parser};
use crate::ast::{BeginOptions, Completion, IsolationLevel, SetTransaction, Statement, TableLock, VarScope, Xa, XaStart, Xid};
use crate::keyword::Kw;
use crate::lexer::Tok;

/// Longest global part and longest branch of an XID.
const XID_PART_BYTES_MAX: usize = 64;

impl<'a> Parser<'a> {
    /// `BEGIN [WORK]`.
    pub(super) fn begin(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        self.eat(Kw::WORK);
        Ok(Statement::Begin(BeginOptions::default()))
    }

    /// START.
    pub(super) fn start(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::TRANSACTION => self.bump(),
            Kw::REPLICA | Kw::SLAVE => return self.unsupported("START REPLICA"),
            Kw::GROUP_REPLICATION => return self.unsupported("START GROUP_REPLICATION"),
            _ => return Err(self.unexpected()),
        }
        let mut options = BeginOptions::default();
        let mut contradicts = false;
        while self.at(Kw::WITH) || self.at(Kw::READ) {
            if self.eat(Kw::WITH) {
                self.expect(Kw::CONSISTENT)?;
                self.expect(Kw::SNAPSHOT)?;
                options.consistent_snapshot = true;
            } else {
                let read_only = self.access_mode()?;
                // To say the same again is allowed; MySQL finds the contradiction when it has read all.
                contradicts |= options.read_only.is_some_and(|earlier| earlier != read_only);
                options.read_only = Some(read_only);
            }
            if !self.eat_tok(Tok::Comma) {
                break;
            }
            if !self.at(Kw::WITH) && !self.at(Kw::READ) {
                return Err(self.unexpected());
            }
        }
        if contradicts {
            return Err(self.unexpected());
        }
        Ok(Statement::Begin(options))
    }

    /// READ ONLY (`true`) or READ WRITE.
    fn access_mode(&mut self) -> PResult<bool> {
        self.expect(Kw::READ)?;
        if self.eat(Kw::ONLY) {
            return Ok(true);
        }
        self.expect(Kw::WRITE)?;
        Ok(false)
    }

    /// COMMIT.
    pub(super) fn commit(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        self.eat(Kw::WORK);
        Ok(Statement::Commit(self.completion()?))
    }

    /// ROLLBACK, also to a savepoint.
    pub(super) fn rollback(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        self.eat(Kw::WORK);
        if self.eat(Kw::TO) {
            self.eat(Kw::SAVEPOINT);
            return Ok(Statement::RollbackTo(self.savepoint_name()?));
        }
        Ok(Statement::Rollback(self.completion()?))
    }

    /// A savepoint's name: of any length.
    pub(super) fn savepoint_name(&mut self) -> PResult<&'a str> {
        if !Self::is_name(self.tok) {
            return Err(self.unexpected());
        }
        let name = self.name_of_any_length(self.tok)?;
        self.bump();
        Ok(name)
    }

    fn completion(&mut self) -> PResult<Completion> {
        let mut completion = Completion::default();
        if self.eat(Kw::AND) {
            let no = self.eat(Kw::NO);
            self.expect(Kw::CHAIN)?;
            completion.chain = Some(!no);
        }
        if self.at(Kw::NO) || self.at(Kw::RELEASE) {
            let at = self.tok;
            let no = self.eat(Kw::NO);
            self.expect(Kw::RELEASE)?;
            completion.release = Some(!no);
            if !no && completion.chain == Some(true) {
                return Err(self.error_at(at));
            }
        }
        Ok(completion)
    }

    /// SET TRANSACTION after SET [scope]; TRANSACTION is next.
    pub(super) fn set_transaction(&mut self, scope: Option<VarScope>) -> PResult<Statement<'a>> {
        self.bump();
        let mut set = SetTransaction { scope, isolation: None, read_only: None };
        loop {
            if self.at(Kw::READ) && set.read_only.is_none() {
                set.read_only = Some(self.access_mode()?);
            } else if self.at(Kw::ISOLATION) && set.isolation.is_none() {
                self.bump();
                self.expect(Kw::LEVEL)?;
                set.isolation = Some(self.isolation_level()?);
            } else {
                return Err(self.unexpected());
            }
            if !self.eat_tok(Tok::Comma) {
                return Ok(Statement::SetTransaction(set));
            }
        }
    }

    fn isolation_level(&mut self) -> PResult<IsolationLevel> {
        if self.eat(Kw::SERIALIZABLE) {
            return Ok(IsolationLevel::Serializable);
        }
        if self.eat(Kw::REPEATABLE) {
            self.expect(Kw::READ)?;
            return Ok(IsolationLevel::RepeatableRead);
        }
        self.expect(Kw::READ)?;
        if self.eat(Kw::COMMITTED) {
            return Ok(IsolationLevel::ReadCommitted);
        }
        self.expect(Kw::UNCOMMITTED)?;
        Ok(IsolationLevel::ReadUncommitted)
    }

    /// LOCK TABLES.
    pub(super) fn lock(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        if self.at(Kw::INSTANCE) {
            self.bump();
            self.expect(Kw::FOR)?;
            self.expect(Kw::BACKUP)?;
            return Ok(Statement::LockInstance);
        }
        if !self.eat(Kw::TABLES) {
            self.expect(Kw::TABLE)?;
        }
        let locks = self.list(|p| {
            let table = p.object()?;
            let alias = p.table_alias()?;
            let mut lock = TableLock { table, alias, write: false, local: false };
            if p.eat(Kw::READ) {
                lock.local = p.eat(Kw::LOCAL);
            } else {
                p.expect(Kw::WRITE)?;
                lock.write = true;
            }
            Ok(lock)
        })?;
        Ok(Statement::LockTables(locks))
    }

    /// BACKUP.
    pub(super) fn backup(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let word = self.name()?;
        let numbers = if self.at_end() { &[] } else { self.list(|p| p.int())? };
        Ok(Statement::Backup { word, numbers })
    }

    /// ALTER INSTANCE, from INSTANCE on.
    pub(super) fn alter_instance(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        if !self.at(Kw::RELOAD) || self.peek().kw != Kw::TLS {
            return self.unsupported("ALTER INSTANCE");
        }
        self.bump();
        self.bump();
        if self.eat(Kw::FOR) {
            self.expect(Kw::CHANNEL)?;
            // There is no administrators' port, so no other channel.
            let at = self.tok;
            if !self.name()?.eq_ignore_ascii_case("mysql_main") {
                return Err(self.error_at(at));
            }
        }
        let keep_on_error = !self.eat(Kw::NO);
        if !keep_on_error {
            for word in [Kw::ROLLBACK, Kw::ON, Kw::ERROR] {
                self.expect(word)?;
            }
        }
        Ok(Statement::ReloadTls { keep_on_error })
    }

    /// UNLOCK TABLES.
    pub(super) fn unlock(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        if self.at(Kw::INSTANCE) {
            self.bump();
            return Ok(Statement::UnlockInstance);
        }
        if !self.eat(Kw::TABLES) {
            self.expect(Kw::TABLE)?;
        }
        Ok(Statement::UnlockTables)
    }

    /// XA.
    pub(super) fn xa(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let word = self.tok.kw;
        self.bump();
        let xa = match word {
            Kw::START | Kw::BEGIN => {
                let xid = self.xid()?;
                let how = if self.eat(Kw::JOIN) {
                    XaStart::Join
                } else if self.eat(Kw::RESUME) {
                    XaStart::Resume
                } else {
                    XaStart::New
                };
                Xa::Start { xid, how }
            }
            Kw::END => {
                let xid = self.xid()?;
                let suspend = self.eat(Kw::SUSPEND);
                if suspend && self.eat(Kw::FOR) {
                    self.expect(Kw::MIGRATE)?;
                }
                Xa::End { xid, suspend }
            }
            Kw::PREPARE => Xa::Prepare(self.xid()?),
            Kw::COMMIT => {
                let xid = self.xid()?;
                let one_phase = self.eat(Kw::ONE);
                if one_phase {
                    self.expect(Kw::PHASE)?;
                }
                Xa::Commit { xid, one_phase }
            }
            Kw::ROLLBACK => Xa::Rollback(self.xid()?),
            Kw::RECOVER => {
                let convert = self.eat(Kw::CONVERT);
                if convert {
                    self.expect(Kw::XID)?;
                }
                Xa::Recover { convert }
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Statement::Xa(xa))
    }

    fn format_id(&mut self) -> PResult<u64> {
        if !self.at_tok(Tok::Hex) {
            return self.int();
        }
        let bytes = self.radix_value(self.tok)?;
        if bytes.len() > 8 {
            return Err(self.unexpected());
        }
        self.bump();
        Ok(bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn xid(&mut self) -> PResult<&'a Xid<'a>> {
        let gtrid = self.text_or_hex()?;
        let (mut bqual, mut format_id) = (&b""[..], 1);
        if self.eat_tok(Tok::Comma) {
            bqual = self.text_or_hex()?;
            if self.eat_tok(Tok::Comma) {
                format_id = self.format_id()?;
            }
        }
        if gtrid.len() > XID_PART_BYTES_MAX || bqual.len() > XID_PART_BYTES_MAX {
            return Err(self.unexpected());
        }
        Ok(self.arena.alloc(Xid { gtrid, bqual, format_id }))
    }
}
