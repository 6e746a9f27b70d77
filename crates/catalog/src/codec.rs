//! Definitions as bytes: what the dictionary's rows hold.
//!
//! Each value starts with a format number; readers refuse numbers they do not know. Column values (defaults) are one-column rows. A table's
//! definition of number 2 goes on with sections (`sections.rs`); one without a section is written with number 1.

use crate::def::{ColumnDef, DatabaseDef, DefaultValue, IndexDef, TableDef, Visibility};
use crate::sections;
use base::{IndexId, Malformed, PageNo, Reader, TableId, put_bytes, put_u8, put_varint};
use record::{KeyPart, RowLayout, RowRef};
use types::{ByteString, Collation, ColumnType, TypeKind, Value};

const FORMAT: u8 = 1;
/// Of a table's definition with sections.
const WITH_SECTIONS: u8 = 2;

pub(crate) type Result<T> = std::result::Result<T, Malformed>;

pub(crate) fn encode_database(def: &DatabaseDef) -> Vec<u8> {
    let mut out = vec![FORMAT];
    put_text(&mut out, &def.name);
    put_collation(&mut out, def.collation);
    out
}

pub(crate) fn decode_database(bytes: &[u8]) -> Result<DatabaseDef> {
    let mut r = Reader::new(bytes);
    format(&mut r)?;
    let name = text(&mut r)?;
    let collation = collation(&mut r)?;
    Ok(DatabaseDef { name, charset: collation.charset(), collation })
}

pub(crate) fn encode_table(def: &TableDef) -> Vec<u8> {
    let sections = sections::encode(def);
    let mut out = vec![if sections.is_empty() { FORMAT } else { WITH_SECTIONS }];
    put_varint(&mut out, u64::from(def.id.0));
    put_text(&mut out, &def.database);
    put_text(&mut out, &def.name);
    put_varint(&mut out, u64::from(def.schema_version));
    put_collation(&mut out, def.collation);
    put_text(&mut out, &def.comment);
    put_varint(&mut out, def.auto_increment_start);
    put_varint(&mut out, def.created_micros as u64);
    put_varint(&mut out, def.columns.len() as u64);
    for column in &def.columns {
        put_column(&mut out, column);
    }
    put_varint(&mut out, def.indexes.len() as u64);
    for index in &def.indexes {
        put_index(&mut out, index);
    }
    put_varint(&mut out, def.shown_options.len() as u64);
    for (name, value) in &def.shown_options {
        put_text(&mut out, name);
        put_text(&mut out, value);
    }
    out.extend_from_slice(&sections);
    out
}

pub(crate) fn decode_table(bytes: &[u8]) -> Result<TableDef> {
    let mut r = Reader::new(bytes);
    let has_sections = match r.u8()? {
        FORMAT => false,
        WITH_SECTIONS => true,
        _ => return Err(Malformed),
    };
    let id = TableId(small(&mut r)?);
    let database = text(&mut r)?;
    let name = text(&mut r)?;
    let schema_version = u16::try_from(r.varint()?).map_err(|_| Malformed)?;
    let collation = collation(&mut r)?;
    let comment = text(&mut r)?;
    let auto_increment_start = r.varint()?;
    let created_micros = r.varint()? as i64;
    let columns = list(&mut r, column)?;
    let indexes = list(&mut r, index)?;
    let shown_options = list(&mut r, |r| Ok((text(r)?, text(r)?)))?;
    if indexes.is_empty() {
        return Err(Malformed);
    }
    let charset = collation.charset();
    let mut def = TableDef {
        id,
        database,
        name,
        columns,
        indexes,
        schema_version,
        charset,
        collation,
        comment,
        auto_increment_start,
        created_micros,
        shown_options,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        row_versions: Default::default(),
    };
    if has_sections {
        sections::decode(&mut r, &mut def)?;
    }
    Ok(def)
}

fn put_column(out: &mut Vec<u8>, column: &ColumnDef) {
    put_text(out, &column.name);
    put_type(out, &column.ty);
    put_u8(out, u8::from(column.on_update_now) | u8::from(column.auto_increment) << 1);
    match &column.default {
        DefaultValue::None => put_u8(out, 0),
        DefaultValue::Null => put_u8(out, 1),
        DefaultValue::Constant(value) => {
            put_u8(out, 2);
            put_value(out, &column.ty, value);
        }
        DefaultValue::CurrentTimestamp => put_u8(out, 3),
        // Its text is in a section.
        DefaultValue::Expression(_) => put_u8(out, 0),
    }
    put_text(out, &column.comment);
    put_varint(out, u64::from(column.added_in));
    put_value(out, &column.ty, &column.instant_default);
}

