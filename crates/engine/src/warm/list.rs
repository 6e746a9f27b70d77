//! The list of pages as bytes: `docs/format/warm-list.md`.
//!
//! # Invariants
//! 1. Any bytes may be read as a list: what was not written here is refused, and no more memory is taken than the pages asked for have.

use base::{PageNo, crc32c, crc32c_extend, put_varint};

const MAGIC: &[u8; 8] = b"ALTIWARM";
const FORMAT: u32 = 1;
/// Magic, format, checksum of both.
const HEADER_BYTES: usize = 16;
/// Length of what the block holds, checksum.
const BLOCK_HEADER_BYTES: usize = 8;
/// The end: a block without anything, the number of pages.
const END_BYTES: usize = 16;
/// Pages of a block at most.
const BLOCK_PAGES_MAX: usize = 4096;
/// Bytes that one page takes at most.
const PAGE_NUMBER_BYTES_MAX: usize = 10;
const BLOCK_BYTES_MAX: usize = BLOCK_PAGES_MAX * PAGE_NUMBER_BYTES_MAX;

/// Why bytes are no list.
#[derive(Debug)]
pub(super) enum Unfit {
    /// They could not be read.
    Io(std::io::Error),
    /// They were not written here, or not all of them are left.
    Malformed,
}

/// Where the bytes of a list are read from.
pub(super) trait Source {
    /// How many there are.
    fn len(&self) -> std::io::Result<u64>;
    /// Fills `bytes` from an offset; there are enough.
    fn read(&self, bytes: &mut [u8], offset: u64) -> std::io::Result<()>;
}

/// Whether a file that begins with these bytes is a list, of whatever format.
pub(super) fn is_list(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// How many bytes [`is_list`] looks at.
pub(super) const MAGIC_BYTES: usize = MAGIC.len();

/// The bytes of a list, in the order in which its pages come.
pub(super) fn encode(pages: &[PageNo]) -> Vec<u8> {
    // Neighbours take a byte each.
    let mut bytes = Vec::with_capacity(HEADER_BYTES + END_BYTES + 2 * pages.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&FORMAT.to_le_bytes());
    let sum = crc32c(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    let ascending = pages.chunk_by(|one, next| one < next);
    for block in ascending.flat_map(|run| run.chunks(BLOCK_PAGES_MAX)) {
        put_block(&mut bytes, block);
    }
    let mut end = [0; 12];
    end[4..].copy_from_slice(&(pages.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&end);
    bytes.extend_from_slice(&crc32c(&end).to_le_bytes());
    bytes
}

/// Adds pages whose numbers ascend: the first, then the differences.
fn put_block(bytes: &mut Vec<u8>, pages: &[PageNo]) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; BLOCK_HEADER_BYTES]);
    let mut before = 0;
    for page in pages {
        put_varint(bytes, page.0 - before);
        before = page.0;
    }
    let length = (bytes.len() - start - BLOCK_HEADER_BYTES) as u32;
    let sum = checksum(length, &bytes[start + BLOCK_HEADER_BYTES..]);
    bytes[start..start + 4].copy_from_slice(&length.to_le_bytes());
    bytes[start + 4..start + BLOCK_HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
}

/// Of a block: bytes that end early are no shorter block.
fn checksum(length: u32, bytes: &[u8]) -> u32 {
    crc32c_extend(crc32c(bytes), length.into(), 0)
}

/// The first pages of a list, as many as asked for; a longer one is read no further.
pub(super) fn decode(source: &impl Source, pages_max: usize) -> Result<Vec<PageNo>, Unfit> {
    let mut pieces = Pieces { source, length: source.len().map_err(Unfit::Io)?, at: 0 };
    let header: [u8; HEADER_BYTES] = pieces.take()?;
    let (body, sum) = header.split_at(12);
    if !is_list(body) || body[8..] != FORMAT.to_le_bytes() || sum != crc32c(body).to_le_bytes() {
        return Err(Unfit::Malformed);
    }
    let (mut pages, mut block) = (Vec::new(), Vec::new());
    while pages.len() < pages_max {
        let header: [u8; BLOCK_HEADER_BYTES] = pieces.take()?;
        let (length, sum) = (number_at(&header, 0), number_at(&header, 4));
        if length == 0 {
            return pieces.end(&header, pages.len()).map(|()| pages);
        }
        if length as usize > BLOCK_BYTES_MAX {
            return Err(Unfit::Malformed);
        }
        block.resize(length as usize, 0);
        pieces.fill(&mut block)?;
        if checksum(length, &block) != sum {
            return Err(Unfit::Malformed);
        }
        take_block(&block, &mut pages)?;
    }
    pages.truncate(pages_max);
    Ok(pages)
}

fn take_block(bytes: &[u8], pages: &mut Vec<PageNo>) -> Result<(), Unfit> {
    let mut numbers = base::Reader::new(bytes);
    let mut before = 0_u64;
    while !numbers.is_empty() {
        let more = numbers.varint().map_err(|_| Unfit::Malformed)?;
        before = before.checked_add(more).ok_or(Unfit::Malformed)?;
        pages.push(PageNo(before));
    }
    Ok(())
}

fn number_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].iter().take(4).rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Reads what comes next; what is not there is missing, not an error of the disk.
struct Pieces<'s, S> {
    source: &'s S,
    length: u64,
    at: u64,
}

