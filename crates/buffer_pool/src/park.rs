//! Where threads sleep that wait for a page latch: hashed buckets of queues. Each thread sleeps on a futex word of its own, so a release
//! wakes exactly whom it chose.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::{CachePadded, Mutex, Rank, futex};

use crate::word::{Park, Parked, Want};

const BUCKETS: usize = 256;

const ASLEEP: u32 = 0;
const CHOSEN: u32 = 1;
/// Chosen, and others are left.
const CHOSEN_WITH_OTHERS: u32 = 2;

struct Waiter {
    key: u64,
    want: Want,
    /// The sleeper's own word: [`ASLEEP`] until chosen, then one of the others.
    word: Arc<AtomicU32>,
}

/// All parked threads of a pool.
pub(crate) struct ParkingLot {
    buckets: Box<[CachePadded<Mutex<VecDeque<Waiter>>>]>,
    parked: AtomicU64,
}

thread_local! {
    static OWN_WORD: RefCell<Option<Arc<AtomicU32>>> = const { RefCell::new(None) };
}

fn own_word() -> Arc<AtomicU32> {
    OWN_WORD.with(|word| Arc::clone(word.borrow_mut().get_or_insert_with(|| Arc::new(AtomicU32::new(ASLEEP)))))
}

impl ParkingLot {
    pub fn new() -> ParkingLot {
        let buckets = (0..BUCKETS).map(|_| CachePadded::new(Mutex::new(Rank::Leaf, VecDeque::new()))).collect();
        ParkingLot { buckets, parked: AtomicU64::new(0) }
    }

    /// Times a thread went to sleep for a page latch.
    pub fn parked_total(&self) -> u64 {
        self.parked.load(Ordering::Relaxed)
    }

    fn bucket(&self, key: u64) -> &Mutex<VecDeque<Waiter>> {
        &self.buckets[(key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize % BUCKETS]
    }
}

fn chosen(state: u32) -> Parked {
    Parked::Chosen { others: state == CHOSEN_WITH_OTHERS }
}

impl Park for ParkingLot {
    fn park(
        &self,
        key: u64,
        want: Want,
        again: bool,
        deadline: Option<Instant>,
        still_blocked: impl FnOnce() -> bool,
        alone: impl FnOnce(),
    ) -> Parked {
        let word = own_word();
        {
            let mut queue = self.bucket(key).lock();
            if !still_blocked() {
                return Parked::Retry;
            }
            word.store(ASLEEP, Ordering::Relaxed);
            let waiter = Waiter { key, want, word: Arc::clone(&word) };
            if again {
                queue.push_front(waiter);
            } else {
                queue.push_back(waiter);
            }
        }
        self.parked.fetch_add(1, Ordering::Relaxed);
        loop {
            // Acquire: pairs with the store of the chooser; what it did before is seen when the latch word is read again.
            match word.load(Ordering::Acquire) {
                ASLEEP => {}
                state => return chosen(state),
            }
            futex::wait(&word, ASLEEP, deadline);
            if deadline.is_some_and(|d| d <= Instant::now()) {
                let mut queue = self.bucket(key).lock();
                let Some(place) = queue.iter().position(|w| Arc::ptr_eq(&w.word, &word)) else {
                    // Chosen at the last moment; the choice must be used, or the wake-up would be lost.
                    return chosen(word.load(Ordering::Acquire));
                };
                queue.remove(place);
                if !queue.iter().any(|w| w.key == key) {
                    alone();
                }
                return Parked::TimedOut;
            }
        }
    }

    fn unpark(&self, key: u64, clear: impl FnOnce()) {
        let mut chosen: SmallVec<[Arc<AtomicU32>; 4]> = SmallVec::new();
        {
            let mut queue = self.bucket(key).lock();
            let mut place = 0;
            // Whether somebody is chosen who takes the latch, and so will release it.
            let mut taken = false;
            while place < queue.len() {
                if queue[place].key != key {
                    place += 1;
                    continue;
                }
                if queue[place].want == Want::Exclusive && taken {
                    break;
                }
                let Some(waiter) = queue.remove(place) else { break };
                let alone = waiter.want == Want::Exclusive;
                taken |= waiter.want != Want::Look;
                chosen.push(waiter.word);
                if alone {
                    break;
                }
            }
            let others = queue.iter().skip(place).any(|w| w.key == key);
            clear();
            // Under the mutex, so that a sleeper at its deadline that no longer finds itself queued knows it was chosen.
            for word in &chosen {
                word.store(if others { CHOSEN_WITH_OTHERS } else { CHOSEN }, Ordering::Release);
            }
        }
        for word in chosen {
            futex::wake(&word, 1);
        }
    }
}
