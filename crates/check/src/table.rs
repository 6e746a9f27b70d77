//! A table: each tree by itself, each row by its layout, and whether rows and secondary entries say the same.

use crate::literal::key_text;
use crate::pages::{DATA, Pages};
use crate::report::Report;
use crate::row::{self, Refused, WholeRow};
use crate::walk::{Tree, Visitor, walk};
use base::{IndexId, PageNo, TxnId};
use btree::image::NodeImage;
use catalog::TableDef;
use engine::TableSpec;
use engine::compare::{Fingerprint, differences, hash};
use engine::offline::{put_parts_length, secondary_entry};
use record::key::encode_columns;
use record::{KeyPart, RowLayout, RowRef};
use sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Findings about one tree that are told one by one.
const TOLD_MAX: u64 = 50;
/// No page: the map page could not be read.
pub(crate) const OWNER_UNKNOWN: u32 = u32::MAX - 1;

/// What all checks of trees share. Numbers are relaxed: threads work on pages of their own, and are joined before anybody sums up.
pub(crate) struct Shared<'s> {
    pub(crate) pages: &'s Pages,
    pub(crate) report: &'s Report,
    /// Owner of each page by the space map.
    pub(crate) owners: Vec<AtomicU32>,
    /// One bit a page: a tree or chain leads to it.
    pub(crate) reached: Vec<AtomicU64>,
    /// Ids from here on were never given out.
    pub(crate) next_txn: Option<TxnId>,
}

impl Shared<'_> {
    /// Notes that a page is reached; `false` when it was already.
    pub(crate) fn reach(&self, page: PageNo) -> bool {
        match self.reached.get((page.0 / 64) as usize) {
            Some(word) => word.fetch_or(1 << (page.0 % 64), Ordering::Relaxed) >> (page.0 % 64) & 1 == 0,
            // Past the end of the file: reading it says so.
            None => true,
        }
    }

    pub(crate) fn is_reached(&self, page: u64) -> bool {
        self.reached.get((page / 64) as usize).is_some_and(|word| word.load(Ordering::Relaxed) >> (page % 64) & 1 == 1)
    }

    /// The owner by the space map, where that could be read.
    pub(crate) fn owner(&self, page: PageNo) -> Option<IndexId> {
        let owner = self.owners.get(page.0 as usize)?.load(Ordering::Relaxed);
        (owner != OWNER_UNKNOWN).then_some(IndexId(owner))
    }
}

/// Tells what is wrong with one tree, up to a limit, and remembers whether all of it could be read.
pub(crate) struct Teller<'t> {
    shared: &'t Shared<'t>,
    index: IndexId,
    object: String,
    told: u64,
    /// Every page could be read.
    pub(crate) complete: bool,
    /// A second pass: everything was told in the first.
    quiet: bool,
}

impl<'t> Teller<'t> {
    pub(crate) fn new(shared: &'t Shared<'t>, index: IndexId, object: String) -> Teller<'t> {
        Teller { shared, index, object, told: 0, complete: true, quiet: false }
    }

    pub(crate) fn tell(&mut self, page: Option<PageNo>, what: String) {
        if self.quiet {
            return;
        }
        self.told += 1;
        if self.told <= TOLD_MAX {
            self.shared.report.error(DATA, page, Some(&self.object), what);
        } else if self.told == TOLD_MAX + 1 {
            self.shared.report.error(DATA, None, Some(&self.object), "there is more; it is not told one by one");
        }
    }

    /// A page is reached by this tree; `false` when it was before.
    pub(crate) fn reach(&mut self, page: PageNo) -> bool {
        if self.quiet {
            return true;
        }
        if let Some(owner) = self.shared.owner(page)
            && owner != self.index
        {
            let whose = if owner.is_none() { "nobody's".to_owned() } else { format!("index {owner}'s") };
            self.tell(Some(page), format!("is {whose} by the space map, and index {} has it", self.index));
        }
        self.shared.reach(page)
    }
}

/// Walks a tree and gives each leaf to `each`.
pub(crate) struct Leaves<'v, 't, F> {
    pub(crate) teller: &'v mut Teller<'t>,
    pub(crate) each: F,
}

impl<F: FnMut(&mut Teller<'_>, PageNo, NodeImage<'_>)> Visitor for Leaves<'_, '_, F> {
    fn reach(&mut self, page: PageNo) -> bool {
        self.teller.reach(page)
    }

    fn leaf(&mut self, page: PageNo, leaf: NodeImage<'_>) {
        (self.each)(self.teller, page, leaf);
    }

    fn problem(&mut self, page: PageNo, what: String) {
        self.teller.tell(Some(page), what);
    }

