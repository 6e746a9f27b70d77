//! SHOW, DESCRIBE, EXPLAIN.

use super::{PResult, Parser};
use crate::ast::{Explain, ExplainFormat, ExplainTarget, ProfilePart, Show, ShowFilter, ShowKind, Statement, VarScope};
use crate::keyword::Kw;
use crate::lexer::{SPACE_BEFORE, Tok};

impl<'a> Parser<'a> {
    /// SHOW.
    #[inline(never)]
    pub(super) fn show(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let what = self.show_kind()?;
        let filter_at = self.tok;
        let filter = match self.tok.kw {
            Kw::LIKE => {
                self.bump();
                ShowFilter::Like(self.string()?)
            }
            Kw::WHERE => {
                self.bump();
                ShowFilter::Where(self.expr_ref()?)
            }
            _ => ShowFilter::None,
        };
        let filterable = matches!(
            what,
            ShowKind::Databases
                | ShowKind::Tables { .. }
                | ShowKind::OpenTables { .. }
                | ShowKind::TableStatus { .. }
                | ShowKind::Triggers { .. }
                | ShowKind::Events { .. }
                | ShowKind::Columns { .. }
                | ShowKind::Indexes { .. }
                | ShowKind::Variables { .. }
                | ShowKind::Status { .. }
                | ShowKind::Charset
                | ShowKind::Collation
                | ShowKind::ProcedureStatus
                | ShowKind::FunctionStatus
        );
        let likeable = !matches!(what, ShowKind::Indexes { .. });
        if filter != ShowFilter::None && !filterable || matches!(filter, ShowFilter::Like(_)) && !likeable {
            return Err(self.error_at(filter_at));
        }
        Ok(Statement::Show(self.arena.alloc(Show { what, filter })))
    }

