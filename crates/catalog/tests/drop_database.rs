//! What DROP DATABASE takes along.

use base::TableId;
use catalog::{Catalog, ColumnDef, IndexDef, TableDef};
use engine::{Engine, EngineConfig};
use env::{Disk, SimClock, SimDisk};
use record::KeyPart;
use std::sync::Arc;
use types::{Collation, ColumnType};

fn definition(name: &str) -> TableDef {
    let column = ColumnDef::new("a", ColumnType::bigint().not_null());
    TableDef::new("d", name, vec![column], vec![IndexDef::new("PRIMARY", true, vec![KeyPart::ascending(0)])])
}

/// One that was committed after the caller has locked the others may be in use.
#[test]
fn a_table_that_was_not_locked_keeps_its_database() {
    let disk: Arc<dyn Disk> = Arc::new(SimDisk::new(1));
    let engine = Engine::open(disk, Arc::new(SimClock::new(0)), EngineConfig::small()).expect("an engine");
    let catalog = Catalog::open(&engine).expect("a catalogue");
    let mut session = engine.connect();
    catalog.create_database(&mut session, "d", Collation::DEFAULT).expect("a database");
    let locked = catalog.create_table(&mut session, definition("locked")).expect("a table").def.id;
    let other = catalog.create_table(&mut session, definition("other")).expect("a table").def.id;
    assert_eq!(catalog.drop_database(&mut session, "d", &[locked]).expect("nothing wrong"), None);
    assert_eq!(catalog.table_names("d").expect("names"), ["locked", "other"]);
    assert_eq!(catalog.table("d", "other").expect("there").def.id, other);
    // Those that are gone meanwhile are of no concern.
    let gone = TableId(other.0 + 1);
    assert_eq!(catalog.drop_database(&mut session, "d", &[locked, gone, other]).expect("nothing wrong"), Some(2));
    assert!(catalog.table("d", "other").is_err());
}
