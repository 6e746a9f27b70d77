#!/usr/bin/env python3
"""instructions.py PROGRAM: what a statement of many connections takes: instructions, locked ones among them, and in which functions.

The trace is that of contended.py (a server under valgrind, its statements cut from one entry of `Front::command_loop` to the next on the same thread); its options hold here. Of the statements whose count is
within a quarter of the median the mean is told: others were interrupted, or went another way. Locked instructions (`lock …`, `xchg` with memory) keep a processor waiting for some twenty cycles each, and are hidden
in no profile by counts. What is done once in so many microseconds happens at each statement here, and a clock is a call of the kernel, which is not counted.

  --functions N      the N dearest functions (40)
"""
import argparse
import collections
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import contended

LISTED = re.compile(r"\s+([0-9a-f]+):\s+(\S.*)")


def locked(program):
    """Addresses of the program's locked instructions, as valgrind has them."""
    listing = subprocess.Popen(["objdump", "-d", "--no-show-raw-insn", program], stdout=subprocess.PIPE, text=True)
    found = set()
    for line in listing.stdout:
        if ("lock" in line or "xchg" in line) and (match := LISTED.match(line)):
            address, text = match.groups()
            if text.startswith("lock") or text.startswith("xchg") and "(" in text:
                found.add(int(address, 16) + contended.LOAD_BASE)
    return found


def counted(trace, known, entries):
    """For each thread its statements: how often each instruction ran."""
    threads, ran, entered = collections.defaultdict(list), collections.Counter(), False
    for is_instruction, address, stack, _ in contended.accesses(trace, known):
        if is_instruction:
            entered = entered or address in entries
            ran[address] += 1
        elif stack is not None:
            if entered:
                entered = False
                threads[stack].append(collections.Counter())
            if threads[stack]:
                threads[stack][-1].update(ran)
            ran = collections.Counter()
    # The first of each begins in the middle, the last ends there.
    return [statement for served in threads.values() for statement in served[1:-1]]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    contended.trace_arguments(parser)
    parser.add_argument("--functions", type=int, default=40)
    args = parser.parse_args()
    symbols = contended.Symbols(args.program)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        directory = contended.traced(args, scratch)
        statements = counted(directory / "trace", contended.stacks(directory / "maps"), symbols.entries)
    if not statements:
        sys.exit("instructions.py: nobody was served in turns")
    counts = [statement.total() for statement in statements]
    median = statistics.median(counts)
    alike = [statement for statement, count in zip(statements, counts) if 0.75 * median < count < 1.25 * median]
    ran = collections.Counter()
    for statement in alike:
        ran.update(statement)
    locks = locked(args.program)
    functions, locks_of = collections.Counter(), collections.Counter()
    for instruction, times in ran.items():
        name = symbols.function(instruction) if instruction >= contended.LOAD_BASE else "?"
        functions[name] += times
        locks_of[name] += times if instruction in locks else 0
    mean = 1 / len(alike)
    print(f"{args.workload}, {args.connections} connections: {median:.0f} instructions a statement (median of {len(counts)}), "
          f"{locks_of.total() * mean:.1f} of them locked (mean of {len(alike)})")
    print("instructions  locked  function")
    for name, times in functions.most_common(args.functions):
        print(f"{times * mean:12.1f}  {locks_of[name] * mean:6.2f}  {name}")


if __name__ == "__main__":
    main()
