//! `altiplano bench` against the real server: every workload with its totals, hundreds of connections over two threads, slices that pause and
//! go on, rates, wrong inputs.

use bench::measured::Measured;
use bench::options::{Action, CommandLine, RunCommand};
use bench::progress::Silent;
use bench::run;
use bench::running::Running;
use clap::Parser;
use harness::Server;
use mysql::prelude::Queryable;
use std::process::{Command, Output};

fn server() -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", "max_connections=2000", "--set", "local_infile=1"])
}

fn action(server: &Server, verb: &str, workload: &str, more: &[&str]) -> Action {
    let address = format!("127.0.0.1:{}", server.port());
    let arguments = ["bench", verb, "--server", &address, "--workload", workload];
    CommandLine::try_parse_from(arguments.iter().chain(more)).expect("well formed").action
}

fn prepare(server: &Server, workload: &str, size: &[&str]) {
    bench::command::execute(&action(server, "prepare", workload, size)).expect("loaded");
}

fn check(server: &Server, workload: &str, size: &[&str]) {
    let Action::Check(options) = action(server, "check", workload, size) else { panic!("check") };
    println!("{}", bench::workload::check(&options).expect("as it must be"));
}

fn command(server: &Server, workload: &str, more: &[&str]) -> RunCommand {
    let mut arguments = vec!["--seconds", "0.5", "--warmup", "0.1"];
    arguments.extend(more);
    let Action::Run(command) = action(server, "run", workload, &arguments) else { panic!("run") };
    command
}

/// Runs for a moment. Everybody was let in, nobody was lost, totals are right.
fn run(server: &Server, workload: &str, more: &[&str]) -> Measured {
    let command = command(server, workload, more);
    let measured = run::run(&command.options(command.connections[0] as usize)).expect("a run");
    sound(&measured);
    measured
}

fn sound(measured: &Measured) {
    println!("{}", measured.summary());
    let (tally, json) = (&measured.tally, measured.json());
    assert_eq!((tally.refused, tally.lost, tally.unfinished, tally.failed, tally.wrong), (0, 0, 0, 0, 0), "{json}");
    assert!(!measured.is_wrong(), "{json}");
    // On a machine that is busy enough nothing may end in the measured time.
    assert!(tally.acknowledged.iter().sum::<u64>() > 0, "{json}");
    let local = measured.outcome.local.expect("the server's process is found");
    assert!(local.resident_kib > 1000);
}

fn connect(server: &Server) -> mysql::Conn {
    mysql::Conn::new(server.options(Some("sbtest"))).expect("a connection")
}

fn number(server: &Server, sql: &str) -> i64 {
    connect(server).query_first(sql).expect("it runs").expect("a row")
}

#[test]
fn one_row_updated_by_300_connections_has_the_sum_of_all() {
    let server = server();
    prepare(&server, "hot_row", &[]);
    for workload in ["hot_row", "hot_row_transaction"] {
        for mode in [&["-c", "300"][..], &["-c", "100", "--text"]] {
            assert_eq!(run(&server, workload, mode).verdict.as_deref(), Some("ok"));
        }
    }
    check(&server, "hot_row", &[]);
}

#[test]
fn transfers_that_deadlock_keep_the_total() {
    let server = server();
    let size = ["--accounts", "20"];
    prepare(&server, "bank", &size);
    let measured = run(&server, "bank", &["--accounts", "20", "-c", "200", "--isolation", "rc"]);
    assert_eq!(measured.verdict.as_deref(), Some("ok"));
    check(&server, "bank", &size);
}

/// A delivery that finds an order which is newer than its snapshot cannot read whom to credit: it is taken back.
#[test]
fn deliveries_from_queues_that_run_empty_credit_somebody() {
    let server = server();
    let size = ["--warehouses", "1", "--items", "200", "--customers", "10"];
    prepare(&server, "tpcc", &size);
    for _ in 0..3 {
        run(&server, "tpcc", &[&size[..], &["-c", "16"]].concat());
        check(&server, "tpcc", &size);
    }
}

