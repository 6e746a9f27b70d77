//! What definitions have beyond their first form, as tagged sections behind it: a varint tag and the section's bytes.
//!
//! # Invariants
//! 1. A definition that needs no section has none, so that its bytes are those of the first release.
//! 2. A reader refuses a tag that it does not know: what it passed over would be lost with the next change of the definition.
//! 3. No section is written to a directory whose format does not have them ([`engine::format::Feature::DefinitionSections`]).

use crate::codec::{Result, list, put_text, small, text};
use crate::def::{
    CheckDef, ColumnFormat, DefaultValue, ForeignKeyDef, Generated, ReferenceAction, Storage, TableDef, Visibility, WrittenColumn,
    WrittenIndex,
};
use crate::histogram::{self, Histogram};
use crate::row_versions::RowVersions;
use base::{Malformed, Reader, put_bytes, put_u8, put_varint};
use std::sync::Arc;

/// Columns with an expression, or not visible: position, flags, text.
const COLUMNS: u64 = 1;
/// CHECK constraints: name, text, whether they are enforced.
const CHECKS: u64 = 2;
/// Positions of the invisible indexes.
const INVISIBLE_INDEXES: u64 = 3;
/// Foreign keys: name, positions of columns, parent, its columns, actions, name of the index that was made.
const FOREIGN_KEYS: u64 = 4;

/// Histograms: position of the column, what is told of it.
const HISTOGRAMS: u64 = 5;
/// Types of columns that are gone and that older rows hold.
const DROPPED_COLUMNS: u64 = 6;
/// Older versions of the rows: number, what they hold in order (twice the column's position; for those that are gone, twice that in the list before, and one).
const ROW_VERSIONS: u64 = 7;
/// What is written of columns and changes nothing: position, flags.
const WRITTEN_COLUMNS: u64 = 8;
/// What is written of indexes and changes nothing, and whether one was written at all: position, flags, KEY_BLOCK_SIZE.
const WRITTEN_INDEXES: u64 = 9;

const IS_GENERATED: u8 = 1;
const IS_STORED: u8 = 2;
const IS_INVISIBLE: u8 = 4;
const IS_HIDDEN: u8 = 8;
const HAS_DEFAULT: u8 = 16;

const HAS_COLLATION: u8 = 1;
const IS_FIXED: u8 = 2;
const IS_DYNAMIC: u8 = 4;
const IS_ON_DISK: u8 = 8;
const IS_IN_MEMORY: u8 = 16;

const IS_BTREE: u8 = 1;
const IS_MADE_FOR_KEY: u8 = 2;

/// Whether the definition needs sections.
pub(crate) fn has_sections(def: &TableDef) -> bool {
    !encode(def).is_empty()
}

/// The sections of a definition; empty when it needs none.
pub(crate) fn encode(def: &TableDef) -> Vec<u8> {
    let mut out = Vec::new();
    let mut section = |tag: u64, rows: Vec<Vec<u8>>| {
        if rows.is_empty() {
            return;
        }
        let mut bytes = Vec::new();
        put_varint(&mut bytes, rows.len() as u64);
        rows.iter().for_each(|row| bytes.extend_from_slice(row));
        put_varint(&mut out, tag);
        put_bytes(&mut out, &bytes);
    };
    section(COLUMNS, columns(def));
    let check = |check: &CheckDef| {
        let mut row = Vec::new();
        put_text(&mut row, &check.name);
        put_text(&mut row, &check.text);
        put_u8(&mut row, u8::from(check.enforced));
        row
    };
    section(CHECKS, def.checks.iter().map(check).collect());
    let invisible = def.indexes.iter().enumerate().filter(|(_, index)| index.invisible);
    let number = |(no, _): (usize, _)| {
        let mut row = Vec::new();
        put_varint(&mut row, no as u64);
        row
    };
    section(INVISIBLE_INDEXES, invisible.map(number).collect());
    section(FOREIGN_KEYS, def.foreign_keys.iter().map(put_foreign_key).collect());
    let told = def.columns.iter().enumerate().filter_map(|(no, column)| Some((no, column, column.histogram.as_ref()?)));
    let row = |(no, column, histogram): (usize, &crate::def::ColumnDef, &Arc<Histogram>)| {
        let mut row = Vec::new();
        put_varint(&mut row, no as u64);
        histogram::encode(&column.ty, histogram, &mut row);
        row
    };
    section(HISTOGRAMS, told.map(row).collect());
    section(DROPPED_COLUMNS, def.row_versions.encode_dropped());
    section(ROW_VERSIONS, def.row_versions.encode_versions());
    section(WRITTEN_COLUMNS, def.columns.iter().enumerate().filter_map(|(no, column)| put_written_column(no, column.written)).collect());
    section(WRITTEN_INDEXES, def.indexes.iter().enumerate().filter_map(|(no, index)| put_written_index(no, index.written)).collect());
    if !out.is_empty() {
        // The end: a definition that was cut off between two sections is not taken for whole.
        put_varint(&mut out, 0);
    }
    out
}

