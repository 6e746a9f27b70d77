//! Whether a server is at the end of a long run what it was at the beginning: its throughput, its cost and its memory.
//!
//! # How it is judged
//! The last window against the first: an hour each in a run of eight hours or more, an eighth of a shorter one.
//!
//! **Throughput** holds if the last window's rate is at least 98 % of the first's. Below that it has fallen, unless noise explains it: both windows
//! are cut into twelve blocks, and when the interval of the ratio of their rates (Welch, on logarithms) reaches 98 % the run cannot tell.
//!
//! A machine that is shared with others becomes slower and faster by itself. The client's work for a transaction is the same all the time, so its own
//! processor time a transaction tells how fast the machine is. A rate that has fallen is said to have fallen **with the machine** when it holds once
//! it is multiplied by how much longer the client took, and the server's cost holds, too. It is then neither a pass nor a fault, and the verdict says so.
//!
//! **Cost** is the server's processor time a transaction by the client's. It holds if the last window's is at most 102 % of the first's, or noise
//! (each minute is a block) explains what is above it.
//!
//! **Memory** is what is resident less what the server says its pool of pages holds, which fills as it is told to. It is flat if the median of the last
//! window is above the first's by no more than 3 % of the resident memory or 32 MiB, or if it grew in the first half only (caches that fill).

use super::{CLIENT_US, SERVER_US, Sample, Soak};
use crate::outcome::Second;
use crate::report::shown;
use crate::statistics::{Ratio, median, unpaired_ratio};
use std::fmt;

/// What is left of the first window's rate at least.
pub const SHARE_MIN: f64 = 0.98;
/// Of the first window's cost at most.
pub const COST_MAX: f64 = 1.02;
/// The longest window.
const WINDOW_SECONDS_MAX: usize = 3600;
/// Parts of a run, one of which is a window.
const PARTS: usize = 8;
/// Blocks of a window.
const BLOCKS: usize = 12;
/// Memory that counts as noise: a share of what is resident, or so many KiB, what is more.
const MEMORY_SHARE: f64 = 0.03;
const MEMORY_KIB: f64 = 32.0 * 1024.0;

/// What was found of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It is what it was.
    Holds,
    /// It is worse.
    Worse,
    /// It is worse, by no more than noise explains.
    Unclear,
    /// It is worse, and so is the machine.
    Machine,
    /// There is too little to say.
    Unknown,
}

/// What a run showed.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether the rate holds.
    pub throughput: Judgement,
    /// Length of a window.
    pub window_seconds: usize,
    /// Rates of the first and the last window.
    pub rates: (f64, f64),
    /// The last's by the first's.
    pub ratio: Option<Ratio>,
    /// Whether the server's processor time a transaction, measured by the client's, holds.
    pub cost: Judgement,
    /// The last window's by the first's.
    pub cost_ratio: Option<Ratio>,
    /// The client's own processor time a transaction in the last window by that in the first: how much slower the machine is.
    pub machine: Option<f64>,
    /// Whether memory is flat.
    pub memory: Judgement,
    /// Memory in the first, the middle and the last window, KiB.
    pub memory_kib: Option<(f64, f64, f64)>,
    /// Whether the pool of pages is taken out of it.
    pub without_pool: bool,
    /// Whether the run came to its end.
    pub whole: bool,
    /// Connections that were lost on the way: what the others did afterwards is no measure of what all did before.
    pub lost: u64,
    /// Transactions that were given up.
    pub failed: u64,
}

impl Verdict {
    /// Nothing is worse for which the server is to blame.
    pub fn is_good(&self) -> bool {
        self.lost == 0 && ![self.throughput, self.cost, self.memory].contains(&Judgement::Worse)
    }
}

