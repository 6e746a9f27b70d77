//! Pages: the newest rows, of all or of one user, the last row, the largest value.

use crate::client::Client;
use crate::window::{Random, count_apart};
use std::cell::RefCell;

/// Rows of the table, fifty of each user.
const ROWS: u64 = 10_000;
const USERS: u64 = ROWS / 50;

/// Counts all, on a table of its own.
pub fn run(client: &RefCell<Client>) {
    load(&mut client.borrow_mut());
    for (name, sql) in [
        ("last_row_prepared", "SELECT id, title FROM posts ORDER BY id DESC LIMIT 1"),
        ("newest_20_prepared", "SELECT id, title FROM posts ORDER BY posted DESC LIMIT 20"),
        ("largest_prepared", "SELECT MAX(posted) FROM posts"),
    ] {
        let statement = client.borrow_mut().prepare(sql);
        count_apart(name, 1000, |_| client.borrow_mut().execution(statement, &[], &[]), |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
    for (name, sql) in [
        ("newest_10_of_one_prepared", "SELECT id, title FROM posts WHERE user_id=? ORDER BY id DESC LIMIT 10"),
        ("newest_10_of_one_by_time_prepared", "SELECT id, title FROM posts WHERE user_id=? ORDER BY posted DESC LIMIT 10"),
        ("largest_of_one_prepared", "SELECT MAX(id) FROM posts WHERE user_id=?"),
    ] {
        let statement = client.borrow_mut().prepare(sql);
        let mut random = Random::new(31);
        let execution = |_| client.borrow_mut().execution(statement, &[random.below(USERS) as u32], &[]);
        count_apart(name, 1000, execution, |_| client.borrow_mut().answer());
        client.borrow().succeeded(name);
    }
}

fn load(client: &mut Client) {
    client.run(
        "CREATE TABLE posts (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, user_id INT NOT NULL, title VARCHAR(60) NOT NULL, posted DATETIME NOT NULL, \
         KEY (user_id), KEY (posted))",
    );
    for first in (0..ROWS).step_by(500) {
        let row = |at: u64| {
            let (day, hour, minute) = (at / 1440 + 1, at / 60 % 24, at % 60);
            format!("({},'the title of post {at:05}','2026-01-{day:02} {hour:02}:{minute:02}:00')", at * 7 % USERS)
        };
        let rows: Vec<String> = (first..first + 500).map(row).collect();
        client.run(&format!("INSERT INTO posts (user_id, title, posted) VALUES {}", rows.join(",")));
    }
}
