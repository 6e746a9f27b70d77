//! `altiplano bench soak --hours 8`.

use super::probe::Asking;
use super::{Soak, run};
use crate::address::Server;
use crate::compare::Slices;
use crate::compare::command::{Load, Pauses};
use crate::options::{RunOptions, Work};
use crate::progress;
use crate::report::{self, Form, Report, shown};
use clap::Args;
use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;

/// The `soak` command.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("seconds", |arg| arg.default_value("0").help("How long, beside hours and minutes")))]
pub struct SoakCommand {
    /// Server
    #[command(flatten)]
    pub server: Server,
    /// What is done to it
    #[command(flatten)]
    pub work: Work,
    /// Connections
    #[arg(long, short, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: u32,
    /// How long [default: 8 hours, when neither hours nor minutes nor seconds are given]
    #[arg(long, value_name = "H", default_value_t = 0.0)]
    pub hours: f64,
    /// How long, beside hours and seconds
    #[arg(long, value_name = "M", default_value_t = 0.0)]
    pub minutes: f64,
    /// The server's process [default: found by itself when it is on this machine]
    #[arg(long)]
    pub pid: Option<u32>,
    /// A word for the report, such as the server's name
    #[arg(long, default_value = "")]
    pub label: String,
    /// Written anew after each minute; the name's end says how: .json, .csv, .html, .md
    #[arg(long, value_name = "FILE", default_value = "soak.html")]
    pub output: Vec<PathBuf>,
}

/// When nothing else is said.
const HOURS: f64 = 8.0;
const HOURS_MAX: f64 = 24.0 * 366.0;

impl SoakCommand {
    fn seconds(&self) -> Result<f64, String> {
        let asked = self.hours * 3600.0 + self.minutes * 60.0 + self.work.seconds;
        match asked {
            0.0 => Ok(HOURS * 3600.0),
            s if (1.0..=HOURS_MAX * 3600.0).contains(&s) => Ok(s),
            _ => Err("a soak lasts a second at least and a year at most".to_owned()),
        }
    }

    /// All of it is kept in JSON, whatever else was asked for.
    fn outputs(&self) -> Result<Vec<PathBuf>, String> {
        let mut all = self.output.clone();
        let forms = all.iter().map(|path| Form::of(path)).collect::<Result<Vec<Form>, String>>()?;
        if let Some(first) = self.output.first().filter(|_| !forms.contains(&Form::Json)) {
            all.push(first.with_extension("json"));
        }
        Ok(all)
    }

    /// Runs, writes and judges. An error when the server got worse.
    pub fn execute(&self) -> Result<(), String> {
        let (seconds, outputs) = (self.seconds()?, self.outputs()?);
        let about = Report::here();
        let watcher = Rc::new(RefCell::new(progress::of_terminal()));
        let options = RunOptions {
            server: self.server.clone(),
            work: self.work.clone(),
            connections: self.connections as usize,
            pid: self.pid,
            label: self.label.clone(),
            ledger: None,
        };
        let mut asking = Asking::new(self.server.connect(true)?, &self.server.login.database);
        let mut load = Load::start(&options, &watcher, Pauses::default())?;
        if self.work.warmup > 0.0 {
            load.slice(self.work.warmup)?;
        }
        let mut keep = |soak: &Soak| {
            let so_far = Report { soaks: vec![soak.clone()], ..about.clone() };
            watcher.borrow_mut().clear();
            eprintln!("{}", line(soak));
            outputs.iter().try_for_each(|path| report::write(path, std::slice::from_ref(&so_far)))
        };
        let soak = run(&mut load, &mut asking, seconds, &mut keep)?;
        let verdict = soak.verdict();
        watcher.borrow_mut().clear();
        let written: Vec<String> = outputs.iter().map(|path| path.display().to_string()).collect();
        write!(std::io::stdout(), "{}\n{verdict}\n{}\n", soak.table().text(), written.join(", ")).map_err(|e| format!("stdout: {e}"))?;
        Box::new(load).close()?;
        if verdict.is_good() { Ok(()) } else { Err("the server got worse, or lost connections".to_owned()) }
    }
}

/// The last minute, for who watches.
fn line(soak: &Soak) -> String {
    let last = &soak.outcome.each_second[soak.outcome.each_second.len().saturating_sub(60)..];
    let transactions: u64 = last.iter().map(|second| second.transactions).sum();
    let worst = last.iter().map(|second| second.p99_us).max().unwrap_or(0);
    let mut out = format!(
        "{:.0} of {:.0} min: {}/s, worst second's p99 {} ms",
        soak.outcome.seconds / 60.0,
        soak.planned_seconds / 60.0,
        shown(transactions as f64 / last.len().max(1) as f64),
        shown(worst as f64 / 1e3)
    );
    for (what, count) in [("failed", soak.outcome.failed), ("connections lost", soak.outcome.lost)] {
        if count > 0 {
            out.push_str(&format!(", {count} {what}"));
        }
    }
    if let Some(sample) = soak.samples.last() {
        if let Some(kib) = sample.resident_kib {
            out.push_str(&format!(", memory {} MiB", shown(kib as f64 / 1024.0)));
        }
        for name in ["history_length", "checkpoint_age_bytes", "data_bytes"] {
            if let Some(value) = sample.gauges.get(name) {
                let (title, scale) = super::probe::title(name);
                out.push_str(&format!(", {title} {}", shown(value * scale)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::CommandLine;
    use crate::report::samples;
    use clap::Parser;

    fn parsed(words: &str) -> SoakCommand {
        match CommandLine::try_parse_from(words.split(' ')).unwrap().action {
            crate::options::Action::Soak(command) => command,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hours_minutes_and_seconds_add_up() {
        for (words, seconds) in
            [("", 28_800.0), (" --hours 1", 3600.0), (" --minutes 20", 1200.0), (" --hours 1 --minutes 2 --seconds 3", 3723.0)]
        {
            assert_eq!(parsed(&format!("bench soak --workload tpcc{words}")).seconds(), Ok(seconds), "{words}");
        }
        assert!(parsed("bench soak --workload tpcc --minutes=-1").seconds().is_err());
    }

    #[test]
    fn json_is_kept_beside_what_was_asked_for() {
        let names = |words: &str| parsed(&format!("bench soak --workload tpcc{words}")).outputs().unwrap();
        assert_eq!(names(""), [PathBuf::from("soak.html"), PathBuf::from("soak.json")]);
        assert_eq!(names(" --output a/b.csv"), [PathBuf::from("a/b.csv"), PathBuf::from("a/b.json")]);
        assert_eq!(names(" --output x.html --output y.json"), [PathBuf::from("x.html"), PathBuf::from("y.json")]);
    }

    #[test]
    fn a_line_for_each_minute() {
        let said = line(&samples::soak(3, |_| 1234.0, |_| 512 << 10));
        assert_eq!(
            said,
            "3 of 3 min: 1,234/s, worst second's p99 20.0 ms, 1 failed, memory 512 MiB, history not purged, transactions 103, log since the checkpoint, MiB 0.954"
        );
    }
}
