#!/usr/bin/env python3
"""device_speed.py: does a server whose data is much larger than its buffer pool read at the speed of the device?

Loads one of sysbench's tables, far larger than the pool, and takes turns: a slice of point selects of uniform keys through N connections, of which some at each moment wait for a read (so
many that the kernel counts for the device: the queue's depth); then a slice of `fio` over the same file with as many reads under way (O_DIRECT, io_uring, random reads of a page). Prints pages
read a second of both and the median of the ratios of neighbouring slices, for each N, and what a read takes in both (where reads under way are fewer than fio can have, one connection, only that compares); then a scan of the whole table beside fio's sequential reads of 1 MiB, four under way. The aim: 1.

  --rows N         rows of the table (3,000,000: about 770 MB)
  --pool SIZE      buffer pool (64M)
  --workload W     oltp_point_select, or select_random_points: ten rows by a secondary index in each statement, so that a read costs less of the processor (oltp_point_select)
  --connections LIST   (1,8,32,128)
  --slice S        seconds of a slice (6)
  --rounds R       slices of each kind for each depth (4)
  --results DIR    data directory, log, slices.jsonl (/var/tmp/altiplano-device)
  --keep           the data directory stays, and is used again
  --profile P      build that is used (release)
  --port N         (14159)

Needs `fio` and the `mysql` client, and a machine that does nothing else.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import time
from pathlib import Path

from measure import Client, processor, start_server, stop_server

ROOT = Path(__file__).resolve().parent.parent
PAGE = 16384
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--rows", type=int, default=3_000_000)
ap.add_argument("--pool", default="64M")
ap.add_argument("--workload", default="oltp_point_select")
ap.add_argument("--connections", default="1,8,32,128")
ap.add_argument("--slice", type=int, default=6)
ap.add_argument("--rounds", type=int, default=4)
ap.add_argument("--results", type=Path, default=Path("/var/tmp/altiplano-device"))
ap.add_argument("--keep", action="store_true")
ap.add_argument("--profile", default="release")
ap.add_argument("--port", type=int, default=14159)
args = ap.parse_args()

PROGRAM = ROOT / f"target/{args.profile}/altiplano"
DATA = args.results / "data"


def command(action, *more):
    return [PROGRAM, "bench", action, "--server", f"127.0.0.1:{args.port}", "--workload", args.workload, "--tables", 1, "--table-size", args.rows, *more]


def bench(action, *more):
    subprocess.run([str(part) for part in command(action, *more)], check=True, stdout=subprocess.DEVNULL)


def fio(kind, size, depth, seconds):
    """Reads a second of the server's own file of pages, and bytes a second."""
    # A thread, as the server's are.
    asked = ["fio", "--name=device", f"--filename={DATA / 'data'}", "--readonly", f"--rw={kind}", f"--bs={size}", "--direct=1", "--ioengine=io_uring", f"--iodepth={depth}", "--thread",
             "--time_based", f"--runtime={seconds}", "--randrepeat=0", "--output-format=json"]
    read = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)["jobs"][0]["read"]
    return read["iops"], read["bw_bytes"]


def pages_read(client):
    return int(client.ask("SHOW GLOBAL STATUS LIKE 'Innodb_pages_read'")[0][1])


def waited():
    """Milliseconds that reads of the device have taken, all together (Documentation/block/stat.rst)."""
    device = DATA.stat().st_dev
    return int(Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text().split()[3])


