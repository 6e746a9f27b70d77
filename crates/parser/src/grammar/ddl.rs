//! CREATE, ALTER, DROP and RENAME of databases, indexes, views; what is recognised but not carried out.

use super::{PResult, Parser};
use crate::ast::{
    AlterDatabase, CreateDatabase, CreateIndex, CreateView, DatabaseOptions, DropIndex, DropTable, KeyKind, ProgramKind, RoleSelection,
    Statement, ViewCheck,
};
use crate::keyword::Kw;
use crate::lexer::{Tok, Token};

/// What stands before VIEW.
#[derive(Default)]
struct ViewWords<'a> {
    algorithm: Option<&'static str>,
    definer: Option<crate::ast::Account<'a>>,
    invoker: Option<bool>,
}

impl<'a> Parser<'a> {
    /// CREATE.
    #[inline(never)]
    pub(super) fn create(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let or_replace = if self.eat(Kw::OR) {
            self.expect(Kw::REPLACE)?;
            true
        } else {
            false
        };
        match self.tok.kw {
            Kw::TABLE if !or_replace => self.create_table(false),
            Kw::TEMPORARY if !or_replace => {
                self.bump();
                if !self.at(Kw::TABLE) {
                    return Err(self.unexpected());
                }
                self.create_table(true)
            }
            Kw::DATABASE | Kw::SCHEMA if !or_replace => self.create_database(),
            Kw::INDEX | Kw::UNIQUE | Kw::FULLTEXT | Kw::SPATIAL if !or_replace && self.peek().kw != Kw::REFERENCE => self.create_index(),
            Kw::USER if !or_replace => self.create_user(false),
            Kw::ROLE if !or_replace => {
                self.bump();
                let if_not_exists = self.if_not_exists()?;
                Ok(Statement::CreateRole { if_not_exists, roles: self.accounts()? })
            }
            Kw::ALGORITHM | Kw::DEFINER | Kw::SQL | Kw::VIEW => self.create_defined(or_replace, false),
            Kw::PROCEDURE => self.stored_program("CREATE PROCEDURE"),
            Kw::FUNCTION | Kw::AGGREGATE => self.stored_program("CREATE FUNCTION"),
            Kw::TRIGGER => self.stored_program("CREATE TRIGGER"),
            Kw::EVENT => self.stored_program("CREATE EVENT"),
            Kw::LIBRARY => self.stored_program("CREATE LIBRARY"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("CREATE TABLESPACE"),
            Kw::SERVER => self.unsupported("CREATE SERVER"),
            Kw::RESOURCE => self.unsupported("CREATE RESOURCE GROUP"),
            Kw::SPATIAL => self.unsupported("CREATE SPATIAL REFERENCE SYSTEM"),
            _ => Err(self.unexpected()),
        }
    }

    /// A statement that is recognised and not carried out, up to its semicolon.
    #[inline(never)]
    pub(super) fn unsupported(&mut self, what: &'static str) -> PResult<Statement<'a>> {
        while !self.at_end() {
            if self.at_tok(Tok::Bad) {
                return Err(self.unexpected());
            }
            self.bump();
        }
        Ok(Statement::Unsupported(what))
    }

    /// A stored program: a body in BEGIN … END holds semicolons, so it ends with the text.
    fn stored_program(&mut self, what: &'static str) -> PResult<Statement<'a>> {
        let mut compound = false;
        loop {
            match self.tok {
                Token { tok: Tok::Eof, .. } => return Ok(Statement::Unsupported(what)),
                Token { tok: Tok::Semicolon, .. } if !compound => return Ok(Statement::Unsupported(what)),
                Token { tok: Tok::Bad, .. } => return Err(self.unexpected()),
                Token { kw: Kw::BEGIN | Kw::IF | Kw::CASE | Kw::LOOP | Kw::WHILE | Kw::REPEAT, .. } => compound = true,
                _ => {}
            }
            self.bump();
        }
    }

    /// CREATE or ALTER with ALGORITHM, DEFINER or SQL SECURITY before the object.
    fn create_defined(&mut self, or_replace: bool, alter: bool) -> PResult<Statement<'a>> {
        let mut words = ViewWords::default();
        if self.eat(Kw::ALGORITHM) {
            self.expect_tok(Tok::Eq)?;
            words.algorithm = Some(match self.tok.kw {
                Kw::UNDEFINED => "UNDEFINED",
                Kw::MERGE => "MERGE",
                Kw::TEMPTABLE => "TEMPTABLE",
                _ => return Err(self.unexpected()),
            });
            self.bump();
        }
        if self.eat(Kw::DEFINER) {
            self.expect_tok(Tok::Eq)?;
            words.definer = Some(self.account()?);
        }
        if self.eat(Kw::SQL) {
            self.expect(Kw::SECURITY)?;
            words.invoker = Some(!self.eat(Kw::DEFINER));
            if words.invoker == Some(true) {
                self.expect(Kw::INVOKER)?;
            }
        }
        match self.tok.kw {
            Kw::VIEW => self.create_view(or_replace, alter, words),
            Kw::PROCEDURE => self.stored_program("CREATE PROCEDURE"),
            Kw::FUNCTION | Kw::AGGREGATE => self.stored_program("CREATE FUNCTION"),
            Kw::TRIGGER => self.stored_program("CREATE TRIGGER"),
            Kw::EVENT => self.stored_program("CREATE EVENT"),
            _ => Err(self.unexpected()),
        }
    }

    fn create_view(&mut self, or_replace: bool, alter: bool, words: ViewWords<'a>) -> PResult<Statement<'a>> {
        self.bump();
        let if_not_exists = !alter && self.if_not_exists()?;
        let name = self.object()?;
        let columns = self.optional_names()?;
        self.expect(Kw::AS)?;
        let query = self.query()?;
        let mut check = None;
        if self.eat(Kw::WITH) {
            check = Some(if !self.eat(Kw::CASCADED) && self.eat(Kw::LOCAL) { ViewCheck::Local } else { ViewCheck::Cascaded });
            self.expect(Kw::CHECK)?;
            self.expect(Kw::OPTION)?;
        }
        let ViewWords { algorithm, definer, invoker } = words;
        let view =
            CreateView { or_replace, alter, if_not_exists, algorithm, definer, invoker, check, name, columns, query, span: query.span };
        Ok(Statement::CreateView(self.arena.alloc(view)))
    }

    fn create_database(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        let if_not_exists = self.if_not_exists()?;
        let name = self.name()?;
        let options = self.database_options()?;
        Ok(Statement::CreateDatabase(self.arena.alloc(CreateDatabase { if_not_exists, name, options })))
    }

    fn database_options(&mut self) -> PResult<DatabaseOptions<'a>> {
        let mut options = DatabaseOptions::default();
        loop {
            let default = self.eat(Kw::DEFAULT);
            if self.at_charset() {
                options.charset = Some(self.charset_clause()?);
            } else if self.eat(Kw::COLLATE) {
                self.eat_tok(Tok::Eq);
                options.collation = Some(self.charset_name()?);
            } else if self.eat(Kw::ENCRYPTION) {
                self.eat_tok(Tok::Eq);
                options.encryption = Some(self.string()?);
            } else if !default && self.at(Kw::READ) {
                self.bump();
                self.expect(Kw::ONLY)?;
                self.eat_tok(Tok::Eq);
                options.read_only = if self.eat(Kw::DEFAULT) { Some(false) } else { Some(self.int()? != 0) };
            } else if default {
                return Err(self.unexpected());
            } else {
                return Ok(options);
            }
        }
    }

    fn create_index(&mut self) -> PResult<Statement<'a>> {
        let kind = match self.tok.kw {
            Kw::UNIQUE => KeyKind::Unique,
            Kw::FULLTEXT => KeyKind::FullText,
            Kw::SPATIAL => KeyKind::Spatial,
            _ => KeyKind::Index,
        };
        if kind != KeyKind::Index {
            self.bump();
        }
        self.expect(Kw::INDEX)?;
        let name = self.name()?;
        let using = if matches!(self.tok.kw, Kw::USING | Kw::TYPE) { Some(self.index_type()?) } else { None };
        self.expect(Kw::ON)?;
        let table = self.object()?;
        let mut key = self.key_tail(kind, None, Some(name))?;
        key.options.using = key.options.using.or(using);
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(Statement::CreateIndex(self.arena.alloc(CreateIndex { table, key, algorithm, lock })))
    }

    fn algorithm_and_lock(&mut self) -> PResult<(Option<&'a str>, Option<&'a str>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            match self.tok.kw {
                Kw::ALGORITHM => algorithm = Some(self.algorithm()?),
                Kw::LOCK => lock = Some(self.lock_option()?),
                _ => return Ok((algorithm, lock)),
            }
        }
    }

