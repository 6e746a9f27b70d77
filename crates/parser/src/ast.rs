//! The syntax tree.
//!
//! Nodes are plain `Copy` data that borrow from the statement's arena and from the SQL text; nothing here has a destructor, so
//! that an arena is thrown away by resetting one pointer. Names are `&str` as written (quotes removed, case kept); string
//! literals are bytes with escapes resolved, because a `_binary` literal need not be UTF-8.
//!
//! The tree says what was written, not what it means: no name is resolved, no type is inferred, nothing is folded.

mod account;
mod admin;
mod ddl;
mod dml;
mod expr;
mod query;

pub use account::*;
pub use admin::*;
pub use ddl::*;
pub use dml::*;
pub use expr::*;
pub use query::*;

/// A byte range of the text given to the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes of `sql` in this range; `sql` must be the text that was parsed.
    #[must_use]
    pub fn slice(self, sql: &[u8]) -> &[u8] {
        sql.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// A name of a table-like object, with its schema when one was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectName<'a> {
    /// Schema (database).
    pub schema: Option<&'a str>,
    /// The object's own name.
    pub name: &'a str,
}

/// What one statement says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statement<'a> {
    /// Nothing but white space and comments: MySQL answers 1065 "Query was empty".
    Empty,
    /// SELECT, VALUES, TABLE, set operations, with or without WITH.
    Query(&'a Query<'a>),
    /// INSERT and REPLACE.
    Insert(&'a Insert<'a>),
    /// UPDATE of one or several tables.
    Update(&'a Update<'a>),
    /// DELETE from one or several tables.
    Delete(&'a Delete<'a>),
    /// LOAD DATA.
    LoadData(&'a LoadData<'a>),
    /// TRUNCATE TABLE.
    Truncate(ObjectName<'a>),
    /// CALL of a procedure.
    Call(&'a Call<'a>),
    /// DO: evaluate and forget.
    Do(&'a [Expr<'a>]),
    /// CREATE DATABASE.
    CreateDatabase(&'a CreateDatabase<'a>),
    /// ALTER DATABASE.
    AlterDatabase(&'a AlterDatabase<'a>),
    /// DROP DATABASE.
    DropDatabase {
        /// No error when it is missing.
        if_exists: bool,
        /// Its name.
        name: &'a str,
    },
    /// CREATE TABLE in all forms.
    CreateTable(&'a CreateTable<'a>),
    /// ALTER TABLE.
    AlterTable(&'a AlterTable<'a>),
    /// DROP TABLE.
    DropTable(&'a DropTable<'a>),
    /// RENAME TABLE: pairs of old and new name.
    RenameTable(&'a [(ObjectName<'a>, ObjectName<'a>)]),
    /// CREATE INDEX.
    CreateIndex(&'a CreateIndex<'a>),
    /// DROP INDEX.
    DropIndex(&'a DropIndex<'a>),
    /// `CREATE [OR REPLACE] VIEW`.
    CreateView(&'a CreateView<'a>),
    /// DROP VIEW.
    DropView(&'a DropTable<'a>),
    /// DROP PROCEDURE, FUNCTION, TRIGGER, EVENT.
    DropProgram {
        /// Which.
        kind: ProgramKind,
        /// IF EXISTS.
        if_exists: bool,
        /// Its name.
        name: ObjectName<'a>,
    },
    /// USE.
    Use(&'a str),
    /// SHOW in all forms.
    Show(&'a Show<'a>),
    /// DESCRIBE of a table, with a column name or pattern.
    Describe {
        /// The table.
        table: ObjectName<'a>,
        /// Column name or LIKE pattern.
        column: Option<&'a [u8]>,
    },
    /// EXPLAIN of a statement or connection.
    Explain(&'a Explain<'a>),
    /// SET of variables, NAMES, CHARACTER SET.
    Set(&'a [SetItem<'a>]),
    /// SET TRANSACTION.
    SetTransaction(SetTransaction),
    /// SET PASSWORD.
    SetPassword(&'a SetPassword<'a>),
    /// START TRANSACTION or BEGIN.
    Begin(BeginOptions),
    /// COMMIT.
    Commit(Completion),
    /// ROLLBACK of the transaction.
    Rollback(Completion),
    /// ROLLBACK TO SAVEPOINT.
    RollbackTo(&'a str),
    /// SAVEPOINT.
    Savepoint(&'a str),
    /// RELEASE SAVEPOINT.
    ReleaseSavepoint(&'a str),
    /// LOCK TABLES.
    LockTables(&'a [TableLock<'a>]),
    /// UNLOCK TABLES.
    UnlockTables,
    /// LOCK INSTANCE FOR BACKUP.
    LockInstance,
    /// BACKUP: a step of copying the server; not MySQL's.
    Backup {
        /// Which step.
        word: &'a str,
        /// What it is about.
        numbers: &'a [u64],
    },
    /// INSTALL COMPONENT and UNINSTALL COMPONENT.
    Component {
        /// INSTALL.
        install: bool,
        /// Where the components come from.
        urns: &'a [&'a [u8]],
    },
    /// ALTER INSTANCE RELOAD TLS.
    ReloadTls {
        /// Without NO ROLLBACK ON ERROR.
        keep_on_error: bool,
    },
    /// UNLOCK INSTANCE.
    UnlockInstance,
    /// PREPARE.
    Prepare {
        /// Statement name.
        name: &'a str,
        /// Its text.
        source: PrepareSource<'a>,
    },
    /// EXECUTE, with the user variables after USING.
    Execute {
        /// Statement name.
        name: &'a str,
        /// User variables.
        using: &'a [&'a str],
    },
    /// DEALLOCATE or DROP PREPARE.
    Deallocate(&'a str),
    /// KILL.
    Kill {
        /// Whole connection or only its statement.
        kind: KillKind,
        /// The connection's id.
        id: &'a Expr<'a>,
    },
    /// FLUSH.
    Flush(&'a Flush<'a>),
    /// ANALYZE, CHECK, OPTIMIZE, REPAIR, CHECKSUM TABLE.
    TableMaintenance(&'a TableMaintenance<'a>),
    /// CREATE USER.
    CreateUser(&'a CreateUser<'a>),
    /// ALTER USER.
    AlterUser(&'a CreateUser<'a>),
    /// DROP USER.
    DropUser {
        /// No error when one is missing.
        if_exists: bool,
        /// The accounts.
        users: &'a [Account<'a>],
    },
    /// RENAME USER: pairs of old and new account.
    RenameUser(&'a [(Account<'a>, Account<'a>)]),
    /// CREATE ROLE.
    CreateRole {
        /// No error when one exists.
        if_not_exists: bool,
        /// The roles.
        roles: &'a [Account<'a>],
    },
    /// DROP ROLE.
    DropRole {
        /// No error when one is missing.
        if_exists: bool,
        /// The roles.
        roles: &'a [Account<'a>],
    },
    /// GRANT of privileges.
    Grant(&'a Grant<'a>),
    /// REVOKE of privileges.
    Revoke(&'a Grant<'a>),
    /// GRANT of roles.
    GrantRole(&'a GrantRole<'a>),
    /// REVOKE of roles.
    RevokeRole(&'a GrantRole<'a>),
    /// SET ROLE.
    SetRole(RoleSelection<'a>),
    /// SET DEFAULT ROLE.
    SetDefaultRole {
        /// Which roles.
        roles: RoleSelection<'a>,
        /// For whom.
        users: &'a [Account<'a>],
    },
    /// RESET PERSIST.
    ResetPersist {
        /// Which variable; all of them without a name.
        name: Option<&'a str>,
        /// No error when it is none that is kept.
        if_exists: bool,
    },
    /// GET DIAGNOSTICS.
    GetDiagnostics(&'a GetDiagnostics<'a>),
    /// SIGNAL, RESIGNAL.
    Signal(&'a Signal<'a>),
    /// HELP: about what it is asked does not matter, as there are no texts.
    Help,
    /// SHUTDOWN.
    Shutdown,
    /// XA.
    Xa(Xa<'a>),
    /// A statement of MySQL that is recognised and not carried out: the session answers 1235 with this name.
    Unsupported(&'static str),
}
