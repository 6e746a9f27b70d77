//! What rows of tables told of their columns, kept for statements that are planned soon after: reading them takes longer than all the rest of planning.
//!
//! # Invariants
//! 1. Only estimates rest on a sample: one that is old costs a slower plan at most.
//! 2. One is used as long as nothing was written to the log since it was taken, else for [`FRESH_MICROS`], for tables of about as many rows and of the same definition.
//! 3. What is kept is bounded by its bytes.
//! 4. Who looks for one takes the latch of one shard, shared; rows are read without any.

use base::{Lsn, TableId};
use engine::Engine;
use planner::sample::{Sample, SampleOf};
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::{CachePadded, Rank, RwLock};

/// How long a sample is good beside writers.
const FRESH_MICROS: u64 = 5_000_000;
/// Nor is one used once there are so many times as many rows, or as few.
const GROWN: u64 = 2;

const SHARDS: usize = 32;
/// Bytes of a shard's samples; 32 MiB for all.
const SHARD_BYTES_MAX: usize = 1 << 20;

/// When rows are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    micros: i64,
    /// Where the log ends.
    lsn: Lsn,
}

impl Moment {
    /// Now.
    pub fn now(engine: &Engine) -> Moment {
        Moment { micros: engine.wall_micros(), lsn: engine.wal().lsn_head() }
    }

    /// Whether what was seen then is likely to be so still.
    fn is_near(self, then: Moment) -> bool {
        self.lsn == then.lsn || self.micros.abs_diff(then.micros) <= FRESH_MICROS
    }
}

/// What was found by looking.
struct Kept {
    /// `None` where too few rows were found to tell anything.
    sample: Option<Arc<Sample>>,
    /// Rows that there were.
    rows: u64,
    /// Before they were read.
    taken: Moment,
}

impl Kept {
    fn bytes(&self) -> usize {
        size_of::<(SampleOf, Kept)>() + self.sample.as_ref().map_or(0, |sample| sample.bytes())
    }
}

#[derive(Default)]
struct Shard {
    samples: hashbrown::HashMap<SampleOf, Kept, foldhash::fast::FixedState>,
    bytes: usize,
}

impl Shard {
    fn remove(&mut self, of: &SampleOf) {
        if let Some(old) = self.samples.remove(of) {
            self.bytes -= old.bytes();
        }
    }

    /// Gives up what was taken too long ago, and all if that leaves too little room.
    fn make_room(&mut self, bytes: usize, now: Moment) {
        self.samples.retain(|_, kept| now.micros.abs_diff(kept.taken.micros) <= FRESH_MICROS);
        self.bytes = self.samples.values().map(Kept::bytes).sum();
        if self.bytes + bytes > SHARD_BYTES_MAX {
            *self = Shard::default();
        }
    }
}

/// The server's samples.
pub struct Samples {
    shards: Box<[CachePadded<RwLock<Shard>>]>,
}

impl Samples {
    /// None yet.
    pub fn new() -> Samples {
        Samples { shards: (0..SHARDS).map(|_| CachePadded::new(RwLock::new(Rank::Leaf, Shard::default()))).collect() }
    }

    fn shard(&self, of: &SampleOf) -> &RwLock<Shard> {
        &self.shards[foldhash::fast::FixedState::default().hash_one(of) as usize % SHARDS]
    }

    /// The sample of a column of tables that have so many rows: one that is kept, or else what `take` finds.
    pub fn of(&self, now: Moment, of: &SampleOf, rows: u64, take: &mut dyn FnMut() -> Option<Sample>) -> Option<Arc<Sample>> {
        let is_fresh = |kept: &Kept| {
            let is_as_large = rows <= kept.rows.saturating_mul(GROWN) && kept.rows <= rows.saturating_mul(GROWN);
            is_as_large && now.is_near(kept.taken)
        };
        if let Some(kept) = self.shard(of).read().samples.get(of).filter(|kept| is_fresh(kept)) {
            return kept.sample.clone();
        }
        let sample = take().map(Arc::new);
        self.keep(*of, Kept { sample: sample.clone(), rows, taken: now });
        sample
    }

