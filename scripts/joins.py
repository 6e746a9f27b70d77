#!/usr/bin/env python3
"""Joins, scans, TPC-C's joins and TPC-H beside a MySQL: equal results, and the processor time that each server takes for them.

The server is one of its own, `--binary`; the MySQL must run already (`--peer`, a port of this host) and may be busy with others: its time is
that of the one thread that serves the script's session. Statements run in turns on both; the figure is the median over the rounds of
/proc/PID/task/*/schedstat, which a busy machine disturbs little. Data are made once below `--work` and loaded into the database `--database`.

    python3 scripts/joins.py --binary target/fast/altiplano [--only Q9 --rounds 3]
    python3 scripts/joins.py --peer 13056 --without 'hash join,no partner,Q15'      # a MySQL 5.6, which knows neither hash joins nor WITH
"""
import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from measure import start_server, stop_server
from tpch import data as tpch
from tpch.queries import QUERIES

BIG_ROWS, JOIN_ROWS = 1_000_000, 100_000

SCHEMA = """
CREATE TABLE left_side (id INT PRIMARY KEY, x INT NOT NULL, ref INT NOT NULL, v DECIMAL(10,2) NOT NULL, note VARCHAR(40) NOT NULL);
CREATE TABLE right_side (id INT PRIMARY KEY, y INT NOT NULL, v INT NOT NULL, note VARCHAR(40) NOT NULL);
CREATE TABLE big (id INT PRIMARY KEY, k INT NOT NULL, g INT NOT NULL, v DECIMAL(12,2) NOT NULL, d DATE NOT NULL, s VARCHAR(60) NOT NULL);
CREATE TABLE warehouse (w_id INT PRIMARY KEY, w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL);
CREATE TABLE district (d_w_id INT, d_id INT, d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL, d_next_o_id INT NOT NULL, PRIMARY KEY (d_w_id, d_id));
CREATE TABLE customers (c_w_id INT, c_d_id INT, c_id INT, c_last VARCHAR(16) NOT NULL, c_credit CHAR(2) NOT NULL, c_discount DECIMAL(4,4) NOT NULL,
  c_balance DECIMAL(12,2) NOT NULL, PRIMARY KEY (c_w_id, c_d_id, c_id), KEY (c_w_id, c_d_id, c_last));
CREATE TABLE oorder (o_w_id INT, o_d_id INT, o_id INT, o_c_id INT NOT NULL, o_ol_cnt INT NOT NULL, PRIMARY KEY (o_w_id, o_d_id, o_id), KEY (o_w_id, o_d_id, o_c_id, o_id));
CREATE TABLE order_line (ol_w_id INT, ol_d_id INT, ol_o_id INT, ol_number INT, ol_i_id INT NOT NULL, ol_quantity INT NOT NULL, ol_amount DECIMAL(6,2) NOT NULL,
  ol_dist_info CHAR(24) NOT NULL, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number));
CREATE TABLE stock (s_w_id INT, s_i_id INT, s_quantity INT NOT NULL, s_data VARCHAR(50) NOT NULL, PRIMARY KEY (s_w_id, s_i_id));
"""
OWN_TABLES = ["left_side", "right_side", "big", "warehouse", "district", "customers", "oorder", "order_line", "stock"]

