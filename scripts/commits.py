#!/usr/bin/env python3
"""Durable commits of one connection beside the bare rate of the device: write one block, fdatasync, again; and beside a server that does nothing else.

    cargo build --release
    scripts/commits.py --rounds 5

Slices of the three alternate on the same file system, so that what the machine and the device do meanwhile hits both. Bare is what a log
cannot beat: one aligned block of 4 KiB written past the page cache into a file made before, then `fdatasync`. Ours is an autocommitted
UPDATE of one row over a socket (TCP; `--unix`), a reply for each. The third is `altiplano bench ceiling --durable`: the same client and statements, and a server that writes a block, syncs it and answers, with no SQL and no table: what the client,
the kernel and the waking of processors leave of the bare rate for any server. Prints the medians, and the medians of the rounds' ratios with their range.
"""
import argparse
import json
import mmap
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time

from measure import start_server, stop_server

ROOT = pathlib.Path(__file__).resolve().parent.parent


def bare(path, seconds, blocks=4096, size=4096):
    """Writes with a sync each, a second."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    try:
        page = mmap.mmap(-1, size)  # aligned, as O_DIRECT asks
        page.write(os.urandom(size))
        if os.fstat(file).st_size < blocks * size:
            for block in range(blocks):
                os.pwrite(file, page, block * size)
            os.fsync(file)
        done, begin = 0, time.monotonic()
        while (took := time.monotonic() - begin) < seconds:
            os.pwrite(file, page, done % blocks * size)
            os.fdatasync(file)
            done += 1
        return done / took
    finally:
        os.close(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "target/release/altiplano")
    parser.add_argument("--client", default=None, help="the load client's command; by default the program itself: `altiplano bench`")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--port", type=int, default=13598)
    parser.add_argument("--unix", action="store_true", help="by unix sockets instead of TCP")
    parser.add_argument("--directory", type=pathlib.Path, default=pathlib.Path("/var/tmp"), help="where both write")
    args = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="altiplano-commits-", dir=args.directory))
    client = args.client.split() if args.client else [str(args.binary), "bench"]
    server = start_server(args.binary, directory / "data", args.port, "512M", [], str(directory) + ".log")
    at = [f"127.0.0.1:{args.port}", f"127.0.0.1:{args.port + 1}"]
    if args.unix:
        at = [str(directory / "data/altiplano.sock"), str(directory / "canned.sock")]
    canned = subprocess.Popen([args.binary, "bench", "ceiling", "--listen", at[1], "--durable", directory / "canned"],
                              stderr=subprocess.PIPE, text=True)
    load = ["--workload", "hot_row", "--connections", "1", "--threads", "1", "--seconds", str(args.seconds), "--warmup", "0.5"]

    def commits(address, pid):
        run = [*client, "run", "--server", address, *load, "--pid", str(pid)] + ([] if args.client else ["--json"])
        return json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip().splitlines()[-1])

    ours, nothing_else, alone = [], [], []
    try:
        # It tells when it listens.
        if "listening" not in canned.stderr.readline():
            raise SystemExit("the canned server does not start")
        subprocess.run([*client, "prepare", "--server", at[0], "--workload", "hot_row"], check=True)
        for _ in range(args.rounds):
            alone.append(bare(directory / "bare", args.seconds))
            nothing_else.append(commits(at[1], canned.pid))
            ours.append(commits(at[0], server.pid))
    finally:
        canned.kill()
        canned.wait()
        stop_server(server)
        shutil.rmtree(directory, ignore_errors=True)
    rates = {"write and fdatasync": alone, "a server that writes, syncs and answers": [each["tps"] for each in nothing_else],
             "commits of one connection": [each["tps"] for each in ours]}
    print("| what | a second (median) | µs | of bare (median, range) |")
    print("|---|--:|--:|---|")
    for name, each in rates.items():
        rate = statistics.median(each)
        shares = [one / other for one, other in zip(each, alone)]
        print(f"| {name} | {rate:,.0f} | {1e6 / rate:.0f} | {statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f}) |")
    shares = [one["tps"] / other["tps"] for one, other in zip(ours, nothing_else)]
    print(f"\nOf that server: {statistics.median(shares):.2f} ({min(shares):.2f} to {max(shares):.2f}), {args.rounds} rounds of {args.seconds:g} s, load average {os.getloadavg()[0]:.0f};")
    cpu = [statistics.median(each["server_cpu_us"] for each in runs) for runs in (ours, nothing_else)]
    print(f"server CPU a commit {cpu[0]:.1f} µs, the other's {cpu[1]:.1f}.")


if __name__ == "__main__":
    main()
