//! From text to tree, and from values to a reply: what stands around the work of a statement.

use crate::window::{count, count_apart};
use parser::{Bump, SqlMode};
use protocol::{BinaryRow, IntBytes, PacketWriter, RowWriter, TextRow};
use std::cell::RefCell;
use std::hint::black_box;

/// Texts as load tools and applications send them.
const TEXTS: [(&str, &str); 4] = [
    ("point_select", "SELECT c FROM sbtest1 WHERE id=4993"),
    (
        "insert",
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (4993, 5001, \
         '83868641912-28773972837-60736120486-75162659906-27563526494-20381887404-41576422241-93426793964-56405065102-33518432330', \
         '67847967377-48000963322-62604785301-91415491898-96926520291')",
    ),
    (
        "tpcc_join",
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = 1 AND c_w_id = w_id AND c_d_id = 3 AND c_id = 1207",
    ),
    (
        "report",
        "SELECT c.name, COUNT(*) AS orders, SUM(l.quantity * l.price) AS amount FROM customer c JOIN orders o ON o.customer = c.id \
         LEFT JOIN line l ON l.orders = o.id WHERE o.made >= '2026-01-01' AND o.state IN ('paid', 'sent') GROUP BY c.name \
         HAVING amount > 100.00 ORDER BY amount DESC, c.name LIMIT 20",
    ),
];

/// Rows between two clearings of the buffer.
const ROWS: u64 = 100;

/// Counts all.
pub fn run() {
    for (name, sql) in TEXTS {
        let sql = sql.as_bytes();
        let mut params = Vec::new();
        count(&format!("fingerprint_{name}"), 500, |_| {
            black_box(parser::fingerprint(black_box(sql), SqlMode::default(), &mut params));
        });
        let arena = RefCell::new(Bump::with_capacity(64 << 10));
        count_apart(
            &format!("parse_{name}"),
            500,
            |_| arena.borrow_mut().reset(),
            |_| {
                let arena = arena.borrow();
                assert!(black_box(parser::parse(black_box(sql), SqlMode::default(), &arena)).is_ok());
            },
        );
    }
    encode("encode_row_text", |out, n| put(TextRow::begin(out), n));
    encode("encode_row_binary", |out, n| put(BinaryRow::begin(out, 4), n));
}

/// Counts `row`, which appends a row to the packet buffer.
fn encode(name: &str, row: impl Fn(&mut PacketWriter, u64)) {
    let out = RefCell::new(PacketWriter::new());
    let clear = |n| {
        if n % ROWS == 0 {
            out.borrow_mut().clear();
        }
    };
    count_apart(name, 1000, clear, |n| row(&mut out.borrow_mut(), n));
}

/// A row of sysbench's table: two numbers and two strings.
fn put(mut row: impl RowWriter, n: u64) {
    row.int((10_000 + n % ROWS) as i64, IntBytes::Four);
    row.int(black_box(5001), IntBytes::Four);
    row.bytes(black_box(&[b'5'; 119]));
    row.bytes(black_box(&[b'7'; 59]));
    row.end();
}
