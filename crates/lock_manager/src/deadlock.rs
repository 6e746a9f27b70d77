//! The deadlock search: from a waiter that has just queued, along "waits for", back to itself.
//!
//! The graph is not kept; it is read from the queues, one shard's latch at a time. So what is read may mix moments: a cycle is
//! believed only when, after it was found, each of its members still is in the same wait and each edge is still there. A wait does not
//! lose an edge and get it back, so all the edges existed at the moment between the two looks. A cycle cannot be missed: its
//! last member to queue searches after all edges exist, and only victims and time-outs undo them. An edge to a waiter's implicit lock
//! exists from when that is made explicit: whoever does so where others wait searches from its holder.
//!
//! Searches run one at a time, so that two members of a cycle do not both become victims.

use crate::cancel::WaitState;
use crate::manager::{LockManager, wake};
use crate::mode::LockMode;
use crate::owner::{Owner, Wait};
use crate::platform::Arc;
use crate::platform::atomic::Ordering;
use crate::platform::latch::{Mutex, Rank};
use crate::table::Wakes;
use base::{IndexId, TxnId};

/// Waiting owners a search looks at. Past that it gives up, and the time-out decides.
const SEARCH_OWNERS_MAX: usize = 10_000;

/// What a report tells of those who are above locks: asked when a deadlock is found, while its members' statements still wait. Answers
/// without waiting for anything; called with the detector's latch held.
pub trait DeadlockWitness: Send + Sync {
    /// The statement that a client is running.
    fn statement(&self, client: u64) -> Vec<u8>;
    /// The wall clock: microseconds since the epoch.
    fn wall_micros(&self) -> i64;
}

/// The last deadlock, for `SHOW ENGINE INNODB STATUS`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockReport {
    /// Counts deadlocks since the start.
    pub number: u64,
    /// When it was found: microseconds since the epoch; 0 without a witness.
    pub wall_micros: i64,
    /// The members; each waits for the next one, and the last for the first.
    pub members: Vec<DeadlockMember>,
    /// Position of the victim among the members.
    pub victim: usize,
}

/// One member of a deadlock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockMember {
    /// [`Owner::number`].
    pub owner: u64,
    /// [`Owner::client`].
    pub client: u64,
    /// The statement it was running, as far as the witness tells.
    pub statement: Vec<u8>,
    /// Its transaction id; `NONE` when it has not written.
    pub txn: TxnId,
    /// Rows it has changed.
    pub work: u64,
    /// Index of the key it waits for.
    pub index: IndexId,
    /// The key it waits for.
    pub key: Vec<u8>,
    /// The mode it waits for.
    pub mode: LockMode,
    /// The mode in which the next member holds that key; `None` when it only waits for it ahead of this one.
    pub held: Option<LockMode>,
}

/// Serialises searches; knows the last deadlock.
pub(crate) struct Detector {
    witness: std::sync::OnceLock<Box<dyn DeadlockWitness>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Mark of owners visited by the present search.
    mark: u64,
    found: u64,
    latest: Option<DeadlockReport>,
}

struct Node {
    owner: Arc<Owner>,
    wait: Wait,
    /// Position of the node that waits for this one.
    parent: usize,
}

impl Detector {
    pub(crate) fn new() -> Detector {
        Detector { witness: std::sync::OnceLock::new(), state: Mutex::new(Rank::LockDetector, State::default()) }
    }
}

impl LockManager {
    /// The last deadlock.
    pub fn latest_deadlock(&self) -> Option<DeadlockReport> {
        self.detector.state.lock().latest.clone()
    }

    /// Sets who is asked about the members of a deadlock; only the first call counts.
    pub fn set_deadlock_witness(&self, witness: Box<dyn DeadlockWitness>) {
        let _ = self.detector.witness.set(witness);
    }

