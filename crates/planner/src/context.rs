//! What planning asks of its surroundings.

use crate::expr::Expr;
use crate::sample::{Sample, SampleOf};
use crate::switches::Switches;
use catalog::{TableEntry, ViewEntry, VirtualTableDef};
use engine::KeyRange;
use mysql_error::{SqlError, Warning, codes};
use std::sync::Arc;
use types::{Charset, Collation, ColumnType, LocalTime, SqlMode, Utc, Value};

/// The session and catalog as the planner sees them.
pub trait PlanContext {
    /// Current database.
    fn database(&self) -> Option<&str>;
    /// A table, or 1146/1049.
    fn table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>, SqlError>;
    /// A view; `None` when there is none of this name.
    fn view(&self, _database: &str, _name: &str) -> Result<Option<Arc<ViewEntry>>, SqlError> {
        Ok(None)
    }
    /// The view that the statement makes (database, name): nothing can name it yet.
    fn view_being_made(&self) -> Option<&(String, String)> {
        None
    }
    /// A table that a foreign key leads to: the statement need not have locked it.
    fn related_table(&self, database: &str, name: &str) -> Result<Arc<TableEntry>, SqlError> {
        self.table(database, name)
    }
    /// A computed table; `None` when its rows are stored ones, or in a database that has no computed tables. An error when the database
    /// has only computed tables and not this one.
    fn virtual_table(&self, _database: &str, _name: &str) -> Result<Option<&'static VirtualTableDef>, SqlError> {
        Ok(None)
    }
    /// What a statement is told that would change a computed table, or lock its rows: `command` is what it would do.
    fn virtual_table_denied(&self, table: &VirtualTableDef, command: &str) -> SqlError {
        SqlError::with_message(1142, format!("{command} command denied for table '{}'", table.name))
    }
    /// Refuses a table of which the user may do nothing of the kind, whether it is there or not. False for one that takes no privileges: the
    /// session's own.
    fn may_use(&self, _database: &str, _table: &str, _wants: accounts::Privileges) -> Result<bool, SqlError> {
        Ok(true)
    }
    /// Refuses a stored function that the user may not execute, whether it is there or not; `name` is its name with the schema's.
    fn may_execute(&self, _database: &str, _name: &str) -> Result<(), SqlError> {
        Ok(())
    }
    /// Modes in force.
    fn sql_mode(&self) -> SqlMode;
    /// Whether FOR UPDATE and FOR SHARE lock rows; EXPLAIN ANALYZE reads them.
    fn locks_rows(&self) -> bool {
        true
    }
    /// Collation of string literals and parameters.
    fn connection_collation(&self) -> Collation;
    /// `character_set_client`: what the statement's text came in.
    fn client_charset(&self) -> Charset {
        Charset::Utf8mb4
    }
    /// Values of the parameters at hand, for estimates only; may be empty.
    fn params(&self) -> &[Value] {
        &[]
    }
    /// What an expression gives now that [is settled](Expr::is_settled), for estimates only: nothing is told of what is wrong with it. `None` where it fails.
    fn value_now(&self, _expr: &Expr) -> Option<Value> {
        None
    }
    /// The session's time zone.
    fn zone(&self) -> &dyn LocalTime {
        &Utc
    }
    /// Types of the parameters where they are known (lifted literals, or a client's bound types); may be empty.
    fn param_types(&self) -> &[ColumnType] {
        &[]
    }
    /// The type that a prepared statement's parameter has by the value at hand, where it stands for itself in a select list.
    fn bound_type(&self, _n: u32) -> Option<ColumnType> {
        None
    }
    /// `sql_select_limit`: rows that a query without LIMIT gives at most.
    fn select_limit(&self) -> u64 {
        u64::MAX
    }
    /// `optimizer_switch`.
    fn switches(&self) -> Switches {
        Switches::default()
    }
    /// `div_precision_increment`: digits behind the point that a quotient has more than its dividend.
    fn div_precision_increment(&self) -> u8 {
        4
    }
    /// `max_join_size`: rows that a query may be expected to read. The largest number is no bound.
    fn max_join_size(&self) -> u64 {
        u64::MAX
    }
    /// `sql_auto_is_null`: whether `WHERE id IS NULL` asks for the row that was inserted last.
    fn auto_is_null(&self) -> bool {
        false
    }
    /// `sql_safe_updates`: UPDATE and DELETE find their rows by a key, or are refused.
    fn safe_updates(&self) -> bool {
        false
    }
    /// Whether `mysql_query_attribute_string()` is there.
    fn has_query_attributes(&self) -> bool {
        false
    }
    /// What a user variable is of by its last assignment; `None` for one that has none, or NULL.
    fn user_variable_type(&self, _name: &str) -> Option<ColumnType> {
        None
    }
    /// The type of a column as it is written (in JSON_TABLE), and what is to be warned of; `collation` is that of text which names none.
    fn column_type(
        &self,
        _column: &str,
        _ty: &parser::ast::DataType<'_>,
        _collation: Collation,
    ) -> Result<(ColumnType, Vec<Warning>), SqlError> {
        Err(codes::not_supported_yet("column types here"))
    }
    /// Characters of the longest name of a day, and of a month, in the session's locale.
    fn name_chars(&self) -> (u64, u64) {
        (9, 9)
    }
    /// Type of a system variable, or 1193.
    fn system_variable_type(&self, name: &str) -> Result<ColumnType, SqlError>;
    /// What reading a system variable by its name is warned of.
    fn system_variable_warning(&self, _name: &str) -> Option<SqlError> {
        None
    }
    /// Rows in a range of an index, by an index dive; `None` when it cannot be told.
    fn estimate(&self, table: &TableEntry, index_no: usize, range: &KeyRange) -> Option<u64>;
    /// Rows of a table.
    fn rows_estimate(&self, table: &TableEntry) -> u64;
    /// About how many rows share the values of the first `parts` parts of an index (the primary key's follow a secondary index's own);
    /// `None` when it cannot be told.
    fn rows_per_key(&self, _table: &TableEntry, _index_no: usize, _parts: usize) -> Option<f64> {
        None
    }
    /// What a column holds in some rows from all over a table; `None` when it cannot be told.
    fn sample(&self, _table: &TableEntry, _column: usize) -> Option<Vec<Value>> {
        None
    }
    /// A sample that an earlier statement has taken, of tables that had about so many rows, else the one that `take` finds.
    fn kept_sample(&self, _of: &SampleOf, _rows: u64, take: &mut dyn FnMut() -> Option<Sample>) -> Option<Arc<Sample>> {
        take().map(Arc::new)
    }
    /// What a column holds in the rows that have one of these keys of the primary index, which ascend; `None` when it cannot be told.
    fn column_of_keys(&self, _table: &TableEntry, _keys: &[Vec<u8>], _column: usize) -> Option<Vec<Value>> {
        None
    }
}
