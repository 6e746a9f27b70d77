//! Reading and writing the dictionary's rows inside the caller's engine transaction.

use crate::codec;
use crate::def::{DatabaseDef, TableDef};
use crate::error::{CatalogError, Result};
use base::TableId;
use engine::{Direction, KeyRange, Read, Session, Step, Wait};
use record::{KeyPart, RowRef};
use types::Value;

pub(crate) fn database_key(name: &str) -> Vec<u8> {
    [b"D", name.as_bytes()].concat()
}

pub(crate) fn name_key(database: &str, table: &str) -> Vec<u8> {
    [b"N", database.as_bytes(), b"\0", table.as_bytes()].concat()
}

pub(crate) fn table_key(id: TableId) -> Vec<u8> {
    [b"T".as_slice(), &id.0.to_be_bytes()].concat()
}

/// Before all accounts: says that they are written down.
pub(crate) const ACCOUNTS_BEGUN: &[u8] = b"A";

pub(crate) fn account_key(name: &accounts::AccountName) -> Vec<u8> {
    [ACCOUNTS_BEGUN, name.user.as_bytes(), b"\0", name.host.as_bytes()].concat()
}

/// The engine's key for a dictionary key: the encoding of its binary column.
fn engine_key(session: &Session, key: &[u8]) -> Vec<u8> {
    let table = session.engine().dictionary();
    let mut out = Vec::new();
    record::key::encode_part(table.layout().column_type(0), &KeyPart::ascending(0), &Value::bytes(key), &mut out);
    out
}

fn value_of(row: RowRef<'_>) -> std::result::Result<Vec<u8>, base::Malformed> {
    Ok(row.column_bytes(1)?.unwrap_or_default().to_vec())
}

pub(crate) fn get(session: &mut Session, key: &[u8], read: Read) -> Result<Option<Vec<u8>>> {
    let table = session.engine().dictionary().clone();
    let found = session.get(&table, &engine_key(session, key), read, value_of)?;
    found.transpose().map_err(|_| CatalogError::Damaged("dictionary row".into()))
}

/// Adds a row; `Ok(false)` when the key is there.
pub(crate) fn add(session: &mut Session, key: &[u8], value: &[u8]) -> Result<bool> {
    let table = session.engine().dictionary().clone();
    let mut row = Vec::new();
    encode(session, key, value, &mut row)?;
    match session.insert_or(engine::OnDuplicate::Change, &table, &mut row) {
        Ok(()) => Ok(true),
        Err(engine::Error::DuplicateKey { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn encode(session: &Session, key: &[u8], value: &[u8], row: &mut Vec<u8>) -> Result<()> {
    let layout = session.engine().dictionary().layout();
    layout.encode(&[Value::bytes(key), Value::bytes(value)], row).map_err(|e| CatalogError::Damaged(e.to_string()))
}

/// Sets a row, there or not.
pub(crate) fn set(session: &mut Session, key: &[u8], value: &[u8]) -> Result<()> {
    remove(session, key)?;
    if add(session, key, value)? { Ok(()) } else { Err(CatalogError::Damaged("dictionary row came back".into())) }
}

/// Removes a row; `Ok(false)` when it is not there.
pub(crate) fn remove(session: &mut Session, key: &[u8]) -> Result<bool> {
    let table = session.engine().dictionary().clone();
    let key = engine_key(session, key);
    Ok(session.modify(&table, &key, |_, _| engine::Modify::Delete)? == engine::Modified::Deleted)
}

/// Values of all keys that start with `prefix`, with the rest of the key.
pub(crate) fn list(session: &mut Session, prefix: &[u8], read: Read) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let table = session.engine().dictionary().clone();
    let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let mut damaged = false;
    let mut range = KeyRange::all();
    range.lower = engine_key(session, prefix);
    // With locks nothing behind the prefix may be locked.
    let behind = engine::after_prefix(prefix);
    if !behind.is_empty() {
        range.upper = engine_key(session, &behind);
    }
    let mut scan = session.scan(&table, 0, range, Direction::Forward, read)?;
    scan.for_each(|row, _| {
        let (Ok(Some(key)), Ok(value)) = (row.column_bytes(0), value_of(row)) else {
            damaged = true;
            return Step::Continue;
        };
        let Some(rest) = key.strip_prefix(prefix) else { return Step::Stop };
        rows.push((rest.to_vec(), value));
        Step::Continue
    })?;
    if damaged { Err(CatalogError::Damaged("dictionary row".into())) } else { Ok(rows) }
}

/// Rows read at once by [`for_each`].
const ROWS_AT_ONCE: usize = 512;

/// Calls `f` with the rest of the key and the value of each key that starts with `prefix`, by the session's snapshot. Some rows are in memory at a time, and no
/// page is latched meanwhile. `f` says whether to go on.
pub(crate) fn for_each(session: &mut Session, prefix: &[u8], mut f: impl FnMut(&[u8], &[u8]) -> Result<bool>) -> Result<()> {
    let table = session.engine().dictionary().clone();
    let mut from = prefix.to_vec();
    loop {
        let mut rows: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let mut damaged = false;
        let mut range = KeyRange::all();
        range.lower = engine_key(session, &from);
        let mut scan = session.scan(&table, 0, range, Direction::Forward, Read::Snapshot)?;
        scan.for_each(|row, _| {
            let (Ok(Some(key)), Ok(value)) = (row.column_bytes(0), value_of(row)) else {
                damaged = true;
                return Step::Continue;
            };
            if !key.starts_with(prefix) {
                return Step::Stop;
            }
            rows.push((key.to_vec(), value));
            if rows.len() < ROWS_AT_ONCE { Step::Continue } else { Step::Stop }
        })?;
        drop(scan);
        if damaged {
            return Err(CatalogError::Damaged("dictionary row".into()));
        }
        for (key, value) in &rows {
            if !f(&key[prefix.len()..], value)? {
                return Ok(());
            }
        }
        match rows.pop() {
            // The next key there can be.
            Some((last, _)) if rows.len() + 1 == ROWS_AT_ONCE => from = [&last[..], b"\0"].concat(),
            _ => return Ok(()),
        }
    }
}

pub(crate) fn database(session: &mut Session, name: &str, read: Read) -> Result<Option<DatabaseDef>> {
    let Some(bytes) = get(session, &database_key(name), read)? else { return Ok(None) };
    codec::decode_database(&bytes).map(Some).map_err(|_| CatalogError::Damaged(format!("database {name}")))
}

pub(crate) fn table_id(session: &mut Session, database: &str, table: &str, read: Read) -> Result<Option<TableId>> {
    let Some(bytes) = get(session, &name_key(database, table), read)? else { return Ok(None) };
    id_from(&bytes).map(Some)
}

pub(crate) fn id_from(bytes: &[u8]) -> Result<TableId> {
    let bytes: [u8; 4] = bytes.try_into().map_err(|_| CatalogError::Damaged("table id".into()))?;
    Ok(TableId(u32::from_be_bytes(bytes)))
}

pub(crate) fn table(session: &mut Session, id: TableId, read: Read) -> Result<Option<TableDef>> {
    let Some(bytes) = get(session, &table_key(id), read)? else { return Ok(None) };
    codec::decode_table(&bytes).map(Some).map_err(|_| CatalogError::Damaged(format!("table {id}")))
}

/// The read of a DDL operation on what it is about to change.
pub(crate) const LOCKED: Read = Read::Exclusive(Wait::Block);
