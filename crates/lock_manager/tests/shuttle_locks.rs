//! Random schedules of the lock manager's sources. Each property is checked a second time with a bug planted that it must find.
//! More schedules: `LOCK_SCHEDULES=1000000 cargo test -p lock_manager --release --test shuttle_locks`.

#![allow(clippy::disallowed_types)] // shuttle's are behind the same names

use base::{IndexId, Lsn, TxnId};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use shuttle::thread;
use std::time::{Duration, Instant};

/// What `crate::platform` of the product is, over shuttle.
mod platform {
    pub(crate) use crate::futex;
    pub(crate) use crate::latch;
    pub use models::planted;
    pub use shuttle::sync::{Arc, Condvar, Mutex, Weak, atomic};
    pub use shuttle::{lazy_static, thread};
    pub use sync::CachePadded;
}

#[allow(dead_code)]
#[path = "../src/cancel.rs"]
mod cancel;
#[allow(dead_code)]
#[path = "../src/deadlock.rs"]
mod deadlock;
#[allow(clippy::enum_variant_names)] // crate-private here, public there
#[path = "../../sync/src/futex_model.rs"]
mod futex;
#[allow(dead_code)]
#[path = "../src/gaps.rs"]
mod gaps;
#[allow(dead_code)]
#[path = "../src/holders.rs"]
mod holders;
#[path = "../../txn/tests/model/latch.rs"]
mod latch;
#[allow(dead_code)]
#[path = "../src/manager.rs"]
mod manager;
#[allow(dead_code)]
#[path = "../src/metadata.rs"]
mod metadata;
#[allow(dead_code)]
#[path = "../src/mode.rs"]
mod mode;
#[allow(dead_code)]
#[path = "../src/outside.rs"]
mod outside;
#[allow(dead_code)]
#[path = "../src/owner.rs"]
mod owner;
#[allow(dead_code)]
#[path = "../src/queue.rs"]
mod queue;
#[allow(dead_code)]
#[path = "../src/registry.rs"]
mod registry;
#[allow(dead_code)]
#[path = "../src/shares.rs"]
mod shares;
#[allow(dead_code)]
#[path = "../src/spans.rs"]
mod spans;
#[allow(dead_code)]
#[path = "../src/table.rs"]
mod table;
#[allow(dead_code)]
#[path = "../src/user_locks.rs"]
mod user_locks;

use cancel::{Cancel, WaitOver};
use manager::{LockError, LockKeyRef, LockManager, WaitPolicy};
use metadata::{ExclusiveWait, Protects, Share, TableLock};
use mode::LockMode::{Exclusive, ExclusiveGap, InsertIntention, Shared, SharedNextKey};
use models::Schedules;
use outside::Asker;
use shares::Announcement;

const FOREVER: WaitPolicy = WaitPolicy::Wait(None);

fn key(key: &[u8]) -> LockKeyRef<'_> {
    LockKeyRef { index: IndexId(1), key }
}

const SCHEDULES: Schedules = Schedules { count: 6_000, variable: "LOCK_SCHEDULES" };

/// Who holds the key is alone with it.
fn alone(inside: &AtomicU32) {
    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
    thread::yield_now();
    inside.fetch_sub(1, Ordering::SeqCst);
}

/// Three owners of one key; one of them gives up at once, one is killed.
fn hand_over() {
    let manager = Arc::new(LockManager::new(1));
    let inside = Arc::new(AtomicU32::new(0));
    let cancel = Arc::new(Cancel::new());
    let threads: Vec<_> = (0..4u32)
        .map(|n| {
            let (manager, inside, cancel) = (Arc::clone(&manager), Arc::clone(&inside), Arc::clone(&cancel));
            thread::spawn(move || {
                let owner = manager.new_owner();
                let (policy, own) = match n {
                    0 => (WaitPolicy::Wait(Some(Instant::now())), Cancel::new()),
                    _ => (FOREVER, Cancel::new()),
                };
                let result = manager.lock(&owner, key(b"k"), Exclusive, policy, if n == 1 { &cancel } else { &own });
                match result {
                    Ok(_) => {
                        alone(&inside);
                    }
                    Err(LockError::Timeout) => assert_eq!(n, 0),
                    Err(LockError::Killed) => assert_eq!(n, 1),
                    Err(error) => panic!("{error:?}"),
                }
                manager.release_all(&owner);
            })
        })
        .collect();
    cancel.cancel(1);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(manager.stats().waiting, 0);
    let shard = manager.shards[0].lock();
    assert_eq!(shard.entries().count(), 0, "nothing is left");
}

