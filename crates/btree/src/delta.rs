//! Entries of a leaf in the log, each told by what differs from the one on its left.
//!
//! Neighbours in key order have most bytes in common, at the same places: of a row's header and numbers the high ones, what texts begin with. An entry's bytes are the first four of its key's
//! suffix (zeros where that is shorter), the rest of the suffix, the value; so they lie in the page ([`Image`]). They go in groups of eight pairs, each behind a mask that says which pairs differ
//! (the packing of Cap'n Proto's serialised messages, <https://capnproto.org/encoding.html#packing>, here of differences, and of pairs, which takes fewer instructions for 5 % more bytes):
//!
//! | bytes | what |
//! |---|---|
//! | varint, varint | length of the suffix, of the value |
//! | then for each group, the last one perhaps shorter: | |
//! | 1 | mask: bit i is set where pair i differs from that of the left entry; behind its end that one has zeros |
//! | 2 for each bit that is set | those pairs; behind the end of an odd number of bytes one zero |
//! | mask 0: 1 | how many groups behind this one are alike as well |
//! | mask 255: 16, 1, then 16 for each | the group; how many of eight pairs behind this one follow as they are; those |
//!
//! # Invariants
//! 1. What [`Writer`] tells by an entry, [`read`] reads by the same one, whatever it is.
//! 2. Lengths are known without the left entry, and what [`skip`] has passed over, [`read`] does not refuse.

use base::{Malformed, PAGE_BYTES, Reader};

use crate::layout::HEAD_BYTES;

const PAIR: usize = 2;
const PAIRS: usize = 8;
const GROUP: usize = PAIR * PAIRS;
const WORD: usize = 8;
/// A group of which so many pairs differ is no longer as it is.
const WHOLE_FROM: u32 = PAIRS as u32 - 1;
/// Bytes of a varint of a length in a page, at most.
const LENGTH_BYTES_MAX: usize = 3;

/// An entry as it lies in a page.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Image<'a> {
    /// The first bytes of the suffix.
    pub(crate) head: [u8; HEAD_BYTES],
    pub(crate) suffix_len: usize,
    pub(crate) value_len: usize,
    /// What is left of the suffix, the value, and whatever stands behind it in the page.
    pub(crate) heap: &'a [u8],
}

impl Image<'_> {
    fn len(&self) -> usize {
        bytes_of(self.suffix_len, self.value_len)
    }

    /// The group from byte `at` on as two numbers, the first byte lowest; what stands behind the entry may be in it.
    #[inline(always)]
    fn raw_group(&self, at: usize) -> [u64; 2] {
        match at.checked_sub(HEAD_BYTES) {
            Some(from) => [word(self.heap, from), word(self.heap, from + WORD)],
            None => {
                let first = word(self.heap, 0);
                [u64::from(u32::from_le_bytes(self.head)) | first << (8 * HEAD_BYTES), word(self.heap, WORD - HEAD_BYTES)]
            }
        }
    }

    /// The same with zeros from byte `end` on, and behind the entry.
    #[inline]
    fn group(&self, at: usize, end: usize) -> [u64; 2] {
        let left = self.len().min(end).saturating_sub(at);
        let there = |bytes: usize| if bytes >= WORD { u64::MAX } else { !(u64::MAX << (8 * bytes)) };
        let [low, high] = self.raw_group(at);
        [low & there(left), high & there(left.saturating_sub(WORD))]
    }
}

/// Bytes of an entry: those of a short suffix count as four.
fn bytes_of(suffix_len: usize, value_len: usize) -> usize {
    suffix_len.max(HEAD_BYTES) + value_len
}

/// Eight bytes as a number, the first lowest; zeros behind the end.
#[inline(always)]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk::<WORD>) {
        Some(whole) => u64::from_le_bytes(*whole),
        None => last_word(bytes, at),
    }
}

#[cold]
#[inline(never)]
fn last_word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).unwrap_or(&[]).iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A bit for each pair of bytes that differs.
#[inline]
fn mask_of(left: [u64; 2], told: [u64; 2]) -> u8 {
    const HIGH: u64 = 0x8000_8000_8000_8000;
    // The highest bit of each pair that is not zero.
    let not_zero = |pairs: u64| (((pairs & !HIGH) + !HIGH) | pairs) & HIGH;
    let bits = not_zero(left[0] ^ told[0]) >> 15 | not_zero(left[1] ^ told[1]) >> 11;
    // Brings them together: the factor moves bits 16 i and 16 i + 4 to 48 + i and 52 + i, and no two bits to one place.
    (bits.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48) as u8
}

