//! The connections of the server: who they are, what they do, how to stop them.
//!
//! A connection's own thread marks each command with one store on its own cache line; everybody else (KILL, the process
//! list, the server's watcher) reads that from outside. No clock is read per command: the watcher looks at all connections
//! a few times a second and leaves with each since when it has seen it doing the same thing ([`Connection::look`]), which
//! also makes `Time` of the process list.
//!
//! # Invariants
//! 1. A connection is in the registry from before its first packet until its session has ended.
//! 2. A kill of a connection is for ever; a kill of a statement is forgotten when the next one begins.

mod connection;

pub use connection::{CONNECT, Connection, Hangup, Label, Phase, SLEEP, STATEMENT_BYTES_KEPT, STATEMENT_BYTES_MAX, Stop};

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use engine::HandlerCalls;
use hashbrown::HashMap;
use sync::{CachePadded, Mutex, Rank};

const SHARDS: usize = 64;

/// Bytes from and to clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// From clients.
    pub received: u64,
    /// To clients.
    pub sent: u64,
}

impl Traffic {
    fn add(&mut self, other: Traffic) {
        self.received = self.received.wrapping_add(other.received);
        self.sent = self.sent.wrapping_add(other.sent);
    }
}

/// Part of the registry.
#[derive(Default)]
struct Shard {
    by_id: HashMap<u32, Arc<Connection>, foldhash::fast::RandomState>,
    /// Of those that are gone.
    traffic: Traffic,
    handler_calls: HandlerCalls,
}

/// All connections, by id.
pub struct Connections {
    shards: Box<[CachePadded<Mutex<Shard>>]>,
    next_id: AtomicU32,
    count: AtomicU32,
    /// The most there were at once, above when that was: see [`Connections::most_now`].
    most: AtomicU64,
    /// Statements that took `long_query_time`.
    slow: AtomicU64,
    /// Sessions count them. Relaxed: a statement that runs while that changes may count twice or not.
    slow_counted: AtomicBool,
    started: Instant,
    thread_probe: OnceLock<Box<dyn Fn() -> ThreadCounts + Send + Sync>>,
}

/// The threads that serve connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadCounts {
    /// Made so far.
    pub created: u64,
    /// Kept for the next connections.
    pub cached: u32,
    /// Those that sessions share.
    pub shared: u32,
    /// Sessions that have none while they wait for a command.
    pub parked: u32,
    /// Of these, those that were silent for so long that they have given back memory.
    pub resting: u32,
    /// Sessions that have none while their statement waits for a row.
    pub waiting_for_rows: u32,
    /// Sessions whose statements would wait behind those, and were not read yet.
    pub behind_rows: u32,
    /// How often one has stood there.
    pub stood_behind_rows: u64,
    /// Looks of threads for their clients' next commands that found them, so that the thread did not sleep.
    pub looks_found: u64,
    /// Such looks that were given up.
    pub looks_in_vain: u64,
    /// How often the thread that keeps a processor busy beside a lone client was called.
    pub stand_ins: u64,
    /// Replies that went to the kernel together with others.
    pub replies_together: u64,
    /// In so many calls.
    pub reply_batches: u64,
}

impl Default for Connections {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Connections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connections").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl Connections {
    /// No connection; ids begin at 1. (MySQL's begin at 8, after its own threads; nobody depends on it.)
    pub fn new() -> Self {
        let shards = (0..SHARDS).map(|_| CachePadded::new(Mutex::new(Rank::Leaf, Shard::default()))).collect();
        Self {
            shards,
            next_id: AtomicU32::new(1),
            count: AtomicU32::new(0),
            most: AtomicU64::new(0),
            slow: AtomicU64::new(0),
            slow_counted: AtomicBool::new(false),
            started: Instant::now(),
            thread_probe: OnceLock::new(),
        }
    }

    /// Sets what [`Connections::threads`] asks.
    pub fn set_thread_probe(&self, probe: impl Fn() -> ThreadCounts + Send + Sync + 'static) {
        let _ = self.thread_probe.set(Box::new(probe));
    }

    /// The threads that serve connections.
    pub fn threads(&self) -> ThreadCounts {
        self.thread_probe.get().map_or_else(ThreadCounts::default, |probe| probe())
    }

    /// Connections that run a command now.
    pub fn running(&self) -> u32 {
        let mut running = 0;
        self.for_each(|connection| running += u32::from(matches!(connection.phase(), Phase::Running | Phase::Writing)));
        running
    }

    /// Milliseconds since the registry was made: the clock of [`Connection::look`].
    pub fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn shard(&self, id: u32) -> &Mutex<Shard> {
        &self.shards[id as usize % SHARDS]
    }

    /// An id that no live connection has.
    pub fn allocate_id(&self) -> u32 {
        loop {
            let id = self.next_id.fetch_add(1, Ordering::Relaxed);
            // After four thousand million connections ids come again; 0 means "none" to clients.
            if id != 0 && self.find(id).is_none() {
                return id;
            }
        }
    }

