//! The program `table_model`: random definitions and changes to a running server, or to one that it starts and kills now and then, beside the model.

use harness::{Server, Target};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use table_model::{Counts, survey};

const USAGE: &str = "usage: table_model (--server HOST:PORT | --program PATH) [--seed S] [--seeds N | --minutes M] [--statements N]";

struct Options {
    server: Option<String>,
    program: Option<String>,
    seed: u64,
    seeds: u64,
    time: Option<Duration>,
    statements: usize,
}

fn options() -> Option<Options> {
    let mut options = Options { server: None, program: None, seed: 1, seeds: 10, time: None, statements: 500 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--server" => options.server = Some(value),
            "--program" => options.program = Some(value),
            "--seed" => options.seed = value.parse().ok()?,
            "--seeds" => options.seeds = value.parse().ok()?,
            "--minutes" => options.time = Some(Duration::from_secs_f64(value.parse::<f64>().ok()? * 60.0)),
            "--statements" => options.statements = value.parse().ok()?,
            _ => return None,
        }
    }
    (options.server.is_some() || options.program.is_some()).then_some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("{what}");
            ExitCode::FAILURE
        }
    }
}

/// A seed after the other, until one fails.
fn run(options: &Options) -> Result<(), String> {
    let mut target = match (&options.server, &options.program) {
        (Some(address), _) => Target::external(address)?,
        (None, Some(program)) => Target::Own(Server::start(program, &[])),
        (None, None) => return Err(USAGE.to_owned()),
    };
    let start = Instant::now();
    let mut total = Counts::default();
    let mut seed = options.seed;
    let goes_on = |seed: u64| options.time.map_or(seed < options.seed + options.seeds, |time| start.elapsed() < time);
    while goes_on(seed) {
        let Counts { done, refused, kills } = survey(&mut target, seed, options.statements)?;
        total.done += done;
        total.kills += kills;
        refused.into_iter().for_each(|(code, count)| *total.refused.entry(code).or_default() += count);
        seed += 1;
    }
    println!(
        "seeds {}..{seed}: {} statements done, {} refused as they should be {:?}, {} kills",
        options.seed,
        total.done,
        total.refused.values().sum::<u64>(),
        total.refused,
        total.kills
    );
    Ok(())
}
