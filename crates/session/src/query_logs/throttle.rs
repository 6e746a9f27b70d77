//! `log_throttle_queries_not_using_indexes`: so many entries a minute of statements that are in the slow log only because they used no index.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(60);

/// What was left out of a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LeftOut {
    pub statements: u64,
    pub micros: u64,
    pub lock_micros: u64,
    pub rows_sent: u64,
    pub rows_examined: u64,
}

/// The minute that counts: it begins with its first such statement.
#[derive(Debug, Default)]
pub(super) struct Throttle {
    began: Option<Instant>,
    written: u64,
    left_out: LeftOut,
}

impl Throttle {
    /// What is to be told of a minute that is over, or that a new limit ends.
    pub(super) fn over(&mut self, now: Instant, limit: u64) -> Option<LeftOut> {
        let lasts = limit > 0 && self.began.is_some_and(|began| now.saturating_duration_since(began) < WINDOW);
        if lasts {
            return None;
        }
        let left_out = std::mem::take(self).left_out;
        (left_out.statements > 0).then_some(left_out)
    }

    /// Whether a statement is written; one that is not is counted.
    pub(super) fn admit(&mut self, now: Instant, limit: u64, of: LeftOut) -> bool {
        if limit == 0 {
            return true;
        }
        self.began.get_or_insert(now);
        if self.written < limit {
            self.written += 1;
            return true;
        }
        let sum = &mut self.left_out;
        sum.statements += 1;
        sum.micros = sum.micros.saturating_add(of.micros);
        sum.lock_micros = sum.lock_micros.saturating_add(of.lock_micros);
        sum.rows_sent = sum.rows_sent.saturating_add(of.rows_sent);
        sum.rows_examined = sum.rows_examined.saturating_add(of.rows_examined);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_minute_has_so_many_entries_and_then_a_sum() {
        let (mut throttle, start) = (Throttle::default(), Instant::now());
        let of = LeftOut { statements: 1, micros: 10, lock_micros: 1, rows_sent: 2, rows_examined: 3 };
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!((0..4).map(|_| throttle.admit(at(1), 2, of)).collect::<Vec<_>>(), [true, true, false, false]);
        assert_eq!(throttle.over(at(60), 2), None);
        let sum = LeftOut { statements: 2, micros: 20, lock_micros: 2, rows_sent: 4, rows_examined: 6 };
        assert_eq!((throttle.over(at(61), 2), throttle.over(at(61), 2)), (Some(sum), None));
        assert!(throttle.admit(at(61), 1, of) && !throttle.admit(at(62), 1, of));
        // Without a limit what was left out is told at once.
        assert_eq!(throttle.over(at(63), 0).map(|sum| sum.statements), Some(1));
        assert!((0..9).all(|_| throttle.admit(at(64), 0, of)) && throttle.over(at(200), 0).is_none());
    }
}
