//! Whole statements of one session, from a packet's payload to the reply in the packet buffer.

use crate::client::{Client, connect, open};
use crate::inserts;
use crate::pages;
use crate::window::{Random, count_apart, count_rows};
use engine::Engine;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

/// Rows of the table, which is sysbench's.
pub const ROWS: u64 = 10_000;

/// Counts all statements; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (engine, service) = open(directory);
    let client = RefCell::new(connect(&service));
    load(&mut client.borrow_mut());
    selects(&client);
    changes(&client, &engine);
    transactions(&client);
    lookups(&client);
    unique_changes(&client, &engine);
    scans(&client);
    plans(&client);
    inserts::run(&client, &engine);
    lists(&client);
    pages::run(&client);
}

fn load(client: &mut Client) {
    client.run("CREATE DATABASE sbtest");
    client.run("USE sbtest");
    client.run(
        "CREATE TABLE sbtest1 (id INT NOT NULL AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
         pad CHAR(60) NOT NULL DEFAULT '', PRIMARY KEY (id), KEY k_1 (k))",
    );
    let mut random = Random::new(1);
    for first in (1..=ROWS).step_by(100) {
        let rows: Vec<String> = (first..first + 100)
            .map(|id| format!("({id},{},'{}','{}')", random.below(ROWS) + 1, text(&mut random, 10), text(&mut random, 5)))
            .collect();
        client.run(&format!("INSERT INTO sbtest1 (id, k, c, pad) VALUES {}", rows.join(",")));
    }
}

/// Groups of eleven digits with dashes between, as sysbench makes them.
pub fn text(random: &mut Random, groups: usize) -> String {
    let group = |_| format!("{:011}", random.below(1 << 30) * 93 % 100_000_000_000);
    (0..groups).map(group).collect::<Vec<_>>().join("-")
}

