//! Tables that are opened while DDL ends their definitions.

use super::*;

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
