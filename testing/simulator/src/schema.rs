//! Random tables and rows, and keys as the engine encodes them.

use crate::options::Options;
use crate::random::Random;
use crate::stories::Story;
use catalog::{ColumnDef, HIDDEN_PRIMARY, IndexDef, TableDef};
use record::KeyPart;
use std::sync::Arc;
use types::{Collation, ColumnType, TypeKind, Value};

/// The only database.
pub(crate) const DATABASE: &str = "d";

/// A row's values, shared between the states that hold it.
pub(crate) type Row = Arc<Vec<Value>>;

/// A new table: `id` (the key, when there is one), `k`, `s`, `u`, `b`.
pub(crate) fn table(random: &mut Random, options: &Options, name: &str) -> TableDef {
    let text = *random.one_of(&[Collation::DEFAULT, Collation::Utf8mb4Bin]);
    let nullable = |random: &mut Random, ty: ColumnType| if random.percent(50) { ty } else { ty.not_null() };
    let mut columns = vec![match random.below(3) {
        0 => ColumnDef::new("id", ColumnType::varchar(40, text).not_null()),
        _ => ColumnDef::new("id", ColumnType::int().not_null()),
    }];
    columns.push(ColumnDef::new("k", nullable(random, ColumnType::int())));
    columns.push(ColumnDef::new("s", nullable(random, ColumnType::varchar(200, text))));
    columns.push(ColumnDef::new("u", ColumnType::int()));
    columns.push(ColumnDef::new("b", ColumnType::new(TypeKind::LongBlob)));
    let keyed = random.percent(80);
    let mut indexes = vec![match keyed {
        true => IndexDef::new("PRIMARY", true, vec![KeyPart::ascending(0)]),
        false => IndexDef::new(HIDDEN_PRIMARY, true, Vec::new()),
    }];
    if columns[0].ty.kind == TypeKind::Int && keyed && random.percent(50) {
        columns[0].auto_increment = true;
    }
    let mut def = TableDef { collation: text, ..TableDef::new(DATABASE, name, columns, Vec::new()) };
    for no in 0..random.below(4) {
        indexes.push(secondary(random, options, &def, format!("i{no}")));
    }
    if options.story == Some(Story::Leftover) {
        indexes.push(IndexDef::new("k", false, vec![KeyPart::ascending(1)]));
    }
    def.indexes = indexes;
    def
}

/// Columns from this position on are in no index.
pub(crate) const INDEXED_MAX: usize = 4;

/// A random secondary index over the first columns of a table.
pub(crate) fn secondary(random: &mut Random, options: &Options, def: &TableDef, name: String) -> IndexDef {
    let mut choices: Vec<usize> = (0..INDEXED_MAX).collect();
    let mut parts = Vec::new();
    for _ in 0..random.between(1, 2) {
        let column = choices.remove(random.below(choices.len()));
        let is_text = def.columns[column].ty.kind == TypeKind::VarChar;
        let prefix_chars = (is_text && random.percent(30)).then_some(2);
        parts.push(KeyPart { column, prefix_chars, descending: random.percent(20) });
    }
    // A unique index over a small domain would refuse nearly everything.
    let unique = random.percent(35) && options.domain > 8;
    IndexDef::new(name, unique, parts)
}

/// A value for a column.
pub(crate) fn value(random: &mut Random, options: &Options, def: &TableDef, column: usize) -> Value {
    let ty = &def.columns[column].ty;
    if ty.nullable && random.percent(20) {
        return Value::Null;
    }
    match ty.kind {
        TypeKind::Int => Value::Int(random.below(options.domain) as i64 - 3),
        TypeKind::VarChar if column == 0 => Value::from(word(random, options.domain)),
        TypeKind::VarChar => match random.percent(10) {
            true => Value::from("long ".repeat(random.between(1, 40))),
            false => Value::from(word(random, options.domain)),
        },
        _ => {
            let bytes = match random.below(100) {
                0..70 => random.below(20),
                70..90 => random.between(100, 1500),
                _ if !options.large_rows => random.between(1000, 3500),
                _ => *random.one_of(&[3900, 5000, 17_000, 40_000]) + random.below(300),
            };
            let mut fill = random.next();
            let content: Vec<u8> = (0..bytes)
                .map(|_| {
                    fill = fill.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    (fill >> 56) as u8
                })
                .collect();
            Value::bytes(content.as_slice())
        }
    }
}

/// A word, in one of several writings that some collations take for the same.
fn word(random: &mut Random, domain: usize) -> String {
    let word = format!("w{:02}x{}", random.below(domain.div_ceil(2)), "y".repeat(random.below(2)));
    match random.below(6) {
        0 => word.to_uppercase(),
        1 => word.replace('w', "W"),
        _ => word,
    }
}

/// A new row.
pub(crate) fn row(random: &mut Random, options: &Options, def: &TableDef) -> Vec<Value> {
    (0..def.columns.len()).map(|column| value(random, options, def, column)).collect()
}

/// The encoded parts of a row's key.
pub(crate) fn encode(def: &TableDef, parts: &[KeyPart], row: &[Value]) -> Vec<u8> {
    let mut key = Vec::new();
    for part in parts {
        record::key::encode_part(&def.columns[part.column].ty, part, &row[part.column], &mut key);
    }
    key
}

/// Whether a unique index has nothing to say about this row.
pub(crate) fn has_null(parts: &[KeyPart], row: &[Value]) -> bool {
    parts.iter().any(|part| row[part.column].is_null())
}

/// A definition without what the catalogue fills in.
pub(crate) fn normal(def: &TableDef) -> TableDef {
    let mut def = def.clone();
    def.id = base::TableId(0);
    def.auto_increment_start = 1;
    for index in &mut def.indexes {
        index.id = base::IndexId::NONE;
        index.root = base::PageNo::NONE;
    }
    def
}
