#!/usr/bin/env python3
"""purge.py: does purge catch up while writers write, and what does a snapshot that idles beside them cost?

Starts a server of its own, loads sysbench's tables, and runs the write-only mix. A snapshot is held meanwhile, so that a history builds up that it needs; then it closes, the mix goes on,
and the server's counters tell how many transactions purge has dealt with for each that was written, until the history is short. The aim: at least 2. At the end
the load stops, and the history is to go to zero. The processor's time of the threads that purge is told beside that of all.

  --program PATH   server (target/PROFILE/altiplano)
  --profile P      build that is used (release); server and load must be built
  --hold S         seconds that the snapshot is held (20)
  --connections N  (16)
  --rows N         rows of each of four tables (50,000)
  --starve         the server's threads that purge run at nice 19: writers leave them little of the processor
  --set NAME=VALUE system variable of the server; repeatable
  --port N         (14169)

Needs the `mysql` client.
"""
import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import measure

ROOT = Path(__file__).resolve().parent.parent
ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument("--program", type=Path)
ap.add_argument("--profile", default="release")
ap.add_argument("--hold", type=float, default=20)
ap.add_argument("--connections", type=int, default=16)
ap.add_argument("--rows", type=int, default=50_000)
ap.add_argument("--starve", action="store_true")
ap.add_argument("--set", action="append", default=[])
ap.add_argument("--port", type=int, default=14169)
args = ap.parse_args()

NAMES = {
    "Altiplano_transactions_finished": "finished",
    "Altiplano_history_length": "history",
    "Altiplano_history_purged": "purged",
    "Altiplano_history_purged_by_writers": "by_writers",
    "Altiplano_history_pruned": "pruned",
    "Altiplano_history_age_seconds": "age",
}
CATCH_UP_SECONDS_MAX = 120
SHORT = 40_000


class Client(measure.Client):
    """A session of the `mysql` client that stays open, with the counters that are looked at."""

    def counters(self):
        found = self.ask("SHOW GLOBAL STATUS LIKE 'Altiplano%'")
        counts = {short: 0 for short in NAMES.values()}
        counts.update({NAMES[name]: int(value) for name, value in found if name in NAMES})
        return counts


def load(action, *more):
    command = [ROOT / f"target/{args.profile}/altiplano", "bench", action, *(["--json"] if action == "run" else []), "--server", f"127.0.0.1:{args.port}", "--workload", "write_only", "--tables", 4, "--table-size", args.rows, *more]
    return [str(part) for part in command]


def tell(what, before, now, seconds, used):
    written, purged = now["finished"] - before["finished"], now["purged"] - before["purged"]
    print(f"{what}: {seconds:.1f} s, {written} transactions written ({written / seconds:.0f}/s), {purged} purged ({purged / max(written, 1):.2f} for each written), of those "
          f"{now['pruned'] - before['pruned']} between snapshots and {now['by_writers'] - before['by_writers']} by writers; history {before['history']} -> {now['history']}; "
          f"processor {used[0]:.1f} s, purge's threads {used[1]:.1f} s")


def main():
    data = Path(tempfile.mkdtemp(prefix="altiplano-purge-", dir="/var/tmp"))
    program = args.program or ROOT / f"target/{args.profile}/altiplano"
    command = [program, "--data-dir", data / "data", "--port", args.port, "--buffer-pool-size", "256M"]
    command += [part for setting in args.set for part in ("--set", setting)]
    log = open(data / "server.log", "w")
    server = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
    runner = None
    try:
        for _ in range(600):
            if subprocess.run(["mysql", "-h127.0.0.1", f"-P{args.port}", "-uroot", "-e", "SELECT 1"], capture_output=True).returncode == 0:
                break
            time.sleep(0.1)
        client, idle = Client(args.port), Client(args.port)
        client.ask("CREATE DATABASE IF NOT EXISTS sbtest; SET GLOBAL innodb_flush_log_at_trx_commit = 2")
        subprocess.run(load("prepare"), check=True, stdout=subprocess.DEVNULL)
        seconds = args.hold * 2 + CATCH_UP_SECONDS_MAX + 10
        if args.starve:
            for thread in Path(f"/proc/{server.pid}/task").iterdir():
                if (thread / "comm").read_text().startswith("purge"):
                    subprocess.run(["renice", "-n", "19", "-p", thread.name], check=True, stdout=subprocess.DEVNULL)
        runner = subprocess.Popen(load("run", "-c", args.connections, "--seconds", seconds), stdout=subprocess.DEVNULL)

        def stretch(what, until):
            before, used, begun = client.counters(), measure.processor(server.pid), time.monotonic()
            while not until(time.monotonic() - begun):
                time.sleep(0.2)
            now, later = client.counters(), measure.processor(server.pid)
            tell(what, before, now, time.monotonic() - begun, [b - a for a, b in zip(used, later)])
            return before, now

        time.sleep(3)
        stretch("no snapshot", lambda s: s >= args.hold)
        idle.ask("USE sbtest; START TRANSACTION WITH CONSISTENT SNAPSHOT; SELECT COUNT(*) FROM sbtest1 WHERE id < 10")
        stretch("a snapshot idles", lambda s: s >= args.hold)
        idle.ask("COMMIT")
        before, now = stretch("it is closed", lambda s: client.counters()["history"] < SHORT or s > CATCH_UP_SECONDS_MAX)
        ratio = (now["purged"] - before["purged"]) / max(now["finished"] - before["finished"], 1)
        runner.terminate()
        runner.wait()
        begun = time.monotonic()
        while client.counters()["history"] > 0 and time.monotonic() - begun < 60:
            time.sleep(0.05)
        print(f"load stopped: history {client.counters()['history']} after {time.monotonic() - begun:.1f} s")
        return 0 if ratio >= 2 else 1
    finally:
        if runner and runner.poll() is None:
            runner.terminate()
            runner.wait()
        server.terminate()
        server.wait(60)
        shutil.rmtree(data, ignore_errors=True)


sys.exit(main())
