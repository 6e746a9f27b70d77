//! Random numbers from a seed.

use env::SplitMix64;

/// Choices from a seed; other ones than the simulated disk's of the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::new(seed ^ 0x5EED_0F5E_ED0F_5EED))
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
