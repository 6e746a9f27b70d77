//! VIRTUAL columns that come without touching rows, beside random changes of rows: each shows what its expression gives, and an index over it finds what a
//! scan finds. `VIRTUAL_SEED` replays a run.

use super::tests::{Client, Server};
use env::SplitMix64;
use std::sync::Arc;

/// A VIRTUAL column, or a functional index.
struct Virtual {
    name: String,
    /// Its value by the columns that are no VIRTUAL ones.
    value: String,
    is_text: bool,
    /// The VIRTUAL column that its definition names.
    reads: Option<String>,
    index: Option<String>,
    /// An index on the expression, without a column.
    functional: bool,
}

struct World {
    server: Server,
    c: Client,
    random: SplitMix64,
    columns: Vec<Virtual>,
    plain: Vec<String>,
    next: u32,
    said: Vec<String>,
}

impl World {
    fn new(seed: u64) -> World {
        let server = Server::new();
        let mut c = server.connect();
        for sql in [
            "CREATE DATABASE d",
            "USE d",
            "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c INT NOT NULL, s TEXT)",
            "INSERT INTO t VALUES (1, 1, 'one', 10, 'x'), (2, NULL, 'two', 20, NULL), (3, 3, NULL, 30, REPEAT('long', 5000)), (4, 4, 'four', 40, '')",
        ] {
            c.ok(sql);
        }
        let (columns, plain, said) = (Vec::new(), Vec::new(), Vec::new());
        World { server, c, random: SplitMix64::new(seed), columns, plain, next: 0, said }
    }

    fn say(&mut self, sql: &str) {
        self.said.push(sql.to_owned());
        let reply = self.c.run(sql);
        assert!(!reply.starts_with("error"), "{reply}\nafter\n{}", self.said.join(";\n"));
    }

    fn fresh(&mut self, letter: char) -> String {
        self.next += 1;
        format!("{letter}{}", self.next)
    }

    fn below(&mut self, n: usize) -> usize {
        self.random.below(n as u64) as usize
    }

