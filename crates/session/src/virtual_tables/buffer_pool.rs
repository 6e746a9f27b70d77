//! `information_schema.INNODB_BUFFER_POOL_STATS`, `INNODB_CACHED_INDEXES`, `INNODB_BUFFER_PAGE` and `INNODB_BUFFER_PAGE_LRU`: how memory is used by pages.
//!
//! Pages are looked at one after the other without holding anybody up, so that the rows of one statement are not of one moment.

use super::column::{count, folded, information_schema, unsigned_int};
use super::innodb_dictionary::SYSTEM_SPACE;
use super::lock_picture::tables_of_indexes;
use super::{VirtualTable, listed};
use crate::context::Core;
use base::{IndexId, TableId};
use catalog::{TableEntry, VirtualRequest, VirtualRow};
use engine::{CachedPage, PageType};
use executor::VirtualRows;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use types::{ColumnType, TypeKind, Value};

/// All of them.
pub(super) fn definitions() -> Vec<VirtualTable> {
    let number = || count().not_null();
    let real = || ColumnType::new(TypeKind::Float).not_null();
    let mut stats = vec![("POOL_ID", number())];
    for name in [
        "POOL_SIZE",
        "FREE_BUFFERS",
        "DATABASE_PAGES",
        "OLD_DATABASE_PAGES",
        "MODIFIED_DATABASE_PAGES",
        "PENDING_DECOMPRESS",
        "PENDING_READS",
        "PENDING_FLUSH_LRU",
        "PENDING_FLUSH_LIST",
        "PAGES_MADE_YOUNG",
        "PAGES_NOT_MADE_YOUNG",
    ] {
        stats.push((name, number()));
    }
    stats.extend([("PAGES_MADE_YOUNG_RATE", real()), ("PAGES_MADE_NOT_YOUNG_RATE", real())]);
    stats.extend(["NUMBER_PAGES_READ", "NUMBER_PAGES_CREATED", "NUMBER_PAGES_WRITTEN"].map(|name| (name, number())));
    stats.extend(["PAGES_READ_RATE", "PAGES_CREATE_RATE", "PAGES_WRITTEN_RATE"].map(|name| (name, real())));
    stats.extend(
        [
            "NUMBER_PAGES_GET",
            "HIT_RATE",
            "YOUNG_MAKE_PER_THOUSAND_GETS",
            "NOT_YOUNG_MAKE_PER_THOUSAND_GETS",
            "NUMBER_PAGES_READ_AHEAD",
            "NUMBER_READ_AHEAD_EVICTED",
        ]
        .map(|name| (name, number())),
    );
    stats.extend(["READ_AHEAD_RATE", "READ_AHEAD_EVICTED_RATE"].map(|name| (name, real())));
    stats.extend(["LRU_IO_TOTAL", "LRU_IO_CURRENT", "UNCOMPRESS_TOTAL", "UNCOMPRESS_CURRENT"].map(|name| (name, number())));
    let indexes = vec![("SPACE_ID", unsigned_int().not_null()), ("INDEX_ID", number()), ("N_CACHED_PAGES", number())];
    let pages = |place| {
        let mut list = vec![
            ("POOL_ID", number()),
            (place, number()),
            ("SPACE", number()),
            ("PAGE_NUMBER", number()),
            ("PAGE_TYPE", folded(64)),
            ("FLUSH_TYPE", number()),
            ("FIX_COUNT", number()),
            ("IS_HASHED", folded(3)),
            ("NEWEST_MODIFICATION", number()),
            ("OLDEST_MODIFICATION", number()),
            ("ACCESS_TIME", number()),
            ("TABLE_NAME", folded(1024)),
            ("INDEX_NAME", folded(1024)),
            ("NUMBER_RECORDS", number()),
            ("DATA_SIZE", number()),
            ("COMPRESSED_SIZE", number()),
        ];
        list.push(if place == "BLOCK_ID" { ("PAGE_STATE", folded(64)) } else { ("COMPRESSED", folded(3)) });
        list.extend([("IO_FIX", folded(64)), ("IS_OLD", folded(3)), ("FREE_PAGE_CLOCK", number())]);
        if place == "BLOCK_ID" {
            list.push(("IS_STALE", folded(3)));
        }
        list
    };
    vec![
        VirtualTable { def: information_schema("INNODB_BUFFER_POOL_STATS", &[], 1.0, stats), rows: stats_rows },
        VirtualTable { def: information_schema("INNODB_CACHED_INDEXES", &[], 100.0, indexes), rows: index_rows },
        VirtualTable {
            def: information_schema("INNODB_BUFFER_PAGE", &[], 10_000.0, pages("BLOCK_ID")),
            rows: |core, _| page_rows(core, false),
        },
        VirtualTable {
            def: information_schema("INNODB_BUFFER_PAGE_LRU", &[], 10_000.0, pages("LRU_POSITION")),
            rows: |core, _| page_rows(core, true),
        },
    ]
}

