//! Warm starts on a simulated disk: the thread, what it writes and when, what it leaves out.

use super::*;
use std::time::Instant;
use sync::{Mutex, Rank};

/// Rows of some fifty pages.
const ROWS: i64 = 3000;

fn config() -> EngineConfig {
    let small = EngineConfig::small();
    EngineConfig { pool: buffer_pool::PoolConfig { frames: 512, ..small.pool.clone() }, ..small }
}

fn settings() -> WarmSettings {
    // Longer than any test runs: lists are written when somebody says so.
    WarmSettings { interval: Duration::from_secs(3600), ..WarmSettings::default() }
}

fn filled() -> Fixture {
    let disk = Arc::new(SimDisk::new(1));
    let engine = open_with(&disk, config());
    let f = Fixture::on(disk, engine);
    f.engine.start_background().expect("begins");
    f.engine.set_warm_start(settings());
    let mut s = f.session();
    for id in 0..ROWS {
        f.insert(&mut s, id, -id, &"t".repeat(200), None).expect("a row");
    }
    s.commit().expect("committed");
    f
}

/// The next engine on the disk, with its warnings.
fn next(f: Fixture, settings: WarmSettings) -> (Fixture, Arc<Mutex<Vec<String>>>) {
    let Fixture { disk, engine, spec, table } = f;
    drop((engine, table));
    let warnings = Arc::new(Mutex::new(Rank::Leaf, Vec::new()));
    let heard = Arc::clone(&warnings);
    let on_warning: Arc<dyn Fn(&str) + Send + Sync> = Arc::new(move |text| heard.lock().push(text.to_owned()));
    let clock = Arc::new(SimClock::new(77));
    let as_disk: Arc<dyn Disk> = disk.clone();
    let engine = Engine::open(as_disk, clock, EngineConfig { on_warning, ..config() }).expect("an engine");
    let f = Fixture::with(disk, engine, spec);
    f.engine.start_background().expect("begins");
    f.engine.set_warm_start(settings);
    (f, warnings)
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}: not within a minute");
        std::thread::yield_now();
    }
}

fn loaded(engine: &Arc<Engine>) -> LoadStatus {
    until("the load ends", || !matches!(engine.load_status(), LoadStatus::Begun(_) | LoadStatus::Running(..)));
    engine.load_status()
}

/// Reads every row through every index and says how many pages had to be read.
fn reads_of_all(f: &Fixture) -> u64 {
    let reads = || f.engine.pool.stats().reads + f.engine.pool.stats().reads_ahead;
    let before = reads();
    let mut session = f.session();
    for index_no in 0..3 {
        assert_eq!(f.ids(&mut session, index_no, Direction::Forward).len(), ROWS as usize);
    }
    reads() - before
}

#[test]
fn a_closed_engine_is_warm_again_and_a_killed_one_by_the_list_of_before() {
    let f = filled();
    f.engine.begin_warm_start().expect("begins");
    // A new directory has no list.
    assert!(matches!(loaded(&f.engine), LoadStatus::Unreadable(..)));
    assert_eq!(f.engine.dump_status(), DumpStatus::NotBegun);
    f.engine.close(true).expect("closed");
    assert!(matches!(f.engine.dump_status(), DumpStatus::Done(_)));

    let (f, warnings) = next(f, settings());
    assert_eq!(f.engine.load_status(), LoadStatus::NotBegun, "before anybody is served");
    f.engine.begin_warm_start().expect("begins");
    assert_eq!(loaded(&f.engine), LoadStatus::Done(77));
    assert_eq!(reads_of_all(&f), 0);
    f.engine.close(false).expect("closed");
    f.disk.kill();

    let (f, more) = next(f, settings());
    f.engine.begin_warm_start().expect("begins");
    assert_eq!(loaded(&f.engine), LoadStatus::Done(77));
    assert_eq!(reads_of_all(&f), 0);
    f.engine.close(true).expect("closed");
    assert!(warnings.lock().is_empty() && more.lock().is_empty());
}

#[test]
fn the_list_is_written_from_time_to_time() {
    let f = filled();
    f.engine.set_warm_start(WarmSettings { interval: Duration::from_millis(1), ..settings() });
    f.engine.begin_warm_start().expect("begins");
    until("a list is written", || matches!(f.engine.dump_status(), DumpStatus::Done(_)));
    f.engine.close(false).expect("closed");
    f.disk.kill();
    let (f, _) = next(f, settings());
    f.engine.begin_warm_start().expect("begins");
    assert_eq!(loaded(&f.engine), LoadStatus::Done(77));
    assert_eq!(reads_of_all(&f), 0);
    f.engine.close(true).expect("closed");
}

#[test]
fn nothing_is_written_where_nothing_is_to_be_kept() {
    let f = filled();
    f.engine.set_warm_start(WarmSettings { interval: Duration::ZERO, keeps: false, ..settings() });
    f.engine.begin_warm_start().expect("begins");
    assert!(matches!(loaded(&f.engine), LoadStatus::Unreadable(..)));
    f.engine.close(true).expect("closed");
    assert_eq!(f.engine.dump_status(), DumpStatus::NotBegun);
    assert!(!f.disk.exists("ib_buffer_pool").expect("a look"));
}

