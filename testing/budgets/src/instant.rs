//! What reads cost before and after a hundred changes of a table's columns that touched no row: of rows from before them, and of rows written since.

use crate::client::{Client, connect, open};
use crate::window::{Random, count_apart, count_rows};
use std::cell::RefCell;
use std::path::Path;

const ROWS: u64 = 5000;
/// Changes: each second one takes back the one before, so that the table has its columns again, in another order.
const CHANGES: u64 = 100;

/// Counts reads of such a table; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (engine, service) = open(directory);
    let client = RefCell::new(connect(&service));
    let run = |sql: &str| client.borrow_mut().run(sql);
    run("CREATE DATABASE instant");
    run("USE instant");
    run("CREATE TABLE t (id INT NOT NULL PRIMARY KEY, a INT NOT NULL, b VARCHAR(40) NOT NULL, c INT)");
    for first in (1..=ROWS).step_by(100) {
        let rows: Vec<String> = (first..first + 100).map(|id| format!("({id},{id},'text of row {id:05}',{})", id % 7)).collect();
        run(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    }
    reads(&client, "before");
    for n in 0..CHANGES / 2 {
        let place = ["FIRST", "AFTER a", ""][(n % 3) as usize];
        run(&format!("ALTER TABLE t ADD COLUMN x{n} INT DEFAULT {n} {place}, ALGORITHM = INSTANT"));
        run(&format!("ALTER TABLE t DROP COLUMN x{n}, ALGORITHM = INSTANT"));
    }
    reads(&client, "older_rows");
    for first in (1..=ROWS).step_by(100) {
        run(&format!("UPDATE t SET a = a + 1 WHERE id BETWEEN {first} AND {}", first + 99));
    }
    // What is read is settled, as it was before.
    engine.purge_all();
    reads(&client, "new_rows");
}

fn reads(client: &RefCell<Client>, when: &str) {
    let statement = client.borrow_mut().prepare("SELECT b, c FROM t WHERE id=?");
    let mut random = Random::new(21);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart(&format!("instant_select_{when}"), 500, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("select");

    let statement = client.borrow_mut().prepare("SELECT SUM(a), MAX(b), COUNT(c) FROM t WHERE id > ?");
    let execution = |_| client.borrow_mut().execution(statement, &[0], &[]);
    count_rows(&format!("instant_scan_{when}_per_row"), 5, ROWS, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("scan");
}
