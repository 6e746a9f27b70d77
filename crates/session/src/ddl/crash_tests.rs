//! Each statement of `tests/crashes/ddl.txt` on a simulated disk that fails at each change which the statement makes, and at some of the clean stop after it: after the restart
//! definitions, rows, accounts and kept variables are all as before, or all as after; as after where the client was told so. Then the statement, or what takes it
//! back, goes through. `DDL_CRASH_SEED` replays a run, `DDL_CRASHES=all` tries each change of the clean stop, too, and each of the statement more often.

use super::tests::{Client, Server};
use env::{Disk, FileKind, OpenMode, SimDisk, SplitMix64};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/crashes/ddl.txt");
/// Crashes in the clean stop that are tried of each step.
const CRASHES_OF_STOP: u64 = 3;
/// A start that is cut off makes so many changes at most.
const CHANGES_OF_START: u64 = 12;
/// How often each crash in the statement is tried: what was not synced has another fate each time.
const FATES: usize = 3;
const FATES_OF_LONG_RUN: usize = 20;
const RECOVERED_WAIT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Step {
    setup: Vec<String>,
    statement: String,
    inverse: Vec<String>,
}

/// The world's statements, and the steps of a group.
fn read(group: &str) -> (Vec<String>, Vec<Step>) {
    let text = std::fs::read_to_string(FILE).expect("the steps");
    let (mut world, mut steps, mut step) = (Vec::new(), Vec::new(), Step::default());
    let mut current: Option<String> = None;
    for line in text.lines().chain([""]) {
        let line = line.trim_end();
        match line.split_at_checked(2).unwrap_or((line, "")) {
            ("# " | "#", _) => {}
            ("= ", name) => current = Some(name.to_owned()),
            ("+ ", sql) if current.is_none() => world.push(sql.to_owned()),
            ("+ ", sql) => step.setup.push(sql.to_owned()),
            ("> ", sql) => step.statement = sql.to_owned(),
            ("< ", sql) => step.inverse.push(sql.to_owned()),
            ("", _) => {
                let read = std::mem::take(&mut step);
                if current.as_deref() == Some(group) && !read.statement.is_empty() {
                    steps.push(read);
                }
            }
            (start, _) => {
                assert!(start.starts_with(' '), "{line:?}");
                let last = step.inverse.last_mut().unwrap_or(&mut step.statement);
                last.push_str(line);
            }
        }
    }
    assert!(!steps.is_empty(), "no group {group:?}");
    (world, steps)
}

/// All that is told of a server's definitions and contents: what was asked, and the reply.
type Told = Vec<(String, String)>;

const SYSTEM: &str = "('information_schema', 'mysql', 'performance_schema', 'sys')";

