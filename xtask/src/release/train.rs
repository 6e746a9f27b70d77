//! What the instrumented program does while it counts: about two minutes of the load that releases are measured with, and of what applications do
//! around it. Nothing here depends on time but how often it happens; the profile wants proportions, not precision.

use super::compile::{said, succeeded};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The mix in words, for `altiplano version`.
pub const MIX: &str =
    "sysbench's point selects, reads and writes (prepared and text), TPC-C, bulk inserts, scans, joins, grouping, DDL, logins";

/// Runs of the load client: what is prepared, what is run, for how many seconds.
const LOAD: [(&str, &str, u32); 6] = [
    ("point_select", "", 10),
    ("point_select", "--text", 8),
    ("read_write", "", 20),
    ("read_write", "--text", 10),
    ("tpcc", "", 25),
    ("tpcc", "--text", 8),
];
const SIZE: [&str; 10] = ["--tables", "2", "--table-size", "20000", "--warehouses", "2", "--items", "10000", "--customers", "300"];
const LOGINS: u32 = 60;
/// Stopping writes all pages and the profile.
const STOP_SECONDS_MAX: u64 = 120;

/// Trains `program`; its profiles go to `raw`.
pub fn run(program: &Path, client: Option<&[String]>, raw: &Path) -> Result<(), String> {
    let data = raw.with_file_name("training-data");
    let _ = std::fs::remove_dir_all(&data);
    let mut server = Server::start(program, &data, raw)?;
    let done = load(program, client, raw, server.port);
    let stopped = server.stop();
    let _ = std::fs::remove_dir_all(&data);
    done.and(stopped)
}

