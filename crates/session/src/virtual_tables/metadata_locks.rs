//! `performance_schema.metadata_locks`: locks on tables, those of the whole server, and those with names, held and awaited.
//!
//! MySQL lists more: intention locks on databases and tablespaces, which do not exist here, and the locks of the statement that looks.

use super::column::{count, performance_schema, text};
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::{CatalogError, VirtualRequest, VirtualRow};
use executor::VirtualRows;
use lock_manager::metadata::{Protects, Share};
use lock_manager::shares::HoldKind;
use lock_manager::{MetadataLockInfo, WaitsFor};
use std::hash::{DefaultHasher, Hash, Hasher};
use types::Value;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("OBJECT_TYPE", text(64).not_null()),
        ("OBJECT_SCHEMA", text(64)),
        ("OBJECT_NAME", text(64)),
        ("COLUMN_NAME", text(64)),
        ("OBJECT_INSTANCE_BEGIN", count().not_null()),
        ("LOCK_TYPE", text(32).not_null()),
        ("LOCK_DURATION", text(32).not_null()),
        ("LOCK_STATUS", text(32).not_null()),
        ("SOURCE", text(64)),
        ("OWNER_THREAD_ID", count()),
        ("OWNER_EVENT_ID", count()),
    ];
    VirtualTable { def: performance_schema("metadata_locks", 1000.0, columns), rows }
}

fn rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let mut rows = Vec::new();
    for lock in core.shared.engine.locks().metadata_locks() {
        let Some((object, database, name)) = object(core, &lock)? else { continue };
        rows.push(row(object, (database.as_deref(), name.as_deref()), &lock));
        // Whoever keeps changes away keeps commits away.
        if lock.protects == Protects::Changes && lock.kind == HoldKind::ReadOnly && lock.awaited.is_none() {
            rows.push(row("COMMIT", (None, None), &lock));
        }
    }
    for lock in core.shared.user_locks.list() {
        let named = |client: u64, status: &str| {
            let mut hasher = DefaultHasher::new();
            (&lock.name, client).hash(&mut hasher);
            values("USER LEVEL LOCK", (None, Some(&lock.name)), hasher.finish(), ("EXCLUSIVE", "EXPLICIT", status), client)
        };
        rows.push(named(lock.holder, "GRANTED"));
        rows.extend(lock.waiters.iter().map(|waiter| named(*waiter, "PENDING")));
    }
    Ok(listed(rows))
}

/// A lock on a table, held or awaited.
pub(super) struct TableLock {
    pub database: String,
    pub name: String,
    /// LOCK_TYPE.
    pub kind: &'static str,
    /// LOCK_DURATION.
    pub duration: &'static str,
    /// Not granted yet.
    pub is_awaited: bool,
    /// Whose connection's it is.
    pub client: u64,
}

/// Those among the metadata locks that are on tables.
pub(super) fn table_locks(core: &Core) -> executor::Result<Vec<TableLock>> {
    let mut locks = Vec::new();
    for lock in core.shared.engine.locks().metadata_locks() {
        if let Some(("TABLE", Some(database), Some(name))) = object(core, &lock)? {
            let (kind, duration) = kind(&lock);
            locks.push(TableLock { database, name, kind, duration, is_awaited: lock.awaited.is_some(), client: lock.client });
        }
    }
    Ok(locks)
}

type Object = (&'static str, Option<String>, Option<String>);

/// What a lock is on; `None` for a table that is gone.
fn object(core: &Core, lock: &MetadataLockInfo) -> executor::Result<Option<Object>> {
    Ok(match lock.protects {
        Protects::Changes if lock.awaited == Some(WaitsFor::CommitLock) => Some(("COMMIT", None, None)),
        Protects::Changes => Some(("GLOBAL", None, None)),
        Protects::Definitions => Some(("BACKUP LOCK", None, None)),
        Protects::Table(id) => match core.shared.catalog.table_by_id(id) {
            Ok(Some(entry)) => Some(("TABLE", Some(entry.def.database.clone()), Some(entry.def.name.clone()))),
            Ok(None) | Err(CatalogError::UnknownDatabase(_) | CatalogError::UnknownTable { .. }) => None,
            Err(error) => return Err(core.catalog_error(error)),
        },
    })
}

/// LOCK_TYPE and LOCK_DURATION.
fn kind(lock: &MetadataLockInfo) -> (&'static str, &'static str) {
    match (lock.protects, lock.kind) {
        (Protects::Table(_), HoldKind::Share(Share::Read)) => ("SHARED_READ", "TRANSACTION"),
        (Protects::Table(_), HoldKind::Share(Share::Write)) => ("SHARED_WRITE", "TRANSACTION"),
        (Protects::Table(_), HoldKind::Share(Share::Definition)) => ("SHARED", "TRANSACTION"),
        (Protects::Table(_), HoldKind::ReadOnly) => ("SHARED_READ_ONLY", "TRANSACTION"),
        (Protects::Table(_), HoldKind::Rows) => ("SHARED_NO_READ_WRITE", "TRANSACTION"),
        (_, HoldKind::Upgradable) => ("SHARED_UPGRADABLE", "TRANSACTION"),
        (_, HoldKind::NoWrites) => ("SHARED_NO_WRITE", "TRANSACTION"),
        (_, HoldKind::ReadOnly) => ("SHARED", "EXPLICIT"),
        (Protects::Changes, HoldKind::Share(_)) if lock.awaited == Some(WaitsFor::CommitLock) => ("INTENTION_EXCLUSIVE", "EXPLICIT"),
        (Protects::Changes, HoldKind::Share(_)) => ("INTENTION_EXCLUSIVE", "STATEMENT"),
        (Protects::Definitions, HoldKind::Share(_)) => ("INTENTION_EXCLUSIVE", "TRANSACTION"),
        (_, HoldKind::Rows | HoldKind::Exclusive) => ("EXCLUSIVE", "TRANSACTION"),
    }
}

fn row(object: &str, name: (Option<&str>, Option<&str>), lock: &MetadataLockInfo) -> VirtualRow {
    let (kind, duration) = kind(lock);
    let status = if lock.awaited.is_some() { "PENDING" } else { "GRANTED" };
    let mut hasher = DefaultHasher::new();
    (object, name, lock.owner, kind, status).hash(&mut hasher);
    values(object, name, hasher.finish(), (kind, duration, status), lock.client)
}

/// `hash` makes OBJECT_INSTANCE_BEGIN: MySQL's is an address and only told apart.
fn values(object: &str, name: (Option<&str>, Option<&str>), hash: u64, lock: (&str, &str, &str), client: u64) -> VirtualRow {
    vec![
        object.into(),
        name.0.into(),
        name.1.into(),
        Value::Null,
        Value::UInt(hash >> 16),
        lock.0.into(),
        lock.1.into(),
        lock.2.into(),
        Value::Null,
        Some(client).filter(|client| *client != 0).into(),
        Value::Null,
    ]
}
