//! [`Follows`]: how often a post's guests may go to another post because their clients are on its processor now.
//!
//! To go costs two calls of the kernel, and a place in another list of sockets. It pays for a client with a thread of its own, which stays where it is for hundreds of commands. A client that has
//! hundreds of connections on each of a few threads takes them all along whenever the kernel exchanges two threads, every few milliseconds: sessions that followed each time came too late, and
//! were to go back. So of many looks few may end in a move (docs/design/threads.md).

use super::platform::atomic::{AtomicU32, Ordering};

/// One of so many looks may; those that could not end in a move are left out, though they count. A client with a thread for each of its connections loses nothing by 8; with 32 one of 1,024 threads lost 7 %, with 128 one of 128 threads 5 %.
const LOOKS_A_MOVE: u32 = 8;
/// So many moves may be put by: clients that have just come are soon served where they are.
const MOVES_KEPT: u32 = 64;

/// Of one post. Relaxed: who does not hold the post looks seldom, and a look that is not counted matters to nobody.
pub(crate) struct Follows {
    looks: AtomicU32,
}

impl Default for Follows {
    fn default() -> Self {
        Self { looks: AtomicU32::new(LOOKS_A_MOVE * MOVES_KEPT) }
    }
}

impl Follows {
    /// A look is due where a guest's client is. Whether it is worth a call of the kernel: the guest might go there.
    #[inline]
    pub(crate) fn may(&self) -> bool {
        let looks = (self.looks.load(Ordering::Relaxed) + 1).min(LOOKS_A_MOVE * MOVES_KEPT);
        self.looks.store(looks, Ordering::Relaxed);
        looks >= LOOKS_A_MOVE
    }

    /// The guest goes.
    #[inline]
    pub(crate) fn goes(&self) {
        self.looks.store(self.looks.load(Ordering::Relaxed).saturating_sub(LOOKS_A_MOVE), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Those who have come may all go; who goes to and fro may seldom; whose clients stay have moves put by, but not without end.
    #[test]
    fn few_of_many_looks_move() {
        let follows = Follows::default();
        let goes = |elsewhere: bool| {
            let goes = follows.may() && elsewhere;
            if goes {
                follows.goes();
            }
            goes
        };
        let moves = |looks: u32, every: u32| (1..=looks).filter(|look| goes(look % every == 0)).count() as u32;
        assert_eq!(moves(MOVES_KEPT, 1), MOVES_KEPT);
        let restless = LOOKS_A_MOVE * 1000;
        assert!((1000..1010).contains(&moves(restless, 2)), "a move for each {LOOKS_A_MOVE} looks, and what was kept");
        assert_eq!(moves(2 * LOOKS_A_MOVE * 100, 2 * LOOKS_A_MOVE), 100, "a client that stays for long is followed each time");
        assert_eq!(moves(1_000_000, u32::MAX), 0);
        let looks = 4 * MOVES_KEPT;
        assert!((MOVES_KEPT..=MOVES_KEPT + looks / LOOKS_A_MOVE).contains(&moves(looks, 1)), "what was put by has a bound");
    }
}