fn told(c: &mut Client) -> Told {
    let mut told = Told::new();
    let mut ask = |sql: String| {
        let reply = c.run(&sql);
        let mut lines: Vec<&str> = reply.lines().collect();
        // Rows come by whichever index there is.
        if sql.starts_with("SELECT *") {
            lines.sort_unstable();
        }
        let reply = lines.join("\n");
        told.push((sql, reply.clone()));
        reply
    };
    for table in
        ["COLUMNS", "KEY_COLUMN_USAGE", "REFERENTIAL_CONSTRAINTS", "TABLE_CONSTRAINTS", "CHECK_CONSTRAINTS", "VIEWS", "COLUMN_STATISTICS"]
    {
        let schema = match table {
            "KEY_COLUMN_USAGE" | "REFERENTIAL_CONSTRAINTS" | "TABLE_CONSTRAINTS" | "CHECK_CONSTRAINTS" => "constraint_schema",
            "COLUMN_STATISTICS" => "schema_name",
            _ => "table_schema",
        };
        ask(format!("SELECT * FROM information_schema.{table} WHERE {schema} NOT IN {SYSTEM}"));
    }
    let columns =
        "table_schema, table_name, non_unique, index_name, seq_in_index, column_name, collation, sub_part, is_visible, expression";
    ask(format!("SELECT {columns} FROM information_schema.STATISTICS WHERE table_schema NOT IN {SYSTEM} ORDER BY 1, 2, 4, 5"));
    let columns =
        "table_schema, table_name, table_type, engine, auto_increment, create_time, table_collation, create_options, table_comment";
    ask(format!("SELECT {columns} FROM information_schema.TABLES WHERE table_schema NOT IN {SYSTEM} ORDER BY 1, 2"));
    for table in [
        "information_schema.USER_PRIVILEGES",
        "information_schema.TABLE_PRIVILEGES",
        "mysql.role_edges",
        "mysql.default_roles",
        "performance_schema.persisted_variables",
    ] {
        ask(format!("SELECT * FROM {table}"));
    }
    for account in ask("SELECT CONCAT(QUOTE(user), '@', QUOTE(host)) FROM mysql.user ORDER BY 1".into()).lines() {
        ask(format!("SHOW CREATE USER {account}"));
        ask(format!("SHOW GRANTS FOR {account}"));
    }
    let databases = ask(format!("SELECT schema_name FROM information_schema.schemata WHERE schema_name NOT IN {SYSTEM} ORDER BY 1"));
    for database in databases.lines() {
        ask(format!("SHOW CREATE DATABASE {database}"));
        for line in ask(format!("SHOW FULL TABLES FROM {database}")).lines() {
            let (name, kind) = line.split_once('|').expect("a name and its kind");
            ask(format!("SELECT * FROM {database}.{name}"));
            if kind == "VIEW" {
                ask(format!("SHOW CREATE VIEW {database}.{name}"));
            } else {
                ask(format!("SHOW CREATE TABLE {database}.{name}"));
                ask(format!("CHECK TABLE {database}.{name}"));
            }
        }
    }
    told
}

/// Where two differ: lines that are there and should not be, and those that should be there.
fn difference(is: &Told, should: &Told) -> String {
    let mut text = String::new();
    let asked: BTreeSet<&String> = is.iter().chain(should).map(|(asked, _)| asked).collect();
    for asked in asked {
        let lines = |told: &Told| -> Vec<String> {
            let reply = told.iter().find(|(other, _)| other == asked).map(|(_, reply)| reply);
            reply.into_iter().flat_map(|reply| reply.lines()).map(str::to_owned).collect()
        };
        let (is, should) = (lines(is), lines(should));
        if is != should {
            text.push_str(&format!("  {asked}\n"));
            is.iter().filter(|line| !should.contains(line)).for_each(|line| text.push_str(&format!("    is there:  {line}\n")));
            should.iter().filter(|line| !is.contains(line)).for_each(|line| text.push_str(&format!("    should be: {line}\n")));
        }
    }
    text
}

fn expect_same(what: impl FnOnce() -> String, is: &Told, should: &Told) -> Result<(), String> {
    if is == should { Ok(()) } else { Err(format!("{}:\n{}", what(), difference(is, should))) }
}

/// A disk with the same files, and other choices.
fn copy_of(disk: &SimDisk, seed: u64) -> Arc<SimDisk> {
    let copy = SimDisk::new(seed);
    copy_directory(disk, &copy, "");
    Arc::new(copy)
}

fn copy_directory(from: &SimDisk, to: &SimDisk, directory: &str) {
    for name in from.list(directory).expect("listed") {
        let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
        let Ok(file) = from.open(&path, OpenMode::Existing, FileKind::Buffered) else {
            to.create_dir_all(&path).expect("a directory");
            copy_directory(from, to, &path);
            continue;
        };
        let mut bytes = vec![0; file.len().expect("a length") as usize];
        file.read_at(&mut bytes, 0).expect("read");
        let copy = to.open(&path, OpenMode::CreateNew, FileKind::Buffered).expect("a file");
        copy.write_at(&bytes, 0).expect("written");
        copy.sync().expect("synced");
    }
    to.sync_dir(directory).expect("synced");
}

/// A session on the database of the world, where there is one.
fn client(server: &Server) -> Client {
    let mut c = server.connect();
    c.run("USE d");
    c
}

