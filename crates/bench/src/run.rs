//! One run: logs everybody in, warms up, measures, lets transactions end, and says goodbye.

use crate::measured::Measured;
use crate::options::RunOptions;
use crate::outcome::Outcome;
use crate::progress::{Progress, Silent};
use crate::running::Running;

/// One run with one number of connections; an error, too, when the totals that the workload left are wrong.
pub fn measure(options: &RunOptions, progress: &mut dyn Progress) -> Result<Outcome, String> {
    let measured = measure_in_full(options, progress)?;
    match measured.verdict.as_deref() {
        Some(wrong) if wrong != "ok" => Err(wrong.to_owned()),
        _ => Ok(measured.outcome),
    }
}

/// The same with all that was seen, its verdict on totals among it.
pub fn measure_in_full(options: &RunOptions, progress: &mut dyn Progress) -> Result<Measured, String> {
    progress.begin(&format!("{} x{}", options.work.workload.name(), options.connections));
    let measured = Running::start(options, progress).and_then(|mut running| {
        let mut measured = running.slice(options.work.warmup, options.work.seconds, progress)?;
        // A wrong answer is wrong however right the totals are.
        measured.verdict = measured.tally.wrong_answer().or(running.stop()?);
        Ok(measured)
    });
    progress.clear();
    measured
}

/// One run that nobody watches.
pub fn run(options: &RunOptions) -> Result<Measured, String> {
    measure_in_full(options, &mut Silent)
}
