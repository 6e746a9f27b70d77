//! The rows of one table that can be read, as INSERT statements.

use crate::literal::{self, key_text};
use crate::pages::{DATA, Pages};
use crate::report::Report;
use crate::row::{self, WholeRow};
use crate::salvage::{Leaf, comment};
use crate::walk::{Tree, Visitor, walk};
use base::{PageNo, TxnId};
use btree::image::NodeImage;
use catalog::{TableDef, Visibility};
use engine::TableSpec;
use engine::compare;
use std::collections::HashSet;
use std::io::{self, Write};
use types::Value;

/// Bytes after which a statement ends: less than any server's `max_allowed_packet`.
const STATEMENT_BYTES: usize = 256 << 10;

/// A table whose definition is known.
pub(crate) struct SalvagedTable<'s> {
    pub(crate) pages: &'s Pages,
    pub(crate) report: &'s Report,
    pub(crate) def: &'s TableDef,
    pub(crate) spec: &'s TableSpec,
    /// All leaves of its primary index in the file.
    pub(crate) leaves: &'s [Leaf],
    /// Pages are of one moment, so the tree says where each key belongs.
    pub(crate) whole: bool,
    /// Transactions that were not committed and could not be rolled back.
    pub(crate) unfinished: &'s HashSet<TxnId>,
}

/// What was written of a table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Written {
    pub(crate) rows: u64,
    pub(crate) broken: u64,
    /// Rows that were shown in comments only.
    pub(crate) unfinished: u64,
}

/// Keys that the tree does not lead to.
type Lost = (Option<Vec<u8>>, Option<Vec<u8>>);

struct Rows<'r, 's> {
    table: &'r SalvagedTable<'s>,
    out: &'r mut dyn Write,
    name: String,
    statement: Vec<u8>,
    written: Written,
    reached: HashSet<PageNo>,
    lost: Vec<Lost>,
    /// Hashes of keys that were met, where a key may be met twice.
    met: Option<HashSet<u128>>,
    outcome: io::Result<()>,
}

impl SalvagedTable<'_> {
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<Written> {
        let name = format!("{}.{}", self.def.database, self.def.name);
        let mut rows = Rows {
            table: self,
            out,
            name,
            statement: Vec::new(),
            written: Written::default(),
            reached: HashSet::new(),
            lost: Vec::new(),
            met: None,
            outcome: Ok(()),
        };
        if self.whole {
            let index = &self.spec.indexes[0];
            walk(self.pages, Tree { index: index.id, root: index.root }, &mut rows);
        } else {
            rows.lost.push((None, None));
        }
        rows.search_lost();
        rows.end_statement();
        rows.outcome?;
        Ok(rows.written)
    }

    fn key_text(&self, key: &[u8]) -> String {
        key_text(self.spec.layouts.last().expect("a table has a layout"), &self.spec.indexes[0].parts, key)
    }
}

impl Visitor for Rows<'_, '_> {
    fn reach(&mut self, page: PageNo) -> bool {
        self.reached.insert(page)
    }

    fn leaf(&mut self, page: PageNo, leaf: NodeImage<'_>) {
        self.add_leaf(page, leaf, None);
    }

    fn problem(&mut self, page: PageNo, what: String) {
        let text = format!("page {page} of table {} {what}", self.name);
        self.say(&text);
        self.table.report.error(DATA, Some(page), Some(&self.name), what);
    }

    fn lost(&mut self, low: Option<&[u8]>, high: Option<&[u8]>) {
        self.lost.push((low.map(<[u8]>::to_vec), high.map(<[u8]>::to_vec)));
    }
}

impl Rows<'_, '_> {
    fn say(&mut self, text: &str) {
        self.end_statement();
        if self.outcome.is_ok() {
            self.outcome = comment(self.out, text);
        }
    }

