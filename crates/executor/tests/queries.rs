//! SELECT over tables.

mod support;

use support::Database;
use types::{Collation, ColumnType, TypeKind, Value};

fn int() -> ColumnType {
    ColumnType::int()
}

fn text(n: u32) -> ColumnType {
    ColumnType::varchar(n, Collation::DEFAULT)
}

fn date() -> ColumnType {
    ColumnType::new(TypeKind::Date)
}

/// Departments and employees.
fn company() -> Database {
    let mut db = Database::new();
    db.table("dept", &[("id", int().not_null()), ("name", text(20)), ("city", text(20))], &[("PRIMARY", true, &["id"])]);
    db.table(
        "emp",
        &[
            ("id", int().not_null()),
            ("name", text(20)),
            ("dept", int()),
            ("salary", ColumnType::decimal(10, 2)),
            ("boss", int()),
            ("hired", date()),
        ],
        &[("PRIMARY", true, &["id"]), ("dept", false, &["dept", "salary"]), ("name", true, &["name"])],
    );
    assert_eq!(db.change("INSERT INTO dept VALUES (1,'sales','Rome'),(2,'dev','Oslo'),(3,'empty','Rome')"), 3);
    assert_eq!(
        db.change(
            "INSERT INTO emp VALUES (1,'ann',1,100.50,NULL,'2020-01-01'),(2,'bob',1,200,1,'2020-06-01'),\
             (3,'cid',2,300,1,'2021-01-01'),(4,'dan',2,400,3,'2021-05-05'),(5,'eve',NULL,50,3,'2022-02-02')"
        ),
        5
    );
    db
}

fn check(db: &mut Database, cases: &[(&str, &str)]) {
    let mut failed = String::new();
    for (sql, expect) in cases {
        let got = db.query(sql);
        if got != *expect {
            failed.push_str(&format!("{sql}\n  got      {got}\n  expected {expect}\n{}\n", db.explain(sql)));
        }
    }
    assert!(failed.is_empty(), "\n{failed}");
}

#[test]
fn where_and_ranges() {
    check(
        &mut company(),
        &[
            ("SELECT name FROM emp WHERE id = 3", "cid"),
            ("SELECT name FROM emp WHERE id = '3'", "cid"),
            ("SELECT name FROM emp WHERE id = 3.5", ""),
            ("SELECT name FROM emp WHERE id = NULL", ""),
            ("SELECT name FROM emp WHERE id > 3.5", "dan, eve"),
            ("SELECT name FROM emp WHERE id < 99999999999", "ann, bob, cid, dan, eve"),
            ("SELECT name FROM emp WHERE id BETWEEN 2 AND 4", "bob, cid, dan"),
            ("SELECT name FROM emp WHERE id IN (4,1,4,9)", "ann, dan"),
            ("SELECT name FROM emp WHERE id IN (1,2) OR id = 5", "ann, bob, eve"),
            ("SELECT name FROM emp WHERE id > 1 AND id < 5 AND id <> 3", "bob, dan"),
            ("SELECT id FROM emp WHERE name = 'BOB'", "2"),
            ("SELECT id FROM emp WHERE name LIKE 'c%'", "3"),
            ("SELECT id FROM emp WHERE dept IS NULL", "5"),
            ("SELECT id FROM emp WHERE dept IS NOT NULL ORDER BY id DESC", "4, 3, 2, 1"),
            ("SELECT id FROM emp WHERE dept <=> NULL", "5"),
            ("SELECT id FROM emp WHERE (dept, salary) IN ((1,200),(2,300),(9,9))", "2, 3"),
            ("SELECT id FROM emp WHERE dept = 2 AND salary >= 350", "4"),
            ("SELECT id FROM emp WHERE hired >= '2021-01-01' AND hired < '2022-01-01'", "3, 4"),
            ("SELECT id FROM emp WHERE hired = '2021-01-01 00:00:00'", "3"),
            ("SELECT id FROM emp WHERE 1 = 0", ""),
            ("SELECT id FROM emp WHERE salary > (SELECT AVG(salary) FROM emp)", "3, 4"),
            ("SELECT id FROM emp WHERE id + 0 = 2", "2"),
            ("SELECT id FROM emp ORDER BY id LIMIT 2", "1, 2"),
            ("SELECT id FROM emp ORDER BY id LIMIT 1, 2", "2, 3"),
            ("SELECT id FROM emp ORDER BY salary DESC LIMIT 2", "4, 3"),
            ("SELECT id FROM emp ORDER BY dept, id DESC", "5, 2, 1, 4, 3"),
            ("SELECT id FROM emp LIMIT 0", ""),
            ("SELECT name n, salary*2 AS s FROM emp WHERE id < 3 ORDER BY s DESC", "bob|400.00, ann|201.00"),
            ("SELECT e.* FROM emp e WHERE e.id = 5", "5|eve|NULL|50.00|3|2022-02-02"),
            ("SELECT DISTINCT dept FROM emp ORDER BY dept", "NULL, 1, 2"),
            ("SELECT id FROM emp WHERE id = 2 FOR UPDATE", "2"),
            ("SELECT id FROM emp FORCE INDEX (name) WHERE id = 2", "2"),
            ("SELECT id FROM emp ORDER BY 1 DESC LIMIT 1", "5"),
        ],
    );
}

