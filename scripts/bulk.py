#!/usr/bin/env python3
"""Bulk load beside a MySQL: rows per second, processor time of the server per row, bytes of log per row.

The server is one of its own, `--binary`; the MySQL must run already (`--peer`, a port of this host) and may be busy with others: then its time is
only an estimate, and that of its session's thread, which the table gives too, a lower bound (its log and page writers work beside). The statements are
made once below `--work`, in files; each is sent as it is by a client that does nothing else. Bytes of log are Innodb_os_log_written, and at the MySQL the growth
of its binary log besides.

    python3 scripts/bulk.py --binary target/fast/altiplano [--rows 1000000 --load-rows 10000000 --only load]
"""
import argparse
import os
import pathlib
import random
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from joins import peer_pid, thread_times
from measure import log_bytes, start_server, stop_server

COLUMNS = "id BIGINT NOT NULL PRIMARY KEY, a INT NOT NULL, b INT NOT NULL, note VARCHAR(60) NOT NULL, amount DECIMAL(12,2) NOT NULL, made DATETIME NOT NULL"
KEYS = ["", ", KEY (a)", ", KEY (a), KEY (b, made)"]


class Client:
    """The protocol, as far as this needs it: an account without a password, texts, files of the client."""

    def __init__(self, port, database=None):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""
        self.packet()
        flags = 0x1 | 0x4 | 0x80 | 0x200 | 0x2000 | 0x8000 | 0x80000
        login = struct.pack("<IIB23x", flags, 1 << 30, 45) + b"root\0" + b"\0" + b"caching_sha2_password\0"
        self.send(login, 1)
        while (answer := self.packet())[:1] != b"\0":
            if answer[:1] == b"\xff":
                raise SystemExit(answer)
            if answer[:1] == b"\xfe":
                self.send(b"", self.sequence + 1)

    def send(self, body, sequence=0):
        parts = []
        while True:
            part, body = body[: (1 << 24) - 1], body[(1 << 24) - 1 :]
            parts.append(struct.pack("<I", len(part) | (sequence & 0xFF) << 24) + part)
            sequence += 1
            if len(part) < (1 << 24) - 1:
                break
        self.socket.sendall(b"".join(parts))

    def packet(self):
        while len(self.rest) < 4 or len(self.rest) < 4 + (length := int.from_bytes(self.rest[:3], "little")):
            more = self.socket.recv(1 << 16)
            if not more:
                raise SystemExit("the server has gone")
            self.rest += more
        self.sequence = self.rest[3]
        body, self.rest = self.rest[4 : 4 + length], self.rest[4 + length :]
        return body

    def ask(self, sql, file=None):
        """Sends a text; the rows of its result, of text columns."""
        self.send(b"\x03" + (sql if isinstance(sql, bytes) else sql.encode()))
        head = self.packet()
        if head[:1] == b"\xfb":
            sequence = self.sequence + 1
            with open(file, "rb", buffering=0) as data:
                while piece := data.read(1 << 20):
                    self.send(piece, sequence)
                    sequence += 1
            self.send(b"", sequence)
            head = self.packet()
        if head[:1] == b"\xff":
            raise SystemExit(f"{sql[:80]!r}: {head[9:]!r}")
        if head[:1] == b"\0":
            return []
        for _ in range(head[0]):
            self.packet()
        rows, ends = [], 0
        self.packet()
        while (row := self.packet())[:1] != b"\xfe" or len(row) > 8:
            values, at = [], 0
            while at < len(row):
                length = row[at]
                at += 1
                if length == 0xFB:
                    values.append(None)
                    continue
                if length == 0xFC:
                    length, at = int.from_bytes(row[at : at + 2], "little"), at + 2
                values.append(row[at : at + length].decode())
                at += length
            rows.append(values)
        return rows


def rows_of(count, order, seed, first=0):
    """Rows as texts of their columns, in the order of keys or in a random one."""
    rng = random.Random(seed)
    ids = list(range(first + 1, first + count + 1))
    if order == "random":
        rng.shuffle(ids)
    for id in ids:
        a, b = rng.randrange(1 << 30), rng.randrange(1000)
        yield id, a, b, f"note {a * 7919 % 1000003} of the row {id}", f"{rng.randrange(10**8) / 100:.2f}", f"2026-{b % 12 + 1:02}-{a % 28 + 1:02} 10:{b % 60:02}:00"


def statements(path, count, order, per, first=0):
    """A file of statements, each with its length before it."""
    if path.exists():
        return path
    with open(path.with_suffix(".new"), "wb") as out:
        batch = []
        for id, a, b, note, amount, made in rows_of(count, order, count, first):
            batch.append(f"({id},{a},{b},'{note}',{amount},'{made}')")
            if len(batch) == per:
                text = ("INSERT INTO t VALUES " + ",".join(batch)).encode()
                out.write(struct.pack("<I", len(text)) + text)
                batch = []
    path.with_suffix(".new").rename(path)
    return path


