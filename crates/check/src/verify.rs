//! `altiplano check`: every file, every page, every tree, every row.

use crate::dictionary::DictionaryReader;
use crate::directory::{Recovered, Source};
use crate::files;
use crate::pages::{DATA, Pages};
use crate::report::Report;
use crate::table::{Counted, Leaves, OWNER_UNKNOWN, Shared, TableCheck, Teller};
use crate::walk::{Tree, walk};
use base::{IndexId, PageNo, TableId};
use btree::image::NodeImage;
use catalog::TableDef;
use catalog::offline::{DictionaryRow, table_spec};
use engine::offline::{COUNTERS, DICTIONARY};
use page_store::PageType;
use page_store::header;
use space_map::MapImage;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::ops::Range;
use sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use sync::{Mutex, Rank};

/// Most threads that read at once.
const THREADS_MAX: usize = 8;
/// Pages of one owner that are told one by one.
const LEAKED_TOLD: usize = 20;

/// What was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Pages of the data file.
    pub pages: u64,
    /// Records of the log since the checkpoint.
    pub records: u64,
    /// Tables.
    pub tables: u64,
    /// Rows of all tables.
    pub rows: u64,
    /// Entries of all secondary indexes.
    pub entries: u64,
    /// Whether rows, indexes and the space map could be compared; not when the log could not be applied.
    pub whole: bool,
}

