//! `altiplano salvage`: what can be read of a directory, as SQL.
//!
//! # Invariants
//! 1. What cannot be read is named in the output and to the report, and costs only itself: a page its rows, a definition its table.
//! 2. When the log can be applied, the rows are those of committed (and prepared) transactions; what a transaction left that cannot be rolled back
//!    is in comments. When it cannot, pages are of different moments:
//!    of each key the newest page's row is written, and rows of unfinished transactions may be among them; the output says so.

use crate::dictionary::DictionaryReader;
use crate::directory::{Recovered, Source};
use crate::literal;
use crate::pages::{DATA, Pages, Unreadable};
use crate::report::Report;
use crate::salvaged_table::{SalvagedTable, Written};
use crate::salvaged_views::{ViewText, Views};
use crate::walk::{Tree, Visitor, walk};
use base::{IndexId, PageNo, TableId};
use btree::image::NodeImage;
use catalog::offline::{DictionaryRow, table_spec};
use catalog::{DatabaseDef, TableDef};
use engine::offline::DICTIONARY;
use page_store::{PageStore, PageType, StoreError, header};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

/// How a table's CREATE TABLE reads, without its database; the number is where its AUTO_INCREMENT goes on.
pub type TableText<'t> = &'t dyn Fn(&TableDef, u64) -> String;

/// How definitions read.
pub struct Texts<'t> {
    /// Of tables.
    pub table: TableText<'t>,
    /// Of views.
    pub view: ViewText<'t>,
}

impl std::fmt::Debug for Texts<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Texts")
    }
}

/// What was written and what was not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SalvageReport {
    /// Tables written.
    pub tables: u64,
    /// Views written.
    pub views: u64,
    /// Rows written.
    pub rows: u64,
    /// Rows found that cannot be read.
    pub rows_broken: u64,
    /// Rows of transactions that were neither committed nor could be rolled back: they are in comments.
    pub rows_unfinished: u64,
    /// Pages that cannot be read.
    pub pages_lost: u64,
    /// Whether the log was applied.
    pub whole: bool,
}

/// A leaf of some index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Leaf {
    pub(crate) index: IndexId,
    pub(crate) page: PageNo,
    pub(crate) lsn: u64,
}

/// Writes what can be read of a directory. The error is one of writing, or of a directory that is none of ours.
pub fn salvage(source: &Source<'_>, texts: &Texts<'_>, out: &mut dyn Write, report: &Report) -> io::Result<SalvageReport> {
    match PageStore::check_format(&*source.disk) {
        Ok(_) => {}
        Err(StoreError::Format(what)) => return Err(io::Error::other(what)),
        Err(error) => report.error(DATA, Some(PageNo(0)), None, error.to_string()),
    }
    let recovered = source.recover(report, false)?;
    let pages = Pages::open(&*recovered.disk)?;
    let mut done = SalvageReport { whole: recovered.whole, ..SalvageReport::default() };
    let (mut leaves, lost) = scan(&pages, report);
    done.pages_lost = lost;
    leaves.sort_unstable();
    head(out, &recovered, lost)?;
    let dictionary = read_dictionary(&pages, &recovered, &leaves, report);
    let mut known: HashSet<IndexId> = HashSet::from([DICTIONARY, engine::offline::COUNTERS]);
    for database in dictionary.databases.values() {
        write_database(out, database)?;
    }
    let counters = read_counters(&pages, &leaves);
    let mut written = HashSet::new();
    let tables = dictionary.by_name();
    let count = tables.len() as u64;
    for (no, (def, former)) in tables.iter().enumerate() {
        known.extend(def.indexes.iter().map(|index| index.id));
        report.progress("tables", no as u64, count);
        let name = format!("{}.{}", def.database, def.name);
        let spec = match table_spec(def) {
            Ok(spec) => spec,
            Err(error) => {
                report.error(DATA, None, Some(&name), error.to_string());
                comment(out, &format!("table {name} is left out: {error}"))?;
                continue;
            }
        };
        if !dictionary.databases.contains_key(&def.database) {
            writeln!(out, "CREATE DATABASE IF NOT EXISTS {};", literal::name(&def.database))?;
        }
        if let Some(former) = former {
            let what = format!("table {name} was {former} when its page was written; a newer page gives that name to another table");
            report.note(DATA, None, Some(&name), what.clone());
            comment(out, &what)?;
        }
        let next = counters.get(&def.id).copied().unwrap_or(0).max(def.auto_increment_start);
        writeln!(out, "\nUSE {};\n{};", literal::name(&def.database), (texts.table)(def, next))?;
        written.insert((def.database.clone(), def.name.clone()));
        let id = def.indexes[0].id;
        let from = leaves.partition_point(|leaf| leaf.index < id);
        let to = leaves.partition_point(|leaf| leaf.index <= id);
        let (whole, unfinished) = (recovered.whole, &recovered.unfinished);
        let table = SalvagedTable { pages: &pages, report, def, spec: &spec, leaves: &leaves[from..to], whole, unfinished };
        let Written { rows, broken, unfinished } = table.write(out)?;
        done.tables += 1;
        done.rows += rows;
        done.rows_broken += broken;
        done.rows_unfinished += unfinished;
    }
    let databases = dictionary.databases.keys().map(String::as_str).collect();
    done.views = dictionary.views.write(&written, &databases, texts.view, out, report)?;
    tell_unknown(out, &leaves, &known, report)?;
    comment(out, &format!("end: {} tables, {} rows; {} rows could not be read", done.tables, done.rows, done.rows_broken))?;
    out.flush()?;
    Ok(done)
}

