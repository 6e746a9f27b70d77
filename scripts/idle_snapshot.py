#!/usr/bin/env python3
"""idle_snapshot.py: what does one snapshot that idles cost those who write?

Two servers of one build side by side, each with its own data, the same load in turns: a slice of some seconds on the one, then on the other. Beside the second a snapshot is open
from the start and idles. What else the machine does meets neighbouring slices alike, and the server's processor time for each transaction is told beside the rate, which a busy machine bends
less. At the end: medians of the ratios of neighbouring slices over the whole and over its last third, the counters of both, and that the snapshot still sees what it saw. The aim: 0.95 of the rate.

  --minutes M      measured time of both together (4)
  --slice S        seconds of a slice (6)
  --workload W     tpcc, or one of sysbench's: write_only, update_index, read_write (tpcc)
  --warehouses N, --items N, --customers N   size of TPC-C's data (10; 10,000 and 300: a tenth of the standard's)
  --rows N         rows of each of sysbench's four tables (100,000)
  --connections N  (16)
  --pool SIZE      buffer pool of each server (1G)
  --program PATH   server (target/PROFILE/altiplano); --other PATH: that of the server with the snapshot, if it is another
  --both           the snapshot idles beside both servers: compares two programs
  --none           beside neither: what the comparison itself is worth
  --flush N        innodb_flush_log_at_trx_commit (1, as the server has it; with 2 nobody waits for the disk, and all that the snapshot costs the processors costs the rate)
  --profile P      build that is used (release); server and load must be built
  --set NAME=VALUE system variable of the servers; repeatable
  --results DIR    data, logs, slices.jsonl (/var/tmp/altiplano-idle-snapshot)
  --port N         (14189; and the next)

Needs the `mysql` client.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from measure import Client, processor, start_server, stop_server

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--minutes", type=float, default=4)
ap.add_argument("--slice", type=int, default=6)
ap.add_argument("--workload", default="tpcc")
ap.add_argument("--warehouses", type=int, default=10)
ap.add_argument("--items", type=int, default=10_000)
ap.add_argument("--customers", type=int, default=300)
ap.add_argument("--rows", type=int, default=100_000)
ap.add_argument("--connections", type=int, default=16)
ap.add_argument("--pool", default="1G")
ap.add_argument("--program", type=Path)
ap.add_argument("--other", type=Path)
ap.add_argument("--both", action="store_true")
ap.add_argument("--none", action="store_true")
ap.add_argument("--flush", type=int, default=1)
ap.add_argument("--profile", default="release")
ap.add_argument("--set", action="append", default=[])
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-idle-snapshot"))
ap.add_argument("--port", type=int, default=14189)
args = ap.parse_args()

COUNTERS = {
    "Altiplano_transactions_finished": "finished",
    "Altiplano_history_length": "history",
    "Altiplano_history_purged": "purged",
    "Altiplano_history_purged_by_writers": "by_writers",
    "Altiplano_history_pruned": "pruned",
    "Altiplano_undo_bytes_live": "undo",
    "Altiplano_undo_bytes_memory": "undo_memory",
    "Altiplano_undo_segments_spilled": "spilled",
    "Altiplano_undo_file_reads": "undo_reads",
}
tpcc = args.workload == "tpcc"
SIZE = ["--warehouses", args.warehouses, "--items", args.items, "--customers", args.customers] if tpcc else ["--tables", 4, "--table-size", args.rows]
TOTALS = "SELECT SUM(w_ytd), COUNT(*) FROM warehouse; SELECT COUNT(*), SUM(o_id) FROM orders; SELECT COUNT(*), MIN(no_o_id) FROM new_order; SELECT SUM(s_quantity), SUM(s_ytd) FROM stock" \
    if tpcc else "SELECT COUNT(*), SUM(k), MIN(c) FROM sbtest1; SELECT COUNT(*), SUM(k), MAX(c) FROM sbtest2"


class Side:
    """A server, its data, a session for its counters, and maybe one with a snapshot."""

    def __init__(self, name, program, port, idles):
        self.name, self.port = name, port
        self.data = args.results / name
        shutil.rmtree(self.data, ignore_errors=True)
        settings = [f"innodb_flush_log_at_trx_commit={args.flush}", *args.set]
        self.server = start_server(program, self.data, port, args.pool, settings, args.results / f"{name}.log")
        self.idle, self.idles = None, idles

    def load(self, action, *more):
        command = [ROOT / f"target/{args.profile}/altiplano", "bench", action, *(["--json"] if action == "run" else []), "--server", f"127.0.0.1:{self.port}", "--workload", args.workload, *SIZE, *more]
        return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout

    def begin(self):
        self.client = Client(self.port)
        if self.idles:
            self.idle = Client(self.port)
            self.idle.ask("USE sbtest; START TRANSACTION WITH CONSISTENT SNAPSHOT")
            self.totals = self.idle.ask(TOTALS)

    def counters(self):
        found = dict(self.client.ask("SHOW GLOBAL STATUS LIKE 'Altiplano%'"))
        return {short: int(found.get(name, 0)) for name, short in COUNTERS.items()}

    def slice(self, seconds):
        (cpu, purge), before = processor(self.server.pid), self.counters()
        result = json.loads(self.load("run", "-c", args.connections, "--seconds", seconds, "--warmup", 1))
        (cpu_after, purge_after), after = processor(self.server.pid), self.counters()
        done = after["finished"] - before["finished"]
        return {
            "side": self.name, "rate": result["tps"], "written": done, "cpu_us": 1e6 * (cpu_after - cpu) / done, "purge_us": 1e6 * (purge_after - purge) / done,
            "load": os.getloadavg()[0], **{name: value for name, value in after.items()},
        }


def ratios(slices, what):
    """Of each slice with the snapshot, by the mean of its neighbours without."""
    by_order = [s[what] for s in slices]
    return [by_order[i] / statistics.mean(by_order[j] for j in (i - 1, i + 1) if j < len(by_order)) for i in range(1, len(by_order), 2)]


def main():
    args.results.mkdir(parents=True, exist_ok=True)
    program = args.program or ROOT / f"target/{args.profile}/altiplano"
    sides = []
    try:
        for number, (name, binary) in enumerate((("without", program), ("with", args.other or program))):
            sides.append(Side(name, binary, args.port + number, args.both or (name == "with" and not args.none)))
        for side in sides:
            side.load("prepare", "--loaders", 2)
            side.load("run", "-c", args.connections, "--seconds", 3, "--warmup", 1)
            side.begin()
        slices, end = [], time.monotonic() + args.minutes * 60
        with open(args.results / "slices.jsonl", "w") as out:
            while time.monotonic() < end or len(slices) % 2:
                slices.append(sides[len(slices) % 2].slice(args.slice))
                line = json.dumps({key: round(value, 1) if isinstance(value, float) else value for key, value in slices[-1].items()})
                out.write(line + "\n")
                print(line, flush=True)
        last = len(slices) * 2 // 3 // 2 * 2
        for what, label in (("rate", "rate"), ("cpu_us", "processor time of the server for each transaction")):
            every, late = ratios(slices, what), ratios(slices[last:], what)
            print(f"{label}: median {statistics.median(every):.3f} of {len(every)} pairs ({min(every):.3f} to {max(every):.3f}), last third {statistics.median(late):.3f}")
        for side in sides:
            if side.idle:
                at = time.monotonic()
                same = side.idle.ask(TOTALS) == side.totals
                print(f"{side.name}: the snapshot sees what it saw: {'yes' if same else 'NO'} (in {time.monotonic() - at:.1f} s)")
                side.idle.ask("COMMIT")
        time.sleep(3)
        for side in sides:
            print(f"{side.name}: three seconds after, history {side.counters()['history']}")
    finally:
        for side in sides:
            stop_server(side.server)
            shutil.rmtree(side.data, ignore_errors=True)


sys.exit(main())