#[test]
fn locks_are_handed_over() {
    SCHEDULES.check(hand_over, &["release_without_hand_over"]);
}

/// Told that a wait is over.
#[derive(Default)]
struct Told(shuttle::sync::Mutex<u32>, shuttle::sync::Condvar);

impl WaitOver for Told {
    fn wait_is_over(&self) {
        *self.0.lock().expect("model mutex") += 1;
        self.1.notify_all();
    }
}

/// Four owners of one key, of whom three wait without a thread, twice each: one of these may be killed, another is out of time once. (One that is told of nothing waits for ever, which shuttle
/// tells.)
fn left_waits() {
    let manager = Arc::new(LockManager::new(1));
    let inside = Arc::new(AtomicU32::new(0));
    let cancel = Arc::new(Cancel::new());
    let threads: Vec<_> = (0..4u32)
        .map(|n| {
            let (manager, inside, cancel) = (Arc::clone(&manager), Arc::clone(&inside), Arc::clone(&cancel));
            thread::spawn(move || {
                let (owner, told) = (manager.new_owner(), std::sync::Arc::new(Told::default()));
                let as_told: std::sync::Arc<dyn WaitOver> = std::sync::Arc::clone(&told) as _;
                assert!(owner.tell(&as_told) && owner.tell(&as_told));
                assert!(!owner.tell(&(std::sync::Arc::new(Told::default()) as _)), "the first one stays");
                let own = Cancel::new();
                let cancel = if n == 1 { &*cancel } else { &own };
                let policy = if n == 3 { FOREVER } else { WaitPolicy::Leave };
                for turn in 0..2 {
                    let mut result = manager.lock(&owner, key(b"k"), Exclusive, policy, cancel);
                    if result == Err(LockError::Queued) {
                        if n == 2 && turn == 0 {
                            owner.time_out();
                        }
                        let mut heard = told.0.lock().expect("model mutex");
                        while !owner.wait_is_over() {
                            heard = told.1.wait(heard).expect("model mutex");
                        }
                        drop(heard);
                        result = manager.end_left_wait(&owner, cancel);
                    }
                    match result {
                        Ok(_) => {
                            alone(&inside);
                        }
                        Err(LockError::Timeout) => assert_eq!((n, turn), (2, 0)),
                        Err(LockError::Killed) => assert_eq!(n, 1),
                        Err(error) => panic!("{error:?}"),
                    }
                    manager.release_all(&owner);
                }
            })
        })
        .collect();
    cancel.cancel(1);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(manager.stats().waiting, 0);
    assert_eq!(manager.shards[0].lock().entries().count(), 0, "nothing is left");
}

#[test]
fn who_waits_without_a_thread_is_told() {
    SCHEDULES.check(left_waits, &["left_not_told", "release_without_hand_over"]);
}

/// A reader behind a writer that gives up, while the first reader stays.
fn behind_one_that_leaves() {
    let manager = Arc::new(LockManager::new(1));
    let first = manager.new_owner();
    let cancel = Cancel::new();
    manager.lock(&first, key(b"k"), Shared, FOREVER, &cancel).expect("free");
    let writer = {
        let manager = Arc::clone(&manager);
        thread::spawn(move || {
            let owner = manager.new_owner();
            let result = manager.lock(&owner, key(b"k"), Exclusive, WaitPolicy::Wait(Some(Instant::now())), &Cancel::new());
            assert_eq!(result, Err(LockError::Timeout));
        })
    };
    let reader = {
        let manager = Arc::clone(&manager);
        thread::spawn(move || {
            let owner = manager.new_owner();
            manager.lock(&owner, key(b"k"), Shared, FOREVER, &Cancel::new()).expect("granted");
            manager.release_all(&owner);
        })
    };
    writer.join().expect("no panic");
    reader.join().expect("no panic");
    manager.release_all(&first);
}

#[test]
fn who_leaves_lets_others_pass() {
    SCHEDULES.check(behind_one_that_leaves, &["timeout_without_hand_over"]);
}