/// A line of the output that is no statement.
pub(crate) fn comment(out: &mut dyn Write, text: &str) -> io::Result<()> {
    // A name may have a line feed in it.
    writeln!(out, "-- {}", text.replace(['\n', '\r'], " "))
}

fn head(out: &mut dyn Write, recovered: &Recovered, lost: u64) -> io::Result<()> {
    comment(out, "altiplano salvage: databases, tables, rows, views. Accounts, roles and rights are not in it.")?;
    if !recovered.whole {
        comment(
            out,
            "The log could not be applied: pages are of different moments, what was committed last may be missing, and what was never",
        )?;
        comment(out, "committed may be here. Of each key the newest page's row is written.")?;
    }
    if !recovered.unfinished.is_empty() {
        let what = format!(
            "{} transactions were not committed and cannot be rolled back: their rows are in comments.",
            recovered.unfinished.len()
        );
        comment(out, &what)?;
    }
    if lost > 0 {
        comment(out, &format!("{lost} pages could not be read; what is missing is named where it belongs."))?;
    }
    writeln!(out, "SET NAMES utf8mb4;\nSET TIME_ZONE = '+00:00';\nSET FOREIGN_KEY_CHECKS = 0;\nSET UNIQUE_CHECKS = 0;")?;
    // What a table holds may have been stored under any mode: ids that are 0, days that no month has.
    writeln!(out, "SET SQL_MODE = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES';\n")
}

fn write_database(out: &mut dyn Write, database: &DatabaseDef) -> io::Result<()> {
    let (charset, collation) = (database.charset.name(), database.collation.name());
    writeln!(out, "CREATE DATABASE IF NOT EXISTS {} CHARACTER SET {charset} COLLATE {collation};", literal::name(&database.name))
}

/// All leaves in the file, and how many pages cannot be read.
fn scan(pages: &Pages, report: &Report) -> (Vec<Leaf>, u64) {
    let (mut leaves, mut lost, mut done) = (Vec::new(), 0, 0);
    let each = |page: PageNo, image: &[u8], verdict| match verdict {
        Ok(()) if header::page_type(image) == PageType::Leaf as u8 => {
            leaves.push(Leaf { index: header::index_id(image), page, lsn: header::lsn(image).0 });
        }
        Ok(()) | Err(Unreadable::Unwritten) => {}
        Err(unreadable) => {
            lost += 1;
            report.error(DATA, Some(page), None, unreadable.to_string());
        }
    };
    pages.each(0..pages.count, each, |count| {
        done += count;
        report.progress("pages", done, pages.count);
    });
    (leaves, lost)
}

/// What could be read of the dictionary.
#[derive(Default)]
struct Dictionary {
    databases: BTreeMap<String, DatabaseDef>,
    /// Each table once, whatever names older pages give it; and how many were met before it.
    tables: HashMap<TableId, (usize, TableDef)>,
    views: Views,
}

impl Dictionary {
    fn note(&mut self, page: PageNo, row: Result<DictionaryRow, String>, report: &Report) {
        match row {
            // The first one counts: leaves come newest first where they do not come from the tree.
            Ok(DictionaryRow::Database(def)) => {
                let _ = self.databases.entry(def.name.clone()).or_insert(def);
            }
            Ok(DictionaryRow::Table(def)) => {
                let met = self.tables.len();
                let _ = self.tables.entry(def.id).or_insert((met, *def));
            }
            Ok(DictionaryRow::Name { .. } | DictionaryRow::Reference { .. } | DictionaryRow::KeyName { .. }) => {}
            // Who may read what was salvaged is decided anew.
            Ok(DictionaryRow::AccountsBegun | DictionaryRow::Account(_)) => {}
            Ok(DictionaryRow::View(def)) => self.views.note(*def),
            Err(what) => report.error(DATA, Some(page), Some("dictionary"), what),
        }
    }
}

impl Dictionary {
    /// The tables in the order of their names. Of those that pages of different moments give one name, the one of the newest page has it; the others get
    /// another, and the former one is told beside.
    fn by_name(&self) -> Vec<(TableDef, Option<String>)> {
        let mut met: Vec<&(usize, TableDef)> = self.tables.values().collect();
        met.sort_unstable_by_key(|(order, _)| *order);
        let mut named: BTreeMap<(String, String), (TableDef, Option<String>)> = BTreeMap::new();
        for (_, def) in met {
            let mut def = def.clone();
            let mut former = None;
            while named.contains_key(&(def.database.clone(), def.name.clone())) {
                former.get_or_insert_with(|| def.name.clone());
                def.name = format!("{}_{}", def.name, def.id);
            }
            named.insert((def.database.clone(), def.name.clone()), (def, former));
        }
        named.into_values().collect()
    }
}

