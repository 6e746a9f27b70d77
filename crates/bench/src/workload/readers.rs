//! Reads and few writes beside connections that hold a snapshot for seconds: what old versions cost, and whether a snapshot stays what it was.

use super::{Client, Rows, in_parallel, statements};
use crate::blocking::Blocking;
use crate::distribution::Keys;
use crate::options::{PrepareOptions, RunOptions};
use crate::session::{Done, Failure, Param, Statement};
use std::time::Duration;

pub(super) const KINDS: [&str; 3] = ["read", "write", "long_read"];
const READ: usize = 0;
const WRITE: usize = 1;
const LONG_READ: usize = 2;
/// Of a hundred transactions of those that hold no snapshot.
const WRITE_PERCENT: u64 = 5;

const POINT: usize = 0;
const UPDATE: usize = 1;
const SNAPSHOT: usize = 2;
const TOTALS: usize = 3;
const COMMIT: usize = 4;

/// Readers, writers, and those who stay.
pub struct Readers {
    size: u64,
    keys: Keys,
    /// Every so manieth connection holds a snapshot.
    every: u64,
    hold: Duration,
    statements: Vec<Statement>,
}

impl Readers {
    pub(super) fn new(options: &RunOptions) -> Readers {
        let work = &options.work;
        Readers {
            size: work.size.table_size,
            keys: work.keys,
            every: work.long_readers,
            hold: Duration::from_secs_f64(work.long_seconds),
            statements: statements(&[
                "SELECT v, c FROM read_mostly WHERE id=?",
                "UPDATE read_mostly SET v=v+1 WHERE id=?",
                "START TRANSACTION WITH CONSISTENT SNAPSHOT",
                "SELECT COUNT(*), SUM(v) FROM read_mostly",
                "COMMIT",
            ]),
        }
    }

    /// The last of each group of connections holds a snapshot: one connection alone does not.
    pub(super) fn choose(&self, client: &mut Client) -> usize {
        if self.every > 1 && (client.number as u64 + 1).is_multiple_of(self.every) {
            return LONG_READ;
        }
        if client.random.percent(WRITE_PERCENT) { WRITE } else { READ }
    }

    pub(super) async fn transaction(&self, client: &mut Client, kind: usize) -> Done {
        let all = &self.statements;
        if kind != LONG_READ {
            let id = Param::from(self.keys.draw(&mut client.random, self.size));
            return client.session.run(all, if kind == READ { POINT } else { UPDATE }, &[id]).await;
        }
        // The level is that of the session's statements, but a snapshot is for REPEATABLE READ.
        client.session.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        client.session.run(all, SNAPSHOT, &[]).await?;
        let before = self.totals(client).await?;
        client.place.rest(self.hold).await;
        let after = self.totals(client).await?;
        client.session.run(all, COMMIT, &[]).await?;
        if before == after { Ok(()) } else { Err(Failure::Wrong(format!("a snapshot with {before:?} rows and sum became {after:?}"))) }
    }

    async fn totals(&self, client: &mut Client) -> Result<(i64, i64), Failure> {
        client.session.rows(&self.statements, TOTALS, &[]).await?;
        let reply = client.session.reply();
        Ok((reply.int(0, 0), reply.int(0, 1)))
    }

    pub(super) fn total(control: &mut Blocking) -> Option<i64> {
        control.number("SELECT SUM(v) FROM read_mostly").ok()
    }

    /// Each write has added one.
    pub(super) fn verdict(change: i64, acknowledged: &[u64], unknown: u64) -> String {
        let writes = acknowledged[WRITE] as i64;
        if (writes..=writes + unknown as i64).contains(&change) {
            return "ok".to_owned();
        }
        format!("WRONG: the sum changed by {change}, {writes} writes acknowledged, {unknown} unknown")
    }
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    in_parallel(options, 1, |connection, _| {
        connection.must("DROP TABLE IF EXISTS read_mostly")?;
        connection.must("CREATE TABLE read_mostly (id INT NOT NULL PRIMARY KEY, v BIGINT NOT NULL, c CHAR(100) NOT NULL)")?;
        let mut rows = Rows::new(connection, "read_mostly");
        (1..=options.size.table_size).try_for_each(|id| rows.add(format_args!("{id},0,'row {id}'")))?;
        rows.end()
    })
}
