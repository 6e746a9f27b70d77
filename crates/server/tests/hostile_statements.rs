//! Statements of the SQL files with tokens dropped, doubled, swapped and put in from elsewhere: an error or a result, never an internal error, a hang or a broken session.
//! `HOSTILE_SEED` and `HOSTILE_STATEMENTS` make it another run, or a long one.

use env::SplitMix64 as Random;
use harness::{Server, Target, run_all, slt};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::path::Path;

const STATEMENTS: u64 = 6000;
const INTERNAL_ERROR: u16 = 1815;

/// Statements with such words end the server or the session as they should, wait, or change what later sessions need.
const LEFT_OUT: &str = "benchmark completion dumpfile flush get_lock global grant identified install instance kill local mysql outfile password persist release restart \
                        revoke role shutdown sleep user xa";

/// Of those, what would end the server, wait for long or write files: nothing of it is asked anywhere.
const NEVER: &str = "benchmark dumpfile install instance kill local outfile release restart shutdown sleep";

/// Values that functions and clauses get in place of what stands there; between blanks.
const ODD: &str = "NULL 0 -1 18446744073709551615 9223372036854775808 1e308 0.1 '' '2024-02-30' x'ff' DEFAULT * ? @a JSON_ARRAY() ()";

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The statements of a file, without what is expected of them.
fn statements(text: &str) -> Vec<String> {
    let of_block = |block: &str| {
        let mut lines = block.lines().skip_while(|line| !line.starts_with("statement") && !line.starts_with("query")).skip(1);
        let statement: Vec<&str> = lines.by_ref().take_while(|line| !line.starts_with("----")).collect();
        (!statement.is_empty()).then(|| statement.join("\n"))
    };
    text.split("\n\n").filter_map(of_block).collect()
}

/// Quoted texts, words, and single other characters.
fn tokens(statement: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = statement.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '$');
        let length = match first {
            '\'' | '"' | '`' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind.trim_start();
    }
    tokens
}

/// A statement with one or two things wrong.
fn mutated(random: &mut Random, statement: &str, others: &[&str]) -> String {
    let odd: Vec<&str> = ODD.split_whitespace().collect();
    let mut tokens = tokens(statement);
    for _ in 0..1 + random.below(2) {
        let Some(last) = (tokens.len() as u64).checked_sub(1) else { break };
        let at = random.below(last + 1) as usize;
        match random.below(6) {
            0 => drop(tokens.remove(at)),
            1 => tokens.insert(at, tokens[at]),
            2 => tokens.swap(at, random.below(last + 1) as usize),
            3 => tokens[at] = random.pick(others),
            4 => tokens.insert(at, random.pick(others)),
            _ => tokens[at] = random.pick(&odd),
        }
    }
    tokens.join(" ")
}

fn has_one_of(words: &str, statement: &str) -> bool {
    let statement = statement.to_ascii_lowercase();
    words.split_whitespace().any(|word| statement.contains(word))
}

fn is_left_out(statement: &str) -> bool {
    has_one_of(LEFT_OUT, statement)
}

/// The statements of each of the SQL files.
fn files() -> Vec<Vec<String>> {
    let files = slt::files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/sql")).expect("the SQL files");
    files.iter().map(|path| statements(&std::fs::read_to_string(path).expect("a file"))).collect()
}

/// A session with a database of its own. A statement that does not answer within half a minute breaks it.
fn connect(target: &Target) -> Conn {
    let mut connection = target.connect(None).expect("a connection");
    run_all(
        &mut connection,
        &[
            "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1, max_execution_time = 5000",
            "DROP DATABASE IF EXISTS hostile",
            "CREATE DATABASE hostile",
            "USE hostile",
        ],
    );
    connection
}

/// Asks; what is wrong with the answer, if anything.
fn ask(connection: &mut Conn, statement: &str) -> Option<String> {
    match connection.query_drop(statement) {
        Ok(()) => None,
        Err(mysql::Error::MySqlError(error)) if error.code != INTERNAL_ERROR => None,
        Err(error) => Some(format!("{statement}\n  {error}")),
    }
}

#[test]
fn broken_statements_break_nothing() {
    let seed = variable("HOSTILE_SEED").unwrap_or(20_261_121);
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let target = Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]));
    let files: Vec<Vec<String>> = files().into_iter().map(|file| file.into_iter().filter(|s| !is_left_out(s)).collect()).collect();
    let others: Vec<&str> = files.iter().flatten().flat_map(|statement| tokens(statement)).collect();
    let mut left = variable("HOSTILE_STATEMENTS").unwrap_or(STATEMENTS);
    while left > 0 {
        // Where its tables are made as they should, what is wrong comes further.
        let file = &files[random.below(files.len() as u64) as usize];
        let mut connection = connect(&target);
        for statement in file {
            let broken = mutated(&mut random, statement, &others);
            for statement in [&broken, statement] {
                if !is_left_out(statement)
                    && let Some(wrong) = ask(&mut connection, statement)
                {
                    panic!("{wrong}");
                }
            }
            left = left.saturating_sub(1);
        }
        let answer = connection.query_drop("ROLLBACK").and_then(|()| connection.query_first::<u32, _>("SELECT 42"));
        assert!(matches!(answer, Ok(Some(42))), "{answer:?} behind {file:?}");
    }
}

/// Those that the other test leaves out: branches, accounts, variables of the server, locks. What they may do is to shut everybody out, so a server that lets
/// nobody in any more is given up for a new one; but it must say why.
#[test]
fn broken_statements_about_the_server_break_no_more_than_they_say() {
    let seed = variable("HOSTILE_SEED").unwrap_or(20_261_123);
    println!("seed {seed}");
    let mut random = Random::new(seed);
    let files = files();
    let asked = |statement: &&String| is_left_out(statement) && !has_one_of(NEVER, statement);
    let chosen: Vec<&String> = files.iter().flatten().filter(asked).collect();
    let others: Vec<&str> = chosen.iter().flat_map(|statement| tokens(statement)).collect();
    let mut left = variable("HOSTILE_STATEMENTS").unwrap_or(STATEMENTS) / 2;
    let start = || Target::Own(Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]));
    let (mut target, mut servers, mut done) = (start(), 1, 0);
    while left > 0 {
        let mut connection = match target.connect(None) {
            Ok(connection) => connection,
            // Nobody may come in, or not by that name.
            Err(mysql::Error::MySqlError(error)) if error.code != INTERNAL_ERROR => {
                (target, servers) = (start(), servers + 1);
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let _ = connection.query_drop("SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1, max_execution_time = 5000");
        // A session may end up in a branch or behind a lock: a few statements each.
        for _ in 0..8 {
            let whole = chosen[random.below(chosen.len() as u64) as usize];
            left = left.saturating_sub(1);
            // As it should be, too: what is wrong comes further then.
            for statement in [mutated(&mut random, whole, &others), whole.clone()] {
                if has_one_of(NEVER, &statement) {
                    continue;
                }
                match connection.query_drop(&statement) {
                    Ok(()) => done += 1,
                    Err(mysql::Error::MySqlError(error)) if error.code != INTERNAL_ERROR => {}
                    Err(error) => panic!("{statement}\n  {error}"),
                }
            }
        }
    }
    println!("{done} were done, {servers} servers");
}
