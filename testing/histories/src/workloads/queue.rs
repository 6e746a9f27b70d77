//! A queue: workers take jobs with FOR UPDATE SKIP LOCKED, while others bring new ones.

use super::{Done, Load, Tried, create, in_parallel, one};
use crate::place::Place;
use mysql::prelude::Queryable;
use sync::atomic::{AtomicUsize, Ordering};

/// Half of the connections bring jobs, half take them, until all are done; each job is done once, by whom the server says.
pub fn queue(place: &Place, load: &Load) -> Result<Done, String> {
    let mut main = create(
        place,
        &[
            "CREATE TABLE job (id BIGINT PRIMARY KEY, state INT NOT NULL, worker INT, KEY state (state))".into(),
            "CREATE TABLE result (job BIGINT PRIMARY KEY, worker INT NOT NULL)".into(),
        ],
    )?;
    let bringers = load.connections.div_ceil(2);
    let jobs = (bringers * load.txns) as u64;
    let bringing = AtomicUsize::new(bringers);
    let done = in_parallel(place, load, |number, client| {
        if number < bringers {
            for job in 0..load.txns {
                let id = number * load.txns + job;
                client.transaction(|connection| connection.query_drop(format!("INSERT INTO job VALUES ({id}, 0, NULL)")))?;
            }
            bringing.fetch_sub(1, Ordering::SeqCst);
            return Ok(());
        }
        loop {
            let all_brought = bringing.load(Ordering::SeqCst) == 0;
            let tried = client.transaction(|connection| {
                let job: Option<u64> =
                    connection.query_first("SELECT id FROM job WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED")?;
                if let Some(job) = job {
                    connection.query_drop(format!("UPDATE job SET state = 1, worker = {number} WHERE id = {job}"))?;
                    connection.query_drop(format!("INSERT INTO result VALUES ({job}, {number})"))?;
                }
                Ok(job.is_some())
            })?;
            match tried {
                Tried::Done(true) | Tried::Broken => {}
                // What others hold at the moment they may give back.
                Tried::Done(false) if all_brought => {
                    let left =
                        client.transaction(|connection| connection.query_first::<u64, _>("SELECT COUNT(*) FROM job WHERE state = 0"))?;
                    if matches!(left, Tried::Done(Some(0))) {
                        return Ok(());
                    }
                }
                Tried::Done(false) => std::thread::yield_now(),
            }
        }
    })?;
    super::wait_for_sessions(load, &mut main)?;
    let all: u64 = one(&mut main, "SELECT COUNT(*) FROM job")?;
    let undone: u64 = one(&mut main, "SELECT COUNT(*) FROM job WHERE state = 0")?;
    let results: u64 = one(&mut main, "SELECT COUNT(*) FROM result")?;
    let wrong: u64 = one(
        &mut main,
        "SELECT COUNT(*) FROM job LEFT JOIN result ON result.job = job.id WHERE (job.state = 1 AND result.worker = job.worker OR job.state = 0 AND result.worker IS NULL) IS NOT TRUE",
    )?;
    // What a client had sent and was not answered may come when all others have gone.
    let explained = if load.faults { all <= jobs && undone <= done.unanswered } else { all == jobs && undone == 0 };
    if results != all - undone || wrong > 0 || !explained {
        return Err(format!("{all} jobs, {undone} undone, {results} results, {wrong} of them wrong; {jobs} were brought"));
    }
    Ok(done)
}
