#!/usr/bin/env python3
"""Seconds until a killed server accepts connections again, per GB of log that it redoes.

    scripts/recovery.py --altiplano target/fast/altiplano [--seconds 60] [--pool 2G] [--log 4G] [--data /tmp/recovery] [--port 14130]
    scripts/recovery.py --altiplano NEW --against OLD --rounds 5 ...     two programs in turns, each time on a copy of the killed directory
    scripts/recovery.py --altiplano NEW --rollback 10000000              one transaction of so many rows, killed; its rollback killed every --every seconds
    scripts/recovery.py --mysql ROOT ...                                 MySQL under ROOT by chroot, with a data directory of its own

Loads four tables with sysbench (not durable, so that the disk's syncs do not bound the load), writes for some seconds from 16 connections, kills the
server with SIGKILL, starts it again, and asks until a query is answered. Needs `sysbench` and `mysql`.
"""
import argparse, os, re, shutil, signal, subprocess, sys, time

from measure import process_times

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


def processor_seconds(pid):
    user, system = process_times(pid)
    return f"processor seconds: user {user}, system {system}"


class Altiplano:
    def __init__(self, args, fresh=True):
        self.args, self.port = args, args.port
        self.log = open(args.data + ".log", "ab+")
        if fresh:
            self.remove()

    def remove(self):
        shutil.rmtree(self.args.data, ignore_errors=True)

    def processor_seconds(self):
        return processor_seconds(self.process.pid)

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
    """A server of its own beside others that may run under the same root."""

    def __init__(self, args):
        self.args, self.root, self.port = args, args.mysql, args.port
        shutil.rmtree(f"{self.root}/data/recovery", ignore_errors=True)
        open(f"{self.root}/tmp/recovery-init.sql", "w").write("CREATE USER root@'%'; GRANT ALL ON *.* TO root@'%' WITH GRANT OPTION;\n")
        subprocess.run([*self.command(), "--initialize-insecure", "--init-file=/tmp/recovery-init.sql"], check=True)

    def command(self):
        return ["chroot", self.root, "/usr/sbin/mysqld", "--no-defaults", "--user=root", "--datadir=/data/recovery", "--log-error=/data/recovery.log", "--tmpdir=/tmp",
                f"--innodb-buffer-pool-size={self.args.pool}", f"--innodb-redo-log-capacity={self.args.log}", "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=O_DIRECT",
                "--skip-log-bin", "--secure-file-priv=", "--performance-schema=OFF", "--loose-mysqlx=OFF", f"--port={self.port}", "--bind-address=127.0.0.1", "--socket=/tmp/recovery.sock"]

    def start(self):
        self.process = subprocess.Popen(self.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        rows = dict(line.split("\t") for line in (sql(self.port, "SHOW GLOBAL STATUS LIKE 'Innodb_redo_log%lsn'") or "").splitlines())
        if rows:
            self.age = (int(rows["Innodb_redo_log_current_lsn"]) - int(rows["Innodb_redo_log_checkpoint_lsn"])) / (1 << 30)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def processor_seconds(self):
        return processor_seconds(self.process.pid)

    def redone(self):
        return self.age, ""


def in_turns(args):
    """The same killed directory, started by one program and the other."""
    programs = [args.altiplano, args.against]
    for turn in range(2 * args.rounds):
        args.altiplano = programs[turn % 2]
        server = Altiplano(args)
        shutil.copytree(args.data + ".killed", args.data, ignore=shutil.ignore_patterns("*.sock"))
        os.sync()
        begun = time.monotonic()
        server.start()
        seconds = until_answered(server.port, begun)
        spent, (gib, text) = server.processor_seconds(), server.redone()
        redone = re.search(r"redone in ([\d.]+) s", text)
        print(f"{args.altiplano}: accepting after {seconds:.2f} s, {gib:.3f} GiB in {redone[1] if redone else '?'} s; {spent}; load {os.getloadavg()[0]:.1f}", flush=True)
        server.kill()


def rollback(args):
    """A large transaction is killed before its end, and its rollback again and again: how soon is each start served, and how much is left each time."""
    server = Altiplano(args)
    server.start()
    until_answered(server.port, time.monotonic())
    tens = ",".join(f"({n})" for n in range(10))
    sql(server.port, "CREATE DATABASE r; CREATE TABLE r.ten (n INT PRIMARY KEY); CREATE TABLE r.big (id BIGINT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL); "
        f"INSERT INTO r.ten VALUES {tens}")
    digits = len(str(args.rollback)) - 1
    joins = ", ".join(f"r.ten t{n}" for n in range(digits))
    statement = f"BEGIN; INSERT INTO r.big (k) SELECT t0.n FROM {joins} LIMIT {args.rollback}; SELECT COUNT(*) FROM r.big; SELECT SLEEP(600)"
    begun = time.monotonic()
    # Unbuffered, so that the count tells that the rows are there.
    client = subprocess.Popen(["mysql", "--ssl=0", "-h127.0.0.1", f"-P{server.port}", "-uroot", "-N", "--unbuffered", "-e", statement], stdout=subprocess.PIPE, text=True)
    rows = int(client.stdout.readline())
    print(f"{rows} rows in one transaction after {time.monotonic() - begun:.1f} s; {server.processor_seconds()}", flush=True)
    for start in range(1, 1000):
        server.kill()
        client.kill()
        begun = time.monotonic()
        server.start()
        seconds = until_answered(server.port, begun)
        served = sql(server.port, "INSERT INTO r.ten VALUES (%d); SELECT COUNT(*) FROM r.ten" % (100 + start))
        asked = time.monotonic() - begun
        limit, told = time.monotonic() + args.every, []
        while time.monotonic() < limit and not (told and told[-1][0] == "done"):
            time.sleep(0.5)
            text = server.redone()[1]
            told = re.findall(r"rollback of transaction \d+ after the restart (goes on|done): (.*)", text)
        redone = re.search(r"([\d.]+) MiB of log redone in ([\d.]+) s", text)
        log = f"{redone[1]} MiB of log redone in {redone[2]} s" if redone else "no log to redo"
        print(f"start {start}: accepting after {seconds:.2f} s ({log}), a row written and {served.strip()} counted after {asked:.2f} s; "
              f"{time.monotonic() - begun:.0f} s after the start: {': '.join(told[-1]) if told else 'not begun'}; {server.processor_seconds()}, load {os.getloadavg()[0]:.1f}", flush=True)
        found = re.search(r"(\d+) transactions to roll back", text)
        if (told and told[-1][0] == "done") or not found or found[1] == "0":
            break
    print(f"rows left: {sql(server.port, 'SELECT COUNT(*) FROM r.big').strip()}")
    server.kill()


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
    parser.add_argument("--against", help="another program, which starts in turns with the first from copies of the directory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--reuse", action="store_true", help="with --against: the copy that an earlier run left")
    parser.add_argument("--rollback", type=int, metavar="ROWS")
    parser.add_argument("--every", type=int, default=10, help="with --rollback: seconds from a start to the next kill")
    args = parser.parse_args()
    if args.rollback:
        return rollback(args)
    if args.against and args.reuse:
        return in_turns(args)
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
    if args.against:
        shutil.rmtree(args.data + ".killed", ignore_errors=True)
        os.rename(args.data, args.data + ".killed")
        return in_turns(args)
    begun = time.monotonic()
    server.start()
    seconds = until_answered(server.port, begun)
    gib, text = server.redone()
    print(f"by then {server.processor_seconds()}")
    print("\n".join(line for line in text.splitlines() if "recovery" in line))
    rate = f"{seconds / gib:.2f} s per GiB" if gib else "nothing to redo"
    print(f"accepting after {seconds:.2f} s, {gib:.3f} GiB of log: {rate}; load of the machine {os.getloadavg()[0]:.1f}")
    time.sleep(3)
    if args.altiplano:
        print("\n".join(line for line in server.redone()[1].splitlines() if "recovery" in line or "rollback" in line))
    server.kill()


if __name__ == "__main__":
    main()
