//! Statements that make rows: plain ones, those whose rows refer to others, and those that may find a row in their place.

use crate::client::{Client, Param};
use crate::statements::{ROWS, purged, text};
use crate::window::{Random, count_apart, count_rows};
use engine::Engine;
use std::cell::RefCell;
use std::sync::Arc;

/// Rows of a statement of many.
const MANY: u64 = 100;
/// Rows that are referred to, and rows that are in the place of others.
const PLACES: u64 = 1000;

/// Counts them all, in the database that is chosen, beside `sbtest1`.
pub fn run(client: &RefCell<Client>, engine: &Arc<Engine>) {
    plain(client, engine);
    referring(client, engine);
    met(client, engine);
}

/// New rows with one secondary index, behind those that are there.
fn plain(client: &RefCell<Client>, engine: &Arc<Engine>) {
    let mut random = Random::new(15);
    let mut row = move |id| format!("({id},{:05},'{}','{}')", random.below(ROWS) + 1, text(&mut random, 10), text(&mut random, 5));
    let insert = |n| client.borrow_mut().text(&format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {}", row(2 * ROWS + n)));
    count_apart("insert_text", 1000, purged(engine, insert), |_| client.borrow_mut().answer());
    client.borrow().succeeded("insert");

    let many = |n| {
        let rows: Vec<String> = (0..MANY).map(|at| row(3 * ROWS + n * MANY + at)).collect();
        client.borrow_mut().text(&format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {}", rows.join(",")));
    };
    count_rows("insert_of_100_per_row_text", 40, MANY, purged(engine, many), |_| client.borrow_mut().answer());
    client.borrow().succeeded("insert");

    let marks = vec!["(?,?,?,?)"; MANY as usize].join(",");
    let statement = client.borrow_mut().prepare(&format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {marks}"));
    let mut random = Random::new(16);
    let many = |n| {
        let texts: Vec<(String, String)> = (0..MANY).map(|_| (text(&mut random, 10), text(&mut random, 5))).collect();
        let mut params = Vec::new();
        for (id, (c, pad)) in (4 * ROWS + n * MANY..).zip(&texts) {
            params.extend([Param::Int(id), Param::Int(random.below(ROWS) + 1), Param::Text(c), Param::Text(pad)]);
        }
        client.borrow_mut().execution_of(statement, &params);
    };
    count_rows("insert_of_100_per_row_prepared", 40, MANY, purged(engine, many), |_| client.borrow_mut().answer());
    client.borrow().succeeded("insert");
}

/// A row that refers to two others, as an order's line does, beside the same without foreign keys.
fn referring(client: &RefCell<Client>, engine: &Arc<Engine>) {
    {
        let mut client = client.borrow_mut();
        for parent in ["orders", "products"] {
            client.run(&format!("CREATE TABLE {parent} (id INT NOT NULL PRIMARY KEY, name VARCHAR(100) NOT NULL)"));
            let rows: Vec<String> = (0..PLACES).map(|n| format!("({n},'Name {n:05}')")).collect();
            client.run(&format!("INSERT INTO {parent} VALUES {}", rows.join(",")));
        }
        let columns = "id INT NOT NULL PRIMARY KEY, order_id INT NOT NULL, product_id INT NOT NULL, amount INT NOT NULL, KEY (order_id), KEY (product_id)";
        client.run(&format!("CREATE TABLE parts ({columns})"));
        client.run(&format!(
            "CREATE TABLE order_lines ({columns}, FOREIGN KEY (order_id) REFERENCES orders (id), FOREIGN KEY (product_id) REFERENCES products (id))"
        ));
    }
    for (name, table) in [("insert_unreferring_prepared", "parts"), ("insert_referring_prepared", "order_lines")] {
        let statement = client.borrow_mut().prepare(&format!("INSERT INTO {table} (id, order_id, product_id, amount) VALUES (?,?,?,?)"));
        let mut random = Random::new(30);
        let execution = |n| {
            let (order, product) = (random.below(PLACES) as u32, random.below(PLACES) as u32);
            client.borrow_mut().execution(statement, &[n as u32, order, product, 1], &[]);
        };
        count_apart(name, 1000, purged(engine, execution), |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
}

/// A row whose key one has already, as a counter's, or has not.
fn met(client: &RefCell<Client>, engine: &Arc<Engine>) {
    let create = "CREATE TABLE counters (id INT NOT NULL PRIMARY KEY, hits INT NOT NULL, name VARCHAR(100) NOT NULL DEFAULT 'none yet')";
    client.borrow_mut().run(create);
    let rows: Vec<String> = (0..PLACES).map(|n| format!("({n},1)")).collect();
    client.borrow_mut().run(&format!("INSERT INTO counters (id, hits) VALUES {}", rows.join(",")));
    let upsert = "INSERT INTO counters (id, hits) VALUES (?,1) ON DUPLICATE KEY UPDATE hits=hits+1";
    for (name, sql, first, keys) in [
        ("upsert_met_prepared", upsert, 0, PLACES),
        ("upsert_new_prepared", upsert, PLACES, u64::MAX),
        ("insert_ignore_met_prepared", "INSERT IGNORE INTO counters (id, hits) VALUES (?,1)", 0, PLACES),
        ("replace_met_prepared", "REPLACE INTO counters (id, hits) VALUES (?,2)", 0, PLACES),
    ] {
        let statement = client.borrow_mut().prepare(sql);
        let execution = |n: u64| client.borrow_mut().execution(statement, &[(first + n * 7 % keys) as u32], &[]);
        count_apart(name, 1000, purged(engine, execution), |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
}
