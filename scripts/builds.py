#!/usr/bin/env python3
"""builds.py: what one build of altiplano costs beside another: user time a transaction, and instructions a transaction.

    scripts/builds.py BEFORE AFTER [--rounds 6] [--seconds 3] [--instructions] [--client 'PROGRAM ARGUMENT...']

Slices of a few seconds alternate between two servers under the same client, in turned order from round to round; what is told is the median
of each and of the ratios of neighbouring slices, with their least and greatest. --instructions then runs each build under callgrind with one
connection and divides what sessions executed, from packet to reply, by the transactions that were answered: nearly without noise, and blind to
caches and branches. Where link-time optimisation has left no function that callgrind could be told of, it is all that the server executed. --rounds 0 leaves the slices away.
The client is AFTER's own `bench` unless another is named. Data goes to /var/tmp/altiplano-builds and is removed.
"""
import argparse
import glob
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import threading
import time

DATA = "/var/tmp/altiplano-builds"
# Only what sessions do: purge, cleaner and checkpoints work by the clock, which callgrind stretches.
HANDLE = "--toggle-collect=*ClientSession*Session*::handle"
WORKLOADS = [("point_select", ""), ("point_select", "--text"), ("read_write", ""), ("read_write", "--text"), ("tpcc", ""),
             ("update_index", ""), ("insert", "")]
SIZE = "--tables 2 --table-size 50000 --warehouses 2 --items 10000 --customers 300".split()
SMALL = "--tables 1 --table-size 5000 --warehouses 1 --items 1000 --customers 100".split()
COUNTED = [("point_select", "", 5), ("point_select", "--text", 5), ("read_write", "", 10), ("tpcc", "", 20)]


class Server:
    def __init__(self, command, name, pool):
        self.process = subprocess.Popen(command + ["serve", "--port", "0", "--buffer-pool-size", pool, "--data-dir", f"{DATA}/{name}"],
                                        stderr=subprocess.PIPE, text=True)
        self.address = None
        for line in self.process.stderr:
            found = re.search(r"listening on (127\.0\.0\.1:\d+)", line)
            self.address = found.group(1) if found else self.address
            if "ready" in line:
                break
        assert self.address, "the server did not start"
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Client:
    def __init__(self, command):
        self.command = command
        # The load client of before `altiplano bench` prints JSON without being asked.
        text = subprocess.run(command + ["run", "--help"], capture_output=True, text=True).stdout
        self.json = ["--json"] if "--json" in text else []

    def prepare(self, server, size):
        for workload in ("point_select", "tpcc"):
            command = self.command + ["prepare", "--server", server.address, "--workload", workload] + size
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def run(self, server, workload, text, size, *options):
        command = self.command + ["run", "--server", server.address, "--workload", workload, "--threads", "1", *self.json, *size, *options]
        done = subprocess.run(command + ([text] if text else []), capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{workload}: {done.stderr}")
        return json.loads(done.stdout.strip().splitlines()[-1])


def slices(client, builds, rounds, seconds):
    servers = [Server([program], name, "512M") for name, program in builds]
    seen = {}
    try:
        for server in servers:
            client.prepare(server, SIZE)
        for number in range(rounds):
            for workload, text in WORKLOADS:
                order = [0, 1] if number % 2 == 0 else [1, 0]
                for at in order:
                    options = ["--pid", str(servers[at].process.pid), "-c", "4", "--warmup", "0.3", "--seconds", str(seconds)]
                    one = client.run(servers[at], workload, text, SIZE, *options)
                    seen.setdefault((workload, text), ([], []))[at].append((one["server_user_us"], one["server_cpu_us"], one["tps"]))
    finally:
        for server in servers:
            server.stop()
    print(f"{'workload':24} {'user µs before':>15} {'after':>9} {'ratio':>7} {'least':>7} {'most':>7}   whole CPU ratio   rate ratio")
    for (workload, text), (before, after) in seen.items():
        ratios = [[b[i] / a[i] for a, b in zip(before, after)] for i in range(3)]
        user = [statistics.median(x[0] for x in side) for side in (before, after)]
        name = f"{workload} {text.lstrip('-') or 'prepared'}"
        middle = [statistics.median(r) for r in ratios]
        print(f"{name:24} {user[0]:15.2f} {user[1]:9.2f} {middle[0]:7.3f} {min(ratios[0]):7.3f} {max(ratios[0]):7.3f} {middle[1]:17.3f} {middle[2]:12.3f}",
              flush=True)


def toggle(builds):
    """What callgrind is told to count: nothing, which is all, where one of the builds has no such function."""
    name = re.compile(r"ClientSession.*Session.*::handle$")
    has = lambda program: any(name.search(line) for line in subprocess.run(["nm", "-C", program], capture_output=True, text=True).stdout.splitlines())
    if all(has(program) for _, program in builds):
        return [HANDLE]
    print("\nno function `handle` to count in: all instructions of the server, those of the background among them")
    return []


def instructions(client, builds):
    counted = toggle(builds)
    server = Server([builds[0][1]], "small", "128M")
    client.prepare(server, SMALL)
    server.stop()
    counts = {}
    for name, program in builds:
        shutil.copytree(f"{DATA}/small", f"{DATA}/counted-{name}")
        out = f"{DATA}/callgrind-{name}"
        server = Server(["valgrind", "--tool=callgrind", "-q", *counted, f"--callgrind-out-file={out}", program], f"counted-{name}", "128M")
        control = lambda what: subprocess.run(["callgrind_control", what, str(server.process.pid)], check=True, capture_output=True)
        for workload, text, seconds in COUNTED:
            run = lambda s: client.run(server, workload, text, SMALL, "-c", "1", "--warmup", "0", "--seconds", str(s))
            run(2)
            before = set(glob.glob(out + ".*"))
            control("-z")
            transactions = run(seconds)["transactions"]
            control("-d")
            deadline = time.time() + 60
            while not (new := set(glob.glob(out + ".*")) - before) and time.time() < deadline:
                time.sleep(0.2)
            time.sleep(1)
            total = int(re.search(r"^(?:summary|totals): (\d+)", open(new.pop()).read(), re.M).group(1))
            counts.setdefault((workload, text), {})[name] = total / transactions
        server.stop()
    print(f"\n{'workload':24} {'instructions before':>20} {'after':>12} {'ratio':>7}")
    for (workload, text), of in counts.items():
        name = f"{workload} {text.lstrip('-') or 'prepared'}"
        print(f"{name:24} {of['before']:20,.0f} {of['after']:12,.0f} {of['after'] / of['before']:7.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--client")
    options = parser.parse_args()
    builds = [("before", os.path.abspath(options.before)), ("after", os.path.abspath(options.after))]
    client = Client(options.client.split() if options.client else [builds[1][1], "bench"])
    shutil.rmtree(DATA, ignore_errors=True)
    os.makedirs(DATA)
    try:
        if options.rounds > 0:
            slices(client, builds, options.rounds, options.seconds)
        if options.instructions:
            instructions(client, builds)
    finally:
        shutil.rmtree(DATA, ignore_errors=True)


main()
