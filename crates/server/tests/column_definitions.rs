//! What clients are told of the columns of SHOW, DESCRIBE, EXPLAIN and other statements whose results are no queries', beside what MySQL 9.7 tells:
//! `tests/protocol/column_definitions.txt`. Statements run as text and prepared; both must tell the same.
//! `ASK=HOST:PORT cargo test -p server --test column_definitions` asks a MySQL (root without password), and with `UPDATE_EXPECT=1` writes down what it answers.

use harness::{Server, Target};
use mysql::consts::ColumnFlags;
use mysql::prelude::Queryable;
use mysql::{Column, Conn, Row, Value};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/protocol/column_definitions.txt");

/// A column as a line of the file: name, type, length, collation, decimals, flags, origin.
fn line_of(column: &Column) -> String {
    let type_name = format!("{:?}", column.column_type()).replace("MYSQL_TYPE_", "");
    let flags: Vec<String> = column.flags().iter_names().map(|(name, _)| name.replace("_FLAG", "")).collect();
    let flags = if flags.is_empty() { "-".to_owned() } else { flags.join(" ") };
    format!(
        "{} | {type_name} | {} | {} | {} | {flags} | {}.{}.{}.{}",
        column.name_str(),
        column.column_length(),
        column.character_set(),
        column.decimals(),
        column.schema_str(),
        column.table_str(),
        column.org_table_str(),
        column.org_name_str(),
    )
}

fn lines_of(answer: Result<Vec<String>, mysql::Error>) -> Vec<String> {
    match answer {
        Ok(lines) => lines,
        Err(mysql::Error::MySqlError(error)) => vec![format!("error {}", error.code)],
        Err(other) => panic!("{other}"),
    }
}

fn as_text(connection: &mut Conn, sql: &str) -> Vec<String> {
    lines_of(connection.query_iter(sql).map(|result| {
        let lines = result.columns().as_ref().iter().map(line_of).collect();
        result.for_each(|row| look(&row.expect("a row"), sql));
        lines
    }))
}

/// What is told never to be NULL is not, but for the one column where it is in MySQL, too.
fn look(row: &Row, sql: &str) {
    for (at, column) in row.columns_ref().iter().enumerate() {
        let never_null =
            column.flags().contains(ColumnFlags::NOT_NULL_FLAG) && !(column.name_str() == "Extra" && sql.starts_with("EXPLAIN FORMAT"));
        assert!(!never_null || row.as_ref(at) != Some(&Value::NULL), "{sql}: {} is NULL", column.name_str());
    }
}

/// Nothing where a statement cannot be prepared.
fn as_prepared(connection: &mut Conn, sql: &str) -> Option<Vec<String>> {
    let statement = match connection.prep(sql) {
        Ok(statement) => statement,
        Err(mysql::Error::MySqlError(_)) => return None,
        Err(other) => panic!("{other}"),
    };
    let answer = connection.exec_iter(&statement, ()).map(|result| {
        let lines = result.columns().as_ref().iter().map(line_of).collect();
        // Values have the form of their type: one that has not cannot be read.
        result.for_each(|row| look(&row.expect("a row"), sql));
        lines
    });
    Some(lines_of(answer))
}

fn target() -> Target {
    match std::env::var("ASK") {
        Ok(address) => Target::external(&address).expect("a MySQL"),
        Err(_) => Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", "connect_timeout=300"])),
    }
}

