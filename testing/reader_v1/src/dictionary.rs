//! Table definitions.

use crate::Problem;
use crate::bytes::Cursor;

/// A table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// Version of the columns.
    pub schema_version: u64,
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Indexes, primary first.
    pub indexes: Vec<Index>,
}

/// A column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Number of the kind of type.
    pub kind: u8,
    /// Whether it is unsigned.
    pub unsigned: bool,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// Length.
    pub length: u64,
    /// Decimals.
    pub decimals: u8,
    /// Members of ENUM and SET.
    pub members: Vec<String>,
    /// Schema version that added it.
    pub added_in: u64,
    /// What older rows have: a row of one nullable column.
    pub older_rows: Vec<u8>,
}

/// An index.
#[derive(Debug, Clone)]
pub struct Index {
    /// Name.
    pub name: String,
    /// Id.
    pub id: u32,
    /// Root page.
    pub root: u64,
}

/// Reads a table's definition.
pub(crate) fn table(bytes: &[u8]) -> Result<Table, Problem> {
    let mut c = Cursor::new(bytes);
    if c.byte()? != 1 {
        return Err("a definition of another format".into());
    }
    c.varint()?; // id
    let (database, name) = (c.text()?, c.text()?);
    let schema_version = c.varint()?;
    c.varint()?; // collation
    c.text()?; // comment
    c.varint()?; // smallest AUTO_INCREMENT
    c.varint()?; // creation time
    let columns = (0..c.varint()?).map(|_| column(&mut c)).collect::<Result<_, _>>()?;
    let indexes = (0..c.varint()?).map(|_| index(&mut c)).collect::<Result<_, _>>()?;
    Ok(Table { database, name, schema_version, columns, indexes })
}

fn column(c: &mut Cursor<'_>) -> Result<Column, Problem> {
    let name = c.text()?;
    let (kind, flags) = (c.byte()?, c.byte()?);
    let (length, decimals) = (c.varint()?, c.byte()?);
    c.varint()?; // collation
    let members = (0..c.varint()?).map(|_| c.text()).collect::<Result<_, _>>()?;
    c.byte()?; // ON UPDATE, AUTO_INCREMENT
    match c.byte()? {
        2 => drop(c.bytes()?),
        0 | 1 | 3 => {}
        other => return Err(format!("default of kind {other}")),
    }
    c.text()?; // comment
    let added_in = c.varint()?;
    let older_rows = c.bytes()?.to_vec();
    Ok(Column { name, kind, unsigned: flags & 1 != 0, nullable: flags & 4 != 0, length, decimals, members, added_in, older_rows })
}

fn index(c: &mut Cursor<'_>) -> Result<Index, Problem> {
    let name = c.text()?;
    let id = u32::try_from(c.varint()?).map_err(|_| "an index id too large")?;
    let root = c.varint()?;
    c.byte()?; // unique
    for _ in 0..c.varint()? {
        c.varint()?; // column
        c.varint()?; // prefix
        c.byte()?; // descending
    }
    c.text()?; // comment
    Ok(Index { name, id, root })
}