fn succeeded(reply: &str) -> bool {
    // Maintenance tells in a row what went wrong.
    !reply.starts_with("error ") && !reply.contains("|Error|")
}

fn run_all(c: &mut Client, statements: &[String]) -> Result<(), String> {
    statements.iter().try_for_each(|sql| run(c, sql))
}

fn run(c: &mut Client, sql: &str) -> Result<(), String> {
    let reply = c.run(sql);
    if succeeded(&reply) { Ok(()) } else { Err(format!("{sql}: {reply}")) }
}

/// Ends a server cleanly; returns its disk.
fn stop(server: Server) -> Arc<SimDisk> {
    server.shared.engine.close(true).expect("a clean stop");
    let Server { disk, shared } = server;
    drop(shared);
    disk
}

/// Begins what a start does beside the service, and waits for it.
fn settle(server: &Server, what: &str) {
    let catalog = &server.shared.catalog;
    let horizon = catalog.orphan_horizon();
    server.shared.engine.start_background().expect("begins");
    server.shared.engine.wait_for_recovered(RECOVERED_WAIT).expect("what was open is rolled back");
    catalog.free_orphans(horizon).expect("orphans are freed");
    assert_eq!(catalog.free_orphans(horizon).expect("looks"), 0, "{what}");
}

/// A step, on the disk that it begins with, and what is told before and after it.
struct Prepared<'s> {
    step: &'s Step,
    base: Arc<SimDisk>,
    before: Told,
    after: Told,
    /// Changes of the disk: of the statement, and with the clean stop after it.
    changes: u64,
    changes_with_stop: u64,
}

