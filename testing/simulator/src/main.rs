//! Runs seeds from the command line: `cargo xtask sim` calls this.

use simulator::{Plant, replay_command, run};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicU64, Ordering};

const USAGE: &str =
    "usage: cargo xtask sim [--seeds N] [--start S] [--minutes M] [--keep-going] [--plant NAME|all] | --seed S [--plant NAME] [--aloud]";

/// A seed that takes longer hangs.
const SEED_TIME_MAX: Duration = Duration::from_secs(120);

struct Arguments {
    seed: Option<u64>,
    seeds: Option<u64>,
    start: u64,
    minutes: Option<u64>,
    plant: Option<String>,
    aloud: bool,
    keep_going: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments { seed: None, seeds: None, start: 0, minutes: None, plant: None, aloud: false, keep_going: false };
    let mut rest = std::env::args().skip(1);
    while let Some(name) = rest.next() {
        if name == "--aloud" {
            parsed.aloud = true;
            continue;
        }
        if name == "--keep-going" {
            parsed.keep_going = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{name} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{name} {value}: not a number"));
        match name.as_str() {
            "--seed" => parsed.seed = Some(number()?),
            "--seeds" => parsed.seeds = Some(number()?),
            "--start" => parsed.start = number()?,
            "--minutes" => parsed.minutes = Some(number()?),
            "--plant" => parsed.plant = Some(value),
            _ => return Err(format!("{name}: no such option")),
        }
    }
    Ok(parsed)
}

fn main() -> ExitCode {
    let arguments = match arguments() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("{error}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let watched = watch();
    match arguments.plant.as_deref() {
        Some("all") => plants(&arguments, &watched),
        Some(name) => match Plant::from_name(name) {
            Some(plant) => seeds(&arguments, Some(plant), &watched),
            None => {
                eprintln!("{name}: no such planted bug; there are {}", Plant::ALL.map(Plant::name).join(", "));
                ExitCode::from(2)
            }
        },
        None => seeds(&arguments, None, &watched),
    }
}

/// The seed that runs now, for panics, aborts and hangs. Relaxed: a figure for messages.
struct Watched {
    seed: AtomicU64,
    plant: AtomicU64,
}

fn watch() -> Arc<Watched> {
    let watched = Arc::new(Watched { seed: AtomicU64::new(0), plant: AtomicU64::new(u64::MAX) });
    let command = |watched: &Watched| {
        let plant = usize::try_from(watched.plant.load(Ordering::Relaxed)).ok().and_then(|no| Plant::ALL.get(no).copied());
        replay_command(watched.seed.load(Ordering::Relaxed), plant)
    };
    let in_hook = Arc::clone(&watched);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        eprintln!("seed {} panicked; replay: {}", in_hook.seed.load(Ordering::Relaxed), command(&in_hook));
        print(info);
    }));
    let in_thread = Arc::clone(&watched);
    let watchdog = sync::thread::Builder::new().name("watchdog".into()).spawn(move || {
        let mut last = u64::MAX;
        loop {
            std::thread::sleep(SEED_TIME_MAX);
            let seed = in_thread.seed.load(Ordering::Relaxed);
            if seed == last {
                eprintln!("seed {seed} hangs; replay: {}", command(&in_thread));
                std::process::abort();
            }
            last = seed;
        }
    });
    drop(watchdog);
    watched
}

fn watched_run(seed: u64, plant: Option<Plant>, aloud: bool, watched: &Watched) -> Result<simulator::Report, String> {
    watched.seed.store(seed, Ordering::Relaxed);
    let no = plant.and_then(|plant| Plant::ALL.iter().position(|p| *p == plant));
    watched.plant.store(no.map_or(u64::MAX, |no| no as u64), Ordering::Relaxed);
    match std::panic::catch_unwind(|| run(seed, plant, aloud)) {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(failure)) => Err(failure.to_string()),
        Err(_) => Err(format!("seed {seed} panicked; replay: {}", replay_command(seed, plant))),
    }
}

fn seeds(arguments: &Arguments, plant: Option<Plant>, watched: &Watched) -> ExitCode {
    let (start, count) = match arguments.seed {
        Some(seed) => (seed, 1),
        None => (arguments.start, arguments.seeds.unwrap_or(if arguments.minutes.is_some() { u64::MAX } else { 100 })),
    };
    let began = Instant::now();
    let mut totals: BTreeMap<&'static str, u64> = BTreeMap::new();
    let (mut clean, mut failed) = (0u64, Vec::new());
    for seed in start..start.saturating_add(count) {
        if arguments.minutes.is_some_and(|minutes| began.elapsed() >= Duration::from_secs(60 * minutes)) {
            break;
        }
        match watched_run(seed, plant, arguments.aloud, watched) {
            Ok(report) => {
                clean += 1;
                report.counts.into_iter().for_each(|(what, count)| *totals.entry(what).or_default() += count);
            }
            Err(text) => {
                println!("{text}\n");
                failed.push(seed);
                if !arguments.keep_going {
                    break;
                }
            }
        }
    }
    println!("{clean} seeds clean, {} failed, in {:.1} s", failed.len(), began.elapsed().as_secs_f64());
    totals.iter().for_each(|(what, count)| println!("  {what}: {count}"));
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("failed: {failed:?}");
    ExitCode::FAILURE
}

/// After how many seeds each planted bug is found.
fn plants(arguments: &Arguments, watched: &Watched) -> ExitCode {
    let limit = arguments.seeds.unwrap_or(1000);
    let mut missed = false;
    for plant in Plant::ALL {
        let found =
            (0..limit).find_map(|no| watched_run(arguments.start + no, Some(plant), false, watched).err().map(|text| (no + 1, text)));
        match found {
            Some((after, text)) => println!("{}: found after {after} seeds: {}", plant.name(), text.lines().last().unwrap_or_default()),
            None => {
                missed = true;
                println!("{}: NOT found in {limit} seeds", plant.name());
            }
        }
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
