//! The lock manager against a naive one: lists, a full search for cycles. Each owner is a thread; after every step all that should be
//! granted, waiting or refused is.

use base::IndexId;
use lock_manager::{Cancel, Granted, LockError, LockKeyRef, LockManager, LockMode, Owner, WaitPolicy, WaitsFor};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// One more than the holders of a key that a waiter adds weight to.
const OWNERS: usize = 5;
const KEYS: usize = 4;
/// Longer than any machine takes for a step.
const PATIENCE: Duration = Duration::from_secs(60);
type Outcome = Result<Granted, LockError>;

#[derive(Clone, Copy, Debug)]
enum Step {
    Lock { owner: usize, key: usize, mode: LockMode, wait: bool },
    Release { owner: usize, key: usize },
    ReleaseAll { owner: usize },
    Kill { owner: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let owner = || 0..OWNERS;
    let mode = prop_oneof![
        2 => Just(LockMode::Shared),
        3 => Just(LockMode::Exclusive),
        1 => Just(LockMode::SharedGap),
        1 => Just(LockMode::ExclusiveGap),
        1 => Just(LockMode::SharedNextKey),
        2 => Just(LockMode::ExclusiveNextKey),
        2 => Just(LockMode::InsertIntention),
    ];
    prop_oneof![
        12 => (owner(), 0..KEYS, mode, prop::bool::weighted(0.8)).prop_map(|(owner, key, mode, wait)| Step::Lock { owner, key, mode, wait }),
        2 => (owner(), 0..KEYS).prop_map(|(owner, key)| Step::Release { owner, key }),
        3 => owner().prop_map(|owner| Step::ReleaseAll { owner }),
        1 => owner().prop_map(|owner| Step::Kill { owner }),
    ]
}

/// What an owner has, or asks for: 0 nothing, 1 shared, 2 exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Has {
    record: u8,
    gap: u8,
    intention: bool,
}

impl Has {
    fn of(mode: LockMode) -> Has {
        let (record, gap) = match mode {
            LockMode::Shared => (1, 0),
            LockMode::Exclusive => (2, 0),
            LockMode::SharedGap => (0, 1),
            LockMode::ExclusiveGap => (0, 2),
            LockMode::SharedNextKey => (1, 1),
            LockMode::ExclusiveNextKey => (2, 2),
            LockMode::InsertIntention => (0, 0),
        };
        Has { record, gap, intention: mode == LockMode::InsertIntention }
    }

    fn and(self, other: Has) -> Has {
        Has { record: self.record.max(other.record), gap: self.gap.max(other.gap), intention: self.intention || other.intention }
    }

    /// Whether who asks for this has to wait for another who has that.
    fn waits_for(self, held: Has) -> bool {
        let record = self.record > 0 && held.record > 0 && self.record + held.record > 2;
        record || self.intention && held.gap > 0
    }
}

struct Waiting {
    owner: usize,
    wants: Has,
    upgrade: bool,
}

#[derive(Default)]
struct NaiveKey {
    granted: Vec<(usize, Has)>,
    /// For the record, by arrival.
    queue: Vec<Waiting>,
    /// To insert before it, by arrival.
    inserters: Vec<Waiting>,
    overtaken: u32,
}

#[derive(Default)]
struct Naive {
    keys: [NaiveKey; KEYS],
}

/// What the step does at once to its own request.
#[derive(Debug, PartialEq)]
enum Reply {
    Now(Outcome),
    Waits,
    /// A deadlock; its leaving the queue again lets these have what they wait for.
    Victim(Vec<(usize, Outcome)>),
}

impl NaiveKey {
    fn held(&self, owner: usize) -> Option<Has> {
        self.granted.iter().find(|(holder, _)| *holder == owner).map(|(_, has)| *has)
    }

    fn in_the_way(&self, owner: usize, wants: Has) -> bool {
        self.granted.iter().any(|(holder, has)| *holder != owner && wants.waits_for(*has))
    }

    fn grant(&mut self, owner: usize, wants: Has) -> Granted {
        match self.granted.iter_mut().find(|(holder, _)| *holder == owner) {
            Some((_, has)) => {
                *has = has.and(wants);
                Granted::Upgraded
            }
            None => {
                self.granted.push((owner, wants));
                Granted::New
            }
        }
    }
}

