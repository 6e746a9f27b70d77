//! Restarts: what checkpoints remember, recovery with few frames, a log that is small for its load.

use super::*;

/// A crash after which the table is not opened yet.
fn crash_unopened(f: Fixture) -> (Arc<SimDisk>, Arc<Engine>, TableSpec) {
    let Fixture { disk, engine, spec, table } = f;
    drop((engine, table));
    disk.crash();
    let engine = open(&disk);
    engine.set_table_source(Arc::new(OneTable(spec.clone())));
    (disk, engine, spec)
}

#[test]
fn counter_found_in_the_log_never_lowers_a_stored_one() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1000, 1, "high", None).unwrap();
    s.commit().unwrap();
    f.engine.counters.write_back().unwrap();
    f.engine.checkpoint().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.insert(&mut s, 5, 1, "low", None).unwrap();
    s.commit().unwrap();
    drop(s);
    let (_disk, engine, spec) = crash_unopened(f);
    engine.counters.write_back().unwrap();
    assert_eq!(engine.open_table(spec).unwrap().auto_increment(), 1001);
}

#[test]
fn counters_outlive_the_log_before_a_checkpoint_and_the_rows_that_moved_them() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 70, 1, "gone soon", None).unwrap();
    s.commit().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.delete(&mut s, 70).unwrap();
    s.commit().unwrap();
    f.engine.purge_all();
    f.engine.pool.flush_all().unwrap();
    // The list travels in the checkpoint: the tree was not written.
    f.engine.checkpoint().unwrap();
    drop(s);
    let f = f.crash();
    assert_eq!(f.table.auto_increment(), 71);
    f.engine.checkpoint().unwrap();
    let f = f.crash();
    assert_eq!(f.table.auto_increment(), 71);
    // An update may move it, too.
    let mut s = f.session();
    f.insert(&mut s, 1, 1, "row", None).unwrap();
    s.modify(&f.table, &f.key(1), |row, new| {
        let values = [Value::Int(90), row.value(1).unwrap(), "moved".into(), Value::Null];
        row.layout().encode(&values, new).unwrap();
        Modify::Replace
    })
    .unwrap();
    s.commit().unwrap();
    assert_eq!(f.table.auto_increment(), 91);
    drop(s);
    assert_eq!(f.crash().table.auto_increment(), 91);
}

#[test]
fn recovery_redoes_more_pages_than_there_are_frames() {
    let f = Fixture::new();
    let frames = EngineConfig::small().pool.frames as i64;
    let rows = frames * 8;
    let mut s = f.session();
    for id in 0..rows {
        // Scattered, so that each page is changed again and again.
        let id = id * 7919 % rows;
        f.insert(&mut s, id, id, &"x".repeat(3000), Some(id)).unwrap();
    }
    s.commit().unwrap();
    drop(s);
    let f = f.crash();
    f.check();
    let mut s = f.session();
    assert_eq!(f.ids(&mut s, 0, Direction::Forward).len() as i64, rows);
}

#[test]
fn writers_outrun_a_small_log_and_the_checkpoints_keep_up() {
    let f = Fixture::new();
    f.engine.start_background().unwrap();
    let capacity = f.engine.wal.capacity();
    let start = f.engine.wal.lsn_head().0;
    let mut s = f.engine.connect();
    s.set_flush_policy(FlushPolicy::Lazy);
    let mut id = 0;
    while f.engine.wal.lsn_head().0 - start < 4 * capacity {
        s.begin(Isolation::RepeatableRead, false);
        for _ in 0..50 {
            id += 1;
            let slot = id % 400;
            match f.update(&mut s, slot, id, &"y".repeat(200)).unwrap() {
                Modified::NotFound => f.insert(&mut s, slot, id, &"z".repeat(200), None).unwrap(),
                other => assert_eq!(other, Modified::Replaced),
            }
        }
        s.commit().unwrap();
    }
    assert!(f.engine.wal.stats().checkpoints >= 4);
    drop(s);
    f.engine.close(true).unwrap();
    f.engine.purge_all();
    f.check_purged(400);
    let f = f.crash();
    f.check_purged(400);
}

#[test]
fn a_durable_commit_of_a_lazy_session_survives_loss_of_power() {
    for durably in [false, true] {
        let f = Fixture::new();
        let mut s = f.session();
        s.set_flush_policy(FlushPolicy::Lazy);
        f.insert(&mut s, 1, 1, "definition", None).unwrap();
        if durably {
            s.commit_durably().unwrap()
        } else {
            s.commit().unwrap()
        }
        drop(s);
        let f = f.crash();
        let mut s = f.session();
        // The other half shows that the crash takes what nobody has made durable.
        assert_eq!(f.ids(&mut s, 0, Direction::Forward).len(), usize::from(durably));
    }
}

