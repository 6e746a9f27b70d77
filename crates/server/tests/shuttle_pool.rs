//! Random schedules of the sources behind parked sessions: no guest is lost, in two hands, or left; a post has one holder at most, and does not stay vacant while a member rests; the
//! crew's monitor does not sleep while a holder serves; who waits for the log is given back, once, when it is durable; who waits for a row goes on, once, when the wait is over, and who stands behind one comes in; no reply stays at a post that went from hand to hand. Each planted bug must be found. More schedules: `POOL_SCHEDULES=1000000 cargo test -p server --release --test shuttle_pool`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use models::{Schedules, planted};
use shuttle::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;
use std::collections::{HashMap, VecDeque};

/// What `pool::platform` of the product is, over shuttle.
mod platform {
    pub(crate) use crate::latch::Mutex;
    pub(crate) use crate::signal::Signal;
    pub use models::planted;
    pub use shuttle::sync::{Arc, atomic};
    pub use std::sync::OnceLock;

    pub fn patience(_: std::time::Duration) -> Option<std::time::Instant> {
        None
    }

    pub use sync::{CachePadded, Moment, Rank};

    /// A value that is exchanged in one step.
    pub struct AtomicCell<T>(shuttle::sync::Mutex<T>);

    impl<T> AtomicCell<T> {
        pub fn new(value: T) -> Self {
            Self(shuttle::sync::Mutex::new(value))
        }

        pub fn swap(&self, value: T) -> T {
            std::mem::replace(&mut *self.0.lock().expect("model mutex"), value)
        }
    }

    impl<T: Default> AtomicCell<T> {
        pub fn take(&self) -> T {
            self.swap(T::default())
        }
    }
}

/// `sync::Signal` for one thread that waits.
mod signal {
    use shuttle::sync::{Condvar, Mutex};
    use std::time::Instant;

    pub struct Signal(Mutex<bool>, Condvar);

    impl Signal {
        pub fn new() -> Self {
            Signal(Mutex::new(false), Condvar::new())
        }

        pub fn notify(&self) {
            *self.0.lock().expect("model mutex") = true;
            self.1.notify_all();
        }

        pub fn wait(&self, deadline: Option<Instant>) -> bool {
            let mut set = self.0.lock().expect("model mutex");
            while !*set && deadline.is_none() {
                set = self.1.wait(set).expect("model mutex");
            }
            std::mem::take(&mut *set)
        }
    }
}

#[path = "../../txn/tests/model/latch.rs"]
mod latch;
#[allow(dead_code)]
#[path = "../src/pool"]
mod pool {
    // The sources say `super::platform`.
    pub(crate) use crate::platform;
    #[path = "behind.rs"]
    pub(crate) mod behind;
    #[path = "late.rs"]
    pub(crate) mod late;
    #[path = "left.rs"]
    pub(crate) mod left;
    #[path = "outbox.rs"]
    pub(crate) mod outbox;
    #[path = "posts.rs"]
    pub(crate) mod posts;
    #[path = "seats.rs"]
    pub(crate) mod seats;
}

use pool::behind::{Behind, Habit, HasHabit};
use pool::late::Late;
use pool::left::{Left, WaitsForRow};
use pool::outbox::{Outbox, PATIENCE, Replies, TOGETHER, while_held};
use pool::posts::{Doing, Posts, Worker};
use pool::seats::{Kept, Poller, Seats, Sits, Ticket, Watch};

const SCHEDULES: Schedules = Schedules { count: 4_000, variable: "POOL_SCHEDULES" };
const CLIENTS: usize = 3;
/// What each client says before it hangs up.
const WORDS: u32 = 2;

/// A client's end of its socket.
#[derive(Default)]
struct Client {
    unread: u32,
    gone: bool,
}

#[derive(Default)]
struct Kernel {
    clients: [Client; CLIENTS],
    /// Seat of each client's socket that is armed, and how.
    armed: HashMap<usize, (u32, Watch)>,
    /// Clients whose sockets something has come to since they were reported.
    ready: VecDeque<usize>,
    closed: bool,
    /// One arming is refused, as the kernel does when it has no memory.
    refuses: bool,
}

