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

/// Two expressions that must be equal, and what that is about.
struct Pair {
    about: String,
    left: String,
    right: String,
}

/// What each index shows, and what the primary key does; and what holds for each row.
fn paths(table: &Table) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for index in table.indexes {
        for condition in index.whole {
            let (left, right) = (table.sums(index.name, condition), table.sums("PRIMARY", condition));
            pairs.push(Pair { about: format!("{} WHERE {condition}", index.name), left, right });
            let (left, right) = (table.covered_sums(index.name, index, condition), table.covered_sums("PRIMARY", index, condition));
            pairs.push(Pair { about: format!("covered {} WHERE {condition}", index.name), left, right });
        }
    }
    let left = format!("(SELECT COUNT(*) FROM {} WHERE NOT ({}))", table.name, table.always);
    pairs.push(Pair { about: format!("rows without {}", table.always), left, right: "0".to_owned() });
    pairs
}

/// How many rows have a unique key, and how many keys there are; and rows that refer to nothing.
fn keys(shape: &Shape) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for table in shape.tables {
        for columns in table.unique {
            let known = columns.iter().map(|column| format!("{column} IS NOT NULL")).collect::<Vec<_>>().join(" AND ");
            let (name, columns) = (table.name, columns.join(", "));
            let left = format!("(SELECT COUNT(*) FROM {name} WHERE {known})");
            let right = format!("(SELECT COUNT(DISTINCT {columns}) FROM {name})");
            pairs.push(Pair { about: format!("keys ({columns})"), left, right });
        }
    }
    let orphans = shape.orphans.iter();
    pairs.extend(orphans.map(|rows| Pair {
        about: rows.to_string(),
        left: format!("(SELECT COUNT(*) FROM {rows})"),
        right: "0".to_owned(),
    }));
    pairs
}

/// Whose tables they are, for [`compare`].
#[derive(Clone, Copy, PartialEq)]
pub enum View {
    /// Others change them: only what one statement shows is of one moment.
    Shared,
    /// A snapshot that may be older than what its transaction has written since: it may show a key twice, as it was, and as it has been given; and rows that refer
    /// to such ones.
    WrittenOver,
    /// Others do not change them, and a statement may not read one twice (LOCK TABLES).
    Locked,
}

/// What is wrong with what is shown, if anything is.
pub fn compare(c: &mut mysql::Conn, shape: &Shape, view: View) -> Result<Option<String>, mysql::Error> {
    let mut groups: Vec<Vec<Pair>> = shape.tables.iter().map(paths).collect();
    if view != View::WrittenOver {
        groups.push(keys(shape));
    }
    for pairs in groups.into_iter().filter(|pairs| !pairs.is_empty()) {
        let sides: Vec<&str> = pairs.iter().flat_map(|pair| [pair.left.as_str(), pair.right.as_str()]).collect();
        let mut shown = Row::new();
        for statement in sides.chunks(if view == View::Locked { 1 } else { sides.len() }) {
            shown.extend(rows(c, &format!("SELECT {}", statement.join(", ")))?.remove(0));
        }
        for (pair, shown) in pairs.iter().zip(shown.chunks(2)) {
            if shown[0] != shown[1] {
                return Ok(Some(format!("{}, {}: {:?}, but {:?}", shape.name, pair.about, shown[0], shown[1])));
            }
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
            if [1048, 1062, 1100, 1205, 1317, 1406, 1412, 1451, 1452, 1761, 1762, 3008, 3572, 6575].contains(&error.code) =>
        {
            Some(false)
        }
        _ => None,
    }
}

/// Whether a statement was done; an error that none may end with is one.
pub fn unless_lost<T>(end: Result<T, mysql::Error>) -> Result<Option<T>, mysql::Error> {
    match end {
        Err(error) if lost(&error).is_some() => Ok(None),
        end => end.map(Some),
    }
}
