//! `table_open_cache`: tables that nobody uses are closed when there are many, and are as they were when they are opened again.

use catalog::{Catalog, ColumnDef, IndexDef, TableDef};
use engine::{Engine, EngineConfig, Isolation, Read, Session};
use env::{Disk, SimClock, SimDisk};
use record::KeyPart;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use types::{Collation, ColumnType, Value};

const MAX: u64 = 16;

fn definition(name: &str) -> TableDef {
    let column = |name: &str, auto_increment: bool| ColumnDef { auto_increment, ..ColumnDef::new(name, ColumnType::bigint().not_null()) };
    let primary = IndexDef::new("PRIMARY", true, vec![KeyPart::ascending(0)]);
    TableDef::new("d", name, vec![column("id", true), column("v", false)], vec![primary])
}

fn start() -> (Arc<Engine>, Arc<Catalog>) {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let on_warning = Arc::new(|text: &str| panic!("warning: {text}"));
    let engine = Engine::open(disk, Arc::new(SimClock::new(0)), EngineConfig { on_warning, ..EngineConfig::small() }).expect("an engine");
    let catalog = Catalog::open(&engine).expect("a catalogue");
    catalog.create_database(&mut engine.connect(), "d", Collation::DEFAULT).expect("a database");
    engine.set_open_tables_max(MAX);
    (engine, catalog)
}

fn insert(catalog: &Catalog, session: &mut Session, name: &str, v: i64) -> u64 {
    let entry = catalog.table("d", name).expect("the table");
    let id = entry.storage.next_auto_increment(1, 1, 1);
    let mut row = Vec::new();
    entry.storage.layout().encode(&[Value::Int(id as i64), Value::Int(v)], &mut row).expect("a row");
    session.begin(Isolation::RepeatableRead, false);
    session.insert(&entry.storage, &mut row).expect("a new row");
    session.commit().expect("committed");
    id
}

/// The log is short, and nobody else takes checkpoints.
fn keep_log_short(engine: &Engine) {
    engine::simulation::write_counters(engine).unwrap();
    engine.pool().flush_all().unwrap();
    engine.checkpoint().unwrap();
}

#[test]
fn unused_tables_are_closed_and_are_opened_as_they_were() {
    let (engine, catalog) = start();
    let mut session = engine.connect();
    let names: Vec<String> = (0..120).map(|no| format!("t{no}")).collect();
    catalog.create_table(&mut session, definition("held")).unwrap();
    let held = Arc::clone(&catalog.table("d", "held").unwrap().storage);
    for name in &names {
        catalog.create_table(&mut session, definition(name)).unwrap();
        assert_eq!(insert(&catalog, &mut session, name, 7), 1);
        // Given out and not used: it is not given out again.
        catalog.table("d", name).unwrap().storage.next_auto_increment(1, 1, 1);
        keep_log_short(&engine);
    }
    // What all views see is known of transactions that have some others after them.
    for no in 0..200 {
        insert(&catalog, &mut session, "held", no);
        if no % 20 == 0 {
            keep_log_short(&engine);
        }
    }
    let overflows = engine.open_tables().overflows;
    for round in 0..6 {
        for name in &names {
            catalog.table("d", name).unwrap();
            let open = engine.open_tables().open;
            assert!(open <= MAX, "{open} after {name}");
        }
        keep_log_short(&engine);
        let status = engine.open_tables();
        eprintln!("round {round}: {status:?}");
        assert!(status.open <= MAX, "round {round}: {status:?}");
    }
    let status = engine.open_tables();
    assert_eq!(status.overflows, overflows, "each time enough could be closed: {status:?}");
    assert!(status.opened > 300, "{status:?}");
    assert!(status.hits > 100 && catalog.table_misses() > 300, "{status:?}");
    assert!(Arc::ptr_eq(&held, &catalog.table("d", "held").unwrap().storage), "what somebody has stays open");
    for (no, name) in names.iter().enumerate() {
        assert_eq!(insert(&catalog, &mut session, name, no as i64), 3, "{name}");
        if no % 20 == 0 {
            keep_log_short(&engine);
        }
    }
    // All in use at once: more are open than there should be, and it is told.
    let all: Vec<_> = names.iter().map(|name| catalog.table("d", name).unwrap()).collect();
    assert!(engine.open_tables().open > 100 && engine.open_tables().overflows > 0, "{:?}", engine.open_tables());
    drop(all);
}

