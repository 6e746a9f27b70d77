//! Deadlocks: transactions change a few of few rows in random order, by the primary key and by a secondary index.

use super::{Done, Load, create, in_parallel, one};
use crate::place::Place;
use env::SplitMix64;
use mysql::prelude::Queryable;

/// Rows; each transaction takes three of them.
const ROWS: u64 = 12;

/// Every wait ends (the clients would time out), victims try again, and the sum is what was acknowledged.
pub fn deadlocks(place: &Place, load: &Load) -> Result<Done, String> {
    let rows: Vec<String> = (0..ROWS).map(|id| format!("({id}, {}, 0)", ROWS - id)).collect();
    let mut main = create(
        place,
        &[
            "CREATE TABLE hot (id INT PRIMARY KEY, k INT NOT NULL, n BIGINT NOT NULL, KEY k (k))".into(),
            format!("INSERT INTO hot VALUES {}", rows.join(", ")),
        ],
    )?;
    let done = in_parallel(place, load, |number, client| {
        let mut random = SplitMix64::new(load.seed ^ number as u64);
        for _ in 0..load.txns {
            let chosen: Vec<(u64, u64)> = (0..3).map(|_| (random.below(ROWS), random.below(4))).collect();
            let mut missed = Vec::new();
            client.transaction(|connection| {
                missed.clear();
                for (id, how) in &chosen {
                    let place = if *how == 0 { format!("k = {}", ROWS - id) } else { format!("id = {id}") };
                    if *how == 1 {
                        // Not dropped unread: a deadlock may be told after the columns.
                        connection.query_first::<i64, _>(format!("SELECT n FROM hot WHERE {place} FOR SHARE"))?;
                    }
                    connection.query_drop(format!("UPDATE hot SET n = n + 1 WHERE {place}"))?;
                    if connection.affected_rows() != 1 {
                        missed.push(place);
                    }
                }
                Ok(())
            })?;
            if !missed.is_empty() {
                return Err(format!("seed {}: an UPDATE found no row where {}", load.seed, missed.join(" and where ")));
            }
        }
        Ok(())
    })?;
    super::wait_for_sessions(load, &mut main)?;
    let sum: u64 = one(&mut main, "SELECT CAST(SUM(n) AS UNSIGNED) FROM hot")?;
    let all = (load.connections * load.txns) as u64;
    if !done.explains(sum / 3) || !sum.is_multiple_of(3) || !load.faults && done.committed != all {
        return Err(format!("the rows sum up to {sum} after {} acknowledged transactions of three changes", done.committed));
    }
    Ok(done)
}
