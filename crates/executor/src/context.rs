//! What an executing statement asks of its session: the clock, variables, warnings, its own counters.

use crate::run::Result;
use catalog::{VirtualRequest, VirtualRow, VirtualTableDef};
use mysql_error::{SqlError, Warning};
use planner::expr::VariableScope;
use types::{Collation, ColumnType, LocalTime, SqlMode, TypeKind, Value};

/// Rows of a computed table, made one by one as they are asked for.
pub type VirtualRows = Box<dyn Iterator<Item = Result<VirtualRow>>>;

/// A function of the GET_LOCK family that has a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserLockCall {
    /// GET_LOCK.
    Get {
        /// How long to wait; for ever when negative.
        timeout_s: i64,
    },
    /// RELEASE_LOCK.
    Release,
    /// IS_FREE_LOCK.
    IsFree,
    /// IS_USED_LOCK.
    IsUsed,
}

/// A user variable.
#[derive(Debug, Clone)]
pub struct UserVariable {
    /// What it holds.
    pub value: Value,
    /// The collation of its text.
    pub collation: Collation,
}

impl Default for UserVariable {
    fn default() -> UserVariable {
        UserVariable { value: Value::Null, collation: Collation::DEFAULT }
    }
}

impl UserVariable {
    /// The collation that a variable has which is given a value of a type; `None`: the one that literals have.
    pub fn collation_of(ty: &ColumnType) -> Option<Collation> {
        match ty.kind {
            TypeKind::Json => Some(Collation::Utf8mb4Bin),
            // As MySQL keeps what is only ASCII.
            kind if kind.is_temporal() => Some(Collation::Latin1SwedishCi),
            _ if planner::typing::is_string_class(ty) => Some(ty.collation),
            _ => None,
        }
    }
}

/// Settings of AUTO_INCREMENT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AutoIncrementSettings {
    /// `auto_increment_increment`.
    pub increment: u64,
    /// `auto_increment_offset`.
    pub offset: u64,
    /// `innodb_autoinc_lock_mode`: 0 traditional, 1 consecutive, 2 interleaved; with [`FORCED`] when the first value is said ([`StatementContext::insert_id`]).
    pub lock_mode: u8,
}

/// See [`AutoIncrementSettings::lock_mode`].
pub const FORCED: u8 = 0x80;

impl Default for AutoIncrementSettings {
    fn default() -> AutoIncrementSettings {
        AutoIncrementSettings { increment: 1, offset: 1, lock_mode: 2 }
    }
}

