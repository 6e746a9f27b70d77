//! The bytes of an undo record: enough to take one row change back, to show the version before it, and to purge after it.
//!
//! # Invariants
//! 1. A record is written to the undo store before the row change is logged, and the log record of the change repeats it, so recovery can rebuild it.
//! 2. A fresh insert leaves `UndoPtr::NONE` in its row: no reader ever looks for a version before it. Its undo record serves rollback only.
//! 3. Versions are told as a difference to the next newer one: `old = new[..prefix] + middle + new[len - suffix..]`, over the row's bytes after its header.
//!
//! Layout: kind u8, then varints and length-prefixed bytes in the order of the fields below.

use base::{IndexId, Malformed, PageNo, Reader, TableId, TxnId, UndoPtr, put_bytes, put_u8, put_varint};
use record::header::RowHeader;
use smallvec::SmallVec;

/// Header fields of the row version that a change replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OldHeader {
    pub flags: u8,
    pub schema_version: u16,
    pub txn: TxnId,
    pub undo: UndoPtr,
}

impl From<OldHeader> for RowHeader {
    fn from(old: OldHeader) -> RowHeader {
        RowHeader { flags: old.flags, schema_version: old.schema_version, txn: old.txn, undo: old.undo }
    }
}

impl From<RowHeader> for OldHeader {
    fn from(header: RowHeader) -> OldHeader {
        OldHeader { flags: header.flags, schema_version: header.schema_version, txn: header.txn, undo: header.undo }
    }
}

/// A version further back, told as a difference to the one that a change replaced. Versions between the two are needed by nobody: every view that does not
/// see the replaced version, and was open when the change was made, sees none of them, and views opened later see the replaced one. So their undo records may be
/// released while this one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Skip<'a> {
    pub old: OldHeader,
    pub prefix: usize,
    pub suffix: usize,
    pub middle: &'a [u8],
}

/// Stands for "no version further back is seen by anybody": a deleted version that everybody sees.
pub(crate) const NOTHING: OldHeader =
    OldHeader { flags: record::header::DELETE_MARK, schema_version: 0, txn: TxnId::NONE, undo: UndoPtr::NONE };

/// What changed in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<'a> {
    /// A row that did not exist.
    Insert,
    /// Several rows that did not exist, which went into one leaf, or into a few neighbouring ones, together: the first is the record's, `keys` are those of the others, ascending; see [`run_keys`].
    InsertRun { keys: &'a [u8] },
    /// New contents over a row, live or delete-marked.
    Update {
        old: OldHeader,
        prefix: usize,
        suffix: usize,
        middle: &'a [u8],
        /// Encoded list of `(index id, key)` of secondary entries that the row left behind; see [`old_keys`].
        old_keys: &'a [u8],
        /// Where readers go on that do not see the replaced version.
        skip: Option<Skip<'a>>,
    },
    /// The row was delete-marked; its contents stand. Of a row whose columns are in an overflow chain the record has the place of the chain,
    /// so that purge can free it when the row is gone already; else nothing.
    Delete { old: OldHeader, external: &'a [u8] },
    /// An overflow chain was written ahead of the row that will point to it: rollback frees it.
    Chain { index: IndexId, first: PageNo },
}

/// One undo record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UndoRecord<'a> {
    pub txn: TxnId,
    /// The transaction's previous record.
    pub previous: UndoPtr,
    pub table: TableId,
    /// Primary key of the row.
    pub key: &'a [u8],
    pub change: Change<'a>,
}

const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const DELETE: u8 = 3;
const CHAIN: u8 = 4;
const DELETE_EXTERNAL: u8 = 5;
const UPDATE_SKIP: u8 = 6;
const INSERT_RUN: u8 = 7;