    /// Looks for the keys that the tree does not lead to on leaves that it does not lead to.
    fn search_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        self.met = Some(HashSet::new());
        let lost = std::mem::take(&mut self.lost);
        let mut others: Vec<Leaf> = self.table.leaves.iter().filter(|leaf| !self.reached.contains(&leaf.page)).copied().collect();
        others.sort_unstable_by_key(|leaf| std::cmp::Reverse(leaf.lsn));
        let before = self.written.rows;
        let mut buffer = Pages::buffer();
        for leaf in others {
            // What cannot be read was told by the scan.
            if self.table.pages.read(leaf.page, &mut buffer).is_ok() {
                match NodeImage::open(&buffer, leaf.page, leaf.index) {
                    Ok(image) => self.add_leaf(leaf.page, image, Some(&lost)),
                    Err(what) => self.problem(leaf.page, what),
                }
            }
        }
        if !self.table.whole {
            return;
        }
        let found = self.written.rows - before;
        for (low, high) in &lost {
            let end = |key: &Option<Vec<u8>>, open: &str| key.as_ref().map_or(open.to_owned(), |key| self.table.key_text(key));
            let text =
                format!("keys from {} to below {} cannot be reached in table {}", end(low, "the first"), end(high, "the end"), self.name);
            self.say(&text);
            self.table.report.error(DATA, None, Some(&self.name), text);
        }
        let text = format!("{found} rows in these ranges of keys were found on other pages of table {}; the others are lost", self.name);
        self.say(&text);
    }

    /// Writes the rows of a leaf; with `within` only those in the ranges.
    fn add_leaf(&mut self, page: PageNo, leaf: NodeImage<'_>, within: Option<&[Lost]>) {
        let mut key = Vec::new();
        for slot in 0..leaf.count() {
            if self.outcome.is_err() {
                return;
            }
            key.clear();
            leaf.key(slot).append_to(&mut key);
            let wanted = |(low, high): &Lost| low.as_ref().is_none_or(|low| *low <= key) && high.as_ref().is_none_or(|high| key < *high);
            if within.is_some_and(|ranges| !ranges.iter().any(wanted)) {
                continue;
            }
            if self.met.as_mut().is_some_and(|met| !met.insert(compare::hash(&key))) {
                continue;
            }
            match self.row(leaf.value(slot)) {
                Ok(()) => {}
                Err(what) => {
                    self.written.broken += 1;
                    let text = format!("the row {} of table {} is lost: {what}", self.table.key_text(&key), self.name);
                    self.say(&text);
                    self.table.report.error(DATA, Some(page), Some(&self.name), text);
                }
            }
        }
    }

    fn row(&mut self, stored: &[u8]) -> Result<(), String> {
        let header = row::header(stored)?;
        let finished = !self.table.unfinished.contains(&header.txn);
        if header.is_deleted() && finished {
            return Ok(());
        }
        let spec = self.table.spec;
        let row =
            WholeRow::read(self.table.pages, spec.indexes[0].id, &spec.layouts, stored, |_| true).map_err(|refused| refused.to_string())?;
        let columns = row.columns();
        // Generated columns are not written; those that the row has not may have no value.
        let value = |column| if columns.layout().is_computed(column) { Ok(Value::Null) } else { columns.value(column) };
        let values: Result<Vec<Value>, _> = (0..self.table.def.columns.len()).map(value).collect();
        let values = values.map_err(|_| "a column cannot be read".to_owned())?;
        if finished {
            self.add(&values);
        } else {
            self.add_unfinished(&values, if header.is_deleted() { "deleted" } else { "written" });
        }
        Ok(())
    }

    fn add(&mut self, values: &[Value]) {
        if self.statement.is_empty() {
            let ignore = if self.table.whole { "" } else { "IGNORE " };
            let name = literal::name(&self.table.def.name);
            self.statement.extend_from_slice(format!("INSERT {ignore}INTO {name}{} VALUES\n", column_list(self.table.def)).as_bytes());
        } else {
            self.statement.extend_from_slice(b",\n");
        }
        put_values(values, self.table.def, &mut self.statement);
        self.written.rows += 1;
        if self.statement.len() >= STATEMENT_BYTES {
            self.end_statement();
        }
    }

    /// A row as a transaction left it that was not committed and cannot be rolled back: what was there before is not known. It is shown and not loaded.
    fn add_unfinished(&mut self, values: &[Value], how: &str) {
        let mut text = format!("{how} by a transaction that was not committed, and cannot be rolled back: {} ", self.name).into_bytes();
        put_values(values, self.table.def, &mut text);
        self.say(&String::from_utf8_lossy(&text));
        self.written.unfinished += 1;
    }

    fn end_statement(&mut self) {
        if self.statement.is_empty() {
            return;
        }
        self.statement.extend_from_slice(b";\n");
        if self.outcome.is_ok() {
            self.outcome = self.out.write_all(&self.statement);
        }
        self.statement.clear();
    }
}

/// The columns to name in an INSERT: all that are not computed, where some are, or where some are not visible.
fn column_list(def: &TableDef) -> String {
    if def.columns.iter().all(|column| column.generated.is_none() && column.visibility == Visibility::Visible) {
        return String::new();
    }
    let given = def.columns.iter().filter(|column| column.generated.is_none());
    format!(" ({})", given.map(|column| literal::name(&column.name)).collect::<Vec<_>>().join(", "))
}

/// The values of a row in parentheses, without those that are computed.
fn put_values(values: &[Value], def: &TableDef, out: &mut Vec<u8>) {
    let given = values.iter().zip(&def.columns).filter(|(_, column)| column.generated.is_none());
    out.push(b'(');
    for (no, (value, column)) in given.enumerate() {
        if no > 0 {
            out.push(b',');
        }
        literal::put(&column.ty, value, out);
    }
    out.push(b')');
}
