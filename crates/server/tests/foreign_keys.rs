//! Foreign keys: random changes against a naive model, and sessions at once, which never leave a row that refers to nothing.
//!
//! `SEED=N` repeats a run. `ALTIPLANO_TEST_SERVER=HOST:PORT` asks a server that runs already (a MySQL) what the model says.

use env::SplitMix64;
use harness::{Server, Target, code};
use mysql::prelude::Queryable;
use std::collections::BTreeMap;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const PROGRAM: &str = env!("CARGO_BIN_EXE_altiplano");

fn seed() -> u64 {
    let seed = std::env::var("SEED").ok().and_then(|text| text.parse().ok());
    let seed =
        seed.unwrap_or_else(|| std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64));
    eprintln!("SEED={seed}");
    seed
}

fn below(random: &mut SplitMix64, count: u64) -> u64 {
    random.next() % count
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Action {
    Restrict,
    Cascade,
    SetNull,
}

impl Action {
    const ALL: [Action; 3] = [Action::Restrict, Action::Cascade, Action::SetNull];

    fn words(self) -> &'static str {
        match self {
            Action::Restrict => "RESTRICT",
            Action::Cascade => "CASCADE",
            Action::SetNull => "SET NULL",
        }
    }
}

/// A key of `table`'s column, which refers to the ids of `parent`.
#[derive(Clone, Copy, Debug)]
struct Key {
    table: usize,
    column: usize,
    parent: usize,
    on_delete: Action,
    on_update: Action,
}

const TABLES: [&str; 3] = ["a", "b", "p"];
/// Columns beside the id, and what they refer to.
const COLUMNS: [&[(&str, usize)]; 3] = [&[("x", 2), ("y", 2)], &[("x", 0), ("y", 2)], &[("x", 2)]];
const DEPTH_MAX: usize = 15;

type Row = Vec<Option<i64>>;

/// Tables by position: rows by id. Every change is done row by row, as slowly as it comes.
#[derive(Clone)]
struct Model {
    keys: Vec<Key>,
    rows: [BTreeMap<i64, Row>; 3],
}

type Chain = Vec<(usize, i64, bool)>;

impl Model {
    fn children(&self, table: usize) -> Vec<Key> {
        self.keys.iter().copied().filter(|key| key.parent == table).collect()
    }

    fn referring(&self, key: &Key, id: i64) -> Vec<i64> {
        self.rows[key.table].iter().filter(|(_, row)| row[key.column] == Some(id)).map(|(id, _)| *id).collect()
    }

    fn check_parents(&self, table: usize, id: i64, row: &Row, but: Option<usize>, before: Option<&Row>) -> Result<(), u16> {
        for key in self.keys.iter().filter(|key| key.table == table) {
            let unchanged = before.is_some_and(|before| before[key.column] == row[key.column]);
            if but == Some(key.column) || unchanged {
                continue;
            }
            if let Some(wanted) = row[key.column]
                && !self.rows[key.parent].contains_key(&wanted)
                && !(key.parent == table && wanted == id)
            {
                return Err(1452);
            }
        }
        Ok(())
    }

    fn insert(&mut self, table: usize, id: i64, row: Row) -> Result<(), u16> {
        self.check_parents(table, id, &row, None, None)?;
        if self.rows[table].contains_key(&id) {
            return Err(1062);
        }
        self.rows[table].insert(id, row);
        Ok(())
    }

    fn enter(chain: &mut Chain, link: (usize, i64, bool)) -> Result<(), u16> {
        if chain.len() == DEPTH_MAX {
            return Err(3008);
        }
        chain.push(link);
        Ok(())
    }

    fn delete(&mut self, table: usize, id: i64, chain: &mut Chain) -> Result<(), u16> {
        if !self.rows[table].contains_key(&id) {
            return Ok(());
        }
        Self::enter(chain, (table, id, false))?;
        for key in self.children(table) {
            let referring = self.referring(&key, id);
            if key.on_delete == Action::Restrict && !referring.is_empty() {
                return Err(1451);
            }
            for child in referring {
                if chain.iter().any(|(table, id, _)| (*table, *id) == (key.table, child)) {
                    continue;
                }
                match key.on_delete {
                    Action::Cascade => self.delete(key.table, child, chain)?,
                    _ => self.set(&key, child, None, chain)?,
                }
            }
        }
        chain.pop();
        self.rows[table].remove(&id);
        Ok(())
    }