fn load(program: &Path, client: Option<&[String]>, raw: &Path, port: u16) -> Result<(), String> {
    let client: Vec<String> = match client {
        Some(client) => client.to_vec(),
        None => vec![program.display().to_string(), "bench".to_owned()],
    };
    let address = format!("127.0.0.1:{port}");
    // The client may be the same instrumented program: what it does is not what is trained.
    let unheard = |name: &str| {
        let mut command = Command::new(name);
        command.env("LLVM_PROFILE_FILE", raw.with_file_name("discarded.profraw")).stdout(Stdio::null());
        command
    };
    let mut prepared = "";
    for (workload, text, seconds) in LOAD {
        let bench = |action: &str| {
            let mut command = unheard(&client[0]);
            command.args(&client[1..]).args([action, "--server", &address, "--workload", workload]).args(SIZE);
            command
        };
        if prepared != workload {
            succeeded(&mut bench("prepare"))?;
            prepared = workload;
        }
        let mut command = bench("run");
        command.args(["--connections", "8", "--warmup", "0", "--seconds", &seconds.to_string()]).args(Some(text).filter(|t| !t.is_empty()));
        succeeded(&mut command)?;
    }
    let sql = |text: &str| {
        let mut child = unheard(&program.display().to_string())
            .args(["sql", "-B", "-P", &port.to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot run the client: {e}"))?;
        // The pipe is closed when it is dropped, which ends the client.
        child.stdin.take().expect("a pipe").write_all(text.as_bytes()).map_err(|e| format!("the client does not listen: {e}"))?;
        if child.wait().is_ok_and(|status| status.success()) { Ok(()) } else { Err("the statements of the training failed".to_owned()) }
    };
    sql(&statements())?;
    (0..LOGINS).try_for_each(|_| sql("SELECT @@version;"))
}

/// Two tables of 30,000 rows in statements of 500, what reports ask of them, and what upgrades of applications do.
fn statements() -> String {
    let mut out = String::from(
        "CREATE DATABASE training; USE training;\n\
         CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, g INT NOT NULL, v DECIMAL(10,2), name VARCHAR(40), made DATETIME, KEY (g));\n\
         CREATE TABLE b (id INT PRIMARY KEY, a INT NOT NULL, q INT, note VARCHAR(60), KEY (a));\n",
    );
    for first in (1..=30_000u32).step_by(500) {
        let rows = |row: &dyn Fn(u32) -> String| (first..first + 500).map(row).collect::<Vec<_>>().join(",");
        let a = rows(&|n| {
            format!(
                "({}, {}.{:02}, 'name {}', '2026-{:02}-{:02} 10:00:00')",
                n % 300,
                n % 900,
                n % 100,
                n * 7 % 1000,
                n % 12 + 1,
                n % 28 + 1
            )
        });
        let b = rows(&|n| format!("({n}, {}, {}, 'a note of {}')", n * 7919 % 30_000 + 1, n % 11, n % 50));
        let _ = writeln!(out, "INSERT INTO a (g, v, name, made) VALUES {a};\nINSERT INTO b VALUES {b};");
    }
    for n in 1..=12u32 {
        let _ = writeln!(
            out,
            "SELECT COUNT(*), SUM(v), MIN(made), MAX(name) FROM a;\n\
             SELECT g, COUNT(*), AVG(v) FROM a WHERE made >= '2026-0{}-01' GROUP BY g ORDER BY 3 DESC LIMIT 10;\n\
             SELECT a.name, b.note FROM a JOIN b ON b.a = a.id WHERE a.g = {} ORDER BY b.id LIMIT 100;\n\
             SELECT COUNT(*) FROM a JOIN b ON b.q = a.id WHERE b.note LIKE '%{n}';\n\
             SELECT a.g, SUM(b.q) FROM a LEFT JOIN b ON a.id = b.a GROUP BY a.g HAVING SUM(b.q) > 10 ORDER BY a.g;\n\
             SELECT DISTINCT name FROM a WHERE name LIKE 'name 1%' ORDER BY name;\n\
             SELECT * FROM a WHERE id IN (SELECT a FROM b WHERE q = {}) ORDER BY made, id LIMIT 50;\n\
             SELECT id, ROW_NUMBER() OVER (PARTITION BY g ORDER BY v) FROM a WHERE id < 2000;\n\
             UPDATE a SET v = v + 1 WHERE g = {};\n\
             DELETE FROM b WHERE id BETWEEN {} AND {};\n\
             SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = 'training';",
            n % 9 + 1,
            n * 20,
            n % 11,
            n * 13,
            n * 100,
            n * 100 + 50,
        );
    }
    out.push_str(
        "ALTER TABLE a ADD COLUMN extra INT DEFAULT 3;\nCREATE INDEX by_name ON a (name);\nALTER TABLE b MODIFY q BIGINT;\n\
         EXPLAIN SELECT * FROM a JOIN b ON b.a = a.id;\nSHOW CREATE TABLE a;\nSHOW TABLES;\nCHECK TABLE a, b;\nTRUNCATE TABLE b;\nDROP DATABASE training;\n",
    );
    out
}

/// The program as a server of its own directory.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(program: &Path, data: &Path, raw: &Path) -> Result<Server, String> {
        let mut child = Command::new(program)
            .args(["serve", "--port", "0", "--buffer-pool-size", "256M", "--data-dir"])
            .arg(data)
            .env("LLVM_PROFILE_FILE", raw.join("server-%p.profraw"))
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot run {}: {e}", program.display()))?;
        let mut log = BufReader::new(child.stderr.take().expect("a pipe"));
        let (mut line, mut port) = (String::new(), None);
        while !line.contains("ready") {
            line.clear();
            if log.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
                return Err("the server ended at its start".to_owned());
            }
            port = line.trim().split_once("listening on 127.0.0.1:").and_then(|(_, port)| port.parse().ok()).or(port);
        }
        // Read on, so that the server is never kept waiting with its log.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        Ok(Server { child, port: port.ok_or("the server named no port")? })
    }

    /// A clean stop: only then is the profile written.
    fn stop(&mut self) -> Result<(), String> {
        said(Command::new("kill").args(["-TERM", &self.child.id().to_string()])).ok_or("the server has gone")?;
        let started = Instant::now();
        while started.elapsed() < Duration::from_secs(STOP_SECONDS_MAX) {
            if let Some(status) = self.child.try_wait().map_err(|e| e.to_string())? {
                return if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) };
            }
            #[expect(clippy::disallowed_methods, reason = "nothing tells of a child's end within a time")]
            std::thread::sleep(Duration::from_millis(100));
        }
        Err("the server does not stop".to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Where something has failed; a server that has stopped is gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_whole_and_many() {
        let text = statements();
        assert_eq!(text.matches("INSERT INTO a").count(), 60);
        assert!(text.lines().all(|line| line.ends_with(';')), "a statement is cut off");
        assert_eq!(text.matches("(").count(), text.matches(")").count());
    }
}
