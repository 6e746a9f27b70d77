//! Columns of results that are no queries' here: SHOW, DESCRIBE, EXPLAIN, statements about tables, and what else the session answers by itself.
//!
//! To MySQL most of these are queries of `information_schema` and `performance_schema` or have columns of their own kind, so that types, lengths and flags follow no rule
//! that values could tell. They are written down, statement by statement, in `lists.rs`.
//!
//! # Invariants
//! 1. A definition says what MySQL 9.7 says: `server/tests/column_definitions.rs` compares them.
//! 2. Rows have the form that the definitions tell: the type by which values are written is made of the same entry.

pub(crate) mod lists;

use crate::reply::result_columns;
use crate::virtual_tables;
use planner::plan::OutputColumn;
use protocol::{ColumnBlock, ColumnDefinition, ColumnFlags, ColumnType as WireType, PacketWriter};
use types::{Collation, ColumnType, DECIMALS_NOT_FIXED, TypeKind};

/// What a column holds, and with it the type and length that clients are told. Lengths of text are in characters, but for the types of TEXT and BLOB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    /// VARCHAR.
    VarChar(u32),
    /// VARCHAR of a name that MySQL keeps without case, which is seen by the collation where nothing is converted.
    Name(u32),
    /// CHAR, and ENUM and SET where the flags say so.
    Char(u32),
    /// A TEXT of so many bytes.
    Text(u32),
    /// A text that is no table's: told without decimals.
    Computed(u32),
    /// The same where MySQL has it in latin1 as long as nothing is converted.
    Latin1(u32),
    /// A text that is no table's, of so many bytes and told as a MEDIUMTEXT.
    MediumText(u32),
    /// The same, told as a LONGTEXT.
    LongText(u32),
    /// Bytes.
    Blob,
    /// INT, of so many characters.
    Int(u32),
    /// BIGINT, of so many characters.
    BigInt(u32),
    /// DOUBLE of so many characters and decimals, 0 of which are as many as a value needs.
    Double(u32, u8),
    /// DECIMAL(precision, scale).
    Decimal(u32, u8),
    /// DATETIME.
    DateTime,
    /// TIMESTAMP with so many digits behind the seconds.
    Timestamp(u8),
    /// Nothing but NULL.
    Null,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FixedColumn {
    /// Name as shown, or what it begins with.
    pub name: &'static str,
    /// Type and length.
    pub holds: Holds,
    /// All flags.
    pub flags: ColumnFlags,
    /// The table behind the list's, if it is not that one. Empty: none.
    pub org_table: Option<&'static str>,
    /// Its name in the table. Empty: of no table.
    pub org_name: &'static str,
}

/// The columns of a statement's result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ColumnList {
    /// Database of the table, or empty.
    pub database: &'static str,
    /// Name of the table that they come from, or empty.
    pub table: &'static str,
    /// The columns.
    pub columns: &'static [FixedColumn],
}

/// The columns of one result.
pub(crate) struct Columns {
    fixed: Vec<FixedColumn>,
    output: Vec<OutputColumn>,
}

impl Columns {
    /// As they stand in lists, one behind the other.
    pub(crate) fn of(lists: &[ColumnList]) -> Columns {
        let each = || lists.iter().flat_map(|list| list.columns.iter().map(move |column| (list, column)));
        Columns { fixed: each().map(|(_, column)| *column).collect(), output: each().map(|(list, column)| column.output(list)).collect() }
    }

    /// With another name for the column at a place: one that the statement makes.
    pub(crate) fn renamed(mut self, at: usize, name: &str) -> Columns {
        self.rename(at, name);
        self
    }

    /// Gives the column at a place another name, also in its table where it has the same there.
    pub(crate) fn rename(&mut self, at: usize, name: &str) {
        let column = &mut self.output[at];
        if column.org_name == column.name {
            column.org_name = name.into();
        }
        column.name = name.into();
    }