    /// `FROM name` or `IN name` when it is there.
    fn schema_after_from(&mut self) -> PResult<Option<&'a str>> {
        if self.eat(Kw::FROM) || self.eat(Kw::IN) { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    fn show_kind(&mut self) -> PResult<ShowKind<'a>> {
        let extended = self.eat(Kw::EXTENDED);
        let full = self.eat(Kw::FULL);
        let kw = self.tok.kw;
        let takes_them = match kw {
            Kw::TABLES | Kw::COLUMNS | Kw::FIELDS | Kw::INDEX | Kw::INDEXES | Kw::KEYS => true,
            // FULL changes nothing of the list of triggers.
            Kw::TRIGGERS | Kw::PROCESSLIST => !extended,
            _ => !extended && !full,
        };
        if !takes_them {
            return Err(self.unexpected());
        }
        let start = self.tok;
        self.bump();
        Ok(match kw {
            Kw::DATABASES | Kw::SCHEMAS => ShowKind::Databases,
            Kw::TABLES => ShowKind::Tables { full, extended, schema: self.schema_after_from()? },
            Kw::OPEN => {
                self.expect(Kw::TABLES)?;
                ShowKind::OpenTables { schema: self.schema_after_from()? }
            }
            Kw::TABLE => {
                self.expect(Kw::STATUS)?;
                ShowKind::TableStatus { schema: self.schema_after_from()? }
            }
            Kw::TRIGGERS => ShowKind::Triggers { schema: self.schema_after_from()? },
            Kw::EVENTS => ShowKind::Events { schema: self.schema_after_from()? },
            Kw::COLUMNS | Kw::FIELDS => ShowKind::Columns { full, extended, table: self.table_from()? },
            Kw::INDEX | Kw::INDEXES | Kw::KEYS if !full => ShowKind::Indexes { extended, table: self.table_from()? },
            Kw::CREATE => return self.show_create(),
            Kw::PROCEDURE if self.at(Kw::STATUS) => {
                self.bump();
                ShowKind::ProcedureStatus
            }
            Kw::FUNCTION if self.at(Kw::STATUS) => {
                self.bump();
                ShowKind::FunctionStatus
            }
            Kw::PROCEDURE | Kw::FUNCTION if self.at(Kw::CODE) => {
                return Err(Box::new(crate::ParseError::unsupported("SHOW PROCEDURE CODE")));
            }
            Kw::GLOBAL | Kw::SESSION | Kw::LOCAL => {
                let scope = Some(if kw == Kw::GLOBAL { VarScope::Global } else { VarScope::Session });
                if self.eat(Kw::VARIABLES) {
                    ShowKind::Variables { scope }
                } else {
                    self.expect(Kw::STATUS)?;
                    ShowKind::Status { scope }
                }
            }
            Kw::VARIABLES => ShowKind::Variables { scope: None },
            Kw::STATUS => ShowKind::Status { scope: None },
            Kw::PROCESSLIST => ShowKind::ProcessList { full },
            Kw::WARNINGS => ShowKind::Warnings { limit: self.optional_limit()? },
            Kw::ERRORS => ShowKind::Errors { limit: self.optional_limit()? },
            // As a call it takes no space.
            Kw::COUNT if self.tok.has(SPACE_BEFORE) && !self.lexer.mode.has(crate::SqlMode::IGNORE_SPACE) => {
                return Err(self.error_at(start));
            }
            Kw::COUNT => {
                self.expect_tok(Tok::LParen)?;
                self.expect_tok(Tok::Star)?;
                self.expect_tok(Tok::RParen)?;
                if self.eat(Kw::WARNINGS) {
                    ShowKind::CountWarnings
                } else {
                    self.expect(Kw::ERRORS)?;
                    ShowKind::CountErrors
                }
            }
            Kw::STORAGE => {
                self.expect(Kw::ENGINES)?;
                ShowKind::Engines
            }
            Kw::ENGINES => ShowKind::Engines,
            Kw::ENGINE => {
                let engine = if self.eat(Kw::ALL) { "ALL" } else { self.name_or_string()? };
                if self.eat(Kw::STATUS) {
                    ShowKind::EngineStatus(engine)
                } else if self.eat(Kw::MUTEX) {
                    ShowKind::EngineMutex(engine)
                } else {
                    self.expect(Kw::LOGS)?;
                    ShowKind::EngineLogs(engine)
                }
            }
            Kw::CHARSET => ShowKind::Charset,
            Kw::CHARACTER | Kw::CHAR => {
                self.expect(Kw::SET)?;
                ShowKind::Charset
            }
            Kw::COLLATION => ShowKind::Collation,
            Kw::PRIVILEGES => ShowKind::Privileges,
            Kw::PLUGINS => ShowKind::Plugins,
            Kw::GRANTS => {
                let user = if self.eat(Kw::FOR) { Some(self.account()?) } else { None };
                let using = if self.eat(Kw::USING) { self.accounts()? } else { &[] };
                ShowKind::Grants { user, using }
            }
            Kw::BINARY => {
                if self.eat(Kw::LOG) {
                    self.expect(Kw::STATUS)?;
                    ShowKind::BinaryLogStatus
                } else {
                    self.expect(Kw::LOGS)?;
                    ShowKind::BinaryLogs
                }
            }
            Kw::BINLOG | Kw::RELAYLOG => {
                self.expect(Kw::EVENTS)?;
                if self.eat(Kw::IN) {
                    self.string()?;
                }
                if self.eat(Kw::FROM) {
                    self.int()?;
                }
                self.optional_limit()?;
                if kw == Kw::RELAYLOG {
                    self.channel()?;
                }
                if kw == Kw::BINLOG { ShowKind::BinlogEvents } else { ShowKind::RelaylogEvents }
            }
            Kw::REPLICA => {
                self.expect(Kw::STATUS)?;
                self.channel()?;
                ShowKind::ReplicaStatus
            }
            Kw::REPLICAS => ShowKind::Replicas,
            Kw::PROFILES => ShowKind::Profiles,
            Kw::PROFILE => self.show_profile()?,
            Kw::PARSE_TREE => ShowKind::ParseTree(self.query()?),
            _ => return Err(self.error_at(start)),
        })
    }