def lines(path, count, order):
    if path.exists():
        return path
    with open(path.with_suffix(".new"), "w") as out:
        out.writelines("\t".join(map(str, row)) + "\n" for row in rows_of(count, order, count))
    path.with_suffix(".new").rename(path)
    return path


class Side:
    def __init__(self, name, port, pid, database):
        self.name, self.port, self.pid, self.database = name, port, pid, database
        self.client = Client(port)
        self.client.ask(f"DROP DATABASE IF EXISTS {database}")
        self.client.ask(f"CREATE DATABASE {database}")
        self.client.ask(f"USE {database}")
        self.binary_log = bool(self.client.ask("SHOW VARIABLES LIKE 'log_bin_basename'")) and name != "ours"

    def measure(self, rows, work):
        before, threads = log_bytes(self.client, self.binary_log), thread_times(self.pid)
        begun = time.monotonic()
        work(self.client)
        seconds = time.monotonic() - begun
        after = thread_times(self.pid)
        grown = {task: after[task] - threads.get(task, 0) for task in after}
        micros = 1000 / rows
        return {"rows/s": rows / seconds, "all": sum(grown.values()) * micros, "one": max(grown.values()) * micros, "log": (log_bytes(self.client, self.binary_log) - before) / rows}


def inserts(path):
    def work(client):
        with open(path, "rb") as data:
            while head := data.read(4):
                client.ask(data.read(struct.unpack("<I", head)[0]))
    return work


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/fast/altiplano")
    parser.add_argument("--port", type=int, default=13390)
    parser.add_argument("--peer", type=int, default=13097)
    parser.add_argument("--database", default="bulk_bench")
    parser.add_argument("--work", default="/tmp/altiplano-bulk")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of each INSERT measurement")
    parser.add_argument("--load-rows", type=int, default=1_000_000, help="rows of each LOAD DATA measurement")
    parser.add_argument("--per", type=int, default=1000, help="rows of a statement")
    parser.add_argument("--pool", default="1G")
    parser.add_argument("--only", default="", help="measurements whose name has this in it")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    work = pathlib.Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    subprocess.run(["rm", "-rf", str(work / "server")])
    server = start_server(args.binary, work / "server", args.port, args.pool, ["local_infile=1", *args.set], work / "server.log")
    try:
        sides = [Side("ours", args.port, server.pid, args.database)]
        if not args.alone:
            sides.append(Side("MySQL", args.peer, peer_pid(args.peer), args.database))
        # Memory of the pool that nobody has used yet costs its first user more.
        warm = lines(work / "load-random-1000000.tsv", 1_000_000, "random")
        for side in sides:
            side.client.ask(f"CREATE TABLE t ({COLUMNS}{KEYS[2]})")
            side.client.ask("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", warm)
        print(f"load of the machine: {os.getloadavg()[0]:.1f}; {os.cpu_count()} processors")
        print("| | server | rows/s | CPU µs/row | of the session's thread | log bytes/row |\n|---|---|--:|--:|--:|--:|")

        def report(name, rows, create, prepare, run):
            if args.only not in name:
                return
            for side in sides:
                side.client.ask("DROP TABLE IF EXISTS t")
                side.client.ask(create)
                if prepare:
                    prepare(side.client)
                told = side.measure(rows, run)
                print(f"| {name} | {side.name} | {told['rows/s']:,.0f} | {told['all']:.2f} | {told['one']:.2f} | {told['log']:.0f} |", flush=True)
                count = side.client.ask("SELECT COUNT(*) FROM t")[0][0]
                if int(count) < rows:
                    raise SystemExit(f"{side.name}: {count} rows of {rows}")

        for keys, text in enumerate(KEYS):
            create = f"CREATE TABLE t ({COLUMNS}{text})"
            for order in ["ascending", "random"]:
                path = statements(work / f"insert-{order}-{args.rows}-{args.per}.bin", args.rows, order, args.per)
                report(f"INSERT of {args.per}, {order} keys, {keys} indexes, empty table", args.rows, create, None, inserts(path))
            there = statements(work / f"there-{args.rows}-{args.per}.bin", args.rows, "random", args.per, args.rows)
            report(f"INSERT of {args.per}, random keys, {keys} indexes, table of as many rows", args.rows, create, inserts(there), inserts(path))
        for keys in (0, 2):
            create = f"CREATE TABLE t ({COLUMNS}{KEYS[keys]})"
            for order in ["ascending", "random"]:
                path = lines(work / f"load-{order}-{args.load_rows}.tsv", args.load_rows, order)
                report(f"LOAD DATA LOCAL, {order} keys, {keys} indexes", args.load_rows, create, None, lambda client: client.ask("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", path))
        for side in sides:
            side.client.ask(f"DROP DATABASE {args.database}")
    finally:
        stop_server(server)


if __name__ == "__main__":
    main()