impl Naive {
    fn waiting(&self, owner: usize) -> Option<usize> {
        let waits = |waiter: &Waiting| waiter.owner == owner;
        (0..KEYS).find(|key| self.keys[*key].queue.iter().any(waits) || self.keys[*key].inserters.iter().any(waits))
    }

    /// In how many waiters' way the owner is.
    fn weight(&self, owner: usize) -> usize {
        let waiters = |key: &NaiveKey| {
            let held = key.held(owner).unwrap_or_default();
            key.queue.iter().chain(&key.inserters).filter(|waiter| waiter.wants.waits_for(held)).count()
        };
        self.keys.iter().map(waiters).sum()
    }

    fn lock(&mut self, owner: usize, key: usize, mode: LockMode, wait: bool) -> Reply {
        let state = &mut self.keys[key];
        let (wants, held) = (Has::of(mode), state.held(owner));
        let has = held.unwrap_or_default();
        if has.and(wants) == has && !wants.intention {
            return Reply::Now(Ok(Granted::Held));
        }
        let asks = if has.record >= wants.record { Has { record: 0, ..wants } } else { wants };
        let upgrade = has.record > 0;
        let queued = !upgrade && state.queue.iter().any(|waiter| asks.waits_for(Has { gap: 0, ..waiter.wants }));
        if !queued && !state.in_the_way(owner, asks) {
            return Reply::Now(Ok(state.grant(owner, wants)));
        }
        if !wait {
            return Reply::Now(Err(LockError::WouldBlock));
        }
        let waiter = Waiting { owner, wants, upgrade };
        if wants.intention {
            state.inserters.push(waiter)
        } else {
            state.queue.push(waiter)
        }
        if self.closes_cycle(owner) {
            self.keys[key].queue.retain(|waiter| waiter.owner != owner);
            self.keys[key].inserters.retain(|waiter| waiter.owner != owner);
            return Reply::Victim(self.settle(key));
        }
        Reply::Waits
    }

    /// Everybody whom `owner` waits for, directly.
    fn waits_for(&self, owner: usize) -> BTreeSet<usize> {
        let Some(key) = self.waiting(owner) else { return BTreeSet::new() };
        let state = &self.keys[key];
        let mut others = BTreeSet::new();
        let mut wants = Vec::new();
        if let Some(at) = state.queue.iter().position(|waiter| waiter.owner == owner) {
            wants.push(state.queue[at].wants);
            if !state.queue[at].upgrade {
                let ahead = state.queue.iter().enumerate().filter(|(place, other)| *place < at || other.upgrade);
                others.extend(ahead.filter(|(_, other)| wants[0].waits_for(other.wants)).map(|(_, other)| other.owner));
            }
        } else {
            wants.extend(state.inserters.iter().filter(|waiter| waiter.owner == owner).map(|waiter| waiter.wants));
        }
        let holders = state.granted.iter().filter(|(_, held)| wants.iter().any(|wants| wants.waits_for(*held)));
        others.extend(holders.map(|(holder, _)| *holder));
        others.remove(&owner);
        others
    }

    fn closes_cycle(&self, start: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = self.waits_for(start);
        while let Some(owner) = next.pop_first() {
            if owner == start {
                return true;
            }
            if seen.insert(owner) {
                next.extend(self.waits_for(owner));
            }
        }
        false
    }

    /// Position of the waiter for the record who is granted next, if one can be.
    fn next(&self, key: usize) -> Option<usize> {
        let state = &self.keys[key];
        let can = |at: &usize| !state.in_the_way(state.queue[*at].owner, state.queue[*at].wants);
        let places = 0..state.queue.len();
        if let Some(upgrade) = places.clone().find(|at| state.queue[*at].upgrade) {
            return Some(upgrade).filter(can);
        }
        let weight = |at: usize| self.weight(state.queue[at].owner);
        let heaviest = places.clone().rev().max_by_key(|at| weight(*at)).filter(|at| weight(*at) > 0 && state.overtaken < 32);
        heaviest.filter(can).or(places.clone().next().filter(can))
    }

