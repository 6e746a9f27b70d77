//! Which tables a transaction has changed, so that PREPARE can name them: a start then knows the tables of a prepared branch without walking its undo.
//!
//! # Invariants
//! 1. A table is noted before its undo record is written, and stays noted when the change is taken back: the list may name too many, never too few.
//! 2. What is noted for one table after the other is one comparison; the list is never longer than twice the tables that it names, or [`SORTED_AT`].
//! 3. Of very many tables none is named, as before there were names: their undo is walked then. So what names them fits a log record.

use base::{Malformed, Reader, TableId, put_varint};
use std::sync::Arc;

/// The tables of a prepared branch, ascending; `None` when nobody has named them.
pub(crate) type Named = Option<Arc<[TableId]>>;

/// Entries with which the list is sorted for the first time.
const SORTED_AT: usize = 64;
/// Entries of which the list keeps its memory from one transaction to the next.
const KEPT_MAX: usize = 256;
/// Tables that a branch names, at most.
pub(crate) const NAMED_MAX: usize = 4096;

/// No table has this id.
const NONE: TableId = TableId(0);

/// The tables that the running transaction has changed.
pub(crate) struct Touched {
    last: TableId,
    /// Some of them several times, in any order.
    all: Vec<TableId>,
    sort_at: usize,
}

impl Touched {
    pub(crate) const fn new() -> Touched {
        Touched { last: NONE, all: Vec::new(), sort_at: SORTED_AT }
    }

    #[inline]
    pub(crate) fn note(&mut self, table: TableId) {
        if table != self.last {
            self.note_other(table);
        }
    }

    #[inline(never)]
    fn note_other(&mut self, table: TableId) {
        self.last = table;
        if self.all.len() == self.sort_at {
            self.all.sort_unstable();
            self.all.dedup();
            self.sort_at = SORTED_AT.max(2 * self.all.len());
        }
        self.all.push(table);
    }

    /// A new transaction.
    pub(crate) fn clear(&mut self) {
        self.last = NONE;
        if self.all.capacity() > KEPT_MAX {
            *self = Touched::new();
        }
        self.all.clear();
    }

    /// All of them, unless they are too many to be named.
    pub(crate) fn named(&self) -> Named {
        let mut all = self.all.clone();
        all.sort_unstable();
        all.dedup();
        (all.len() <= NAMED_MAX).then(|| all.into())
    }
}

/// The bytes of a list: how many, then each as the difference to the one before.
pub(crate) fn put(tables: &[TableId], out: &mut Vec<u8>) {
    put_varint(out, tables.len() as u64);
    let mut before = 0;
    for table in tables {
        put_varint(out, u64::from(table.0 - before));
        before = table.0;
    }
}

/// Reads the bytes of a list, or nothing.
pub(crate) fn decode(bytes: &[u8]) -> Result<Named, Malformed> {
    let mut reader = Reader::new(bytes);
    let named = if bytes.is_empty() { None } else { Some(read(&mut reader)?) };
    if reader.is_empty() { Ok(named) } else { Err(Malformed) }
}

/// Reads what [`put`] has written.
pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Arc<[TableId]>, Malformed> {
    let (mut tables, mut before) = (Vec::new(), 0u32);
    let count = reader.varint()?;
    if count > NAMED_MAX as u64 {
        return Err(Malformed);
    }
    for no in 0..count {
        let more = u32::try_from(reader.varint()?).map_err(|_| Malformed)?;
        before = before.checked_add(more).filter(|_| no == 0 || more > 0).ok_or(Malformed)?;
        tables.push(TableId(before));
    }
    Ok(tables.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn all_tables_are_named_however_often_they_alternate() {
        let mut touched = Touched::new();
        assert_eq!(touched.named().as_deref(), Some(&[][..]));
        for (tables, rounds) in [(1, 5), (3, 1000), (100, 50), (NAMED_MAX as u32, 3), (NAMED_MAX as u32 + 1, 2), (2, 2)] {
            let mut model = BTreeSet::new();
            for no in 0..tables * rounds {
                // Up and down.
                let table = TableId(16 + if no / tables % 2 == 0 { no % tables } else { tables - 1 - no % tables });
                touched.note(table);
                model.insert(table);
                assert!(touched.all.len() <= SORTED_AT.max(2 * model.len()) + 1);
            }
            match model.len() <= NAMED_MAX {
                true => assert_eq!(touched.named().as_deref(), Some(&*model.into_iter().collect::<Vec<_>>())),
                false => assert_eq!(touched.named(), None, "too many"),
            }
            touched.clear();
            assert!(touched.all.capacity() <= KEPT_MAX);
        }
    }

    #[test]
    fn lists_round_trip_and_cut_ones_are_malformed() {
        let tables = [16, 17, 500, u32::MAX].map(TableId);
        let mut bytes = Vec::new();
        put(&tables, &mut bytes);
        assert_eq!(read(&mut Reader::new(&bytes)).as_deref(), Ok(&tables[..]));
        assert_eq!(decode(&bytes), Ok(Some(tables.into())));
        (1..bytes.len()).for_each(|end| assert_eq!(decode(&bytes[..end]), Err(Malformed)));
        assert_eq!(decode(&[]), Ok(None));
        bytes.push(0);
        assert_eq!(decode(&bytes), Err(Malformed));
        // Twice the same, past the largest, more than may be.
        for wrong in [vec![2, 16, 0], vec![2, 16, 0xff, 0xff, 0xff, 0xff, 0x0f], vec![0xff, 0xff, 0x7f]] {
            assert_eq!(read(&mut Reader::new(&wrong)), Err(Malformed), "{wrong:?}");
        }
    }
}