#[test]
fn joins() {
    check(
        &mut company(),
        &[
            ("SELECT e.name, d.name FROM emp e JOIN dept d ON e.dept = d.id ORDER BY e.id", "ann|sales, bob|sales, cid|dev, dan|dev"),
            ("SELECT e.name, d.name FROM emp e LEFT JOIN dept d ON e.dept = d.id WHERE e.id > 3 ORDER BY e.id", "dan|dev, eve|NULL"),
            (
                "SELECT d.name, e.name FROM emp e RIGHT JOIN dept d ON e.dept = d.id ORDER BY d.id, e.id",
                "sales|ann, sales|bob, dev|cid, dev|dan, empty|NULL",
            ),
            ("SELECT d.id FROM dept d LEFT JOIN emp e ON e.dept = d.id WHERE e.id IS NULL", "3"),
            ("SELECT e.name, b.name FROM emp e, emp b WHERE e.boss = b.id ORDER BY e.id", "bob|ann, cid|ann, dan|cid, eve|cid"),
            ("SELECT COUNT(*) FROM emp a, emp b", "25"),
            ("SELECT COUNT(*) FROM emp JOIN dept USING (id)", "3"),
            ("SELECT id, city FROM emp NATURAL JOIN dept ORDER BY id", ""),
            ("SELECT a.id FROM emp a JOIN emp b ON a.salary = b.salary ORDER BY a.id", "1, 2, 3, 4, 5"),
            (
                "SELECT e.id, d.id FROM dept d LEFT JOIN (emp e JOIN emp b ON e.boss = b.id) ON e.dept = d.id ORDER BY d.id, e.id",
                "2|1, 3|2, 4|2, NULL|3",
            ),
            ("SELECT e.id FROM emp e LEFT JOIN dept d ON e.dept = d.id AND d.city = 'Oslo' WHERE d.id IS NULL ORDER BY e.id", "1, 2, 5"),
            ("SELECT e.id FROM emp e LEFT JOIN dept d ON e.dept = d.id WHERE d.city = 'Oslo' ORDER BY e.id", "3, 4"),
        ],
    );
}

#[test]
fn groups() {
    check(
        &mut company(),
        &[
            (
                "SELECT COUNT(*), COUNT(dept), SUM(salary), AVG(salary), MIN(name), MAX(hired) FROM emp",
                "5|4|1050.50|210.100000|ann|2022-02-02",
            ),
            ("SELECT COUNT(*), SUM(salary), MAX(id) FROM emp WHERE id > 100", "0|NULL|NULL"),
            ("SELECT dept, COUNT(*), SUM(salary) FROM emp GROUP BY dept ORDER BY dept", "NULL|1|50.00, 1|2|300.50, 2|2|700.00"),
            ("SELECT dept, COUNT(*) c FROM emp GROUP BY dept HAVING c > 1 ORDER BY dept", "1|2, 2|2"),
            ("SELECT YEAR(hired) y, COUNT(*) FROM emp GROUP BY YEAR(hired) ORDER BY y", "2020|2, 2021|2, 2022|1"),
            ("SELECT YEAR(hired) y, COUNT(*) FROM emp GROUP BY y ORDER BY COUNT(*), y", "2022|1, 2020|2, 2021|2"),
            ("SELECT COUNT(DISTINCT dept) FROM emp", "2"),
            ("SELECT SUM(DISTINCT dept) FROM emp", "3"),
            (
                "SELECT dept, GROUP_CONCAT(name ORDER BY name DESC SEPARATOR '/') FROM emp WHERE dept > 0 GROUP BY dept ORDER BY 1",
                "1|bob/ann, 2|dan/cid",
            ),
            (
                "SELECT d.name, SUM(e.salary) FROM emp e JOIN dept d ON d.id = e.dept GROUP BY d.id ORDER BY d.id",
                "sales|300.50, dev|700.00",
            ),
            ("SELECT MIN(id), MAX(id) FROM emp", "1|5"),
            ("SELECT MAX(id) FROM emp", "5"),
            ("SELECT MIN(salary) FROM emp WHERE dept = 2", "300.00"),
            ("SELECT MIN(dept) FROM emp", "1"),
            ("SELECT STDDEV_POP(id), VAR_SAMP(id) FROM emp", "1.4142135623730951|2.5"),
            ("SELECT BIT_OR(id), BIT_AND(id), BIT_XOR(id) FROM emp", "7|0|1"),
            ("SELECT SUM(id)/COUNT(*) FROM emp", "3.0000"),
            ("SELECT DISTINCT dept IS NULL FROM emp ORDER BY 1", "0, 1"),
            ("SELECT COUNT(*) FROM (SELECT dept FROM emp GROUP BY dept) t", "3"),
            (
                "SELECT dept, name FROM emp GROUP BY dept",
                "ERROR 1055 (42000): Expression #2 of SELECT list is not in GROUP BY clause and contains nonaggregated column 'test.emp.name' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by",
            ),
            (
                "SELECT name, COUNT(*) FROM emp",
                "ERROR 1140 (42000): In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated column 'test.emp.name'; this is incompatible with sql_mode=only_full_group_by",
            ),
            ("SELECT id FROM emp WHERE SUM(id) > 1", "ERROR 1111 (HY000): Invalid use of group function"),
        ],
    );
}

