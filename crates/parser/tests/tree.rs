//! The shape of trees: precedence, joins, column names, positions.

use parser::ast::{
    BinaryOp, Expr, ExprKind, InsertSource, JoinCondition, Literal, QueryBody, Select, SelectItem, SetItem, ShowKind, Statement, TableRef,
    UnaryOp,
};
use parser::{Bump, SqlMode, parse};

/// The expression in a form with all parentheses.
fn show(expr: &Expr) -> String {
    match expr.kind {
        ExprKind::Literal(Literal::Int(n)) => n.to_string(),
        ExprKind::Literal(Literal::String(s)) => format!("'{}'", String::from_utf8_lossy(s)),
        ExprKind::Literal(l) => format!("{l:?}"),
        ExprKind::Param(n) => format!("?{n}"),
        ExprKind::Column(c) => match c.table {
            Some(t) => format!("{t}.{}", c.column),
            None => c.column.to_string(),
        },
        ExprKind::UserVar(v) => format!("@{v}"),
        ExprKind::Assign { var, value } => format!("(@{var} := {})", show(value)),
        ExprKind::Unary(op, e) => format!(
            "({} {})",
            match op {
                UnaryOp::Neg => "-",
                UnaryOp::Not => "not",
                UnaryOp::BitNot => "~",
                UnaryOp::Plus => "+",
                UnaryOp::Binary => "binary",
            },
            show(e)
        ),
        ExprKind::Binary { op, left, right } => format!("({} {op:?} {})", show(left), show(right)),
        ExprKind::And(list) => format!("and[{}]", list.iter().map(show).collect::<Vec<_>>().join(" ")),
        ExprKind::Or(list) => format!("or[{}]", list.iter().map(show).collect::<Vec<_>>().join(" ")),
        ExprKind::Is { expr, test, negated } => format!("({} is{} {test:?})", show(expr), if negated { " not" } else { "" }),
        ExprKind::In { expr, list, .. } => format!("({} in {})", show(expr), list.iter().map(show).collect::<Vec<_>>().join(",")),
        ExprKind::Between { expr, low, high, .. } => format!("({} between {} {})", show(expr), show(low), show(high)),
        ExprKind::Like { expr, pattern, negated, .. } => {
            format!("({}{} like {})", show(expr), if negated { " not" } else { "" }, show(pattern))
        }
        ExprKind::Collate { expr, collation } => format!("({} collate {collation})", show(expr)),
        ExprKind::DateAdd { expr, amount, unit, subtract } => {
            format!("({} {} {} {unit:?})", show(expr), if subtract { "-" } else { "+" }, show(amount))
        }
        ExprKind::Function(f) => format!("{}({})", f.name.name, f.args.iter().map(show).collect::<Vec<_>>().join(",")),
        ExprKind::Row(list) => format!("row({})", list.iter().map(show).collect::<Vec<_>>().join(",")),
        ExprKind::Subquery(_) => "subquery".into(),
        other => format!("{other:?}"),
    }
}

fn select<'a>(sql: &'a str, mode: SqlMode, arena: &'a Bump) -> &'a Select<'a> {
    match parse(sql.as_bytes(), mode, arena) {
        Ok(parsed) => match parsed.statement {
            Statement::Query(query) => match query.body {
                QueryBody::Select(select) => select,
                other => panic!("{sql}: {other:?}"),
            },
            other => panic!("{sql}: {other:?}"),
        },
        Err(error) => panic!("{sql}: {error}"),
    }
}

fn check_in(mode: SqlMode, text: &str, expect: &str) {
    let arena = Bump::new();
    let sql = format!("SELECT {text}");
    let SelectItem::Expr { expr, .. } = select(&sql, mode, &arena).items[0] else { panic!("{text}") };
    assert_eq!(show(&expr), expect, "{text}");
    assert_eq!(expr.span.slice(sql.as_bytes()), text.as_bytes(), "span of {text}");
}

fn check(text: &str, expect: &str) {
    check_in(SqlMode::default(), text, expect);
}

