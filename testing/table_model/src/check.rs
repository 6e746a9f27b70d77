//! Looks at everything that a server says of its tables, and compares it with the model.

use crate::database::Database;
use crate::draw::Draw;
use crate::model::{Foreign, Key, Row, Table, Type, Value};
use mysql::Conn;
use mysql::prelude::Queryable;

/// Compares all tables; the text of the first difference.
pub(crate) fn check(conn: &mut Conn, model: &Database, draw: &mut Draw) -> Result<(), String> {
    let names = texts(conn, "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY table_name")?;
    let expected: Vec<Vec<String>> = model.tables.keys().map(|name| vec![name.clone()]).collect();
    same("tables", &names, &expected)?;
    for (name, table) in &model.tables {
        definition(conn, name, table)?;
        counter(conn, name, model)?;
        rows(conn, name, table, None)?;
        for key in &table.keys {
            rows(conn, name, table, Some(&key.name))?;
            points(conn, name, table, &key.columns, &key.name, draw)?;
        }
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    if found == expected { Ok(()) } else { Err(format!("{what}: found\n  {found:?}\nexpected\n  {expected:?}")) }
}

fn query(conn: &mut Conn, sql: &str) -> Result<Vec<mysql::Row>, String> {
    conn.query(sql).map_err(|error| format!("{sql}: {error}"))
}

fn text(value: &mysql::Value) -> String {
    match value {
        mysql::Value::NULL => "NULL".into(),
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => other.as_sql(true),
    }
}

fn texts(conn: &mut Conn, sql: &str) -> Result<Vec<Vec<String>>, String> {
    Ok(query(conn, sql)?.iter().map(|row| (0..row.len()).map(|no| text(&row[no])).collect()).collect())
}

fn definition(conn: &mut Conn, name: &str, table: &Table) -> Result<(), String> {
    let of_table = format!("WHERE table_schema = DATABASE() AND table_name = '{name}'");
    let columns = texts(
        conn,
        &format!(
            "SELECT column_name, column_type, is_nullable, column_default, extra, generation_expression FROM information_schema.columns {of_table} ORDER BY ordinal_position"
        ),
    )?;
    let expected: Vec<Vec<String>> = table
        .columns
        .iter()
        .map(|column| {
            let default = match &column.default {
                None | Some(Value::Null) => "NULL".to_owned(),
                Some(Value::Int(number)) => number.to_string(),
                Some(Value::Text(text)) => text.clone(),
            };
            let (extra, expression) = match &column.generated {
                None if column.counts => ("auto_increment", String::new()),
                None => ("", String::new()),
                Some(generated) => (
                    if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" },
                    format!("(`{}` + {})", generated.of, generated.plus),
                ),
            };
            let nullable = if column.nullable { "YES" } else { "NO" };
            vec![column.name.clone(), column.ty.to_string(), nullable.to_owned(), default, extra.to_owned(), expression]
        })
        .collect();
    same(&format!("columns of {name}"), &columns, &expected)?;
    let mut keys = texts(
        conn,
        &format!(
            "SELECT index_name, non_unique, column_name FROM information_schema.statistics {of_table} ORDER BY index_name, seq_in_index"
        ),
    )?;
    let parts = |key: &Key| -> Vec<Vec<String>> {
        key.columns.iter().map(|column| vec![key.name.clone(), u8::from(!key.unique).to_string(), column.clone()]).collect()
    };
    let mut expected: Vec<Vec<String>> = table.keys.iter().flat_map(parts).collect();
    // Which of two names comes first is the collation's to say, and not asked here.
    keys.sort_by(|a, b| a[0].cmp(&b[0]));
    expected.sort_by(|a, b| a[0].cmp(&b[0]));
    same(&format!("keys of {name}"), &keys, &expected)?;
    let mut checks = texts(
        conn,
        &format!(
            "SELECT constraint_name FROM information_schema.table_constraints {of_table} AND constraint_type = 'CHECK' ORDER BY constraint_name"
        ),
    )?;
    let mut expected: Vec<Vec<String>> = table.checks.iter().map(|check| vec![check.name.clone()]).collect();
    expected.sort();
    checks.sort();
    same(&format!("constraints of {name}"), &checks, &expected)?;
    let foreign = texts(
        conn,
        &format!(
            "SELECT constraint_name, column_name, referenced_table_name, referenced_column_name, delete_rule, update_rule \
             FROM information_schema.key_column_usage JOIN information_schema.referential_constraints \
             USING (constraint_schema, constraint_name, table_name, referenced_table_name) \
             WHERE constraint_schema = DATABASE() AND table_name = '{name}'"
        ),
    )?;
    let parts = |f: &Foreign| {
        let rules = [f.on_delete.to_string(), f.on_update.to_string()];
        [&f.name, &f.column, &f.parent, &f.parent_column].into_iter().cloned().chain(rules).collect()
    };
    let expected: Vec<Vec<String>> = table.foreign.iter().map(parts).collect();
    same(&format!("foreign keys of {name}"), &foreign, &expected)
}

/// What AUTO_INCREMENT gives next, where that is certain.
fn counter(conn: &mut Conn, name: &str, model: &Database) -> Result<(), String> {
    let Some(next) = model.counter(name) else { return Ok(()) };
    let sql = format!("SELECT auto_increment FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '{name}'");
    let found = texts(conn, &sql)?;
    // MySQL says NULL of some tables that have not given any.
    if next == 1 && found == [["NULL"]] {
        return Ok(());
    }
    same(&format!("next number of {name}"), &found, &vec![vec![next.to_string()]])
}

/// A row that was told, by the columns' types.
fn row(table: &Table, found: &mysql::Row) -> Result<Row, String> {
    let value = |no: usize| match (&found[no], table.columns[no].ty) {
        (mysql::Value::NULL, _) => Ok(Value::Null),
        (value, Type::Int | Type::BigInt) => text(value).parse().map(Value::Int).map_err(|_| format!("{value:?} is no number")),
        (value, Type::Varchar(_)) => Ok(Value::Text(text(value))),
    };
    (0..table.columns.len()).map(value).collect()
}

/// All rows, by way of a key or of none.
fn rows(conn: &mut Conn, name: &str, table: &Table, key: Option<&str>) -> Result<(), String> {
    let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let order = key.and_then(|key| table.keys.iter().find(|k| k.name == key)).map(|key| key.columns.clone()).unwrap_or_default();
    let by = key.map(|key| format!(" FORCE INDEX ({key}) ORDER BY {}", order.join(", "))).unwrap_or_default();
    let sql = format!("SELECT {} FROM {name}{by}", columns.join(", "));
    let mut found = query(conn, &sql)?.iter().map(|found| row(table, found)).collect::<Result<Vec<Row>, String>>()?;
    if let Some(pair) = found.windows(2).find(|pair| table.of_row(&order, &pair[0]) > table.of_row(&order, &pair[1])) {
        return Err(format!("{sql}: {:?} comes before {:?}", pair[0], pair[1]));
    }
    let mut expected = table.rows.clone();
    found.sort();
    expected.sort();
    same(&sql, &found, &expected)
}

/// How many rows have the key of one of them, and the ends of the key.
fn points(conn: &mut Conn, name: &str, table: &Table, columns: &[String], key: &str, draw: &mut Draw) -> Result<(), String> {
    if !table.rows.is_empty() {
        let values = table.of_row(columns, draw.one_of(&table.rows));
        let condition: Vec<String> = columns.iter().zip(&values).map(|(column, value)| format!("{column} <=> {value}")).collect();
        let sql = format!("SELECT COUNT(*) FROM {name} FORCE INDEX ({key}) WHERE {}", condition.join(" AND "));
        let count = table.rows.iter().filter(|row| table.of_row(columns, row) == values).count();
        same(&sql, &texts(conn, &sql)?, &vec![vec![count.to_string()]])?;
    }
    let first = &columns[..1];
    let present = || table.rows.iter().map(|row| table.of_row(first, row).remove(0)).filter(|value| *value != Value::Null);
    let written = |value: Option<Value>| match value {
        None | Some(Value::Null) => "NULL".to_owned(),
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Text(text)) => text,
    };
    let sql = format!("SELECT MIN({0}), MAX({0}) FROM {name}", first[0]);
    let expected = vec![vec![written(present().min()), written(present().max())]];
    same(&sql, &texts(conn, &sql)?, &expected)
}
