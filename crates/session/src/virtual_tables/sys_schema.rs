//! Views of `sys` about definitions: indexes that others make superfluous, how full AUTO_INCREMENT columns are, what there is in each database.
//! What they compute is in the manual ("sys Schema Views") and was asked of MySQL 9.7 (`tests/sql/admin/sys_schema.slt`).

use super::column::{bytes_text, count, folded, int, long_folded, long_text};
use super::listing::{Listed, each_table, failed, tables as listed_tables};
use super::sys::define;
use super::{VirtualTable, listed};
use crate::context::Core;
use catalog::{TableDef, VirtualRequest, VirtualRow, VirtualTableDef, Visibility};
use executor::VirtualRows;
use std::collections::BTreeMap;
use std::sync::Arc;
use types::{ColumnType, Decimal, TypeKind, Value};

/// Digits behind the point of `auto_increment_ratio`.
const RATIO_DECIMALS: u8 = 4;

pub(super) fn tables() -> Vec<VirtualTable> {
    let place = || [("table_schema", bytes_text(64).not_null()), ("table_name", bytes_text(64).not_null())];
    let with = |rest: Vec<(&'static str, ColumnType)>| -> Vec<(&'static str, ColumnType)> { place().into_iter().chain(rest).collect() };
    let by_table = |name, list| VirtualTableDef { keys: vec![0, 1], ..define(name, list) };
    let flattened = with(vec![
        ("index_name", folded(64)),
        ("non_unique", int()),
        ("subpart_exists", ColumnType::bigint()),
        ("index_columns", long_folded(TypeKind::Text)),
    ]);
    let redundant = with(vec![
        ("redundant_index_name", folded(64)),
        ("redundant_index_columns", long_folded(TypeKind::Text)),
        ("redundant_index_non_unique", int()),
        ("dominant_index_name", folded(64)),
        ("dominant_index_columns", long_folded(TypeKind::Text)),
        ("dominant_index_non_unique", int()),
        ("subpart_exists", int().not_null()),
        ("sql_drop_index", folded(223)),
    ]);
    let counters = with(vec![
        ("column_name", folded(64)),
        ("data_type", long_text(TypeKind::LongText)),
        ("column_type", long_text(TypeKind::MediumText).not_null()),
        ("is_signed", int().not_null()),
        ("is_unsigned", int().not_null()),
        ("max_value", count()),
        ("auto_increment", count()),
        ("auto_increment_ratio", ColumnType::decimal(25, RATIO_DECIMALS).unsigned()),
    ]);
    let overview = vec![("db", bytes_text(64).not_null()), ("object_type", folded(19)), ("count", ColumnType::bigint().not_null())];
    let overview = VirtualTableDef { keys: vec![0], ..define("schema_object_overview", overview) };
    vec![
        VirtualTable { def: by_table("x$schema_flattened_keys", flattened), rows: flattened_keys },
        VirtualTable { def: by_table("schema_redundant_indexes", redundant), rows: redundant_indexes },
        VirtualTable { def: by_table("schema_auto_increment_columns", counters), rows: auto_increment_columns },
        VirtualTable { def: overview, rows: object_overview },
    ]
}

/// An index as `x$schema_flattened_keys` has it.
struct FlatKey<'d> {
    name: &'d str,
    non_unique: bool,
    subpart: bool,
    /// Names with commas between; parts that are expressions have none.
    columns: Option<String>,
}

impl FlatKey<'_> {
    /// The indexes of a table.
    fn of(def: &TableDef) -> Vec<FlatKey<'_>> {
        let flat = |index: &'_ catalog::IndexDef| -> (bool, Option<String>) {
            let names = index.parts.iter().map(|part| &def.columns[part.column]);
            let names: Vec<&str> = names.filter(|c| c.visibility != Visibility::Hidden).map(|c| c.name.as_str()).collect();
            let subpart = index.parts.iter().any(|part| part.prefix_chars.is_some());
            (subpart, (!names.is_empty()).then(|| names.join(",")))
        };
        let indexes = def.indexes.iter().filter(|index| !index.parts.is_empty());
        indexes
            .map(|index| {
                let (subpart, columns) = flat(index);
                FlatKey { name: &index.name, non_unique: !index.unique, subpart, columns }
            })
            .collect()
    }

    /// Whether an index serves for nothing that another of its table does not serve for.
    fn is_redundant_to(&self, dominant: &FlatKey<'_>) -> bool {
        let (Some(own), Some(other)) = (&self.columns, &dominant.columns) else { return false };
        let (own, other) = (own.to_lowercase(), other.to_lowercase());
        let begins = |long: &str, short: &str| long.strip_prefix(short).is_some_and(|rest| rest.starts_with(','));
        let same = own == other
            && (self.non_unique && !dominant.non_unique || self.non_unique == dominant.non_unique && self.rank() > dominant.rank());
        same || begins(&other, &own) && self.non_unique || begins(&own, &other) && !dominant.non_unique
    }

    /// Of indexes of the same columns the first stays; the primary key is the first of all.
    fn rank(&self) -> String {
        if self.name == "PRIMARY" { String::new() } else { self.name.to_lowercase() }
    }
}