fn column(r: &mut Reader<'_>) -> Result<ColumnDef> {
    let name = text(r)?;
    let ty = column_type(r)?;
    let flags = r.u8()?;
    let default = match r.u8()? {
        0 => DefaultValue::None,
        1 => DefaultValue::Null,
        2 => DefaultValue::Constant(value(r, &ty)?),
        3 => DefaultValue::CurrentTimestamp,
        _ => return Err(Malformed),
    };
    let comment = text(r)?;
    let added_in = u16::try_from(r.varint()?).map_err(|_| Malformed)?;
    let instant_default = value(r, &ty)?;
    Ok(ColumnDef {
        name,
        default,
        on_update_now: flags & 1 != 0,
        auto_increment: flags & 2 != 0,
        comment,
        added_in,
        instant_default,
        ty,
        generated: None,
        visibility: Visibility::Visible,
        histogram: None,
        written: Default::default(),
    })
}

fn put_index(out: &mut Vec<u8>, index: &IndexDef) {
    put_text(out, &index.name);
    put_varint(out, u64::from(index.id.0));
    put_varint(out, index.root.0);
    put_u8(out, u8::from(index.unique));
    put_varint(out, index.parts.len() as u64);
    for part in &index.parts {
        put_varint(out, part.column as u64);
        put_varint(out, part.prefix_chars.map_or(0, |chars| u64::from(chars) + 1));
        put_u8(out, u8::from(part.descending));
    }
    put_text(out, &index.comment);
}

fn index(r: &mut Reader<'_>) -> Result<IndexDef> {
    let name = text(r)?;
    let id = IndexId(small(r)?);
    let root = PageNo(r.varint()?);
    let unique = r.u8()? != 0;
    let parts = list(r, |r| {
        let column = small(r)? as usize;
        let prefix = r.varint()?;
        let prefix_chars = if prefix == 0 { None } else { Some(u32::try_from(prefix - 1).map_err(|_| Malformed)?) };
        Ok(KeyPart { column, prefix_chars, descending: r.u8()? != 0 })
    })?;
    let comment = text(r)?;
    Ok(IndexDef { id, root, comment, ..IndexDef::new(name, unique, parts) })
}

pub(crate) fn put_type(out: &mut Vec<u8>, ty: &ColumnType) {
    put_u8(out, ty.kind as u8);
    put_u8(out, u8::from(ty.unsigned) | u8::from(ty.zerofill) << 1 | u8::from(ty.nullable) << 2);
    put_varint(out, u64::from(ty.length));
    put_u8(out, ty.decimals);
    put_collation(out, ty.collation);
    put_varint(out, ty.member_list().len() as u64);
    for member in ty.member_list() {
        put_bytes(out, member);
    }
}

pub(crate) fn column_type(r: &mut Reader<'_>) -> Result<ColumnType> {
    let kind = TypeKind::from_u8(r.u8()?).ok_or(Malformed)?;
    let flags = r.u8()?;
    let length = small(r)?;
    let decimals = r.u8()?;
    let collation = collation(r)?;
    let members = list(r, |r| Ok(ByteString::from(r.bytes()?)))?;
    Ok(ColumnType {
        kind,
        unsigned: flags & 1 != 0,
        zerofill: flags & 2 != 0,
        nullable: flags & 4 != 0,
        length,
        decimals,
        collation,
        members: (!members.is_empty()).then(|| members.into()),
    })
}

/// A value of a column's type, or NULL whatever the type.
pub(crate) fn put_value(out: &mut Vec<u8>, ty: &ColumnType, value: &Value) {
    let layout = RowLayout::new(&[ColumnType { nullable: true, ..ty.clone() }], 0);
    let mut row = Vec::new();
    // A default that is not of its column's type is refused before it gets here; should one come, NULL is stored.
    if layout.encode(std::slice::from_ref(value), &mut row).is_err() {
        row.clear();
    }
    put_bytes(out, &row);
}

pub(crate) fn value(r: &mut Reader<'_>, ty: &ColumnType) -> Result<Value> {
    let layout = RowLayout::new(&[ColumnType { nullable: true, ..ty.clone() }], 0);
    let row = r.bytes()?;
    if row.is_empty() { Ok(Value::Null) } else { RowRef::new(&layout, row).value(0) }
}

pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_bytes(out, text.as_bytes());
}

pub(crate) fn text(r: &mut Reader<'_>) -> Result<String> {
    String::from_utf8(r.bytes()?.to_vec()).map_err(|_| Malformed)
}

fn put_collation(out: &mut Vec<u8>, collation: Collation) {
    put_varint(out, u64::from(collation.id()));
}

fn collation(r: &mut Reader<'_>) -> Result<Collation> {
    u16::try_from(r.varint()?).ok().and_then(Collation::from_id).ok_or(Malformed)
}

pub(crate) fn small(r: &mut Reader<'_>) -> Result<u32> {
    u32::try_from(r.varint()?).map_err(|_| Malformed)
}