    fn lost(&mut self, _low: Option<&[u8]>, _high: Option<&[u8]>) {
        self.teller.complete = false;
    }
}

/// What was counted of a table.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) rows: u64,
    pub(crate) entries: u64,
}

/// A table that is being checked.
pub(crate) struct TableCheck<'t> {
    shared: &'t Shared<'t>,
    def: &'t TableDef,
    spec: TableSpec,
}

impl<'t> TableCheck<'t> {
    pub(crate) fn new(shared: &'t Shared<'t>, def: &'t TableDef, spec: TableSpec) -> TableCheck<'t> {
        TableCheck { shared, def, spec }
    }

    /// Checks everything. `broken` gets the indexes whose trees could not be read whole.
    pub(crate) fn run(&self, broken: &mut Vec<IndexId>) -> Counted {
        let mut counted = Counted::default();
        let secondary = &self.spec.indexes[1..];
        let mut wanted = vec![Fingerprint::default(); secondary.len()];
        let mut teller = self.teller(0, false);
        let mut entry = Vec::new();
        self.each_row(&mut teller, &mut |teller, page, row, key| {
            counted.rows += 1;
            for (index, wanted) in secondary.iter().zip(&mut wanted) {
                match self.entry_of(index.parts.as_slice(), row, key, &mut entry) {
                    true => wanted.add(&entry),
                    false => teller.tell(Some(page), format!("the row {} has no key of an index", self.row_text(key))),
                }
            }
        });
        let rows_complete = teller.complete;
        if !rows_complete {
            broken.push(self.spec.indexes[0].id);
        }
        for (no, wanted) in wanted.iter().enumerate() {
            let index_no = no + 1;
            let mut teller = self.teller(index_no, false);
            let mut found = Fingerprint::default();
            self.each_entry(index_no, &mut teller, &mut |_, entry| found.add(entry));
            counted.entries += found.count;
            let complete = teller.complete;
            if !complete {
                broken.push(self.spec.indexes[index_no].id);
            }
            // What is missing on a page that cannot be read is told by that page.
            if complete && rows_complete && found != *wanted {
                self.explain(index_no, found.count.max(wanted.count), &mut teller);
            }
        }
        counted
    }

    fn teller(&self, index_no: usize, quiet: bool) -> Teller<'t> {
        let def = self.def;
        let object = format!("{}.{}.{}", def.database, def.name, def.indexes[index_no].name);
        Teller { quiet, ..Teller::new(self.shared, self.spec.indexes[index_no].id, object) }
    }

    fn tree(&self, index_no: usize) -> Tree {
        let index = &self.spec.indexes[index_no];
        Tree { index: index.id, root: index.root }
    }

    fn layout(&self) -> &RowLayout {
        self.spec.layouts.last().expect("a table has a layout")
    }

    fn row_text(&self, key: &[u8]) -> String {
        key_text(self.layout(), &self.spec.indexes[0].parts, key)
    }

    /// The entry that a row has in a secondary index, and how much of it are the index's own parts.
    fn entry_of(&self, parts: &[KeyPart], row: RowRef<'_>, key: &[u8], out: &mut Vec<u8>) -> bool {
        out.clear();
        let encoded = encode_columns(row, parts, out).is_ok();
        let parts_bytes = out.len();
        out.extend_from_slice(key);
        put_parts_length(out, parts_bytes);
        encoded
    }

    /// Calls back with each live row, whole, and its key.
    fn each_row(&self, teller: &mut Teller<'_>, each: &mut dyn FnMut(&mut Teller<'_>, PageNo, RowRef<'_>, &[u8])) {
        let mut key = Vec::new();
        let mut own_key = Vec::new();
        let visit = |teller: &mut Teller<'_>, page: PageNo, leaf: NodeImage<'_>| {
            for slot in 0..leaf.count() {
                key.clear();
                leaf.key(slot).append_to(&mut key);
                if let Err(what) = self.row(teller, page, leaf.value(slot), &key, &mut own_key, each) {
                    teller.tell(Some(page), format!("the row {}: {what}", self.row_text(&key)));
                }
            }
        };
        walk(self.shared.pages, self.tree(0), &mut Leaves { teller, each: visit });
    }