#[test]
fn tpcc_keeps_its_consistency_conditions_at_both_levels() {
    let server = server();
    let size = ["--warehouses", "3", "--items", "200", "--customers", "60"];
    prepare(&server, "tpcc", &size);
    check(&server, "tpcc", &size);
    for more in [&["--isolation", "rc", "--text"][..], &["--isolation", "rr", "--roaming"], &["--think", "0.001"]] {
        run(&server, "tpcc", &[&size[..], &["-c", "60"], more].concat());
        check(&server, "tpcc", &size);
    }
    // What the check is for: money that is nowhere paid, an order without a line.
    let mut client = connect(&server);
    for (spoil, mend, condition) in [
        (
            "UPDATE customer SET c_ytd_payment=c_ytd_payment+1 WHERE c_id=7",
            "UPDATE customer SET c_ytd_payment=c_ytd_payment-1 WHERE c_id=7",
            "10",
        ),
        (
            "UPDATE orders SET o_ol_cnt=o_ol_cnt+IF(o_id=3,1,-1) WHERE o_id IN (3,4)",
            "UPDATE orders SET o_ol_cnt=o_ol_cnt+IF(o_id=3,-1,1) WHERE o_id IN (3,4)",
            "6",
        ),
        (
            "UPDATE order_line SET ol_delivery_d=NULL WHERE ol_o_id=2 AND ol_number=1",
            "UPDATE order_line SET ol_delivery_d=NOW() WHERE ol_o_id=2 AND ol_number=1",
            "7",
        ),
        ("UPDATE history SET h_amount=h_amount+1 WHERE h_c_id=5 LIMIT 1", "SELECT 1", "8"),
    ] {
        client.query_drop(spoil).expect("it runs");
        let Action::Check(options) = action(&server, "check", "tpcc", &size) else { panic!("check") };
        let error = bench::workload::check(&options).expect_err("it is spoilt");
        assert!(error.contains(&format!("condition {condition}:")), "{error}");
        client.query_drop(mend).expect("it runs");
    }
}

#[test]
fn sysbench_transactions_run_with_every_distribution() {
    let server = server();
    let size = ["--tables", "2", "--table-size", "1000"];
    prepare(&server, "oltp_read_write", &size);
    let workloads = [
        ("oltp_point_select", "zipf"),
        ("oltp_read_only", "special"),
        ("oltp_read_write", "uniform"),
        ("oltp_write_only", "pareto"),
        ("oltp_update_index", "zipf:1.2"),
        ("oltp_update_non_index", "gaussian"),
        ("select_random_points", "uniform"),
        ("select_random_ranges", "uniform"),
        ("read_only", "uniform"),
    ];
    for (workload, keys) in workloads {
        for mode in [&["-c", "40"][..], &["-c", "5", "--text"]] {
            run(&server, workload, &[&size[..], mode, &["--keys", keys, "--isolation", "rc"]].concat());
        }
    }
    let rows = || number(&server, "SELECT (SELECT COUNT(*) FROM sbtest1) + (SELECT COUNT(*) FROM sbtest2)");
    assert_eq!(rows(), 2000, "each delete of these is followed by an insert of the same row");
    let inserted = run(&server, "oltp_insert", &[&size[..], &["-c", "40"]].concat());
    assert_eq!(rows(), 2000 + inserted.tally.acknowledged[0] as i64);
    check(&server, "oltp_insert", &size);
    run(&server, "oltp_delete", &[&size[..], &["-c", "40"]].concat());
    assert!(rows() < 2000 + inserted.tally.acknowledged[0] as i64);
    check(&server, "oltp_delete", &size);
}

#[test]
fn each_insert_and_each_file_is_there_whole() {
    let server = server();
    prepare(&server, "bulk_insert", &[]);
    for (workload, rows) in [("bulk_insert", "700"), ("load_data", "3000")] {
        let before = number(&server, "SELECT COUNT(*) FROM bulk_rows");
        let measured = run(&server, workload, &["-c", "4", "--batch-rows", rows]);
        assert_eq!(measured.verdict.as_deref(), Some("ok"));
        let added = measured.tally.acknowledged[0] as i64 * rows.parse::<i64>().expect("a number");
        assert_eq!(number(&server, "SELECT COUNT(*) FROM bulk_rows"), before + added);
    }
    check(&server, "load_data", &[]);
}

