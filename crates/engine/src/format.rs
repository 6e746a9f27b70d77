//! Formats of a data directory: which features of the files each brought, and whether a directory may use one.
//!
//! # Invariants
//! 1. A directory keeps the format it was made with until its operator seals a newer one (`altiplano seal`); until then no byte in it is of a
//!    feature that this format has not, so that the release which wrote it can open it again.
//! 2. A new feature of the files is a line of [`Feature::ALL`] with a new format, and asks [`Engine::allows`] before its first byte is written.

use crate::engine::Engine;
use crate::{Error, Result};
use page_store::{PageStore, StoreError};

pub use page_store::{FORMAT_NEWEST, FORMAT_OLDEST};

/// What a later format can that the first could not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// Transactions that are prepared (XA): log operation 0x47, version 2 of the checkpoint's payload.
    PreparedTransactions,
    /// Versions between snapshots that nobody sees are pruned: undo records of kind 6.
    PrunedVersions,
    /// Checkpoints list the history in blocks that are written once: version 3 of their payload, records of the undo store that begin with 0x80.
    HistoryBlocks,
    /// Definitions of tables with sections (`docs/format/engine.md`): CHECK constraints, expressions, what is invisible.
    DefinitionSections,
    /// Checkpoints list pages that lack changes for which the log is not kept any more: version 4 of their payload.
    LackingPages,
    /// JSON columns: documents in rows (`docs/format/json.md`).
    JsonColumns,
    /// Collations beside the first seven, and their character sets: latin1, ascii, utf8mb3.
    Collations,
    /// Accounts, roles and their privileges: rows `A` of the dictionary.
    Accounts,
    /// Views: rows `V` of the dictionary.
    Views,
    /// Prepared branches name the tables that they have changed: log operation 0x47 goes on, version 5 of the checkpoint's payload.
    PreparedTables,
    /// Histograms of columns: section 5 of a table's definition.
    Histograms,
    /// Columns dropped, moved, or added before others without touching the rows: sections 6 and 7 of a table's definition.
    RowVersions,
    /// Rows inserted in runs: operation 0x2c on leaves, undo records of kind 7.
    InsertRuns,
    /// Leaves in the log, of splits and of indexes that are built, told by what differs from entry to entry: operation 0x2d. Asked by the tree itself.
    LeafDeltas,
    /// Generated columns that older rows lack, added without touching the rows: a column of a definition that has an expression and came after other versions.
    ComputedColumns,
    /// What is written of columns and indexes, shown, and changes nothing: sections 8 and 9 of a table's definition.
    WrittenOptions,
}

impl Feature {
    /// All of them, oldest first.
    pub const ALL: [Feature; 16] = [
        Feature::PreparedTransactions,
        Feature::PrunedVersions,
        Feature::HistoryBlocks,
        Feature::DefinitionSections,
        Feature::LackingPages,
        Feature::JsonColumns,
        Feature::Collations,
        Feature::Accounts,
        Feature::Views,
        Feature::PreparedTables,
        Feature::Histograms,
        Feature::RowVersions,
        Feature::InsertRuns,
        Feature::LeafDeltas,
        Feature::ComputedColumns,
        Feature::WrittenOptions,
    ];

    /// The format that it came with.
    pub const fn format(self) -> u32 {
        match self {
            Feature::PreparedTransactions | Feature::PrunedVersions => 2,
            Feature::HistoryBlocks => 3,
            Feature::DefinitionSections | Feature::LackingPages | Feature::JsonColumns => 4,
            Feature::Collations
            | Feature::Accounts
            | Feature::Views
            | Feature::PreparedTables
            | Feature::Histograms
            | Feature::RowVersions
            | Feature::InsertRuns
            | Feature::ComputedColumns
            | Feature::WrittenOptions => 5,
            Feature::LeafDeltas => btree::DELTAS_FROM_FORMAT,
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::PreparedTransactions => "XA PREPARE",
            Feature::PrunedVersions => "pruning versions between snapshots",
            Feature::HistoryBlocks => "checkpoints of a long history in blocks",
            Feature::DefinitionSections => "a table with constraints, expressions or something invisible",
            Feature::LackingPages => "serving around a damaged page that recovery needs",
            Feature::JsonColumns => "JSON columns",
            Feature::Collations => "other collations and character sets than the first",
            Feature::Accounts => "accounts, roles and privileges",
            Feature::Views => "views",
            Feature::PreparedTables => "prepared branches that name their tables",
            Feature::Histograms => "histograms of columns",
            Feature::RowVersions => "columns dropped or moved without touching the rows",
            Feature::InsertRuns => "inserting rows in runs",
            Feature::LeafDeltas => "leaves in the log by what differs from entry to entry",
            Feature::ComputedColumns => "generated columns added without touching the rows",
            Feature::WrittenOptions => "options of columns and indexes that are only shown",
        }
    }
}

impl Engine {
    /// The directory's format.
    pub fn format(&self) -> u32 {
        self.pool.store().format()
    }

    /// Whether the directory may use a feature; the error says which format it needs.
    pub fn allows(&self, feature: Feature) -> Result<()> {
        if feature.format() <= self.format() { Ok(()) } else { Err(Error::NotSealed { feature, has: self.format() }) }
    }
}

/// Lets a directory that no server runs on use what the formats up to this one can. Returns the format that it had.
pub fn seal(disk: &dyn env::Disk, format: u32) -> std::result::Result<u32, StoreError> {
    PageStore::seal(disk, format)
}