fn format(r: &mut Reader<'_>) -> Result<()> {
    if r.u8()? == FORMAT { Ok(()) } else { Err(Malformed) }
}

pub(crate) fn list<'a, T>(r: &mut Reader<'a>, mut one: impl FnMut(&mut Reader<'a>) -> Result<T>) -> Result<Vec<T>> {
    let count = r.varint()?;
    // Each element takes at least a byte: a wrong count does not make us allocate.
    if count > r.rest().len() as u64 {
        return Err(Malformed);
    }
    (0..count).map(|_| one(r)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::def::{CheckDef, ColumnFormat, ForeignKeyDef, Generated, ReferenceAction, Storage, WrittenColumn, WrittenIndex};
    use types::Charset;

    #[test]
    fn definitions_round_trip_and_cut_ones_are_malformed() {
        let column = |name: &str, ty: ColumnType, default| ColumnDef {
            name: name.into(),
            ty,
            default,
            on_update_now: false,
            auto_increment: false,
            comment: "c".into(),
            added_in: 0,
            instant_default: Value::Null,
            generated: None,
            visibility: Visibility::Visible,
            histogram: None,
            written: Default::default(),
        };
        let mut def = TableDef {
            id: TableId(7),
            database: "d".into(),
            name: "täble".into(),
            columns: vec![
                ColumnDef { auto_increment: true, ..column("id", ColumnType::bigint().not_null(), DefaultValue::None) },
                column("s", ColumnType::varchar(10, Collation::DEFAULT), DefaultValue::Constant("x".into())),
                ColumnDef {
                    added_in: 3,
                    instant_default: Value::Int(-5),
                    ..column("n", ColumnType::int(), DefaultValue::Constant(Value::Int(-5)))
                },
                column("e", ColumnType::with_members(TypeKind::Enum, ["a".into(), "b".into()], Collation::DEFAULT), DefaultValue::Null),
            ],
            indexes: vec![
                IndexDef {
                    name: "PRIMARY".into(),
                    id: IndexId(20),
                    root: PageNo(900),
                    unique: true,
                    parts: vec![KeyPart::ascending(0)],
                    comment: String::new(),
                    invisible: false,
                    written: Default::default(),
                },
                IndexDef {
                    name: "k".into(),
                    id: IndexId(21),
                    root: PageNo(901),
                    unique: false,
                    parts: vec![KeyPart { column: 1, prefix_chars: Some(3), descending: true }],
                    comment: "i".into(),
                    invisible: false,
                    written: Default::default(),
                },
            ],
            schema_version: 3,
            charset: Charset::Utf8mb4,
            collation: Collation::Utf8mb4Bin,
            comment: "t".into(),
            auto_increment_start: 5,
            created_micros: 1_700_000_000_000_000,
            shown_options: vec![("ROW_FORMAT".into(), "DYNAMIC".into())],
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            row_versions: Default::default(),
        };
        let whole_and_cut = |def: &TableDef| {
            let bytes = encode_table(def);
            assert_eq!(decode_table(&bytes).as_ref(), Ok(def));
            for end in 0..bytes.len() {
                assert!(decode_table(&bytes[..end]).is_err(), "cut at {end}");
            }
            bytes[0]
        };
        assert_eq!(whole_and_cut(&def), FORMAT, "what the first release knows is written as it wrote it");
        def.columns[2].default = DefaultValue::Expression("(`id` * 2)".into());
        def.columns[3].generated = Some(Generated { text: "lower(`s`)".into(), stored: false });
        def.columns[3].visibility = Visibility::Hidden;
        def.checks.push(CheckDef { name: "positive".into(), text: "(`id` > 0)".into(), enforced: false });
        def.indexes[1].invisible = true;
        def.indexes[1].written = WrittenIndex { btree: true, block_size: 1024, made_for_key: true };
        def.columns[1].written = WrittenColumn { collation: true, ..WrittenColumn::default() };
        def.columns[2].written =
            WrittenColumn { format: Some(ColumnFormat::Dynamic), storage: Some(Storage::Memory), ..Default::default() };
        def.foreign_keys.push(ForeignKeyDef {
            name: "t_ibfk_1".into(),
            columns: vec![2, 0],
            parent_database: "d".into(),
            parent_table: "p".into(),
            parent_columns: vec!["x".into(), "y".into()],
            on_delete: ReferenceAction::Cascade,
            on_update: ReferenceAction::SetDefault,
            made_index: "n".into(),
        });
        assert_eq!(whole_and_cut(&def), WITH_SECTIONS);
        let database = DatabaseDef { name: "d".into(), charset: Charset::Utf8mb4, collation: Collation::DEFAULT };
        assert_eq!(decode_database(&encode_database(&database)), Ok(database));
    }
}
