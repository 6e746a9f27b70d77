//! Reports as markdown tables, for a text that is kept beside them; and their charts as files.

use super::figures::Figures;
use super::{Report, replace};
use std::path::Path;

/// A heading, the charts' names and a table for each workload.
pub fn tables(reports: &[Report]) -> String {
    sections(reports, None)
}

/// The same with pictures: writes each chart as `FOLDER/PREFIX-WORKLOAD-WHAT.svg`, and names it as `LINK/…` in the text.
pub fn with_pictures(reports: &[Report], folder: &Path, prefix: &str, link: &str) -> Result<String, String> {
    for (name, svg) in pictures(reports, prefix) {
        replace(&folder.join(name), &(svg + "\n"))?;
    }
    Ok(sections(reports, Some((prefix, link))))
}

/// Which of the charts are worth a file.
const KEPT: [&str; 3] = ["rate", "ratio", "p99"];

fn pictures(reports: &[Report], prefix: &str) -> Vec<(String, String)> {
    let figures = Figures::new(reports);
    let of_group = |(at, group): (usize, &super::figures::Group<'_>)| {
        let charts = group.charts(&figures).into_iter().filter(|(what, _)| KEPT.contains(what));
        let named = charts.map(|(what, mut plot)| {
            plot.title = format!("{}: {}", group.workload, plot.title);
            (file_name(prefix, group.workload, at, what), plot.svg(true))
        });
        named.collect::<Vec<_>>()
    };
    figures.groups.iter().enumerate().flat_map(of_group).collect()
}

/// A name that needs no quoting in a link; a group's number tells two of one workload apart.
fn file_name(prefix: &str, workload: &str, group: usize, what: &str) -> String {
    let plain: String = workload.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let number = if group == 0 { String::new() } else { format!("-{}", group + 1) };
    format!("{prefix}-{plain}{number}-{what}.svg")
}

fn sections(reports: &[Report], pictures: Option<(&str, &str)>) -> String {
    let figures = Figures::new(reports);
    let mut out = String::new();
    for (at, group) in figures.groups.iter().enumerate() {
        let charts = group.charts(&figures);
        out.push_str(&format!("**{}**\n\n", super::plot::escape(&group.title())));
        if let Some((prefix, link)) = pictures {
            for (what, plot) in charts.iter().filter(|(what, _)| KEPT.contains(what)) {
                let file = file_name(prefix, group.workload, at, what);
                out.push_str(&format!("![{}: {}]({link}/{file})\n", group.workload, super::plot::escape(&plot.title)));
            }
            if !charts.is_empty() {
                out.push('\n');
            }
        }
        out.push_str(&group.table().markdown());
        out.push('\n');
    }
    let errors = figures.errors(reports.iter().flat_map(|r| r.soaks.iter().map(|s| &s.outcome)));
    if !errors.rows.is_empty() {
        out.push_str(&format!("**Errors**\n\n{}\n", errors.markdown()));
    }
    for soak in reports.iter().flat_map(|r| &r.soaks) {
        out.push_str(&format!(
            "**Long run: {}, {}**\n\n{}\n",
            super::plot::escape(&soak.outcome.server),
            soak.outcome.workload,
            soak.table().markdown()
        ));
    }
    let mut machines: Vec<String> = reports.iter().map(|r| format!("{}, {}", r.machine.described(), r.program)).collect();
    machines.dedup();
    out.push_str(&format!("{}.\n", machines.join("; ")));
    let loads = reports.iter().map(|r| r.machine.load_average);
    let (low, high) = loads.fold((f64::INFINITY, 0.0f64), |(low, high), load| (low.min(load), high.max(load)));
    if high > 0.0 {
        out.push_str(&format!("Load average when a command began: {low:.2} to {high:.2}.\n"));
    }
    out.push_str("\n<details><summary>Commands</summary>\n\n```\n");
    for report in reports {
        out.push_str(&format!("# {} UTC\n{}\n", report.begun, report.command.replace(['`', '\n'], " ")));
        report.notes.iter().for_each(|note| out.push_str(&format!("#   {}\n", note.replace(['`', '\n'], " "))));
    }
    out.push_str("```\n\n</details>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn the_text_names_the_files_that_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let text = with_pictures(&[samples::report()], folder.path(), "peers", "performance").unwrap();
        let files: Vec<String> = std::fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
        assert_eq!(files.len(), KEPT.len(), "{files:?}");
        for file in files {
            assert!(text.contains(&format!("(performance/{file})")), "{file} is not in {text}");
            let svg = std::fs::read_to_string(folder.path().join(file)).unwrap();
            roxmltree::Document::parse(&svg).unwrap();
        }
        assert!(text.contains("| connections | server | tx/s | × A (95 %) |"), "{text}");
        assert!(tables(&[samples::report()]).contains("1213"));
    }
}
