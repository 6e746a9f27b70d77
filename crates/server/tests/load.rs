//! The load client (`crates/bench`) against the real server: hundreds of connections over two threads, totals exact afterwards.

use bench::options::{Action, CommandLine};
use clap::Parser;
use harness::Server;

fn server() -> Server {
    Server::start(env!("CARGO_BIN_EXE_altiplano"), &["--set", "max_connections=2000"])
}

fn action(server: &Server, verb: &str, workload: &str, more: &[&str]) -> Action {
    let address = format!("127.0.0.1:{}", server.port());
    let arguments = ["load", verb, "--server", &address, "--workload", workload];
    CommandLine::try_parse_from(arguments.iter().chain(more)).expect("well formed").action
}

fn prepare(server: &Server, workload: &str, size: &[&str]) {
    let Action::Prepare(options) = action(server, "prepare", workload, size) else { panic!("prepare") };
    bench::workload::prepare(&options).expect("loaded");
}

fn check(server: &Server, workload: &str, size: &[&str]) {
    let Action::Check(options) = action(server, "check", workload, size) else { panic!("check") };
    bench::workload::check(&options).expect("as it must be");
}

/// Runs for a moment; the report as JSON. Everybody was let in, nobody was lost, something was done.
fn run(server: &Server, workload: &str, more: &[&str]) -> String {
    let mut arguments = vec!["--seconds", "0.5", "--warmup", "0.1"];
    arguments.extend(more);
    let Action::Run(options) = action(server, "run", workload, &arguments) else { panic!("run") };
    let report = bench::run::run(&options).expect("a run");
    println!("{}", report.summary());
    let json = report.json();
    for none in ["\"refused\":0,", "\"lost\":0,", "\"unfinished\":0,", "\"failed\":0,"] {
        assert!(json.contains(none), "{none} {json}");
    }
    json
}

#[test]
fn one_row_updated_by_300_connections_has_the_sum_of_all() {
    let server = server();
    prepare(&server, "hot_row", &[]);
    for workload in ["hot_row", "hot_row_transaction"] {
        for mode in [&["-c", "300"][..], &["-c", "100", "--text"]] {
            let json = run(&server, workload, mode);
            assert!(json.contains(r#""check":"ok""#), "{json}");
        }
    }
}

#[test]
fn transfers_that_deadlock_keep_the_total() {
    let server = server();
    let size = ["--accounts", "20"];
    prepare(&server, "bank", &size);
    let json = run(&server, "bank", &["--accounts", "20", "-c", "200", "--isolation", "rc"]);
    assert!(json.contains(r#""check":"ok""#), "{json}");
    check(&server, "bank", &size);
}

#[test]
fn tpcc_keeps_its_consistency_conditions_at_both_levels() {
    let server = server();
    let size = ["--warehouses", "3", "--items", "200", "--customers", "60"];
    prepare(&server, "tpcc", &size);
    check(&server, "tpcc", &size);
    for more in [&["--isolation", "rc", "--text"][..], &["--isolation", "rr", "--roaming"]] {
        run(&server, "tpcc", &[&size[..], &["-c", "60"], more].concat());
        check(&server, "tpcc", &size);
    }
}

#[test]
fn sysbench_transactions_run_with_every_distribution() {
    let server = server();
    let size = ["--tables", "2", "--table-size", "1000"];
    prepare(&server, "read_write", &size);
    for (workload, keys) in
        [("read_write", "uniform"), ("write_only", "pareto"), ("point_select", "zipf"), ("update_index", "zipf:1.2"), ("insert", "uniform")]
    {
        run(&server, workload, &[&size[..], &["-c", "40", "--keys", keys, "--isolation", "rc"][..]].concat());
    }
}
