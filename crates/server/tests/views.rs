//! A view answers as its text does where its name stands: queries over views, and the same with the views' queries in their place.

use harness::Server;
use mysql::prelude::Queryable;
use mysql::{Conn, Row};

/// A generator of numbers that its seed repeats.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A view: its name, its query. Each has the columns `id`, `a`, `s`.
struct View {
    name: String,
    query: String,
}

fn condition(dice: &mut Dice, of: &str) -> String {
    match dice.below(6) {
        0 => format!("{of}.a > {}", dice.below(40)),
        1 => format!("{of}.id % {} = 0", 1 + dice.below(4)),
        2 => format!("{of}.s IS NOT NULL"),
        3 => format!("{of}.id IN (SELECT t_id FROM u WHERE w > {})", dice.below(60)),
        4 => format!("NOT EXISTS (SELECT 1 FROM u WHERE u.t_id = {of}.id AND u.w < {})", dice.below(60)),
        _ => format!("{of}.a BETWEEN {} AND {} OR {of}.s = 's3'", dice.below(20), 20 + dice.below(20)),
    }
}

fn source(dice: &mut Dice, views: &[View]) -> String {
    match dice.below(views.len() + 1) {
        0 => "t".into(),
        n => views[n - 1].name.clone(),
    }
}

/// A view over tables and the views before it.
fn view(dice: &mut Dice, no: usize, views: &[View]) -> View {
    let (x, y) = (source(dice, views), source(dice, views));
    let condition = condition(dice, "x");
    let item = dice.one(&["x.a", "x.a + 1", "COALESCE(x.a, 7)", "x.id * 2"]);
    let text = dice.one(&["x.s", "CONCAT(x.s, '!')", "'fixed'", "IFNULL(x.s, 'none')"]);
    let query = match dice.below(6) {
        0 => format!("SELECT x.id AS id, MAX({item}) AS a, MIN({text}) AS s FROM {x} AS x WHERE {condition} GROUP BY x.id"),
        1 => format!("SELECT x.id AS id, {item} AS a, y.s AS s FROM {x} AS x JOIN {y} AS y ON y.id = x.id WHERE {condition}"),
        2 => format!("SELECT x.id AS id, {item} AS a, y.s AS s FROM {x} AS x LEFT JOIN {y} AS y ON y.id = x.id + 1 WHERE {condition}"),
        3 => format!("SELECT DISTINCT x.id AS id, {item} AS a, {text} AS s FROM {x} AS x WHERE {condition}"),
        _ => format!("SELECT x.id AS id, {item} AS a, {text} AS s FROM {x} AS x WHERE {condition}"),
    };
    View { name: format!("v{no}"), query }
}

/// The text with every view's query in place of its name.
fn substituted(text: &str, views: &[View]) -> String {
    let mut text = text.to_owned();
    for view in views.iter().rev() {
        let named = format!("{} AS ", view.name);
        text = text.replace(&named, &format!("({}) AS ", view.query));
    }
    text
}

fn query(dice: &mut Dice, views: &[View]) -> String {
    let (x, y) = (source(dice, views), source(dice, views));
    let (first, second) = (condition(dice, "x"), condition(dice, "y"));
    match dice.below(8) {
        0 => format!("SELECT x.id, x.a, x.s FROM {x} AS x WHERE x.id = {}", dice.below(30)),
        1 => format!("SELECT x.id, x.a, y.s FROM {x} AS x JOIN {y} AS y ON y.id = x.id WHERE {first}"),
        2 => format!("SELECT x.id, y.id, y.a, y.s FROM {x} AS x LEFT JOIN {y} AS y ON y.id = x.id AND ({second}) WHERE {first}"),
        3 => format!("SELECT y.id, x.id, x.a, x.s FROM {x} AS x RIGHT JOIN {y} AS y ON y.id = x.a"),
        4 => format!("SELECT x.a, COUNT(*), MIN(x.s) FROM {x} AS x WHERE {first} GROUP BY x.a HAVING COUNT(*) > 0"),
        5 => format!("SELECT y.id, y.s FROM {y} AS y WHERE y.id IN (SELECT x.id FROM {x} AS x WHERE {first})"),
        6 => format!("SELECT y.id, (SELECT COUNT(*) FROM {x} AS x WHERE x.id < y.id AND ({first})) FROM {y} AS y"),
        _ => format!("SELECT x.id, x.s FROM {x} AS x WHERE {first} UNION SELECT y.id, y.s FROM {y} AS y WHERE {second}"),
    }
}

fn answer(connection: &mut Conn, text: &str) -> Vec<String> {
    let rows: Vec<Row> = connection.query(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let mut rows: Vec<String> = rows.into_iter().map(|row| format!("{:?}", row.unwrap())).collect();
    rows.sort_unstable();
    rows
}

fn tables(connection: &mut Conn, dice: &mut Dice) {
    for text in [
        // Texts of the statement and of the tables are of one collation, so that UNION mixes them.
        "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci",
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, s VARCHAR(10), KEY (a))",
        "CREATE TABLE u (id INT PRIMARY KEY AUTO_INCREMENT, t_id INT NOT NULL, w INT, KEY (t_id))",
    ] {
        connection.query_drop(text).expect("a table");
    }
    for id in 0..30 {
        let a = if dice.below(5) == 0 { "NULL".into() } else { dice.below(40).to_string() };
        let s = if dice.below(5) == 0 { "NULL".into() } else { format!("'s{}'", dice.below(6)) };
        connection.query_drop(format!("INSERT INTO t VALUES ({id}, {a}, {s})")).expect("a row");
        connection.query_drop(format!("INSERT INTO u (t_id, w) VALUES ({}, {})", dice.below(35), dice.below(70))).expect("a row");
    }
}

#[test]
fn a_view_answers_as_its_query_in_its_place() {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_121);
    println!("SEED={seed}");
    let mut dice = Dice(seed);
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut connection = server.connect();
    tables(&mut connection, &mut dice);
    let mut some = 0;
    for round in 0..25 {
        let mut views: Vec<View> = Vec::new();
        for no in 0..6 {
            let view = view(&mut dice, no, &views);
            connection.query_drop(format!("CREATE OR REPLACE VIEW {} AS {}", view.name, view.query)).expect("a view");
            views.push(view);
        }
        for _ in 0..20 {
            let text = query(&mut dice, &views);
            let by_hand = substituted(&text, &views);
            let (of_view, of_text) = (answer(&mut connection, &text), answer(&mut connection, &by_hand));
            assert_eq!(of_view, of_text, "SEED={seed}, round {round}\n{text}\n{by_hand}");
            some += usize::from(!of_text.is_empty());
        }
        for no in (0..6).rev() {
            connection.query_drop(format!("DROP VIEW v{no}")).expect("the view is there");
        }
    }
    assert!(some > 200, "{some} queries had rows");
}
