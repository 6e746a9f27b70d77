//! Outcomes put side by side: which servers, workloads and numbers of connections there are, and tables and charts of them.
//!
//! # Invariants
//! 1. A server has one colour in all charts, by the order in which names first occur.
//! 2. Of several outcomes of one workload, server and number of connections the last counts: who measures again means it.

use super::csv::all_kinds;
use super::plot::{Axis, Plot, Point, Series};
use super::table::Table;
use super::{Comparison, Report, shown};
use crate::outcome::Outcome;
use crate::statistics::Ratio;
use std::collections::BTreeMap;

/// All that some reports hold, in order.
pub struct Figures<'a> {
    /// Names of servers and what they say they are.
    pub servers: Vec<(&'a str, &'a str)>,
    /// A group for each workload with its settings.
    pub groups: Vec<Group<'a>>,
}

/// Outcomes of one workload with the same settings.
pub struct Group<'a> {
    /// The workload.
    pub workload: &'a str,
    /// `name=value`, with commas between.
    pub settings: String,
    /// By connections and server's number.
    pub cells: BTreeMap<(usize, usize), &'a Outcome>,
    /// By connections.
    pub comparisons: BTreeMap<usize, &'a Comparison>,
}

impl<'a> Figures<'a> {
    /// Of these.
    pub fn new(reports: &'a [Report]) -> Figures<'a> {
        let mut all = Figures { servers: Vec::new(), groups: Vec::new() };
        for outcome in reports.iter().flat_map(|r| &r.outcomes) {
            let server = all.server(&outcome.server, &outcome.version);
            all.group(outcome).cells.insert((outcome.connections, server), outcome);
        }
        for soak in reports.iter().flat_map(|r| &r.soaks) {
            all.server(&soak.outcome.server, &soak.outcome.version);
        }
        for report in reports {
            for comparison in &report.comparisons {
                // It belongs to what was measured with it, of which one workload may be there with several settings.
                let is_of_it = |outcome: &&Outcome| {
                    outcome.workload == comparison.workload
                        && outcome.connections == comparison.connections
                        && comparison.servers.contains(&outcome.server)
                        && (comparison.settings.is_empty() || outcome.settings == comparison.settings)
                };
                if let Some(outcome) = report.outcomes.iter().find(is_of_it) {
                    all.group(outcome).comparisons.insert(comparison.connections, comparison);
                }
            }
        }
        all
    }

    /// A server's number, which is its colour.
    fn server(&mut self, name: &'a str, version: &'a str) -> usize {
        self.servers.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            self.servers.push((name, version));
            self.servers.len() - 1
        })
    }

    /// The number of a server that is known.
    pub fn color(&self, name: &str) -> usize {
        self.servers.iter().position(|(known, _)| *known == name).unwrap_or(0)
    }

    fn group(&mut self, outcome: &'a Outcome) -> &mut Group<'a> {
        let settings: Vec<String> = outcome.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let settings = settings.join(", ");
        let at = self.groups.iter().position(|g| g.workload == outcome.workload && g.settings == settings).unwrap_or_else(|| {
            self.groups.push(Group { workload: &outcome.workload, settings, cells: BTreeMap::new(), comparisons: BTreeMap::new() });
            self.groups.len() - 1
        });
        &mut self.groups[at]
    }

    /// Errors by server and number, of all outcomes.
    pub fn errors(&self, soaks: impl Iterator<Item = &'a Outcome>) -> Table {
        let mut table = Table::new(2, &["server", "workload", "connections", "error", "count", "first message"]);
        for outcome in self.groups.iter().flat_map(|g| g.cells.values().copied()).chain(soaks) {
            for (code, (count, message)) in &outcome.errors {
                let cells = [
                    &outcome.server,
                    &outcome.workload,
                    &shown_count(outcome.connections),
                    &code.to_string(),
                    &shown(*count as f64),
                    message,
                ];
                table.row(cells.map(String::clone).to_vec());
            }
        }
        table
    }
}

/// A number of connections, with commas.
fn shown_count(count: usize) -> String {
    if count < 1000 { count.to_string() } else { shown(count as f64) }
}

fn count(value: u64) -> String {
    if value == 0 { String::new() } else { shown_count(value as usize) }
}

/// A ratio and where it is with confidence.
pub fn shown_ratio(ratio: &Ratio) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{} ({} – {})", shown(ratio.mean), shown(low), shown(high)),
        None => shown(ratio.mean),
    }
}

impl Comparison {
    /// What both servers of a pair gave in each round.
    fn pairs(&self, server: usize, of: impl Fn(&super::SliceFigures) -> Option<f64>) -> Vec<(f64, f64)> {
        let pair = |round: &Vec<Option<super::SliceFigures>>| {
            let figure = |at: usize| round.get(at)?.as_ref().and_then(&of);
            Some((figure(server)?, figure(0)?))
        };
        self.rounds.iter().filter_map(pair).collect()
    }

