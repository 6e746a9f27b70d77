//! Makes a failing run shorter: leaves out features, then halves, quarters and so on of its steps, as long as it still fails.

use crate::cuts::{Cuts, Feature};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// More steps than a run can have.
const STEPS_MAX: u32 = 4096;

/// Cuts what the run does not need to fail, beside what `start` leaves out already. `run` says whether a run with these cuts fails, and which steps it took when it knows (not
/// after a panic). Stops looking at `time`.
pub fn shrink(time: Duration, start: &Cuts, mut run: impl FnMut(&Cuts) -> Option<Option<Vec<u32>>>) -> Option<Cuts> {
    let deadline = Instant::now() + time;
    let mut cuts = start.clone();
    let mut steps: Vec<u32> = run(&cuts)?.unwrap_or_else(|| (0..STEPS_MAX).collect());
    for feature in Feature::ALL.into_iter().filter(|feature| start.has(*feature)) {
        let mut fewer = cuts.clone();
        fewer.without.insert(feature);
        if let Some(taken) = run(&fewer) {
            steps = taken.unwrap_or(steps);
            cuts = fewer;
        }
    }
    let mut pieces = 2;
    while Instant::now() < deadline {
        let piece = steps.len().div_ceil(pieces).max(1);
        let shorter = steps.chunks(piece).enumerate().find_map(|(no, _)| {
            if Instant::now() >= deadline {
                return None;
            }
            let rest = steps.chunks(piece).enumerate().filter(|(other, _)| *other != no).flat_map(|(_, steps)| steps);
            let fewer = Cuts { keep: Some(rest.copied().collect::<BTreeSet<u32>>()), without: cuts.without.clone() };
            run(&fewer).map(|_| fewer)
        });
        match shorter {
            Some(fewer) => {
                steps = fewer.keep.iter().flatten().copied().collect();
                cuts = fewer;
                pieces = (pieces - 1).max(2);
            }
            None if piece == 1 => break,
            None => pieces = (pieces * 2).min(steps.len().max(2)),
        }
        if steps.is_empty() {
            break;
        }
    }
    Some(cuts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_failure_needs_is_left() {
        let needed = [7, 100, 101];
        let fails = |cuts: &Cuts| {
            let taken: Vec<u32> = (0..300).filter(|step| cuts.takes(*step)).collect();
            (needed.iter().all(|step| taken.contains(step)) && cuts.has(Feature::Ddl)).then_some(Some(taken))
        };
        let cuts = shrink(Duration::from_secs(10), &Cuts::default(), fails).expect("it fails");
        assert_eq!(cuts.keep, Some(BTreeSet::from(needed)));
        assert_eq!(cuts.without.len(), Feature::ALL.len() - 1);
        assert_eq!(shrink(Duration::from_secs(1), &Cuts::default(), |_| None), None);
    }
}
