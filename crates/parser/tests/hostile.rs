//! Nothing a stranger sends panics or overflows the stack: deep nesting, mutated statements, random bytes, large texts.

mod any_text;

use std::thread;

use parser::{Bump, NESTING_WITH_ROOM_MAX, ROOM_BYTES_MIN, SqlMode, fingerprint, has_room, parse, parse_expression, parse_parameterised};

/// What parsing may take of a connection thread's stack.
const STACK_BYTES: usize = 512 * 1024;

/// Every entry point over `sql`.
fn run(sql: &[u8]) {
    let mut params = Vec::new();
    for mode in [SqlMode::default(), SqlMode(SqlMode::LEXICAL)] {
        let mut arena = Bump::new();
        let _ = parse(sql, mode, &arena);
        arena.reset();
        let _ = parse_parameterised(sql, mode, &arena);
        let _ = fingerprint(sql, mode, &mut params);
    }
}

fn code(sql: &str) -> u16 {
    let arena = Bump::new();
    parse(sql.as_bytes(), SqlMode::default(), &arena).map_or_else(|e| e.code, |_| 0)
}

#[test]
fn nesting_is_bounded_on_a_small_stack() {
    let shapes: &[(&str, &str, &str)] = &[
        ("SELECT ", "(", "1"),
        ("SELECT ", "-", "1"),
        ("SELECT ", "NOT ", "1"),
        ("SELECT ", "! ", "1"),
        ("SELECT ", "f(", "1"),
        ("SELECT ", "COUNT(", "1"),
        ("SELECT ", "CAST(", "1"),
        ("SELECT ", "TRIM(", "1"),
        ("SELECT ", "IF(a, ", "1"),
        ("SELECT ", "CASE WHEN ", "1"),
        ("SELECT ", "CASE ", "1"),
        ("SELECT ", "(SELECT ", "1"),
        ("SELECT ", "EXISTS(SELECT ", "1"),
        ("SELECT ", "a IN (SELECT ", "1"),
        ("SELECT ", "a IN (", "1"),
        ("SELECT ", "a BETWEEN ", "1"),
        ("SELECT ", "a LIKE ", "1"),
        ("SELECT ", "(1, ", "1"),
        ("SELECT ", "@a := ", "1"),
        ("SELECT ", "INTERVAL ", "1"),
        ("SELECT ", "a + INTERVAL ", "1"),
        ("SELECT ", "SUM(a) OVER (ORDER BY ", "1"),
        ("SELECT ", "{fn ", "1"),
        ("SELECT ", "a = ANY (SELECT ", "1"),
        ("SELECT ", "1 + (2 * ", "1"),
        ("SELECT ", "1 + ((2 * ", "1"),
        ("SELECT ", "f((", "1"),
        ("SELECT ", "((-", "1"),
        ("SELECT ", "((SELECT ", "1"),
        ("SELECT * FROM ", "(", "t"),
        ("SELECT * FROM ", "(SELECT * FROM ", "t"),
        ("SELECT * FROM ", "((SELECT * FROM ", "t"),
        ("SELECT * FROM ", "a JOIN (", "t"),
        ("SELECT * FROM ", "{oj ", "t"),
        ("SELECT * FROM JSON_TABLE('', '$' COLUMNS (", "NESTED PATH '$' COLUMNS (", "a INT PATH '$'"),
        ("SELECT * FROM ", "JSON_TABLE((SELECT 1 FROM ", "t"),
        ("", "(", "SELECT 1"),
        ("", "(SELECT 1 UNION ", "SELECT 1"),
        ("", "WITH a AS (", "SELECT 1"),
        ("", "EXPLAIN ", "SELECT 1"),
        ("INSERT INTO t ", "(", "SELECT 1"),
        ("CREATE TABLE t ", "(", "SELECT 1"),
        ("CREATE TABLE t (a INT CHECK (", "(", "1"),
    ];
    let small = thread::Builder::new().stack_size(STACK_BYTES);
    let handle = small.spawn(move || {
        for (head, nest, tail) in shapes {
            for depth in [10, 49, 51, 124, 126, 249, 251, 100_000] {
                let sql = format!("{head}{}{tail}", nest.repeat(depth));
                run(sql.as_bytes());
                if depth == 100_000 {
                    let code = code(&sql);
                    assert!([1436, 1473, 1064].contains(&code), "{nest}: {code}");
                }
            }
        }
        // Long chains of one operator make tall trees without nesting.
        for op in ["=", " XOR ", " COLLATE x IS NULL = ", " LIKE "] {
            let sql = format!("SELECT 1{}", format!("{op}1").repeat(100_000));
            run(sql.as_bytes());
            assert!([1436, 1064].contains(&code(&sql)), "{op}");
        }
        // Those of arithmetic, AND and OR are not walked recursively, however they are put in parentheses.
        for op in ["+", "*", "|", " DIV ", " AND ", " OR ", " && "] {
            let sql = format!("SELECT 1{}", format!("{op}1").repeat(100_000));
            run(sql.as_bytes());
            assert_eq!(code(&sql), 0, "{op}");
            let sql = format!("SELECT {}1{}", "(".repeat(100_000), format!("{op}1)").repeat(100_000));
            run(sql.as_bytes());
            assert_eq!(code(&sql), 0, "{op} in parentheses");
        }
        // Where they alternate the tree grows.
        let sql = format!("SELECT {}1{}", "(".repeat(100_000), " AND 1 OR 1)".repeat(100_000));
        run(sql.as_bytes());
        assert_eq!(code(&sql), 1436);
        // Parentheses at the beginning of parentheses take no level, but rows and set operations in them nest.
        for (inner, outer) in [("1", ", 2)"), ("(SELECT 1)", " UNION SELECT 1)"), ("1", " = 1)")] {
            for (depth, expected) in [(40, 0), (260, 1436), (100_000, 1436)] {
                let sql = format!("SELECT {}{inner}{}", "(".repeat(depth), outer.repeat(depth));
                run(sql.as_bytes());
                assert_eq!(code(&sql), expected, "{inner} {outer} {depth}");
            }
        }
        let sql = format!("SELECT 1 FROM t{}", " JOIN t".repeat(100_000));
        assert_eq!(code(&sql), 1436);
        // AND, OR and lists are flat: long ones are fine.
        assert_eq!(code(&format!("SELECT 1{}", " OR a = 1".repeat(100_000))), 0);
        assert_eq!(code(&format!("SELECT 1 FROM t WHERE a IN (1{})", ", 1".repeat(100_000))), 0);
        assert_eq!(code(&format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(10_000))), 0);
    });
    let joined = handle.map(thread::JoinHandle::join);
    assert!(matches!(joined, Ok(Ok(()))), "{joined:?}");
}