#[test]
fn subqueries() {
    check(
        &mut company(),
        &[
            ("SELECT name FROM emp WHERE dept IN (SELECT id FROM dept WHERE city = 'Oslo') ORDER BY id", "cid, dan"),
            ("SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp WHERE dept IS NOT NULL)", "empty"),
            ("SELECT name FROM dept WHERE id NOT IN (SELECT dept FROM emp)", ""),
            ("SELECT name FROM dept d WHERE EXISTS (SELECT 1 FROM emp e WHERE e.dept = d.id AND e.salary > 250)", "dev"),
            ("SELECT name FROM dept d WHERE NOT EXISTS (SELECT * FROM emp e WHERE e.dept = d.id)", "empty"),
            ("SELECT name FROM emp e WHERE salary = (SELECT MAX(salary) FROM emp x WHERE x.dept = e.dept) ORDER BY id", "bob, dan"),
            ("SELECT id, (SELECT COUNT(*) FROM emp x WHERE x.boss = e.id) FROM emp e ORDER BY id", "1|2, 2|0, 3|2, 4|0, 5|0"),
            ("SELECT id, (SELECT name FROM dept WHERE dept.id = emp.dept) FROM emp ORDER BY id", "1|sales, 2|sales, 3|dev, 4|dev, 5|NULL"),
            ("SELECT (SELECT id FROM emp)", "ERROR 1242 (21000): Subquery returns more than 1 row"),
            ("SELECT id FROM emp WHERE salary > ALL (SELECT salary FROM emp WHERE dept = 1) ORDER BY id", "3, 4"),
            ("SELECT id FROM emp WHERE salary < ANY (SELECT salary FROM emp WHERE dept = 1) ORDER BY id", "1, 5"),
            ("SELECT t.d, t.c FROM (SELECT dept d, COUNT(*) c FROM emp GROUP BY dept) t WHERE t.c > 1 ORDER BY t.d", "1|2, 2|2"),
            (
                "SELECT e.name, t.m FROM emp e JOIN (SELECT dept, MAX(salary) m FROM emp GROUP BY dept) t ON t.dept = e.dept ORDER BY e.id",
                "ann|200.00, bob|200.00, cid|400.00, dan|400.00",
            ),
            ("SELECT 1 UNION SELECT 2 UNION SELECT 1 ORDER BY 1 DESC", "2, 1"),
            ("SELECT 1 UNION ALL SELECT 1.5", "1.0, 1.5"),
            ("SELECT id FROM dept EXCEPT SELECT dept FROM emp", "3"),
            ("SELECT id FROM dept INTERSECT SELECT dept FROM emp ORDER BY 1", "1, 2"),
            ("(SELECT id FROM dept ORDER BY id DESC LIMIT 1) UNION (SELECT 9) ORDER BY 1", "3, 9"),
            (
                "WITH t AS (SELECT dept, SUM(salary) s FROM emp GROUP BY dept) SELECT a.s FROM t a JOIN t b ON a.dept = b.dept ORDER BY 1",
                "300.50, 700.00",
            ),
            ("WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT SUM(i) FROM n", "15"),
            (
                "WITH RECURSIVE c AS (SELECT id, name FROM emp WHERE boss IS NULL UNION ALL SELECT e.id, e.name FROM c JOIN emp e ON e.boss = c.id) SELECT COUNT(*) FROM c",
                "5",
            ),
            ("SELECT * FROM (VALUES ROW(1,'a'), ROW(2,'b')) v ORDER BY 1 DESC", "2|b, 1|a"),
            ("SELECT COUNT(*) FROM dept d WHERE (SELECT SUM(salary) FROM emp WHERE emp.dept = d.id) > 400", "1"),
            ("SELECT id FROM dept d WHERE 2 = (SELECT COUNT(*) FROM emp e WHERE e.dept + 0 = d.id) ORDER BY id", "1, 2"),
            ("SELECT id FROM dept d WHERE 0 = (SELECT COUNT(*) FROM emp e WHERE e.dept + 0 = d.id) ORDER BY id", "3"),
        ],
    );
}

#[test]
fn name_errors() {
    check(
        &mut company(),
        &[
            ("SELECT id FROM emp, dept", "ERROR 1052 (23000): Column 'id' in field list is ambiguous"),
            ("SELECT nope FROM emp", "ERROR 1054 (42S22): Unknown column 'nope' in 'field list'"),
            ("SELECT id FROM emp WHERE nope = 1", "ERROR 1054 (42S22): Unknown column 'nope' in 'where clause'"),
            ("SELECT id FROM emp ORDER BY nope", "ERROR 1054 (42S22): Unknown column 'nope' in 'order clause'"),
            ("SELECT id FROM nope", "ERROR 1146 (42S02): Table 'test.nope' doesn't exist"),
            ("SELECT 1 FROM emp, emp", "ERROR 1066 (42000): Not unique table/alias: 'emp'"),
            ("SELECT x.* FROM emp", "ERROR 1051 (42S02): Unknown table 'x'"),
            ("SELECT id FROM emp WHERE (1,2) = 3", "ERROR 1241 (21000): Operand should contain 2 column(s)"),
            ("SELECT id FROM emp WHERE id IN (SELECT id, name FROM emp)", "ERROR 1241 (21000): Operand should contain 1 column(s)"),
            ("SELECT 1 UNION SELECT 1, 2", "ERROR 1222 (21000): The used SELECT statements have a different number of columns"),
        ],
    );
}

