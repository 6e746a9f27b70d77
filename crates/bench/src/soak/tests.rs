//! Verdicts over made-up hours, and what is written when a run is cut off.

use super::verdict::{Judgement, Verdict};
use super::*;
use crate::random::Random;
use crate::report::samples;
use proptest::prelude::*;

const MIB: u64 = 1024;

/// Noise as a server has it: of each second, and slower waves that blocks do not average out.
fn noisy(seed: u64, at: usize, second: f64, wave: f64) -> f64 {
    let mut random = Random::new(seed.wrapping_mul(1_000_003) + at as u64);
    1.0 + second * (random.unit() - 0.5) + wave * ((at as f64 / 97.0) + seed as f64).sin()
}

#[test]
fn noise_is_no_drift() {
    for seed in 0..40 {
        let verdict = samples::soak(64, |at| 1000.0 * noisy(seed, at, 0.3, 0.02), |_| 700 * MIB).verdict();
        assert!(verdict.throughput != Judgement::Worse, "seed {seed}: {verdict}");
        assert_eq!((verdict.memory, verdict.window_seconds, verdict.whole), (Judgement::Holds, 480, true), "{verdict}");
        assert!(verdict.is_good());
    }
}

#[test]
fn lost_connections_are_told_and_nothing_is_judged_by_the_rest() {
    // Half of the connections go half way: the rate is half of what it was, or what it was where the rest is enough for the server.
    for share in [0.5, 1.0] {
        let mut soak = samples::soak(64, |at| if at < 1920 { 500.0 } else { 500.0 * share }, |_| 700 * MIB);
        (soak.outcome.lost, soak.outcome.failed) = (8, 3);
        let verdict = soak.verdict();
        assert_eq!(verdict.throughput, Judgement::Unknown);
        assert!(!verdict.is_good());
        let text = verdict.to_string();
        assert!(text.starts_with("8 CONNECTIONS WERE LOST. 3 transactions failed. Throughput cannot be judged: "), "{text}");
    }
}

#[test]
fn a_drift_is_found() {
    for seed in 0..40 {
        // Lost over the whole run; between the middles of the windows are seven eighths of it.
        let soak = samples::soak(64, |at| 1000.0 * noisy(seed, at, 0.1, 0.002) * (1.0 - 0.06 * at as f64 / 3840.0), |_| 700 * MIB);
        let verdict = soak.verdict();
        assert_eq!(verdict.throughput, Judgement::Worse, "seed {seed}: {verdict}");
        assert!((verdict.ratio.unwrap().mean - 0.947).abs() < 0.012 && !verdict.is_good(), "{verdict}");
    }
}

#[test]
fn a_fall_within_the_noise_is_called_so() {
    // Three per cent less on waves of eight.
    let verdict =
        samples::soak(64, |at| 1000.0 * (1.0 + 0.1 * (at as f64 / 60.0).sin()) * if at > 1920 { 0.97 } else { 1.0 }, |_| 700 * MIB)
            .verdict();
    assert!(matches!(verdict.throughput, Judgement::Unclear | Judgement::Holds), "{verdict}");
    // The rates that decide are those that are shown.
    let ratio = verdict.ratio.unwrap();
    assert!((ratio.mean - verdict.rates.1 / verdict.rates.0).abs() < 1e-12);
    let (low, high) = ratio.interval.unwrap();
    assert!(low <= ratio.mean && ratio.mean <= high);
}

#[test]
fn memory_that_leaks_and_memory_that_fills() {
    let verdict = |of: &dyn Fn(usize) -> u64| samples::soak(64, |_| 1000.0, of).verdict().memory;
    assert_eq!(verdict(&|at| 700 * MIB + at as u64 * 60), Judgement::Worse, "225 MiB in 64 minutes");
    assert_eq!(verdict(&|at| 700 * MIB + (at as u64).min(900) * 200), Judgement::Holds, "175 MiB in a quarter of an hour, then none");
    assert_eq!(verdict(&|at| 700 * MIB + at as u64 * 6), Judgement::Holds, "22 MiB are noise");
    assert_eq!(verdict(&|at| 900 * MIB - at as u64 * 60), Judgement::Holds, "less is no growth");
    // What the pool holds is no leak.
    let mut soak = samples::soak(64, |_| 1000.0, |at| 700 * MIB + at as u64 * 60);
    for sample in &mut soak.samples {
        let pool = (sample.resident_kib.unwrap() - 600 * MIB) * 1024;
        sample.gauges.insert("pool_bytes".to_owned(), pool as f64);
    }
    assert_eq!(soak.verdict().memory, Judgement::Holds);
    soak.samples[3].gauges.remove("pool_bytes");
    assert_eq!(soak.verdict().memory, Judgement::Worse, "what is not always known is not taken away");
}

/// A run of 64 minutes on a machine that takes `machine` times as long at the end as at the beginning, and a server whose work grows to `work` times;
/// `idle` is the share of the time in which the server waits at the end.
fn drifting(machine: f64, work: f64, idle: f64) -> Verdict {
    let along = |at: usize| at as f64 / 3840.0;
    let slower = |at: usize| 1.0 + (machine - 1.0) * along(at);
    let client = |at: usize| 60.0 * slower(at) * noisy(7, at, 0.01, 0.0);
    let server = |at: usize| 240.0 * slower(at) * (1.0 + (work - 1.0) * along(at)) * noisy(8, at, 0.01, 0.0);
    let mut soak = samples::soak(64, |at| 1e6 / (client(at) + server(at)) * (1.0 - idle * along(at)), |_| 700 * MIB);
    for (minute, sample) in soak.samples.iter_mut().enumerate().skip(1) {
        sample.gauges.extend([(CLIENT_US.to_owned(), client(minute * 60)), (SERVER_US.to_owned(), server(minute * 60))]);
    }
    soak.verdict()
}

