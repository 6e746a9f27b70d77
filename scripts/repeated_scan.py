#!/usr/bin/env python3
"""repeated_scan.py: does a table that is read over and over stay in a pool that is full of what nobody uses any more?

  scripts/repeated_scan.py                a server of its own (--server PATH, target/release/altiplano) with a pool of 256 MiB
  --peer HOST:PORT                        the MySQL there instead; its pool is set to the same size

Two tables are made, one of 66 MB, then one of 660 MB, and read as a whole: milliseconds of each time. Between them rows of the first part of the large one are asked for by their ids (µs each),
which are in use then: they are to take no longer behind the scans than before.
"""
import argparse
import random
import tempfile
import time
from pathlib import Path

import pymysql

from measure import start_server, stop_server

POOL = 256 << 20
SCANS = 9
IN_USE = 100_000
POINTS = 4_000


def fill(query):
    query("DROP DATABASE IF EXISTS repeated_scan")
    query("CREATE DATABASE repeated_scan")
    query("USE repeated_scan")
    query("SET cte_max_recursion_depth = 1000000")
    for table, rows in (("small", 60_000), ("large", 600_000)):
        query(f"CREATE TABLE {table} (id INT PRIMARY KEY, n INT, pad VARCHAR(1200))")
        for first in range(0, rows, 20_000):
            query(f"INSERT INTO {table} WITH RECURSIVE numbers (n) AS (SELECT {first} UNION ALL SELECT n + 1 FROM numbers WHERE n < {first + 19_999}) SELECT n, n % 1000, REPEAT('x', 1100) FROM numbers")


def measure(query):
    def took(sql):
        begin = time.perf_counter()
        query(sql)
        return time.perf_counter() - begin

    def scans(table, count):
        print(f"{table}, ms:", *(f"{took(f'SELECT SUM(n) FROM {table}') * 1e3:.0f}" for _ in range(count)), flush=True)

    def points(count):
        slices = [sum(took(f"SELECT n FROM large WHERE id = {random.randrange(IN_USE)}") for _ in range(POINTS)) / POINTS for _ in range(count)]
        print("rows in use, µs:", *(f"{each * 1e6:.0f}" for each in slices), flush=True)

    scans("large", 2)
    scans("small", SCANS)
    points(4)
    scans("large", 2)
    points(2)
    scans("small", SCANS)
    points(2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", type=Path, default=Path(__file__).resolve().parent.parent / "target/release/altiplano")
    parser.add_argument("--peer")
    parser.add_argument("--port", type=int, default=14161)
    options = parser.parse_args()
    random.seed(1)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        scratch, server = Path(scratch), None
        host, port = (options.peer or f"127.0.0.1:{options.port}").rsplit(":", 1)
        if not options.peer:
            server = start_server(options.server, scratch / "data", options.port, POOL, ["innodb_flush_log_at_trx_commit=0"], scratch / "log")
        try:
            with pymysql.connect(host=host, port=int(port), user="root", autocommit=True, read_timeout=600) as connection, connection.cursor() as cursor:
                def query(sql):
                    cursor.execute(sql)
                    cursor.fetchall()

                if options.peer:
                    query(f"SET GLOBAL innodb_buffer_pool_size = {POOL}")
                fill(query)
                time.sleep(5)  # what is left to be written
                measure(query)
                query("DROP DATABASE repeated_scan")
        finally:
            if server:
                stop_server(server)


main()
