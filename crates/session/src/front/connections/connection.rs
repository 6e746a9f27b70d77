//! One connection: what its own thread marks, and what others read of it and ask of it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Traffic;
use engine::HandlerCounts;
use lock_manager::WaitObserver;
use protocol::compressed::Algorithm;
use sync::{CachePadded, Mutex, Rank};
use tls::{PeerCertificate, Secured};

/// What a connection is doing. Kept in the low bits of its activity word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// Not logged in yet; bounded by `connect_timeout`.
    Handshake = 0,
    /// Waiting for a command; bounded by `wait_timeout`.
    Idle = 1,
    /// Part of a packet has arrived; bounded by `net_read_timeout`.
    Reading = 2,
    /// Running a command.
    Running = 3,
    /// Waiting for the client to take bytes; bounded by `net_write_timeout`.
    Writing = 4,
    /// Over.
    Closed = 5,
}

// The activity word, from its low end: phase, command byte, changes of phase within the command, number of the turn. Commands
// and the waits between them take turns.
const PHASE_BITS: u32 = 3;
const COMMAND_BITS: u32 = 8;
const CHANGE_BITS: u32 = 10;
const CHANGE_SHIFT: u32 = PHASE_BITS + COMMAND_BITS;
const TURN_SHIFT: u32 = CHANGE_SHIFT + CHANGE_BITS;
const PHASE_MASK: u64 = (1 << PHASE_BITS) - 1;
const CHANGE_MASK: u64 = ((1 << CHANGE_BITS) - 1) << CHANGE_SHIFT;

/// Command byte of a connection that waits for a command; MySQL's name for it is `Sleep`.
pub const SLEEP: u8 = 0x00;
/// Command byte of a connection that is not logged in yet; MySQL's name for it is `Connect`.
pub const CONNECT: u8 = 0x0B;
const COM_QUERY: u8 = 0x03;
const COM_STMT_EXECUTE: u8 = 0x17;

/// Why a statement or connection must stop. Higher numbers win over lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Stop {
    /// Nothing.
    No = 0,
    /// KILL QUERY: this statement only.
    Query = 1,
    /// `max_execution_time` has passed: this statement only (3024).
    QueryTimeout = 2,
    /// The client has hung up.
    ClientGone = 3,
    /// A timeout of the connection (`wait_timeout`, `net_read_timeout`, …).
    ConnectionTimeout = 4,
    /// KILL CONNECTION.
    Connection = 5,
    /// The server shuts down (1053).
    Shutdown = 6,
}

impl Stop {
    const fn from_u32(value: u32) -> Self {
        match value {
            1 => Self::Query,
            2 => Self::QueryTimeout,
            3 => Self::ClientGone,
            4 => Self::ConnectionTimeout,
            5 => Self::Connection,
            6 => Self::Shutdown,
            _ => Self::No,
        }
    }

    /// Whether the whole connection ends, not only its statement.
    pub const fn ends_connection(self) -> bool {
        matches!(self, Self::ClientGone | Self::ConnectionTimeout | Self::Connection | Self::Shutdown)
    }
}

/// The socket of a connection, as far as others may touch it.
pub trait Hangup: Send + Sync {
    /// Wakes the connection's thread out of a wait for the client's bytes; it then reads the end of the stream. With `writes_too` also
    /// out of a wait for the client to take bytes; then no last word can be sent.
    fn hang_up(&self, writes_too: bool);

    /// Whether the client has closed its end or the connection broke. Asked about statements that run long.
    fn is_gone(&self) -> bool;
}

/// The words about a connection that the process list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Label {
    /// User, as the client named itself.
    pub user: String,
    /// User part of its account: whose the connection is.
    pub account_user: String,
    /// `host:port`.
    pub host: String,
    /// Current database.
    pub database: Option<String>,
    /// The running (or last) statement, cut to [`STATEMENT_BYTES_MAX`].
    pub statement: Vec<u8>,
}

impl Label {
    /// Where and who a client is, as InnoDB's report says it: host, address where that is another word, user.
    pub fn place(&self) -> String {
        let user = &self.user;
        match self.host.rsplit_once(':') {
            Some(("localhost", _)) => format!("localhost 127.0.0.1 {user}"),
            Some((address, _)) => format!("{address} {user}"),
            None => format!("{} {user}", self.host),
        }
    }
}

