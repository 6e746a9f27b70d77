//! What a restart after a crash does again for each transaction that wrote: sysbench's four writes, redone by one thread.

use crate::client::{Param, connect, open_with};
use crate::window::{Random, budget_done, budget_window};
use engine::{Engine, EngineConfig};
use env::{Disk, RealClock, RealDisk};
use std::path::Path;
use std::sync::Arc;

const ROWS: u64 = 20_000;
/// Many, so that what an engine costs that finds nothing to redo is a small part.
const TRANSACTIONS: u64 = 4000;

/// Counts it; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (live, crashed) = (directory.join("live"), directory.join("crashed"));
    load(&live);
    write(&live);
    // The process that has written ends here as if it were killed: nothing of it is written after its last commit.
    copy(&live, &crashed);
    let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&crashed).expect("a directory"));
    let (config, mut opened) = (config(), None);
    budget_window(&mut || {
        opened = Some(Engine::open(Arc::clone(&disk), Arc::new(RealClock::new()), config.clone()).expect("a recovered engine"))
    });
    budget_done("redo_per_transaction", TRANSACTIONS);
}

fn config() -> EngineConfig {
    let mut config = EngineConfig::default();
    config.pool.frames = 4096;
    // At the end of the log the rest of its last segment is looked through, and its buffer is made: both small here, for they are no part of a transaction's cost.
    config.wal.segment_bytes = 1 << 20;
    config.wal.space_margin_bytes = 1 << 19;
    config.wal.buffer_bytes = 1 << 20;
    config.wal.link_window_bytes = 1 << 18;
    config
}

/// Rows as sysbench has them, all of them in the data file.
fn load(directory: &Path) {
    std::fs::create_dir_all(directory).expect("a directory");
    let (engine, service) = open_with(directory, config());
    let mut client = connect(&service);
    client.run("CREATE DATABASE redo");
    client.run("CREATE TABLE redo.t (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY (k))");
    let mut random = Random::new(3);
    for first in (1..=ROWS).step_by(100) {
        let rows: Vec<String> = (first..first + 100)
            .map(|id| format!("({id},{},'{}','{}')", random.below(ROWS), digits(&mut random, 10), digits(&mut random, 5)))
            .collect();
        client.run(&format!("INSERT INTO redo.t VALUES {}", rows.join(",")));
    }
    drop((client, service));
    engine.close(true).expect("closed");
}

fn write(directory: &Path) {
    let (_engine, service) = open_with(directory, config());
    let mut client = connect(&service);
    client.run("USE redo");
    client.run("SET GLOBAL innodb_flush_log_at_trx_commit = 0");
    let index = client.prepare("UPDATE t SET k = k + 1 WHERE id = ?");
    let other = client.prepare("UPDATE t SET c = ? WHERE id = ?");
    let delete = client.prepare("DELETE FROM t WHERE id = ?");
    let insert = client.prepare("INSERT INTO t (id, k, c, pad) VALUES (?, ?, ?, ?)");
    let mut random = Random::new(4);
    for n in 1..=TRANSACTIONS {
        let mut row = || random.below(ROWS) as u32 + 1;
        let (first, second, third) = (row(), row(), row());
        if n == TRANSACTIONS {
            // What was committed before is in the file with this one.
            client.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
        }
        client.run("BEGIN");
        client.execution(index, &[first], &[]);
        client.answer();
        client.succeeded("index");
        client.execution_of(other, &[Param::Text(&digits(&mut random, 10)), Param::Int(second.into())]);
        client.answer();
        client.succeeded("other");
        client.execution(delete, &[third], &[]);
        client.answer();
        client.succeeded("delete");
        client.execution(insert, &[third, random.below(ROWS) as u32], &[&digits(&mut random, 10), &digits(&mut random, 5)]);
        client.answer();
        client.succeeded("insert");
        client.run("COMMIT");
    }
}

/// As sysbench makes them: groups of eleven digits.
fn digits(random: &mut Random, groups: usize) -> String {
    (0..groups).map(|_| format!("{:011}", random.below(100_000_000_000))).collect::<Vec<_>>().join("-")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(&from, &to).expect("copied");
        }
    }
}
