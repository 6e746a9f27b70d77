//! Tables copied while others write them: afterwards the copy is what it was copied from, by the same key or by another.

use super::*;
use spill::Directory;
use std::collections::BTreeSet;

const ROWS: i64 = 60;
const STEPS: u32 = 300;

type Row = (i64, i64, String, Option<i64>);

/// Begins to copy a fixture's table to one of this definition, whose ids and trees are made.
pub(super) fn begin_copy(f: &Fixture, spec: &mut TableSpec, keeps_key: bool, limits: BuildLimits) -> (Arc<Table>, OnlineBuild<'static>) {
    spec.id = f.engine.allocate_table_id();
    for index in &mut spec.indexes {
        (index.id, index.root) = f.engine.create_index_tree().unwrap();
    }
    let copy = f.engine.open_table(spec.clone()).unwrap();
    let layout = copy.layout().clone();
    let convert = move |row: RowRef<'_>, out: &mut Vec<u8>| {
        let mut values = Vec::new();
        row.values(&mut values).map_err(|error| format!("{error:?}"))?;
        layout.encode(&values, out).map_err(|error| format!("{error:?}"))
    };
    let rows = RowCopy::new(Arc::clone(&copy), keeps_key, Box::new(convert));
    let build = f.engine.begin_online_copy(&f.table, rows, limits, Arc::default()).unwrap();
    (copy, build)
}

fn rows(session: &mut Session, table: &Arc<Table>) -> BTreeSet<Row> {
    let mut rows = BTreeSet::new();
    let mut scan = session.scan(table, 0, KeyRange::all(), Direction::Forward, Read::Snapshot).unwrap();
    scan.for_each(|row, _| {
        let u = match row.value(3).unwrap() {
            Value::Int(u) => Some(u),
            _ => None,
        };
        let (k, s) = short(row);
        assert!(rows.insert((int(row, 0), k, s, u)), "a row twice");
        Step::Continue
    })
    .unwrap();
    rows
}

fn text(random: &mut Random) -> String {
    match random.below(6) {
        0 => "l".repeat(5_000 + random.below(20_000) as usize),
        n => format!("short {n}"),
    }
}

fn end(session: &mut Session, random: &mut Random) {
    let ended = if random.below(4) == 0 { session.rollback() } else { session.commit() };
    ended.unwrap();
}

/// Some change of a row, or an end of the transaction; what is in somebody's way ends it, too.
fn write(f: &Fixture, session: &mut Session, random: &mut Random, next: &mut i64) {
    let (id, k) = (1 + random.below(*next as u64) as i64, random.below(60) as i64);
    let done = match random.below(10) {
        0..4 => f.update(session, id, k, &text(random)).map(drop),
        4 | 5 => f.delete(session, id).map(drop),
        6 => {
            *next += 1;
            f.insert(session, *next, k, &text(random), Some(*next))
        }
        7 => f.insert(session, id, k, &text(random), Some(id)),
        8 => {
            let savepoint = session.savepoint();
            let changed = f.update(session, id, k, &text(random)).and_then(|_| f.delete(session, id));
            changed.and_then(|_| session.rollback_to(savepoint))
        }
        _ => {
            end(session, random);
            return session.begin(Isolation::RepeatableRead, false);
        }
    };
    if done.is_err() {
        session.rollback().unwrap();
        session.begin(Isolation::RepeatableRead, false);
    }
}

fn copy_beside_writers(seed: u64) {
    let mut random = Random::new(seed);
    let f = Fixture::new();
    let mut first = f.session();
    for id in 1..=ROWS {
        f.insert(&mut first, id, random.below(60) as i64, &text(&mut random), Some(id)).unwrap();
        if id % 10 == 0 {
            // Nobody else makes room in the log.
            f.engine.checkpoint().unwrap();
        }
    }
    first.commit().unwrap();
    drop(first);
    let keeps_key = random.coin();
    let mut spec = f.spec.clone();
    if !keeps_key {
        spec.indexes[0].parts = vec![KeyPart::ascending(1), KeyPart::ascending(0)];
    }
    // So little memory that the rows go through temporary files.
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(seed));
    let directory = random.coin().then(|| Arc::new(Directory::on(disk, "tmp").unwrap()));
    let limits = BuildLimits { changed_bytes_max: 1 << 20, sort_bytes_max: 4096, directory };
    let (copy, mut build) = begin_copy(&f, &mut spec, keeps_key, limits);
    let cancel = Cancel::new();
    let mut sessions: Vec<Session> = (0..3)
        .map(|_| {
            let mut session = f.session();
            session.set_lock_wait_timeout(Duration::ZERO);
            session
        })
        .collect();
    let (mut next, filled_at) = (ROWS, random.below(u64::from(STEPS) / 2) as u32);
    for step in 0..STEPS {
        let no = random.below(3) as usize;
        write(&f, &mut sessions[no], &mut random, &mut next);
        if step == filled_at {
            build.build(&cancel).unwrap();
        } else if step > filled_at && random.below(20) == 0 {
            build.catch_up(&cancel).unwrap();
        }
        if random.below(50) == 0 {
            f.engine.purge_all();
        }
        if step % 8 == 0 {
            f.engine.checkpoint().unwrap();
        }
    }
    for session in &mut sessions {
        end(session, &mut random);
    }
    f.engine.checkpoint().unwrap();
    build.finish(&cancel).unwrap();
    drop((sessions, build));
    let mut reader = f.session();
    let expected = rows(&mut reader, &f.table);
    assert_eq!(rows(&mut reader, &copy), expected, "seed {seed}");
    reader.commit().unwrap();
    drop(reader);
    let copied = Fixture { disk: f.disk, engine: f.engine, spec, table: copy };
    copied.check();
    for index_no in 0..3 {
        assert_eq!(copied.entries(index_no), expected.len() as u64, "seed {seed}, index {index_no}");
    }
    assert_eq!(copied.table.rows_estimate(), expected.len() as u64, "seed {seed}");
}

#[test]
fn a_copy_beside_writers_is_what_it_was_copied_from() {
    let seed = seed();
    for round in 0..8 {
        copy_beside_writers(seed.wrapping_add(round * 7919));
    }
}

/// The error, and not a second row in the place of the first.
#[test]
fn two_rows_with_one_new_key_end_a_copy() {
    let limits = || BuildLimits { changed_bytes_max: 1 << 20, sort_bytes_max: 1 << 20, directory: None };
    for late in [false, true] {
        let f = Fixture::new();
        let mut w = f.session();
        for id in 1..4 {
            f.insert(&mut w, id, 10 * id, "short", None).unwrap();
        }
        if !late {
            f.insert(&mut w, 7, 20, &"l".repeat(30_000), None).unwrap();
        }
        w.commit().unwrap();
        let mut spec = f.spec.clone();
        spec.indexes[0].parts = vec![KeyPart::ascending(1)];
        let (copy, mut build) = begin_copy(&f, &mut spec, false, limits());
        let cancel = Cancel::new();
        let ended = build.build(&cancel).and_then(|()| {
            w.begin(Isolation::RepeatableRead, false);
            f.insert(&mut w, 7, 20, &"l".repeat(30_000), None).unwrap();
            w.commit().unwrap();
            build.catch_up(&cancel).map(drop)
        });
        let Err(BuildError::Duplicate { index_no: 0, row }) = ended else { panic!("{ended:?}") };
        assert_eq!(short(RowRef::new(copy.layout(), &row)).0, 20, "late: {late}");
    }
}
