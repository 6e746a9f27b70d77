//! `altiplano sql`, and the bars of a backup and of a load, as a person at a terminal meets them: through a pseudo-terminal, against the real server.

use harness::Server;
use mysql::prelude::Queryable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// What is not there after this long does not come.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };
const COLUMNS: u16 = 80;

/// A client in a terminal of its own.
struct Terminal {
    master: File,
    child: Child,
    /// What the terminal showed since the last expectation was met.
    shown: String,
}

impl Terminal {
    fn open(server: &Server, home: &Path) -> Terminal {
        Terminal::run(&["sql", "-P", &server.port().to_string()], home)
    }

    fn run(arguments: &[&str], home: &Path) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let name = OsString::from_vec(ptsname(&master, Vec::new()).expect("its name").into_bytes());
        let slave = OpenOptions::new().read(true).write(true).open(name).expect("the terminal's other end");
        tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 }).expect("its size");
        let child = Command::new(env!("CARGO_BIN_EXE_altiplano"))
            .args(arguments)
            .env_clear()
            .env("HOME", home)
            .env("TERM", "xterm")
            .stdin(slave.try_clone().expect("a copy"))
            .stdout(slave.try_clone().expect("a copy"))
            .stderr(slave)
            .spawn()
            .expect("the program starts");
        Terminal { master: File::from(master), child, shown: String::new() }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until the terminal has shown all of `texts`, one after the other.
    fn expect(&mut self, texts: &[&str]) {
        for text in texts {
            loop {
                if let Some(at) = self.shown.find(text) {
                    self.shown.drain(..at + text.len());
                    break;
                }
                assert!(self.read_more(), "`{text}` does not come after\n{}", self.shown);
            }
        }
    }

    /// False when the other end is closed, or nothing comes.
    fn read_more(&mut self) -> bool {
        let mut fds = [PollFd::new(&self.master, PollFlags::IN)];
        if poll(&mut fds, Some(&PATIENCE)).expect("a poll") == 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        // The client's end is closed: EIO.
        let Ok(count) = self.master.read(&mut bytes) else { return false };
        self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        count > 0
    }

    /// All that it shows until the program ends, and the exit code.
    fn rest(mut self) -> (String, Option<i32>) {
        while self.read_more() {}
        (std::mem::take(&mut self.shown), self.child.wait().expect("it ended").code())
    }

    fn end(mut self) -> Option<i32> {
        self.expect(&["Bye"]);
        self.child.wait().expect("it ended").code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const PROMPT: &str = "altiplano> ";

#[test]
fn a_person_types_statements_and_finds_them_again() {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let home = tempfile::tempdir().expect("a directory");
    let mut terminal = Terminal::open(&server, home.path());
    terminal.expect(&["Connected to", "leave with", PROMPT]);
    // A statement over two lines; the second prompt tells that it goes on.
    terminal.press("SELECT 20 + 3 AS one,\r");
    terminal.expect(&["-> "]);
    terminal.press("'a;b' AS two;\r");
    terminal.expect(&["| one | two |", "|  23 | a;b |", "1 row in set", PROMPT]);
    // A quote goes on over lines as well, and a line may hold two statements.
    terminal.press("SELECT 'x\r");
    terminal.expect(&["'> "]);
    terminal.press("y' AS v\\G SELECT 7 AS w;\r");
    terminal.expect(&["1. row", "v: x", "| w |", "| 7 |", PROMPT]);
    // An error is told and the session goes on; so do lines that ask for something else than a statement.
    terminal.press("SELECT nothing FROM nowhere;\r");
    terminal.expect(&["ERROR 1046 (3D000)", PROMPT]);
    terminal.press("\\s\r");
    terminal.expect(&["as root", PROMPT]);
    // Given up with Ctrl-C: nothing of it is left.
    terminal.press("SELECT 'never\r");
    terminal.expect(&["'> "]);
    terminal.press("\x03");
    terminal.expect(&[PROMPT]);
    terminal.press("SELECT 40 + 2 AS answer;\r");
    terminal.expect(&["| answer |", "|     42 |", PROMPT]);
    // The last statement comes back with the arrow up.
    terminal.press("\x1b[A\r");
    terminal.expect(&["| answer |", "|     42 |", PROMPT]);
    terminal.press("quit\r");
    assert_eq!(terminal.end(), Some(0));
    let history = std::fs::read_to_string(home.path().join(".altiplano_history")).expect("a history");
    assert!(history.contains("SELECT 40 + 2 AS answer;") && history.contains("SELECT 20 + 3 AS one,"), "{history}");
    assert!(!history.contains("never"), "{history}");

    // The next session has the history; Ctrl-D leaves.
    let mut terminal = Terminal::open(&server, home.path());
    terminal.expect(&[PROMPT]);
    terminal.press("\x1b[A\x1b[A\r");
    terminal.expect(&["| answer |", "|     42 |", PROMPT]);
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_server_that_has_gone_is_told_and_found_again() {
    let mut server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let home = tempfile::tempdir().expect("a directory");
    let mut terminal = Terminal::open(&server, home.path());
    terminal.expect(&[PROMPT]);
    server.kill();
    terminal.press("SELECT 1;\r");
    terminal.expect(&["ERROR 20", "cannot connect", PROMPT]);
    terminal.press("quit\r");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_backup_shows_how_far_it_is_and_keeps_to_its_rate() {
    const MEGABYTES: u32 = 8;
    let home = tempfile::tempdir().expect("a directory");
    let mut server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let mut c = server.connect();
    c.query_drop("CREATE DATABASE d").expect("made");
    c.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, s VARCHAR(1000) NOT NULL)").expect("made");
    for first in 0..MEGABYTES {
        let rows: Vec<String> = (0..1000).map(|no| format!("({}, REPEAT('x', 1000))", first * 1000 + no)).collect();
        c.query_drop(format!("INSERT INTO d.t VALUES {}", rows.join(","))).expect("rows");
    }
    drop(c);
    // So that it all stands in pages: the log is copied as fast as it is read.
    assert_eq!(server.stop(), Some(0));
    server.restart();
    let (port, to) = (server.port().to_string(), home.path().join("full"));
    let begun = Instant::now();
    let backup = ["backup", "-P", &port, "--to", to.to_str().expect("a path in UTF-8"), "--rate", "4"];
    let mut terminal = Terminal::run(&backup, home.path());
    // The bar fills.
    terminal.expect(&["backup [#", "] ", " %  ", " MB at ", " MB/s, ", " s left"]);
    terminal.expect(&["backup [##########", "backup complete: LSN "]);
    assert_eq!(terminal.child.wait().expect("it ended").code(), Some(0));
    // Eight megabytes and what stands around them, but for the last piece, which nobody waits behind.
    let least = Duration::from_secs(u64::from(MEGABYTES) / 4).mul_f64(0.75);
    assert!(begun.elapsed() >= least, "{:?} for {MEGABYTES} MB at 4 MB/s", begun.elapsed());
}

/// What stands on a terminal at the end of such bytes; panics for control characters that a bar has no use for.
fn screen(bytes: &str) -> Vec<String> {
    let (mut lines, mut column) = (vec![String::new()], 0);
    let mut rest = bytes;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        let line = lines.last_mut().expect("a line");
        match c {
            '\r' => column = 0,
            '\n' => lines.push(String::new()),
            '\x1b' => {
                rest = rest.strip_prefix("[K").unwrap_or_else(|| panic!("ESC {rest:?}"));
                *line = line.chars().take(column).collect();
            }
            c => {
                assert!(!c.is_control(), "{c:?} in {bytes:?}");
                *line = line.chars().take(column).chain([c]).chain(line.chars().skip(column + 1)).collect();
                column += 1;
            }
        }
    }
    lines
}

type BarShown<'b> = (u32, &'b str, usize, f64, f64);

