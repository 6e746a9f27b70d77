#!/usr/bin/env python3
"""acceptance.py: unmodified tools against a freshly started Altiplano. Exits with 1 if any step fails.

  scripts/acceptance.py                 everything
  scripts/acceptance.py sysbench tpcc   only these steps: install cli python node sysbench tpcc crash
  --seconds N (2) per sysbench run      --threads 1,64,1000       --tpcc-threads 1,16,128    --rounds N (5) of kill -9
  --server PATH (target/release/altiplano, built when missing)    --keep (leave the data directory)
  --scripts oltp_insert,bulk_insert (sysbench's scripts, all)     --tpcc-seconds N (10) per TPC-C run
  --check-seconds N (20) that go-tpc's check may take; on a machine with other load that is missed by the load's doing

It ends with one table of what passed, and the time it took.

Installs what it needs on Debian: sysbench and a mysql command-line client by apt, go-tpc by the Go proxy, PyMySQL by pip, mysql2 by npm,
all below $ALTIPLANO_TOOLS (default /var/tmp/altiplano-tools) where they allow it. Everything listens on 127.0.0.1 only.
"""
import argparse, os, random, re, resource, shutil, signal, socket, subprocess, sys, tempfile, threading, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(os.environ.get("ALTIPLANO_TOOLS", "/var/tmp/altiplano-tools"))
GO_TPC = ("github.com/pingcap/go-tpc", "v1.0.9", "h1:DeFrlVnNzC+SxiRIihNhD9fWHnHhMZWDSFNfUVq67Ys=")
SYSBENCH_SCRIPTS = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only", "oltp_insert", "oltp_update_index",
                    "oltp_update_non_index", "oltp_delete", "bulk_insert", "select_random_points", "select_random_ranges"]
TABLES, ROWS = 4, 10000
failures = []
# What the table at the end shows: per step and row the verdicts, one for each column.
verdicts = {}


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


def check(ok, what):
    say(("ok    " if ok else "FAIL  ") + what)
    if not ok:
        failures.append(what)
    return ok


class Cell:
    """A verdict in the table at the end: failed if a check failed within its block, or the block broke off."""

    def __init__(self, step, row, column):
        self.place, self.text = (step, row, column), ""

    def __enter__(self):
        self.failed_before, self.begin = len(failures), time.time()
        return self

    def __exit__(self, kind, error, _):
        if isinstance(error, (RuntimeError, subprocess.TimeoutExpired, ConnectionError)):
            check(False, f"{' '.join(str(p) for p in self.place)}: {error}")
        step, row, column = self.place
        fine = len(failures) == self.failed_before and error is None
        text = ("ok " if fine else "FAIL ") + (self.text or f"{time.time() - self.begin:.1f} s")
        verdicts.setdefault(step, {}).setdefault(str(row), {})[str(column)] = text
        return isinstance(error, (RuntimeError, subprocess.TimeoutExpired, ConnectionError))


def print_verdicts():
    for step, rows in verdicts.items():
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        lines = [[step, *columns]] + [[row, *(cells.get(column, "-") for column in columns)] for row, cells in rows.items()]
        widths = [max(len(line[n]) for line in lines) for n in range(len(columns) + 1)]
        for line in lines:
            print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
        print()


def load():
    return "load average %.0f" % os.getloadavg()[0]


def run(command, timeout=600, **more):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, **more)


# ---- tools ----
def install():
    TOOLS.mkdir(parents=True, exist_ok=True)
    packages = [p for p, tool in (("sysbench", "sysbench"), ("default-mysql-client", "mysql")) if not shutil.which(tool)]
    if packages:
        run(["apt-get", "update", "-qq"], check=True)
        run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages], check=True)
    if not (TOOLS / "bin/go-tpc").exists():
        module, version, expected = GO_TPC
        environment = {**os.environ, "GONOSUMDB": module, "GOFLAGS": "-modcacherw", "GOPATH": str(TOOLS / "go")}
        source = TOOLS / "go-tpc"
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)
        import json
        facts = json.loads(run(["go", "mod", "download", "-json", f"{module}@{version}"], cwd=source, env=environment, check=True).stdout)
        if facts["Sum"] != expected:
            sys.exit(f"{module} {version}: got {facts['Sum']}, expected {expected}")
        shutil.copytree(facts["Dir"], source, dirs_exist_ok=True)
        run(["go", "build", "-o", TOOLS / "bin/go-tpc", "./cmd/go-tpc"], cwd=source, env=environment, check=True)
    if not (TOOLS / "python/bin/python").exists():
        run([sys.executable, "-m", "venv", TOOLS / "python"], check=True)
        run([TOOLS / "python/bin/pip", "install", "-q", "PyMySQL", "cryptography"], check=True)
    if not (TOOLS / "node/node_modules/mysql2").exists():
        (TOOLS / "node").mkdir(exist_ok=True)
        run(["npm", "install", "--silent", "--prefix", TOOLS / "node", "mysql2"], check=True)
    say("tools are installed")


