#!/usr/bin/env python3
"""Thousands of connections against a server on this machine: how fast they are accepted, what an idle one takes, and what a newcomer sees while all work.

    scripts/connections.py --port 3306 --pid PID --count 10000 [--busy SECONDS] [--storm COUNT]
    scripts/connections.py --program target/release/altiplano --count 0 --storm 5000      (a server of its own; on a quiet machine)

One process, one epoll: the client is not the thing measured. Phases, each printed as it ends:
  connect  COUNT logins (at most --together under way), failures, seconds; resident memory per connection by /proc/PID/status and smaps_rollup
  work     (--work N) each connection runs N rounds of ten statements by text: reads by key and range, a sort, changes, a transaction; then silence, and memory again
           (--prepare N) each prepares N statements before, and runs them in each round as well
  long     (--long N) N connections run statements of ten seconds, half of them asleep and half at work; beside them others run short transactions, and newcomers come
  busy     all connections send `SELECT` by key, the next as soon as the last is answered; a prober meanwhile connects, commits one row, leaves, again and again
           (--writing: each an `UPDATE` of a row of its own, which commits durably)
  storm    COUNT further logins all at once, seconds until the last is in; PASS when none failed within --storm-seconds, otherwise FAIL and exit code 1
User root without password; the server needs max_connections above COUNT + storm + 10. Both need `ulimit -n`.
"""
import argparse, os, resource, select, socket, struct, subprocess, sys, tempfile, threading, time

from measure import processor_seconds

CAPS = 0x00000001 | 0x00000200 | 0x00008000 | 0x00080000 | 0x00020000  # LONG_PASSWORD PROTOCOL_41 SECURE_CONNECTION PLUGIN_AUTH MULTI_RESULTS


def packet(payload, sequence=0):
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


LOGIN = packet(struct.pack("<IIB23x", CAPS, 1 << 24, 45) + b"root\0\0" + b"caching_sha2_password\0", 1)


def query(text):
    return packet(b"\x03" + text.encode())


def rss(pid):
    facts = {}
    for line in open(f"/proc/{pid}/status"):
        if line.startswith(("VmRSS", "Threads", "voluntary", "nonvoluntary")):
            name, value = line.split(":")
            facts[name] = int(value.split()[0])
    return facts


# Lets the kernel choose a port when the other end is known.
IP_BIND_ADDRESS_NO_PORT = 24
# An address has 28,000 ports, and the kernel looks at half of them one by one before it turns to the other half: past 14,000 connections that was most of a login's time.
CLIENTS_PER_ADDRESS = 4000


class Client:
    """A connection that logs in without blocking."""

    made = 0

    def __init__(self, address):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address[0].startswith("127."):
            self.socket.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            self.socket.bind((f"127.0.2.{Client.made // CLIENTS_PER_ADDRESS % 250 + 1}", 0))
        Client.made += 1
        self.state = "greeting"
        self.bytes = b""
        self.error = None
        try:
            self.socket.connect(address)
        except BlockingIOError:
            pass

    def readable(self):
        """Takes what has arrived; true when the state changed."""
        try:
            data = self.socket.recv(65536)
        except BlockingIOError:
            return False
        except OSError as error:
            self.state, self.error = "failed", str(error)
            return True
        if not data:
            self.state, self.error = "failed", self.error or "closed by the server"
            return True
        self.bytes += data
        changed = False
        while len(self.bytes) >= 4:
            length = int.from_bytes(self.bytes[:3], "little")
            if len(self.bytes) < 4 + length:
                break
            payload, self.bytes = self.bytes[4 : 4 + length], self.bytes[4 + length :]
            if payload[:1] == b"\xff":
                self.state, self.error = "failed", payload[3:].decode(errors="replace")
                return True
            if self.state == "greeting":
                self.socket.send(LOGIN)
                self.state = "login"
            elif self.state == "login" and payload[:1] == b"\x00":
                self.state = "in"
                changed = True
        return changed


def log_in(address, count, together, seconds_max):
    """Logs `count` clients in, at most `together` under way. Returns them, failures, seconds."""
    poll, waiting, done, failed, started = select.epoll(), {}, [], [], time.monotonic()
    begun = 0
    while len(done) + len(failed) < count and time.monotonic() - started < seconds_max:
        while begun < count and len(waiting) < together:
            try:
                client = Client(address)
            except OSError as error:
                failed.append(str(error))
                begun += 1
                continue
            waiting[client.socket.fileno()] = client
            poll.register(client.socket, select.EPOLLIN | select.EPOLLERR | select.EPOLLHUP)
            begun += 1
        for fd, _ in poll.poll(1):
            client = waiting[fd]
            if client.readable() and client.state in ("in", "failed"):
                poll.unregister(fd)
                del waiting[fd]
                if client.state == "in":
                    done.append(client)
                else:
                    failed.append(client.error)
    failed += ["not answered in time"] * len(waiting)
    return done, failed, time.monotonic() - started