    /// DROP.
    #[inline(never)]
    pub(super) fn drop_statement(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::TABLE | Kw::TABLES => self.drop_tables(false, false),
            Kw::TEMPORARY => {
                self.bump();
                if !self.at(Kw::TABLE) && !self.at(Kw::TABLES) {
                    return Err(self.unexpected());
                }
                self.drop_tables(true, false)
            }
            Kw::VIEW => self.drop_tables(false, true),
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropDatabase { if_exists, name: self.name()? })
            }
            Kw::INDEX => {
                self.bump();
                let name = self.index_name()?;
                self.expect(Kw::ON)?;
                let table = self.object()?;
                let (algorithm, lock) = self.algorithm_and_lock()?;
                Ok(Statement::DropIndex(self.arena.alloc(DropIndex { table, name, algorithm, lock })))
            }
            Kw::USER => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropUser { if_exists, users: self.accounts()? })
            }
            Kw::ROLE => {
                self.bump();
                let if_exists = self.if_exists()?;
                Ok(Statement::DropRole { if_exists, roles: self.accounts()? })
            }
            Kw::PREPARE => {
                self.bump();
                Ok(Statement::Deallocate(self.name()?))
            }
            Kw::PROCEDURE => self.drop_program(ProgramKind::Procedure),
            Kw::FUNCTION => self.drop_program(ProgramKind::Function),
            Kw::TRIGGER => self.drop_program(ProgramKind::Trigger),
            Kw::EVENT => self.drop_program(ProgramKind::Event),
            Kw::LIBRARY => self.unsupported("DROP LIBRARY"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("DROP TABLESPACE"),
            Kw::SERVER => self.unsupported("DROP SERVER"),
            Kw::RESOURCE => self.unsupported("DROP RESOURCE GROUP"),
            Kw::SPATIAL => self.unsupported("DROP SPATIAL REFERENCE SYSTEM"),
            _ => Err(self.unexpected()),
        }
    }

    fn drop_program(&mut self, kind: ProgramKind) -> PResult<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        Ok(Statement::DropProgram { kind, if_exists, name: self.object()? })
    }

    fn drop_tables(&mut self, temporary: bool, view: bool) -> PResult<Statement<'a>> {
        self.bump();
        let if_exists = self.if_exists()?;
        let names = self.objects()?;
        if !self.eat(Kw::RESTRICT) {
            self.eat(Kw::CASCADE);
        }
        let drop = self.arena.alloc(DropTable { temporary, if_exists, names });
        Ok(if view { Statement::DropView(drop) } else { Statement::DropTable(drop) })
    }

    /// ALTER.
    #[inline(never)]
    pub(super) fn alter(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        match self.tok.kw {
            Kw::TABLE => self.alter_table(),
            Kw::DATABASE | Kw::SCHEMA => {
                self.bump();
                let at_option =
                    matches!(self.tok.kw, Kw::CHARSET | Kw::ENCRYPTION) && !matches!(self.peek().kw, Kw::DEFAULT | Kw::CHARACTER);
                let name = if Self::is_name(self.tok) && !at_option { Some(self.name()?) } else { None };
                let at = self.tok;
                let options = self.database_options()?;
                if options == DatabaseOptions::default() {
                    return Err(self.error_at(at));
                }
                Ok(Statement::AlterDatabase(self.arena.alloc(AlterDatabase { name, options })))
            }
            Kw::USER => self.create_user(true),
            Kw::ALGORITHM | Kw::DEFINER | Kw::SQL | Kw::VIEW => self.create_defined(false, true),
            Kw::PROCEDURE => self.unsupported("ALTER PROCEDURE"),
            Kw::FUNCTION => self.unsupported("ALTER FUNCTION"),
            Kw::EVENT => self.unsupported("ALTER EVENT"),
            Kw::LIBRARY => self.unsupported("ALTER LIBRARY"),
            Kw::INSTANCE => self.alter_instance(),
            Kw::SERVER => self.unsupported("ALTER SERVER"),
            Kw::TABLESPACE | Kw::UNDO => self.unsupported("ALTER TABLESPACE"),
            Kw::RESOURCE => self.unsupported("ALTER RESOURCE GROUP"),
            _ => Err(self.unexpected()),
        }
    }

    /// RENAME TABLE and RENAME USER.
    #[inline(never)]
    pub(super) fn rename(&mut self) -> PResult<Statement<'a>> {
        self.bump();
        if self.eat(Kw::USER) {
            let pairs = self.list(|p| {
                let old = p.account()?;
                p.expect(Kw::TO)?;
                Ok((old, p.account()?))
            })?;
            return Ok(Statement::RenameUser(pairs));
        }
        if !self.eat(Kw::TABLE) {
            self.expect(Kw::TABLES)?;
        }
        let pairs = self.list(|p| {
            let old = p.object()?;
            p.expect(Kw::TO)?;
            Ok((old, p.object()?))
        })?;
        Ok(Statement::RenameTable(pairs))
    }

    /// Roles after SET ROLE and DEFAULT ROLE.
    pub(super) fn role_selection(&mut self, in_set_role: bool) -> PResult<RoleSelection<'a>> {
        if self.eat(Kw::NONE) {
            return Ok(RoleSelection::None);
        }
        if in_set_role && self.eat(Kw::DEFAULT) {
            return Ok(RoleSelection::Default);
        }
        if self.eat(Kw::ALL) {
            if in_set_role && self.eat(Kw::EXCEPT) {
                return Ok(RoleSelection::AllExcept(self.accounts()?));
            }
            return Ok(RoleSelection::All);
        }
        Ok(RoleSelection::List(self.accounts()?))
    }
}
