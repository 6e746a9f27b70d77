//! TPC-C's five transactions on its schema. Transactions and data follow the standard (revision 5.11), but: think and keying time only on demand, one round
//! trip reads all items of an order and one all their stock, no terminals; the number of items and customers can be made smaller.

mod conditions;
mod data;
mod transactions;

pub(super) use conditions::check;
pub(super) use data::prepare;
pub use transactions::Tpcc;

use crate::blocking::Blocking;
use crate::options::Size;
use crate::random::Random;
use std::time::Duration;

/// The kinds of transactions.
pub(super) const KINDS: [&str; 5] = ["new_order", "payment", "order_status", "delivery", "stock_level"];
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;
const ORDER_STATUS: usize = 2;
const DELIVERY: usize = 3;

/// An error where items or customers are others than those that the tables were prepared for: transactions would find nothing, and rates be those of
/// another workload.
pub(super) fn probe(control: &mut Blocking, size: &Size) -> Result<(), String> {
    for (query, table, option, count) in [
        ("SELECT MAX(i_id) FROM item", "item", "items", size.items),
        ("SELECT MAX(c_id) FROM customer WHERE c_w_id=1 AND c_d_id=1", "customer", "customers", size.customers),
    ] {
        let found = control.number(query).map_err(|why| format!("{why}; `altiplano bench prepare --workload tpcc` makes the tables"))?;
        super::prepared_for(found as u64 == count, table, option, found, count)?;
    }
    Ok(())
}

/// 45, 43, 4, 4, 4 of a hundred.
pub(super) fn choose(random: &mut Random) -> usize {
    match random.between(1, 100) {
        ..=45 => NEW_ORDER,
        46..=88 => PAYMENT,
        89..=92 => ORDER_STATUS,
        93..=96 => DELIVERY,
        _ => 4,
    }
}

/// Seconds of the standard for each kind (5.2.5.7): keying, and the mean of thinking.
const PAUSES: [(f64, f64); 5] = [(18.0, 12.0), (3.0, 12.0), (2.0, 10.0), (2.0, 5.0), (2.0, 5.0)];
/// Thinking takes ten times its mean at most (5.2.5.4).
const THINK_MAX: f64 = 10.0;

/// Keying and think time of a transaction, multiplied by a factor.
pub(super) fn pauses(kind: usize, random: &mut Random, factor: f64) -> (Duration, Duration) {
    let (keying, mean) = PAUSES[kind];
    let thinking = (-(1.0 - random.unit()).ln()).min(THINK_MAX) * mean;
    (Duration::from_secs_f64(keying * factor), Duration::from_secs_f64(thinking * factor))
}

const DISTRICTS: u64 = 10;
const LINES_MIN: u64 = 5;
const LINES_MAX: u64 = 15;

/// The standard's non-uniform random number in `low..=high`; the constant of the run is fixed.
fn non_uniform(random: &mut Random, mask: u64, low: u64, high: u64) -> u64 {
    const C: u64 = 123;
    ((random.between(0, mask) | random.between(low, high)) + C) % (high - low + 1) + low
}

/// The mask for a column of `count` values: 1023 for 3,000 customers, 8191 for 100,000 items, in proportion for fewer.
fn mask(count: u64, divisor: u64) -> u64 {
    let most = (count / divisor).max(1);
    (1 << most.ilog2()) - 1
}

/// Customers' last names that exist.
fn names(customers: u64) -> u64 {
    customers.min(1000)
}

/// A last name by its number, 0 to 999.
fn last_name(number: u64) -> String {
    const SYLLABLES: [&str; 10] = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
    [number / 100, number / 10 % 10, number % 10].iter().map(|digit| SYLLABLES[*digit as usize]).collect()
}

/// An amount of cents as a decimal.
fn money(cents: i64) -> String {
    format!("{}{}.{:02}", if cents < 0 { "-" } else { "" }, cents.abs() / 100, cents.abs() % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_masks_and_amounts_are_the_standards() {
        assert_eq!((last_name(371), last_name(0), last_name(999)), ("PRICALLYOUGHT".into(), "BARBARBAR".into(), "EINGEINGEING".into()));
        assert_eq!((mask(3000, 2), mask(100_000, 8)), (1023, 8191));
        assert_eq!((money(5), money(-1234), money(100_000)), ("0.05".into(), "-12.34".into(), "1000.00".into()));
        let mut random = Random::new(3);
        assert!((0..10_000).all(|_| (1..=3000).contains(&non_uniform(&mut random, 1023, 1, 3000))));
    }

    #[test]
    fn thinking_has_its_mean_and_its_end() {
        let mut random = Random::new(5);
        let seconds: Vec<f64> = (0..100_000).map(|_| pauses(NEW_ORDER, &mut random, 0.5).1.as_secs_f64()).collect();
        let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
        assert!((mean - 6.0).abs() < 0.1, "{mean}");
        assert!(seconds.iter().all(|s| (0.0..=60.0).contains(s)));
        assert_eq!(pauses(PAYMENT, &mut random, 2.0).0, Duration::from_secs(6));
    }

    #[test]
    fn the_mix_is_the_standards() {
        let mut random = Random::new(4);
        let mut counts = [0; 5];
        (0..100_000).for_each(|_| counts[choose(&mut random)] += 1);
        for (count, percent) in counts.iter().zip([45, 43, 4, 4, 4]) {
            assert!((count - percent * 1000i32).abs() < 700, "{counts:?}");
        }
    }
}
