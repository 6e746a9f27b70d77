//! `altiplano bench compare A=HOST:PORT B=HOST:PORT`.

use super::{Measured, Pace, Slices, measure, table};
use crate::address::{Address, Login, Server};
use crate::options::{PrepareOptions, RunOptions, Work};
use crate::outcome::Outcome;
use crate::progress::{self, Progress};
use crate::report::{self, Report};
use crate::running::{Running, Totals};
use clap::Args;
use std::cell::RefCell;
use std::io::Write;
use std::path::PathBuf;
use std::rc::Rc;
use std::str::FromStr;
use std::time::Duration;

/// The `compare` command.
#[derive(Debug, Clone, Args)]
#[command(mut_arg("seconds", |arg| arg.long("slice").default_value("4").help("Length of a slice")))]
pub struct CompareCommand {
    /// Servers, two or more; the others are compared with the first. A server on this machine is found by its port, or named: NAME=HOST:PORT:PID. NAME=/PATH is a unix socket
    #[arg(required = true, num_args = 2.., value_name = "NAME=HOST:PORT")]
    pub servers: Vec<Named>,
    /// Login, the same for all
    #[command(flatten)]
    pub login: Login,
    /// What is done to them
    #[command(flatten)]
    pub work: Work,
    /// Connections to each: one number, or several with commas between, one after the other
    #[arg(long, short, value_name = "N,…", value_delimiter = ',', default_value = "1,16,128,1024", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub connections: Vec<u32>,
    /// Slices of each server, with each number of connections
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
    pub rounds: u16,
    /// Time between slices, for what a server does in the background
    #[arg(long, value_name = "S", default_value_t = 0.0)]
    pub settle: f64,
    /// Load the data into each first
    #[arg(long)]
    pub prepare: bool,
    /// Write what was measured here; the name's end says how: .json, .csv, .html, .md
    #[arg(long, value_name = "FILE")]
    pub output: Vec<PathBuf>,
}

/// A server with the name that the user gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// The name, or the address where there is none.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// Its process, where it is named.
    pub pid: Option<u32>,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Named, String> {
        let (name, place) = text.split_once('=').map_or((None, text), |(name, place)| (Some(name), place));
        if place.starts_with('/') {
            let address: Address = place.parse()?;
            let name = name.filter(|name| !name.is_empty()).unwrap_or(place).to_owned();
            return Ok(Named { name, address, pid: None });
        }
        // HOST:PORT:PID has two colons behind the host; an address of version 6 stands in brackets.
        let (head, tail) = place.rsplit_once(']').map_or(("", place), |(head, _)| place.split_at(head.len() + 1));
        let parts: Vec<&str> = tail.split(':').collect();
        let (address, pid) = match parts.as_slice() {
            [host, port, pid] => {
                let pid = pid.parse().map_err(|_| format!("`{text}`: `{pid}` is not the number of a process"))?;
                (format!("{head}{host}:{port}"), Some(pid))
            }
            _ => (place.to_owned(), None),
        };
        let address: Address = address.parse()?;
        let name = name.filter(|name| !name.is_empty()).map_or_else(|| address.to_string(), str::to_owned);
        Ok(Named { name, address, pid })
    }
}

/// What comes before a slice is measured.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    /// Nobody works for so long.
    pub settle: Duration,
    /// Then connections work for so long, in seconds.
    pub lead_seconds: f64,
}

impl Default for Pauses {
    /// None, and just so long that all have begun.
    fn default() -> Pauses {
        Pauses { settle: Duration::ZERO, lead_seconds: 0.2 }
    }
}

/// A running load as slices.
pub struct Load {
    running: Running,
    watcher: Rc<RefCell<Box<dyn Progress>>>,
    what: String,
    pauses: Pauses,
    /// The first wrong answer of all slices.
    wrong: Option<String>,
}

impl Load {
    /// Logs everybody in.
    pub fn start(options: &RunOptions, watcher: &Rc<RefCell<Box<dyn Progress>>>, pauses: Pauses) -> Result<Load, String> {
        let what = format!("{} {}", options.label, report::connections(options.connections));
        watcher.borrow_mut().begin(&what);
        let running = Running::start(options, watcher.borrow_mut().as_mut())?;
        Ok(Load { running, watcher: Rc::clone(watcher), what, pauses, wrong: None })
    }

    /// Closes the connections; the totals, and the first wrong answer.
    pub fn leave(self) -> Result<(Totals, Option<String>), String> {
        Ok((self.running.leave()?, self.wrong))
    }
}

impl Slices for Load {
    fn slice(&mut self, seconds: f64) -> Result<Outcome, String> {
        #[expect(clippy::disallowed_methods, reason = "a pause between slices is time")]
        std::thread::sleep(self.pauses.settle);
        let mut watcher = self.watcher.borrow_mut();
        watcher.begin(&self.what);
        let measured = self.running.slice(self.pauses.lead_seconds, seconds, watcher.as_mut())?;
        self.wrong = self.wrong.take().or_else(|| measured.tally.wrong_answer());
        if measured.outcome.transactions() == 0 && measured.outcome.lost >= measured.outcome.connections as u64 {
            return Err(format!("all connections are lost: {}", measured.tally.lost_reason.unwrap_or_default()));
        }
        Ok(measured.outcome)
    }

