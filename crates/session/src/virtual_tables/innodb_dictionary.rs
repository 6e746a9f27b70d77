//! `information_schema.INNODB_TABLES`, `INNODB_COLUMNS`, `INNODB_INDEXES`, `INNODB_FIELDS`, `INNODB_VIRTUAL`, `INNODB_FOREIGN`, `INNODB_FOREIGN_COLS` and
//! `INNODB_TABLESTATS`: the dictionary as tools know InnoDB's. All tables lie in one file, so that they are those of a MySQL without
//! `innodb_file_per_table`: in space 0, the system's (`innodb_spaces.rs`).

use super::column::{bytes_text, count, folded, information_schema, int, long_folded, octets, unsigned_int};
use super::innodb_types::storage_type;
use super::listing::{Listed, all_tables, failed};
use super::{RowFn, VirtualTable};
use crate::context::Core;
use catalog::{ColumnDef, HIDDEN_PRIMARY, IndexDef, ReferenceAction, TableDef, VirtualRequest, VirtualRow, Visibility};
use executor::VirtualRows;
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value};

/// Columns that each of MySQL's tables has beside its own: row id, transaction, roll pointer.
const SYSTEM_COLUMNS: usize = 3;
/// The space that all tables are in.
pub(super) const SYSTEM_SPACE: i64 = 0;
/// FLAG of a table in the row format DYNAMIC.
const FLAG_DYNAMIC: i64 = 33;
/// How full a page must be that is not merged, in percent: MySQL's unless a COMMENT says another.
const MERGE_THRESHOLD: i64 = 50;
/// Bit where the number of a virtual column begins in its position.
const VIRTUAL_SHIFT: u32 = 16;

/// All of them.
pub(super) fn definitions() -> Vec<VirtualTable> {
    vec![
        table("INNODB_TABLES", tables_columns(), |core, request| of_tables(core, request, table_rows)),
        table("INNODB_COLUMNS", columns_columns(), |core, request| of_tables(core, request, column_rows)),
        table("INNODB_INDEXES", indexes_columns(), |core, request| of_tables(core, request, index_rows)),
        table("INNODB_FIELDS", fields_columns(), |core, request| of_tables(core, request, field_rows)),
        table("INNODB_VIRTUAL", virtual_columns(), |core, request| of_tables(core, request, virtual_rows)),
        table("INNODB_FOREIGN", foreign_columns(), |core, request| of_tables(core, request, foreign_rows)),
        table("INNODB_FOREIGN_COLS", foreign_cols_columns(), |core, request| of_tables(core, request, foreign_column_rows)),
        table("INNODB_TABLESTATS", tablestats_columns(), tablestats_rows),
    ]
}

type Columns = Vec<(&'static str, ColumnType)>;

fn table(name: &'static str, columns: Columns, rows: RowFn) -> VirtualTable {
    VirtualTable { def: information_schema(name, &[], 1000.0, columns), rows }
}

fn tables_columns() -> Columns {
    vec![
        ("TABLE_ID", count().not_null()),
        ("NAME", folded(655).not_null()),
        ("FLAG", int().not_null()),
        ("N_COLS", int().not_null()),
        ("SPACE", ColumnType::bigint().not_null()),
        ("ROW_FORMAT", folded(12)),
        ("ZIP_PAGE_SIZE", unsigned_int().not_null()),
        ("SPACE_TYPE", folded(10)),
        ("INSTANT_COLS", int().not_null()),
        ("TOTAL_ROW_VERSIONS", int().not_null()),
    ]
}

fn columns_columns() -> Columns {
    vec![
        ("TABLE_ID", count().not_null()),
        ("NAME", folded(193).not_null()),
        ("POS", count().not_null()),
        ("MTYPE", int().not_null()),
        ("PRTYPE", int().not_null()),
        ("LEN", int().not_null()),
        ("HAS_DEFAULT", int().not_null()),
        ("DEFAULT_VALUE", long_folded(TypeKind::Text)),
    ]
}

fn indexes_columns() -> Columns {
    vec![
        ("INDEX_ID", count().not_null()),
        ("NAME", folded(193).not_null()),
        ("TABLE_ID", count().not_null()),
        ("TYPE", int().not_null()),
        ("N_FIELDS", int().not_null()),
        ("PAGE_NO", int().not_null()),
        ("SPACE", int().not_null()),
        ("MERGE_THRESHOLD", int().not_null()),
    ]
}

fn fields_columns() -> Columns {
    vec![("INDEX_ID", octets(256)), ("NAME", folded(64).not_null()), ("POS", count().not_null())]
}

fn virtual_columns() -> Columns {
    vec![("TABLE_ID", count().not_null()), ("POS", unsigned_int().not_null()), ("BASE_POS", unsigned_int().not_null())]
}

fn foreign_columns() -> Columns {
    vec![
        ("ID", bytes_text(129)),
        ("FOR_NAME", bytes_text(129)),
        ("REF_NAME", bytes_text(129)),
        ("N_COLS", ColumnType::bigint().not_null()),
        ("TYPE", count().not_null()),
    ]
}

fn foreign_cols_columns() -> Columns {
    vec![
        ("ID", bytes_text(129)),
        ("FOR_COL_NAME", folded(64).not_null()),
        ("REF_COL_NAME", folded(64).not_null()),
        ("POS", unsigned_int().not_null()),
    ]
}

fn tablestats_columns() -> Columns {
    vec![
        ("TABLE_ID", count().not_null()),
        ("NAME", folded(193).not_null()),
        ("STATS_INITIALIZED", folded(193).not_null()),
        ("NUM_ROWS", count().not_null()),
        ("CLUST_INDEX_SIZE", count().not_null()),
        ("OTHER_INDEX_SIZE", count().not_null()),
        ("MODIFIED_COUNTER", count().not_null()),
        ("AUTOINC", count().not_null()),
        ("REF_COUNT", int().not_null()),
    ]
}

/// The rows that a function makes of each stored table, whosever it is: for who may see the server's processes.
fn of_tables(core: &Core, request: &VirtualRequest, make: fn(&TableDef) -> Vec<VirtualRow>) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let rows = move |listed: executor::Result<Listed>| -> Vec<executor::Result<VirtualRow>> {
        match listed {
            Ok(listed) => listed.def().map_or_else(Vec::new, make).into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error)],
        }
    };
    Ok(Box::new(all_tables(core, request)?.flat_map(rows)))
}

