//! Databases and tables whose rows are computed (`virtual_tables`), as SHOW describes them.

use super::create::Quotes;
use super::{Table, tables, text};
use crate::virtual_tables::{MYSQL, SYS, VirtualDatabase, database};
use catalog::VirtualTableDef;
use planner::plan::OutputColumn;
use types::{TypeKind, Value};

impl VirtualDatabase {
    /// What clients are told its tables are.
    pub(crate) fn table_type(&self) -> &'static str {
        match self.name {
            SYS => "VIEW",
            _ if self.any_case => "SYSTEM VIEW",
            _ => "BASE TABLE",
        }
    }

    /// Their engine, where they have one.
    pub(crate) fn engine(&self) -> Option<&'static str> {
        match self.name {
            MYSQL => Some("InnoDB"),
            _ if self.any_case || self.name == SYS => None,
            _ => Some("PERFORMANCE_SCHEMA"),
        }
    }
}

/// SHOW TABLES.
pub(super) fn show_tables(database: &VirtualDatabase, full: bool, table: &mut Table) {
    for def in database.tables() {
        let mut row = vec![Value::from(def.name)];
        if full {
            row.push(database.table_type().into());
        }
        table.row(row);
    }
}

/// What an account is said to be allowed on its columns, in MySQL's words.
pub(crate) fn privileges(def: &VirtualTableDef) -> &'static str {
    match database(def.database) {
        Some(database) if database.any_case => "select",
        _ => "select,insert,update,references",
    }
}

/// SHOW COLUMNS.
pub(super) fn columns(def: &VirtualTableDef, full: bool) -> Table {
    let mut table = tables::columns_head(full);
    for column in &def.columns {
        let ty = &column.ty;
        let mut row = vec![Value::from(column.name), ty.to_string().into()];
        if full {
            row.push(if ty.is_character() { ty.collation.name().into() } else { Value::Null });
        }
        row.extend([if ty.nullable { "YES" } else { "NO" }.into(), "".into(), Value::Null, "".into()]);
        if full {
            row.extend([privileges(def).into(), "".into()]);
        }
        table.row(row);
    }
    table
}

/// COM_FIELD_LIST.
pub(super) fn output_columns(def: &VirtualTableDef) -> Vec<OutputColumn> {
    let column = |c: &catalog::VirtualColumn| OutputColumn {
        database: def.database.into(),
        table: def.name.into(),
        org_table: def.name.into(),
        name: c.name.into(),
        org_name: c.name.into(),
        ty: c.ty.clone(),
        ..OutputColumn::default()
    };
    def.columns.iter().map(column).collect()
}

/// SHOW CREATE TABLE: a table with the same columns.
pub(super) fn create(database: &VirtualDatabase, def: &VirtualTableDef, quotes: Quotes) -> Table {
    let column = |c: &catalog::VirtualColumn| {
        let ty = &c.ty;
        let collation = if ty.is_character() && ty.kind != TypeKind::Json && ty.collation != database.collation {
            format!(" CHARACTER SET {} COLLATE {}", ty.collation.charset().name(), ty.collation.name())
        } else {
            String::new()
        };
        let null = match (ty.nullable, ty.kind.is_blob()) {
            (false, _) => " NOT NULL",
            (true, true) => "",
            (true, false) => " DEFAULT NULL",
        };
        format!("  {} {ty}{collation}{null}", quotes.quoted(c.name))
    };
    let columns: Vec<String> = def.columns.iter().map(column).collect();
    let (head, engine) = if database.any_case {
        ("CREATE TEMPORARY TABLE", "MEMORY")
    } else {
        ("CREATE TABLE", database.engine().unwrap_or("PERFORMANCE_SCHEMA"))
    };
    let statement = format!(
        "{head} {} (\n{}\n) ENGINE={engine} DEFAULT CHARSET={} COLLATE={}",
        quotes.quoted(def.name),
        columns.join(",\n"),
        database.collation.charset().name(),
        database.collation.name()
    );
    let mut table = Table::new(&[("Table", text(64)), ("Create Table", text(1024))]);
    table.row(vec![def.name.into(), statement.into()]);
    table
}
