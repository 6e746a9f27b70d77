#!/usr/bin/env python3
"""Dumps of a server that is being written to, by MySQL's and MariaDB's mysqldump and by mydumper; each loaded back and compared.

    scripts/dump.py PROGRAM [--port 14160] [--seconds 3] [--mysql97 /var/tmp/peers/mysql97] [--beside PORT]

A bank (transfers keep the sum of balances, and each writes a ledger row) is written to by four connections. Every dump, loaded into another
server, must have the sum, one ledger row for each transfer that the balances show, and tables that CHECK TABLE finds sound. Then, with nobody writing, the dump of
the server and the dump of what was loaded from it must be the same text, and CHECKSUMs computed over all rows the same numbers. Tools that are not installed are left out and named.

Then a schema with one of everything (dump_schema.sql: views, foreign keys, generated and invisible columns, CHECK, functional indexes, all types, odd names): its dump, loaded into
an empty server and dumped again must be the same text, and all rows and SHOW CREATEs the same. With --beside, the port of a MySQL (its databases `everything` and `other one`
are replaced), MySQL's dump of that schema must be ours but for the line that names the version, and must load here.
mydumper 0.10 leaves columns out whose EXTRA is DEFAULT_GENERATED, with MySQL 9.7 as with us, so the bank's tables have none and the schema
is left to MySQL's mysqldump; MariaDB's writes values for generated columns, of MySQL 9.7 as of us, which neither takes.
"""
import argparse, hashlib, os, random, re, shutil, signal, subprocess, sys, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--port", type=int, default=14160)
parser.add_argument("--seconds", type=float, default=3)
parser.add_argument("--mysql97", default="/var/tmp/peers/mysql97", help="root of a tree with MySQL's own client")
parser.add_argument("--beside", type=int, help="port of a MySQL server whose dump is compared")
options = parser.parse_args()
ACCOUNTS, OPENING = 500, 1000
work = tempfile.mkdtemp(prefix="altiplano-dump-")
ports = (options.port, options.port + 1)
servers = []


def start(port):
    log = open(f"{work}/{port}.log", "w")
    server = subprocess.Popen([options.program, "--port", str(port), "--data-dir", f"{work}/{port}", "--buffer-pool-size", "128M"], stderr=log)
    servers.append(server)
    for _ in range(300):
        if "ready" in open(f"{work}/{port}.log").read():
            return
        if server.poll() is not None:
            break
        time.sleep(0.1)
    sys.exit(f"the server on port {port} did not start:\n" + open(f"{work}/{port}.log").read())


def client(port, *more):
    return ["mysql", "--ssl=0", "-h127.0.0.1", f"-P{port}", "-uroot", *more]


def sql(port, text):
    done = subprocess.run(client(port, "-N", "-B"), input=text, capture_output=True, text=True, errors="replace")
    if done.returncode:
        sys.exit(f"{done.stderr}\n{text[:300]}")
    return done.stdout.strip()


def transfers(count, seed):
    dice = random.Random(seed)
    for _ in range(count):
        low, high = sorted(dice.sample(range(ACCOUNTS), 2))
        amount = dice.randrange(-50, 50)
        yield (f"BEGIN; UPDATE bank.account SET balance = balance - {amount}, moves = moves + 1 WHERE id = {low};"
               f"UPDATE bank.account SET balance = balance + {amount}, moves = moves + 1 WHERE id = {high};"
               f"INSERT INTO bank.ledger (amount, note) VALUES ({amount}, 'it''s {low}\\n\\\\{high}'); COMMIT;\n")


class Load:
    def __enter__(self):
        self.writers = []
        for seed in range(4):
            path = f"{work}/load-{seed}.sql"
            with open(path, "w") as file:
                file.writelines(transfers(200_000, seed))
            self.writers.append(subprocess.Popen(client(ports[0]), stdin=open(path), stderr=subprocess.DEVNULL))
        time.sleep(0.5)
        self.before = int(sql(ports[0], "SELECT COUNT(*) FROM bank.ledger"))
        return self

    def __exit__(self, *_):
        for writer in self.writers:
            writer.kill()
            writer.wait()


def sums(port):
    row = sql(port, "SELECT SUM(balance), SUM(moves), (SELECT COUNT(*) FROM bank.ledger) FROM bank.account")
    return tuple(int(n) for n in row.split())


def check(port, what):
    total, moves, ledger = sums(port)
    assert total == ACCOUNTS * OPENING, f"{what}: the sum is {total}"
    assert moves == 2 * ledger, f"{what}: {moves} moves and {ledger} rows of the ledger are not of one moment"
    answers = sql(port, "CHECK TABLE bank.account, bank.ledger, bank.kinds")
    assert all(line.endswith("OK") for line in answers.splitlines()), answers
    return ledger


