//! Time of fingerprint and parse for typical statements: `cargo run --profile fast -p parser --example bench [ROUNDS]`.
//! With few rounds under callgrind it gives instruction counts, which a busy machine does not blur.

use std::hint::black_box;
use std::time::Instant;

use parser::{Bump, SqlMode, fingerprint, parse, parse_parameterised};

const STATEMENTS: &[(&str, &str)] = &[
    ("point select", "SELECT c FROM sbtest1 WHERE id=4993"),
    ("range", "SELECT c FROM sbtest1 WHERE id BETWEEN 4993 AND 5092 ORDER BY c"),
    ("update", "UPDATE sbtest1 SET k=k+1 WHERE id=4993"),
    ("insert", "INSERT INTO sbtest1 (id, k, c, pad) VALUES (4993, 5001, '83868641912-28773972837-60736120486', '67847967377-48000963322')"),
    (
        "tpcc join",
        "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse WHERE w_id = 1 AND c_w_id = w_id AND c_d_id = 3 AND c_id = 1207",
    ),
    ("commit", "COMMIT"),
];

fn time(name: &str, what: &str, mut work: impl FnMut()) {
    let rounds: u32 = std::env::args().nth(1).and_then(|r| r.parse().ok()).unwrap_or(200_000);
    let mut best = f64::MAX;
    for _ in 0..7 {
        let start = Instant::now();
        for _ in 0..rounds {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / f64::from(rounds));
    }
    println!("{name:14} {what:14} {best:7.1} ns");
}

fn main() {
    for (name, sql) in STATEMENTS {
        let sql = sql.as_bytes();
        let mut params = Vec::new();
        time(name, "fingerprint", || {
            black_box(fingerprint(black_box(sql), SqlMode::default(), &mut params));
        });
        let mut arena = Bump::with_capacity(16 << 10);
        time(name, "parse", || {
            arena.reset();
            let _ = black_box(parse(black_box(sql), SqlMode::default(), &arena));
        });
        let mut arena = Bump::with_capacity(16 << 10);
        time(name, "parameterised", || {
            arena.reset();
            let _ = black_box(parse_parameterised(black_box(sql), SqlMode::default(), &arena));
        });
    }
}
