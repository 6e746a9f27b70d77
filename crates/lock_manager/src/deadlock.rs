//! The deadlock search: from a waiter that has just queued, along "waits for", back to itself.
//!
//! The graph is not kept; it is read from the queues, one shard's latch at a time. So what is read may mix moments: a cycle is
//! believed only when, after it was found, each of its members still is in the same wait and each edge is still there. A wait does not
//! lose an edge and get it back, so all the edges existed at the moment between the two looks. A cycle cannot be missed: its
//! last member to queue searches after all edges exist, and only victims and time-outs undo them. An edge to a waiter's implicit lock
//! exists from when that is made explicit: whoever does so where others wait searches from its holder. So does who leaves a gap to others.
//!
//! Edges lead to holders only. Who waits behind others waits for what they wait for: the holders of the same key.
//!
//! Waits for metadata locks and names (`outside.rs`) are nodes of the same graph. Their edges lead to those among the waiting owners who hold
//! what stands in the way: such waits are rare, and looking through the owners costs those who wait, nobody else.
//!
//! # What a wait costs
//! Most waits close nothing: the holder runs. They look at the holders of one key, and take no latch but the shard's
//! ([`LockManager::has_waiting_blocker`]). Where the holder waits itself, the chain is followed without the detector's latch as long as it does not
//! branch ([`LockManager::may_close`]); only what remains is searched, one search at a time, so that two members of a cycle do not both become
//! victims. A search looks at the holders of a key once, however many wait there.

use crate::cancel::WaitState;
use crate::manager::{LockManager, wake};
use crate::mode::LockMode;
use crate::outside::OutsideWait;
use crate::owner::{Owner, Wait};
use crate::platform::Arc;
use crate::platform::atomic::Ordering;
use crate::platform::latch::{Mutex, MutexGuard, Rank};
use crate::table::{Shard, Wakes};
use base::{IndexId, TxnId};
use smallvec::SmallVec;
use std::collections::VecDeque;

/// Waiting owners a search looks at. Past that it gives up, and the time-out decides.
const SEARCH_OWNERS_MAX: usize = 100_000;

/// Owners that are followed one by one before a search is made.
const CHAIN_MAX: usize = 16;

/// Deadlocks that are remembered.
pub const DEADLOCKS_KEPT: usize = 32;

/// What a report tells of those who are above locks: asked when a deadlock is found, while its members' statements still wait. Answers
/// without waiting for anything; called with the detector's latch held.
pub trait DeadlockWitness: Send + Sync {
    /// The client, and the statement that it is running.
    fn client(&self, client: u64) -> ClientTold;
    /// The wall clock: microseconds since the epoch.
    fn wall_micros(&self) -> i64;
}

/// What a witness tells of a client; empty as far as it knows nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClientTold {
    /// The running statement.
    pub statement: Vec<u8>,
    /// Who and where it is: `localhost 127.0.0.1 root`.
    pub place: String,
    /// For how many seconds its transaction has been running.
    pub active_seconds: u64,
}

/// A deadlock, for `SHOW ENGINE INNODB STATUS`.
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
    /// What the witness tells of the client.
    pub told: ClientTold,
    /// Its transaction id; `NONE` when it has not written.
    pub txn: TxnId,
    /// Rows it has changed.
    pub work: u64,
    /// How many keys it has locked.
    pub locks: usize,
    /// Index of the key it waits for.
    pub index: IndexId,
    /// The key it waits for; empty for the end of the index.
    pub key: Vec<u8>,
    /// The mode it waits for.
    pub mode: LockMode,
    /// The mode in which the next member holds that key; `None` when it only waits for it ahead of this one.
    pub held: Option<LockMode>,
}

/// Serialises searches; remembers the last deadlocks.
pub(crate) struct Detector {
    witness: std::sync::OnceLock<Box<dyn DeadlockWitness>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Mark of owners and keys visited by the present search.
    mark: u64,
    found: u64,
    reports: VecDeque<DeadlockReport>,
}

/// A wait of any kind, as a search found it.
enum Waits {
    Row(Wait),
    Outside(OutsideWait),
}

impl Waits {
    /// What `owner` waits for at this moment.
    fn of(owner: &Owner) -> Option<Waits> {
        if owner.cell.is_waiting() {
            return owner.waiting().map(Waits::Row);
        }
        let wait = owner.outside().waiting.clone()?;
        wait.cell.is_waiting().then_some(Waits::Outside(wait))
    }

    fn is_same(&self, other: &Waits) -> bool {
        match (self, other) {
            (Waits::Row(a), Waits::Row(b)) => a == b,
            // Each wait has a cell of its own, and what it is for does not change.
            (Waits::Outside(a), Waits::Outside(b)) => Arc::ptr_eq(&a.cell, &b.cell),
            _ => false,
        }
    }

    fn weight(&self) -> u8 {
        match self {
            Waits::Row(_) => 0,
            Waits::Outside(wait) => wait.awaited.weight(),
        }
    }

    fn row(&self) -> Option<&Wait> {
        match self {
            Waits::Row(wait) => Some(wait),
            Waits::Outside(_) => None,
        }
    }
}