    /// Searches for cycles through `start`, which has begun to wait, and breaks each.
    pub(crate) fn resolve_deadlocks(&self, start: &Arc<Owner>) {
        let mut state = self.detector.state.lock();
        while let Some(cycle) = self.find_cycle(start, &mut state) {
            if !self.still_closed(&cycle) {
                // Something moved on meanwhile; look again at what is there now.
                continue;
            }
            // The least work; `start` is first, so it is the victim among equals.
            let (victim, _) = cycle.iter().enumerate().min_by_key(|(_, node)| node.owner.work()).expect("a cycle has members");
            let report = self.report(&cycle, victim, state.found + 1);
            if self.make_victim(&cycle[victim]) {
                state.found += 1;
                state.latest = Some(report);
                self.counts.deadlocks.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The members of a cycle, `start` first, each waiting for the next.
    fn find_cycle(&self, start: &Arc<Owner>, state: &mut State) -> Option<Vec<Node>> {
        if start.cell.state() != WaitState::Waiting {
            return None;
        }
        state.mark += 1;
        let mark = state.mark;
        let mut nodes = vec![Node { owner: Arc::clone(start), wait: start.waiting()?, parent: 0 }];
        let mut next = 0;
        while next < nodes.len() && nodes.len() <= SEARCH_OWNERS_MAX {
            let (blockers, closes) = self.blockers_of(&nodes[next], start);
            if closes {
                return Some(path(nodes, next));
            }
            for owner in blockers {
                // Relaxed: only used under the detector's latch.
                if owner.visited.swap(mark, Ordering::Relaxed) != mark
                    && let Some(wait) = owner.waiting()
                {
                    nodes.push(Node { owner, wait, parent: next });
                }
            }
            next += 1;
        }
        None
    }

    /// Holders that the node waits for, and whether it waits for `start`.
    fn blockers_of(&self, node: &Node, start: &Arc<Owner>) -> (Vec<Arc<Owner>>, bool) {
        let mut holders = Vec::new();
        let (mut start_holds, mut start_ahead) = (false, false);
        let shard = self.shards[node.wait.id.shard as usize].lock();
        if let Some(entry) = shard.entry(node.wait.id.slot)
            && let Some(at) = entry.position(&node.owner)
        {
            let holder = |owner: &Arc<Owner>| match Arc::ptr_eq(owner, start) {
                true => start_holds = true,
                false => holders.push(Arc::clone(owner)),
            };
            entry.blockers(at, holder, |owner| start_ahead |= Arc::ptr_eq(owner, start));
        }
        (holders, start_holds || start_ahead)
    }

    /// Whether every member is in the same wait as before, and still waits for the next.
    fn still_closed(&self, cycle: &[Node]) -> bool {
        cycle.iter().enumerate().all(|(at, node)| {
            let next = &cycle[(at + 1) % cycle.len()].owner;
            let same_wait = node.owner.waiting() == Some(node.wait) && node.owner.cell.state() == WaitState::Waiting;
            same_wait && self.blockers_of(node, next).1
        })
    }

    /// Ends the wait of a member; `false` when it has ended otherwise.
    fn make_victim(&self, node: &Node) -> bool {
        let mut wakes = Wakes::new();
        {
            let mut shard = self.shards[node.wait.id.shard as usize].lock();
            let same = node.owner.waiting() == Some(node.wait);
            if !same || !node.owner.cell.end(WaitState::Victim) {
                return false;
            }
            shard.leave_queue(node.wait.id.slot, &node.owner);
            shard.settle(node.wait.id.slot, &mut wakes);
        }
        node.owner.cell.wake();
        wake(&wakes);
        true
    }

    fn report(&self, cycle: &[Node], victim: usize, number: u64) -> DeadlockReport {
        let witness = self.detector.witness.get();
        let member = |at: usize| {
            let (node, next) = (&cycle[at], &cycle[(at + 1) % cycle.len()].owner);
            let shard = self.shards[node.wait.id.shard as usize].lock();
            let entry = shard.entry(node.wait.id.slot);
            let (index, key) = entry.map_or((IndexId::NONE, Vec::new()), |entry| (entry.index, entry.key.to_vec()));
            let mut granted = entry.into_iter().flat_map(|entry| &entry.granted);
            let held = granted.find(|grant| Arc::ptr_eq(&grant.owner, next)).map(|grant| grant.mode);
            drop(shard);
            let owner = &node.owner;
            let client = owner.client();
            let statement = witness.map_or_else(Vec::new, |witness| witness.statement(client));
            let (number, txn, work) = (owner.number(), owner.txn(), owner.work());
            DeadlockMember { owner: number, client, statement, txn, work, index, key, mode: node.wait.mode, held }
        };
        let wall_micros = witness.map_or(0, |witness| witness.wall_micros());
        DeadlockReport { number, wall_micros, members: (0..cycle.len()).map(member).collect(), victim }
    }
}

/// The way from the first node to the one at `last`.
fn path(nodes: Vec<Node>, last: usize) -> Vec<Node> {
    let mut wanted = vec![last];
    while let Some(at) = wanted.last().copied().filter(|at| *at != 0) {
        wanted.push(nodes[at].parent);
    }
    let mut nodes: Vec<Option<Node>> = nodes.into_iter().map(Some).collect();
    wanted.iter().rev().map(|at| nodes[*at].take().expect("a path visits each node once")).collect()
}
