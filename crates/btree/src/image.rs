//! Pages of trees and overflow chains as images, outside of a buffer pool: for tools that look at a directory which no server runs on.
//!
//! # Invariants
//! 1. An image is judged before anything is read from it: what [`NodeImage::open`] accepts can be read to the last entry.

use base::{IndexId, PageNo};
use page_store::header;

use crate::check::{check_layout, check_order};
use crate::node::Node;
use crate::overflow;
use crate::{CheckError, KeyRef};

/// A leaf or inner page.
#[derive(Clone, Copy)]
pub struct NodeImage<'a> {
    node: Node<'a>,
    page: PageNo,
}

impl<'a> NodeImage<'a> {
    /// Takes an image whose checksum was right. The error says what is wrong with it.
    pub fn open(bytes: &'a [u8], page: PageNo, index: IndexId) -> Result<NodeImage<'a>, String> {
        let node = Node::new(bytes);
        if node.index() != index {
            return Err(format!("is a page of index {}, not of {index}", node.index()));
        }
        if !node.is_of(index) {
            return Err(format!("has type {} at level {}", header::page_type(bytes), node.level()));
        }
        check_layout(node, page).map_err(text)?;
        Ok(NodeImage { node, page })
    }

    /// Whether keys ascend, are found by searching, and lie in `[low, high)`.
    pub fn check_order(&self, low: Option<&[u8]>, high: Option<&[u8]>) -> Result<(), String> {
        check_order(self.node, self.page, low, high).map_err(text)
    }

    /// 0 for a leaf.
    pub fn level(&self) -> u16 {
        self.node.level()
    }

    /// Entries, or children.
    pub fn count(&self) -> usize {
        self.node.count()
    }

    /// Left sibling.
    pub fn left(&self) -> PageNo {
        self.node.left()
    }

    /// Right sibling.
    pub fn right(&self) -> PageNo {
        self.node.right()
    }

    /// Key of a slot; the first of an inner page has none.
    pub fn key(&self, slot: usize) -> KeyRef<'a> {
        self.node.key(slot)
    }

    /// Value of a leaf's slot.
    pub fn value(&self, slot: usize) -> &'a [u8] {
        self.node.leaf_value(slot)
    }

    /// Child of an inner page's slot.
    pub fn child(&self, slot: usize) -> PageNo {
        self.node.child(slot)
    }
}

impl std::fmt::Debug for NodeImage<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NodeImage(page {}, level {}, {} entries)", self.page, self.level(), self.count())
    }
}

fn text(error: CheckError) -> String {
    match error {
        CheckError::Broken { what, .. } => what,
        other => other.to_string(),
    }
}

/// Next page and data of an image of an overflow page of `index`; the error says what is wrong with it.
pub fn overflow_page(bytes: &[u8], index: IndexId) -> Result<(PageNo, &[u8]), String> {
    overflow::parse_image(bytes, index).ok_or_else(|| format!("is not an overflow page of index {index}"))
}
