//! `information_schema.TABLES`.

use super::column::{bytes_text, count, datetime, folded, information_schema, int, long_folded, one_of};
use super::listing::{Listed, failed, tables};
use super::{VirtualDatabase, VirtualTable};
use crate::context::Core;
use crate::shared::Shared;
use crate::show;
use catalog::{TableDef, TableEntry, ViewEntry, VirtualRequest, VirtualRow, VirtualTableDef};
use executor::VirtualRows;
use std::sync::Arc;
use types::{Collation, ColumnType, Timestamp, TypeKind, Value};

/// Columns whose values need the table open: TABLE_ROWS to AUTO_INCREMENT.
const NEED_STORAGE: std::ops::RangeInclusive<usize> = 7..=13;

pub(super) fn table() -> VirtualTable {
    let columns = vec![
        ("TABLE_CATALOG", bytes_text(64).not_null()),
        ("TABLE_SCHEMA", bytes_text(64).not_null()),
        ("TABLE_NAME", bytes_text(64).not_null()),
        ("TABLE_TYPE", one_of(&["BASE TABLE", "VIEW", "SYSTEM VIEW"], Collation::Utf8mb3Bin).not_null()),
        ("ENGINE", folded(64)),
        ("VERSION", int()),
        ("ROW_FORMAT", one_of(&["Fixed", "Dynamic", "Compressed", "Redundant", "Compact", "Paged"], Collation::Utf8mb3Bin)),
        ("TABLE_ROWS", count()),
        ("AVG_ROW_LENGTH", count()),
        ("DATA_LENGTH", count()),
        ("MAX_DATA_LENGTH", count()),
        ("INDEX_LENGTH", count()),
        ("DATA_FREE", count()),
        ("AUTO_INCREMENT", count()),
        ("CREATE_TIME", ColumnType::new(TypeKind::Timestamp).not_null()),
        ("UPDATE_TIME", datetime()),
        ("CHECK_TIME", datetime()),
        ("TABLE_COLLATION", folded(64)),
        ("CHECKSUM", ColumnType::bigint()),
        ("CREATE_OPTIONS", folded(256)),
        ("TABLE_COMMENT", long_folded(TypeKind::Text)),
    ];
    VirtualTable { def: information_schema("TABLES", &["TABLE_SCHEMA", "TABLE_NAME"], 1000.0, columns), rows }
}

fn rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    let with_storage = NEED_STORAGE.into_iter().any(|column| request.uses(column));
    Ok(Box::new(tables(core, request)?.map(move |listed| row(&shared, listed?, with_storage))))
}

fn row(shared: &Shared, listed: Listed, with_storage: bool) -> executor::Result<VirtualRow> {
    let def = match &listed {
        Listed::Computed(database, def) => return Ok(of_computed(shared, database, def)),
        Listed::View(view) => return Ok(of_view(shared, view)),
        Listed::Open(entry) => &entry.def,
        Listed::Stored(def) => def,
    };
    let figures = match with_storage {
        true => listed.open(shared).map_err(failed)?.map(|entry| Figures::of(shared, &entry)).unwrap_or_default(),
        false => Figures::default(),
    };
    Ok(of_stored(def, &figures))
}

/// `information_schema.PARTITIONS`: a row for each table, as none is made of several parts, and for each view.
pub(super) fn partition_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    Ok(Box::new(tables(core, request)?.map(move |listed| row(&shared, listed?, true).map(of_whole))))
}

/// The row of PARTITIONS of a table that is not divided, of its row in TABLES.
fn of_whole(table: VirtualRow) -> VirtualRow {
    let mut row: VirtualRow = table[..3].to_vec();
    row.resize(13, Value::Null);
    // TABLE_ROWS to DATA_FREE, CREATE_TIME to CHECK_TIME. A view has 0 of all.
    row.extend(table[7..=12].iter().map(|figure| if figure.is_null() { Value::UInt(0) } else { figure.clone() }));
    row.extend_from_slice(&table[14..=16]);
    row.extend([Value::Null, "".into(), "".into(), Value::Null]);
    row
}

/// The row of SHOW TABLE STATUS for a stored table.
pub(crate) fn status_row(shared: &Shared, entry: &TableEntry) -> VirtualRow {
    without_place(of_stored(&entry.def, &Figures::of(shared, entry)))
}

/// The same for a view.
pub(crate) fn view_status_row(shared: &Shared, view: &Arc<ViewEntry>) -> VirtualRow {
    without_place(of_view(shared, view))
}

/// The same for a computed table.
pub(crate) fn computed_status_row(shared: &Shared, database: &VirtualDatabase, def: &VirtualTableDef) -> VirtualRow {
    without_place(of_computed(shared, database, def))
}

/// What is left of a row without catalogue, schema and type.
fn without_place(mut row: VirtualRow) -> VirtualRow {
    row.remove(3);
    row.drain(..2);
    row
}