#[test]
fn parameters_serve_all_values() {
    let mut db = company();
    let plan = db.plan("SELECT name FROM emp WHERE id = ?", &[]).expect("a plan");
    let mut run = |v: Value| {
        let (_, rows) = db.run_plan(&plan, std::slice::from_ref(&v)).expect("rows");
        rows.rows.iter().map(|r| r.join("|")).collect::<Vec<_>>().join(",")
    };
    assert_eq!(run(Value::Int(2)), "bob");
    assert_eq!(run(Value::Int(20)), "");
    assert_eq!(run(Value::from("3")), "cid");
    assert_eq!(run(Value::Null), "");
    assert_eq!(run(Value::Double(4.0)), "dan");
    assert_eq!(run(Value::UInt(u64::MAX)), "");
    // A parameter without a known type is shown as text.
    let plan = db.plan("SELECT ?, NULL", &[]).expect("a plan");
    assert_eq!(plan.columns[0].ty.kind, TypeKind::VarChar);
    let (_, rows) = db.run_plan(&plan, &[Value::Int(5)]).expect("rows");
    assert_eq!(rows.rows, [["5", "NULL"]]);
}

#[test]
fn plans_have_the_expected_shape() {
    let mut db = company();
    // Enough rows that an index is worth it.
    let rows: Vec<String> = (10..400).map(|i| format!("({i},'n{i}',{},{i},1,'2020-01-01')", i % 7)).collect();
    db.change(&format!("INSERT INTO emp VALUES {}", rows.join(",")));
    let check = |sql: &str, expect: &[&str]| {
        let tree = db.explain(sql);
        for e in expect {
            assert!(tree.contains(e), "{sql}: no `{e}` in\n{tree}");
        }
    };
    check("SELECT * FROM emp WHERE id = 3", &["Single-row index lookup on emp using PRIMARY"]);
    check("SELECT * FROM emp WHERE id BETWEEN 3 AND 5", &["Index range scan on emp using PRIMARY"]);
    check("SELECT * FROM emp WHERE name = 'ann'", &["Single-row index lookup on emp using name"]);
    check("SELECT * FROM emp WHERE (dept, salary) IN ((1,200),(2,300))", &["Index range scan on emp using dept"]);
    check("SELECT * FROM emp WHERE salary = 5", &["Table scan on emp"]);
    check("SELECT e.id FROM emp e JOIN dept d ON e.dept = d.id WHERE d.id = 3", &["Nested loop inner join"]);
    check("SELECT COUNT(*) FROM emp a JOIN emp b ON a.salary = b.salary", &["hash join"]);
    check(
        "SELECT name FROM emp WHERE id IN (SELECT id FROM dept WHERE city = 'Oslo')",
        &["Nested loop inner join", "Single-row index lookup on emp"],
    );
    check("SELECT MAX(id) FROM emp", &["Limit"]);
    check("SELECT * FROM emp ORDER BY id DESC LIMIT 3", &["Limit", "Table scan"]);
    check("SELECT COUNT(*) FROM dept d WHERE 5 < (SELECT COUNT(*) FROM emp e WHERE e.boss = d.id)", &["grouped lookup on 1 keys"]);
    let plan = db.plan("SELECT name FROM emp WHERE id = ?", &[]).expect("a plan");
    assert!(matches!(plan.short, Some(planner::short::ShortPlan::PointGet(_))));
    let plan = db.plan("SELECT name FROM emp WHERE id BETWEEN ? AND ?", &[]).expect("a plan");
    assert!(matches!(plan.short, Some(planner::short::ShortPlan::Range(_))));
    let plan = db.plan("SELECT name FROM emp WHERE id IN (1,2)", &[]).expect("a plan");
    assert!(matches!(plan.short, Some(planner::short::ShortPlan::MultiPointGet(_))));
    let plan = db.plan("UPDATE emp SET salary = salary + 1 WHERE id = ?", &[]).expect("a plan");
    assert!(matches!(plan.short, Some(planner::short::ShortPlan::PointUpdate(_))));
    let plan = db.plan("DELETE FROM emp WHERE id = ?", &[]).expect("a plan");
    assert!(matches!(plan.short, Some(planner::short::ShortPlan::PointDelete(_))));
}

/// What finds a row by its key with a LIMIT, as applications write it, is as short; a LIMIT that keeps the row out is seen.
#[test]
fn short_points_answer_as_the_operators_do_whatever_their_limit() {
    let mut db = company();
    let others = "SELECT * FROM emp WHERE id <> 1 ORDER BY id";
    let before = db.query(others);
    let numbers = |given: &[i64]| given.iter().copied().map(Value::Int).collect::<Vec<_>>();
    for (limit, given) in [("LIMIT 1", &[][..]), ("LIMIT ?", &[1]), ("LIMIT ?", &[0]), ("LIMIT ?, ?", &[0, 5]), ("LIMIT ?, ?", &[1, 5])] {
        for shape in ["SELECT name, id FROM emp WHERE id = ?", "SELECT name FROM emp WHERE id = ? ORDER BY id"] {
            for (lock, id) in ["", " FOR UPDATE", " FOR SHARE"].into_iter().flat_map(|lock| [(lock, 1), (lock, 999)]) {
                let sql = format!("{shape} {limit}{lock}");
                let mut plan = db.plan(&sql, &[]).expect("a plan");
                assert!(matches!(plan.short, Some(planner::short::ShortPlan::PointGet(_))), "{sql}: {}", db.explain(&sql));
                let params = numbers(&[&[id], given].concat());
                let by_short = db.run_plan(&plan, &params).expect("rows");
                plan.short = None;
                let by_operators = db.run_plan(&plan, &params).expect("rows");
                assert_eq!((by_short.0, &by_short.1.rows), (by_operators.0, &by_operators.1.rows), "{sql} {params:?}");
                assert_eq!(by_short.1.rows.len() == 1, id == 1 && matches!(given, [] | [1] | [0, 5]), "{sql} {params:?}");
            }
        }
    }
    for (sql, given, changes) in [
        ("UPDATE emp SET salary = salary + 1 WHERE id = ? LIMIT 1", &[1][..], 1),
        ("UPDATE emp SET salary = salary + 1 WHERE id = ? LIMIT ?", &[1, 0], 0),
        ("UPDATE emp SET salary = salary + 1 WHERE id = ? LIMIT ?", &[999, 2], 0),
        ("DELETE FROM emp WHERE id = ? LIMIT ?", &[1, 0], 0),
        ("DELETE FROM emp WHERE id = ? LIMIT 1", &[1], 1),
    ] {
        let plan = db.plan(sql, &[]).expect("a plan");
        assert!(format!("{:?}", plan.short).starts_with("Some(Point"), "{sql}: {:?}", plan.short);
        let (outcome, _) = db.run_plan(&plan, &numbers(given)).expect("a change");
        assert!(matches!(outcome, executor::Outcome::Changes(c) if c.affected == changes), "{sql} {given:?}");
    }
    assert_eq!(db.query(others), before, "nothing else has changed");
    assert_eq!(db.query("SELECT id FROM emp WHERE id = 1"), "");
}