impl Kernel {
    fn is_readable(&self, client: usize) -> bool {
        self.clients[client].unread > 0 || self.clients[client].gone
    }

    fn becomes_ready(&mut self, client: usize) {
        if self.armed.contains_key(&client) && self.is_readable(client) && !self.ready.contains(&client) {
            self.ready.push_back(client);
        }
    }
}

/// Sockets and epoll: what is armed and readable is reported in order; several arrivals that were not reported yet are one report.
struct Net {
    kernel: Mutex<Kernel>,
    changed: Condvar,
}

impl Net {
    fn new(refuses: bool) -> Arc<Self> {
        Arc::new(Self { kernel: Mutex::new(Kernel { refuses, ..Kernel::default() }), changed: Condvar::new() })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Kernel) -> T) -> T {
        let result = change(&mut self.kernel.lock().expect("model mutex"));
        self.changed.notify_all();
        result
    }

    /// Something comes to a client's socket.
    fn comes(&self, client: usize, what: impl FnOnce(&mut Client)) {
        self.change(|kernel| {
            what(&mut kernel.clients[client]);
            kernel.becomes_ready(client);
        });
    }

    /// The next seat whose client has spoken, or has gone, and whether the latter; `None` when all is over.
    fn report(&self) -> Option<(u32, bool)> {
        let mut kernel = self.kernel.lock().expect("model mutex");
        loop {
            while let Some(client) = kernel.ready.pop_front() {
                // What was received meanwhile is not reported.
                if !kernel.is_readable(client) {
                    continue;
                }
                if let Some((seat, watch)) = kernel.armed.get(&client).copied() {
                    if watch == Watch::Once {
                        kernel.armed.remove(&client);
                    }
                    return Some((seat, kernel.clients[client].gone));
                }
            }
            if kernel.closed {
                return None;
            }
            kernel = self.changed.wait(kernel).expect("model mutex");
        }
    }

    /// A receive that waits: how many words, or `None` at the end.
    fn receive(&self, client: usize, waits: bool) -> Option<u32> {
        let mut kernel = self.kernel.lock().expect("model mutex");
        loop {
            let end = &mut kernel.clients[client];
            if end.unread > 0 {
                return Some(std::mem::take(&mut end.unread));
            }
            if end.gone {
                return None;
            }
            if !waits {
                return Some(0);
            }
            kernel = self.changed.wait(kernel).expect("model mutex");
        }
    }
}

struct Guest {
    client: usize,
    ticket: Option<Ticket>,
    heard: u32,
    hands: Arc<[AtomicBool; CLIENTS]>,
}

impl Guest {
    fn in_hands(&self, are: bool) {
        assert_ne!(self.hands[self.client].swap(are, Ordering::SeqCst), are, "a guest in two hands");
    }
}

impl Sits for Guest {
    fn ticket(&mut self) -> &mut Option<Ticket> {
        &mut self.ticket
    }
}

struct Epoll(Arc<Net>);

impl Poller<Guest> for Epoll {
    fn arm(&self, guest: &Guest, seat: u32, _known: bool, watch: Watch) -> bool {
        let client = guest.client;
        self.0.change(|kernel| {
            if client == 1 && std::mem::take(&mut kernel.refuses) {
                return false;
            }
            kernel.armed.insert(client, (seat, watch));
            kernel.becomes_ready(client);
            true
        })
    }

    fn disarm(&self, guest: &Guest) {
        self.0.change(|kernel| {
            kernel.armed.remove(&guest.client);
            kernel.ready.retain(|client| *client != guest.client);
        });
    }
}

