//! Views: a name in the space of tables, and a query as text.
//!
//! # Invariants
//! 1. A view has an id as a table has, and its name leads to it by the same key (`N`): a name is a table's or a view's, never both. Its definition
//!    is under `V` + id, a table's under `T` + id.
//! 2. Who changes a view has its metadata lock exclusively. The lock lives as long as the server, so that all who look the view up share one.
//!
//! Definitions by bytes: `docs/format/engine.md`.

use crate::catalog::Catalog;
use crate::codec::{self, put_text, text};
use crate::dictionary;
use crate::error::{CatalogError, Result};
use base::{Malformed, Reader, TableId, put_u8, put_varint};
use engine::format::Feature;
use engine::{Read, Session};
use lock_manager::metadata::{Protects, TableLock};
use std::sync::Arc;

/// Number of the form that definitions are written in.
const FORMAT: u8 = 1;

/// ALGORITHM of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ViewAlgorithm {
    /// Whichever can be.
    Undefined = 0,
    /// Its query becomes part of the query that names it.
    Merge = 1,
    /// Its rows are made first.
    TempTable = 2,
}

impl ViewAlgorithm {
    /// Its word in SQL.
    pub fn word(self) -> &'static str {
        match self {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }
}

/// WITH CHECK OPTION of a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum CheckOption {
    /// Not written.
    None = 0,
    /// Its own condition, and those of the views below that ask for it.
    Local = 1,
    /// All conditions.
    Cascaded = 2,
}

impl CheckOption {
    /// Its word in SQL.
    pub fn word(self) -> &'static str {
        match self {
            CheckOption::None => "NONE",
            CheckOption::Local => "LOCAL",
            CheckOption::Cascaded => "CASCADED",
        }
    }
}

/// A view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewDef {
    /// Id, never reused, of the space of tables' ids.
    pub id: TableId,
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// Its columns' names, where they were written; those of the query otherwise.
    pub columns: Vec<String>,
    /// The query in normal form, tables with their databases.
    pub query: String,
    /// The same without the view's own database.
    pub query_shown: String,
    /// ALGORITHM.
    pub algorithm: ViewAlgorithm,
    /// WITH CHECK OPTION.
    pub check: CheckOption,
    /// DEFINER: user.
    pub definer_user: String,
    /// DEFINER: host.
    pub definer_host: String,
    /// SQL SECURITY INVOKER.
    pub invoker: bool,
    /// Whether rows can be changed through it, as it was when it was made.
    pub updatable: bool,
    /// Character set of the client that made it.
    pub client_charset: String,
    /// `collation_connection` when it was made: that of its literals.
    pub connection_collation: String,
    /// Tables and views that its query names: database, name.
    pub tables: Vec<(String, String)>,
    /// Microseconds since the epoch, UTC.
    pub created_micros: i64,
}

/// A view that was looked up.
#[derive(Debug)]
pub struct ViewEntry {
    /// Definition.
    pub def: ViewDef,
    /// Its metadata lock.
    pub lock: Arc<TableLock>,
}

pub(crate) fn view_key(id: TableId) -> Vec<u8> {
    [b"V".as_slice(), &id.0.to_be_bytes()].concat()
}

pub(crate) fn encode(def: &ViewDef) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put_varint(&mut out, u64::from(def.id.0));
    for part in [&def.database, &def.name, &def.query, &def.query_shown, &def.definer_user, &def.definer_host] {
        put_text(&mut out, part);
    }
    put_text(&mut out, &def.client_charset);
    put_text(&mut out, &def.connection_collation);
    put_u8(&mut out, def.algorithm as u8);
    put_u8(&mut out, def.check as u8);
    put_u8(&mut out, u8::from(def.invoker) | u8::from(def.updatable) << 1);
    put_varint(&mut out, def.created_micros as u64);
    put_varint(&mut out, def.columns.len() as u64);
    def.columns.iter().for_each(|column| put_text(&mut out, column));
    put_varint(&mut out, def.tables.len() as u64);
    for (database, table) in &def.tables {
        put_text(&mut out, database);
        put_text(&mut out, table);
    }
    out
}

pub(crate) fn decode(bytes: &[u8]) -> codec::Result<ViewDef> {
    let mut r = Reader::new(bytes);
    if r.u8()? != FORMAT {
        return Err(Malformed);
    }
    let r = &mut r;
    let id = TableId(u32::try_from(r.varint()?).map_err(|_| Malformed)?);
    let (database, name, query, query_shown) = (text(r)?, text(r)?, text(r)?, text(r)?);
    let (definer_user, definer_host) = (text(r)?, text(r)?);
    let (client_charset, connection_collation) = (text(r)?, text(r)?);
    let algorithm = match r.u8()? {
        0 => ViewAlgorithm::Undefined,
        1 => ViewAlgorithm::Merge,
        2 => ViewAlgorithm::TempTable,
        _ => return Err(Malformed),
    };
    let check = match r.u8()? {
        0 => CheckOption::None,
        1 => CheckOption::Local,
        2 => CheckOption::Cascaded,
        _ => return Err(Malformed),
    };
    let flags = r.u8()?;
    let created_micros = r.varint()? as i64;
    let columns = codec::list(r, text)?;
    let tables = codec::list(r, |r| Ok((text(r)?, text(r)?)))?;
    Ok(ViewDef {
        id,
        database,
        name,
        columns,
        query,
        query_shown,
        algorithm,
        check,
        definer_user,
        definer_host,
        invoker: flags & 1 != 0,
        updatable: flags & 2 != 0,
        client_charset,
        connection_collation,
        tables,
        created_micros,
    })
}

