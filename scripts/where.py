#!/usr/bin/env python3
"""Where a transaction's processor time goes in the server: shares by room of the source and by system call, from samples.

    cargo build --release
    scripts/where.py --workloads oltp_point_select,oltp_read_write,tpcc --connections 1,16,128

Needs `perf` and `addr2line` (llvm's is faster), and rights to sample. Each sample of user space belongs to the innermost inlined frame
that lies in one of our crates, so that `memcpy` inlined into a page's code counts there; a sample of the kernel belongs to the system call under way.
The microseconds are those shares of the server's processor time per transaction, as /proc tells it. Shares hardly depend on what else the
machine does; times do.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from measure import start_server, stop_server

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROOMS = {  # room: crates, or beginnings of paths below crates/
    "connection, packets": ["protocol", "server", "tls"],
    "threads, admission": ["admission", "sync", "memory", "metrics"],
    "text, plan": ["parser", "planner", "session/src/plan_cache", "session/src/query", "session/src/templates"],
    "session": ["session", "accounts", "catalog"],
    "execution": ["executor", "json", "spill"],
    "rows, values": ["record", "types", "base"],
    "index, pages": ["btree", "buffer_pool", "page_store", "space_map"],
    "versions, snapshots": ["engine", "txn"],
    "locks": ["lock_manager", "engine/src/row_lock", "engine/src/gap_lock", "engine/src/next_key_scan"],
    "log, undo": ["wal", "undo", "engine/src/commit", "engine/src/undo_record", "engine/src/log_op"],
}
CALLS = [  # kernel: what a frame's name begins with, and the column
    ("kernel: network", ("__x64_sys_recv", "__x64_sys_send", "__x64_sys_read", "__x64_sys_write", "__x64_sys_poll", "__x64_sys_ppoll", "__x64_sys_epoll", "__sys_recvfrom", "__sys_sendto", "net_rx_action", "tcp_")),
    ("kernel: disk", ("__x64_sys_fdatasync", "__x64_sys_fsync", "__x64_sys_io_uring", "__x64_sys_pwrite", "__x64_sys_pread", "io_", "blk_", "ext4_", "wb_workfn")),
    ("kernel: threads", ("__x64_sys_futex", "__x64_sys_sched", "__x64_sys_nanosleep", "schedule", "__x64_sys_clone")),
    ("kernel: memory", ("__x64_sys_madvise", "__x64_sys_mmap", "asm_exc_page_fault", "exc_page_fault")),
]


def room_of(path):
    """The room of a source file: the longest beginning that fits."""
    found = re.search(r"crates/([a-z_0-9]+/src/.*|[a-z_0-9]+/.*)", path)
    if not found:
        return "allocator" if "mimalloc" in path else None
    inside = found[1]
    best = ("", "other")
    for room, beginnings in ROOMS.items():
        for beginning in beginnings:
            fits = inside.startswith(beginning if "/" in beginning else beginning + "/")
            if fits and len(beginning) > len(best[0]):
                best = (beginning, room)
    return best[1]


def rooms_of_addresses(binary, addresses):
    """For each address of the program, the room of its innermost frame in our crates."""
    tool = next((tool for tool in ("llvm-addr2line", *(f"llvm-addr2line-{v}" for v in range(22, 13, -1)), "addr2line") if shutil.which(tool)), None)
    if tool is None:
        sys.exit("addr2line is missing (binutils or llvm)")
    given = "\n".join(f"{address:#x}" for address in addresses) + "\n"
    said = subprocess.run([tool, "-e", str(binary), "-a", "-i", "-f"], input=given, capture_output=True, text=True, check=True).stdout
    rooms, current, lines = {}, None, said.splitlines()
    for index, line in enumerate(lines):
        if line.startswith("0x") and " " not in line and ":" not in line:
            current = int(line, 16)
            rooms[current] = None
        elif current is not None and rooms[current] is None and (":" in line):
            rooms[current] = room_of(line)
    return rooms


def address_finder(binary, told):
    """What gives for a sampled address of the program the one that addr2line wants. `told`: what `perf script --show-mmap-events` said (position-independent programs)."""
    headers = subprocess.run(["readelf", "-lW", str(binary)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"LOAD\s+(0x[0-9a-f]+)\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)\s+0x[0-9a-f]+\s+([RWE ]+?)\s+0x", headers)
    segments = [(int(offset, 16), int(address, 16), int(size, 16)) for offset, address, size, flags in found if "E" in flags]
    mapped = re.findall(r"PERF_RECORD_MMAP2? \d+/\d+: \[(0x[0-9a-f]+)\((0x[0-9a-f]+)\) @ (0x[0-9a-f]+|0) [^\n]*/" + re.escape(pathlib.Path(binary).name) + "$", told, re.M)
    maps = [(int(start, 16), int(size, 16), int(offset, 16)) for start, size, offset in mapped]

    def in_file(address):
        start = next(((start, offset) for start, size, offset in maps if start <= address < start + size), None)
        place = address - start[0] + start[1] if start else address
        segment = next(((offset, at) for offset, at, size in segments if offset <= place < offset + size), (0, 0))
        return place - segment[0] + segment[1]

    return in_file


def samples(pid, binary, data):
    """Shares by room: {room: count}."""
    text = subprocess.run(
        ["perf", "script", "-i", str(data), "-F", "comm,ip,sym,dso", "--show-mmap-events"],
        capture_output=True, text=True, check=True,
    ).stdout
    counts, pending = collections.Counter(), collections.Counter()
    for block in re.split(r"\n\s*\n", text):
        frames = re.findall(r"^\s*([0-9a-f]+) (.*?) \((.*?)\)\s*$", block, re.M)
        if not frames:
            continue
        address, symbol, dso = frames[0]
        if "kernel" in dso or dso.startswith("["):
            names = [frame[1] for frame in frames if "kernel" in frame[2] or frame[2].startswith("[")]
            # From the outermost frame inwards: what was called decides, not what it ended in.
            room = next((room for name in reversed(names) for room, beginnings in CALLS if name.startswith(beginnings)), "kernel: rest")
            counts[room] += 1
        elif dso.endswith(binary.name):
            pending[int(address, 16)] += 1
        else:
            counts["libc, other"] += 1
    finder = address_finder(binary, text)
    in_file = {address: finder(address) for address in pending}
    rooms = rooms_of_addresses(binary, sorted(set(in_file.values())))
    for address, count in pending.items():
        counts[rooms.get(in_file[address]) or "libc, other"] += count
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/altiplano")
    parser.add_argument("--client", default=None, help="the load client's command; by default the program itself: `altiplano bench`")
    parser.add_argument("--workloads", default="oltp_point_select,oltp_update_index,oltp_insert,oltp_read_write,tpcc")
    parser.add_argument("--connections", default="1,16,128,1024")
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--port", type=int, default=13599)
    parser.add_argument("--data", type=pathlib.Path, default=None, help="directory for the data; a temporary one by default")
    args = parser.parse_args()
    client = args.client.split() if args.client else [str(args.binary), "bench"]
    directory = args.data or pathlib.Path(tempfile.mkdtemp(prefix="altiplano-where-", dir="/var/tmp"))
    server = start_server(args.binary, directory / "data", args.port, "2G", ["max_connections=12000"], directory.parent / (directory.name + ".log"))
    common = ["--server", f"127.0.0.1:{args.port}"]
    sizes = ["--warehouses", "10"]
    rows = {}
    try:
        for workload in args.workloads.split(","):
            subprocess.run([*client, "prepare", *common, "--workload", workload, *sizes], check=True)
            for connections in map(int, args.connections.split(",")):
                run = [*client, "run", *common, "--workload", workload, *sizes, "--connections", str(connections), "--seconds", str(args.seconds), "--warmup", "3", "--pid", str(server.pid), *(["--json"] if not args.client else [])]
                load = subprocess.Popen(run, stdout=subprocess.PIPE, text=True)
                data = directory / "perf.data"
                delay = str(int(3000 + 1000))
                perf = subprocess.run(
                    ["perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-g", "-D", delay, "-p", str(server.pid), "-o", str(data), "--", "sleep", str(args.seconds + 2)],
                    capture_output=True, text=True,
                )
                out = load.communicate()[0]
                if perf.returncode or load.returncode:
                    sys.exit(f"{workload}, {connections}: perf said {perf.stderr.strip()}, the client ended with {load.returncode}")
                report = json.loads(out.strip().splitlines()[-1])
                counts = samples(server.pid, args.binary, data)
                rows[(workload, connections)] = (report, counts)
                print(f"{workload} {connections}: {sum(counts.values())} samples", file=sys.stderr)
    finally:
        stop_server(server)
        if args.data is None:
            shutil.rmtree(directory, ignore_errors=True)
    columns = [*ROOMS, "allocator", "libc, other", "other", *(room for room, _ in CALLS), "kernel: rest"]
    columns = [c for c in columns if any(counts[c] for _, counts in rows.values())]
    print("| workload | connections | tx/s | CPU, µs | " + " | ".join(columns) + " |")
    print("|---|--:|--:|--:|" + "--:|" * len(columns))
    for (workload, connections), (report, counts) in rows.items():
        cpu = report["server_cpu_us"]
        total = max(sum(counts.values()), 1)
        cells = " | ".join(f"{cpu * counts[c] / total:.1f}" for c in columns)
        print(f"| {workload} | {connections:,} | {report['tps']:,.0f} | {cpu:.1f} | {cells} |")


if __name__ == "__main__":
    main()