/// The holder of an implicit lock ends while others ask for the row. Its owner goes on to serve another transaction.
fn implicit_against_finish() {
    let manager = Arc::new(LockManager::new(1));
    let active = Arc::new(AtomicBool::new(true));
    let holder = manager.register(TxnId(5));
    let ending = {
        let (manager, active) = (Arc::clone(&manager), Arc::clone(&active));
        thread::spawn(move || {
            active.store(false, Ordering::SeqCst);
            manager.release_all(&holder);
            manager.set_txn(&holder, TxnId(6));
            holder
        })
    };
    let asking: Vec<_> = (0..2)
        .map(|_| {
            let (manager, active) = (Arc::clone(&manager), Arc::clone(&active));
            thread::spawn(move || {
                let owner = manager.new_owner();
                let still_active = || active.load(Ordering::SeqCst);
                manager
                    .lock_after_implicit(&owner, key(b"k"), Exclusive, TxnId(5), still_active, FOREVER, &Cancel::new())
                    .expect("granted in the end");
                assert!(!active.load(Ordering::SeqCst), "granted while the holder was active");
                manager.release_all(&owner);
            })
        })
        .collect();
    asking.into_iter().for_each(|thread| thread.join().expect("no panic"));
    let holder = ending.join().expect("no panic");
    assert_eq!(holder.lock_count(), 0, "the next transaction inherits nothing");
}

#[test]
fn implicit_locks_are_made_explicit_or_not_at_all() {
    SCHEDULES.check(implicit_against_finish, &["implicit_without_recheck"]);
}