    fn set(&mut self, key: &Key, child: i64, value: Option<i64>, chain: &mut Chain) -> Result<(), u16> {
        let Some(before) = self.rows[key.table].get(&child).cloned() else { return Ok(()) };
        let mut after = before.clone();
        after[key.column] = value;
        self.update(key.table, child, child, after, Some(key.column), chain)
    }

    fn update(&mut self, table: usize, id: i64, new_id: i64, row: Row, by: Option<usize>, chain: &mut Chain) -> Result<(), u16> {
        let before = self.rows[table][&id].clone();
        self.check_parents(table, new_id, &row, by, Some(&before))?;
        Self::enter(chain, (table, id, true))?;
        for key in self.children(table).into_iter().filter(|_| id != new_id) {
            let referring = self.referring(&key, id);
            let again = chain.iter().any(|(table, _, is_update)| *is_update && *table == key.table);
            if (key.on_update == Action::Restrict || again) && !referring.is_empty() {
                return Err(1451);
            }
            for child in referring {
                self.set(&key, child, (key.on_update == Action::Cascade).then_some(new_id), chain)?;
            }
        }
        chain.pop();
        if id != new_id && self.rows[table].contains_key(&new_id) {
            return Err(1062);
        }
        self.rows[table].remove(&id);
        self.rows[table].insert(new_id, row);
        Ok(())
    }
}

fn sql(value: Option<i64>) -> String {
    value.map_or("NULL".into(), |value| value.to_string())
}

/// One schema with random actions and some hundred random changes.
fn model_round(c: &mut mysql::Conn, random: &mut SplitMix64, steps: usize) {
    c.query_drop("DROP DATABASE IF EXISTS altiplano_fk; CREATE DATABASE altiplano_fk; USE altiplano_fk").expect("made");
    let mut keys = Vec::new();
    for table in [2, 0, 1] {
        let mut text = format!("CREATE TABLE {} (id INT PRIMARY KEY", TABLES[table]);
        for (column, (name, parent)) in COLUMNS[table].iter().enumerate() {
            let mut any = || Action::ALL[below(random, 3) as usize];
            let key = Key { table, column, parent: *parent, on_delete: any(), on_update: any() };
            let (delete, update, parent) = (key.on_delete.words(), key.on_update.words(), TABLES[*parent]);
            text += &format!(
                ", {name} INT, CONSTRAINT {}_{name} FOREIGN KEY ({name}) REFERENCES {parent} (id) ON DELETE {delete} ON UPDATE {update}",
                TABLES[table]
            );
            keys.push(key);
        }
        c.query_drop(text + ")").expect("made");
    }
    keys.sort_by_key(|key| (key.table, key.column));
    let mut model = Model { keys, rows: Default::default() };
    for _ in 0..steps {
        let table = below(random, 3) as usize;
        let id = below(random, 8) as i64;
        let mut value = || (below(random, 4) > 0).then(|| below(random, 8) as i64);
        let row: Row = COLUMNS[table].iter().map(|_| value()).collect();
        let mut next = model.clone();
        let (statement, expected) = match below(random, 10) {
            0..=4 => {
                let values: Vec<String> = row.iter().map(|value| sql(*value)).collect();
                (format!("INSERT INTO {} VALUES ({id}, {})", TABLES[table], values.join(", ")), next.insert(table, id, row))
            }
            5..=6 => (format!("DELETE FROM {} WHERE id = {id}", TABLES[table]), next.delete(table, id, &mut Chain::new())),
            7 => {
                let statement = format!("UPDATE {} SET x = {} WHERE id = {id}", TABLES[table], sql(row[0]));
                let mut after = next.rows[table].get(&id).cloned();
                let result = match &mut after {
                    None => Ok(()),
                    Some(after) => {
                        after[0] = row[0];
                        next.update(table, id, id, after.clone(), None, &mut Chain::new())
                    }
                };
                (statement, result)
            }
            _ => {
                let new_id = below(random, 8) as i64;
                let statement = format!("UPDATE {} SET id = {new_id} WHERE id = {id}", TABLES[table]);
                let result = match next.rows[table].get(&id).cloned() {
                    Some(row) => next.update(table, id, new_id, row, None, &mut Chain::new()),
                    None => Ok(()),
                };
                (statement, result)
            }
        };
        let answer = c.query_drop(&statement).map_err(|error| code(&error));
        // Where two of a chain's errors are possible the model's order counts for nothing: that it fails does.
        assert_eq!(
            answer.is_ok(),
            expected.is_ok(),
            "{statement}: {answer:?}, the model says {expected:?}\n{:?}\n{:?}",
            model.keys,
            model.rows
        );
        if expected.is_ok() {
            model = next;
        }
        for (table, name) in TABLES.iter().enumerate() {
            let columns: Vec<&str> = COLUMNS[table].iter().map(|(name, _)| *name).collect();
            let rows: Vec<mysql::Row> = c.query(format!("SELECT id, {} FROM {name} ORDER BY id", columns.join(", "))).expect("reads");
            let read = |row: mysql::Row| {
                (row.get::<i64, _>(0).expect("id"), (1..=columns.len()).map(|at| row.get::<Option<i64>, _>(at).expect("column")).collect())
            };
            let rows: BTreeMap<i64, Row> = rows.into_iter().map(read).collect();
            assert_eq!(rows, model.rows[table], "{name} after {statement}\n{:?}", model.keys);
        }
    }
}