#[test]
fn a_transaction_without_its_definition_is_not_taken_for_undone() {
    let f = Fixture::new();
    let mut loser = f.session();
    f.insert(&mut loser, 1, 1, "lost", None).unwrap();
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    std::mem::forget(loser);
    let Fixture { disk, engine, spec, table } = f;
    drop((engine, table));
    disk.crash();
    let config = EngineConfig { on_warning: Arc::new(|_| {}), ..EngineConfig::small() };
    let engine = Engine::open(disk.clone(), Arc::new(SimClock::new(0)), config).unwrap();
    engine.roll_back_losers(&sync::atomic::AtomicBool::new(false));
    assert_eq!(engine.wait_for_recovered(Duration::ZERO), Err(Error::LockWaitTimeout));
    engine.checkpoint().unwrap();
    drop(engine);
    let f = Fixture::with(disk.clone(), open(&disk), spec);
    f.engine.roll_back_losers(&sync::atomic::AtomicBool::new(false));
    f.engine.wait_for_recovered(Duration::ZERO).unwrap();
    f.check_purged(0);
}

/// A leaf of the primary index in a file, and a bit of it that flips.
fn damaged_leaf(f: &Fixture) -> (base::PageNo, u64) {
    let mut image = env::AlignedBuf::new(base::PAGE_BYTES);
    let store = f.engine.pool().store();
    let mut pages = (1..store.page_count()).map(base::PageNo);
    let leaf =
        pages.find(|page| store.read(*page, &mut image).is_ok() && image[4] == 3 && image[24..28] == f.spec.indexes[0].id.0.to_le_bytes());
    let leaf = leaf.expect("a leaf on disk");
    (leaf, leaf.0 * base::PAGE_BYTES as u64 + 9_000)
}

fn reopened(f: Fixture, told: &Arc<sync::Mutex<Vec<String>>>) -> Fixture {
    let Fixture { disk, engine, spec, table } = f;
    drop((engine, table));
    disk.kill();
    let on_warning = {
        let told = Arc::clone(told);
        Arc::new(move |text: &str| told.lock().push(text.to_owned()))
    };
    let as_disk: Arc<dyn Disk> = disk.clone();
    let engine = Engine::open(as_disk, Arc::new(SimClock::new(0)), EngineConfig { on_warning, ..EngineConfig::small() })
        .expect("serves what is whole");
    Fixture::with(disk, engine, spec)
}

