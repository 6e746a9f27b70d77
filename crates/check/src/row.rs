//! A stored row, made whole: its header, the layout that it was written with, and its columns from the leaf or from an overflow chain.

use crate::pages::Pages;
use crate::walk::read_chain;
use base::{IndexId, PageNo};
use engine::offline::{chain_place, whole_row};
use record::{RowHeader, RowLayout, RowRef};
use std::borrow::Cow;
use std::sync::Arc;

/// A row whose columns are all there.
pub(crate) struct WholeRow<'r> {
    pub(crate) header: RowHeader,
    layout: &'r RowLayout,
    bytes: Cow<'r, [u8]>,
}

/// Why a row cannot be had.
pub(crate) enum Refused {
    /// Its own bytes.
    Row(String),
    /// A page of its overflow chain.
    Chain(PageNo, String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Row(what) => f.write_str(what),
            Refused::Chain(page, what) => write!(f, "page {page} of its overflow chain {what}"),
        }
    }
}

impl<'r> WholeRow<'r> {
    /// Reads a row of the index, as stored. `reach` is told each page of its chain, and says whether it may be read.
    pub(crate) fn read(
        pages: &Pages,
        index: IndexId,
        layouts: &'r [Arc<RowLayout>],
        stored: &'r [u8],
        reach: impl FnMut(PageNo) -> bool,
    ) -> Result<WholeRow<'r>, Refused> {
        let header = header(stored).map_err(Refused::Row)?;
        let version = layouts.iter().find(|layout| layout.schema_version() == header.schema_version);
        let layout =
            version.ok_or_else(|| Refused::Row(format!("it has schema version {}, which the table has not", header.schema_version)))?;
        let refused = |error: engine::Error| Refused::Row(error.to_string());
        let bytes = match chain_place(stored).map_err(refused)? {
            Some(place) => {
                let rest = read_chain(pages, index, place, reach).map_err(|(page, what)| Refused::Chain(page, what))?;
                Cow::Owned(whole_row(stored, &rest).map_err(refused)?)
            }
            None => Cow::Borrowed(stored),
        };
        Ok(WholeRow { header, layout, bytes })
    }

    pub(crate) fn columns(&self) -> RowRef<'_> {
        RowRef::new(self.layout, &self.bytes)
    }
}

/// The header of a row as stored.
pub(crate) fn header(stored: &[u8]) -> Result<RowHeader, String> {
    RowHeader::read(stored).map_err(|_| "it is shorter than its header".to_owned())
}