    fn row(
        &self,
        teller: &mut Teller<'_>,
        page: PageNo,
        stored: &[u8],
        key: &[u8],
        own_key: &mut Vec<u8>,
        each: &mut dyn FnMut(&mut Teller<'_>, PageNo, RowRef<'_>, &[u8]),
    ) -> Result<(), String> {
        let header = row::header(stored)?;
        if self.shared.next_txn.is_some_and(|next| header.txn >= next) {
            return Err(format!("it was written by transaction {}, which there was not", header.txn));
        }
        let whole = match WholeRow::read(self.shared.pages, self.spec.indexes[0].id, &self.spec.layouts, stored, |page| teller.reach(page))
        {
            Ok(whole) => whole,
            Err(Refused::Row(what)) => return Err(what),
            Err(Refused::Chain(page, what)) => {
                teller.complete = false;
                teller.tell(Some(page), format!("{what}; the row {} needs it", self.row_text(key)));
                return Ok(());
            }
        };
        if header.is_deleted() {
            return Ok(());
        }
        let row = whole.columns();
        // What is not in the row cannot be damaged there, and an expression may fail for a sound row.
        for column in (0..row.layout().column_count()).filter(|column| !row.layout().is_computed(*column)) {
            row.value(column).map_err(|_| format!("its column {} cannot be read", self.def.columns[column].name))?;
        }
        let parts = &self.spec.indexes[0].parts;
        if !parts.is_empty() {
            own_key.clear();
            encode_columns(row, parts, own_key).map_err(|_| "it has no primary key".to_owned())?;
            if own_key != key {
                return Err(format!("it stands under the key of another, its own is {}", self.row_text(own_key)));
            }
        }
        each(teller, page, row, key);
        Ok(())
    }

    /// Calls back with each live entry of a secondary index, as [`TableCheck::entry_of`] tells it.
    fn each_entry(&self, index_no: usize, teller: &mut Teller<'_>, each: &mut dyn FnMut(PageNo, &[u8])) {
        let index = &self.spec.indexes[index_no];
        let (mut key, mut before): (Vec<u8>, Vec<u8>) = (Vec::new(), Vec::new());
        let mut before_there = false;
        let visit = |teller: &mut Teller<'_>, page: PageNo, leaf: NodeImage<'_>| {
            for slot in 0..leaf.count() {
                key.clear();
                leaf.key(slot).append_to(&mut key);
                let (deleted, primary_key) = match secondary_entry(&key, leaf.value(slot)) {
                    Ok(entry) => entry,
                    Err(error) => {
                        teller.tell(Some(page), format!("slot {slot}: {error}"));
                        continue;
                    }
                };
                if deleted {
                    continue;
                }
                let user = &key[..key.len() - primary_key.len()];
                if index.unique && before_there && before == user && !self.has_null(&index.parts, user) {
                    let text = key_text(self.layout(), &index.parts, user);
                    teller.tell(Some(page), format!("two rows have the key {text} of a unique index"));
                }
                before.clear();
                before.extend_from_slice(user);
                before_there = true;
                let parts_bytes = user.len();
                put_parts_length(&mut key, parts_bytes);
                each(page, &key);
            }
        };
        walk(self.shared.pages, self.tree(index_no), &mut Leaves { teller, each: visit });
    }

    /// Whether a part of a key is NULL, or cannot be read.
    fn has_null(&self, parts: &[KeyPart], key: &[u8]) -> bool {
        let mut rest = key;
        parts.iter().any(|part| {
            let ty = self.layout().column_type(part.column);
            let null = if part.descending { u8::MAX } else { 0 };
            let is_null = ty.nullable && rest.first() == Some(&null);
            match record::key::part_bytes(ty, part, rest) {
                Ok(bytes) => rest = rest.get(bytes..).unwrap_or_default(),
                Err(_) => return true,
            }
            is_null
        })
    }

    /// Rows and entries differ: finds out where.
    fn explain(&self, index_no: usize, count: u64, teller: &mut Teller<'_>) {
        let index = &self.spec.indexes[index_no];
        let rows = |each: &mut dyn FnMut(&[u8], PageNo, &[u8])| {
            let mut entry = Vec::new();
            self.each_row(&mut self.teller(0, true), &mut |_, page, row, key| {
                if self.entry_of(&index.parts, row, key, &mut entry) {
                    each(&entry, page, key);
                }
            });
        };
        let entries = |each: &mut dyn FnMut(PageNo, &[u8])| self.each_entry(index_no, &mut self.teller(index_no, true), each);
        let found = differences(count, |note| rows(&mut |entry, _, _| note(entry)), |note| entries(&mut |_, entry| note(entry)));
        rows(&mut |entry, page, key| {
            if found.get(&hash(entry)).is_some_and(|count| *count > 0) {
                teller.tell(Some(page), format!("the row {} has no entry in this index", self.row_text(key)));
            }
        });
        entries(&mut |page, entry| {
            if found.get(&hash(entry)).is_some_and(|count| *count < 0) {
                let text = key_text(self.layout(), &index.parts, entry);
                teller.tell(Some(page), format!("the entry {text} has no row"));
            }
        });
    }
}
