//! The program `metamorphic`: checks a running server, or one that it starts, by [`differential::metamorphic`]. Any server that speaks MySQL will do.

use differential::metamorphic::{Relation, Subject, survey};
use differential::{Generator, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str =
    "usage: metamorphic (--server HOST:PORT | --program PATH) [--seed S] [--minutes M | --rounds N] [--relation NAME] [--factor F]";

/// Checks between one set of tables and the next.
const CHECKS_A_ROUND: usize = 300;
/// Changes that are made to the rows in the middle of a round.
const CHANGES_A_ROUND: usize = 10;
/// The same, of the definitions of tables.
const ALTERATIONS_A_ROUND: usize = 6;

struct Options {
    server: Option<String>,
    program: Option<String>,
    seed: u64,
    time: Option<Duration>,
    rounds: u64,
    relations: Vec<Relation>,
    /// How many times the rows each second round has.
    factor: usize,
}

fn options() -> Option<Options> {
    let mut options =
        Options { server: None, program: None, seed: 1, time: None, rounds: 10, relations: Relation::ALL.to_vec(), factor: 25 };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--server" => options.server = Some(value),
            "--program" => options.program = Some(value),
            "--seed" => options.seed = value.parse().ok()?,
            "--minutes" => options.time = Some(Duration::from_secs_f64(value.parse::<f64>().ok()? * 60.0)),
            "--rounds" => options.rounds = value.parse().ok()?,
            "--relation" => options.relations = vec![Relation::from_name(&value)?],
            "--factor" => options.factor = value.parse().ok().filter(|factor| *factor > 0)?,
            _ => return None,
        }
    }
    (options.server.is_some() || options.program.is_some()).then_some(options)
}

fn main() -> ExitCode {
    differential::exit_code(options(), USAGE, run)
}

/// Whether everything held.
fn run(options: &Options) -> Result<bool, String> {
    let (_own, address) = differential::server_of(options.server.as_deref(), options.program.as_deref()).ok_or(USAGE)?;
    println!("seed {}", options.seed);
    let start = Instant::now();
    let mut totals: BTreeMap<Relation, (u64, u64, u64)> = BTreeMap::new();
    let mut shown: BTreeSet<(Relation, Vec<String>)> = BTreeSet::new();
    let mut round = 0;
    while options.time.map_or(round < options.rounds, |time| start.elapsed() < time) {
        let seed = options.seed.wrapping_add(round);
        // Every other round has tables that are worth a scan in batches and a hash join.
        let mut subject = Subject::new(&address, seed, if round % 2 == 0 { 1 } else { options.factor })?;
        let mut changes = Generator::new(seed ^ 0xC4A2, Vec::new());
        for half in 0..2 {
            let counts = survey(
                &mut subject,
                seed.wrapping_mul(2).wrapping_add(half),
                CHECKS_A_ROUND / 2,
                &options.relations,
                &mut |relation, node, text| {
                    totals.entry(relation).or_default().2 += 1;
                    if shown.insert((relation, node.labels())) {
                        println!("{} (seed {seed}, round {round})\n{text}", relation.name());
                    }
                },
            );
            for (relation, (held, passed_over)) in counts {
                let total = totals.entry(relation).or_default();
                total.0 += held;
                total.1 += passed_over;
            }
            let mut made: Vec<String> = (0..CHANGES_A_ROUND).map(|_| changes.statement(Kind::Changes).text()).collect();
            made.extend((0..ALTERATIONS_A_ROUND).map(|_| changes.alteration()));
            subject.change(&made)?;
        }
        round += 1;
    }
    println!("{:11} {:>8} {:>12} {:>7}", "relation", "held", "passed over", "failed");
    for (relation, (held, passed_over, failed)) in &totals {
        println!("{:11} {held:8} {passed_over:12} {failed:7}", relation.name());
    }
    Ok(totals.values().all(|(_, _, failed)| *failed == 0))
}
