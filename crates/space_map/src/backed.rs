//! Which extents have room on the device, as far as is known.
//!
//! A page that lies in a hole of the data file (punched out, or never written in a restored file) takes room when it is written, which may be long after the
//! change of it was acknowledged, and the device may have none then. So room is reserved before a page is given out, once for each extent.

/// A set of extents. What is not in it may have room all the same.
#[derive(Debug, Default)]
pub(crate) struct Backed {
    words: Vec<u64>,
    /// Grows with each [`Backed::punched`].
    punches: u64,
}

/// What a reservation begins with: see [`Backed::reserved`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begun(u64);

impl Backed {
    pub fn has(&self, extent: u64) -> bool {
        self.words.get((extent / 64) as usize).is_some_and(|word| word >> (extent % 64) & 1 == 1)
    }

    /// Before room is reserved.
    pub fn begin(&self) -> Begun {
        Begun(self.punches)
    }

    /// Room was reserved for these extents since `begun`. When something was punched out meanwhile that counts for nothing, as it may have been there.
    pub fn reserved(&mut self, begun: Begun, extents: std::ops::Range<u64>) {
        if begun.0 != self.punches {
            return;
        }
        for extent in extents {
            let word = (extent / 64) as usize;
            if self.words.len() <= word {
                self.words.resize(word + 1, 0);
            }
            self.words[word] |= 1 << (extent % 64);
        }
    }

    /// Pages of the extent were punched out. Called before they can be had again.
    pub fn punched(&mut self, extent: u64) {
        self.punches += 1;
        if let Some(word) = self.words.get_mut((extent / 64) as usize) {
            *word &= !(1 << (extent % 64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_counts_unless_something_was_punched_out_meanwhile() {
        let mut backed = Backed::default();
        let begun = backed.begin();
        backed.reserved(begun, 60..70);
        assert!(backed.has(60) && backed.has(69) && !backed.has(70) && !backed.has(59));
        let begun = backed.begin();
        backed.punched(63);
        backed.reserved(begun, 63..64);
        assert!(!backed.has(63) && backed.has(64));
        backed.reserved(backed.begin(), 63..64);
        assert!(backed.has(63));
    }
}