/// A row that is locked or changed by a unique key other than the primary, or has to pass a condition: by the short way in one database and by the operators in another, whose rows stay the same.
#[test]
fn short_points_by_any_key_and_condition_do_as_the_operators_do() {
    let [mut short, mut long] = [(); 2].map(|()| {
        let mut db = company();
        let columns = [("id", int().not_null()), ("email", text(60).not_null()), ("bank", int()), ("no", int()), ("v", int().not_null()), ("at", date())];
        db.table("account", &columns, &[("PRIMARY", true, &["id"]), ("email", true, &["email"]), ("own", true, &["bank", "no"]), ("v", false, &["v"])]);
        db.change("INSERT INTO account VALUES (1,'Ann@x',1,1,10,'2020-01-01'),(2,'bob@x',1,2,20,NULL),(3,'çem@x',NULL,2,30,NULL),(4,'',2,NULL,40,NULL),(5,'dan@x',2,-1,50,NULL)");
        db
    });
    let string = |s: &str| Value::Bytes(s.as_bytes().to_vec().into());
    let number = Value::Int;
    let mut done = 0;
    for (sql, given) in [
        ("SELECT * FROM account WHERE email = ? FOR UPDATE", vec![string("ANN@X")]),
        ("SELECT v, email FROM account WHERE email = ? LIMIT 1 FOR SHARE", vec![string("cem@x")]),
        ("SELECT v FROM account WHERE email = ? FOR UPDATE", vec![string("nobody")]),
        ("SELECT v FROM account WHERE email = ? FOR UPDATE", vec![Value::Null]),
        ("SELECT v FROM account WHERE bank = ? AND no = ? FOR UPDATE", vec![number(1), number(2)]),
        ("SELECT v FROM account WHERE bank = ? AND no = ? FOR UPDATE", vec![number(2), Value::Null]),
        ("SELECT v FROM account WHERE no = ? AND bank = ? FOR SHARE SKIP LOCKED", vec![number(-1), number(2)]),
        ("SELECT v FROM account WHERE bank = ? AND no = ? FOR UPDATE NOWAIT", vec![string("1"), number(2)]),
        ("UPDATE account SET v = v + 1 WHERE email = ?", vec![string("bob@x")]),
        ("UPDATE account SET v = v + 1 WHERE email = ?", vec![string("nobody")]),
        ("UPDATE account SET v = v WHERE email = ? LIMIT 1", vec![string("bob@x")]),
        ("UPDATE account SET v = 7, bank = 3 WHERE email = ?", vec![string("çem@x")]),
        ("UPDATE account SET at = ? WHERE bank = ? AND no = ?", vec![string("2021-02-03"), number(2), number(-1)]),
        ("UPDATE account SET email = ? WHERE bank = ? AND no = ?", vec![string("bob@x"), number(2), number(-1)]),
        ("UPDATE account SET email = ? WHERE bank = ? AND no = ?", vec![string("eve@x"), number(2), number(-1)]),
        ("UPDATE account SET v = 0 WHERE email = ?", vec![string("dan@x")]),
        ("UPDATE account SET v = v / 0 WHERE email = ?", vec![string("eve@x")]),
        ("SELECT email FROM account WHERE id = ? AND at IS NULL", vec![number(2)]),
        ("SELECT email, v FROM account WHERE id = ? AND at IS NULL AND v > ? LIMIT 1", vec![number(2), number(2)]),
        ("SELECT email, v FROM account WHERE id = ? AND at IS NULL AND v > ?", vec![number(2), number(21)]),
        ("SELECT email FROM account WHERE id = ? AND at IS NULL LIMIT ? OFFSET ?", vec![number(2), number(1), number(1)]),
        ("SELECT id FROM account WHERE email = ? AND (at = ? OR no < 0)", vec![string("ANN@x"), string("2020-01-01")]),
        ("SELECT id FROM account WHERE email = ? AND bank <> 1 FOR UPDATE", vec![string("ann@x")]),
        ("SELECT id FROM account WHERE bank = ? AND no = ? AND email LIKE '%b%' FOR SHARE", vec![number(1), number(2)]),
        ("SELECT id FROM account WHERE id = ? AND email + 0 = 0", vec![number(2)]),
        ("SELECT id FROM account WHERE id = ? AND bank = no", vec![Value::Null]),
        ("SELECT id FROM account WHERE id = ? AND 1 / v > 0 AND JSON_VALID(email)", vec![number(2)]),
        ("SELECT id FROM account WHERE id = ? AND JSON_EXTRACT(email, '$') = 1", vec![number(2)]),
        ("UPDATE account SET v = v + 1 WHERE id = ? AND v = ?", vec![number(2), number(21)]),
        ("UPDATE account SET v = v + 1 WHERE id = ? AND v = ?", vec![number(2), number(21)]),
        ("UPDATE account SET v = v + 1 WHERE email = ? AND bank = 1 AND at IS NULL", vec![string("bob@x")]),
        ("UPDATE account SET v = 0, no = v WHERE email = ? AND v > ? LIMIT 1", vec![string("bob@x"), number(99)]),
        ("UPDATE account SET v = 5 WHERE id = ? AND JSON_EXTRACT(email, '$') = 1", vec![number(2)]),
        ("UPDATE account SET v = 5 WHERE id = ? AND email = 7", vec![number(2)]),
        ("DELETE FROM account WHERE id = ? AND v < 0", vec![number(2)]),
        ("DELETE FROM account WHERE id = ? AND JSON_EXTRACT(email, '$') = 1", vec![number(2)]),
        ("DELETE FROM account WHERE id = ? AND email = ''", vec![number(4)]),
        ("DELETE FROM account WHERE email = ?", vec![string("nobody")]),
        ("DELETE FROM account WHERE email = ? LIMIT 1", vec![string("ANN@x")]),
        ("SELECT v FROM account WHERE email = ? FOR UPDATE", vec![string("ann@x")]),
        ("DELETE FROM account WHERE bank = ? AND no = ?", vec![number(1), number(2)]),
    ] {
        let plan = short.plan(sql, &[]).expect("a plan");
        assert!(format!("{:?}", plan.short).starts_with("Some(Point"), "{sql}: {:?}", plan.short);
        let mut by_operators = long.plan(sql, &[]).expect("a plan");
        by_operators.short = None;
        let [by_short, by_operators] = [short.run_plan(&plan, &given), long.run_plan(&by_operators, &given)]
            .map(|ran| ran.map(|(outcome, rows)| (outcome, rows.rows)).map_err(|error| error.to_string()));
        assert_eq!(by_short, by_operators, "{sql} {given:?}");
        done += usize::from(matches!(by_short, Ok((executor::Outcome::Changes(c), _)) if c.affected == 1));
        let all = "SELECT * FROM account ORDER BY id";
        assert_eq!(short.query(all), long.query(all), "{sql} {given:?}");
        assert_eq!(
            short.query("SELECT id FROM account ORDER BY v, id"),
            long.query("SELECT id FROM account ORDER BY v, id"),
            "{sql} {given:?}"
        );
    }
    assert_eq!(done, 9, "changes that were made");
    // What the row is found by moves, or is not all of a key: these are none.
    for sql in [
        "UPDATE account SET email = 'x' WHERE email = ?",
        "UPDATE account SET v = 1 WHERE bank = ?",
        "SELECT v FROM account WHERE bank = ? AND no <=> ? FOR UPDATE",
        "SELECT v FROM account WHERE id = ? AND v > RAND()",
        "DELETE FROM account WHERE id = ? AND v > (SELECT 1)",
        "SELECT v FROM account WHERE id = ? AND (@n := v) > 1",
    ] {
        let plan = short.plan(sql, &[]).expect("a plan");
        assert!(!format!("{:?}", plan.short).starts_with("Some(Point"), "{sql}: {:?}", plan.short);
    }
}

