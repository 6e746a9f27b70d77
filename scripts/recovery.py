#!/usr/bin/env python3
"""Seconds until a killed server accepts connections again, per GB of log that it redoes.

    scripts/recovery.py --altiplano target/fast/altiplano [--seconds 60] [--pool 2G] [--log 4G] [--data /tmp/recovery] [--port 14130]
    scripts/recovery.py --mysql /work/shared/peers/mysql97.sh ...

Loads four tables with sysbench (not durable, so that the disk's syncs do not bound the load), writes for some seconds from 16 connections, kills the
server with SIGKILL, starts it again, and asks until a query is answered. Needs `sysbench` and `mysql`.
"""
import argparse, os, re, shutil, signal, subprocess, sys, time

TABLES = ["--tables=4", "--mysql-host=127.0.0.1", "--mysql-db=recovery", "--mysql-user=root", "--db-driver=mysql", "--rand-type=uniform"]


def sql(port, text):
    command = ["mysql", "--ssl=0", "-h127.0.0.1", f"-P{port}", "-uroot", "-N", "-e", text]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout if done.returncode == 0 else None


def until_answered(port, begun, limit=600):
    while time.monotonic() - begun < limit:
        if sql(port, "SELECT 1") is not None:
            return time.monotonic() - begun
        time.sleep(0.02)
    sys.exit("the server does not answer")


class Altiplano:
    def __init__(self, args):
        self.args, self.port = args, args.port
        self.log = open(args.data + ".log", "ab+")
        shutil.rmtree(args.data, ignore_errors=True)

    def start(self):
        a = self.args
        command = [a.altiplano, "serve", f"--data-dir={a.data}", f"--port={a.port}", f"--buffer-pool-size={a.pool}", "--set", f"innodb_redo_log_capacity={a.log}",
                   "--set", "innodb_flush_log_at_trx_commit=0"]
        self.log.seek(0, os.SEEK_END)
        self.from_here = self.log.tell()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def redone(self):
        self.log.seek(self.from_here)
        text = self.log.read().decode(errors="replace")
        found = re.search(r"([\d.]+) MiB of log redone in ([\d.]+) s", text)
        return (float(found[1]) / 1024, text) if found else (0.0, text)


class MySql:
    def __init__(self, args):
        self.script, self.port = args.mysql, 13097

    def start(self):
        self.before = None
        subprocess.run([self.script, "start"], check=True, env={**os.environ, "EXTRA": "--innodb-flush-log-at-trx-commit=0 --innodb-redo-log-capacity=4G"})

    def kill(self):
        rows = dict(line.split("\t") for line in sql(self.port, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log%lsn'").splitlines())
        self.age = (int(rows["Innodb_redo_log_current_lsn"]) - int(rows["Innodb_redo_log_checkpoint_lsn"])) / (1 << 30)
        subprocess.run([self.script, "kill9"], check=True)

    def redone(self):
        return self.age, ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--altiplano")
    parser.add_argument("--mysql")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--pool", default="2G")
    parser.add_argument("--log", default="4G")
    parser.add_argument("--data", default="/tmp/recovery")
    parser.add_argument("--port", type=int, default=14130)
    args = parser.parse_args()
    server = Altiplano(args) if args.altiplano else MySql(args)
    server.start()
    until_answered(server.port, time.monotonic())
    sql(server.port, "DROP DATABASE IF EXISTS recovery")
    sql(server.port, "CREATE DATABASE recovery")
    bench = ["sysbench", "oltp_write_only", *TABLES, f"--table-size={args.rows}", f"--mysql-port={server.port}"]
    subprocess.run([*bench, "prepare"], check=True, stdout=subprocess.DEVNULL)
    load = subprocess.Popen([*bench, "--threads=16", f"--time={args.seconds + 600}", "run"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(args.seconds)
    server.kill()
    load.kill()
    load.wait()
    begun = time.monotonic()
    server.start()
    seconds = until_answered(server.port, begun)
    gib, text = server.redone()
    if args.altiplano:
        fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
        print(f"processor seconds by then: user {int(fields[11]) / 100}, system {int(fields[12]) / 100}")
    print("\n".join(line for line in text.splitlines() if "recovery" in line))
    rate = f"{seconds / gib:.2f} s per GiB" if gib else "nothing to redo"
    print(f"accepting after {seconds:.2f} s, {gib:.3f} GiB of log: {rate}; load of the machine {os.getloadavg()[0]:.1f}")
    time.sleep(3)
    if args.altiplano:
        print("\n".join(line for line in server.redone()[1].splitlines() if "recovery" in line or "rollback" in line))
    server.kill()


if __name__ == "__main__":
    main()
