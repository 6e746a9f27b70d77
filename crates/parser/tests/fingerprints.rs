//! Fingerprints: what changes the hash, what is lifted, and that the parser lifts the same.

use parser::{Bump, LiteralKind, SqlMode, Template, fingerprint, parse, parse_parameterised};
use proptest::prelude::*;

fn print_of(sql: &str) -> (u128, bool, Vec<String>) {
    let mut params = Vec::new();
    let print = fingerprint(sql.as_bytes(), SqlMode::default(), &mut params);
    let texts = params.iter().map(|p| String::from_utf8_lossy(p.text(sql.as_bytes())).into_owned()).collect();
    (print.hash, print.cacheable, texts)
}

fn check_same(a: &str, b: &str) {
    assert!(print_of(a).1, "{a}");
    assert_eq!(print_of(a).0, print_of(b).0, "{a}\n{b}");
}

fn check_differ(a: &str, b: &str) {
    assert_ne!(print_of(a).0, print_of(b).0, "{a}\n{b}");
}

fn check_lifted(sql: &str, expect: &[&str]) {
    let (_, cacheable, params) = print_of(sql);
    assert!(cacheable, "{sql}");
    assert_eq!(params, expect, "{sql}");
    let arena = Bump::new();
    match parse_parameterised(sql.as_bytes(), SqlMode::default(), &arena) {
        Ok(parsed) => assert_eq!(parsed.param_count as usize, expect.len(), "{sql}"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

#[test]
fn literals_of_one_kind_share_a_plan() {
    check_same("SELECT c FROM t WHERE id=1", "select c\n from t where id = 99 -- x");
    check_same("SELECT c FROM t WHERE a='x'", "SELECT c FROM t WHERE a=\"it's\"");
    check_same("SELECT a, b FROM t", "SELECT a,b FROM t");
    check_same("SELECT a FROM t WHERE b = 1;", "SELECT a FROM t WHERE b = /* c */ 1");
    check_same("INSERT INTO t VALUES (1,'a')", "insert into t values (2,'b')");
    check_differ("SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id='1'");
    check_differ("SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id=1.0");
    check_differ("SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id=1e0");
    check_differ("SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id=9223372036854775808");
    check_differ("SELECT c FROM t WHERE id=1", "SELECT c FROM T WHERE id=1");
    check_differ("SELECT c FROM t WHERE id=1", "SELECT c FROM t WHERE id=NULL");
    check_differ("SELECT 1 FROM t", "SELECT 2 FROM t");
    check_differ("SELECT a+1 FROM t", "SELECT a + 1 FROM t");
    check_differ("SELECT COUNT(*) FROM t", "SELECT count(*) FROM t");
    check_differ("SELECT a FROM t ORDER BY 1", "SELECT a FROM t ORDER BY 2");
    check_differ("SELECT a FROM t WHERE 1=1", "SELECT a FROM t WHERE 1=0");
    check_same("SELECT a FROM t WHERE 1=a", "SELECT a FROM t WHERE 2=a");
    check_differ("SELECT /*+ x */ a FROM t", "SELECT a FROM t");
    check_differ("SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (1,2)");
    check_differ("SELECT ab FROM t", "SELECT a b FROM t");
    // What a comment with a version holds is text like other text, or none.
    check_same("SELECT a FROM t WHERE b = 1 /*!50000 AND c = 'x' */", "SELECT a FROM t WHERE b = 2 AND c = 'y'");
    check_same("SELECT /*! STRAIGHT_JOIN */ a FROM t WHERE b = 1", "SELECT /*! STRAIGHT_JOIN */ a FROM t WHERE b = 2");
    check_same("SELECT a FROM t WHERE b = 1 /*!99999 nonsense */", "SELECT a FROM t WHERE b = 2");
    check_differ("SELECT /*! STRAIGHT_JOIN */ a FROM t", "SELECT a FROM t");
    check_differ("SELECT a FROM t WHERE b = 1 /*! + 1 */", "SELECT a FROM t WHERE b = 1");
    check_differ("SELECT a /*! + 1 */ FROM t", "SELECT a + 1 FROM t");
    let mut params = Vec::new();
    let sql = b"SELECT a FROM t WHERE b = \"x\"";
    assert_ne!(fingerprint(sql, SqlMode::default(), &mut params).hash, fingerprint(sql, SqlMode::ANSI_QUOTES, &mut params).hash);
}

#[test]
fn what_is_lifted() {
    check_lifted("SELECT c FROM t WHERE id=12 AND s='x' AND d=1.5", &["12", "x", "1.5"]);
    check_lifted("SELECT 5, 'a' FROM t WHERE a = 7 LIMIT 3, 4", &["7", "3", "4"]);
    check_lifted("SELECT a FROM t GROUP BY 1 HAVING a > 5 ORDER BY 2 LIMIT 3", &["3"]);
    check_lifted("INSERT INTO t (a) VALUES (1, 'x', NULL), (-2, 'y', TRUE) ON DUPLICATE KEY UPDATE a = a + 3", &["1", "x", "2", "y", "3"]);
    check_lifted("UPDATE t SET a = 1 WHERE b IN (2, 3) ORDER BY 4 LIMIT 5", &["1", "2", "3", "5"]);
    check_lifted("DELETE FROM t WHERE a BETWEEN 1 AND 2", &["1", "2"]);
    check_lifted("SELECT a FROM t WHERE b = CAST(3 AS CHAR(10)) AND c > NOW(6) AND d > DATE '2020-01-01' - INTERVAL 1 DAY", &["3", "1"]);
    check_lifted("SELECT a FROM t WHERE b->'$.x' = 1 AND c = _utf8mb4'x' AND d LIKE 'y' ESCAPE '|'", &["1", "y"]);
    check_lifted("SELECT (SELECT 1 FROM u WHERE a = 2) FROM t WHERE b = (SELECT 3 FROM v WHERE c = 4)", &["4"]);
    check_lifted("SELECT a FROM t JOIN u ON t.a = 5 AND EXTRACT(YEAR FROM b) = 6", &["5", "6"]);
    check_lifted("REPLACE INTO t VALUES (1)", &["1"]);
    check_lifted("SELECT /*! STRAIGHT_JOIN */ a FROM t WHERE b = /*!50000 1 + */ 2 /*!99999 + 3 */", &["1", "2"]);
    check_lifted("SELECT a FROM t WHERE 1=1 AND b = 5", &["5"]);
    check_lifted("SELECT a FROM t JOIN u ON 1 = 1 WHERE 1 AND b = 5", &["5"]);
    check_lifted("UPDATE t SET a = 7 WHERE 1 LIMIT 3", &["7", "3"]);
    check_lifted("DELETE FROM t WHERE 0", &[]);
    check_lifted("SELECT a FROM t WHERE a IN (SELECT b FROM u WHERE 1) AND c = 2", &["2"]);
    // Of a condition that reads something the number is a parameter wherever it stands.
    check_lifted("SELECT a FROM t WHERE 1 = a AND b = 5", &["1", "5"]);
    check_lifted("SELECT a FROM t WHERE 1 + a = 5", &["1", "5"]);
    check_lifted("SELECT a FROM t WHERE 1 IN (a, b) AND 1 = 1", &["1", "1", "1"]);
    check_lifted("SELECT a FROM t WHERE 1 = andy", &["1"]);
    check_lifted("(SELECT a FROM t WHERE b = 1)", &["1"]);
}

#[test]
fn subqueries_of_select_lists_are_lifted_where_an_alias_follows() {
    check_lifted("SELECT EXISTS(SELECT 1 FROM t WHERE a = 5) AS x", &["5"]);
    check_lifted("select exists(select * from `t` where `a` = 5 and b = 'it''s') as `x`", &["5", "it''s"]);
    check_lifted("SELECT id, (SELECT COUNT(*) FROM u WHERE u.a = t.a AND b > 5) `n`, 6 FROM t WHERE c = 7", &["5", "7"]);
    check_lifted("SELECT COALESCE((SELECT b + 1 FROM u WHERE a = 5 LIMIT 1), 0) AS x, 6 FROM t LIMIT 7", &["5", "1", "7"]);
    check_lifted("SELECT a IN (SELECT b FROM u WHERE c IN (SELECT d FROM v WHERE e = 5)) AS x", &["5"]);
    check_lifted("SELECT EXISTS(SELECT 1 FROM t WHERE a = 5)", &[]);
    check_lifted("SELECT (SELECT b FROM t WHERE a = 5) + 1 AS x", &[]);
    check_lifted("SELECT (SELECT (SELECT b FROM u WHERE a = 5) AS x FROM t)", &[]);
    check_lifted("SELECT (SELECT (SELECT b FROM u WHERE a = 5) AS x FROM t WHERE c = 6) AS y", &["6"]);
    check_lifted("SELECT (SELECT b FROM t WHERE a = 5) AS x, EXISTS(SELECT 1 FROM t WHERE a = 6), 7", &["5"]);
    check_same("SELECT EXISTS(SELECT 1 FROM t WHERE a = 5) AS x", "SELECT EXISTS(SELECT 1 FROM t WHERE a = 66) AS x");
    check_differ("SELECT EXISTS(SELECT 1 FROM t WHERE a = 5) AS x", "SELECT EXISTS(SELECT 1 FROM t WHERE a = 5) AS y");
    check_differ("SELECT EXISTS(SELECT 1 FROM t WHERE a = 5)", "SELECT EXISTS(SELECT 1 FROM t WHERE a = 6)");
    check_differ("SELECT (SELECT 1 FROM t WHERE a = 5) AS x", "SELECT (SELECT 2 FROM t WHERE a = 5) AS x");
    let named = "SELECT EXISTS(SELECT 1 FROM t WHERE a = 'x') AS x";
    assert!(agree_on_template(named, "SELECT EXISTS(SELECT 1 FROM t WHERE a = 'it\\'s)') AS x", SqlMode::default()));
    assert!(agree_on_template(named, "SELECT EXISTS(SELECT 1 FROM t WHERE a = 'x\\') AS x", SqlMode::NO_BACKSLASH_ESCAPES));
}

/// `IN` and as many values, each of them the same.
fn listed(value: &str, count: usize) -> String {
    format!("SELECT a FROM t WHERE b = 'x' AND c IN ({}) AND d = 2", vec![value; count].join(", "))
}

#[test]
fn lists_of_about_the_same_length_share_a_plan() {
    let lengths = |value: &str, one, other| (listed(value, one), listed(value, other));
    for value in ["1", "'a'", "1.5", "1e3"] {
        for (one, other) in [(1, 2), (15, 16), (16, 17), (18, 19), (128, 129), (1, 1000)] {
            let (one, other) = lengths(value, one, other);
            check_differ(&one, &other);
        }
        for (one, other) in [(17, 18), (33, 36), (65, 72), (129, 144), (961, 1024), (1153, 1278)] {
            let (one, other) = lengths(value, one, other);
            check_same(&one, &other);
            agree(&one);
            assert!(!agree_on_template(&one, &other, SqlMode::default()));
            agree_on_template(&one, &one.replace("'x'", "'it''s, 2'"), SqlMode::default());
        }
    }
    let (_, _, params) = print_of(&listed("7", 33));
    assert_eq!(params.len(), 38);
    assert_eq!((params[0].as_str(), params[36].as_str(), params[37].as_str()), ("x", "7", "2"));
    check_differ(&listed("1", 17), &listed("'1'", 17));
    check_differ(&listed("1.5", 17), &listed("1.25", 17));
    assert!(!print_of(&listed("1", 1281)).1);
    // What is no list of literals is as long as it is.
    for item in ["-1", "a", "1 + 1", "f(1)", "(1)", "NULL"] {
        let (one, other) = (listed("1", 17).replace("(1,", &format!("({item},")), listed("1", 18).replace("(1,", &format!("({item},")));
        check_differ(&one, &other);
    }
    check_differ(&listed("(1, 2)", 17), &listed("(1, 2)", 18));
    let within =
        |count| format!("SELECT a FROM t WHERE a IN (SELECT b FROM u WHERE c IN ({})) AND d IN (1, 2)", vec!["5"; count].join(","));
    check_same(&within(17), &within(18));
    agree(&within(17));
}

#[test]
fn what_is_not_cacheable() {
    let many = format!("INSERT INTO t VALUES (1){}", ",(1)".repeat(parser::LIFTED_MAX as usize));
    for sql in [
        "",
        ";",
        "BEGIN",
        "SET a = 1",
        "SELECT a FROM t /*! ; SELECT 1 */",
        "SELECT a FROM t WHERE b = ?",
        "SELECT a FROM t WHERE b = 'x' 'y'",
        "SELECT a FROM t WHERE b = 0x41",
        "SELECT a FROM t WHERE b = 'x",
        &many,
    ] {
        assert!(!print_of(sql).1, "{sql}");
    }
}

#[test]
fn lifted_values_are_read_back() {
    let sql = br"SELECT a FROM t WHERE b = 'it''s\n' AND c = 42 AND d = 18446744073709551615 AND e = 18446744073709551616";
    let mut params = Vec::new();
    assert!(fingerprint(sql, SqlMode::default(), &mut params).cacheable);
    let mut out = Vec::new();
    assert!(params[0].write_string(sql, SqlMode::default(), &mut out).is_ok());
    assert_eq!(out, b"it's\n");
    assert_eq!((params[1].int, params[2].int), (42, u64::MAX));
    let kinds: Vec<_> = params.iter().map(|p| p.kind).collect();
    assert_eq!(kinds, [LiteralKind::String, LiteralKind::Int, LiteralKind::UInt, LiteralKind::Decimal]);
}

/// Texts glued from pieces, some of them nonsense.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "SELECT",
        "FROM",
        "WHERE",
        "t",
        "a",
        "=",
        "1",
        "'x'",
        "1.5",
        "2e3",
        "(",
        ")",
        ",",
        "AND",
        "ORDER BY",
        "GROUP BY",
        "LIMIT",
        "IN",
        "INSERT INTO",
        "VALUES",
        "UPDATE",
        "SET",
        "DELETE",
        "CAST",
        "AS CHAR(3)",
        "NOW(6)",
        "INTERVAL",
        "DAY",
        "DATE",
        "+",
        "-",
        "NOT",
        "LIKE",
        "ESCAPE",
        "UNION",
        "EXISTS",
        "JOIN",
        "ON",
        "b.c",
        "->",
        "_binary",
        "COLLATE",
        "/* c */",
        "/*+ h */",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        ";",
        "@v",
        "HAVING",
        "BETWEEN",
        "0x41",
        "x'41'",
        "*",
    ]);
    prop::collection::vec(piece, 1..30).prop_map(|p| p.join(" "))
}

