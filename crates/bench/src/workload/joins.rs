//! Two joins and a scan, each sent in turn; their counts are known, because the client makes the same random columns again.

use super::{Client, Rows, in_parallel, statements};
use crate::options::{PrepareOptions, RunOptions};
use crate::random::Random;
use crate::session::{Done, Failure, Statement};

pub(super) const KINDS: [&str; 3] = ["hash_join", "key_join", "scan"];
/// The scan's table has so many times the rows of each side of the joins.
const SCAN_FACTOR: u64 = 10;
const K_MAX: u64 = 1_000_000;
const K_LOW: u64 = 400_000;
const K_HIGH: u64 = 600_000;

const LEFT_SEED: u64 = 11;
const RIGHT_SEED: u64 = 12;
const BIG_SEED: u64 = 13;

/// The joins.
pub struct Joins {
    statements: Vec<Statement>,
    expected: [i64; 3],
}

/// A row of the left side: what it joins by hash, and by key.
fn left(random: &mut Random, rows: u64) -> (u64, u64) {
    (random.between(0, rows - 1), random.between(1, rows))
}

impl Joins {
    pub(super) fn new(options: &RunOptions) -> Joins {
        let rows = options.work.size.join_rows;
        Joins {
            statements: statements(&[
                "SELECT COUNT(*), SUM(l.v), SUM(r.v) FROM join_left l JOIN join_right r ON l.x = r.y",
                "SELECT COUNT(*), SUM(l.v), SUM(r.v) FROM join_left l JOIN join_right r ON l.ref = r.id",
                "SELECT COUNT(*), MAX(id) FROM join_big WHERE k BETWEEN 400000 AND 600000",
            ]),
            expected: [pairs(rows), rows as i64, scanned(rows * SCAN_FACTOR)],
        }
    }

    pub(super) fn choose(client: &mut Client) -> usize {
        client.turn += 1;
        (client.number + client.turn as usize) % KINDS.len()
    }

    pub(super) async fn transaction(&self, client: &mut Client, kind: usize) -> Done {
        client.session.rows(&self.statements, kind, &[]).await?;
        let (told, expected) = (client.session.reply().text(0, 0), self.expected[kind]);
        // A server with canned answers tells no number.
        match told.parse::<i64>() {
            Ok(count) if count != expected => Err(Failure::Wrong(format!("{} found {count} rows, not {expected}", KINDS[kind]))),
            _ => Ok(()),
        }
    }
}

/// Rows that the join by hash has.
fn pairs(rows: u64) -> i64 {
    let mut random = Random::new(RIGHT_SEED);
    let mut partners = vec![0i64; rows as usize];
    (0..rows).for_each(|_| partners[random.between(0, rows - 1) as usize] += 1);
    let mut random = Random::new(LEFT_SEED);
    (0..rows).map(|_| partners[left(&mut random, rows).0 as usize]).sum()
}

/// Rows that the scan finds.
fn scanned(rows: u64) -> i64 {
    let mut random = Random::new(BIG_SEED);
    (0..rows).filter(|_| (K_LOW..=K_HIGH).contains(&random.between(0, K_MAX - 1))).count() as i64
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    let rows = options.size.join_rows;
    in_parallel(options, KINDS.len() as u64, |connection, part| match part {
        0 => {
            connection.must("DROP TABLE IF EXISTS join_left")?;
            connection.must(
                "CREATE TABLE join_left (id INT PRIMARY KEY, x INT NOT NULL, ref INT NOT NULL, v DECIMAL(10,2) NOT NULL, note VARCHAR(40) NOT NULL)",
            )?;
            let (mut random, mut list) = (Random::new(LEFT_SEED), Rows::new(connection, "join_left"));
            (1..=rows).try_for_each(|id| {
                let (x, reference) = left(&mut random, rows);
                list.add(format_args!("{id},{x},{reference},{}.{:02},'note {id}'", id * 31 % 10_000, id % 100))
            })?;
            list.end()
        }
        1 => {
            connection.must("DROP TABLE IF EXISTS join_right")?;
            connection.must("CREATE TABLE join_right (id INT PRIMARY KEY, y INT NOT NULL, v INT NOT NULL, note VARCHAR(40) NOT NULL)")?;
            let (mut random, mut list) = (Random::new(RIGHT_SEED), Rows::new(connection, "join_right"));
            (1..=rows).try_for_each(|id| list.add(format_args!("{id},{},{},'note {id}'", random.between(0, rows - 1), id * 7 % K_MAX)))?;
            list.end()
        }
        _ => {
            connection.must("DROP TABLE IF EXISTS join_big")?;
            connection.must(
                "CREATE TABLE join_big (id INT PRIMARY KEY, k INT NOT NULL, g INT NOT NULL, v DECIMAL(12,2) NOT NULL, s VARCHAR(60) NOT NULL)",
            )?;
            let (mut random, mut list) = (Random::new(BIG_SEED), Rows::new(connection, "join_big"));
            (1..=rows * SCAN_FACTOR).try_for_each(|id| {
                let k = random.between(0, K_MAX - 1);
                list.add(format_args!("{id},{k},{},{}.{:02},'row {id} of the scan'", id % 1000, id * 17 % 1_000_000, id % 100))
            })?;
            list.end()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_the_columns() {
        // By hand, pair by pair.
        let rows = 50;
        let (mut random, mut other) = (Random::new(LEFT_SEED), Random::new(RIGHT_SEED));
        let xs: Vec<u64> = (0..rows).map(|_| left(&mut random, rows).0).collect();
        let ys: Vec<u64> = (0..rows).map(|_| other.between(0, rows - 1)).collect();
        let by_hand = xs.iter().map(|x| ys.iter().filter(|y| *y == x).count() as i64).sum::<i64>();
        assert_eq!(pairs(rows), by_hand);
        let share = scanned(100_000) as f64 / 100_000.0;
        assert!((share - 0.2).abs() < 0.01, "{share}");
    }
}
