//! What the catalogue knows: databases, tables, columns, indexes.

use super::create::{Quotes, default_text};
use super::{Table, computed, schema_of};
use crate::client_session::ClientSession;
use crate::ddl::has_generated_key;
use crate::error_map::{Outcome, catalog_error};
use crate::privileges::Shows;
use crate::reply::fixed_columns::{ColumnList, Columns, lists};
use crate::virtual_tables;
use catalog::{CatalogError, DefaultValue, IndexDef, TableDef, TableEntry, VirtualTableDef, Visibility};
use planner::plan::OutputColumn;
use types::{Charset, ColumnType, TypeKind, Value};

pub(super) fn databases(session: &ClientSession) -> Result<Table, Outcome> {
    let mut table = Table::new(lists::DATABASES);
    let mut names = session.shared().catalog.database_names().map_err(|error| catalog_error(error, || session.stop_error()))?;
    names.extend(virtual_tables::DATABASES.iter().map(|database| database.name.to_owned()));
    names.sort_unstable();
    names.dedup();
    for name in names.into_iter().filter(|name| session.core.sees_database(name)) {
        table.row(vec![name.into()]);
    }
    Ok(table)
}

/// The columns of SHOW TABLES.
pub(super) fn tables_head(full: bool, schema: &str) -> Columns {
    let lists = [lists::TABLES, lists::TABLE_TYPE];
    Columns::of(&lists[..1 + usize::from(full)]).renamed(0, &format!("Tables_in_{schema}"))
}

pub(super) fn tables(session: &ClientSession, full: bool, schema: Option<&str>) -> Result<Table, Outcome> {
    let schema = schema_of(session, schema)?;
    let mut table = Table::with(tables_head(full, &schema));
    if let Some(database) = virtual_tables::database(&schema) {
        computed::show_tables(database, full, &session.core.shows(), &mut table);
        return Ok(table);
    }
    for name in session.shared().catalog.table_names(&schema).map_err(|error| catalog_error(error, || session.stop_error()))? {
        if !session.core.sees_table(&schema, &name) {
            continue;
        }
        let is_view = full && session.shared().catalog.view(&schema, &name).is_ok_and(|view| view.is_some());
        let mut row = vec![Value::from(name)];
        if full {
            row.push(if is_view { "VIEW" } else { "BASE TABLE" }.into());
        }
        table.row(row);
    }
    Ok(table)
}

pub(super) fn create_database(session: &ClientSession, name: &str, if_not_exists: bool) -> Result<Table, Outcome> {
    if !session.core.may_use_database(name) {
        let login = &session.core.login;
        return Err(mysql_error::codes::dbaccess_denied_error(&login.account_user, &login.host, name).into());
    }
    let (name, collation) = match virtual_tables::database(name) {
        Some(database) => (database.name, database.collation),
        None => {
            let found = session.shared().catalog.database(name);
            (name, found.map_err(|error| catalog_error(error, || session.stop_error()))?.collation)
        }
    };
    let mut table = Table::new(lists::CREATE_DATABASE);
    let clause = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let charset = collation.charset();
    // MySQL names the collation where it is not the character set's own, and of utf8mb4 always.
    let collate = match collation == charset.default_collation() && charset != Charset::Utf8mb4 {
        true => String::new(),
        false => format!(" COLLATE {}", collation.name()),
    };
    let statement = format!(
        "CREATE DATABASE {clause}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ /*!80016 DEFAULT ENCRYPTION='N' */",
        Quotes::of(session).quoted(name),
        charset.name(),
    );
    table.row(vec![name.into(), statement.into()]);
    Ok(table)
}

/// The columns of a table as a result of `SELECT *` would describe them.
pub(super) fn output_columns(entry: &TableEntry) -> Vec<OutputColumn> {
    let def = &entry.def;
    def.columns
        .iter()
        .enumerate()
        .map(|(at, column)| OutputColumn {
            database: def.database.as_str().into(),
            table: def.name.as_str().into(),
            org_table: def.name.as_str().into(),
            name: column.name.as_str().into(),
            org_name: column.name.as_str().into(),
            ty: column.ty.clone(),
            primary_key: key_word(def, at) == "PRI",
            unique_key: key_word(def, at) == "UNI",
            multiple_key: key_word(def, at) == "MUL",
            part_of_key: def.indexes.iter().any(|index| index.parts.iter().any(|part| part.column == at)),
            auto_increment: column.auto_increment,
            no_default: column.default == DefaultValue::None && !column.auto_increment && column.generated.is_none(),
            on_update_now: column.on_update_now,
            ..OutputColumn::default()
        })
        .collect()
}

