"""What the measuring scripts share: a server of their own and its processor time, a session of the `mysql` client that stays open, a plot."""
import contextlib
import os
import subprocess
import tempfile
import threading
import time
from pathlib import Path


class Client:
    """A session of the `mysql` client that stays open."""

    def __init__(self, port):
        command = ["mysql", "-h127.0.0.1", f"-P{port}", "-uroot", "-N", "-B", "--unbuffered", "--skip-reconnect"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, sql):
        self.process.stdin.write(sql + "; SELECT 'that is all';\n")
        self.process.stdin.flush()
        rows = []
        while (line := self.process.stdout.readline().rstrip("\n")) != "that is all":
            if line == "" and self.process.poll() is not None:
                raise SystemExit("the client has gone: " + sql)
            rows.append(line.split("\t"))
        return rows


def log_bytes(client, has_binary_log):
    """Bytes of log that a server has written so far: its redo, and its binary log where it has one."""
    redo = int(client.ask("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'")[0][1])
    return redo + (sum(int(row[1]) for row in client.ask("SHOW BINARY LOGS")) if has_binary_log else 0)


def start_server(binary, data, port, pool, settings, log):
    """Starts a server and waits until it answers."""
    command = [binary, "--data-dir", data, "--port", port, "--buffer-pool-size", pool]
    command += [part for setting in settings for part in ("--set", setting)]
    server = subprocess.Popen([str(part) for part in command], stdout=open(log, "w"), stderr=subprocess.STDOUT)
    for _ in range(600):
        if subprocess.run(["mysql", "-h127.0.0.1", f"-P{port}", "-uroot", "-e", "SELECT 1"], capture_output=True).returncode == 0:
            return server
        time.sleep(0.1)
    server.kill()
    raise SystemExit(f"the server does not answer; see {log}")


def stop_server(server):
    server.terminate()
    try:
        server.wait(60)
    except subprocess.TimeoutExpired:
        server.kill()


@contextlib.contextmanager
def loaded_server(program, port, pool, settings, prepare, keep=None):
    """A server of its own while the block runs, and a directory that goes with it. The command `prepare` loads the data, unless it has done so in `keep` before, where they stay."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as scratch:
        scratch = Path(scratch)
        data = keep or scratch
        data.mkdir(parents=True, exist_ok=True)
        server = start_server(program, data / "data", port, pool, settings, scratch / "log")
        try:
            loaded = data / "loaded"
            if not loaded.exists():
                subprocess.run([program, "sql", "-P", str(port), "-e", "CREATE DATABASE IF NOT EXISTS sbtest"], check=True)
                subprocess.run(prepare, check=True, capture_output=True)
                loaded.touch()
            yield server, scratch
        finally:
            stop_server(server)


def of_stat(stat):
    """Name, and seconds of user and of kernel time, from a `stat` of /proc."""
    fields, tick = stat.read_text(), os.sysconf("SC_CLK_TCK")
    rest = fields[fields.rindex(")") + 2:].split()
    return fields[fields.index("(") + 1:fields.rindex(")")], (int(rest[11]) / tick, int(rest[12]) / tick)


def threads(pid):
    """Name, and seconds of user and of kernel time, of each thread of a process by its number."""
    found = {}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # It ended while it was looked at.
            found[thread.name] = of_stat(thread / "stat")
    return found


class ThreadTimes:
    """What the threads of a process take while the block runs: they are asked every 50 ms, so that of one that ends not more than that is lost."""

    def __init__(self, pid):
        self.pid, self.over = pid, threading.Event()

    def __enter__(self):
        self.first = threads(self.pid)
        self.last = dict(self.first)
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def watch(self):
        while not self.over.wait(0.05):
            self.last.update(threads(self.pid))

    def __exit__(self, *_):
        self.over.set()
        self.watcher.join()
        self.last.update(threads(self.pid))

    def grown(self, wanted):
        """Seconds of user and of kernel time of the threads whose name `wanted` says yes to."""
        times = [0.0, 0.0]
        for number, (name, used) in self.last.items():
            if wanted(name):
                before = self.first.get(number, (name, (0.0, 0.0)))[1]
                times = [all_of + now - then for all_of, now, then in zip(times, used, before)]
        return times


def process_times(pid):
    """Seconds of user and of kernel time of a process, threads that have ended included."""
    return of_stat(Path(f"/proc/{pid}/stat"))[1]


def processor_seconds(pid):
    """Seconds of the processor by a process, threads that have ended included."""
    return sum(process_times(pid))


def processor(pid):
    """Seconds of the processor by a server, threads that have ended included, and by those of its threads that purge."""
    purging = (used for name, used in threads(pid).values() if name.startswith("purge"))
    return processor_seconds(pid), sum(sum(used) for used in purging)


def plot(path, title, values, levels, label):
    """Draws a line over `label`ed samples, and levels: (value, text, color)."""
    width, height, left, bottom = 960, 300, 60, 40
    top = max(max(values), 1) * 1.05
    x = lambda i: left + i * (width - left - 10) / max(len(values) - 1, 1)
    y = lambda v: height - bottom - v * (height - bottom - 20) / top
    line = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(values))
    level = lambda v, text, color: (
        f'<line x1="{left}" x2="{width - 10}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="{color}" stroke-dasharray="4 3"/>'
        f'<text x="{left + 4}" y="{y(v) - 4:.1f}" fill="{color}">{text}</text>'
    )
    ticks = "".join(f'<text x="{x(i):.0f}" y="{height - bottom + 16}" text-anchor="middle">{i}</text>' for i in range(0, len(values), max(len(values) // 10, 1)))
    marks = "".join(f'<text x="{left - 6}" y="{y(top * f):.0f}" text-anchor="end">{top * f:.0f}</text>' for f in (0, 0.25, 0.5, 0.75, 0.95))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="{width}" height="{height}" fill="white"/>'
        f'<text x="{left}" y="14">{title}</text>'
        f'{marks}{ticks}<polyline points="{line}" fill="none" stroke="#2266aa"/>'
        f'{"".join(level(*each) for each in levels)}'
        f'<text x="{(width + left) / 2}" y="{height - 6}" text-anchor="middle">{label}</text></svg>\n'
    )