/// Bytes of a statement's text that the process list keeps, as MySQL's.
pub const STATEMENT_BYTES_MAX: usize = 65_535;
/// Bytes for a statement's text that an idle connection keeps.
pub const STATEMENT_BYTES_KEPT: usize = 1024;

/// What the watcher has seen of a connection; it alone writes here.
#[derive(Debug)]
struct Seen {
    /// The activity word. Release on store and acquire on load: who sees it sees its times, or later ones.
    activity: AtomicU64,
    /// When the word was first seen as it is, in milliseconds of the registry's clock.
    since_ms: AtomicU64,
    /// When its turn was first seen.
    turn_since_ms: AtomicU64,
    /// The turn that was counted as slow.
    slow_turn: AtomicU64,
}

/// What a connection's own thread alone writes, so that adding is a load and a store.
#[derive(Debug)]
struct Own {
    /// What the connection does (see `TURN_SHIFT`). The release store pairs with the acquire load of [`Connection::activity`]: who sees a command
    /// running comes after its `stop` was forgotten.
    activity: AtomicU64,
    /// Bytes from the client. Relaxed, as the next: counts order nothing.
    received: AtomicU64,
    /// Bytes to it.
    sent: AtomicU64,
}

/// One connection.
pub struct Connection {
    pub(super) id: u32,
    /// What its own thread alone writes.
    own: CachePadded<Own>,
    /// What its session asks of tables.
    pub(crate) handler_counts: Arc<HandlerCounts>,
    seen: Seen,
    /// Relaxed: for the eyes of the front, which counts threads that wait for the disk.
    committing: AtomicBool,
    /// A [`Stop`]. Release on store and acquire on load, so that who sees the stop sees what was done before it.
    stop: AtomicU32,
    /// Seconds; set by the session when the variable changes, read by the watcher.
    wait_timeout_s: AtomicU32,
    /// `net_read_timeout` in milliseconds; set by the session when the variable changes, read by the watcher, as the next.
    net_read_timeout_ms: AtomicU32,
    net_write_timeout_ms: AtomicU32,
    /// `long_query_time`; set by the session, read by the watcher.
    slow_after_ms: AtomicU32,
    /// When the running statement must end, by the registry's clock; 0 = no limit. Set by the session, read by the watcher; relaxed: each number stands for
    /// itself.
    deadline_ms: AtomicU64,
    /// What to call so that waits inside the engine (row locks, admission) see the stop.
    waker: Mutex<Option<Arc<dyn Fn(Stop) + Send + Sync>>>,
    /// What to ask for what the statement waits for; the session's.
    wait_observer: Mutex<Option<Arc<dyn WaitObserver>>>,
    wait_probe: Mutex<Option<Arc<dyn Fn() -> Option<&'static str> + Send + Sync>>>,
    label: Mutex<Label>,
    /// The prepared statement whose text stands in the label; 0: another text does. (Relaxed: who serves the session writes and reads it, nobody else.)
    labelled: AtomicU32,
    /// What was agreed on, when the connection is encrypted.
    secured: OnceLock<Secured>,
    /// How packets are compressed, if they are.
    compression: OnceLock<Algorithm>,
    /// What the client said of itself at its login.
    attributes: Mutex<Arc<[(String, String)]>>,
    /// It came over the unix socket.
    unix: AtomicBool,
    /// Its session has SYSTEM_USER. Relaxed, as is `unix`: nothing is found through it.
    system_user: AtomicBool,
    hangup: Box<dyn Hangup>,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("id", &self.id).field("phase", &self.phase()).finish_non_exhaustive()
    }
}

