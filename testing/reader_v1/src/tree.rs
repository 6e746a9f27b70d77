//! B+tree pages: all entries of a tree, by its leaves' right links.

use crate::bytes::{u16_at, u32_at, u64_at};
use crate::{Directory, PAGE, Problem};

/// Keys and values of all leaves, in order.
pub(crate) fn entries(directory: &Directory, index: u32, root: u64) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Problem> {
    let mut number = root;
    let mut page = node(directory, index, number)?;
    while u16_at(page, 6) > 0 {
        number = u64_at(page, usize::from(u16_at(page, 88)));
        page = node(directory, index, number)?;
    }
    let mut all: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    loop {
        let page = node(directory, index, number)?;
        let prefix = &page[PAGE - usize::from(u16_at(page, 54))..];
        for slot in 0..usize::from(u16_at(page, 48)) {
            let slot = 88 + 8 * slot;
            let (at, suffix) = (usize::from(u16_at(page, slot)), usize::from(u16_at(page, slot + 2)));
            let head = u32_at(page, slot + 4).to_be_bytes();
            let rest = suffix.saturating_sub(4);
            let key = [prefix, &head[..suffix.min(4)], &page[at + 2..at + 2 + rest]].concat();
            let value = &page[at + 2 + rest..at + 2 + rest + usize::from(u16_at(page, at))];
            if all.last().is_some_and(|(before, _)| *before >= key) {
                return Err(format!("page {number}: keys out of order"));
            }
            all.push((key, value.to_vec()));
        }
        number = u64_at(page, 64);
        if number == 0 {
            return Ok(all);
        }
    }
}

fn node(directory: &Directory, index: u32, number: u64) -> Result<&[u8], Problem> {
    let page = directory.page(number)?;
    let leaf = u16_at(page, 6) == 0;
    if u32_at(page, 24) != index || page[4] != if leaf { 3 } else { 4 } {
        return Err(format!("page {number}: not a page of index {index}"));
    }
    Ok(page)
}
