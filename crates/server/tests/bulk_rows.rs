//! Long VALUES of plain literals and lines of files, which go into rows without expressions and values in between, against the ways that have those: rows, errors and warnings are the same.

use harness::Server;
use mysql::prelude::Queryable;
use std::fmt::Write;

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");
const STATEMENTS: u64 = 150;

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) % bound
    }

    fn of<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len() as u64) as usize]
    }
}

const TYPES: &[&str] = &[
    "INT",
    "INT UNSIGNED NOT NULL",
    "TINYINT NOT NULL",
    "BIGINT",
    "DECIMAL(6,2) NOT NULL",
    "DECIMAL(30,5)",
    "VARCHAR(8) NOT NULL",
    "VARCHAR(40)",
    "CHAR(6)",
    "TEXT",
    "VARBINARY(12)",
    "DATE",
    "DATETIME NOT NULL",
    "DATETIME(3)",
    "TIMESTAMP NULL",
    "TIME",
    "DOUBLE",
    "ENUM('a','b')",
    "YEAR",
    "VARCHAR(8) CHARACTER SET latin1",
    "VARCHAR(8) NOT NULL DEFAULT 'none'",
];

/// A literal, as it is written, and as a line of a file has it. Most fit most columns.
fn literal(random: &mut Random, ty: &str) -> (String, String) {
    let quoted = |text: &str| (format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")), text.replace('\\', "\\\\"));
    let plain = |text: String| (text.clone(), text);
    match random.below(24) {
        0 => ("NULL".into(), "\\N".into()),
        1 => plain(
            random
                .of(&[
                    "-5",
                    "007",
                    "1.5",
                    "-0.00",
                    "99999999999",
                    "18446744073709551615",
                    "-9223372036854775808",
                    "123456.789",
                    "12345678901234567890123",
                ])
                .into(),
        ),
        2 => quoted(random.of(&[
            "",
            " 12 ",
            "12abc",
            "it's",
            "a\\b",
            "été",
            "日本語 text that is long",
            "trailing  ",
            "1e2",
            "0000-00-00",
            "2024-02-30",
            "2024-2-3",
            "-1",
        ])),
        3 => quoted(&format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
            random.below(2030),
            random.below(14),
            random.below(32),
            random.below(25),
            random.below(60),
            random.below(60)
        )),
        _ if ty.contains("CHAR") || ty.contains("TEXT") || ty.contains("BINARY") => quoted(&"some text"[..random.below(9) as usize]),
        _ if ty.contains("DATETIME") || ty.contains("TIMESTAMP") => quoted(&format!(
            "20{:02}-{:02}-{:02} {:02}:05:09",
            random.below(30),
            1 + random.below(12),
            1 + random.below(28),
            random.below(24)
        )),
        _ if ty.contains("DATE") => {
            quoted(&format!("19{:02}-{:02}-{:02}", 70 + random.below(30), 1 + random.below(12), 1 + random.below(28)))
        }
        _ if ty.contains("ENUM") => quoted("b"),
        _ if ty.contains("TIME") => quoted("10:11:12"),
        _ if ty.contains("DECIMAL") => plain(format!("{}.{:02}", random.below(9999), random.below(100))),
        _ => plain(format!("{}", random.below(120))),
    }
}

/// What a statement says: its error or what it has told, then all rows.
fn told(c: &mut mysql::Conn, statement: &str, table: &str) -> String {
    let mut text = match c.query_drop(statement) {
        Ok(()) => format!("ok {} {}\n", c.affected_rows(), c.info_str()),
        Err(mysql::Error::MySqlError(error)) => format!("{} {}\n", error.code, error.message),
        Err(error) => panic!("{error}: {statement}"),
    };
    for query in ["SHOW WARNINGS".to_owned(), format!("SELECT * FROM d.{table} ORDER BY id")] {
        for row in c.query::<mysql::Row, _>(query).expect("rows") {
            writeln!(text, "{:?}", row.unwrap()).expect("text");
        }
    }
    text.replace(&format!("d.{table}"), "d.x").replace(&format!("'{table}."), "'x.").replace(&format!("`{table}`"), "`x`")
}

