//! Random numbers from a seed.

use env::SplitMix64;

/// What is drawn for: the same seed gives each of them choices of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    /// What kind of run it is.
    Options,
    /// One life of the engine, by number.
    Life(u32),
    /// Its end.
    End(u32),
    /// One step, by number.
    Step(u32),
    /// What the disk does with unsynced changes at the end of a life.
    Disk(u32),
}

/// Choices from a seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64, purpose: Purpose) -> Random {
        let (kind, no) = match purpose {
            Purpose::Options => (1u64, 0),
            Purpose::Life(no) => (2, no),
            Purpose::End(no) => (3, no),
            Purpose::Step(no) => (4, no),
            Purpose::Disk(no) => (5, no),
        };
        let mut mixed = SplitMix64::new(seed ^ 0x5EED_0F5E_ED0F_5EED);
        let first = mixed.next();
        Random(SplitMix64::new(first ^ (kind << 40 | u64::from(no)).wrapping_mul(0x9E37_79B9_7F4A_7C15)))
    }

    /// Choices that follow from where these stand and leave them as they are.
    pub(crate) fn apart(other: &Random) -> Random {
        Random(SplitMix64::new(other.clone().next() ^ 0xA9A2_7A9A_2700_1121))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// In `0..bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "nothing to choose from");
        (self.next() % bound as u64) as usize
    }

    /// In `from..=to`.
    pub(crate) fn between(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    pub(crate) fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