    fn close(self: Box<Self>) -> Result<(), String> {
        let totals = self.running.stop()?.filter(|verdict| verdict != "ok");
        self.wrong.or(totals).map_or(Ok(()), Err)
    }
}

/// Numbers of connections, each once: figures are found by them.
pub fn each_once(connections: &[u32]) -> Vec<usize> {
    let mut known = std::collections::HashSet::new();
    connections.iter().filter(|count| known.insert(**count)).map(|count| *count as usize).collect()
}

impl CompareCommand {
    /// Compares, prints and writes.
    pub fn execute(&self) -> Result<(), String> {
        let mut names: Vec<String> = self.servers.iter().map(|server| server.name.clone()).collect();
        names.sort();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two servers are called {}", twice[0]));
        }
        let pace = Pace::of(&self.work, self.rounds, self.settle)?;
        self.output.iter().try_for_each(|path| report::Form::of(path).map(drop))?;
        let mut about = Report::here();
        if self.prepare {
            self.load_all()?;
        }
        let names: Vec<String> = self.servers.iter().map(|server| server.name.clone()).collect();
        let (counts, watcher) = (each_once(&self.connections), Rc::new(RefCell::new(progress::of_terminal())));
        eprintln!("about {:.0} minutes, and the logins", pace.seconds(names.len() * counts.len()) / 60.0);
        let pauses = Pauses { settle: Duration::from_secs_f64(self.settle), ..Pauses::default() };
        let mut open = |server: usize, connections: usize| -> Result<Box<dyn Slices>, String> {
            Ok(Box::new(Load::start(&self.options(server, connections), &watcher, pauses)?))
        };
        let mut failed_to_write = None;
        let mut told = |so_far: &Measured| {
            watcher.borrow_mut().clear();
            let last = so_far.comparisons.last().map_or(0, |comparison| comparison.connections);
            eprintln!("{}", table(&so_far.only(last)).text());
            // A run that is killed has written what it had.
            failed_to_write = self.write(&about.clone().with(so_far)).err();
        };
        let measured = measure(&self.work.workload.name(), &names, &counts, &pace, &mut open, &mut told);
        watcher.borrow_mut().clear();
        if let Some(error) = failed_to_write {
            return Err(error);
        }
        about = about.with(&measured);
        let mut out = table(&measured).text();
        about.notes.iter().for_each(|note| out.push_str(&format!("{note}\n")));
        write!(std::io::stdout(), "{out}").map_err(|e| format!("stdout: {e}"))?;
        if measured.outcomes.is_empty() {
            return Err("nothing could be measured".to_owned());
        }
        match measured.notes.iter().find(|note| note.contains("WRONG: ")) {
            Some(wrong) => Err(wrong.clone()),
            None => Ok(()),
        }
    }

    fn server(&self, server: usize) -> Server {
        Server { server: self.servers[server].address.clone(), login: self.login.clone() }
    }

    fn options(&self, server: usize, connections: usize) -> RunOptions {
        let named = &self.servers[server];
        RunOptions {
            server: self.server(server),
            work: self.work.clone(),
            connections,
            pid: named.pid,
            label: named.name.clone(),
            ledger: None,
        }
    }

    fn load_all(&self) -> Result<(), String> {
        for (at, named) in self.servers.iter().enumerate() {
            let begun = std::time::Instant::now();
            let options =
                PrepareOptions { server: self.server(at), workload: self.work.workload, size: self.work.size.clone(), loaders: 4 };
            crate::workload::prepare(&options).map_err(|e| format!("{}: {e}", named.name))?;
            eprintln!("{}: loaded in {:.0} s", named.name, begun.elapsed().as_secs_f64());
        }
        Ok(())
    }

    fn write(&self, about: &Report) -> Result<(), String> {
        self.output.iter().try_for_each(|path| report::write(path, std::slice::from_ref(about)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_connections_counts_once() {
        assert_eq!(each_once(&[16, 2, 16, 2, 1]), [16, 2, 1]);
    }

    #[test]
    fn servers_have_names_addresses_and_processes() {
        for (text, name, address, pid) in [
            ("A=127.0.0.1:3307", "A", "127.0.0.1:3307", None),
            ("A=host:3307:4711", "A", "host:3307", Some(4711)),
            ("B=[::1]:3307:12", "B", "[::1]:3307", Some(12)),
            ("B=[::1]:3307", "B", "[::1]:3307", None),
            ("localhost", "localhost:3306", "localhost:3306", None),
            ("=localhost:1", "localhost:1", "localhost:1", None),
        ] {
            let found: Named = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!((found.name.as_str(), found.address.to_string().as_str(), found.pid), (name, address, pid), "{text}");
        }
        for wrong in ["A=", "A=host:1:many", "A=host:port"] {
            assert!(wrong.parse::<Named>().is_err(), "{wrong}");
        }
    }
}