class Blocking:
    """A plain client, for the prober."""

    def __init__(self, address, timeout=60):
        self.socket = socket.create_connection(address, timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.read()
        self.socket.sendall(LOGIN)
        while self.read()[:1] != b"\x00":
            pass

    def read(self):
        head = self.stream.read(4)
        if len(head) < 4:
            raise OSError("closed by the server")
        payload = self.stream.read(int.from_bytes(head[:3], "little"))
        if payload[:1] == b"\xff":
            raise OSError(payload[3:].decode(errors="replace"))
        return payload

    def run(self, text):
        self.socket.sendall(query(text))
        self.read()

    def close(self):
        self.socket.close()


def probe(address, until, latencies):
    number = 0
    while time.monotonic() < until:
        begun = time.monotonic()
        client = Blocking(address)
        connected = time.monotonic()
        number += 1
        client.run(f"REPLACE INTO connections_probe.t VALUES ({number % 100}, {number})")
        committed = time.monotonic()
        client.close()
        latencies.append((connected - begun, committed - connected))
        time.sleep(0.05)


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * share))] if values else float("nan")


def busy(address, pid, clients, seconds, writing):
    make_tables(address)
    if writing:
        make_own_rows(address, len(clients))
    until, latencies = time.monotonic() + seconds, []
    prober = threading.Thread(target=probe, args=(address, until, latencies))
    poll, by_fd = select.epoll(), {}
    texts = {}
    for number, client in enumerate(clients):
        own = f"UPDATE connections_probe.own SET v = v + 1 WHERE id = {number}"
        texts[client.socket.fileno()] = query(own if writing else "SELECT v FROM connections_probe.t WHERE id = 7")
        by_fd[client.socket.fileno()] = client.socket
        poll.register(client.socket, select.EPOLLIN)
    before, cpu_before, started = rss(pid), processor_seconds(pid), time.monotonic()
    prober.start()
    for client in clients:
        client.socket.send(texts[client.socket.fileno()])
    answered = 0
    while time.monotonic() < until:
        for fd, _ in poll.poll(0.1, 512):
            answer = by_fd[fd].recv(4096)
            if len(answer) == 0 or answer[4] == 0xFF:
                raise OSError(f"a busy connection was closed or refused: {answer}")
            answered += 1
            by_fd[fd].send(texts[fd])
    prober.join()
    took, after = time.monotonic() - started, rss(pid)
    switches = sum(after[n] - before[n] for n in after if n.endswith("switches"))
    print(f"busy     {answered} answers in {took:.1f} s, {answered / took:.0f}/s, server CPU {1e6 * (processor_seconds(pid) - cpu_before) / max(answered, 1):.1f} us each, peak {after['VmRSS'] >> 10} MiB; switches of the main thread {switches}")
    for name, index in (("connect", 0), ("commit", 1)):
        values = [latency[index] for latency in latencies]
        print(f"         newcomer's {name}: {len(values)} times, median {1000 * quantile(values, 0.5):.1f} ms, p99 {1000 * quantile(values, 0.99):.1f} ms, worst {1000 * max(values, default=float('nan')):.1f} ms")


SHORT = ["BEGIN", "UPDATE connections_probe.t SET v = v + 1 WHERE id = {n}", "COMMIT"]
AT_WORK = "SELECT COUNT(*) FROM connections_probe.t a, connections_probe.t b, connections_probe.t c, connections_probe.t d, connections_probe.t e WHERE a.v + b.v + c.v + d.v + e.v < 0"