impl<'s> Prepared<'s> {
    fn new(step: &'s Step, world: &SimDisk, random: &mut SplitMix64) -> Result<Prepared<'s>, String> {
        let sql = &step.statement;
        let server = Server::on(copy_of(world, random.next()));
        let mut c = client(&server);
        run_all(&mut c, &step.setup)?;
        drop(c);
        // What came before is in the log, or in the pages.
        let base = if random.coin() {
            stop(server)
        } else {
            server.disk.kill();
            Arc::clone(&server.disk)
        };
        let server = Server::on(copy_of(&base, 1));
        let mut c = client(&server);
        let before = told(&mut c);
        let at_first = server.disk.counts().changes;
        run(&mut c, sql)?;
        let changes = server.disk.counts().changes - at_first;
        let shown = told(&mut client(&server));
        drop(c);
        let disk = stop(server);
        let changes_with_stop = disk.counts().changes - at_first;
        let server = Server::on(disk);
        let mut c = client(&server);
        let after = told(&mut c);
        expect_same(|| format!("{sql}: after a restart"), &after, &shown)?;
        if before == after {
            return Err(format!("{sql} changes nothing"));
        }
        run_all(&mut c, &step.inverse)?;
        expect_same(|| format!("{sql} and back again"), &told(&mut c), &before)?;
        Ok(Prepared { step, base, before, after, changes, changes_with_stop })
    }

    /// The disk fails at a change. Whether the statement was done.
    fn crash(&self, at: u64, seed: u64) -> Result<bool, String> {
        let sql = &self.step.statement;
        let what = format!("{sql}: crash at change {at} of {}, {} with the stop, seed {seed}", self.changes, self.changes_with_stop);
        let mut random = SplitMix64::new(seed);
        let server = Server::on(copy_of(&self.base, random.next()));
        let mut c = client(&server);
        server.disk.crash_at(at);
        let reply = c.run(sql);
        let acknowledged = succeeded(&reply);
        if !acknowledged && !server.disk.is_down() {
            return Err(format!("{what}: {reply}"));
        }
        if acknowledged {
            // The crash may come here.
            let _ = server.shared.engine.close(true);
        }
        // The session dies with the server: it puts nothing away first.
        server.disk.crash_at(1);
        drop(c);
        let Server { disk, shared } = server;
        drop(shared);
        let crash = |random: &mut SplitMix64| match random.below(4) {
            0 => disk.kill(),
            _ => drop(disk.crash()),
        };
        crash(&mut random);
        if random.below(4) == 0 {
            disk.crash_at(1 + random.below(CHANGES_OF_START));
            drop(Server::try_on(Arc::clone(&disk)));
            crash(&mut random);
        }
        let server = Server::on(disk);
        settle(&server, &what);
        let mut c = client(&server);
        let now = told(&mut c);
        let done = now == self.after;
        let (next, end) = match done {
            true => (self.step.inverse.as_slice(), &self.before),
            false => (std::slice::from_ref(sql), &self.after),
        };
        if !done {
            let to_after = || difference(&now, &self.after);
            expect_same(
                || format!("{what}: half done. It differs from what should come:\n{}and from what was before", to_after()),
                &now,
                &self.before,
            )?;
            if acknowledged {
                return Err(format!("{what}: told that it was done, and it is not"));
            }
        }
        run_all(&mut c, next).map_err(|error| format!("{what}, done: {done}; then {error}"))?;
        expect_same(|| format!("{what}, done: {done}; then {next:?} has another end"), &told(&mut c), end)?;
        drop(c);
        stop(server);
        Ok(done)
    }

    /// All the crashes; how many left the statement undone, and done.
    fn crashes(&self, random: &mut SplitMix64, all: bool) -> Result<[u32; 2], String> {
        let (of_statement, last) = (self.changes, self.changes_with_stop);
        let of_stop: Vec<u64> = match all {
            true => (of_statement + 1..=last).collect(),
            false => (0..CRASHES_OF_STOP.min(last - of_statement)).map(|_| of_statement + 1 + random.below(last - of_statement)).collect(),
        };
        let fates = if all { FATES_OF_LONG_RUN } else { FATES };
        // And at the first change after it: there is what it has not waited for.
        let in_statement = (1..=of_statement + 1).flat_map(|at| std::iter::repeat_n(at, fates));
        let mut counts = [0; 2];
        for at in in_statement.chain(of_stop) {
            counts[usize::from(self.crash(at, random.next())?)] += 1;
        }
        Ok(counts)
    }
}

fn seed() -> u64 {
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let seed = std::env::var("DDL_CRASH_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(fresh);
    println!("replay: DDL_CRASH_SEED={seed}");
    seed
}

fn crash_at_each_change_of(group: &str) {
    let mut random = SplitMix64::new(seed());
    let all = std::env::var("DDL_CRASHES").is_ok_and(|text| text == "all");
    let (world, steps) = read(group);
    let server = Server::new();
    run_all(&mut server.connect(), &world).expect("the world is made");
    let world = stop(server);
    let (mut undone, mut done, mut failures) = (0, 0, Vec::new());
    for step in &steps {
        match Prepared::new(step, &world, &mut random).and_then(|prepared| prepared.crashes(&mut random, all)) {
            Ok(counts) => (undone, done) = (undone + counts[0], done + counts[1]),
            Err(failure) => failures.push(failure),
        }
    }
    assert!(failures.is_empty(), "{} of {} statements:\n\n{}", failures.len(), steps.len(), failures.join("\n"));
    println!("{group}: {} statements, {done} crashes after which they were done, {undone} after which they were not", steps.len());
    assert!(done > 0 && undone > 0, "{done} done, {undone} not");
}

#[test]
fn views_are_changed_or_not() {
    crash_at_each_change_of("views");
}

#[test]
fn foreign_keys_are_changed_or_not() {
    crash_at_each_change_of("foreign keys");
}

#[test]
fn checks_indexes_and_generated_columns_are_changed_or_not() {
    crash_at_each_change_of("checks, indexes, generated columns");
}

#[test]
fn tables_are_altered_or_not() {
    crash_at_each_change_of("alter");
}

#[test]
fn tables_are_made_moved_and_dropped_or_not() {
    crash_at_each_change_of("tables");
}

#[test]
fn databases_are_changed_or_not() {
    crash_at_each_change_of("databases");
}

#[test]
fn accounts_are_changed_or_not() {
    crash_at_each_change_of("accounts");
}

#[test]
fn variables_and_histograms_are_kept_or_not() {
    crash_at_each_change_of("variables and histograms");
}