/// Judges a run.
pub fn judge(soak: &Soak) -> Verdict {
    let seconds = &soak.outcome.each_second;
    let window = (seconds.len() / PARTS).min(WINDOW_SECONDS_MAX);
    let (cost, cost_ratio, machine) = cost(&soak.samples, window);
    let (mut throughput, rates, ratio) = throughput(seconds, window);
    let corrected = ratio.zip(machine).map(|(ratio, machine)| ratio.mean * machine);
    if throughput == Judgement::Worse
        && matches!(cost, Judgement::Holds | Judgement::Unclear)
        && corrected.is_some_and(|share| share >= SHARE_MIN)
    {
        throughput = Judgement::Machine;
    }
    let (lost, failed) = (soak.outcome.lost, soak.outcome.failed);
    if lost > 0 {
        throughput = Judgement::Unknown;
    }
    let without_pool = soak.samples.iter().all(|s| s.gauges.contains_key(POOL));
    let (memory, memory_kib) = memory(&soak.samples, without_pool, soak.outcome.seconds, window as f64);
    let whole = soak.outcome.seconds >= soak.planned_seconds - 1.0;
    Verdict {
        throughput,
        window_seconds: window,
        rates,
        ratio,
        cost,
        cost_ratio,
        machine,
        memory,
        memory_kib,
        without_pool,
        whole,
        lost,
        failed,
    }
}

/// Minutes of a window of cost, at least: one has no interval.
const COST_MINUTES_MIN: usize = 2;

fn cost(samples: &[Sample], window: usize) -> (Judgement, Option<Ratio>, Option<f64>) {
    let all: Vec<(Option<f64>, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.gauges.get(SERVER_US).copied(), *sample.gauges.get(CLIENT_US)?)))
        .filter(|(_, client)| *client > 0.0)
        .collect();
    let minutes = (window / 60).max(COST_MINUTES_MIN);
    if all.len() < 2 * minutes {
        return (Judgement::Unknown, None, None);
    }
    let (first, last) = (&all[..minutes], &all[all.len() - minutes..]);
    let client = |part: &[(Option<f64>, f64)]| part.iter().map(|(_, client)| client).sum::<f64>();
    let machine = Some(client(last) / client(first));
    let by_client =
        |part: &[(Option<f64>, f64)]| part.iter().map(|(server, client)| Some((*server)? / client)).collect::<Option<Vec<f64>>>();
    let Some(ratio) = by_client(last).zip(by_client(first)).and_then(|(last, first)| unpaired_ratio(&last, &first)) else {
        return (Judgement::Unknown, None, machine);
    };
    let judgement = match ratio.interval {
        _ if ratio.mean <= COST_MAX => Judgement::Holds,
        Some((low, _)) if low <= COST_MAX => Judgement::Unclear,
        _ => Judgement::Worse,
    };
    (judgement, Some(ratio), machine)
}

fn throughput(seconds: &[Second], window: usize) -> (Judgement, (f64, f64), Option<Ratio>) {
    if window < BLOCKS {
        return (Judgement::Unknown, (0.0, 0.0), None);
    }
    let (first, last) = (&seconds[..window], &seconds[seconds.len() - window..]);
    let rate = |part: &[Second]| part.iter().map(|s| s.transactions).sum::<u64>() as f64 / part.len() as f64;
    let rates = (rate(first), rate(last));
    if rates.0 == 0.0 {
        return (Judgement::Unknown, rates, None);
    }
    // All blocks are whole; a few seconds at the end of a window are in none.
    let blocks = |part: &[Second]| part.chunks_exact(window / BLOCKS).take(BLOCKS).map(rate).collect::<Vec<f64>>();
    let of_blocks = unpaired_ratio(&blocks(last), &blocks(first));
    // The ratio is that of the rates themselves; the blocks say how sure it is.
    let share = rates.1 / rates.0;
    let interval = of_blocks.and_then(|r| Some((r.mean, r.interval?))).map(|(mean, (low, high))| (low / mean * share, high / mean * share));
    let ratio = Ratio { mean: share, interval, range: interval.unwrap_or((share, share)), pairs: BLOCKS };
    let judgement = match interval {
        _ if share >= SHARE_MIN => Judgement::Holds,
        Some((_, high)) if high >= SHARE_MIN => Judgement::Unclear,
        _ => Judgement::Worse,
    };
    (judgement, rates, Some(ratio))
}

/// The name by which `probe` knows what the pool of pages holds.
const POOL: &str = "pool_bytes";

