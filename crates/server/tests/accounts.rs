//! Accounts against the real server: logins that go wrong, passwords that expire, limits, and what is left after a kill.

use harness::{Server, code, run_all};
use mysql::prelude::Queryable;
use mysql::{Conn, Error, OptsBuilder};

fn server() -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &[])
}

fn log_in(server: &Server, user: &str, password: Option<&str>) -> Result<Conn, Error> {
    // With these two at hand the client asks nothing by itself, which an expired password would refuse.
    let options = OptsBuilder::from_opts(server.options(None)).max_allowed_packet(Some(1 << 20));
    Conn::new(options.user(Some(user)).pass(password).prefer_socket(false))
}

fn refused(server: &Server, user: &str, password: Option<&str>) -> (u16, String) {
    match log_in(server, user, password) {
        Err(Error::MySqlError(error)) => (error.code, error.message),
        Err(other) => panic!("not an error of the server: {other}"),
        Ok(_) => panic!("{user} was let in"),
    }
}

#[test]
fn passwords_decide_who_comes_in() {
    let server = server();
    let mut root = server.connect();
    run_all(
        &mut root,
        &[
            "CREATE USER sha IDENTIFIED BY 'right', native IDENTIFIED WITH mysql_native_password BY 'right'",
            "CREATE USER locked IDENTIFIED BY 'right' ACCOUNT LOCK",
            "CREATE USER tls IDENTIFIED BY 'right' REQUIRE SSL",
            "CREATE USER open@localhost",
        ],
    );
    for user in ["sha", "native"] {
        // Twice: the second time by the fast path.
        for _ in 0..2 {
            let who: Option<String> =
                log_in(&server, user, Some("right")).expect("let in").query_first("SELECT CURRENT_USER()").expect("a row");
            assert_eq!(who, Some(format!("{user}@%")));
        }
        for (password, with) in [(Some("wrong"), "YES"), (None, "NO")] {
            let expected = format!("Access denied for user '{user}'@'localhost' (using password: {with})");
            assert_eq!(refused(&server, user, password), (1045, expected));
        }
    }
    // Somebody unknown is told the same.
    for (password, with) in [(Some("wrong"), "YES"), (None, "NO")] {
        let expected = format!("Access denied for user 'nobody'@'localhost' (using password: {with})");
        assert_eq!(refused(&server, "nobody", password), (1045, expected));
    }
    assert_eq!(refused(&server, "locked", Some("right")).0, 3118);
    assert_eq!(refused(&server, "locked", Some("wrong")).0, 1045);
    assert_eq!(refused(&server, "tls", Some("right")).0, 1045);
    assert!(log_in(&server, "open", None).is_ok());
    assert_eq!(refused(&server, "open", Some("x")).0, 1045);
    // A changed password counts at once, the fast path included; the old one as long as it is retained.
    run_all(&mut root, &["ALTER USER sha IDENTIFIED BY 'second' RETAIN CURRENT PASSWORD"]);
    assert!(log_in(&server, "sha", Some("right")).is_ok() && log_in(&server, "sha", Some("second")).is_ok());
    run_all(&mut root, &["ALTER USER sha DISCARD OLD PASSWORD, native IDENTIFIED BY 'second' RETAIN CURRENT PASSWORD"]);
    assert_eq!(refused(&server, "sha", Some("right")).0, 1045);
    assert!(log_in(&server, "native", Some("right")).is_ok() && log_in(&server, "native", Some("second")).is_ok());
    run_all(&mut root, &["DROP USER sha", "CREATE USER sha IDENTIFIED BY 'third'"]);
    assert_eq!(refused(&server, "sha", Some("second")).0, 1045);
    assert!(log_in(&server, "sha", Some("third")).is_ok());
    let (random, made) = match root.query_first::<(String, String, String, u8), _>("ALTER USER sha IDENTIFIED BY RANDOM PASSWORD") {
        Ok(Some((.., password, 1))) => (password.clone(), password.len()),
        other => panic!("{other:?}"),
    };
    assert_eq!(made, 20);
    assert!(log_in(&server, "sha", Some(&random)).is_ok());
}