# ---- the server ----
class Server:
    def __init__(self, binary, directory):
        self.binary, self.directory, self.log = binary, directory, []
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]

    def start(self):
        """Starts it and returns the seconds until it says that it is ready, which it does when it has recovered and accepts connections."""
        begin = time.time()
        self.process = subprocess.Popen([self.binary, "serve", "--data-dir", self.directory / "data", "--port", str(self.port),
                                         "--socket", self.directory / "sock", "--buffer-pool-size", "1G", "--set", "max_connections=12000"],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            self.remember(line)
            if "ready; data in" in line:
                threading.Thread(target=lambda lines: [self.remember(line) for line in lines], args=(self.process.stderr,), daemon=True).start()
                return time.time() - begin
        sys.exit(f"the server ended with {self.process.wait()} before it was ready:\n{''.join(self.log[-20:])}")

    def remember(self, line):
        """The server's log: kept for the end, and shown at once where it complains."""
        self.log.append(line)
        if "panicked" in line or "[ERROR]" in line:
            check(False, "the server's log: " + line.strip())

    def alive(self, label):
        """Whether it still runs; a server that died fails the step and is started again for the next one."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=30):
                return True
        except OSError:
            pass
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = f"nothing, but it refuses connections (killed: {self.process.wait()})"
        check(False, f"{label}: the server ended with {code}; its last lines:\n{''.join(self.log[-10:])}")
        self.start()
        return False

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(120)

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def sql(self, text, database=""):
        """Rows of one or more statements as lists of strings, through the mysql client."""
        out = run(["mysql", "--no-defaults", "-h127.0.0.1", f"-P{self.port}", "-uroot", "-N", "-B", *([database] if database else []), "-e", text])
        if out.returncode:
            raise RuntimeError(f"{text}: {out.stderr.strip()}")
        return [line.split("\t") for line in out.stdout.splitlines()]


# ---- sysbench ----
def table_count(script):
    return 1 if script.startswith("select_random") else TABLES  # these refuse to work on more


def sysbench(server, script, verb, threads=1, seconds=3, ps="auto"):
    return run(["sysbench", script, f"--mysql-host=127.0.0.1", f"--mysql-port={server.port}", "--mysql-user=root", "--mysql-db=sbtest",
                *([] if script == "bulk_insert" else [f"--tables={table_count(script)}", f"--table-size={ROWS}"]),
                f"--threads={threads}", f"--time={seconds}", f"--db-ps-mode={ps}", "--mysql-ignore-errors=1213,1205", verb], timeout=seconds + 300)


def facts(server, count):
    """Per table: rows, sum of ids, sum of k, by the primary and by the secondary index, which must agree; and a checksum of whole rows."""
    by_index = lambda n, index: f"SELECT COUNT(*), COALESCE(SUM(id), 0), COALESCE(SUM(k), 0) FROM sbtest{n} FORCE INDEX ({index}) WHERE {'id' if index == 'PRIMARY' else 'k'} >= 0"
    tables = range(1, count + 1)
    rows = server.sql(";".join(f"{by_index(n, 'PRIMARY')};{by_index(n, f'k_{n}')};SELECT COALESCE(SUM(CRC32(CONCAT_WS('/', id, k, c, pad))), 0) FROM sbtest{n}" for n in tables), "sbtest")
    rows = [[int(x) for x in row] for row in rows]
    for n in tables:
        by_primary, by_k = rows[3 * n - 3], rows[3 * n - 2]
        if by_primary != by_k:
            raise RuntimeError(f"sbtest{n}: by the primary index {by_primary}, by k_{n} {by_k}")
    return [dict(rows=rows[i][0], ids=rows[i][1], ks=rows[i][2], sum=rows[i + 2][0]) for i in range(0, 3 * count, 3)]


def expected_after(script, before, after, events):
    """What `events` transactions of a script may have made of the tables; a text that says what is wrong, or nothing."""
    total = lambda facts, what: sum(table[what] for table in facts)
    grown = {what: total(after, what) - total(before, what) for what in ("rows", "ids", "ks", "sum")}
    same = lambda *names: [[t[n] for n in names] for t in before] == [[t[n] for n in names] for t in after]
    if script == "oltp_insert":
        ok = grown["rows"] == events
    elif script == "oltp_delete":  # ids are drawn at random, so most events find their row gone in the end
        ok = -events <= grown["rows"] <= 0 and (grown["rows"] < 0 or events == 0)
    elif script in ("oltp_read_write", "oltp_write_only"):  # updates, and a row that is deleted and comes back under its id
        ok = same("rows", "ids") and (grown["sum"] != 0 or events == 0)
    elif script == "oltp_update_index":  # k = k + 1 for one row an event
        ok = same("rows", "ids") and grown["ks"] == events
    elif script == "oltp_update_non_index":
        ok = same("rows", "ids", "ks") and (grown["sum"] != 0 or events == 0)
    else:
        ok = before == after
    return None if ok else f"{events} events changed the sums over all tables by {grown}"


def one_run(server, script, ps, threads, seconds, before):
    """One run over tables that are there. Returns the facts after it and the number of transactions, for the table."""
    label = f"sysbench {script} {threads} threads, prepared statements {ps}"
    bulk = script == "bulk_insert"
    out = sysbench(server, script, "run", threads, seconds, ps)
    text = out.stdout + out.stderr
    done = re.search(r"transactions:\s+(\d+)", text) or re.search(r"total number of events:\s+(\d+)", text)
    ignored = re.search(r"ignored errors:\s+(\d+)", text)
    ignored = int(ignored[1]) if ignored else 0
    ok = out.returncode == 0 and "FATAL" not in text and done is not None and int(done[1]) > 0
    # Deadlocks belong to transactions that lock more than one row; anything else must never see an error.
    ok = ok and (ignored == 0 or script in ("oltp_read_write", "oltp_write_only"))
    if not check(ok, f"{label}: run, {done[1] if done else 'no'} transactions, {ignored} deadlocks or timeouts"):
        print(text[-3000:])
    if done is None:
        return None, "no result"
    events = int(done[1])
    if bulk:
        counted = server.sql(";".join(f"SELECT COUNT(*), COALESCE(MAX(id), 0), COALESCE(SUM(k - id), 0) FROM sbtest{n}" for n in range(1, threads + 1)), "sbtest")
        total = sum(int(row[0]) for row in counted)
        check(total == events and all(row[0] == row[1] and row[2] == "0" for row in counted), f"{label}: {total} rows of {events} events")
        return None, f"{events}"
    after = facts(server, table_count(script))
    wrong = expected_after(script, before, after, events)
    check(not wrong, f"{label}: {wrong or 'rows and checksums as expected'}")
    return after, f"{events}" + (f" ({ignored} deadlocks)" if ignored else "")


def prepared(server, script, tables):
    server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")
    out = sysbench(server, script, "prepare", threads=min(tables, 64) if script != "bulk_insert" else tables)
    if not check(out.returncode == 0, f"sysbench {script}: prepare"):
        print(out.stdout[-2000:], out.stderr[-2000:])
        raise RuntimeError("prepare failed")


def cleaned(server, script, tables):
    out = sysbench(server, script, "cleanup", threads=tables)
    check(out.returncode == 0 and not server.sql("SHOW TABLES FROM sbtest"), f"sysbench {script}: cleanup")


def step_sysbench(server, args):
    """Tables are made once for a script and serve all its runs, whose effects are checked one by one; bulk_insert and oltp_delete need new ones each time."""
    for script in args.scripts:
        bulk = script == "bulk_insert"
        before = None
        for ps in ("auto", "disable"):
            for threads in args.threads:
                kind = "prepared" if ps == "auto" else "text"
                with Cell("sysbench, transactions", script, f"{kind} {threads}") as cell:
                    if bulk or before is None:
                        prepared(server, script, threads if bulk else table_count(script))
                        before = None if bulk else facts(server, table_count(script))
                    before, cell.text = one_run(server, script, ps, threads, args.seconds, before)
                    if bulk:
                        cleaned(server, script, threads)
                    if script == "oltp_delete":
                        before = None  # too few rows are left to see anything deleted
                if not server.alive(script) or verdicts["sysbench, transactions"][script][f"{kind} {threads}"].startswith("FAIL"):
                    before = None  # the next run starts on tables of its own
        if not bulk:
            with Cell("sysbench, transactions", script, "cleanup"):
                cleaned(server, script, table_count(script))


# ---- TPC-C ----
def go_tpc(server, verb, threads=4, seconds=20, wait=True):
    command = [TOOLS / "bin/go-tpc", "tpcc", verb, "-H", "127.0.0.1", "-P", server.port, "-U", "root", "-D", "tpcc", "--warehouses", "4", "-T", threads]
    command += ["--time", f"{seconds}s"] if verb == "run" else []
    command += ["--no-check"] if verb == "prepare" else []
    if wait:
        return run(command, timeout=900)
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tpcc_check(server, args, label):
    """go-tpc's twelve conditions; returns the words for the table."""
    begin = time.time()
    out = go_tpc(server, "check")
    took = time.time() - begin
    text = out.stdout + out.stderr
    if not check(out.returncode == 0 and not re.search(r"panic|failed|[Ee]rror", text), f"{label}: check passes"):
        print(text[-3000:])
    check(took < args.check_seconds, f"{label}: check took {took:.1f} s ({load()})")
    return f"check {took:.1f} s"


def tpcc_prepare(server):
    server.sql("DROP DATABASE IF EXISTS tpcc; CREATE DATABASE tpcc")
    out = go_tpc(server, "prepare")
    if not check(out.returncode == 0, "tpcc prepare, 4 warehouses"):
        print((out.stdout + out.stderr)[-3000:])
        raise RuntimeError("prepare failed")


def step_tpcc(server, args):
    with Cell("TPC-C", "prepare", "result") as cell:
        begin = time.time()
        tpcc_prepare(server)
        cell.text = f"{time.time() - begin:.0f} s, {tpcc_check(server, args, 'tpcc after prepare')}"
    for threads in args.tpcc_threads:
        with Cell("TPC-C", f"{threads} threads", "result") as cell:
            out = go_tpc(server, "run", threads, args.tpcc_seconds)
            text = out.stdout + out.stderr
            tpmc = re.search(r"tpmC: ([\d.]+)", text)
            # go-tpc ends a run by cancelling what is under way and counts each of these, at most one a thread, as an error.
            errors = re.findall(r"^\[Summary\] (\w+_ERR)\D.*?Count: (\d+)", text, re.M)
            told = [line for line in text.splitlines() if re.search(r"[Ee]rror|panic", line) and "context deadline exceeded" not in line and "_ERR" not in line]
            ok = out.returncode == 0 and tpmc is not None and float(tpmc[1]) > 0 and sum(int(count) for _, count in errors) <= threads and not told
            if not check(ok, f"tpcc run {threads} threads: {tpmc[1] if tpmc else 'no'} tpmC {' '.join(f'{name}={count}' for name, count in errors)}"):
                print(text[-3000:])
            cell.text = f"{tpmc[1] if tpmc else 'no'} tpmC, {tpcc_check(server, args, f'tpcc after {threads} threads')}"
        server.alive("tpcc")


def commits(server):
    return int(server.sql("SHOW GLOBAL STATUS LIKE 'Com_commit'")[0][1])


def step_crash(server, args):
    if ["tpcc"] not in server.sql("SHOW DATABASES") or ["order_line"] not in server.sql("SHOW TABLES FROM tpcc"):
        tpcc_prepare(server)
    for n in range(1, args.rounds + 1):
        with Cell("kill -9 under TPC-C", f"round {n}", "result") as cell:
            begun = commits(server)
            client = go_tpc(server, "run", 16, 120, wait=False)
            while commits(server) < begun + 100:  # the load has connected and works
                if client.poll() is not None:
                    check(False, f"kill -9 round {n}: the load ended by itself")
                    break
            time.sleep(random.uniform(0, 3))  # the moment of the crash
            worked = commits(server) - begun
            server.kill9()
            client.kill()
            client.wait()
            took = server.start()
            say(f"kill -9 round {n}: after {worked} transactions; accepts connections {took:.2f} s after the restart")
            cell.text = f"after {worked} transactions, ready in {took:.2f} s, {tpcc_check(server, args, f'kill -9 round {n}')}"


# ---- clients ----
def step_cli(server, args):
    script = (ROOT / "scripts/clients/session.sql").read_text()
    out = subprocess.run(["mysql", "--no-defaults", "-h127.0.0.1", f"-P{server.port}", "-uroot", "--table", "--force", "--default-character-set=utf8mb4"],
                         input=script, capture_output=True, text=True, timeout=60)
    got = out.stdout + "-- errors\n" + out.stderr
    expected_file = ROOT / "scripts/clients/session.expected"
    if os.environ.get("UPDATE_EXPECT"):
        expected_file.write_text(got)
    if not check(got == expected_file.read_text(), "mysql command-line session"):
        import difflib
        print("\n".join(difflib.unified_diff(expected_file.read_text().splitlines(), got.splitlines(), "expected", "got", lineterm="")))


def step_python(server, args):
    out = run([TOOLS / "python/bin/python", ROOT / "scripts/clients/daily.py", server.port])
    check(out.returncode == 0, "PyMySQL program") or print(out.stdout[-3000:], out.stderr[-3000:])


def step_node(server, args):
    out = run(["node", ROOT / "scripts/clients/daily.js", server.port], env={**os.environ, "NODE_PATH": str(TOOLS / "node/node_modules")})
    check(out.returncode == 0, "mysql2 program") or print(out.stdout[-3000:], out.stderr[-3000:])


def alone(step, name):
    def run_step(server, args):
        with Cell("clients", name, "result"):
            step(server, args)
    return run_step


STEPS = {"cli": alone(step_cli, "mysql command line"), "python": alone(step_python, "PyMySQL"), "node": alone(step_node, "mysql2"),
         "sysbench": step_sysbench, "tpcc": step_tpcc, "crash": step_crash}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", choices=[[], "install", *STEPS], default=[])
    parser.add_argument("--server", type=Path, default=ROOT / "target/release/altiplano")
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tpcc-seconds", type=int, default=10)
    parser.add_argument("--scripts", type=lambda text: text.split(","), default=SYSBENCH_SCRIPTS)
    numbers = lambda text: [int(n) for n in text.split(",")]
    parser.add_argument("--threads", type=numbers, default=[1, 64, 1000])
    parser.add_argument("--tpcc-threads", type=numbers, default=[1, 16, 128])
    parser.add_argument("--check-seconds", type=float, default=20)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    install()
    if args.steps == ["install"]:
        return
    if not args.server.exists():
        say("building the server")
        subprocess.run(["cargo", "build", "--release"], cwd=ROOT, check=True)
    begin = time.time()
    directory = Path(tempfile.mkdtemp(prefix="altiplano-acceptance-", dir="/var/tmp"))
    server = Server(args.server, directory)
    say(f"server on port {server.port}, accepting after {server.start():.2f} s, files in {directory}, {load()}")
    try:
        for name, step in STEPS.items():
            if not args.steps or name in args.steps:
                step_begin = time.time()
                step(server, args)
                server.alive(name)
                say(f"step {name} took {time.time() - step_begin:.0f} s, {load()}")
        with Cell("server", "clean shutdown", "result"):
            check(server.stop() == 0, "clean shutdown")
        with Cell("server", "start after it, and clean shutdown", "result"):
            server.start()
            check(server.stop() == 0, "start after it, and clean shutdown")
    finally:
        if server.process.poll() is None:
            server.process.kill()
        if failures:
            print("the server's log ends with:\n" + "".join(server.log[-30:]))
        if not args.keep:
            shutil.rmtree(directory, ignore_errors=True)
        print()
        print_verdicts()
        say(f"{len(failures)} failures" + "".join(f"\n  {f}" for f in failures))
        say(f"{(time.time() - begin) / 60:.1f} minutes in all, {load()}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
