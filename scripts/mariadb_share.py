#!/usr/bin/env python3
"""What MariaDB answers as MySQL 9.7 does, of the random statements that are asked of our server: the share that the
issue compares ours with.

    scripts/mariadb_share.py --ours HOST:PORT --with HOST:PORT --mariadb HOST:PORT [--seed S] [--statements N] [--kinds a,b]

For each kind `differential` asks ours and MySQL, then MariaDB and MySQL, the same statements of the same seed. MariaDB
is to run with what is nearest to MySQL's defaults: its sql_mode with TIME_ROUND_FRACTIONAL beside, the character set
utf8mb4, the collation utf8mb4_uca1400_nopad_ai_ci. The tables are made for it with its nearest collations, because
10.11 knows none of the 0900 ones and could not be asked at all: a relay between the two rewrites CREATE TABLE, and
nothing else. Prints a table in Markdown: what is alike in all that is compared, and, in brackets, what is alike in rows,
counts and errors, whatever warnings, types and texts are.
"""

import argparse
import re
import socket
import subprocess
import threading

KINDS = "expressions queries changes paths joins windows with lateral rollup json-tables sets collations".split()
# MySQL's collation, MariaDB's nearest. Longer names first.
NEAREST = [
    ("utf8mb4_es_trad_0900_as_cs", "utf8mb4_uca1400_spanish2_nopad_as_cs"),
    ("utf8mb4_de_pb_0900_ai_ci", "utf8mb4_uca1400_german2_nopad_ai_ci"),
    ("utf8mb4_sv_0900_ai_ci", "utf8mb4_uca1400_swedish_nopad_ai_ci"),
    ("utf8mb4_0900_as_cs", "utf8mb4_uca1400_nopad_as_cs"),
    ("utf8mb4_0900_as_ci", "utf8mb4_uca1400_nopad_as_ci"),
    ("utf8mb4_0900_ai_ci", "utf8mb4_uca1400_nopad_ai_ci"),
    ("utf8mb4_0900_bin", "utf8mb4_nopad_bin"),
]
COM_QUERY = 3


def rewritten(payload):
    """A packet's payload as MariaDB is to see it."""
    if payload[:1] != bytes([COM_QUERY]) or not payload[1:14].upper().startswith(b"CREATE TABLE"):
        return payload
    for theirs, nearest in NEAREST:
        payload = payload.replace(theirs.encode(), nearest.encode())
    return payload


def exactly(stream, count):
    """So many bytes, or None at the stream's end."""
    parts = b""
    while len(parts) < count:
        try:
            part = stream.recv(count - len(parts))
        except OSError:
            return None
        if not part:
            return None
        parts += part
    return parts


def end(stream):
    """Both of its directions, also for who waits for it; it may have ended already."""
    try:
        stream.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


def client_to_server(client, server):
    while True:
        header = exactly(client, 4)
        payload = header and exactly(client, int.from_bytes(header[:3], "little"))
        if payload is None:
            break
        payload = rewritten(payload)
        try:
            server.sendall(len(payload).to_bytes(3, "little") + header[3:] + payload)
        except OSError:
            break
    end(server)
    end(client)


def server_to_client(server, client):
    try:
        while data := server.recv(65536):
            client.sendall(data)
    except OSError:
        pass
    end(client)
    end(server)


def relay(address):
    """Listens for clients of that server; returns its own address."""
    host, port = address.rsplit(":", 1)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            client, _ = listener.accept()
            try:
                server = socket.create_connection((host, int(port)))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=client_to_server, args=(client, server), daemon=True).start()
            threading.Thread(target=server_to_client, args=(server, client), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return "127.0.0.1:%d" % listener.getsockname()[1]


def share(program, ours, reference, kind, seed, statements):
    """Of the statements asked: how many there were, which part is alike, which part in rows and errors."""
    command = [program, "--ours", ours, "--with", reference, "--seed", str(seed), "--statements", str(statements)]
    # Nothing is shown, so nothing is asked again to make it smaller.
    run = subprocess.run(command + ["--kind", kind, "--show", "none"], capture_output=True, text=True, check=False)
    found = re.search(r"(\d+) statements, (\d+) alike", run.stdout)
    if not found:
        raise SystemExit("%s: %s%s" % (kind, run.stdout[-500:], run.stderr[-500:]))
    asked, alike = map(int, found.groups())
    counted = {name: int(count) for name, count in re.findall(r"^  (\w+) +(\d+),", run.stdout, re.M)}
    grave = sum(counted.get(name, 0) for name in ("broken", "result", "error"))
    return asked, 100.0 * alike / asked, 100.0 * (asked - grave) / asked


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--with", dest="reference", required=True)
    parser.add_argument("--mariadb", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--statements", type=int, default=3000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--program", default="target/release/differential")
    options = parser.parse_args()
    mariadb = relay(options.mariadb)
    print("| Kind | statements | ours | MariaDB |\n|---|---|---|---|", flush=True)
    for kind in options.kinds.split(","):
        asked, alike, mild = share(options.program, options.ours, options.reference, kind, options.seed, options.statements)
        _, theirs, theirs_mild = share(options.program, mariadb, options.reference, kind, options.seed, options.statements)
        print(f"| {kind} | {asked:,} | {alike:.1f} % ({mild:.1f}) | {theirs:.1f} % ({theirs_mild:.1f}) |", flush=True)


if __name__ == "__main__":
    main()
