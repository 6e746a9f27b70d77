//! Decimal against `bigdecimal`, and the small cases by hand.

use super::*;
use bigdecimal::{BigDecimal, RoundingMode};
use proptest::prelude::*;
use std::str::FromStr;

fn dec(text: &str) -> Decimal {
    Decimal::parse_exact(text.as_bytes()).unwrap_or_else(|| panic!("not a decimal: {text}"))
}

fn big(text: &str) -> BigDecimal {
    BigDecimal::from_str(text).unwrap()
}

fn number() -> impl Strategy<Value = String> {
    ("-?", "[0-9]{1,35}", prop_oneof![Just(String::new()), "\\.[0-9]{1,30}"])
        .prop_map(|(sign, integer, fraction)| sign + &integer + &fraction)
}

fn small_number() -> impl Strategy<Value = String> {
    ("-?", "[0-9]{1,8}", prop_oneof![Just(String::new()), "\\.[0-9]{1,6}"])
        .prop_map(|(sign, integer, fraction)| sign + &integer + &fraction)
}

fn either() -> impl Strategy<Value = String> {
    prop_oneof![number(), small_number()]
}

/// Whether a sum with `scale` digits after the point is exact, or, where a carry makes that more than 65 digits (one case of 100,000), rounded to 65.
fn is_sum(ours: &Decimal, exact: &BigDecimal, scale: u8) -> Result<(), TestCaseError> {
    let digits = exact.with_scale(i64::from(scale)).digits();
    let surplus = digits.saturating_sub(u64::from(Decimal::DIGITS_MAX)) as i64;
    prop_assert_eq!(i64::from(ours.scale()), i64::from(scale) - surplus);
    prop_assert_eq!(big(&ours.to_string()), exact.with_scale_round(i64::from(ours.scale()), RoundingMode::HalfUp));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn text_survives(a in either()) {
        let again = dec(&dec(&a).to_string());
        prop_assert_eq!(&again, &dec(&a));
        prop_assert_eq!(big(&again.to_string()), big(&a));
    }

    #[test]
    fn add_sub_mul_compare_agree_with_bigdecimal(a in either(), b in either()) {
        let (x, y, p, q) = (dec(&a), dec(&b), big(&a), big(&b));
        prop_assert_eq!(x.compare(&y), p.cmp(&q));
        let scale = x.scale().max(y.scale());
        if let Some(sum) = x.add(&y) { is_sum(&sum, &(&p + &q), scale)?; }
        if let Some(difference) = x.sub(&y) { is_sum(&difference, &(&p - &q), scale)?; }
        if let Some(product) = x.mul(&y) {
            let exact = &p * &q;
            prop_assert_eq!(big(&product.to_string()), exact.with_scale_round(i64::from(product.scale()), RoundingMode::HalfUp));
        }
    }

    #[test]
    fn division_agrees_with_bigdecimal(a in either(), b in either()) {
        let (x, y, p, q) = (dec(&a), dec(&b), big(&a), big(&b));
        prop_assume!(!y.is_zero());
        if let Some(quotient) = x.div(&y, 4) {
            let scale = i64::from(quotient.scale());
            // |p - quotient * q| < |q| * 10^-scale: the quotient is cut, not wrong.
            let back = big(&quotient.to_string()) * &q;
            let error = (&p - &back).abs();
            prop_assert!(error < q.abs() * BigDecimal::new(1.into(), scale), "{} / {} = {}", a, b, quotient);
        }
        if let Some(remainder) = x.rem(&y) {
            prop_assert_eq!(big(&remainder.to_string()), &p % &q);
        }
    }

    #[test]
    fn rounding_agrees_with_bigdecimal(a in either(), digits in -10i32..30) {
        let (x, p) = (dec(&a), big(&a));
        let check = |ours: Decimal, mode| {
            let exact = if i64::from(digits) < i64::from(x.scale()) { p.with_scale_round(i64::from(digits), mode) } else { p.clone() };
            prop_assert_eq!(big(&ours.to_string()), exact);
            Ok(())
        };
        check(x.round(digits), RoundingMode::HalfUp)?;
        check(x.truncate(digits), RoundingMode::Down)?;
    }

    #[test]
    fn ordered_bytes_order_as_numbers_and_come_back(a in either(), b in either()) {
        for (precision, scale) in [(65, 30), (38, 2), (12, 2), (14, 6), (65, 0)] {
            let (x, y) = (dec(&a).round(i32::from(scale)), dec(&b).round(i32::from(scale)));
            let (mut p, mut q) = (Vec::new(), Vec::new());
            if x.encode_ordered(precision, scale, &mut p) & y.encode_ordered(precision, scale, &mut q) {
                prop_assert_eq!(p.len(), Decimal::ordered_bytes(precision));
                prop_assert_eq!(p.cmp(&q), x.compare(&y));
                prop_assert_eq!(Decimal::decode_ordered(&p, scale).unwrap().compare(&x), Ordering::Equal);
            }
        }
    }

    #[test]
    fn doubles_agree(a in either()) {
        let parsed: f64 = a.parse().unwrap();
        prop_assert_eq!(dec(&a).to_f64(), parsed);
    }
}

