//! What clients, pools and frameworks send beside statements on rows: logins, connections begun anew, pings, settings, empty transactions, statements that are prepared
//! for one execution.

use crate::client::{Client, connect, open};
use crate::window::{count, count_apart};
use protocol::command::byte;
use std::cell::RefCell;
use std::path::Path;

/// Counts all; the data lies in `directory`.
pub fn run(directory: &Path) {
    let (_engine, service) = open(directory);
    // The session before goes uncounted.
    let session = RefCell::new(None);
    count_apart("login", 200, |_| drop(session.borrow_mut().take()), |_| *session.borrow_mut() = Some(connect(&service)));

    let mut client = connect(&service);
    client.run("CREATE DATABASE app");
    client.run("USE app");
    client.run("CREATE TABLE users (id INT NOT NULL PRIMARY KEY, name VARCHAR(50) NOT NULL)");
    client.run("INSERT INTO users VALUES (1, 'one')");
    counts(&mut client, "ping", &[&[byte::PING]]);
    counts(&mut client, "reset_connection", &[&[byte::RESET_CONNECTION]]);
    // What a framework says first, and what a pool takes back before the next one comes.
    let orm = query("SET autocommit=1, sql_mode='STRICT_TRANS_TABLES', time_zone='+00:00', wait_timeout=28800");
    counts(&mut client, "set_orm_text", &[&orm]);
    counts(&mut client, "set_orm_and_reset", &[&orm, &[byte::RESET_CONNECTION]]);
    counts(&mut client, "set_names_text", &[&query("SET NAMES utf8mb4")]);
    counts(&mut client, "select_1_text", &[&query("SELECT 1")]);
    counts(&mut client, "use_database", &[&[&[byte::INIT_DB], &b"app"[..]].concat()]);
    counts(&mut client, "transaction_empty_text", &[&query("BEGIN"), &query("COMMIT")]);

    let mut prepared_once = |_| {
        let statement = client.prepare("SELECT name FROM users WHERE id=?");
        client.execution(statement, &[1], &[]);
        client.answer();
        client.succeeded("point select");
        client.command(&[&[byte::STMT_CLOSE], &statement.to_le_bytes()[..]].concat());
    };
    count("point_select_prepared_once", 1000, &mut prepared_once);
}

fn query(sql: &str) -> Vec<u8> {
    [&[byte::QUERY], sql.as_bytes()].concat()
}

/// Counts commands that are sent one after the other.
fn counts(client: &mut Client, name: &str, payloads: &[&[u8]]) {
    count(name, 1000, |_| payloads.iter().for_each(|payload| client.command(payload)));
    client.succeeded(name);
}