struct Node {
    owner: Arc<Owner>,
    wait: Waits,
    /// Position of the node that waits for this one.
    parent: usize,
}

impl Node {
    /// When its wait began, among equals in the choice of a victim. Who waits for a row searches once, when it begins to.
    fn arrival(&self, start: &Arc<Owner>) -> u64 {
        match &self.wait {
            Waits::Row(_) if Arc::ptr_eq(&self.owner, start) => u64::MAX,
            Waits::Row(_) => 0,
            Waits::Outside(wait) => wait.arrival,
        }
    }
}

type Holders = SmallVec<[Arc<Owner>; 4]>;

impl Detector {
    pub(crate) fn new() -> Detector {
        Detector { witness: std::sync::OnceLock::new(), state: Mutex::new(Rank::LockDetector, State::default()) }
    }
}

impl LockManager {
    /// The last deadlock.
    pub fn latest_deadlock(&self) -> Option<DeadlockReport> {
        self.detector.state.lock().reports.back().cloned()
    }

    /// The last deadlocks, at most [`DEADLOCKS_KEPT`], the oldest first.
    pub fn deadlocks(&self) -> Vec<DeadlockReport> {
        self.detector.state.lock().reports.iter().cloned().collect()
    }

    /// Sets who is asked about the members of a deadlock; only the first call counts.
    pub fn set_deadlock_witness(&self, witness: Box<dyn DeadlockWitness>) {
        let _ = self.detector.witness.set(witness);
    }

    /// Whether a holder that the waiter waits for waits itself: without one its wait closes no cycle.
    pub(crate) fn has_waiting_blocker(&self, shard: &MutexGuard<'_, Shard>, slot: u32, ticket: u64) -> bool {
        let Some(entry) = shard.entry(slot) else { return false };
        let Some(waiter) = entry.queue.as_ref().and_then(|queue| queue.get(ticket)) else { return false };
        let (mut found, mut count) = (false, 0);
        entry.blockers(waiter, |owner| {
            count += 1;
            found |= owner.waits();
        });
        self.counts.looked_at.fetch_add(count, Ordering::Relaxed);
        found
    }

    /// Whether a search from `start` may find something: follows the chain of waits while each waits for one other.
    pub(crate) fn may_close(&self, start: &Arc<Owner>) -> bool {
        let mut at = Arc::clone(start);
        for _ in 0..CHAIN_MAX {
            let Some(wait) = at.waiting().filter(|_| at.cell.is_waiting()) else { return at.waits() };
            let (mut next, mut more) = (None, false);
            self.each_holder(&wait, |owner| {
                more |= next.is_some();
                next.get_or_insert_with(|| Arc::clone(owner));
            });
            match next {
                None => return false,
                Some(next) if more || Arc::ptr_eq(&next, start) => return true,
                Some(next) => at = next,
            }
        }
        true
    }