fn memory(samples: &[Sample], without_pool: bool, seconds: f64, window: f64) -> (Judgement, Option<(f64, f64, f64)>) {
    let outside = |sample: &Sample| {
        let pool = if without_pool { sample.gauges.get(POOL).copied().unwrap_or(0.0) / 1024.0 } else { 0.0 };
        Some((sample.at_seconds, sample.resident_kib? as f64, sample.resident_kib? as f64 - pool))
    };
    let all: Vec<(f64, f64, f64)> = samples.iter().filter_map(outside).collect();
    if all.len() < PARTS {
        return (Judgement::Unknown, None);
    }
    // A window holds two samples at least, so that one odd sample is not all there is.
    let half = (window / 2.0).max(seconds / all.len() as f64 * 1.01);
    let within = |middle: f64, of: fn(&(f64, f64, f64)) -> f64| {
        let values: Vec<f64> = all.iter().filter(|(at, _, _)| (at - middle).abs() <= half).map(of).collect();
        median(&values)
    };
    let at = |middle: f64| within(middle, |(_, _, outside)| *outside);
    let (Some(first), Some(middle), Some(last), Some(resident)) =
        (at(half), at(seconds / 2.0), at(seconds - half), within(half, |(_, resident, _)| *resident))
    else {
        return (Judgement::Unknown, None);
    };
    let tolerance = (resident * MEMORY_SHARE).max(MEMORY_KIB);
    let grows = last - first > tolerance && last - middle > tolerance / 2.0;
    (if grows { Judgement::Worse } else { Judgement::Holds }, Some((first, middle, last)))
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window =
            if self.window_seconds >= 120 { format!("{} minutes", self.window_seconds / 60) } else { format!("{} s", self.window_seconds) };
        let word = match self.throughput {
            Judgement::Holds => "holds",
            Judgement::Worse => "FELL",
            Judgement::Unclear => "is lower, by no more than noise explains",
            Judgement::Machine => "fell with the machine",
            Judgement::Unknown if self.lost > 0 => "cannot be judged",
            Judgement::Unknown => "cannot be judged: the run was too short",
        };
        if self.lost > 0 {
            write!(f, "{} CONNECTIONS WERE LOST. ", self.lost)?;
        }
        if self.failed > 0 {
            write!(f, "{} transactions failed. ", self.failed)?;
        }
        write!(f, "Throughput {word}")?;
        let share = |v: f64| format!("{:.1} %", v * 100.0);
        let interval = |ratio: Ratio| ratio.interval.map_or_else(String::new, |(low, high)| format!(" ({} – {})", share(low), share(high)));
        if let Some(ratio) = self.ratio {
            write!(
                f,
                ": {}/s in the last {window}, {}/s in the first: {}{interval}, asked are {}",
                shown(self.rates.1),
                shown(self.rates.0),
                share(ratio.mean),
                share(SHARE_MIN),
                interval = interval(ratio)
            )?;
            if let Some(machine) = self.machine {
                let corrected = share(ratio.mean * machine);
                write!(f, "; the client took {} of its first processor time a transaction, which makes it {corrected}", share(machine))?;
            }
        }
        if let Some(ratio) = self.cost_ratio {
            let word = match self.cost {
                Judgement::Worse => "GREW",
                Judgement::Unclear => "is higher, by no more than noise explains",
                _ => "holds",
            };
            let (mean, interval, asked) = (share(ratio.mean), interval(ratio), share(COST_MAX));
            write!(
                f,
                ". Cost {word}: the server's processor time by the client's is {mean}{interval} of the first's, asked are {asked} at most"
            )?;
        }
        let word = match self.memory {
            Judgement::Holds | Judgement::Unclear | Judgement::Machine => "is flat",
            Judgement::Worse => "GROWS",
            Judgement::Unknown => "is not known",
        };
        write!(f, ". Memory {word}")?;
        if let Some((first, middle, last)) = self.memory_kib {
            let what = if self.without_pool { "outside the pool of pages" } else { "resident" };
            write!(f, ": {what} {} MiB, half way {}, at the end {}", shown(first / 1024.0), shown(middle / 1024.0), shown(last / 1024.0))?;
        }
        f.write_str(if self.whole { "." } else { ". The run was broken off." })
    }
}
