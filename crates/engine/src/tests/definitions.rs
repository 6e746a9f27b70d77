//! Tables that are opened while DDL ends their definitions.

use super::*;
use sync::atomic::{AtomicBool, Ordering};

/// Forgets the open table, as if nobody had used it for long.
fn forgotten(fixture: Fixture) -> (Arc<Engine>, TableSpec) {
    let Fixture { engine, spec, table, .. } = fixture;
    drop(table);
    engine.close_table(spec.id);
    (engine, spec)
}

#[test]
fn a_definition_that_was_dropped_after_it_was_read_is_not_opened() {
    let (engine, spec) = forgotten(Fixture::new());
    let mut committed = Some(spec.clone());
    let opened = engine.open_committed(|| -> Result<_> {
        let read = committed.take();
        if read.is_some() {
            // DROP TABLE, whole, behind the one who has read.
            engine.close_table(spec.id);
            engine.free_index_trees(&spec.indexes.iter().map(|index| index.id).collect::<Vec<_>>())?;
        }
        Ok(read)
    });
    assert!(opened.expect("no error of trees that are free").is_none());
    assert!(engine.open_table_by_id(spec.id).is_none());
}

#[test]
fn a_definition_that_was_altered_after_it_was_read_is_read_again() {
    let (engine, spec) = forgotten(Fixture::new());
    let less = TableSpec { indexes: spec.indexes[..2].to_vec(), ..spec.clone() };
    let mut reads = [spec.clone(), less.clone()].into_iter();
    let opened = engine.open_committed(|| -> Result<_> {
        let read = reads.next().expect("read once more only");
        if read.indexes.len() > less.indexes.len() {
            // ALTER TABLE, whole, and nobody uses the table: it is closed before the reader comes to open it.
            engine.reopen_table(less.clone())?;
            engine.tables.by_id.write().remove(&spec.id);
        }
        Ok(Some(read))
    });
    let opened = opened.expect("opened").expect("there");
    assert_eq!(opened.indexes.len(), less.indexes.len());
    assert!(engine.is_current(&opened));
}

/// The definition of a table that may be dropped.
struct Droppable {
    spec: TableSpec,
    dropped: AtomicBool,
}

impl TableSource for Droppable {
    fn table_spec(&self, id: base::TableId) -> Result<Option<TableSpec>> {
        Ok((id == self.spec.id && !self.dropped.load(Ordering::SeqCst)).then(|| self.spec.clone()))
    }

    fn table_ids(&self) -> Result<Vec<base::TableId>> {
        Ok(vec![self.spec.id])
    }
}

#[test]
fn a_table_is_dropped_while_a_crash_is_made_good_in_it() {
    let f = Fixture::new();
    let mut s = f.session();
    for id in 1..=2_000 {
        f.insert(&mut s, id, id, "of a transaction that does not commit", None).unwrap();
    }
    f.engine.wal.flush_to(f.engine.wal.lsn_head()).unwrap();
    std::mem::forget(s);
    let Fixture { disk, spec, .. } = f;
    disk.crash();
    let engine = open(&disk);
    let source = Arc::new(Droppable { spec: spec.clone(), dropped: AtomicBool::new(false) });
    engine.set_table_source(source.clone());
    let trees: Vec<_> = spec.indexes.iter().map(|index| index.id).collect();
    std::thread::scope(|scope| {
        // A warning, such as that pages are not what they should be, ends the thread.
        let rollback = scope.spawn(|| while engine.roll_back_loser() {});
        while !engine.losers.lock().listed().is_empty() {
            std::thread::yield_now();
        }
        source.dropped.store(true, Ordering::SeqCst);
        engine.close_table(spec.id);
        engine.free_index_trees(&trees).unwrap();
        rollback.join().unwrap();
    });
    assert_eq!((engine.rollbacks_pending(), engine.slots.named()), (0, vec![]));
    assert_eq!(trees.iter().map(|id| engine.space.pages_at_most(*id)).sum::<u64>(), 0, "pages of a table that is gone");
}

#[test]
fn the_counter_of_a_table_goes_with_it() {
    let f = Fixture::new();
    let mut s = f.session();
    f.insert(&mut s, 1, 1, "row", None).unwrap();
    s.commit().unwrap();
    f.engine.counters.write_back().unwrap();
    s.begin(Isolation::RepeatableRead, false);
    f.insert(&mut s, 2, 2, "row", None).unwrap();
    s.commit().unwrap();
    assert_eq!(f.engine.counters.load(f.spec.id), Ok(2));
    assert_eq!(f.engine.counters.snapshot(), [(f.spec.id, 3)]);
    f.engine.forget_counter(f.spec.id).unwrap();
    f.engine.counters.write_back().unwrap();
    assert_eq!((f.engine.counters.load(f.spec.id), f.engine.counters.snapshot()), (Ok(0), vec![]));
    // Of one that never had any.
    f.engine.forget_counter(base::TableId(12345)).unwrap();
}