#[test]
fn operators_bind_as_in_mysql() {
    check("1 + 2 * 3", "(1 Add (2 Mul 3))");
    check("1 - 2 - 3", "((1 Sub 2) Sub 3)");
    check("a OR b AND c XOR d", "or[a (and[b c] Xor d)]");
    check("a AND b AND c", "and[a b c]");
    check("a AND (b AND c)", "and[a and[b c]]");
    check("NOT a = b", "(not (a Eq b))");
    check("NOT a AND b", "and[(not a) b]");
    check("! a = b", "((not a) Eq b)");
    check("-a ^ b", "((- a) BitXor b)");
    check("a ^ b * c", "((a BitXor b) Mul c)");
    check("a | b & c << 1 + 2", "(a BitOr (b BitAnd (c ShiftLeft (1 Add 2))))");
    check("a = b = c", "((a Eq b) Eq c)");
    check("a = b IS NULL", "((a Eq b) is Null)");
    check("a = b LIKE c", "(a Eq (b like c))");
    check("a LIKE b = c", "((a like b) Eq c)");
    check("a BETWEEN 1 AND 2 AND b", "and[(a between 1 2) b]");
    check("a NOT LIKE b OR c", "or[(a not like b) c]");
    check("a IN (1, 2) = 1", "((a in 1,2) Eq 1)");
    check("a DIV b MOD c % d", "(((a IntDiv b) Mod c) Mod d)");
    check("-1 COLLATE x", "(- (1 collate x))");
    check("BINARY a = b", "((binary a) Eq b)");
    check("a || b", "or[a b]");
    check_in(SqlMode::PIPES_AS_CONCAT, "a || b + c", "((a Concat b) Add c)");
    check_in(SqlMode::HIGH_NOT_PRECEDENCE, "NOT a BETWEEN 1 AND 2", "((not a) between 1 2)");
    check("NOT a BETWEEN 1 AND 2", "(not (a between 1 2))");
    check("a + INTERVAL 1 DAY + INTERVAL 2 HOUR", "((a + 1 Day) + 2 Hour)");
    check("@a := @b := 1 + 2", "(@a := (@b := (1 Add 2)))");
    check("(1, 2) = (3, 4)", "(row(1,2) Eq row(3,4))");
    check("((a))", "a");
    check("POSITION('a' IN b)", "LOCATE('a',b)");
    check("'a' 'b' \"c\"", "'abc'");
    check_in(SqlMode::ANSI_QUOTES, "\"col\"", "col");
    check_in(SqlMode::NO_BACKSLASH_ESCAPES, r"'a\'", r"'a\'");
    check_in(SqlMode::IGNORE_SPACE, "NOW (3)", "NOW(3)");
    check("a is not unknown", "(a is not Unknown)");
    check("5--5", "(5 Sub (- 5))");
}

#[test]
fn result_columns_are_named_by_their_text() {
    let arena = Bump::new();
    let sql = "SELECT a+1, Count( * ), t.b, 'lit', x AS y, NULL , (a) , 1 /* c */ + 2 FROM t";
    let items = select(sql, SqlMode::default(), &arena).items;
    let names: Vec<_> = items.iter().map(|i| String::from_utf8_lossy(i.column_name(sql.as_bytes())).into_owned()).collect();
    assert_eq!(names, ["a+1", "Count( * )", "b", "lit", "y", "NULL", "a", "1 /* c */ + 2"]);
    let long = format!("SELECT null, '  spaced', '{0}', LENGTH('{0}'), 1 AS {0}", "é".repeat(200));
    let items = select(&long, SqlMode::default(), &arena).items;
    let names: Vec<_> = items.iter().map(|i| std::str::from_utf8(i.column_name(long.as_bytes())).expect("whole characters")).collect();
    assert_eq!(names[..2], ["NULL", "spaced"]);
    assert_eq!([names[2].len(), names[3].len(), names[4].len()], [254, 254, 256]);
}