fn stats_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let (pool, store) = (core.shared.engine.pool().stats(), core.shared.engine.pool().store().stats());
    let (asked, used) = (pool.hits + pool.misses, pool.frames_total.saturating_sub(pool.frames_free));
    let read = store.pages_read.load(sync::atomic::Ordering::Relaxed);
    let n = Value::UInt;
    // What happens in a second nobody watches here.
    let rate = || Value::Float(0.0);
    Ok(listed(vec![vec![
        n(0),
        n(pool.frames_total),
        n(pool.frames_free),
        n(used),
        n(0),
        n(pool.pages_dirty),
        n(0),
        n(0),
        n(0),
        n(0),
        n(0),
        n(0),
        rate(),
        rate(),
        n(read),
        n((pool.misses).saturating_sub(pool.reads)),
        n(pool.writes),
        rate(),
        rate(),
        rate(),
        n(asked),
        // In a thousand, since the start.
        n(pool.hits.saturating_mul(1000).checked_div(asked).unwrap_or(0)),
        n(0),
        n(0),
        n(pool.reads_ahead),
        n(pool.reads_ahead_evicted),
        rate(),
        rate(),
        n(0),
        n(0),
        n(0),
        n(0),
    ]]))
}

fn is_of_tree(page: &CachedPage) -> bool {
    matches!(page.kind, Some(PageType::Leaf | PageType::Inner | PageType::Overflow))
}

fn index_rows(core: &mut Core, _request: &VirtualRequest) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let pool = core.shared.engine.pool();
    let mut counts: BTreeMap<IndexId, u64> = BTreeMap::new();
    for page in (0..pool.frame_count()).filter_map(|frame| pool.cached_page(frame)).filter(is_of_tree) {
        *counts.entry(page.index).or_default() += 1;
    }
    let row = |(index, pages): (IndexId, u64)| vec![Value::UInt(SYSTEM_SPACE as u64), Value::UInt(u64::from(index.0)), Value::UInt(pages)];
    Ok(listed(counts.into_iter().map(row).collect()))
}

/// Table and index of pages.
type Names = HashMap<IndexId, (Arc<TableEntry>, Value)>;

fn names_of(core: &Core, indexes: Vec<IndexId>) -> executor::Result<Names> {
    let named = |(index, (entry, no)): (IndexId, (Arc<TableEntry>, usize))| {
        let name = entry.def.indexes.get(no)?.name.as_str();
        // As MySQL calls the rows of a table without a primary key.
        let name = Value::from(if no == 0 && entry.def.has_hidden_key() { "GEN_CLUST_INDEX" } else { name });
        Some((index, (entry, name)))
    };
    Ok(tables_of_indexes(core, indexes)?.into_iter().filter_map(named).collect())
}

/// What a table has in memory.
pub(super) struct Usage {
    /// The table.
    pub entry: Arc<TableEntry>,
    /// Of how many of its indexes.
    pub indexes: HashSet<IndexId>,
    /// Pages.
    pub pages: u64,
    /// Bytes of entries in them.
    pub data_bytes: u64,
    /// Entries.
    pub entries: u64,
}

