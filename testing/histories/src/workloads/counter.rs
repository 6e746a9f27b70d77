//! A hot counter: all connections increment one row.

use super::{Done, Load, create, in_parallel, one};
use crate::place::Place;
use mysql::prelude::Queryable;

/// Every second connection increments by one statement, the others in a transaction that reads by FOR UPDATE first; what each read is
/// given out once.
pub fn counter(place: &Place, load: &Load) -> Result<Done, String> {
    let mut main = create(
        place,
        &["CREATE TABLE counter (id INT PRIMARY KEY, n BIGINT NOT NULL)".into(), "INSERT INTO counter VALUES (1, 0)".into()],
    )?;
    let done = in_parallel(place, load, |number, client| {
        let mut last = -1;
        for _ in 0..load.txns {
            if number % 2 == 0 {
                client.single("UPDATE counter SET n = n + 1 WHERE id = 1")?;
                continue;
            }
            let tried = client.transaction(|connection| {
                let n: Option<i64> = connection.query_first("SELECT n FROM counter WHERE id = 1 FOR UPDATE")?;
                let n = n.unwrap_or(i64::MIN);
                connection.query_drop(format!("UPDATE counter SET n = {} WHERE id = 1", n + 1))?;
                Ok(n)
            })?;
            if let super::Tried::Done(n) = tried {
                if n <= last {
                    return Err(format!("a connection that had set the counter to {} then found {n}", last + 1));
                }
                last = n;
            }
        }
        Ok(())
    })?;
    super::wait_for_sessions(load, &mut main)?;
    let n: u64 = one(&mut main, "SELECT n FROM counter WHERE id = 1")?;
    let expected = (load.connections * load.txns) as u64;
    if !done.explains(n) || !load.faults && done.committed != expected {
        return Err(format!(
            "the counter is {n} after {} acknowledged increments of {expected}, {} unanswered",
            done.committed, done.unanswered
        ));
    }
    Ok(done)
}