fn bar(line: &str) -> Option<BarShown<'_>> {
    let (what, rest) = line.split_once(" [")?;
    let (bar, far) = rest.split_once("] ")?;
    let phase = ["warming up", "measuring"].into_iter().find(|phase| far.starts_with(phase))?;
    let mut words = far.trim_end_matches("\x1b[K")[phase.len()..].split_whitespace();
    let seconds = words.next()?.parse().ok()?;
    let rate = words.last()?.strip_suffix("/s")?.parse().ok()?;
    Some((what.strip_prefix("oltp_point_select x")?.parse().ok()?, phase, bar.matches('#').count(), seconds, rate))
}

/// Connections, phase, parts of the bar that are full, seconds and rate of what a load shows while it works.
fn bars(bytes: &str) -> Vec<BarShown<'_>> {
    bytes.split(['\r', '\n']).filter_map(bar).collect()
}

#[test]
fn a_load_shows_how_far_it_is_and_leaves_its_table_alone() {
    let server = Server::start(env!("CARGO_BIN_EXE_altiplano"), &[]);
    let home = tempfile::tempdir().expect("a directory");
    let address = format!("127.0.0.1:{}", server.port());
    let bench = |verb, more: &[&'static str]| {
        let all = ["bench", verb, "--server", &address, "--workload", "oltp_point_select", "--tables", "1", "--table-size", "100"];
        all.iter().chain(more).map(ToString::to_string).collect::<Vec<String>>()
    };
    let plain = |arguments: &[String]| {
        let output = Command::new(env!("CARGO_BIN_EXE_altiplano")).args(arguments).output().expect("runs");
        let (out, err) = (String::from_utf8(output.stdout).expect("UTF-8"), String::from_utf8(output.stderr).expect("UTF-8"));
        // Whoever reads a file or a pipe gets lines.
        assert!((out.clone() + &err).chars().all(|c| c == '\n' || !c.is_control()), "{out:?} {err:?}");
        (out, err, output.status.code())
    };
    assert_eq!(plain(&bench("prepare", &[])).2, Some(0));
    let arguments = bench("run", &["--connections", "1,2", "--warmup", "0.5", "--seconds", "1.5"]);
    let (out, err, code) = plain(&arguments);
    assert!(code == Some(0) && err.is_empty() && out.contains("connections "), "{out:?} {err:?}");

    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (bytes, code) = Terminal::run(&arguments, home.path()).rest();
    assert_eq!(code, Some(0), "{bytes}");
    let bars = bars(&bytes);
    for connections in [1, 2] {
        for (phase, seconds) in [("warming up", 0.5), ("measuring", 1.5)] {
            let shown: Vec<_> = bars.iter().filter(|bar| bar.0 == connections && bar.1 == phase).collect();
            let text = format!("{phase} with {connections}: {shown:?}\n{bytes:?}");
            assert!(shown.windows(2).all(|two| two[0].2 <= two[1].2 && two[0].3 <= two[1].3), "it went back: {text}");
            assert!(shown.iter().all(|bar| bar.3 <= seconds), "{text}");
            // A busy machine shows fewer, but not one alone for so long.
            assert!(phase == "warming up" || shown[0].2 < shown[shown.len() - 1].2 && shown.iter().any(|bar| bar.4 > 0.0), "{text}");
        }
    }
    // Nothing of a bar is left, and nothing of the table was taken.
    let lines = screen(&bytes);
    assert!(lines[0].starts_with("oltp_point_select on 127.0.0.1:"), "{lines:?}");
    assert!(lines[1].starts_with("connections "), "{lines:?}");
    let figures: Vec<&str> = lines[2..].iter().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(figures, ["1", "2"], "{lines:?}");
    assert_eq!(lines.last().map(String::as_str), Some(""), "the next prompt has a line of its own: {lines:?}");
    let mut drawn = bytes.split('\r').map(|line| line.trim_end_matches("\x1b[K")).filter(|line| line.contains(" ["));
    assert_eq!(drawn.find(|line| line.len() >= usize::from(COLUMNS)), None, "the terminal would break it");

    // An error has a line of its own as well.
    let refused = ["bench", "run", "--server", &address, "--workload", "oltp_point_select", "--user", "nobody", "--connections", "2"];
    let (bytes, code) = Terminal::run(&refused, home.path()).rest();
    let lines = screen(&bytes);
    assert!(code == Some(1) && lines.len() == 2 && lines[0].contains("nobody") && !lines[0].contains("logging in"), "{lines:?}");
}
