//! Databases and tables whose rows are computed (`virtual_tables`), as SHOW describes them.

use super::create::Quotes;
use super::{Table, tables};
use crate::privileges::Shows;
use crate::reply::fixed_columns::{Columns, lists};
use crate::virtual_tables::{DeclaredKey, MYSQL, SYS, VirtualDatabase, attributes, comment_of};
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
pub(super) fn show_tables(database: &VirtualDatabase, full: bool, shows: &Shows, table: &mut Table) {
    for def in database.tables().into_iter().filter(|def| shows.table(def.database, def.name)) {
        let mut row = vec![Value::from(def.name)];
        if full {
            row.push(database.table_type().into());
        }
        table.row(row);
    }
}

/// SHOW COLUMNS: those that may be seen.
pub(super) fn columns(def: &VirtualTableDef, full: bool, shows: &Shows) -> Table {
    let mut table = tables::columns_head(full, false);
    let attributes = attributes(def);
    for column in &def.columns {
        let privileges = shows.column(def.database, def.name, column.name);
        if privileges.is_empty() {
            continue;
        }
        let ty = &column.ty;
        let mut row = vec![Value::from(column.name), ty.to_string().into()];
        if full {
            row.push(if ty.is_character() { ty.collation.name().into() } else { Value::Null });
        }
        row.extend([
            if ty.nullable { "YES" } else { "NO" }.into(),
            attributes.key_word(def, column.name).into(),
            attributes.default_of(column.name).map_or(Value::Null, Value::from),
            attributes.extra(column.name).into(),
        ]);
        if full {
            row.extend([privileges.into(), "".into()]);
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
    let (attributes, comment) = (attributes(def), comment_of(def));
    let declared = |column: &str| match (attributes.default_of(column), attributes.extra(column)) {
        // Of views MySQL tells the defaults of what they select.
        _ if database.engine().is_none() => String::new(),
        (None, "auto_increment") => " AUTO_INCREMENT".to_owned(),
        // An expression, and what it says of updates.
        (Some(default), extra) if !extra.is_empty() => {
            let on_update = extra.strip_prefix("DEFAULT_GENERATED").unwrap_or_default().replace("on update", "ON UPDATE");
            format!(" DEFAULT {default}{on_update}")
        }
        (Some(default), _) => format!(" DEFAULT '{default}'"),
        (None, _) => String::new(),
    };
    let column = |c: &catalog::VirtualColumn| {
        let ty = &c.ty;
        let collation = if comment.is_none() && ty.is_character() && ty.kind != TypeKind::Json && ty.collation != database.collation {
            format!(" CHARACTER SET {} COLLATE {}", ty.collation.charset().name(), ty.collation.name())
        } else {
            String::new()
        };
        let declared = declared(c.name);
        let null = match ty.nullable {
            false => " NOT NULL",
            true if ty.kind.is_blob() || !declared.is_empty() => "",
            true => " DEFAULT NULL",
        };
        format!("  {} {ty}{collation}{null}{declared}", quotes.quoted(c.name))
    };
    let key = |key: &DeclaredKey| {
        let part = |(name, descends): &(&str, bool)| format!("{}{}", quotes.quoted(name), if *descends { " DESC" } else { "" });
        let parts: Vec<String> = key.columns.iter().map(part).collect();
        let head = match (key.is_primary(), key.unique) {
            (true, _) => "PRIMARY KEY".to_owned(),
            (false, true) => format!("UNIQUE KEY {}", quotes.quoted(key.name)),
            (false, false) => format!("KEY {}", quotes.quoted(key.name)),
        };
        format!("  {head} ({})", parts.join(","))
    };
    let lines: Vec<String> = def.columns.iter().map(column).chain(attributes.keys.iter().map(key)).collect();
    let (head, engine) = if database.any_case {
        ("CREATE TEMPORARY TABLE", "MEMORY")
    } else {
        ("CREATE TABLE", database.engine().unwrap_or("PERFORMANCE_SCHEMA"))
    };
    let options = match comment {
        Some(comment) => format!("ENGINE=CSV DEFAULT CHARSET=utf8mb3 COMMENT='{comment}'"),
        None => format!("ENGINE={engine} DEFAULT CHARSET={} COLLATE={}", database.collation.charset().name(), database.collation.name()),
    };
    let statement = format!("{head} {} (\n{}\n) {options}", quotes.quoted(def.name), lines.join(",\n"));
    let mut table = Table::with(Columns::of(&[lists::CREATE_TABLE]).at_least_as_long(1, &statement));
    table.row(vec![def.name.into(), statement.into()]);
    table
}
