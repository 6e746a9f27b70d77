//! Session, transaction and information statements.

use super::{Account, Expr, ObjectName, Query, Statement, VarScope};

/// One item of SET.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SetItem<'a> {
    /// A system variable; `None` as value for DEFAULT. A bare word as value (`SET x = ON`) is a
    /// [`super::ExprKind::Column`] without table.
    System {
        /// Scope as written, the session when there is none; absent for `@@name` alone.
        scope: Option<VarScope>,
        /// The part before the dot, for component and key-cache variables.
        component: Option<&'a str>,
        /// Name as written.
        name: &'a str,
        /// Value.
        value: Option<Expr<'a>>,
    },
    /// A user variable.
    User {
        /// Name without `@`.
        name: &'a str,
        /// Value.
        value: Expr<'a>,
    },
    /// SET NAMES; `None` for DEFAULT.
    Names {
        /// Character set.
        charset: Option<&'a str>,
        /// COLLATE.
        collation: Option<&'a str>,
    },
    /// SET CHARACTER SET; `None` for DEFAULT.
    Charset(Option<&'a str>),
}

/// Isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are SQL's.
pub enum IsolationLevel {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// SET TRANSACTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetTransaction {
    /// GLOBAL or SESSION; the next transaction only when absent.
    pub scope: Option<VarScope>,
    /// ISOLATION LEVEL.
    pub isolation: Option<IsolationLevel>,
    /// READ ONLY (`true`), READ WRITE.
    pub read_only: Option<bool>,
}

/// Options of START TRANSACTION.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BeginOptions {
    /// WITH CONSISTENT SNAPSHOT.
    pub consistent_snapshot: bool,
    /// READ ONLY (`true`), READ WRITE.
    pub read_only: Option<bool>,
}

/// End of COMMIT and ROLLBACK; `None` leaves it to `completion_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    /// AND CHAIN (`true`), AND NO CHAIN.
    pub chain: Option<bool>,
    /// RELEASE (`true`), NO RELEASE.
    pub release: Option<bool>,
}

/// One table of LOCK TABLES.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableLock<'a> {
    /// The table.
    pub table: ObjectName<'a>,
    /// Alias.
    pub alias: Option<&'a str>,
    /// WRITE, else READ.
    pub write: bool,
    /// READ LOCAL.
    pub local: bool,
}

/// Text of PREPARE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrepareSource<'a> {
    /// A string.
    Text(&'a [u8]),
    /// A user variable.
    UserVar(&'a str),
}

/// What KILL ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillKind {
    /// The connection; the default.
    Connection,
    /// Its current statement.
    Query,
}

/// FLUSH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flush<'a> {
    /// What, in upper case: `PRIVILEGES`, `LOGS`, `BINARY LOGS`, `STATUS`, `TABLES`, `HOSTS`, …
    pub what: &'a [&'static str],
    /// Tables of FLUSH TABLES.
    pub tables: &'a [ObjectName<'a>],
    /// WITH READ LOCK.
    pub read_lock: bool,
    /// FOR EXPORT.
    pub for_export: bool,
}

/// ANALYZE and its relatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableMaintenance<'a> {
    /// Which.
    pub kind: Maintenance,
    /// The tables.
    pub tables: &'a [ObjectName<'a>],
    /// UPDATE HISTOGRAM or DROP HISTOGRAM.
    pub histogram: Option<HistogramChange<'a>>,
    /// Words such as QUICK, EXTENDED, FOR UPGRADE, in upper case.
    pub options: &'a [&'static str],
}

/// UPDATE HISTOGRAM and DROP HISTOGRAM.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HistogramChange<'a> {
    /// UPDATE, else DROP.
    pub update: bool,
    /// ON these columns.
    pub columns: &'a [&'a str],
    /// WITH so many BUCKETS.
    pub buckets: Option<u64>,
    /// AUTO UPDATE (`true`) or MANUAL UPDATE.
    pub auto_update: Option<bool>,
    /// USING DATA.
    pub data: bool,
}

/// Kinds of table maintenance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum Maintenance {
    Analyze,
    Check,
    Optimize,
    Repair,
    Checksum,
}

/// EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Explain<'a> {
    /// ANALYZE.
    pub analyze: bool,
    /// FORMAT; `None` leaves it to `explain_format`.
    pub format: Option<ExplainFormat>,
    /// INTO @name.
    pub into: Option<&'a str>,
    /// FOR SCHEMA name.
    pub schema: Option<&'a str>,
    /// What is explained.
    pub target: ExplainTarget<'a>,
    /// Where its text stands in the statement's: from, to.
    pub text: (u32, u32),
}

/// Formats of EXPLAIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are MySQL's.
pub enum ExplainFormat {
    Traditional,
    Json,
    Tree,
}

/// What EXPLAIN explains.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ExplainTarget<'a> {
    /// A statement.
    Statement(&'a Statement<'a>),
    /// FOR CONNECTION id.
    Connection(u64),
}

/// LIKE or WHERE of SHOW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ShowFilter<'a> {
    /// Neither.
    None,
    /// LIKE 'pattern'.
    Like(&'a [u8]),
    /// WHERE expr.
    Where(&'a Expr<'a>),
}

/// SHOW.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Show<'a> {
    /// What.
    pub what: ShowKind<'a>,
    /// LIKE or WHERE.
    pub filter: ShowFilter<'a>,
}

