//! Many keys in ascending order: neighbours are found on the leaf that is latched already.
//!
//! # Invariants
//! 1. A key that is not below one that led to a leaf, and not above the leaf's last key, is on this leaf or nowhere.

use std::ops::ControlFlow;

use crate::cursor::{Cursor, Seek};
use crate::descend::Target;
use crate::error::Result;
use crate::keys_ahead::KeysAhead;
use crate::node::Node;
use crate::search;
use crate::tree::BTree;

/// Whether a key that is not below one that led to this leaf is looked for here.
#[inline]
fn is_here(node: Node<'_>, key: &[u8]) -> bool {
    node.count() > 0 && !search::is_above_all(node.0, key)
}

impl BTree {
    /// Calls `f` with the number and the value of each of `keys`, which ascend (equal ones may follow each other), under the leaf's shared latch, until it
    /// breaks: `f` must be short and must not touch the tree.
    pub fn get_ascending(&self, keys: &[impl AsRef<[u8]>], mut f: impl FnMut(usize, Option<&[u8]>) -> ControlFlow<()>) -> Result<()> {
        let mut ahead = KeysAhead::of_all();
        let mut rest = keys.iter().map(AsRef::as_ref).enumerate().peekable();
        while let Some((no, key)) = rest.next() {
            ahead.keep(self, no, |no| keys.get(no).map(AsRef::as_ref));
            let leaf = self.leaf(Target::Key(key), |pool, page| pool.shared(page))?;
            let node = Node::new(&leaf);
            let mut found = |no: usize, key: &[u8]| {
                let position = node.find_in_leaf(key);
                f(no, position.found.then(|| node.leaf_value(position.slot)))
            };
            if found(no, key).is_break() {
                return Ok(());
            }
            let mut before = key;
            while let Some((no, key)) = rest.next_if(|(_, key)| is_here(node, key)) {
                debug_assert!(before <= key, "keys ascend");
                before = key;
                if found(no, key).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

impl Cursor<'_> {
    /// [`Cursor::seek`] to a key or the first one above, for keys that are not below any that this cursor has been asked for or was on: it stays on its leaf
    /// where that has the key. For readers of a snapshot: a key that has come between two leaves since the cursor went from one to the other may be passed over.
    pub fn seek_onward(&mut self, key: &[u8]) -> Result<()> {
        if let Some(node) = self.node()
            && is_here(node, key)
        {
            self.slot = node.find_in_leaf(key).slot;
            self.key_is_current = false;
            self.hopped = false;
            return Ok(());
        }
        self.seek(key, Seek::AtOrAfter)
    }
}