#[test]
fn a_slower_machine_is_not_the_servers_fault() {
    let verdict = drifting(1.4, 1.0, 0.0);
    assert_eq!((verdict.throughput, verdict.cost, verdict.is_good()), (Judgement::Machine, Judgement::Holds, true), "{verdict}");
    assert!((verdict.machine.unwrap() - 1.35 / 1.025).abs() < 0.05 && verdict.to_string().contains("fell with the machine"), "{verdict}");
    // A server that does more for the same transaction is found on a machine that changes and on one that does not.
    for machine in [0.8, 1.0, 1.4] {
        let verdict = drifting(machine, 1.1, 0.0);
        assert_eq!((verdict.cost, verdict.is_good()), (Judgement::Worse, false), "{machine}: {verdict}");
        assert!(verdict.throughput != Judgement::Machine, "{machine}: {verdict}");
    }
    // Nor is waiting excused by a machine that is slower.
    let verdict = drifting(1.4, 1.0, 0.1);
    assert_eq!((verdict.throughput, verdict.cost), (Judgement::Worse, Judgement::Holds), "{verdict}");
    // A faster machine has no say in a rate that holds.
    assert_eq!(drifting(0.8, 1.0, 0.0).throughput, Judgement::Holds);
}

#[test]
fn windows_of_eight_hours_are_hours() {
    let verdict = samples::soak(
        480,
        |at| {
            if at < 3600 {
                100.0
            } else if at >= 25_200 {
                97.0
            } else {
                5.0
            }
        },
        |_| 1,
    )
    .verdict();
    assert_eq!((verdict.window_seconds, verdict.rates, verdict.throughput), (3600, (100.0, 97.0), Judgement::Worse));
}

#[test]
fn too_little_is_not_judged() {
    let verdict = samples::soak(1, |_| 100.0, |_| 1).verdict();
    assert_eq!((verdict.throughput, verdict.memory, verdict.is_good()), (Judgement::Unknown, Judgement::Unknown, true));
    assert!(verdict.to_string().contains("too short"));
    let verdict = samples::soak(64, |_| 0.0, |_| 1).verdict();
    assert_eq!(verdict.throughput, Judgement::Unknown, "nothing is not compared with nothing");
}

proptest! {
    #[test]
    fn a_faster_server_is_judged_alike(scale in 1.0f64..50.0, seed in 0u64..50) {
        let of = |scale: f64| samples::soak(32, |at| (1000.0 * noisy(seed, at, 0.2, 0.0)).round() * scale.round(), |_| 1).verdict();
        let (a, b) = (of(1.0), of(scale));
        prop_assert_eq!(a.throughput, b.throughput);
        prop_assert!((a.ratio.unwrap().mean - b.ratio.unwrap().mean).abs() < 1e-9);
    }
}

struct Made {
    slices: Vec<f64>,
    fails_after: usize,
}

impl Slices for Made {
    fn slice(&mut self, seconds: f64) -> Result<Outcome, String> {
        if self.slices.len() == self.fails_after {
            return Err("the server closed the connection".to_owned());
        }
        self.slices.push(seconds);
        let mut outcome = samples::outcome("A", "tpcc", 16, 10.0);
        outcome.seconds = seconds;
        outcome.each_second = vec![Second { transactions: 20, p99_us: 5, resident_kib: Some(1000) }; seconds as usize];
        Ok(outcome)
    }
}

struct Counter(u32);

impl Probe for Counter {
    fn gauges(&mut self) -> BTreeMap<String, f64> {
        self.0 += 1;
        [("history_length".to_owned(), f64::from(self.0))].into()
    }
}

#[test]
fn a_minute_at_a_time_and_all_of_it_kept() {
    let mut server = Made { slices: Vec::new(), fails_after: usize::MAX };
    let mut kept = Vec::new();
    let soak = run(&mut server, &mut Counter(0), 150.0, &mut |soak| {
        kept.push(soak.clone());
        Ok(())
    });
    let soak = soak.unwrap();
    assert_eq!(server.slices, [60.0, 60.0, 30.0]);
    assert_eq!(
        soak.samples.iter().map(|s| (s.at_seconds, s.gauges["history_length"])).collect::<Vec<_>>(),
        [(0.0, 1.0), (60.0, 2.0), (120.0, 3.0), (150.0, 4.0)]
    );
    assert_eq!((soak.outcome.each_second.len(), soak.outcome.seconds), (150, 150.0));
    assert_eq!((kept.len(), kept.last()), (3, Some(&soak)));
    assert!(!kept[0].verdict().whole && kept[2].verdict().whole);
    assert!(kept[0].verdict().to_string().contains("broken off"));
    assert!(soak.table().text().contains("history"), "{}", soak.table().text());
    assert!(soak.charts(0).len() >= 4);
    // Of each slice's own transactions, 10 a second for 10 s.
    let outcome = samples::outcome("A", "tpcc", 16, 10.0);
    let client_us = outcome.client_cpu_seconds * 1e6 / outcome.transactions() as f64;
    assert!(soak.samples[1..].iter().all(|sample| sample.gauges[CLIENT_US] == client_us && sample.gauges.contains_key(SERVER_US)));
    assert!(!soak.samples[0].gauges.contains_key(CLIENT_US));
}

#[test]
fn what_was_measured_before_a_failure_is_kept() {
    let mut kept = 0;
    let failed = run(&mut Made { slices: Vec::new(), fails_after: 2 }, &mut Counter(0), 600.0, &mut |_| {
        kept += 1;
        Ok(())
    });
    assert_eq!((failed.unwrap_err().as_str(), kept), ("the server closed the connection", 2));
}