#[test]
fn an_expired_password_lets_in_who_can_change_it() {
    let server = server();
    let mut root = server.connect();
    run_all(&mut root, &["CREATE USER old IDENTIFIED BY 'pw' PASSWORD EXPIRE", "GRANT SELECT ON *.* TO old"]);
    // This client cannot go on with an expired password.
    assert_eq!(refused(&server, "old", Some("pw")).0, 1862);
    run_all(&mut root, &["SET GLOBAL disconnect_on_expired_password = OFF"]);
    let mut old = log_in(&server, "old", Some("pw")).expect("let in");
    for sql in [
        "SELECT 1",
        "SHOW DATABASES",
        "USE mysql",
        "ALTER USER USER() PASSWORD EXPIRE NEVER",
        "DO 1",
        "SET @x = 1",
        "SET NAMES utf8mb4",
        "SET sql_mode = (SELECT user FROM mysql.user LIMIT 1)",
        "SET @@global.max_connections = 100",
    ] {
        assert_eq!(code(&old.query_drop(sql).expect_err(sql)), 1820, "{sql}");
    }
    for sql in ["SELECT 1", "SET @x = (SELECT user FROM mysql.user LIMIT 1)"] {
        assert_eq!(code(&old.prep(sql).and_then(|s| old.exec_drop(s, ())).expect_err("prepared")), 1820, "{sql}");
    }
    // A database of the login is current all the same; another one is none before the password is another one.
    let options = OptsBuilder::from_opts(server.options(None)).max_allowed_packet(Some(1 << 20)).db_name(Some("mysql"));
    let mut in_database = Conn::new(options.user(Some("old")).pass(Some("pw")).prefer_socket(false)).expect("let in");
    assert_eq!(code(&in_database.select_db("mysql").expect_err("COM_INIT_DB")), 1820);
    run_all(&mut in_database, &["ALTER USER USER() IDENTIFIED BY 'pw'"]);
    assert_eq!(in_database.query_first::<String, _>("SELECT DATABASE()").expect("a row").as_deref(), Some("mysql"));
    run_all(&mut root, &["ALTER USER old PASSWORD EXPIRE"]);
    run_all(&mut old, &["ALTER USER USER() IDENTIFIED BY 'new'", "SELECT 1"]);
    for sql in [
        "ALTER USER USER() IDENTIFIED BY 'y' RETAIN CURRENT PASSWORD",
        "SET PASSWORD = 'y' RETAIN CURRENT PASSWORD",
        "ALTER USER USER() DISCARD OLD PASSWORD",
        "ALTER USER old IDENTIFIED WITH caching_sha2_password BY 'y'",
        "ALTER USER USER() IDENTIFIED WITH mysql_native_password BY 'y'",
    ] {
        assert_eq!(code(&old.query_drop(sql).expect_err(sql)), 1227, "{sql}");
    }
    run_all(&mut root, &["GRANT APPLICATION_PASSWORD_ADMIN ON *.* TO old"]);
    run_all(&mut old, &["SET PASSWORD = 'newer' RETAIN CURRENT PASSWORD"]);
    assert!(log_in(&server, "old", Some("newer")).is_ok());
    run_all(&mut root, &["SET GLOBAL disconnect_on_expired_password = ON"]);
    assert!(log_in(&server, "old", Some("new")).is_ok());
}

#[test]
fn failed_logins_and_limits_keep_out() {
    let server = server();
    let mut root = server.connect();
    run_all(
        &mut root,
        &[
            "CREATE USER few IDENTIFIED BY 'pw' FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 3",
            "CREATE USER one IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 1",
            "CREATE USER slow IDENTIFIED BY 'pw' WITH MAX_QUERIES_PER_HOUR 2",
        ],
    );
    assert_eq!(refused(&server, "few", Some("x")).0, 1045);
    let blocked = (
        3955,
        "Access denied for user 'few'@'localhost'. Account is blocked for 3 day(s) (3 day(s) remaining) due to 2 consecutive failed logins."
            .to_owned(),
    );
    assert_eq!(refused(&server, "few", Some("x")), blocked);
    assert_eq!(refused(&server, "few", Some("pw")), blocked);
    run_all(&mut root, &["ALTER USER few ACCOUNT UNLOCK"]);
    assert!(log_in(&server, "few", Some("pw")).is_ok());
    let held = log_in(&server, "one", Some("pw")).expect("the first");
    assert_eq!(refused(&server, "one", Some("pw")).0, 1226);
    drop(held);
    harness::until("the place is free", || log_in(&server, "one", Some("pw")).is_ok());
    let mut slow = log_in(&server, "slow", Some("pw")).expect("let in");
    let answered = (0..10).take_while(|_| slow.query_drop("DO 1").is_ok()).count();
    assert!(answered <= 2, "{answered}");
    assert_eq!(code(&slow.query_drop("DO 1").expect_err("too many")), 1226);
}