/// The session as the executor sees it; [`LocalTime`] is its time zone.
pub trait StatementContext: LocalTime {
    /// Microseconds since the epoch (UTC) at the start of the statement; NOW() in the whole statement.
    fn statement_micros(&self) -> i64;
    /// Microseconds since the epoch (UTC) now, for SYSDATE().
    fn current_micros(&self) -> i64;
    /// Modes in force.
    fn sql_mode(&self) -> SqlMode;
    /// Current database.
    fn database(&self) -> Option<&str>;
    /// `user@host` as the client gave it.
    fn user(&self) -> String;
    /// `user@host` of the account.
    fn current_user(&self) -> String;
    /// The active roles, as CURRENT_ROLE() tells them.
    fn current_role(&self) -> String {
        "NONE".to_owned()
    }
    /// Server version.
    fn version(&self) -> String;
    /// Connection id.
    fn connection_id(&self) -> u64;
    /// `user@host` of a connection that the session may see; `None` where there is none.
    fn account_of_connection(&self, _id: u64) -> Option<String> {
        None
    }
    /// LAST_INSERT_ID() of the session.
    fn last_insert_id(&self) -> u64;
    /// Sets LAST_INSERT_ID().
    fn set_last_insert_id(&mut self, id: u64);
    /// ROW_COUNT() of the previous statement.
    fn row_count(&self) -> i64;
    /// FOUND_ROWS() of the previous statement.
    fn found_rows(&self) -> u64;
    /// What the client has said of the statement under a name, as text; NULL when nothing.
    fn query_attribute(&self, _name: &[u8]) -> Value {
        Value::Null
    }
    /// A user variable, NULL when unset.
    fn user_variable(&self, name: &str) -> UserVariable;
    /// Sets a user variable. Text is of a collation, or of that of literals.
    fn set_user_variable(&mut self, name: &str, value: Value, collation: Option<Collation>);
    /// A system variable, or 1193.
    fn system_variable(&self, scope: VariableScope, name: &str) -> Result<Value>;
    /// Adds a warning (or note).
    fn warn(&mut self, warning: Warning);
    /// How many conditions the statement has added.
    fn warning_total(&self) -> u32 {
        0
    }
    /// Takes the conditions back that came after the first `since`; and of how many more nothing but the number is known, for the list was full.
    fn take_warnings(&mut self, _since: u32) -> (Vec<Warning>, u32) {
        (Vec::new(), 0)
    }
    /// Adds conditions that are counted only: the list was full when they came.
    fn count_warnings(&mut self, _count: u32) {}
    /// A random number in [0, 1).
    fn random(&mut self) -> f64;
    /// Sleeps; true when the statement was killed meanwhile.
    fn sleep(&mut self, seconds: f64) -> bool;
    /// Carries out a function of the GET_LOCK family that has a name. NULL names are `None`.
    fn user_lock(&mut self, call: UserLockCall, name: Option<&str>) -> Result<Value> {
        let _ = (call, name);
        Err(mysql_error::codes::not_supported_yet("GET_LOCK here").into())
    }
    /// Gives all named locks back; how many there were, each as often as it was taken.
    fn release_all_user_locks(&mut self) -> Result<u64> {
        Err(mysql_error::codes::not_supported_yet("GET_LOCK here").into())
    }
    /// Whether KILL asked the statement to stop (checked every few hundred rows).
    fn is_cancelled(&self) -> bool;
    /// The error for a cancelled statement: 1317, 3024 or 1053.
    fn cancel_error(&self) -> SqlError;
    /// How AUTO_INCREMENT values are made.
    fn auto_increment(&self) -> AutoIncrementSettings {
        AutoIncrementSettings::default()
    }
    /// insert_id: the value that the next generated one is to be.
    fn insert_id(&self) -> u64 {
        0
    }
    /// foreign_key_checks.
    fn foreign_key_checks(&self) -> bool {
        true
    }
    /// group_concat_max_len.
    fn group_concat_max_len(&self) -> usize {
        1024
    }
    /// cte_max_recursion_depth.
    fn cte_max_recursion_depth(&self) -> u64 {
        1000
    }
    /// join_buffer_size.
    fn join_buffer_bytes(&self) -> usize {
        256 << 10
    }
    /// max_allowed_packet, which bounds string results.
    fn max_allowed_packet(&self) -> usize {
        64 << 20
    }
    /// Bytes the statement may hold.
    fn statement_memory_max(&self) -> usize {
        crate::memory::STATEMENT_BYTES_MAX
    }
    /// Bytes that one operator may hold before it goes to disk; `usize::MAX` where there is no [`StatementContext::spill_directory`].
    fn operator_memory_max(&self) -> usize {
        usize::MAX
    }
    /// `lc_time_names`: the number of the locale ([`crate::locales::LOCALES`]).
    fn lc_time_names(&self) -> usize {
        crate::locales::ENGLISH
    }
    /// Whether messages may name a table that the statement does not: the user may do something with it.
    fn may_name_table(&self, _database: &str, _table: &str) -> bool {
        true
    }
    /// Where temporary files are made.
    fn spill_directory(&self) -> Option<std::sync::Arc<::spill::Directory>> {
        None
    }
    /// default_week_format.
    fn default_week_format(&self) -> u8 {
        0
    }
    /// LOAD_FILE(): a file of the server's machine; `None` where it cannot be had.
    fn load_file(&mut self, _name: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Rows of a computed table.
    fn virtual_rows(&mut self, table: &'static VirtualTableDef, _request: VirtualRequest) -> Result<VirtualRows> {
        Err(mysql_error::codes::no_such_table(table.database, table.name).into())
    }
}
