//! Documents in queries: partitions of a table by a condition add up to it; groups, sorts and joins are those that documents compared one by
//! one make.

mod support;

use env::SplitMix64 as Random;
use json::View;
use std::cmp::Ordering;
use support::Database;
use types::{ColumnType, TypeKind};

fn scalar(r: &mut Random) -> String {
    let n = r.below(6) as i64 - 2;
    match r.below(8) {
        0 => "null".into(),
        1 => r.pick(&["true", "false"]).into(),
        2 => format!("{n}.0"),
        3 => format!("{n}.5"),
        4 => format!("\"{}\"", r.pick(&["", "a", "b", "A", "1"])),
        _ => n.to_string(),
    }
}

fn document(r: &mut Random, depth: u32) -> String {
    if depth == 0 || r.below(3) == 0 {
        return scalar(r);
    }
    let object = r.below(2) == 0;
    let parts: Vec<String> = (0..r.below(3))
        .map(|_| {
            let value = document(r, depth - 1);
            if object { format!("\"{}\":{value}", r.pick(&["a", "b", "c"])) } else { value }
        })
        .collect();
    let parts = parts.join(",");
    if object { format!("{{{parts}}}") } else { format!("[{parts}]") }
}

fn operand(r: &mut Random) -> String {
    match r.below(5) {
        0 => format!("j->'$.{}'", r.pick(&["a", "b", "a.b", "*"])),
        1 => format!("j->'$[{}]'", r.pick(&["0", "1", "last", "*"])),
        2 => format!("j->>'$.{}'", r.pick(&["a", "b"])),
        _ => "j".into(),
    }
}

fn condition(r: &mut Random, depth: u32) -> String {
    if depth > 0 && r.below(3) == 0 {
        let op = r.pick(&["AND", "OR"]);
        return format!("({} {op} {})", condition(r, depth - 1), condition(r, depth - 1));
    }
    let (a, b, text) = (operand(r), operand(r), document(r, 1));
    let op = r.pick(&["=", "<", "<=", ">", ">=", "<>"]);
    match r.below(9) {
        0 => format!("{a} IS NULL"),
        1 => format!("{a} {op} {b}"),
        2 => format!("{a} IN ({}, 'a', CAST('{text}' AS JSON))", r.below(3)),
        3 => format!("JSON_CONTAINS(j, '{text}')"),
        4 => format!("{} MEMBER OF (j)", r.below(3)),
        5 => format!("JSON_TYPE({a}) = '{}'", r.pick(&["INTEGER", "OBJECT", "STRING", "DOUBLE"])).replace("j->>", "j->"),
        6 => format!("JSON_LENGTH(j) {op} {}", r.below(3)),
        7 => format!("{a} {op} CAST('{text}' AS JSON)"),
        _ => format!("{a} {op} {}", r.below(4) as i64 - 1),
    }
}

fn compare(a: &str, b: &str) -> Ordering {
    let binary = |text: &str| json::encode(&json::parse(text.as_bytes()).expect("a document")).expect("room");
    let (a, b) = (binary(a), binary(b));
    json::compare(View::new(&a), View::new(&b)).expect("whole documents")
}

#[test]
fn documents_are_filtered_grouped_sorted_and_joined_as_they_compare() {
    let seed = 20_261_121;
    println!("seed {seed}");
    let mut r = Random::new(seed);
    let mut db = Database::new();
    db.table("x", &[("id", ColumnType::int().not_null()), ("j", ColumnType::new(TypeKind::Json))], &[("PRIMARY", true, &["id"])]);
    let mut documents = Vec::new();
    for id in 0..1500 {
        let text = document(&mut r, 3);
        documents.push(text.clone());
        db.change(&format!("INSERT INTO x VALUES ({id}, '{text}')"));
    }
    db.change("INSERT INTO x VALUES (9000, NULL), (9001, NULL)");
    let count = |db: &mut Database, c: &str| -> i64 {
        let sql = format!("SELECT COUNT(*) FROM x WHERE {c}");
        let answer = db.query(&sql);
        answer.trim().parse().unwrap_or_else(|_| panic!("{sql}: {answer}"))
    };
    for round in 0..400 {
        let c = condition(&mut r, 2);
        let parts = [c.clone(), format!("NOT ({c})"), format!("({c}) IS NULL")].map(|part| count(&mut db, &part));
        assert_eq!(parts.iter().sum::<i64>(), 1502, "round {round}: {c} {parts:?}");
        // The optimizer sees no condition here.
        let sum = db.query(&format!("SELECT SUM(({c}) IS TRUE) FROM x"));
        assert_eq!(sum.trim(), parts[0].to_string(), "round {round}: {c}");
    }
    documents.sort_by(|a, b| compare(a, b));
    let groups: Vec<&[String]> = documents.chunk_by(|a, b| compare(a, b).is_eq()).collect();
    assert!(groups.len() > 100 && groups.len() < 1400, "{} groups", groups.len());
    assert_eq!(db.query("SELECT COUNT(DISTINCT j) FROM x").trim(), groups.len().to_string());
    let counts: Vec<String> = groups.iter().map(|group| group.len().to_string()).collect();
    let answer = db.query("SELECT COUNT(*) FROM x WHERE j IS NOT NULL GROUP BY j ORDER BY j");
    assert_eq!(answer.split(", ").collect::<Vec<_>>(), counts);
    let pairs: usize = groups.iter().map(|group| group.len() * group.len()).sum();
    assert_eq!(db.query("SELECT COUNT(*) FROM x p JOIN x q ON p.j = q.j").trim(), pairs.to_string());
    let (_, sorted) = db.execute("SELECT CONCAT(j, '') FROM x WHERE j IS NOT NULL ORDER BY j", &[]).expect("rows");
    assert_eq!(sorted.rows.len(), documents.len());
    for (own, expect) in sorted.rows.iter().zip(&documents) {
        assert!(compare(&own[0], expect).is_eq(), "{own:?} {expect}");
    }
}

/// Few references may name one schema 2^25 times, for whose validation nobody waits who kills the statement.
#[test]
fn a_schema_that_doubles_at_each_reference_can_be_killed() {
    let levels = 25;
    let level = |n: usize| format!(r##""s{n}":{{"allOf":[{{"$ref":"#/s{0}"}},{{"$ref":"#/s{0}"}}]}}"##, n + 1);
    let members: Vec<String> = (0..levels).map(level).collect();
    let schema = format!(r##"{{"$ref":"#/s0",{},"s{levels}":{{"type":"string","pattern":"^a+$"}}}}"##, members.join(","));
    let mut db = Database::new();
    let plan = db.plan(&format!("SELECT JSON_SCHEMA_VALID('{schema}', '\"aaa\"')"), &[]).expect("a plan");
    db.context.looks_left.set(10);
    let result = db.run_plan(&plan, &[]);
    db.context.looks_left.set(u32::MAX);
    assert!(matches!(&result, Err(executor::Error::Sql(e)) if e.code == 1317), "{:?}", result.map(|_| ()));
}
