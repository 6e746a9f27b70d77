//! Entries of a secondary index, gathered in one arena and sorted.

use crate::table::{Index, Table, new_entry_value};
use crate::write::secondary::has_null;
use crate::write::staged::{Head, Staged, sort_heads};
use crate::{Error, Result};
use record::RowRef;

/// Bytes of an entry's value.
const VALUE_BYTES: usize = 3;

/// The entries of a secondary index for staged rows.
#[derive(Default)]
pub(crate) struct Entries {
    /// For each its key, then its value.
    bytes: Vec<u8>,
    places: Vec<EntryPlace>,
    order: Vec<Head>,
}

#[derive(Clone, Copy)]
struct EntryPlace {
    start: u32,
    user: u32,
    value: u32,
    end: u32,
    /// Where its row stands in the order of primary keys.
    row: u32,
    has_null: bool,
}

impl Entries {
    pub(crate) fn key(&self, no: u32) -> &[u8] {
        let place = &self.places[no as usize];
        &self.bytes[place.start as usize..place.value as usize]
    }

    pub(crate) fn user(&self, no: u32) -> &[u8] {
        let place = &self.places[no as usize];
        &self.bytes[place.start as usize..place.user as usize]
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<(&[u8], &[u8])> {
        let place = &self.places[self.order.get(place)?.no as usize];
        Some((&self.bytes[place.start as usize..place.value as usize], &self.bytes[place.value as usize..place.end as usize]))
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
        self.order.clear();
    }

    /// Adds the keys of all rows, which are sorted.
    pub(crate) fn gather(&mut self, table: &Table, index: &Index, staged: &Staged) -> Result<()> {
        memory::reserve(&mut self.places, staged.len()).map_err(|_| Error::Killed)?;
        memory::reserve(&mut self.order, staged.len()).map_err(|_| Error::Killed)?;
        if index.unique {
            return (0..)
                .map_while(|row| staged.at(row))
                .enumerate()
                .try_for_each(|(row, (_, key, bytes))| self.add(table, index, row, key, bytes));
        }
        // As they lie in memory: nobody asks where the row stands among the others.
        staged.in_turn().try_for_each(|(key, bytes)| self.add(table, index, 0, key, bytes))
    }

    /// Adds the key of a row.
    #[inline]
    fn add(&mut self, table: &Table, index: &Index, row: usize, key: &[u8], bytes: &[u8]) -> Result<()> {
        let row_ref = RowRef::new(table.layout(), bytes);
        // What the key takes is known afterwards only; parts are of the row, so it is not more than that, but for collations whose weights are longer than their text.
        memory::reserve(&mut self.bytes, 2 * bytes.len() + key.len()).map_err(|_| Error::Killed)?;
        let start = self.bytes.len();
        let user_bytes = table.secondary_key(index, row_ref, key, &mut self.bytes)?;
        let value = self.bytes.len();
        self.bytes.extend_from_slice(&new_entry_value(0, user_bytes));
        let no = self.places.len() as u32;
        self.places.push(EntryPlace {
            start: start as u32,
            user: (start + user_bytes) as u32,
            value: value as u32,
            end: self.bytes.len() as u32,
            row: row as u32,
            has_null: index.unique && has_null(index, row_ref)?,
        });
        self.order.push(Head::of(&self.bytes[start..value], no));
        Ok(())
    }

    /// Adds an entry above all before it.
    pub(crate) fn push_sorted(&mut self, key: &[u8], user_bytes: usize) -> Result<()> {
        memory::reserve(&mut self.bytes, key.len() + VALUE_BYTES).map_err(|_| Error::Killed)?;
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&new_entry_value(0, user_bytes));
        let value = start + key.len() as u32;
        let place = EntryPlace { start, user: start + user_bytes as u32, value, end: self.bytes.len() as u32, row: 0, has_null: false };
        self.order.push(Head::of(&[], self.places.len() as u32));
        self.places.push(place);
        Ok(())
    }

    /// Brings them into order.
    pub(crate) fn sort(&mut self) {
        let mut order = std::mem::take(&mut self.order);
        sort_heads(&mut order, |no| self.key(no));
        self.order = order;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    /// Bytes of keys and values.
    pub(crate) fn key_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Memory held.
    pub(crate) fn held_bytes(&self) -> u64 {
        let each = self.places.capacity() * size_of::<EntryPlace>() + self.order.capacity() * size_of::<Head>();
        (self.bytes.capacity() + each) as u64
    }

    /// Numbers in order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter().map(|head| head.no)
    }

    /// Bytes of the user parts of the one at a place in the order.
    pub(crate) fn user_bytes_at(&self, place: usize) -> usize {
        self.user(self.order[place].no).len()
    }

    /// The row of an entry of a unique index, by its place in the order of primary keys; none where a part is NULL.
    pub(crate) fn unique_row(&self, no: u32) -> Option<usize> {
        let place = &self.places[no as usize];
        (!place.has_null).then_some(place.row as usize)
    }
}
