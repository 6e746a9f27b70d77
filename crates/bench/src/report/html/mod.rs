//! One page that needs nothing but itself: tables and charts of one report or of several side by side.
//!
//! It is written as XML that is HTML too (each element ended, each attribute quoted), so that any parser of XML can check it. It has no script.

use super::Report;
use super::figures::{Figures, Group};
use super::plot::{Plot, STYLE, escape};
use super::table::Table;
use crate::soak::Soak;
use std::fmt::Write;

const PAGE_STYLE: &str = "\
*{box-sizing:border-box}body{margin:0 auto;max-width:1240px;padding:16px;background:var(--ground);color:var(--ink);font:16px/1.5 system-ui,sans-serif}\n\
h1{font-size:1.5rem;margin:.2em 0;overflow-wrap:anywhere}h2{font-size:1.2rem;margin:2em 0 .4em;overflow-wrap:anywhere}p,li,dd,summary{overflow-wrap:anywhere}\n\
.q{color:var(--ink2)}code{font:.85em/1.5 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}\n\
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr));gap:12px;margin:12px 0}.charts svg{width:100%;height:auto;display:block}\n\
.table{overflow-x:auto;margin:8px 0}table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}\n\
th,td{padding:3px 10px;text-align:right;white-space:nowrap;border-bottom:1px solid var(--line)}th{font-weight:600;color:var(--ink2)}.w{text-align:left}\n\
details{margin:8px 0}summary{cursor:pointer;color:var(--ink2)}dl{display:grid;grid-template-columns:auto 1fr;gap:2px 12px}dt{color:var(--ink2)}dd{margin:0}\n\
.key{display:inline-block;width:.75em;height:.75em;margin-right:.4em;border-radius:2px}.verdict{font-weight:600}\n";

/// The page.
pub fn page(reports: &[Report]) -> String {
    let figures = Figures::new(reports);
    let title = title(&figures);
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n");
    // Nothing is loaded and nothing runs, whatever a name holds.
    out.push_str("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n");
    let _ = writeln!(out, "<title>{}</title><style>{STYLE}{PAGE_STYLE}</style></head><body>", escape(&title));
    let _ = writeln!(out, "<h1>{}</h1>", escape(&title));
    servers(&figures, &mut out);
    figures.groups.iter().for_each(|group| of_group(group, &figures, &mut out));
    reports.iter().flat_map(|r| &r.soaks).for_each(|soak| of_soak(soak, &figures, &mut out));
    let errors = figures.errors(reports.iter().flat_map(|r| r.soaks.iter().map(|s| &s.outcome)));
    if !errors.rows.is_empty() {
        let _ = write!(out, "<h2>Errors</h2>\n{}", errors.html());
    }
    out.push_str("<h2>How it was measured</h2>\n");
    reports.iter().for_each(|report| of_machine(report, &mut out));
    out.push_str("<p class=\"q\">Latencies are counted from the moment at which a transaction was to begin. Intervals: 95 % confidence, Student's t on the logarithms of the ratios of neighbouring slices.</p>\n");
    out.push_str("</body></html>\n");
    out
}

fn title(figures: &Figures<'_>) -> String {
    let servers: Vec<&str> = figures.servers.iter().map(|(name, _)| *name).collect();
    let mut workloads: Vec<&str> = figures.groups.iter().map(|g| g.workload).collect();
    workloads.dedup();
    match (servers.is_empty(), workloads.is_empty()) {
        (true, _) => "No figures".to_owned(),
        (false, true) => servers.join(", "),
        (false, false) => format!("{}: {}", workloads.join(", "), servers.join(", ")),
    }
}

fn servers(figures: &Figures<'_>, out: &mut String) {
    out.push_str("<p>");
    for (number, (name, version)) in figures.servers.iter().enumerate() {
        let color = number % super::plot::COLORS;
        let _ = writeln!(
            out,
            "<span class=\"key\" style=\"background:var(--s{color})\"></span>{} <span class=\"q\">{}</span><br/>",
            escape(name),
            escape(version)
        );
    }
    out.push_str("</p>\n");
}