/// Clients that speak and hang up, members that serve them, and one that tidies. One client's socket is watched always, one's once, one's in turns, and that one changes its seat as well. Everything said is heard, and each guest ends once.
fn everybody_is_heard(refuses: bool) {
    let net = Net::new(refuses);
    let seats = Arc::new(Seats::new(Epoll(Arc::clone(&net))));
    let hands: Arc<[AtomicBool; CLIENTS]> = Arc::default();
    let (heard, ended) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let mut others = Vec::new();
    for client in 0..CLIENTS {
        let net = Arc::clone(&net);
        others.push(thread::spawn(move || {
            for _ in 0..WORDS {
                net.comes(client, |socket| socket.unread += 1);
            }
            net.comes(client, |socket| socket.gone = true);
        }));
    }
    let serve = {
        let (net, seats, heard, ended) = (Arc::clone(&net), Arc::clone(&seats), Arc::clone(&heard), Arc::clone(&ended));
        // As `Front::serve_shared`.
        move |mut guest: Box<Guest>, mut waits: bool, mut until_empty: bool| {
            loop {
                match net.receive(guest.client, waits) {
                    Some(words) => {
                        guest.heard += words;
                        until_empty &= words > 0 && !planted("parks_before_the_end");
                    }
                    None => {
                        guest.in_hands(false);
                        heard.fetch_add(guest.heard, Ordering::SeqCst);
                        if let Some(ticket) = guest.ticket {
                            seats.give_back(ticket);
                        }
                        if ended.fetch_add(1, Ordering::SeqCst) + 1 == CLIENTS as u32 {
                            net.change(|kernel| kernel.closed = true);
                        }
                        return;
                    }
                }
                if until_empty {
                    continue;
                }
                let watch = match guest.client {
                    0 => Watch::Always,
                    1 => Watch::Once,
                    _ if guest.heard == 1 => Watch::Once,
                    _ => Watch::Always,
                };
                if guest.client == 2 && guest.heard != 1 {
                    seats.leave(&mut guest);
                }
                guest.in_hands(false);
                match seats.park(guest, watch) {
                    Ok(()) => return,
                    Err(Kept::Spoken(kept)) => (guest, waits, until_empty) = (kept, false, true),
                    Err(Kept::Unwatched(kept)) => (guest, waits) = (kept, true),
                }
                guest.in_hands(true);
            }
        }
    };
    for _ in 0..2 {
        let (serve, seats, net) = (serve.clone(), Arc::clone(&seats), Arc::clone(&net));
        others.push(thread::spawn(move || {
            while let Some((seat, gone)) = net.report() {
                let Some(guest) = seats.take(seat, gone) else { continue };
                guest.in_hands(true);
                serve(guest, false, false);
            }
        }));
    }
    {
        let (seats, serve) = (Arc::clone(&seats), serve.clone());
        others.push(thread::spawn(move || {
            for _ in 0..4 {
                let rests = |guest: &mut Guest| {
                    guest.in_hands(true);
                    thread::yield_now();
                    guest.in_hands(false);
                };
                seats.tidy(rests, |guest| {
                    guest.in_hands(true);
                    serve(guest, false, true);
                });
            }
        }));
    }
    for client in 0..CLIENTS {
        let guest = Box::new(Guest { client, ticket: None, heard: 0, hands: Arc::clone(&hands) });
        guest.in_hands(true);
        serve(guest, false, false);
    }
    others.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(
        (heard.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)),
        (CLIENTS as u32 * WORDS, CLIENTS as u32),
        "something was not heard"
    );
}

#[test]
fn no_guest_is_lost_or_in_two_hands() {
    SCHEDULES.check(
        || everybody_is_heard(false),
        &[
            "sits_without_a_look",
            "report_without_a_second_look",
            "seat_of_another",
            "forgotten_report",
            "forgotten_end",
            "parks_before_the_end",
        ],
    );
}

#[test]
fn a_guest_that_cannot_be_watched_is_kept() {
    SCHEDULES.check(|| everybody_is_heard(true), &["lost_refusal"]);
}

