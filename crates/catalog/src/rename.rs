//! RENAME TABLE: parts of a transaction of the caller's, so that several tables and views get other names together or not at all. Each part finds what those before it have done.
//! When the transaction has committed, [`Catalog::definitions_committed`] follows.

use crate::catalog::{Catalog, TableEntry, add_check_names};
use crate::codec;
use crate::def::TableDef;
use crate::dictionary::{self, LOCKED};
use crate::error::{CatalogError, Result};
use crate::references;
use crate::view::{self, ViewDef};
use base::TableId;
use engine::{Read, Session, Wait};

/// What has a name.
#[derive(Debug, Clone, PartialEq)]
pub enum Named {
    /// A table.
    Table(Box<TableDef>),
    /// A view.
    View(Box<ViewDef>),
}

impl Catalog {
    /// What has a name in the transaction that runs.
    pub fn named_within(&self, session: &mut Session, database: &str, name: &str) -> Result<Option<Named>> {
        let Some(id) = dictionary::table_id(session, database, name, LOCKED)? else { return Ok(None) };
        if let Some(def) = dictionary::table(session, id, LOCKED)? {
            return Ok(Some(Named::Table(Box::new(def))));
        }
        match view::read(session, id, LOCKED)? {
            Some(def) => Ok(Some(Named::View(Box::new(def)))),
            None => Err(CatalogError::Damaged(format!("{database}.{name} has a name but no definition"))),
        }
    }

    /// The tables whose foreign keys refer to a name in the transaction that runs, whether it is there or not.
    pub fn children_within(&self, session: &mut Session, database: &str, name: &str) -> Result<Vec<TableDef>> {
        let shared = Read::Share(Wait::Block);
        let mut children = Vec::new();
        for (database, table) in references::children(session, database, name, shared)? {
            if let Some(id) = dictionary::table_id(session, &database, &table, shared)? {
                children.extend(dictionary::table(session, id, shared)?);
            }
        }
        Ok(children)
    }

    /// Names of the CHECK constraints of a database, with their tables, in the transaction that runs.
    pub fn check_names_within(&self, session: &mut Session, database: &str) -> Result<Vec<(TableId, String)>> {
        // What others have committed by now.
        session.statement_start();
        let mut names = Vec::new();
        dictionary::for_each(session, b"T", |_, bytes| add_check_names(bytes, database, &mut names).map(|()| true))?;
        Ok(names)
    }

    /// Gives a table another name, possibly in another database: `def` is the definition under it.
    pub fn rename_table_within(&self, session: &mut Session, old: &TableDef, mut def: TableDef) -> Result<()> {
        let (database, name) = (def.database.clone(), def.name.clone());
        dictionary::database(session, &database, Read::Share(Wait::Block))?.ok_or(CatalogError::UnknownDatabase(database.clone()))?;
        if !dictionary::add(session, &dictionary::name_key(&database, &name), &def.id.0.to_be_bytes())? {
            return Err(CatalogError::TableExists(name));
        }
        dictionary::remove(session, &dictionary::name_key(&old.database, &old.name))?;
        references::rename_parent(session, old, &mut def, &[])?;
        references::replace(session, Some(old), Some(&def))?;
        dictionary::set(session, &dictionary::table_key(def.id), &codec::encode_table(&def))
    }

    /// Gives a view another name, inside its database.
    pub fn rename_view_within(&self, session: &mut Session, view: &ViewDef, name: &str) -> Result<()> {
        if !dictionary::add(session, &dictionary::name_key(&view.database, name), &view.id.0.to_be_bytes())? {
            return Err(CatalogError::TableExists(name.into()));
        }
        dictionary::remove(session, &dictionary::name_key(&view.database, &view.name))?;
        let renamed = ViewDef { name: name.into(), ..view.clone() };
        dictionary::set(session, &view::view_key(view.id), &view::encode(&renamed))
    }

    /// RENAME TABLE of one table, as a transaction of its own.
    pub fn rename_table(&self, session: &mut Session, entry: &TableEntry, def: TableDef) -> Result<()> {
        self.transaction(session, |session| self.rename_table_within(session, &entry.def, def))?;
        self.changed();
        Ok(())
    }
}
