//! [`Posts`]: how many threads serve parked sessions at once, and which.
//!
//! There is a *post* for each processor: the right to take those whose clients have spoken. A *member* of the crew that holds a post serves one guest after the other, without
//! a switch of threads in between, and hands the post on in the moment in which it is about to block ([`sync::blocking`]): for a row, a slot of admission, the log, the disk, its
//! client. Another member of that post, one that rests, or a new one, goes on there; who has blocked finishes its statement without a post, and rests. So as many threads work as
//! there are processors, and those that have become able to run again; no wait uses up what others need, however many wait.
//!
//! What blocks unannounced, or computes for long, loses its post to the *monitor*, which looks every few milliseconds while anybody serves.
//!
//! # Invariants
//! 1. A post has at most one holder. It changes by compare-and-swap on one word: the holder's number, or 0 while it is vacant.
//! 2. A vacant post is filled by who has made it vacant. Whoever comes to rest looks for that under the latch of those that rest, so one of the two sees the other; where no thread is to be had, the monitor tries
//!    again.
//! 3. The monitor sleeps only while every post's holder waits for somebody to speak. A holder that waits no more says so, then looks whether the monitor sleeps; the monitor says that it sleeps, then looks who waits (all
//!    SeqCst). So nothing of that is asked for each guest.

use super::platform::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use super::platform::{Arc, CachePadded, Mutex, OnceLock, Rank, Signal, patience, planted};
use std::time::{Duration, Instant};

/// How often the monitor looks while anybody serves.
pub(crate) const TICK: Duration = Duration::from_millis(5);
/// After so many looks at which nobody served it sleeps.
const QUIET_TICKS: u32 = 20;
/// A holder that has computed for so long at one guest loses its post.
const LONG: Duration = Duration::from_millis(8);
/// A member that has rested for so long gives its memory back. Not at once: where their number swings, it is called again within milliseconds.
const GIVE_BACK_AFTER: Duration = Duration::from_secs(1);
/// A member that has rested for so long more goes.
const GO_AFTER: Duration = Duration::from_secs(19);

/// What a thread is doing, as its kernel tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It sleeps.
    Blocked,
    /// It runs, or waits for its turn on a processor; so long it has run in all.
    Running(Duration),
}

/// A thread as the monitor sees it.
pub(crate) trait Worker {
    /// `None` when that cannot be told.
    fn doing(&self) -> Option<Doing>;

    /// It need not stay on its post's processor: it works on without one. Called by the monitor.
    fn let_loose(&self);
}

/// A thread of the crew.
pub(crate) struct Member<W> {
    /// Never 0.
    number: u32,
    post: usize,
    /// Odd while it serves a guest; grows with each. It alone writes here.
    turn: AtomicU64,
    /// The turn that the monitor saw last, and how often; it alone writes here.
    seen: AtomicU64,
    looks: AtomicU32,
    signal: Signal,
    worker: W,
}

impl<W> Member<W> {
    /// Its post.
    pub(crate) fn post(&self) -> usize {
        self.post
    }

    /// Its thread.
    pub(crate) fn worker(&self) -> &W {
        &self.worker
    }
}

struct Post<W> {
    /// See invariant 1.
    holder: AtomicU32,
    /// The holder waits for somebody to speak, and has not been told to come. SeqCst, see [`Posts::waits`].
    idle: AtomicBool,
    /// The holder waits for somebody to speak. It alone writes here, and who waits is not relieved.
    waits: AtomicBool,
    /// A thread has been asked for, and has not enlisted yet. (On a busy machine that takes longer than the monitor's tick.)
    starts: AtomicBool,
    /// Members that rest; the last one is called first, as it is warm.
    resting: Mutex<Vec<Arc<Member<W>>>>,
}

/// What the monitor knows of a post.
#[derive(Clone, Copy, Default)]
struct Look {
    holder: u32,
    turn: u64,
    /// What its thread had run when it was first looked at in this turn.
    ran: Option<Duration>,
}

/// Starts a thread that will [`Posts::enlist`] at this post; false when there is none to be had.
type Start = Box<dyn Fn(usize) -> bool + Send + Sync>;

/// See the module.
pub(crate) struct Posts<W> {
    posts: Box<[CachePadded<Post<W>>]>,
    members: Mutex<Vec<Arc<Member<W>>>>,
    numbers: AtomicU32,
    start: OnceLock<Start>,
    /// The monitor sleeps.
    asleep: AtomicBool,
    signal: Signal,
    closed: AtomicBool,
}

