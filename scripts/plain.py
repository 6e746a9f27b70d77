#!/usr/bin/env python3
"""plain.py: throughput over 1 to 10,000 connections, beside MySQL 9.7 and a server with canned answers; writes docs/performance.md and plots.

Slices of a few seconds alternate between the servers under the same client (crates/bench), so that what the machine does meanwhile
meets all alike. Each slice is a line of RESULTS/slices.jsonl; what is there is not measured again, so that a run can be broken off and
gone on with. The most telling cells come first; a run ends when its minutes are over.

  --minutes M     how long to measure (30); loading comes on top
  --cells REGEX   only cells whose name matches, such as 'tpcc.*/(16|2000)$' or 'hot_row|without'
  --part PART     own: our CPU per transaction above the canned server's, 16 connections beside 10,000, neighbouring slices;
                  rest: 2,000 to 10,000 outside TPC-C, mechanisms off one at a time, MySQL 9.7 as far as it goes;
                  plain: all but these two. (All, in that order: plain, own, rest)
  --seconds S     length of a slice (3 to 6, by the cell)
  --rounds N      slices of each cell and server (2); the second round begins when all cells have one
  --quick         slices of a second, small data: to see that everything works
  --list          names the cells in their order
  --report        measures nothing, writes the report from what is there
  --no-mysql      without the peer
  --results DIR   slices, data directories, logs (/var/tmp/altiplano-plain)
  --profile P     build of altiplano and load that is used (release); they must be built

The rest of the matrix in about twenty minutes, one slice of 3 s each: `plain.py --part rest --seconds 3 --minutes 25`; the same command goes on where it was broken off.

Needs ../shared/peers (or PEERS=DIR) with MySQL 9.7 installed, gcc, and a machine that does nothing else.
"""
import argparse
import functools
import json
import math
import os
import re
import resource
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from measure import processor_seconds

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--minutes", type=float, default=30)
ap.add_argument("--cells", default="")
ap.add_argument("--part", choices=("plain", "own", "rest"))
ap.add_argument("--seconds", type=float)
ap.add_argument("--rounds", type=int, default=2)
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-plain"))
ap.add_argument("--profile", default="release")
ap.add_argument("--target", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")))
ap.add_argument("--port", type=int, default=13317, help="first of three ports for servers of its own")
for flag in ("quick", "list", "report", "no-mysql", "prepare"):
    ap.add_argument("--" + flag, action="store_true")
args = ap.parse_args()
PEERS = Path(os.environ.get("PEERS", ROOT.parent / "shared/peers"))
ALTIPLANO = args.target / args.profile / "altiplano"
SLICES = args.results / "slices.jsonl"
MECHANISMS = ["early-lock-release", "left-waits", "exact-wakeups", "hybrid-view", "lock-shards", "admission"]
SIZE = {
    "sbtest": ["--tables", "4", "--table-size", "5000" if args.quick else "100000"],
    # Small warehouses, many of them: the standard's contention for ten connections a warehouse needs a hundred gigabytes at 10,000.
    "tpcc": ["--warehouses", "4" if args.quick else "50", "--items", "1000" if args.quick else "10000", "--customers", "60" if args.quick else "300"],
    "hot_row": [],
}
STATUS = "Altiplano_log_wakes,Altiplano_log_batch,Altiplano_log_sync,Altiplano_admission,Innodb_os_log_fsyncs"


class Cell:
    """What is measured: a workload at a number of connections, on some servers."""

    def __init__(self, workload, connections, servers, keys="uniform", isolation="rc", without=None, rounds=None, against=None, roaming=False, part="plain"):
        self.workload, self.connections, self.keys, self.isolation, self.without, self.against = workload, connections, keys, isolation, without, against
        self.servers, self.rounds, self.roaming, self.part = servers, rounds or args.rounds, roaming, part
        self.group = f"{workload}/{keys}/{isolation}"
        self.name = f"{self.group}{'/without-' + without if without else ''}{f'/against-{against}' if against else ''}{'/roaming' if roaming else ''}{'/levels' if servers == BOTH_LEVELS else '/own' if servers == OWN else ''}/{connections}"
        many = connections >= 2000
        slow = workload in ("read_write", "tpcc", "write_only") and many
        self.warmup = 0.3 if args.quick else 1 + (connections / 2000 if slow else connections / 4000)
        self.seconds = 1 if args.quick else args.seconds or (3 if not many else 6 if slow else 4)

    def cost(self):
        """Seconds that it takes, about."""
        per_server = self.warmup + self.seconds + 0.5 + self.connections / 1500
        mysql = 5 if "mysql" in self.servers and self.connections >= 512 else 0
        return per_server * len(self.servers) + mysql


# Two slices of one server, of other numbers of connections or of another isolation level; of a server with and without a mechanism.
FEW_MANY, BOTH_LEVELS = ["few", "many"], ["committed", "repeatable"]
# Ours and the canned server, few connections and many: what is ours is the difference, and how it grows the ratio of two differences, so all four are neighbours.
OWN = ["few", "canned-few", "canned-many", "many"]
SAME_SERVER = dict.fromkeys(["base", *FEW_MANY, *BOTH_LEVELS], "altiplano") | {"canned-few": "ceiling", "canned-many": "ceiling"}


def directory(cell, name, round_number):
    """The server, and so the directory, of a slice. With and without a mechanism take turns: of two directories one is always the faster, by up to 16 %, whoever serves it."""
    if cell.without and round_number % 2 == 1:
        return {"base": "variant", "variant": "altiplano"}[name]
    return SAME_SERVER.get(name, name)


def cells():
    """All cells, the most telling first: targets of the issue, then what explains them, then the rest of the matrix."""
    a, am, ac, amc, ab = ["altiplano"], ["altiplano", "mysql"], ["altiplano", "ceiling"], ["altiplano", "mysql", "ceiling"], ["base", "variant"]
    out = []
    # The plain holds: many connections and few in turns, since the machine's own speed drifts by a quarter within minutes.
    # Roaming: each transaction at a warehouse of its own choice. At home, 16 connections touch 16 of the 50 warehouses, and their data is nearer to the processors.
    out += [Cell("tpcc", n, FEW_MANY, against=16, roaming=True) for n in (2000, 10000)]
    out += [Cell("tpcc", n, FEW_MANY, against=16) for n in (2000, 10000)]
    # The plain: TPC-C-like transactions.
    out += [Cell("tpcc", 16, amc), Cell("tpcc", 128, am), Cell("tpcc", 512, a), Cell("tpcc", 2000, a), Cell("tpcc", 10000, ac), Cell("tpcc", 1024, am)]
    # The hot row.
    out += [Cell("hot_row", 128, am), Cell("hot_row", 1024, a)]
    # Own cost above the canned server; isolation levels.
    out += [Cell("read_write", n, BOTH_LEVELS) for n in (1, 16, 128, 1024)]
    for n in (16, 128, 1024):
        out += [Cell("read_write", n, amc), Cell("read_write", n, a, isolation="rr")]
    out += [Cell("read_write", 10000, ac), Cell("read_write", 2000, a)]
    # Each mechanism alone off, where it should matter.
    for mechanism, workload, n in [
        ("early-lock-release", "hot_row", 128), ("left-waits", "hot_row", 1024), ("exact-wakeups", "update_index", 1024), ("admission", "tpcc", 10000), ("hybrid-view", "read_write", 1024),
        ("lock-shards", "read_write", 1024), ("admission", "read_write", 1024), ("exact-wakeups", "hot_row", 128), ("hybrid-view", "read_write", 10000),
    ]:
        out.append(Cell(workload, n, ab, without=mechanism))
    for n in (1, 16, 128, 1024, 10000):
        out.append(Cell("point_select", n, amc if n <= 1024 else ac))
    out += [Cell("tpcc", 5000, a), Cell("tpcc", 1, am), Cell("tpcc", 2000, ["mysql"], rounds=1), Cell("read_write", 1, amc), Cell("read_write", 512, am)]
    for n in (128, 1024):
        out += [Cell("read_write", n, am, keys="pareto"), Cell("read_write", n, am, keys="pareto", isolation="rr"), Cell("write_only", n, am)]
    out += [Cell("hot_row", n, am) for n in (16, 1)] + [Cell("hot_row", n, a) for n in (2000, 10000)]
    # Our own cost above the canned server's.
    out += [Cell(workload, 10000, OWN, against=16, part="own") for workload in ("tpcc", "read_write", "point_select")]
    # The rest of the matrix. Variants in the order of their mechanisms, as each is another start of a server.
    once = dict(rounds=1, part="rest")
    each_directory = dict(rounds=2 * -(-args.rounds // 2), part="rest")
    for n in (2000, 5000, 10000):
        for keys in ("uniform", "pareto"):
            for level in ("rc", "rr"):
                out += [Cell(workload, n, a, keys=keys, isolation=level, **once) for workload in ("read_write", "point_select")]
        out += [Cell("write_only", n, a, **once), Cell("hot_row", n, a, **once)]
    for mechanism in MECHANISMS:
        out += [Cell(workload, n, ab, without=mechanism, **each_directory) for workload in ("hot_row", "read_write", "update_index") for n in (128, 1024)]
        out.append(Cell("hot_row" if mechanism in ("early-lock-release", "left-waits", "exact-wakeups") else "read_write", 10000, ab, without=mechanism, **each_directory))
    for n in (2000, 1024, 512, 128, 16, 1):
        peer = ["mysql"] if n == 2000 else am
        out += [Cell("point_select", n, peer, isolation="rr", **once), Cell("read_write", n, peer, isolation="rr", **once)]
        out += [Cell(workload, n, peer, **once) for workload in ("tpcc", "read_write", "point_select", "write_only", "hot_row")]
        out += [Cell(workload, n, peer, keys="pareto", isolation=level, **once) for level in ("rc", "rr") for workload in ("point_select", "read_write")] if n in (128, 1024) else []
    out = [c for c in out if args.part in (None, c.part)]
    return [c for c in out if re.search(args.cells, c.name)]


# ---------------------------------------------------------------------------------------------------------------- servers


def wait_for_port(port, process, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        if process.poll() is not None:
            sys.exit(f"the server on port {port} ended; see {args.results}")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"nothing listens on port {port}")


class Altiplano:
    """A server of ours on a data directory of its own."""

    def __init__(self, name, port):
        self.name, self.port, self.process, self.without = name, port, None, None

    def start(self, without=None):
        """Starts it, or starts it anew with or without a mechanism; True if it was."""
        if self.process and self.without == without:
            return False
        self.stop()
        data = args.results / f"data-{self.name}"
        command = [ALTIPLANO, "serve", "--data-dir", data, "--port", str(self.port), "--buffer-pool-size", "2G", "--set", "max_connections=12000"]
        command += ["--without", without] if without else []
        log = open(args.results / f"{self.name}.log", "ab")
        self.process, self.without = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log), without
        wait_for_port(self.port, self.process)
        return True

    def pid(self):
        return self.process.pid if self.process else None

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None


class Mysql:
    """MySQL 9.7 of the peers; stopped at the end if it was started here."""

    port = 13097

    def __init__(self):
        self.started = False

    def script(self, *words):
        return subprocess.run([PEERS / "mysql97.sh", *words], capture_output=True, text=True)

    def running(self):
        pid = self.script("pid").stdout.strip()
        return pid if pid and Path(f"/proc/{pid}").exists() else None

    def start(self):
        if not self.running():
            # Its output is not captured: the server would keep the pipe open.
            done = subprocess.run([PEERS / "mysql97.sh", "start"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if done.returncode:
                sys.exit("MySQL 9.7 does not start; `mysql97.sh start` says why")
            self.started = True

    def pid(self):
        return self.running()

    def stop(self):
        if self.started:
            self.script("stop")


class Ceiling:
    """A server with canned answers."""

    def __init__(self, port):
        self.port, self.process = port, None

    def start(self):
        if not self.process:
            program = args.results / "ceiling"
            subprocess.run(["gcc", "-O2", "-w", "-pthread", PEERS / "ceiling.c", "-o", program], check=True)
            self.process = subprocess.Popen([program, str(self.port)])
            wait_for_port(self.port, self.process)

    def pid(self):
        return self.process.pid if self.process else None

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()


def load(verb, port, workload, *more, timeout=900):
    family = workload if workload in SIZE else "hot_row" if workload == "hot_row_transaction" else "sbtest"
    command = [ALTIPLANO, "bench", verb, *(["--json"] if verb == "run" else []), "--server", f"127.0.0.1:{port}", "--database", "plain", "--workload", workload, *SIZE[family], *more]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=timeout)


def prepare(name, server):
    """Loads all tables, once for each results directory."""
    marker = args.results / f"prepared-{name}{'-quick' if args.quick else ''}"
    if marker.exists() and not args.prepare:
        return
    for workload in ("read_write", "hot_row", "tpcc"):
        begun = time.time()
        done = load("prepare", server.port, workload)
        if done.returncode:
            sys.exit(f"{name}: {workload}: {done.stderr}")
        print(f"  {name}: {workload} loaded in {time.time() - begun:.0f} s", file=sys.stderr)
    marker.touch()


def quiet(pid):
    """Waits until a server has nothing left to do: rolled back what was cut off, purged, written pages."""
    for _ in range(30):
        before = processor_seconds(pid)
        time.sleep(0.3)
        if processor_seconds(pid) - before < 0.025:
            return


def alone(server, servers):
    """Stops all other servers where they stand, so that what they do in the background does not fall on this one."""
    for other in servers.values():
        pid = other.pid()
        if pid:
            os.kill(int(pid), signal.SIGCONT if other is server else signal.SIGSTOP)


def all_go_on(servers):
    for server in servers.values():
        pid = server.pid()
        if pid:
            os.kill(int(pid), signal.SIGCONT)


# ---------------------------------------------------------------------------------------------------------------- measuring


def recorded():
    return [json.loads(line) for line in open(SLICES)] if SLICES.exists() else []


def measure_slice(cell, name, server, number):
    try:
        done = run_slice(cell, name, server, number)
    except subprocess.TimeoutExpired:
        done = subprocess.CompletedProcess([], 1, "", "the client did not come to its end in 100 s")
    slice_ = json.loads(done.stdout) if done.returncode == 0 else {"failed_run": done.stderr.strip()[-500:]}
    slice_.update(cell=cell.name, server=name, number=number, at=time.strftime("%F %T"), load_average=os.getloadavg()[0])
    slice_["commit"] = commit()
    with open(SLICES, "a") as out:
        out.write(json.dumps(slice_) + "\n")
    print(f"{time.strftime('%T')} {cell.name:42} {name:9} {done.stderr.strip()[:170]}", file=sys.stderr)
    if ("failed_run" in slice_ or slice_["replies"] == 0) and isinstance(server, Altiplano):
        # It hangs: what its threads wait for is worth more than the next slice.
        stacks = args.results / f"stacks-{name}-{time.strftime('%H%M%S')}.txt"
        with open(stacks, "w") as out:
            subprocess.run(["gdb", "-p", str(server.pid()), "-batch", "-ex", "thread apply all bt 25"], stdout=out, stderr=subprocess.DEVNULL)
        print(f"{name} does not answer: stacks in {stacks}; it is started again", file=sys.stderr)
        without = server.without
        server.process.kill()
        server.process.wait()
        server.process = None
        server.start(without)


def run_slice(cell, name, server, number):
    connections = cell.against if name.endswith("few") else cell.connections
    isolation = "rr" if name == "repeatable" else cell.isolation
    return load(
        "run", server.port, cell.workload, "--connections", connections, "--threads", 1 if connections == 1 else 2, "--seconds", cell.seconds,
        # MySQL takes seconds until a thousand new connections have their prepared statements.
        "--warmup", cell.warmup + (5 if name == "mysql" and connections >= 512 else 0), "--keys", cell.keys, "--isolation", isolation, "--pid", server.pid(), "--seed", number + 1,
        "--drain-seconds", 3 if connections < 2000 else 6, "--login-seconds", 90, "--label", name, "--status", STATUS,
        # TPC-C has 60 statements: prepared by each of 10,000 connections they would be gigabytes on either server.
        *(["--text"] if cell.workload == "tpcc" else []), *(["--roaming"] if cell.roaming else []), timeout=100 + cell.seconds + cell.warmup,
    )


@functools.cache
def commit():
    """Of what the program that is measured was built, by its own word: the work tree may have gone on since."""
    said = subprocess.run([ALTIPLANO, "version"], capture_output=True, text=True).stdout
    return next(line.split()[1] for line in said.splitlines() if line.startswith("commit"))


def break_off(*_):
    sys.exit("broken off; the same command goes on")


def measure(all_cells):
    # What is stopped in the meantime goes on again, and servers end, however this is broken off.
    signal.signal(signal.SIGTERM, break_off)
    signal.signal(signal.SIGINT, break_off)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if not ALTIPLANO.exists():
        sys.exit(f"{ALTIPLANO} is missing: cargo build --profile {args.profile} -p server")
    args.results.mkdir(parents=True, exist_ok=True)
    # The option is not in the help: a name that it does not know makes it tell those that it knows.
    asked = subprocess.run([ALTIPLANO, "serve", "--data-dir", args.results / "none", "--without", "nothing"], capture_output=True, text=True)
    has_without = "it knows" in asked.stderr
    servers = {"altiplano": Altiplano("altiplano", args.port), "ceiling": Ceiling(args.port + 2)}
    variants = has_without and any(c.without for c in all_cells)
    if variants:
        servers["variant"] = Altiplano("variant", args.port + 1)
    elif any(c.without for c in all_cells):
        print("this build has no --without: mechanisms are not switched off", file=sys.stderr)
    if not args.no_mysql and any("mysql" in c.servers for c in all_cells):
        servers["mysql"] = Mysql()
    try:
        for name, server in servers.items():
            server.start()
            if name != "ceiling":
                prepare(name, server)
        for server in servers.values():
            quiet(server.pid())
        end = time.time() + args.minutes * 60
        have = {(s["cell"], s["server"], s["number"]) for s in recorded()}
        for number in range(max([args.rounds, *(c.rounds for c in all_cells)])):
            for cell in all_cells:
                if number >= cell.rounds or (cell.without and not variants):
                    continue
                missing = [n for n in cell.servers if directory(cell, n, number) in servers and (cell.name, n, number) not in have]
                if missing and time.time() + cell.cost() > end:
                    print(f"left out, no time: {cell.name}, round {number + 1}", file=sys.stderr)
                    continue
                # Every other round begins with the other server.
                for name in missing if number % 2 == 0 else missing[::-1]:
                    server = servers[directory(cell, name, number)]
                    alone(server, servers)
                    if isinstance(server, Altiplano) and server.start(cell.without if name == "variant" else None):
                        # Neither has its pages or plans yet, and a slice is short.
                        run_slice(cell, name, server, number)
                    quiet(server.pid())
                    measure_slice(cell, name, server, number)
                    have.add((cell.name, name, number))
    finally:
        all_go_on(servers)
        for server in servers.values():
            server.stop()


# ---------------------------------------------------------------------------------------------------------------- figures


class Figures:
    """Medians of the slices of a cell and server."""

    def __init__(self, slices, replies_per_transaction):
        rates, cpus, self.by_replies = [], [], False
        for s in slices:
            count, seconds = s["transactions"], s["seconds"]
            # Where a transaction takes a good part of the slice, waves of them end in it or not: the replies tell the rate.
            if replies_per_transaction and s["connections"] / max(s["tps"], 1e-9) > 0.3 * seconds:
                count, self.by_replies = s["replies"] / replies_per_transaction, True
            if count:
                rates.append((s["number"], count / seconds))
                cpus.append(s.get("server_cores", 0) * seconds * 1e6 / count)
        middle = lambda values: statistics.median(values) if values else None
        self.rates = dict(rates)
        # By replies: a transaction that is cut off by the slice's end has cost something as well.
        each = replies_per_transaction or statistics.median([s["replies"] / max(s["transactions"], 1) for s in slices])
        self.cpu_by_replies = {s["number"]: s.get("server_cores", 0) * s["seconds"] * 1e6 / s["replies"] * each for s in slices if s["replies"]}
        self.replies = {s["number"]: s["replies"] / s["seconds"] for s in slices}
        self.rate, self.cpu = middle([r for _, r in rates]), middle(cpus)
        self.p95, self.p99 = (middle([s["latency_ms"][p] for s in slices]) for p in ("p95", "p99"))
        self.min_rate = middle([s["tps_min"] for s in slices])
        self.client = middle([s.get("client_cores", 0) for s in slices])
        wakes = {kind: sum(s.get("status", {}).get(f"Altiplano_log_wakes_{kind}", 0) for s in slices) for kind in ("useful", "useless")}
        self.in_vain = wakes["useless"] / sum(wakes.values()) if any(wakes.values()) else None
        self.errors = sum(sum(s["errors"].values()) for s in slices)
        self.broken = sum(s["refused"] + s["lost"] for s in slices)
        self.wrong = [s["check"] for s in slices if s["check"].startswith("WRONG")]


def figures():
    """{cell name: {server: Figures}}"""
    slices = [s for s in recorded() if "failed_run" not in s and s["transactions"] + s["replies"] > 0 and s["failed"] <= s["transactions"] / 100]
    per_transaction = {}
    for s in slices:
        if s["transactions"] and s["connections"] <= 128:
            per_transaction.setdefault((s["workload"], SAME_SERVER.get(s["server"], s["server"])), []).append(s["replies"] / s["transactions"])
    out = {}
    for s in slices:
        out.setdefault(s["cell"], {}).setdefault(s["server"], []).append(s)
    each = lambda s: per_transaction.get((s["workload"], SAME_SERVER.get(s["server"], s["server"]))) or per_transaction.get((s["workload"], "altiplano"))
    return {
        cell: {name: Figures(of, statistics.median(each(of[0])) if each(of[0]) else None) for name, of in servers.items()}
        for cell, servers in out.items()
    }


def ratio(one, other):
    """Median of the rounds' ratios."""
    both = [one.rates[n] / other.rates[n] for n in one.rates if n in other.rates]
    return statistics.median(both) if both else None


def paired(many, few):
    """Median and range of the rounds' ratios of replies a second: waves of transactions longer than a slice do not bend it."""
    both = sorted(many.replies[n] / few.replies[n] for n in many.replies if few.replies.get(n))
    return (statistics.median(both), both[0], both[-1], len(both)) if both else None


def number(value, form="{:,.0f}"):
    return form.format(value) if value is not None else ""


def own_cost(servers):
    ours, canned = servers.get("altiplano"), servers.get("ceiling")
    return ours.cpu - canned.cpu if ours and canned and ours.cpu and canned.cpu else None


def own_growth(servers):
    """Of each round of an OWN cell: our own cost with few and with many connections, µs per transaction."""
    few, canned_few, canned_many, many = (servers[name].cpu_by_replies for name in OWN)
    return [(few[n] - canned_few[n], many[n] - canned_many[n]) for n in few if n in canned_few and n in canned_many and n in many]


TITLES = {
    "tpcc": "TPC-C-like (50 warehouses of a tenth of the standard's size, text statements, each connection at its own warehouse)",
    "read_write": "oltp_read_write", "point_select": "oltp_point_select", "write_only": "oltp_write_only", "hot_row": "One row updated by all, autocommit",
    "update_index": "oltp_update_index",
}


def curve(found, group):
    """[(connections, servers)] of a group without variants."""
    prefix = group + "/"
    rows = [(int(name[len(prefix):]), servers) for name, servers in found.items() if name.startswith(prefix) and name[len(prefix):].isdigit()]
    return sorted(rows, key=lambda row: row[0])


def groups(found):
    order = list(TITLES)
    names = {name.rsplit("/", 1)[0] for name in found if name.count("/") == 3}
    return sorted(names, key=lambda g: (order.index(g.split("/")[0]), g.split("/")[1] != "uniform", g))


def targets(found):
    """Lines of a table: target, what was found, whether it is met."""
    lines = []

    def line(what, target, text, met):
        lines.append(f"| {what} | {target} | {text} | {'yes' if met else 'no'} |")

    for n, share, roaming in ((2000, 0.95, "/roaming"), (10000, 0.90, "/roaming"), (2000, 0.95, ""), (10000, 0.90, "")):
        pair = found.get(f"tpcc/uniform/rc/against-16{roaming}/{n}", {})
        if set(FEW_MANY) <= pair.keys():
            got, low, high, rounds = paired(pair["many"], pair["few"])
            place = "any warehouse for each transaction (the same data for all counts)" if roaming else "each connection at its warehouse (16 of 50 for the few)"
            line(f"tpcc, {n:,} connections against 16, {place}, {rounds} pairs of slices", f"≥ {share:.0%}", f"{got:.0%} ({low:.0%} to {high:.0%})", got >= share)
    for group in ("tpcc/uniform/rc", "read_write/uniform/rc", "point_select/uniform/rc"):
        rates = {n: s["altiplano"].rate for n, s in curve(found, group) if "altiplano" in s and s["altiplano"].rate}
        for n, share in ((2000, 0.95), (10000, 0.90)):
            if n in rates:
                at = max(rates, key=rates.get)
                got = rates[n] / rates[at]
                line(f"{group.split('/')[0]}, share of own peak (at {at:,}) at {n:,}", f"≥ {share:.0%}" if group.startswith("tpcc") else "", f"{got:.0%}", got >= share)
        own = {n: own_cost(s) for n, s in curve(found, group) if own_cost(s) is not None}
        for n in (1024, 10000):
            if 16 in own and n in own and own[16] > 0:
                got = own[n] / own[16]
                line(f"{group.split('/')[0]}, own CPU per transaction above the canned server, {n:,} against 16", "≤ 1.1x", f"{own[16]:.1f} → {own[n]:.1f} µs, {got:.2f}x", got <= 1.1)
    for name, servers in found.items():
        if set(OWN) <= servers.keys() and own_growth(servers):
            rounds = own_growth(servers)
            few, many = (statistics.median(of) for of in zip(*rounds))
            each = sorted(m / f for f, m in rounds if f > 0)
            got = many / few if few > 0 else math.inf
            text = f"{few:.1f} → {many:.1f} µs (medians), {got:.2f}x; by rounds {each[0]:.2f} to {each[-1]:.2f}" if each else f"{few:.1f} → {many:.1f} µs"
            # Where few cost no more than canned answers there is no ratio: then many are not to cost more above them than few do.
            met = got <= 1.1 if few > 0 else many <= few
            line(f"{name.split('/')[0]}, own CPU per transaction above the canned server, {name.rsplit('/', 1)[1]} against 16, {len(rounds)} groups of neighbouring slices", "≤ 1.1x", text, met)
    for n in (128, 1024):
        servers = found.get(f"hot_row/uniform/rc/{n}", {})
        if "altiplano" in servers and "mysql" in servers:
            got = ratio(servers["altiplano"], servers["mysql"])
            if got:
                line(f"hot row against MySQL 9.7, {n:,} connections", "≥ 5x" if n == 128 else "", f"{got:.2f}x", got >= 5)
    for n in (1, 16, 128, 1024):
        pair = found.get(f"read_write/uniform/rc/levels/{n}", {})
        if set(BOTH_LEVELS) <= pair.keys():
            got, low, high, rounds = paired(pair["repeatable"], pair["committed"])
            line(f"read_write, REPEATABLE READ against READ COMMITTED, {n:,} connections, {rounds} pairs of slices", "not slower", f"{got:.2f}x ({low:.2f} to {high:.2f})", got >= 0.98)
    for n in (1, 16, 128, 1024, 2000, 10000):
        pair = [found.get(f"read_write/uniform/{level}/{n}", {}).get("altiplano") for level in ("rr", "rc")]
        if all(pair):
            got = ratio(*pair)
            if got:
                line(f"read_write, REPEATABLE READ against READ COMMITTED, {n:,} connections", "not slower", f"{got:.2f}x", got >= 0.98)
    useful, useless = (sum(s.get("status", {}).get("Altiplano_log_wakes_" + kind, 0) for s in recorded() if s["server"] in ("altiplano", *SAME_SERVER)) for kind in ("useful", "useless"))
    if useful + useless:
        got = useful / (useful + useless)
        line("wake-ups by commit batches that were useful", "≥ 99 %", f"{got:.2%} of {useful + useless:,.0f}", got >= 0.99)
    return lines


def report(found):
    slices = recorded()
    first, last = min(s["at"] for s in slices), max(s["at"] for s in slices)
    builds, most_load = sorted({s["commit"] for s in slices}), max(s["load_average"] for s in slices)
    cut = [f"`scripts/plain.py`, {len(slices)} slices, {first} to {last}, build of {', '.join(builds)}; the client (`crates/bench`, two threads) runs on the same two cores."]
    cut.append(f"Highest load average at the end of a slice (client, servers and whatever else ran): {most_load:.0f}. Rates are medians; p95 and p99 in ms; CPU is the server's, user + system, µs per transaction;")
    cut.append("own is that less the canned server's. `~`: transactions took a good part of the slice, the rate is that of replies by replies per transaction.\n")
    lines = targets(found)
    if lines:
        cut += ["| target | wanted | found | met |", "|---|---|---|---|", *lines, ""]
    failed = [s for s in slices if "failed_run" in s or s["failed"] > s["transactions"] / 100]
    wrong = [w for servers in found.values() for f in servers.values() for w in f.wrong]
    broken = sum(f.broken for servers in found.values() for name, f in servers.items() if name != "mysql")
    cut.append(f"Runs that failed, or where more than a hundredth of the transactions did (not in the tables): {len(failed)}. Connections refused or lost by Altiplano or the canned server: {broken}. Totals that were wrong: {len(wrong)}.\n")
    for group in groups(found):
        workload, keys, level = group.split("/")
        title = f"{TITLES[workload]}" + ("" if workload in ("hot_row", "tpcc") else f", {keys}") + f", {dict(rc='READ COMMITTED', rr='REPEATABLE READ')[level]}"
        rows = curve(found, group)
        peak = max((s["altiplano"].rate or 0 for _, s in rows if "altiplano" in s), default=0)
        cut += [f"**{title}**\n"]
        plot = f"{workload}-{keys}-{level}.svg"
        if draw(rows, title, plot):
            cut += [f"![{title}](performance/{plot})\n"]
        cut += ["| connections | Altiplano tx/s | of peak | p95 / p99 | CPU | own | MySQL 9.7 tx/s | p95 / p99 | CPU | ratio | canned tx/s | CPU |", "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
        for n, servers in rows:
            ours, peer, canned = (servers.get(name) for name in ("altiplano", "mysql", "ceiling"))
            rate = lambda f: (("~" if f.by_replies else "") + number(f.rate)) if f and f.rate else ""
            times = lambda f: f"{f.p95:,.1f} / {f.p99:,.1f}" if f and f.p99 else ""
            share = f"{ours.rate / peak:.0%}" if ours and ours.rate and peak else ""
            against = number(ratio(ours, peer), "{:.2f}x") if ours and peer else ""
            cpu = lambda f: number(f.cpu, "{:,.1f}") if f else ""
            cut.append(f"| {n:,} | {rate(ours)} | {share} | {times(ours)} | {cpu(ours)} | {number(own_cost(servers), '{:,.1f}')} | {rate(peer)} | {times(peer)} | {cpu(peer)} | {against} | {rate(canned)} | {cpu(canned)} |")
        cut.append("")
    variants = {name: servers for name, servers in found.items() if "/without-" in name and {"base", "variant"} <= servers.keys()}
    if variants:
        cut += ["**One mechanism off at a time**: what is left without it (`altiplano serve --without NAME`), alternating with the whole.\n"]
        cut += ["| without | workload | connections | whole tx/s | without tx/s | worth | CPU whole | CPU without | commits woken in vain, whole | without |", "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"]
        for name, servers in sorted(variants.items(), key=lambda v: (v[0].split("/")[3], v[0].split("/")[0], int(v[0].split("/")[4]))):
            workload, _, _, without, n = name.split("/")
            whole, less = servers["base"], servers["variant"]
            worth = ratio(whole, less)
            cut.append(f"| {without[8:]} | {workload} | {int(n):,} | {number(whole.rate)} | {number(less.rate)} | {number(worth, '{:.2f}x')} | {number(whole.cpu, '{:,.1f}')} | {number(less.cpu, '{:,.1f}')} | {number(whole.in_vain, '{:.1%}')} | {number(less.in_vain, '{:.1%}')} |")
        cut.append("")
    return "\n".join(cut)


# ---------------------------------------------------------------------------------------------------------------- plots

COLORS = {"altiplano": ("#1f6fb4", "Altiplano"), "mysql": ("#c8601a", "MySQL 9.7"), "ceiling": ("#888888", "canned answers")}


def draw(rows, title, file):
    """Throughput over connections (logarithmic) as SVG; nothing for fewer than three points."""
    lines = {name: [(n, s[name].rate) for n, s in rows if name in s and s[name].rate] for name in COLORS}
    lines = {name: points for name, points in lines.items() if points}
    # The canned server's rate would press the others flat where it is many times theirs.
    most = max((r for name, points in lines.items() if name != "ceiling" for _, r in points), default=0)
    if "ceiling" in lines and max(r for _, r in lines["ceiling"]) > 3 * most:
        del lines["ceiling"]
    if args.quick or len(lines.get("altiplano", [])) < 3:
        return False
    width, height, left, right, top, bottom = 720, 360, 70, 20, 40, 45
    counts = [n for points in lines.values() for n, _ in points]
    low, high = math.log10(min(counts)), math.log10(max(max(counts), min(counts) * 10))
    highest = max(r for points in lines.values() for _, r in points)
    step = 10 ** math.floor(math.log10(highest))
    step = next(s for s in (step / 5, step / 2, step, step * 2) if highest / s <= 7)
    limit = math.ceil(highest / step) * step
    x = lambda n: left + (math.log10(n) - low) / (high - low) * (width - left - right)
    y = lambda r: height - bottom - r / limit * (height - top - bottom)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{width}" height="{height}" fill="white"/>', f'<text x="{left}" y="20" font-size="13">{title}: transactions a second over connections</text>']
    tick = 0
    while tick <= limit + step / 2:
        out.append(f'<line x1="{left}" y1="{y(tick):.1f}" x2="{width - right}" y2="{y(tick):.1f}" stroke="#e4e4e4"/><text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick:,.0f}</text>')
        tick += step
    for n in sorted(set(counts)):
        out.append(f'<line x1="{x(n):.1f}" y1="{top}" x2="{x(n):.1f}" y2="{height - bottom}" stroke="#f2f2f2"/><text x="{x(n):.1f}" y="{height - bottom + 16}" text-anchor="middle" font-size="11">{n:,}</text>')
    for at, (name, points) in enumerate(lines.items()):
        color, label = COLORS[name]
        path = " ".join(f"{x(n):.1f},{y(r):.1f}" for n, r in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{x(n):.1f}" cy="{y(r):.1f}" r="3" fill="{color}"><title>{label}, {n:,}: {r:,.0f}/s</title></circle>' for n, r in points]
        out.append(f'<text x="{left + 10 + 140 * at}" y="{height - 10}" fill="{color}">● {label}</text>')
    folder = ROOT / "docs/performance"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("\n".join([*out, "</svg>", ""]))
    return True


def write(text):
    """Puts the report between its marks in docs/performance.md."""
    page = ROOT / "docs/performance.md"
    begin, end = "<!-- plain.py: begin -->", "<!-- plain.py: end -->"
    old = page.read_text()
    if begin not in old:
        sys.exit(f"{page} has no line {begin}")
    page.write_text(old[: old.index(begin) + len(begin)] + "\n\n" + text + "\n" + old[old.index(end):])


if args.list:
    seen = set()
    for cell in cells():
        if cell.name not in seen:
            print(f"{cell.name:42} {','.join(cell.servers):24} {cell.cost():5.0f} s a round")
        seen.add(cell.name)
    sys.exit()
if not args.report:
    measure(cells())
found = figures()
if not found:
    sys.exit("nothing was measured")
text = report(found)
if args.quick:
    print(text)
else:
    write(text)
    print("docs/performance.md and docs/performance/ are written", file=sys.stderr)