#[test]
fn random_changes_do_what_a_naive_model_does() {
    let mut random = SplitMix64::new(seed());
    let (target, rounds) = match std::env::var("ALTIPLANO_TEST_SERVER") {
        Ok(address) => (Target::external(&address).unwrap_or_else(|why| panic!("{why}")), 4),
        Err(_) => (Target::Own(Server::start(PROGRAM, &[])), 12),
    };
    let mut c = target.connect(None).expect("connects");
    for _ in 0..rounds {
        model_round(&mut c, &mut random, 250);
    }
    c.query_drop("DROP DATABASE altiplano_fk").expect("dropped");
}

/// What sessions may be told that lose against others, or against a key.
const EXPECTED: [u16; 8] = [1451, 1452, 1213, 1205, 1062, 1761, 3008, 1020];

/// A random transaction; how many rows its statements told that they changed.
fn transaction(c: &mut mysql::Conn, random: &mut SplitMix64) -> Result<u64, mysql::Error> {
    let mut changed = 0;
    let level = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"][below(random, 4) as usize];
    c.query_drop(format!("SET TRANSACTION ISOLATION LEVEL {level}"))?;
    c.query_drop("BEGIN")?;
    // A row that the statement before has locked moves next.
    let mut held = None;
    for _ in 0..1 + below(random, 4) {
        let (id, parent, child, other) = (below(random, 200), below(random, 6), below(random, 40), below(random, 40));
        let choice = if held.is_some() { 15 } else { below(random, 19) };
        let statement = match choice {
            0..=1 => format!("INSERT IGNORE INTO p VALUES ({parent}, {parent})"),
            2..=3 => format!("DELETE FROM p WHERE id = {parent}"),
            4 => format!("UPDATE p SET u = {} WHERE id = {parent}", 10 + below(random, 6)),
            5 => format!("REPLACE INTO p VALUES ({parent}, {})", below(random, 6)),
            6..=7 => format!("INSERT INTO restricted VALUES ({id}, {parent})"),
            8..=9 => format!("INSERT INTO cascaded VALUES ({child}, {parent})"),
            10 => format!("INSERT INTO cleared VALUES ({id}, {parent})"),
            11 => format!("INSERT INTO grandchild VALUES ({id}, {child})"),
            12 => format!("UPDATE cascaded SET pid = {parent} WHERE id = {child}"),
            13 => format!("DELETE FROM restricted WHERE id = {id} OR pid = {parent}"),
            14 => format!("DELETE FROM cascaded WHERE id = {child}"),
            15 => format!("UPDATE cascaded SET id = {other} WHERE id = {}", held.take().unwrap_or(child)),
            16 => format!("UPDATE restricted SET id = {id} WHERE pid = {parent} LIMIT 1"),
            _ => format!("SELECT id FROM cascaded WHERE id = {} FOR UPDATE", *held.insert(child)),
        };
        match c.query_drop(statement) {
            Err(mysql::Error::MySqlError(error)) if EXPECTED.contains(&error.code) => {
                if error.code == 1213 {
                    return Ok(changed);
                }
            }
            other => {
                other?;
                changed += c.affected_rows();
            }
        }
    }
    c.query_drop(if below(random, 4) == 0 { "ROLLBACK" } else { "COMMIT" }).map(|()| changed)
}

