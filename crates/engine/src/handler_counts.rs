//! What a session asks of its tables, counted as MySQL counts the calls of its storage engines (`Handler_…` of SHOW STATUS).
//!
//! Who asks counts: a scan once for each batch of rows, so that a row costs nothing.
//!
//! # Invariants
//! 1. Only the session's own thread writes, so adding is a load and a store; others add the counts of all sessions up.

use crate::scan::{Direction, Scan};
use sync::CachePadded;
use sync::atomic::{AtomicU64, Ordering};

macro_rules! calls {
    ($($(#[doc = $doc:literal])* $call:ident = $name:literal),* $(,)?) => {
        /// A kind of call.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum HandlerCall { $($(#[doc = $doc])* $call,)* }

        const NAMES: [&str; [$($name),*].len()] = [$($name),*];
    };
}

calls! {
    /// A transaction, or a statement within one, was committed.
    Commit = "Handler_commit",
    /// A row was deleted.
    Delete = "Handler_delete",
    /// A table was used by a statement, and let go.
    ExternalLock = "Handler_external_lock",
    /// The first entry of an index was looked for.
    ReadFirst = "Handler_read_first",
    /// A row was looked for by a key.
    ReadKey = "Handler_read_key",
    /// The last entry of an index was looked for.
    ReadLast = "Handler_read_last",
    /// The next entry of an index.
    ReadNext = "Handler_read_next",
    /// The entry before, of an index.
    ReadPrevious = "Handler_read_prev",
    /// A row by a key that was kept before.
    ReadKept = "Handler_read_rnd",
    /// The next row of a table that is read whole.
    ReadTable = "Handler_read_rnd_next",
    /// A transaction, or a statement within one, was rolled back.
    Rollback = "Handler_rollback",
    /// A savepoint was set.
    Savepoint = "Handler_savepoint",
    /// A transaction was rolled back to a savepoint.
    SavepointRollback = "Handler_savepoint_rollback",
    /// A row was changed.
    Update = "Handler_update",
    /// A row was inserted, or was to be.
    Write = "Handler_write",
}

/// Where among the counts stands how often a read gave no row: beside those that MySQL names, as a read is counted before it is known what it gives.
const MISSES: usize = NAMES.len();

/// The counts of a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HandlerCalls([u64; NAMES.len() + 1]);

impl HandlerCalls {
    /// Adds those of another session.
    pub fn add(&mut self, other: &HandlerCalls) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, count)| *sum = sum.wrapping_add(*count));
    }

    /// Those that came after an earlier moment.
    #[must_use]
    pub fn since(&self, before: &HandlerCalls) -> HandlerCalls {
        HandlerCalls(std::array::from_fn(|at| self.0[at].wrapping_sub(before.0[at])))
    }

    /// How often there was such a call.
    pub fn of(&self, call: HandlerCall) -> u64 {
        self.0[call as usize]
    }

    /// Rows that were read: of each range its last read gave none.
    pub fn rows_examined(&self) -> u64 {
        use HandlerCall::{ReadKept, ReadKey, ReadNext, ReadPrevious, ReadTable};
        let reads: u64 = [ReadKey, ReadNext, ReadPrevious, ReadKept, ReadTable].into_iter().map(|call| self.of(call)).sum();
        reads.saturating_sub(self.0[MISSES])
    }

    /// MySQL's names, with the counts.
    pub fn list(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        NAMES.iter().copied().zip(self.0.iter().copied())
    }
}

/// The counts of one session.
#[derive(Debug, Default)]
pub struct HandlerCounts(CachePadded<[AtomicU64; NAMES.len() + 1]>);

impl HandlerCounts {
    /// Counts calls. Only the session's thread may.
    #[inline]
    pub fn add(&self, call: HandlerCall, count: u64) {
        self.add_at(call as usize, count);
    }

    /// Counts reads that gave no row, and were counted as reads. Only the session's thread may.
    #[inline]
    pub fn add_misses(&self, count: u64) {
        self.add_at(MISSES, count);
    }

    #[inline]
    fn add_at(&self, at: usize, count: u64) {
        let counter = &self.0[at];
        // Relaxed: counts order nothing.
        counter.store(counter.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// The counts now.
    pub fn now(&self) -> HandlerCalls {
        HandlerCalls(std::array::from_fn(|at| self.0[at].load(Ordering::Relaxed)))
    }
}

impl Scan<'_> {
    /// Counts what the scan has shown since this was called last: so many rows, and whether its end was found behind them.
    pub fn count(&mut self, rows: usize, ended: bool) {
        let (state, counts) = (&mut self.state, &*self.session.handler_counts);
        let backward = state.direction == Direction::Backward;
        let from_end = if backward { state.range.upper.is_empty() } else { state.range.lower.is_empty() };
        let is_table = from_end && !backward && state.range.upper.is_empty() && state.index_no == 0;
        let mut calls = rows as u64 + u64::from(ended);
        let mut reads = 0;
        if !std::mem::replace(&mut state.counted, true) {
            counts.add(HandlerCall::ReadKey, 1);
            reads = 1;
            if from_end {
                counts.add(if backward { HandlerCall::ReadLast } else { HandlerCall::ReadFirst }, 1);
            }
            // The first row comes with its key.
            calls = calls.saturating_sub(u64::from(!is_table));
        }
        let step = match (is_table, backward) {
            (true, _) => HandlerCall::ReadTable,
            (false, true) => HandlerCall::ReadPrevious,
            (false, false) => HandlerCall::ReadNext,
        };
        counts.add(step, calls);
        counts.add_misses((reads + calls).saturating_sub(rows as u64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_shown_by_name_and_begin_anew() {
        let counts = HandlerCounts::default();
        counts.add(HandlerCall::Write, 2);
        counts.add(HandlerCall::Commit, 1);
        let before = counts.now();
        counts.add(HandlerCall::Write, 5);
        counts.add(HandlerCall::ReadKey, 3);
        counts.add(HandlerCall::ReadTable, 5);
        counts.add_misses(2);
        assert_eq!((counts.now().rows_examined(), counts.now().of(HandlerCall::Write)), (6, 7));
        let of = |calls: HandlerCalls, name: &str| calls.list().find(|(own, _)| *own == name).map(|(_, count)| count);
        assert_eq!(of(counts.now(), "Handler_write"), Some(7));
        assert_eq!(of(counts.now().since(&before), "Handler_write"), Some(5));
        assert_eq!(of(counts.now().since(&before), "Handler_commit"), Some(0));
        let mut sum = before;
        sum.add(&counts.now());
        assert_eq!((of(sum, "Handler_write"), of(sum, "Handler_commit")), (Some(9), Some(2)));
        assert!(NAMES.is_sorted());
    }
}
