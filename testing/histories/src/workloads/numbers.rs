//! Numbers given out under a lock that guards other rows: who has a parent's row counts its children by a plain SELECT, and numbers the next one by that.

use super::{Done, Load, create, in_parallel, one};
use crate::levels::Level;
use crate::place::Place;
use mysql::prelude::Queryable;

/// Parents: connections meet at each.
const PARENTS: usize = 4;

/// Every third connection takes the parent's row by changing it, the others by FOR UPDATE and leave it as it is. The children of each parent have the numbers
/// from 0 on, each once. (But where a transaction's snapshot may be older than its locks: `snapshot_isolation`.)
pub fn numbers(place: &Place, load: &Load) -> Result<Done, String> {
    let parents: Vec<String> = (0..PARENTS).map(|id| format!("({id}, 0)")).collect();
    let mut main = create(
        place,
        &[
            "CREATE TABLE parent (id INT PRIMARY KEY, changes BIGINT NOT NULL)".into(),
            format!("INSERT INTO parent VALUES {}", parents.join(", ")),
            "CREATE TABLE child (id BIGINT PRIMARY KEY AUTO_INCREMENT, parent INT NOT NULL, number BIGINT NOT NULL, KEY (parent))".into(),
        ],
    )?;
    let done = in_parallel(place, load, |number, client| {
        for txn in 0..load.txns {
            let parent = (number + txn) % PARENTS;
            client.transaction(|connection| {
                connection.query_drop(if number % 3 == 0 {
                    format!("UPDATE parent SET changes = changes + 1 WHERE id = {parent}")
                } else {
                    format!("SELECT id FROM parent WHERE id = {parent} FOR UPDATE")
                })?;
                let count: Option<u64> = connection.query_first(format!("SELECT COUNT(*) FROM child WHERE parent = {parent}"))?;
                connection.query_drop(format!("INSERT INTO child (parent, number) VALUES ({parent}, {})", count.unwrap_or(u64::MAX >> 1)))
            })?;
        }
        Ok(())
    })?;
    super::wait_for_sessions(load, &mut main)?;
    let children: u64 = one(&mut main, "SELECT COUNT(*) FROM child")?;
    let wrong: u64 = one(
        &mut main,
        "SELECT COUNT(*) FROM (SELECT parent FROM child GROUP BY parent HAVING COUNT(DISTINCT number) <> COUNT(*) OR MAX(number) <> COUNT(*) - 1) p",
    )?;
    if !done.explains(children) || wrong > 0 && !load.levels.contains(&Level::SnapshotIsolation) {
        return Err(format!(
            "{children} children, those of {wrong} parents without a number each; {} acknowledged, {} unanswered",
            done.committed, done.unanswered
        ));
    }
    Ok(done)
}