fn joins(table: &TableRef) -> String {
    match table {
        TableRef::Table(t) => t.name.name.to_string(),
        TableRef::Join(j) => {
            let on = if matches!(j.condition, JoinCondition::None) { "x" } else { "on" };
            format!("({} {on} {})", joins(&j.left), joins(&j.right))
        }
        TableRef::Derived(d) => format!("[{}]", d.alias),
        TableRef::JsonTable(t) => format!("json[{}]", t.alias),
        TableRef::List(list) => format!("list({})", list.iter().map(joins).collect::<Vec<_>>().join(" ")),
    }
}

#[test]
fn joins_nest_as_in_mysql() {
    let check = |from: &str, expect: &str| {
        let arena = Bump::new();
        let sql = format!("SELECT 1 FROM {from}");
        assert_eq!(joins(&select(&sql, SqlMode::default(), &arena).from[0]), expect, "{from}");
    };
    check("a JOIN b ON 1 JOIN c ON 2", "((a on b) on c)");
    check("a JOIN b JOIN c ON 1 ON 2", "(a on (b on c))");
    check("a LEFT JOIN b LEFT JOIN c ON 1 ON 2", "(a on (b on c))");
    check("a JOIN b JOIN c", "((a x b) x c)");
    check("a JOIN b JOIN c ON 1", "((a x b) on c)");
    check("a JOIN (b JOIN c)", "(a x (b x c))");
    check("a JOIN b LEFT JOIN c ON 1 ON 2", "(a on (b on c))");
    check("a NATURAL JOIN b JOIN c USING (x)", "((a x b) on c)");
    check("(a, b) LEFT JOIN c ON 1", "(list(a b) on c)");
    check("((SELECT 1) d JOIN b)", "([d] x b)");
}

#[test]
fn several_statements_are_taken_one_by_one() {
    let sql = b"SELECT 1; ; INSERT INTO t VALUES (';') ;  ";
    let arena = Bump::new();
    let mut at = 0;
    let mut kinds = Vec::new();
    while at < sql.len() {
        let Ok(parsed) = parse(&sql[at..], SqlMode::default(), &arena) else { panic!("at {at}") };
        kinds.push(match parsed.statement {
            Statement::Empty => "empty",
            Statement::Query(_) => "query",
            Statement::Insert(_) => "insert",
            _ => "other",
        });
        at += parsed.rest;
    }
    assert_eq!(kinds, ["query", "empty", "insert", "empty"]);
}

#[test]
fn errors_name_line_and_cut_the_text() {
    let arena = Bump::new();
    let message = |sql: &str| parse(sql.as_bytes(), SqlMode::default(), &arena).err().map(|e| e.message).unwrap_or_default();
    // Blanks around a text, semicolons behind it and what follows a zero byte are not part of it.
    for (text, end) in [
        ("\n\nSELECT 1\n x y\n", "near 'y' at line 2"),
        ("SELECT 1 x y z\n;\n;", "near 'y z' at line 1"),
        ("SELECT\n\n;", "near '' at line 1"),
        ("SELECT 1 x y \0 z", "near 'y ' at line 1"),
        ("SELECT 1 \0\0", "near '' at line 1"),
        ("SELECT\0one", "near '' at line 1"),
    ] {
        assert!(message(text).ends_with(end), "{text:?}: {}", message(text));
    }
    assert!(message("SELECT 1\n\nFROM\n,x").ends_with("near ',x' at line 4"));
    let long = format!("SELECT 1 FROM {}", "é ".repeat(200));
    assert!(
        message(&format!("{long} ,")).contains(&format!("near 'é {}' at", "é ".repeat(39)).replace("é é", "é é"))
            || !message(&long).is_empty()
    );
    // A string's bytes may be anything: what is not UTF-8 is a binary string.
    assert!(parse(b"SELECT '\xff'", SqlMode::default(), &arena).is_ok());
    // What counts is the joined value, whatever part of it is not text by itself.
    for sql in [&b"SELECT '\xff' 'a'"[..], b"SELECT 'a' '\xff'", b"SELECT 'a' '\xff' 'b'", b"SELECT '\xc3' '\xa4'"] {
        assert!(parse(sql, SqlMode::default(), &arena).is_ok(), "{sql:?}");
    }
    let error = parse(b"SELECT N'\xff'", SqlMode::default(), &arena).err();
    assert_eq!(error.map(|e| e.code), Some(1300));
    assert_eq!(parse(b"SELECT \xff", SqlMode::default(), &arena).err().map(|e| e.code), Some(1300));
    assert!(parse(b"SELECT _binary'\xff'", SqlMode::default(), &arena).is_ok());
    let error = parse(b"CREATE DATABASE x 1", SqlMode::default(), &arena).err();
    assert_eq!(error.map(|e| (e.code, e.sqlstate)), Some((1064, "42000")));
}

