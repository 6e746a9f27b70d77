//! The dictionary's rows read one by one, without an engine: for tools that look at a directory which no server runs on.

use crate::codec;
use crate::def::{DatabaseDef, TableDef};
use crate::dictionary;
use base::TableId;

pub use crate::open::table_spec;

/// What a row of the dictionary says.
#[derive(Debug, Clone, PartialEq)]
pub enum DictionaryRow {
    /// A database.
    Database(DatabaseDef),
    /// The id of the table or view of this name.
    Name {
        /// Database.
        database: String,
        /// Table.
        table: String,
        /// Its id.
        id: TableId,
    },
    /// A table refers to another by a foreign key.
    Reference {
        /// The other one.
        parent: crate::TableName,
        /// Which refers.
        child: crate::TableName,
    },
    /// The name of a foreign key, without its case.
    KeyName {
        /// Database.
        database: String,
        /// Name.
        name: String,
    },
    /// A table.
    Table(Box<TableDef>),
    /// Accounts have been changed: their rows are all that there are.
    AccountsBegun,
    /// An account or a role.
    Account(Box<accounts::Account>),
    /// A view.
    View(Box<crate::view::ViewDef>),
}

/// Reads a row of the dictionary. The error says what is wrong with it.
pub fn read_row(key: &[u8], value: &[u8]) -> Result<DictionaryRow, String> {
    let unreadable = |what: &str| format!("{what} that cannot be read (dictionary key {})", key.escape_ascii());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| unreadable("a name"));
    match key.split_first() {
        Some((b'D', name)) => {
            let def = codec::decode_database(value).map_err(|_| unreadable("the definition of a database"))?;
            if def.name.as_bytes() == name { Ok(DictionaryRow::Database(def)) } else { Err(unreadable("a database under another name")) }
        }
        Some((b'N', names)) => {
            let at = names.iter().position(|byte| *byte == 0).ok_or_else(|| unreadable("a name"))?;
            let id = dictionary::id_from(value).map_err(|_| unreadable("the id of a table"))?;
            Ok(DictionaryRow::Name { database: text(&names[..at])?, table: text(&names[at + 1..])?, id })
        }
        Some((b'K', names)) => {
            let at = names.iter().position(|byte| *byte == 0).ok_or_else(|| unreadable("a name"))?;
            Ok(DictionaryRow::KeyName { database: text(&names[..at])?, name: text(&names[at + 1..])? })
        }
        Some((b'F', pair)) => {
            let (parent, child) = crate::references::pair_of(pair).ok_or_else(|| unreadable("a pair of tables"))?;
            Ok(DictionaryRow::Reference { parent, child })
        }
        Some((b'T', id)) => {
            let def = codec::decode_table(value).map_err(|_| unreadable("the definition of a table"))?;
            if def.id.0.to_be_bytes() == *id {
                Ok(DictionaryRow::Table(Box::new(def)))
            } else {
                Err(unreadable("a table under another id"))
            }
        }
        Some((b'A', [])) => Ok(DictionaryRow::AccountsBegun),
        Some((b'A', _)) => {
            let account = accounts::decode(value).map_err(|_| unreadable("an account"))?;
            if dictionary::account_key(&account.name) == key {
                Ok(DictionaryRow::Account(Box::new(account)))
            } else {
                Err(unreadable("an account under another name"))
            }
        }
        Some((b'V', id)) => {
            let def = crate::view::decode(value).map_err(|_| unreadable("the definition of a view"))?;
            if def.id.0.to_be_bytes() == *id { Ok(DictionaryRow::View(Box::new(def))) } else { Err(unreadable("a view under another id")) }
        }
        _ => Err(unreadable("a row of no known kind")),
    }
}
