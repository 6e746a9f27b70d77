#!/usr/bin/env python3
"""memory.py: memory of a server over an hour of mixed load: does it stay where it is?

Starts a server of its own, loads tables with sysbench and runs oltp_read_write against them at a fixed rate (prepared statements, reads, writes). Beside it
a client connects about once a second, does one of a list of things (sorts, joins, groups, large results, PREPARE and EXECUTE, statements past their limit, bulk INSERT
and DELETE, ALTER TABLE by copy, CREATE INDEX, OPTIMIZE, CREATE and DROP) and disconnects. Every few seconds the resident memory and
performance_schema.memory_summary_global_by_event_name are read. Prints the medians of the first and the last quarter of the samples, of the whole and of each
kind, and whether the whole grew by more than 5 % and 8 MiB; writes the samples to RESULTS/memory.jsonl and a plot to docs/reliability/memory.svg.

  --minutes M      measured time (60); a warm-up of a tenth of it, at most five minutes, comes before
  --rate N         transactions of sysbench a second, of twenty statements each (15)
  --pause S        pause between the other client's visits (1)
  --pool SIZE      buffer pool (64M)
  --set NAME=VALUE system variable of the server; repeatable
  --results DIR    data directory, samples, log of the server (/var/tmp/altiplano-memory)
  --profile P      build that is used (release)
  --port N         (14159)
  --no-plot        leaves docs/ alone

Needs sysbench and the `mysql` client. Nothing here is timed, so other work on the machine does no harm.
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

from measure import Client, plot, processor_seconds, start_server, stop_server

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--minutes", type=float, default=60)
ap.add_argument("--rate", type=int, default=15)
ap.add_argument("--pause", type=float, default=1)
ap.add_argument("--pool", default="64M")
ap.add_argument("--set", action="append", default=[])
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-memory"))
ap.add_argument("--profile", default="release")
ap.add_argument("--port", type=int, default=14159)
ap.add_argument("--no-plot", action="store_true")
args = ap.parse_args()

TABLES, ROWS = 4, 40_000
SAMPLE_SECONDS = 5
GROWTH_SHARE, GROWTH_BYTES = 0.05, 8 << 20

# One visit each. What may fail says with which codes.
VISITS = [
    ("SELECT * FROM sbtest1 ORDER BY c, id LIMIT 20000", ()),
    ("SELECT COUNT(*) FROM (SELECT a.c FROM sbtest1 a JOIN sbtest2 b ON a.k = b.id ORDER BY a.c) x", ()),
    ("SELECT k, COUNT(*), MAX(c), GROUP_CONCAT(pad) FROM sbtest3 GROUP BY k", ()),
    ("SELECT COUNT(DISTINCT CONCAT(c, pad)) FROM sbtest4", ()),
    ("SELECT * FROM sbtest2", ()),
    ("SET @id = 7; PREPARE p FROM 'SELECT c FROM sbtest1 WHERE id = ?'; EXECUTE p USING @id; PREPARE q FROM 'SELECT * FROM sbtest1 ORDER BY pad LIMIT ?'; EXECUTE q USING @id", ()),
    ("SET SESSION connection_memory_limit = 4000000; SELECT * FROM sbtest1 ORDER BY c", (1038,)),
    ("CREATE TABLE copy LIKE sbtest1; INSERT INTO copy SELECT * FROM sbtest1 WHERE id <= 10000; UPDATE copy SET k = k + 1 ORDER BY c; DELETE FROM copy WHERE id % 2 = 0; DROP TABLE copy", ()),
    ("CREATE TABLE a LIKE sbtest2; INSERT INTO a SELECT * FROM sbtest2 WHERE id <= 10000; ALTER TABLE a ADD COLUMN more INT NOT NULL DEFAULT 5 FIRST, ALGORITHM=COPY; CREATE INDEX c ON a (c); OPTIMIZE TABLE a; DROP TABLE a", ()),
    ("START TRANSACTION; UPDATE sbtest4 SET k = k + 1 WHERE id <= 5000; ROLLBACK", (1205, 1213)),
    ("SELECT LENGTH(REPEAT('x', 4000000)), (SELECT COUNT(*) FROM sbtest1 WHERE c LIKE '%99%')", ()),
    ("CHECK TABLE sbtest3 QUICK; SHOW TABLE STATUS; SELECT * FROM information_schema.columns", ()),
    ("SELECT NAME, COUNT FROM information_schema.INNODB_METRICS; SELECT 1 FROM no_such_table", (1146,)),
]


def sysbench(action, *more):
    connection = ["--mysql-host=127.0.0.1", f"--mysql-port={args.port}", "--mysql-user=root", "--mysql-db=sbtest", "--mysql-ssl=off"]
    return ["sysbench", "oltp_read_write", *connection, f"--tables={TABLES}", f"--table-size={ROWS}", "--mysql-ignore-errors=1213,1205,1020", *map(str, more), action]


class Visitor(threading.Thread):
    """Connects, does one thing, disconnects."""

    def __init__(self):
        super().__init__(daemon=True)
        self.ends, self.visits, self.surprises = threading.Event(), 0, []

    def run(self):
        while not self.ends.wait(args.pause):
            sql, codes = VISITS[self.visits % len(VISITS)]
            self.visits += 1
            command = ["mysql", "-h127.0.0.1", f"-P{args.port}", "-uroot", "-N", "-B", "sbtest", "-e", sql]
            done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            expected = any(f"ERROR {code} " in done.stderr for code in codes)
            # An error that must come, or one that may (locks).
            if (done.returncode != 0 and not expected) or (done.returncode == 0 and codes and codes[0] in (1038, 1146)):
                self.surprises.append(f"{sql[:80]}: {done.stderr.strip() or 'no error'}")


def fill_undo(client):
    """Each of 64 places to append undo at keeps a segment of 1 MiB, touched as it fills: all are filled now, or that would look like growth."""
    client.ask("USE sbtest; CREATE TABLE filler (id INT PRIMARY KEY, s VARCHAR(1000) NOT NULL); INSERT INTO filler SELECT id, REPEAT('x', 1000) FROM sbtest1 WHERE id <= 1200")
    for _ in range(80):
        sql = "BEGIN; UPDATE filler SET s = REPEAT('y', 1000); ROLLBACK"
        subprocess.run(["mysql", "-h127.0.0.1", f"-P{args.port}", "-uroot", "sbtest", "-e", sql], check=True)
    client.ask("DROP TABLE filler")


def resident(pid):
    for line in open(f"/proc/{pid}/status"):
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10


def quarters(samples, of):
    size = max(len(samples) // 4, 1)
    return statistics.median(map(of, samples[:size])), statistics.median(map(of, samples[-size:]))


def main():
    data = args.results / "data"
    shutil.rmtree(data, ignore_errors=True)
    args.results.mkdir(parents=True, exist_ok=True)
    server = start_server(ROOT / f"target/{args.profile}/altiplano", data, args.port, args.pool, args.set, args.results / "server.log")
    load, visitor = None, Visitor()
    try:
        client = Client(args.port)
        client.ask("CREATE DATABASE sbtest")
        subprocess.run(sysbench("prepare"), check=True, stdout=subprocess.DEVNULL)
        fill_undo(client)
        measured, warmup = args.minutes * 60, min(args.minutes * 6, 300)
        with open(args.results / "sysbench.log", "w") as log:
            load = subprocess.Popen(sysbench("run", "--threads=8", f"--rate={args.rate}", f"--time={int(warmup + measured + 60)}", "--report-interval=60"), stdout=log, stderr=log)
        visitor.start()
        time.sleep(warmup)
        samples, begun, used = [], time.monotonic(), processor_seconds(server.pid)
        record = open(args.results / "memory.jsonl", "w", buffering=1)
        while (at := time.monotonic() - begun) < measured:
            kinds = client.ask("SELECT EVENT_NAME, CURRENT_NUMBER_OF_BYTES_USED, HIGH_NUMBER_OF_BYTES_USED FROM performance_schema.memory_summary_global_by_event_name")
            status = dict(client.ask("SHOW GLOBAL STATUS WHERE Variable_name IN ('Altiplano_memory_heap', 'Altiplano_history_length', 'Threads_connected', 'Questions')"))
            samples.append({
                "at": round(at, 1), "resident": resident(server.pid), "heap": int(status["Altiplano_memory_heap"]), "history": int(status.get("Altiplano_history_length", 0)),
                "kinds": {name: int(now) for name, now, _ in kinds}, "high": {name: int(high) for name, _, high in kinds},
            })
            record.write(json.dumps(samples[-1]) + "\n")
            if load.poll() is not None:
                raise SystemExit(f"sysbench has ended; see {args.results / 'sysbench.log'}")
            time.sleep(max(SAMPLE_SECONDS - (time.monotonic() - begun - at), 0))
        share = (processor_seconds(server.pid) - used) / (time.monotonic() - begun)
        print(f"{measured / 60:.0f} minutes, {len(samples)} samples, {visitor.visits} visits, {100 * share:.0f} % of a processor by the server")
        mib = lambda bytes: f"{bytes / (1 << 20):8.1f}"
        print("MiB                                       first quarter   last quarter   most booked")
        line = lambda name, first, last, high="": print(f"{name:42}{mib(first)}       {mib(last)}      {high}")
        first, last = quarters(samples, lambda sample: sample["resident"])
        line("resident", first, last)
        line("heap", *quarters(samples, lambda sample: sample["heap"]))
        for name in samples[0]["kinds"]:
            line(name, *quarters(samples, lambda sample: sample["kinds"][name]), mib(samples[-1]["high"][name]))
        grown = last - first
        flat = grown <= max(GROWTH_SHARE * first, GROWTH_BYTES)
        for surprise in sorted(set(visitor.surprises)):
            print("not expected:", surprise)
        print(f"{'flat' if flat else 'NOT FLAT'}: the resident memory's median went from {mib(first).strip()} to {mib(last).strip()} MiB ({grown / (1 << 20):+.1f})")
        if not args.no_plot:
            title = f"Resident memory in MiB over {measured / 60:.0f} minutes of mixed load, pool {args.pool}"
            levels = [(first / (1 << 20), "first quarter", "#228833"), (last / (1 << 20), "last quarter", "#aa3322")]
            plot(ROOT / "docs/reliability/memory.svg", title, [sample["resident"] / (1 << 20) for sample in samples], levels, f"samples, one in {SAMPLE_SECONDS} s")
        return 0 if flat and not visitor.surprises else 1
    finally:
        visitor.ends.set()
        if load and load.poll() is None:
            load.terminate()
            load.wait()
        stop_server(server)
        shutil.rmtree(data, ignore_errors=True)


sys.exit(main())
