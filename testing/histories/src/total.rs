//! What came of many histories, as a table that can be written down.

use histories::history::{End, History};
use histories::{Kind, Report};
use std::collections::BTreeMap;
use std::time::Duration;

/// Sums of a run.
#[derive(Default)]
pub struct Total {
    pub histories: u64,
    /// Histories with something that is forbidden, or that could not be made.
    pub failed: u64,
    committed: usize,
    aborted: usize,
    unknown: usize,
    statements: usize,
    violations: BTreeMap<Kind, usize>,
    allowed: BTreeMap<Kind, usize>,
    pub elapsed: Duration,
    /// Resident memory of the server when the run began and when it had ended.
    pub resident_kib: Option<(u64, u64)>,
}

impl Total {
    pub fn add(&mut self, history: &History, report: &Report) {
        self.histories += 1;
        for txn in &history.txns {
            self.statements += txn.statements.len();
            match txn.end {
                End::Committed { .. } => self.committed += 1,
                End::Aborted => self.aborted += 1,
                End::Unknown { .. } => self.unknown += 1,
            }
        }
        for anomaly in &report.violations {
            *self.violations.entry(anomaly.kind).or_default() += 1;
        }
        for (kind, count) in &report.allowed {
            *self.allowed.entry(*kind).or_default() += count;
        }
        self.failed += u64::from(!report.violations.is_empty());
    }
}

/// The head of the table.
pub fn print_head() {
    println!(
        "| level | histories | committed | rolled back | no answer | statements | forbidden, found | allowed, seen | wall | server MiB |"
    );
    println!("|---|--:|--:|--:|--:|--:|---|---|--:|--:|");
}

impl Total {
    /// A row of the table.
    pub fn print(&self, name: &str) {
        let kinds = |counts: &BTreeMap<Kind, usize>| {
            let all: Vec<String> = counts.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            if all.is_empty() { "none".into() } else { all.join(", ") }
        };
        let resident = self.resident_kib.map_or(String::new(), |(before, after)| format!("{} → {}", before >> 10, after >> 10));
        println!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} | {:.0} s | {resident} |",
            self.histories,
            self.committed,
            self.aborted,
            self.unknown,
            self.statements,
            kinds(&self.violations),
            kinds(&self.allowed),
            self.elapsed.as_secs_f64(),
        );
    }
}