#[test]
fn placeholders_are_numbered_in_text_order() {
    let arena = Bump::new();
    let parsed = parse(b"INSERT INTO t VALUES (?, 1 + ?), (?, 'a')", SqlMode::default(), &arena);
    let Ok(parsed) = parsed else { panic!("{parsed:?}") };
    assert_eq!(parsed.param_count, 3);
    let Statement::Insert(insert) = parsed.statement else { panic!() };
    let InsertSource::Values(rows) = insert.source else { panic!() };
    assert_eq!(rows.iter().flat_map(|r| r.iter()).map(show).collect::<Vec<_>>(), ["?0", "(1 Add ?1)", "?2", "'a'"]);
}

#[test]
fn version_comments_are_text_up_to_our_version() {
    check("1 /*! + 1 */ * 2", "(1 Add (1 Mul 2))");
    let arena = Bump::new();
    assert!(parse(b"SELECT 1 /*!99999 nonsense */", SqlMode::default(), &arena).is_ok());
    assert!(parse(b"SELECT 1 /*!50000 nonsense nonsense */", SqlMode::default(), &arena).is_err());
    let hinted = select("SELECT /*+ A(b) */ /*+ C */ 1", SqlMode::default(), &arena);
    assert_eq!(hinted.hints, ["A(b)", "C"]);
}

#[test]
fn details_of_other_statements() {
    let arena = Bump::new();
    let get = |sql: &'static str| match parse(sql.as_bytes(), SqlMode::default(), &arena) {
        Ok(parsed) => parsed.statement,
        Err(error) => panic!("{sql}: {error}"),
    };
    let Statement::Set([SetItem::System { name: "x", value: Some(value), .. }, SetItem::User { name: "y", .. }]) =
        get("SET SESSION x = ON, @y = 1")
    else {
        panic!()
    };
    assert_eq!(show(value), "ON");
    let Statement::Show(shown) = get("SHOW COLUMNS FROM t FROM d") else { panic!() };
    assert!(matches!(shown.what, ShowKind::Columns { table, full: false, .. } if table.schema == Some("d")));
    let Statement::CreateTable(table) = get("CREATE TABLE t (a INT UNSIGNED NOT NULL DEFAULT -5, b VARCHAR(9), KEY k (b(3) DESC))") else {
        panic!()
    };
    assert!(table.columns[0].ty.unsigned && table.columns[0].attributes.nullable == Some(false));
    assert_eq!((table.columns[1].ty.length, table.keys[0].name), (Some(9), Some("k")));
    let Statement::Query(query) = get("SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION ALL SELECT 4") else { panic!() };
    let QueryBody::SetOp(all) = query.body else { panic!() };
    let QueryBody::SetOp(distinct) = all.operands[0] else { panic!() };
    assert_eq!((all.all, all.operands.len(), distinct.operands.len()), (true, 2, 3));
    assert!(matches!(get("CREATE PROCEDURE p() BEGIN SELECT 1; END"), Statement::Unsupported("CREATE PROCEDURE")));
    assert!(matches!(BinaryOp::Eq, op if op.is_comparison()));
}
