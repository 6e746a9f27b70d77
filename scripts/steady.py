#!/usr/bin/env python3
"""steady.py: throughput of each second over minutes of TPC-C with data larger than the buffer pool; does a cleaner or a checkpoint stall it?

Starts a server of its own, loads TPC-C, runs it, and reads the server's counters once a second: transactions that wrote and finished, pages read and written,
dirty pages, age of the log, waits for frames. Beside them what the machine did: the share of the processors that its host gave to others (`stolen`), and how long the
device took for a read (`read_ms`), so that a slow second can be told from a stall. Prints the median second, the worst, and how many were under half of the median; writes the seconds to
RESULTS/steady.jsonl and a plot to docs/reliability/steady.svg. The aim: no second under 50 % of the median.

  --minutes M      measured time (20); a warm-up of a twentieth of it, at least 10 s, comes before
  --warehouses N   size of the data (10: about 1 GB at the standard's size)
  --items N, --customers N   smaller than the standard's 100,000 and 3,000
  --pool SIZE      buffer pool (128M)
  --connections N  (16)
  --idle-snapshot  one more connection opens a snapshot before the run and idles: what does it cost?
  --set NAME=VALUE system variable of the server; repeatable
  --results DIR    data directory, seconds, log of the server (/var/tmp/altiplano-steady)
  --keep           the data directory stays, and is used again
  --profile P      build that is used (release); server and load must be built
  --port N         (14149)
  --no-plot        leaves docs/ alone

Needs the `mysql` client, and a machine that does nothing else.
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

from measure import Client, plot, start_server, stop_server

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--minutes", type=float, default=20)
ap.add_argument("--warehouses", type=int, default=10)
ap.add_argument("--items", type=int, default=100_000)
ap.add_argument("--customers", type=int, default=3000)
ap.add_argument("--pool", default="128M")
ap.add_argument("--connections", type=int, default=16)
ap.add_argument("--idle-snapshot", action="store_true")
ap.add_argument("--set", action="append", default=[])
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-steady"))
ap.add_argument("--keep", action="store_true")
ap.add_argument("--profile", default="release")
ap.add_argument("--port", type=int, default=14149)
ap.add_argument("--no-plot", action="store_true")
args = ap.parse_args()

COUNTERS = {
    "Altiplano_transactions_finished": "finished",
    "Altiplano_history_length": "history",
    "Altiplano_history_age_seconds": "history_age",
    "Altiplano_undo_bytes_memory": "undo_memory",
    "Innodb_buffer_pool_pages_dirty": "dirty",
    "Innodb_buffer_pool_pages_free": "free",
    "Innodb_buffer_pool_pages_flushed": "written",
    "Innodb_buffer_pool_reads": "reads",
    "Innodb_buffer_pool_wait_free": "frame_waits",
    "Innodb_os_log_written": "log_bytes",
}


def machine():
    """Of the whole machine since its start: processor time, that of it which the host gave to others, reads that the device of RESULTS has done, and the milliseconds they took."""
    times = [int(n) for n in open("/proc/stat").readline().split()[1:9]]
    device = os.stat(args.results).st_dev
    try:
        reads = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()
    except OSError:
        reads = [0, 0, 0, 0]
    return {"all": sum(times), "stolen": times[7], "device_reads": int(reads[0]), "device_ms": int(reads[3])}


def load(action, *more):
    size = ["--warehouses", args.warehouses, "--items", args.items, "--customers", args.customers]
    command = [ROOT / f"target/{args.profile}/altiplano", "bench", action, *(["--json"] if action == "run" else []), "--server", f"127.0.0.1:{args.port}", "--database", "steady", "--workload", "tpcc"]
    return [str(part) for part in [*command, *size, *more]]


def main():
    data = args.results / "data"
    fresh = not (args.keep and data.exists())
    args.results.mkdir(parents=True, exist_ok=True)
    if fresh and data.exists():
        shutil.rmtree(data)
    server = start_server(ROOT / f"target/{args.profile}/altiplano", data, args.port, args.pool, args.set, args.results / "server.log")
    runner = None
    try:
        if fresh:
            subprocess.run(load("prepare", "--loaders", 2), check=True)
        client = Client(args.port)
        bytes_of_data = (data / "data").stat().st_size
        total = int(dict(client.ask("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_total'"))["Innodb_buffer_pool_pages_total"])
        print(f"data file {bytes_of_data >> 20} MiB, pool {total * 16384 >> 20} MiB: {bytes_of_data / (total * 16384):.1f} times")
        idle = None
        if args.idle_snapshot:
            idle = Client(args.port)
            idle.ask("USE steady; START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT COUNT(*) FROM warehouse")
        measured, warmup = args.minutes * 60, max(args.minutes * 3, 10)
        runner = subprocess.Popen(load("run", "-c", args.connections, "--seconds", measured + warmup, "--warmup", 1), stdout=subprocess.PIPE, text=True)
        time.sleep(warmup)
        names = ",".join(f"'{name}'" for name in COUNTERS)
        sample = lambda: {**{COUNTERS[k]: int(v) for k, v in client.ask(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({names})")}, **machine()}
        seconds, before, at = [], sample(), time.monotonic()
        end, tick = at + measured, at
        while time.monotonic() < end:
            tick += 1
            time.sleep(max(tick - time.monotonic(), 0))
            now, clock = sample(), time.monotonic()
            rate = lambda name: (now[name] - before[name]) / (clock - at)
            seconds.append({
                "tps": round(rate("finished"), 1), "reads": round(rate("reads")), "written": round(rate("written")),
                "log_mb": round(rate("log_bytes") / 1e6, 2), "frame_waits": now["frame_waits"] - before["frame_waits"],
                "dirty": now["dirty"], "free": now["free"], "history": now["history"], "history_age": now["history_age"],
                "undo_mb": now["undo_memory"] >> 20, "took": round(clock - at, 3),
                "stolen": round((now["stolen"] - before["stolen"]) / max(now["all"] - before["all"], 1), 3),
                "read_ms": round((now["device_ms"] - before["device_ms"]) / max(now["device_reads"] - before["device_reads"], 1), 3),
            })
            before, at = now, clock
        runner.wait()
        (args.results / "steady.jsonl").write_text("".join(json.dumps(second) + "\n" for second in seconds))
        rates = [second["tps"] for second in seconds]
        median = statistics.median(rates)
        under = sum(rate < median / 2 for rate in rates)
        worst = min(range(len(rates)), key=rates.__getitem__)
        print(f"{len(rates)} seconds: median {median:.0f} transactions/s that write, worst {rates[worst]:.0f} ({100 * rates[worst] / max(median, 1):.0f} %, second {worst}),"
              f" {under} under half of the median")
        usual = {name: statistics.median(second[name] for second in seconds) for name in ("stolen", "read_ms")}
        slow = [second for second in seconds if second["tps"] < median / 2]
        hindered = sum(second["stolen"] > 0.1 or second["read_ms"] > 2 * usual["read_ms"] for second in slow)
        print(f"the host gave {100 * usual['stolen']:.1f} % of the processors to others, and a read took {usual['read_ms']:.3f} ms (medians); "
              f"of the seconds under half {hindered} are such in which that was over 10 %, or more than twice as long")
        print("worst second:", json.dumps(seconds[worst]))
        thirds = [statistics.median(rates[i * len(rates) // 3:(i + 1) * len(rates) // 3 or None]) for i in range(3)] if len(rates) >= 3 else []
        print("medians of the thirds:", ", ".join(f"{m:.0f}" for m in thirds))
        print("at the end:", json.dumps(seconds[-1]))
        if idle:
            rows = idle.ask("SELECT SUM(w_ytd) = 300000 * COUNT(*) FROM warehouse")
            print("the idle snapshot still sees the warehouses as they were loaded:", rows[0][0] == "1" if fresh else "(data used before)")
        if not args.no_plot:
            title = f"TPC-C, {args.warehouses} warehouses, pool {args.pool}, {args.connections} connections: transactions that write, each second"
            levels = [(median, "median", "#228833"), (median / 2, "half of it", "#aa3322")]
            plot(ROOT / "docs/reliability/steady.svg", title, rates, levels, "seconds")
        return 1 if under else 0
    finally:
        if runner and runner.poll() is None:
            runner.terminate()
            runner.wait()
        stop_server(server)
        if not args.keep:
            shutil.rmtree(data, ignore_errors=True)


sys.exit(main())
