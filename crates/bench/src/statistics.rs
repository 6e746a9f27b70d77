//! What can be said of noisy rates: ratios of paired slices with confidence intervals, medians, ranges.
//!
//! # Method
//! Two servers are measured in neighbouring slices; a pair of slices shares what the machine does meanwhile, so the ratio of a pair holds less of
//! it than either rate. Rates are noisy by factors rather than by sums, so the mean is taken of the ratios' logarithms (their geometric
//! mean: it turns over exactly when the servers change places), and its interval is **Student's t** with one degree of freedom less
//! than there are pairs. A bootstrap would need no assumption of how the noise is spread, but of three to ten pairs, which is what a
//! comparison has, it gives intervals that are too short (of five pairs about 80 % hold the truth instead of 95 %).
//!
//! # Not here
//! Neighbouring pairs are taken as independent; what drifts over many rounds makes the interval a little too short.

/// Share of the intervals that hold the truth.
pub const CONFIDENCE: f64 = 0.95;

/// How one series of slices compares with another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Geometric mean of the pairs' ratios.
    pub mean: f64,
    /// Where the truth is in 95 of 100 cases; none of a single pair.
    pub interval: Option<(f64, f64)>,
    /// Smallest and largest ratio of a pair.
    pub range: (f64, f64),
    /// How many pairs.
    pub pairs: usize,
}

/// The middle one, or the mean of both in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The smallest and the largest.
pub fn range(values: &[f64]) -> Option<(f64, f64)> {
    let first = *values.first()?;
    Some(values.iter().fold((first, first), |(low, high), v| (low.min(*v), high.max(*v))))
}

/// Mean and variance (by one less than their number) of some values.
pub fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, squares / (count - 1.0).max(1.0))
}

/// How the first of each pair compares with the second. None without a pair of which both are above zero in all: a slice in which
/// nothing was done has no logarithm, so with one among them the ratio is that of the sums, without an interval.
pub fn paired_ratio(pairs: &[(f64, f64)]) -> Option<Ratio> {
    let sums = pairs.iter().fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
    let usable = |v: f64| v.is_finite() && v > 0.0;
    if !usable(sums.1) || !sums.0.is_finite() {
        return None;
    }
    let ratios: Vec<f64> = pairs.iter().map(|(of, to)| of / to).collect();
    if !pairs.iter().all(|(of, to)| usable(*of) && usable(*to)) {
        return Some(Ratio { mean: sums.0 / sums.1, interval: None, range: range(&ratios)?, pairs: pairs.len() });
    }
    let logs: Vec<f64> = ratios.iter().map(|r| r.ln()).collect();
    let (mean, variance) = mean_and_variance(&logs);
    let interval = (logs.len() > 1).then(|| {
        let half = t_quantile(0.5 + CONFIDENCE / 2.0, logs.len() - 1) * (variance / logs.len() as f64).sqrt();
        ((mean - half).exp(), (mean + half).exp())
    });
    Some(Ratio { mean: mean.exp(), interval, range: range(&ratios)?, pairs: pairs.len() })
}

/// How the geometric mean of some values compares with that of others that are not paired with them (Welch's interval on the logarithms).
pub fn unpaired_ratio(of: &[f64], to: &[f64]) -> Option<Ratio> {
    let logs = |values: &[f64]| -> Option<Vec<f64>> { values.iter().map(|v| (v.is_finite() && *v > 0.0).then(|| v.ln())).collect() };
    let (of, to) = (logs(of)?, logs(to)?);
    if of.is_empty() || to.is_empty() {
        return None;
    }
    let ((mean_of, variance_of), (mean_to, variance_to)) = (mean_and_variance(&of), mean_and_variance(&to));
    let mean = mean_of - mean_to;
    let (part_of, part_to) = (variance_of / of.len() as f64, variance_to / to.len() as f64);
    let interval = (of.len() > 1 && to.len() > 1).then(|| {
        let spread = part_of + part_to;
        let freedom = if spread > 0.0 {
            spread.powi(2) / (part_of.powi(2) / (of.len() - 1) as f64 + part_to.powi(2) / (to.len() - 1) as f64)
        } else {
            1.0
        };
        // Rounded down: an interval may be too wide.
        let half = t_quantile(0.5 + CONFIDENCE / 2.0, (freedom as usize).max(1)) * spread.sqrt();
        ((mean - half).exp(), (mean + half).exp())
    });
    let ends = |logs: &[f64]| range(logs).unwrap_or_default();
    let range = ((ends(&of).0 - ends(&to).1).exp(), (ends(&of).1 - ends(&to).0).exp());
    Some(Ratio { mean: mean.exp(), interval, range, pairs: of.len().min(to.len()) })
}

/// Past this many degrees of freedom it is the normal distribution within 0.0003.
const FREEDOM_MAX: usize = 10_000;

/// The value below which Student's t with so many (whole) degrees of freedom stays with this probability, which is at least one half.
pub fn t_quantile(probability: f64, freedom: usize) -> f64 {
    let freedom = freedom.clamp(1, FREEDOM_MAX);
    let within = (2.0 * probability - 1.0).clamp(0.0, 1.0 - 1e-9);
    let (mut low, mut high) = (0.0, 1.0);
    while t_within(high, freedom) < within {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if t_within(middle, freedom) < within { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The probability that Student's t is between `-t` and `t`: the finite series for whole degrees of freedom (Abramowitz and Stegun, 26.7.3, 26.7.4).
fn t_within(t: f64, freedom: usize) -> f64 {
    let angle = (t / (freedom as f64).sqrt()).atan();
    let (sin, cos) = angle.sin_cos();
    // Each term is the last one times cos² and a fraction: 1/2, 3/4, … or 2/3, 4/5, …
    let odd = freedom % 2 == 1;
    let mut term = if odd { cos } else { 1.0 };
    let (mut sum, mut power) = (0.0, if odd { 1 } else { 0 });
    while power + 2 <= freedom {
        sum += term;
        let above = (power + 1) as f64;
        term *= cos * cos * above / (above + 1.0);
        power += 2;
    }
    if odd { (angle + sin * sum) * std::f64::consts::FRAC_2_PI } else { sin * sum }
}

#[cfg(test)]
mod tests;