fn name_of(def: &TableDef) -> String {
    format!("{}/{}", def.database, def.name)
}

fn id_of(def: &TableDef) -> Value {
    Value::UInt(u64::from(def.id.0))
}

/// Columns that MySQL keeps in rows.
fn kept(def: &TableDef) -> impl Iterator<Item = &ColumnDef> {
    def.columns.iter().filter(|column| !column.is_virtual() && column.visibility != Visibility::Hidden)
}

fn table_rows(def: &TableDef) -> Vec<VirtualRow> {
    vec![vec![
        id_of(def),
        name_of(def).into(),
        Value::Int(FLAG_DYNAMIC),
        Value::Int((kept(def).count() + SYSTEM_COLUMNS) as i64),
        Value::Int(SYSTEM_SPACE),
        "Dynamic".into(),
        Value::UInt(0),
        "System".into(),
        Value::Int(0),
        Value::Int(i64::from(def.schema_version)),
    ]]
}

/// Where a column stands: those that rows have are counted by themselves; a virtual one says its number among those, too.
fn positions(def: &TableDef) -> Vec<u64> {
    let (mut in_rows, mut of_virtual) = (0, 0);
    let position = |(at, column): (usize, &ColumnDef)| {
        if column.is_virtual() || column.visibility == Visibility::Hidden {
            of_virtual += 1;
            of_virtual << VIRTUAL_SHIFT | at as u64
        } else {
            in_rows += 1;
            in_rows - 1
        }
    };
    def.columns.iter().enumerate().map(position).collect()
}

fn column_rows(def: &TableDef) -> Vec<VirtualRow> {
    let shown = def.columns.iter().zip(positions(def)).filter(|(column, _)| column.visibility != Visibility::Hidden);
    let row = |(column, position): (&ColumnDef, u64)| {
        let (main, precise, length) = storage_type(column);
        vec![
            id_of(def),
            column.name.as_str().into(),
            Value::UInt(position),
            Value::Int(main),
            Value::Int(precise),
            Value::Int(length),
            Value::Int(i64::from(column.added_in > 0)),
            // MySQL writes the bytes that InnoDB keeps.
            Value::Null,
        ]
    };
    shown.map(row).collect()
}

fn index_rows(def: &TableDef) -> Vec<VirtualRow> {
    let row = |(no, index): (usize, &IndexDef)| {
        vec![
            Value::UInt(u64::from(index.id.0)),
            index.name.as_str().into(),
            id_of(def),
            Value::Int(index_type(def, no, index)),
            Value::Int(field_count(def, no, index) as i64),
            Value::Int(i64::try_from(index.root.0).unwrap_or(i64::MAX)),
            Value::Int(SYSTEM_SPACE),
            Value::Int(MERGE_THRESHOLD),
        ]
    };
    def.indexes.iter().enumerate().map(row).collect()
}

/// TYPE: 1 for the index that holds the rows, 2 when it is unique, 128 when it holds a virtual column.
fn index_type(def: &TableDef, no: usize, index: &IndexDef) -> i64 {
    const CLUSTERED: i64 = 1;
    const UNIQUE: i64 = 2;
    const VIRTUAL: i64 = 128;
    let is_unique = index.unique && index.name != HIDDEN_PRIMARY;
    let has_virtual = index.parts.iter().any(|part| def.columns[part.column].is_virtual());
    [(no == 0, CLUSTERED), (is_unique, UNIQUE), (has_virtual, VIRTUAL)].into_iter().filter(|(is, _)| *is).map(|(_, flag)| flag).sum()
}

