#!/usr/bin/env python3
"""rows_behind.py: what do rows behind the entries of a secondary index cost, in memory and on disk?

Loads one of sysbench's tables and asks for the rows of ranges of its secondary index (`SUM(LENGTH(pad)) ... WHERE k BETWEEN`, a thousand rows from anywhere in the table each), first with a buffer pool that
holds all, then with one that holds a twelfth. Of several programs in turns, on the same data (a directory each); prints for each the median milliseconds and processor microseconds of a row.

  --program P      a program to measure; repeatable (target/release/altiplano)
  --rows N         rows of the table (3,000,000: about 770 MB)
  --rounds R       (5)
  --queries Q      ranges asked for in each round (60)
  --width W        values of the key in a range, and about as many rows (1000)
  --results DIR    data directories, logs (/var/tmp/altiplano-rows)
  --port N         (14169)

Needs the `mysql` client. Processor time and ratios of neighbours tell something beside other work; milliseconds want a machine that does nothing else.
"""
import argparse
import random
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import Client, processor, start_server, stop_server

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--program", type=Path, action="append")
ap.add_argument("--rows", type=int, default=3_000_000)
ap.add_argument("--rounds", type=int, default=5)
ap.add_argument("--queries", type=int, default=60)
ap.add_argument("--width", type=int, default=1000)
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-rows"))
ap.add_argument("--port", type=int, default=14169)
args = ap.parse_args()
PROGRAMS = args.program or [ROOT / "target/release/altiplano"]


def ask(server, client, ranges):
    """Rows, seconds and processor seconds of the server."""
    spent, begun, rows = processor(server.pid)[0], time.monotonic(), 0
    for low in ranges:
        rows += int(client.ask(f"SELECT COUNT(*), SUM(LENGTH(pad)) FROM sbtest.sbtest1 FORCE INDEX (k_1) WHERE k BETWEEN {low} AND {low + args.width - 1}")[0][0])
    return rows, time.monotonic() - begun, processor(server.pid)[0] - spent


def main():
    args.results.mkdir(parents=True, exist_ok=True)
    data = args.results / "data"
    shutil.rmtree(data, ignore_errors=True)
    server = start_server(PROGRAMS[0], data, args.port, "2G", ["innodb_flush_log_at_trx_commit=2"], args.results / "load.log")
    bench = [PROGRAMS[0], "bench", "prepare", "--server", f"127.0.0.1:{args.port}", "--workload", "oltp_point_select", "--tables", 1, "--table-size", args.rows, "--loaders", 2]
    subprocess.run([str(part) for part in bench], check=True, stdout=subprocess.DEVNULL)
    stop_server(server)
    for pool in ("2G", "64M"):
        figures = {no: [] for no in range(len(PROGRAMS))}
        for seed in range(args.rounds):
            for no, program in enumerate(PROGRAMS):
                server = start_server(program, data, args.port, pool, [], args.results / f"{no}.log")
                client = Client(args.port)
                client.ask("SELECT COUNT(pad) FROM sbtest.sbtest1")
                draw = random.Random(seed)
                ranges = [draw.randrange(args.rows * 45 // 100, args.rows * 55 // 100) for _ in range(args.queries)]
                rows, took, spent = ask(server, client, ranges)
                figures[no].append((1000 * took / args.queries, 1e6 * took / rows, 1e6 * spent / rows, rows))
                stop_server(server)
        for no, program in enumerate(PROGRAMS):
            of = lambda at: statistics.median(each[at] for each in figures[no])
            times = ", ".join(f"{each[1]:.2f}" for each in figures[no])
            print(f"pool {pool}, {program}: {of(0):.2f} ms a range of {of(3) / args.queries:.0f} rows, {of(1):.2f} us a row ({times}), {of(2):.2f} us of the processor", flush=True)
    shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    main()
