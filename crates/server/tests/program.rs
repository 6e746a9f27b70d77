//! The `altiplano` program as an operator meets it: start, complaints, signals, the client.

mod canned;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use canned::Canned;
use server::listener::Listeners;
use server::server::Server;
use session::service::FrontSettings;

fn altiplano() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_altiplano"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ALTIPLANO_") {
            command.env_remove(name);
        }
    }
    command
}

/// Starts a server on `dir` and returns it with its port.
fn start(dir: &std::path::Path) -> (Child, u16, impl BufRead) {
    let mut child = altiplano().args(["--port", "0", "--data-dir"]).arg(dir).stderr(Stdio::piped()).spawn().expect("the program starts");
    let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    let mut port = None;
    while !line.contains("ready") {
        line.clear();
        assert!(log.read_line(&mut line).expect("text") > 0, "the server ended");
        if let Some((_, address)) = line.trim().split_once("listening on 127.0.0.1:") {
            port = address.parse().ok();
        }
    }
    (child, port.expect("a port was told"), log)
}

fn signal(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).expect("the server lives");
}

fn one_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    // Beside the server's log.
    let complaints: Vec<&str> = text.lines().filter(|line| !line.contains(" [System] ")).collect();
    assert_eq!(complaints.len(), 1, "{text}");
    assert_eq!(output.status.code(), Some(1));
    complaints[0].strip_prefix("altiplano: ").expect("it says who complains").to_owned()
}

/// Only the thread that syncs the log for replies lets others go first (docs/design/threads.md): with it as eager as they are, busy processors spend their time on syncs for one commit or two.
#[test]
fn who_syncs_for_replies_stands_back() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut child, _, _log) = start(dir.path());
    let nice_of = |name: &str| -> Vec<i32> {
        let threads = std::fs::read_dir(format!("/proc/{}/task", child.id())).expect("threads").flatten();
        let is_called = |thread: &std::fs::DirEntry| std::fs::read_to_string(thread.path().join("comm")).is_ok_and(|it| it.trim() == name);
        // The fields behind the name, which is in parentheses, begin with the third; `nice` is the nineteenth.
        let nice = |thread: std::fs::DirEntry| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).ok()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(16)?.parse().ok()
        };
        threads.filter(is_called).filter_map(nice).collect()
    };
    // The others are as nice as whoever runs the tests. A thread has its name when it runs, which may be after the server has said that it is ready.
    let own = rustix::process::getpriority_process(None).expect("one's own");
    for (name, nice) in [("replies", (own + 10).min(19)), ("acceptor", own), ("watcher", own), ("crew", own)] {
        harness::until(name, || nice_of(name) == [nice]);
    }
    signal(&child, rustix::process::Signal::TERM);
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_server_starts_complains_and_stops() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = dir.path().join("new/data");
    let (mut child, port, _log) = start(&data);
    let busy = altiplano().args(["--port", &port.to_string(), "--data-dir"]).arg(dir.path().join("other")).output().expect("it ran");
    assert!(one_line(&busy).contains("is in use"), "{busy:?}");
    let socket = dir.path().join("x.sock");
    let locked = altiplano().args(["serve", "--port", "0", "--socket"]).arg(&socket).arg("--data-dir").arg(&data).output().expect("it ran");
    assert!(one_line(&locked).contains("in use by another server"), "{locked:?}");
    signal(&child, rustix::process::Signal::TERM);
    assert_eq!(child.wait().expect("it ended").code(), Some(0));
    assert!(!data.join("altiplano.sock").exists());
    let (mut child, _, _log) = start(&data);
    signal(&child, rustix::process::Signal::INT);
    assert_eq!(child.wait().expect("it ended").code(), Some(0));
}

