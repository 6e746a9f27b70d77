#!/usr/bin/env python3
"""touched.py PROGRAM TRACE: cache lines and pages that one command touches, from a memory trace of a server with one connection.

The trace: valgrind --tool=lackey --trace-mem=yes --log-file=FIFO PROGRAM serve …, its end kept by tail -c 150000000 FIFO > TRACE;
some hundred events of sysbench with one thread; kill -9. A window is what lies between two entries of Session::handle; background threads
run outside of most of them, so windows of the shorter half are looked at. Printed: counts, and the stack's and heaps' pages with their lines.
"""
import collections
import subprocess
import sys

LOAD_BASE = 0x108000  # where valgrind puts a position-independent program
ENTRY = "<session::client_session::ClientSession as session::service::Session>::handle"

program, trace = sys.argv[1:3]
symbols = subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True, check=True).stdout.splitlines()
entry = next(int(line.split()[0], 16) for line in symbols if line.endswith(" " + ENTRY)) + LOAD_BASE
with open(trace) as file:
    lines = file.read().split("\n")[1:]
starts = [at for at, line in enumerate(lines) if line.startswith("I  %08x," % entry)]
windows = sorted((after - at, at, after) for at, after in zip(starts, starts[1:]))
if not windows:
    sys.exit("no window: is the trace of this program?")
common = None
for _, at, after in windows[len(windows) // 8 : len(windows) // 8 + 30]:
    data, code = set(), set()
    for line in lines[at:after]:
        address, _, size = line[3:].partition(",")
        if not size:
            continue
        first = int(address, 16)
        touched = range(first // 64, (first + int(size) - 1) // 64 + 1)
        (code if line[0] == "I" else data).update(touched)
    if common is None:
        print(f"data: {len(data)} lines on {len({l // 64 for l in data})} pages; code: {len(code)} lines on {len({l // 64 for l in code})} pages")
    common = data if common is None else common & data
pages = collections.Counter(line // 64 for line in common)
print(f"data of every window: {len(common)} lines on {len(pages)} pages")
for page, count in sorted(pages.items()):
    print(f"{page * 4096:#x} {count}")
