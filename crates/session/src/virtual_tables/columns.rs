//! `information_schema.COLUMNS`.

use super::VirtualTable;
use super::attributes::attributes;
use super::column::{bytes_text, count, folded, information_schema, long_text, one_of, unsigned_int};
use super::listing::{Listed, each_table};
use crate::context::Core;
use crate::ddl::has_generated_key;
use crate::show;
use catalog::{ColumnDef, TableDef, VirtualRequest, VirtualRow};
use executor::VirtualRows;
use std::sync::Arc;
use types::{Collation, ColumnType, DECIMALS_NOT_FIXED, TypeKind, Value};

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("COLUMN_NAME", folded(64)),
        ("ORDINAL_POSITION", unsigned_int().not_null()),
        ("COLUMN_DEFAULT", long_text(TypeKind::Text)),
        ("IS_NULLABLE", folded(3).not_null()),
        ("DATA_TYPE", long_text(TypeKind::LongText)),
        ("CHARACTER_MAXIMUM_LENGTH", ColumnType::bigint()),
        ("CHARACTER_OCTET_LENGTH", ColumnType::bigint()),
        ("NUMERIC_PRECISION", count()),
        ("NUMERIC_SCALE", count()),
        ("DATETIME_PRECISION", unsigned_int()),
        ("CHARACTER_SET_NAME", folded(64)),
        ("COLLATION_NAME", folded(64)),
        ("COLUMN_TYPE", long_text(TypeKind::MediumText).not_null()),
        ("COLUMN_KEY", one_of(&["", "PRI", "UNI", "MUL"], Collation::Utf8mb3Bin).not_null()),
        ("EXTRA", folded(256)),
        ("PRIVILEGES", folded(154)),
        ("COLUMN_COMMENT", long_text(TypeKind::Text).not_null()),
        ("GENERATION_EXPRESSION", long_text(TypeKind::LongText).not_null()),
        ("SRS_ID", unsigned_int()),
    ];
    VirtualTable { def: information_schema("COLUMNS", &["TABLE_SCHEMA", "TABLE_NAME"], 10_000.0, columns), rows }
}

fn rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shows = core.shows();
    let shared = Arc::clone(&core.shared);
    let generated_keys = core.tells_generated_keys();
    each_table(core, request, move |listed| match listed {
        Listed::Computed(_, def) => {
            let attributes = attributes(def);
            let row = |(at, c): (usize, &catalog::VirtualColumn)| {
                let privileges = &*shows.column(def.database, def.name, c.name);
                if privileges.is_empty() {
                    return None;
                }
                let place = Place { database: def.database, table: def.name, at };
                let details = Details {
                    default: attributes.default_of(c.name).map(str::to_owned),
                    key: attributes.key_word(def, c.name),
                    extra: attributes.extra(c.name).to_owned(),
                    privileges,
                    ..Details::default()
                };
                Some(describe(&place, c.name, &c.ty, details))
            };
            def.columns.iter().enumerate().filter_map(row).collect()
        }
        Listed::View(view) => {
            let row = |(at, column): (usize, show::ViewColumn)| {
                let place = Place { database: &view.def.database, table: &view.def.name, at };
                let privileges = &*shows.column(place.database, place.table, &column.column.name);
                if privileges.is_empty() {
                    return None;
                }
                let details =
                    Details { default: column.default, extra: column.extra, privileges, comment: &column.comment, ..Details::default() };
                Some(describe(&place, &column.column.name, &column.column.ty, details))
            };
            // An invalid one has none.
            show::view_columns(&shared, view).unwrap_or_default().into_iter().enumerate().filter_map(row).collect()
        }
        Listed::Stored(_) | Listed::Open(_) => {
            let Some(def) = listed.def() else { return Vec::new() };
            let hides = usize::from(!generated_keys && has_generated_key(def));
            let columns = def.columns[..def.user_columns()].iter().enumerate().skip(hides);
            let shown = columns.map(|(at, column)| (at, column, shows.column(&def.database, &def.name, &column.name)));
            shown.filter(|(.., held)| !held.is_empty()).map(|(at, column, held)| of_stored(def, at, column, &held)).collect()
        }
    })
}