#[test]
fn short_range_plans_answer_as_the_operators_do() {
    let mut db = company();
    let names = ["abcdefgh-one", "ABCDEFGH-two", "abcdefgh-ONE", "éa", "ea", "", "-", "zz", "zzzzzzzzzzzzzzzzzz"];
    let rows: Vec<String> = (10..400)
        .map(|i| {
            let city = if i % 11 == 0 { "NULL".to_owned() } else { format!("'{}'", names[i % names.len()]) };
            format!("({i},'n{}',{city})", i % 50)
        })
        .collect();
    db.change(&format!("INSERT INTO dept VALUES {}", rows.join(",")));
    let rows: Vec<String> = (10..400).map(|i| format!("({i},'n{i}',{},{}.5,1,'2020-01-{}')", i % 7, i * 37 % 101, i % 28 + 1)).collect();
    db.change(&format!("INSERT INTO emp VALUES {}", rows.join(",")));
    db.change("INSERT INTO emp VALUES (400,'n400',NULL,1,1,NULL),(401,'n401',3,NULL,1,NULL),(402,'n402',6,NULL,1,NULL)");
    db.table("nobody", &[("id", int().not_null()), ("name", text(20))], &[("PRIMARY", true, &["id"])]);
    let sorted = |sql: &str| (sql.to_owned(), "SortedRange");
    let plain = |sql: &str| (sql.to_owned(), "Range(");
    let sums = |sql: &str| (sql.to_owned(), "RangeAggregate");
    // The planner reads the whole table backwards here, although the range of the same index can never cost more.
    let any = |sql: &str| (sql.to_owned(), "");
    let cases = [
        sorted("SELECT DISTINCT city FROM dept WHERE id BETWEEN 10 AND 300 ORDER BY city"),
        sorted("SELECT DISTINCT city FROM dept WHERE id BETWEEN 10 AND 300 ORDER BY city DESC LIMIT 2, 3"),
        sorted("SELECT city, id FROM dept WHERE id BETWEEN 10 AND 300 ORDER BY city, id DESC"),
        sorted("SELECT name, city FROM dept WHERE id > 20 AND id < 30 ORDER BY name"),
        sorted("SELECT DISTINCT name, city FROM dept WHERE id BETWEEN 10 AND 300 ORDER BY city DESC, name"),
        sorted("SELECT id FROM emp WHERE id < 300 ORDER BY salary DESC, id LIMIT 20"),
        sorted("SELECT id FROM emp WHERE dept = 3 ORDER BY hired, id"),
        plain("SELECT id, name FROM emp WHERE id BETWEEN 20 AND 200 LIMIT 5, 7"),
        plain("SELECT id FROM emp WHERE dept = 3 AND salary > 20 ORDER BY salary DESC LIMIT 4"),
        any("SELECT id FROM emp WHERE id < 100 ORDER BY id DESC LIMIT 3"),
        any("SELECT id FROM emp WHERE id < 100 ORDER BY id DESC LIMIT 3 FOR UPDATE"),
        plain("SELECT id FROM emp WHERE id < 100 LIMIT 0"),
        plain("SELECT * FROM emp ORDER BY id DESC LIMIT 1"),
        plain("SELECT name, id FROM emp ORDER BY id LIMIT 0"),
        plain("SELECT id FROM emp LIMIT 3, 5"),
        plain("SELECT id, dept FROM emp ORDER BY id LIMIT 1001"),
        plain("SELECT id, name FROM emp ORDER BY id DESC LIMIT 390, 10"),
        plain("SELECT id FROM emp ORDER BY id DESC LIMIT 400, 10"),
        plain("SELECT id, dept, salary FROM emp ORDER BY dept DESC, salary DESC, id DESC LIMIT 20, 30"),
        plain("SELECT id FROM emp WHERE dept = 3 ORDER BY salary DESC, id DESC LIMIT 4"),
        plain("SELECT id, hired FROM emp ORDER BY dept, salary, id LIMIT 12"),
        plain("SELECT name FROM nobody ORDER BY id DESC LIMIT 1"),
        sums("SELECT MAX(id) FROM emp"),
        sums("SELECT MIN(id) + 1 FROM emp"),
        sums("SELECT MAX(salary) FROM emp WHERE dept = 3"),
        sums("SELECT MIN(salary) FROM emp WHERE dept = 77"),
        sums("SELECT MIN(dept) FROM emp"),
        sums("SELECT MAX(id), MAX(id) FROM nobody"),
        plain("SELECT id FROM emp WHERE dept IS NOT NULL ORDER BY dept, salary LIMIT 3"),
        plain("SELECT id FROM emp WHERE dept = 6 AND salary IS NOT NULL ORDER BY salary DESC LIMIT 3"),
        sums("SELECT SUM(id), COUNT(*), MIN(name), MAX(salary), AVG(salary), COUNT(boss), BIT_XOR(id) FROM emp WHERE id BETWEEN 2 AND 300"),
        sums("SELECT SUM(id) + 1, COUNT(*) FROM emp WHERE id BETWEEN 1000 AND 2000"),
        sums("SELECT SUM(salary), COUNT(id) FROM emp WHERE dept = 4 AND salary BETWEEN 3 AND 80"),
    ];
    for (sql, shape) in &cases {
        let mut plan = db.plan(sql, &[]).expect("a plan");
        let short = format!("{:?}", plan.short);
        assert!(short.contains(shape), "{sql}: {short}\n{}", db.explain(sql));
        let by_short = db.run_plan(&plan, &[]).expect("rows");
        plan.short = None;
        let by_operators = db.run_plan(&plan, &[]).expect("rows");
        assert_eq!(by_short.1.rows, by_operators.1.rows, "{sql}");
        assert_eq!(by_short.0, by_operators.0, "{sql}");
    }
    // A parameter that does not fit the key exactly goes the ordinary way.
    let plan = db.plan("SELECT COUNT(*) FROM emp WHERE id BETWEEN ? AND ?", &[]).expect("a plan");
    let (_, rows) = db.run_plan(&plan, &[Value::from("12x"), Value::from("15")]).expect("rows");
    assert_eq!(rows.rows, [["4"]]);
}