impl<'a> UndoRecord<'a> {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_u8(
            out,
            match self.change {
                Change::Insert => INSERT,
                Change::InsertRun { .. } => INSERT_RUN,
                Change::Update { skip: None, .. } => UPDATE,
                Change::Update { skip: Some(_), .. } => UPDATE_SKIP,
                Change::Delete { external: [], .. } => DELETE,
                Change::Delete { .. } => DELETE_EXTERNAL,
                Change::Chain { .. } => CHAIN,
            },
        );
        put_varint(out, self.txn.0);
        put_varint(out, self.previous.0);
        put_varint(out, u64::from(self.table.0));
        put_bytes(out, self.key);
        match self.change {
            Change::Insert => {}
            Change::InsertRun { keys } => put_bytes(out, keys),
            Change::Update { old, prefix, suffix, middle, old_keys, skip } => {
                put_difference(out, &old, prefix, suffix, middle);
                put_bytes(out, old_keys);
                if let Some(Skip { old, prefix, suffix, middle }) = skip {
                    put_difference(out, &old, prefix, suffix, middle);
                }
            }
            Change::Delete { old, external } => {
                put_old_header(out, &old);
                if !external.is_empty() {
                    put_bytes(out, external);
                }
            }
            Change::Chain { index, first } => {
                put_varint(out, u64::from(index.0));
                put_varint(out, first.0);
            }
        }
    }

    /// Whose the record with these bytes is; nothing else of it is looked at.
    pub(crate) fn txn_of(bytes: &[u8]) -> Result<TxnId, Malformed> {
        let mut r = Reader::new(bytes);
        let _kind = r.u8()?;
        Ok(TxnId(r.varint()?))
    }

    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(bytes);
        let kind = r.u8()?;
        let txn = TxnId(r.varint()?);
        let previous = UndoPtr(r.varint()?);
        let table = TableId(u32::try_from(r.varint()?).map_err(|_| Malformed)?);
        let key = r.bytes()?;
        let change = match kind {
            INSERT => Change::Insert,
            INSERT_RUN => Change::InsertRun { keys: r.bytes()? },
            UPDATE | UPDATE_SKIP => {
                let Skip { old, prefix, suffix, middle } = difference(&mut r)?;
                let old_keys = r.bytes()?;
                let skip = if kind == UPDATE_SKIP { Some(difference(&mut r)?) } else { None };
                Change::Update { old, prefix, suffix, middle, old_keys, skip }
            }
            DELETE => Change::Delete { old: old_header(&mut r)?, external: &[] },
            DELETE_EXTERNAL => Change::Delete { old: old_header(&mut r)?, external: r.bytes()? },
            CHAIN => Change::Chain { index: IndexId(u32::try_from(r.varint()?).map_err(|_| Malformed)?), first: PageNo(r.varint()?) },
            _ => return Err(Malformed),
        };
        Ok(UndoRecord { txn, previous, table, key, change })
    }
}

fn put_difference(out: &mut Vec<u8>, old: &OldHeader, prefix: usize, suffix: usize, middle: &[u8]) {
    put_old_header(out, old);
    put_varint(out, prefix as u64);
    put_varint(out, suffix as u64);
    put_bytes(out, middle);
}

fn difference<'a>(r: &mut Reader<'a>) -> Result<Skip<'a>, Malformed> {
    Ok(Skip { old: old_header(r)?, prefix: r.varint()? as usize, suffix: r.varint()? as usize, middle: r.bytes()? })
}

fn put_old_header(out: &mut Vec<u8>, old: &OldHeader) {
    put_u8(out, old.flags);
    put_varint(out, u64::from(old.schema_version));
    put_varint(out, old.txn.0);
    put_varint(out, old.undo.0);
}

fn old_header(r: &mut Reader<'_>) -> Result<OldHeader, Malformed> {
    Ok(OldHeader {
        flags: r.u8()?,
        schema_version: u16::try_from(r.varint()?).map_err(|_| Malformed)?,
        txn: TxnId(r.varint()?),
        undo: UndoPtr(r.varint()?),
    })
}

/// Appends one left-behind secondary key to an `old_keys` list.
pub(crate) fn put_old_key(out: &mut Vec<u8>, index: IndexId, key: &[u8]) {
    put_varint(out, u64::from(index.0));
    put_bytes(out, key);
}

/// The list written by [`put_old_key`].
pub(crate) fn old_keys(mut bytes: &[u8]) -> impl Iterator<Item = Result<(IndexId, &[u8]), Malformed>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let mut r = Reader::new(bytes);
        let mut one = || Ok((IndexId(u32::try_from(r.varint()?).map_err(|_| Malformed)?), r.bytes()?));
        let entry = one();
        bytes = if entry.is_ok() { r.rest() } else { &[] };
        Some(entry)
    })
}

/// Appends the key behind `before` to a list of [`Change::InsertRun`]: what it shares with that is left out.
pub(crate) fn put_run_key(out: &mut Vec<u8>, before: &[u8], key: &[u8]) {
    let shared = before.iter().zip(key).take_while(|(a, b)| a == b).count();
    put_varint(out, shared as u64);
    put_bytes(out, &key[shared..]);
}

/// All keys of a run, the first included.
pub(crate) fn run_keys(first: &[u8], list: &[u8]) -> Result<Vec<Vec<u8>>, Malformed> {
    let (mut keys, mut r) = (vec![first.to_vec()], Reader::new(list));
    while !r.is_empty() {
        let shared = usize::try_from(r.varint()?).map_err(|_| Malformed)?;
        let before: &[u8] = keys.last().map_or(&[], Vec::as_slice);
        let key = [before.get(..shared).ok_or(Malformed)?, r.bytes()?].concat();
        keys.push(key);
    }
    Ok(keys)
}