#[test]
fn people_are_found_by_their_keys() {
    let server = server();
    // The last team has five.
    let size = ["--table-size", "505"];
    prepare(&server, "lookup_unique", &size);
    for workload in ["lookup_unique", "lookup_key"] {
        let measured = run(&server, workload, &[&size[..], &["-c", "4"]].concat());
        assert!(measured.tally.acknowledged[0] > 0);
        check(&server, workload, &size);
    }
    // Most of them are gone: that is told.
    connect(&server).query_drop("DELETE FROM people WHERE id > 3 AND id < 505").expect("a change");
    for workload in ["lookup_unique", "lookup_key"] {
        let command = command(&server, workload, &[&size[..], &["-c", "4"]].concat());
        let measured = run::run(&command.options(4)).expect("a run");
        let verdict = measured.verdict.as_deref().unwrap_or_default();
        assert!(verdict.starts_with("WRONG: ") && verdict.contains("'s key, not "), "{verdict}");
    }
}

#[test]
fn jobs_are_taken_once_and_snapshots_stay() {
    let server = server();
    prepare(&server, "queue", &["--jobs", "30"]);
    let measured = run(&server, "queue", &["-c", "50"]);
    assert_eq!(measured.verdict.as_deref(), Some("ok"));
    assert!(measured.tally.acknowledged[..2].iter().all(|count| *count > 0));
    check(&server, "queue", &[]);
    let size = ["--table-size", "500"];
    prepare(&server, "read_mostly", &size);
    let measured = run(&server, "read_mostly", &[&size[..], &["-c", "24", "--long-seconds", "0.2"]].concat());
    assert_eq!(measured.verdict.as_deref(), Some("ok"));
    assert!(measured.tally.acknowledged[..3].iter().all(|count| *count > 0), "readers, writers and those who stay");
    check(&server, "read_mostly", &size);
}

#[test]
fn connections_come_and_go_and_joins_find_what_there_is() {
    let server = server();
    prepare(&server, "connection_storm", &[]);
    let measured = run(&server, "connection_storm", &["-c", "20"]);
    let logged_in = number(&server, "SELECT VARIABLE_VALUE+0 FROM performance_schema.global_status WHERE VARIABLE_NAME='Connections'");
    assert!(logged_in > measured.tally.acknowledged[0] as i64, "{logged_in}");
    let size = ["--join-rows", "500"];
    prepare(&server, "joins", &size);
    run(&server, "joins", &[&size[..], &["-c", "3"]].concat());
    check(&server, "joins", &size);
    // A row less, and each join that should find it says so.
    connect(&server).query_drop("DELETE FROM join_left WHERE id=7").expect("it runs");
    let command = command(&server, "joins", &["--join-rows", "500", "-c", "3"]);
    let measured = run::run(&command.options(3)).expect("a run");
    assert!(measured.is_wrong(), "{:?}", measured.verdict);
}

#[test]
fn wrong_answers_are_told_where_totals_are_right() {
    let server = server();
    let size = ["--accounts", "10"];
    prepare(&server, "bank", &size);
    // Payments to it change nothing, and are rolled back: the sum stays.
    connect(&server).query_drop("DELETE FROM bank WHERE id=7").expect("it runs");
    let measured = run::run(&command(&server, "bank", &[&size[..], &["-c", "3"]].concat()).options(3)).expect("a run");
    assert!(measured.tally.wrong > 0 && measured.is_wrong(), "{}", measured.json());
    let verdict = measured.verdict.as_deref().unwrap_or_default();
    assert_eq!(verdict, "WRONG: a payment: 0 rows changed, not 1");
    let servers = ["A", "B"].map(|name| format!("{name}=127.0.0.1:{}", server.port()));
    let slices = ["--workload", "bank", "--accounts", "10", "-c", "3", "--slice", "0.3", "--warmup", "0", "--rounds", "1"];
    let compared = program(&[&["compare", &servers[0], &servers[1]][..], &slices].concat());
    let said = String::from_utf8_lossy(&compared.stderr).into_owned();
    assert!(!compared.status.success() && said.contains("WRONG: a payment"), "{said}");
}

