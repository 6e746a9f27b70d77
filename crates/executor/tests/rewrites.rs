//! What the planner makes of conditions: disjunctions that join, IN over groups, as against the same conditions that are only evaluated.
//!
//! `WHERE c` keeps the rows for which `c` is true; in a select list nothing is rewritten, so that the sum of `(c) IS TRUE` counts the same rows.

mod support;

use env::SplitMix64 as Random;
use support::Database;
use types::{Collation, ColumnType};

fn database(r: &mut Random) -> Database {
    let mut db = Database::new();
    let columns = [
        ("id", ColumnType::int().not_null()),
        ("a", ColumnType::int()),
        ("b", ColumnType::int()),
        ("s", ColumnType::varchar(10, Collation::DEFAULT)),
    ];
    for (table, indexes) in
        [("x", &[("PRIMARY", true, &["id"][..]), ("a", false, &["a"][..])][..]), ("y", &[("PRIMARY", true, &["id"][..])][..])]
    {
        db.table(table, &columns, indexes);
        let rows: Vec<String> = (0..60)
            .map(|id| {
                let mut value = |text: bool| match (r.below(8), text) {
                    (0, _) => "NULL".to_owned(),
                    (_, true) => format!("'{}'", r.pick(&["f", "F", "g", "h", "é", "e"])),
                    _ => r.below(6).to_string(),
                };
                format!("({id},{},{},{})", value(false), value(false), value(true))
            })
            .collect();
        db.change(&format!("INSERT INTO {table} VALUES {}", rows.join(",")));
    }
    db
}

/// A comparison; of both tables, or of one.
fn part(r: &mut Random) -> String {
    let t = r.pick(&["x", "y"]);
    match r.below(9) {
        0 | 1 => r.pick(&["x.a = y.a", "x.id = y.b", "x.s = y.s", "x.a > y.b"]).to_owned(),
        2 => format!("{t}.s = '{}'", r.pick(&["f", "G", "e"])),
        3 => format!("{t}.a IN ({}, {})", r.below(6), r.below(6)),
        4 => format!("{t}.b BETWEEN {} AND 4", r.below(4)),
        5 => format!("{t}.s LIKE '{}%'", r.pick(&["f", "g", ""])),
        6 => format!("{t}.a IS {}NULL", r.pick(&["", "NOT "])),
        7 => format!("{t}.b <> {}", r.below(6)),
        _ => format!("{t}.a = {}", r.below(6)),
    }
}

#[test]
fn disjunctions_keep_just_their_rows() {
    let seed = std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(2_718);
    println!("SEED={seed}");
    let mut r = Random::new(seed);
    let mut db = database(&mut r);
    for round in 0..300 {
        let common = part(&mut r);
        let branches: Vec<String> = (0..2 + r.below(3))
            .map(|_| {
                let mut parts: Vec<String> = (0..1 + r.below(3)).map(|_| part(&mut r)).collect();
                if r.below(4) > 0 {
                    parts.insert(r.below(parts.len() as u64 + 1) as usize, common.clone());
                }
                format!("({})", parts.join(" AND "))
            })
            .collect();
        let condition = branches.join(" OR ");
        let kept = format!("SELECT COUNT(*) FROM x, y WHERE {condition}");
        let counted = format!("SELECT SUM(({condition}) IS TRUE) FROM x, y");
        let (kept_rows, counted_rows) = (db.query(&kept), db.query(&counted));
        assert_eq!(kept_rows, counted_rows, "SEED={seed} round {round}: {kept}\n{}", db.explain(&kept));
    }
}

#[test]
fn a_comparison_that_all_branches_share_joins() {
    let mut db = database(&mut Random::new(1));
    let sql = "SELECT COUNT(*) FROM x, y WHERE (x.s = y.s AND x.a = 1 AND y.b = 2) OR (y.b = 3 AND x.s = y.s AND x.a = 2)";
    let tree = db.explain(sql);
    assert!(tree.contains("hash join"), "{tree}");
    let counted = db.query("SELECT SUM((x.s = y.s AND x.a = 1 AND y.b = 2) OR (y.b = 3 AND x.s = y.s AND x.a = 2)) FROM x, y");
    assert_eq!(db.query(sql), counted);
}

#[test]
fn in_over_groups_is_joined_and_finds_the_same() {
    let mut db = database(&mut Random::new(2));
    for (column, group, having) in
        [("a", "a", "COUNT(*) > 8"), ("s", "s", "MAX(b) > 2"), ("a", "a, s", "COUNT(*) > 1"), ("id", "b", "MIN(id) < 5")]
    {
        let set = format!("SELECT {column} FROM y GROUP BY {group} HAVING {having}");
        let set = if column == "id" { set.replace("SELECT id", "SELECT MAX(id)") } else { set };
        let joined = format!("SELECT COUNT(*), SUM(x.id) FROM x WHERE x.{column} IN ({set})");
        let counted = format!("SELECT SUM(f), SUM(f * id) FROM (SELECT x.id, x.{column} IN ({set}) IS TRUE AS f FROM x) t");
        let tree = db.explain(&joined);
        assert!(tree.contains("join"), "{joined}\n{tree}");
        assert_eq!(db.query(&joined), db.query(&counted), "{joined}\n{tree}");
    }
}