    fn place(&mut self) -> &'static str {
        ["", "", " FIRST", " AFTER id"][self.below(4)]
    }

    fn add(&mut self) {
        let (value, is_text) = [
            ("a + 1", false),
            ("c * 3 - IFNULL(a, 7)", false),
            ("CONCAT(b, '-', c)", true),
            ("LEFT(s, 3)", true),
            ("IFNULL(a, c) % 7", false),
            ("CHAR_LENGTH(s)", false),
        ][self.below(6)];
        let name = self.fresh('v');
        let numbers: Vec<usize> =
            (0..self.columns.len()).filter(|no| !self.columns[*no].is_text && !self.columns[*no].functional).collect();
        let (text, value, is_text, reads) = if !numbers.is_empty() && self.below(3) == 0 {
            let at = numbers[self.below(numbers.len())];
            let on = &self.columns[at];
            (format!("{} + 100", on.name), format!("({}) + 100", on.value), false, Some(on.name.clone()))
        } else {
            (value.to_owned(), value.to_owned(), is_text, None)
        };
        // A generated column comes behind what it reads.
        let place = if reads.is_some() { "" } else { self.place() };
        let ty = if is_text { "VARCHAR(40)" } else { "BIGINT" };
        let with_index = self.below(4) == 0;
        let index = with_index.then(|| self.fresh('k'));
        let key = index.as_ref().map_or(String::new(), |index| format!(", ADD INDEX {index} ({name})"));
        self.say(&format!("ALTER TABLE t ADD COLUMN {name} {ty} AS ({text}) VIRTUAL{place}{key}"));
        self.columns.push(Virtual { name, value, is_text, reads, index, functional: false });
    }

    fn change_definition(&mut self) {
        match self.below(9) {
            0..3 => self.add(),
            3 => {
                let name = self.fresh('f');
                let value = ["a * 2", "c - 5"][self.below(2)];
                self.say(&format!("ALTER TABLE t ADD INDEX {name} (({value}))"));
                self.columns.push(Virtual {
                    name: name.clone(),
                    value: value.into(),
                    is_text: false,
                    reads: None,
                    index: Some(name),
                    functional: true,
                });
            }
            4 => {
                let free: Vec<usize> = (0..self.columns.len()).filter(|no| self.columns[*no].index.is_none()).collect();
                if let Some(at) = (!free.is_empty()).then(|| free[self.below(free.len())]) {
                    let (index, name) = (self.fresh('k'), self.columns[at].name.clone());
                    self.say(&format!("ALTER TABLE t ADD INDEX {index} ({name}), ALGORITHM=INPLACE, LOCK=NONE"));
                    self.columns[at].index = Some(index);
                }
            }
            5 => {
                let free: Vec<usize> = (0..self.columns.len())
                    .filter(|no| self.columns.iter().all(|other| other.reads.as_ref() != Some(&self.columns[*no].name)))
                    .collect();
                if let Some(at) = (!free.is_empty()).then(|| free[self.below(free.len())]) {
                    let gone = self.columns.remove(at);
                    let what = if gone.functional { "INDEX" } else { "COLUMN" };
                    self.say(&format!("ALTER TABLE t DROP {what} {}", gone.name));
                }
            }
            6 => {
                let (name, place) = (self.fresh('p'), self.place());
                self.say(&format!("ALTER TABLE t ADD COLUMN {name} INT DEFAULT 5{place}"));
                self.plain.push(name);
            }
            7 if !self.plain.is_empty() => {
                let at = self.below(self.plain.len());
                let name = self.plain.remove(at);
                self.say(&format!("ALTER TABLE t DROP COLUMN {name}"));
            }
            _ => {}
        }
    }

    fn change_rows(&mut self) {
        let (id, n) = (self.below(30), self.below(1000));
        let long = if self.below(5) == 0 { "REPEAT('z', 9000)" } else { "'short'" };
        match self.below(8) {
            0..3 => self.say(&format!("REPLACE INTO t (id, a, b, c, s) VALUES ({id}, {n}, 'b{n}', {n}, {long})")),
            3 => self.say(&format!("UPDATE t SET c = {n} WHERE id = {id}")),
            4 => self.say(&format!("UPDATE t SET a = NULL, s = {long} WHERE id % 5 = {}", id % 5)),
            5 => self.say(&format!("DELETE FROM t WHERE id = {id}")),
            6 => {
                self.say("BEGIN");
                self.say(&format!("UPDATE t SET a = {n}, c = c + 1, b = UPPER(b)"));
                self.say(&format!("DELETE FROM t WHERE id > {id}"));
                self.say("ROLLBACK");
            }
            _ => {
                self.say(&format!("INSERT INTO t (id, c) VALUES ({id}, {n}) ON DUPLICATE KEY UPDATE a = {n}"));
            }
        }
    }

    /// The server dies, in the middle of a transaction, and comes back.
    fn kill(mut self) -> World {
        self.say("BEGIN");
        self.change_rows();
        self.said.push("-- kill".into());
        let World { server, c, random, columns, plain, next, said } = self;
        server.disk.kill();
        drop(c);
        let Server { disk, shared } = server;
        drop(shared);
        let server = Server::on(Arc::clone(&disk));
        server.shared.engine.start_background().expect("begins");
        server.shared.engine.wait_for_recovered(std::time::Duration::from_secs(60)).expect("what was open is rolled back");
        let mut c = server.connect();
        c.ok("USE d");
        World { server, c, random, columns, plain, next, said }
    }

    fn check(&mut self) {
        let all = self.c.run("SELECT COUNT(*) FROM t");
        for column in &self.columns {
            let Virtual { name, value, index, functional, .. } = column;
            let mut ask = |sql: String, expected: &str| {
                let reply = self.c.run(&sql);
                assert_eq!(reply, expected, "{sql}\nafter\n{}", self.said.join(";\n"));
            };
            if !functional {
                ask(format!("SELECT COUNT(*) FROM t IGNORE INDEX FOR JOIN (PRIMARY) WHERE {name} <=> ({value})"), &all);
                ask(format!("SELECT id, {name} FROM t WHERE NOT ({name} <=> ({value})) ORDER BY {name}"), "");
            }
            if let Some(index) = index {
                let shown = if *functional { value } else { name };
                let scanned = self.c.run(&format!("SELECT id, {value} FROM t IGNORE INDEX ({index}) WHERE ({value}) > '' ORDER BY id"));
                let found = self.c.run(&format!("SELECT id, {shown} FROM t FORCE INDEX ({index}) WHERE {shown} > '' ORDER BY id"));
                assert_eq!(found, scanned, "{index}\nafter\n{}", self.said.join(";\n"));
            }
        }
        let checked = self.c.run("CHECK TABLE t");
        assert!(checked.ends_with("|OK"), "{checked}\nafter\n{}", self.said.join(";\n"));
    }
}

#[test]
fn virtual_columns_of_older_rows_show_what_their_expressions_give() {
    let seed = std::env::var("VIRTUAL_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_122);
    println!("replay: VIRTUAL_SEED={seed}");
    for run in 0..6 {
        let mut world = World::new(seed + run);
        for step in 0..60 {
            match world.below(12) {
                0..4 if world.columns.len() < 12 => world.change_definition(),
                11 if step % 3 == 0 => world = world.kill(),
                _ => world.change_rows(),
            }
            world.check();
        }
    }
}
