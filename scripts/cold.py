#!/usr/bin/env python3
"""cold.py PROGRAM: at which instructions a statement takes longer with many connections than with few.

What a session touches is in no cache when its turn comes among a thousand, and no profile by functions shows that: each of them waits for a line or two. So a server of its own is asked by `altiplano bench` with both
counts of connections in turns, `perf` samples its threads, and the samples of each instruction are set against each other as time for a transaction. A load that has to wait is seen at the instruction behind it,
or at the next one that uses what it loaded. The kernel's part is told as a sum. Samples are of time, so a machine that slows down meanwhile shows everywhere: the sums tell whether it did.

  --workload W          as `altiplano bench` names it (oltp_point_select)
  --connections A,B     (16,1024)
  --seconds S           how long each is sampled in a round (5)
  --rounds N            (3)
  --warm S              how long it is asked before that (1.5; with thousands of connections 6: perf is refused threads of their logins that end meanwhile)
  --instructions N      the N that grew most (40)
  --by-function         functions instead of instructions
  --keep DIR            data stay there

Needs perf and the mysql client. PROGRAM has its symbols, and for lines of the source its debug information (a `fast` build has both).
"""
import argparse
import collections
import json
import subprocess
import time
from pathlib import Path

import contended
import measure
import where

PORT = 13392
FREQUENCY = 12000


def size_of(workload):
    return ["--warehouses", "8", "--text"] if workload == "tpcc" else ["--tables", "4", "--table-size", "50000"]


def bench(args, command, *more):
    size = size_of(args.workload)
    size = size[:2] if command == "prepare" and args.workload == "tpcc" else size
    return [args.program, "bench", command, "--server", f"127.0.0.1:{PORT}", "--workload", args.workload, *size, *more]


def samples(data, program):
    """How many samples each address of the program has, and how many there are elsewhere, by whether in the kernel."""
    told = subprocess.run(["perf", "script", "-i", data, "--show-mmap-events", "-F", "ip,dso"], capture_output=True, text=True, check=True).stdout
    in_file, name = where.address_finder(program, told), f"/{Path(program).name})"
    own, elsewhere = collections.Counter(), collections.Counter()
    for line in told.splitlines():
        address, _, dso = line.strip().partition(" ")
        if "PERF_RECORD_MMAP" in line:
            continue
        if dso.endswith(name):
            own[int(address, 16)] += 1
        else:
            elsewhere["kernel" in dso] += 1
    return collections.Counter({in_file(address): count for address, count in own.items()}), elsewhere


def measured(args, server, connections, scratch):
    """Microseconds for a transaction: of each address of the program, and of libraries (False) and the kernel (True)."""
    data = scratch / "perf.data"
    run = bench(args, "run", "--json", "--warmup", "1", "--connections", str(connections), "--seconds", str(args.seconds + args.warm + 0.5))
    asked = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(args.warm)
    record = ["perf", "record", "-e", "cpu-clock", "-F", str(FREQUENCY), "-p", str(server.pid), "-o", data, "--", "sleep", str(args.seconds)]
    subprocess.run(record, capture_output=True, check=True)
    rate = json.loads(asked.communicate()[0])["tps"]
    each = 1e6 / FREQUENCY / args.seconds / rate / args.rounds
    return [collections.Counter({key: count * each for key, count in found.items()}) for found in samples(data, args.program)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--workload", default="oltp_point_select")
    parser.add_argument("--connections", default="16,1024")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--warm", type=float, default=1.5)
    parser.add_argument("--instructions", type=int, default=40)
    parser.add_argument("--by-function", action="store_true")
    parser.add_argument("--keep", type=Path)
    args = parser.parse_args()
    counts = [int(count) for count in args.connections.split(",")]
    if len(counts) != 2:
        parser.error("two counts of connections")
    args.program = str(Path(args.program).resolve())
    times = {count: (collections.Counter(), collections.Counter()) for count in counts}
    with measure.loaded_server(args.program, PORT, "1G", ["max_connections=12000"], bench(args, "prepare"), args.keep) as (server, scratch):
        for _ in range(args.rounds):
            for count in counts:
                for sums, found in zip(times[count], measured(args, server, count, scratch)):
                    sums.update(found)
    report(args, counts, times)


def report(args, counts, times):
    symbols = contended.Symbols(args.program)
    few, many = (times[count][0] for count in counts)
    for count in counts:
        own, elsewhere = times[count]
        print(f"{args.workload}, {count} connections: {own.total():.2f} µs of the program's own, {elsewhere[False]:.2f} of libraries, {elsewhere[True]:.2f} of the kernel a transaction")
    addresses = set(few) | set(many)
    if args.by_function:
        grown = collections.Counter()
        for address in addresses:
            grown[symbols.function(address + contended.LOAD_BASE)] += many[address] - few[address]
    else:
        grown = collections.Counter({address: many[address] - few[address] for address in addresses})
    most = grown.most_common(args.instructions)
    if not args.by_function:
        symbols.resolve({address + contended.LOAD_BASE for address, _ in most})
    print("  more  with few  with many  where")
    for key, more in most:
        if args.by_function:
            print(f"{more:6.3f}  {key}")
        else:
            print(f"{more:6.3f}  {few[key]:8.3f}  {many[key]:9.3f}  {symbols.place(key + contended.LOAD_BASE)}")


if __name__ == "__main__":
    main()