    fn keep(&self, of: SampleOf, kept: Kept) {
        let bytes = kept.bytes();
        if bytes > SHARD_BYTES_MAX / 4 {
            return;
        }
        // The server's from now on, and not the statement's that has taken it.
        memory::transfer(bytes as i64);
        let mut shard = self.shard(&of).write();
        shard.remove(&of);
        if shard.bytes + bytes > SHARD_BYTES_MAX {
            shard.make_room(bytes, kept.taken);
        }
        shard.bytes += bytes;
        shard.samples.insert(of, kept);
    }

    /// Forgets what is kept of a table: somebody asks for its figures to be made anew.
    pub fn forget(&self, table: TableId) {
        for shard in &self.shards {
            let of_table: Vec<SampleOf> = shard.read().samples.keys().filter(|of| of.reads(table)).copied().collect();
            of_table.iter().for_each(|of| shard.write().remove(of));
        }
    }

    /// Bytes of what is kept.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(|shard| shard.read().bytes as u64).sum()
    }
}

impl Default for Samples {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planner::sample::ColumnOf;
    use types::Value;

    fn column(table: u32) -> SampleOf {
        SampleOf { column: ColumnOf { table: TableId(table), schema_version: 0, column: 1 }, through: None }
    }

    fn numbers() -> Option<Sample> {
        Sample::of((0..100).map(Value::Int).collect(), 1000.0)
    }

    /// How often rows were looked at.
    #[track_caller]
    fn check(samples: &Samples, of: SampleOf, now: Moment, rows: u64, looks: usize) {
        let mut looked = 0;
        let found = samples.of(now, &of, rows, &mut || {
            looked += 1;
            numbers()
        });
        assert!(found.is_some_and(|sample| sample.count() == 100));
        assert_eq!(looked, looks);
    }

    #[test]
    fn rows_are_looked_at_again_when_they_may_be_others() {
        let samples = Samples::new();
        let at = |micros: u64, lsn| Moment { micros: micros as i64, lsn: Lsn(lsn) };
        check(&samples, column(1), at(0, 7), 1000, 1);
        check(&samples, column(1), at(0, 7), 1000, 0);
        check(&samples, column(2), at(0, 7), 1000, 1);
        check(&samples, column(1), at(1000 * FRESH_MICROS, 7), 2000, 0);
        check(&samples, column(1), at(FRESH_MICROS, 8), 500, 0);
        check(&samples, column(1), at(FRESH_MICROS + 1, 8), 1000, 1);
        check(&samples, column(1), at(FRESH_MICROS + 1, 8), 2001, 1);
        check(&samples, column(1), at(FRESH_MICROS + 1, 8), 1000, 1);
        samples.forget(TableId(1));
        check(&samples, column(1), at(FRESH_MICROS + 1, 8), 1000, 1);
        check(&samples, column(2), at(FRESH_MICROS, 8), 1000, 0);
        let through = SampleOf { through: Some(column(1).column), ..column(3) };
        check(&samples, through, at(0, 7), 1000, 1);
        samples.forget(TableId(1));
        check(&samples, through, at(0, 7), 1000, 1);
    }

    #[test]
    fn that_rows_tell_nothing_is_kept_too() {
        let samples = Samples::new();
        let now = Moment { micros: 0, lsn: Lsn(1) };
        assert!(samples.of(now, &column(1), 300, &mut || None).is_none());
        assert!(samples.of(now, &column(1), 300, &mut || numbers()).is_none());
    }

    #[test]
    fn bytes_are_bounded() {
        let samples = Samples::new();
        let now = Moment { micros: 0, lsn: Lsn(1) };
        let long = |bytes: usize| Sample::of(vec![Value::from("x".repeat(bytes)); 100], 1000.0);
        for table in 0..2000 {
            samples.of(now, &column(table), 1000, &mut || long(1000));
            assert!(samples.bytes() <= (SHARDS * SHARD_BYTES_MAX) as u64);
        }
        assert!(samples.bytes() > (SHARDS * SHARD_BYTES_MAX / 4) as u64);
        samples.of(now, &column(2001), 1000, &mut || long(SHARD_BYTES_MAX / 100));
        let again = samples.of(now, &column(2001), 1000, &mut || None);
        assert!(again.is_none(), "one so large is not kept");
    }
}