impl Connection {
    /// A connection in its handshake.
    pub fn new(id: u32, host: String, hangup: Box<dyn Hangup>) -> Arc<Self> {
        Arc::new(Self {
            id,
            own: CachePadded::new(Own {
                activity: AtomicU64::new(u64::from(CONNECT) << PHASE_BITS | Phase::Handshake as u64),
                received: AtomicU64::new(0),
                sent: AtomicU64::new(0),
            }),
            handler_counts: Arc::default(),
            // No activity word is that large, so the first look sees something new.
            seen: Seen {
                activity: AtomicU64::new(u64::MAX),
                since_ms: AtomicU64::new(0),
                turn_since_ms: AtomicU64::new(0),
                slow_turn: AtomicU64::new(u64::MAX),
            },
            committing: AtomicBool::new(false),
            stop: AtomicU32::new(Stop::No as u32),
            wait_timeout_s: AtomicU32::new(28_800),
            net_read_timeout_ms: AtomicU32::new(30_000),
            net_write_timeout_ms: AtomicU32::new(60_000),
            slow_after_ms: AtomicU32::new(10_000),
            deadline_ms: AtomicU64::new(0),
            waker: Mutex::new(Rank::Leaf, None),
            wait_observer: Mutex::new(Rank::Leaf, None),
            wait_probe: Mutex::new(Rank::Leaf, None),
            label: Mutex::new(Rank::Leaf, Label { host, user: "unauthenticated user".to_owned(), ..Label::default() }),
            labelled: AtomicU32::new(0),
            secured: OnceLock::new(),
            compression: OnceLock::new(),
            attributes: Mutex::new(Rank::Leaf, Arc::default()),
            unix: AtomicBool::new(false),
            system_user: AtomicBool::new(false),
            hangup,
        })
    }

    /// Asks the processor's caches for what each command touches.
    #[inline]
    pub fn bring_near(&self) {
        base::bring_all_near(&*self.own);
        base::bring_all_near(&self.stop);
        base::bring_all_near(&self.deadline_ms);
        base::bring_all_near(&self.label);
        base::bring_all_near(&self.labelled);
    }

    /// Notes that the connection is encrypted from now on.
    pub fn set_secured(&self, secured: Secured) {
        // A connection is encrypted once; a second time would not be its handshake.
        let _ = self.secured.set(secured);
    }

    /// Notes how packets are compressed once the client is logged in.
    pub fn set_compression(&self, algorithm: Algorithm) {
        // Agreed on once, in the login.
        let _ = self.compression.set(algorithm);
    }

    /// How packets are compressed, if they are.
    pub fn compression(&self) -> Option<Algorithm> {
        self.compression.get().copied()
    }

    /// Keeps what the client said of itself.
    pub fn set_attributes(&self, attributes: Vec<(String, String)>) {
        *self.attributes.lock() = attributes.into();
    }

    /// What the client said of itself: names and values.
    pub fn attributes(&self) -> Arc<[(String, String)]> {
        Arc::clone(&self.attributes.lock())
    }

    /// Notes that it came over the unix socket.
    pub fn set_unix(&self) {
        self.unix.store(true, Ordering::Relaxed);
    }

    /// Notes whether its session has SYSTEM_USER.
    pub(crate) fn set_system_user(&self, has: bool) {
        self.system_user.store(has, Ordering::Relaxed);
    }

    /// Whether its session has SYSTEM_USER.
    pub(crate) fn is_system_user(&self) -> bool {
        self.system_user.load(Ordering::Relaxed)
    }

    /// What was agreed on with the client of an encrypted connection.
    pub fn secured(&self) -> Option<&Secured> {
        self.secured.get()
    }

    /// Whether nobody on the way can listen: TLS or the unix socket.
    pub fn secure_transport(&self) -> bool {
        self.secured.get().is_some() || self.unix.load(Ordering::Relaxed)
    }

    /// The certificate that the client has shown, signed by the server's authority.
    pub fn peer_certificate(&self) -> Option<&PeerCertificate> {
        self.secured.get()?.peer.as_ref()
    }

    /// The connection's id.
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Marks what the connection does within its command, or while it waits for one. Only its own thread calls this.
    #[inline]
    pub fn enter(&self, phase: Phase) {
        let word = self.own.activity.load(Ordering::Relaxed);
        // Changes are counted in a circle: the watcher sees that there was one, the turn stays.
        let changes = word.wrapping_add(1 << CHANGE_SHIFT) & CHANGE_MASK;
        self.own.activity.store(word & !(CHANGE_MASK | PHASE_MASK) | changes | phase as u64, Ordering::Release);
    }

    #[inline]
    fn next_turn(&self, command: u8, phase: Phase) {
        let turn = (self.own.activity.load(Ordering::Relaxed) >> TURN_SHIFT).wrapping_add(1);
        self.own.activity.store(turn << TURN_SHIFT | u64::from(command) << PHASE_BITS | phase as u64, Ordering::Release);
    }

    /// The activity word: a value that has stayed the same means that the connection still does the same thing.
    #[inline]
    pub fn activity(&self) -> u64 {
        self.own.activity.load(Ordering::Acquire)
    }