/// What systemd waits for where the unit says `Type=notify`: `READY=1` when connections are served, not before.
#[test]
fn the_service_manager_is_told_who_serves_and_who_stops() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixDatagram};

    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("notify");
    let hidden = format!("altiplano-test-{}", std::process::id());
    let managers = [
        (UnixDatagram::bind(&path).expect("a socket"), path.to_str().expect("text").to_owned()),
        (
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&hidden).expect("a name")).expect("a socket without a file"),
            format!("@{hidden}"),
        ),
    ];
    let data = dir.path().join("data");
    for (manager, name) in managers {
        let told = || {
            let mut text = [0; 64];
            let count = manager.recv(&mut text).expect("a message");
            String::from_utf8_lossy(&text[..count]).into_owned()
        };
        let socket = dir.path().join("s");
        let run =
            || altiplano().env("NOTIFY_SOCKET", &name).args(["--port", "0", "--socket"]).arg(&socket).arg("--data-dir").arg(&data).spawn();
        let mut child = run().expect("the program starts");
        assert_eq!(told(), "READY=1", "{name}");
        let mode = std::os::unix::fs::PermissionsExt::mode(&socket.metadata().expect("a socket").permissions()) & 0o777;
        assert_eq!(mode, 0o777, "accounts say who comes in");
        // One that does not serve says nothing, so that the next message is the first one's.
        let mut refused = run().expect("the program starts");
        assert_eq!(refused.wait().expect("it ended").code(), Some(1));
        let answer = altiplano().args(["sql", "-N", "-S"]).arg(&socket).args(["-e", "SELECT 7"]).output().expect("the client ran");
        assert_eq!(answer.stdout, b"7\n");
        signal(&child, rustix::process::Signal::TERM);
        assert_eq!(told(), "STOPPING=1", "{name}");
        assert_eq!(child.wait().expect("it ended").code(), Some(0));
    }
}

#[test]
fn bad_settings_are_told_in_one_line() {
    let dir = tempfile::tempdir().expect("a directory");
    let toml = dir.path().join("altiplano.toml");
    for (text, expect) in [
        ("prot = 1", "line 1: unknown field `prot`"),
        ("port = 3307\nbind = = 3", "altiplano.toml, line 2: "),
        ("\n\nport = \"x\"", "line 3: invalid type"),
        ("[set]\nmax_connections = [1]", "variable `max_connections` must be"),
        ("[set]\nport = 3307", "--set port=3307: it has an option of its own, --port or ALTIPLANO_PORT"),
        ("[set]\nnosuch = 1", "Unknown system variable 'nosuch'"),
    ] {
        std::fs::write(&toml, text).expect("written");
        let output = altiplano().args(["--port", "0", "--data-dir"]).arg(dir.path()).output().expect("it ran");
        let complaint = one_line(&output);
        assert!(complaint.contains(expect), "{text}: {complaint}");
    }
    std::fs::remove_file(&toml).expect("removed");
    let data = dir.path().to_str().expect("text");
    for (arguments, expect) in [
        (&["--prot", "1"][..], "unexpected argument '--prot' found (a similar argument exists: '--port')"),
        (&["serve", "--port", "99999"], "invalid value '99999' for '--port <N>'"),
        (&["serve", "--buffer-pool-size", "lots"], "`lots` is not a size such as 512M or 4G"),
        (&["serve", "--set", "foo"], "`foo` is not name=value"),
        (&["srve"], "unrecognized subcommand 'srve'"),
        (&["sql", "--bad"], "unexpected argument '--bad'"),
        (&["serve", "--port", "0", "--data-dir", data, "--set", "max_connections=abc"], "max_connections"),
        (&["serve", "--port", "0", "--data-dir", data, "--config", "/nosuch.toml"], "/nosuch.toml: No such file"),
        (&["serve", "--port", "0", "--data-dir", "/proc/nosuch"], "cannot make /proc/nosuch"),
        (
            &["serve", "--port", "0", "--data-dir", data, "--buffer-pool-size", "18446744073709551615"],
            "choose a smaller --buffer-pool-size",
        ),
        (&["serve", "--port", "0", "--data-dir", data, "--bind", "192.0.2.1"], "cannot listen on 192.0.2.1"),
    ] {
        let complaint = one_line(&altiplano().args(arguments).output().expect("it ran"));
        assert!(complaint.contains(expect), "{arguments:?}: {complaint}");
    }
    for (arguments, expect) in [(&["version"][..], "altiplano "), (&["--help"], "Usage:"), (&["serve", "--help"], "--buffer-pool-size")] {
        let output = altiplano().args(arguments).output().expect("it ran");
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8_lossy(&output.stdout).contains(expect), "{arguments:?}");
    }
}