#[test]
fn a_page_that_lacks_changes_is_never_taken_for_good_once_the_log_is_not_kept_for_it() {
    let told = Arc::new(sync::Mutex::new(sync::Rank::Leaf, Vec::new()));
    let mut f = reopened(Fixture::new(), &told);
    let mut session = f.session();
    for id in 0..400 {
        f.insert(&mut session, id, id, &"x".repeat(200), None).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    f.engine.sharp_checkpoint().unwrap();
    let (leaf, at) = damaged_leaf(&f);
    let mut session = f.session();
    for id in 0..400 {
        f.update(&mut session, id, id, "changed").unwrap();
    }
    session.commit().unwrap();
    drop(session);
    // The copies of the last pages written are of no help.
    f.disk.flip_bit("doublewrite", 10, 1).unwrap();
    f.disk.flip_bit("data", at, 3).unwrap();
    f = reopened(f, &told);
    assert!(told.lock().iter().any(|text| text.contains(&format!("page {leaf}"))), "{:?}", *told.lock());
    let read = |f: &Fixture| {
        let mut session = f.session();
        let (mut good, mut damaged) = (0, 0);
        for id in 0..400 {
            match f.try_get(&mut session, id) {
                Ok(row) => {
                    assert_eq!(row, Some((id, "changed".into())));
                    good += 1;
                }
                Err(Error::Corruption { page, .. }) => {
                    assert_eq!(page, leaf);
                    damaged += 1;
                }
                Err(error) => panic!("{error}"),
            }
        }
        (good, damaged)
    };
    let (good, damaged) = read(&f);
    assert!(good > 100 && damaged > 0, "{good} {damaged}");
    // Checkpoints keep the log for it.
    let kept = f.engine.pool().store().lacking()[0].from;
    f.engine.sharp_checkpoint().unwrap();
    assert!(f.engine.wal().redo_lsn() <= kept);
    // Until others need the log.
    let mut no = 1_000;
    while f.engine.wal().redo_lsn() <= kept {
        let mut session = f.session();
        for _ in 0..200 {
            f.insert(&mut session, no, no, &"y".repeat(500), None).unwrap();
            no += 1;
        }
        session.commit().unwrap();
        drop(session);
        f.engine.purge_all();
        f.engine.sharp_checkpoint().unwrap();
        assert!(no < 200_000, "the log is kept for ever");
    }
    assert!(told.lock().iter().any(|text| text.contains("not kept any longer") && text.contains(&leaf.to_string())), "{:?}", *told.lock());
    // The device finds the bytes again: a whole page, of long ago.
    f.disk.flip_bit("data", at, 3).unwrap();
    for _ in 0..2 {
        f = reopened(f, &told);
        assert_eq!(read(&f), (good, damaged), "an old image was taken for good");
        f.engine.sharp_checkpoint().unwrap();
    }
}

/// A table of several leaves, all on disk, and a checkpoint behind them.
fn with_leaves() -> Fixture {
    let f = Fixture::new();
    let mut session = f.session();
    for id in 0..400 {
        f.insert(&mut session, id, id, &"x".repeat(200), None).unwrap();
    }
    session.commit().unwrap();
    drop(session);
    f.engine.purge_all();
    f.engine.sharp_checkpoint().unwrap();
    f
}

/// Updates a row in a commit of its own; where its log begins.
fn commit_update(f: &Fixture, id: i64, text: &str) -> base::Lsn {
    let begin = f.engine.wal.lsn_head();
    let mut session = f.session();
    f.update(&mut session, id, id, text).unwrap();
    session.commit().unwrap();
    begin
}

/// Turns over a bit of the record that begins here.
fn flip_in_log(f: &Fixture, at: base::Lsn) {
    let segment_bytes = f.engine.wal.segment_bytes();
    let path = format!("log/{}", wal::segment_name(at.0 / segment_bytes));
    f.disk.flip_bit(&path, at.0 % segment_bytes + 20, 3).unwrap();
}

/// Row 7 is changed, all pages are written, the server is killed, and the log of that change is damaged.
fn killed_with_a_lost_end(f: Fixture) -> (Arc<SimDisk>, TableSpec) {
    let damaged = commit_update(&f, 7, "second");
    f.engine.pool.flush_all().unwrap();
    flip_in_log(&f, damaged);
    let Fixture { disk, engine, spec, table } = f;
    disk.kill();
    drop((engine, table));
    (disk, spec)
}

/// The log's end is damaged, and a page that redo meets has changes from there: whatever is logged of it next, redo would take for done.
#[test]
fn a_log_that_ends_before_the_changes_of_a_page_refuses_the_start() {
    let f = with_leaves();
    commit_update(&f, 7, "first");
    let (disk, spec) = killed_with_a_lost_end(f);
    let image = |disk: &SimDisk| {
        let file = disk.open("data", env::OpenMode::Existing, env::FileKind::Buffered).unwrap();
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        bytes
    };
    let before = image(&disk);
    for redo_workers in [0, 2] {
        let as_disk: Arc<dyn Disk> = disk.clone();
        let config = EngineConfig { redo_workers, ..EngineConfig::small() };
        let error = Engine::open(as_disk, Arc::new(SimClock::new(0)), config).err().expect("the log ends too early");
        assert!(matches!(&error, Error::Corruption { what, .. } if what.contains("the log ends at")), "{error}");
        disk.kill();
    }
    assert!(image(&disk) == before, "nothing is written");
    // The medium finds its bit again: all is there.
    assert_eq!(disk.heal(), 1);
    let f = Fixture::with(disk.clone(), open(&disk), spec);
    assert_eq!(f.get(&mut f.session(), 7), Some((7, "second".into())));
}

/// Redo does not meet the page, as all that it has of it is in the part that is lost: who comes for the page is told, in this life of the server for good.
#[test]
fn a_page_with_changes_from_behind_the_end_of_the_log_is_damaged_for_who_reads_it() {
    let f = with_leaves();
    let (disk, spec) = killed_with_a_lost_end(f);
    let as_disk: Arc<dyn Disk> = disk.clone();
    let config = EngineConfig { on_warning: Arc::new(|_| {}), ..EngineConfig::small() };
    let f = Fixture::with(disk, Engine::open(as_disk, Arc::new(SimClock::new(0)), config).unwrap(), spec);
    let told = |f: &Fixture| match f.try_get(&mut f.session(), 7) {
        Err(Error::Corruption { what, .. }) => assert!(what.contains("behind the end of the log"), "{what}"),
        other => panic!("{other:?}"),
    };
    told(&f);
    let mut session = f.session();
    let changed = f.update(&mut session, 7, 7, "third");
    assert!(matches!(changed, Err(Error::Corruption { .. })), "{changed:?}");
    session.rollback().unwrap();
    drop(session);
    // The others go on, and the log comes to positions that the page had.
    for n in 0..60 {
        commit_update(&f, 399, &format!("{n}"));
    }
    told(&f);
    f.engine.pool.flush_all().unwrap();
    told(&f);
    assert_eq!(f.get(&mut f.session(), 399), Some((399, "59".into())));
}