/// Fields of an entry: all columns, transaction and roll pointer of the index that holds the rows; of others their parts and what of the primary key is not
/// among them.
fn field_count(def: &TableDef, no: usize, index: &IndexDef) -> usize {
    let primary = &def.indexes[0].parts;
    let row_id = usize::from(primary.is_empty());
    if no == 0 {
        return kept(def).count() + SYSTEM_COLUMNS - 1 + row_id;
    }
    let is_whole = |column: usize| index.parts.iter().any(|part| part.column == column && part.prefix_chars.is_none());
    index.parts.len() + primary.iter().filter(|part| !is_whole(part.column)).count() + row_id
}

fn field_rows(def: &TableDef) -> Vec<VirtualRow> {
    let of_index = |index: &IndexDef| -> Vec<VirtualRow> {
        let names = index.parts.iter().map(|part| def.columns[part.column].name.as_str());
        let fields = names.enumerate().map(|(at, name)| vec![index.id.0.to_string().into(), name.into(), Value::UInt(at as u64)]);
        fields.collect()
    };
    def.indexes.iter().flat_map(of_index).collect()
}

fn virtual_rows(def: &TableDef) -> Vec<VirtualRow> {
    let positions = positions(def);
    let mut rows = Vec::new();
    for (column, position) in def.columns.iter().zip(&positions) {
        let Some(generated) = column.generated.as_ref().filter(|generated| !generated.stored) else { continue };
        let mut bases: Vec<usize> = parser::columns_in(&generated.text).iter().filter_map(|name| def.column_index(name)).collect();
        bases.sort_unstable();
        bases.dedup();
        rows.extend(bases.into_iter().map(|base| vec![id_of(def), Value::UInt(*position), Value::UInt(positions[base])]));
    }
    rows
}

fn foreign_id(def: &TableDef, name: &str) -> Value {
    format!("{}/{name}", def.database).into()
}

fn foreign_rows(def: &TableDef) -> Vec<VirtualRow> {
    // CASCADE, SET NULL, NO ACTION of ON DELETE; those of ON UPDATE.
    let bits = |action: ReferenceAction, [cascade, set_null, no_action]: [u64; 3]| match action {
        ReferenceAction::Cascade => cascade,
        ReferenceAction::SetNull => set_null,
        ReferenceAction::NoAction => no_action,
        ReferenceAction::Restrict | ReferenceAction::SetDefault => 0,
    };
    let row = |key: &catalog::ForeignKeyDef| {
        vec![
            foreign_id(def, &key.name),
            name_of(def).into(),
            format!("{}/{}", key.parent_database, key.parent_table).into(),
            Value::Int(key.columns.len() as i64),
            Value::UInt(bits(key.on_delete, [1, 2, 16]) | bits(key.on_update, [4, 8, 32])),
        ]
    };
    def.foreign_keys.iter().map(row).collect()
}

fn foreign_column_rows(def: &TableDef) -> Vec<VirtualRow> {
    let of_key = |key: &catalog::ForeignKeyDef| -> Vec<VirtualRow> {
        let pairs = key.columns.iter().zip(&key.parent_columns).enumerate();
        let row = |(at, (column, parent)): (usize, (&usize, &String))| {
            let own = def.columns[*column].name.as_str();
            vec![foreign_id(def, &key.name), own.into(), parent.as_str().into(), Value::UInt(at as u64 + 1)]
        };
        pairs.map(row).collect()
    };
    def.foreign_keys.iter().flat_map(of_key).collect()
}

fn tablestats_rows(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let shared = Arc::clone(&core.shared);
    let row = move |listed: executor::Result<Listed>| -> Option<executor::Result<VirtualRow>> {
        let opened = listed.and_then(|listed| listed.open(&shared).map_err(failed));
        let entry = match opened {
            Ok(entry) => entry?,
            Err(error) => return Some(Err(error)),
        };
        let (data, indexes) = shared.engine.table_bytes(&entry.storage);
        let pages = |bytes: u64| Value::UInt(bytes / base::PAGE_BYTES as u64);
        Some(Ok(vec![
            id_of(&entry.def),
            name_of(&entry.def).into(),
            "Initialized".into(),
            Value::UInt(entry.storage.rows_estimate()),
            pages(data),
            pages(indexes),
            // Changes since the figures were made: they are always present.
            Value::UInt(0),
            Value::UInt(if entry.def.auto_increment_column().is_some() { entry.storage.auto_increment() } else { 0 }),
            Value::Int(0),
        ]))
    };
    Ok(Box::new(all_tables(core, request)?.filter_map(row)))
}