/// The Key column of DESCRIBE.
pub(crate) fn key_word(def: &TableDef, column: usize) -> &'static str {
    let first = |index: &&IndexDef| index.parts.first().is_some_and(|part| part.column == column);
    // Without a primary key the first unique key that cannot hold NULL stands for it.
    let no_null = |index: &&IndexDef| {
        index.unique && index.parts.iter().all(|part| part.prefix_chars.is_none() && !def.columns[part.column].ty.nullable)
    };
    let explicit = &def.indexes[0];
    let primary = if explicit.parts.is_empty() { def.indexes[1..].iter().find(no_null) } else { Some(explicit) };
    if primary.is_some_and(|index| index.parts.iter().any(|part| part.column == column)) {
        return "PRI";
    }
    let single_unique = |index: &IndexDef| index.unique && index.parts.len() == 1;
    let mut with_it = def.indexes[1..].iter().filter(first).peekable();
    if with_it.peek().is_none() {
        return "";
    }
    if with_it.any(single_unique) { "UNI" } else { "MUL" }
}

/// A column's default as DESCRIBE shows it.
pub(crate) fn default_shown(column: &catalog::ColumnDef) -> Option<String> {
    match &column.default {
        DefaultValue::None | DefaultValue::Null => None,
        DefaultValue::Constant(Value::UInt(bits)) if column.ty.kind == TypeKind::Bit => Some(format!("b'{bits:b}'")),
        // Bytes are told as a number, as far as C would read them.
        DefaultValue::Constant(Value::Bytes(bytes))
            if matches!(column.ty.kind, TypeKind::Binary | TypeKind::VarBinary) && !bytes.is_empty() =>
        {
            let digits: String = bytes.iter().take_while(|byte| **byte != 0).map(|byte| format!("{byte:02X}")).collect();
            Some(format!("0x{digits}"))
        }
        DefaultValue::Constant(value) => default_text(&column.ty, value, &types::Utc),
        DefaultValue::CurrentTimestamp => Some(now(&column.ty)),
        DefaultValue::Expression(text) => Some(escaped(text)),
    }
}

/// A column's default as COM_FIELD_LIST sends it: the value as a row would have it, without what statements compute.
pub(super) fn default_sent(column: &catalog::ColumnDef) -> Option<Vec<u8>> {
    match &column.default {
        DefaultValue::Constant(Value::UInt(bits)) if column.ty.kind == TypeKind::Bit => {
            let bytes = (column.ty.length as usize).div_ceil(8).clamp(1, 8);
            Some(bits.to_be_bytes()[8 - bytes..].to_vec())
        }
        DefaultValue::Constant(Value::Bytes(bytes)) => Some(bytes.to_vec()),
        DefaultValue::Constant(value) => default_text(&column.ty, value, &types::Utc).map(String::into_bytes),
        DefaultValue::None if column.generated.is_none() => super::view::implicit_default(&column.ty).map(String::into_bytes),
        DefaultValue::None | DefaultValue::Null | DefaultValue::CurrentTimestamp | DefaultValue::Expression(_) => None,
    }
}

/// An expression as a value: MySQL escapes it once more.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// The part of it that views tell, too: how the default is made, and what changes make of the column.
pub(super) fn extra_of_default(column: &catalog::ColumnDef) -> String {
    let mut words = Vec::new();
    if matches!(column.default, DefaultValue::CurrentTimestamp | DefaultValue::Expression(_)) {
        words.push("DEFAULT_GENERATED".to_owned());
    }
    if column.on_update_now {
        words.push(format!("on update {}", now(&column.ty)));
    }
    words.join(" ")
}

/// What DESCRIBE says in addition of a column.
pub(crate) fn extra(column: &catalog::ColumnDef) -> String {
    let mut words = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".to_owned());
    }
    words.extend(Some(extra_of_default(column)).filter(|extra| !extra.is_empty()));
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.to_owned());
    }
    if column.visibility == Visibility::Invisible {
        words.push("INVISIBLE".to_owned());
    }
    words.join(" ")
}