#[test]
fn each_statement_of_a_text_counts_and_so_does_whatever_changes_something() {
    let server = server();
    let mut root = server.connect();
    run_all(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT)",
            "CREATE USER asks IDENTIFIED BY 'pw' WITH MAX_QUERIES_PER_HOUR 20",
            "CREATE USER changes IDENTIFIED BY 'pw' WITH MAX_UPDATES_PER_HOUR 2",
            "GRANT ALL ON *.* TO asks, changes WITH GRANT OPTION",
        ],
    );
    let mut asks = log_in(&server, "asks", Some("pw")).expect("let in");
    let mut answered = 0;
    let mut results = asks.query_iter(["SELECT 1"; 30].join("; ")).expect("the first");
    while let Some(rows) = results.iter() {
        answered += rows.filter(Result::is_ok).count();
    }
    drop(results);
    // The client asks something by itself.
    assert!((1..=20).contains(&answered), "{answered}");
    assert_eq!(code(&asks.query_drop("DO 1").expect_err("too many")), 1226);
    for changes in [
        ["CREATE TABLE d.u (a INT)", "DROP TABLE d.u"],
        ["INSERT INTO d.t VALUES (1)", "TRUNCATE TABLE d.t"],
        ["CREATE USER other", "DROP USER other"],
        ["GRANT SELECT ON d.* TO asks", "CREATE OR REPLACE VIEW d.v AS SELECT 1"],
    ] {
        let mut changing = log_in(&server, "changes", Some("pw")).expect("let in");
        run_all(&mut changing, &changes);
        for sql in ["INSERT INTO d.t VALUES (1)", "CREATE TABLE d.u (a INT)", "DROP USER IF EXISTS nobody"] {
            let Err(Error::MySqlError(error)) = changing.query_drop(sql) else { panic!("{sql} was run") };
            let expected = "User 'changes' has exceeded the 'max_updates' resource (current value: 2)";
            assert_eq!((error.code, &*error.message), (1226, expected));
        }
        run_all(&mut changing, &["SELECT 1", "BEGIN", "COMMIT", "SET @a = 1"]);
        run_all(&mut root, &["FLUSH USER_RESOURCES"]);
    }
}

#[test]
fn a_change_of_user_takes_the_new_place_before_it_gives_up_the_old_one() {
    let server = server();
    let mut root = server.connect();
    run_all(&mut root, &["CREATE USER one IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 1", "CREATE USER two IDENTIFIED BY 'pw'"]);
    let to = |user: &str| mysql::ChangeUserOpts::new().with_user(Some(user.to_owned())).with_pass(Some("pw".to_owned()));
    // As MySQL answers, who ends the connection too.
    let mut one = log_in(&server, "one", Some("pw")).expect("let in");
    assert_eq!(code(&one.change_user(to("one")).expect_err("no place for two")), 1226);
    drop(one);
    let mut changed = None;
    harness::until("the place is free", || {
        let mut two = log_in(&server, "two", Some("pw")).expect("let in");
        changed = two.change_user(to("one")).is_ok().then_some(two);
        changed.is_some()
    });
    let mut other = changed.expect("it has changed");
    assert_eq!(refused(&server, "one", Some("pw")).0, 1226);
    other.change_user(to("two")).expect("no limit");
    assert_eq!(other.query_first::<String, _>("SELECT CURRENT_USER()").expect("answered").as_deref(), Some("two@%"));
    assert!(log_in(&server, "one", Some("pw")).is_ok(), "the place is free at once");
}