/// A guest rests once it has been lying for some rounds, and only once.
#[test]
fn who_lies_still_rests_once() {
    let model = || {
        let seats = Arc::new(Seats::new(Epoll(Net::new(false))));
        let rests = Arc::new(AtomicU32::new(0));
        let rests_after = {
            let (seats, rests) = (Arc::clone(&seats), Arc::clone(&rests));
            move |rounds: u32| {
                (0..rounds).for_each(|_| {
                    let rest = |_: &mut Guest| {
                        rests.fetch_add(1, Ordering::SeqCst);
                    };
                    seats.tidy(rest, |_| panic!("nobody speaks"));
                });
                rests.load(Ordering::SeqCst)
            }
        };
        let tidies = thread::spawn({
            let rests_after = rests_after.clone();
            move || assert_eq!(rests_after(2), 0, "not yet")
        });
        let guest = Guest { client: 0, ticket: None, heard: 0, hands: Arc::default() };
        assert!(seats.park(Box::new(guest), Watch::Once).is_ok(), "this one can be watched");
        tidies.join().expect("no panic");
        assert_eq!(rests_after(3), 1);
        assert_eq!(rests_after(5), 1, "once");
        assert_eq!(seats.count(), (1, 1));
    };
    SCHEDULES.check(model, &[]);
}

/// A thread of which nothing is to be told.
struct Anyone;

impl Worker for Anyone {
    fn doing(&self) -> Option<Doing> {
        None
    }

    fn let_loose(&self) {}
}

/// Two members at one post, no thread more to be had, and four guests, each of which blocks until the next one has been served. Each holder is alone; if the post stayed vacant while one rests, or were
/// lost, everybody would wait for ever, which shuttle tells.
#[test]
fn a_post_has_one_holder_and_is_handed_on() {
    const GUESTS: u32 = 4;
    let model = || {
        let posts = Arc::new(Posts::new(1));
        posts.open(|_| false);
        let (taken, held) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
        let served = Arc::new((Mutex::new(0), Condvar::new()));
        let members: Vec<_> = (0..2)
            .map(|_| {
                let (posts, taken, held, served) = (Arc::clone(&posts), Arc::clone(&taken), Arc::clone(&held), Arc::clone(&served));
                thread::spawn(move || {
                    let member = posts.enlist(0, Anyone);
                    while posts.obtain(&member, true, || {}) {
                        while posts.holds(&member) {
                            assert!(!held.swap(true, Ordering::SeqCst), "two hold one post");
                            let guest = taken.fetch_add(1, Ordering::SeqCst);
                            posts.begins(&member);
                            held.store(false, Ordering::SeqCst);
                            if guest >= GUESTS {
                                posts.close();
                                posts.hand_on(&member);
                            } else if guest % 2 == 0 {
                                posts.hand_on(&member);
                                let mut count = served.0.lock().expect("model mutex");
                                while *count < guest / 2 + 1 {
                                    count = served.1.wait(count).expect("model mutex");
                                }
                            } else {
                                *served.0.lock().expect("model mutex") += 1;
                                served.1.notify_all();
                            }
                            posts.ends(&member);
                        }
                    }
                    posts.leave(&member);
                })
            })
            .collect();
        members.into_iter().for_each(|thread| thread.join().expect("no panic"));
        assert_eq!(posts.count(), 0);
        assert!(taken.load(Ordering::SeqCst) > GUESTS, "somebody was not served");
    };
    SCHEDULES.check(model, &["rests_beside_a_vacant_post"]);
}

/// A holder serves until the monitor is awake, twice. (Otherwise it would sleep for ever, which shuttle tells.)
#[test]
fn the_monitor_is_awake_while_a_holder_serves() {
    let model = || {
        let posts = Arc::new(Posts::new(1));
        let awake = Arc::new((Mutex::new(0), Condvar::new()));
        let member = posts.enlist(0, Anyone);
        assert!(posts.obtain(&member, true, || {}), "the post is vacant");
        let monitor = thread::spawn({
            let (posts, awake) = (Arc::clone(&posts), Arc::clone(&awake));
            move || {
                for _ in 0..2 {
                    posts.sleep_while_idle();
                    *awake.0.lock().expect("model mutex") += 1;
                    awake.1.notify_all();
                }
            }
        });
        for turn in 1..=2 {
            posts.waits(0);
            posts.waited(0);
            posts.begins(&member);
            let mut count = awake.0.lock().expect("model mutex");
            while *count < turn {
                count = awake.1.wait(count).expect("model mutex");
            }
            drop(count);
            posts.ends(&member);
        }
        monitor.join().expect("no panic");
    };
    SCHEDULES.check(model, &["silent_turn", "look_before_sleeping"]);
}

