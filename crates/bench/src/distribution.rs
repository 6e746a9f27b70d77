//! Which keys are asked for: all alike, or a few far more often than the rest.

use crate::random::Random;
use std::fmt;
use std::str::FromStr;

/// A distribution over `1..=count`; small keys are the hot ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Keys {
    /// Every key alike.
    Uniform,
    /// sysbench's `--rand-type=pareto` with its default of 0.2: a fifth of the keys gets four fifths of the requests, at every scale.
    Pareto,
    /// Key `n` is asked for in proportion to `n^-exponent`.
    Zipf(f64),
    /// sysbench's `--rand-type=special` with its defaults: three quarters of the requests to a hundredth of the keys, in the middle.
    Special,
    /// sysbench's `--rand-type=gaussian`: the mean of twelve draws.
    Gaussian,
}

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Keys::Uniform => f.write_str("uniform"),
            Keys::Pareto => f.write_str("pareto"),
            Keys::Zipf(exponent) => write!(f, "zipf:{exponent}"),
            Keys::Special => f.write_str("special"),
            Keys::Gaussian => f.write_str("gaussian"),
        }
    }
}

impl FromStr for Keys {
    type Err = String;

    fn from_str(text: &str) -> Result<Keys, String> {
        match text {
            "uniform" => Ok(Keys::Uniform),
            "pareto" => Ok(Keys::Pareto),
            "zipf" => Ok(Keys::Zipf(0.8)),
            "special" => Ok(Keys::Special),
            "gaussian" => Ok(Keys::Gaussian),
            _ => match text.strip_prefix("zipf:").and_then(|n| n.parse().ok()) {
                Some(exponent) if exponent > 0.0 && exponent <= 10.0 && exponent != 1.0 => Ok(Keys::Zipf(exponent)),
                _ => Err(format!(
                    "`{text}` is none of uniform, pareto, zipf, zipf:EXPONENT (above 0 and up to 10, not 1), special, gaussian"
                )),
            },
        }
    }
}

/// log(0.2) / log(0.8).
const PARETO_POWER: f64 = 7.212_567_4;
const GAUSSIAN_DRAWS: u32 = 12;

impl Keys {
    /// One of `1..=count`.
    pub fn draw(&self, random: &mut Random, count: u64) -> u64 {
        match *self {
            Keys::Uniform => random.between(1, count),
            Keys::Pareto => ((count as f64 * random.unit().powf(PARETO_POWER)) as u64 + 1).min(count),
            Keys::Zipf(exponent) => zipf(random, count, exponent),
            Keys::Special => {
                let hot = (count / 100).max(1);
                if random.percent(75) { random.between(1, hot) + (count - hot) / 2 } else { random.between(1, count) }
            }
            Keys::Gaussian => {
                let mean = (0..GAUSSIAN_DRAWS).map(|_| random.unit()).sum::<f64>() / f64::from(GAUSSIAN_DRAWS);
                ((count as f64 * mean) as u64 + 1).min(count)
            }
        }
    }
}

/// Rejection-inversion sampling (Hörmann and Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions").
fn zipf(random: &mut Random, count: u64, exponent: f64) -> u64 {
    let density = |x: f64| (-exponent * x.ln()).exp();
    let integral = |x: f64| {
        let log = x.ln();
        log * expm1_by((1.0 - exponent) * log)
    };
    let inverse = |x: f64| {
        let t = (x * (1.0 - exponent)).max(-1.0);
        (log1p_by(t) * x).exp()
    };
    let (low, high) = (integral(1.5) - 1.0, integral(count as f64 + 0.5));
    let sure = 2.0 - inverse(integral(2.5) - density(2.0));
    loop {
        let u = high + random.unit() * (low - high);
        let x = inverse(u);
        let k = x.round().clamp(1.0, count as f64);
        if k - x <= sure || u >= integral(k + 0.5) - density(k) {
            return k as u64;
        }
    }
}

fn log1p_by(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.ln_1p() / x } else { 1.0 - x * (0.5 - x / 3.0) }
}

fn expm1_by(x: f64) -> f64 {
    if x.abs() > 1e-8 { x.exp_m1() / x } else { 1.0 + x * 0.5 * (1.0 + x / 3.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share_of_first(keys: Keys, first: u64) -> f64 {
        let mut random = Random::new(5);
        let draws = 200_000;
        let hits = (0..draws)
            .filter(|_| {
                let key = keys.draw(&mut random, 10_000);
                assert!((1..=10_000).contains(&key));
                key <= first
            })
            .count();
        hits as f64 / f64::from(draws)
    }

    #[test]
    fn each_distribution_has_its_share_of_hot_keys() {
        for (keys, first, share) in [
            (Keys::Uniform, 2_000, 0.2),
            // A fifth of a fifth gets four fifths of four fifths.
            (Keys::Pareto, 2_000, 0.8),
            (Keys::Pareto, 400, 0.64),
            // Sums of n^-0.8 over 1 and over 1..=10,000: 1 of 27.07.
            (Keys::Zipf(0.8), 1, 0.0369),
            (Keys::Zipf(1.2), 1, 0.208),
            // Below the hundredth in the middle: a quarter of 4,950 of 10,000; the first half has the middle's first half, too.
            (Keys::Special, 4_950, 0.124),
            (Keys::Special, 5_050, 0.876),
            // A standard deviation is 1/12 of the keys: 0.159 lie below the mean less one.
            (Keys::Gaussian, 5_000, 0.5),
            (Keys::Gaussian, 4_167, 0.159),
        ] {
            let found = share_of_first(keys, first);
            assert!((found - share).abs() < 0.01, "{keys:?} {first}: {found}");
        }
    }
}
