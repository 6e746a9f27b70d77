#!/usr/bin/env python3
"""acceptance.py: unmodified tools against a freshly started Altiplano. Exits with 1 if any step fails.

  scripts/acceptance.py                 everything (about 25 minutes)
  scripts/acceptance.py sysbench tpcc   only these steps: install sysbench tpcc crash cli python node
  --seconds N (3) per sysbench run      --threads 1,64,1000       --tpcc-threads 1,16,128    --rounds N (5) of kill -9
  --server PATH (target/release/altiplano, built when missing)    --keep (leave the data directory)

Installs what it needs on Debian: sysbench and a mysql command-line client by apt, go-tpc by the Go proxy, PyMySQL by pip, mysql2 by npm,
all below $ALTIPLANO_TOOLS (default /var/tmp/altiplano-tools) where they allow it. Everything listens on 127.0.0.1 only.
"""
import argparse, os, random, re, resource, shutil, signal, socket, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(os.environ.get("ALTIPLANO_TOOLS", "/var/tmp/altiplano-tools"))
GO_TPC = ("github.com/pingcap/go-tpc", "v1.0.9", "h1:DeFrlVnNzC+SxiRIihNhD9fWHnHhMZWDSFNfUVq67Ys=")
SYSBENCH_SCRIPTS = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only", "oltp_insert", "oltp_update_index",
                    "oltp_update_non_index", "oltp_delete", "bulk_insert", "select_random_points", "select_random_ranges"]
TABLES, ROWS = 4, 10000
failures = []


def say(text):
    print(time.strftime("%H:%M:%S"), text, flush=True)