fn charts<'a>(plots: impl IntoIterator<Item = &'a Plot>, out: &mut String) {
    let svgs: String = plots.into_iter().map(|plot| format!("<div>{}</div>\n", plot.svg(false))).collect();
    if !svgs.is_empty() {
        let _ = write!(out, "<div class=\"charts\">\n{svgs}</div>\n");
    }
}

fn of_group(group: &Group<'_>, figures: &Figures<'_>, out: &mut String) {
    let _ = writeln!(out, "<section><h2>{}</h2>", escape(group.workload));
    if !group.settings.is_empty() {
        let _ = writeln!(out, "<p class=\"q\">{}</p>", escape(&group.settings));
    }
    charts(group.charts(figures).iter().map(|(_, plot)| plot), out);
    out.push_str(&group.table().html());
    kinds(group, out);
    let connections = group.connections();
    for (at, count) in connections.iter().enumerate() {
        let plots = group.over_time(figures, *count);
        if !plots.is_empty() {
            // One is open: of many connections a page would be all lines.
            let open = if at + 1 == connections.len() { " open=\"open\"" } else { "" };
            let _ = writeln!(out, "<details{open}><summary>Over time, {}</summary>", super::connections(*count));
            charts(&plots, out);
            out.push_str("</details>\n");
        }
    }
    out.push_str("</section>\n");
}

/// What each kind of transaction took, where a workload has several.
fn kinds(group: &Group<'_>, out: &mut String) {
    if group.cells.values().all(|outcome| outcome.kinds.len() < 2) {
        return;
    }
    let mut table = Table::new(0, &["connections", "server", "kind", "count", "mean ms", "p50 ms", "p95 ms", "p99 ms", "max ms"]);
    for ((connections, _), outcome) in &group.cells {
        for kind in &outcome.kinds {
            let ms = |share: f64| super::shown(kind.latency.percentile_ms(share));
            table.row(vec![
                connections.to_string(),
                outcome.server.clone(),
                kind.name.clone(),
                super::shown(kind.latency.count() as f64),
                super::shown(kind.latency.mean_ms()),
                ms(0.5),
                ms(0.95),
                ms(0.99),
                super::shown(kind.latency.max_ms()),
            ]);
        }
    }
    let _ = writeln!(out, "<details><summary>Kinds of transactions</summary>{}</details>", table.html());
}

fn of_soak(soak: &Soak, figures: &Figures<'_>, out: &mut String) {
    let (outcome, verdict) = (&soak.outcome, soak.verdict());
    let heading = format!("Long run: {}, {}, {}", outcome.server, outcome.workload, super::connections(outcome.connections));
    let _ = writeln!(out, "<section><h2>{}</h2>", escape(&heading));
    let _ = writeln!(out, "<p class=\"verdict\">{}</p>\n{}", escape(&verdict.to_string()), soak.table().html());
    charts(&soak.charts(figures.color(&outcome.server)), out);
    out.push_str("</section>\n");
}

fn of_machine(report: &Report, out: &mut String) {
    out.push_str("<dl>\n");
    let machine = &report.machine;
    let memory = format!("{:.1} GiB", machine.memory_kib as f64 / f64::from(1 << 20));
    let load = format!("{:.2}", machine.load_average);
    let cores = machine.cores.to_string();
    let told = [
        ("begun", report.begun.as_str()),
        ("by", &report.program),
        ("processor", &machine.cpu),
        ("cores", &cores),
        ("memory", &memory),
        ("kernel", &machine.kernel),
        ("load average at the beginning", &load),
    ];
    for (name, value) in told {
        let _ = writeln!(out, "<dt>{name}</dt><dd>{}</dd>", escape(value));
    }
    let _ = writeln!(out, "<dt>command</dt><dd><code>{}</code></dd>", escape(&report.command));
    for note in &report.notes {
        let _ = writeln!(out, "<dt>note</dt><dd>{}</dd>", escape(note));
    }
    out.push_str("</dl>\n");
}

#[cfg(test)]
mod tests;