    /// The phase in an activity word.
    pub const fn phase_of(activity: u64) -> Phase {
        match activity & PHASE_MASK {
            0 => Phase::Handshake,
            1 => Phase::Idle,
            2 => Phase::Reading,
            3 => Phase::Running,
            4 => Phase::Writing,
            _ => Phase::Closed,
        }
    }

    /// The command byte in an activity word: a `COM_` number, [`SLEEP`] or [`CONNECT`].
    pub const fn command_of(activity: u64) -> u8 {
        (activity >> PHASE_BITS) as u8
    }

    /// The number of the turn in an activity word.
    pub const fn turn_of(activity: u64) -> u64 {
        activity >> TURN_SHIFT
    }

    /// What the connection does now.
    pub fn phase(&self) -> Phase {
        Self::phase_of(self.activity())
    }

    /// Begins a command, given by its byte: forgets a kill of the last statement. False when the connection must end instead.
    #[inline]
    pub fn begin_command(&self, command: u8) -> bool {
        // Forget first: whoever sees the command running and kills it must not have the kill forgotten.
        let goes_on = self.stop.load(Ordering::Acquire) == Stop::No as u32 || self.forget_statement_stop();
        self.next_turn(command, Phase::Running);
        goes_on
    }

    /// Ends the command, or the login: the connection waits for the next command.
    #[inline]
    pub fn end_command(&self) {
        self.next_turn(SLEEP, Phase::Idle);
    }

    /// A look by the watcher: the activity word, and for how many milliseconds looks have found it like that. Only one thread may call this.
    pub fn look(&self, now_ms: u64) -> (u64, u64) {
        let (activity, seen) = (self.activity(), self.seen.activity.load(Ordering::Relaxed));
        if activity == seen {
            return (activity, now_ms.saturating_sub(self.seen.since_ms.load(Ordering::Relaxed)));
        }
        self.seen.since_ms.store(now_ms, Ordering::Relaxed);
        if activity >> TURN_SHIFT != seen >> TURN_SHIFT {
            self.seen.turn_since_ms.store(now_ms, Ordering::Relaxed);
        }
        self.seen.activity.store(activity, Ordering::Release);
        (activity, 0)
    }

    /// For how many seconds looks have found the connection in the turn of `activity`, a word just read. Late by one look at most.
    pub fn seconds_in_turn(&self, activity: u64, now_ms: u64) -> u64 {
        self.millis_in_turn(activity, now_ms) / 1000
    }

    fn millis_in_turn(&self, activity: u64, now_ms: u64) -> u64 {
        if self.seen.activity.load(Ordering::Acquire) >> TURN_SHIFT != activity >> TURN_SHIFT {
            return 0;
        }
        now_ms.saturating_sub(self.seen.turn_since_ms.load(Ordering::Relaxed))
    }

    /// Whether a statement has been running for `long_query_time`, said once for each. Only the thread that looks may call this.
    pub fn is_newly_slow(&self, activity: u64, now_ms: u64) -> bool {
        let limit = u64::from(self.slow_after_ms.load(Ordering::Relaxed));
        let turn = activity >> TURN_SHIFT;
        let is_statement = matches!(Self::command_of(activity), COM_QUERY | COM_STMT_EXECUTE);
        if !is_statement || self.millis_in_turn(activity, now_ms) < limit || self.seen.slow_turn.load(Ordering::Relaxed) == turn {
            return false;
        }
        self.seen.slow_turn.store(turn, Ordering::Relaxed);
        true
    }

    /// The session's `long_query_time`.
    pub fn set_slow_after_ms(&self, millis: u32) {
        self.slow_after_ms.store(millis, Ordering::Relaxed);
    }

    /// Counts bytes from the client. Its own thread only.
    #[inline]
    pub fn count_received(&self, bytes: usize) {
        let before = self.own.received.load(Ordering::Relaxed);
        self.own.received.store(before.wrapping_add(bytes as u64), Ordering::Relaxed);
    }

    /// Counts bytes to the client. Its own thread only.
    #[inline]
    pub fn count_sent(&self, bytes: usize) {
        let before = self.own.sent.load(Ordering::Relaxed);
        self.own.sent.store(before.wrapping_add(bytes as u64), Ordering::Relaxed);
    }

    /// Bytes from and to the client so far.
    pub fn traffic(&self) -> Traffic {
        Traffic { received: self.own.received.load(Ordering::Relaxed), sent: self.own.sent.load(Ordering::Relaxed) }
    }