#[test]
fn the_version_tells_how_it_was_built() {
    let said = |arguments: &[&str]| {
        let output = altiplano().args(arguments).output().expect("it ran");
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).expect("text")
    };
    let text = said(&["version"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], format!("altiplano {}", env!("CARGO_PKG_VERSION")));
    let names: Vec<&str> = lines[1..].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["commit", "profile", "lto", "pgo", "target", "rustc"]);
    assert!(lines[1..].iter().all(|line| line.split_whitespace().count() > 1), "{text}");
    let line = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name)).expect("a line").trim();
    // Which profile this test is built in its own path says: …/target/[TRIPLE/]PROFILE/deps/program-….
    let test = std::env::current_exe().expect("this program");
    let directory = test.parent().and_then(|deps| deps.parent()?.file_name()).expect("a directory").to_string_lossy();
    assert!(line("profile").starts_with(&format!("{directory}, opt-level ")), "{text}");
    if directory == "debug" {
        assert_eq!((line("commit"), line("lto"), line("pgo")), ("not recorded (an unoptimised build)", "none", "none"));
    }
    assert!(line("target").starts_with(std::env::consts::ARCH) && line("rustc").starts_with("rustc "), "{text}");
    let json = said(&["version", "--json"]);
    assert!(
        json.starts_with(&format!("{{\"version\": \"{}\", \"commit\": \"", env!("CARGO_PKG_VERSION"))) && json.ends_with("\"}\n"),
        "{json}"
    );
}

