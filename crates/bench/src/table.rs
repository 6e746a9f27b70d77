//! What was measured as a table for people: a line for each number of connections, and one for each kind of transaction where there are several.

use crate::histogram::Histogram;
use crate::measured::Measured;
use std::fmt::Write;

const HEAD: [&str; 9] = ["connections", "", "tx/s", "mean ms", "p50", "p95", "p99", "max", "server µs/tx"];

/// All runs of a ramp.
pub fn of(all: &[Measured]) -> String {
    let mut rows: Vec<[String; HEAD.len()]> = vec![HEAD.map(str::to_owned)];
    for measured in all {
        let outcome = &measured.outcome;
        let cpu = outcome.cpu_seconds_each().map_or_else(String::new, |seconds| format!("{:.1}", seconds * 1e6));
        rows.push(row(&outcome.connections.to_string(), "", &measured.tally.all(), outcome.seconds, cpu));
        if outcome.kinds.len() > 1 {
            rows.extend(outcome.kinds.iter().map(|kind| row("", &kind.name, &kind.latency, outcome.seconds, String::new())));
        }
    }
    let mut text = String::new();
    if let Some(first) = all.first() {
        let outcome = &first.outcome;
        let settings: Vec<String> = outcome.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let _ = writeln!(text, "{} on {} ({}); {}", outcome.workload, outcome.server, outcome.version, settings.join(" "));
    }
    let widths: Vec<usize> = (0..HEAD.len()).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Names to the left, numbers to the right.
            let pad = " ".repeat(width - cell.chars().count());
            line.push_str(&if column == 1 { format!("{cell}{pad}") } else { format!("{pad}{cell}") });
            line.push_str("  ");
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for measured in all {
        for remark in measured.remarks() {
            let _ = writeln!(text, "{}: {remark}", measured.outcome.connections);
        }
    }
    text
}

fn row(connections: &str, kind: &str, latency: &Histogram, seconds: f64, cpu: String) -> [String; HEAD.len()] {
    let rate = latency.count() as f64 / seconds.max(1e-9);
    let ms = |ms: f64| format!("{ms:.2}");
    [
        connections.to_owned(),
        kind.to_owned(),
        format!("{rate:.0}"),
        ms(latency.mean_ms()),
        ms(latency.percentile_ms(0.5)),
        ms(latency.percentile_ms(0.95)),
        ms(latency.percentile_ms(0.99)),
        ms(latency.max_ms()),
        cpu,
    ]
}
