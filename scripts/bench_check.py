#!/usr/bin/env python3
"""Whether `altiplano bench` says what sysbench and go-tpc say: both against one server, on the same data, in slices that take turns.

Our client runs with a thread for each connection, as theirs does, and on the tables that they have prepared (the columns are the same). Each
slice of ours stands between two of theirs; printed are the ratios of rates by neighbours with their median, and the ratio of what a transaction
cost the server in processor time: that the load is the same shows there, whatever a client leaves unused of the server's processor.

A client that shares its processors with the server shows a higher rate the less it takes of them itself, whatever the server does. So the
server has one processor and the client another (`--shared`: both have all). Where a client keeps its own busy (above 95 %), the rate is the client's, not the
server's, and the line says so: such a load is to be run with more connections or not at all on two processors.

    python3 scripts/bench_check.py [--binary target/fast/altiplano] [--rounds 5 --seconds 5 --connections 16] [--only oltp_read_write,tpcc]
"""
import argparse
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from measure import processor, start_server, stop_server

SYSBENCH = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only", "oltp_update_index", "oltp_update_non_index", "oltp_insert", "select_random_points", "select_random_ranges"]
TABLES = 4

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--binary", default="target/fast/altiplano")
parser.add_argument("--peers", default="/var/tmp/peers/bin", help="where sysbench and go-tpc are")
parser.add_argument("--port", type=int, default=13391)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=int, default=5)
parser.add_argument("--connections", type=int, default=16)
parser.add_argument("--rows", type=int, default=100_000)
parser.add_argument("--warehouses", type=int, default=4)
parser.add_argument("--only", help="workloads with commas between")
parser.add_argument("--shared", action="store_true", help="server and client on all processors")
args = parser.parse_args()


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout


def processor_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(client, workload, server):
    """A slice: the client's rate, how busy it kept one processor, and the server's microseconds a transaction."""
    before, begun, served = processor_of_children(), time.monotonic(), processor(server.pid)[0]
    rate, transactions = client(workload)
    return rate, (processor_of_children() - before) / (time.monotonic() - begun), (processor(server.pid)[0] - served) * 1e6 / transactions


def sysbench(workload, verb, *more):
    return run([f"{args.peers}/sysbench", workload, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={args.port}", "--mysql-user=root", "--mysql-db=sbtest", f"--tables={TABLES}",
                f"--table-size={args.rows}", f"--threads={args.connections}", "--rand-type=uniform", *more, verb])


def gotpc(verb, *more):
    return run([f"{args.peers}/go-tpc", "tpcc", verb, "-H", "127.0.0.1", "-P", args.port, "-U", "root", "-D", "tpcc", "--warehouses", args.warehouses, "-T", args.connections, *more])


def theirs(workload):
    if workload == "tpcc":
        text = gotpc("run", "--time", f"{args.seconds}s", "--ignore-error")
        # The last summary: of all transactions that ended, by kind, their count and time taken.
        summary = re.findall(r"\[Summary\] (\w+) - Takes\(s\): ([\d.]+), Count: (\d+)", text)
        last = {kind: (int(count), float(seconds)) for kind, seconds, count in summary if not kind.endswith("ERR")}
        return sum(count / seconds for count, seconds in last.values()), sum(count for count, _ in last.values())
    text = sysbench(workload, "run", f"--time={args.seconds}")
    count, rate = re.search(r"transactions:\s+(\d+)\s+\(([\d.]+) per sec", text).groups()
    return float(rate), int(count)


def ours(workload):
    size = ["--warehouses", args.warehouses, "--database", "tpcc", "--roaming"] if workload == "tpcc" else ["--tables", TABLES, "--table-size", args.rows]
    text = run([args.binary, "bench", "run", "--json", "--server", f"127.0.0.1:{args.port}", "--workload", workload, *size, "--connections", args.connections, "--threads", args.connections,
                "--seconds", args.seconds, "--warmup", "0"])
    found = json.loads(text)
    return found["tps"], found["transactions"]


def main():
    wanted = args.only.split(",") if args.only else [*SYSBENCH, "tpcc"]
    processors = sorted(os.sched_getaffinity(0))
    alone = not args.shared and len(processors) > 1
    if alone:
        os.sched_setaffinity(0, processors[:1])  # what is started now inherits it
    with tempfile.TemporaryDirectory(prefix="bench-check-", dir="/var/tmp") as data:
        server = start_server(args.binary, pathlib.Path(data, "data"), args.port, "1G", [], pathlib.Path(data, "server.log"))
        if alone:
            os.sched_setaffinity(0, processors[1:2])
        try:
            run([args.binary, "bench", "prepare", "--server", f"127.0.0.1:{args.port}", "--workload", "hot_row"])
            if set(wanted) & set(SYSBENCH):
                sysbench("oltp_read_write", "prepare")
            if "tpcc" in wanted:
                run([args.binary, "bench", "prepare", "--server", f"127.0.0.1:{args.port}", "--workload", "hot_row", "--database", "tpcc"])
                gotpc("prepare")
            for workload in wanted:
                slices = []
                for _ in range(args.rounds):
                    slices += [timed(theirs, workload, server), timed(ours, workload, server)]
                slices.append(timed(theirs, workload, server))
                pairs = lambda values: [values[i] / statistics.mean((values[i - 1], values[i + 1])) for i in range(1, len(values), 2)]
                ratios, costs = pairs([rate for rate, _, _ in slices]), pairs([cost for _, _, cost in slices])
                middle, cost = statistics.median(ratios), statistics.median(costs)
                told = lambda values: " ".join(f"{value:.2f}" for value in values)
                busy = [statistics.median(share for _, share, _ in slices[first::2]) for first in (0, 1)]
                verdict = "".join(f"  {what} more than a tenth off" for what, ratio in (("rate", middle), ("cost", cost)) if abs(ratio - 1) > 0.1)
                if alone and max(busy) > 0.95:
                    verdict += "  a client had no processor left: its rate, not the server's"
                print(f"{workload:24} {middle:.3f} of {'go-tpc' if workload == 'tpcc' else 'sysbench'}'s rate ({told(ratios)}), {cost:.3f} of its cost to the server ({told(costs)}); clients kept a processor busy for {busy[0]:.0%} (theirs), {busy[1]:.0%} (ours){verdict}; load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            stop_server(server)


main()