# name: (statement, times it is sent in one measurement)
STATEMENTS = {
    "hash join 100k x 100k, aggregated": ("SELECT COUNT(*), SUM(l.v), SUM(r.v) FROM left_side l JOIN right_side r ON l.x = r.y", 1),
    "hash join 100k x 100k, rows out": ("SELECT l.id, l.v, r.v, r.note FROM left_side l JOIN right_side r ON l.x = r.y", 1),
    "primary-key join 100k x 100k, aggregated": ("SELECT COUNT(*), SUM(l.v), SUM(r.v) FROM left_side l JOIN right_side r ON l.ref = r.id", 1),
    "primary-key join 100k x 100k, rows out": ("SELECT l.id, l.v, r.v, r.note FROM left_side l JOIN right_side r ON l.ref = r.id", 1),
    "primary keys of both, 100k x 100k": ("SELECT COUNT(*), SUM(r.v) FROM left_side l JOIN right_side r ON l.id = r.id", 1),
    "left join, no partner": ("SELECT COUNT(*) FROM left_side l LEFT JOIN right_side r ON l.x = r.y WHERE r.id IS NULL", 1),
    "scan 1M, filter on an integer": ("SELECT COUNT(*), MAX(id) FROM big WHERE k BETWEEN 400000 AND 600000", 1),
    "scan 1M, filter on a string": ("SELECT COUNT(*), MAX(id) FROM big WHERE s LIKE '%77%'", 1),
    "scan 1M, COUNT(*)": ("SELECT COUNT(*) FROM big", 1),
    "scan 1M, SUM and AVG of a decimal": ("SELECT SUM(v), AVG(v), MIN(d), MAX(d) FROM big", 1),
    "GROUP BY 1,000 groups of 1M": ("SELECT g, COUNT(*), SUM(v), MAX(k) FROM big GROUP BY g ORDER BY g", 1),
    "GROUP BY a date, 2,000 groups of 1M": ("SELECT d, COUNT(*), SUM(k) FROM big GROUP BY d ORDER BY d", 1),
    "COUNT(DISTINCT) of 1M": ("SELECT COUNT(DISTINCT k) FROM big", 1),
    "ORDER BY LIMIT 10 of 1M": ("SELECT id, v FROM big ORDER BY v DESC, id LIMIT 10", 1),
    "TPC-C new order: customer and warehouse": ("SELECT c_discount, c_last, c_credit, w_tax FROM customers, warehouse WHERE w_id = 1 AND c_w_id = w_id AND c_d_id = 7 AND c_id = 1234", 1000),
    "TPC-C stock level": ("SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id < 3001 AND ol_o_id >= 3001 - 20 AND s_w_id = 1 AND s_i_id = ol_i_id AND s_quantity < 15", 200),
    "TPC-C stock level with the district": ("SELECT COUNT(DISTINCT s_i_id) FROM district, order_line, stock WHERE d_w_id = 1 AND d_id = 3 AND ol_w_id = d_w_id AND ol_d_id = d_id AND ol_o_id < d_next_o_id AND ol_o_id >= d_next_o_id - 20 AND s_w_id = ol_w_id AND s_i_id = ol_i_id AND s_quantity < 15", 200),
    "TPC-C order status": ("SELECT o_id, ol_i_id, ol_quantity, ol_amount FROM customers JOIN oorder ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE c_w_id = 1 AND c_d_id = 2 AND c_last = 'BARBARBAR' ORDER BY o_id, ol_number", 100),
    "TPC-C check 4: lines of orders": ("SELECT o_d_id, SUM(o_ol_cnt), (SELECT COUNT(*) FROM order_line WHERE ol_w_id = o_w_id AND ol_d_id = o_d_id) FROM oorder GROUP BY o_w_id, o_d_id ORDER BY o_d_id", 1),
    "TPC-C check: lines whose order counts others": ("SELECT COUNT(*) FROM oorder o WHERE o_ol_cnt <> (SELECT COUNT(*) FROM order_line WHERE ol_w_id = o.o_w_id AND ol_d_id = o.o_d_id AND ol_o_id = o.o_id)", 1),
    "TPC-C lines, orders, customers": ("SELECT c_credit, COUNT(*), SUM(ol_amount) FROM order_line JOIN oorder ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id JOIN customers ON c_w_id = o_w_id AND c_d_id = o_d_id AND c_id = o_c_id GROUP BY c_credit ORDER BY c_credit", 1),
}