    /// Grants in order; returns who was granted what.
    fn settle(&mut self, key: usize) -> Vec<(usize, Outcome)> {
        let mut granted = Vec::new();
        loop {
            if let Some(at) = self.next(key) {
                let state = &mut self.keys[key];
                let waiter = state.queue.remove(at);
                state.overtaken = if at == 0 { 0 } else { state.overtaken + u32::from(!waiter.upgrade) };
                granted.push((waiter.owner, Ok(state.grant(waiter.owner, waiter.wants))));
                continue;
            }
            let state = &mut self.keys[key];
            let can = |waiter: &Waiting| !state.in_the_way(waiter.owner, waiter.wants);
            let Some(at) = state.inserters.iter().position(can) else { return granted };
            let waiter = state.inserters.remove(at);
            granted.push((waiter.owner, Ok(state.grant(waiter.owner, waiter.wants))));
        }
    }

    fn release(&mut self, owner: usize, key: usize) -> Vec<(usize, Outcome)> {
        let granted = &mut self.keys[key].granted;
        let Some(at) = granted.iter().position(|(holder, _)| *holder == owner) else { return Vec::new() };
        granted.swap_remove(at);
        self.settle(key)
    }

    fn kill(&mut self, owner: usize) -> Vec<(usize, Outcome)> {
        let Some(key) = self.waiting(owner) else { return Vec::new() };
        let state = &mut self.keys[key];
        if state.queue.first().is_some_and(|waiter| waiter.owner == owner) {
            state.overtaken = 0;
        }
        state.queue.retain(|waiter| waiter.owner != owner);
        state.inserters.retain(|waiter| waiter.owner != owner);
        let mut ended = self.settle(key);
        ended.push((owner, Err(LockError::Killed)));
        ended
    }

    fn locks(&self) -> BTreeSet<Listed> {
        let mut all = BTreeSet::new();
        for (key, state) in self.keys.iter().enumerate() {
            for (owner, has) in &state.granted {
                all.extend(spelled(*has).into_iter().map(|mode| (*owner, key, mode, true)));
            }
            for waiter in state.queue.iter().chain(&state.inserters) {
                all.extend(spelled(waiter.wants).into_iter().map(|mode| (waiter.owner, key, mode, false)));
            }
        }
        all
    }
}

/// Owner, key, mode, granted.
type Listed = (usize, usize, &'static str, bool);

fn spelled(has: Has) -> Vec<&'static str> {
    let record = [None, Some("S,REC_NOT_GAP"), Some("X,REC_NOT_GAP")][usize::from(has.record)];
    let gap = [None, Some("S,GAP"), Some("X,GAP")][usize::from(has.gap)];
    let both = [None, Some("S"), Some("X")][usize::from(has.record)].filter(|_| has.record == has.gap);
    let intention = has.intention.then_some("X,GAP,INSERT_INTENTION");
    match both {
        Some(both) => [Some(both), intention].into_iter().flatten().collect(),
        None => [record, gap, intention].into_iter().flatten().collect(),
    }
}

struct Client {
    owner: Arc<Owner>,
    cancel: Arc<Cancel>,
    ask: Sender<(usize, LockMode, WaitPolicy)>,
    answer: Receiver<Outcome>,
}

fn key_of(key: usize) -> [u8; 3] {
    [b'k', key as u8, 0]
}

fn serve(
    manager: &LockManager,
    owner: &Arc<Owner>,
    cancel: &Cancel,
    asked: &Receiver<(usize, LockMode, WaitPolicy)>,
    out: &Sender<Outcome>,
) {
    for (key, mode, policy) in asked {
        let result = manager.lock(owner, LockKeyRef { index: IndexId(1), key: &key_of(key) }, mode, policy, cancel);
        out.send(result).expect("the driver listens");
    }
}

fn check(steps: &[Step]) {
    let manager = LockManager::new(2);
    std::thread::scope(|scope| {
        let clients: Vec<Client> = (0..OWNERS)
            .map(|_| {
                let (owner, cancel) = (manager.new_owner(), Arc::new(Cancel::new()));
                let ((ask, asked), (out, answer)) = (channel(), channel());
                let (thread_owner, thread_cancel, manager) = (Arc::clone(&owner), Arc::clone(&cancel), &manager);
                scope.spawn(move || serve(manager, &thread_owner, &thread_cancel, &asked, &out));
                Client { owner, cancel, ask, answer }
            })
            .collect();
        let mut naive = Naive::default();
        let all = steps.iter().copied().chain((0..OWNERS).map(|owner| Step::Kill { owner }));
        let all = all.chain((0..OWNERS).map(|owner| Step::ReleaseAll { owner }));
        for step in all {
            run(&manager, &clients, &mut naive, step);
            settled(&manager, &clients, &naive, step);
        }
        assert_eq!(manager.snapshot(1), Default::default());
        drop(clients);
    });
}

