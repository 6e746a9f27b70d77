#!/usr/bin/env python3
"""user_time.py PROGRAM: what a statement costs the server in user time with each of several numbers of connections, in turns.

Is a statement of a thousand sessions as cheap as one of a single session? One server is asked by `altiplano bench run` with each number in turns, and each round begins with another
one. Machines have fast and slow minutes, so what counts are the ratios to the first number *of the same round*: their median, and the interval that holds the true median in 95 of 100
cases (by order statistics, whatever the distribution; fewer than six rounds have none). Whether the rate holds is told by `altiplano bench plain`.

User and kernel time are the server's for each transaction. At a single connection a stand-in keeps the other processor busy for nobody's sake but the client's (docs/design/attention.md):
its time is told apart by its thread's name and is not in these columns.

  --workload W          as `altiplano bench` names it (oltp_point_select)
  --connections A,B,…   the first is what the others are compared with (1,16,128,1024)
  --rounds N            (12)
  --seconds S           each slice (2)
  --warmup S            before each; with thousands of connections longer than a transaction takes (0.5)
  --size ARGS           for `prepare` and `run` (four tables of 50,000 rows; of TPC-C 50 small warehouses)
  --work ARGS           for `run` alone, such as `--text --roaming`
  --pool BYTES          the server's buffer pool (1G)
  --set NAME=VALUE      for the server, such as altiplano_stand_in=0 (may be said again)
  --keep DIR            data stay there, and are not loaded again

Needs the mysql client.
"""
import argparse
import json
import math
import statistics
import subprocess
from pathlib import Path

import measure

PORT = 13393
SIZES = {"tpcc": "--warehouses 50 --items 10000 --customers 300"}
SIZE = "--tables 4 --table-size 50000"
STAND_IN = "stand-in"
FIGURES = ("tx/s", "user µs", "kernel µs")


def bench(args, command, *more):
    return [args.program, "bench", command, "--server", f"127.0.0.1:{PORT}", "--workload", args.workload, *args.size.split(), *more]


def one_slice(args, server, connections):
    """Transactions a second, and microseconds of user and kernel time for each."""
    run = bench(args, "run", "--json", "--connections", str(connections), "--seconds", str(args.seconds), "--warmup", str(args.warmup), *args.work.split())
    with measure.ThreadTimes(server.pid) as times:
        found = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
    stood_in, served = (times.grown(lambda name: name.startswith(STAND_IN) == stands) for stands in (True, False))
    # The bench tells what the process took while it measured; how much of it was the stand-in's, its threads tell. Taking the stand-in's from the process's would leave a small
    # difference of two sums that the kernel splits into user and kernel time by its ticks, each in another way.
    shares = [of_served / (of_served + of_stand_in) if of_served else 0.0 for of_served, of_stand_in in zip(served, stood_in)]
    serving = [found[figure] * share for figure, share in zip(("server_user_us", "server_system_us"), shares)]
    return found["tps"], *serving


def median_interval(values):
    """Where the true median lies in 95 of 100 cases, or more; `None` of too few."""
    values, count, outside = sorted(values), len(values), 0.0
    for rank in range(count // 2):
        outside += 2 * math.comb(count, rank) / 2**count
        if outside > 0.05:
            return (values[rank - 1], values[count - rank]) if rank else None
    return None


def compared(mine, first):
    ratios = [a / b for a, b in zip(mine, first) if b]
    if not ratios:
        return ""
    interval = median_interval(ratios)
    return f"{statistics.median(ratios):.2f}" + (f" ({interval[0]:.2f} to {interval[1]:.2f})" if interval else "")


def report(args, counts, rounds):
    print(f"{args.workload}, {len(rounds)} rounds of {args.seconds:g} s; medians, and ratios to {counts[0]} of the same round (95 %)\n")
    print("| connections | " + " | ".join(f"{figure} | x {counts[0]}" for figure in FIGURES) + " |")
    print("|--:|" + "--:|" * 2 * len(FIGURES))
    for count in counts:
        cells = []
        for figure in range(len(FIGURES)):
            mine, first = ([each[of][figure] for each in rounds] for of in (count, counts[0]))
            value = statistics.median(mine)
            cells += [f"{value:,.0f}" if figure == 0 else f"{value:.2f}", "" if count == counts[0] else compared(mine, first)]
        print(f"| {count:,} | " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--workload", default="oltp_point_select")
    parser.add_argument("--connections", default="1,16,128,1024")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--warmup", type=float, default=0.5)
    parser.add_argument("--size")
    parser.add_argument("--work", default="")
    parser.add_argument("--pool", default="1G")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    args.program = str(Path(args.program).resolve())
    args.size = args.size or SIZES.get(args.workload, SIZE)
    counts = [int(count) for count in args.connections.split(",")]
    rounds = []
    settings = [f"max_connections={max(counts) + 100}", *args.set]
    with measure.loaded_server(args.program, PORT, args.pool, settings, bench(args, "prepare"), args.keep) as (server, _):
        for number in range(args.rounds):
            first = number % len(counts)
            found = {count: one_slice(args, server, count) for count in counts[first:] + counts[:first]}
            rounds.append(found)
            print(f"round {number + 1}: " + ", ".join(f"{count}: {found[count][0]:,.0f}/s {found[count][1]:.2f} µs" for count in counts), flush=True)
    report(args, counts, rounds)


if __name__ == "__main__":
    main()