/// Guests wait for a log that grows; each is given back once, and not before its time. (One that is forgotten waits for ever, which shuttle tells.)
#[test]
fn who_waits_for_the_log_is_given_back_when_it_is_durable() {
    const EACH: u64 = 2;
    let model = || {
        let late = Arc::new(Late::new());
        let (durable, back) = (Arc::new(Mutex::new(0)), Arc::new((Mutex::new(Vec::new()), Condvar::new())));
        let serves = thread::spawn({
            let (late, durable, back) = (Arc::clone(&late), Arc::clone(&durable), Arc::clone(&back));
            move || {
                let make_durable = |up_to: base::Lsn, guests| {
                    assert!(guests > 0);
                    *durable.lock().expect("model mutex") = up_to.0;
                };
                late.serve(make_durable, |guests| {
                    back.0.lock().expect("model mutex").extend(guests.map(|guest: Box<u64>| *guest));
                    back.1.notify_all();
                });
            }
        });
        let clients: Vec<_> = (0..2)
            .map(|client| {
                let (late, durable, back) = (Arc::clone(&late), Arc::clone(&durable), Arc::clone(&back));
                thread::spawn(move || {
                    for up_to in (0..EACH).map(|turn| 1 + 2 * turn + client) {
                        late.add(base::Lsn(up_to), Box::new(up_to));
                        let given = back.0.lock().expect("model mutex");
                        drop(back.1.wait_while(given, |given| !given.contains(&up_to)).expect("model mutex"));
                        assert!(*durable.lock().expect("model mutex") > 0);
                    }
                })
            })
            .collect();
        clients.into_iter().for_each(|thread| thread.join().expect("no panic"));
        late.close();
        serves.join().expect("no panic");
        let mut given = back.0.lock().expect("model mutex").clone();
        given.sort_unstable();
        assert_eq!(given, [1, 2, 3, 4]);
    };
    SCHEDULES.check(model, &["late_told_too_early"]);
}

/// A guest whose statement waits for a row. The waits are counted; the newest one is over when as many have ended.
struct Waiting {
    begun: u32,
    ended: Arc<AtomicU32>,
}

impl WaitsForRow for Waiting {
    fn is_over(&self) -> bool {
        self.ended.load(Ordering::SeqCst) == self.begun
    }

    fn until(&self) -> Option<std::time::Instant> {
        Some(std::time::Instant::now())
    }

    fn time_is_over(&self) -> bool {
        ends(&self.ended, self.begun)
    }
}

/// Ends a wait; `false` where it was over.
fn ends(ended: &AtomicU32, wait: u32) -> bool {
    ended.compare_exchange(wait - 1, wait, Ordering::SeqCst, Ordering::SeqCst).is_ok()
}