/// A row that three transactions change one after the other, as the engine goes about it: each lets go of it once its commit record is in the log,
/// and is told when that is durable. Whoever builds on another has the later record, so a crash leaves a prefix.
fn early_release() {
    let manager = Arc::new(LockManager::new(1));
    // The row: its newest writer and its value.
    let leaf = Arc::new(shuttle::sync::Mutex::new((0u64, 0u32)));
    let released: Arc<Vec<AtomicBool>> = Arc::new((0..4).map(|id| AtomicBool::new(id == 0)).collect());
    // Values in the order of their commit records.
    let log = Arc::new(shuttle::sync::Mutex::new(Vec::new()));
    let durable = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (1..4u64)
        .map(|id| {
            let (manager, leaf, released) = (Arc::clone(&manager), Arc::clone(&leaf), Arc::clone(&released));
            let (log, durable) = (Arc::clone(&log), Arc::clone(&durable));
            thread::spawn(move || {
                let (owner, cancel) = (manager.register(TxnId(id)), Cancel::new());
                let holds = |id: u64| !released[id as usize].load(Ordering::SeqCst);
                let value = loop {
                    let mut row = leaf.lock().expect("no panic");
                    let writer = row.0;
                    if holds(writer) {
                        drop(row);
                        let still = || holds(writer);
                        let granted = manager.lock_after_implicit(&owner, key(b"k"), Exclusive, TxnId(writer), still, FOREVER, &cancel);
                        granted.expect("in the end");
                        continue;
                    }
                    if !manager.is_free(key(b"k"), &owner)
                        && manager.lock(&owner, key(b"k"), Exclusive, WaitPolicy::NoWait, &cancel).is_err()
                    {
                        drop(row);
                        manager.lock(&owner, key(b"k"), Exclusive, FOREVER, &cancel).expect("in the end");
                        continue;
                    }
                    *row = (id, row.1 + 1);
                    break row.1;
                };
                if models::planted("release_before_record") {
                    released[id as usize].store(true, Ordering::SeqCst);
                    thread::yield_now();
                }
                let head = {
                    let mut log = log.lock().expect("no panic");
                    log.push(value);
                    log.len() as u32
                };
                released[id as usize].store(true, Ordering::SeqCst);
                manager.release_all(&owner);
                thread::yield_now();
                durable.fetch_max(head, Ordering::SeqCst);
                // Told: all that it was built on is durable as well.
                let log = log.lock().expect("no panic");
                let kept = &log[..durable.load(Ordering::SeqCst) as usize];
                assert!((1..=value).all(|below| kept.contains(&below)), "{value} was told, {kept:?} is durable");
                assert!(kept.is_sorted(), "{kept:?}: built on what came later");
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(*log.lock().expect("no panic"), [1, 2, 3]);
    assert_eq!(manager.shards[0].lock().entries().count(), 0, "nothing is left");
}

#[test]
fn rows_go_on_to_the_next_before_they_are_durable() {
    SCHEDULES.check(early_release, &["release_before_record", "release_without_hand_over"]);
}

/// A row as the engine goes about it: who wants it looks under the leaf's latch, asks for a lock with the latch let go, and looks again.
struct Row {
    manager: LockManager,
    /// Its newest writer and its value.
    leaf: shuttle::sync::Mutex<(u64, u32)>,
    runs: Vec<AtomicBool>,
}

impl Row {
    /// Calls `act` under the latch when the transaction may write the row, and has a lock on it if `locks` is set.
    fn enter<R>(&self, owner: &Arc<owner::Owner>, id: u64, locks: bool, act: impl FnOnce(&mut (u64, u32)) -> R) -> R {
        let (manager, cancel) = (&self.manager, Cancel::new());
        loop {
            let mut row = self.leaf.lock().expect("no panic");
            let writer = row.0;
            let runs = || self.runs[writer as usize].load(Ordering::SeqCst);
            if writer != id && runs() {
                drop(row);
                let granted = manager.lock_after_implicit(owner, key(b"k"), Exclusive, TxnId(writer), runs, FOREVER, &cancel);
                granted.expect("in the end");
                continue;
            }
            let free = writer == id || !locks && manager.is_free(key(b"k"), owner);
            if free || manager.lock(owner, key(b"k"), Exclusive, WaitPolicy::NoWait, &cancel).is_ok() {
                return act(&mut row);
            }
            drop(row);
            manager.lock(owner, key(b"k"), Exclusive, FOREVER, &cancel).expect("in the end");
        }
    }

    fn end(&self, owner: &Arc<owner::Owner>, id: u64) {
        self.runs[id as usize].store(false, Ordering::SeqCst);
        self.manager.release_all(owner);
    }
}

/// A transaction takes its change of a row back and makes another. Two have let the page go to ask for the row: one when it was another's, which has ended
/// since, one when it was this one's.
fn change_taken_back() {
    let runs = (0..3).map(|id| AtomicBool::new(id > 0)).collect();
    let row = Arc::new(Row { manager: LockManager::new(1), leaf: shuttle::sync::Mutex::new((1, 1)), runs });
    let writer = row.manager.register(TxnId(1));
    let reader = {
        let row = Arc::clone(&row);
        thread::spawn(move || {
            let owner = row.manager.register(TxnId(2));
            row.manager.lock(&owner, key(b"k"), Exclusive, FOREVER, &Cancel::new()).expect("in the end");
            let read = row.enter(&owner, 2, true, |row| row.1);
            thread::yield_now();
            row.enter(&owner, 2, true, |row| {
                assert_eq!(row.1, read, "the row has changed under its lock");
                *row = (2, read + 1);
            });
            row.end(&owner, 2);
        })
    };
    let third = {
        let row = Arc::clone(&row);
        thread::spawn(move || {
            let owner = row.manager.new_owner();
            let runs = || row.runs[1].load(Ordering::SeqCst);
            let asked = row.manager.lock_after_implicit(&owner, key(b"k"), Exclusive, TxnId(1), runs, WaitPolicy::NoWait, &Cancel::new());
            assert!(matches!(asked, Ok(_) | Err(LockError::WouldBlock)), "{asked:?}");
            row.manager.release_all(&owner);
        })
    };
    {
        // As `put_back` does: the lock stays, unless somebody else has it.
        let mut leaf = row.leaf.lock().expect("no panic");
        let _ = row.manager.lock(&writer, key(b"k"), Exclusive, WaitPolicy::NoWait, &Cancel::new());
        *leaf = (0, 0);
    }
    row.enter(&writer, 1, false, |row| *row = (1, row.1 + 1));
    row.end(&writer, 1);
    [reader, third].into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(row.leaf.lock().expect("no panic").1, 2, "an update is lost");
    assert_eq!(row.manager.shards[0].lock().entries().count(), 0, "nothing is left");
}

#[test]
fn a_change_that_is_taken_back_loses_nobodys_update() {
    SCHEDULES.check(change_taken_back, &["noted_is_granted", "revoked_without_hand_over"]);
}

/// Three owners in a ring: somebody is the victim, everybody ends, and a victim is needed (nobody is one without a cycle).
fn ring() {
    let manager = Arc::new(LockManager::new(1));
    let threads: Vec<_> = (0..3u8)
        .map(|n| {
            let manager = Arc::clone(&manager);
            thread::spawn(move || {
                let owner = manager.new_owner();
                let cancel = Cancel::new();
                let mut victim = false;
                for name in [n, (n + 1) % 3] {
                    match manager.lock(&owner, key(&[name]), Exclusive, FOREVER, &cancel) {
                        Ok(_) => owner.add_work(1),
                        Err(LockError::Deadlock) => victim = true,
                        Err(error) => panic!("{error:?}"),
                    }
                    if victim {
                        break;
                    }
                }
                manager.release_all(&owner);
                victim
            })
        })
        .collect();
    let victims = threads.into_iter().map(|thread| thread.join().expect("no panic")).filter(|victim| *victim).count();
    assert!(victims <= 1, "one victim breaks a ring");
    assert_eq!(manager.stats().deadlocks, victims as u64);
}

#[test]
fn rings_are_broken_by_one_victim() {
    SCHEDULES.check(ring, &["no_detection"]);
}

/// An index with one leaf, as the engine goes about it: under the leaf's latch readers look and lock the gap, writers insert where nobody
/// has it, purge removes a key and leaves its gap. The reader commits and gives its gaps back before that is durable: an insertion behind its first look comes after it.
fn gaps() {
    const COMMIT: Lsn = Lsn(10);
    let manager = Arc::new(LockManager::new(1));
    let looked = Arc::new(AtomicBool::new(false));
    let leaf = Arc::new(shuttle::sync::Mutex::new(std::collections::BTreeSet::from([1u8, 5, 9])));
    let next = |keys: &std::collections::BTreeSet<u8>, than: u8| keys.range(than + 1..).next().map_or(vec![], |key| vec![*key]);
    let reader = {
        let (manager, leaf, looked) = (Arc::clone(&manager), Arc::clone(&leaf), Arc::clone(&looked));
        thread::spawn(move || {
            let owner = manager.new_owner();
            // Keys between 1 and 5, of which there is none.
            let look = |lock: bool| {
                let keys = leaf.lock().expect("no panic");
                if lock {
                    let behind = next(&keys, keys.range(2..5).next_back().copied().unwrap_or(1));
                    manager.lock(&owner, key(&behind), ExclusiveGap, FOREVER, &Cancel::new()).expect("gaps are free");
                    looked.store(!keys.contains(&3), Ordering::SeqCst);
                }
                keys.range(2..5).copied().collect::<Vec<u8>>()
            };
            let seen = look(true);
            for _ in 0..2 {
                thread::yield_now();
                let again = look(false);
                assert!(again.iter().all(|key| seen.contains(key)), "a phantom: {again:?} after {seen:?}");
            }
            manager.release_before_durable(&owner, COMMIT);
        })
    };
    let mut threads = vec![reader];
    threads.push({
        let (manager, leaf) = (Arc::clone(&manager), Arc::clone(&leaf));
        thread::spawn(move || {
            let owner = manager.new_owner();
            loop {
                let mut keys = leaf.lock().expect("no panic");
                let behind = next(&keys, 3);
                if manager.has_gap_locks(IndexId(1), &owner) && !manager.enter_gap(&owner, key(&behind), &[3]) {
                    drop(keys);
                    manager.lock(&owner, key(&behind), InsertIntention, FOREVER, &Cancel::new()).expect("granted");
                    continue;
                }
                assert!(!looked.load(Ordering::SeqCst) || owner.comes_after() == COMMIT, "it was not told whose gap it was");
                keys.insert(3);
                break;
            }
            manager.release_all(&owner);
        })
    });
    threads.push({
        let (manager, leaf) = (Arc::clone(&manager), Arc::clone(&leaf));
        thread::spawn(move || {
            let owner = manager.new_owner();
            let mut keys = leaf.lock().expect("no panic");
            let behind = next(&keys, 5);
            manager.record_removed(Some(&owner), key(&[5]), key(&behind));
            keys.remove(&5);
        })
    });
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert!(!manager.has_gap_locks(IndexId(1), &manager.new_owner()));
    assert_eq!(manager.shards[0].lock().entries().count(), 0, "nothing is left");
}

#[test]
fn nothing_comes_into_a_locked_gap() {
    SCHEDULES.check(gaps, &["gap_not_counted", "gap_entered", "gap_not_inherited", "gap_not_told", "release_without_hand_over"]);
}

/// Two who waited for a row that its maker takes back: both have its gap then, and one of them is the victim when both insert.
fn taken_back() {
    let manager = Arc::new(LockManager::new(1));
    let maker = manager.new_owner();
    manager.lock(&maker, key(&[5]), Exclusive, FOREVER, &Cancel::new()).expect("free");
    let victims = Arc::new(AtomicU32::new(0));
    let inside = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..2)
        .map(|_| {
            let (manager, victims, inside) = (Arc::clone(&manager), Arc::clone(&victims), Arc::clone(&inside));
            thread::spawn(move || {
                let (owner, cancel) = (manager.new_owner(), Cancel::new());
                manager.lock(&owner, key(&[5]), SharedNextKey, FOREVER, &cancel).expect("granted, or gone");
                // Where the row is gone, its gap is to be entered.
                match manager.lock(&owner, key(&[]), InsertIntention, FOREVER, &cancel) {
                    Ok(_) => {
                        assert!(manager.enter_gap(&owner, key(&[]), &[5]) || manager.stats().deadlocks == 0);
                        inside.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(LockError::Deadlock) => {
                        victims.fetch_add(1, Ordering::SeqCst);
                    }
                    Err(error) => panic!("{error:?}"),
                }
                manager.release_all(&owner);
            })
        })
        .collect();
    manager.record_removed(Some(&maker), key(&[5]), key(&[]));
    manager.release_all(&maker);
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert_eq!(inside.load(Ordering::SeqCst) + victims.load(Ordering::SeqCst), 2);
    assert!(victims.load(Ordering::SeqCst) <= 1, "one victim is enough");
    assert_eq!(manager.shards[0].lock().entries().count(), 0, "nothing is left");
}

#[test]
fn waiters_of_a_row_taken_back_look_again() {
    SCHEDULES.check(taken_back, &["no_detection"]);
}

/// Readers and DDL on one table.
fn metadata_lock() {
    let table = Arc::new(TableLock::new());
    let alone = Arc::new(AtomicBool::new(false));
    let mut threads: Vec<_> = (0..2usize)
        .map(|n| {
            let (table, alone) = (Arc::clone(&table), Arc::clone(&alone));
            thread::spawn(move || {
                let guard = table.shared(n, FOREVER, &Cancel::new()).expect("no deadline");
                assert!(!alone.load(Ordering::SeqCst), "a reader beside DDL");
                thread::yield_now();
                assert!(!alone.load(Ordering::SeqCst), "DDL beside a reader");
                drop(guard);
            })
        })
        .collect();
    threads.extend((0..2).map(|_| {
        let (table, alone) = (Arc::clone(&table), Arc::clone(&alone));
        thread::spawn(move || {
            let wait = ExclusiveWait { deadline: None, block: Duration::MAX, pass: Duration::MAX };
            let guard = table.exclusive(wait, &Cancel::new()).expect("no deadline");
            assert!(!alone.swap(true, Ordering::SeqCst), "two DDL statements");
            thread::yield_now();
            alone.store(false, Ordering::SeqCst);
            drop(guard);
        })
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert!(!table.is_exclusive() && table.shared_count() == 0);
}

/// Writers, readers, those who keep writers out, and one who wants the table alone.
fn read_only_lock() {
    let table = Arc::new(TableLock::new());
    let wait = || ExclusiveWait { deadline: None, block: Duration::MAX, pass: Duration::MAX };
    let (writing, alone, keeping) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let writer = {
        let (table, writing, alone, keeping) = (Arc::clone(&table), Arc::clone(&writing), Arc::clone(&alone), Arc::clone(&keeping));
        thread::spawn(move || {
            let guard = table.share(Share::Write, 0, FOREVER, &Cancel::new()).expect("no deadline");
            writing.store(true, Ordering::SeqCst);
            assert!(!keeping.load(Ordering::SeqCst), "a writer beside one who keeps writers out");
            assert!(!alone.load(Ordering::SeqCst), "a writer beside DDL");
            thread::yield_now();
            writing.store(false, Ordering::SeqCst);
            drop(guard);
        })
    };
    let keeper = {
        let (table, writing, alone, keeping) = (Arc::clone(&table), Arc::clone(&writing), Arc::clone(&alone), Arc::clone(&keeping));
        thread::spawn(move || {
            let guard = table.read_only(wait(), &Cancel::new()).expect("no deadline");
            keeping.store(true, Ordering::SeqCst);
            assert!(!writing.load(Ordering::SeqCst), "one who keeps writers out beside a writer");
            let reader = table.share(Share::Read, 1, FOREVER, &Cancel::new()).expect("readers pass");
            assert!(!alone.load(Ordering::SeqCst), "a reader beside DDL");
            drop(reader);
            thread::yield_now();
            keeping.store(false, Ordering::SeqCst);
            drop(guard);
        })
    };
    let ddl = {
        let (table, writing, alone, keeping) = (Arc::clone(&table), Arc::clone(&writing), Arc::clone(&alone), Arc::clone(&keeping));
        thread::spawn(move || {
            let guard = table.exclusive(ExclusiveWait { deadline: None, block: Duration::ZERO, pass: Duration::ZERO }, &Cancel::new());
            let guard = guard.expect("no deadline");
            alone.store(true, Ordering::SeqCst);
            assert!(!writing.load(Ordering::SeqCst) && !keeping.load(Ordering::SeqCst), "DDL beside others");
            thread::yield_now();
            alone.store(false, Ordering::SeqCst);
            drop(guard);
        })
    };
    [writer, keeper, ddl].into_iter().for_each(|thread| thread.join().expect("no panic"));
    assert!(!table.is_exclusive() && table.shared_count() == 0 && table.read_only_count() == 0);
}

/// Writers that announce themselves, and one who keeps them out.
fn announced_writers() {
    let manager = Arc::new(LockManager::new(1));
    let lock = Arc::new(TableLock::of(Protects::Changes));
    let (writing, keeping) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicBool::new(false)));
    let mut threads: Vec<_> = (0..2)
        .map(|_| {
            let (manager, lock, writing, keeping) = (Arc::clone(&manager), Arc::clone(&lock), Arc::clone(&writing), Arc::clone(&keeping));
            thread::spawn(move || {
                let (owner, cancel) = (manager.new_owner(), Cancel::new());
                let announcement = Announcement::new(&lock, &owner);
                announcement.enter(None, Asker::new(&manager, &owner, &cancel)).expect("no deadline");
                writing.fetch_add(1, Ordering::SeqCst);
                assert!(!keeping.load(Ordering::SeqCst), "a writer beside one who keeps writers out");
                thread::yield_now();
                writing.fetch_sub(1, Ordering::SeqCst);
                announcement.leave();
            })
        })
        .collect();
    threads.push(thread::spawn(move || {
        let (owner, cancel) = (manager.new_owner(), Cancel::new());
        let wait = ExclusiveWait { deadline: None, block: Duration::MAX, pass: Duration::MAX };
        let guard = lock.read_only(wait, Asker::new(&manager, &owner, &cancel)).expect("no deadline");
        keeping.store(true, Ordering::SeqCst);
        assert_eq!(writing.load(Ordering::SeqCst), 0, "one who keeps writers out beside a writer");
        thread::yield_now();
        keeping.store(false, Ordering::SeqCst);
        drop(guard);
    }));
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

#[test]
fn announced_writers_are_kept_out() {
    SCHEDULES.check(announced_writers, &["announced_without_look"]);
}

/// Two who take two tables in opposite order.
fn tables_crosswise() {
    let manager = Arc::new(LockManager::new(1));
    let tables = [Arc::new(TableLock::new()), Arc::new(TableLock::new())];
    let victims = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..2)
        .map(|n| {
            let (manager, tables, victims) = (Arc::clone(&manager), tables.clone(), Arc::clone(&victims));
            thread::spawn(move || {
                let (owner, cancel) = (manager.new_owner(), Cancel::new());
                let asker = Asker::new(&manager, &owner, &cancel);
                let wait = ExclusiveWait { deadline: None, block: Duration::MAX, pass: Duration::MAX };
                let first = tables[n].rows(wait, asker).expect("nothing is in hand yet");
                match tables[1 - n].rows(wait, asker) {
                    Ok(second) => drop(second),
                    Err(LockError::Deadlock) => assert_eq!(victims.fetch_add(1, Ordering::SeqCst), 0, "one victim is enough"),
                    Err(error) => panic!("{error:?}"),
                }
                drop(first);
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

#[test]
fn a_circle_of_tables_has_one_victim() {
    SCHEDULES.check(tables_crosswise, &["no_outside_detection"]);
}

#[test]
fn writers_are_kept_out_while_others_read() {
    SCHEDULES.check(read_only_lock, &["read_only_beside_writers", "shared_without_recheck"]);
}

#[test]
fn ddl_has_a_table_alone() {
    SCHEDULES.check(metadata_lock, &["shared_without_recheck"]);
}