pub(crate) fn read(session: &mut Session, id: TableId, read: Read) -> Result<Option<ViewDef>> {
    let Some(bytes) = dictionary::get(session, &view_key(id), read)? else { return Ok(None) };
    decode(&bytes).map(Some).map_err(|_| CatalogError::Damaged(format!("view {id}")))
}

/// Whether an id is a view's.
pub(crate) fn is_view(session: &mut Session, id: TableId) -> Result<bool> {
    Ok(dictionary::get(session, &view_key(id), Read::Snapshot)?.is_some())
}

/// Removes a view of this id and name; `Ok(false)` when the id is a table's.
pub(crate) fn remove(session: &mut Session, database: &str, name: &str, id: TableId) -> Result<bool> {
    if !dictionary::remove(session, &view_key(id))? {
        return Ok(false);
    }
    dictionary::remove(session, &dictionary::name_key(database, name))
}

impl Catalog {
    /// A view; `None` when there is no view of this name (a table there may be).
    pub fn view(&self, database: &str, name: &str) -> Result<Option<Arc<ViewEntry>>> {
        if let Some(entry) = self.views.read().get(database).and_then(|names| names.get(name)) {
            return Ok(Some(Arc::clone(entry)));
        }
        self.load(
            |session| {
                let Some(id) = dictionary::table_id(session, database, name, Read::Snapshot)? else { return Ok(None) };
                let Some(def) = read(session, id, Read::Snapshot)? else { return Ok(None) };
                Ok(Some(Arc::new(ViewEntry { lock: self.view_lock(def.id), def })))
            },
            |entry: &Arc<ViewEntry>, is_current| {
                let mut views = self.views.write();
                if is_current() {
                    views.entry(entry.def.database.clone()).or_default().insert(entry.def.name.clone(), Arc::clone(entry));
                }
            },
        )
    }

    /// The lock of a view, made when it is asked for first.
    fn view_lock(&self, id: TableId) -> Arc<TableLock> {
        let mut locks = self.view_locks.lock();
        Arc::clone(locks.entry(id).or_insert_with(|| Arc::new(TableLock::of(Protects::Table(id)))))
    }

    /// CREATE VIEW, or the same in place of `old`, whose id it keeps. The caller has `old` exclusively.
    pub fn define_view(&self, session: &mut Session, mut def: ViewDef, old: Option<&ViewEntry>) -> Result<()> {
        self.engine().allows(Feature::Views)?;
        def.id = old.map_or_else(|| self.engine().allocate_table_id(), |old| old.def.id);
        self.transaction(session, |session| {
            dictionary::database(session, &def.database, Read::Share(engine::Wait::Block))?
                .ok_or_else(|| CatalogError::UnknownDatabase(def.database.clone()))?;
            let key = dictionary::name_key(&def.database, &def.name);
            if old.is_none() && !dictionary::add(session, &key, &def.id.0.to_be_bytes())? {
                return Err(CatalogError::TableExists(def.name.clone()));
            }
            dictionary::set(session, &view_key(def.id), &encode(&def))
        })?;
        self.changed();
        Ok(())
    }

    /// DROP VIEW of several, all or none. The caller has them exclusively.
    pub fn drop_views(&self, session: &mut Session, views: &[&ViewDef]) -> Result<()> {
        self.transaction(session, |session| {
            for def in views {
                if !remove(session, &def.database, &def.name, def.id)? {
                    return Err(CatalogError::UnknownTable { database: def.database.clone(), table: def.name.clone() });
                }
            }
            Ok(())
        })?;
        self.changed();
        let mut locks = self.view_locks.lock();
        views.iter().for_each(|def| drop(locks.remove(&def.id)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_comes_back_and_one_that_was_cut_does_not() {
        let def = ViewDef {
            id: TableId(77),
            database: "d".into(),
            name: "v".into(),
            columns: vec!["p".into(), "q`".into()],
            query: "select 1 AS `1`,2 AS `2`".into(),
            query_shown: "select 1".into(),
            algorithm: ViewAlgorithm::TempTable,
            check: CheckOption::Local,
            definer_user: "root".into(),
            definer_host: "localhost".into(),
            invoker: true,
            updatable: true,
            client_charset: "utf8mb4".into(),
            connection_collation: "utf8mb4_0900_ai_ci".into(),
            tables: vec![("d".into(), "t".into())],
            created_micros: 1_234_567,
        };
        let bytes = encode(&def);
        assert_eq!(decode(&bytes), Ok(def));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end]).is_err(), "{end} bytes of {}", bytes.len());
        }
    }
}
