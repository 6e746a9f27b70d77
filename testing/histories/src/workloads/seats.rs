//! A gap that guards a row elsewhere: who closes a gate locks its seats, those taken and those free, counts them and says so at the gate; who takes a seat looks at the gate by a plain
//! SELECT behind that, and leaves a closed one.

use super::{Done, Load, create, in_parallel, one};
use crate::levels::Level;
use crate::place::Place;
use mysql::prelude::Queryable;

/// Connections that meet at a gate, one of which closes it.
const PARTY: usize = 4;

/// All pass the gates in the same order. A closed gate has as many seats taken as were counted when it was closed. (But where a transaction's snapshot may be older than its locks:
/// `snapshot_isolation`. At levels that lock no gaps nobody closes.)
pub fn seats(place: &Place, load: &Load) -> Result<Done, String> {
    let gates: Vec<String> = (0..load.txns).map(|id| format!("({id}, FALSE, 0)")).collect();
    let mut main = create(
        place,
        &[
            "CREATE TABLE gate (id INT PRIMARY KEY, closed BOOLEAN NOT NULL, seats BIGINT NOT NULL)".into(),
            format!("INSERT INTO gate VALUES {}", gates.join(", ")),
            "CREATE TABLE seat (gate INT, person INT, PRIMARY KEY (gate, person))".into(),
        ],
    )?;
    let done = in_parallel(place, load, |number, client| {
        let closes = number % PARTY == 1 && client.level >= Level::RepeatableRead;
        for gate in 0..load.txns {
            client.transaction(|connection| {
                if closes {
                    let taken: Option<u64> = connection.query_first(format!("SELECT COUNT(*) FROM seat WHERE gate = {gate} FOR UPDATE"))?;
                    let taken = taken.unwrap_or_default();
                    return connection
                        .query_drop(format!("UPDATE gate SET closed = TRUE, seats = {taken} WHERE id = {gate} AND NOT closed"));
                }
                connection.query_drop(format!("INSERT INTO seat VALUES ({gate}, {number})"))?;
                let closed: Option<bool> = connection.query_first(format!("SELECT closed FROM gate WHERE id = {gate}"))?;
                if closed == Some(true) {
                    connection.query_drop(format!("DELETE FROM seat WHERE gate = {gate} AND person = {number}"))?;
                }
                Ok(())
            })?;
        }
        Ok(())
    })?;
    super::wait_for_sessions(load, &mut main)?;
    let wrong: u64 =
        one(&mut main, "SELECT COUNT(*) FROM gate WHERE closed AND seats <> (SELECT COUNT(*) FROM seat WHERE seat.gate = gate.id)")?;
    if wrong > 0 && !load.levels.contains(&Level::SnapshotIsolation) {
        return Err(format!("{wrong} gates of {} have other seats taken than when they were closed", load.txns));
    }
    Ok(done)
}
