#!/usr/bin/env python3
"""contended.py PROGRAM: which cache lines two processors take from one another while each serves statements of its own connections.

A server under valgrind (lackey) writes down every access to memory while `altiplano bench` asks; the end of that is cut into statements (from one entry of `Front::command_loop`
to the next on the same thread), whose threads are known by their stacks and their posts by what `Posts::holds` looks at. Statements of two posts are then played in turns against two
caches that keep each other coherent, without limits of size: what is counted is what either has to fetch, or to call back, because the other has touched the line. That is a cost
which no machine of one processor shows, and which grows with their number; the figure does not depend on the machine. What other threads do (monitor, purge, cleaner) is left out.
Valgrind is slow, so what happens once in so many microseconds (a look at epoll, a window of `crowd.rs`) happens at each statement here.

  --workload W       as `altiplano bench` names it (oltp_point_select)
  --connections N    (48)
  --seconds S        how long is asked before the end is looked at (20)
  --bytes B          how much of the trace's end is looked at (300000000)
  --lines N          the N dearest lines (25)
  --keep DIR         data and trace stay there

Needs valgrind. PROGRAM has its symbols (a release or fast build has).
"""
import argparse
import bisect
import collections
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LOAD_BASE = 0x108000  # where valgrind puts a position-independent program
ENTRY = re.compile(r"server::front::commands::.*::command_loop$")
PORT = 13391
COMMON = 5  # a line that one statement in so many touches is nobody's own


class Symbols:
    """Functions of the program by address."""

    def __init__(self, program):
        listed = subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True, check=True).stdout.splitlines()
        found = sorted((int(line.split()[0], 16), line.split(maxsplit=2)[2]) for line in listed if line.split()[1] in "tT")
        self.starts, self.names = [start for start, _ in found], [name for _, name in found]
        self.entries = {start + LOAD_BASE for start, name in found if ENTRY.search(name)}
        self.program, self.places = program, {}

    def function(self, address):
        at = bisect.bisect(self.starts, address - LOAD_BASE) - 1
        return self.names[at] if at >= 0 and address < 1 << 28 else f"{address:#x}"

    def resolve(self, addresses):
        """Looks up where in the source instructions stand, all at once."""
        asked = sorted(address for address in addresses if LOAD_BASE <= address < 1 << 28)
        command = ["addr2line", "-aCfie", self.program, *(hex(address - LOAD_BASE) for address in asked)]
        told = subprocess.run(["xargs", "-n", "5000", *command[:4]], input="\n".join(command[4:]), capture_output=True, text=True).stdout
        for one in re.split(r"^0x", told, flags=re.M)[1:]:
            at, *lines = one.splitlines()
            short = [f"{re.sub('<.*>', '', name).split('::')[-1]} {'/'.join(place.split('/')[-2:])}" for name, place in zip(lines[::2], lines[1::2])]
            self.places[int(at, 16) + LOAD_BASE] = " < ".join(short)

    def place(self, address):
        """The function and line of the source that an instruction stands in, with what it was inlined into."""
        return self.places.get(address) or (self.function(address) if address < 1 << 28 else "a library")