def check(ok, what):
    say(("ok    " if ok else "FAIL  ") + what)
    if not ok:
        failures.append(what)
    return ok


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
        self.binary, self.directory = binary, directory
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]

    def start(self):
        self.log = open(self.directory / "stderr.log", "a")
        self.process = subprocess.Popen([self.binary, "serve", "--data-dir", self.directory / "data", "--port", str(self.port),
                                         "--socket", self.directory / "sock", "--buffer-pool-size", "1G", "--set", "max_connections=12000"],
                                        stdout=self.log, stderr=self.log)
        begin = time.time()
        while time.time() - begin < 120:
            if self.process.poll() is not None:
                sys.exit(f"the server ended with {self.process.returncode}; see {self.log.name}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return time.time() - begin
            except OSError:
                time.sleep(0.02)
        sys.exit("the server does not listen after 120 s")

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
def sysbench(server, script, verb, threads=1, seconds=3, ps="auto"):
    return run(["sysbench", script, f"--mysql-host=127.0.0.1", f"--mysql-port={server.port}", "--mysql-user=root", "--mysql-db=sbtest",
                *([] if script == "bulk_insert" else [f"--tables={TABLES}", f"--table-size={ROWS}"]),
                f"--threads={threads}", f"--time={seconds}", f"--db-ps-mode={ps}", "--mysql-ignore-errors=1213,1205", verb], timeout=seconds + 300)


def facts(server):
    """Per table: rows, sum of ids, sum of k by the primary and by the secondary index."""
    rows = []
    for n in range(1, TABLES + 1):
        by_key = server.sql(f"SELECT COUNT(*), SUM(id), SUM(k) FROM sbtest{n} FORCE INDEX (PRIMARY)", "sbtest")[0]
        by_k = server.sql(f"SELECT COUNT(*), SUM(id), SUM(k) FROM sbtest{n} FORCE INDEX (k_{n}) WHERE k >= 0", "sbtest")[0]
        if by_key != by_k:
            raise RuntimeError(f"sbtest{n}: by the primary index {by_key}, by k_{n} {by_k}")
        rows.append([int(x) if x != "NULL" else 0 for x in by_key])
    return rows


def checksum(server):
    return [server.sql(f"SELECT SUM(CRC32(CONCAT_WS('/', id, k, c, pad))) FROM sbtest{n}", "sbtest")[0][0] for n in range(1, TABLES + 1)]


def step_sysbench(server, args):
    server.sql("CREATE DATABASE IF NOT EXISTS sbtest")
    for script in SYSBENCH_SCRIPTS:
        for ps in ("auto", "disable"):
            for threads in args.threads:
                label = f"sysbench {script} {threads} threads, prepared statements {ps}"
                prepare = sysbench(server, script, "prepare", threads=threads if script == "bulk_insert" else TABLES)
                if not check(prepare.returncode == 0, f"{label}: prepare"):
                    print(prepare.stdout[-2000:], prepare.stderr[-2000:])
                    continue
                plain = script != "bulk_insert"
                before, sum_before = (facts(server), checksum(server)) if plain else (None, None)
                out = sysbench(server, script, "run", threads, args.seconds, ps)
                text = out.stdout + out.stderr
                done = re.search(r"transactions:\s+(\d+)", text) or re.search(r"total number of events:\s+(\d+)", text)
                ok = out.returncode == 0 and "FATAL" not in text and done is not None
                check(ok, f"{label}: run, {done[1] if done else 'no'} transactions")
                if not ok:
                    print(text[-3000:])
                elif plain:
                    try:
                        after = facts(server)
                        counts = [sum(t[0] for t in f) for f in (before, after)]
                        if script == "oltp_insert":
                            expected = counts[1] == counts[0] + int(done[1])
                        elif script == "oltp_delete":
                            expected = counts[1] <= counts[0] and (counts[1] < counts[0] or int(done[1]) == 0)
                        elif script in ("oltp_read_write", "oltp_write_only", "oltp_update_index"):
                            expected = [t[:2] for t in after] == [t[:2] for t in before]
                        elif script == "oltp_update_non_index":
                            expected = after == before
                        else:
                            expected = after == before and checksum(server) == sum_before
                        check(expected, f"{label}: rows and sums afterwards")
                    except RuntimeError as error:
                        check(False, f"{label}: {error}")
                else:
                    total = sum(int(server.sql(f"SELECT COUNT(*) FROM sbtest{n}", "sbtest")[0][0]) for n in range(1, threads + 1))
                    check(total == int(done[1]), f"{label}: {total} rows of {done[1]} events")
                clean = sysbench(server, script, "cleanup", threads=threads)
                check(clean.returncode == 0, f"{label}: cleanup")


# ---- TPC-C ----
def go_tpc(server, verb, threads=4, seconds=20, wait=True):
    command = [TOOLS / "bin/go-tpc", "tpcc", verb, "-H", "127.0.0.1", "-P", server.port, "-U", "root", "-D", "tpcc", "--warehouses", "4", "-T", threads]
    command += ["--time", f"{seconds}s"] if verb == "run" else []
    command += ["--no-check"] if verb == "prepare" else []
    if wait:
        return run(command, timeout=900)
    return subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tpcc_check(server, label):
    begin = time.time()
    out = go_tpc(server, "check")
    took = time.time() - begin
    text = out.stdout + out.stderr
    if not check(out.returncode == 0 and not re.search(r"panic|failed|[Ee]rror", text), f"{label}: check passes"):
        print(text[-3000:])
    check(took < 20, f"{label}: check took {took:.1f} s")


def tpcc_prepare(server):
    server.sql("DROP DATABASE IF EXISTS tpcc; CREATE DATABASE tpcc")
    out = go_tpc(server, "prepare")
    if not check(out.returncode == 0, "tpcc prepare, 4 warehouses"):
        print((out.stdout + out.stderr)[-3000:])


def step_tpcc(server, args):
    tpcc_prepare(server)
    tpcc_check(server, "tpcc after prepare")
    for threads in args.tpcc_threads:
        out = go_tpc(server, "run", threads, 20)
        text = out.stdout + out.stderr
        tpmc = re.search(r"tpmC: ([\d.]+)", text)
        errors = re.findall(r"^\[Summary\] \w+_ERR.*", text, re.M)
        check(out.returncode == 0 and tpmc is not None and not errors, f"tpcc run {threads} threads: {tpmc[1] if tpmc else 'no'} tpmC {' '.join(errors)}")
        tpcc_check(server, f"tpcc after {threads} threads")


def step_crash(server, args):
    if not server.sql("SELECT 1 FROM information_schema.tables WHERE table_schema = 'tpcc' LIMIT 1"):
        tpcc_prepare(server)
    for n in range(1, args.rounds + 1):
        load = go_tpc(server, "run", 16, 60, wait=False)
        time.sleep(random.uniform(2, 6))
        server.kill9()
        load.kill()
        load.wait()
        took = server.start()
        check(True, f"kill -9 round {n}: accepts connections {took:.2f} s after the restart")
        tpcc_check(server, f"kill -9 round {n}")


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


STEPS = {"cli": step_cli, "python": step_python, "node": step_node, "sysbench": step_sysbench, "tpcc": step_tpcc, "crash": step_crash}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", choices=[[], "install", *STEPS], default=[])
    parser.add_argument("--server", type=Path, default=ROOT / "target/release/altiplano")
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    numbers = lambda text: [int(n) for n in text.split(",")]
    parser.add_argument("--threads", type=numbers, default=[1, 64, 1000])
    parser.add_argument("--tpcc-threads", type=numbers, default=[1, 16, 128])
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
    directory = Path(tempfile.mkdtemp(prefix="altiplano-acceptance-", dir="/var/tmp"))
    server = Server(args.server, directory)
    say(f"server on port {server.port}, accepting after {server.start():.2f} s, files in {directory}")
    try:
        for name, step in STEPS.items():
            if not args.steps or name in args.steps:
                step(server, args)
        check(server.stop() == 0, "clean shutdown")
    finally:
        if server.process.poll() is None:
            server.process.kill()
        if not args.keep:
            shutil.rmtree(directory, ignore_errors=True)
    say(f"{len(failures)} failures" + "".join(f"\n  {f}" for f in failures))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