/// Who is closed while it loads has half of the pages: the list of all of them stays.
#[test]
fn a_load_that_is_cut_short_leaves_the_list() {
    let f = filled();
    f.engine.begin_warm_start().expect("begins");
    loaded(&f.engine);
    f.engine.close(true).expect("closed");
    let list = |f: &Fixture| {
        let file = f.disk.open("ib_buffer_pool", env::OpenMode::Existing, env::FileKind::Buffered).expect("a list");
        let mut bytes = vec![0; file.len().expect("a length") as usize];
        file.read_at(&mut bytes, 0).expect("read");
        bytes
    };
    let before = list(&f);
    let (f, _) = next(f, WarmSettings { loads: false, ..settings() });
    f.engine.begin_warm_start().expect("begins");
    // Told to end as early as can be.
    f.engine.load_pages(&sync::atomic::AtomicBool::new(true));
    f.engine.close(true).expect("closed");
    assert_eq!(list(&f), before);
}

#[test]
fn a_load_ends_when_somebody_says_so_and_the_next_is_whole() {
    let f = filled();
    f.engine.begin_warm_start().expect("begins");
    loaded(&f.engine);
    f.engine.close(true).expect("closed");
    let (f, _) = next(f, WarmSettings { loads: false, ..settings() });
    f.engine.begin_warm_start().expect("begins");
    until("a load is ended", || {
        f.engine.load_pages_soon();
        f.engine.abort_load();
        loaded(&f.engine) == LoadStatus::Aborted
    });
    // With nothing to end it ends nothing.
    f.engine.abort_load();
    f.engine.load_pages_soon();
    assert_eq!(loaded(&f.engine), LoadStatus::Done(77));
    assert_eq!(reads_of_all(&f), 0);
    f.engine.close(true).expect("closed");
}

/// What is free by now is not read: an index was dropped, and leaves were given back when their rows went.
#[test]
fn pages_that_belong_to_nobody_are_not_read() {
    let f = filled();
    f.engine.begin_warm_start().expect("begins");
    loaded(&f.engine);
    f.engine.sharp_checkpoint().expect("all is on disk");
    let listed = f.engine.pool.resident_pages();
    f.engine.dump_pages_soon();
    until("a list is written", || matches!(f.engine.dump_status(), DumpStatus::Done(_)));
    let mut s = f.session();
    for id in 0..ROWS - 100 {
        f.delete(&mut s, id).expect("deleted");
    }
    s.commit().expect("committed");
    drop(s);
    until("it is purged", || {
        f.engine.purge_all();
        f.engine.history_length() == 0
    });
    f.engine.free_index_tree(f.table.indexes[1].id).expect("freed");
    f.engine.sharp_checkpoint().expect("nothing to redo");
    f.engine.close(false).expect("closed");
    f.disk.kill();

    let (f, warnings) = next(f, settings());
    let owner = |page: &PageNo| f.engine.space.owner_of(*page).expect("a map");
    let gone: Vec<PageNo> = listed.into_iter().filter(|page| owner(page).is_none() && !f.engine.pool.is_resident(*page)).collect();
    let there = |page: &&PageNo| f.engine.pool.store().read(**page, &mut env::AlignedBuf::new(base::PAGE_BYTES)).is_ok();
    let readable = gone.iter().filter(there).count();
    assert!(readable > 10, "{readable} of {} could be read: this test would show nothing", gone.len());
    f.engine.begin_warm_start().expect("begins");
    assert_eq!(loaded(&f.engine), LoadStatus::Done(77));
    assert!(gone.iter().all(|page| !f.engine.pool.is_resident(*page)));
    assert!(f.engine.pool.resident_pages().iter().any(|page| owner(page) == Some(f.table.indexes[0].id)));
    f.engine.close(true).expect("closed");
    assert!(warnings.lock().is_empty());
}

#[test]
fn a_list_of_another_directory_does_no_harm() {
    let f = filled();
    f.engine.begin_warm_start().expect("begins");
    loaded(&f.engine);
    f.engine.close(true).expect("closed");
    // Pages of everywhere, many of them nowhere.
    let mut random = Random::new(seed());
    let strange: Vec<PageNo> = (0..20_000).map(|_| PageNo(random.next() >> random.below(64))).collect();
    crate::warm::write_list(&*f.disk, &strange).expect("written");
    let (f, warnings) = next(f, settings());
    f.engine.begin_warm_start().expect("begins");
    assert_eq!(loaded(&f.engine), LoadStatus::Done(77));
    f.check();
    f.engine.close(true).expect("closed");
    assert!(warnings.lock().is_empty(), "{:?}", *warnings.lock());
}

#[test]
fn what_cannot_be_read_or_written_is_told_once() {
    let f = filled();
    f.engine.close(true).expect("closed");
    let file = f.disk.open("ib_buffer_pool", env::OpenMode::Create, env::FileKind::Buffered).expect("a file");
    file.write_at(b"0,1\n0,2\n", 0).expect("written");
    let (f, warnings) = next(f, settings());
    f.engine.begin_warm_start().expect("begins");
    assert_eq!(loaded(&f.engine), LoadStatus::Malformed("ib_buffer_pool".into()));
    assert_eq!(warnings.lock().len(), 1);
    f.engine.set_warm_start(WarmSettings { file: "data".into(), ..settings() });
    for _ in 0..2 {
        f.engine.dump_pages_soon();
        until("it is tried", || matches!(f.engine.dump_status(), DumpStatus::Failed(..)));
    }
    f.engine.close(true).expect("closed");
    assert_eq!(warnings.lock().len(), 2, "{:?}", *warnings.lock());
    let (f, _) = next(f, settings());
    f.check();
}