def checksums(port):
    text = []
    for table in ["account", "ledger", "kinds"]:
        names = sql(port, f"SELECT column_name FROM information_schema.columns WHERE table_schema = 'bank' AND table_name = '{table}' ORDER BY ordinal_position").split()
        row = ", ".join(f"IFNULL(HEX({name}), 'NULL')" for name in names)
        rows = sql(port, f"SELECT {row} FROM bank.{table} ORDER BY 1")
        text.append((table, hashlib.sha256(rows.encode()).hexdigest(), rows.count("\n") + 1))
    return text


def command(name, port):
    arguments = ["-h127.0.0.1", f"-P{port}", "-uroot", "--single-transaction", "--skip-dump-date", "--databases", "bank"]
    if name == "mariadb-dump":
        return ["mariadb-dump", "--ssl=0", *arguments]
    return ["chroot", options.mysql97, "mysqldump", *arguments]


def dump(name, port, to):
    if name == "mydumper":
        shutil.rmtree(to, ignore_errors=True)
        # It takes its snapshots under FLUSH TABLES WITH READ LOCK.
        run = ["mydumper", "--host", "127.0.0.1", "--port", str(port), "--user", "root", "--database", "bank", "--outputdir", to, "--threads", "4"]
        return subprocess.run(run, capture_output=True, text=True, errors="replace")
    with open(to, "w") as file:
        return subprocess.run(command(name, port), stdout=file, stderr=subprocess.PIPE, text=True)


