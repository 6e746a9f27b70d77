//! Order, keys and hashes of strings agree with each other and with MySQL.

use super::*;
use proptest::prelude::*;
use std::cmp::Ordering;

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-cA-C \\x00-\\x03\t.-]{0,8}", "[a-zA-Z0-9 ]{0,40}", "[aAäÄéßœжЖ漢字각힣😀\\u{301} ]{0,8}", "\\PC{0,12}", any::<String>(),]
}

fn key(collation: Collation, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    collation.append_key(text, &mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn keys_order_as_strings_do(a in text(), b in text(), rest_a in any::<u16>(), rest_b in any::<u16>()) {
        for collation in Collation::ALL {
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
    fn codes_order_as_mysql_weights_do(a in text(), b in text()) {
        for collation in [Collation::Utf8mb40900AiCi, Collation::Utf8mb40900AsCi, Collation::Utf8mb40900AsCs] {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            collation.weight_string(a.as_bytes(), &mut x);
            collation.weight_string(b.as_bytes(), &mut y);
            prop_assert_eq!(collation.compare(a.as_bytes(), b.as_bytes()), x.cmp(&y));
        }
    }

    #[test]
    fn any_bytes_have_an_order(a in any::<Vec<u8>>(), b in any::<Vec<u8>>()) {
        for collation in Collation::ALL {
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
    fn keys_of_strings_start_with_the_prefix_key(prefix in text(), rest in text()) {
        let whole = format!("{prefix}{rest}");
        for collation in Collation::ALL {
            let mut start = Vec::new();
            collation.append_prefix_key(prefix.as_bytes(), &mut start).unwrap();
            prop_assert!(key(collation, whole.as_bytes()).starts_with(&start), "{}", collation.name());
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
}

#[test]
fn ascii_keys_take_a_byte_a_character() {
    assert_eq!(key(Collation::DEFAULT, b"BARBARBAR").len(), 10);
}

/// CRCs of `HEX(WEIGHT_STRING(c))` of MySQL 9.7 over all code points but surrogates, in order, lines ended by a newline.
#[test]
fn weights_of_every_code_point_are_those_of_mysql() {
    for (collation, last, expect) in [
        (Collation::Utf8mb40900AiCi, 0x10_FFFF, CRC_AI_CI),
        (Collation::Utf8mb40900AsCs, 0x10_FFFF, CRC_AS_CS),
        (Collation::Utf8mb4GeneralCi, 0xFFFF, CRC_GENERAL_CI),
    ] {
        let mut crc = u32::MAX;
        let (mut weights, mut buffer) = (Vec::new(), [0; 4]);
        for c in (0..=last).filter_map(char::from_u32) {
            weights.clear();
            collation.weight_string(c.encode_utf8(&mut buffer).as_bytes(), &mut weights);
            for byte in &weights {
                for nibble in [byte >> 4, byte & 15] {
                    crc = crc32_step(crc, b"0123456789ABCDEF"[usize::from(nibble)]);
                }
            }
            crc = crc32_step(crc, b'\n');
        }
        assert_eq!(!crc, expect, "{}", collation.name());
    }
}

const CRC_AI_CI: u32 = 0x9e850f25;
const CRC_AS_CS: u32 = 0xd7580584;
const CRC_GENERAL_CI: u32 = 0x65af3d8;

fn crc32_step(crc: u32, byte: u8) -> u32 {
    (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 })
}
