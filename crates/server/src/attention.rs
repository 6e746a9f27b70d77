//! [`Attention`]: what is done for a lone client that answers at once.
//!
//! With one client at work everybody sleeps between two commands: the reply wakes the client, the command wakes the thread, each on an idle processor, which takes longer than a point select. So where the client is *alone*
//! and has been *quick* of late, either the [stand-in](crate::stand_in) is called, beside which client and thread share a processor (two processors, a client of this machine), or the thread looks for the next command
//! (receives without waiting, again and again) before it sleeps. Both cost processor time that nobody else wants, and bring what one connection does in a second to three or two times as much (docs/performance.md).
//!
//! # Invariants
//! 1. One thread looks at most, and none where others of sessions are at work; one session calls the stand-in, or two of which one waits now and then; nobody does either on one processor, or where a quota bounds the process.
//! 2. A look ends after `altiplano_look_for_client` microseconds. Who looks in vain pauses for some quick commands, for twice as many after each other such look.
//! 3. What waits for the disk gains little, or loses: a client is quick for looks if less than two such moments lie between the arrivals of two commands, prompt for the stand-in if they come [`SOON`] and behind
//!    statements that did not wait.

use crate::crowd::{Counted, Crowd};
use crate::pool::{Processors, stand_aside};
use crate::socket::Socket;
use crate::stand_in::StandIn;
use crate::transport::Layers;
use session::connections::Connection;
use std::time::Duration;
use sync::atomic::{AtomicU32, AtomicU64, Ordering};
use sync::moment::nanoseconds;
use sync::{CachePadded, Moment};

/// So many quick commands in a row, and the thread looks.
const QUICK: u32 = 2;
/// Commands within such a time are soon enough for the stand-in to be worth while.
const SOON: Duration = Duration::from_micros(200);
/// So many commands in a row of one session, and it is alone; of two, and they are.
const ALONE: u32 = 64;
/// Of two sessions one has waited within so many commands, or none of both processors is idle anyway.
const WAITED: u32 = 64;
/// Quick commands without a look after one in vain, at first; twice as many after each other one.
const PAUSE_MIN: u32 = 2;
/// The same, at most.
const PAUSE_MAX: u32 = 1024;
/// So many looks that found the client halve that number again.
const FOUND: u32 = 32;
/// Receives between two reads of the clock.
const RECEIVES: u32 = 8;
/// In so many looks it is asked once whether the client runs on the same processor.
const ASIDE: u32 = 32;

/// How a client has answered of late.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Quick commands in a row.
    quick: u32,
    /// Commands in a row between which no other session has sent any.
    alone: u32,
    /// The same, of this session and one other.
    of_two: u32,
    /// So many quick commands are to pass without a look.
    pause: u32,
    /// How long the next pause is.
    next_pause: u32,
    /// Looks that found it since the last one that did not.
    found: u32,
    looks: u32,
    /// Commands in a row that came soon and behind statements that did not wait.
    prompt: u32,
    /// How often its thread had waited when the last one came.
    waits: u64,
    /// Commands since it has.
    since_wait: u32,
    /// When its last command came.
    last: Option<Moment>,
    /// Whether the client is on this machine, once somebody has asked.
    is_local: Option<bool>,
    counted: Counted,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            quick: 0,
            alone: 0,
            of_two: 0,
            pause: 0,
            next_pause: PAUSE_MIN,
            found: 0,
            looks: 0,
            prompt: 0,
            waits: 0,
            since_wait: WAITED,
            last: None,
            is_local: None,
            counted: Counted::default(),
        }
    }
}

impl Pace {
    /// A command came, when the thread had waited (for the disk, a row, …) so often.
    fn came(&mut self, now: Moment, moment: Duration, waits: u64) {
        let since = self.last.replace(now).map_or(u64::MAX, |last| now.since(last));
        let has_waited = std::mem::replace(&mut self.waits, waits) != waits;
        self.since_wait = if has_waited { 0 } else { self.since_wait.saturating_add(1) };
        self.prompt = if has_waited || since >= nanoseconds(SOON) { 0 } else { self.prompt.saturating_add(1) };
        if since < 2 * nanoseconds(moment) {
            self.quick = self.quick.saturating_add(1);
            self.pause = self.pause.saturating_sub(1);
        } else {
            self.quick = 0;
        }
    }

    fn is_quick(&self) -> bool {
        self.quick >= QUICK && self.pause == 0
    }

    fn is_local(&mut self, socket: &Socket) -> bool {
        *self.is_local.get_or_insert_with(|| socket.is_local())
    }