fn put_written_column(no: usize, written: WrittenColumn) -> Option<Vec<u8>> {
    let format = match written.format {
        None => 0,
        Some(ColumnFormat::Fixed) => IS_FIXED,
        Some(ColumnFormat::Dynamic) => IS_DYNAMIC,
    };
    let storage = match written.storage {
        None => 0,
        Some(Storage::Disk) => IS_ON_DISK,
        Some(Storage::Memory) => IS_IN_MEMORY,
    };
    let flags = if written.collation { HAS_COLLATION } else { 0 } | format | storage;
    let mut row = Vec::new();
    put_varint(&mut row, no as u64);
    put_u8(&mut row, flags);
    (flags != 0).then_some(row)
}

fn written_column(r: &mut Reader<'_>, def: &mut TableDef) -> Result<()> {
    let column = def.columns.get_mut(small(r)? as usize).ok_or(Malformed)?;
    let flags = r.u8()?;
    if flags & !(HAS_COLLATION | IS_FIXED | IS_DYNAMIC | IS_ON_DISK | IS_IN_MEMORY) != 0 {
        return Err(Malformed);
    }
    let format = match flags & (IS_FIXED | IS_DYNAMIC) {
        0 => None,
        IS_FIXED => Some(ColumnFormat::Fixed),
        IS_DYNAMIC => Some(ColumnFormat::Dynamic),
        _ => return Err(Malformed),
    };
    let storage = match flags & (IS_ON_DISK | IS_IN_MEMORY) {
        0 => None,
        IS_ON_DISK => Some(Storage::Disk),
        IS_IN_MEMORY => Some(Storage::Memory),
        _ => return Err(Malformed),
    };
    column.written = WrittenColumn { collation: flags & HAS_COLLATION != 0, format, storage };
    Ok(())
}

fn put_written_index(no: usize, written: WrittenIndex) -> Option<Vec<u8>> {
    let mut row = Vec::new();
    put_varint(&mut row, no as u64);
    put_u8(&mut row, if written.btree { IS_BTREE } else { 0 } | if written.made_for_key { IS_MADE_FOR_KEY } else { 0 });
    put_varint(&mut row, u64::from(written.block_size));
    (written != WrittenIndex::default()).then_some(row)
}

fn written_index(r: &mut Reader<'_>, def: &mut TableDef) -> Result<()> {
    let index = def.indexes.get_mut(small(r)? as usize).ok_or(Malformed)?;
    let flags = r.u8()?;
    if flags & !(IS_BTREE | IS_MADE_FOR_KEY) != 0 {
        return Err(Malformed);
    }
    index.written = WrittenIndex { btree: flags & IS_BTREE != 0, block_size: small(r)?, made_for_key: flags & IS_MADE_FOR_KEY != 0 };
    Ok(())
}

fn put_foreign_key(key: &ForeignKeyDef) -> Vec<u8> {
    let mut row = Vec::new();
    put_text(&mut row, &key.name);
    put_varint(&mut row, key.columns.len() as u64);
    key.columns.iter().for_each(|column| put_varint(&mut row, *column as u64));
    put_text(&mut row, &key.parent_database);
    put_text(&mut row, &key.parent_table);
    put_varint(&mut row, key.parent_columns.len() as u64);
    key.parent_columns.iter().for_each(|column| put_text(&mut row, column));
    put_u8(&mut row, key.on_delete as u8);
    put_u8(&mut row, key.on_update as u8);
    put_text(&mut row, &key.made_index);
    row
}