#[test]
fn a_server_is_set_beside_itself() {
    let server = server();
    prepare(&server, "hot_row", &[]);
    let at = format!("127.0.0.1:{}", server.port());
    let plain = |more: &[&str]| {
        let slices = ["--slice", "0.2", "--lead", "0.1", "--warmup", "0", "--rounds", "2"];
        program(&[&["plain", "--server", &at, "--workload", "hot_row"][..], &slices, more].concat())
    };
    let logins = || number(&server, "SELECT VARIABLE_VALUE+0 FROM performance_schema.global_status WHERE VARIABLE_NAME='Connections'");
    // Opened once, or for each of two slices. (One more is the client's that looks, another the bench's own that prepares and judges.)
    for (more, least, most) in [(&["-c", "2,6"][..], 8, 15), (&["-c", "2,6", "--apart"], 16, 31)] {
        let before = logins();
        let found = plain(more);
        let logged_in = logins() - before;
        let said = String::from_utf8_lossy(&found.stdout).into_owned();
        assert!(found.status.success(), "{said} {}", String::from_utf8_lossy(&found.stderr));
        let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
        assert!(lines.len() == 3 && said.contains("x 2 connections (95 %)"), "{said}");
        assert!(lines[1..].iter().zip(["2", "6"]).all(|(line, count)| line[0] == count && line.len() > 4), "{said}");
        assert!((least..=most).contains(&logged_in), "{more:?}: {logged_in} logins");
    }
    // What all slices changed is what the row says, or it would have failed.
    let alone = plain(&["-c", "2,2"]);
    assert!(!alone.status.success() && String::from_utf8_lossy(&alone.stderr).contains("two numbers of connections"), "{alone:?}");
}

#[test]
fn tables_of_another_size_are_refused() {
    let server = server();
    let refused = |workload: &str, more: &[&str]| match run::run(&command(&server, workload, more).options(2)) {
        Ok(measured) => panic!("{}", measured.json()),
        Err(why) => why,
    };
    prepare(&server, "bank", &["--accounts", "950"]);
    assert!(refused("bank", &[]).contains("bank was prepared for --accounts 950, not 1000"));
    prepare(&server, "joins", &["--join-rows", "510"]);
    assert!(refused("joins", &["--join-rows", "500"]).contains("join_left was prepared for --join-rows 510, not 500"));
    prepare(&server, "tpcc", &["--warehouses", "1", "--items", "100", "--customers", "10"]);
    assert!(refused("tpcc", &["--warehouses", "1", "--customers", "10"]).contains("item was prepared for --items 100, not 100000"));
    assert!(refused("tpcc", &["--warehouses", "1", "--items", "100"]).contains("customer was prepared for --customers 10, not 3000"));
}

#[test]
fn slices_of_one_login_pause_and_go_on() {
    let server = server();
    prepare(&server, "hot_row", &[]);
    let mut running = Running::start(&command(&server, "hot_row", &[]).options(30), &mut Silent).expect("started");
    let logins = || number(&server, "SELECT VARIABLE_VALUE+0 FROM performance_schema.global_status WHERE VARIABLE_NAME='Connections'");
    let before = logins();
    let mut acknowledged = 0;
    for slice in 1..=4 {
        let measured = running.slice(0.05, 0.2, &mut Silent).expect("a slice");
        sound(&measured);
        assert_eq!(measured.outcome.connections, 30);
        acknowledged += measured.tally.acknowledged[0];
        // Paused: nobody works.
        assert_eq!(number(&server, "SELECT n FROM hot_row") as u64, acknowledged, "slice {slice}");
    }
    assert_eq!(running.stop().expect("all is well").as_deref(), Some("ok"));
    // Those of this test's own questions.
    assert!(logins() - before < 10, "nobody logged in again");
}

#[test]
fn a_rate_is_kept_and_what_is_due_is_told() {
    let server = server();
    prepare(&server, "hot_row", &[]);
    let measured = run(&server, "hot_row", &["-c", "8", "--rate", "200"]);
    // Never more than were due, with a second for the moments between phases on a machine that is busy with others.
    let (transactions, due) = (measured.outcome.transactions() as f64, 200.0 * (measured.outcome.seconds + 1.1));
    assert!(transactions <= due, "{transactions} of {due}");
    // A rate that nothing reaches: those who wait are in the latencies, and the rest is told.
    let measured = run(&server, "hot_row", &["-c", "2", "--rate", "100000000"]);
    assert!(measured.tally.behind > 0, "{}", measured.summary());
    assert!(measured.tally.all().percentile_ms(0.5) > 50.0, "{}", measured.summary());
}

fn program(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_altiplano")).arg("bench").args(arguments).env("MYSQL_PWD", "").output().expect("it ran")
}