def long(address, pid, clients, count):
    """Short transactions of ten connections, one after another, beside `count` statements of ten seconds."""
    make_tables(address)
    late, short = clients[:count], [Blocking(address) for _ in range(10)]
    poll = select.epoll()
    for client in late:
        client.socket.setblocking(True)
        client.socket.send(query("SET max_execution_time = 10000"))
        if len(client.socket.recv(4096)) == 0:
            raise OSError("a connection was closed")
        poll.register(client.socket, select.EPOLLIN)
    latencies, newcomers, until = [], [], time.monotonic() + 10
    prober = threading.Thread(target=probe, args=(address, until, newcomers))
    for n, client in enumerate(late):
        client.socket.send(query("SELECT SLEEP(10)" if n % 2 else AT_WORK))
    started = time.monotonic()
    prober.start()
    threads, n = 0, 0
    while time.monotonic() < until:
        begun = time.monotonic()
        for statement in SHORT:
            short[n % len(short)].run(statement.format(n=n % 90))
        latencies.append(time.monotonic() - begun)
        threads = max(threads, rss(pid)["Threads"])
        n += 1
    prober.join()
    open_ones, first = len(late), None
    while open_ones and time.monotonic() - started < 300:
        for fd, _ in poll.poll(1, 512):
            first = first or time.monotonic()
            poll.unregister(fd)
            open_ones -= 1
    print(f"long     {len(late)} statements of 10 s, all ended after {time.monotonic() - started:.1f} s, {open_ones} left; at most {threads} threads")
    for name, values in (("short transaction", latencies), ("newcomer's connect", [l[0] for l in newcomers]), ("newcomer's commit", [l[1] for l in newcomers])):
        print(f"         {name}: {len(values)} times, median {1000 * quantile(values, 0.5):.1f} ms, p99 {1000 * quantile(values, 0.99):.1f} ms, worst {1000 * max(values, default=float('nan')):.1f} ms")


WORK = [
    "SELECT v FROM connections_probe.t WHERE id = {n}",
    "SELECT id, v FROM connections_probe.t WHERE id BETWEEN {n} AND {n} + 9",
    "SELECT SUM(v) FROM connections_probe.t WHERE id BETWEEN {n} AND {n} + 9",
    "SELECT v FROM connections_probe.t WHERE id BETWEEN {n} AND {n} + 9 ORDER BY v",
    "SELECT DISTINCT v FROM connections_probe.t WHERE id BETWEEN {n} AND {n} + 9 ORDER BY v",
    "SET @a = {n}",
    "BEGIN",
    "UPDATE connections_probe.t SET v = v + 1 WHERE id = {n}",
    "INSERT INTO connections_probe.h (v) VALUES ({n})",
    "COMMIT",
]


# With one parameter, and longer the more there are, as an application's statements differ in length.
PREPARED = [
    "SELECT v FROM connections_probe.t WHERE id = ?",
    "SELECT id, v FROM connections_probe.t WHERE id = ? OR v < 0",
    "SELECT COUNT(*), SUM(v) FROM connections_probe.t WHERE id BETWEEN ? AND 100",
    "UPDATE connections_probe.t SET v = v + 1 WHERE id = ?",
    "INSERT INTO connections_probe.h (v) VALUES (?)",
    "SELECT t.id, h.v FROM connections_probe.t JOIN connections_probe.h ON h.id = t.id WHERE t.id = ? ORDER BY h.v",
]


