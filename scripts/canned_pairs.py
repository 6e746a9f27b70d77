#!/usr/bin/env python3
"""canned_pairs.py ALTIPLANO CEILING_C [--rounds N] [--seconds S] [--connections 16,2000,10000]: what connections alone cost, whatever the server does.

Two servers of canned answers, one with a thread for each connection (CEILING_C, of the peers' scripts), one of two epoll threads (canned_epoll.c beside this
file), asked TPC-C's statements by `ALTIPLANO bench run`, in turns. Printed: each slice, then the rate at each count against the first count of the same round,
and processor time for each transaction of server and client.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("altiplano")
parser.add_argument("ceiling_c")
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", default="3")
parser.add_argument("--connections", default="16,2000,10000")
parser.add_argument("--port", type=int, default=13811)
args = parser.parse_args()
counts = [int(count) for count in args.connections.split(",")]
sources = {"thread": args.ceiling_c, "epoll": pathlib.Path(__file__).with_name("canned_epoll.c")}
slices: dict = {}
with tempfile.TemporaryDirectory() as directory:
    servers = {}
    try:
        for number, (name, source) in enumerate(sources.items()):
            program = pathlib.Path(directory, name)
            subprocess.run(["gcc", "-O2", "-w", "-pthread", source, "-o", program], check=True)
            servers[name] = (args.port + number, subprocess.Popen([program, str(args.port + number)]))
        time.sleep(0.5)  # they listen by then; a client that comes too early says so
        for turn in range(args.rounds):
            for name, (port, server) in servers.items():
                for count in counts:
                    command = [args.altiplano, "bench", "run", "--json", "--server", f"127.0.0.1:{port}", "--workload", "tpcc", "--connections", str(count)]
                    ran = subprocess.run([*command, "--seconds", args.seconds, "--pid", str(server.pid)], capture_output=True, text=True)
                    if ran.returncode != 0:
                        raise SystemExit(ran.stderr)
                    got = json.loads(ran.stdout)
                    slices.setdefault((name, count), []).append(got)
                    print(f"{turn} {name:6} {count:6} {got['tps']:9.0f}/s server {got['server_cpu_us']:6.1f} client {got['client_cpu_us']:6.1f} us", flush=True)
    finally:
        for _, server in servers.values():
            server.kill()
for (name, count), got in slices.items():
    share = statistics.median(one["tps"] / first["tps"] for one, first in zip(got, slices[name, counts[0]]))
    server, client = (statistics.median(one[who] for one in got) for who in ("server_cpu_us", "client_cpu_us"))
    print(f"{name:6} {count:6}: {share:.2f} of the rate at {counts[0]}; server {server:.1f}, client {client:.1f} us a transaction")