/// A snapshot that is older than a table must not read it, however often the table was closed in between.
#[test]
fn a_table_stays_open_while_a_snapshot_may_not_read_it() {
    let (engine, catalog) = start();
    let (mut session, mut old) = (engine.connect(), engine.connect());
    catalog.create_table(&mut session, definition("before")).unwrap();
    insert(&catalog, &mut session, "before", 1);
    old.begin(Isolation::RepeatableRead, false);
    old.open_snapshot();
    catalog.create_table(&mut session, definition("after")).unwrap();
    insert(&catalog, &mut session, "after", 1);
    keep_log_short(&engine);
    for no in 0..60 {
        catalog.create_table(&mut session, definition(&format!("t{no}"))).unwrap();
        keep_log_short(&engine);
    }
    let read = |session: &mut Session, name: &str| {
        let storage = Arc::clone(&catalog.table("d", name).unwrap().storage);
        let mut key = Vec::new();
        record::key::encode_part(&ColumnType::bigint().not_null(), &KeyPart::ascending(0), &Value::Int(1), &mut key);
        session.get(&storage, &key, Read::Snapshot, |_| ())
    };
    assert_eq!(read(&mut old, "before"), Ok(Some(())));
    // By this statements know that the snapshot must not read it (1412).
    let defined_by = || catalog.table("d", "after").unwrap().storage.defined_by();
    assert!(!defined_by().is_none(), "it was closed");
    old.commit().unwrap();
    for no in 60..120 {
        catalog.create_table(&mut session, definition(&format!("t{no}"))).unwrap();
        keep_log_short(&engine);
    }
    assert!(defined_by().is_none(), "nobody needs it to stay open");
    old.begin(Isolation::RepeatableRead, false);
    assert_eq!(read(&mut old, "after"), Ok(Some(())));
}

#[test]
fn many_use_tables_while_others_make_and_drop_some() {
    const TABLES: usize = 60;
    let (engine, catalog) = start();
    let mut session = engine.connect();
    (0..TABLES).for_each(|no| drop(catalog.create_table(&mut session, definition(&format!("t{no}"))).unwrap()));
    let given: Vec<AtomicU64> = (0..TABLES).map(|_| AtomicU64::new(0)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _stop = sync::SetAtEnd(&stop);
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                engine.purge_all();
                keep_log_short(&engine);
                std::thread::yield_now();
            }
        });
        let ddl = scope.spawn(|| {
            let mut session = engine.connect();
            for no in 0..40 {
                let name = format!("x{no}");
                catalog.create_table(&mut session, definition(&name)).unwrap();
                insert(&catalog, &mut session, &name, 1);
                let entry = catalog.table("d", &name).unwrap();
                catalog.drop_table(&mut session, &entry).unwrap();
            }
        });
        let users: Vec<_> = (0..3u64)
            .map(|user| {
                let (engine, catalog, given) = (&engine, &catalog, &given);
                scope.spawn(move || {
                    let mut session = engine.connect();
                    let mut seed = user + 1;
                    for _ in 0..400 {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        let no = (seed >> 33) as usize % TABLES;
                        insert(catalog, &mut session, &format!("t{no}"), user as i64);
                        given[no].fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        users.into_iter().for_each(|user| user.join().unwrap());
        ddl.join().unwrap();
    });
    for (no, given) in given.iter().enumerate() {
        let entry = catalog.table("d", &format!("t{no}")).unwrap();
        let found = engine.check_table(&entry.storage).expect("a sound table");
        let given = given.load(Ordering::Relaxed);
        assert_eq!(found.rows, given, "t{no}");
        assert_eq!(entry.storage.next_auto_increment(1, 1, 1), given + 1, "t{no}: each value was given once");
    }
}
