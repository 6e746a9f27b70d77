#!/usr/bin/env python3
"""Whether `altiplano bench` says what sysbench and go-tpc say: both against one server, on the same data, in slices that take turns.

Our client runs with a thread for each connection, as theirs does, and on the tables that they have prepared (the columns are the same). Each
slice of ours stands between two of theirs; printed is the ratio of rates by neighbours, and its median.

    python3 scripts/bench_check.py [--binary target/fast/altiplano] [--rounds 5 --seconds 5 --connections 16] [--only oltp_read_write,tpcc]
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from measure import start_server, stop_server

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
args = parser.parse_args()


def run(command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout


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
        last = {kind: int(count) / float(seconds) for kind, seconds, count in summary if not kind.endswith("ERR")}
        return sum(last.values())
    text = sysbench(workload, "run", f"--time={args.seconds}")
    return float(re.search(r"transactions:\s+\d+\s+\(([\d.]+) per sec", text).group(1))


def ours(workload):
    size = ["--warehouses", args.warehouses, "--database", "tpcc", "--roaming"] if workload == "tpcc" else ["--tables", TABLES, "--table-size", args.rows]
    text = run([args.binary, "bench", "run", "--json", "--server", f"127.0.0.1:{args.port}", "--workload", workload, *size, "--connections", args.connections, "--threads", args.connections,
                "--seconds", args.seconds, "--warmup", "0"])
    return json.loads(text)["tps"]


def main():
    wanted = args.only.split(",") if args.only else [*SYSBENCH, "tpcc"]
    with tempfile.TemporaryDirectory(prefix="bench-check-", dir="/var/tmp") as data:
        server = start_server(args.binary, pathlib.Path(data, "data"), args.port, "1G", [], pathlib.Path(data, "server.log"))
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
                    slices += [theirs(workload), ours(workload)]
                slices.append(theirs(workload))
                ratios = [slices[i] / statistics.mean((slices[i - 1], slices[i + 1])) for i in range(1, len(slices), 2)]
                middle = statistics.median(ratios)
                each = " ".join(f"{ratio:.2f}" for ratio in ratios)
                print(f"{workload:24} {middle:.3f} of {'go-tpc' if workload == 'tpcc' else 'sysbench'}'s rate ({each}){'' if abs(middle - 1) <= 0.1 else '  more than a tenth off'}; load {os.getloadavg()[0]:.1f}", flush=True)
        finally:
            stop_server(server)


main()
