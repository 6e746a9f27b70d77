//! The counted heap in a program of its own: what threads allocate, the server's count, limits.

use memory::{Excess, Heap, SLACK_BYTES, begin_statement, begin_thread, excess, excuse, heap_bytes, held, set_limit};
use std::alloc::System;

#[global_allocator]
static HEAP: Heap<System> = Heap(System);

/// One test: the counts are the process's.
#[test]
fn threads_are_counted_and_statements_limited() {
    // A thread's count follows what it allocates and frees.
    let before = held();
    let block = vec![1_u8; 1 << 20];
    assert_eq!(held() - before, 1 << 20);
    let mut grown = Vec::<u64>::new();
    (0..10_000).for_each(|n| grown.push(n));
    assert_eq!(held() - before, (1 << 20) + 8 * grown.capacity() as i64);
    drop((block, grown));
    assert_eq!(held(), before);

    // The server's count is near the truth while threads live, and exact when they have ended.
    let server = heap_bytes() as i64;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                begin_thread();
                let kept = vec![0_u8; 3 << 20];
                assert!(heap_bytes() as i64 >= server + (3 << 20) - 2 * SLACK_BYTES);
                for _ in 0..1000 {
                    drop(std::hint::black_box(vec![0_u8; 40 << 10]));
                }
                drop(kept);
            });
        }
    });
    let drift = heap_bytes() as i64 - server;
    assert!(drift.abs() <= 2 * SLACK_BYTES, "{drift}");

    // A thread that gives its memory to another: the sum stays right.
    let given = std::thread::spawn(|| {
        begin_thread();
        vec![0_u8; 10 << 20]
    });
    let given = given.join().expect("no panic");
    let with = heap_bytes() as i64;
    assert!((with - server - (10 << 20)).abs() <= 4 * SLACK_BYTES, "{}", with - server);
    drop(given);
    assert!((heap_bytes() as i64 - server).abs() <= 4 * SLACK_BYTES + (2 << 20), "{}", heap_bytes() as i64 - server);

    // A statement's own limit.
    begin_statement(1 << 20);
    let small = vec![0_u8; 900 << 10];
    assert_eq!(excess(), Excess::None);
    assert!(memory::room(100 << 10) && !memory::room(200 << 10));
    let more = vec![0_u8; 200 << 10];
    assert_eq!(excess(), Excess::Statement);
    drop((small, more));
    assert_eq!(excess(), Excess::Statement, "it stays marked until it has been told");
    excuse();
    let undo = vec![0_u8; 4 << 20];
    assert_eq!(excess(), Excess::None);
    drop(undo);
    begin_statement(u64::MAX);
    assert_eq!(excess(), Excess::None);

    // The server's limit meets who grows and is large.
    let large = vec![0_u8; 256 << 20];
    assert_eq!(excess(), Excess::None);
    set_limit(memory::total());
    let larger = vec![0_u8; 8 << 20];
    assert_eq!(excess(), Excess::Server);
    let other = std::thread::spawn(|| {
        begin_thread();
        begin_statement(u64::MAX);
        drop(std::hint::black_box(vec![0_u8; 100 << 10]));
        excess()
    });
    assert_eq!(other.join().expect("no panic"), Excess::None, "a small one goes on");
    drop((large, larger));
    begin_statement(u64::MAX);
    drop(std::hint::black_box(vec![0_u8; 8 << 20]));
    assert_eq!(excess(), Excess::None, "there is room again");
    set_limit(u64::MAX);
    assert_eq!(memory::refusals(), 3, "two statements, and one that asked");
}
