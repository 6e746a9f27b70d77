//! sysbench's OLTP workloads on its tables: the same statements in the same order, the same data.

use super::{Client, Rows, in_parallel};
use crate::blocking::Blocking;
use crate::distribution::Keys;
use crate::options::{PrepareOptions, RunOptions, WorkloadName};
use crate::random::Random;
use crate::session::{Done, Param, Statement};

/// Statements of each table.
const TEXTS: [&str; 12] = [
    "SELECT c FROM sbtestN WHERE id=?",
    "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ?",
    "SELECT SUM(k) FROM sbtestN WHERE id BETWEEN ? AND ?",
    "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
    "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
    "UPDATE sbtestN SET k=k+1 WHERE id=?",
    "UPDATE sbtestN SET c=? WHERE id=?",
    "DELETE FROM sbtestN WHERE id=?",
    "INSERT INTO sbtestN (id, k, c, pad) VALUES (?, ?, ?, ?)",
    "INSERT INTO sbtestN (id, k, c, pad) VALUES (0, ?, ?, ?)",
    "SELECT id, k, c, pad FROM sbtestN WHERE k IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    "SELECT COUNT(k) FROM sbtestN WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? \
     OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ? OR k BETWEEN ? AND ?",
];
const POINT: usize = 0;
const RANGES: std::ops::Range<usize> = 1..5;
const INDEX_UPDATE: usize = 5;
const NON_INDEX_UPDATE: usize = 6;
const DELETE: usize = 7;
const INSERT: usize = 8;
const APPEND: usize = 9;
const POINTS_OF_K: usize = 10;
const RANGES_OF_K: usize = 11;

const POINT_SELECTS: usize = 10;
const RANGE_ROWS: u64 = 100;
/// Values, or ranges, of a statement of the random points and ranges.
const PLACES_OF_K: usize = 10;
const RANGE_OF_K: u64 = 5;

/// One of sysbench's workloads.
pub struct Sysbench {
    name: WorkloadName,
    tables: u64,
    size: u64,
    keys: Keys,
    statements: Vec<Statement>,
}

impl Sysbench {
    pub(super) fn new(options: &RunOptions) -> Sysbench {
        let of_table = |table: u64| TEXTS.map(|text| Statement::new(text.replace("sbtestN", &format!("sbtest{table}"))));
        let mut statements: Vec<Statement> = (1..=options.work.size.tables).flat_map(of_table).collect();
        statements.extend([Statement::new("BEGIN"), Statement::new("COMMIT")]);
        Sysbench {
            name: options.work.workload,
            tables: options.work.size.tables,
            size: options.work.size.table_size,
            keys: options.work.keys,
            statements,
        }
    }

    /// The first statement of a random table.
    fn table(&self, client: &mut Client) -> usize {
        (client.random.between(1, self.tables) - 1) as usize * TEXTS.len()
    }

    fn key(&self, client: &mut Client) -> u64 {
        self.keys.draw(&mut client.random, self.size)
    }

    pub(super) async fn transaction(&self, client: &mut Client) -> Done {
        let all = &self.statements;
        let (begin, commit) = (all.len() - 2, all.len() - 1);
        match self.name {
            WorkloadName::OltpPointSelect => self.point_select(client).await,
            WorkloadName::OltpUpdateIndex => self.update_index(client).await,
            WorkloadName::OltpUpdateNonIndex => self.update_non_index(client).await,
            WorkloadName::OltpInsert => self.append(client).await,
            WorkloadName::OltpDelete => self.delete(client).await,
            WorkloadName::SelectRandomPoints => {
                let values: Vec<Param<'_>> = (0..PLACES_OF_K).map(|_| Param::from(self.key(client))).collect();
                client.session.run(all, POINTS_OF_K, &values).await
            }
            WorkloadName::SelectRandomRanges => {
                let low: Vec<u64> = (0..PLACES_OF_K).map(|_| self.key(client)).collect();
                let values: Vec<Param<'_>> = low.iter().flat_map(|low| [Param::from(*low), Param::from(low + RANGE_OF_K)]).collect();
                client.session.run(all, RANGES_OF_K, &values).await
            }
            WorkloadName::OltpWriteOnly => {
                client.session.run(all, begin, &[]).await?;
                self.writes(client).await?;
                client.session.run(all, commit, &[]).await
            }
            _ => {
                client.session.run(all, begin, &[]).await?;
                self.reads(client).await?;
                if self.name == WorkloadName::OltpReadWrite {
                    self.writes(client).await?;
                }
                client.session.run(all, commit, &[]).await
            }
        }
    }