/// Lengths of the common head and tail of two byte strings; they do not overlap in either.
pub(crate) fn common_ends(a: &[u8], b: &[u8]) -> (usize, usize) {
    // Sixteen bytes at a time: rows are a few hundred bytes, of which a change leaves most as they were.
    const WORD: usize = 16;
    let differ = |(x, y): (&[u8; WORD], &[u8; WORD])| u128::from_le_bytes(*x) ^ u128::from_le_bytes(*y);
    let (words, others) = (a.as_chunks::<WORD>().0, b.as_chunks::<WORD>().0);
    let prefix = match words.iter().zip(others).map(differ).enumerate().find(|(_, bits)| *bits != 0) {
        // The bits that differ tell the byte.
        Some((word, bits)) => WORD * word + bits.trailing_zeros() as usize / 8,
        None => {
            let head = WORD * words.len().min(others.len());
            head + a[head..].iter().zip(&b[head..]).take_while(|(x, y)| x == y).count()
        }
    };
    let (a, b) = (&a[prefix..], &b[prefix..]);
    let (words, others) = (a.as_rchunks::<WORD>().1, b.as_rchunks::<WORD>().1);
    let suffix = match words.iter().rev().zip(others.iter().rev()).map(differ).enumerate().find(|(_, bits)| *bits != 0) {
        Some((word, bits)) => WORD * word + bits.leading_zeros() as usize / 8,
        None => {
            let tail = WORD * words.len().min(others.len());
            tail + a[..a.len() - tail].iter().rev().zip(b[..b.len() - tail].iter().rev()).take_while(|(x, y)| x == y).count()
        }
    };
    (prefix, suffix)
}

/// Rebuilds the older body from the newer one. `None` when the record does not fit the body (damage).
pub(crate) fn older_body(newer: &[u8], prefix: usize, suffix: usize, middle: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if prefix.checked_add(suffix)? > newer.len() {
        return None;
    }
    out.extend_from_slice(&newer[..prefix]);
    out.extend_from_slice(middle);
    out.extend_from_slice(&newer[newer.len() - suffix..]);
    Some(())
}

/// A body told as a difference to a newer one: the lengths of what they share at the beginning and at the end, and what lies between in the older.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference<'a> {
    pub prefix: usize,
    pub suffix: usize,
    pub middle: &'a [u8],
}

