//! The lock manager against a naive one: lists, a full search for cycles. Each owner is a thread; after every step all that should be
//! granted, waiting or refused is.

use base::IndexId;
use lock_manager::{Cancel, Granted, LockError, LockKeyRef, LockManager, LockMode, Owner, WaitPolicy};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

const OWNERS: usize = 6;
const KEYS: usize = 4;
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
    let mode = prop_oneof![Just(LockMode::Shared), Just(LockMode::Exclusive)];
    prop_oneof![
        12 => (owner(), 0..KEYS, mode, prop::bool::weighted(0.8)).prop_map(|(owner, key, mode, wait)| Step::Lock { owner, key, mode, wait }),
        2 => (owner(), 0..KEYS).prop_map(|(owner, key)| Step::Release { owner, key }),
        3 => owner().prop_map(|owner| Step::ReleaseAll { owner }),
        1 => owner().prop_map(|owner| Step::Kill { owner }),
    ]
}

fn conflict(a: LockMode, b: LockMode) -> bool {
    a == LockMode::Exclusive || b == LockMode::Exclusive
}

#[derive(Default)]
struct NaiveKey {
    granted: Vec<(usize, LockMode)>,
    queue: Vec<(usize, LockMode, bool)>,
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
}

impl Naive {
    fn waiting(&self, owner: usize) -> Option<usize> {
        (0..KEYS).find(|key| self.keys[*key].queue.iter().any(|(waiter, ..)| *waiter == owner))
    }

    fn in_the_way(&self, key: usize, owner: usize, mode: LockMode) -> bool {
        self.keys[key].granted.iter().any(|(holder, held)| *holder != owner && conflict(*held, mode))
    }

    fn lock(&mut self, owner: usize, key: usize, mode: LockMode, wait: bool) -> Reply {
        let held = self.keys[key].granted.iter().position(|(holder, _)| *holder == owner);
        if held.is_some_and(|at| self.keys[key].granted[at].1 == LockMode::Exclusive || mode == LockMode::Shared) {
            return Reply::Now(Ok(Granted::Held));
        }
        let blocked = self.in_the_way(key, owner, mode);
        let state = &mut self.keys[key];
        if let Some(at) = held
            && !blocked
        {
            state.granted[at].1 = mode;
            return Reply::Now(Ok(Granted::Upgraded));
        }
        if held.is_none() && !blocked && !state.queue.iter().any(|(_, queued, _)| conflict(*queued, mode)) {
            state.granted.push((owner, mode));
            return Reply::Now(Ok(Granted::New));
        }
        if !wait {
            return Reply::Now(Err(LockError::WouldBlock));
        }
        let upgrades = state.queue.iter().filter(|(.., upgrade)| *upgrade).count();
        let at = if held.is_some() { upgrades } else { state.queue.len() };
        state.queue.insert(at, (owner, mode, held.is_some()));
        if self.closes_cycle(owner) {
            self.keys[key].queue.remove(at);
            return Reply::Now(Err(LockError::Deadlock));
        }
        Reply::Waits
    }

    /// Everybody whom `owner` waits for, directly.
    fn waits_for(&self, owner: usize) -> BTreeSet<usize> {
        let Some(key) = self.waiting(owner) else { return BTreeSet::new() };
        let state = &self.keys[key];
        let at = state.queue.iter().position(|(waiter, ..)| *waiter == owner).expect("it waits there");
        let mode = state.queue[at].1;
        let holders = state.granted.iter().map(|(holder, held)| (*holder, *held));
        let ahead = state.queue[..at].iter().map(|(waiter, queued, _)| (*waiter, *queued));
        holders.chain(ahead).filter(|(other, held)| *other != owner && conflict(*held, mode)).map(|(other, _)| other).collect()
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

    /// Grants in order; returns who was granted what.
    fn settle(&mut self, key: usize) -> Vec<(usize, Outcome)> {
        let mut granted = Vec::new();
        let mut at = 0;
        while at < self.keys[key].queue.len() {
            let (owner, mode, upgrade) = self.keys[key].queue[at];
            let passed = self.keys[key].queue[..at].iter().any(|(_, queued, _)| conflict(*queued, mode));
            if passed || self.in_the_way(key, owner, mode) {
                at += 1;
                continue;
            }
            self.keys[key].queue.remove(at);
            self.keys[key].granted.retain(|(holder, _)| *holder != owner);
            self.keys[key].granted.push((owner, mode));
            granted.push((owner, Ok(if upgrade { Granted::Upgraded } else { Granted::New })));
        }
        granted
    }

    fn release(&mut self, owner: usize, key: usize) -> Vec<(usize, Outcome)> {
        self.keys[key].granted.retain(|(holder, _)| *holder != owner);
        self.settle(key)
    }

    fn kill(&mut self, owner: usize) -> Vec<(usize, Outcome)> {
        let Some(key) = self.waiting(owner) else { return Vec::new() };
        self.keys[key].queue.retain(|(waiter, ..)| *waiter != owner);
        let mut ended = self.settle(key);
        ended.push((owner, Err(LockError::Killed)));
        ended
    }

    fn locks(&self) -> BTreeSet<(usize, usize, bool, bool)> {
        let mut all = BTreeSet::new();
        for (key, state) in self.keys.iter().enumerate() {
            all.extend(state.granted.iter().map(|(owner, mode)| (*owner, key, *mode == LockMode::Exclusive, true)));
            all.extend(state.queue.iter().map(|(owner, mode, _)| (*owner, key, *mode == LockMode::Exclusive, false)));
        }
        all
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
            // A waiter queues some time after it was asked to; the rest is there once the answers are.
            while locks(&manager, &clients) != naive.locks() {
                std::thread::yield_now();
            }
        }
        assert_eq!(manager.snapshot(1), Default::default());
        drop(clients);
    });
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
            if let Reply::Now(outcome) = naive.lock(owner, key, mode, wait) {
                ended.push((owner, outcome));
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
        let outcome = clients[owner].answer.recv().expect("the thread answers");
        assert_eq!(outcome, expected, "owner {owner} after {step:?}");
        clients[owner].cancel.reset();
    }
}

fn locks(manager: &LockManager, clients: &[Client]) -> BTreeSet<(usize, usize, bool, bool)> {
    let number = |owner: u64| clients.iter().position(|client| client.owner.number() == owner).expect("one of ours");
    let locks = manager.snapshot(usize::MAX).locks.into_iter();
    locks.map(|lock| (number(lock.owner), usize::from(lock.key[1]), lock.mode == LockMode::Exclusive, lock.granted)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn histories_agree(steps in prop::collection::vec(step(), 1..80)) {
        check(&steps);
    }
}