    /// With a column at a place that is as long as a text, at least: one that tells of its only value.
    pub(crate) fn at_least_as_long(mut self, at: usize, text: &str) -> Columns {
        let length = &mut self.output[at].ty.length;
        *length = (*length).max(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.output.len()
    }

    /// By what rows are written.
    pub(crate) fn output(&self) -> &[OutputColumn] {
        &self.output
    }

    /// Writes their definitions, as PREPARE tells them.
    pub(crate) fn write(&self, results: Option<Collation>, out: &mut PacketWriter) {
        for (column, fixed) in self.output.iter().zip(&self.fixed) {
            result_columns::write_definition_as(column, results, |definition| fixed.tell(definition), out);
        }
    }

    /// The head of the result for a client that gets its text by `results`.
    pub(crate) fn block(&self, results: Option<Collation>) -> ColumnBlock {
        result_columns::block_of(&self.output, results, |at, definition| self.fixed[at].tell(definition))
    }
}

/// What the tables of `performance_schema` keep text in; to the others it is utf8mb3.
const OF_PERFORMANCE_SCHEMA: Collation = Collation::DEFAULT;

impl FixedColumn {
    /// The type by which its values are written and compared.
    fn ty(&self, list: &ColumnList) -> ColumnType {
        let of = |kind, length| ColumnType { length, ..ColumnType::new(kind) };
        let collation = match self.holds {
            Holds::Name(_) => Collation::Utf8mb3TolowerCi,
            Holds::Latin1(_) => Collation::Latin1SwedishCi,
            _ if list.database == virtual_tables::PERFORMANCE_SCHEMA => OF_PERFORMANCE_SCHEMA,
            _ if self.flags.contains(ColumnFlags::BINARY) => Collation::Utf8mb3Bin,
            _ => Collation::Utf8mb3GeneralCi,
        };
        let text = |kind, length| ColumnType { collation, ..of(kind, length) };
        let ty = match self.holds {
            Holds::VarChar(characters) | Holds::Name(characters) | Holds::Computed(characters) | Holds::Latin1(characters) => {
                text(TypeKind::VarChar, characters)
            }
            Holds::Char(characters) => text(TypeKind::Char, characters),
            Holds::Text(bytes) | Holds::MediumText(bytes) | Holds::LongText(bytes) => text(TypeKind::LongText, bytes),
            Holds::Blob => ColumnType::new(TypeKind::LongBlob),
            Holds::Int(_) => ColumnType::int(),
            Holds::BigInt(_) => ColumnType::bigint(),
            Holds::Double(_, 0) => ColumnType::double(),
            Holds::Double(_, decimals) => ColumnType { decimals, ..ColumnType::double() },
            Holds::Decimal(precision, scale) => ColumnType::decimal(precision, scale),
            Holds::DateTime => ColumnType::new(TypeKind::DateTime),
            Holds::Timestamp(digits) => ColumnType::temporal(TypeKind::Timestamp, digits),
            Holds::Null => ColumnType::new(TypeKind::Null),
        };
        ColumnType { unsigned: self.flags.contains(ColumnFlags::UNSIGNED), nullable: !self.flags.contains(ColumnFlags::NOT_NULL), ..ty }
    }

    fn output(&self, list: &ColumnList) -> OutputColumn {
        let org_table = self.org_table.unwrap_or(list.table);
        // Of what a query of several tables computes no database is told.
        let database = if org_table.is_empty() { "" } else { list.database };
        let [database, table, org_table] = if self.org_name.is_empty() { [""; 3] } else { [database, list.table, org_table] };
        OutputColumn {
            database: database.into(),
            table: table.into(),
            org_table: org_table.into(),
            name: self.name.into(),
            org_name: self.org_name.into(),
            ty: self.ty(list),
            ..OutputColumn::default()
        }
    }

    /// Says in a definition what the type alone does not.
    fn tell<'d>(&self, definition: ColumnDefinition<'d>) -> ColumnDefinition<'d> {
        let told = ColumnDefinition { flags: self.flags, ..definition };
        match self.holds {
            Holds::VarChar(_) | Holds::Name(_) | Holds::Char(_) => ColumnDefinition { decimals: 0, ..told },
            Holds::Text(_) => ColumnDefinition { column_type: WireType::Blob, decimals: 0, ..told },
            Holds::Computed(_) | Holds::Latin1(_) => ColumnDefinition { decimals: DECIMALS_NOT_FIXED, ..told },
            Holds::MediumText(_) => ColumnDefinition { column_type: WireType::MediumBlob, decimals: DECIMALS_NOT_FIXED, ..told },
            Holds::LongText(_) => ColumnDefinition { column_type: WireType::LongBlob, decimals: DECIMALS_NOT_FIXED, ..told },
            Holds::Int(length) | Holds::BigInt(length) => ColumnDefinition { length, ..told },
            Holds::Double(length, decimals) => ColumnDefinition { length, decimals, ..told },
            Holds::Blob | Holds::Decimal(..) | Holds::DateTime | Holds::Timestamp(_) | Holds::Null => told,
        }
    }
}