    /// A server's rate by the first's.
    pub fn ratio(&self, server: usize) -> Option<Ratio> {
        crate::statistics::paired_ratio(&self.pairs(server, |slice| Some(slice.rate())))
    }

    /// A server's processor time for each transaction by the first's.
    pub fn cpu_ratio(&self, server: usize) -> Option<Ratio> {
        crate::statistics::paired_ratio(&self.pairs(server, super::SliceFigures::cpu_us_each))
    }
}

impl Group<'_> {
    /// Its name with its settings.
    pub fn title(&self) -> String {
        if self.settings.is_empty() { self.workload.to_owned() } else { format!("{} ({})", self.workload, self.settings) }
    }

    /// Numbers of connections, from few to many.
    pub fn connections(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.cells.keys().map(|(connections, _)| *connections).collect();
        all.dedup();
        all
    }

    /// Rates, latencies and what they cost.
    pub fn table(&self) -> Table {
        let ratio = self.first_of_all().map_or_else(String::new, |first| format!("× {first} (95 %)"));
        let cpu_ratio = if ratio.is_empty() { String::new() } else { format!("CPU {ratio}") };
        let head = [
            "connections",
            "server",
            "tx/s",
            &ratio,
            "p50 ms",
            "p95 ms",
            "p99 ms",
            "max ms",
            "CPU µs/tx",
            "user",
            "system",
            &cpu_ratio,
            "memory MiB",
            "retries",
            "failed",
            "lost",
        ];
        let mut table = Table::new(0, &head);
        for ((connections, _), outcome) in &self.cells {
            let all = all_kinds(outcome);
            let transactions = outcome.transactions().max(1) as f64;
            let each = |seconds: Option<f64>| seconds.map_or_else(String::new, |s| shown(s * 1e6 / transactions));
            let local = outcome.local;
            let comparison = self.comparisons.get(connections);
            let compared = |of: fn(&Comparison, usize) -> Option<Ratio>| {
                let found =
                    comparison.and_then(|it| of(it, it.servers.iter().position(|name| *name == outcome.server).filter(|at| *at > 0)?));
                found.map_or_else(String::new, |ratio| shown_ratio(&ratio))
            };
            let ms = |share: f64| shown(all.percentile_ms(share));
            table.row(vec![
                shown_count(*connections),
                outcome.server.clone(),
                shown(outcome.rate()),
                compared(Comparison::ratio),
                ms(0.5),
                ms(0.95),
                ms(0.99),
                shown(all.max_ms()),
                each(local.map(|l| l.user_seconds + l.system_seconds)),
                each(local.map(|l| l.user_seconds)),
                each(local.map(|l| l.system_seconds)),
                compared(Comparison::cpu_ratio),
                local.map_or_else(String::new, |l| shown(l.resident_kib as f64 / 1024.0)),
                count(outcome.retries),
                count(outcome.failed),
                count(outcome.lost),
            ]);
        }
        table.compact()
    }

    /// The name of the server that all comparisons compare with.
    pub fn first_of_all(&self) -> Option<&str> {
        let mut firsts = self.comparisons.values().filter_map(|c| c.servers.first());
        let first = firsts.next()?;
        firsts.all(|other| other == first).then_some(first)
    }

    /// A value of each outcome over connections, a line for each server.
    fn over_connections(&self, servers: &Figures<'_>, of: impl Fn(&Outcome) -> Option<f64>) -> Vec<Series> {
        let line = |(number, (name, _)): (usize, &(&str, &str))| {
            let mine = self.cells.iter().filter(|((_, server), _)| *server == number);
            let series = Series::new(name, number, mine.filter_map(|((connections, _), o)| Some((*connections as f64, of(o)?))));
            (!series.points.is_empty()).then_some(series)
        };
        servers.servers.iter().enumerate().filter_map(line).collect()
    }

    /// Charts over the number of connections; none where there is one number only.
    pub fn charts(&self, servers: &Figures<'_>) -> Vec<(&'static str, Plot)> {
        let ticks: Vec<f64> = self.connections().into_iter().map(|n| n as f64).collect();
        if ticks.len() < 2 {
            return Vec::new();
        }
        let plot = |title: &str, y: Axis, unit: &str, series: Vec<Series>| Plot {
            title: title.to_owned(),
            across: "connections".to_owned(),
            x: Axis::LogAt(ticks.clone()),
            y,
            unit: unit.to_owned(),
            series,
        };
        let latency = |share: f64| self.over_connections(servers, |o| Some(all_kinds(o).percentile_ms(share)));
        let mut out = vec![
            ("rate", plot("Transactions a second", Axis::Linear, "/s", self.over_connections(servers, |o| Some(o.rate())))),
            (
                "ratio",
                plot(
                    &format!("Rate, times that of {} (95 %)", self.first_of_all().unwrap_or_default()),
                    Axis::Linear,
                    "×",
                    self.ratios(servers),
                ),
            ),
            ("p50", plot("Latency p50, ms", Axis::Log, " ms", latency(0.5))),
            ("p95", plot("Latency p95, ms", Axis::Log, " ms", latency(0.95))),
            ("p99", plot("Latency p99, ms", Axis::Log, " ms", latency(0.99))),
            (
                "cpu",
                plot(
                    "Server CPU, µs a transaction",
                    Axis::Linear,
                    " µs",
                    self.over_connections(servers, |o| Some(o.cpu_seconds_each()? * 1e6)),
                ),
            ),
        ];
        out.retain(|(_, plot)| !plot.series.is_empty());
        out
    }

    fn ratios(&self, servers: &Figures<'_>) -> Vec<Series> {
        let Some(first) = self.first_of_all() else { return Vec::new() };
        let line = |(number, (name, _)): (usize, &(&str, &str))| {
            let point = |(connections, comparison): (&usize, &&Comparison)| {
                let ratio = comparison.ratio(comparison.servers.iter().position(|s| s == name)?)?;
                Some(Point { x: *connections as f64, y: ratio.mean, within: ratio.interval })
            };
            let points: Vec<Point> = self.comparisons.iter().filter_map(point).collect();
            (*name != first && !points.is_empty()).then(|| Series { name: (*name).to_owned(), color: number, points })
        };
        servers.servers.iter().enumerate().filter_map(line).collect()
    }

    /// Throughput and latency of each second, with so many connections.
    pub fn over_time(&self, servers: &Figures<'_>, connections: usize) -> Vec<Plot> {
        let mine: Vec<_> = self.cells.iter().filter(|((n, _), o)| *n == connections && o.each_second.len() > 1).collect();
        let plot = |title: &str, y: Axis, unit: &str, of: fn(&crate::outcome::Second) -> f64| Plot {
            title: title.to_owned(),
            across: "seconds of measured time".to_owned(),
            x: Axis::Linear,
            y,
            unit: unit.to_owned(),
            series: mine
                .iter()
                .map(|((_, server), o)| {
                    let name = servers.servers.get(*server).map_or("", |(name, _)| name);
                    Series::new(name, *server, o.each_second.iter().enumerate().map(|(at, second)| ((at + 1) as f64, of(second))))
                })
                .collect(),
        };
        if mine.is_empty() {
            return Vec::new();
        }
        vec![
            plot("Transactions in each second", Axis::Linear, "/s", |s| s.transactions as f64),
            plot("Latency p99 in each second, ms", Axis::Log, " ms", |s| s.p99_us as f64 / 1e3),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    /// The ratios that are shown beside so many warehouses.
    fn ratio(figures: &Figures<'_>, warehouses: &str) -> Option<f64> {
        let group = figures.groups.iter().find(|group| group.settings.contains(&format!("warehouses={warehouses}")))?;
        Some(group.comparisons.get(&16)?.ratio(1)?.mean)
    }

    #[test]
    fn a_comparison_stands_beside_what_was_measured_with_it() {
        let report = |warehouses: &str, factor: u64| {
            let mut report = samples::report();
            report.outcomes.iter_mut().for_each(|outcome| drop(outcome.settings.insert("warehouses".to_owned(), warehouses.to_owned())));
            for slice in
                report.comparisons.iter_mut().flat_map(|comparison| comparison.rounds.iter_mut().flat_map(|round| round[1].as_mut()))
            {
                slice.transactions *= factor;
            }
            report
        };
        let (few, many) = (report("10", 1), report("50", 10));
        let alone = |report: &Report, warehouses: &str| ratio(&Figures::new(std::slice::from_ref(report)), warehouses).expect("a ratio");
        let (small, large) = (alone(&few, "10"), alone(&many, "50"));
        assert!(large > 5.0 * small);
        let both = [few, many];
        let figures = Figures::new(&both);
        assert_eq!((ratio(&figures, "10"), ratio(&figures, "50")), (Some(small), Some(large)));
        // One report of both: the comparisons say which is whose.
        let [mut together, mut other] = both.clone();
        for (report, warehouses) in [(&mut together, "10"), (&mut other, "50")] {
            for comparison in &mut report.comparisons {
                comparison.settings = [("warehouses".to_owned(), warehouses.to_owned()), ("keys".to_owned(), "zipf:0.9".to_owned())].into();
            }
        }
        together.outcomes.append(&mut other.outcomes);
        together.comparisons.append(&mut other.comparisons);
        let together = [together];
        let figures = Figures::new(&together);
        assert_eq!((ratio(&figures, "10"), ratio(&figures, "50")), (Some(small), Some(large)));
    }
}
