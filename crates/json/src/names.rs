//! How long names are in documents that are to be stored.

use crate::{DEPTH_MAX, Error, Result, View};

/// Longest name of a member in a stored document, as MySQL has it; those that a statement works with may be longer.
pub const STORED_NAME_BYTES_MAX: usize = 0xFFFF;

/// Whether a document has only names that may be stored.
///
/// # Errors
/// Damage, depth.
pub fn has_storable_names(document: View<'_>) -> Result<bool> {
    // Most documents have no room for such a name.
    if document.bytes().len() <= STORED_NAME_BYTES_MAX { Ok(true) } else { look(document, 0) }
}

#[cold]
fn look(view: View<'_>, depth: usize) -> Result<bool> {
    if depth > DEPTH_MAX {
        return Err(Error::TooDeep);
    }
    if view.bytes().len() <= STORED_NAME_BYTES_MAX {
        return Ok(true);
    }
    if view.is_array() {
        for item in view.iter_elements()? {
            if !look(item?, depth + 1)? {
                return Ok(false);
            }
        }
    } else if view.is_object() {
        for member in view.iter_members()? {
            let (name, value) = member?;
            if name.len() > STORED_NAME_BYTES_MAX || !look(value, depth + 1)? {
                return Ok(false);
            }
        }
    }
    Ok(true)
}