    async fn point_select(&self, client: &mut Client) -> Done {
        let (table, id) = (self.table(client), self.key(client));
        client.session.run(&self.statements, table + POINT, &[Param::from(id)]).await
    }

    async fn update_index(&self, client: &mut Client) -> Done {
        let (table, id) = (self.table(client), self.key(client));
        client.session.run(&self.statements, table + INDEX_UPDATE, &[Param::from(id)]).await
    }

    async fn update_non_index(&self, client: &mut Client) -> Done {
        let (table, id) = (self.table(client), self.key(client));
        let (c, _) = texts(&mut client.random);
        client.session.run(&self.statements, table + NON_INDEX_UPDATE, &[Param::Text(&c), Param::from(id)]).await
    }

    async fn delete(&self, client: &mut Client) -> Done {
        let (table, id) = (self.table(client), self.key(client));
        client.session.run(&self.statements, table + DELETE, &[Param::from(id)]).await
    }

    async fn append(&self, client: &mut Client) -> Done {
        let (table, k) = (self.table(client), self.key(client));
        let (c, pad) = texts(&mut client.random);
        client.session.run(&self.statements, table + APPEND, &[Param::from(k), Param::Text(&c), Param::Text(&pad)]).await
    }

    async fn reads(&self, client: &mut Client) -> Done {
        let table = self.table(client);
        for _ in 0..POINT_SELECTS {
            let id = self.key(client);
            client.session.run(&self.statements, table + POINT, &[Param::from(id)]).await?;
        }
        for range in RANGES {
            let (table, id) = (self.table(client), self.key(client));
            client.session.run(&self.statements, table + range, &[Param::from(id), Param::from(id + RANGE_ROWS - 1)]).await?;
        }
        Ok(())
    }

    async fn writes(&self, client: &mut Client) -> Done {
        self.update_index(client).await?;
        self.update_non_index(client).await?;
        let (table, id, k) = (self.table(client), self.key(client), self.key(client));
        let (c, pad) = texts(&mut client.random);
        client.session.run(&self.statements, table + DELETE, &[Param::from(id)]).await?;
        let row = [Param::from(id), Param::from(k), Param::Text(&c), Param::Text(&pad)];
        client.session.run(&self.statements, table + INSERT, &row).await
    }
}

/// Values of `c` and `pad`.
fn texts(random: &mut Random) -> (String, String) {
    let (mut c, mut pad) = (String::with_capacity(119), String::with_capacity(59));
    random.digit_groups(10, &mut c);
    random.digit_groups(5, &mut pad);
    (c, pad)
}

/// What index `k` has is what the table has.
pub(super) fn check(control: &mut Blocking, tables: u64) -> Result<String, String> {
    let mut rows = 0;
    for table in 1..=tables {
        let sum = |index: &str, on: &str| format!("SELECT COUNT(*), SUM(k) FROM sbtest{table} FORCE INDEX ({index}) WHERE {on} >= 0");
        let (by_table, by_index) = (control.pairs(&sum("PRIMARY", "id"))?, control.pairs(&sum(&format!("k_{table}"), "k"))?);
        if by_table != by_index {
            return Err(format!("sbtest{table}: count and sum of k are {by_table:?} by the table and {by_index:?} by the index"));
        }
        rows += by_table.first().and_then(|(count, _)| count.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(format!("sysbench: {rows} rows in {tables} tables, all in the index"))
}

pub(super) fn prepare(options: &PrepareOptions) -> Result<(), String> {
    in_parallel(options, options.size.tables, |connection, part| {
        let table = part + 1;
        connection.must(&format!("DROP TABLE IF EXISTS sbtest{table}"))?;
        connection.must(&format!(
            "CREATE TABLE sbtest{table} (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
             pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id))"
        ))?;
        let mut random = Random::new(table);
        let mut rows = Rows::new(connection, &format!("sbtest{table} (id, k, c, pad)"));
        for id in 1..=options.size.table_size {
            let (c, pad) = texts(&mut random);
            rows.add(format_args!("{id},{},'{c}','{pad}'", random.between(1, options.size.table_size)))?;
        }
        rows.end()?;
        connection.must(&format!("CREATE INDEX k_{table} ON sbtest{table} (k)"))
    })
}