/// What SHOW shows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs)] // Each variant is the SHOW statement of its name.
pub enum ShowKind<'a> {
    Databases,
    Tables { full: bool, extended: bool, schema: Option<&'a str> },
    OpenTables { schema: Option<&'a str> },
    TableStatus { schema: Option<&'a str> },
    Triggers { schema: Option<&'a str> },
    Events { schema: Option<&'a str> },
    Columns { full: bool, extended: bool, table: ObjectName<'a> },
    Indexes { extended: bool, table: ObjectName<'a> },
    CreateTable(ObjectName<'a>),
    CreateView(ObjectName<'a>),
    CreateDatabase { if_not_exists: bool, name: &'a str },
    CreateUser(Account<'a>),
    CreateProcedure(ObjectName<'a>),
    CreateFunction(ObjectName<'a>),
    CreateTrigger(ObjectName<'a>),
    CreateEvent(ObjectName<'a>),
    ProcedureStatus,
    FunctionStatus,
    Variables { scope: Option<VarScope> },
    Status { scope: Option<VarScope> },
    ProcessList { full: bool },
    Warnings { limit: Option<super::Limit<'a>> },
    Errors { limit: Option<super::Limit<'a>> },
    CountWarnings,
    CountErrors,
    Engines,
    EngineStatus(&'a str),
    EngineMutex(&'a str),
    EngineLogs(&'a str),
    Charset,
    Collation,
    Privileges,
    Plugins,
    Grants { user: Option<Account<'a>>, using: &'a [Account<'a>] },
    BinaryLogs,
    BinaryLogStatus,
    BinlogEvents,
    RelaylogEvents,
    ReplicaStatus,
    Replicas,
    Profiles,
    Profile { parts: &'a [ProfilePart], query: Option<u32>, limit: Option<super::Limit<'a>> },
    ParseTree(&'a Query<'a>),
}

/// What SHOW PROFILE tells beside the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfilePart {
    /// `ALL`
    All,
    /// `BLOCK IO`
    BlockIo,
    /// `CONTEXT SWITCHES`
    ContextSwitches,
    /// `CPU`
    Cpu,
    /// `IPC`
    Ipc,
    /// `MEMORY`: nothing.
    Memory,
    /// `PAGE FAULTS`
    PageFaults,
    /// `SOURCE`
    Source,
    /// `SWAPS`
    Swaps,
}

/// XA statements. The three numbers of an id are as written; the format is 1 when absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Each variant is the XA statement of its name.
pub enum Xa<'a> {
    Start { xid: &'a Xid<'a>, how: XaStart },
    End { xid: &'a Xid<'a>, suspend: bool },
    Prepare(&'a Xid<'a>),
    Commit { xid: &'a Xid<'a>, one_phase: bool },
    Rollback(&'a Xid<'a>),
    Recover { convert: bool },
}

/// How XA START begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum XaStart {
    /// A new branch.
    New,
    /// JOIN.
    Join,
    /// RESUME.
    Resume,
}

/// Id of an XA transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xid<'a> {
    /// Global part.
    pub gtrid: &'a [u8],
    /// Branch.
    pub bqual: &'a [u8],
    /// Format.
    pub format_id: u64,
}

/// GET DIAGNOSTICS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GetDiagnostics<'a> {
    /// STACKED: what there was when a handler of a stored program was called.
    pub stacked: bool,
    /// What is asked for.
    pub about: Diagnosed<'a>,
}

/// What GET DIAGNOSTICS asks for: user variables, and what they get.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Diagnosed<'a> {
    /// Of the statement.
    Statement(&'a [(&'a str, StatementItem)]),
    /// Of one condition.
    Condition {
        /// Which, from 1.
        number: Expr<'a>,
        /// Its items.
        items: &'a [(&'a str, ConditionItem)],
    },
}

/// SIGNAL and RESIGNAL.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Signal<'a> {
    /// RESIGNAL.
    pub again: bool,
    /// What is raised; RESIGNAL may leave it out.
    pub condition: Option<Raised<'a>>,
    /// What is said of it: literals and variables.
    pub items: &'a [(ConditionItem, Expr<'a>)],
}

/// A condition that SIGNAL raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Raised<'a> {
    /// `SQLSTATE 'value'`.
    State(&'a [u8]),
    /// A condition that a stored program has declared.
    Named(&'a str),
}

macro_rules! diagnostics_items {
    ($(#[$doc:meta])* $name:ident { $($item:ident $word:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[allow(missing_docs)] // The names are SQL's.
        pub enum $name { $($item,)* }

        impl $name {
            /// The item with this name, in any case.
            #[must_use]
            pub fn of(word: &str) -> Option<$name> {
                $(if word.eq_ignore_ascii_case($word) { return Some($name::$item); })*
                None
            }

            /// Its name.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $($name::$item => $word,)*
                }
            }
        }
    };
}

diagnostics_items! {
    /// What is known of a statement.
    StatementItem {
        Number "NUMBER";
        RowCount "ROW_COUNT";
    }
}

diagnostics_items! {
    /// What is known of a condition.
    ConditionItem {
        ClassOrigin "CLASS_ORIGIN";
        SubclassOrigin "SUBCLASS_ORIGIN";
        ReturnedSqlstate "RETURNED_SQLSTATE";
        MessageText "MESSAGE_TEXT";
        MysqlErrno "MYSQL_ERRNO";
        ConstraintCatalog "CONSTRAINT_CATALOG";
        ConstraintSchema "CONSTRAINT_SCHEMA";
        ConstraintName "CONSTRAINT_NAME";
        CatalogName "CATALOG_NAME";
        SchemaName "SCHEMA_NAME";
        TableName "TABLE_NAME";
        ColumnName "COLUMN_NAME";
        CursorName "CURSOR_NAME";
    }
}
