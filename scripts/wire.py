#!/usr/bin/env python3
"""Real clients over TLS and compression, against a running server.

    scripts/wire.py PORT DATA_DIR

Uses what is installed of: the mysql (or MariaDB) client, PyMySQL, mysql-connector-python. Each line says what was done and OK, or stops with an error.
CI does not depend on it; `crates/server/tests/tls.rs` and `compression.rs` test the same with a client of our own.
"""

import shutil
import subprocess
import sys

LONG = 20_000_000


def told(what, good):
    print(f"{'ok' if good else 'WRONG'}  {what}")
    if not good:
        sys.exit(1)


def command_line(port, ca):
    client = shutil.which("mysql") or shutil.which("mariadb")
    if client is None:
        return print("--  no mysql client")
    base = [client, "-h127.0.0.1", f"-P{port}", "-uroot", "-N", "--max-allowed-packet=100M"]
    maria = "MariaDB" in subprocess.run([client, "--version"], capture_output=True, text=True).stdout
    required = ["--ssl"] if maria else ["--ssl-mode=REQUIRED"]
    verified = ["--ssl", "--ssl-verify-server-cert"] if maria else ["--ssl-mode=VERIFY_CA"]
    plain = ["--skip-ssl"] if maria else ["--ssl-mode=DISABLED"]
    for name, options, version in [("required", required, "TLSv1.3"), ("verified", [*verified, f"--ssl-ca={ca}"], "TLSv1.3"), ("plain", plain, "")]:
        # Options for a query follow: compression of either kind.
        for compression in [[], ["--compress"]] + ([] if maria else [["--compression-algorithms=zstd"]]):
            out = subprocess.run([*base, *options, *compression, "-e", "SHOW STATUS LIKE 'Ssl_version'; SELECT LENGTH(REPEAT('x', 9)), REPEAT('x', 20000000)"], capture_output=True, text=True)
            good = out.returncode == 0 and out.stdout.split("\n")[0] == f"Ssl_version\t{version}" and len(out.stdout) > LONG
            told(f"client, {name} {' '.join(compression)} {out.stderr.strip()}", good)


def pymysql(port, ca):
    try:
        import pymysql as library
    except ImportError:
        return print("--  no PyMySQL")
    connection = library.connect(host="127.0.0.1", port=port, user="root", ssl={"ca": ca})
    cursor = connection.cursor()
    cursor.execute("SHOW STATUS LIKE 'Ssl_version'")
    told("PyMySQL, verified", cursor.fetchone() == ("Ssl_version", "TLSv1.3"))


def connector(port, ca):
    try:
        import mysql.connector as library
    except ImportError:
        return print("--  no mysql-connector-python")
    for compress in (False, True):
        connection = library.connect(host="127.0.0.1", port=port, user="root", ssl_ca=ca, ssl_verify_cert=True, use_pure=True, compress=compress)
        cursor = connection.cursor()
        cursor.execute("SHOW STATUS WHERE Variable_name IN ('Ssl_version', 'Compression')")
        told(f"connector, compress={compress}", dict(cursor.fetchall()) == {"Ssl_version": "TLSv1.3", "Compression": "ON" if compress else "OFF"})
        cursor.execute(f"SELECT REPEAT('z', {LONG})")
        told("connector, a long value", len(cursor.fetchone()[0]) == LONG)
        cursor.execute(f"SELECT LENGTH('{'y' * LONG}')")
        told("connector, a long statement", cursor.fetchone() == (LONG,))


def main():
    port, directory = int(sys.argv[1]), sys.argv[2]
    ca = f"{directory}/ca.pem"
    command_line(port, ca)
    pymysql(port, ca)
    connector(port, ca)


main()