/// A guest waits three times. Each wait is ended by one of two, who then tells, or by its time. The guest goes on after each of them, once, and not before. (One that is forgotten waits
/// for ever, which shuttle tells.)
#[test]
fn who_waits_for_a_row_goes_on_when_the_wait_is_over() {
    const WAITS: u32 = 3;
    const GUEST: u32 = 5;
    let model = || {
        let left = Arc::new(Left::new(2));
        let ended = Arc::new(AtomicU32::new(0));
        let begun = Arc::new((Mutex::new(0), Condvar::new()));
        let back = Arc::new((Mutex::new(Vec::<Box<Waiting>>::new()), Condvar::new()));
        let gives_back = {
            let back = Arc::clone(&back);
            move |guest: Box<Waiting>| {
                back.0.lock().expect("model mutex").push(guest);
                back.1.notify_all();
            }
        };
        // Sees to it that each wait ends; who is second ends nothing and tells all the same: as one who was slow to tell of an earlier wait.
        let enders: Vec<_> = (0..2)
            .map(|which| {
                let (left, ended, begun, gives_back) = (Arc::clone(&left), Arc::clone(&ended), Arc::clone(&begun), gives_back.clone());
                thread::spawn(move || {
                    for wait in 1..=WAITS {
                        let now = begun.0.lock().expect("model mutex");
                        drop(begun.1.wait_while(now, |begun| *begun < wait).expect("model mutex"));
                        if which == 0 || wait == 2 {
                            ends(&ended, wait);
                        }
                        left.take(GUEST).into_iter().for_each(&gives_back);
                    }
                })
            })
            .collect();
        let clock = thread::spawn({
            let (left, gives_back) = (Arc::clone(&left), gives_back.clone());
            move || left.take_late(std::time::Instant::now() + std::time::Duration::from_secs(1), &gives_back)
        });
        for wait in 1..=WAITS {
            *begun.0.lock().expect("model mutex") = wait;
            begun.1.notify_all();
            let guest = match left.leave(GUEST, Box::new(Waiting { begun: wait, ended: Arc::clone(&ended) })) {
                Err(guest) => guest,
                Ok(()) => {
                    let came = back.0.lock().expect("model mutex");
                    let mut came = back.1.wait_while(came, |came| came.is_empty()).expect("model mutex");
                    came.pop().expect("one")
                }
            };
            assert!(guest.begun == wait && guest.is_over(), "it goes on too early");
        }
        enders.into_iter().chain([clock]).for_each(|thread| thread.join().expect("no panic"));
        assert!(back.0.lock().expect("model mutex").is_empty() && left.count() == 0, "it goes on twice");
    };
    SCHEDULES.check(model, &["left_looks_before", "left_taken_too_early"]);
}

/// Who is used to wait for the only row.
#[derive(Default)]
struct Used {
    number: usize,
    habit: Habit,
}

impl HasHabit for Used {
    fn habit(&mut self) -> &mut Habit {
        &mut self.habit
    }
}

/// Three guests want one row, again and again, of whom one is to be inside: each comes in, whoever is done at that moment. (One that is forgotten waits for ever, which shuttle tells.)
#[test]
fn who_stands_behind_a_row_comes_in() {
    const ROW: u64 = 3;
    let model = || {
        let behind = Arc::new(Behind::<Used>::with(1, 1));
        let let_in = Arc::new((Mutex::new(HashMap::<usize, Box<Used>>::new()), Condvar::new()));
        let guests: Vec<_> = (0..3)
            .map(|number| {
                let (behind, let_in) = (Arc::clone(&behind), Arc::clone(&let_in));
                thread::spawn(move || {
                    let mut guest = Box::new(Used { number, habit: Habit::default() });
                    for _ in 0..3 {
                        guest = behind.stand(guest, || sync::Moment::BEGIN).unwrap_or_else(|| {
                            let came = let_in.0.lock().expect("model mutex");
                            let mut came = let_in.1.wait_while(came, |came| !came.contains_key(&number)).expect("model mutex");
                            came.remove(&number).expect("it came")
                        });
                        assert_eq!(guest.number, number);
                        assert!(behind.waits(ROW, &mut guest).is_none(), "it wanted no other row");
                        if let Some((next, _)) = behind.is_done(&mut guest) {
                            let_in.0.lock().expect("model mutex").insert(next.number, next);
                            let_in.1.notify_all();
                        }
                        guest.habit().ends();
                    }
                })
            })
            .collect();
        guests.into_iter().for_each(|guest| guest.join().expect("no panic"));
        assert_eq!(behind.count(), 0);
    };
    SCHEDULES.check(model, &["stands_by_an_old_look"]);
}

