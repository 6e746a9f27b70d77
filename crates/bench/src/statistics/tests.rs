//! Ratios and intervals against tables and simulated experiments.

use super::*;
use crate::random::Random;
use proptest::prelude::*;

fn near(found: f64, right: f64, within: f64) {
    assert!((found - right).abs() <= within, "{found} is not {right}");
}

#[test]
fn quantiles_are_those_of_the_tables() {
    for (freedom, right) in [
        (1, 12.7062),
        (2, 4.30265),
        (3, 3.18245),
        (4, 2.77645),
        (5, 2.57058),
        (9, 2.26216),
        (10, 2.22814),
        (30, 2.04227),
        (100, 1.98397),
        (1000, 1.96234),
    ] {
        near(t_quantile(0.975, freedom), right, 6e-5);
    }
    for (freedom, right) in [(1, 63.6567), (2, 9.92484), (7, 3.49948), (60, 2.66028)] {
        near(t_quantile(0.995, freedom), right, 6e-5);
    }
    near(t_quantile(0.5, 3), 0.0, 1e-9);
    near(t_quantile(0.975, usize::MAX), 1.9602, 2e-4);
}

#[test]
fn a_median_and_a_range() {
    assert_eq!((median(&[]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (None, Some(2.0), Some(2.5)));
    assert_eq!((range(&[]), range(&[3.0, 1.0, 2.0])), (None, Some((1.0, 3.0))));
}

#[test]
fn ratios_of_known_pairs() {
    // Logarithms 0 and ln 4: mean ln 2, standard error ln 2, t of one degree 12.706.
    let found = paired_ratio(&[(1.0, 1.0), (4.0, 1.0)]).unwrap();
    near(found.mean, 2.0, 1e-12);
    let (low, high) = found.interval.unwrap();
    near(low.ln(), -11.7062 * 2f64.ln(), 1e-4);
    near(high.ln(), 13.7062 * 2f64.ln(), 1e-4);
    assert_eq!((found.range, found.pairs), ((1.0, 4.0), 2));
    assert_eq!(paired_ratio(&[(6.0, 2.0)]).map(|r| (r.interval, r.pairs)), Some((None, 1)));
    assert_eq!(paired_ratio(&[]), None);
    assert_eq!(paired_ratio(&[(1.0, 0.0)]), None, "nothing to compare with");
    // A slice without a transaction has no logarithm, and is not left out.
    assert_eq!(paired_ratio(&[(0.0, 2.0), (1.0, 2.0)]).map(|r| (r.mean, r.interval)), Some((0.25, None)));
}

/// Normal by Box and Muller.
fn normal(random: &mut Random) -> f64 {
    let (radius, turn) = ((-2.0 * (1.0 - random.unit()).ln()).sqrt(), random.unit() * std::f64::consts::TAU);
    radius * turn.cos()
}

/// In how many of a thousand experiments of so many pairs the interval holds the truth. A pair shares noise of a third; each slice has some of its own.
fn coverage(pairs: usize, seed: u64, own: impl Fn(&mut Random) -> f64) -> f64 {
    const EXPERIMENTS: usize = 4000;
    let truth = 1.7;
    let mut held = 0;
    for experiment in 0..EXPERIMENTS {
        let mut random = Random::new(seed + experiment as u64);
        let measured: Vec<(f64, f64)> = (0..pairs)
            .map(|_| {
                let machine = (0.3 * normal(&mut random)).exp();
                (truth * machine * own(&mut random).exp(), machine * own(&mut random).exp())
            })
            .collect();
        let (low, high) = paired_ratio(&measured).unwrap().interval.unwrap();
        held += usize::from(low <= truth && truth <= high);
    }
    held as f64 / EXPERIMENTS as f64
}

#[test]
fn intervals_hold_the_truth_in_95_of_100_cases() {
    let seed = 20_261_121;
    println!("seed {seed}");
    for pairs in [2, 3, 5, 10, 30] {
        let held = coverage(pairs, seed, |random| 0.05 * normal(random));
        // Three standard errors of 4,000 experiments are one per cent.
        assert!((0.938..=0.962).contains(&held), "{pairs} pairs: {held}");
    }
}

#[test]
fn intervals_stand_slices_that_something_disturbed() {
    let seed = 7;
    println!("seed {seed}");
    for pairs in [3, 5, 10] {
        // One slice of ten is slower by up to a half.
        let held = coverage(pairs, seed, |random| 0.03 * normal(random) - if random.percent(10) { 0.7 * random.unit() } else { 0.0 });
        assert!(held >= 0.92, "{pairs} pairs: {held}");
    }
}

#[test]
fn series_without_pairs_are_compared_too() {
    let seed = 99;
    println!("seed {seed}");
    let mut held = 0;
    for experiment in 0..2000 {
        let mut random = Random::new(seed + experiment);
        let mut series = |count: usize, scale: f64, noise: f64| -> Vec<f64> {
            (0..count).map(|_| scale * (noise * normal(&mut random)).exp()).collect()
        };
        let (of, to) = (series(8, 3.0, 0.1), series(12, 2.0, 0.02));
        let (low, high) = unpaired_ratio(&of, &to).unwrap().interval.unwrap();
        held += usize::from(low <= 1.5 && 1.5 <= high);
    }
    assert!((1870..=1940).contains(&held), "{held} of 2000");
    assert_eq!(unpaired_ratio(&[], &[1.0]), None);
    assert_eq!(unpaired_ratio(&[2.0, 2.0], &[1.0, 1.0]).unwrap().interval, Some((2.0, 2.0)));
}

fn rates() -> impl Strategy<Value = Vec<(f64, f64)>> {
    prop::collection::vec((1.0f64..1e6, 1.0f64..1e6), 2..12)
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1e-300)
}

proptest! {
    #[test]
    fn servers_that_change_places_turn_the_ratio_over(pairs in rates()) {
        let there = paired_ratio(&pairs).unwrap();
        let back = paired_ratio(&pairs.iter().map(|(a, b)| (*b, *a)).collect::<Vec<_>>()).unwrap();
        prop_assert!(same(there.mean * back.mean, 1.0));
        let ((low, high), (low_back, high_back)) = (there.interval.unwrap(), back.interval.unwrap());
        prop_assert!(same(low * high_back, 1.0) && same(high * low_back, 1.0));
        prop_assert!(low <= there.mean && there.mean <= high && there.range.0 <= there.mean * (1.0 + 1e-9) && there.mean <= there.range.1 * (1.0 + 1e-9));
    }

    #[test]
    fn what_hits_both_of_a_pair_leaves_the_ratio(pairs in rates(), machine in prop::collection::vec(0.1f64..10.0, 12), scale in 0.01f64..100.0) {
        let right = paired_ratio(&pairs).unwrap();
        let hit: Vec<_> = pairs.iter().zip(&machine).map(|((a, b), m)| (a * m, b * m)).collect();
        prop_assert!(same(paired_ratio(&hit).unwrap().mean, right.mean));
        let scaled: Vec<_> = pairs.iter().map(|(a, b)| (a * scale, *b)).collect();
        let found = paired_ratio(&scaled).unwrap();
        prop_assert!(same(found.mean, right.mean * scale));
        prop_assert!(same(found.interval.unwrap().0, right.interval.unwrap().0 * scale));
    }

    #[test]
    fn the_order_of_rounds_is_of_no_account(pairs in rates()) {
        let mut turned = pairs.clone();
        turned.reverse();
        let (a, b) = (paired_ratio(&pairs).unwrap(), paired_ratio(&turned).unwrap());
        prop_assert!(same(a.mean, b.mean) && same(a.interval.unwrap().1, b.interval.unwrap().1));
    }

    #[test]
    fn a_quantile_is_where_its_probability_is(probability in 0.5f64..0.9999, freedom in 1usize..400) {
        let t = t_quantile(probability, freedom);
        prop_assert!((t_within(t, freedom) - (2.0 * probability - 1.0)).abs() < 1e-7);
        prop_assert!(t_quantile(probability, freedom + 1) <= t + 1e-9, "more freedom, shorter tails");
    }
}
