//! What DROP TABLE waits for.

use catalog::{Catalog, ColumnDef, IndexDef, TableDef};
use engine::{Engine, EngineConfig, Isolation};
use env::{Disk, SimClock, SimDisk};
use record::KeyPart;
use std::sync::Arc;
use types::{Collation, ColumnType, Value};

const COLUMNS: usize = 6;

/// A table with so many secondary indexes, each on a column of its own.
fn definition(indexes: usize) -> TableDef {
    let column = |no: usize| ColumnDef::new(format!("c{no}"), ColumnType::bigint().not_null());
    let index = |no: usize| {
        let name = if no == 0 { "PRIMARY".into() } else { format!("i{no}") };
        IndexDef::new(name, no == 0, vec![KeyPart::ascending(no)])
    };
    TableDef::new("d", "t", (0..COLUMNS).map(column).collect(), (0..=indexes).map(index).collect())
}

/// For the dictionary's transaction. The pages of its trees leave the file once the record that frees them is durable, which nobody waits for; nor for that of a
/// temporary table, which no dictionary has.
#[test]
fn drop_table_waits_for_the_log_once_however_many_indexes_there_are() {
    let sim = SimDisk::new(1);
    let disk: Arc<dyn Disk> = Arc::new(sim.clone());
    let engine = Engine::open(disk, Arc::new(SimClock::new(0)), EngineConfig::small()).expect("an engine");
    let catalog = Catalog::open(&engine).expect("a catalogue");
    let mut session = engine.connect();
    catalog.create_database(&mut session, "d", Collation::DEFAULT).expect("a database");
    for indexes in [0, 1, 5] {
        for rows in [0, 3_000] {
            let entry = catalog.create_table(&mut session, definition(indexes)).expect("a table");
            for first in (0..rows).step_by(500) {
                session.begin(Isolation::RepeatableRead, false);
                for id in first..first + 500 {
                    let mut row = Vec::new();
                    entry.storage.layout().encode(&vec![Value::Int(id); COLUMNS], &mut row).expect("a row");
                    session.insert(&entry.storage, &mut row).expect("a new row");
                }
                session.commit().expect("committed");
                engine.pool().flush_all().expect("written");
                engine.checkpoint().expect("a checkpoint");
            }
            let before = sim.counts().syncs;
            catalog.drop_table(&mut session, &entry).expect("dropped");
            assert_eq!(sim.counts().syncs - before, 1, "{indexes} indexes, {rows} rows");
        }
    }
    for _ in 0..100 {
        let temporary = catalog.temporary_table(definition(2)).expect("a table");
        let before = sim.counts().syncs;
        catalog.free_temporary(&temporary).expect("dropped");
        assert_eq!(sim.counts().syncs - before, 0, "of a temporary table");
    }
    assert_eq!(catalog.free_orphans(catalog.orphan_horizon()).expect("reads"), 0);
}
