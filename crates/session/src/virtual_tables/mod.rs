//! Computed tables: `information_schema`, `performance_schema`, `mysql` and `sys`, whose rows are made when they are read.
//!
//! A table is one file here: its columns and a function that makes its rows, and a line in [`TABLES`]. The planner sees the definition only
//! (`catalog::VirtualTableDef`), so that a cached plan shows what is there when it runs; the executor asks [`rows`] for the rows, with the
//! values that the conditions leave to the key columns, so that a look at one table does not list a million.
//!
//! # Invariants
//! 1. Column names, types and order are those of MySQL 9.7; what is not known is NULL, or 0 where
//!    NULL is not allowed. Nothing is invented.
//! 2. All tables about locks and transactions that one statement reads show one moment ([`LockPicture`]).
//! 3. Nothing here can be changed, locked or dropped.

mod account_rows;
mod attributes;
mod buffer_pool;
mod characters;
mod column;
mod column_statistics;
mod columns;
mod connect_attributes;
mod constraints;
mod costs;
mod data_lock_waits;
mod data_locks;
mod empty;
mod engines;
mod extensions;
mod innodb_dictionary;
mod innodb_metrics;
mod innodb_spaces;
mod innodb_stats;
mod innodb_temp_table_info;
mod innodb_trx;
mod innodb_types;
mod intentions;
mod keywords;
mod listing;
mod lock_data;
mod lock_picture;
mod log_tables;
mod memory;
mod metadata_locks;
mod mysql_schema;
mod processes;
mod quiet;
mod redo_log;
mod routines;
mod schemata;
mod sent;
mod settings;
mod stages;
mod statistics;
mod sys;
mod sys_memory;
mod sys_schema;
mod table_lock_waits;
mod tables;
mod time_zones;
mod views;

pub(crate) use attributes::{DeclaredKey, attributes};
pub(crate) use characters::collation_rows;
pub(crate) use innodb_trx::running_statement;
pub(crate) use lock_data::lock_data;
pub(crate) use lock_picture::{LockPicture, ShownLock, tables_of_indexes, transaction_id};
pub(crate) use log_tables::{comment_of, log_of};
pub(crate) use quiet::is_emptied;
pub(crate) use routines::function_status_rows;
pub(crate) use sent::as_sent;
pub(crate) use statistics::{computed_index_rows_of_show, index_rows_of_show};
pub(crate) use tables::{computed_status_row, status_row, view_status_row};

use crate::context::Core;
use catalog::{VirtualRequest, VirtualTableDef};
use executor::VirtualRows;
use mysql_error::{SqlError, codes};
use std::sync::LazyLock;
use types::Collation;

/// Makes the rows of a table.
type RowFn = fn(&mut Core, &VirtualRequest) -> executor::Result<VirtualRows>;

/// A computed table.
struct VirtualTable {
    def: VirtualTableDef,
    rows: RowFn,
}

static TABLES: LazyLock<Vec<VirtualTable>> = LazyLock::new(|| {
    let mut tables = vec![
        characters::applicability(),
        characters::character_sets(),
        characters::collations(),
        column_statistics::table(),
        columns::table(),
        constraints::check_constraints(),
        constraints::key_column_usage(),
        constraints::referential_constraints(),
        constraints::table_constraints(),
        data_lock_waits::table(),
        data_locks::table(),
        engines::engines(),
        engines::plugins(),
        engines::user_privileges(),
        innodb_metrics::table(),
        innodb_temp_table_info::table(),
        innodb_trx::table(),
        keywords::table(),
        memory::table(),
        metadata_locks::table(),
        processes::of_information_schema(),
        processes::of_performance_schema(),
        processes::threads(),
        schemata::table(),
        statistics::table(),
        tables::table(),
        views::views(),
        views::view_table_usage(),
    ];
    tables.push(account_rows::user_attributes());
    tables.extend(mysql_schema::tables());
    tables.extend(buffer_pool::definitions());
    tables.extend(connect_attributes::tables());
    tables.extend(costs::tables());
    tables.extend(settings::tables());
    tables.extend(empty::tables());
    tables.extend(extensions::definitions());
    tables.extend(innodb_dictionary::definitions());
    tables.extend(innodb_spaces::definitions());
    tables.extend(innodb_stats::tables());
    tables.extend(stages::tables());
    tables.extend(quiet::tables());
    tables.extend(redo_log::tables());
    tables.extend(time_zones::tables());
    tables.extend(sys::tables());
    tables.extend(sys_memory::tables());
    tables.extend(sys_schema::tables());
    tables.extend(table_lock_waits::tables());
    tables
});

/// A database of computed tables.
#[derive(Debug)]
pub(crate) struct VirtualDatabase {
    /// Name as shown.
    pub name: &'static str,
    /// Default collation.
    pub collation: Collation,
    /// Its name and its tables' names are found in any case, and its tables are views to clients.
    pub any_case: bool,
}