/// On a stack like that which a statement is tried on again that was too deep: `session::statement::deep`.
#[test]
fn nesting_is_bounded_where_there_is_room() {
    let roomy = thread::Builder::new().stack_size(ROOM_BYTES_MIN + NESTING_WITH_ROOM_MAX as usize * 2048);
    let handle = roomy.spawn(|| {
        assert!(has_room());
        for (open, close, levels) in [("f(", ")", 6_000), ("(1+", ")", 2_000), ("(1 OR ", ")", 3_000), ("NOT (", ")", 3_000)] {
            for (levels, expected) in [(levels, 0), (100 * levels, 1436)] {
                assert_eq!(code(&format!("SELECT {}1{}", open.repeat(levels), close.repeat(levels))), expected, "{open} {levels}");
            }
        }
        let arena = Bump::new();
        for (levels, deep) in [(10, false), (240, false), (260, true)] {
            let sql = format!("SELECT {}1{}", "f(".repeat(levels), ")".repeat(levels));
            assert_eq!(parse(sql.as_bytes(), SqlMode::default(), &arena).map(|parsed| parsed.is_deep), Ok(deep), "{levels}");
            // Definitions are read on any stack.
            assert_eq!(parse_expression(&sql.as_bytes()[7..], &arena).is_err(), deep, "{levels}");
        }
    });
    let joined = handle.map(thread::JoinHandle::join);
    assert!(matches!(joined, Ok(Ok(()))), "{joined:?}");
}