    /// `[part [, part] ...] [FOR QUERY n] [LIMIT ...]`.
    fn show_profile(&mut self) -> PResult<ShowKind<'a>> {
        let mut parts = self.vec();
        if !self.at_end() && !self.at(Kw::FOR) && !self.at(Kw::LIMIT) {
            loop {
                parts.push(self.profile_part()?);
                if !self.eat_tok(Tok::Comma) {
                    break;
                }
            }
        }
        let query = if self.eat(Kw::FOR) {
            self.expect(Kw::QUERY)?;
            Some(self.small_int()?)
        } else {
            None
        };
        Ok(ShowKind::Profile { parts: parts.into_bump_slice(), query, limit: self.optional_limit()? })
    }

    fn profile_part(&mut self) -> PResult<ProfilePart> {
        let start = self.tok;
        let kw = start.kw;
        self.bump();
        let part = match kw {
            Kw::ALL => ProfilePart::All,
            Kw::CPU => ProfilePart::Cpu,
            Kw::IPC => ProfilePart::Ipc,
            Kw::MEMORY => ProfilePart::Memory,
            Kw::SOURCE => ProfilePart::Source,
            Kw::SWAPS => ProfilePart::Swaps,
            Kw::BLOCK => {
                self.expect(Kw::IO)?;
                ProfilePart::BlockIo
            }
            Kw::CONTEXT => {
                self.expect(Kw::SWITCHES)?;
                ProfilePart::ContextSwitches
            }
            Kw::PAGE => {
                self.expect(Kw::FAULTS)?;
                ProfilePart::PageFaults
            }
            _ => return Err(self.error_at(start)),
        };
        Ok(part)
    }

    /// `FOR CHANNEL 'name'` when it is there: there is none to tell of.
    fn channel(&mut self) -> PResult<()> {
        if self.eat(Kw::FOR) {
            self.expect(Kw::CHANNEL)?;
            self.string()?;
        }
        Ok(())
    }

    /// `FROM table [FROM schema]`.
    fn table_from(&mut self) -> PResult<crate::ast::ObjectName<'a>> {
        if !self.eat(Kw::FROM) {
            self.expect(Kw::IN)?;
        }
        let mut table = self.object()?;
        if let Some(schema) = self.schema_after_from()? {
            table.schema = Some(schema);
        }
        Ok(table)
    }

    fn show_create(&mut self) -> PResult<ShowKind<'a>> {
        let kw = self.tok.kw;
        self.bump();
        Ok(match kw {
            Kw::TABLE => ShowKind::CreateTable(self.object()?),
            Kw::VIEW => ShowKind::CreateView(self.object()?),
            Kw::DATABASE | Kw::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                ShowKind::CreateDatabase { if_not_exists, name: self.name()? }
            }
            Kw::USER => ShowKind::CreateUser(self.account()?),
            Kw::PROCEDURE => ShowKind::CreateProcedure(self.object()?),
            Kw::FUNCTION => ShowKind::CreateFunction(self.object()?),
            Kw::TRIGGER => ShowKind::CreateTrigger(self.object()?),
            Kw::EVENT => ShowKind::CreateEvent(self.object()?),
            _ => return Err(self.unexpected()),
        })
    }

    /// DESCRIBE, DESC, EXPLAIN.
    #[inline(never)]
    pub(super) fn explain(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        self.enter()?;
        if Self::is_name(self.tok) && !self.explain_option_follows() {
            let table = self.object()?;
            let column = if self.at_tok(Tok::String) {
                Some(self.string()?)
            } else if Self::is_name(self.tok) {
                Some(self.name()?.as_bytes())
            } else {
                None
            };
            return Ok(Statement::Describe { table, column });
        }
        let analyze = self.eat(Kw::ANALYZE);
        let mut format = None;
        if self.at(Kw::FORMAT) {
            self.bump();
            self.expect_tok(Tok::Eq)?;
            let at = self.tok;
            let name = self.name_or_string()?;
            format = Some(match Kw::find(name.as_bytes(), 0, name.len()) {
                Kw::TRADITIONAL => ExplainFormat::Traditional,
                Kw::JSON => ExplainFormat::Json,
                Kw::TREE => ExplainFormat::Tree,
                _ if at.tok == Tok::Eof => return Err(self.error_at(at)),
                _ => {
                    let message = format!("Unknown EXPLAIN format name: '{name}'");
                    return Err(Box::new(crate::ParseError::new(1791, "HY000", message)));
                }
            });
        }
        let into = if self.eat(Kw::INTO) { Some(self.user_var()?) } else { None };
        let mut schema = None;
        if self.at(Kw::FOR) {
            self.bump();
            if self.eat(Kw::CONNECTION) {
                let id = self.int()?;
                let explain = Explain { analyze, format, into, schema, target: ExplainTarget::Connection(id), text: (0, 0) };
                return Ok(Statement::Explain(self.arena.alloc(explain)));
            }
            if !self.eat(Kw::SCHEMA) {
                self.expect(Kw::DATABASE)?;
            }
            schema = Some(self.name()?);
        }
        let explainable =
            matches!(self.tok.kw, Kw::SELECT | Kw::WITH | Kw::TABLE | Kw::VALUES | Kw::INSERT | Kw::REPLACE | Kw::UPDATE | Kw::DELETE)
                || self.at_tok(Tok::LParen);
        if !explainable {
            return Err(self.unexpected());
        }
        let from = self.tok.start;
        let statement = self.statement()?;
        let text = (from, self.tok.start);
        let target = ExplainTarget::Statement(self.arena.alloc(statement));
        self.depth -= 1;
        Ok(Statement::Explain(self.arena.alloc(Explain { analyze, format, into, schema, target, text })))
    }

    /// Whether the name after EXPLAIN is `FORMAT =`, not a table.
    fn explain_option_follows(&self) -> bool {
        self.at(Kw::FORMAT) && self.peek().tok == Tok::Eq
    }
}