/// What each table has in memory.
pub(super) fn usage(core: &Core) -> executor::Result<Vec<Usage>> {
    let pool = core.shared.engine.pool();
    let mut of_indexes: BTreeMap<IndexId, (u64, u64, u64)> = BTreeMap::new();
    for page in (0..pool.frame_count()).filter_map(|frame| pool.cached_page(frame)).filter(is_of_tree) {
        let (pages, bytes, entries) = of_indexes.entry(page.index).or_default();
        let (more, more_bytes) = if page.kind == Some(PageType::Overflow) { (0, 0) } else { engine::entries_of_page(page.body) };
        (*pages, *bytes, *entries) = (*pages + 1, *bytes + more_bytes, *entries + more);
    }
    let names = names_of(core, of_indexes.keys().copied().collect())?;
    let mut tables: BTreeMap<TableId, Usage> = BTreeMap::new();
    for (index, (pages, bytes, entries)) in of_indexes {
        let Some((entry, _)) = names.get(&index) else { continue };
        let empty = || Usage { entry: Arc::clone(entry), indexes: HashSet::new(), pages: 0, data_bytes: 0, entries: 0 };
        let usage = tables.entry(entry.def.id).or_insert_with(empty);
        usage.indexes.insert(index);
        usage.pages += pages;
        usage.data_bytes += bytes;
        usage.entries += entries;
    }
    Ok(tables.into_values().collect())
}

/// A row for each frame, or for each that holds a page (`pages_only`).
fn page_rows(core: &mut Core, pages_only: bool) -> executor::Result<VirtualRows> {
    core.require_process()?;
    let pool = Arc::clone(core.shared.engine.pool());
    let frames = 0..pool.frame_count();
    let mut indexes: Vec<IndexId> =
        frames.clone().filter_map(|frame| pool.cached_page(frame)).filter(is_of_tree).map(|page| page.index).collect();
    indexes.sort_unstable();
    indexes.dedup();
    let names = names_of(core, indexes)?;
    let mut position = 0;
    let row = move |frame: usize| -> Option<executor::Result<VirtualRow>> {
        let page = pool.cached_page(frame);
        if pages_only && page.is_none() {
            return None;
        }
        let place = if pages_only { position } else { frame };
        position += 1;
        Some(Ok(page_row(place as u64, page.as_ref(), &names, pages_only)))
    };
    Ok(Box::new(frames.filter_map(row)))
}

fn page_row(place: u64, page: Option<&CachedPage>, names: &Names, pages_only: bool) -> VirtualRow {
    let n = Value::UInt;
    let kind = match page.and_then(|page| page.kind) {
        Some(PageType::Leaf | PageType::Inner) => "INDEX",
        Some(PageType::Overflow) => "LOB_DATA",
        Some(PageType::SpaceMap) => "EXTENT_DESCRIPTOR",
        Some(PageType::FileHeader) => "FILE_SPACE_HEADER",
        Some(PageType::Other) | None => "UNKNOWN",
    };
    let (records, bytes) = page.filter(|_| kind == "INDEX").map_or((0, 0), |page| engine::entries_of_page(page.body));
    let name = page.filter(|page| is_of_tree(page)).and_then(|page| names.get(&page.index));
    let (table, index) = match name {
        Some((entry, index)) => (Value::from(format!("`{}`.`{}`", entry.def.database, entry.def.name)), index.clone()),
        None => (Value::Null, Value::Null),
    };
    let mut row = vec![
        n(0),
        n(place),
        n(SYSTEM_SPACE as u64),
        n(page.map_or(0, |page| page.page.0)),
        kind.into(),
        n(0),
        n(0),
        "NO".into(),
        n(page.map_or(0, |page| page.newest.0)),
        n(page.map_or(0, |page| page.oldest.0)),
        n(0),
        table,
        index,
        n(records),
        n(bytes),
        n(0),
    ];
    row.push(if pages_only {
        "NO".into()
    } else if page.is_some() {
        "FILE_PAGE".into()
    } else {
        "NOT_USED".into()
    });
    row.extend(["IO_NONE".into(), "NO".into(), n(0)]);
    if !pages_only {
        row.push("NO".into());
    }
    row
}