def prepare(number):
    return packet(b"\x16" + (PREPARED[number % len(PREPARED)] + " " * 8 * (number // len(PREPARED))).encode())


def execute(statement, value):
    return packet(b"\x17" + struct.pack("<IBIBBHi", statement, 0, 1, 0, 1, 3, value))


def work(address, pid, clients, rounds, before, idle, prepared):
    """Each client prepares statements and runs all there are, some hundred clients at a time, and falls silent."""
    make_tables(address)

    def next_command(state):
        """The command after so many: those that prepare, then rounds of text and of what was prepared."""
        number, statements = state[2], state[3]
        if number < prepared:
            return prepare(number)
        at = (number - prepared) % (len(WORK) + prepared)
        return query(WORK[at].format(n=state[1])) if at < len(WORK) else execute(statements[at - len(WORK)], state[1])

    started, poll, under_way, begun = time.monotonic(), select.epoll(), {}, 0
    while begun < len(clients) or under_way:
        while begun < len(clients) and len(under_way) < 256:
            client = clients[begun]
            state = under_way[client.socket.fileno()] = [client.socket, begun % 90, 0, []]
            poll.register(client.socket, select.EPOLLIN)
            client.socket.send(next_command(state))
            begun += 1
        for fd, _ in poll.poll(1, 512):
            state = under_way[fd]
            answer = state[0].recv(65536)
            if len(answer) == 0 or answer[4:5] == b"\xff":
                raise OSError(f"a working connection was closed or refused: {answer}")
            if state[2] < prepared:
                state[3].append(int.from_bytes(answer[5:9], "little"))
            state[2] += 1
            if state[2] == prepared + rounds * (len(WORK) + prepared):
                poll.unregister(fd)
                del under_way[fd]
            else:
                state[0].send(next_command(state))
    took = time.monotonic() - started
    time.sleep(idle)
    after = rss(pid)
    print(f"work     {rounds} rounds of {len(WORK) + prepared} statements each in {took:.1f} s; {after['VmRSS'] >> 10} MiB after, {(after['VmRSS'] - before) / max(len(clients), 1):.1f} KiB each; {after['Threads']} threads")


def make_own_rows(address, count):
    """A row for each connection."""
    admin = Blocking(address)
    admin.run("CREATE TABLE IF NOT EXISTS connections_probe.own (id INT PRIMARY KEY, v INT)")
    for first in range(0, count, 1000):
        admin.run("REPLACE INTO connections_probe.own VALUES " + ",".join(f"({n},0)" for n in range(first, min(first + 1000, count))))


def make_tables(address):
    admin = Blocking(address)
    for statement in (
        "CREATE DATABASE IF NOT EXISTS connections_probe",
        "CREATE TABLE IF NOT EXISTS connections_probe.t (id INT PRIMARY KEY, v INT)",
        "CREATE TABLE IF NOT EXISTS connections_probe.h (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "REPLACE INTO connections_probe.t VALUES " + ",".join(f"({n},{n})" for n in range(100)),
    ):
        admin.run(statement)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--program", help="start this server, in a directory of its own, instead of --port and --pid")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--together", type=int, default=200)
    parser.add_argument("--busy", type=float, default=0)
    parser.add_argument("--writing", action="store_true", help="with --busy")
    parser.add_argument("--work", type=int, default=0)
    parser.add_argument("--prepare", type=int, default=0)
    parser.add_argument("--long", type=int, default=0)
    parser.add_argument("--set", action="append", default=[], help="a variable of the server that --program starts")
    parser.add_argument("--storm", type=int, default=0)
    parser.add_argument("--storm-seconds", type=float, default=1.0)
    parser.add_argument("--idle", type=float, default=3, help="seconds of silence before memory is read")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    if not options.program and not (options.port and options.pid):
        parser.error("either --program, or --port and --pid")
    if not options.program:
        return measure(options)
    with tempfile.TemporaryDirectory(prefix="altiplano-connections-") as directory:
        settings = ["--port", "0", "--data-dir", f"{directory}/data", "--socket", f"{directory}/sock", "--set", f"max_connections={options.count + options.storm + 100}"]
        settings += [word for setting in options.set for word in ("--set", setting)]
        server = subprocess.Popen([options.program, "serve", *settings], stderr=subprocess.PIPE, text=True)
        try:
            for line in server.stderr:
                if "listening on 127.0.0.1:" in line:
                    options.port = int(line.split("listening on 127.0.0.1:")[1].split()[0].rstrip(","))
                    break
            else:
                print("the server ended before it listened")
                return 1
            threading.Thread(target=server.stderr.read, daemon=True).start()
            options.pid = server.pid
            return measure(options)
        finally:
            server.kill()
            server.wait()


def measure(options):
    address = ("127.0.0.1", options.port)
    print(f"load average {os.getloadavg()[0]:.1f}")
    before = rss(options.pid)["VmRSS"]
    clients, failed, seconds = log_in(address, options.count, options.together, 120)
    time.sleep(options.idle)
    after = rss(options.pid)
    print(f"connect  {len(clients)} in, {len(failed)} failed {sorted(set(failed))[:3]}, {seconds:.2f} s; {before >> 10} MiB before, {after['VmRSS'] >> 10} after, {(after['VmRSS'] - before) / max(len(clients), 1):.1f} KiB each; {after['Threads']} threads")
    if options.work:
        work(address, options.pid, clients, options.work, before, options.idle, options.prepare)
    if options.long:
        long(address, options.pid, clients, options.long)
    if options.busy:
        busy(address, options.pid, clients, options.busy, options.writing)
    if options.storm:
        storm, storm_failed, seconds = log_in(address, options.storm, options.storm, 120)
        good = not storm_failed and seconds <= options.storm_seconds
        verdict = f"{'PASS' if good else 'FAIL'} (all in within {options.storm_seconds} s; load average {os.getloadavg()[0]:.1f})"
        print(f"storm    {len(storm)} in, {len(storm_failed)} failed {sorted(set(storm_failed))[:3]}, {seconds:.2f} s, {len(storm) / seconds:.0f}/s: {verdict}")
        clients += storm
        failed += storm_failed + ([] if good else ["too slow"])
    for client in clients:
        client.socket.close()
    return 1 if failed else 0


sys.exit(main())
