//! One thread: its connections' tasks, polled when their replies have arrived, their time has come, or somebody calls.
//!
//! # Invariants
//! 1. A task waits for one thing at a time: a reply, a moment, or a change that is followed by [`Reactor::poll_all`]. Whatever it is polled
//!    for, it looks itself whether that has come.

use crate::endpoint::Endpoint;
use crate::link::Link;
use base::{bring_all_near, bring_near};
use rustix::buffer::spare_capacity;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use rustix::fd::OwnedFd;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::Future;
use std::net::SocketAddrV4;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

type Task = Pin<Box<dyn Future<Output = ()>>>;
type Timers = Rc<RefCell<BinaryHeap<Reverse<(Instant, usize)>>>>;

/// Where a task sits: through it the task connects and asks to be woken.
pub struct Seat {
    at: usize,
    epoll: Rc<OwnedFd>,
    timers: Timers,
    link: RefCell<Option<Rc<Link>>>,
}

impl Seat {
    /// Begins to connect; the link takes the place of the last one.
    pub fn connect(&self, to: &Endpoint, from: Option<SocketAddrV4>) -> Result<Rc<Link>, String> {
        let link = Rc::new(Link::connect(to, from)?);
        let data = epoll::EventData::new_u64(self.at as u64);
        // Edge-triggered, so that nothing has to be set again: whoever is woken takes all there is.
        let flags = epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(&*self.epoll, link.fd(), data, flags).map_err(|e| format!("epoll: {e}"))?;
        *self.link.borrow_mut() = Some(Rc::clone(&link));
        Ok(link)
    }

    /// Lets the task be polled at a moment, if not before.
    pub fn wake_at(&self, moment: Instant) {
        self.timers.borrow_mut().push(Reverse((moment, self.at)));
    }
}

struct Slot {
    seat: Rc<Seat>,
    task: Task,
}

/// Ends a wait of the reactor from another thread.
#[derive(Clone)]
pub struct Call(Arc<OwnedFd>);

impl Call {
    /// One that no reactor listens to yet.
    pub fn new() -> Result<Call, String> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| format!("eventfd: {e}"))?;
        Ok(Call(Arc::new(fd)))
    }

    /// Calls.
    pub fn call(&self) {
        // A counter that is full has called already.
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }
}

/// The tasks of a thread.
pub struct Reactor {
    epoll: Rc<OwnedFd>,
    call: Call,
    /// Finer than the timeout of a wait, which is in milliseconds.
    alarm: OwnedFd,
    alarm_at: Option<Instant>,
    timers: Timers,
    slots: Vec<Option<Slot>>,
    events: Vec<epoll::Event>,
    buffer: Vec<u8>,
    running: usize,
    replies: u64,
}

/// Events taken at once: few enough that replies do not grow old in the list.
const EVENTS_MAX: usize = 256;
/// Received at once; a reply longer than this is received in pieces.
const RECEIVE_BYTES: usize = 64 << 10;
/// With so many tasks what one touches has been driven out of the processor's caches before its turn comes: the kernel's part of a connection counts, too.
const FAR_FROM: usize = 256;
const CALLED: u64 = u64::MAX;
const ALARM: u64 = u64::MAX - 1;