impl<S: Source> Pieces<'_, S> {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Unfit> {
        if self.length - self.at < bytes.len() as u64 {
            return Err(Unfit::Malformed);
        }
        self.source.read(bytes, self.at).map_err(Unfit::Io)?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Unfit> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// The rest of the end, whose first bytes were read: nothing comes behind it, and no page is missing.
    fn end(&mut self, begun: &[u8; BLOCK_HEADER_BYTES], count: usize) -> Result<(), Unfit> {
        let rest: [u8; END_BYTES - BLOCK_HEADER_BYTES] = self.take()?;
        let mut end = [0; END_BYTES];
        end[..BLOCK_HEADER_BYTES].copy_from_slice(begun);
        end[BLOCK_HEADER_BYTES..].copy_from_slice(&rest);
        let (body, sum) = end.split_at(12);
        let whole = self.at == self.length && sum == crc32c(body).to_le_bytes() && body[4..] == (count as u64).to_le_bytes();
        if whole { Ok(()) } else { Err(Unfit::Malformed) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::SplitMix64;

    impl Source for Vec<u8> {
        fn len(&self) -> std::io::Result<u64> {
            Ok(Vec::len(self) as u64)
        }

        fn read(&self, bytes: &mut [u8], offset: u64) -> std::io::Result<()> {
            bytes.copy_from_slice(&self[offset as usize..offset as usize + bytes.len()]);
            Ok(())
        }
    }

    fn pages(numbers: &[u64]) -> Vec<PageNo> {
        numbers.iter().copied().map(PageNo).collect()
    }

    fn is_malformed(bytes: Vec<u8>) -> bool {
        matches!(decode(&bytes, usize::MAX), Err(Unfit::Malformed))
    }

    #[test]
    fn lists_come_back_in_their_order() {
        let many: Vec<u64> = (1..20_000).map(|n| n * 3).chain(2..9_000).collect();
        let cases: &[&[u64]] =
            &[&[], &[1], &[7, 7], &[0, u64::MAX, 0, u64::MAX - 1], &[5, 6, 7, 1, 2, 3, 900_000_000_000], &[9, 8, 7], &many];
        for case in cases {
            let bytes = encode(&pages(case));
            assert_eq!(decode(&bytes, usize::MAX).expect("a list"), pages(case));
            assert!(is_list(&bytes));
        }
    }

    #[test]
    fn neighbours_take_a_byte_each() {
        let all: Vec<u64> = (1..=65_536).collect();
        assert!(encode(&pages(&all)).len() < 67_000);
    }

    #[test]
    fn a_pool_that_got_smaller_reads_the_first_pages_and_no_further() {
        let all: Vec<u64> = (1..=10_000).collect();
        let mut bytes = encode(&pages(&all));
        assert_eq!(decode(&bytes, 100).expect("a list"), pages(&all[..100]));
        // What lies behind them is not looked at.
        let end = bytes.len() - 1;
        bytes[end] ^= 1;
        assert_eq!(decode(&bytes, 100).expect("a list"), pages(&all[..100]));
        assert!(is_malformed(bytes));
    }

    #[test]
    fn a_torn_list_is_none() {
        let numbers: Vec<u64> = (1..300).chain(5..40).collect();
        let bytes = encode(&pages(&numbers));
        for length in 0..bytes.len() {
            assert!(is_malformed(bytes[..length].to_vec()), "{length} bytes");
            let mut zeroed = bytes.clone();
            zeroed[length..].fill(0);
            assert!(zeroed == bytes || is_malformed(zeroed), "zeros from {length} on");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert!(is_malformed(longer));
    }

    #[test]
    fn each_bit_counts() {
        let bytes = encode(&pages(&[3, 4, 5, 1000, 2, 900_000]));
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(is_malformed(changed), "bit {bit}");
        }
    }

    #[test]
    fn a_number_past_all_pages_is_refused() {
        let block = |body: &[u8]| {
            let mut bytes = encode(&[]);
            bytes.truncate(HEADER_BYTES);
            bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&checksum(body.len() as u32, body).to_le_bytes());
            bytes.extend_from_slice(body);
            bytes
        };
        // More than 64 bits, a sum of more, a number without an end; a block longer than any.
        let cases: [&[u8]; 4] =
            [&[0xff; 11], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1], &[0x80], &vec![1; BLOCK_BYTES_MAX + 1]];
        for case in cases {
            assert!(is_malformed(block(case)), "{} bytes", case.len());
        }
    }

    /// Any bytes: random ones, and good ones with some changed behind sums that are made to fit, so that they are read on.
    #[test]
    fn no_bytes_are_too_strange() {
        let seed = std::env::var("WARM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed);
        println!("replay: WARM_SEED={seed}");
        let mut random = SplitMix64::new(seed);
        for _ in 0..3_000 {
            let length = random.next() as usize % 400;
            let mut bytes: Vec<u8> = (0..length).map(|_| random.next() as u8).collect();
            let pages_max = random.next() as usize % 200;
            assert!(decode(&bytes, pages_max.max(1)).is_err());
            let mut whole = encode(&[]);
            whole.truncate(HEADER_BYTES);
            while bytes.len() > 10 {
                let block: Vec<u8> = bytes.drain(..(random.next() as usize % 10) + 1).collect();
                whole.extend_from_slice(&(block.len() as u32).to_le_bytes());
                whole.extend_from_slice(&checksum(block.len() as u32, &block).to_le_bytes());
                whole.extend_from_slice(&block);
            }
            if let Ok(pages) = decode(&whole, pages_max) {
                assert!(pages.len() <= pages_max);
            }
        }
    }
}
