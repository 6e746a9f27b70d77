//! Order, keys and hashes of strings agree with each other and with MySQL.

use super::language_tests::{WeightsCrc, tailored_weights};
use super::*;
use crate::Charset;
use proptest::prelude::*;
use std::cmp::Ordering;

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-cA-C \\x00-\\x03\t.-]{0,8}",
        "[a-zA-Z0-9 ]{0,40}",
        "[aAäÄéßœжЖ漢字각힣😀€Ÿ\\u{301}\\u{A0} ]{0,8}",
        "\\PC{0,12}",
        any::<String>(),
        "[aAcCdDhHlLnNgGjJsStTyYzZ]{0,6}",
        "[ÅåÄäÖöŠšĉČčñÑǆǅłĂắ'\\u{30A}\\u{303}aAoO]{0,6}",
        "[かカがガｶーゝヽあァ一丁漢字бВ]{0,6}",
    ]
}

/// The collations of no language, and some of languages: all in turn would take long.
fn some(at: u16) -> impl Iterator<Item = Collation> {
    let tailored = Collation::ALL.into_iter().filter(|collation| collation.is_tailored());
    let others = Collation::ALL.into_iter().filter(|collation| !collation.is_tailored());
    others.chain(tailored.skip(usize::from(at) % 13).step_by(13))
}

fn key(collation: Collation, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    collation.append_key(text, &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_order_as_strings_do(a in text(), b in text(), rest_a in any::<u16>(), rest_b in any::<u16>()) {
        for collation in some(rest_a) {
            let ordering = collation.compare(a.as_bytes(), b.as_bytes());
            let (mut x, mut y) = (key(collation, a.as_bytes()), key(collation, b.as_bytes()));
            prop_assert_eq!(x.cmp(&y), ordering, "{} {:?} {:?}", collation.name(), a, b);
            prop_assert_eq!(collation.equal(a.as_bytes(), b.as_bytes()), ordering.is_eq());
            prop_assert_eq!(collation.compare(b.as_bytes(), a.as_bytes()), ordering.reverse());
            if ordering.is_eq() {
                prop_assert_eq!(collation.hash(a.as_bytes()), collation.hash(b.as_bytes()), "{}", collation.name());
            }
            prop_assert_eq!(collation.key_bytes(&x), Some(x.len()));
            // What follows in a composite key decides only between equal strings.
            x.extend_from_slice(&rest_a.to_be_bytes());
            y.extend_from_slice(&rest_b.to_be_bytes());
            prop_assert_eq!(x.cmp(&y), ordering.then(rest_a.cmp(&rest_b)));
        }
    }

    #[test]
    fn codes_order_as_mysql_weights_do(a in text(), b in text(), at: u16) {
        for collation in some(at).filter(|collation| collation.name().contains("_0900_a")) {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            collation.weight_string(a.as_bytes(), &mut x);
            collation.weight_string(b.as_bytes(), &mut y);
            prop_assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), x.cmp(&y));
        }
    }

    #[test]
    fn any_bytes_have_an_order(a in any::<Vec<u8>>(), b in any::<Vec<u8>>(), at: u16) {
        for collation in some(at) {
            let ordering = collation.compare(&a, &b);
            prop_assert_eq!(key(collation, &a).cmp(&key(collation, &b)), ordering, "{}", collation.name());
            let _ = collation.key_bytes(&a);
            let mut out = Vec::new();
            let _ = collation.decode_key(&a, &mut out);
        }
    }

    #[test]
    fn binary_keys_come_back(a in any::<Vec<u8>>()) {
        let encoded = key(Collation::Binary, &a);
        let mut out = Vec::new();
        prop_assert_eq!(Collation::Binary.decode_key(&encoded, &mut out), Some(encoded.len()));
        prop_assert_eq!(out, a);
    }

    #[test]
    fn keys_by_code_point_come_back_without_padding(a in text()) {
        let encoded = key(Collation::Utf8mb4Bin, a.as_bytes());
        let mut out = Vec::new();
        prop_assert_eq!(Collation::Utf8mb4Bin.decode_key(&encoded, &mut out), Some(encoded.len()));
        prop_assert_eq!(out, a.trim_end_matches(' ').as_bytes());
    }

    #[test]
    fn keys_of_strings_start_with_the_prefix_key(prefix in text(), rest in text(), at: u16) {
        let whole = format!("{prefix}{rest}");
        for collation in some(at) {
            let mut start = Vec::new();
            collation.append_prefix_key(prefix.as_bytes(), &mut start).unwrap();
            prop_assert!(key(collation, whole.as_bytes()).starts_with(&start), "{}", collation.name());
            // So do those of strings that LIKE takes for the prefix and more: a scan of an index finds them.
            for other in [prefix.to_uppercase(), prefix.to_lowercase()] {
                let other = format!("{other}{rest}");
                if collation.like(other.as_bytes(), format!("{}%", prefix.replace('%', "_")).as_bytes(), None) && !prefix.contains(['%', '_']) {
                    prop_assert!(key(collation, other.as_bytes()).starts_with(&start), "{} {:?} {:?}", collation.name(), prefix, other);
                }
            }
        }
    }
}