struct Place<'p> {
    database: &'p str,
    table: &'p str,
    at: usize,
}

#[derive(Default)]
struct Details<'d> {
    default: Option<String>,
    key: &'d str,
    extra: String,
    privileges: &'d str,
    comment: &'d str,
    expression: String,
}

fn of_stored(def: &TableDef, at: usize, column: &ColumnDef, privileges: &str) -> VirtualRow {
    let details = Details {
        default: show::default_shown(column),
        key: show::key_word(def, at),
        extra: show::extra(column),
        privileges,
        comment: &column.comment,
        expression: column.generated.as_ref().map_or_else(String::new, |generated| show::escaped(&generated.text)),
    };
    describe(&Place { database: &def.database, table: &def.name, at }, &column.name, &column.ty, details)
}

fn describe(place: &Place<'_>, name: &str, ty: &ColumnType, details: Details<'_>) -> VirtualRow {
    let (characters, octets) = lengths(ty);
    let (precision, scale) = digits(ty);
    let has_collation = ty.is_character() && ty.kind != TypeKind::Json;
    let fraction = matches!(ty.kind, TypeKind::Time | TypeKind::DateTime | TypeKind::Timestamp).then_some(u64::from(ty.decimals));
    vec![
        "def".into(),
        place.database.into(),
        place.table.into(),
        name.into(),
        Value::UInt(place.at as u64 + 1),
        details.default.into(),
        if ty.nullable { "YES" } else { "NO" }.into(),
        ty.kind.sql_name().into(),
        characters.into(),
        octets.into(),
        precision.into(),
        scale.into(),
        fraction.into(),
        has_collation.then(|| ty.collation.charset().name()).into(),
        has_collation.then(|| ty.collation.name()).into(),
        ty.to_string().into(),
        details.key.into(),
        details.extra.into(),
        details.privileges.into(),
        details.comment.into(),
        details.expression.into(),
        Value::Null,
    ]
}

/// Longest value in characters and in bytes.
fn lengths(ty: &ColumnType) -> (Option<i64>, Option<i64>) {
    let bytes_per_char = i64::from(ty.collation.charset().bytes_per_char_max());
    match ty.kind {
        TypeKind::Char | TypeKind::VarChar | TypeKind::Binary | TypeKind::VarBinary => {
            (Some(i64::from(ty.length)), Some(i64::from(ty.length) * bytes_per_char))
        }
        kind if kind.is_blob() => (Some(i64::from(ty.length)), Some(i64::from(ty.length))),
        TypeKind::Enum | TypeKind::Set => {
            let lengths = ty.member_list().iter().map(|member| member.to_text().chars().count() as i64);
            let characters = match ty.kind {
                TypeKind::Enum => lengths.max().unwrap_or(0),
                // All members with commas between them.
                _ => (lengths.map(|length| length + 1).sum::<i64>() - 1).max(0),
            };
            (Some(characters), Some(characters * bytes_per_char))
        }
        _ => (None, None),
    }
}

/// Digits in all and behind the point.
fn digits(ty: &ColumnType) -> (Option<u64>, Option<u64>) {
    let whole = |digits: u64| (Some(digits), Some(0));
    match ty.kind {
        TypeKind::TinyInt => whole(3),
        TypeKind::SmallInt => whole(5),
        TypeKind::MediumInt => whole(7),
        TypeKind::Int => whole(10),
        TypeKind::BigInt => whole(if ty.unsigned { 20 } else { 19 }),
        TypeKind::Decimal => (Some(u64::from(ty.length)), Some(u64::from(ty.decimals))),
        TypeKind::Float | TypeKind::Double => {
            let default = if ty.kind == TypeKind::Float { 12 } else { 22 };
            let digits = if ty.length == 0 { default } else { u64::from(ty.length) };
            (Some(digits), Some(u64::from(ty.decimals)).filter(|_| ty.decimals != DECIMALS_NOT_FIXED))
        }
        TypeKind::Bit => (Some(u64::from(ty.length)), None),
        _ => (None, None),
    }
}