    fn looked(&mut self, found: bool) {
        if found {
            self.found += 1;
            if self.found.is_multiple_of(FOUND) {
                self.next_pause = (self.next_pause / 2).max(PAUSE_MIN);
            }
        } else {
            self.pause = self.next_pause;
            self.next_pause = (self.next_pause * 2).min(PAUSE_MAX);
            self.found = 0;
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Attention {
    /// Threads that serve one session each and do not wait for its client. Relaxed: an old number costs a look more, or less.
    at_work: CachePadded<AtomicU32>,
    /// The session whose command came last, and in the upper half the one before it. Relaxed, and written only when it is another one than before.
    last: AtomicU64,
    /// Whether anybody looks.
    looks: bool,
    moment: Duration,
    /// Whether many are at work.
    crowd: Crowd,
    /// What keeps the other processor busy, where there is just one other.
    stand_in: Option<StandIn>,
    /// Relaxed, like all counts.
    found: AtomicU64,
    in_vain: AtomicU64,
}

/// A thread that serves a session, until this is dropped.
pub(crate) struct Awake<'a>(&'a Attention);

/// It waits for its client, until this is dropped.
pub(crate) struct Asleep<'a>(&'a Attention);

impl Drop for Awake<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Asleep<'_> {
    fn drop(&mut self) {
        self.0.at_work.fetch_add(1, Ordering::Relaxed);
    }
}

impl Attention {
    /// Looks last such a moment. With `stands_in` a client of this machine is not looked for, but kept beside its thread, if it has two processors. So many sessions at work are `many`; 0: nobody counts.
    pub(crate) fn new(processors: &Processors, moment: Duration, stands_in: bool, many: u32) -> Self {
        let differ = processors.differ();
        Self {
            crowd: Crowd::new(if differ { many } else { 0 }),
            stand_in: (stands_in && processors.are_the_machines_two()).then(StandIn::new),
            ..Self::with(differ && !moment.is_zero(), moment)
        }
    }

    fn with(looks: bool, moment: Duration) -> Self {
        Self {
            at_work: CachePadded::new(AtomicU32::new(0)),
            last: AtomicU64::new(0),
            looks,
            moment,
            crowd: Crowd::new(0),
            stand_in: None,
            found: AtomicU64::new(0),
            in_vain: AtomicU64::new(0),
        }
    }

    /// The calling thread begins to serve a session.
    pub(crate) fn comes(&self) -> Awake<'_> {
        self.at_work.fetch_add(1, Ordering::Relaxed);
        Awake(self)
    }

    /// The calling thread, which serves a session, begins to wait for its client.
    pub(crate) fn sleeps(&self) -> Asleep<'_> {
        self.at_work.fetch_sub(1, Ordering::Relaxed);
        Asleep(self)
    }

    /// What wants a thread for its life.
    pub(crate) fn stand_in(&self) -> Option<&StandIn> {
        self.stand_in.as_ref()
    }

    /// Whether so many sessions are at work that they share threads.
    #[inline]
    pub(crate) fn is_crowded(&self) -> bool {
        self.crowd.is_there()
    }

    /// A command of a session that shares a thread has come, at about this moment.
    #[inline]
    pub(crate) fn came_in_turn(&self, pace: &mut Pace, now: Moment) {
        self.crowd.came(now, &mut pace.counted);
    }

    /// Looks that found the client, and that did not.
    pub(crate) fn looks(&self) -> (u64, u64) {
        (self.found.load(Ordering::Relaxed), self.in_vain.load(Ordering::Relaxed))
    }

    /// Whether no other session is being served, or has sent a command since the last one of this.
    fn is_alone(&self, session: u32) -> bool {
        self.at_work.load(Ordering::Relaxed) <= 1 && self.last_two().0 == session
    }

    /// Whether no session but this and one other is being served, or has sent a command since the last one of this.
    fn is_one_of_two(&self, session: u32) -> bool {
        let (last, before) = self.last_two();
        self.at_work.load(Ordering::Relaxed) <= 2 && (last == session || before == session)
    }

    /// Whose command came last, and who had sent the last one before that came.
    fn last_two(&self) -> (u32, u32) {
        let both = self.last.load(Ordering::Relaxed);
        (both as u32, (both >> 32) as u32)
    }

    /// A command of a session has come.
    fn came(&self, session: u32, pace: &mut Pace, now: Moment) {
        self.crowd.came(now, &mut pace.counted);
        pace.came(now, self.moment, sync::blocking::times());
        let (last, before) = self.last_two();
        if last == session {
            pace.alone = pace.alone.saturating_add(1);
            pace.of_two = pace.of_two.saturating_add(1);
        } else {
            self.last.store(u64::from(last) << 32 | u64::from(session), Ordering::Relaxed);
            pace.alone = 0;
            pace.of_two = if before == session { pace.of_two.saturating_add(1) } else { 0 };
        }
    }

    fn is_alone_for_long(&self, session: u32, pace: &Pace) -> bool {
        pace.alone >= ALONE && self.is_alone(session)
    }

    fn is_one_of_two_that_wait(&self, session: u32, pace: &Pace) -> bool {
        pace.of_two >= ALONE && pace.since_wait < WAITED && self.is_one_of_two(session)
    }

    /// As [`Layers::receive_a_while`], on a thread that serves one session.
    #[inline]
    pub(crate) fn receive(
        &self,
        pace: &mut Pace,
        layers: &mut Layers,
        socket: &Socket,
        connection: &Connection,
        room: &mut [u8],
    ) -> Option<usize> {
        if !self.looks && self.stand_in.is_none() && !self.crowd.counts() {
            return layers.receive_a_while(socket, connection, room);
        }
        let session = connection.id();
        if let Some(stand_in) = self.stand_in.as_ref().filter(|stand_in| stand_in.is_there() && pace.is_local(socket)) {
            if pace.prompt >= QUICK && (self.is_alone_for_long(session, pace) || self.is_one_of_two_that_wait(session, pace)) {
                pace.last.into_iter().for_each(|last| stand_in.stay(last));
            }
        } else if self.looks && pace.is_quick() && self.is_alone_for_long(session, pace) {
            if pace.looks.is_multiple_of(ASIDE) {
                stand_aside_of(socket);
            }
            if let Some(received) = self.look(session, pace, || layers.receive_ready(socket, connection, room)) {
                return received;
            }
        }
        let asleep = self.sleeps();
        let received = layers.receive_a_while(socket, connection, room);
        drop(asleep);
        self.came(session, pace, Moment::now());
        received
    }

    /// What `receive` has found at last; `None` when it is not worth while to go on.
    fn look(&self, session: u32, pace: &mut Pace, mut receive: impl FnMut() -> Option<usize>) -> Option<Option<usize>> {
        pace.looks = pace.looks.wrapping_add(1);
        let begun = Moment::now();
        let mut receives = 0;
        loop {
            let received = receive();
            receives += 1;
            let is_there = received != Some(0);
            if !is_there && receives % RECEIVES != 0 {
                std::hint::spin_loop();
                continue;
            }
            let now = Moment::now();
            let in_time = !now.is_past(begun, self.moment);
            if is_there || !in_time {
                if in_time { &self.found } else { &self.in_vain }.fetch_add(1, Ordering::Relaxed);
                pace.looked(in_time);
            }
            if is_there {
                self.came(session, pace, now);
                return Some(received);
            }
            if !in_time || !self.is_alone(session) {
                return None;
            }
        }
    }
}