impl<W: Worker> Posts<W> {
    /// So many posts, all vacant.
    pub(crate) fn new(count: usize) -> Self {
        let post = || {
            CachePadded::new(Post {
                holder: AtomicU32::new(0),
                idle: AtomicBool::new(false),
                waits: AtomicBool::new(false),
                starts: AtomicBool::new(false),
                resting: Mutex::new(Rank::Leaf, Vec::new()),
            })
        };
        Self {
            posts: (0..count).map(|_| post()).collect(),
            members: Mutex::new(Rank::Leaf, Vec::new()),
            numbers: AtomicU32::new(0),
            start: OnceLock::new(),
            asleep: AtomicBool::new(false),
            signal: Signal::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Mans all posts; from now on `start` is asked for threads.
    pub(crate) fn open(&self, start: impl Fn(usize) -> bool + Send + Sync + 'static) {
        let _ = self.start.set(Box::new(start));
        for post in 0..self.posts.len() {
            self.fill(post);
        }
    }

    /// Members.
    pub(crate) fn count(&self) -> u32 {
        self.members.lock().len() as u32
    }

    /// The calling thread becomes a member at this post; it holds it only once [`Posts::obtain`] says so.
    pub(crate) fn enlist(&self, post: usize, worker: W) -> Arc<Member<W>> {
        let number = loop {
            // After four thousand million of them numbers begin anew; 0 means nobody.
            match self.numbers.fetch_add(1, Ordering::Relaxed).wrapping_add(1) {
                0 => {}
                number => break number,
            }
        };
        let member = Arc::new(Member {
            number,
            post,
            turn: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            looks: AtomicU32::new(0),
            signal: Signal::new(),
            worker,
        });
        self.members.lock().push(Arc::clone(&member));
        self.posts[post].starts.store(false, Ordering::SeqCst);
        member
    }

    /// The calling thread is a member no more. It holds no post, and does not rest.
    pub(crate) fn leave(&self, member: &Arc<Member<W>>) {
        self.members.lock().retain(|other| !Arc::ptr_eq(other, member));
    }

    /// Whether this member holds its post.
    #[inline]
    pub(crate) fn holds(&self, member: &Member<W>) -> bool {
        // Relaxed: nobody but the member itself makes it the holder while it does not rest.
        self.posts[member.post].holder.load(Ordering::Relaxed) == member.number
    }

    /// A member, which holds no post, takes it if it is vacant; otherwise, if it `rests`, it does so until it is called: true. False when it is to go, for want of work. `give_back`:
    /// called once when it has rested for a while.
    pub(crate) fn obtain(&self, member: &Arc<Member<W>>, rests: bool, give_back: impl Fn()) -> bool {
        let post = &self.posts[member.post];
        {
            let mut resting = post.resting.lock();
            if self.is_closed() {
                return false;
            }
            if !planted("rests_beside_a_vacant_post") && self.takes(post, member) {
                return true;
            }
            if !rests {
                return false;
            }
            resting.push(Arc::clone(member));
        }
        let mut gave_back = false;
        loop {
            member.signal.wait(patience(if gave_back { GO_AFTER } else { GIVE_BACK_AFTER }));
            if post.holder.load(Ordering::Acquire) == member.number {
                return true;
            }
            if self.is_closed() {
                return false;
            }
            let mut resting = post.resting.lock();
            let Some(place) = resting.iter().position(|other| Arc::ptr_eq(other, member)) else {
                // It is just being called.
                continue;
            };
            if gave_back {
                resting.remove(place);
                return false;
            }
            drop(resting);
            give_back();
            gave_back = true;
        }
    }

    fn takes(&self, post: &Post<W>, member: &Member<W>) -> bool {
        post.holder.compare_exchange(0, member.number, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// A member hands on its post, if it holds that: it is about to block, or will not come back.
    #[inline]
    pub(crate) fn hand_on(&self, member: &Member<W>) {
        if self.holds(member) {
            self.relieve(member);
        }
    }

    /// A member hands on its post for good; false when nobody takes it, so that it still holds it.
    pub(crate) fn hands_over(&self, member: &Member<W>) -> bool {
        self.relieve(member) || !self.takes(&self.posts[member.post], member)
    }

    /// Whether somebody holds the post now, or will.
    fn relieve(&self, member: &Member<W>) -> bool {
        let post = &self.posts[member.post];
        post.holder.compare_exchange(member.number, 0, Ordering::SeqCst, Ordering::SeqCst).is_err() || self.fill(member.post)
    }

    /// Finds a holder for a post that is vacant. False when there is none; then the monitor tries again, and whoever comes to rest.
    fn fill(&self, at: usize) -> bool {
        let post = &self.posts[at];
        let next = post.resting.lock().pop();
        match next {
            Some(member) if self.takes(post, &member) => {
                member.signal.notify();
                true
            }
            // Another has come meanwhile.
            Some(member) => {
                post.resting.lock().push(Arc::clone(&member));
                if self.is_closed() {
                    member.signal.notify();
                }
                true
            }
            None => {
                if self.is_closed() || post.holder.load(Ordering::SeqCst) != 0 || post.starts.swap(true, Ordering::SeqCst) {
                    return true;
                }
                let started = self.start.get().is_some_and(|start| start(at));
                if !started {
                    post.starts.store(false, Ordering::SeqCst);
                }
                started
            }
        }
    }

    /// A member begins to serve a guest.
    #[inline]
    pub(crate) fn begins(&self, member: &Member<W>) {
        // Release: with `Posts::ends` it tells the monitor's second look at a turn that the first was of the same guest.
        member.turn.store(member.turn.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// It has served it.
    #[inline]
    pub(crate) fn ends(&self, member: &Member<W>) {
        member.turn.store(member.turn.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// The holder of a post is about to wait for somebody to speak. It says so, then looks once more for what it might do; who has something for others puts that there, then calls [`Posts::idle`].
    pub(crate) fn waits(&self, post: usize) {
        let post = &self.posts[post];
        post.waits.store(true, Ordering::Release);
        post.idle.store(true, Ordering::SeqCst);
    }

    /// It waits no more.
    pub(crate) fn waited(&self, post: usize) {
        let post = &self.posts[post];
        // Release: who still sees that it waits tells it in vain.
        post.idle.store(false, Ordering::Release);
        post.waits.store(false, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) && !planted("silent_turn") {
            self.signal.notify();
        }
    }

    /// Another post whose holder waits for somebody to speak, and is to be told that there is something to do; told once.
    pub(crate) fn idle(&self, but: usize) -> Option<usize> {
        (0..self.posts.len()).filter(|post| *post != but).find(|post| self.take_idle(*post))
    }

    /// The same for this post: whether its holder waits, and is to be told. It must be: until it has come and waits again, nobody else tells it.
    pub(crate) fn take_idle(&self, post: usize) -> bool {
        self.posts[post].idle.load(Ordering::SeqCst) && self.posts[post].idle.swap(false, Ordering::SeqCst)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Sends everybody home who rests, and the monitor. Those who wait for guests are told otherwise.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        // Under the latch of those that rest: who comes later sees it.
        for post in &self.posts {
            post.resting.lock().iter().for_each(|member| member.signal.notify());
        }
        self.signal.notify();
    }

    /// The life of the monitor, until [`Posts::close`].
    pub(crate) fn monitor(&self) {
        let mut looks = vec![Look::default(); self.posts.len()];
        let mut quiet = 0;
        while !self.is_closed() {
            if quiet >= QUIET_TICKS {
                self.sleep_while_idle();
                quiet = 0;
                continue;
            }
            self.signal.wait(Some(Instant::now() + TICK));
            let mut serves = false;
            for (post, look) in looks.iter_mut().enumerate() {
                serves |= self.look_at(post, look);
            }
            self.let_loose();
            quiet = if serves { 0 } else { quiet + 1 };
        }
    }

    /// The monitor sleeps while all holders wait.
    pub(crate) fn sleep_while_idle(&self) {
        loop {
            let early = planted("look_before_sleeping").then(|| self.serves());
            self.asleep.store(true, Ordering::SeqCst);
            if early.unwrap_or_else(|| self.serves()) || self.is_closed() {
                break;
            }
            self.signal.wait(None);
        }
        self.asleep.store(false, Ordering::SeqCst);
    }

    /// Whether any post is vacant, or its holder does not wait.
    fn serves(&self) -> bool {
        self.posts.iter().any(|post| post.holder.load(Ordering::SeqCst) == 0 || !post.waits.load(Ordering::SeqCst))
    }

    fn member(&self, number: u32) -> Option<Arc<Member<W>>> {
        self.members.lock().iter().find(|member| member.number == number).cloned()
    }

    /// One look at a post: whether its holder serves. One that has blocked, or computes for long, loses it.
    fn look_at(&self, at: usize, look: &mut Look) -> bool {
        let holder = self.posts[at].holder.load(Ordering::SeqCst);
        if holder == 0 {
            self.fill(at);
            return true;
        }
        let Some(member) = self.member(holder) else { return true };
        let turn = member.turn.load(Ordering::SeqCst);
        if turn % 2 == 0 {
            return false;
        }
        if (look.holder, look.turn) != (holder, turn) {
            *look = Look { holder, turn, ran: None };
            return true;
        }
        let doing = member.worker.doing();
        // It may have come to the next guest meanwhile, which is not to be taken for the last.
        if member.turn.load(Ordering::SeqCst) != turn {
            return true;
        }
        match (doing, look.ran) {
            (Some(Doing::Running(ran)), None) => look.ran = Some(ran),
            (Some(Doing::Running(ran)), Some(before)) if ran.saturating_sub(before) < LONG => {}
            _ => {
                self.relieve(&member);
            }
        }
        true
    }

    /// Those that have worked on without a post for more than a tick may do so anywhere.
    fn let_loose(&self) {
        let members = self.members.lock();
        for member in members.iter() {
            let turn = member.turn.load(Ordering::Relaxed);
            if turn % 2 == 0 || self.holds(member) {
                continue;
            }
            let looks =
                if member.seen.swap(turn, Ordering::Relaxed) == turn { member.looks.load(Ordering::Relaxed).saturating_add(1) } else { 0 };
            member.looks.store(looks, Ordering::Relaxed);
            if looks == 1 {
                member.worker.let_loose();
            }
        }
    }
}