def own_data(directory, seed=100_000):
    rng = random.Random(seed)
    number = rng.randrange

    def table(name, rows):
        with open(directory / f"{name}.tsv", "w") as out:
            out.writelines("\t".join(map(str, row)) + "\n" for row in rows)

    cents = lambda most: tpch.money(number(most))
    note = lambda: f"note {number(10**9)} {rng.choice(tpch.WORDS)}"
    table("left_side", ((i, number(JOIN_ROWS), number(1, JOIN_ROWS + 1), cents(10**6), note()) for i in range(1, JOIN_ROWS + 1)))
    table("right_side", ((i, number(JOIN_ROWS), number(10**6), note()) for i in range(1, JOIN_ROWS + 1)))
    table("big", ((i, number(10**6), number(1000), cents(10**8), tpch.DATES[number(2000)], f"{note()} {number(10**9)}") for i in range(1, BIG_ROWS + 1)))
    syllables = ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"]
    last = lambda n: syllables[n // 100] + syllables[n // 10 % 10] + syllables[n % 10]
    table("warehouse", [(1, "0.1000", "300000.00")])
    table("district", ((1, d, "0.0500", "30000.00", 3001) for d in range(1, 11)))
    table("customers", ((1, d, c, last(c - 1 if c <= 1000 else number(1000)), "BC" if number(10) == 0 else "GC", f"0.{number(5000):04d}", "-10.00")
                        for d in range(1, 11) for c in range(1, 3001)))
    counts = {(d, o): number(5, 16) for d in range(1, 11) for o in range(1, 3001)}
    table("oorder", ((1, d, o, (o * 7919) % 3000 + 1, count) for (d, o), count in counts.items()))
    table("order_line", ((1, d, o, n, number(1, 100_001), 5, cents(999_999), "abcdefghijklmnopqrstuvwx") for (d, o), count in counts.items() for n in range(1, count + 1)))
    table("stock", ((1, i, number(10, 101), f"data {number(10**9)} of the stock of an item") for i in range(1, 100_001)))


class Session:
    """A session of the `mysql` client that stays open."""

    def __init__(self, port, *options):
        command = ["mysql", "-h127.0.0.1", f"-P{port}", "-uroot", "--ssl=0", "-N", "-B", "--unbuffered", "--quick", "--local-infile=1", "--skip-reconnect", *options]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def ask(self, sql, times=1):
        self.process.stdin.write((sql.rstrip().rstrip(";").replace("\n", " ") + ";\n") * times + "SELECT 'that is all';\n")
        self.process.stdin.flush()
        rows = []
        while (line := self.process.stdout.readline()) != "that is all\n":
            if line == "":
                raise SystemExit("the client has gone: " + sql + "\n" + "".join(rows[-5:]))
            rows.append(line)
        return rows


def peer_pid(port):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command = open(f"/proc/{pid}/cmdline").read().split("\0")
        except OSError:
            continue
        if f"--port={port}" in command and "mysqld" in command[0]:
            return int(pid)
    raise SystemExit(f"no mysqld with --port={port}")


def thread_times(pid):
    times = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            times[task] = int(open(f"/proc/{pid}/task/{task}/schedstat").read().split()[0]) / 1e6
        except OSError:
            pass
    return times


def thread_of(session, pid):
    """The thread that serves a session: the one that works while the session has it count."""
    votes = []
    for _ in range(3):
        before = thread_times(pid)
        session.ask("SELECT BENCHMARK(10000000, 1 + 1)")
        after = thread_times(pid)
        votes.append(max(after, key=lambda task: after[task] - before.get(task, 0)))
    if len(set(votes)) != 1:
        raise SystemExit("cannot tell which thread serves the session: try again")
    return votes[0]


class Side:
    def __init__(self, port, pid, database, one_thread, prelude=(), options=()):
        self.pid, self.session = pid, Session(port, *options)
        for sql in prelude:
            self.session.ask(sql)
        self.database = database
        self.thread = thread_of(self.session, pid) if one_thread else None

    def time(self):
        if self.thread:
            return int(open(f"/proc/{self.pid}/task/{self.thread}/schedstat").read().split()[0]) / 1e6
        return sum(thread_times(self.pid).values())

    def measure(self, sql, times):
        before = self.time()
        rows = self.session.ask(sql, times)
        return self.time() - before, rows


def load(session, database, work, schema=SCHEMA + tpch.SCHEMA, tables=OWN_TABLES + tpch.TABLES):
    session.ask(f"DROP DATABASE IF EXISTS {database}")
    session.ask(f"CREATE DATABASE {database}")
    session.ask(f"USE {database}")
    for sql in schema.split(";"):
        if sql.strip():
            session.ask(sql)
    for table in tables:
        told = session.ask(f"LOAD DATA LOCAL INFILE '{work}/{table}.tsv' INTO TABLE {table}")
        if told:
            raise SystemExit("".join(told))
        session.ask(f"ANALYZE TABLE {table}")
        print("loaded", table, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/fast/altiplano")
    parser.add_argument("--port", type=int, default=13290)
    parser.add_argument("--peer", type=int, default=13097)
    parser.add_argument("--database", default="joins_bench")
    parser.add_argument("--work", default="/tmp/altiplano-joins")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", help="statements whose name has this in it; several by commas")
    parser.add_argument("--without", help="statements to leave out, named alike")
    parser.add_argument("--reload", action="store_true", help="load the peer, too, although its database is there")
    parser.add_argument("--alone", action="store_true", help="without the peer")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a statement of ours is given up")
    parser.add_argument("--explain", action="store_true", help="only print our plans")
    args = parser.parse_args()
    work = pathlib.Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "made").exists():
        own_data(work)
        tpch.generate(args.scale, work)
        (work / "made").touch()
    fresh = not (work / "server").exists()
    server = start_server(args.binary, work / "server", args.port, "1G", ["local_infile=1"], work / "server.log")
    try:
        own = Side(args.port, server.pid, args.database, False)
        if fresh:
            load(own.session, args.database, work)
        own.session.ask(f"USE {args.database}")
        own.session.ask(f"SET SESSION max_execution_time = {int(args.limit * 1000)}")
        peer = None
        if not args.alone:
            peer = Side(args.peer, peer_pid(args.peer), args.database, True)
            version = peer.session.ask("SELECT VERSION()")[0].strip()
            # 5.6 reads by one thread, and has no such variable.
            if peer.session.ask("SHOW VARIABLES LIKE 'innodb_parallel_read_threads'"):
                peer.session.ask("SET SESSION innodb_parallel_read_threads = 1")
            if args.reload or not peer.session.ask(f"SHOW DATABASES LIKE '{args.database}'"):
                load(peer.session, args.database, work)
            peer.session.ask(f"USE {args.database}")
        statements = {**STATEMENTS, **{f"TPC-H {name}": (sql, 1) for name, sql in QUERIES.items()}}
        named = lambda name, list: any(w == name.split()[-1] or w in name and not w.startswith("Q") for w in list.split(","))
        if args.only:
            statements = {name: s for name, s in statements.items() if named(name, args.only)}
        if args.without:
            statements = {name: s for name, s in statements.items() if not named(name, args.without)}
        print(f"| statement | MySQL {version if peer else ''}, ms | Altiplano, ms | times less |\n|---|--:|--:|--:|")
        wrong = 0
        for name, (sql, times) in statements.items():
            if args.explain:
                print(name, "".join(own.session.ask("EXPLAIN FORMAT=TREE " + sql)).replace("\\n", "\n"), sep="\n")
                continue
            ours, theirs = [], []
            first = own.measure(sql, times)[1]
            if peer:
                expected = peer.measure(sql, times)[1]
                # Rows without an order are compared without one.
                if "order by" not in sql.lower():
                    first, expected = sorted(first), sorted(expected)
                if expected != first:
                    wrong += 1
                    print(f"{name}: results differ: ours {first[:3]} ({len(first)}), MySQL's {expected[:3]} ({len(expected)})", file=sys.stderr)
            for _ in range(args.rounds):
                ours.append(own.measure(sql, times)[0])
                if peer:
                    theirs.append(peer.measure(sql, times)[0])
            mine, other = statistics.median(ours) / times, statistics.median(theirs) / times if theirs else 0
            digits = 3 if times > 1 else 1
            print(f"| {name} | {other:,.{digits}f} | {mine:,.{digits}f} | {other / max(mine, 1e-9):.1f} |", flush=True)
        if wrong:
            raise SystemExit(f"{wrong} results differ")
    finally:
        stop_server(server)


if __name__ == "__main__":
    main()