#[test]
fn the_client_runs_statements_from_everywhere() {
    let listeners = Listeners::bind("127.0.0.1", 0, None).expect("a free port");
    let port = listeners.addresses()[0].port().to_string();
    let mut canned = Canned::new(FrontSettings::default());
    let stored = protocol::auth::sha2_hash(b"secret", *b"01234567890123456789");
    canned.accounts.insert("sha2".to_owned(), (session::accounts::AuthPlugin::CachingSha2, stored));
    let server = Server::start(Arc::new(canned), listeners, Duration::from_millis(50)).expect("threads");
    let sql = |arguments: &[&str], input: &str| {
        let mut child = altiplano()
            .args(["sql", "-P", &port])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // The program may end before it has read everything.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ended");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let who = "who\nroot@localhost root None\n";
    assert_eq!(sql(&["-e", "WHO"], ""), (Some(0), who.to_owned(), String::new()));
    assert_eq!(sql(&[], "WHO;\nWHO -- a comment;\n;"), (Some(0), who.repeat(2), String::new()));
    assert_eq!(
        sql(&["-N", "db"], "WHO\\G").1,
        "*************************** 1. row ***************************\nwho: root@localhost root Some(\"db\")\n"
    );
    assert!(sql(&["-t", "-e", "WHO"], "").1.starts_with("+---"));
    assert!(sql(&["-u", "sha2", "-psecret", "-e", "WHO"], "").1.contains("sha2@localhost"));
    let (code, _, complaint) = sql(&["-u", "sha2", "-pwrong", "-e", "WHO"], "");
    assert_eq!(
        (code, complaint.as_str()),
        (Some(1), "ERROR 1045 (28000): Access denied for user 'sha2'@'localhost' (using password: YES)\n")
    );
    let (code, output, complaint) = sql(&[], "KILLQUERY 0; BOOM; WHO;");
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(complaint.starts_with("ERROR 2013"), "{complaint}");
    let dir = tempfile::tempdir().expect("a directory");
    let file = dir.path().join("f");
    std::fs::write(&file, vec![b'x'; 3 << 20]).expect("written");
    let load = format!("LOAD {}", file.display());
    assert_eq!(sql(&["--local-infile", "-e", &load], "").0, Some(0));
    assert!(sql(&["-e", &load], "").2.contains("--local-infile"));
    assert_eq!(server.stop(Duration::from_secs(20)), 0);
    let (code, _, complaint) = sql(&["-e", "WHO"], "");
    assert_eq!(code, Some(1));
    assert!(complaint.contains("cannot connect"), "{complaint}");
}

#[test]
fn the_command_line_says_which_server_before_the_environment_does() {
    const SOCKET: (&str, &str) = ("ALTIPLANO_SOCKET", "/nosuch/e");
    const HOST: (&str, &str) = ("ALTIPLANO_HOST", "127.0.0.1");
    const PORT: (&str, &str) = ("ALTIPLANO_PORT", "1");
    for (arguments, environment, place) in [
        (&[][..], &[SOCKET][..], "/nosuch/e"),
        (&[], &[SOCKET, PORT], "/nosuch/e"),
        (&[], &[SOCKET, PORT, HOST], "127.0.0.1:1"),
        (&["-h", "127.0.0.1", "-P", "1"], &[SOCKET], "127.0.0.1:1"),
        (&["-P", "1"], &[SOCKET], "127.0.0.1:1"),
        (&["-h", "127.0.0.1"], &[SOCKET, PORT], "127.0.0.1:1"),
        (&["-h", "localhost"], &[SOCKET, HOST], "/nosuch/e"),
        (&["-S", "/nosuch/o"], &[SOCKET, HOST, PORT], "/nosuch/o"),
        (&["-S", "/nosuch/o", "-h", "localhost", "-P", "1"], &[SOCKET], "/nosuch/o"),
        (&["-S", "/nosuch/o", "-h", "127.0.0.1", "-P", "1"], &[], "127.0.0.1:1"),
    ] {
        for command in [&["sql", "-e", "SELECT 1"][..], &["backup", "--to", "/nosuch/to"]] {
            let output = altiplano().args(command).args(arguments).envs(environment.iter().copied()).output().expect("it ran");
            let complaint = String::from_utf8_lossy(&output.stderr);
            assert!(complaint.contains(&format!("cannot connect to {place}: ")), "{arguments:?} {environment:?}: {complaint}");
        }
    }
}

#[test]
fn help_shows_no_password() {
    for arguments in [&["sql"][..], &["backup"], &["bench", "run"], &["bench", "prepare"]] {
        let output = altiplano().args(arguments).arg("--help").env("ALTIPLANO_PASSWORD", "hush").env("MYSQL_PWD", "hush").output();
        let help = String::from_utf8(output.expect("it ran").stdout).expect("text");
        assert!(help.contains("--password") && !help.contains("hush"), "{help}");
    }
}

#[test]
fn the_client_loads_dumps_as_they_are() {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut server, port, _log) = start(dir.path());
    let sql = |arguments: &[&str], input: &[u8]| {
        let file = dir.path().join("input.sql");
        std::fs::write(&file, input).expect("written");
        let output = altiplano()
            .args(["sql", "-N", "-P", &port.to_string()])
            .args(arguments)
            .stdin(std::fs::File::open(&file).expect("the input"))
            .output()
            .expect("it ran");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let dump = b"\xef\xbb\xbf-- a dump\n\nCREATE DATABASE d;\n-- its table\nuse d\nCREATE TABLE t (id INT PRIMARY KEY, b BLOB);\n\
        /* its\n rows */\nDELIMITER //\nINSERT INTO t VALUES (1, _binary '\xff\xfe\x80a;b')//\n# and back\nDELIMITER ;\n\
        SELECT HEX(b) FROM t;\n-- Dump completed\n";
    assert_eq!(sql(&[], dump), (Some(0), "FFFE80613B62\n".to_owned(), String::new()));
    // A wish that fails ends the run as a statement does.
    let (code, output, complaint) = sql(&[], b"use nosuch\nSELECT 1;");
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(complaint.starts_with("ERROR 1049"), "{complaint}");
    assert_eq!(sql(&["-f"], b"use nosuch\nSELECT 1;").1, "1\n");
    // A file that is not there, among other statements of one text.
    let load =
        b"SET GLOBAL local_infile = 1;\nDELIMITER //\nSELECT 4; LOAD DATA LOCAL INFILE '/nosuch' INTO TABLE d.t; SELECT 5; SELECT 6//\n\
        SELECT 7//";
    let (code, output, complaint) = sql(&["-f", "--local-infile"], load);
    assert_eq!((code, output.as_str()), (Some(1), "4\n5\n6\n7\n"), "{complaint}");
    assert!(complaint.starts_with("ERROR 2068") && complaint.lines().count() == 1, "{complaint}");
    signal(&server, rustix::process::Signal::TERM);
    assert!(server.wait().expect("it ends").success());
}
