//! Runs seeds from the command line: `cargo xtask sim` calls this.

use simulator::{Cuts, Plant, replay_command, run_cut, shrink};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicU64, Ordering};

const USAGE: &str = "usage: cargo xtask sim [--seeds N] [--start S] [--minutes M] [--keep-going] [--plant NAME|all]
       cargo xtask sim --seed S [--plant NAME] [--aloud] [--shrink] [--keep STEPS] [--without FEATURES]

  --seeds N, --minutes M   so many seeds (100), or as many as there is time for
  --start S                the first of them (0)
  --keep-going             does not stop at a seed that fails
  --plant NAME             with a planted bug; all: after how many seeds each is found
  --shrink                 cuts what a failing seed does not need to fail, and prints the command that is left
  --keep, --without        only these steps (3,7-9); without faults, nested, ddl, branches, halves, lazy, large";

/// A seed that takes longer hangs.
const SEED_TIME_MAX: Duration = Duration::from_secs(120);
/// How long a failing seed is shrunk.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(180);
/// A seed with a planted bug that takes so long hangs because of it.
const PLANT_TIME_MAX: Duration = Duration::from_secs(20);

#[derive(Default)]
struct Arguments {
    seed: Option<u64>,
    seeds: Option<u64>,
    start: u64,
    minutes: Option<u64>,
    plant: Option<String>,
    aloud: bool,
    keep_going: bool,
    shrink: bool,
    cuts: Cuts,
}

fn arguments() -> Result<Arguments, String> {
    let mut parsed = Arguments::default();
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
        if name == "--shrink" {
            parsed.shrink = true;
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
            "--keep" => parsed.cuts.keep = Some(Cuts::parse_keep(&value).ok_or_else(|| format!("--keep {value}: no list of steps"))?),
            "--without" => {
                parsed.cuts.without = Cuts::parse_without(&value).ok_or_else(|| format!("--without {value}: no such feature"))?
            }
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
    /// Runs of one seed, while it is shrunk.
    runs: AtomicU64,
}

fn watch() -> Arc<Watched> {
    let watched = Arc::new(Watched { seed: AtomicU64::new(0), plant: AtomicU64::new(u64::MAX), runs: AtomicU64::new(0) });
    let command = |watched: &Watched| {
        let plant = usize::try_from(watched.plant.load(Ordering::Relaxed)).ok().and_then(|no| Plant::ALL.get(no).copied());
        replay_command(watched.seed.load(Ordering::Relaxed), plant, &Cuts::default())
    };
    let in_hook = Arc::clone(&watched);
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        eprintln!("seed {} panicked; replay: {}", in_hook.seed.load(Ordering::Relaxed), command(&in_hook));
        print(info);
    }));
    let in_thread = Arc::clone(&watched);
    let watchdog = sync::thread::Builder::new().name("watchdog".into()).spawn(move || {
        let mut last = (u64::MAX, 0, 0);
        loop {
            std::thread::sleep(SEED_TIME_MAX);
            let load = |number: &AtomicU64| number.load(Ordering::Relaxed);
            let now = (load(&in_thread.seed), load(&in_thread.plant), load(&in_thread.runs));
            if now == last {
                eprintln!("seed {} hangs; replay: {}", now.0, command(&in_thread));
                std::process::abort();
            }
            last = now;
        }
    });
    drop(watchdog);
    watched
}

fn watched_run(seed: u64, plant: Option<Plant>, aloud: bool, cuts: &Cuts, watched: &Watched) -> Result<simulator::Report, Failed> {
    watched.seed.store(seed, Ordering::Relaxed);
    let no = plant.and_then(|plant| Plant::ALL.iter().position(|p| *p == plant));
    watched.plant.store(no.map_or(u64::MAX, |no| no as u64), Ordering::Relaxed);
    match std::panic::catch_unwind(|| run_cut(seed, plant, aloud, cuts)) {
        Ok(Ok(report)) => Ok(report),
        Ok(Err(failure)) => Err(Failed { text: failure.to_string(), steps: Some(failure.steps_taken) }),
        Err(_) => Err(Failed { text: format!("seed {seed} panicked; replay: {}", replay_command(seed, plant, cuts)), steps: None }),
    }
}

struct Failed {
    text: String,
    /// Unknown after a panic.
    steps: Option<Vec<u32>>,
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
        match watched_run(seed, plant, arguments.aloud, &arguments.cuts, watched) {
            Ok(report) => {
                clean += 1;
                report.counts.into_iter().for_each(|(what, count)| *totals.entry(what).or_default() += count);
            }
            Err(failure) => {
                println!("{}\n", failure.text);
                failed.push(seed);
                if arguments.shrink {
                    shrink_seed(seed, plant, watched);
                }
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

/// Prints the shortest run found that fails, with what it did.
fn shrink_seed(seed: u64, plant: Option<Plant>, watched: &Watched) {
    let mut runs = 0;
    let cuts = shrink(SHRINK_TIME_MAX, |cuts| {
        runs += 1;
        watched.runs.fetch_add(1, Ordering::Relaxed);
        watched_run(seed, plant, false, cuts, watched).err().map(|failed| failed.steps)
    });
    let Some(cuts) = cuts else { return println!("seed {seed} does not fail again") };
    println!(
        "after {runs} runs, {} steps are left; replay: {}",
        cuts.keep.as_ref().map_or(0, |keep| keep.len()),
        replay_command(seed, plant, &cuts)
    );
    if let Err(failed) = watched_run(seed, plant, false, &cuts, watched) {
        println!("{}\n", failed.text);
    }
}

/// Whether a seed finds the planted bug, and what it says. One that does not end has found it too; its thread stays behind.
fn finds(seed: u64, plant: Plant, watched: &Arc<Watched>) -> Option<String> {
    let (told, outcome) = std::sync::mpsc::channel();
    let in_thread = Arc::clone(watched);
    let spawned = sync::thread::Builder::new().name("seed".into()).spawn(move || {
        let failed = watched_run(seed, Some(plant), false, &Cuts::default(), &in_thread).err();
        let _ = told.send(failed.map(|failed| failed.text));
    });
    drop(spawned);
    match outcome.recv_timeout(PLANT_TIME_MAX) {
        Ok(found) => found,
        Err(_) => Some(format!("seed {seed} does not end")),
    }
}

/// After how many seeds each planted bug is found.
fn plants(arguments: &Arguments, watched: &Arc<Watched>) -> ExitCode {
    let limit = arguments.seeds.unwrap_or(2000);
    let mut missed = false;
    for plant in Plant::ALL {
        let found = (0..limit).find_map(|no| finds(arguments.start + no, plant, watched).map(|text| (no + 1, text)));
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