fn agree(sql: &str) {
    let mut params = Vec::new();
    let print = fingerprint(sql.as_bytes(), SqlMode::default(), &mut params);
    let arena = Bump::new();
    if let Ok(parsed) = parse_parameterised(sql.as_bytes(), SqlMode::default(), &arena)
        && print.cacheable
    {
        assert_eq!(parsed.param_count as usize, params.len(), "{sql}");
        assert_eq!(parsed.rest, print.rest, "{sql}");
        // Each parameter stands in the tree where its literal stands in the text, with the parentheses around it.
        let shown = format!("{:?}", parsed.statement);
        let text = sql.replace("/* c */", &" ".repeat(7)).replace("/*+ h */", &" ".repeat(8));
        for (i, param) in params.iter().enumerate() {
            let (start, end) = (param.start as usize, param.end as usize);
            let before = text[..start].trim_end_matches(|c: char| c == '(' || c.is_whitespace()).len();
            let begins = (before..=start).filter(|at| text[*at..].starts_with('(') || *at == start);
            let stands = |begin: usize| {
                let node = format!("Expr {{ kind: Param({i}), span: Span {{ start: {begin}, end: ");
                let ends = shown.match_indices(&node).filter_map(|(at, _)| shown[at + node.len()..].split_once(' ')?.0.parse().ok());
                ends.into_iter().any(|to: usize| to >= end && text[end..to].chars().all(|c| c == ')' || c.is_whitespace()))
            };
            assert!(begins.into_iter().any(stands), "{sql}\n{i} at {start}");
        }
        assert!(parse(sql.as_bytes(), SqlMode::default(), &arena).is_ok(), "{sql}");
    }
}

