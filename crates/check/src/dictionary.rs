//! The dictionary as page images.

use crate::pages::Pages;
use crate::row::WholeRow;
use base::PageNo;
use btree::image::NodeImage;
use catalog::TableDef;
use catalog::offline::{DictionaryRow, read_row};
use engine::offline::{DICTIONARY, dictionary_layout};
use record::RowLayout;
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
        let layouts = std::slice::from_ref(&self.layout);
        let row = WholeRow::read(self.pages, DICTIONARY, layouts, stored, chain).map_err(|refused| format!("a row: {refused}"))?;
        if row.header.is_deleted() {
            return Ok(None);
        }
        let columns = row.columns();
        match (columns.column_bytes(0), columns.column_bytes(1)) {
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