impl Reactor {
    /// Without tasks.
    pub fn new(call: Call) -> Result<Reactor, String> {
        let failed = |e: rustix::io::Errno| format!("epoll: {e}");
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let alarm = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).map_err(failed)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &*call.0, epoll::EventData::new_u64(CALLED), flags).map_err(failed)?;
        epoll::add(&epoll, &alarm, epoll::EventData::new_u64(ALARM), flags).map_err(failed)?;
        Ok(Reactor {
            epoll: Rc::new(epoll),
            call,
            alarm,
            alarm_at: None,
            timers: Timers::default(),
            slots: Vec::new(),
            events: Vec::with_capacity(EVENTS_MAX),
            buffer: vec![0; RECEIVE_BYTES],
            running: 0,
            replies: 0,
        })
    }

    /// Adds a task and runs it until it waits.
    pub fn spawn<F: Future<Output = ()> + 'static>(&mut self, task: impl FnOnce(Rc<Seat>) -> F) {
        let seat = Rc::new(Seat {
            at: self.slots.len(),
            epoll: Rc::clone(&self.epoll),
            timers: Rc::clone(&self.timers),
            link: RefCell::default(),
        });
        let task = Box::pin(task(Rc::clone(&seat)));
        self.slots.push(Some(Slot { seat, task }));
        self.running += 1;
        self.poll(self.slots.len() - 1);
    }

    /// Tasks that have not ended.
    pub fn running(&self) -> usize {
        self.running
    }

    /// Replies that have arrived.
    pub fn replies(&self) -> u64 {
        self.replies
    }

    fn poll(&mut self, at: usize) {
        let Some(slot) = &mut self.slots[at] else { return };
        if slot.task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            // Closing the socket takes it out of the epoll set.
            self.slots[at] = None;
            self.running -= 1;
        }
    }

    /// Polls all tasks: what they wait for is not only a reply.
    pub fn poll_all(&mut self) {
        (0..self.slots.len()).for_each(|at| self.poll(at));
    }

    /// Sets the alarm to the first moment that somebody waits for.
    fn set_alarm(&mut self, now: Instant) -> Result<(), String> {
        let first = self.timers.borrow().peek().map(|Reverse((moment, _))| *moment);
        let Some(first) = first.filter(|_| first != self.alarm_at) else { return Ok(()) };
        // Nothing at all would switch it off.
        let left = first.saturating_duration_since(now).max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.alarm, TimerfdTimerFlags::empty(), &once).map_err(|e| format!("timerfd: {e}"))?;
        self.alarm_at = Some(first);
        Ok(())
    }

    /// Polls the tasks whose moment has come.
    fn poll_due(&mut self) {
        let now = Instant::now();
        loop {
            let due = {
                let mut timers = self.timers.borrow_mut();
                match timers.peek() {
                    Some(Reverse((moment, _))) if *moment <= now => timers.pop(),
                    _ => None,
                }
            };
            let Some(Reverse((_, at))) = due else { return };
            self.poll(at);
        }
    }

    /// Waits at most so long for replies, moments and calls, and lets their tasks go on.
    pub fn turn(&mut self, millis: i64) -> Result<(), String> {
        if !self.timers.borrow().is_empty() {
            self.poll_due();
            self.set_alarm(Instant::now())?;
        }
        let timeout = Timespec { tv_sec: millis / 1000, tv_nsec: millis % 1000 * 1_000_000 };
        self.events.clear();
        match epoll::wait(&*self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(format!("epoll: {error}")),
        }
        for index in 0..self.events.len() {
            let event = self.events[index];
            self.bring_next_near(index);
            match event.data.u64() {
                CALLED => drop(rustix::io::read(&self.call.0, &mut [0; 8])),
                ALARM => {
                    let _ = rustix::io::read(&self.alarm, &mut [0; 8]);
                    self.alarm_at = None;
                }
                at => {
                    let flags = event.flags;
                    self.arrived(at as usize, flags.intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR));
                }
            }
        }
        self.poll_due();
        Ok(())
    }

    /// Asks the processor's caches for what the events behind this one will touch. Each step follows pointers that the one before has asked for.
    fn bring_next_near(&self, index: usize) {
        if self.slots.len() < FAR_FROM {
            return;
        }
        // Calls and alarms have numbers past the end.
        let place = |ahead: usize| self.events.get(index + ahead).map(|event| event.data.u64() as usize);
        let slot = |ahead: usize| self.slots.get(place(ahead)?)?.as_ref();
        if let Some(at) = place(3) {
            bring_near(&self.slots, at);
        }
        if let Some(Slot { seat, task }) = slot(2) {
            bring_all_near(&**seat);
            bring_all_near(&**task);
        }
        if let Some(link) = slot(1).and_then(|slot| slot.seat.link.try_borrow().ok()).as_deref().and_then(Option::as_deref) {
            bring_all_near(link);
        }
    }

    fn arrived(&mut self, at: usize, has_ended: bool) {
        let Some(slot) = &self.slots[at] else { return };
        let link = slot.seat.link.borrow().clone();
        if link.is_some_and(|link| link.ready(&mut self.buffer, has_ended)) {
            self.replies += 1;
            self.poll(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::task::Poll;

    #[test]
    fn tasks_go_on_in_the_order_of_their_moments() {
        let mut reactor = Reactor::new(Call::new().expect("a call")).expect("a reactor");
        let begun = Instant::now();
        let order = Rc::new(RefCell::new(Vec::new()));
        for millis in [9u64, 3, 6] {
            let order = Rc::clone(&order);
            reactor.spawn(|seat| async move {
                let moment = begun + Duration::from_millis(millis);
                seat.wake_at(moment);
                poll_fn(|_| if Instant::now() >= moment { Poll::Ready(()) } else { Poll::Pending }).await;
                order.borrow_mut().push((millis, Instant::now() >= moment));
            });
        }
        while reactor.running() > 0 {
            reactor.turn(1000).expect("a turn");
        }
        assert_eq!(*order.borrow(), [(3, true), (6, true), (9, true)]);
    }

    #[test]
    fn an_end_that_comes_with_bytes_is_seen() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("a port").port();
        let to = Endpoint::Tcp(SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port).into());
        let mut reactor = Reactor::new(Call::new().expect("a call")).expect("a reactor");
        let why = Rc::new(RefCell::new(String::new()));
        let told = Rc::clone(&why);
        reactor.spawn(|seat| async move {
            let link = seat.connect(&to, None).expect("a link");
            *told.borrow_mut() = link.done().await.expect_err("half a greeting");
        });
        // Half a packet and the end, before the reactor looks.
        let (mut stream, _) = listener.accept().expect("the link");
        std::io::Write::write_all(&mut stream, &[80, 0, 0, 0, 10, 56]).expect("written");
        drop(stream);
        let patience = Instant::now() + Duration::from_secs(30);
        while reactor.running() > 0 && Instant::now() < patience {
            reactor.turn(100).expect("a turn");
        }
        assert_eq!((reactor.running(), why.borrow().as_str()), (0, "the server closed the connection"));
    }

    #[test]
    fn a_call_ends_a_wait() {
        let call = Call::new().expect("a call");
        let mut reactor = Reactor::new(call.clone()).expect("a reactor");
        let caller = std::thread::spawn(move || call.call());
        // Would wait for an hour.
        reactor.turn(3_600_000).expect("a turn");
        caller.join().expect("it called");
    }
}
