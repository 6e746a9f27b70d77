//! Outcomes as lines for other programs, with commas between and a head that names the columns ([`COLUMNS`] says what each holds).

use super::Report;
use crate::histogram::Histogram;
use crate::outcome::Outcome;

/// The columns, in order, and what is in them. What is not known is empty.
pub const COLUMNS: [(&str, &str); 25] = [
    ("begun", "when the program that measured began, UTC"),
    ("server", "what the user called it, or its address"),
    ("version", "what it says it is"),
    ("workload", "name of the workload"),
    ("settings", "options that change it, `name=value` with spaces between"),
    ("connections", "connections that worked"),
    ("seconds", "measured time"),
    ("transactions", "that ended well in it"),
    ("rate", "transactions a second"),
    ("mean_ms", "mean latency"),
    ("p50_ms", "half took at most this long"),
    ("p95_ms", "95 of 100 did"),
    ("p99_ms", "99 of 100 did"),
    ("p999_ms", "999 of 1,000 did"),
    ("max_ms", "the longest"),
    ("user_us", "the server's processor time in user space, microseconds a transaction"),
    ("system_us", "the same in the kernel"),
    ("resident_kib", "the server's memory at the end"),
    ("client_us", "the client's own processor time a transaction"),
    ("retries", "attempts repeated after a deadlock or a lock wait timeout"),
    ("failed", "transactions given up because of another error"),
    ("errors", "`number=count` with spaces between"),
    ("lost", "connections that could not log in or broke"),
    ("cores", "processors of the client's machine"),
    ("load_average", "of that machine at the beginning"),
];

/// All outcomes of some reports, those of long runs too.
pub fn write(reports: &[Report]) -> String {
    let mut out = String::new();
    line(&mut out, COLUMNS.iter().map(|(name, _)| (*name).to_owned()));
    for report in reports {
        for outcome in report.outcomes.iter().chain(report.soaks.iter().map(|soak| &soak.outcome)) {
            line(&mut out, columns(report, outcome).into_iter());
        }
    }
    out
}

/// All kinds of transactions of an outcome together.
pub fn all_kinds(outcome: &Outcome) -> Histogram {
    let mut all = Histogram::default();
    outcome.kinds.iter().for_each(|kind| all.merge(&kind.latency));
    all
}

fn columns(report: &Report, it: &Outcome) -> [String; COLUMNS.len()] {
    let all = all_kinds(it);
    let transactions = it.transactions();
    let each = |seconds: f64| if transactions == 0 { String::new() } else { format!("{:.3}", seconds * 1e6 / transactions as f64) };
    let words = |words: Vec<String>| words.join(" ");
    [
        report.begun.clone(),
        it.server.clone(),
        it.version.clone(),
        it.workload.clone(),
        words(it.settings.iter().map(|(name, value)| format!("{name}={value}")).collect()),
        it.connections.to_string(),
        format!("{:.3}", it.seconds),
        transactions.to_string(),
        format!("{:.3}", it.rate()),
        format!("{:.3}", all.mean_ms()),
        format!("{:.3}", all.percentile_ms(0.5)),
        format!("{:.3}", all.percentile_ms(0.95)),
        format!("{:.3}", all.percentile_ms(0.99)),
        format!("{:.3}", all.percentile_ms(0.999)),
        format!("{:.3}", all.max_ms()),
        it.local.map_or_else(String::new, |l| each(l.user_seconds)),
        it.local.map_or_else(String::new, |l| each(l.system_seconds)),
        it.local.map_or_else(String::new, |l| l.resident_kib.to_string()),
        each(it.client_cpu_seconds),
        it.retries.to_string(),
        it.failed.to_string(),
        words(it.errors.iter().map(|(code, (count, _))| format!("{code}={count}")).collect()),
        it.lost.to_string(),
        report.machine.cores.to_string(),
        format!("{:.2}", report.machine.load_average),
    ]
}

/// Values that hold a comma, a quote or a line's end are quoted (RFC 4180).
fn line(out: &mut String, values: impl Iterator<Item = String>) {
    for (at, value) in values.enumerate() {
        if at > 0 {
            out.push(',');
        }
        if value.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&value.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&value);
        }
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    /// A reader by the letter of RFC 4180.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let (mut lines, mut fields, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(std::mem::take(&mut field)),
                '\n' if !quoted => {
                    fields.push(std::mem::take(&mut field));
                    lines.push(std::mem::take(&mut fields));
                }
                c => field.push(c),
            }
        }
        assert!(!quoted && fields.is_empty() && field.is_empty());
        lines
    }

    #[test]
    fn a_line_for_each_outcome_with_all_columns() {
        let mut report = samples::report();
        report.outcomes[0].server = "a,\"b\"\nc".to_owned();
        let lines = parse(&write(&[report.clone(), report.clone()]));
        assert_eq!(lines.len(), 1 + 2 * (report.outcomes.len() + report.soaks.len()));
        assert!(lines.iter().all(|line| line.len() == COLUMNS.len()));
        let column = |name: &str| COLUMNS.iter().position(|(n, _)| *n == name).unwrap();
        let first = &lines[1];
        assert_eq!(first[column("server")], "a,\"b\"\nc");
        assert_eq!(first[column("transactions")], report.outcomes[0].transactions().to_string());
        let rate: f64 = first[column("rate")].parse().unwrap();
        assert!((rate - report.outcomes[0].rate()).abs() < 1e-3);
    }

    #[test]
    fn the_columns_are_documented() {
        let page = include_str!("../../../../docs/bench-reports.md");
        for (name, what) in COLUMNS {
            assert!(page.contains(&format!("| `{name}` | {what} |")), "docs/bench-reports.md lacks `{name}`: {what}");
        }
    }
}