fn of_stored(def: &TableDef, figures: &Figures) -> VirtualRow {
    let zero = || Value::UInt(0);
    vec![
        "def".into(),
        def.database.as_str().into(),
        def.name.as_str().into(),
        "BASE TABLE".into(),
        "InnoDB".into(),
        Value::Int(10),
        row_format(def).into(),
        Value::UInt(figures.rows),
        Value::UInt(figures.data.checked_div(figures.rows).unwrap_or(0)),
        Value::UInt(figures.data),
        zero(),
        Value::UInt(figures.indexes),
        zero(),
        def.auto_increment_column().map(|_| figures.auto_increment).into(),
        Value::Timestamp(seconds(def.created_micros)),
        Value::Null,
        Value::Null,
        def.collation.name().into(),
        Value::Null,
        create_options(def).into(),
        def.comment.as_str().into(),
    ]
}

/// Options in the order in which CREATE_OPTIONS tells them.
const OPTIONS: [&str; 11] = [
    "MAX_ROWS",
    "MIN_ROWS",
    "AVG_ROW_LENGTH",
    "ROW_FORMAT",
    "STATS_SAMPLE_PAGES",
    "STATS_AUTO_RECALC",
    "KEY_BLOCK_SIZE",
    "STATS_PERSISTENT",
    "PACK_KEYS",
    "CHECKSUM",
    "DELAY_KEY_WRITE",
];

fn create_options(def: &TableDef) -> String {
    let place = |name: &str| OPTIONS.iter().position(|known| known.eq_ignore_ascii_case(name)).unwrap_or(OPTIONS.len());
    let mut options: Vec<&(String, String)> = def.shown_options.iter().collect();
    options.sort_by_key(|(name, _)| place(name));
    let text = |(name, value): &(String, String)| match name.eq_ignore_ascii_case("KEY_BLOCK_SIZE") {
        true => format!("KEY_BLOCK_SIZE={value}"),
        false => format!("{}={value}", name.to_lowercase()),
    };
    options.into_iter().map(text).collect::<Vec<_>>().join(" ")
}

/// ROW_FORMAT: what the table was declared with, though rows are kept in one way only.
fn row_format(def: &TableDef) -> &'static str {
    let option =
        |wanted: &str| def.shown_options.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str());
    match option("ROW_FORMAT") {
        Some(value) if value.eq_ignore_ascii_case("COMPACT") => "Compact",
        Some(value) if value.eq_ignore_ascii_case("REDUNDANT") => "Redundant",
        Some(value) if value.eq_ignore_ascii_case("COMPRESSED") => "Compressed",
        None if option("KEY_BLOCK_SIZE").is_some() => "Compressed",
        _ => "Dynamic",
    }
}

fn of_view(shared: &Shared, view: &Arc<ViewEntry>) -> VirtualRow {
    let def = &view.def;
    let mut row: VirtualRow = vec!["def".into(), def.database.as_str().into(), def.name.as_str().into(), "VIEW".into()];
    row.resize(21, Value::Null);
    row[14] = Value::Timestamp(seconds(def.created_micros));
    row[20] = match planner::views::view_columns(view, &show::Describing(shared)) {
        Ok(_) => "VIEW".into(),
        Err(error) => error.message.into(),
    };
    row
}

fn of_computed(shared: &Shared, database: &VirtualDatabase, def: &VirtualTableDef) -> VirtualRow {
    let zero = || Value::UInt(0);
    let comment = super::comment_of(def);
    let engine = comment.map(|_| "CSV").or_else(|| database.engine());
    let collation = if comment.is_some() { Collation::Utf8mb3GeneralCi } else { database.collation };
    vec![
        "def".into(),
        database.name.into(),
        def.name.into(),
        database.table_type().into(),
        engine.into(),
        Value::Int(10),
        engine.map(|_| "Dynamic").into(),
        zero(),
        zero(),
        zero(),
        zero(),
        zero(),
        zero(),
        Value::Null,
        Value::Timestamp(seconds(shared.started_micros)),
        Value::Null,
        Value::Null,
        engine.map(|_| collation.name()).into(),
        Value::Null,
        "".into(),
        comment.unwrap_or_default().into(),
    ]
}

/// What only storage knows.
#[derive(Default)]
struct Figures {
    rows: u64,
    data: u64,
    indexes: u64,
    auto_increment: u64,
}

impl Figures {
    fn of(shared: &Shared, entry: &TableEntry) -> Figures {
        let (data, indexes) = shared.engine.table_bytes(&entry.storage);
        Figures { rows: entry.storage.rows_estimate(), data, indexes, auto_increment: entry.storage.auto_increment() }
    }
}

/// An instant without its fraction.
fn seconds(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros / 1_000_000 * 1_000_000)
}