    /// Searches for cycles through `start`, which has begun to wait, and breaks each.
    pub(crate) fn resolve_deadlocks(&self, start: &Arc<Owner>) {
        self.counts.searches.fetch_add(1, Ordering::Relaxed);
        let mut state = self.detector.state.lock();
        while let Some(cycle) = self.find_cycle(start, &mut state) {
            if !self.still_closed(&cycle) {
                // Something moved on meanwhile; look again at what is there now.
                continue;
            }
            // The least work; among equals who came last. A candidate for a table searches anew with each of its turns, so not always is it `start`.
            let cost = |node: &Node| (node.wait.weight(), node.owner.work(), std::cmp::Reverse(node.arrival(start)));
            let (victim, _) = cycle.iter().enumerate().min_by_key(|(_, node)| cost(node)).expect("a cycle has members");
            let report = self.report(&cycle, victim, state.found + 1);
            if self.make_victim(&cycle[victim]) {
                let Some(report) = report else { continue };
                state.found += 1;
                if state.reports.len() == DEADLOCKS_KEPT {
                    state.reports.pop_front();
                }
                state.reports.push_back(report);
                self.counts.deadlocks.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// The members of a cycle, `start` first, each waiting for the next.
    fn find_cycle(&self, start: &Arc<Owner>, state: &mut State) -> Option<Vec<Node>> {
        let wait = Waits::of(start)?;
        state.mark += 1;
        let mark = state.mark;
        let mut waiting = None;
        let mut nodes = vec![Node { owner: Arc::clone(start), wait, parent: 0 }];
        let mut next = 0;
        while next < nodes.len() && nodes.len() <= SEARCH_OWNERS_MAX {
            // The first node is among the holders that others on its key wait for, so it does not stand for them.
            if next > 0 && nodes[next].wait.row().is_some_and(|wait| !self.first_look(wait, mark)) {
                next += 1;
                continue;
            }
            let mut closes = false;
            let mut holders = Holders::new();
            let mut see = |owner: &Arc<Owner>| match Arc::ptr_eq(owner, start) {
                true => closes = true,
                false => holders.push(Arc::clone(owner)),
            };
            match &nodes[next].wait {
                Waits::Row(wait) => self.each_holder(wait, see),
                Waits::Outside(wait) => {
                    let waiting = waiting.get_or_insert_with(|| self.owners(Owner::waits));
                    let in_the_way = |other: &&Arc<Owner>| wait.awaited.waits_for(&nodes[next].owner, other);
                    waiting.iter().filter(|other| !Arc::ptr_eq(other, &nodes[next].owner)).filter(in_the_way).for_each(&mut see);
                }
            }
            if closes {
                return Some(path(nodes, next));
            }
            for owner in holders {
                // Relaxed: only used under the detector's latch.
                if owner.visited.swap(mark, Ordering::Relaxed) != mark
                    && let Some(wait) = Waits::of(&owner)
                {
                    nodes.push(Node { owner, wait, parent: next });
                }
            }
            next += 1;
        }
        None
    }

    /// Marks the key that is waited for; `false` when this search has looked at its holders for others who wait there.
    fn first_look(&self, wait: &Wait, mark: u64) -> bool {
        let mut shard = self.shards[wait.id.shard as usize].lock();
        let kind = usize::from(wait.mode == LockMode::InsertIntention);
        match shard.entry_mut(wait.id.slot) {
            // Two who have the record and wait to have it alone wait for each other: each is looked at.
            Some(entry)
                if entry
                    .queue
                    .as_ref()
                    .and_then(|queue| queue.get(wait.ticket))
                    .is_some_and(|waiter| entry.holders.parts_of(&waiter.owner).is_none()) =>
            {
                std::mem::replace(&mut entry.searched[kind], mark) != mark
            }
            _ => true,
        }
    }

    /// Calls `f` with each holder that the wait for a row is for.
    fn each_holder(&self, wait: &Wait, mut f: impl FnMut(&Arc<Owner>)) {
        let mut count = 0;
        let shard = self.shards[wait.id.shard as usize].lock();
        if let Some(entry) = shard.entry(wait.id.slot)
            && let Some(waiter) = entry.queue.as_ref().and_then(|queue| queue.get(wait.ticket))
        {
            entry.blockers(waiter, |owner| {
                count += 1;
                f(owner);
            });
        }
        drop(shard);
        self.counts.looked_at.fetch_add(count, Ordering::Relaxed);
    }

    /// Whether every member is in the same wait as before, and still waits for the next.
    fn still_closed(&self, cycle: &[Node]) -> bool {
        cycle.iter().enumerate().all(|(at, node)| {
            let next = &cycle[(at + 1) % cycle.len()].owner;
            let same_wait = Waits::of(&node.owner).is_some_and(|wait| wait.is_same(&node.wait));
            let mut waits = false;
            match &node.wait {
                Waits::Row(wait) => self.each_holder(wait, |owner| waits |= Arc::ptr_eq(owner, next)),
                Waits::Outside(wait) => waits = wait.awaited.waits_for(&node.owner, next),
            }
            same_wait && waits
        })
    }

    /// Ends the wait of a member; `false` when it has ended otherwise.
    fn make_victim(&self, node: &Node) -> bool {
        let wait = match &node.wait {
            Waits::Row(wait) => wait,
            // Its own thread takes it out of the queue.
            Waits::Outside(wait) => {
                let ended = wait.cell.end(WaitState::Victim);
                if ended {
                    wait.cell.wake();
                }
                return ended;
            }
        };
        let mut wakes = Wakes::new();
        {
            let mut shard = self.shards[wait.id.shard as usize].lock();
            let same = node.owner.waiting() == Some(*wait);
            if !same || !node.owner.cell.end(WaitState::Victim) {
                return false;
            }
            shard.leave_queue(wait.id.slot, wait.ticket);
            shard.settle(wait.id.slot, &mut wakes);
        }
        node.owner.cell.wake();
        wake(&wakes);
        true
    }

    /// `None` for a deadlock that goes through other locks than those of rows: it is counted nowhere and told by its error alone.
    fn report(&self, cycle: &[Node], victim: usize, number: u64) -> Option<DeadlockReport> {
        let witness = self.detector.witness.get();
        let member = |at: usize| {
            let (node, next) = (&cycle[at], &cycle[(at + 1) % cycle.len()].owner);
            let wait = node.wait.row()?;
            let shard = self.shards[wait.id.shard as usize].lock();
            let entry = shard.entry(wait.id.slot);
            let (index, key) = entry.map_or((IndexId::NONE, Vec::new()), |entry| (entry.index, entry.key.to_vec()));
            let parts = entry.and_then(|entry| entry.holders.parts_of(next)).unwrap_or_default();
            let held = parts.modes().find(|held| wait.mode.waits_for(*held));
            drop(shard);
            let owner = &node.owner;
            let client = owner.client();
            Some(DeadlockMember {
                owner: owner.number(),
                client,
                told: witness.map_or_else(ClientTold::default, |witness| witness.client(client)),
                txn: owner.txn(),
                work: owner.work(),
                locks: owner.lock_count(),
                index,
                key,
                mode: wait.mode,
                held,
            })
        };
        let wall_micros = witness.map_or(0, |witness| witness.wall_micros());
        let members = (0..cycle.len()).map(member).collect::<Option<_>>()?;
        Some(DeadlockReport { number, wall_micros, members, victim })
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