/// A row by a unique key, as people log in, and the rows of a key that many have: whatever the values are, and the limits.
#[test]
fn lookups_answer_as_the_operators_do() {
    let mut db = company();
    let rows: Vec<String> = (10..400).map(|i| format!("({i},'n{i}',{},{}.50,1,NULL)", if i < 200 { 7 } else { i % 60 }, i % 3)).collect();
    db.change(&format!("INSERT INTO emp VALUES {}", rows.join(",")));
    db.change("UPDATE emp SET name = 'other', dept = 8 WHERE id = 12");
    let numbers = |given: &[i64]| given.iter().copied().map(Value::Int).collect::<Vec<_>>();
    let long = Value::from("x".repeat(5000).as_str());
    let names =
        [Value::from("ann"), "ANN".into(), "n12".into(), "other".into(), "".into(), "nobody".into(), long, Value::Null, Value::Int(3)];
    let depts = [
        numbers(&[7, 8, 59, 1, 99, i64::MAX, i64::MIN]),
        vec![Value::Null, "7".into(), "7x".into(), Value::UInt(u64::MAX), Value::Double(7.0), Value::Double(7.5)],
    ]
    .concat();
    let by_dept_and_salary =
        [numbers(&[7, 1]), vec![Value::Int(7), Value::Null], vec![Value::Int(7), "1.5".into()], vec![Value::Int(7), "1.505".into()]];
    let one = |values: &[Value]| values.iter().map(|value| vec![value.clone()]).collect::<Vec<_>>();
    for (shape, lists) in [
        ("SELECT id, salary FROM emp WHERE name = ?", one(&names)),
        ("SELECT name, id FROM emp WHERE name = ?", one(&names)),
        ("SELECT COUNT(*), MAX(hired) FROM emp WHERE name = ?", one(&names)),
        ("SELECT * FROM emp WHERE dept = ?", one(&depts)),
        ("SELECT id, salary FROM emp WHERE dept = ?", one(&depts)),
        ("SELECT COUNT(*), SUM(salary), MIN(id) FROM emp WHERE dept = ?", one(&depts)),
        ("SELECT name FROM emp WHERE dept = ? ORDER BY name", one(&depts)),
        ("SELECT id, name FROM emp WHERE dept = ? AND salary = ?", by_dept_and_salary.to_vec()),
    ] {
        for limit in ["", " LIMIT 1", " LIMIT 0", " LIMIT 1, 2", " LIMIT 150, 10", " LIMIT 500, 10"] {
            let sql = format!("{shape}{limit}");
            let mut plan = db.plan(&sql, &[]).expect("a plan");
            let is_lookup = format!("{:?}", plan.short).contains("key: Some(WantedKey");
            assert!(is_lookup || shape.contains("COUNT") && !limit.is_empty() || limit == " LIMIT 0", "{sql}: {:?}", plan.short);
            let by_short: Vec<_> = lists.iter().map(|params| db.run_plan(&plan, params).expect("rows")).collect();
            plan.short = None;
            for (params, by_short) in lists.iter().zip(by_short) {
                let by_operators = db.run_plan(&plan, params).expect("rows");
                assert_eq!((by_short.0, by_short.1.rows), (by_operators.0, by_operators.1.rows), "{sql} {params:?}");
            }
        }
    }
    check(
        &mut db,
        &[
            ("SELECT id FROM emp WHERE name = 'OTHER' LIMIT 1", "12"),
            ("SELECT id FROM emp WHERE name = 'n12' LIMIT 1", ""),
            ("SELECT COUNT(*) FROM emp WHERE dept = 7", "192"),
            ("SELECT id FROM emp WHERE dept = 7 AND salary = 1.5 LIMIT 60, 2", "190, 193"),
        ],
    );
}