fn selects(client: &RefCell<Client>) {
    let mut random = Random::new(2);
    // Literals of equal length, so that no key costs a digit more than another.
    let text = |_| client.borrow_mut().text(&format!("SELECT c FROM sbtest1 WHERE id={:05}", random.below(ROWS) + 1));
    count_apart("point_select_text", 1000, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("point select");

    // As frameworks find an object by its id.
    let text = |_| client.borrow_mut().text(&format!("SELECT c FROM sbtest1 WHERE id={:05} LIMIT 1", random.below(ROWS) + 1));
    count_apart("point_select_limit_text", 1000, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("point select with a limit");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id=?");
    let mut random = Random::new(3);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("point_select_prepared", 1000, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("point select");

    // As frameworks ask whose it is, and whether it was deleted.
    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id=? AND pad IS NOT NULL AND k>?");
    let mut random = Random::new(25);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1, 0], &[]);
    count_apart("point_select_filtered_prepared", 1000, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("point select with a condition");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?");
    let mut random = Random::new(4);
    let range = |_| {
        let first = random.below(ROWS - 100) as u32 + 1;
        client.borrow_mut().execution(statement, &[first, first + 99], &[]);
    };
    count_apart("range_of_100_prepared", 100, range, |_| client.borrow_mut().answer());
}

/// What changes rows. Purge runs in between, as it does beside a server's writers: they do its work only where it is behind.
fn changes(client: &RefCell<Client>, engine: &Arc<Engine>) {
    let statement = client.borrow_mut().prepare("UPDATE sbtest1 SET k=k+1 WHERE id=?");
    let mut random = Random::new(5);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("update_index_prepared", 1000, purged(engine, execution), |_| client.borrow_mut().answer());
    client.borrow().succeeded("update");

    let mut random = Random::new(6);
    let mut value = Random::new(7);
    let update = |_| {
        let sql = format!("UPDATE sbtest1 SET c='{}' WHERE id={:05}", text(&mut value, 10), random.below(ROWS) + 1);
        client.borrow_mut().text(&sql);
    };
    count_apart("update_non_index_text", 1000, purged(engine, update), |_| client.borrow_mut().answer());
    client.borrow().succeeded("update");

    let statement = client.borrow_mut().prepare("INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)");
    let mut random = Random::new(8);
    let insert = |n| {
        let (c, pad) = (text(&mut random, 10), text(&mut random, 5));
        let numbers = [(ROWS + 1 + n) as u32, random.below(ROWS) as u32 + 1];
        client.borrow_mut().execution(statement, &numbers, &[&c, &pad]);
    };
    count_apart("insert_prepared", 1000, purged(engine, insert), |_| client.borrow_mut().answer());
    client.borrow().succeeded("insert");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE id=? FOR UPDATE");
    let mut random = Random::new(9);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("select_for_update_prepared", 1000, execution, |_| client.borrow_mut().answer());
}

/// Has purge run now and then before what is prepared.
pub fn purged<'e>(engine: &'e Arc<Engine>, mut prepare: impl FnMut(u64) + 'e) -> impl FnMut(u64) + 'e {
    move |n| {
        if n % 64 == 0 {
            engine.purge_all();
        }
        prepare(n);
    }
}

fn transactions(client: &RefCell<Client>) {
    let text = |sql: &'static str| move |_| client.borrow_mut().text(sql);
    count_apart("begin_text", 1000, text("BEGIN"), |_| client.borrow_mut().answer());
    let commit = text("COMMIT");
    let begin = |n| {
        client.borrow_mut().run("BEGIN");
        commit(n);
    };
    count_apart("commit_empty_text", 1000, begin, |_| client.borrow_mut().answer());
}

/// By the secondary index: its entry, then the row.
fn lookups(client: &RefCell<Client>) {
    // As many rows as the key has: one on average.
    let mut random = Random::new(10);
    let text = |_| client.borrow_mut().text(&format!("SELECT c FROM sbtest1 WHERE k={:05}", random.below(ROWS) + 1));
    count_apart("secondary_lookup_text", 1000, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("lookup");

    let statement = client.borrow_mut().prepare("SELECT c FROM sbtest1 WHERE k=?");
    let mut random = Random::new(11);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32 + 1], &[]);
    count_apart("secondary_lookup_prepared", 1000, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("lookup");

    // As somebody logs in.
    people(&mut client.borrow_mut());
    let mut random = Random::new(20);
    let text = |_| client.borrow_mut().text(&format!("SELECT id, name FROM people WHERE email='{}' LIMIT 1", email(random.below(ROWS))));
    count_apart("unique_lookup_text", 1000, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("unique lookup");

    let statement = client.borrow_mut().prepare("SELECT id, name FROM people WHERE email=?");
    let mut random = Random::new(21);
    let execution = |_| client.borrow_mut().execution(statement, &[], &[&email(random.below(ROWS))]);
    count_apart("unique_lookup_prepared", 1000, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("unique lookup");
}

/// What locks or changes a row that is found by a unique key other than the primary: an account by its name, a payment by the other side's number.
fn unique_changes(client: &RefCell<Client>, engine: &Arc<Engine>) {
    for (name, sql, seed) in [
        ("unique_for_update_prepared", "SELECT id, name FROM people WHERE email=? FOR UPDATE", 22),
        ("unique_update_prepared", "UPDATE people SET logins=logins+1 WHERE email=?", 23),
    ] {
        let statement = client.borrow_mut().prepare(sql);
        let mut random = Random::new(seed);
        let execution = |_| client.borrow_mut().execution(statement, &[], &[&email(random.below(ROWS))]);
        count_apart(name, 1000, purged(engine, execution), |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
    // As who has seen a version changes that one only.
    let statement = client.borrow_mut().prepare("UPDATE people SET logins=logins+1 WHERE id=? AND logins<?");
    let mut random = Random::new(26);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32, 1000], &[]);
    count_apart("update_filtered_prepared", 1000, purged(engine, execution), |_| client.borrow_mut().answer());
    client.borrow().succeeded("update with a condition");

    // The row that the same change finds by its primary key, for comparison.
    let statement = client.borrow_mut().prepare("UPDATE people SET logins=logins+1 WHERE id=?");
    let mut random = Random::new(24);
    let execution = |_| client.borrow_mut().execution(statement, &[random.below(ROWS) as u32], &[]);
    count_apart("update_no_index_prepared", 1000, purged(engine, execution), |_| client.borrow_mut().answer());
    client.borrow().succeeded("update");
}

fn people(client: &mut Client) {
    client.run(
        "CREATE TABLE people (id INT NOT NULL PRIMARY KEY, email VARCHAR(100) NOT NULL, name VARCHAR(100) NOT NULL, logins INT NOT NULL DEFAULT 0, UNIQUE KEY (email))",
    );
    for first in (0..ROWS).step_by(100) {
        let rows: Vec<String> = (first..first + 100).map(|n| format!("({n},'{}','Name {n:05}')", email(n))).collect();
        client.run(&format!("INSERT INTO people (id, email, name) VALUES {}", rows.join(",")));
    }
}

/// An address, so long as they are.
fn email(n: u64) -> String {
    format!("{:08x}{n:05}@example.com", n.wrapping_mul(2_654_435_761) as u32)
}

/// What a row of a scan costs, without and with its way into the reply.
fn scans(client: &RefCell<Client>) {
    const RANGE: u64 = 1000;
    let first = |seed| {
        let mut random = Random::new(seed);
        move || random.below(ROWS - RANGE) as u32 + 1
    };
    for (name, sql, seed) in [
        ("range_scan_per_row", "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?", 12),
        ("range_result_per_row_prepared", "SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN ? AND ?", 13),
    ] {
        let statement = client.borrow_mut().prepare(sql);
        let mut first = first(seed);
        let range = |_| {
            let first = first();
            client.borrow_mut().execution(statement, &[first, first + RANGE as u32 - 1], &[]);
        };
        count_rows(name, 20, RANGE, range, |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
    let mut first = first(14);
    let range = |_| {
        let first = first();
        let last = first + RANGE as u32 - 1;
        client.borrow_mut().text(&format!("SELECT id, k, c, pad FROM sbtest1 WHERE id BETWEEN {first:05} AND {last:05}"));
    };
    count_rows("range_result_per_row_text", 20, RANGE, range, |_| client.borrow_mut().answer());
    client.borrow().succeeded("range");
}

/// Statements of forms that were never seen: each has an alias of its own.
fn plans(client: &RefCell<Client>) {
    let mut random = Random::new(17);
    let mut key = move || random.below(ROWS - 100) + 1;
    let one_table = |n, key: u64| {
        format!(
            "SELECT id, c FROM sbtest1 AS a{n:05} WHERE k BETWEEN {key:05} AND {:05} AND pad LIKE '1%' AND c > '5' ORDER BY id LIMIT 20",
            key + 50
        )
    };
    let join = |n, key: u64| {
        format!(
            "SELECT a{n:05}.id, b.c FROM sbtest1 AS a{n:05} JOIN sbtest1 AS b ON b.id = a{n:05}.k WHERE a{n:05}.k BETWEEN {key:05} AND {:05} AND b.pad > '5' ORDER BY a{n:05}.id LIMIT 20",
            key + 50
        )
    };
    let list = |n, key: u64| {
        let keys: Vec<String> = (0..100).map(|at| format!("{:05}", (key + 61 * at) % ROWS + 1)).collect();
        format!("SELECT id FROM sbtest1 AS a{n:05} WHERE id IN ({})", keys.join(","))
    };
    let point = |n, key: u64| format!("SELECT c FROM sbtest1 AS a{n:05} WHERE id={key:05}");
    let exists = |n, key: u64| format!("SELECT EXISTS(SELECT 1 FROM sbtest1 AS a{n:05} WHERE k={key:05}) AS found");
    let forms: [(&str, &dyn Fn(u64, u64) -> String); 5] = [
        ("plan_point_select", &point),
        ("plan_one_table", &one_table),
        ("plan_join_of_two", &join),
        ("plan_in_of_100", &list),
        ("plan_exists", &exists),
    ];
    for (name, form) in forms {
        let text = |n| client.borrow_mut().text(&form(n, key()));
        count_rows(name, 50, 1, text, |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
    // Of forms that are known, but for their literals.
    let text = |_| client.borrow_mut().text(&list(0, key()));
    count_apart("in_of_100_text", 200, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("list");
    let text = |_| client.borrow_mut().text(&format!("SELECT EXISTS(SELECT 1 FROM sbtest1 WHERE k={:05}) AS found", key()));
    count_apart("exists_named_text", 200, text, |_| client.borrow_mut().answer());
    client.borrow().succeeded("exists");
}

/// Lists of a thousand keys: of a form that was never seen, of one that is known, and with parameters.
fn lists(client: &RefCell<Client>) {
    const LISTED: u64 = 1000;
    let random = RefCell::new(Random::new(18));
    let keys = || {
        let first = random.borrow_mut().below(ROWS);
        (0..LISTED).map(move |at| (first + 61 * at) % ROWS + 1)
    };
    let sql = |form: u64| {
        let keys: Vec<String> = keys().map(|key| format!("{key:05}")).collect();
        format!("SELECT id FROM sbtest1 AS b{form:05} WHERE id IN ({})", keys.join(","))
    };
    count_apart("plan_in_of_1000", 10, |n| client.borrow_mut().text(&sql(n)), |_| client.borrow_mut().answer());
    client.borrow().succeeded("list");
    count_apart("in_of_1000_text", 20, |_| client.borrow_mut().text(&sql(0)), |_| client.borrow_mut().answer());
    client.borrow().succeeded("list");

    let marks = vec!["?"; LISTED as usize].join(",");
    let statement = client.borrow_mut().prepare(&format!("SELECT id FROM sbtest1 WHERE id IN ({marks})"));
    let execution = |_| {
        let keys: Vec<u32> = keys().map(|key| key as u32).collect();
        client.borrow_mut().execution(statement, &keys, &[]);
    };
    count_apart("in_of_1000_prepared", 20, execution, |_| client.borrow_mut().answer());
    client.borrow().succeeded("list");
}