#[test]
fn parser_and_fingerprint_agree_on_the_corpus() {
    for sql in include_str!("corpus/accept.sql").lines() {
        agree(sql);
    }
}

/// If `other` matches the template of `sql`, it has the same fingerprint, and the literals that the fingerprint gives. Says whether it matches.
fn agree_on_template(sql: &str, other: &str, mode: SqlMode) -> bool {
    let (mut params, mut matched) = (Vec::new(), Vec::new());
    let print = fingerprint(sql.as_bytes(), mode, &mut params);
    if !print.cacheable || print.rest != sql.len() {
        return false;
    }
    let Some(template) = Template::new(sql.as_bytes(), &params) else { return false };
    assert!(template.matches(sql.as_bytes(), mode, &mut matched), "{sql}");
    assert_eq!(params, matched, "{sql}");
    if !template.matches(other.as_bytes(), mode, &mut matched) {
        return false;
    }
    let other_print = fingerprint(other.as_bytes(), mode, &mut params);
    assert_eq!((other_print.hash, other_print.cacheable, other_print.rest), (print.hash, true, other.len()), "{sql}\n{other}");
    assert_eq!(params, matched, "{sql}\n{other}");
    true
}

#[test]
fn texts_that_match_a_template() {
    let matches = |sql, other| agree_on_template(sql, other, SqlMode::default());
    let insert = "INSERT INTO t (a, b) VALUES (1, 'x'), (2,'y')";
    assert!(matches(insert, "INSERT INTO t (a, b) VALUES (100, 'it''s'), (0,\"\\\"\")"));
    assert!(!matches(insert, "INSERT INTO t (a, b) VALUES (100, 5), (0,'y')"));
    assert!(!matches(insert, "INSERT INTO t (a, b) VALUES (100, 'x'), (0,'y') "));
    assert!(!matches(insert, "INSERT INTO t (a, b) VALUES (100, 'x'), (0,'y'"));
    assert!(!matches(insert, "insert INTO t (a, b) VALUES (1, 'x'), (2,'y')"));
    assert!(!matches(insert, ""));
    let select = "SELECT 5, c FROM t1 WHERE id = 7 AND d = 1.5 LIMIT 3";
    assert!(matches(select, "SELECT 5, c FROM t1 WHERE id = 12345678901 AND d = 97.5 LIMIT 0"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 7 AND d = 9.75 LIMIT 3"));
    // Stored as they are; elsewhere types are made of the digits behind the point.
    let rows = "INSERT INTO t VALUES (1.5, -1.5), (f(1.5), 1.5 / 7)";
    assert!(matches(rows, "INSERT INTO t VALUES (1.25, -1.125), (f(2.5), 3.5 / 7)"));
    assert!(!matches(rows, "INSERT INTO t VALUES (1.5, -1.5), (f(2.25), 1.5 / 7)"));
    assert!(!matches(rows, "INSERT INTO t VALUES (1.5, -1.5), (f(1.5), 1.25 / 7)"));
    let changes = "INSERT INTO t VALUES (1.5) ON DUPLICATE KEY UPDATE a = 1.5";
    assert!(matches(changes, "INSERT INTO t VALUES (1.25) ON DUPLICATE KEY UPDATE a = 2.5"));
    assert!(!matches(changes, "INSERT INTO t VALUES (1.5) ON DUPLICATE KEY UPDATE a = 1.25"));
    assert!(!matches(select, "SELECT 6, c FROM t1 WHERE id = 7 AND d = 1.5 LIMIT 3"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 7.0 AND d = 1.5 LIMIT 3"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 7e0 AND d = 1.5 LIMIT 3"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 0x7 AND d = 1.5 LIMIT 3"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 7a AND d = 1.5 LIMIT 3"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 9223372036854775808 AND d = 1.5 LIMIT 3"));
    assert!(!matches(select, "SELECT 5, c FROM t1 WHERE id = 7 AND d = .5 LIMIT 3"));
    assert!(matches("SELECT a FROM t /* 1 */ WHERE b=1 -- 2", "SELECT a FROM t /* 1 */ WHERE b=22 -- 2"));
    assert!(!agree_on_template("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = \"x\"", SqlMode::ANSI_QUOTES));
    assert!(agree_on_template("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = 'x\\'", SqlMode::NO_BACKSLASH_ESCAPES));
    let mut params = Vec::new();
    let long = format!("SELECT a FROM t WHERE b = '{}'", "x".repeat(5000));
    assert!(fingerprint(long.as_bytes(), SqlMode::default(), &mut params).cacheable);
    assert_eq!(Template::new(long.as_bytes(), &params), None);
    assert!(fingerprint(b"SELECT a FROM t WHERE b = .5", SqlMode::default(), &mut params).cacheable);
    assert_eq!(Template::new(b"SELECT a FROM t WHERE b = .5", &params), None);
    // Decimals of the same scale, of which one only is lifted there.
    let (point, whole) = ("1.", "99999999999999999999");
    for around in ["SELECT a FROM t WHERE # AND b = 1", "SELECT a FROM t WHERE b = c - INTERVAL # DAY", "SELECT a FROM t WHERE b = #"] {
        let (one, other) = (around.replace('#', point), around.replace('#', whole));
        assert!(!agree_on_template(&one, &other, SqlMode::default()));
        assert!(!agree_on_template(&other, &one, SqlMode::default()));
    }
}

/// Two texts that differ in some literals, or in more.
fn two_texts() -> impl Strategy<Value = (String, String)> {
    let literal = prop::sample::select(vec![
        "1",
        "0",
        "42",
        "9223372036854775808",
        "99999999999999999999",
        "1.5",
        "1.",
        ".5",
        "2e3",
        "2e",
        "7a",
        "0x41",
        "0b1",
        "'x'",
        "''",
        "'it''s'",
        "'a\\'b'",
        "\"q\"",
        "\"\"",
        "'--'",
        "'/*'",
        "x'41'",
        "b'1'",
        "n'x'",
        "N'x'",
        "@v",
        "-1",
        "1'x'",
        "'a' 'b'",
        "t.1",
        "?",
        "e",
        "'",
    ]);
    let fixed = prop::sample::select(vec![
        "SELECT a FROM t WHERE ",
        "INSERT INTO t VALUES (",
        "UPDATE t SET a=",
        " AND b=",
        ",",
        ", ",
        ")",
        "(",
        "=",
        " ",
        "",
        "-",
        "--",
        "-- ",
        "/*",
        "*/",
        "/",
        ".",
        "a",
        "b",
        "x",
        "n",
        "_utf8mb4",
        "e",
        "@",
        "#",
        "\n",
        ";",
        " LIMIT ",
        " ORDER BY ",
        "`",
        "DATE",
        " IN (",
        "->",
        "!",
        "/*+",
        "+",
        "\\",
    ]);
    let part = (fixed, literal.clone(), literal, prop::bool::weighted(0.7));
    prop::collection::vec(part, 1..6).prop_map(|parts| {
        let (mut one, mut other) = (String::from("SELECT a FROM t WHERE c="), String::from("SELECT a FROM t WHERE c="));
        for (fixed, a, b, with_literal) in parts {
            one.push_str(fixed);
            other.push_str(fixed);
            if with_literal {
                one.push_str(a);
                other.push_str(b);
            }
        }
        (one, other)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn parser_and_fingerprint_agree(sql in pieces()) {
        agree(&sql);
        agree(&format!("SELECT a FROM t WHERE {sql}"));
    }

    #[test]
    fn templates_and_fingerprint_agree((one, other) in two_texts(), mode in prop::sample::select(vec![0, SqlMode::ANSI_QUOTES.0, SqlMode::NO_BACKSLASH_ESCAPES.0])) {
        agree_on_template(&one, &other, SqlMode(mode));
        agree_on_template(&other, &one, SqlMode(mode));
    }
}
