//! The same question asked of an indexed table and of a copy without indexes gets the same answer.

mod support;

use env::SplitMix64 as Random;
use support::Database;
use types::{Collation, ColumnType, TypeKind};

fn value(r: &mut Random, column: &str) -> String {
    let n = r.below(12) as i64 - 2;
    match column {
        "s" => format!("'{}{}'", r.pick(&["a", "b", "B", "c", "ä"]), r.pick(&["", "x", "y%", " "])),
        "d" => format!("'2024-01-{:02}'", r.below(20) + 1),
        "m" => format!("{}.{}", n, r.pick(&["0", "5", "25"])),
        _ if r.below(12) == 0 => "NULL".into(),
        _ if r.below(12) == 0 => format!("{n}.5"),
        _ if r.below(12) == 0 => format!("'{n}'"),
        _ => n.to_string(),
    }
}

fn condition(r: &mut Random, depth: u32) -> String {
    if depth > 0 && r.below(3) == 0 {
        let op = r.pick(&["AND", "OR", "AND"]);
        return format!("({} {op} {})", condition(r, depth - 1), condition(r, depth - 1));
    }
    let column = r.pick(&["id", "a", "b", "s", "d", "m", "a", "b"]);
    match r.below(9) {
        0 => format!("{column} BETWEEN {} AND {}", value(r, column), value(r, column)),
        1 => format!("{column} IN ({}, {}, {})", value(r, column), value(r, column), value(r, column)),
        2 => format!("{column} IS {}NULL", r.pick(&["", "NOT "])),
        3 => format!("s LIKE '{}'", r.pick(&["a%", "b_", "%x", "B%", "ay\\\\%"])),
        4 => format!("(a, b) IN (({}, {}), ({}, {}))", value(r, "a"), value(r, "b"), value(r, "a"), value(r, "b")),
        5 => format!("{column} <=> {}", value(r, column)),
        _ => format!("{column} {} {}", r.pick(&["=", "=", "<", "<=", ">", ">=", "<>"]), value(r, column)),
    }
}

#[test]
fn indexes_do_not_change_answers() {
    let seed = 20_240_506;
    println!("seed {seed}");
    let mut r = Random::new(seed);
    let mut db = Database::new();
    let columns = [
        ("id", ColumnType::int().not_null()),
        ("a", ColumnType::int()),
        ("b", ColumnType::bigint().unsigned()),
        ("s", ColumnType::varchar(10, Collation::DEFAULT)),
        ("d", ColumnType::new(TypeKind::Date)),
        ("m", ColumnType::decimal(8, 2)),
    ];
    let indexes: [(&str, bool, &[&str]); 6] = [
        ("PRIMARY", true, &["id"]),
        ("a", false, &["a", "b"]),
        ("b", false, &["b"]),
        ("s", false, &["s", "a"]),
        ("d", false, &["d"]),
        ("m", false, &["m", "id"]),
    ];
    db.table("x", &columns, &indexes);
    db.table("y", &columns, &[]);
    let null = |r: &mut Random, v: String| if r.below(8) == 0 { "NULL".to_owned() } else { v };
    for id in 0..120 {
        let (a, b) = (r.below(10) as i64 - 2, r.below(9));
        let (s, d, m) = (value(&mut r, "s"), value(&mut r, "d"), value(&mut r, "m"));
        let row =
            [id.to_string(), null(&mut r, a.to_string()), null(&mut r, b.to_string()), null(&mut r, s), null(&mut r, d), null(&mut r, m)];
        for t in ["x", "y"] {
            db.change(&format!("INSERT INTO {t} VALUES ({})", row.join(",")));
        }
    }
    for round in 0..600 {
        let c = condition(&mut r, 2);
        let order = r.pick(&["id", "a, id", "s, id", "b DESC, id", "m DESC, id DESC", "d, id"]);
        let limit = r.pick(&["", "", " LIMIT 7", " LIMIT 3, 5"]);
        let ask = |t: &str| format!("SELECT id, a, b, s FROM {t} WHERE {c} ORDER BY {order}{limit}");
        let (x, y) = (db.query(&ask("x")), db.query(&ask("y")));
        assert_eq!(x, y, "round {round}: {}\n{}", ask("x"), db.explain(&ask("x")));
        let join = |t: &str, u: &str| {
            format!(
                "SELECT COUNT(*), SUM(p.id), SUM(q.id) FROM {t} p LEFT JOIN {u} q ON p.a = q.b AND q.id < 40 WHERE p.id IN (SELECT a FROM {t} WHERE {c})"
            )
        };
        if round % 5 == 0 {
            let (x, y) = (db.query(&join("x", "x")), db.query(&join("y", "y")));
            assert_eq!(x, y, "round {round}: {}\n{}", join("x", "x"), db.explain(&join("x", "x")));
            let aggregate = |t: &str| format!("SELECT a, COUNT(*), COUNT(s), MAX(m) FROM {t} WHERE {c} GROUP BY a ORDER BY a");
            assert_eq!(db.query(&aggregate("x")), db.query(&aggregate("y")), "round {round}: {}", aggregate("x"));
            let extreme = |t: &str| format!("SELECT MAX(b) FROM {t} WHERE {c}");
            assert_eq!(db.query(&extreme("x")), db.query(&extreme("y")), "round {round}: {}\n{}", extreme("x"), db.explain(&extreme("x")));
            let least = |t: &str| format!("SELECT MIN(a) FROM {t} WHERE {c}");
            assert_eq!(db.query(&least("x")), db.query(&least("y")), "round {round}: {}\n{}", least("x"), db.explain(&least("x")));
        }
    }
}
