//! Made-up reports for tests.

use super::machine::Machine;
use super::{Comparison, Report, SliceFigures};
use crate::histogram::Histogram;
use crate::outcome::{Kind, Local, Outcome, Second};
use crate::random::Random;
use crate::soak::{Sample, Soak};
use std::collections::BTreeMap;
use std::time::Duration;

/// An outcome of a server that does so many transactions a second.
pub fn outcome(server: &str, workload: &str, connections: usize, rate: f64) -> Outcome {
    let seconds = 10.0;
    let mut random = Random::new(connections as u64 + rate as u64);
    let mut latency = Histogram::default();
    for _ in 0..(rate * seconds) as usize {
        let ms = connections as f64 / rate * 1e3 * (0.5 - (1.0 - random.unit()).ln() / 2.0);
        latency.add(Duration::from_micros((ms * 1e3) as u64));
    }
    let second = |random: &mut Random| Second {
        transactions: (rate * (0.9 + 0.2 * random.unit())) as u64,
        p99_us: (connections as f64 / rate * 3e6 * (0.8 + 0.4 * random.unit())) as u64,
        resident_kib: Some(500_000),
    };
    Outcome {
        server: server.to_owned(),
        version: "9.7.0 made up".to_owned(),
        workload: workload.to_owned(),
        settings: [("warehouses".to_owned(), "10".to_owned()), ("keys".to_owned(), "zipf:0.9".to_owned())].into(),
        connections,
        seconds,
        kinds: vec![Kind { name: "new_order".to_owned(), latency: latency.clone() }, Kind { name: "payment".to_owned(), latency }],
        each_second: (0..10).map(|_| second(&mut random)).collect(),
        retries: 3,
        failed: 1,
        errors: [(1213, (3, "Deadlock found when trying to get lock; try <restarting> transaction".to_owned()))].into(),
        lost: 0,
        local: Some(Local { user_seconds: 5.0, system_seconds: 4.0, resident_kib: 512_000 }),
        client_cpu_seconds: 1.25,
    }
}

/// A soak of so many minutes; `rate` at each second.
pub fn soak(minutes: usize, rate: impl Fn(usize) -> f64, resident_kib: impl Fn(usize) -> u64) -> Soak {
    let mut of = outcome("A", "tpcc", 16, 100.0);
    of.seconds = minutes as f64 * 60.0;
    of.each_second = (0..minutes * 60)
        .map(|at| Second { transactions: rate(at).round() as u64, p99_us: 20_000, resident_kib: Some(resident_kib(at)) })
        .collect();
    let sample = |minute: usize| Sample {
        at_seconds: (minute * 60) as f64,
        resident_kib: Some(resident_kib((minute * 60).min(minutes * 60 - 1))),
        gauges: [("history_length".to_owned(), 100.0 + minute as f64), ("checkpoint_age_bytes".to_owned(), 1e6)].into(),
    };
    Soak { planned_seconds: of.seconds, outcome: of, samples: (0..=minutes).map(sample).collect() }
}

/// Two servers, four numbers of connections, in turns; and a soak.
pub fn report() -> Report {
    let mut report = Report {
        program: "altiplano 0.1.0".to_owned(),
        command: "altiplano bench compare 'A=127.0.0.1:3306' 'B=127.0.0.1:3307' --workload tpcc".to_owned(),
        begun: "2026-11-21 16:30:00".to_owned(),
        machine: Machine {
            cpu: "AMD EPYC".to_owned(),
            cores: 2,
            memory_kib: 24_000_000,
            kernel: "Linux 6.18".to_owned(),
            load_average: 0.42,
        },
        soaks: vec![soak(24, |_| 100.0, |_| 500_000)],
        notes: vec!["B refused 3 connections".to_owned()],
        ..Report::default()
    };
    let mut random = Random::new(1);
    for (connections, a, b) in [(1, 200.0, 450.0), (16, 400.0, 1700.0), (128, 270.0, 1500.0), (1024, 200.0, 900.0)] {
        report.outcomes.extend([outcome("A", "tpcc", connections, a), outcome("B", "tpcc", connections, b)]);
        let mut slice = |rate: f64| {
            let transactions = (rate * 4.0 * (0.9 + 0.2 * random.unit())) as u64;
            Some(SliceFigures { transactions, seconds: 4.0, cpu_seconds: Some(3.5) })
        };
        let rounds = (0..5).map(|_| vec![slice(a), slice(b)]).collect();
        report.comparisons.push(Comparison {
            workload: "tpcc".to_owned(),
            settings: BTreeMap::new(),
            connections,
            servers: vec!["A".to_owned(), "B".to_owned()],
            rounds,
        });
    }
    report
}
