//! Who has let go of its row locks and has not finished yet: its commit record is in the log, and the log is not durable up to there.
//!
//! A ring of words, each for 16 consecutive ids: a tag that says which 16, and a bit per id, set when it has released. A word goes
//! over to later ids when the first of those releases. Ids of the word before that are still to finish (somebody's sync takes longer than
//! 65,536 transactions) are put on a list first, and so are ids that release so late that their word is gone. Nobody asks about an id
//! that has finished, so nothing is ever cleared.
//!
//! Unlike the ring of finished bits this one has no window that moves: a releaser counts itself in nowhere, and a release is one
//! exchange on a word that it shares with its 15 neighbours.

use crate::platform::atomic::{AtomicU64, Ordering};
use crate::platform::latch::{Mutex, Rank};
use crate::platform::{RELEASED_WORDS, planted};

const GROUP_IDS: u64 = 16;
const BITS: u64 = (1 << GROUP_IDS) - 1;

const _: () = assert!(RELEASED_WORDS.is_power_of_two());

pub(crate) struct Released {
    /// Tag << 16 | bits; a tag only grows. Release on set, acquire on look: who sees a release sees the commit record before it.
    words: Box<[AtomicU64]>,
    /// Ids that have released, are unfinished, and whose word is gone. Changed before the word goes over.
    old: Mutex<Vec<u64>>,
}

/// The word, its tag and the bit of an id. Tags begin at 1: 0 is a word that nobody has used.
fn place(id: u64) -> (usize, u64, u64) {
    let group = id / GROUP_IDS;
    ((group % RELEASED_WORDS) as usize, group + 1, 1 << (id % GROUP_IDS))
}

impl Released {
    pub(crate) fn new() -> Released {
        let words = (0..RELEASED_WORDS).map(|_| AtomicU64::new(0)).collect();
        Released { words, old: Mutex::new(Rank::LongTxns, Vec::new()) }
    }

    /// Notes that `id` holds no locks any more. `is_active` says who has not finished.
    #[inline]
    pub(crate) fn release(&self, id: u64, is_active: impl Fn(u64) -> bool) {
        let (at, tag, bit) = place(id);
        let word = &self.words[at];
        let mut now = word.load(Ordering::Acquire);
        loop {
            let new = match now >> GROUP_IDS {
                current if current == tag => now | bit,
                current if current > tag => return self.release_late(id, is_active),
                _ => {
                    self.keep_unfinished(now, &is_active);
                    tag << GROUP_IDS | bit
                }
            };
            match word.compare_exchange_weak(now, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return,
                Err(other) => now = other,
            }
        }
    }

    /// A word is about to go over to later ids: whoever it has released and has not finished goes on the list.
    #[inline]
    fn keep_unfinished(&self, word: u64, is_active: &impl Fn(u64) -> bool) {
        let first = ((word >> GROUP_IDS).saturating_sub(1)) * GROUP_IDS;
        let mut bits = word & BITS;
        while bits != 0 {
            let id = first + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            if is_active(id) && !planted("word_taken_without_list") {
                self.release_late(id, is_active);
            }
        }
    }

    #[cold]
    fn release_late(&self, id: u64, is_active: impl Fn(u64) -> bool) {
        let mut old = self.old.lock();
        old.retain(|other| *other != id && is_active(*other));
        old.push(id);
    }

    /// Whether an unfinished `id` has released.
    #[inline]
    pub(crate) fn has_released(&self, id: u64) -> bool {
        let (at, tag, bit) = place(id);
        let word = self.words[at].load(Ordering::Acquire);
        match word >> GROUP_IDS {
            current if current == tag => word & bit != 0,
            current if current < tag => false,
            // Looked at after the word: the list was changed before the word went over.
            _ => self.old.lock().contains(&id),
        }
    }
}
