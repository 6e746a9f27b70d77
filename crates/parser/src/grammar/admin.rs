//! FLUSH, table maintenance, PREPARE and EXECUTE.

use super::{PResult, Parser};
use crate::ast::{Flush, HistogramChange, Maintenance, PrepareSource, Statement, TableMaintenance};
use crate::keyword::Kw;
use crate::lexer::Tok;

impl<'a> Parser<'a> {
    fn skip_binlog_word(&mut self) {
        if !self.eat(Kw::NO_WRITE_TO_BINLOG) {
            self.eat(Kw::LOCAL);
        }
    }

    /// FLUSH.
    #[inline(never)]
    pub(super) fn flush(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        self.skip_binlog_word();
        let mut flush = Flush { what: &[], tables: &[], read_lock: false, for_export: false };
        if self.at(Kw::TABLES) || self.at(Kw::TABLE) {
            self.bump();
            flush.what = &["TABLES"];
            if !self.at_end() && !self.at(Kw::WITH) {
                flush.tables = self.objects()?;
            }
            if self.eat(Kw::WITH) {
                self.expect(Kw::READ)?;
                self.expect(Kw::LOCK)?;
                flush.read_lock = true;
            } else if self.eat(Kw::FOR) {
                self.expect(Kw::EXPORT)?;
                flush.for_export = true;
            }
            return Ok(Statement::Flush(self.arena.alloc(flush)));
        }
        flush.what = self.list(Self::flush_item)?;
        Ok(Statement::Flush(self.arena.alloc(flush)))
    }

    fn flush_item(&mut self) -> PResult<&'static str> {
        let kw = self.tok.kw;
        let at = self.tok;
        self.bump();
        let logs = |p: &mut Self, name: &'static str| {
            p.expect(Kw::LOGS)?;
            Ok(name)
        };
        match kw {
            Kw::PRIVILEGES => Ok("PRIVILEGES"),
            Kw::LOGS => Ok("LOGS"),
            Kw::STATUS => Ok("STATUS"),
            Kw::HOSTS => Ok("HOSTS"),
            Kw::OPTIMIZER_COSTS => Ok("OPTIMIZER_COSTS"),
            Kw::USER_RESOURCES => Ok("USER_RESOURCES"),
            Kw::BINARY => logs(self, "BINARY LOGS"),
            Kw::ENGINE => logs(self, "ENGINE LOGS"),
            Kw::ERROR => logs(self, "ERROR LOGS"),
            Kw::GENERAL => logs(self, "GENERAL LOGS"),
            Kw::SLOW => logs(self, "SLOW LOGS"),
            Kw::RELAY => {
                self.expect(Kw::LOGS)?;
                if self.eat(Kw::FOR) {
                    self.expect(Kw::CHANNEL)?;
                    self.name_or_string()?;
                }
                Ok("RELAY LOGS")
            }
            _ => Err(self.error_at(at)),
        }
    }

    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE.
    #[inline(never)]
    pub(super) fn maintenance(&mut self) -> PResult<Statement<'a>> {
        let kind = match self.tok.kw {
            Kw::ANALYZE => Maintenance::Analyze,
            Kw::CHECK => Maintenance::Check,
            Kw::OPTIMIZE => Maintenance::Optimize,
            Kw::REPAIR => Maintenance::Repair,
            _ => Maintenance::Checksum,
        };
        self.bump();
        if !matches!(kind, Maintenance::Check | Maintenance::Checksum) {
            self.skip_binlog_word();
        }
        if !self.eat(Kw::TABLE) {
            self.expect(Kw::TABLES)?;
        }
        let tables = self.objects()?;
        let mut histogram = None;
        if kind == Maintenance::Analyze && (self.at(Kw::UPDATE) || self.at(Kw::DROP)) {
            let update = self.at(Kw::UPDATE);
            self.bump();
            self.expect(Kw::HISTOGRAM)?;
            self.expect(Kw::ON)?;
            let columns = self.list(Self::name)?;
            let mut change = HistogramChange { update, columns, buckets: None, auto_update: None, data: false };
            if update && !self.at_end() {
                self.histogram_options(&mut change)?;
            }
            histogram = Some(change);
        }
        let mut options = self.vec();
        loop {
            let word = match (kind, self.tok.kw) {
                (Maintenance::Check, Kw::FOR) => {
                    self.bump();
                    if !self.at(Kw::UPGRADE) {
                        return Err(self.unexpected());
                    }
                    "FOR UPGRADE"
                }
                (Maintenance::Check, kw @ (Kw::QUICK | Kw::FAST | Kw::MEDIUM | Kw::EXTENDED | Kw::CHANGED))
                | (Maintenance::Checksum, kw @ (Kw::QUICK | Kw::EXTENDED))
                | (Maintenance::Repair, kw @ (Kw::QUICK | Kw::EXTENDED)) => kw.text(),
                _ => break,
            };
            self.bump();
            options.push(word);
        }
        let node = TableMaintenance { kind, tables, histogram, options: options.into_bump_slice() };
        Ok(Statement::TableMaintenance(self.arena.alloc(node)))
    }

    /// `WITH n BUCKETS`, `USING DATA '…'`, AUTO or MANUAL UPDATE.
    fn histogram_options(&mut self, change: &mut HistogramChange<'a>) -> PResult<()> {
        if self.eat(Kw::USING) {
            self.expect(Kw::DATA)?;
            self.string()?;
            change.data = true;
        }
        if self.eat(Kw::WITH) {
            change.buckets = Some(self.int()?);
            self.name()?;
        }
        if self.at(Kw::MANUAL) || Self::is_name(self.tok) {
            change.auto_update = Some(!self.at(Kw::MANUAL));
            self.bump();
            self.expect(Kw::UPDATE)?;
        }
        Ok(())
    }

    /// PREPARE.
    pub(super) fn prepare(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let name = self.name()?;
        self.expect(Kw::FROM)?;
        let source = if self.at_tok(Tok::UserVar) { PrepareSource::UserVar(self.user_var()?) } else { PrepareSource::Text(self.string()?) };
        Ok(Statement::Prepare { name, source })
    }

    /// EXECUTE.
    pub(super) fn execute(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let name = self.name()?;
        let using = if self.eat(Kw::USING) { self.list(Self::user_var)? } else { &[] };
        Ok(Statement::Execute { name, using })
    }
}
