//! Collations of languages weigh as MySQL 9.7 does: against what `scripts/generate_tailorings.py` has seen of it.

use super::*;
use std::cmp::Ordering;

/// CRC-32 of weights in hexadecimal, line by line.
pub(super) struct WeightsCrc {
    collation: Collation,
    crc: u32,
    weights: Vec<u8>,
}

impl WeightsCrc {
    pub(super) fn new(collation: Collation) -> WeightsCrc {
        WeightsCrc { collation, crc: u32::MAX, weights: Vec::new() }
    }

    pub(super) fn add(&mut self, text: &[u8]) {
        self.weights.clear();
        self.collation.weight_string(text, &mut self.weights);
        for at in 0..self.weights.len() {
            let byte = self.weights[at];
            self.step(b"0123456789ABCDEF"[usize::from(byte >> 4)]);
            self.step(b"0123456789ABCDEF"[usize::from(byte & 15)]);
        }
        self.step(b'\n');
    }

    fn step(&mut self, byte: u8) {
        const TABLE: [u32; 256] = {
            let mut table = [0; 256];
            let mut at = 0;
            while at < 256 {
                let (mut crc, mut bit) = (at as u32, 0);
                while bit < 8 {
                    crc = if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
                    bit += 1;
                }
                table[at] = crc;
                at += 1;
            }
            table
        };
        self.crc = self.crc >> 8 ^ TABLE[usize::from(self.crc as u8 ^ byte)];
    }

    pub(super) fn hex(&self) -> String {
        format!("{:08x}", !self.crc)
    }
}

/// Collations with their sums: over the characters of `in_sample`, over contractions.
pub(super) fn tailored_weights() -> Vec<(Collation, [&'static str; 2])> {
    let line = |line: &'static str| {
        let mut fields = line.split(' ');
        let mut field = || fields.next().unwrap();
        (Collation::from_name(field()).unwrap(), [field(), field()])
    };
    include_str!("tailored_weights.txt").lines().map(line).collect()
}

/// As `sample` in the script.
fn in_sample(collation: Collation, point: u32) -> bool {
    let han = collation.name().contains("_ja_") || collation.name().contains("_zh_");
    matches!(point, 0..0x3400 | 0xA000..0xAC00 | 0xF900..0x1_0000)
        || point.is_multiple_of(61)
        || han && matches!(point, 0..0xA000 | 0x2_0000..0x3_0000)
}

#[test]
fn characters_weigh_as_in_mysql() {
    for (collation, [expect, _]) in tailored_weights() {
        let last = if collation.charset() == Charset::Utf8mb3 { 0xFFFF } else { 0x10_FFFF };
        let (mut crc, mut buffer) = (WeightsCrc::new(collation), [0; 4]);
        for point in (0..=last).filter(|point| in_sample(collation, *point)).filter_map(char::from_u32) {
            crc.add(point.encode_utf8(&mut buffer).as_bytes());
        }
        assert_eq!(crc.hex(), expect, "{}", collation.name());
    }
}

#[test]
fn contractions_weigh_as_in_mysql() {
    for (collation, [_, expect]) in tailored_weights() {
        let contractions = match collation.method() {
            Method::Tailored(language, _) => language.tailored().contractions(),
            Method::Expanding(kind) => kind.contractions(),
            _ => Vec::new(),
        };
        let mut crc = WeightsCrc::new(collation);
        contractions.iter().for_each(|text| crc.add(text.as_bytes()));
        assert_eq!(crc.hex(), expect, "{}", collation.name());
        assert!(contractions.is_empty() || !collation.beginnings_keep_order());
    }
}

#[test]
fn words_sort_as_in_mysql() {
    let mut seen = 0;
    for line in include_str!("tailored_words.txt").lines() {
        let (name, words) = line.split_once(' ').unwrap();
        let collation = Collation::from_name(name).unwrap();
        let words: Vec<&[u8]> = words.split(' ').map(str::as_bytes).collect();
        for pair in words.windows(2).filter_map(<[_]>::first_chunk::<2>) {
            let ordering = collation.compare(pair[0], pair[1]).then(pair[0].cmp(pair[1]));
            assert_eq!(ordering, Ordering::Less, "{name} {:?}", pair.map(String::from_utf8_lossy));
        }
        seen += words.len();
    }
    assert!(seen > 1000);
}

#[test]
fn order_by_hand() {
    use Collation::*;
    use Ordering::*;
    let check = |collation: Collation, a: &str, b: &str, expect: Ordering| {
        assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), expect, "{} {a:?} {b:?}", collation.name());
    };
    check(Utf8mb4Cs0900AiCi, "chata", "cukr", Greater);
    check(Utf8mb4Cs0900AiCi, "chata", "hrad", Greater);
    check(Utf8mb4Cs0900AiCi, "chata", "ibis", Less);
    check(Utf8mb4Sv0900AiCi, "ö", "z", Greater);
    check(Utf8mb4SwedishCi, "ö ", "Ö", Equal);
    check(Utf8mb4EsperantoCi, "ĉ", "c", Greater);
    check(Utf8mb4EsperantoCi, "ĉ", "d", Less);
    check(Utf8mb4Da0900AsCs, "a", "A", Greater);
    check(Utf8mb4Da0900AiCi, "aa", "å", Equal);
    check(Utf8mb4Hu0900AiCi, "ccs", "cscs", Equal);
    check(Utf8mb4Ru0900AiCi, "я", "a", Less);
    check(Utf8mb4Ja0900AsCs, "あ", "ア", Equal);
    check(Utf8mb4Ja0900AsCsKs, "あ", "ア", Less);
    check(Utf8mb4Zh0900AsCs, "啊", "八", Less);
    check(Utf8mb4TurkishCi, "I", "ı", Equal);
    check(Utf8mb4TurkishCi, "i", "I", Greater);
}

#[test]
fn what_may_join_with_what_follows_is_no_part_of_a_prefix() {
    let prefix = |collation: Collation, text: &str| {
        let (mut key, mut whole) = (Vec::new(), Vec::new());
        collation.append_prefix_key(text.as_bytes(), &mut key).unwrap();
        collation.append_key(text.as_bytes(), &mut whole);
        assert!(whole.starts_with(&key));
        key.len()
    };
    for (collation, width) in [(Collation::Utf8mb4Cs0900AiCi, 1), (Collation::Utf8mb4CzechCi, 2)] {
        assert_eq!(prefix(collation, "ab"), 2 * width);
        assert_eq!(prefix(collation, "abC"), 2 * width);
        assert_eq!(prefix(collation, "abca"), 4 * width);
        assert_eq!(prefix(collation, "abcha"), 2 * width);
        assert!(collation.like("abch".as_bytes(), "abc%".as_bytes(), None));
    }
}
