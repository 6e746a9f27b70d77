//! The dictionary as page images.

use crate::pages::Pages;
use crate::walk::read_chain;
use base::PageNo;
use btree::image::NodeImage;
use catalog::TableDef;
use catalog::offline::{DictionaryRow, read_row};
use engine::offline::{DICTIONARY, chain_place, dictionary_layout, whole_row};
use record::{RowHeader, RowLayout, RowRef};
use std::sync::Arc;

/// Reads rows of the dictionary.
pub(crate) struct DictionaryReader<'p> {
    pages: &'p Pages,
    layout: Arc<RowLayout>,
}

impl<'p> DictionaryReader<'p> {
    pub(crate) fn new(pages: &'p Pages) -> DictionaryReader<'p> {
        DictionaryReader { pages, layout: dictionary_layout() }
    }

    /// The rows of a leaf that are not deleted. `chain` is told each overflow page, and says whether it may be read.
    pub(crate) fn rows(&self, leaf: NodeImage<'_>, chain: &mut dyn FnMut(PageNo) -> bool) -> Vec<Result<DictionaryRow, String>> {
        (0..leaf.count()).filter_map(|slot| self.row(leaf.value(slot), chain).transpose()).collect()
    }

    fn row(&self, stored: &[u8], chain: &mut dyn FnMut(PageNo) -> bool) -> Result<Option<DictionaryRow>, String> {
        let header = RowHeader::read(stored).map_err(|_| "a row shorter than its header".to_owned())?;
        let whole = match chain_place(stored).map_err(|error| error.to_string())? {
            Some(place) => {
                let rest = read_chain(self.pages, DICTIONARY, place, chain).map_err(|(page, what)| format!("page {page} {what}"))?;
                whole_row(stored, &rest).map_err(|error| error.to_string())?
            }
            None => stored.to_vec(),
        };
        if header.is_deleted() {
            return Ok(None);
        }
        let row = RowRef::new(&self.layout, &whole);
        match (row.column_bytes(0), row.column_bytes(1)) {
            (Ok(Some(key)), Ok(Some(value))) => read_row(key, value).map(Some),
            _ => Err("a row that its layout cannot read".into()),
        }
    }

    /// The tables that a leaf defines; what cannot be read is told elsewhere.
    pub(crate) fn tables(&self, leaf: NodeImage<'_>) -> Vec<TableDef> {
        let rows = self.rows(leaf, &mut |_| true).into_iter();
        rows.filter_map(|row| if let Ok(DictionaryRow::Table(def)) = row { Some(*def) } else { None }).collect()
    }
}