    #[cold]
    fn forget_statement_stop(&self) -> bool {
        for stop in [Stop::Query, Stop::QueryTimeout] {
            // A stop of the whole connection that comes meanwhile must stay, so only these two values are replaced.
            let _ = self.stop.compare_exchange(stop as u32, Stop::No as u32, Ordering::AcqRel, Ordering::Acquire);
        }
        !self.stop_requested().ends_connection()
    }

    /// Whether and why the running statement must stop. One load; statements ask every few hundred rows and before waits.
    #[inline]
    pub fn stop_requested(&self) -> Stop {
        Stop::from_u32(self.stop.load(Ordering::Acquire))
    }

    /// Asks the statement or connection to stop and wakes it out of waits.
    pub fn stop(&self, stop: Stop) {
        if self.stop.fetch_max(stop as u32, Ordering::AcqRel) >= stop as u32 {
            return;
        }
        let waker = self.waker.lock().clone();
        if let Some(waker) = waker {
            waker(stop);
        }
        if stop.ends_connection() {
            self.hang_up();
        }
    }

    /// Wakes the connection's thread out of waits for its client, for a stop that was asked for before. The watcher
    /// repeats this: the thread may have begun to write just after the first time.
    pub fn hang_up(&self) {
        self.hangup.hang_up(self.phase() == Phase::Writing);
    }

    /// Whether the client has gone, by a look at the socket.
    pub fn client_is_gone(&self) -> bool {
        self.hangup.is_gone()
    }

    /// Sets what [`Connection::stop`] calls; the session gives its lock-wait canceller.
    pub fn set_waker(&self, waker: Arc<dyn Fn(Stop) + Send + Sync>) {
        *self.waker.lock() = Some(waker);
    }

    /// Sets who is told when the running statement waits for its client.
    pub fn set_wait_observer(&self, observer: Arc<dyn WaitObserver>) {
        *self.wait_observer.lock() = Some(observer);
    }

    /// The running statement begins to wait for its client. Only the connection's thread calls this, as a pair with [`Connection::client_wait_ends`].
    pub fn client_wait_begins(&self) {
        sync::blocking::begins();
        let observer = self.wait_observer.lock().clone();
        if let Some(observer) = observer {
            observer.wait_begins();
        }
    }

    /// The client has taken or sent something.
    pub fn client_wait_ends(&self) {
        let observer = self.wait_observer.lock().clone();
        if let Some(observer) = observer {
            observer.wait_ends();
        }
    }

    /// The running statement has ended its transaction's work and waits for durability, or waits no more. Only the connection's thread calls this.
    #[inline]
    pub fn set_committing(&self, committing: bool) {
        self.committing.store(committing, Ordering::Relaxed);
    }

    /// See [`Connection::set_committing`].
    pub fn is_committing(&self) -> bool {
        self.committing.load(Ordering::Relaxed)
    }

    /// Sets what [`Connection::waits_for`] asks.
    pub fn set_wait_probe(&self, probe: Arc<dyn Fn() -> Option<&'static str> + Send + Sync>) {
        *self.wait_probe.lock() = Some(probe);
    }

