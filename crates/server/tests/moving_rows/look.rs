//! What must be so, whenever one looks.

use crate::shape::{Shape, Table};
use mysql::prelude::Queryable;

pub type Row = Vec<Option<String>>;

/// Rows as text.
pub fn rows(c: &mut mysql::Conn, statement: &str) -> Result<Vec<Row>, mysql::Error> {
    let rows: Vec<mysql::Row> = c.query(statement)?;
    Ok(rows.into_iter().map(|row| row.unwrap().into_iter().map(mysql::from_value).collect()).collect())
}

/// All rows of all tables.
pub fn all_rows(c: &mut mysql::Conn, shape: &Shape) -> Result<Vec<Row>, mysql::Error> {
    let mut all = Vec::new();
    for table in shape.tables {
        all.extend(rows(c, &format!("SELECT {}, {} FROM {} ORDER BY {}", table.shown(), table.always, table.name, table.key()))?);
    }
    Ok(all)
}

/// One statement, and so one snapshot: pairs of what an index shows and what the primary key does, by name, then what must be 0.
fn paths(table: &Table) -> (Vec<String>, String) {
    let (mut names, mut columns) = (Vec::new(), Vec::new());
    for index in table.indexes {
        for condition in index.whole {
            names.push(format!("{} WHERE {condition}", index.name));
            columns.extend([index.name, "PRIMARY"].map(|by| table.sums(by, condition)));
            names.push(format!("covered {} WHERE {condition}", index.name));
            columns.extend([index.name, "PRIMARY"].map(|by| table.covered_sums(by, index, condition)));
        }
    }
    names.push(format!("rows without {}", table.always));
    columns.extend([format!("(SELECT COUNT(*) FROM {} WHERE NOT ({}))", table.name, table.always), "0".to_owned()]);
    (names, format!("SELECT {}", columns.join(", ")))
}

/// How many rows have a unique key, and how many keys there are.
fn keys(table: &Table) -> Option<String> {
    let one = |columns: &&[&str]| {
        let known = columns.iter().map(|column| format!("{column} IS NOT NULL")).collect::<Vec<_>>().join(" AND ");
        format!("(SELECT COUNT(*) FROM {0} WHERE {known}), (SELECT COUNT(DISTINCT {1}) FROM {0})", table.name, columns.join(", "))
    };
    (!table.unique.is_empty()).then(|| format!("SELECT {}", table.unique.iter().map(one).collect::<Vec<_>>().join(", ")))
}

/// What is wrong with what is shown, if anything is. A transaction whose snapshot is older than what it has written since may see a key twice: as it was, and as it has
/// given it; and rows that refer to such ones.
pub fn compare(c: &mut mysql::Conn, shape: &Shape, writes_on_old: bool) -> Result<Option<String>, mysql::Error> {
    for table in shape.tables {
        let (names, statement) = paths(table);
        let shown = rows(c, &statement)?.remove(0);
        for (name, pair) in names.iter().zip(shown.chunks(2)) {
            if pair[0] != pair[1] {
                return Ok(Some(format!("{}.{}, {name}: {:?}, by the primary key {:?}", shape.name, table.name, pair[0], pair[1])));
            }
        }
        let Some(statement) = keys(table).filter(|_| !writes_on_old) else { continue };
        for pair in rows(c, &statement)?.remove(0).chunks(2) {
            if pair[0] != pair[1] {
                return Ok(Some(format!("{}.{}, one key twice: {statement}: {pair:?}", shape.name, table.name)));
            }
        }
    }
    for statement in shape.orphans.iter().filter(|_| !writes_on_old) {
        if c.query_first::<u64, _>(statement)? != Some(0) {
            return Ok(Some(format!("{}: {statement} finds some", shape.name)));
        }
    }
    Ok(None)
}

/// That the paths are what they claim to be.
pub fn expect_indexes_to_be_read(c: &mut mysql::Conn, shape: &Shape) {
    for table in shape.tables {
        for index in table.indexes {
            for condition in index.whole {
                for statement in
                    [table.sums(index.name, condition), table.covered_sums(index.name, index, condition), table.sums("PRIMARY", condition)]
                {
                    let plan: mysql::Row =
                        c.query_first(format!("EXPLAIN FORMAT = TRADITIONAL {statement}")).expect("a plan").expect("a row");
                    let (kind, key): (Option<String>, Option<String>) = (plan.get("type").expect("type"), plan.get("key").expect("key"));
                    let is_due = key.as_deref() == Some(index.name) || statement.contains("(PRIMARY)");
                    assert!(is_due, "{}: {kind:?} by {key:?}: {statement}", shape.name);
                }
            }
        }
    }
}

/// Whether a statement may end so: as a deadlock's victim (`true`: all of its transaction is gone), by a time-out, a KILL, a lock that is not waited for, a duplicate, a table that was made anew, NULL where
/// none may be, a number or string that does not fit, a table that is not locked, a key that refers to nothing or is referred to.
pub fn lost(error: &mysql::Error) -> Option<bool> {
    match error {
        mysql::Error::MySqlError(error) if [1213, 1614].contains(&error.code) => Some(true),
        mysql::Error::MySqlError(error)
            if [1048, 1062, 1100, 1205, 1317, 1406, 1412, 1451, 1452, 1761, 1762, 3008, 3572].contains(&error.code) =>
        {
            Some(false)
        }
        _ => None,
    }
}