/// The kernel wakes a client where it ran last, or where the thread runs that answers it. If that is the same processor, one of them waits for the other; the thread goes.
#[cold]
fn stand_aside_of(socket: &Socket) {
    let own = rustix::thread::sched_getcpu();
    // A unix socket tells none.
    if rustix::net::sockopt::socket_incoming_cpu(socket).is_ok_and(|client| client as usize == own) {
        stand_aside(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_micros(50);

    fn quick(pace: &mut Pace, commands: u32) {
        let begun = pace.last.unwrap_or_else(Moment::now);
        for command in 1..=commands {
            pace.came(begun + command * MOMENT, MOMENT, 0);
        }
    }

    #[test]
    fn a_client_is_quick_after_some_commands_and_not_after_a_slow_one() {
        let mut pace = Pace::default();
        quick(&mut pace, 2);
        assert!(!pace.is_quick(), "the first has none before it");
        quick(&mut pace, 1);
        assert!(pace.is_quick());
        let last = pace.last.expect("some");
        pace.came(last + 2 * MOMENT, MOMENT, 0);
        assert!(!pace.is_quick());
    }

    #[test]
    fn a_client_is_prompt_until_a_statement_waits_or_it_is_slow() {
        let mut pace = Pace::default();
        let mut now = Moment::now();
        let mut come = |pace: &mut Pace, after: Duration, waits| {
            now = now + after;
            pace.came(now, MOMENT, waits);
            pace.prompt
        };
        assert_eq!(come(&mut pace, MOMENT, 0), 0, "the first has none before it");
        assert_eq!(come(&mut pace, MOMENT, 0), 1);
        assert_eq!(come(&mut pace, 3 * MOMENT, 0), 2, "not quick, but soon");
        assert_eq!(pace.quick, 0);
        assert_eq!(come(&mut pace, MOMENT, 1), 0, "the statement waited");
        assert_eq!(come(&mut pace, MOMENT, 1), 1, "and the next did not");
        assert_eq!(come(&mut pace, SOON, 1), 0);
    }

    #[test]
    fn who_looks_in_vain_pauses_for_longer_and_longer_until_it_finds() {
        let mut pace = Pace::default();
        quick(&mut pace, 3);
        for pause in [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1024, 1024] {
            assert!(pace.is_quick());
            pace.looked(false);
            quick(&mut pace, pause - 1);
            assert!(!pace.is_quick());
            quick(&mut pace, 1);
        }
        (0..FOUND).for_each(|_| pace.looked(true));
        assert_eq!(pace.next_pause, 512);
        (0..20 * FOUND).for_each(|_| pace.looked(true));
        assert_eq!(pace.next_pause, PAUSE_MIN);
        // Slow commands are no reason to pause for longer.
        pace.looked(false);
        for _ in 0..2 {
            let last = pace.last.expect("some");
            pace.came(last + 5 * MOMENT, MOMENT, 0);
            quick(&mut pace, 1);
        }
        assert_eq!((pace.pause, pace.is_quick()), (0, false));
        quick(&mut pace, 1);
        assert!(pace.is_quick());
    }

    #[test]
    fn a_look_ends_when_something_comes_when_it_has_lasted_and_when_others_are_at_work() {
        let attention = Attention::with(true, Duration::from_secs(3600));
        let mut pace = Pace::default();
        let _awake = attention.comes();
        let mut left = 100;
        let found = attention.look(0, &mut pace, || {
            left -= 1;
            Some(if left == 0 { 7 } else { 0 })
        });
        assert_eq!((found, attention.looks()), (Some(Some(7)), (1, 0)));
        assert_eq!(attention.look(0, &mut pace, || None), Some(None), "the client has gone");
        // Another is served meanwhile.
        let mut other = None;
        let disturbed = attention.look(0, &mut pace, || {
            other.get_or_insert_with(|| attention.comes());
            Some(0)
        });
        assert_eq!((disturbed, attention.looks()), (None, (2, 0)));
        let asleep = other.as_ref().map(|_| attention.sleeps());
        assert!(attention.is_alone(0), "it waits for its client");
        drop((asleep, other));
        assert_eq!(attention.at_work.load(Ordering::Relaxed), 1);
        // A command of another has come.
        attention.came(5, &mut Pace::default(), Moment::now());
        assert_eq!(attention.look(0, &mut pace, || Some(0)), None);
        let short = Attention::with(true, Duration::from_nanos(1));
        assert_eq!((short.look(0, &mut pace, || Some(0)), short.looks()), (None, (0, 1)));
        assert_eq!(pace.pause, PAUSE_MIN);
        assert!(!Attention::new(&Processors::new(), Duration::ZERO, true, 3).looks);
    }

    #[test]
    fn a_session_is_alone_after_many_commands_between_which_there_was_no_other() {
        let attention = Attention::with(true, MOMENT);
        let (mut one, mut other, now) = (Pace::default(), Pace::default(), Moment::now());
        (0..10).for_each(|_| attention.came(1, &mut one, now));
        assert_eq!(one.alone, 9);
        attention.came(2, &mut other, now);
        attention.came(1, &mut one, now);
        assert_eq!((one.alone, other.alone), (0, 0));
        assert!(attention.is_alone(1) && !attention.is_alone(2));
    }

    #[test]
    fn two_sessions_are_so_after_many_commands_between_which_there_was_no_third() {
        let attention = Attention::with(true, MOMENT);
        let (mut one, mut other, mut third, now) = (Pace::default(), Pace::default(), Pace::default(), Moment::now());
        for _ in 0..10 {
            attention.came(1, &mut one, now);
            attention.came(1, &mut one, now);
            attention.came(2, &mut other, now);
        }
        // The first of each is one of two only since it came.
        assert_eq!((one.of_two, other.of_two), (19, 9));
        assert!(attention.is_one_of_two(1) && attention.is_one_of_two(2) && !attention.is_one_of_two(3));
        attention.came(3, &mut third, now);
        assert!(!attention.is_one_of_two(1) && attention.is_one_of_two(2));
        attention.came(1, &mut one, now);
        attention.came(2, &mut other, now);
        assert_eq!((one.of_two, other.of_two), (0, 0));
    }

    #[test]
    fn of_two_sessions_only_who_has_waited_of_late_calls() {
        let attention = Attention::with(true, MOMENT);
        let (mut one, mut other, mut now) = (Pace::default(), Pace::default(), Moment::now());
        let mut come = |one: &mut Pace| {
            now = now + MOMENT;
            attention.came(2, &mut other, now);
            attention.came(1, one, now);
            attention.is_one_of_two_that_wait(1, one)
        };
        for _ in 0..2 * ALONE {
            assert!(!come(&mut one), "it has never waited");
        }
        sync::blocking::begins();
        let calls = (0..2 * WAITED).take_while(|_| come(&mut one)).count() as u32;
        assert_eq!(calls, WAITED, "the command behind the wait, and those after it");
    }
}