/// An hour after 00:30 UTC the clocks of Berlin show half past two once more.
#[test]
fn instants_that_clocks_show_alike_are_two() {
    let mut db = Database::new();
    let instant = ColumnType::new(TypeKind::Timestamp);
    let columns = [("id", int().not_null()), ("ts", instant), ("at", ColumnType::new(TypeKind::DateTime))];
    db.table("y", &columns, &[("PRIMARY", true, &["id"])]);
    db.table("z", &columns, &[("PRIMARY", true, &["id"]), ("ts", false, &["ts"])]);
    for table in ["y", "z"] {
        let rows = "(1,'2024-10-27 00:30:00','2024-10-27 02:30:00'),(2,'2024-10-27 01:30:00','2024-10-27 02:30:00')";
        assert_eq!(db.change(&format!("INSERT INTO {table} VALUES {rows}")), 2);
    }
    db.context.zone = types::TimeZone::parse("Europe/Berlin").expect("a zone");
    check(
        &mut db,
        &[
            ("SELECT a.id, b.id, a.ts = b.ts FROM y a, y b ORDER BY 1, 2", "1|1|1, 1|2|0, 2|1|0, 2|2|1"),
            ("SELECT a.id, b.id FROM y a JOIN y b ON a.ts = b.ts ORDER BY 1, 2", "1|1, 2|2"),
            ("SELECT a.id, b.id FROM y a JOIN z b ON a.ts = b.ts ORDER BY 1, 2", "1|1, 2|2"),
            ("SELECT a.id, b.id FROM y a JOIN y b ON a.ts = b.ts WHERE a.ts = '2024-10-27 02:30:00' ORDER BY 1, 2", "1|1, 2|2"),
            (
                "SELECT a.id, b.id FROM z a JOIN z b ON a.ts = b.ts \
                 WHERE a.ts = '2024-10-27 02:30:00' AND b.ts = '2024-10-27 02:30:00' ORDER BY 1, 2",
                "1|1, 2|2",
            ),
            ("SELECT a.id, b.id FROM y a LEFT JOIN y b ON a.ts = b.ts WHERE a.ts = '2024-10-27 02:30:00' ORDER BY 1, 2", "1|1, 2|2"),
            ("SELECT id FROM y WHERE ts IN (SELECT ts FROM z WHERE id = 1)", "1"),
            ("SELECT id, (SELECT COUNT(*) FROM y b WHERE b.ts = a.ts) FROM y a ORDER BY 1", "1|1, 2|1"),
            // Beside a date they are what clocks show.
            ("SELECT id FROM z WHERE at IN (SELECT ts FROM y) ORDER BY 1", "1, 2"),
            ("SELECT id FROM z WHERE ts IN (SELECT at FROM y) ORDER BY 1", "1, 2"),
            ("SELECT id, (SELECT COUNT(*) FROM y b WHERE b.ts = a.at) FROM y a ORDER BY 1", "1|2, 2|2"),
        ],
    );
}
