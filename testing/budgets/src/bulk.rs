//! INSERT of 1,000 rows a statement, as `scripts/bulk.py` sends them: what a row costs with ascending keys and with keys in no order, without and with two secondary indexes.

use crate::client::{Client, connect, open};
use crate::window::{Random, count_rows};
use std::cell::RefCell;
use std::path::Path;

/// Rows of a statement.
const MANY: u64 = 1000;
/// Rows that are there before keys in no order come: three levels of primary index, and hundreds of leaves of each secondary one.
const THERE: u64 = 60_000;
/// Statements that are counted.
const TIMES: u64 = 20;
/// Keys in no order are below this.
const KEYS_BITS: u32 = 20;

/// Counts all of them; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (_engine, service) = open(directory);
    let client = RefCell::new(connect(&service));
    client.borrow_mut().run("CREATE DATABASE bulk");
    client.borrow_mut().run("USE bulk");
    for (name, indexes) in [("no_index", ""), ("two_indexes", ", KEY (a), KEY (b, made)")] {
        create(&client, indexes);
        let mut random = Random::new(31);
        let statement = |n| client.borrow_mut().text(&rows(n * MANY, |no| no + 1, &mut random));
        count_rows(&format!("insert_1000_rows_{name}_per_row"), TIMES, MANY, statement, |_| client.borrow_mut().answer());
        client.borrow().succeeded("insert");
        create(&client, indexes);
        let mut random = Random::new(32);
        for first in (0..THERE).step_by(MANY as usize) {
            client.borrow_mut().run(&rows(first, scattered, &mut random));
        }
        let statement = |n| client.borrow_mut().text(&rows(THERE + n * MANY, scattered, &mut random));
        count_rows(&format!("insert_1000_rows_{name}_random_per_row"), TIMES, MANY, statement, |_| client.borrow_mut().answer());
        client.borrow().succeeded("insert");
    }
}

fn create(client: &RefCell<Client>, indexes: &str) {
    client.borrow_mut().run("DROP TABLE IF EXISTS t");
    client.borrow_mut().run(&format!(
        "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, note VARCHAR(60) NOT NULL, \
         amount DECIMAL(12,2) NOT NULL, made DATETIME NOT NULL{indexes})"
    ));
}

/// A statement of the rows from `first` on, whose keys `key` gives.
fn rows(first: u64, key: impl Fn(u64) -> u64, random: &mut Random) -> String {
    let mut row = |no| {
        let (id, a, b) = (key(no), random.below(1 << 30), random.below(1000));
        let (note, whole, cents) = (a * 7919 % 1_000_003, random.below(1_000_000), random.below(100));
        let (month, day, minute) = (b % 12 + 1, a % 28 + 1, b % 60);
        format!("({id},{a},{b},'note {note} of the row {id}',{whole}.{cents:02},'2026-{month:02}-{day:02} 10:{minute:02}:00')")
    };
    let rows: Vec<String> = (first..first + MANY).map(&mut row).collect();
    format!("INSERT INTO t VALUES {}", rows.join(","))
}

/// A number of its own for each below 2^20, in no order: each step can be undone.
fn scattered(no: u64) -> u64 {
    let mask = (1 << KEYS_BITS) - 1;
    let mut key = no & mask;
    for factor in [0x9_E375, 0x5_851F, 0xC_2B2B] {
        key = (key * factor) & mask;
        key ^= key >> (KEYS_BITS / 2);
    }
    key
}
