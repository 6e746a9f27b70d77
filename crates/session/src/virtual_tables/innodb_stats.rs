//! `mysql.innodb_table_stats` and `mysql.innodb_index_stats`: what planning rests on, in the form in which MySQL keeps its statistics. They are computed: always
//! as of now, and nothing is tuned by changing them.

use super::column::{bytes_text, columns, count};
use super::listing::{Listed, all_tables, failed};
use super::{MYSQL, RowFn, VirtualTable};
use crate::context::Core;
use crate::shared::Shared;
use catalog::{IndexDef, TableDef, TableEntry, VirtualRequest, VirtualRow, VirtualTableDef, Visibility};
use engine::IndexFigures;
use executor::{StatementContext, VirtualRows};
use std::sync::Arc;
use types::{ColumnType, Timestamp, TypeKind, Value};

/// How MySQL names the column that keys the rows of a table without a primary key.
const ROW_ID: &str = "DB_ROW_ID";

pub(super) fn tables() -> Vec<VirtualTable> {
    let place = || vec![("database_name", bytes_text(64).not_null()), ("table_name", bytes_text(199).not_null())];
    let last_update = || ("last_update", ColumnType::new(TypeKind::Timestamp).not_null());
    let mut of_tables = place();
    of_tables.extend([
        last_update(),
        ("n_rows", count().not_null()),
        ("clustered_index_size", count().not_null()),
        ("sum_of_other_index_sizes", count().not_null()),
    ]);
    let mut of_indexes = place();
    of_indexes.extend([
        ("index_name", bytes_text(64).not_null()),
        last_update(),
        ("stat_name", bytes_text(64).not_null()),
        ("stat_value", count().not_null()),
        ("sample_size", count()),
        ("stat_description", bytes_text(1024).not_null()),
    ]);
    vec![
        table("innodb_table_stats", of_tables, |core, request| rows(core, request, table_rows)),
        table("innodb_index_stats", of_indexes, |core, request| rows(core, request, index_rows)),
    ]
}

fn table(name: &'static str, list: Vec<(&'static str, ColumnType)>, rows: RowFn) -> VirtualTable {
    let (database, columns) = (MYSQL, columns(list));
    VirtualTable {
        def: VirtualTableDef { database, name, columns, keys: vec![0, 1], rows: 1000.0, is_view: false, is_dictionary: false },
        rows,
    }
}

/// Where a row belongs and of when it is: its first values.
struct Place<'t> {
    def: &'t TableDef,
    now: Value,
}

type MakeRows = fn(&Shared, &TableEntry, &Place<'_>) -> engine::Result<Vec<VirtualRow>>;

/// The rows that a function makes of each stored table.
fn rows(core: &mut Core, request: &VirtualRequest, make: MakeRows) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    let micros = core.statement_micros();
    let now = Value::Timestamp(Timestamp::from_micros(micros / 1_000_000 * 1_000_000));
    let of_table = move |listed: executor::Result<Listed>| {
        let made = listed.and_then(|listed| {
            let Some(entry) = listed.open(&shared).map_err(failed)? else { return Ok(Vec::new()) };
            Ok(make(&shared, &entry, &Place { def: &entry.def, now: now.clone() })?)
        });
        match made {
            Ok(rows) => rows.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        }
    };
    Ok(Box::new(all_tables(core, request)?.flat_map(of_table)))
}

fn table_rows(shared: &Shared, entry: &TableEntry, place: &Place<'_>) -> engine::Result<Vec<VirtualRow>> {
    let (data, others) = shared.engine.table_bytes(&entry.storage);
    let pages = |bytes: u64| Value::UInt(bytes / base::PAGE_BYTES as u64);
    Ok(vec![vec![
        place.def.database.as_str().into(),
        place.def.name.as_str().into(),
        place.now.clone(),
        Value::UInt(entry.storage.rows_estimate()),
        pages(data),
        pages(others),
    ]])
}

fn index_rows(shared: &Shared, entry: &TableEntry, place: &Place<'_>) -> engine::Result<Vec<VirtualRow>> {
    // In the order of MySQL's primary key.
    let mut indexes: Vec<(usize, &IndexDef)> = place.def.indexes.iter().enumerate().collect();
    indexes.sort_unstable_by(|(_, a), (_, b)| a.name.cmp(&b.name));
    let mut rows = Vec::new();
    for (no, index) in indexes {
        let figures = shared.engine.index_figures(&entry.storage, no)?;
        let mut row = |name: &str, value: u64, sample: Option<u64>, description: &str| {
            rows.push(vec![
                place.def.database.as_str().into(),
                place.def.name.as_str().into(),
                index.name.as_str().into(),
                place.now.clone(),
                name.into(),
                Value::UInt(value),
                sample.into(),
                description.into(),
            ]);
        };
        let mut described = String::new();
        for (at, (column, value)) in prefixes(place.def, no, &figures).into_iter().enumerate() {
            described.extend((at > 0).then_some(','));
            described.push_str(&column);
            row(&format!("n_diff_pfx{:02}", at + 1), value, Some(figures.pages_seen), &described);
        }
        row("n_leaf_pages", figures.leaf_pages, None, "Number of leaf pages in the index");
        row("size", figures.pages, None, "Number of pages in the index");
    }
    Ok(rows)
}

/// The columns of an index's key that MySQL tells of, each with the number of different values up to it: the parts of the index, and those of the primary key
/// that are not whole among them, unless the index is unique.
fn prefixes(def: &TableDef, no: usize, figures: &IndexFigures) -> Vec<(String, u64)> {
    let index = &def.indexes[no];
    let value = |at: usize| figures.distinct.get(at).copied().unwrap_or(figures.entries);
    let name = |at: usize, column: usize| match def.columns[column].visibility {
        // As MySQL names the columns behind functional parts.
        Visibility::Hidden => format!("!hidden!{}!{at}!0", index.name),
        _ => def.columns[column].name.clone(),
    };
    let mut list: Vec<(String, u64)> = index.parts.iter().enumerate().map(|(at, part)| (name(at, part.column), value(at))).collect();
    let primary = &def.indexes[0].parts;
    if no > 0 && !index.unique {
        let is_whole = |column: usize| index.parts.iter().any(|part| part.column == column && part.prefix_chars.is_none());
        let behind = primary.iter().enumerate().filter(|(_, part)| !is_whole(part.column));
        list.extend(behind.map(|(at, part)| (def.columns[part.column].name.clone(), value(index.parts.len() + at))));
    }
    if primary.is_empty() && (no == 0 || !index.unique) {
        list.push((ROW_ID.to_owned(), figures.entries));
    }
    list
}