/// PREPARE tells the columns of what is a query to MySQL, as EXECUTE does; of the rest it tells none.
#[test]
fn prepare_tells_columns_of_lists_that_are_queries() {
    let target = target();
    let mut connection = target.connect(None).expect("a connection");
    for sql in [
        "SET NAMES utf8mb4",
        "DROP DATABASE IF EXISTS told",
        "CREATE DATABASE told",
        "USE told",
        "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(10))",
        "CREATE TEMPORARY TABLE tmp (id INT PRIMARY KEY)",
    ] {
        connection.query_drop(sql).expect(sql);
    }
    for sql in [
        "SHOW DATABASES",
        "SHOW DATABASES LIKE 't%'",
        "SHOW TABLES",
        "SHOW TABLES LIKE 'x%'",
        "SHOW FULL TABLES",
        "SHOW TABLES FROM information_schema",
        "SHOW TABLE STATUS",
        "SHOW COLUMNS FROM t",
        "SHOW FULL COLUMNS FROM t LIKE 'a%'",
        "SHOW COLUMNS FROM tmp",
        "SHOW COLUMNS FROM information_schema.TABLES",
        "SHOW INDEX FROM t",
        "SHOW INDEX FROM tmp",
        "SHOW OPEN TABLES",
        "SHOW TRIGGERS",
        "SHOW EVENTS",
        "SHOW PROCEDURE STATUS",
        "SHOW FUNCTION STATUS",
        "SHOW VARIABLES LIKE 'a%'",
        "SHOW GLOBAL VARIABLES LIKE 'a%'",
        "SHOW STATUS LIKE 'Com_s%'",
        "SHOW GLOBAL STATUS LIKE 'Com_s%'",
        "SHOW CHARACTER SET",
        "SHOW COLLATION",
        "DESCRIBE t",
        "DESCRIBE t a",
    ] {
        // Their names: of the rest MySQL itself tells other things before it has opened its views than when it runs them.
        let names = |columns: &[Column]| columns.iter().map(|column| column.name_str().into_owned()).collect::<Vec<_>>();
        let told = names(&connection.prep(sql).expect(sql).columns());
        assert_eq!(told, names(connection.query_iter(sql).expect(sql).columns().as_ref()), "{sql}");
    }
    for (sql, count) in
        [("SHOW COLUMNS FROM nosuch", 6), ("SHOW INDEX FROM nosuch", 15), ("SHOW TABLES FROM nosuch", 1), ("DESCRIBE nosuch", 6)]
    {
        assert_eq!(connection.prep(sql).expect(sql).columns().len(), count, "{sql}");
    }
    for sql in [
        "SHOW CREATE TABLE t",
        "SHOW ENGINES",
        "SHOW PLUGINS",
        "SHOW PROCESSLIST",
        "SHOW GRANTS",
        "SHOW PROFILES",
        "CHECKSUM TABLE t",
        "DO 1",
    ] {
        assert_eq!(connection.prep(sql).expect(sql).columns().len(), 0, "{sql}");
    }
    connection.query_drop("DROP DATABASE told").expect("dropped");
}

#[test]
fn columns_are_described_as_mysql_describes_them() {
    let target = target();
    let mut connection = target.connect(None).expect("a connection");
    let text = std::fs::read_to_string(FILE).expect("the file");
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let (mut blocks, mut differences) = (Vec::new(), Vec::new());
    for block in text.trim_end().split("\n\n") {
        let mut lines = block.lines().skip_while(|line| line.starts_with('#'));
        let Some(first) = lines.next() else {
            blocks.push(block.to_owned());
            continue;
        };
        // What is only done.
        if let Some(sql) = first.strip_prefix("> ") {
            for sql in [sql].into_iter().chain(lines.filter_map(|line| line.strip_prefix("> "))) {
                connection.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            }
            blocks.push(block.to_owned());
            continue;
        }
        let sql = first;
        let expected: Vec<&str> = lines.collect();
        let told = as_text(&mut connection, sql);
        if update {
            let head = block.lines().take_while(|line| line.starts_with('#'));
            blocks.push(head.chain([sql]).map(str::to_owned).chain(told).collect::<Vec<_>>().join("\n"));
            continue;
        }
        let changes = sql.contains(" USER r@") || sql.starts_with("SET PASSWORD");
        let prepared = as_prepared(&mut connection, sql).filter(|_| !changes).unwrap_or_else(|| told.clone());
        for (how, told) in [("text", told), ("prepared", prepared)] {
            if told != expected {
                differences.push(format!(
                    "{sql}, {how}\n  told:\n    {}\n  expected:\n    {}",
                    told.join("\n    "),
                    expected.join("\n    ")
                ));
            }
        }
    }
    if update {
        std::fs::write(FILE, blocks.join("\n\n") + "\n").expect("written");
    }
    assert!(differences.is_empty(), "{} differences:\n{}", differences.len(), differences.join("\n"));
}