#[test]
fn no_password_is_in_the_process_list() {
    let server = server();
    let (mut root, mut other) = (server.connect(), server.connect());
    run_all(&mut root, &["CREATE USER a IDENTIFIED BY 'visible-secret'"]);
    let id = root.connection_id();
    let shown: Vec<(u32, Option<String>)> =
        other.query("SELECT processlist_id, processlist_info FROM performance_schema.threads").expect("rows");
    assert!(shown.iter().all(|(_, info)| !info.as_deref().unwrap_or_default().contains("visible-secret")), "{shown:?}");
    assert!(shown.iter().any(|(shown, _)| *shown == id));
    assert!(!server.log().contains("visible-secret"));
}

#[test]
fn no_password_behind_another_statement_is_in_the_process_list() {
    let server = server();
    let (root, mut other) = (server.connect(), server.connect());
    let mut shown_while = |text: &'static str, at: &str| {
        let mut client = server.connect();
        let id = client.connection_id();
        let sleeper = std::thread::spawn(move || client.query_drop(text));
        let sql = format!("SELECT info FROM information_schema.processlist WHERE id = {id} AND state = 'User sleep'");
        let mut shown = None;
        harness::until("it sleeps", || {
            shown = other.query_first::<String, _>(&sql).expect("answers").filter(|info| info.contains(at));
            shown.is_some()
        });
        other.query_drop(format!("KILL {id}")).expect("killed");
        let _ = sleeper.join().expect("no panic");
        shown.unwrap_or_default()
    };
    // As MySQL shows them: the statement that runs alone, be it the first, one between or the last.
    let first = shown_while("DO SLEEP(1000); CREATE USER a IDENTIFIED BY 'visible-secret'; DO 1", "1000");
    assert_eq!(first, "DO SLEEP(1000)");
    let between = shown_while("DO 1; DO SLEEP(1001); CREATE USER a IDENTIFIED BY 'visible-secret'", "1001");
    assert_eq!(between.trim(), "DO SLEEP(1001)");
    let last = shown_while("BEGIN; CREATE USER b IDENTIFIED BY 'visible-secret'; DO SLEEP(1002)", "1002");
    assert_eq!(last.trim(), "DO SLEEP(1002)");
    // A comment before does not hide the account statement; what cannot be read shows none either.
    let mut client = server.connect();
    for text in ["BEGIN; CREATE USER c IDENTIFIED BY 'visible-secret'", "DO 1; CREATE USER d IDENTIFIED BY 'visible-secret' NONSENSE"] {
        let _ = client.query_drop(text);
        let sql = format!("SELECT processlist_info FROM performance_schema.threads WHERE processlist_id = {}", client.connection_id());
        let info: Option<String> = other.query_first::<Option<String>, _>(sql).expect("answers").flatten();
        assert!(!info.unwrap_or_default().contains("visible-secret"), "{text}");
    }
    drop(root);
    assert!(!server.log().contains("visible-secret"));
}

#[test]
fn accounts_survive_restarts_and_kills() {
    let mut server = server();
    run_all(
        &mut server.connect(),
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (a INT, b INT)",
            "CREATE ROLE r",
            "CREATE USER u IDENTIFIED BY 'pw' COMMENT 'kept'",
            "GRANT SELECT (a) ON d.t TO r",
            "GRANT INSERT ON d.* TO u WITH GRANT OPTION",
            "GRANT r TO u WITH ADMIN OPTION",
            "ALTER USER u DEFAULT ROLE r",
            "CREATE USER gone IDENTIFIED BY 'pw'",
            "DROP USER gone",
        ],
    );
    let grants = |server: &Server| server.connect().query::<String, _>("SHOW GRANTS FOR u").expect("grants");
    let before = grants(&server);
    // A kill: what was acknowledged is there.
    server.restart();
    assert_eq!(grants(&server), before);
    let mut u = log_in(&server, "u", Some("pw")).expect("let in");
    run_all(&mut u, &["SELECT a FROM d.t", "INSERT INTO d.t VALUES (1, 2)"]);
    assert_eq!(code(&u.query_drop("SELECT b FROM d.t").expect_err("not granted")), 1143);
    assert_eq!(refused(&server, "gone", Some("pw")).0, 1045);
    // The last account may go: nobody comes in then, and no root comes back.
    run_all(&mut server.connect(), &["DROP USER u", "DROP ROLE r", "CREATE USER last IDENTIFIED BY 'pw'", "DROP USER root@localhost"]);
    server.kill();
    assert_eq!(server.stop(), None);
}