struct Definitions<'d> {
    reader: DictionaryReader<'d>,
    dictionary: Dictionary,
    report: &'d Report,
    reached: HashSet<PageNo>,
    lost: bool,
}

impl Visitor for Definitions<'_> {
    fn reach(&mut self, page: PageNo) -> bool {
        self.reached.insert(page)
    }

    fn leaf(&mut self, page: PageNo, leaf: NodeImage<'_>) {
        for row in self.reader.rows(leaf, &mut |_| true) {
            self.dictionary.note(page, row, self.report);
        }
    }

    fn problem(&mut self, page: PageNo, what: String) {
        self.report.error(DATA, Some(page), Some("dictionary"), what);
    }

    fn lost(&mut self, _low: Option<&[u8]>, _high: Option<&[u8]>) {
        self.lost = true;
    }
}

fn read_dictionary(pages: &Pages, recovered: &Recovered, leaves: &[Leaf], report: &Report) -> Dictionary {
    let reader = DictionaryReader::new(pages);
    let mut found = Definitions { reader, dictionary: Dictionary::default(), report, reached: HashSet::new(), lost: false };
    match recovered.checkpoint.as_ref().filter(|_| recovered.whole) {
        Some(checkpoint) => walk(pages, Tree { index: DICTIONARY, root: checkpoint.dictionary_root }, &mut found),
        None => found.lost = true,
    }
    if found.lost {
        let mut others: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.index == DICTIONARY && !found.reached.contains(&leaf.page)).collect();
        others.sort_unstable_by_key(|leaf| std::cmp::Reverse(leaf.lsn));
        let mut buffer = Pages::buffer();
        for leaf in others {
            if pages.read(leaf.page, &mut buffer).is_err() {
                continue;
            }
            match NodeImage::open(&buffer, leaf.page, DICTIONARY) {
                Ok(image) => found.leaf(leaf.page, image),
                Err(what) => found.problem(leaf.page, what),
            }
        }
    }
    found.dictionary
}

/// Where AUTO_INCREMENT goes on, by table. Of several values, as pages of different moments have them, the greatest: none is given out twice.
fn read_counters(pages: &Pages, leaves: &[Leaf]) -> HashMap<TableId, u64> {
    let mut counters = HashMap::new();
    let mut buffer = Pages::buffer();
    for leaf in leaves.iter().filter(|leaf| leaf.index == engine::offline::COUNTERS) {
        // What cannot be read was told by the scan; the table goes on behind its last row then.
        let Ok(()) = pages.read(leaf.page, &mut buffer).map(drop) else { continue };
        let Ok(image) = NodeImage::open(&buffer, leaf.page, leaf.index) else { continue };
        let mut key = Vec::new();
        for slot in 0..image.count() {
            key.clear();
            image.key(slot).append_to(&mut key);
            if let (Ok(table), Ok(next)) = (key.as_slice().try_into(), image.value(slot).try_into()) {
                let counter = counters.entry(TableId(u32::from_be_bytes(table))).or_default();
                *counter = u64::from_le_bytes(next).max(*counter);
            }
        }
    }
    counters
}

/// Names the indexes that have rows or entries and no definition.
fn tell_unknown(out: &mut dyn Write, leaves: &[Leaf], known: &HashSet<IndexId>, report: &Report) -> io::Result<()> {
    for group in leaves.chunk_by(|a, b| a.index == b.index) {
        let index = group[0].index;
        if known.contains(&index) {
            continue;
        }
        let what = format!("index {index} has {} leaves, from page {} on, and no definition of it was found", group.len(), group[0].page);
        comment(out, &what)?;
        report.note(DATA, Some(group[0].page), None, what);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(id: u32, name: &str) -> Result<DictionaryRow, String> {
        let def = TableDef { id: TableId(id), ..TableDef::new("d", name, Vec::new(), Vec::new()) };
        Ok(DictionaryRow::Table(Box::new(def)))
    }

    #[test]
    fn a_table_is_written_once_and_a_name_given_once() {
        let report = Report::new(|_| {}, |_, _, _| {});
        let mut dictionary = Dictionary::default();
        // The newest page first: 7 was renamed, 9 has a name that 8 had when an older page was written.
        for row in [table(7, "b"), table(9, "c"), table(7, "a"), table(8, "c"), table(9, "x")] {
            dictionary.note(PageNo(1), row, &report);
        }
        let named: Vec<(String, u32, Option<String>)> =
            dictionary.by_name().into_iter().map(|(def, former)| (def.name, def.id.0, former)).collect();
        assert_eq!(named, [("b".into(), 7, None), ("c".into(), 9, None), ("c_8".into(), 8, Some("c".into()))]);
    }
}