/// Waits for the state that the model has. A waiter queues some time after it was asked to, and only then tells those whom it waits for that they hold up one
/// more and looks for a cycle: it is done with both when it sleeps. The rest is there once the answers are.
fn settled(manager: &LockManager, clients: &[Client], naive: &Naive, step: Step) {
    let asleep = |owner: usize| naive.waiting(owner).is_none() || clients[owner].cancel.waits_for() == Some(WaitsFor::RowLock);
    let deadline = Instant::now() + PATIENCE;
    loop {
        let (found, expected) = (locks(manager, clients), naive.locks());
        if found == expected && (0..OWNERS).all(asleep) {
            return;
        }
        if Instant::now() > deadline {
            give_up(clients, format_args!("after {step:?} there are {found:?}, expected are {expected:?}"));
        }
        std::thread::yield_now();
    }
}

/// Fails, once nobody waits for a lock: the owners' threads are joined before the failure is told.
fn give_up(clients: &[Client], what: std::fmt::Arguments<'_>) -> ! {
    clients.iter().for_each(|client| client.cancel.cancel(1));
    panic!("{what}")
}

fn run(manager: &LockManager, clients: &[Client], naive: &mut Naive, step: Step) {
    let (Step::Lock { owner, .. } | Step::Release { owner, .. } | Step::ReleaseAll { owner } | Step::Kill { owner }) = step;
    let client = &clients[owner];
    let waits = naive.waiting(owner).is_some();
    let mut ended = Vec::new();
    match step {
        Step::Lock { owner, key, mode, wait } if !waits => {
            let policy = if wait { WaitPolicy::Wait(None) } else { WaitPolicy::NoWait };
            client.ask.send((key, mode, policy)).expect("the thread listens");
            match naive.lock(owner, key, mode, wait) {
                Reply::Now(outcome) => ended.push((owner, outcome)),
                Reply::Waits => {}
                Reply::Victim(granted) => {
                    ended = granted;
                    ended.push((owner, Err(LockError::Deadlock)));
                }
            }
        }
        Step::Release { owner, key } if !waits => {
            let held = naive.keys[key].granted.iter().any(|(holder, _)| *holder == owner);
            ended = naive.release(owner, key);
            let key = key_of(key);
            assert_eq!(manager.release(&client.owner, LockKeyRef { index: IndexId(1), key: &key }), held);
        }
        Step::ReleaseAll { owner } if !waits => {
            ended = (0..KEYS).flat_map(|key| naive.release(owner, key)).collect();
            manager.release_all(&client.owner);
        }
        Step::Kill { owner } if waits => {
            ended = naive.kill(owner);
            client.cancel.cancel(1);
        }
        _ => {}
    }
    for (owner, expected) in ended {
        let outcome = clients[owner].answer.recv_timeout(PATIENCE);
        let Ok(outcome) = outcome else {
            give_up(clients, format_args!("owner {owner} has no answer after {step:?}, expected is {expected:?}"))
        };
        assert_eq!(outcome, expected, "owner {owner} after {step:?}");
        clients[owner].cancel.reset();
    }
}

fn locks(manager: &LockManager, clients: &[Client]) -> BTreeSet<Listed> {
    let number = |owner: u64| clients.iter().position(|client| client.owner.number() == owner).expect("one of ours");
    let locks = manager.snapshot(usize::MAX).locks.into_iter();
    locks.map(|lock| (number(lock.owner), usize::from(lock.key[1]), lock.mode.name(), lock.granted)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.div_ceil(2), max_shrink_time: 60_000, ..ProptestConfig::default() })]

    #[test]
    fn histories_agree(steps in prop::collection::vec(step(), 1..80)) {
        check(&steps);
    }
}
