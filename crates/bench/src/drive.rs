//! A thread of a run, and the task of a connection.

use crate::control::{Control, Phase};
use crate::endpoint::Endpoint;
use crate::link::Link;
use crate::options::RunOptions;
use crate::random::Random;
use crate::reactor::{Call, Reactor, Seat};
use crate::schedule::Schedule;
use crate::seconds::OpenSecond;
use crate::session::{Failure, Session};
use crate::tally::Tally;
use crate::workload::Client;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use sync::atomic::Ordering;

/// Connections from one address of this machine's own; its ports are some 28,000, and closed ones rest for a minute.
const CONNECTIONS_PER_ADDRESS: usize = 4000;
/// Attempts of one transaction, past which it counts as failed.
const ATTEMPTS_MAX: u32 = 1000;
/// A deadlock's victim (its transaction is rolled back), a lock wait timeout, MariaDB's "record has changed".
const DEADLOCK: u16 = 1213;
const RETRIED: [u16; 3] = [DEADLOCK, 1205, 1020];
/// Between two looks of a thread whose connections all wait.
const IDLE_MILLIS: i64 = 100;
/// Longest time to say goodbye.
const QUIT_SECONDS: u64 = 2;

/// What the tasks of a thread share.
pub struct Local {
    control: Arc<Control>,
    tally: RefCell<Tally>,
    second: RefCell<OpenSecond>,
    schedule: RefCell<Option<Schedule>>,
    logging_in: Cell<usize>,
    /// Connections in a transaction.
    busy: Cell<usize>,
    /// Transactions that ended well and were not told to whoever watches.
    ended: Cell<u64>,
}

impl Local {
    fn finished(&self, kind: usize, start: Instant) {
        let now = Instant::now();
        let took = now.saturating_duration_since(start);
        self.ended.set(self.ended.get() + 1);
        let measured = self.control.phase() == Phase::Measure;
        self.tally.borrow_mut().finished(kind, took, measured);
        if measured {
            let since = now.saturating_duration_since(self.control.measuring());
            self.second.borrow_mut().add(since, took, &self.control.seconds);
        }
    }

    /// The next moment of the schedule, if there is a rate.
    fn ticket(&self) -> Option<Instant> {
        self.schedule.borrow_mut().as_mut().map(Schedule::take)
    }
}

/// Where a connection's task is: what it can do beside running statements.
pub struct Place {
    seat: Rc<Seat>,
    local: Rc<Local>,
}

impl Place {
    /// Whether the server answers without looking at what it is asked.
    pub fn is_canned(&self) -> bool {
        self.local.control.canned
    }

    /// Whether transactions are to begin.
    pub fn is_active(&self) -> bool {
        self.local.control.phase().is_active()
    }

    /// Waits until a moment, less when work is paused; whether it goes on.
    pub async fn rest_until(&self, moment: Instant) -> bool {
        if moment > Instant::now() {
            self.seat.wake_at(moment);
            poll_fn(|_| if Instant::now() >= moment || !self.is_active() { Poll::Ready(()) } else { Poll::Pending }).await;
        }
        self.is_active()
    }

    /// Waits for so long, less when work is paused; whether it goes on.
    pub async fn rest(&self, time: Duration) -> bool {
        self.rest_until(Instant::now() + time).await
    }

    /// Connects and logs in, in place of the connection that there was.
    pub async fn log_in(&self, number: usize) -> Result<Session, Failure> {
        let options = &self.local.control.options;
        let to = &self.local.control.to;
        let link = self.seat.connect(to, from(options, to, number)).map_err(Failure::Lost)?;
        log_in(link, options).await
    }
}

/// An address of this machine's own for a connection, where one address has too few ports.
fn from(options: &RunOptions, to: &Endpoint, number: usize) -> Option<SocketAddrV4> {
    let needed = options.connections > CONNECTIONS_PER_ADDRESS && to.has_many_addresses();
    needed.then(|| SocketAddrV4::new(Ipv4Addr::new(127, 0, 1, (number / CONNECTIONS_PER_ADDRESS) as u8 + 1), 0))
}