/// Two members at one post. Each second statement blocks: its member hands the post on and waits until the client of the statement before has its reply, as one does that waits for that client's lock. Everybody gets
/// theirs, once. (A reply that stays where it is makes somebody wait for ever, which shuttle tells, or is missing in the end.)
#[test]
fn no_reply_stays_at_a_post_that_is_handed_on() {
    const GUESTS: u32 = 4;
    let model = || {
        let (posts, outbox) = (Arc::new(Posts::new(1)), Arc::new(Outbox::new()));
        posts.open(|_| false);
        let (taken, told) = (Arc::new(AtomicU32::new(0)), Arc::new((Mutex::new(Vec::new()), Condvar::new())));
        let members: Vec<_> = (0..2)
            .map(|_| {
                let (posts, outbox, taken, told) = (Arc::clone(&posts), Arc::clone(&outbox), Arc::clone(&taken), Arc::clone(&told));
                thread::spawn(move || {
                    let member = posts.enlist(0, Anyone);
                    let send = |replies: &mut Replies<u32>| {
                        if outbox.take(replies) {
                            replies.drain(|guest, reply| {
                                assert_eq!(reply, guest.to_le_bytes());
                                told.0.lock().expect("model mutex").push(*guest);
                            });
                            told.1.notify_all();
                        }
                    };
                    let serve = |replies: &mut Replies<u32>| {
                        while posts.holds(&member) {
                            let guest = taken.fetch_add(1, Ordering::SeqCst);
                            if guest >= GUESTS {
                                // None at hand: the holder sends before it waits for more, or finds that all is over.
                                send(replies);
                                posts.close();
                                posts.hand_on(&member);
                                return;
                            }
                            if guest % 2 == 1 {
                                posts.hand_on(&member);
                                let list = told.0.lock().expect("model mutex");
                                drop(told.1.wait_while(list, |list| !list.contains(&(guest - 1))).expect("model mutex"));
                            }
                            outbox.add(Box::new(guest), &guest.to_le_bytes(), sync::Moment::now());
                        }
                    };
                    let mut replies = Replies::default();
                    while posts.obtain(&member, true, || {}) {
                        while_held(&mut replies, send, serve);
                    }
                    posts.leave(&member);
                })
            })
            .collect();
        members.into_iter().for_each(|thread| thread.join().expect("no panic"));
        let mut told = told.0.lock().expect("model mutex").clone();
        told.sort_unstable();
        assert_eq!(told, [0, 1, 2, 3]);
    };
    SCHEDULES.check(model, &["replies_not_taken_over", "last_reply_left"]);
}

/// One adds replies while another takes them; then they are due when they are many, or the first of them is old.
#[test]
fn each_guest_keeps_its_reply_and_all_are_due_when_they_are_many_or_old() {
    const GUESTS: usize = 5;
    let text = |guest: usize| vec![b'a' + guest as u8; guest % 3];
    let model = move || {
        let (outbox, now) = (Arc::new(Outbox::new()), sync::Moment::now());
        let takes = thread::spawn({
            let outbox = Arc::clone(&outbox);
            move || {
                let (mut replies, mut taken) = (Replies::default(), Vec::new());
                while taken.len() < GUESTS {
                    if outbox.take(&mut replies) {
                        let seen: Vec<_> = replies.iter().map(|(guest, reply)| (*guest, reply.to_vec())).collect();
                        let before = taken.len();
                        replies.drain(|guest, reply| taken.push((*guest, reply.to_vec())));
                        assert_eq!(taken[before..], seen);
                        assert_eq!(replies.len(), 0);
                    }
                    thread::yield_now();
                }
                taken
            }
        });
        (0..GUESTS).for_each(|guest| assert!(!outbox.add(Box::new(guest), &text(guest), now)));
        let taken = takes.join().expect("no panic");
        assert!(taken.into_iter().eq((0..GUESTS).map(|guest| (guest, text(guest)))), "each once, in turn");
        let due = |guests: usize, now| (0..guests).map(|guest| outbox.add(Box::new(guest), b"", now)).position(|due| due);
        let take = || outbox.take(&mut Replies::default());
        assert_eq!((due(TOGETHER, now), take(), take()), (Some(TOGETHER - 1), true, false));
        assert_eq!((due(1, now), due(1, now + PATIENCE), due(1, now + PATIENCE * 2)), (None, None, Some(0)));
        assert!(take());
        assert_eq!(due(1, now + PATIENCE * 2), None, "the first one again");
    };
    SCHEDULES.check(model, &[]);
}
