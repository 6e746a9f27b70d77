#!/usr/bin/env python3
"""Seconds until a killed server with very many tables accepts connections again, and what it holds then.

    scripts/many_tables.py --altiplano target/fast/altiplano [--tables 1000000] [--connections 8] [--seconds 20] [--keep] [--reuse]

Makes the tables (`t0`, `t1` … in the database `many`, each with a primary key, every fourth with a secondary index and a row) over several
connections, writes for some seconds with sysbench from 16 connections, kills the server with SIGKILL, starts it again, and asks until a query is
answered; then asks for some of the tables, the last made among them. `--reuse` takes the directory that an earlier run with `--keep` left.
Needs `sysbench` and `mysql`.
"""
import argparse, os, re, subprocess, sys, time
from recovery import Altiplano, sql, until_answered

SYSBENCH = ["sysbench", "oltp_write_only", "--tables=4", "--table-size=20000", "--mysql-host=127.0.0.1", "--mysql-db=load_it", "--mysql-user=root", "--db-driver=mysql",
            "--rand-type=uniform"]


def memory(pid):
    text = open(f"/proc/{pid}/status").read()
    return {name: int(re.search(name + r":\s+(\d+)", text)[1]) / 1024 for name in ("VmRSS", "VmHWM")}


def make(server, first, count, connections):
    """CREATE TABLE over several connections, each with statements of its own tables."""
    client = ["mysql", "--ssl=0", "-h127.0.0.1", f"-P{server.port}", "-uroot", "many"]
    clients = [subprocess.Popen(client, stdin=subprocess.PIPE, text=True) for _ in range(connections)]
    begun = last = time.monotonic()
    for n in range(first, first + count):
        text = f"CREATE TABLE t{n} (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, c VARCHAR(60) NOT NULL DEFAULT ''"
        text += f", KEY k (k));\nINSERT INTO t{n} (k) VALUES ({n});\n" if n % 4 == 0 else ");\n"
        clients[n % connections].stdin.write(text)
        if n % 1000 == 0 and time.monotonic() - last > 20:
            last = time.monotonic()
            print(f"  {n - first} sent in {last - begun:.0f} s", flush=True)
    for one in clients:
        one.stdin.close()
    for one in clients:
        if one.wait() != 0:
            sys.exit("a client that made tables failed")
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--altiplano", required=True)
    parser.add_argument("--tables", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--pool", default="1G")
    parser.add_argument("--log", default="1G")
    parser.add_argument("--data", default="/var/tmp/many_tables")
    parser.add_argument("--port", type=int, default=14131)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--reuse", action="store_true")
    args = parser.parse_args()
    server = Altiplano(args, fresh=not args.reuse)
    server.start()
    until_answered(server.port, time.monotonic())
    if not args.reuse:
        sql(server.port, "CREATE DATABASE many; CREATE DATABASE load_it")
        took = make(server, 0, args.tables, args.connections)
        print(f"{args.tables} tables made in {took:.1f} s, {args.tables / took:.0f} a second; server: {server.processor_seconds()}, {memory(server.process.pid)} MiB", flush=True)
        subprocess.run([*SYSBENCH, f"--mysql-port={server.port}", "prepare"], check=True, stdout=subprocess.DEVNULL)
    tables = int(sql(server.port, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'many'") or 0)
    load = subprocess.Popen([*SYSBENCH, f"--mysql-port={server.port}", "--threads=16", f"--time={args.seconds + 600}", "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(args.seconds)
    server.kill()
    load.kill()
    load.wait()
    begun = time.monotonic()
    server.start()
    seconds = until_answered(server.port, begun)
    print(f"{tables} tables: accepting after {seconds:.2f} s; {server.processor_seconds()}, {memory(server.process.pid)} MiB; load of the machine {os.getloadavg()[0]:.1f}")
    for n in (0, tables // 2, tables - 1):
        begun = time.monotonic()
        if sql(server.port, f"SELECT COUNT(*) FROM many.t{n}") is None or sql(server.port, f"INSERT INTO many.t{n} (k) VALUES (7)") is None:
            sys.exit(f"table t{n} is not there")
        print(f"table t{n} read and written in {time.monotonic() - begun:.3f} s (two clients started)")
    time.sleep(5)
    print(f"five seconds later: {server.processor_seconds()}, {memory(server.process.pid)} MiB")
    print("\n".join(line for line in server.redone()[1].splitlines() if "recovery" in line or "opened" in line or "orphan" in line))
    server.kill()
    if not args.keep:
        server.remove()


if __name__ == "__main__":
    main()