#[test]
fn rows_without_values_in_between_are_the_rows_that_values_make() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
    let seed = seed.unwrap_or_else(now) | 1;
    println!("SEED={seed}");
    let mut random = Random(seed);
    let server = Server::start(PROGRAM, &["--set", "secure_file_priv="]);
    let dir = tempfile::tempdir().expect("a directory");
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d").expect("a database");
    let (mut fine, mut wrong) = (0, 0);
    for no in 0..STATEMENTS {
        let types: Vec<&str> = (0..1 + random.below(5)).map(|_| random.of(TYPES)).collect();
        let columns: String = types.iter().enumerate().fold(String::new(), |text, (at, ty)| text + &format!(", c{at} {ty}"));
        let id = random.of(&["INT PRIMARY KEY", "INT PRIMARY KEY", "INT PRIMARY KEY AUTO_INCREMENT"]);
        // The third computes something of each row, which takes values.
        for (table, more) in [("t", ""), ("u", ""), ("v", ", CHECK (c0 IS NULL OR c0 IS NOT NULL)")] {
            c.query_drop(format!("DROP TABLE IF EXISTS d.{table}")).expect("gone");
            c.query_drop(format!(
                "CREATE TABLE d.{table} (id {id}{columns}, KEY k (c0{}){more})",
                if types[0].contains("TEXT") { "(5)" } else { "" }
            ))
            .expect("a table");
        }
        let mode = random.of(&["DEFAULT", "DEFAULT", "''", "'TRADITIONAL'", "'NO_BACKSLASH_ESCAPES'"]);
        c.query_drop(format!("SET sql_mode = {mode}")).expect("a mode");
        let (mut rows, mut file) = (Vec::new(), String::new());
        // Now and then all literals are such as fit.
        let all_fit = random.below(2) == 0;
        for row in 0..8 + random.below(40) {
            let id = if random.below(60) == 0 { random.below(row + 1) } else { row + 1 };
            let mut fields = vec![(id.to_string(), id.to_string())];
            for ty in &types {
                let fits = format!("{}", 1 + random.below(100));
                fields.push(if all_fit && !ty.contains("DATE") && !ty.contains("TIME") && !ty.contains("ENUM") {
                    (fits.clone(), fits)
                } else {
                    literal(&mut random, ty)
                });
            }
            if no % 8 == 7 && random.below(20) == 0 {
                fields.pop();
            }
            let join = |side: fn(&(String, String)) -> &str, by: &str| fields.iter().map(side).collect::<Vec<_>>().join(by);
            rows.push(format!("({})", join(|field| &field.0, random.of(&[",", ", ", " ,\n"]))));
            writeln!(file, "{}", join(|field| &field.1, "\t")).expect("text");
        }
        let (verb, end) =
            [("INSERT", ""), ("INSERT", ""), ("INSERT IGNORE", ""), ("REPLACE", ""), ("INSERT", " ON DUPLICATE KEY UPDATE id = id + 100")]
                [random.below(5) as usize];
        let insert = |table: &str, first: &str| format!("{verb} INTO d.{table} VALUES ({first}{}{end}", &rows.join(",")[1..]);
        let found = told(&mut c, &insert("t", ""), "t");
        // A comment leaves the list to the grammar.
        let expected = told(&mut c, &insert("u", "/* by expressions */"), "u");
        assert_eq!(found, expected, "SEED={seed} {mode} {id}{columns}: {}", insert("t", ""));
        assert_eq!(told(&mut c, &insert("v", ""), "v"), expected, "SEED={seed}, with a CHECK: {}", insert("v", ""));
        if found.starts_with("ok") {
            fine += 1
        } else {
            wrong += 1
        }
        let path = dir.path().join("rows.tsv");
        std::fs::write(&path, &file).expect("a file");
        let load = |table: &str| {
            format!("LOAD DATA INFILE '{}' {} INTO TABLE d.{table}", path.display(), ["", "IGNORE"][usize::from(verb == "INSERT IGNORE")])
        };
        for table in ["t", "v"] {
            c.query_drop(format!("TRUNCATE d.{table}")).expect("empty");
        }
        let loaded = [told(&mut c, &load("t"), "t"), told(&mut c, &load("v"), "v")];
        assert_eq!(loaded[0], loaded[1], "SEED={seed} {mode} {id}{columns}: {file}");
    }
    println!("{fine} went in, {wrong} did not");
    assert!(fine > STATEMENTS / 5 && wrong > STATEMENTS / 10);
}