/// Rows that refer to nothing, table by table.
fn orphans(c: &mut mysql::Conn) -> Result<Vec<(String, i64)>, mysql::Error> {
    let mut found = Vec::new();
    for (child, column, parent, parent_column) in [
        ("restricted", "pid", "p", "id"),
        ("cascaded", "pid", "p", "id"),
        ("cleared", "pu", "p", "u"),
        ("grandchild", "cid", "cascaded", "id"),
    ] {
        let query = format!(
            "SELECT child.id FROM {child} child LEFT JOIN {parent} parent ON child.{column} = parent.{parent_column} WHERE child.{column} IS NOT NULL AND parent.{parent_column} IS NULL"
        );
        found.extend(c.query::<i64, _>(query)?.into_iter().map(|id| (child.to_owned(), id)));
    }
    Ok(found)
}

#[test]
fn sessions_at_once_leave_no_row_that_refers_to_nothing() {
    let seed = seed();
    let mut server = Server::start(PROGRAM, &[]);
    server
        .connect()
        .query_drop(
            "CREATE DATABASE d; USE d;
            CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE);
            CREATE TABLE restricted (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id));
            CREATE TABLE cascaded (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE);
            CREATE TABLE cleared (id INT PRIMARY KEY, pu INT, FOREIGN KEY (pu) REFERENCES p (u) ON DELETE SET NULL ON UPDATE CASCADE);
            CREATE TABLE grandchild (id INT PRIMARY KEY, cid INT, FOREIGN KEY (cid) REFERENCES cascaded (id) ON DELETE CASCADE ON UPDATE CASCADE)",
        )
        .expect("made");
    for round in 0..3 {
        let (done, changed, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let _stop = sync::SetAtEnd(&stop);
            for number in 0..6 {
                let (options, done, changed, stop) = (server.options(Some("d")), &done, &changed, &stop);
                scope.spawn(move || {
                    let mut random = SplitMix64::new(seed ^ (round << 32) ^ number);
                    let mut c = mysql::Conn::new(options).expect("connects");
                    c.query_drop("SET innodb_lock_wait_timeout = 2").expect("set");
                    while !stop.load(Ordering::Relaxed) {
                        match transaction(&mut c, &mut random) {
                            Ok(rows) => {
                                changed.fetch_add(rows, Ordering::Relaxed);
                                done.fetch_add(1, Ordering::Relaxed)
                            }
                            Err(mysql::Error::MySqlError(error)) => panic!("{error}"),
                            // Killed.
                            Err(_) => return,
                        };
                    }
                });
            }
            // No snapshot shows one, not even one that a later row makes good.
            let (options, done, stop) = (server.options(Some("d")), &done, &stop);
            let watch = move || {
                let mut c = mysql::Conn::new(options).expect("connects");
                while !stop.load(Ordering::Relaxed) {
                    match orphans(&mut c) {
                        Ok(found) => assert!(found.is_empty(), "round {round}, SEED={seed}, after {done:?} transactions: {found:?}"),
                        Err(_) => return,
                    }
                }
            };
            let watcher = scope.spawn(watch);
            harness::until("the sessions have done much", || done.load(Ordering::Relaxed) > 2500 || watcher.is_finished());
            if round == 1 {
                server.kill();
            }
        });
        if round == 1 {
            server.restart();
        }
        let mut c = server.connect();
        c.query_drop("USE d").expect("used");
        let found = orphans(&mut c).expect("reads");
        if !found.is_empty() {
            // Whether they are there, or only one query saw them.
            let mut other = mysql::Conn::new(server.options(Some("d"))).expect("connects");
            let again = [orphans(&mut c), orphans(&mut other)].map(|found| found.expect("reads"));
            let mut rows = |sql: &str| c.query::<(i64, Option<i64>), _>(sql).expect("reads");
            let tables = [rows("SELECT id, u FROM p"), rows("SELECT id, pid FROM cascaded"), rows("SELECT id, cid FROM grandchild")];
            let checked: Vec<(String, String, String, String)> =
                c.query("CHECK TABLE p, restricted, cascaded, cleared, grandchild").expect("checked");
            panic!("round {round}, SEED={seed}: {found:?}, then {again:?}; p, cascaded, grandchild {tables:?}; {checked:?}");
        }
        assert!(changed.into_inner() > 0, "nothing was written");
    }
    assert_eq!(server.stop(), Some(0));
    let output = Command::new(PROGRAM).arg("check").arg(server.data_dir()).output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