/// Checks a directory. What is wrong goes to `report`; an error is what keeps from looking at all.
pub fn check(source: &Source<'_>, report: &Report) -> io::Result<CheckReport> {
    if !source.disk.exists(DATA)? {
        return Err(io::Error::new(io::ErrorKind::NotFound, "there is no file `data`: this is no data directory"));
    }
    if !files::check_format(&source.disk, report) {
        return Ok(CheckReport::default());
    }
    let log = source.check_log(report)?;
    let recovered = source.recover(report, true)?;
    let Some(pages) = files::open_pages(&recovered.disk, report) else { return Ok(CheckReport::default()) };
    let mut done = CheckReport { pages: pages.count, records: log.records, whole: recovered.whole, ..CheckReport::default() };
    let shared = Shared {
        pages: &pages,
        report,
        owners: (0..pages.count).map(|_| AtomicU32::new(0)).collect(),
        reached: (0..pages.count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(),
        next_txn: recovered.next_txn,
    };
    check_pages(&shared, &recovered);
    let Some(checkpoint) = recovered.checkpoint.as_ref().filter(|_| recovered.whole) else {
        report.note(
            DATA,
            None,
            None,
            "the log could not be applied, or what it changes not written, so the pages are not of one moment: only each page by itself was checked",
        );
        return Ok(done);
    };
    let mut broken = Vec::new();
    let (known, counted) = check_tables(&shared, checkpoint.dictionary_root, checkpoint.counters_root, &mut broken);
    done.tables = counted.0;
    done.rows = counted.1.rows;
    done.entries = counted.1.entries;
    check_leaks(&shared, &recovered, &known, &broken);
    Ok(done)
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// Runs `work` on some threads, until each has nothing left to take.
fn parallel(work: impl Fn() + Sync) {
    std::thread::scope(|scope| {
        for _ in 1..threads() {
            scope.spawn(&work);
        }
        work();
    });
}

/// Every page's checksum, number and type, and what the space map says of it.
fn check_pages(shared: &Shared<'_>, recovered: &Recovered) {
    let count = shared.pages.count;
    let regions = count.div_ceil(MapImage::REGION_PAGES);
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    parallel(|| {
        loop {
            let region = next.fetch_add(1, Ordering::Relaxed);
            if region >= regions {
                return;
            }
            let first = region * MapImage::REGION_PAGES;
            let pages = first..(first + MapImage::REGION_PAGES).min(count);
            if recovered.whole {
                read_owners(shared, region, pages.clone());
            }
            let each = |page, image: &[u8], verdict| check_page(shared, recovered, page, image, verdict);
            shared.pages.each(pages, each, |pages| {
                let sum = done.fetch_add(pages, Ordering::Relaxed) + pages;
                shared.report.progress("pages", sum, count);
            });
        }
    });
}

/// Notes the owners of a region's pages.
fn read_owners(shared: &Shared<'_>, region: u64, pages: Range<u64>) {
    let page = MapImage::page_of(region);
    let mut image = Pages::buffer();
    match shared.pages.read(page, &mut image) {
        Ok(()) if header::page_type(&image) == PageType::SpaceMap as u8 => {}
        // The file grows before the region is made.
        Err(crate::pages::Unreadable::Unwritten | crate::pages::Unreadable::Io(_)) if region > 0 && page.0 >= pages.start => return,
        _ => {
            // The scan tells what is wrong with the page itself.
            shared.report.error(
                DATA,
                Some(page),
                Some("space map"),
                format!("the owners of pages {} to {} are not known", pages.start, pages.end - 1),
            );
            pages.for_each(|page| shared.owners[page as usize].store(OWNER_UNKNOWN, Ordering::Relaxed));
            return;
        }
    }
    let map = MapImage::new(&image);
    for problem in map.problems() {
        shared.report.error(DATA, Some(page), Some("space map"), problem);
    }
    for page in pages.clone() {
        shared.owners[page as usize].store(map.owner(page - pages.start).0, Ordering::Relaxed);
    }
}

fn check_page(shared: &Shared<'_>, recovered: &Recovered, page: PageNo, image: &[u8], judged: Result<(), crate::pages::Unreadable>) {
    use crate::pages::Unreadable;
    let owner = if recovered.whole { shared.owner(page) } else { None };
    let object = owner.filter(|owner| !owner.is_none() && *owner != MapImage::MAP_OWNER).map(|owner| format!("index {owner}"));
    let error = |what: String| shared.report.error(DATA, Some(page), object.as_deref(), what);
    match judged {
        Ok(()) => {
            let lsn = header::lsn(image);
            if recovered.store.as_ref().is_some_and(|store| store.is_ahead(page, lsn)) && owner != Some(IndexId::NONE) {
                error(format!("has changes up to {lsn}, behind the end of the log: that end of the log is lost"));
            }
        }
        // Free, or of a state that is not known to be whole.
        Err(Unreadable::Unwritten) if owner.is_none_or(IndexId::is_none) => return,
        Err(unreadable) if owner.is_some_and(IndexId::is_none) => {
            return shared.report.note(DATA, Some(page), None, format!("{unreadable}; nobody needs it"));
        }
        Err(unreadable) => return error(unreadable.to_string()),
    }
    let number = header::page_type(image);
    let Some(page_type) = PageType::from_u8(number) else { return error(format!("has type {number}, which there is not")) };
    match owner {
        Some(owner) if owner == MapImage::MAP_OWNER => {
            let expected = if page.0 == 0 { PageType::FileHeader } else { PageType::SpaceMap };
            if page_type != expected {
                error(format!("has type {number} where a page of the space map belongs"));
            }
        }
        Some(owner) if !owner.is_none() => {
            if !matches!(page_type, PageType::Leaf | PageType::Inner | PageType::Overflow) {
                error(format!("has type {number}, and index {owner} owns it"));
            } else if header::index_id(image) != owner {
                error(format!("is of index {}, and index {owner} owns it", header::index_id(image)));
            }
        }
        _ => {}
    }
}

/// What is known of the indexes: whose each is.
type Known = HashMap<IndexId, String>;

/// The dictionary, the counters, and every table. Returns whose the indexes are, and tables with what was counted of them.
fn check_tables(shared: &Shared<'_>, dictionary: PageNo, counters: PageNo, broken: &mut Vec<IndexId>) -> (Known, (u64, Counted)) {
    let mut known = Known::from([(DICTIONARY, "dictionary".to_owned()), (COUNTERS, "AUTO_INCREMENT counters".to_owned())]);
    let mut teller = Teller::new(shared, COUNTERS, "AUTO_INCREMENT counters".into());
    let tree = Tree { index: COUNTERS, root: counters };
    walk(shared.pages, tree, &mut Leaves { teller: &mut teller, each: |_: &mut Teller<'_>, _: PageNo, _: NodeImage<'_>| {} });
    if !teller.complete {
        broken.push(COUNTERS);
    }
    let (leaves, tables) = check_dictionary(shared, dictionary, broken, &mut known);
    let next = AtomicUsize::new(0);
    let (done, sum) = (AtomicU64::new(0), Mutex::new(Rank::Leaf, (Counted::default(), Vec::new())));
    parallel(|| {
        let reader = DictionaryReader::new(shared.pages);
        let mut buffer = Pages::buffer();
        while let Some(&leaf) = leaves.get(next.fetch_add(1, Ordering::Relaxed)) {
            if shared.pages.read(leaf, &mut buffer).is_err() {
                continue;
            }
            let Ok(image) = NodeImage::open(&buffer, leaf, DICTIONARY) else { continue };
            for def in reader.tables(image) {
                let mut broken = Vec::new();
                let counted = check_table(shared, &def, &mut broken);
                let mut sum = sum.lock();
                sum.0.rows += counted.rows;
                sum.0.entries += counted.entries;
                sum.1.append(&mut broken);
                drop(sum);
                shared.report.progress("tables", done.fetch_add(1, Ordering::Relaxed) + 1, tables);
            }
        }
    });
    let (counted, mut more) = std::mem::take(&mut *sum.lock());
    broken.append(&mut more);
    (known, (tables, counted))
}

fn check_table(shared: &Shared<'_>, def: &TableDef, broken: &mut Vec<IndexId>) -> Counted {
    match table_spec(def) {
        Ok(spec) => TableCheck::new(shared, def, spec).run(broken),
        Err(error) => {
            shared.report.error(DATA, None, Some(&format!("{}.{}", def.database, def.name)), error.to_string());
            broken.extend(def.indexes.iter().map(|index| index.id));
            Counted::default()
        }
    }
}

/// The dictionary's own tree and rows. Returns its leaves, and how many tables they define.
fn check_dictionary(shared: &Shared<'_>, root: PageNo, broken: &mut Vec<IndexId>, known: &mut Known) -> (Vec<PageNo>, u64) {
    let mut leaves = Vec::new();
    let mut databases = BTreeSet::new();
    // Parents and those who refer to them: as rows say, and as definitions do.
    let (mut pairs, mut referring) = (BTreeSet::new(), BTreeSet::new());
    let (mut key_names, mut of_keys) = (BTreeSet::new(), BTreeSet::new());
    let mut names: BTreeMap<TableId, (String, String)> = BTreeMap::new();
    let mut tables: BTreeMap<TableId, (String, String)> = BTreeMap::new();
    let reader = DictionaryReader::new(shared.pages);
    let mut views = 0;
    let mut teller = Teller::new(shared, DICTIONARY, "dictionary".into());
    let each = |teller: &mut Teller<'_>, page: PageNo, leaf: NodeImage<'_>| {
        leaves.push(page);
        for row in reader.rows(leaf, &mut |page| teller.reach(page)) {
            match row {
                Ok(DictionaryRow::Database(def)) => {
                    databases.insert(def.name);
                }
                Ok(DictionaryRow::Name { database, table, id }) => {
                    if names.insert(id, (database, table)).is_some() {
                        teller.tell(Some(page), format!("table {id} has two names"));
                    }
                }
                Ok(DictionaryRow::Reference { parent, child }) => {
                    pairs.insert((parent, child));
                }
                Ok(DictionaryRow::KeyName { database, name }) => {
                    key_names.insert((database, name));
                }
                Ok(DictionaryRow::AccountsBegun | DictionaryRow::Account(_)) => {}
                Ok(DictionaryRow::Table(def)) => {
                    of_keys.extend(def.foreign_keys.iter().map(|key| (def.database.clone(), key.name.to_lowercase())));
                    let of = |key: &catalog::ForeignKeyDef| (key.parent_database.clone(), key.parent_table.clone());
                    referring.extend(def.foreign_keys.iter().map(|key| (of(key), (def.database.clone(), def.name.clone()))));
                    for index in &def.indexes {
                        let whose = format!("{}.{}.{}", def.database, def.name, index.name);
                        if let Some(other) = known.insert(index.id, whose.clone()) {
                            teller.tell(Some(page), format!("index {} is of {other} and of {whose}", index.id));
                        }
                    }
                    tables.insert(def.id, (def.database, def.name));
                }
                Ok(DictionaryRow::View(def)) => {
                    tables.insert(def.id, (def.database, def.name));
                    views += 1;
                }
                Err(what) => {
                    // What it would name may have pages of its own.
                    teller.complete = false;
                    teller.tell(Some(page), what);
                }
            }
        }
    };
    walk(shared.pages, Tree { index: DICTIONARY, root }, &mut Leaves { teller: &mut teller, each });
    if teller.complete {
        for (id, (database, table)) in &tables {
            if !databases.contains(database) {
                teller.tell(None, format!("table {database}.{table} is in a database that there is not"));
            }
            if names.get(id) != Some(&(database.clone(), table.clone())) {
                teller.tell(None, format!("table {id}, {database}.{table}, has no name or another one"));
            }
        }
        for (id, (database, table)) in names.iter().filter(|(id, _)| !tables.contains_key(id)) {
            teller.tell(None, format!("table {id}, {database}.{table}, has a name and no definition"));
        }
        for (database, name) in key_names.symmetric_difference(&of_keys) {
            teller.tell(None, format!("the foreign key {name} of database {database} is named in one place and not in the other"));
        }
        for ((database, parent), (of, child)) in pairs.symmetric_difference(&referring) {
            teller.tell(None, format!("that {of}.{child} refers to {database}.{parent} is said in one place and not in the other"));
        }
    } else {
        broken.push(DICTIONARY);
    }
    (leaves, tables.len() as u64 - views)
}

/// Pages that somebody owns and nothing leads to.
fn check_leaks(shared: &Shared<'_>, recovered: &Recovered, known: &Known, broken: &[IndexId]) {
    let mut leaked: BTreeMap<IndexId, (u64, Vec<PageNo>)> = BTreeMap::new();
    for page in 0..shared.pages.count {
        let Some(owner) = shared.owner(PageNo(page)) else { continue };
        if !owner.is_none() && owner != MapImage::MAP_OWNER && !shared.is_reached(page) {
            let (count, first) = leaked.entry(owner).or_default();
            *count += 1;
            if first.len() < LEAKED_TOLD {
                first.push(PageNo(page));
            }
        }
    }
    let dictionary_known = !broken.contains(&DICTIONARY);
    for (owner, (count, first)) in leaked {
        let pages: Vec<String> = first.iter().map(ToString::to_string).collect();
        let pages = format!("{}{}", pages.join(", "), if count > pages.len() as u64 { " …" } else { "" });
        match known.get(&owner) {
            // Some page could not be read; these may hang below it.
            Some(_) if broken.contains(&owner) => {}
            Some(whose) if recovered.settled => {
                shared.report.error(
                    DATA,
                    first.first().copied(),
                    Some(whose),
                    format!("owns {count} pages that nothing leads to: {pages}"),
                );
            }
            Some(whose) => {
                let what = format!("owns {count} pages that nothing leads to: {pages}; old versions of rows may need them");
                shared.report.note(DATA, first.first().copied(), Some(whose), what);
            }
            None if dictionary_known => {
                let what = format!(
                    "index {owner} has {count} pages and no table: left by DDL that a crash cut off, or by a temporary table; the next start frees them"
                );
                shared.report.note(DATA, first.first().copied(), None, what);
            }
            None => {}
        }
    }
}