fn now(ty: &ColumnType) -> String {
    if ty.decimals == 0 { "CURRENT_TIMESTAMP".into() } else { format!("CURRENT_TIMESTAMP({})", ty.decimals) }
}

/// SHOW COLUMNS of a table without a column.
pub(super) fn columns_head(full: bool, temporary: bool) -> Table {
    Table::new(match (full, temporary) {
        (false, false) => lists::COLUMNS,
        (true, false) => lists::FULL_COLUMNS,
        (false, true) => lists::TEMPORARY_COLUMNS,
        (true, true) => lists::TEMPORARY_FULL_COLUMNS,
    })
}

/// SHOW COLUMNS of a table: those that may be seen, a temporary table's all.
pub(super) fn columns(entry: &TableEntry, full: bool, generated_keys: bool, shows: &Shows) -> Table {
    let mut table = columns_head(full, entry.temporary);
    let hides = usize::from(!generated_keys && has_generated_key(&entry.def));
    for (at, column) in entry.def.columns[..entry.def.user_columns()].iter().enumerate().skip(hides) {
        let privileges = match entry.temporary {
            true => Shows::ALL_OF_COLUMN.to_owned(),
            false => shows.column(&entry.def.database, &entry.def.name, &column.name),
        };
        if privileges.is_empty() {
            continue;
        }
        let ty = &column.ty;
        let mut row = vec![Value::from(column.name.as_str()), ty.to_string().into()];
        if full {
            let has_collation = ty.is_character() && ty.kind != TypeKind::Json;
            row.push(if has_collation { ty.collation.name().into() } else { Value::Null });
        }
        let default = default_shown(column).into();
        let extra = match extra(column) {
            // MySQL makes this list another way, and says the word.
            none if none.is_empty() && entry.temporary => "NULL".into(),
            extra => extra.into(),
        };
        row.extend([if ty.nullable { "YES" } else { "NO" }.into(), key_word(&entry.def, at).into(), default, extra]);
        if full {
            row.extend([privileges.into(), column.comment.as_str().into()]);
        }
        table.row(row);
    }
    table
}

/// SHOW INDEX of a table without an index.
pub(super) fn indexes_head() -> Table {
    indexes_of(lists::INDEXES)
}

fn indexes_of(list: ColumnList) -> Table {
    let mut table = Table::new(list);
    table.like_column = 2;
    table
}

pub(super) fn indexes(entry: &TableEntry, generated_keys: bool) -> Table {
    let mut table = if entry.temporary { indexes_of(lists::TEMPORARY_INDEXES) } else { indexes_head() };
    virtual_tables::index_rows_of_show(&entry.def, entry.storage.rows_estimate() as i64, generated_keys).for_each(|row| table.row(row));
    table
}

/// SHOW INDEX of a computed table.
pub(super) fn indexes_of_computed(def: &VirtualTableDef) -> Table {
    let mut table = indexes_head();
    virtual_tables::computed_index_rows_of_show(def).for_each(|row| table.row(row));
    table
}

pub(super) fn table_status(session: &ClientSession, schema: Option<&str>) -> Result<Table, Outcome> {
    let schema = schema_of(session, schema)?;
    let mut table = Table::new(lists::TABLE_STATUS);
    if let Some(database) = virtual_tables::database(&schema) {
        let shown = database.tables().into_iter().filter(|def| session.core.sees_table(def.database, def.name));
        shown.for_each(|def| table.row(virtual_tables::computed_status_row(session.shared(), database, def)));
        return Ok(table);
    }
    let catalog = &session.shared().catalog;
    let failed = |error| catalog_error(error, || session.stop_error());
    for name in catalog.table_names(&schema).map_err(failed)? {
        if !session.core.sees_table(&schema, &name) {
            continue;
        }
        if let Some(view) = catalog.view(&schema, &name).map_err(failed)? {
            table.row(virtual_tables::view_status_row(session.shared(), &view));
            continue;
        }
        match catalog.table(&schema, &name) {
            Ok(entry) => table.row(virtual_tables::status_row(session.shared(), &entry)),
            // Dropped since it was listed.
            Err(CatalogError::UnknownTable { .. } | CatalogError::UnknownDatabase(_)) => {}
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(table)
}