def record(args, trace):
    """A server that writes down what it touches, asked for a while; the end of that is left in `trace`."""
    directory = trace.parent
    fifo = directory / "accesses"
    fifo.unlink(missing_ok=True)
    os.mkfifo(fifo)
    data = directory / "data"
    size = ["--tables", "1", "--table-size", "10000"]
    server = [args.program, "serve", "--data-dir", data, "--port", str(PORT), "--socket", directory / "socket", "--buffer-pool-size", "64M", "--set", "altiplano_shared_threads_from=0"]
    work = [args.program, "bench", "run", "--server", f"127.0.0.1:{PORT}", "--workload", args.workload, *(size if "oltp" in args.workload else ["--warehouses", "1"])]
    if not data.exists():
        plain = subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait(args.program)
        subprocess.run([args.program, "sql", "-P", str(PORT), "-e", "CREATE DATABASE sbtest"], check=True)
        prepare = [args.program, "bench", "prepare", *work[3:]]
        subprocess.run(prepare, check=True, stdout=subprocess.DEVNULL)
        plain.send_signal(signal.SIGTERM)
        plain.wait()
    tail = subprocess.Popen(f"tail -c {args.bytes} '{fifo}' > '{trace}'", shell=True)
    watched = subprocess.Popen(["valgrind", "--tool=lackey", "--trace-mem=yes", "--fair-sched=yes", f"--log-file={fifo}", *server],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(args.program)
    subprocess.run([*work, "--warmup", "0", "--seconds", str(args.seconds), "-c", str(args.connections)], stdout=subprocess.DEVNULL)
    (directory / "maps").write_text(Path(f"/proc/{watched.pid}/maps").read_text())
    watched.kill()
    watched.wait()
    tail.wait()


def wait(program):
    for _ in range(3000):
        if subprocess.run([program, "sql", "-P", str(PORT), "-e", "SELECT 1"], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    sys.exit("contended.py: the server does not answer")


def stacks(maps):
    """Where stacks of threads lie: what can be read and written right above what can not, larger than what else is guarded so."""
    found, guard = [], None
    for line in maps.read_text().splitlines():
        span, rights, *_ = line.split()
        first, end = (int(side, 16) for side in span.split("-"))
        if rights.startswith("rw") and guard == first and (1 << 16) <= end - first <= (16 << 20):
            found.append((first, end))
        guard = end if rights.startswith("---") else None
    return found


def accesses(trace, known):
    """Each instruction and each access to memory in the order of the trace: whether it is the former, its address; of an access the thread whose stack it is in, if any, and whether it writes."""
    known = sorted(known)
    starts, lowest, highest = [first for first, _ in known], known[0][0], known[-1][1]
    with open(trace) as file:
        next(file)
        for line in file:
            if line[0] == "I":
                yield True, int(line[3:].partition(",")[0], 16), None, False
            elif line[0] == " " and line[1] in "LSM":
                address = int(line[3:].partition(",")[0], 16)
                at = bisect.bisect(starts, address) - 1 if lowest <= address < highest else -1
                yield False, address, at if at >= 0 and address < known[at][1] else None, line[1] != "L"


def statements(trace, known, entries):
    """For each thread (by its stack) its statements: cache line -> (whether it was written, an instruction that touched it)."""
    threads, thread, entered, instruction = collections.defaultdict(list), None, False, 0
    for is_instruction, address, stack, wrote in accesses(trace, known):
        if is_instruction:
            instruction, entered = address, entered or address in entries
        elif stack is not None:
            thread = stack
            if entered:
                entered = False
                threads[thread].append({})
        elif thread in threads:
            seen, cell = threads[thread][-1], address >> 6
            before = seen.get(cell)
            if before is None or wrote and not before[0]:
                seen[cell] = (wrote, instruction)
    # The first of each begins in the middle.
    return sorted((list(served[1:]) for served in threads.values()), key=len, reverse=True)


def of_two_posts(threads, symbols):
    """Statements of two posts: of the busiest thread, and of the busiest that looks elsewhere whether it holds its post."""
    asked = {instruction for served in threads for statement in served for _, instruction in statement.values()}
    holds = {instruction for instruction in asked if any(" holds " in f" {part}" for part in symbols.place(instruction).split(" < "))}
    def post(served):
        cells = collections.Counter(cell for statement in served for cell, (_, instruction) in statement.items() if instruction in holds)
        return cells.most_common(1)[0][0] if cells else None
    posts = [post(served) for served in threads]
    other = next((at for at, at_post in enumerate(posts) if at_post not in (None, posts[0])), None)
    if not threads or posts[0] is None or other is None:
        sys.exit(f"contended.py: no two posts have served ({len(threads)} threads)")
    return threads[0], threads[other]


def play(first, second):
    """Statements of two posts in turns; for each line how often it had to come from the other, and by which instructions that was asked for."""
    holders, misses, askers = collections.defaultdict(set), collections.Counter(), collections.defaultdict(collections.Counter)
    touched, count = collections.Counter(), 0
    for pair in zip(first, second):
        for processor, statement in enumerate(pair):
            count += 1
            touched.update(statement.keys())
            for cell, (wrote, instruction) in statement.items():
                held = holders[cell]
                if (1 - processor) in held and (wrote or processor not in held):
                    misses[cell] += 1
                    askers[cell][instruction] += 1
                if wrote:
                    held.clear()
                held.add(processor)
    return count, misses, askers, touched


def trace_arguments(parser):
    """What is traced, and how."""
    parser.add_argument("program", type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--workload", default="oltp_point_select")
    parser.add_argument("--connections", type=int, default=48)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=300_000_000)
    parser.add_argument("--keep", type=Path)


def traced(args, scratch):
    """The directory with the trace: the one that was kept, or a new one."""
    directory = args.keep or Path(scratch)
    directory.mkdir(parents=True, exist_ok=True)
    if not (directory / "trace").exists():
        record(args, directory / "trace")
    return directory


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    trace_arguments(parser)
    parser.add_argument("--lines", type=int, default=25)
    args = parser.parse_args()
    symbols = Symbols(args.program)
    if not symbols.entries:
        sys.exit("contended.py: the program has no symbols of command_loop")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        directory = traced(args, scratch)
        trace = directory / "trace"
        served = statements(trace, stacks(directory / "maps"), symbols.entries)
        symbols.resolve({instruction for thread in served for statement in thread for _, instruction in statement.values()})
        count, misses, askers, touched = play(*of_two_posts(served, symbols))
    # What few statements touch belongs to a session, or to some of them; it comes from afar where a session has gone from one post to another.
    common = sum(often for cell, often in misses.items() if touched[cell] * COMMON >= count)
    print(f"{args.workload}, {args.connections} connections, {count} statements of two posts in turns: {common / count:.2f} lines a statement come from the other processor, "
          f"and {(sum(misses.values()) - common) / count:.2f} that fewer than one statement in {COMMON} touches")
    for cell, often in misses.most_common(args.lines):
        if often * 100 < count:
            break
        print(f"{often / count:6.2f}  {cell << 6:#x}")
        for instruction, times in askers[cell].most_common(3):
            print(f"        {times / often:5.0%}  {' < '.join(symbols.place(instruction).split(' < ')[:4])}")


if __name__ == "__main__":
    main()
