//! The program `differential`: random statements to our server and to a reference.

use differential::{Difference, Generator, Kind, Node, Pair, Side, shrink};
use harness::{Server, Target};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: differential --ours HOST:PORT --with HOST:PORT [--seed S] [--minutes M | --statements N] [--kind NAME]
                    [--sql-mode MODE] [--without NAME,NAME…] [--show broken,result,error,warnings,types,texts]
kinds: expressions, queries, changes, paths, joins, windows, with, lateral, rollup, json-tables, sets, collations, ranges, writes, parameters, stores, types (all of them, in turn)";

/// Statements between one change of the tables' definitions and the next.
const STATEMENTS_BETWEEN_ALTERATIONS: u64 = 100;

/// Questions that making one statement smaller may cost.
const SHRINK_TRIES: usize = 300;

struct Options {
    ours: Ours,
    with: String,
    seed: u64,
    limit: Limit,
    kinds: Vec<Kind>,
    sql_mode: Option<String>,
    without: Vec<String>,
    show: Vec<Difference>,
}

/// Our server.
enum Ours {
    Running(String),
    /// The program to start one from.
    Program(String),
}

enum Limit {
    Time(Duration),
    Statements(u64),
}

fn options() -> Option<Options> {
    let mut options = Options {
        ours: Ours::Running(String::new()),
        with: String::new(),
        seed: 1,
        limit: Limit::Statements(3000),
        kinds: Kind::ALL.to_vec(),
        sql_mode: None,
        without: Vec::new(),
        show: Difference::ALL.to_vec(),
    };
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments.next()?;
        match name.as_str() {
            "--ours" => options.ours = Ours::Running(value),
            "--program" => options.ours = Ours::Program(value),
            "--with" => options.with = value,
            "--seed" => options.seed = value.parse().ok()?,
            "--minutes" => options.limit = Limit::Time(Duration::from_secs_f64(value.parse::<f64>().ok()? * 60.0)),
            "--statements" => options.limit = Limit::Statements(value.parse().ok()?),
            "--kind" => options.kinds = vec![Kind::from_name(&value)?],
            "--sql-mode" => options.sql_mode = Some(value),
            "--without" => options.without = value.split(',').map(str::to_owned).collect(),
            "--show" => {
                let wanted: Vec<&str> = value.split(',').collect();
                options.show = Difference::ALL.into_iter().filter(|difference| wanted.contains(&difference.name())).collect();
            }
            _ => return None,
        }
    }
    let nobody = matches!(&options.ours, Ours::Running(address) if address.is_empty());
    (!nobody && !options.with.is_empty()).then_some(options)
}

fn main() -> ExitCode {
    differential::exit_code(options(), USAGE, run)
}

/// Whether the servers agreed everywhere.
fn run(options: &Options) -> Result<bool, String> {
    let ours = match &options.ours {
        Ours::Running(address) => Target::external(address)?,
        Ours::Program(program) => Target::Own(Server::start(program, &[])),
    };
    let side = |target| Side::new(target, options.seed, options.sql_mode.as_deref());
    let mut pair = Pair { ours: side(ours)?, theirs: side(Target::external(&options.with)?)? };
    let mut generator = Generator::new(options.seed, options.without.clone());
    println!("seed {}", options.seed);
    let start = Instant::now();
    let mut asked = 0u64;
    let mut differences: BTreeMap<Difference, u64> = BTreeMap::new();
    let mut seen: BTreeMap<(Difference, Vec<String>), u64> = BTreeMap::new();
    loop {
        let over = match options.limit {
            Limit::Time(time) => start.elapsed() >= time,
            Limit::Statements(count) => asked >= count,
        };
        if over {
            break;
        }
        let kind = options.kinds[asked as usize % options.kinds.len()];
        if kind == Kind::Paths && asked % STATEMENTS_BETWEEN_ALTERATIONS < options.kinds.len() as u64 {
            let alteration = generator.alteration();
            for side in [&mut pair.ours, &mut pair.theirs] {
                side.ask(Kind::Queries, &alteration);
            }
        }
        let statement = generator.statement(kind);
        asked += 1;
        let Some((difference, ..)) = pair.compare(kind, &statement) else { continue };
        *differences.entry(difference).or_default() += 1;
        if !options.show.contains(&difference) {
            continue;
        }
        let small =
            shrink(statement, SHRINK_TRIES, &mut |node: &Node| pair.compare(kind, node).is_some_and(|(found, ..)| found == difference));
        let times = seen.entry((difference, small.labels())).or_default();
        *times += 1;
        if *times > 1 {
            continue;
        }
        if let Some((_, ours, theirs)) = pair.compare(kind, &small) {
            println!(
                "{} (statement {asked})\n  {}\n  ours:   {}\n  theirs: {}",
                difference.name(),
                small.text(),
                brief(&ours),
                brief(&theirs)
            );
        }
    }
    let total: u64 = differences.values().sum();
    println!("{asked} statements, {} alike ({:.2} %)", asked - total, 100.0 * (asked - total) as f64 / asked.max(1) as f64);
    for (difference, count) in &differences {
        let kinds = seen.keys().filter(|(of, _)| of == difference).count();
        println!("  {:9} {count:6}, {kinds} kinds shown", difference.name());
    }
    Ok(total == 0)
}

fn brief(answer: &differential::Answer) -> String {
    let text = format!("{answer:?}");
    match text.char_indices().nth(700) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
