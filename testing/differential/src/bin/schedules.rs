//! The program `schedules`: random interleavings of sessions on a server of ours and on a MySQL, by [`differential::schedules`].

use differential::schedules::{Schedule, differ, shrink};
use env::SplitMix64 as Random;
use harness::spec::Place;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: schedules (--server HOST:PORT | --program PATH) --with HOST:PORT [--seed S] [--minutes M | --schedules N] [--each N] [--all]";

struct Options {
    server: Option<String>,
    program: Option<String>,
    with: String,
    seed: u64,
    time: Option<Duration>,
    schedules: u64,
    /// How many of one kind are made small and shown.
    each: u64,
    /// Also those where we wait less.
    all: bool,
}

fn options() -> Option<Options> {
    let mut options =
        Options { server: None, program: None, with: String::new(), seed: 1, time: None, schedules: 200, each: 1, all: false };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        if name == "--all" {
            options.all = true;
            continue;
        }
        let value = arguments.next()?;
        match name.as_str() {
            "--server" => options.server = Some(value),
            "--program" => options.program = Some(value),
            "--with" => options.with = value,
            "--seed" => options.seed = value.parse().ok()?,
            "--minutes" => options.time = Some(Duration::from_secs_f64(value.parse::<f64>().ok()? * 60.0)),
            "--schedules" => options.schedules = value.parse().ok()?,
            "--each" => options.each = value.parse().ok()?,
            _ => return None,
        }
    }
    ((options.server.is_some() || options.program.is_some()) && !options.with.is_empty()).then_some(options)
}

fn main() -> ExitCode {
    differential::exit_code(options(), USAGE, run)
}

/// Whether the servers agreed everywhere.
fn run(options: &Options) -> Result<bool, String> {
    let (_own, address) = differential::server_of(options.server.as_deref(), options.program.as_deref()).ok_or(USAGE)?;
    let (ours, theirs) = (Place::parse(&address, "schedules")?, Place::parse(&options.with, "schedules")?);
    println!("seed {}", options.seed);
    let start = Instant::now();
    let (mut asked, mut victims, mut less, mut restless) = (0, 0, 0, 0);
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    while options.time.map_or(asked < options.schedules, |time| start.elapsed() < time) {
        let seed = options.seed.wrapping_add(asked);
        asked += 1;
        let schedule = Schedule::random(&mut Random::new(seed));
        let Some(difference) = differ(&ours, &theirs, &schedule)? else { continue };
        if difference.is_another_victim() {
            victims += 1;
            continue;
        }
        if difference.locks_less() && !options.all {
            less += 1;
            continue;
        }
        // What purge has done by then is another matter each time: only what comes again counts.
        let signature = difference.signature();
        if differ(&ours, &theirs, &schedule)?.is_none_or(|again| again.signature() != signature) {
            restless += 1;
            continue;
        }
        let times = found.entry(signature.clone()).or_default();
        *times += 1;
        if *times > options.each {
            continue;
        }
        let small = shrink(&ours, &theirs, schedule, &signature)?;
        if let Some(difference) = differ(&ours, &theirs, &small)? {
            println!(
                "== {signature} (seed {seed})\n{}-- {}\n ours:   {}\n theirs: {}",
                difference.text,
                difference.step,
                difference.ours.join(" ; "),
                difference.theirs.join(" ; ")
            );
        }
    }
    let different: u64 = found.values().sum();
    println!(
        "{asked} schedules; {different} differ, {less} where we wait less, {victims} by another victim of a deadlock, {restless} not each time"
    );
    for (signature, times) in &found {
        println!("  {times:5} {signature}");
    }
    Ok(different == 0)
}
