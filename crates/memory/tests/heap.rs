//! The counted heap in a program of its own: what threads allocate, the server's count, limits.

use memory::{Excess, Heap, SLACK_BYTES, begin_statement, begin_thread, excess, excuse, heap_bytes, held, set_limit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Allocations of 100 KiB that fail.
    static NONE_LEFT: Cell<u32> = const { Cell::new(0) };
}

/// The system's allocator, which may have none left.
struct Scarce;

// SAFETY: calls are handed on unchanged, or answered with null.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() == 100 << 10 && NONE_LEFT.get() > 0 {
            NONE_LEFT.set(NONE_LEFT.get() - 1);
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static HEAP: Heap<Scarce> = Heap::new(Scarce);

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
    assert_eq!((memory::excess_with(100 << 10), memory::excess_with(200 << 10)), (Excess::None, Excess::Statement));
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

    // Room for a vector: within the statement's limit, past it, past what there is.
    begin_statement(1 << 20);
    let mut list = Vec::<u64>::new();
    memory::reserve(&mut list, 80_000).expect("room");
    list.resize(80_000, 0);
    assert_eq!(memory::reserve(&mut list, 10_000), Ok(()), "not twice as much, but what is needed");
    assert!((90_000..160_000).contains(&list.capacity()), "{}", list.capacity());
    assert_eq!(excess(), Excess::None);
    assert_eq!(memory::reserve(&mut list, 1_000_000), Err(Excess::Statement));
    assert_eq!((excess(), list.len()), (Excess::Statement, 80_000));
    begin_statement(u64::MAX);
    set_limit(memory::total() + (1 << 20));
    assert_eq!(memory::reserve(&mut list, 1_000_000), Err(Excess::Server));
    assert_eq!(memory::reserve_shared(&mut list, 1_000_000), Err(Excess::Server));
    set_limit(u64::MAX);
    begin_statement(u64::MAX);
    assert_eq!(memory::reserve(&mut list, isize::MAX as usize / 8 - 80_000), Err(Excess::Server), "the allocator has not so much");
    assert_eq!(excess(), Excess::Server);
    excuse();
    drop(list);

    // What cannot fail lives off what is set aside, once; its statement is marked.
    begin_statement(u64::MAX);
    HEAP.set_aside();
    NONE_LEFT.set(1);
    let saved = vec![0_u8; 100 << 10];
    assert_eq!((saved.len(), NONE_LEFT.get(), memory::rescues(), excess()), (100 << 10, 0, 1, Excess::Server));
    begin_statement(u64::MAX);
    NONE_LEFT.set(1);
    let mut list = Vec::<u8>::new();
    assert_eq!(memory::reserve(&mut list, 100 << 10), Err(Excess::Server), "who can be told is told");
    assert_eq!((NONE_LEFT.get(), memory::rescues()), (0, 1));
    excuse();
}
