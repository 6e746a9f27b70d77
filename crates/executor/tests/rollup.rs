//! WITH ROLLUP against the groupings that it stands for, over random rows.

mod support;

use env::SplitMix64 as Random;
use support::Database;
use types::{Collation, ColumnType};

fn rows(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = text.split(", ").filter(|row| !row.is_empty()).map(str::to_owned).collect();
    rows.sort();
    rows
}

fn filled(r: &mut Random, count: u64) -> Database {
    let mut db = Database::new();
    let columns = [
        ("id", ColumnType::int().not_null()),
        ("a", ColumnType::int()),
        ("b", ColumnType::varchar(5, Collation::DEFAULT)),
        ("c", ColumnType::int().not_null()),
        ("v", ColumnType::int()),
    ];
    db.table("t", &columns, &[("PRIMARY", true, &["id"]), ("c", false, &["c", "a"])]);
    for id in 0..count {
        let maybe = |r: &mut Random, text: String| if r.below(6) == 0 { "NULL".to_owned() } else { text };
        let (a, v) = (r.below(4).to_string(), r.below(50).to_string());
        let (a, v) = (maybe(r, a), maybe(r, v));
        let b = format!("'{}'", r.pick(&["x", "X", "y", "", "ä"]));
        let b = maybe(r, b);
        db.change(&format!("INSERT INTO t VALUES ({id}, {a}, {b}, {}, {v})", r.below(3)));
    }
    db
}

#[test]
fn a_rollup_is_the_union_of_its_groupings() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let mut r = Random::new(seed);
    for round in 0..40 {
        let count = r.below(60);
        let mut db = filled(&mut r, count);
        let mut keys = vec!["a", "LOWER(b)", "c", "a + c"];
        let take = 1 + r.below(3) as usize;
        while keys.len() > take {
            let at = r.below(keys.len() as u64) as usize;
            keys.remove(at);
        }
        let sums = "COUNT(*), SUM(v), COUNT(DISTINCT v), MIN(v), AVG(v), GROUP_CONCAT(v ORDER BY id)";
        let filter = r.pick(&["", " WHERE v > 10", " WHERE c = 1", " WHERE id < 0"]);
        let grouping: Vec<String> = keys.iter().map(|key| format!("GROUPING({key})")).collect();
        let rolled =
            db.query(&format!("SELECT {k}, {}, {sums} FROM t{filter} GROUP BY {k} WITH ROLLUP", grouping.join(", "), k = keys.join(", ")));
        let mut expected = Vec::new();
        for kept in (0..=keys.len()).rev() {
            let shown: Vec<&str> = (0..keys.len()).map(|at| if at < kept { keys[at] } else { "NULL" }).collect();
            let bits: Vec<&str> = (0..keys.len()).map(|at| if at < kept { "0" } else { "1" }).collect();
            let group = if kept == 0 { String::new() } else { format!(" GROUP BY {}", keys[..kept].join(", ")) };
            let part = db.query(&format!("SELECT {}, {}, {sums} FROM t{filter}{group}", shown.join(", "), bits.join(", ")));
            expected.extend(rows(&part));
        }
        expected.sort();
        assert_eq!(rows(&rolled), expected, "round {round}, keys {keys:?}{filter}");
    }
}

#[test]
fn closed_groups_hold_no_memory() {
    let mut db = Database::new();
    db.table("t", &[("id", ColumnType::int().not_null()), ("v", ColumnType::int())], &[("PRIMARY", true, &["id"])]);
    for start in (0..6000).step_by(100) {
        let values: Vec<String> = (start..start + 100).map(|id| format!("({id}, {id})")).collect();
        db.change(&format!("INSERT INTO t VALUES {}", values.join(", ")));
    }
    let sql = "SELECT id, MAX(v), COUNT(DISTINCT v DIV 100) FROM t GROUP BY id WITH ROLLUP HAVING id IS NULL";
    // Six thousand groups of 100 bytes and more, one at a time; what the rows take in the sort is less than half of this.
    db.context.memory_max = 900_000;
    assert_eq!(db.query(sql), "NULL|5999|60");
}