    /// What the running statement waits for at this moment, in the process list's words.
    pub fn waits_for(&self) -> Option<&'static str> {
        let probe = self.wait_probe.lock().clone();
        probe.and_then(|probe| probe())
    }

    /// The session's `wait_timeout` (or `interactive_timeout`).
    pub fn wait_timeout_s(&self) -> u32 {
        self.wait_timeout_s.load(Ordering::Relaxed)
    }

    /// Sets how long the connection may be idle.
    pub fn set_wait_timeout_s(&self, seconds: u32) {
        self.wait_timeout_s.store(seconds, Ordering::Relaxed);
    }

    /// The session's `net_read_timeout`.
    pub fn net_read_timeout(&self) -> Duration {
        Duration::from_millis(u64::from(self.net_read_timeout_ms.load(Ordering::Relaxed)))
    }

    /// Sets how long the rest of a packet may take.
    pub fn set_net_read_timeout(&self, timeout: Duration) {
        self.net_read_timeout_ms.store(millis(timeout), Ordering::Relaxed);
    }

    /// The session's `net_write_timeout`.
    pub fn net_write_timeout(&self) -> Duration {
        Duration::from_millis(u64::from(self.net_write_timeout_ms.load(Ordering::Relaxed)))
    }

    /// Sets how long the client may take none of what is sent.
    pub fn set_net_write_timeout(&self, timeout: Duration) {
        self.net_write_timeout_ms.store(millis(timeout), Ordering::Relaxed);
    }

    /// When the running statement must end ([`super::Connections::now_ms`]), 0 = whenever it does.
    pub fn deadline_ms(&self) -> u64 {
        self.deadline_ms.load(Ordering::Relaxed)
    }

    /// Bounds the running statement's time, or (0) does not.
    pub fn set_deadline_ms(&self, deadline_ms: u64) {
        self.deadline_ms.store(deadline_ms, Ordering::Relaxed);
    }

    /// Changes the words of the process list.
    pub fn set_label(&self, change: impl FnOnce(&mut Label)) {
        change(&mut self.label.lock());
    }

    /// Notes the text of a statement that begins, or of several; a copy of at most [`STATEMENT_BYTES_MAX`] bytes. Passwords in it are hidden from who asks ([`Connection::label`]), which
    /// costs the statement nothing.
    #[inline]
    pub fn set_statement(&self, sql: &[u8]) {
        self.labelled.store(0, Ordering::Relaxed);
        let mut label = self.label.lock();
        label.statement.clear();
        label.statement.extend_from_slice(&sql[..sql.len().min(STATEMENT_BYTES_MAX)]);
    }

    /// The same for a prepared statement, whose number is not 0: nothing is to be done when it ran last.
    #[inline]
    pub fn set_prepared_statement(&self, number: u32, sql: &[u8]) {
        if self.labelled.load(Ordering::Relaxed) != number {
            self.set_statement(sql);
            self.labelled.store(number, Ordering::Relaxed);
        }
    }

    /// Gives back the memory of the last statement's text but for so many bytes; its connection is idle.
    pub fn shrink_statement(&self, kept: usize) {
        self.labelled.store(0, Ordering::Relaxed);
        let mut label = self.label.lock();
        label.statement.clear();
        label.statement.shrink_to(kept);
    }

    /// A copy of the words, the statement without its passwords.
    pub fn label(&self) -> Label {
        let label = self.label.lock().clone();
        Label { statement: crate::accounts::as_shown(label.statement), ..label }
    }

    /// A copy of the running statement as it came: for who reads it, not for who shows it.
    pub(crate) fn statement(&self) -> Vec<u8> {
        self.label.lock().statement.clone()
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::connections::tests::Hang;

    #[test]
    fn phases_survive_the_activity_word() {
        let connection = Connection::new(1, String::new(), Box::new(Hang(Arc::default())));
        let mut last = connection.activity();
        for phase in [Phase::Idle, Phase::Reading, Phase::Running, Phase::Writing, Phase::Closed, Phase::Handshake] {
            connection.enter(phase);
            assert_eq!(connection.phase(), phase);
            assert_ne!(connection.activity(), last);
            last = connection.activity();
        }
    }

    #[test]
    fn looks_tell_how_long_a_command_has_been_running() {
        let connection = Connection::new(1, String::new(), Box::new(Hang(Arc::default())));
        let seconds = |now_ms| connection.seconds_in_turn(connection.activity(), now_ms);
        assert_eq!((connection.look(5_000), Connection::command_of(connection.activity())), ((connection.activity(), 0), CONNECT));
        assert_eq!((connection.look(7_500).1, seconds(7_500)), (2_500, 2));
        assert!(connection.begin_command(0x17));
        // Not looked at yet.
        assert_eq!(seconds(8_000), 0);
        connection.look(8_000);
        // A change of phase is something new to the watcher, not to the process list; a thousand of them come around in a circle.
        for round in 0..5_000 {
            connection.enter(if round % 2 == 0 { Phase::Writing } else { Phase::Running });
            assert_eq!(connection.look(9_000).1, 0);
        }
        assert_eq!((seconds(11_000), Connection::command_of(connection.activity()), connection.phase()), (3, 0x17, Phase::Running));
        connection.end_command();
        assert_eq!((seconds(12_000), Connection::command_of(connection.activity())), (0, SLEEP));
        connection.look(12_000);
        connection.enter(Phase::Reading);
        assert_eq!((connection.look(13_000).1, seconds(15_000)), (0, 3));
    }
}
