#!/usr/bin/env python3
"""warm_start.py: the rate of point selects in each second after a restart, with the pages of the server before and without them.

Starts a server of its own, loads sysbench's tables of about the pool's size, reads all of it, and ends the server: by SIGTERM, or by SIGKILL after it was told to write its list.
Then starts it again, each way in turns, with `innodb_buffer_pool_load_at_startup` ON and OFF, and lets connections select rows by key from the first second on. Prints for each second the
selects answered, the pages that selects had to read, and how the load stood; at the end the seconds until nine tenths of the last seconds' median were reached.

  --pool SIZE      buffer pool (1G)
  --tables N, --rows N   size of the data (4 tables of 1,000,000 rows: about 900 MB)
  --connections N  (16)
  --seconds N      measured after each start (20)
  --rounds N       of each way (3)
  --kill           ends the server by SIGKILL
  --results DIR    data directory and log of the server (/var/tmp/altiplano-warm-start)
  --keep           the data directory stays, and is used again
  --profile P      build that is used (release)
  --port N         (14151)

Needs the `mysql` client, and a machine that does nothing else. The data file is read past the page cache, where the file system lets it be.
"""
import argparse
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import Client, start_server, stop_server

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--pool", default="1G")
ap.add_argument("--tables", type=int, default=4)
ap.add_argument("--rows", type=int, default=1_000_000)
ap.add_argument("--connections", type=int, default=16)
ap.add_argument("--seconds", type=int, default=20)
ap.add_argument("--rounds", type=int, default=3)
ap.add_argument("--kill", action="store_true")
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-warm-start"))
ap.add_argument("--keep", action="store_true")
ap.add_argument("--profile", default="release")
ap.add_argument("--port", type=int, default=14151)
args = ap.parse_args()
BINARY = ROOT / f"target/{args.profile}/altiplano"
DATA = args.results / "data"


def bench(action, *more):
    command = [BINARY, "bench", action, "--server", f"127.0.0.1:{args.port}", "--workload", "oltp_point_select", "--tables", args.tables, "--table-size", args.rows]
    return [str(part) for part in [*command, *more]]


def start(*settings):
    return start_server(BINARY, DATA, args.port, args.pool, settings, args.results / "server.log")


def status(client):
    names = "'Com_select','Questions','Innodb_buffer_pool_reads','Innodb_buffer_pool_load_status'"
    return dict(client.ask(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})"))


def end(server, client):
    if not args.kill:
        return stop_server(server)
    client.ask("SET GLOBAL innodb_buffer_pool_dump_now = ON")
    while not (done := dict(client.ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_dump_status'"))["Innodb_buffer_pool_dump_status"]).startswith("Buffer pool(s) dump completed"):
        if done.startswith("Cannot"):
            raise SystemExit(done)
        time.sleep(0.01)
    server.kill()
    server.wait()


def seconds_of(loads):
    """The server is started, loaded at once and measured: (selects, pages read by them) of each second."""
    server = start(f"innodb_buffer_pool_load_at_startup={'ON' if loads else 'OFF'}")
    client = Client(args.port)
    runner = subprocess.Popen(bench("run", "-c", args.connections, "--seconds", args.seconds + 1, "--warmup", 0), stdout=subprocess.DEVNULL)
    seconds, before, at = [], status(client), time.monotonic()
    for second in range(args.seconds):
        time.sleep(max(0, at + second + 1 - time.monotonic()))
        now = status(client)
        grown = [int(now[name]) - int(before[name]) for name in ("Com_select", "Innodb_buffer_pool_reads")]
        print(f"  second {second + 1:3}: {grown[0]:8} selects, {grown[1]:7} pages read by them; {now['Innodb_buffer_pool_load_status']}", flush=True)
        seconds.append(grown)
        before = now
    runner.wait()
    # All of it in memory again, so that the next list is a whole one.
    warm(client)
    end(server, client)
    return seconds


def warm(client):
    for table in range(1, args.tables + 1):
        client.ask(f"SELECT COUNT(*), SUM(LENGTH(c)) FROM sbtest.sbtest{table} FORCE INDEX (PRIMARY)")


def main():
    args.results.mkdir(parents=True, exist_ok=True)
    fresh = not (args.keep and DATA.exists())
    if fresh and DATA.exists():
        shutil.rmtree(DATA)
    server = start()
    if fresh:
        subprocess.run(bench("prepare", "--loaders", 2), check=True)
    client = Client(args.port)
    warm(client)
    end(server, client)
    slow = {True: [], False: []}
    for number in range(args.rounds):
        for loads in (True, False):
            print(f"round {number + 1}, {'with' if loads else 'without'} the pages of before", flush=True)
            rates = [selects for selects, _ in seconds_of(loads)]
            full = statistics.median(rates[-5:])
            slow[loads].append(next(second for second, rate in enumerate(rates) if rate >= 0.9 * full) + 1)
    for loads, found in slow.items():
        print(f"{'with' if loads else 'without'} the pages of before: nine tenths of the full rate in second {', '.join(map(str, found))}")
    if not args.keep:
        shutil.rmtree(args.results)


main()