#[test]
fn privileges_count_at_once_for_plans_that_are_kept() {
    let server = server();
    let mut root = server.connect();
    run_all(&mut root, &["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b INT)", "CREATE USER u IDENTIFIED BY 'pw'"]);
    let mut u = log_in(&server, "u", Some("pw")).expect("let in");
    // Root's plan is in the server's cache, and is not a way around.
    run_all(&mut root, &["SELECT b FROM d.t WHERE a = 1", "GRANT SELECT ON d.t TO u"]);
    let prepared = u.prep("SELECT b FROM d.t WHERE a = ?").expect("prepared");
    for round in 0..3 {
        run_all(&mut u, &["SELECT b FROM d.t WHERE a = 1"]);
        u.exec_drop(&prepared, (1,)).expect("allowed");
        run_all(&mut root, &["REVOKE SELECT ON d.t FROM u"]);
        assert_eq!(code(&u.query_drop("SELECT b FROM d.t WHERE a = 1").expect_err("revoked")), 1142, "round {round}");
        assert_eq!(code(&u.exec_drop(&prepared, (1,)).expect_err("revoked")), 1142, "round {round}");
        run_all(&mut root, &["SELECT b FROM d.t WHERE a = 1", "GRANT SELECT (a, b) ON d.t TO u"]);
    }
}

#[test]
fn sessions_of_system_users_are_stopped_by_system_users_alone() {
    let server = server();
    let mut root = server.connect();
    run_all(
        &mut root,
        &[
            "CREATE USER admin IDENTIFIED BY 'pw', super IDENTIFIED BY 'pw', sys IDENTIFIED BY 'pw', via IDENTIFIED BY 'pw', plain IDENTIFIED BY 'pw'",
            "CREATE ROLE r",
            "GRANT CONNECTION_ADMIN ON *.* TO admin",
            "GRANT SUPER ON *.* TO super",
            "GRANT SYSTEM_USER ON *.* TO sys, r",
            "GRANT r TO via",
            "SET DEFAULT ROLE r TO via",
        ],
    );
    let [mut admin, mut with_super, mut sys, mut via, plain] =
        ["admin", "super", "sys", "via", "plain"].map(|user| log_in(&server, user, Some("pw")).expect("let in"));
    for stopper in [&mut admin, &mut with_super] {
        for target in [root.connection_id(), sys.connection_id(), via.connection_id()] {
            for kill in ["KILL QUERY", "KILL"] {
                assert_eq!(code(&stopper.query_drop(format!("{kill} {target}")).expect_err("out of reach")), 1095);
            }
        }
    }
    admin.query_drop(format!("KILL {}", plain.connection_id())).expect("in reach");
    run_all(&mut via, &["SET ROLE NONE"]);
    admin.query_drop(format!("KILL {}", via.connection_id())).expect("in reach without the role");
    // A system user's own sessions are its own.
    let other = log_in(&server, "sys", Some("pw")).expect("let in");
    sys.query_drop(format!("KILL {}", other.connection_id())).expect("its own");
    root.query_drop(format!("KILL {}", sys.connection_id())).expect("root is one, too");
}

#[test]
fn the_process_list_shows_who_somebody_said_to_be() {
    let server = server();
    let mut root = server.connect();
    run_all(&mut root, &["CREATE USER ''@localhost", "GRANT PROCESS ON *.* TO ''@localhost"]);
    let mut anybody = log_in(&server, "whoever", None).expect("let in");
    let shown = |conn: &mut Conn| -> (String, String) {
        let sql = "SELECT user, CURRENT_USER() FROM information_schema.processlist WHERE id = CONNECTION_ID()";
        conn.query_first(sql).expect("a row").expect("a row")
    };
    assert_eq!(shown(&mut anybody), ("whoever".into(), "@localhost".into()));
    anybody.change_user(mysql::ChangeUserOpts::new().with_user(Some("another".to_owned())).with_pass(None)).expect("let in");
    assert_eq!(shown(&mut anybody), ("another".into(), "@localhost".into()));
}