/// Prefix, suffix and middle of the difference from `newer` to a body two steps back: by `first` to the one between, by `second` on from there. Builds no body, and looks at
/// nothing that both steps left as it was; so the difference may be longer than it must be, where the second step took back what the first did. `None` when a difference does not fit (damage).
pub(crate) fn compose(newer: &[u8], first: Difference<'_>, second: Difference<'_>) -> Option<(usize, usize, SmallVec<[u8; 64]>)> {
    let tail = newer.len().checked_sub(first.suffix).filter(|tail| *tail >= first.prefix)?;
    let middle_end = first.prefix.checked_add(first.middle.len())?;
    let between_bytes = middle_end + first.suffix;
    let second_tail = between_bytes.checked_sub(second.suffix).filter(|tail| *tail >= second.prefix)?;
    let (prefix, suffix) = (first.prefix.min(second.prefix), first.suffix.min(second.suffix));
    if (prefix, suffix) == (second.prefix, second.suffix) {
        // All that the first step changed the second one changes: as a rule, where the same columns change all the time.
        return Some((prefix, suffix, SmallVec::from_slice(second.middle)));
    }
    let mut middle = SmallVec::new();
    // A part of the body between, of the three pieces that it is made of.
    let add_between = |middle: &mut SmallVec<[u8; 64]>, from: usize, to: usize| {
        middle.extend_from_slice(&newer[from.min(first.prefix)..to.min(first.prefix)]);
        let within = |at: usize| at.clamp(first.prefix, middle_end) - first.prefix;
        middle.extend_from_slice(&first.middle[within(from)..within(to)]);
        let behind = |at: usize| tail + at.max(middle_end) - middle_end;
        middle.extend_from_slice(&newer[behind(from)..behind(to)]);
    };
    add_between(&mut middle, prefix, second.prefix);
    middle.extend_from_slice(second.middle);
    add_between(&mut middle, second_tail, between_bytes - suffix);
    Some((prefix, suffix, middle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(record: UndoRecord<'_>) {
        let mut bytes = Vec::new();
        record.encode(&mut bytes);
        assert_eq!(UndoRecord::decode(&bytes), Ok(record));
        for end in 0..bytes.len() {
            assert!(UndoRecord::decode(&bytes[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn records_round_trip_and_cut_records_are_malformed() {
        let old = OldHeader { flags: 1, schema_version: 3, txn: TxnId(77), undo: UndoPtr::new(5, 9) };
        for change in [
            Change::Insert,
            Change::InsertRun { keys: b"" },
            Change::InsertRun { keys: b"list" },
            Change::Update { old, prefix: 3, suffix: 500, middle: b"abc", old_keys: b"", skip: None },
            Change::Update {
                old,
                prefix: 3,
                suffix: 500,
                middle: b"abc",
                old_keys: b"keys",
                skip: Some(Skip { old: NOTHING, prefix: 9, suffix: 0, middle: b"further back" }),
            },
            Change::Delete { old, external: b"" },
            Change::Delete { old, external: b"place" },
            Change::Chain { index: IndexId(4), first: PageNo(9) },
        ] {
            check(UndoRecord { txn: TxnId(1 << 40), previous: UndoPtr::new(2, 3), table: TableId(9), key: b"key", change });
        }
    }

    #[test]
    fn keys_of_a_run_come_back() {
        let keys = [&b"a"[..], b"ab", b"abc", b"b", b"", b"zz"];
        let mut list = Vec::new();
        keys.windows(2).for_each(|pair| put_run_key(&mut list, pair[0], pair[1]));
        assert_eq!(run_keys(b"a", &list).unwrap(), keys);
        assert_eq!(run_keys(b"a", &[]).unwrap(), [b"a"]);
        // More shared than there is, and cut.
        assert_eq!(run_keys(b"a", &[2, 0]), Err(Malformed));
        assert_eq!(run_keys(b"a", &[1, 3, 1]), Err(Malformed));
    }

    #[test]
    fn old_keys_come_back_in_order() {
        let mut list = Vec::new();
        put_old_key(&mut list, IndexId(1), b"a");
        put_old_key(&mut list, IndexId(300), b"");
        let got: Vec<_> = old_keys(&list).collect::<Result<_, _>>().unwrap();
        assert_eq!(got, [(IndexId(1), &b"a"[..]), (IndexId(300), &b""[..])]);
        assert!(old_keys(&list[..2]).next().unwrap().is_err());
    }

    /// Mostly ones, so that long ends are common.
    fn bits() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(prop_oneof![20 => Just(1u8), 1 => Just(0)], 0..100)
    }

    proptest! {
        #[test]
        fn older_body_is_rebuilt_from_newer(a in bits(), b in bits()) {
            let (prefix, suffix) = common_ends(&a, &b);
            let naive = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
            let room = a.len().min(b.len()) - naive;
            prop_assert_eq!((prefix, suffix), (naive, a.iter().rev().zip(b.iter().rev()).take(room).take_while(|(x, y)| x == y).count()));
            let mut out = Vec::new();
            older_body(&b, prefix, suffix, &a[prefix..a.len() - suffix], &mut out).unwrap();
            prop_assert_eq!(out, a);
        }

        #[test]
        fn composed_differences_lead_where_both_do(
            oldest in proptest::collection::vec(0u8..2, 0..40),
            between in proptest::collection::vec(0u8..2, 0..40),
            newest in proptest::collection::vec(0u8..2, 0..40),
            // Differences need not be as short as they could be.
            cut in 0usize..8,
        ) {
            let difference = |older: &[u8], newer: &[u8]| {
                let (prefix, suffix) = common_ends(older, newer);
                (prefix.saturating_sub(cut), suffix.saturating_sub(cut / 2))
            };
            let (prefix, suffix) = difference(&between, &newest);
            let first = Difference { prefix, suffix, middle: &between[prefix..between.len() - suffix] };
            let (prefix, suffix) = difference(&oldest, &between);
            let second = Difference { prefix, suffix, middle: &oldest[prefix..oldest.len() - suffix] };
            let (prefix, suffix, middle) = compose(&newest, first, second).unwrap();
            let mut out = Vec::new();
            older_body(&newest, prefix, suffix, &middle, &mut out).unwrap();
            prop_assert_eq!(out, oldest);
        }

        #[test]
        fn composing_what_does_not_fit_is_an_error(
            newer in proptest::collection::vec(0u8..2, 0..8),
            lengths in proptest::array::uniform6(0usize..12),
        ) {
            let [p1, s1, m1, p2, s2, m2] = lengths;
            let zeros = [0u8; 12];
            let first = Difference { prefix: p1, suffix: s1, middle: &zeros[..m1] };
            let second = Difference { prefix: p2, suffix: s2, middle: &zeros[..m2] };
            let fits = p1 + s1 <= newer.len() && p2 + s2 <= p1 + m1 + s1;
            prop_assert_eq!(compose(&newer, first, second).is_some(), fits);
        }
    }
}
