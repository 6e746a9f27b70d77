//! An engine that tools have opened: nothing runs beside it.

use super::*;

fn crashed(f: Fixture, config: EngineConfig) -> (Arc<SimDisk>, Arc<Engine>) {
    let Fixture { disk, engine, spec, table } = f;
    engine.wal.flush_to(engine.wal.lsn_head()).expect("a log");
    drop((engine, table));
    disk.crash();
    let engine = open_with(&disk, config);
    engine.set_table_source(Arc::new(OneTable(spec)));
    (disk, engine)
}

#[test]
fn a_rollback_of_more_log_than_there_is_room_for_comes_to_rest() {
    let f = Fixture::new();
    f.engine.start_background().expect("threads");
    let mut s = f.session();
    for id in 0..200 {
        f.insert(&mut s, id, id, "committed", Some(id)).expect("a row");
    }
    s.commit().expect("committed");
    s.begin(Isolation::RepeatableRead, false);
    let start = f.engine.wal.lsn_head().0;
    let mut round = 0;
    while f.engine.wal.lsn_head().0 - start < 3 * f.engine.wal.capacity() {
        round += 1;
        for id in 0..200 {
            f.update(&mut s, id, id + round, &"never ".repeat(50)).expect("an update");
        }
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).expect("a log");
    f.engine.close(false).expect("stopped");
    // As a crash leaves it: nobody rolls back.
    std::mem::forget(s);
    let (disk, engine) = crashed(f, EngineConfig::small());
    let head = engine.wal.lsn_head().0;
    let rest = engine.bring_to_rest();
    assert_eq!(rest, crate::offline::Rest { written: true, ..Default::default() });
    assert!(engine.wal.lsn_head().0 - head > engine.wal.capacity(), "{} bytes of log", engine.wal.lsn_head().0 - head);
    let table = engine.table_by_id(TableId(engine.next_table_id.load(sync::atomic::Ordering::Relaxed) - 1)).expect("read").expect("there");
    assert_eq!(engine.check_table(&table).expect("sound").rows, 200);
    drop((engine, disk));
}

#[test]
fn a_long_chain_of_versions_is_walked_once() {
    let f = Fixture::new();
    f.engine.start_background().expect("threads");
    let mut s = f.session();
    f.insert(&mut s, 1, 0, "row", None).expect("a row");
    s.commit().expect("committed");
    s.begin(Isolation::RepeatableRead, false);
    // The square of this is more than any test waits for.
    const UPDATES: i64 = 60_000;
    for k in 1..=UPDATES {
        f.update(&mut s, 1, k, "row").expect("an update");
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).expect("a log");
    f.engine.close(false).expect("stopped");
    std::mem::forget(s);
    let (_disk, engine) = crashed(f, EngineConfig::small());
    let (mut looks, mut told) = (0, Vec::new());
    let mut look = |_| {
        looks += 1;
        true
    };
    let count = engine.check_undo(&mut look, &mut |what| told.push(what));
    assert_eq!(told, Vec::<String>::new());
    assert!(count >= UPDATES as u64 && looks > 10, "{count} records, {looks} looks");
    // Who waits may stop it.
    assert!(engine.check_undo(&mut |_| false, &mut |_| {}) < UPDATES as u64);
}