fn flattened_keys(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |table| {
        let Some(def) = table.def() else { return Vec::new() };
        let row = |key: FlatKey<'_>| -> VirtualRow {
            vec![
                def.database.as_str().into(),
                def.name.as_str().into(),
                key.name.into(),
                Value::bool(key.non_unique),
                Value::bool(key.subpart),
                key.columns.into(),
            ]
        };
        FlatKey::of(def).into_iter().map(row).collect()
    })
}

fn redundant_indexes(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    each_table(core, request, |table| {
        let Some(def) = table.def() else { return Vec::new() };
        let keys = FlatKey::of(def);
        let mut rows = Vec::new();
        for redundant in &keys {
            for dominant in keys.iter().filter(|dominant| redundant.is_redundant_to(dominant)) {
                let text = |text: &Option<String>| Value::from(text.as_deref());
                // MySQL's view does not double backticks in names either.
                let drop = format!("ALTER TABLE `{}`.`{}` DROP INDEX `{}`", def.database, def.name, redundant.name);
                rows.push(vec![
                    def.database.as_str().into(),
                    def.name.as_str().into(),
                    redundant.name.into(),
                    text(&redundant.columns),
                    Value::bool(redundant.non_unique),
                    dominant.name.into(),
                    text(&dominant.columns),
                    Value::bool(dominant.non_unique),
                    Value::bool(redundant.subpart || dominant.subpart),
                    drop.into(),
                ]);
            }
        }
        rows
    })
}

/// The fullest first.
fn auto_increment_columns(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let shared = Arc::clone(&core.shared);
    let mut rows: Vec<(Option<f64>, Option<u64>, VirtualRow)> = Vec::new();
    for table in listed_tables(core, request)? {
        let table = table?;
        let Some(def) = table.def() else { continue };
        let Some(column) = def.auto_increment_column().and_then(|at| def.columns.get(at)) else { continue };
        let Some(entry) = table.open(&shared).map_err(failed)? else { continue };
        let (ty, next) = (&column.ty, entry.storage.auto_increment());
        let next = Some(next).filter(|next| *next > 1);
        let max = largest(ty);
        let ratio = next.zip(max).and_then(|(next, max)| Decimal::from(next).div(&Decimal::from(max), u32::from(RATIO_DECIMALS)));
        let order = ratio.as_ref().map(Decimal::to_f64);
        let shown = ratio.and_then(|ratio| ratio.rescale(RATIO_DECIMALS));
        let row = vec![
            def.database.as_str().into(),
            def.name.as_str().into(),
            column.name.as_str().into(),
            ty.kind.sql_name().into(),
            ty.to_string().into(),
            Value::bool(!ty.unsigned),
            Value::bool(ty.unsigned),
            max.into(),
            next.into(),
            shown.into(),
        ];
        rows.push((order, max, row));
    }
    rows.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(std::cmp::Ordering::Equal).then(a.1.cmp(&b.1)));
    Ok(listed(rows.into_iter().map(|(.., row)| row).collect()))
}

/// The largest value of a whole number's type.
fn largest(ty: &ColumnType) -> Option<u64> {
    let unsigned: u64 = match ty.kind {
        TypeKind::TinyInt => 0xff,
        TypeKind::SmallInt => 0xffff,
        TypeKind::MediumInt => 0xff_ffff,
        TypeKind::Int => 0xffff_ffff,
        TypeKind::BigInt => u64::MAX,
        _ => return None,
    };
    Some(if ty.unsigned { unsigned } else { unsigned >> 1 })
}

fn object_overview(core: &mut Core, request: &VirtualRequest) -> executor::Result<VirtualRows> {
    let mut counts: BTreeMap<(String, &'static str), i64> = BTreeMap::new();
    for table in listed_tables(core, request)? {
        let table = table?;
        let (database, kind) = match &table {
            Listed::Computed(database, def) => (def.database.to_owned(), database.table_type()),
            Listed::View(view) => (view.def.database.clone(), "VIEW"),
            Listed::Open(entry) => (entry.def.database.clone(), "BASE TABLE"),
            Listed::Stored(def) => (def.database.clone(), "BASE TABLE"),
        };
        if let Some(def) = table.def() {
            let parts: usize = def.indexes.iter().map(|index| index.parts.len()).sum();
            *counts.entry((database.clone(), "INDEX (BTREE)")).or_default() += parts as i64;
        }
        *counts.entry((database, kind)).or_default() += 1;
    }
    let row = |((database, kind), count): ((String, &'static str), i64)| vec![database.into(), kind.into(), Value::Int(count)];
    Ok(listed(counts.into_iter().filter(|(_, count)| *count > 0).map(row).collect()))
}
