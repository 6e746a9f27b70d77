//! Statements that must parse, statements that must not, and what MySQL says then.

use parser::ast::Statement;
use parser::{Bump, SqlMode, parse};

const ACCEPT: &str = include_str!("corpus/accept.sql");
const REJECT: &str = include_str!("corpus/reject.txt");

#[test]
fn statements_of_mysql_are_accepted() {
    let arena = Bump::new();
    let mut failed = String::new();
    for sql in ACCEPT.lines() {
        match parse(sql.as_bytes(), SqlMode::default(), &arena) {
            Ok(parsed) if matches!(parsed.statement, Statement::Empty) => failed += &format!("{sql}\n    empty\n"),
            Ok(parsed) if parsed.rest != sql.len() => failed += &format!("{sql}\n    rest {}\n", parsed.rest),
            Ok(_) => {}
            Err(error) => failed += &format!("{sql}\n    {error}\n"),
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn bad_syntax_is_reported_where_mysql_reports_it() {
    let arena = Bump::new();
    let mut failed = String::new();
    for line in REJECT.lines().filter(|l| !l.starts_with('#')) {
        let (sql, expect) = line.split_once(" ⇒").unwrap_or((line, ""));
        let expect = expect.strip_prefix(' ').unwrap_or(expect);
        let error = match parse(sql.as_bytes(), SqlMode::default(), &arena) {
            Ok(parsed) => {
                failed += &format!("{sql}\n    accepted as {:?}\n", parsed.statement);
                continue;
            }
            Err(error) => error,
        };
        let ok = match expect.parse::<u16>() {
            Ok(code) if expect.len() == 4 => error.code == code,
            _ => error.code == 1064 && error.message.ends_with(&format!(" near '{expect}' at line 1")),
        };
        if !ok {
            failed += &format!("{sql}\n    {error}\n");
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}
