//! The history as a picture (one small plot for each operation) and as a table.

use super::record::{Budgets, History};
use std::fmt::Write;

const COLUMNS: usize = 5;
const WIDTH: f64 = 220.0;
const HEIGHT: f64 = 120.0;
/// Room of a plot around its lines, and above for its name.
const MARGIN: f64 = 14.0;
const TITLE: f64 = 34.0;

/// The picture: what each recording counted, and dashed the bound of the budget now.
pub fn svg(history: &History, budgets: &Budgets) -> String {
    let operations = history.operations();
    let rows = operations.len().div_ceil(COLUMNS);
    let (width, plots) = (COLUMNS as f64 * WIDTH, rows as f64 * HEIGHT);
    let height = plots + 30.0 + 16.0 * history.recordings.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for (at, name) in operations.iter().enumerate() {
        let (x, y) = ((at % COLUMNS) as f64 * WIDTH, (at / COLUMNS) as f64 * HEIGHT);
        panel(&mut out, history, budgets.of(name), name, x, y);
    }
    for (at, recording) in history.recordings.iter().enumerate() {
        let line = format!("{}: {} {} {}", at + 1, recording.date, recording.commit, recording.reason);
        let y = plots + 24.0 + 16.0 * at as f64;
        let _ = writeln!(out, "<text x=\"{MARGIN}\" y=\"{y:.0}\" fill=\"#333\">{}</text>", escaped(&shortened(&line, 190)));
    }
    out.push_str("</svg>\n");
    out
}

fn panel(out: &mut String, history: &History, budget: Option<f64>, name: &str, left: f64, top: f64) {
    let points: Vec<(usize, f64)> =
        history.recordings.iter().enumerate().filter_map(|(at, recording)| Some((at, recording.of(name)?))).collect();
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
    let bound = budget.map(|budget| budget * 1.02);
    let all = || points.iter().map(|(_, n)| *n).chain(bound);
    let (least, most) = (all().fold(f64::MAX, f64::min), all().fold(0.0, f64::max));
    // At least a tenth of the value, so that one per cent does not look like a leap.
    let span = (most - least).max(most * 0.1).max(1.0);
    let low = (least + most - span) / 2.0;
    let steps = history.recordings.len().max(2) - 1;
    let x = |at: usize| left + MARGIN + (WIDTH - 2.0 * MARGIN) * at as f64 / steps as f64;
    let y = |n: f64| top + HEIGHT - MARGIN - (HEIGHT - MARGIN - TITLE) * (n - low) / span;
    let change = 100.0 * (last.1 / first.1 - 1.0);
    let said = if points.len() > 1 { format!("{}, {change:+.1} % since {}", whole(last.1), first.0 + 1) } else { whole(last.1) };
    let (text_x, name_y, said_y) = (left + MARGIN, top + 14.0, top + 27.0);
    let _ = writeln!(out, "<text x=\"{text_x:.1}\" y=\"{name_y:.1}\" font-weight=\"bold\">{}</text>", escaped(name));
    let _ = writeln!(out, "<text x=\"{text_x:.1}\" y=\"{said_y:.1}\" fill=\"#555\">{said}</text>");
    if let Some(bound) = bound {
        let (from, to, at) = (x(0), x(steps), y(bound));
        let _ =
            writeln!(out, "<line x1=\"{from:.1}\" y1=\"{at:.1}\" x2=\"{to:.1}\" y2=\"{at:.1}\" stroke=\"#c33\" stroke-dasharray=\"3 3\"/>");
    }
    let line: Vec<String> = points.iter().map(|(at, n)| format!("{:.1},{:.1}", x(*at), y(*n))).collect();
    let _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#236\" stroke-width=\"1.5\"/>", line.join(" "));
    for (at, n) in &points {
        let shown = format!("{}: {n:.1}", escaped(&history.recordings[*at].commit));
        let _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"2.5\" fill=\"#236\"><title>{shown}</title></circle>", x(*at), y(*n));
    }
}

/// The table, a page of its own.
pub fn table(history: &History) -> String {
    let mut out = String::from(
        "# Instructions of hot operations, recording by recording\n\n\
         Written by `cargo xtask budgets --plot` from [history.toml](history.toml); what is checked stands in [../budgets.toml](../budgets.toml), what\n\
         each operation is in `testing/budgets/src`. Names with `per_row` are of one row. The dashed line of a plot is what `--check` allows now.\n\n\
         ![each operation over the recordings](history.svg)\n\n| operation |",
    );
    for at in 0..history.recordings.len() {
        let _ = write!(out, " {} |", at + 1);
    }
    out.push_str("\n|---|");
    out.push_str(&"--:|".repeat(history.recordings.len()));
    for name in history.operations() {
        let _ = write!(out, "\n| `{name}` |");
        for recording in &history.recordings {
            let _ = write!(out, " {} |", recording.of(name).map_or_else(String::new, whole));
        }
    }
    out.push_str("\n\n| | date | commit | reason |\n|--:|---|---|---|\n");
    for (at, recording) in history.recordings.iter().enumerate() {
        let _ = writeln!(out, "| {} | {} | {} | {} |", at + 1, recording.date, recording.commit, recording.reason.replace('|', "\\|"));
    }
    out
}

/// 12,345; one decimal below 100.
fn whole(n: f64) -> String {
    if n < 100.0 {
        return format!("{n:.1}");
    }
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most { text.to_owned() } else { text.chars().take(most - 1).chain(['…']).collect() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::record::Recording;
    use super::*;

    fn recording(commit: &str, list: &[(&str, f64)]) -> Recording {
        let instructions = list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        Recording { commit: commit.into(), date: "2026-11-21".into(), reason: "a < b & c".into(), instructions }
    }

    #[test]
    fn each_operation_has_a_plot_with_its_points_inside() {
        let recordings = vec![
            recording("aaa", &[("one", 6.0), ("two", 21_202.2)]),
            recording("bbb", &[("one", 6.0), ("two", 19_000.0), ("three", 5.0)]),
            recording("ccc", &[("one", 6.0), ("two", 18_029.0), ("three", 7.0)]),
        ];
        let budgets = Budgets { instructions: recordings[2].instructions.clone(), ..Budgets::default() };
        let history = History { recordings };
        let svg = svg(&history, &budgets);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("<circle").count(), svg.matches("dasharray").count()), (3, 8, 3));
        assert!(
            svg.contains("18,029, -15.0 % since 1") && svg.contains("7.0, +40.0 % since 2") && svg.contains("a &lt; b &amp; c"),
            "{svg}"
        );
        let number = |text: &str, name: &str| -> f64 {
            let rest = text.split_once(&format!("{name}=\"")).expect("an attribute").1;
            rest.split('"').next().expect("its end").parse().expect("a number")
        };
        for circle in svg.lines().filter(|line| line.starts_with("<circle")) {
            let (x, y) = (number(circle, "cx"), number(circle, "cy"));
            assert!((0.0..=WIDTH * 3.0).contains(&x) && (TITLE..=HEIGHT).contains(&y), "{circle}");
        }
    }

    #[test]
    fn the_table_has_a_column_for_each_recording() {
        let history = History { recordings: vec![recording("aaa", &[("one", 6.0)]), recording("bbb", &[("one", 5.5), ("two", 1234.5)])] };
        let table = table(&history);
        assert!(table.contains("| operation | 1 | 2 |\n|---|--:|--:|\n| `one` | 6.0 | 5.5 |\n| `two` |  | 1,234 |"), "{table}");
        assert!(table.contains("| 2 | 2026-11-21 | bbb | a < b & c |"), "{table}");
    }
}
