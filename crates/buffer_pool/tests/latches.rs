//! Many threads on few frames: no update is lost, no reader sees a torn page, with the cleaner and evictions at work.

mod common;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::PageNo;
use buffer_pool::{BufferPool, Mtr};
use common::{Random, checkpoint, create, make_page, sim};

/// Where a page carries its counter: three places that one update changes.
const PLACES: [usize; 3] = [48, 8001, 16_376];

fn counter_of(bytes: &[u8]) -> u64 {
    let at = |place: usize| u64::from_le_bytes(bytes[place..place + 8].try_into().expect("eight bytes"));
    assert!(PLACES.iter().all(|&place| at(place) == at(PLACES[0])), "a latched reader saw a torn page");
    at(PLACES[0])
}

fn increment(pool: &BufferPool, page: PageNo) {
    pool.wal().ensure_space().expect("log");
    let mut mtr = Mtr::begin(pool);
    let held = mtr.latch(page).expect("latch");
    let next = counter_of(mtr.bytes(held)) + 1;
    for place in PLACES {
        mtr.write_bytes(held, place, &next.to_le_bytes());
    }
    mtr.commit();
}

/// Reads without a latch; `None` when a writer was faster.
fn optimistic_counter(pool: &BufferPool, page: PageNo) -> Option<u64> {
    let guard = pool.optimistic(page).expect("page");
    assert_eq!(guard.page_no(), page);
    let number = guard.u64_at(8);
    let values = PLACES.map(|place| guard.u64_at(place));
    let mut copy = [0; 20];
    guard.copy(7995..8015, &mut copy);
    if !guard.validate() {
        return None;
    }
    assert_eq!(number, page.0, "an optimistic reader took another page for this one");
    assert_eq!(values, [values[0]; 3], "an optimistic reader took a torn page");
    assert_eq!(copy[6..14], values[0].to_le_bytes(), "a copy differs from the loads");
    Some(values[0])
}

fn stress(frames: usize, pages: u64, threads: u64, rounds: u64, seed: u64) {
    println!("seed {seed}");
    let (_sim, disk) = sim(seed);
    let pool = create(&disk, frames).expect("create");
    for page in 1..=pages {
        make_page(&pool, PageNo(page)).expect("page");
    }
    let cleaner = pool.start_cleaner().expect("cleaner");
    let made: Vec<AtomicU64> = (0..=pages).map(|_| AtomicU64::new(0)).collect();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let (pool, made) = (&pool, &made);
                scope.spawn(move || {
                    let mut random = Random::new(seed * 100 + thread);
                    for _ in 0..rounds {
                        // Half of the work goes to four pages.
                        let page = 1 + if random.below(2) == 0 { random.below(4) } else { random.below(pages) };
                        let before = made[page as usize].load(Ordering::SeqCst);
                        match random.below(8) {
                            0..=2 => {
                                increment(pool, PageNo(page));
                                made[page as usize].fetch_add(1, Ordering::SeqCst);
                            }
                            3..=4 => {
                                let guard = pool.shared(PageNo(page)).expect("page");
                                assert!(counter_of(&guard) >= before, "an update was lost");
                            }
                            5 => {
                                let guard = pool.optimistic(PageNo(page)).expect("page");
                                if let Some(guard) = guard.upgrade_shared() {
                                    assert!(counter_of(&guard) >= before);
                                }
                            }
                            6 => {
                                let guard = pool.optimistic(PageNo(page)).expect("page");
                                if let Some(guard) = guard.upgrade_exclusive() {
                                    assert!(counter_of(&guard) >= before);
                                    assert!(counter_of(&guard.downgrade()) >= before);
                                }
                            }
                            _ => {
                                if let Some(found) = optimistic_counter(pool, PageNo(page)) {
                                    assert!(found >= before, "an optimistic reader saw an old page");
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        let (pool, done) = (&pool, &done);
        let _done = sync::SetAtEnd(done);
        // The log is small: without checkpoints writers would wait for ever.
        scope.spawn(move || {
            while !done.load(Ordering::SeqCst) {
                pool.flush_all().expect("flush");
                checkpoint(pool).expect("checkpoint");
            }
        });
        for worker in workers {
            worker.join().expect("no panic");
        }
    });
    cleaner.stop();
    for page in 1..=pages {
        let guard = pool.shared(PageNo(page)).expect("page");
        assert_eq!(counter_of(&guard), made[page as usize].load(Ordering::SeqCst), "page {page}");
    }
    let stats = pool.stats();
    if (pages as usize) > frames {
        assert!(stats.evictions > 0 && stats.reads > 0, "{stats:?}");
    }
}

#[test]
fn nothing_is_lost_or_torn_when_all_pages_fit() {
    stress(64, 16, 6, 4000, 1);
}

#[test]
fn nothing_is_lost_or_torn_with_several_times_the_pool() {
    stress(32, 150, 6, 2500, 2);
}

#[test]
fn a_thousand_threads_hold_one_page_shared() {
    let (_sim, disk) = sim(3);
    let pool = create(&disk, 32).expect("create");
    make_page(&pool, PageNo(1)).expect("page");
    let inside = AtomicU64::new(0);
    let all_in = sync::Event::new();
    std::thread::scope(|scope| {
        for _ in 0..1000 {
            std::thread::Builder::new()
                .stack_size(64 << 10)
                .spawn_scoped(scope, || {
                    let _guard = pool.shared(PageNo(1)).expect("page");
                    if inside.fetch_add(1, Ordering::SeqCst) == 999 {
                        all_in.set();
                    }
                    all_in.wait(None);
                })
                .expect("thread");
        }
        all_in.wait(None);
        // Waits for all of them, and is woken by the last.
        drop(pool.exclusive(PageNo(1)).expect("page"));
    });
    assert!(pool.try_exclusive(PageNo(1)).expect("page").is_some());
}

#[test]
fn waiting_writers_all_get_the_page() {
    let (_sim, disk) = sim(4);
    let pool = create(&disk, 32).expect("create");
    make_page(&pool, PageNo(1)).expect("page");
    let started = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let first = pool.exclusive(PageNo(1)).expect("page");
        for _ in 0..50 {
            let (pool, started) = (&pool, &started);
            scope.spawn(move || {
                started.fetch_add(1, Ordering::SeqCst);
                for _ in 0..20 {
                    increment(pool, PageNo(1));
                }
            });
        }
        while started.load(Ordering::SeqCst) < 50 {
            std::thread::yield_now();
        }
        drop(first);
    });
    assert_eq!(counter_of(&pool.shared(PageNo(1)).expect("page")), 1000);
}

#[test]
fn a_second_shared_latch_of_one_thread_passes_a_waiting_writer_after_a_while() {
    let (_sim, disk) = sim(5);
    let pool = create(&disk, 32).expect("create");
    make_page(&pool, PageNo(1)).expect("page");
    std::thread::scope(|scope| {
        let first = pool.shared(PageNo(1)).expect("page");
        let writer = scope.spawn(|| increment(&pool, PageNo(1)));
        // The writer sleeps once the pool counts it.
        while pool.stats().latch_waits == 0 {
            std::thread::yield_now();
        }
        let second = pool.shared(PageNo(1)).expect("against the rules, but no deadlock");
        assert_eq!(counter_of(&second), 0);
        drop(first);
        drop(second);
        writer.join().expect("no panic");
    });
    assert_eq!(counter_of(&pool.shared(PageNo(1)).expect("page")), 1);
}