#[test]
fn moderate_nesting_is_accepted() {
    assert_eq!(code(&format!("SELECT {}1{}", "f(".repeat(240), ")".repeat(240))), 0);
    assert_eq!(code(&format!("SELECT {}1{}", "(1 OR ".repeat(120), ")".repeat(120))), 0);
    assert_eq!(code(&format!("SELECT {}1{}", "(SELECT ".repeat(45), ")".repeat(45))), 0);
    assert_eq!(code(&format!("SELECT 1{}", " + 1".repeat(100))), 0);
    assert_eq!(code(&format!("SELECT {}1{}", "(".repeat(10_000), ")".repeat(10_000))), 0);
}

/// A small deterministic generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

#[test]
fn mutated_statements_do_not_panic() {
    let seed = std::env::var("PARSER_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(8_675_309);
    println!("replay: PARSER_SEED={seed} cargo test -p parser mutated");
    let mut random = Random(seed);
    let corpus: Vec<&str> = include_str!("corpus/accept.sql").lines().collect();
    for sql in &corpus {
        let tokens = split(sql);
        for i in 0..tokens.len() {
            run(tokens.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, t)| *t).collect::<Vec<_>>().join(" ").as_bytes());
            run(tokens[..i].join(" ").as_bytes());
            let mut doubled = tokens.clone();
            doubled.insert(i, tokens[i]);
            run(doubled.join(" ").as_bytes());
            let mut swapped = tokens.clone();
            swapped.swap(i, random.below(tokens.len()));
            run(swapped.join(" ").as_bytes());
            let mut foreign = tokens.clone();
            let other = split(corpus[random.below(corpus.len())]);
            foreign[i] = other[random.below(other.len())];
            run(foreign.join(" ").as_bytes());
        }
        for at in 0..sql.len() {
            run(&sql.as_bytes()[..at]);
        }
    }
}

/// Rough tokens: words, and single other characters.
fn split(sql: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut word = false;
    for (i, c) in sql.char_indices() {
        let now = c.is_alphanumeric() || matches!(c, '_' | '@' | '$');
        if i > start && !(word && now) {
            tokens.push(sql[start..i].trim());
            start = i;
        }
        word = now;
    }
    tokens.push(sql[start..].trim());
    tokens.retain(|t| !t.is_empty());
    tokens
}

#[test]
fn random_bytes_do_not_panic() {
    let mut random = Random(42);
    let corpus: Vec<&str> = include_str!("corpus/accept.sql").lines().collect();
    for round in 0..20_000 {
        let mut bytes: Vec<u8> = if round % 2 == 0 {
            (0..random.below(60)).map(|_| random.below(256) as u8).collect()
        } else {
            corpus[random.below(corpus.len())].as_bytes().to_vec()
        };
        for _ in 0..random.below(4) {
            let at = random.below(bytes.len());
            if let Some(b) = bytes.get_mut(at) {
                *b = b"'\"`\\/*!+-#@.(),;0xeN_\x00\xff\n "[random.below(25)];
            }
        }
        run(&bytes);
    }
}

/// What a fuzzer once found, or what took it far; see `fuzz/README.md`.
#[test]
fn inputs_of_the_fuzzer_pass_again() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/regressions/sql_text");
    let mut count = 0;
    for entry in std::fs::read_dir(place).expect("the regression inputs") {
        let path = entry.expect("an entry").path();
        println!("input {}", path.display());
        any_text::run(&std::fs::read(path).expect("an input"));
        count += 1;
    }
    assert!(count > 0, "{place} is empty");
}

#[test]
fn large_statements_are_parsed() {
    let row = format!("({}, '{}'),", 1, "x".repeat(1000));
    let sql = format!("INSERT INTO t VALUES {}(1, '')", row.repeat(20_000));
    assert_eq!(code(&sql), 0);
    let sql = format!("SELECT '{}'", "y".repeat(100 << 20));
    assert_eq!(code(&sql), 0);
}