    /// Adds a connection.
    pub fn add(&self, connection: Arc<Connection>) {
        if self.shard(connection.id).lock().by_id.insert(connection.id, connection).is_none() {
            self.count.fetch_add(1, Ordering::Relaxed);
            self.most.fetch_max(self.most_now(), Ordering::Relaxed);
        }
    }

    /// Removes a connection.
    pub fn remove(&self, id: u32) {
        let mut shard = self.shard(id).lock();
        if let Some(connection) = shard.by_id.remove(&id) {
            shard.traffic.add(connection.traffic());
            shard.handler_calls.add(&connection.handler_counts.now());
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The connection with this id.
    pub fn find(&self, id: u32) -> Option<Arc<Connection>> {
        self.shard(id).lock().by_id.get(&id).cloned()
    }

    /// How many there are.
    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }

    /// Calls `visit` for each connection, one shard's latch at a time. `visit` must not take latches.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<Connection>)) {
        for shard in &self.shards {
            for connection in shard.lock().by_id.values() {
                visit(connection);
            }
        }
    }

    /// The most connections that there were at once, and how many seconds after the start that was first so.
    pub fn most(&self) -> (u32, u32) {
        let most = self.most.load(Ordering::Relaxed);
        ((most >> 32) as u32, !(most as u32))
    }

    /// Forgets it: FLUSH STATUS.
    pub fn forget_most(&self) {
        self.most.store(self.most_now(), Ordering::Relaxed);
    }

    /// The word of [`Connections::most`] of this moment. Of equal counts the earlier moment counts, so its seconds stand there as their complement.
    fn most_now(&self) -> u64 {
        let seconds = u32::try_from(self.now_ms() / 1000).unwrap_or(u32::MAX);
        u64::from(self.count()) << 32 | u64::from(!seconds)
    }

    /// Bytes from and to all clients since the start.
    pub fn traffic(&self) -> Traffic {
        let mut sum = Traffic::default();
        for shard in &self.shards {
            let shard = shard.lock();
            sum.add(shard.traffic);
            shard.by_id.values().for_each(|connection| sum.add(connection.traffic()));
        }
        sum
    }

    /// What all sessions have asked of tables since the start.
    pub fn handler_calls(&self) -> HandlerCalls {
        let mut sum = HandlerCalls::default();
        for shard in &self.shards {
            let shard = shard.lock();
            sum.add(&shard.handler_calls);
            shard.by_id.values().for_each(|connection| sum.add(&connection.handler_counts.now()));
        }
        sum
    }

    /// Says whether sessions count their slow statements, as they do for the slow log: then the watcher does not.
    pub fn set_slow_counted(&self, counted: bool) {
        self.slow_counted.store(counted, Ordering::Relaxed);
    }

    /// See [`Connections::set_slow_counted`].
    pub fn is_slow_counted(&self) -> bool {
        self.slow_counted.load(Ordering::Relaxed)
    }

    /// Counts a statement that has taken `long_query_time`.
    pub fn count_slow(&self) {
        self.slow.fetch_add(1, Ordering::Relaxed);
    }

    /// Statements that have taken `long_query_time`.
    pub fn slow(&self) -> u64 {
        self.slow.load(Ordering::Relaxed)
    }

    /// All connections, in order of their ids.
    pub fn list(&self) -> Vec<Arc<Connection>> {
        let mut all = Vec::with_capacity(self.count() as usize);
        self.for_each(|connection| all.push(Arc::clone(connection)));
        all.sort_unstable_by_key(|connection| connection.id);
        all
    }

    /// KILL: false when there is no such connection (1094).
    pub fn kill(&self, id: u32, stop: Stop) -> bool {
        self.find(id).is_some_and(|connection| {
            connection.stop(stop);
            true
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) struct Hang(pub(super) Arc<AtomicU32>);

    impl Hangup for Hang {
        fn hang_up(&self, _writes_too: bool) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }

        fn is_gone(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_kill_of_a_statement_ends_with_it_and_a_kill_of_a_connection_stays() {
        let (connections, hangs) = (Connections::new(), Arc::new(AtomicU32::new(0)));
        let connection = Connection::new(connections.allocate_id(), String::new(), Box::new(Hang(Arc::clone(&hangs))));
        connections.add(Arc::clone(&connection));
        let wakes = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&wakes);
        connection.set_waker(Arc::new(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
        }));
        assert!(connection.begin_command(3));
        assert!(connections.kill(connection.id(), Stop::Query));
        assert_eq!(connection.stop_requested(), Stop::Query);
        assert!(connection.begin_command(3));
        assert_eq!(connection.stop_requested(), Stop::No);
        assert!(connections.kill(connection.id(), Stop::Connection));
        connection.stop(Stop::Query);
        assert_eq!(connection.stop_requested(), Stop::Connection);
        assert!(!connection.begin_command(3));
        assert_eq!((wakes.load(Ordering::Relaxed), hangs.load(Ordering::Relaxed)), (2, 1));
        connections.remove(connection.id());
        assert_eq!(connections.count(), 0);
        assert!(!connections.kill(connection.id(), Stop::Connection));
    }
}