def load(name, source, port):
    sql(port, "DROP DATABASE IF EXISTS bank")
    if name == "mydumper":
        run = ["myloader", "--host", "127.0.0.1", "--port", str(port), "--user", "root", "--directory", source, "--threads", "4", "--overwrite-tables"]
        done = subprocess.run(run, capture_output=True, text=True, errors="replace")
    else:
        done = subprocess.run(client(port), stdin=open(source), capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stderr


def text_of(name, path):
    if name != "mydumper":
        return re.sub(r"-- Dump completed.*|-- Host:.*", "", open(path, errors="replace").read())
    files = sorted(file for file in os.listdir(path) if file != "metadata")
    return "\n".join(f"{file}\n{open(os.path.join(path, file), errors='replace').read()}" for file in files)


DATABASES = ["everything", "other one"]


def dump_schema(port, *what):
    program = ["chroot", options.mysql97, "mysqldump", "--set-gtid-purged=OFF"]
    arguments = ["-h127.0.0.1", f"-P{port}", "-uroot", "--single-transaction", "--skip-dump-date", "--routines", "--events", "--triggers", "--hex-blob", *what]
    done = subprocess.run([*program, *arguments], capture_output=True, text=True, errors="surrogateescape")
    assert done.returncode == 0, f"{what}: {done.stderr}"
    return done.stdout


def load_schema(port, text):
    sql(port, "".join(f"DROP DATABASE IF EXISTS `{database}`;" for database in reversed(DATABASES)))
    done = subprocess.run(client(port), input=text, capture_output=True, text=True, errors="surrogateescape")
    assert done.returncode == 0, done.stderr


def without_version(text):
    return [line for line in text.splitlines() if not line.startswith(("-- Server version", "-- Host:"))]


def as_loaded(text):
    """A column that has its table's collation is dumped with COLLATE alone; loaded from that text it is declared with it, and shown with its character set from then on, by MySQL as by us."""
    return re.sub(r" CHARACTER SET \w+(?= COLLATE \w+)", "", text)


def differences(first, second):
    import difflib
    return "\n".join(list(difflib.unified_diff(without_version(first), without_version(second), lineterm="", n=0))[:40])


def contents(port, shown=str):
    """SHOW CREATE, as `shown`, and the rows of all tables and views, each value in hexadecimal."""
    found = []
    for line in sql(port, "SELECT table_schema, table_name, table_type FROM information_schema.tables WHERE table_schema IN ('everything', 'other one') ORDER BY 1, 2").splitlines():
        database, table, kind = line.split("\t")
        quoted = f"`{database}`.`{table}`"
        made = shown(sql(port, f"SHOW CREATE {'VIEW' if kind == 'VIEW' else 'TABLE'} {quoted}"))
        names = sql(port, f"SELECT REPLACE(column_name, '`', '``') FROM information_schema.columns WHERE table_schema = '{database}' AND table_name = '{table}' ORDER BY ordinal_position").split("\n")
        rows = sql(port, "SELECT " + ", ".join(f"IFNULL(HEX(`{name}`), 'NULL')" for name in names) + f" FROM {quoted} ORDER BY " + ", ".join(str(at + 1) for at in range(len(names))))
        found.append((quoted, made, hashlib.sha256(rows.encode()).hexdigest(), rows.count("\n") + 1))
    assert len(found) == 13, [name for name, *_ in found]
    return found


def everything():
    schema = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dump_schema.sql")).read()
    load_schema(ports[0], schema)
    for what in (["--databases", *DATABASES], ["--opt", "--skip-extended-insert", "--complete-insert", "--databases", *DATABASES]):
        first = dump_schema(ports[0], *what)
        load_schema(ports[1], first)
        second = dump_schema(ports[1], *what)
        first, second = as_loaded(first), as_loaded(second)
        assert without_version(first) == without_version(second), f"{what}: the dump of what was loaded differs:\n{differences(first, second)}"
        ours = list(zip(contents(ports[0], as_loaded), contents(ports[1], as_loaded)))
        assert all(source == loaded for source, loaded in ours), [pair for pair in ours if pair[0] != pair[1]]
        print(f"mysqldump {what[0]}: a schema with everything loaded back the same ({len(first)} characters, {len(ours)} tables and views)")
    if options.beside:
        load_schema(options.beside, schema)
        ours, theirs = dump_schema(ports[0], "--databases", *DATABASES), dump_schema(options.beside, "--databases", *DATABASES)
        assert without_version(ours) == without_version(theirs), f"MySQL's dump of the same schema differs:\n{differences(theirs, ours)}"
        load_schema(ports[1], theirs)
        assert contents(ports[0], as_loaded) == contents(ports[1], as_loaded)
        sql(options.beside, "".join(f"DROP DATABASE `{database}`;" for database in reversed(DATABASES)))
        print(f"mysqldump of MySQL: the same text, and loads here")


def main():
    tools = [("mariadb-dump", shutil.which("mariadb-dump")), ("mysql97 mysqldump", os.path.exists(f"{options.mysql97}/usr/bin/mysqldump")), ("mydumper", shutil.which("mydumper"))]
    for port in ports:
        start(port)
    sql(ports[0], "CREATE DATABASE bank")
    sql(ports[0], "CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL, moves INT NOT NULL DEFAULT 0, KEY (balance));"
                  "CREATE TABLE bank.ledger (no BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, amount INT, note VARCHAR(100), at TIMESTAMP(6) NULL);"
                  "CREATE TABLE bank.kinds (id INT PRIMARY KEY, d DECIMAL(20,5), f DOUBLE, b BLOB, t TIME(3), dt DATETIME(6), e ENUM('a','b'), s SET('x','y','z'), bt BIT(9), v VARCHAR(50) COLLATE utf8mb4_bin, "
                  "UNIQUE KEY (v), KEY (d, f)) COMMENT 'one of each'")
    sql(ports[0], "INSERT INTO bank.account (id, balance) VALUES " + ",".join(f"({id},{OPENING})" for id in range(ACCOUNTS)))
    sql(ports[0], "INSERT INTO bank.kinds VALUES (1, -12345.67891, 1.5e-300, x'00ff275c0a1a', '-12:34:56.789', '2020-02-29 23:59:59.999999', 'b', 'x,z', b'101', 'Ünïcødé 🏔'),"
                  "(2, NULL, NULL, NULL, NULL, NULL, NULL, '', NULL, NULL), (3, 0, 0.1, '', '838:59:59', '1000-01-01', 'a', 'y', 0, 'quote\\'s \\\\ and \"x\"\\n')")
    for name, there in tools:
        if not there:
            print(f"{name}: not installed, left out")
            continue
        rounds, until = 0, time.time() + options.seconds
        while rounds == 0 or time.time() < until:
            with Load() as running:
                made = dump(name, ports[0], f"{work}/{name.split()[0]}-dump")
                after = int(sql(ports[0], "SELECT COUNT(*) FROM bank.ledger"))
            assert made.returncode == 0, f"{name}: {made.stderr}"
            load(name, f"{work}/{name.split()[0]}-dump", ports[1])
            ledger = check(ports[1], name)
            assert running.before <= ledger <= after, f"{name}: {ledger} transfers, {running.before} before and {after} after"
            rounds += 1
        check(ports[0], "the server")
        assert dump(name, ports[0], f"{work}/{name.split()[0]}-first").returncode == 0
        load(name, f"{work}/{name.split()[0]}-first", ports[1])
        assert dump(name, ports[1], f"{work}/{name.split()[0]}-second").returncode == 0
        first, second = text_of(name, f"{work}/{name.split()[0]}-first"), text_of(name, f"{work}/{name.split()[0]}-second")
        assert first == second, f"{name}: the dump of what was loaded differs: {work}/first {work}/{name.split()[0]}-second"
        assert checksums(ports[0]) == checksums(ports[1]), f"{name}: {checksums(ports[0])} {checksums(ports[1])}"
        print(f"{name}: {rounds} dumps under load, each of one moment; loaded back the same ({ledger} to {sums(ports[0])[2]} transfers, {len(first)} characters)")
    if tools[1][1]:
        everything()


try:
    main()
    shutil.rmtree(work)
finally:
    for server in servers:
        server.send_signal(signal.SIGTERM)
        server.wait()