#[test]
fn order_by_hand() {
    let check = |collation: Collation, a: &str, b: &str, expect: Ordering| {
        assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), expect, "{} {a:?} {b:?}", collation.name());
    };
    use Collation::*;
    use Ordering::*;
    check(Utf8mb40900AiCi, "abc", "ABC", Equal);
    check(Utf8mb40900AiCi, "résumé", "Resume", Equal);
    check(Utf8mb40900AiCi, "a", "a ", Less);
    check(Utf8mb40900AiCi, "ß", "ss", Equal);
    check(Utf8mb40900AiCi, "a\u{0}b", "ab", Equal);
    check(Utf8mb40900AsCi, "resume", "résumé", Less);
    check(Utf8mb40900AsCi, "Resume", "resume", Equal);
    check(Utf8mb40900AsCs, "Resume", "resume", Greater);
    check(Utf8mb4Bin, "a", "a  ", Equal);
    check(Utf8mb4Bin, "a\t", "a", Less);
    check(Utf8mb4Bin, "A", "a", Less);
    check(Utf8mb40900Bin, "a", "a ", Less);
    check(Utf8mb4GeneralCi, "ä ", "A", Equal);
    check(Utf8mb4GeneralCi, "ß", "s", Equal);
    check(Utf8mb4GeneralCi, "😀", "😁", Equal);
    check(Binary, "a", "A", Greater);
    check(Latin1SwedishCi, "å", "z", Greater);
    check(Latin1SwedishCi, "é ", "E", Equal);
    check(Latin1German1Ci, "ä", "a", Equal);
    check(Latin1German2Ci, "ä", "AE", Equal);
    check(Latin1German2Ci, "straße", "STRASSE  ", Equal);
    check(Latin1Bin, "€", "é", Less);
    check(Utf8mb3Bin, "€", "é", Greater);
    check(Utf8mb4UnicodeCi, "ß", "ss", Equal);
    check(Utf8mb4UnicodeCi, "a\u{1}b ", "ab", Equal);
    check(Utf8mb4UnicodeCi, "a\u{A0}", "a", Equal);
    check(Utf8mb4UnicodeCi, "😀", "😁", Equal);
    check(Utf8mb4Unicode520Ci, "😀", "😁", Less);
    check(AsciiGeneralCi, "a", "A", Equal);
}

#[test]
fn ascii_keys_take_a_byte_a_character() {
    assert_eq!(key(Collation::DEFAULT, b"BARBARBAR").len(), 10);
}

/// `weights.txt` holds what `scripts/generate_collations.py` has seen of MySQL 9.7.
#[test]
fn weights_of_every_character_are_those_of_mysql() {
    let mut seen = 0;
    for line in include_str!("weights.txt").lines() {
        let (name, expect) = line.split_once(' ').unwrap();
        let collation = Collation::from_name(name).unwrap();
        let (mut crc, mut buffer) = (WeightsCrc::new(collation), [0; 4]);
        let mut check = |text: &[u8]| crc.add(text);
        match collation.charset() {
            Charset::Latin1 => (0..=255).for_each(|byte| check(&Charset::Latin1.decode(&[byte]).unwrap())),
            charset => {
                let last = match charset {
                    Charset::Ascii => 0x7F,
                    Charset::Utf8mb3 => 0xFFFF,
                    _ => 0x10_FFFF,
                };
                (0..=last).filter_map(char::from_u32).for_each(|c| check(c.encode_utf8(&mut buffer).as_bytes()));
            }
        }
        assert_eq!(crc.hex(), expect, "{name}");
        seen += 1;
    }
    assert_eq!(seen + tailored_weights().len(), Collation::ALL.len() - 1, "all but `binary`");
}

#[test]
fn names_are_found_also_by_the_old_one_of_utf8mb3() {
    assert_eq!(Collation::from_name("UTF8_unicode_ci"), Some(Collation::Utf8mb3UnicodeCi));
    assert_eq!(Collation::from_name("utf8mb3_BIN"), Some(Collation::Utf8mb3Bin));
    assert_eq!(Collation::from_name("utf8_nothing"), None);
    for collation in Collation::ALL {
        assert_eq!(Collation::from_name(collation.name()), Some(collation));
        assert_eq!(Collation::from_id(collation.id()), Some(collation));
        assert!(collation.name().starts_with(collation.charset().name()));
    }
}
