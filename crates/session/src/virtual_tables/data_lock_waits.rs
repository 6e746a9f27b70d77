//! `performance_schema.data_lock_waits`: which lock that is awaited which other one stands in the way of.

use super::column::{count, performance_schema, text};
use super::lock_picture::ShownLock;
use super::{LockPicture, VirtualTable};
use crate::context::Core;
use catalog::VirtualRequest;
use executor::VirtualRows;
use types::Value;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("ENGINE", text(32).not_null()),
        ("REQUESTING_ENGINE_LOCK_ID", text(128).not_null()),
        ("REQUESTING_ENGINE_TRANSACTION_ID", count()),
        ("REQUESTING_THREAD_ID", count()),
        ("REQUESTING_EVENT_ID", count()),
        ("REQUESTING_OBJECT_INSTANCE_BEGIN", count().not_null()),
        ("BLOCKING_ENGINE_LOCK_ID", text(128).not_null()),
        ("BLOCKING_ENGINE_TRANSACTION_ID", count()),
        ("BLOCKING_THREAD_ID", count()),
        ("BLOCKING_EVENT_ID", count()),
        ("BLOCKING_OBJECT_INSTANCE_BEGIN", count().not_null()),
    ];
    VirtualTable { def: performance_schema("data_lock_waits", 1000.0, columns), rows }
}

fn rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let picture = LockPicture::of(core)?;
    let count = picture.waits.len();
    Ok(Box::new((0..count).map(move |at| {
        let wait = picture.waits[at];
        let mut row: Vec<Value> = Vec::with_capacity(11);
        row.push("INNODB".into());
        side(&picture.locks[wait.waiting], &mut row);
        side(&picture.locks[wait.blocking], &mut row);
        Ok(row)
    })))
}

fn side(lock: &ShownLock, row: &mut Vec<Value>) {
    row.extend([lock.id.as_str().into(), Value::UInt(lock.transaction()), lock.thread().into(), Value::Null, Value::UInt(lock.instance())]);
}
