//! Slices of one server as one outcome.

use crate::outcome::{Local, Outcome};

/// Adds a later slice to the slices before it: counts and times are summed, seconds follow one another, what is said once is the later's.
pub fn add(all: &mut Outcome, slice: Outcome) {
    all.version = slice.version;
    all.connections = slice.connections;
    all.seconds += slice.seconds;
    for kind in slice.kinds {
        match all.kinds.iter_mut().find(|known| known.name == kind.name) {
            Some(known) => known.latency.merge(&kind.latency),
            None => all.kinds.push(kind),
        }
    }
    all.each_second.extend(slice.each_second);
    all.retries += slice.retries;
    all.failed += slice.failed;
    for (code, (count, message)) in slice.errors {
        all.errors.entry(code).or_insert((0, message)).0 += count;
    }
    all.lost += slice.lost;
    // Without the figures of one slice the sum would be too small.
    all.local = all.local.zip(slice.local).map(|(before, now)| Local {
        user_seconds: before.user_seconds + now.user_seconds,
        system_seconds: before.system_seconds + now.system_seconds,
        resident_kib: now.resident_kib,
    });
    all.client_cpu_seconds += slice.client_cpu_seconds;
}

/// All of them, in order; none of none.
pub fn together(slices: impl IntoIterator<Item = Outcome>) -> Option<Outcome> {
    slices.into_iter().reduce(|mut all, slice| {
        add(&mut all, slice);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn sums_are_those_of_the_slices() {
        let (a, mut b) = (samples::outcome("A", "tpcc", 16, 100.0), samples::outcome("A", "tpcc", 16, 300.0));
        b.errors.insert(1205, (2, "waited".to_owned()));
        let all = together([a.clone(), b.clone()]).unwrap();
        assert_eq!(all.transactions(), a.transactions() + b.transactions());
        assert_eq!((all.seconds, all.each_second.len(), all.retries, all.kinds.len()), (20.0, 20, 6, 2));
        assert_eq!((all.errors[&1213].0, all.errors[&1205].0), (6, 2));
        assert_eq!(all.local.unwrap().user_seconds, 10.0);
        assert_eq!(all.cpu_seconds_each(), Some(18.0 / all.transactions() as f64));
        b.local = None;
        assert!(together([a, b]).unwrap().local.is_none(), "a part of the processor's time is none");
        assert!(together([]).is_none());
    }
}
