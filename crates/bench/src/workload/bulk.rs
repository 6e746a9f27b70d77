//! Many rows in a statement: INSERT with many lists of values, and LOAD DATA LOCAL INFILE streamed by the client. One transaction is one
//! statement; the table only grows.

use super::Client;
use crate::blocking::Blocking;
use crate::options::{PrepareOptions, RunOptions, WorkloadName};
use crate::random::Random;
use crate::session::Done;
use std::fmt::Write;

/// Rows of an INSERT where the user does not say.
pub const INSERT_ROWS: u64 = 1000;
/// Rows of a LOAD DATA where the user does not say.
pub const LOAD_ROWS: u64 = 10_000;
/// A piece of the stream.
const PIECE_BYTES: usize = 64 << 10;
const K_MAX: u64 = 1 << 30;

/// Multi-row INSERT or LOAD DATA.
pub struct Bulk {
    name: WorkloadName,
    rows: u64,
}

impl Bulk {
    pub(super) fn new(options: &RunOptions) -> Bulk {
        Bulk { name: options.work.workload, rows: options.work.batch_rows() }
    }

    pub(super) async fn transaction(&self, client: &mut Client) -> Done {
        let (mut left, random) = (self.rows, &mut client.random);
        if self.name == WorkloadName::BulkInsert {
            let mut sql = "INSERT INTO bulk_rows (k, c, pad) VALUES ".to_owned();
            while left > 0 {
                row(random, &mut sql, "('", "','", if left > 1 { "')," } else { "')" });
                left -= 1;
            }
            client.session.query(&sql).await?;
        } else {
            let mut text = String::with_capacity(PIECE_BYTES + 200);
            let rows = |out: &mut Vec<u8>| {
                text.clear();
                while left > 0 && text.len() < PIECE_BYTES {
                    row(random, &mut text, "", "\t", "\n");
                    left -= 1;
                }
                out.extend_from_slice(text.as_bytes());
                left > 0
            };
            client.session.load("LOAD DATA LOCAL INFILE 'streamed' INTO TABLE bulk_rows (k, c, pad)", rows).await?;
        }
        super::expect_rows(client, self.rows, "rows of the statement")
    }

    pub(super) fn total(control: &mut Blocking) -> Option<i64> {
        control.number("SELECT COUNT(*) FROM bulk_rows").ok()
    }

    /// All or nothing of each statement.
    pub(super) fn verdict(&self, change: i64, acknowledged: u64, unknown: u64) -> String {
        let (change, rows) = (change.max(0) as u64, self.rows);
        if change % rows == 0 && (acknowledged..=acknowledged + unknown).contains(&(change / rows)) {
            return "ok".to_owned();
        }
        format!("WRONG: {change} rows more, {acknowledged} statements of {rows} acknowledged, {unknown} unknown")
    }
}

/// A row of random values with marks between.
fn row(random: &mut Random, out: &mut String, begin: &str, between: &str, end: &str) {
    let _ = write!(out, "{begin}{}{between}", random.between(0, K_MAX));
    random.digit_groups(10, out);
    out.push_str(between);
    random.digit_groups(5, out);
    out.push_str(end);
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    let mut control = options.server.connect(true)?;
    control.must("DROP TABLE IF EXISTS bulk_rows")?;
    control.must(
        "CREATE TABLE bulk_rows (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, \
         KEY k (k), KEY pad (pad))",
    )
}