#[test]
fn the_program_runs_a_ramp_and_tells_a_table_or_json() {
    let server = server();
    let address = format!("127.0.0.1:{}", server.port());
    let prepared = program(&["prepare", "--server", &address, "--workload", "hot_row"]);
    assert!(prepared.status.success(), "{prepared:?}");
    let common = ["run", "--server", &address, "--workload", "hot_row", "--seconds", "0.3", "--warmup", "0", "-c", "1,4,9"];
    let ran = program(&common);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
    let counts: Vec<&str> =
        text.lines().filter_map(|line| line.split_whitespace().next()).filter(|word| ["1", "4", "9"].contains(word)).collect();
    assert_eq!(counts, ["1", "4", "9"], "{text}");
    let ran = program(&[&common[..], &["--json"]].concat());
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert_eq!(text.lines().count(), 3, "{text}");
    for (line, ready) in text.lines().zip(["1", "4", "9"]) {
        assert!(line.contains(&format!(r#""ready":{ready},"#)) && line.contains(r#""check":"ok""#), "{line}");
    }
    assert!(program(&["workloads"]).stdout.starts_with(b"tpcc "));
}

#[test]
fn wrong_inputs_are_told_in_one_line() {
    let server = server();
    let mut client = server.connect();
    client.query_drop("CREATE USER guest@'%' IDENTIFIED BY 'secret'").expect("it runs");
    client.query_drop("GRANT ALL ON *.* TO guest@'%'").expect("it runs");
    let address = format!("127.0.0.1:{}", server.port());
    let at = ["run", "--seconds", "0.1", "--warmup", "0", "--server"];
    for (arguments, expected) in [
        (&[&address, "--workload", "hot_row", "--user", "nobody"][..], "error 1045"),
        (&[&address, "--workload", "hot_row", "--user", "guest", "--password", "wrong"], "error 1045"),
        (&[&address, "--workload", "hot_row"], "`altiplano bench prepare` makes it"),
        (&[&address, "--workload", "hot_row", "--database", "mysql"], "`altiplano bench prepare --workload hot_row` makes the tables"),
        (&["127.0.0.1:1", "--workload", "hot_row"], "127.0.0.1:1 cannot be used"),
        (&["/no/such/socket", "--workload", "hot_row"], "cannot connect to /no/such/socket"),
        (&["no-such-host.invalid", "--workload", "hot_row"], "no-such-host.invalid: cannot be resolved"),
        (&[&address, "--workload", "nothing"], "invalid value 'nothing'"),
        (&[&address, "--workload", "hot_row", "-c", "0"], "invalid value '0'"),
        (&[&address, "--workload", "hot_row", "--keys", "zipf:1"], "zipf:1"),
        (&[&address, "--workload", "hot_row", "--drain-seconds", "soon"], "not a number of seconds"),
        (&[&address, "--workload", "tpcc", "--think", "--rate", "5"], "cannot be used with"),
    ] {
        let output = program(&[&at[..], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), said.lines().count()), (Some(1), 1), "{arguments:?}: {said}");
        assert!(said.starts_with("altiplano: ") && said.contains(expected), "{arguments:?}: {said}");
    }
    // By the unix socket the password goes in the clear at first.
    let socket = server.socket();
    let socket = socket.to_str().expect("a name");
    let guest = ["--user", "guest", "--password", "secret", "--workload", "hot_row", "--server"];
    let prepared = program(&[&["prepare"][..], &guest, &[socket]].concat());
    assert!(prepared.status.success(), "{prepared:?}");
    let ran = program(&[&["run", "-c", "40", "--seconds", "0.2", "--warmup", "0", "--json"][..], &guest, &[socket]].concat());
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(ran.status.success() && text.contains(r#""ready":40,"#) && text.contains(r#""check":"ok""#), "{ran:?}");
    client.query_drop("ALTER USER guest@'%' IDENTIFIED BY 'secret'").expect("it runs");
    // The right password lets in, by the exchange of a key at first.
    let prepared = program(&[
        "prepare",
        "--server",
        &address,
        "--workload",
        "tpcc",
        "--warehouses",
        "1",
        "--items",
        "100",
        "--customers",
        "10",
        "--user",
        "guest",
        "--password",
        "secret",
    ]);
    assert!(prepared.status.success(), "{prepared:?}");
    let output = program(&[&at[..], &[&address, "--workload", "tpcc", "--warehouses", "5"]].concat());
    assert!(String::from_utf8_lossy(&output.stderr).contains("warehouse was prepared for --warehouses 1, not 5"), "{output:?}");
}