/// How groups go on in the same way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    None,
    Alike,
    Whole,
}

/// Appends entries to a payload.
pub(crate) struct Writer<'o> {
    out: &'o mut Vec<u8>,
    end: usize,
}

impl<'o> Writer<'o> {
    /// Makes room at once for so many entries that lie in so many bytes of a page.
    pub(crate) fn new(out: &'o mut Vec<u8>, entries: usize, bytes: usize) -> Writer<'o> {
        let end = out.len();
        // A whole group alone takes two bytes more. A place among others goes before each entry, and behind the last one a few are put down that do not count.
        let each = 3 * LENGTH_BYTES_MAX + HEAD_BYTES + 2 * (GROUP + 2);
        out.resize(end + bytes / GROUP * (GROUP + 2) + (entries + 1) * each, 0);
        Writer { out, end }
    }

    /// Appends a number below 2^21.
    #[inline]
    pub(crate) fn number(&mut self, mut number: usize) {
        while number >= 0x80 {
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.out[self.end] = byte;
        self.end += 1;
    }

    /// Appends an entry as told by the one on its left.
    #[inline]
    pub(crate) fn entry(&mut self, left: Image<'_>, told: Image<'_>) {
        self.number(told.suffix_len);
        self.number(told.value_len);
        let len = told.len();
        // In these groups both have all bytes.
        let both = len.min(left.len()) / GROUP * GROUP;
        let (mut run, mut count) = (Run::None, 0);
        for at in (0..both).step_by(GROUP) {
            self.group(left.raw_group(at), told.raw_group(at), true, &mut run, &mut count);
        }
        for at in (both..len).step_by(GROUP) {
            // What the left one has behind the end is of no matter.
            self.group(left.group(at, len), told.group(at, len), at + GROUP <= len + 1, &mut run, &mut count);
        }
    }

    /// Appends a group; `full` unless it is the last one and has fewer pairs. `count` is where the count of those stands that go on as `run` does.
    #[inline(always)]
    fn group(&mut self, left: [u64; 2], told: [u64; 2], full: bool, run: &mut Run, count: &mut usize) {
        let mask = mask_of(left, told);
        let now = match mask {
            0 => Run::Alike,
            _ if full && mask.count_ones() >= WHOLE_FROM => Run::Whole,
            _ => Run::None,
        };
        let goes_on = now == *run && now != Run::None && self.out[*count] < u8::MAX;
        *run = now;
        // Room was made for all entries before the first ([`Writer::new`]): no page and no payload can make it too little.
        let to = self.out[self.end..].first_chunk_mut::<{ 2 * GROUP + PAIR }>().expect("room was made");
        let whole = |to: &mut [u8]| {
            to[..WORD].copy_from_slice(&told[0].to_le_bytes());
            to[WORD..GROUP].copy_from_slice(&told[1].to_le_bytes());
        };
        match now {
            Run::None => {
                to[0] = mask;
                // All are put down, each over the one before if that is left out.
                let mut end = 1;
                for pair in 0..PAIRS {
                    let bytes = (told[pair / 4] >> (8 * PAIR * (pair % 4))) as u16;
                    let at = end % (2 * GROUP);
                    to[at..at + PAIR].copy_from_slice(&bytes.to_le_bytes());
                    end += PAIR * usize::from(mask >> pair & 1);
                }
                self.end += end;
            }
            Run::Alike if goes_on => self.out[*count] += 1,
            Run::Alike => {
                to[..2].copy_from_slice(&[0, 0]);
                *count = self.end + 1;
                self.end += 2;
            }
            Run::Whole if goes_on => {
                whole(to);
                self.end += GROUP;
                self.out[*count] += 1;
            }
            Run::Whole => {
                to[0] = u8::MAX;
                whole(&mut to[1..]);
                to[1 + GROUP] = 0;
                *count = self.end + 1 + GROUP;
                self.end += 2 + GROUP;
            }
        }
    }

    /// Ends the payload.
    pub(crate) fn finish(self) {
        self.out.truncate(self.end);
    }
}

/// An entry that is read.
#[derive(Debug, Default)]
pub(crate) struct Told {
    bytes: Vec<u8>,
    suffix_len: usize,
}

impl Told {
    /// Makes this an entry of a page.
    pub(crate) fn set(&mut self, image: Image<'_>) {
        self.bytes.clear();
        self.bytes.extend_from_slice(&image.head);
        let heap = image.len() - HEAD_BYTES;
        self.bytes.extend_from_slice(image.heap.get(..heap).unwrap_or(&[]));
        self.suffix_len = image.suffix_len;
    }

    pub(crate) fn suffix(&self) -> &[u8] {
        &self.bytes[..self.suffix_len]
    }

    pub(crate) fn value(&self) -> &[u8] {
        &self.bytes[self.suffix_len.max(HEAD_BYTES)..]
    }
}

/// Reads an entry. `told` is the left one before.
pub(crate) fn read(reader: &mut Reader<'_>, told: &mut Told) -> Result<(), Malformed> {
    let (suffix_len, value_len) = lengths(reader)?;
    let len = bytes_of(suffix_len, value_len);
    told.bytes.resize(len, 0);
    told.suffix_len = suffix_len;
    walk(reader, len, |at, differing| told.bytes[at..at + differing.len()].copy_from_slice(differing))
}

/// Passes over an entry; returns the lengths of suffix and value.
pub(crate) fn skip(reader: &mut Reader<'_>) -> Result<(usize, usize), Malformed> {
    let (suffix_len, value_len) = lengths(reader)?;
    walk(reader, bytes_of(suffix_len, value_len), |_, _| {})?;
    Ok((suffix_len, value_len))
}

fn lengths(reader: &mut Reader<'_>) -> Result<(usize, usize), Malformed> {
    let mut length = || usize::try_from(reader.varint()?).ok().filter(|length| *length <= PAGE_BYTES).ok_or(Malformed);
    Ok((length()?, length()?))
}

/// Calls `differs` with what differs and its place, all below `len`.
#[inline]
fn walk(reader: &mut Reader<'_>, len: usize, mut differs: impl FnMut(usize, &[u8])) -> Result<(), Malformed> {
    let mut at = 0;
    while at < len {
        match reader.u8()? {
            0 => {
                at += GROUP * usize::from(reader.u8()?);
                if at >= len {
                    return Err(Malformed);
                }
            }
            u8::MAX => {
                let first = reader.take(GROUP)?;
                let more = usize::from(reader.u8()?) * GROUP;
                let rest = reader.take(more)?;
                if at + GROUP + more > len + 1 {
                    return Err(Malformed);
                }
                // An odd byte at the end has a zero behind it.
                differs(at, &first[..GROUP.min(len - at)]);
                if more > 0 {
                    differs(at + GROUP, &rest[..more.min(len - at - GROUP)]);
                }
                at += more;
            }
            mask => {
                let told = reader.take(PAIR * mask.count_ones() as usize)?;
                if at + PAIR * (u8::BITS - mask.leading_zeros()) as usize > len + 1 {
                    return Err(Malformed);
                }
                let mut left = mask;
                for pair in told.chunks(PAIR) {
                    let place = at + PAIR * left.trailing_zeros() as usize;
                    differs(place, &pair[..PAIR.min(len - place)]);
                    left &= left - 1;
                }
            }
        }
        at += GROUP;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Suffix and value.
    type Entry = (Vec<u8>, Vec<u8>);

    /// As it would lie in a page: what stands behind is of another entry, or the page ends.
    fn with_image<R>((suffix, value): &Entry, behind: &[u8], f: impl FnOnce(Image<'_>) -> R) -> R {
        let mut head = [0; HEAD_BYTES];
        let in_head = suffix.len().min(HEAD_BYTES);
        head[..in_head].copy_from_slice(&suffix[..in_head]);
        let heap = [&suffix[in_head..], value, behind].concat();
        f(Image { head, suffix_len: suffix.len(), value_len: value.len(), heap: &heap })
    }

    fn told(left: &Entry, entry: &Entry, behind: &[u8]) -> Vec<u8> {
        let mut out = vec![9];
        with_image(left, behind, |left| {
            with_image(entry, behind, |entry| {
                let mut writer = Writer::new(&mut out, 1, entry.heap.len() - behind.len());
                writer.entry(left, entry);
                writer.finish();
            })
        });
        out.split_off(1)
    }

    fn read_whole(left: &Entry, told: &[u8]) -> Result<Entry, Malformed> {
        let (mut reader, mut entry) = (Reader::new(told), Told::default());
        with_image(left, &[], |left| entry.set(left));
        read(&mut reader, &mut entry)?;
        if reader.is_empty() { Ok((entry.suffix().to_vec(), entry.value().to_vec())) } else { Err(Malformed) }
    }

    /// Few values and long stretches, so that groups are alike, differ, and differ in some bytes.
    fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
        let run = (0u8..3, prop_oneof![4 => 1usize..12, 1 => 1usize..2500]);
        let sprinkled = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20);
        (prop::collection::vec(run, 0..9), sprinkled).prop_map(move |(runs, sprinkled)| {
            let mut bytes: Vec<u8> = runs.into_iter().flat_map(|(byte, count)| std::iter::repeat_n(byte, count)).take(longest).collect();
            for (at, byte) in sprinkled {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
            }
            bytes
        })
    }

    fn entry() -> impl Strategy<Value = Entry> {
        (bytes(20), bytes(5000))
    }

    proptest! {
        #[test]
        fn what_is_told_is_read(left in entry(), entry in entry(), behind in bytes(9)) {
            let told = told(&left, &entry, &behind);
            prop_assert_eq!(read_whole(&left, &told).unwrap(), entry.clone());
            let mut reader = Reader::new(&told);
            prop_assert_eq!(skip(&mut reader), Ok((entry.0.len(), entry.1.len())));
            prop_assert!(reader.is_empty());
            let bytes = bytes_of(entry.0.len(), entry.1.len());
            prop_assert!(told.len() <= bytes + bytes / 8 + 6, "never much longer than the entry itself");
            // Cut off it is refused, by both alike.
            for end in 0..told.len() {
                prop_assert_eq!(read_whole(&left, &told[..end]), Err(Malformed));
                prop_assert_eq!(skip(&mut Reader::new(&told[..end])), Err(Malformed));
            }
        }

        #[test]
        fn whatever_is_read_stays_within_its_length(left in entry(), noise in prop::collection::vec(prop_oneof![Just(0u8), Just(255), any::<u8>()], 0..60)) {
            let (mut read_to, mut skipped_to, mut entry) = (Reader::new(&noise), Reader::new(&noise), Told::default());
            with_image(&left, &[], |left| entry.set(left));
            let (was_read, was_skipped) = (read(&mut read_to, &mut entry), skip(&mut skipped_to));
            prop_assert_eq!(was_read.is_ok(), was_skipped.is_ok());
            if let Ok(lengths) = was_skipped {
                prop_assert_eq!((entry.suffix().len(), entry.value().len()), lengths);
                prop_assert_eq!(read_to.rest().len(), skipped_to.rest().len());
            }
        }
    }

    #[test]
    fn neighbours_take_little() {
        let of = |suffix: &[u8], value: &[u8]| (suffix.to_vec(), value.to_vec());
        let none = Entry::default();
        let long = b"efghijklmnopqrstuvwxyz012345";
        assert_eq!(told(&of(b"abcd", long), &of(b"abcd", long), b""), [4, 28, 0, 1]);
        assert_eq!(told(&of(b"abcde", b"fghi"), &of(b"abXde", b"fYhi"), b"more"), [5, 4, 0b1010, b'X', b'd', b'Y', b'h']);
        assert_eq!(told(&none, &of(b"1234", long), b""), [&[4, 28, 255][..], b"1234", &long[..12], &[1], &long[12..]].concat());
        assert_eq!(
            told(&of(b"01", b"234567"), &of(b"01", b"2x"), b"34567"),
            [2, 2, 0b100, b'2', b'x'],
            "what is behind the end is not told"
        );
        assert_eq!(told(&none, &of(b"a", b"bcd"), b"more"), [1, 3, 0b1101, b'a', 0, b'b', b'c', b'd', 0]);
    }
}
