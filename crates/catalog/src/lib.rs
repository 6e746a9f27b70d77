//! The data dictionary: what databases and tables exist, kept in a table of the engine, so that DDL is transactional and survives crashes.
//!
//! # Invariants
//! 1. The dictionary's committed rows are the truth; the cache holds only what was read from them.
//! 2. Each DDL operation is one engine transaction. Trees that a crash leaves without a definition are orphans, freed in the background.
//! 3. Whoever changes a table's definition holds its metadata lock exclusively; [`Catalog::version`] changes after each change, so that
//!    cached plans are checked with one load.
//!
//! Dictionary keys: `D` + database → definition; `N` + database + NUL + table → table id (u32, big-endian); `T` + table id → definition of a table; `V` + table id → definition
//! of a view; `A` + user + NUL + host → account.
//!
//! # Not here
//! What privileges mean, names' case rules beyond equality of bytes, what an ALTER clause means.
//!
//! # Start at
//! [`Catalog`], [`TableDef`].

mod account_rows;
mod catalog;
mod codec;
mod ddl;
mod def;
mod dictionary;
mod error;
mod expressions;
pub mod histogram;
pub mod offline;
mod online;
mod open;
mod references;
mod rename;
mod row_versions;
mod sections;
mod temporary;
mod view;
mod virtual_table;

pub use catalog::{Catalog, TableEntry};
pub use ddl::Change;
pub use def::{
    CheckDef, ColumnDef, ColumnFormat, DatabaseDef, DefaultValue, ForeignKeyDef, Generated, HIDDEN_PRIMARY, IndexDef, ReferenceAction,
    Storage, TableDef, Visibility, WrittenColumn, WrittenIndex, same_name,
};
pub use error::{CatalogError, Result};
pub use expressions::{Expressions, set_expressions};
pub use online::{Convert, CopiedRows, OnlineAlter};
pub use references::{Renamed, TableName};
pub use rename::Named;
pub use row_versions::{ROW_VERSIONS_MAX, RowVersion, RowVersions, StoredColumn, older_rows_lack_generated, older_versions};
pub use view::{CheckOption, ViewAlgorithm, ViewDef, ViewEntry};
pub use virtual_table::{VirtualColumn, VirtualRequest, VirtualRow, VirtualTableDef};