fn foreign_key(r: &mut Reader<'_>, columns: usize) -> Result<ForeignKeyDef> {
    let name = text(r)?;
    let positions = list(r, |r| Ok(small(r)? as usize))?;
    let (parent_database, parent_table) = (text(r)?, text(r)?);
    let parent_columns = list(r, text)?;
    let action = |r: &mut Reader<'_>| ReferenceAction::from_u8(r.u8()?).ok_or(Malformed);
    let (on_delete, on_update) = (action(r)?, action(r)?);
    let made_index = text(r)?;
    if positions.is_empty() || positions.len() != parent_columns.len() || positions.iter().any(|column| *column >= columns) {
        return Err(Malformed);
    }
    Ok(ForeignKeyDef { name, columns: positions, parent_database, parent_table, parent_columns, on_delete, on_update, made_index })
}

fn columns(def: &TableDef) -> Vec<Vec<u8>> {
    let mut rows = Vec::new();
    for (no, column) in def.columns.iter().enumerate() {
        let mut flags = match column.visibility {
            Visibility::Visible => 0,
            Visibility::Invisible => IS_INVISIBLE,
            Visibility::Hidden => IS_HIDDEN,
        };
        let mut text = "";
        if let Some(generated) = &column.generated {
            flags |= IS_GENERATED | if generated.stored { IS_STORED } else { 0 };
            text = &generated.text;
        } else if let DefaultValue::Expression(expression) = &column.default {
            flags |= HAS_DEFAULT;
            text = expression;
        }
        if flags != 0 {
            let mut row = Vec::new();
            put_varint(&mut row, no as u64);
            put_u8(&mut row, flags);
            put_text(&mut row, text);
            rows.push(row);
        }
    }
    rows
}

/// Reads the sections of a definition into it.
pub(crate) fn decode(r: &mut Reader<'_>, def: &mut TableDef) -> Result<()> {
    loop {
        let tag = r.varint()?;
        if tag == 0 {
            return Ok(());
        }
        let mut section = Reader::new(r.bytes()?);
        match tag {
            COLUMNS => list(&mut section, |r| column(r, def)).map(drop)?,
            CHECKS => def.checks = list(&mut section, |r| Ok(CheckDef { name: text(r)?, text: text(r)?, enforced: r.u8()? != 0 }))?,
            INVISIBLE_INDEXES => {
                for no in list(&mut section, small)? {
                    def.indexes.get_mut(no as usize).ok_or(Malformed)?.invisible = true;
                }
            }
            FOREIGN_KEYS => {
                let columns = def.columns.len();
                def.foreign_keys = list(&mut section, |r| foreign_key(r, columns))?;
            }
            HISTOGRAMS => list(&mut section, |r| histogram_of(r, def)).map(drop)?,
            DROPPED_COLUMNS => def.row_versions.dropped = RowVersions::decode_dropped(&mut section)?,
            ROW_VERSIONS => def.row_versions.older = RowVersions::decode_versions(&mut section)?,
            WRITTEN_COLUMNS => list(&mut section, |r| written_column(r, def)).map(drop)?,
            WRITTEN_INDEXES => list(&mut section, |r| written_index(r, def)).map(drop)?,
            _ => return Err(Malformed),
        }
    }
}

fn histogram_of(r: &mut Reader<'_>, def: &mut TableDef) -> Result<()> {
    let column = def.columns.get_mut(small(r)? as usize).ok_or(Malformed)?;
    column.histogram = Some(Arc::new(histogram::decode(r, &column.ty)?));
    Ok(())
}

fn column(r: &mut Reader<'_>, def: &mut TableDef) -> Result<()> {
    let column = def.columns.get_mut(small(r)? as usize).ok_or(Malformed)?;
    let flags = r.u8()?;
    let text = text(r)?;
    column.visibility = match flags & (IS_INVISIBLE | IS_HIDDEN) {
        0 => Visibility::Visible,
        IS_INVISIBLE => Visibility::Invisible,
        IS_HIDDEN => Visibility::Hidden,
        _ => return Err(Malformed),
    };
    match flags & (IS_GENERATED | HAS_DEFAULT) {
        0 => {}
        IS_GENERATED => column.generated = Some(Generated { text, stored: flags & IS_STORED != 0 }),
        HAS_DEFAULT => column.default = DefaultValue::Expression(text),
        _ => return Err(Malformed),
    }
    Ok(())
}
