//! The command line of `histories`.

use histories::{Level, Place, drive};

pub const USAGE: &str =
    "usage: histories (--server HOST:PORT | --program PATH) [--level LEVEL[,LEVEL…]|all|each] [--judge-as LEVEL] [--histories N] [--seed S]
                 [--parallel N] [--from N] [--clients N] [--txns N] [--kills N] [--faults] [--keep-going] [--without-gaps]
                 [--workload counter|deadlocks|bank|queue|numbers|seats|all] [--server-option OPTION]…
  levels: read-uncommitted read-committed repeatable-read snapshot-isolation serializable
          several: each client has one of them; all: all of them, side by side; each: a run at each, then one with all side by side
  --parallel  histories at the same time, on one server
  --judge-as  checks the histories as if they had been made at another level: what must be found then proves the checker
  --without-gaps  for a server without gap locks: rows that were not found are kept away by nobody
  --kills     so many times per history the server (of --program) is killed with -9 and started again; of parallel histories one kills
  --faults    KILL QUERY and KILL CONNECTION of random sessions, and clients that vanish in the middle of a statement
  --workload  instead of histories: so many clients with so many transactions each; totals must be exact, and nothing may be left behind";

/// What was asked for.
pub struct Options {
    pub place: Place,
    pub settings: drive::Settings,
    /// `--level each`.
    pub each: bool,
    pub judge_as: Option<Level>,
    pub histories: u64,
    pub parallel: u64,
    pub from: u64,
    pub seed: u64,
    pub keep_going: bool,
    pub workload: Option<String>,
}

/// Reads the command line, and starts the server.
pub fn options() -> Result<Options, String> {
    let mut arguments = std::env::args().skip(1);
    let (mut server, mut program, mut server_options) = (None, None, Vec::new());
    let mut settings =
        drive::Settings { levels: vec![Level::RepeatableRead], clients: 8, txns: 25, kills: 0, faults: false, without_gaps: false };
    let (mut judge_as, mut histories, mut parallel, mut from, mut keep_going, mut workload) = (None, 100, 1, 0, false, None);
    let mut each = false;
    let mut seed = std::time::UNIX_EPOCH.elapsed().map_or(1, |time| u64::from(time.subsec_nanos()));
    while let Some(name) = arguments.next() {
        let flag = match name.as_str() {
            "--keep-going" => Some(&mut keep_going),
            "--without-gaps" => Some(&mut settings.without_gaps),
            "--faults" => Some(&mut settings.faults),
            _ => None,
        };
        if let Some(flag) = flag {
            *flag = true;
            continue;
        }
        let value = arguments.next().ok_or(format!("{name}: a value is missing"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: no number"));
        let level = |name: &str| Level::parse(name).ok_or(format!("{name}: no level"));
        match name.as_str() {
            "--server" => server = Some(value),
            "--program" => program = Some(value),
            "--server-option" => server_options.push(value),
            "--level" if value == "all" || value == "each" => {
                settings.levels = Level::ALL.to_vec();
                each = value == "each";
            }
            "--level" => settings.levels = value.split(',').map(level).collect::<Result<_, _>>()?,
            "--workload" => workload = Some(value),
            "--judge-as" => judge_as = Some(level(&value)?),
            "--histories" => histories = number()?,
            "--parallel" => parallel = number()?.max(1),
            "--from" => from = number()?,
            "--seed" => seed = number()?,
            "--clients" => settings.clients = number()? as usize,
            "--txns" => settings.txns = number()? as usize,
            "--kills" => settings.kills = number()? as usize,
            _ => return Err(format!("{name}: no such option")),
        }
    }
    let place = match (server, program) {
        (Some(address), None) => Place::external(&address)?,
        (None, Some(program)) => {
            let server_options: Vec<&str> = server_options.iter().map(String::as_str).collect();
            Place::own(harness::Server::start(program, &server_options))
        }
        _ => return Err("either --server or --program".into()),
    };
    if settings.kills > 0 && !place.can_restart() {
        return Err("--kills needs --program".into());
    }
    Ok(Options { place, settings, each, judge_as, histories, parallel, from, seed, keep_going, workload })
}