#[test]
fn ordered_form_is_as_small_as_the_precision_allows() {
    for precision in 1..=65u32 {
        let bits = Decimal::max_value(precision, 0).parts().1.bits();
        assert_eq!(Decimal::ordered_bytes(precision), (bits + 1).div_ceil(8) as usize, "precision {precision}");
        for value in [Decimal::max_value(precision, 0), Decimal::max_value(precision, 0).negate()] {
            let mut bytes = Vec::new();
            assert!(value.encode_ordered(precision, 0, &mut bytes));
            assert_eq!(Decimal::decode_ordered(&bytes, 0), Some(value));
        }
    }
}

#[test]
fn text_forms() {
    let check = |input: &str, value: &str, consumed: usize| {
        let parsed = Decimal::parse(input.as_bytes());
        assert_eq!((parsed.value.to_string().as_str(), parsed.consumed), (value, consumed), "{input}");
    };
    check("12.340", "12.340", 6);
    check("-.5", "-0.5", 3);
    check("5.", "5", 2);
    check(" 7x", "7", 2);
    check("abc", "0", 0);
    check(".", "0", 0);
    check("-", "0", 0);
    check("1e3", "1000", 3);
    check("1.25e1", "12.5", 6);
    check("1e-3", "0.001", 4);
    check("1e", "1", 1);
    check("1e-40", "0.000000000000000000000000000000", 5);
    check("0.0000000000000000000000000000005", "0.000000000000000000000000000001", 33);
    check("0e5", "0", 3);
    check("00012", "12", 5);
    assert!(Decimal::parse(b"1e65").overflow);
    assert!(!Decimal::parse(b"1e64").overflow);
}

#[test]
fn division_keeps_guard_digits() {
    let third = dec("1").div(&dec("3"), 4).unwrap();
    assert_eq!(third.to_string(), "0.333333333");
    assert_eq!(third.mul(&dec("3")).unwrap().round(4).to_string(), "1.0000");
    assert_eq!(dec("1").div(&dec("0"), 4), None);
}

#[test]
fn overflow_is_none() {
    let most = Decimal::max_value(65, 0);
    assert_eq!(most.add(&dec("1")), None);
    assert_eq!(most.mul(&dec("10")), None);
    assert_eq!(most.sub(&dec("1")).unwrap().digits(), 65);
    assert_eq!(most.to_i64(), Err(i64::MAX));
    assert_eq!(dec("-0.5").to_i64(), Ok(-1));
    assert_eq!(dec("-1").to_u64(), Err(0));
    assert_eq!(dec("18446744073709551615").to_u64(), Ok(u64::MAX));
}

#[test]
fn rounding_by_hand() {
    assert_eq!(dec("2.5").round(0).to_string(), "3");
    assert_eq!(dec("-2.5").round(0).to_string(), "-3");
    assert_eq!(dec("1250").round(-2).to_string(), "1300");
    assert_eq!(dec("-0.4").round(0).to_string(), "0");
    assert_eq!(dec("-1.5").ceiling().to_string(), "-1");
    assert_eq!(dec("-1.5").floor().to_string(), "-2");
    assert_eq!(dec("1.5").rescale(3).unwrap().to_string(), "1.500");
    assert_eq!(Decimal::from_f64(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Decimal::from_f64(1e20).unwrap().to_string(), "100000000000000000000");
}