def idle():
    """Ticks that the machine's processors had nothing to do, and all."""
    ticks = [int(each) for each in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return ticks[3] + ticks[4], sum(ticks)


def selects(server, client, connections):
    """Under the selects, without the load's start and end: pages read a second, reads under way, what a read costs the server's processor (microseconds), the share of time in which processors were
    idle."""
    load = subprocess.Popen([str(part) for part in command("run", "-c", connections, "--seconds", args.slice + 2, "--warmup", 0)], stdout=subprocess.DEVNULL)
    time.sleep(1)
    (idled, ticks), before, spent, queued, begun = idle(), pages_read(client), processor(server.pid)[0], waited(), time.monotonic()
    time.sleep(args.slice)
    pages, queued_after, took, (idled_after, ticks_after) = pages_read(client) - before, waited(), time.monotonic() - begun, idle()
    cost = 1e6 * (processor(server.pid)[0] - spent) / max(pages, 1)
    if load.wait() != 0:
        raise SystemExit("the load failed")
    return pages / took, (queued_after - queued) / 1000 / took, cost, (idled_after - idled) / (ticks_after - ticks)


def in_turns(server, client, connections, out):
    """Slices of the server and of fio, with as many reads under way."""
    slices = []
    for _ in range(args.rounds):
        rate, depth, cpu, free = selects(server, client, connections)
        whole = max(round(depth), 1)
        device, _ = fio("randread", PAGE, whole, args.slice)
        # What a read takes by Little's law: reads under way are no whole number in the server, and with one connection fewer than fio can have.
        slices.append({"connections": connections, "server": rate, "depth": depth, "cpu_us": cpu, "idle": free, "fio": device, "load": os.getloadavg()[0],
                       "read_us": 1e6 * depth / rate, "fio_read_us": 1e6 * whole / device})
        out.write(json.dumps({key: round(value, 2) for key, value in slices[-1].items()}) + "\n")
    of = lambda what: statistics.median(each[what] for each in slices)
    ratios = [each["server"] / each["fio"] for each in slices]
    speeds = [each["fio_read_us"] / each["read_us"] for each in slices]
    print(f"{connections} connections, {of('depth'):.1f} reads under way: {of('server'):,.0f} pages/s read by the server, {of('fio'):,.0f} by fio: {statistics.median(ratios):.2f} "
          f"({', '.join(f'{each:.2f}' for each in ratios)}); {of('cpu_us'):.1f} us of the server's processor a read, processors idle {100 * of('idle'):.0f} %; "
          f"a read takes {of('read_us'):.0f} us, of fio {of('fio_read_us'):.0f}: the device at {statistics.median(speeds):.2f} of fio's speed ({', '.join(f'{each:.2f}' for each in speeds)})",
          flush=True)


def main():
    args.results.mkdir(parents=True, exist_ok=True)
    fresh = not (args.keep and DATA.exists())
    if fresh:
        shutil.rmtree(DATA, ignore_errors=True)
    server = start_server(PROGRAM, DATA, args.port, args.pool, ["innodb_flush_log_at_trx_commit=2"], args.results / "server.log")
    try:
        if fresh:
            bench("prepare", "--loaders", 2)
        client = Client(args.port)
        print(f"{(DATA / 'data').stat().st_size / (1 << 20):.0f} MiB of pages, pool of {args.pool}", flush=True)
        bench("run", "-c", 8, "--seconds", args.slice, "--warmup", 0)
        with open(args.results / "slices.jsonl", "w") as out:
            for connections in args.connections.split(","):
                in_turns(server, client, int(connections), out)
            for _ in range(args.rounds):
                before, begun = pages_read(client), time.monotonic()
                client.ask("SELECT COUNT(c), SUM(LENGTH(pad)) FROM sbtest.sbtest1")
                took = time.monotonic() - begun
                rate, device = (pages_read(client) - before) * PAGE / took, fio("read", 1 << 20, 4, 3)[1]
                out.write(json.dumps({"scan": round(rate), "fio": round(device)}) + "\n")
                print(f"scan: {rate / 1e6:,.0f} MB/s in {took:.2f} s; fio {device / 1e6:,.0f} MB/s: {rate / device:.2f}", flush=True)
    finally:
        stop_server(server)
        if not args.keep:
            shutil.rmtree(DATA, ignore_errors=True)


if __name__ == "__main__":
    main()
