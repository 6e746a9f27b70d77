//! Randomness: from the kernel, or from a seed.

use sync::{Mutex, Rank};

/// Where random bytes come from.
pub trait Entropy: Send + Sync {
    /// Fills `out`.
    fn fill(&self, out: &mut [u8]);

    /// A random word.
    fn next_u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }
}

/// The kernel's cryptographic generator.
#[derive(Debug, Default)]
pub struct RealEntropy;

impl Entropy for RealEntropy {
    fn fill(&self, out: &mut [u8]) {
        let mut done = 0;
        while done < out.len() {
            let rest = &mut out[done..];
            // SAFETY: the pointer and length describe `rest`, which is exclusively borrowed.
            let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
            match usize::try_from(got) {
                Ok(got) => done += got,
                Err(_) => {
                    let error = std::io::Error::last_os_error();
                    // Without randomness no password exchange is safe; the kernel fails here only for a signal.
                    assert!(error.kind() == std::io::ErrorKind::Interrupted, "getrandom: {error}");
                }
            }
        }
    }
}

/// Repeatable bytes from a seed. Not for secrets.
#[derive(Debug)]
pub struct SimEntropy {
    rng: Mutex<SplitMix64>,
}

impl SimEntropy {
    /// The same seed gives the same bytes.
    pub fn new(seed: u64) -> Self {
        SimEntropy { rng: Mutex::new(Rank::Leaf, SplitMix64::new(seed)) }
    }
}

impl Entropy for SimEntropy {
    fn fill(&self, out: &mut [u8]) {
        let mut rng = self.rng.lock();
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&rng.next().to_le_bytes()[..chunk.len()]);
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014): small, repeatable, good enough for simulated faults.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The same seed gives the same words.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next word.
    #[allow(clippy::should_implement_trait)] // it never ends, so it is no iterator
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform enough in `0..bound`; `bound` is positive.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// At least 0 and less than 1.
    pub fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// One of a list that is not empty.
    pub fn pick<T: Clone>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize].clone()
    }

    /// True half of the time.
    pub fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_repeats_and_the_kernel_does_not() {
        assert_eq!(SimEntropy::new(5).next_u64(), SimEntropy::new(5).next_u64());
        assert_ne!(SimEntropy::new(5).next_u64(), SimEntropy::new(6).next_u64());
        assert_ne!(RealEntropy.next_u64(), RealEntropy.next_u64());
    }
}
