//! A queue: workers take jobs with FOR UPDATE SKIP LOCKED, while others bring new ones.

use super::{Done, Load, Tried, create, in_parallel, one};
use crate::place::Place;
use mysql::prelude::Queryable;
use sync::atomic::{AtomicU64, Ordering};

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
    let finished = AtomicU64::new(0);
    let done = in_parallel(place, load, |number, client| {
        if number < bringers {
            for job in 0..load.txns {
                let id = number * load.txns + job;
                client.transaction(|connection| connection.query_drop(format!("INSERT INTO job VALUES ({id}, 0, NULL)")))?;
            }
            return Ok(());
        }
        while finished.load(Ordering::Relaxed) < jobs {
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
                Tried::Done(true) => {
                    finished.fetch_add(1, Ordering::Relaxed);
                }
                Tried::Done(false) => std::thread::yield_now(),
                Tried::Broken => return Err("the connection broke".into()),
            }
        }
        Ok(())
    })?;
    let wrong = "SELECT COUNT(*) FROM job LEFT JOIN result ON result.job = job.id WHERE job.state <> 1 OR result.worker IS NULL OR result.worker <> job.worker";
    let (all, results, wrong): (u64, u64, u64) =
        (one(&mut main, "SELECT COUNT(*) FROM job")?, one(&mut main, "SELECT COUNT(*) FROM result")?, one(&mut main, wrong)?);
    if (all, results, wrong) != (jobs, jobs, 0) {
        return Err(format!("{all} jobs, {results} results, {wrong} of them wrong; {jobs} were brought"));
    }
    Ok(done)
}