/// All of them, by name.
pub(crate) static DATABASES: [VirtualDatabase; 4] = [
    VirtualDatabase { name: INFORMATION_SCHEMA, collation: Collation::Utf8mb3GeneralCi, any_case: true },
    VirtualDatabase { name: MYSQL, collation: Collation::DEFAULT, any_case: false },
    VirtualDatabase { name: PERFORMANCE_SCHEMA, collation: Collation::DEFAULT, any_case: false },
    VirtualDatabase { name: SYS, collation: Collation::DEFAULT, any_case: false },
];

const INFORMATION_SCHEMA: &str = "information_schema";
pub(crate) const PERFORMANCE_SCHEMA: &str = "performance_schema";
pub(crate) const MYSQL: &str = "mysql";
pub(crate) const SYS: &str = "sys";

/// The database of a name, when its tables are computed.
pub(crate) fn database(name: &str) -> Option<&'static VirtualDatabase> {
    DATABASES.iter().find(|database| database.name == name || database.any_case && database.name.eq_ignore_ascii_case(name))
}

impl VirtualDatabase {
    /// Its tables, by name.
    pub(crate) fn tables(&self) -> Vec<&'static VirtualTableDef> {
        let mut tables: Vec<_> = TABLES.iter().map(|table| &table.def).filter(|def| def.database == self.name).collect();
        tables.sort_unstable_by_key(|def| def.name);
        tables
    }

    /// A table, or what MySQL says when there is none.
    pub(crate) fn table(&self, name: &str) -> Result<&'static VirtualTableDef, SqlError> {
        let same = |def: &&VirtualTableDef| {
            def.database == self.name && (def.name == name || self.any_case && def.name.eq_ignore_ascii_case(name))
        };
        let found = TABLES.iter().map(|table| &table.def).find(same);
        found.ok_or_else(|| match self.any_case {
            true => codes::unknown_table(name.to_uppercase(), self.name),
            false => codes::no_such_table(self.name, name),
        })
    }
}

/// The rows of a table.
pub(crate) fn rows(core: &mut Core, def: &'static VirtualTableDef, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let table = TABLES.iter().find(|table| std::ptr::eq(&raw const table.def, def));
    let table = table.ok_or_else(|| codes::internal_error(format!("{}.{} is not listed", def.database, def.name)))?;
    (table.rows)(core, request)
}

/// What a statement is told that would change a computed table or lock its rows: `command` is what it would do.
pub(crate) fn denied(core: &Core, def: &VirtualTableDef, command: &str) -> SqlError {
    let (user, host) = (&core.login.account_user, &core.login.account_host);
    if log_of(def.database, def.name).is_some() {
        return codes::cant_lock_log_table();
    }
    if def.database == INFORMATION_SCHEMA && command != LOCKING {
        return codes::dbaccess_denied_error(user, host, def.database);
    }
    codes::tableaccess_denied_error(command, user, host, def.name)
}

/// How the planner names a SELECT … FOR UPDATE.
const LOCKING: &str = "SELECT with locking clause";

/// Refuses to make, change or drop something in a database of computed tables.
pub(crate) fn refuse_change(core: &Core, database_name: &str) -> Result<(), SqlError> {
    match database(database_name) {
        Some(database) => Err(codes::dbaccess_denied_error(&core.login.account_user, &core.login.account_host, database.name)),
        None => Ok(()),
    }
}

/// Refuses to drop or empty a computed table.
pub(crate) fn refuse_drop(core: &Core, database_name: &str, table: &str) -> Result<(), SqlError> {
    if let Some(log) = log_of(database_name, table)
        && core.shared.query_logs.is_table_written(log)
    {
        return Err(SqlError::with_message(1580, "You cannot 'DROP' a log table if logging is enabled"));
    }
    match database(database_name) {
        Some(database) if !database.any_case => {
            let (user, host) = (&core.login.account_user, &core.login.account_host);
            Err(codes::tableaccess_denied_error("DROP", user, host, table))
        }
        _ => refuse_change(core, database_name),
    }
}

/// Rows that are there already.
fn listed(rows: Vec<catalog::VirtualRow>) -> VirtualRows {
    Box::new(rows.into_iter().map(Ok))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_whole() {
        for table in TABLES.iter() {
            let def = &table.def;
            assert!(database(def.database).is_some(), "{}", def.name);
            for (at, column) in def.columns.iter().enumerate() {
                assert_eq!(def.column_index(column.name), Some(at), "{}.{} twice", def.name, column.name);
            }
            for key in &def.keys {
                let ty = &def.columns[*key as usize].ty;
                assert!(ty.kind.is_string() && ty.collation.is_binary(), "key {key} of {}", def.name);
            }
        }
    }

    #[test]
    fn names_are_found_as_mysql_finds_them() {
        assert_eq!(database("Information_Schema").map(|d| d.name), Some(INFORMATION_SCHEMA));
        assert!(database("Performance_schema").is_none() && database("MySQL").is_none());
        let schema = database(INFORMATION_SCHEMA).expect("there");
        assert_eq!(schema.table("innodb_trx").expect("there").name, "INNODB_TRX");
        assert_eq!(schema.table("nosuch").unwrap_err().message, "Unknown table 'NOSUCH' in information_schema");
        let locks = database(PERFORMANCE_SCHEMA).expect("there");
        assert_eq!(locks.table("DATA_LOCKS").unwrap_err().code, 1146);
    }
}
