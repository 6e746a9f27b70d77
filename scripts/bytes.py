#!/usr/bin/env python3
"""Bytes written for a small durable transaction, beside a MySQL that runs already.

    cargo build --release
    scripts/bytes.py --peer 13097

Both get the same loads by `altiplano bench`, one after the other, each for `--seconds` and a second before. Three figures for each transaction, counted by the servers (Com_insert and so on): *log*, Innodb_os_log_written, at the
MySQL with the growth of its binary log; *disk*, what the process gave to block devices meanwhile (write_bytes of /proc/PID/io: log, pages, doublewrite and all else; a few seconds hold less of
pages than hours would); *syncs* of the log, Innodb_os_log_fsyncs. The MySQL must be on this host, so that its process can be seen.
"""
import argparse
import pathlib
import shutil
import subprocess
import tempfile
import time

from joins import peer_pid
from measure import Client, log_bytes, start_server, stop_server

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKLOADS = "oltp_insert,oltp_update_index,oltp_update_non_index,oltp_delete"


class Server:
    """One of the two, with what it has written so far."""

    def __init__(self, port, pid, has_binary_log):
        self.port, self.pid, self.has_binary_log = port, pid, has_binary_log
        self.client = Client(port)

    def written(self):
        wanted = "'Innodb_os_log_fsyncs', 'Com_insert', 'Com_update', 'Com_delete'"
        status = {name: int(value) for name, value in self.client.ask(f"SHOW GLOBAL STATUS WHERE Variable_name IN ({wanted})")}
        disk = int(pathlib.Path(f"/proc/{self.pid}/io").read_text().split("write_bytes: ")[1].split()[0])
        made = status["Com_insert"] + status["Com_update"] + status["Com_delete"]
        return made, [log_bytes(self.client, self.has_binary_log), disk, status["Innodb_os_log_fsyncs"]]

    def measure(self, bench, workload, connections, seconds):
        """Log, disk and syncs for each statement that changes a row, of which each is a transaction."""
        first, before = self.written()
        command = ["run", "--server", f"127.0.0.1:{self.port}", "--workload", workload, "--connections", str(connections), "--seconds", str(seconds)]
        subprocess.run([*bench, *command], check=True, stdout=subprocess.DEVNULL)
        last, after = self.written()
        return [(later - earlier) / (last - first) for later, earlier in zip(after, before)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=ROOT / "target/release/altiplano")
    parser.add_argument("--peer", type=int, help="port of a MySQL on this host")
    parser.add_argument("--port", type=int, default=13459)
    parser.add_argument("--workloads", default=WORKLOADS)
    parser.add_argument("--connections", default="1,16,128")
    parser.add_argument("--seconds", type=float, default=5)
    options = parser.parse_args()
    workloads = options.workloads.split(",")
    if unknown := set(workloads) - set(WORKLOADS.split(",")):
        parser.error(f"each transaction must be one statement that changes a row, so no {', '.join(sorted(unknown))}: {WORKLOADS}")
    work = pathlib.Path(tempfile.mkdtemp(prefix="altiplano-bytes-", dir="/var/tmp"))
    server = start_server(options.binary, work / "data", options.port, "1G", [], work / "log")
    bench = [str(options.binary), "bench"]
    try:
        servers = {"Altiplano": Server(options.port, server.pid, False)}
        if options.peer:
            servers["MySQL"] = Server(options.peer, peer_pid(options.peer), True)
        for each in servers.values():
            subprocess.run([*bench, "prepare", "--workload", "oltp_insert", "--server", f"127.0.0.1:{each.port}"], check=True, stdout=subprocess.DEVNULL)
        time.sleep(10)
        print("| workload | connections | server | log bytes | disk bytes | syncs of the log |\n|---|--:|---|--:|--:|--:|")
        for workload in workloads:
            for connections in options.connections.split(","):
                for name, each in servers.items():
                    log, disk, syncs = each.measure(bench, workload, int(connections), options.seconds)
                    print(f"| {workload} | {connections} | {name} | {log:,.0f} | {disk:,.0f} | {syncs:.3f} |", flush=True)
    finally:
        stop_server(server)
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
