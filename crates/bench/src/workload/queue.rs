//! A queue in a table: each connection puts a job in and takes one out, in turns, so that the queue keeps its length. Who takes jobs skips
//! those that others have locked.

use super::{Client, Rows, in_parallel, statements};
use crate::blocking::Blocking;
use crate::options::PrepareOptions;
use crate::random::Random;
use crate::session::{Done, Failure, Param, Statement};
use std::time::Duration;

pub(super) const KINDS: [&str; 2] = ["put", "take"];
const PUT: usize = 0;

/// Before somebody who has found nothing looks again.
const EMPTY_PAUSE: Duration = Duration::from_millis(1);
const PAYLOAD_GROUPS: usize = 5;

const INSERT: usize = 0;
const BEGIN: usize = 1;
const NEXT: usize = 2;
const DELETE: usize = 3;
const COMMIT: usize = 4;

/// The queue.
pub struct Queue {
    statements: Vec<Statement>,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue {
            statements: statements(&[
                "INSERT INTO queue_jobs (id, payload) VALUES (0, ?)",
                "BEGIN",
                "SELECT id, payload FROM queue_jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
                "DELETE FROM queue_jobs WHERE id=?",
                "COMMIT",
            ]),
        }
    }

    /// In turns; half of the connections begin by putting.
    pub(super) fn choose(client: &mut Client) -> usize {
        client.turn += 1;
        (client.number + client.turn as usize) % KINDS.len()
    }

    pub(super) async fn transaction(&self, client: &mut Client, kind: usize) -> Done {
        let all = &self.statements;
        if kind == PUT {
            let mut payload = String::new();
            client.random.digit_groups(PAYLOAD_GROUPS, &mut payload);
            return client.session.run(all, INSERT, &[Param::Text(&payload)]).await;
        }
        loop {
            client.session.run(all, BEGIN, &[]).await?;
            client.session.rows(all, NEXT, &[]).await?;
            if client.session.reply().row_count() > 0 {
                break;
            }
            client.session.run(all, COMMIT, &[]).await?;
            if !client.place.rest(EMPTY_PAUSE).await {
                return Err(Failure::Ended);
            }
        }
        let id = Param::Int(client.session.reply().int(0, 0));
        client.session.run(all, DELETE, &[id]).await?;
        super::expect_rows(client, 1, "a job that was locked")?;
        client.session.run(all, COMMIT, &[]).await
    }

    pub(super) fn total(control: &mut Blocking) -> Option<i64> {
        control.number("SELECT COUNT(*) FROM queue_jobs").ok()
    }

    /// Each job that was put and not taken is there, and no other.
    pub(super) fn verdict(change: i64, acknowledged: &[u64], unknown: u64) -> String {
        let expected = acknowledged[0] as i64 - acknowledged[1] as i64;
        if change.abs_diff(expected) <= unknown {
            return "ok".to_owned();
        }
        format!("WRONG: {} jobs put, {} taken, and {change} more than before ({unknown} unknown)", acknowledged[0], acknowledged[1])
    }
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    in_parallel(options, 1, |connection, _| {
        connection.must("DROP TABLE IF EXISTS queue_jobs")?;
        connection.must("CREATE TABLE queue_jobs (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, payload VARCHAR(100) NOT NULL)")?;
        let mut random = Random::new(1);
        let mut rows = Rows::new(connection, "queue_jobs");
        (0..options.size.jobs).try_for_each(|_| {
            let mut payload = String::new();
            random.digit_groups(PAYLOAD_GROUPS, &mut payload);
            rows.add(format_args!("0,'{payload}'"))
        })?;
        rows.end()
    })
}
