//! Runs seeds from the command line: `cargo xtask sim` calls this.

use simulator::{Cuts, Plant, ThreadReport, replay_command, run_cut, run_threads, shrink};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sync::atomic::{AtomicU64, Ordering};

const USAGE: &str = "usage: cargo xtask sim [--seeds N] [--start S] [--minutes M] [--keep-going] [--plant NAME|all]
       cargo xtask sim --threads [--seeds N] [--start S] [--minutes M] [--plant NAME]
       cargo xtask sim --seed S [--plant NAME] [--aloud] [--shrink] [--keep STEPS] [--without FEATURES]

  --seeds N, --minutes M   so many seeds (100), or as many as there is time for
  --start S                the first of them (0)
  --keep-going             does not stop at a seed that fails
  --plant NAME             with a planted bug; all: after how many seeds each is found
  --threads                the engine with all its threads, 20 crashes a seed; what fails need not fail again
  --shrink                 cuts what a failing seed does not need to fail, and prints the command that is left
  --keep, --without        only these steps (3,7-9); without faults, nested, ddl, branches, halves, lazy, large, prune, levels, temporary, stories, warm";

/// A seed that takes longer hangs.
const SEED_TIME_MAX: Duration = Duration::from_secs(120);
/// Crashes of a run with threads.
const THREAD_CRASHES: u64 = 20;
/// How long a failing seed is shrunk.
const SHRINK_TIME_MAX: Duration = Duration::from_secs(180);
/// A seed with a planted bug that takes so long is given up.
const PLANT_TIME_MAX: Duration = Duration::from_secs(60);
/// How often a seed in a process of its own is looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

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
    threads: bool,
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
        if name == "--threads" {
            parsed.threads = true;
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
    if arguments.plant.as_deref() == Some("all") {
        return plants(&arguments);
    }
    let watched = watch();
    match arguments.plant.as_deref() {
        Some(name) => match Plant::from_name(name) {
            Some(plant) if arguments.threads => threads(&arguments, Some(plant), &watched),
            Some(plant) => seeds(&arguments, Some(plant), &watched),
            None => {
                eprintln!("{name}: no such planted bug; there are {}", Plant::ALL.map(Plant::name).join(", "));
                ExitCode::from(2)
            }
        },
        None if arguments.threads => threads(&arguments, None, &watched),
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
            #[expect(clippy::disallowed_methods, reason = "it looks whether a seed stands still for so long")]
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
                    shrink_seed(seed, plant, &arguments.cuts, watched);
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

/// Runs with real threads.
fn threads(arguments: &Arguments, plant: Option<Plant>, watched: &Watched) -> ExitCode {
    let start = arguments.seed.unwrap_or(arguments.start);
    let many = if arguments.minutes.is_some() { u64::MAX } else { 10 };
    let count = if arguments.seed.is_some() { 1 } else { arguments.seeds.unwrap_or(many) };
    let began = Instant::now();
    let (mut clean, mut total) = (0u64, ThreadReport::default());
    for seed in start..start.saturating_add(count) {
        if arguments.minutes.is_some_and(|minutes| began.elapsed() >= Duration::from_secs(60 * minutes)) {
            break;
        }
        watched.seed.store(seed, Ordering::Relaxed);
        match run_threads(seed, THREAD_CRASHES, plant) {
            Ok(report) => {
                clean += 1;
                total.add(&report);
            }
            Err(what) => {
                println!("seed {seed} with threads (it need not fail again): {what}");
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{clean} seeds with threads clean in {:.1} s: {total:?}", began.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

/// Prints the shortest run found that fails, with what it did.
fn shrink_seed(seed: u64, plant: Option<Plant>, start: &Cuts, watched: &Watched) {
    let mut runs = 0;
    let cuts = shrink(SHRINK_TIME_MAX, start, |cuts| {
        runs += 1;
        watched.runs.fetch_add(1, Ordering::Relaxed);
        watched_run(seed, plant, false, cuts, watched).err().map(|failed| failed.steps)
    });
    let Some(cuts) = cuts else { return println!("seed {seed} does not fail again") };
    let left = match &cuts.keep {
        Some(keep) => format!("{} steps are left", keep.len()),
        None => "no step could be left out".to_owned(),
    };
    println!("after {runs} runs, {left}; replay: {}", replay_command(seed, plant, &cuts));
    if let Err(failed) = watched_run(seed, plant, false, &cuts, watched) {
        println!("{}\n", failed.text);
    }
}

/// What a seed says of a planted bug.
enum Tried {
    /// It fails, and says this.
    Found(String),
    NotFound,
    /// It has not ended in time.
    Hung,
}

/// Runs a seed with a planted bug, in a process of its own: one that hangs is ended and slows nothing that follows.
fn tries(seed: u64, plant: Plant, program: &Path) -> std::io::Result<Tried> {
    let arguments = ["--seed", &seed.to_string(), "--plant", &plant.name()].map(str::to_owned);
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let output = child.stdout.take();
    let reader = sync::thread::Builder::new().name("output".into()).spawn(move || {
        let mut text = String::new();
        let read = output.map(|mut output| output.read_to_string(&mut text));
        drop(read);
        text
    })?;
    let deadline = Instant::now() + PLANT_TIME_MAX;
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() >= deadline => break None,
            #[expect(clippy::disallowed_methods, reason = "nothing tells of a child's end within a time")]
            None => std::thread::sleep(LOOK_INTERVAL),
        }
    };
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    let text = reader.join().unwrap_or_default();
    Ok(match status {
        None => Tried::Hung,
        Some(status) if status.success() => Tried::NotFound,
        Some(status) => {
            // The line before the summary says what was found; of one that died by a signal, that says it.
            let what = text.lines().rev().skip_while(|line| !line.contains(" seeds clean")).skip(1).find(|line| !line.trim().is_empty());
            Tried::Found(what.map_or_else(|| format!("seed {seed}: {status}"), str::to_owned))
        }
    })
}

/// After how many seeds each planted bug is found. Only [`Plant::LostLink`] is found by a seed that does not end.
fn plants(arguments: &Arguments) -> ExitCode {
    let limit = arguments.seeds.unwrap_or(2000);
    let mut missed = false;
    for plant in Plant::ALL {
        match find_plant(plant, arguments.start, limit) {
            Ok((Some((after, text)), hung)) => println!("{}: found after {after} seeds{}: {text}", plant.name(), tell_hung(&hung)),
            Ok((None, hung)) => {
                missed = true;
                println!("{}: NOT found in {limit} seeds{}", plant.name(), tell_hung(&hung));
            }
            Err(error) => {
                missed = true;
                println!("{}: not tried: {error}", plant.name());
            }
        }
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn tell_hung(hung: &[u64]) -> String {
    if hung.is_empty() { String::new() } else { format!(" (not ended after {} s: {hung:?})", PLANT_TIME_MAX.as_secs()) }
}

/// After how many seeds a planted bug is found and by what, and the seeds that did not end.
type Search = (Option<(u64, String)>, Vec<u64>);

fn find_plant(plant: Plant, start: u64, limit: u64) -> std::io::Result<Search> {
    let program = std::env::current_exe()?;
    let mut hung = Vec::new();
    for no in 0..limit {
        match tries(start + no, plant, &program)? {
            Tried::Found(text) => return Ok((Some((no + 1, text)), hung)),
            Tried::NotFound => {}
            Tried::Hung if plant == Plant::LostLink => return Ok((Some((no + 1, "it does not end".to_owned())), hung)),
            Tried::Hung => hung.push(start + no),
        }
    }
    Ok((None, hung))
}
