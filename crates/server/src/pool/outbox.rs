//! [`Outbox`]: replies of a post that are sent together.
//!
//! A reply wakes its client. Where client and server share processors the kernel lets that one run before whoever holds the post goes on: two switches of threads for each reply. So who
//! holds a post keeps short replies back while others are at hand to be served, and hands some of them to the kernel in one call, during which nobody takes its processor (docs/design/threads.md).
//!
//! # Invariants
//! 1. A guest whose reply stands here is in nobody's hands, and not watched: nothing of it is served before the reply has been sent.
//! 2. Whoever holds the post sends what stands here before it waits for anybody to speak, as soon as it begins to hold it, and once it holds it no more: who has lost the post in the middle of a statement adds that reply,
//!    and sends it. So no reply stays, whoever takes the post from whom.
//! 3. A reply waits for [`TOGETHER`] others at most, for [`PATIENCE`], and for the statement that is being served then, which is cut short by the monitor: as long as a command waits that came at the same time.

use super::platform::{Moment, Mutex, Rank, planted};
use std::time::Duration;

/// So many replies are sent at once. With 64 a client with a thread for each connection gained less: what a client is told is in no cache any more when its turn comes.
pub(crate) const TOGETHER: usize = 16;
/// No reply waits for others for longer.
pub(crate) const PATIENCE: Duration = Duration::from_micros(100);
/// A longer reply goes at once.
pub(crate) const REPLY_BYTES_MAX: usize = 4096;

/// Guests with their replies.
pub(crate) struct Replies<G> {
    /// Each with where its reply ends; it begins where that of the one before ends.
    guests: Vec<(Box<G>, usize)>,
    bytes: Vec<u8>,
    /// When the first of them came.
    since: Option<Moment>,
}

impl<G> Default for Replies<G> {
    fn default() -> Self {
        Self { guests: Vec::new(), bytes: Vec::new(), since: None }
    }
}

impl<G> Replies<G> {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.guests.len()
    }

    /// Each guest, and its reply.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&G, &[u8])> {
        let mut from = 0;
        self.guests.iter().map(move |(guest, end)| (&**guest, &self.bytes[std::mem::replace(&mut from, *end)..*end]))
    }

    /// Gives each guest away, with its reply, until none is left.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Box<G>, &[u8])) {
        let mut from = 0;
        for (guest, end) in self.guests.drain(..) {
            take(guest, &self.bytes[std::mem::replace(&mut from, end)..end]);
        }
        self.bytes.clear();
        self.since = None;
    }
}

/// A member's time at its post, which it holds when this begins, and may have lost when `serve` returns: `send` is called before and after.
pub(crate) fn while_held<D, R>(desk: &mut D, mut send: impl FnMut(&mut D), serve: impl FnOnce(&mut D) -> R) -> R {
    // Who held the post before may be in the middle of a statement.
    if !planted("replies_not_taken_over") {
        send(desk);
    }
    let served = serve(desk);
    // Of a statement that went on after the post was lost.
    if !planted("last_reply_left") {
        send(desk);
    }
    served
}

/// See the module.
pub(crate) struct Outbox<G> {
    waiting: Mutex<Replies<G>>,
}

impl<G> Outbox<G> {
    /// Nothing is to be sent.
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::new(Rank::Leaf, Replies::default()) }
    }

    /// Keeps a guest and its reply, which comes at this moment. Whether all are to be sent now.
    pub(crate) fn add(&self, guest: Box<G>, reply: &[u8], now: Moment) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.bytes.extend_from_slice(reply);
        let end = waiting.bytes.len();
        waiting.guests.push((guest, end));
        waiting.len() >= TOGETHER || now.is_past(*waiting.since.get_or_insert(now), PATIENCE)
    }

    /// Exchanges what stands here for `replies`, in which there is nothing. Whether there was anything.
    pub(crate) fn take(&self, replies: &mut Replies<G>) -> bool {
        let mut waiting = self.waiting.lock();
        if waiting.guests.is_empty() {
            return false;
        }
        std::mem::swap(&mut *waiting, replies);
        true
    }
}