async fn log_in(link: Rc<Link>, options: &RunOptions) -> Result<Session, Failure> {
    let mut session = Session::log_in(link, &options.server.account(true), !options.work.text).await?;
    if let Some(level) = options.work.isolation.level() {
        session.query(&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")).await?;
    }
    Ok(session)
}

/// A thread: every so manieth connection.
pub fn drive(control: &Arc<Control>, thread: usize, call: Call) -> Result<(), String> {
    let options = &control.options;
    let threads = usize::from(options.work.threads);
    let local = Rc::new(Local {
        control: Arc::clone(control),
        tally: RefCell::default(),
        second: RefCell::default(),
        schedule: RefCell::default(),
        logging_in: Cell::new(0),
        busy: Cell::new(0),
        ended: Cell::new(0),
    });
    let mut reactor = Reactor::new(call)?;
    let mut next = thread;
    let mut seen = Phase::Login;
    let mut handed = 0;
    let mut replies = 0;
    loop {
        while seen == Phase::Login && next < options.connections && local.logging_in.get() < options.work.logins.max(1) {
            local.logging_in.set(local.logging_in.get() + 1);
            reactor.spawn(|seat| connection(Rc::clone(&local), seat, next));
            next += threads;
        }
        reactor.turn(IDLE_MILLIS)?;
        control.ended.fetch_add(local.ended.take(), Ordering::Relaxed);
        let phase = control.phase();
        if phase != seen {
            if phase.is_active() && !seen.is_active() {
                let own = (options.connections + threads - 1 - thread) / threads;
                let rate = options.work.rate.map(|rate| rate * own as f64 / options.connections as f64);
                let share = thread as f64 / threads as f64;
                *local.schedule.borrow_mut() = rate.map(|rate| Schedule::new(control.resumed(), rate, share));
            }
            if phase == Phase::Measure {
                replies = reactor.replies();
            } else if seen == Phase::Measure {
                let mut tally = local.tally.borrow_mut();
                tally.replies = reactor.replies() - replies;
                tally.behind = local.schedule.borrow().map_or(0, |schedule| schedule.behind(Instant::now()));
            }
            seen = phase;
            reactor.poll_all();
        }
        let pauses = control.pauses();
        if handed < pauses && !seen.is_active() && (local.busy.get() == 0 || Instant::now() >= control.drain_until()) {
            handed = pauses;
            local.second.borrow_mut().put(&control.seconds);
            let mut tally = local.tally.take();
            tally.unfinished = (local.busy.get() + local.logging_in.get()) as u64;
            control.hand_over(tally);
        }
        if seen == Phase::Quit && handed == pauses {
            let late = Instant::now() >= control.drain_until() + Duration::from_secs(QUIT_SECONDS);
            if late || reactor.running() <= local.busy.get() + local.logging_in.get() {
                return Ok(());
            }
        }
    }
}

/// The task of a connection.
async fn connection(local: Rc<Local>, seat: Rc<Seat>, number: usize) {
    let control = Arc::clone(&local.control);
    let place = Place { seat, local: Rc::clone(&local) };
    let logged_in = place.log_in(number).await;
    local.logging_in.set(local.logging_in.get() - 1);
    let session = match logged_in {
        Ok(session) => session,
        Err(failure) => {
            let mut tally = local.tally.borrow_mut();
            tally.refused += 1;
            if let Failure::Server(error) = &failure {
                tally.error(error);
            }
            tally.lost_reason.get_or_insert_with(|| failure.to_string());
            control.refused.fetch_add(1, Ordering::SeqCst);
            control.tell_owner();
            return;
        }
    };
    control.ready.fetch_add(1, Ordering::SeqCst);
    control.tell_owner();
    let random = Random::new(control.options.work.seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
    let mut client = Client { session, random, number, turn: 0, place };
    loop {
        let phase = poll_fn(|_| match control.phase() {
            phase if phase.is_active() || phase == Phase::Quit => Poll::Ready(phase),
            _ => Poll::Pending,
        });
        if phase.await == Phase::Quit {
            break;
        }
        while client.place.is_active() {
            if let Err(why) = one(&local, &mut client).await {
                local.tally.borrow_mut().lost(&why);
                control.lost.fetch_add(1, Ordering::SeqCst);
                control.tell_owner();
                return;
            }
        }
    }
    client.session.quit();
}

/// One transaction, with the times before and after it; fails when the connection is lost.
async fn one(local: &Local, client: &mut Client) -> Result<(), String> {
    let workload = &local.control.workload;
    let kind = workload.choose(client);
    let pauses = local.control.options.work.think.map(|factor| workload.pauses(kind, &mut client.random, factor));
    let start = match local.ticket() {
        Some(moment) if client.place.rest_until(moment).await => moment,
        None if pauses.is_none() => Instant::now(),
        None if client.place.rest(pauses.unwrap_or_default().0).await => Instant::now(),
        _ => return Ok(()),
    };
    local.busy.set(local.busy.get() + 1);
    let ended = attempts(local, client, kind, start).await;
    local.busy.set(local.busy.get() - 1);
    if let (Ok(()), Some((_, thinking))) = (&ended, pauses) {
        client.place.rest(thinking).await;
    }
    ended
}

/// As often as it takes.
async fn attempts(local: &Local, client: &mut Client, kind: usize, start: Instant) -> Result<(), String> {
    let (control, workload) = (&local.control, &local.control.workload);
    for _ in 0..ATTEMPTS_MAX {
        let error = match workload.transaction(client, kind).await {
            Ok(()) => {
                local.finished(kind, start);
                return Ok(());
            }
            Err(Failure::Server(error)) => Some(error),
            Err(Failure::Stale) => None,
            Err(Failure::Ended) => return Ok(()),
            Err(Failure::Lost(why)) => return Err(why),
            Err(Failure::Wrong(why)) => {
                local.tally.borrow_mut().wrong(&why);
                roll_back(client).await?;
                break;
            }
        };
        if let Some(error) = &error {
            local.tally.borrow_mut().error(error);
        }
        let code = error.map(|error| error.code);
        if code != Some(DEADLOCK) && workload.keeps_session() {
            // Only the statement was undone.
            roll_back(client).await?;
        }
        if code.is_some_and(|code| !RETRIED.contains(&code)) || !client.place.is_active() {
            break;
        }
        if control.phase() == Phase::Measure {
            local.tally.borrow_mut().retries += 1;
        }
    }
    if control.phase() == Phase::Measure {
        local.tally.borrow_mut().failed += 1;
    }
    Ok(())
}

async fn roll_back(client: &mut Client) -> Result<(), String> {
    client.session.query("ROLLBACK").await.map_err(|failure| failure.to_string())
}
