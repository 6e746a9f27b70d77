#!/usr/bin/env python3
"""What a backup costs: its rate, processor time per gigabyte, and how much of the transactions a second is left while one runs.

    scripts/backup_speed.py PROGRAM [--port 14162] [--megabytes 500] [--rounds 4] [--rate 40]

Four connections update a bank of random rows. Slices without a backup, with a throttled and with an unthrottled one take turns, so that the machine's other
work hits all alike; shares are of the neighbouring slice without.
"""
import argparse, os, random, shutil, signal, statistics, subprocess, sys, tempfile, time

from measure import processor_seconds

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--port", type=int, default=14162)
parser.add_argument("--megabytes", type=int, default=500)
parser.add_argument("--rounds", type=int, default=4)
parser.add_argument("--rate", type=int, default=40)
parser.add_argument("--pool", default="256M")
parser.add_argument("--to", default=tempfile.gettempdir())
options = parser.parse_args()
work = tempfile.mkdtemp(prefix="altiplano-backup-", dir=options.to)
client = ["mysql", "--ssl=0", "-h127.0.0.1", f"-P{options.port}", "-uroot"]
rows = options.megabytes * 1_000_000 // 1100


def sql(text):
    return subprocess.run([*client, "-N", "-B"], input=text, capture_output=True, text=True, check=True).stdout.strip()


def finished():
    return int(sql("SHOW STATUS LIKE 'Altiplano_transactions_finished'").split()[1]), time.time()


def slice_of(seconds):
    first, at = finished()
    time.sleep(seconds)
    last, now = finished()
    return (last - first) / (now - at)


def backup(name, *more):
    to = f"{work}/{name}"
    shutil.rmtree(to, ignore_errors=True)
    return subprocess.Popen([options.program, "backup", "-P", str(options.port), "--to", to, "--quiet", *more], stdout=subprocess.PIPE, text=True), to


server = subprocess.Popen([options.program, "--port", str(options.port), "--data-dir", f"{work}/data", "--buffer-pool-size", options.pool], stderr=open(f"{work}/log", "w"))
writers = []
try:
    while "ready" not in open(f"{work}/log").read():
        time.sleep(0.1)
    sql("CREATE DATABASE s; CREATE TABLE s.t (id INT PRIMARY KEY AUTO_INCREMENT, n INT NOT NULL DEFAULT 0, pad VARBINARY(1000))")
    dice = random.Random(1)
    loaded = 0
    while loaded < rows:
        # Half of a row is noise, half is zeros: compression has something to do and something to gain.
        values = ",".join("(x'%s')" % (dice.randbytes(500).hex() + "00" * 500) for _ in range(500))
        sql(f"INSERT INTO s.t (pad) VALUES {values}")
        loaded += 500
    print(f"load {os.getloadavg()[0]:.1f}, {os.path.getsize(f'{work}/data/data') / 1e6:.0f} MB of data, pool {options.pool}")
    for name, more in [("alone, plain", []), ("alone, zstd 1", ["--compress"])]:
        server_before, start = processor_seconds(server.pid), time.time()
        usage = os.times()
        process, to = backup("alone", *more)
        said = process.communicate()[0].strip()
        assert process.returncode == 0, said
        spent, after = time.time() - start, os.times()
        megabytes = float(said.split(" MB read")[0].split()[-1])
        client_cpu = after.children_user + after.children_system - usage.children_user - usage.children_system
        server_cpu = processor_seconds(server.pid) - server_before
        print(f"{name}: {megabytes:.0f} MB in {spent:.1f} s = {megabytes / spent:.0f} MB/s; processor seconds a GB: {server_cpu / megabytes * 1000:.2f} server, {client_cpu / megabytes * 1000:.2f} client; {said}")
    verify = time.time()
    subprocess.run([options.program, "backup", "--verify", f"{work}/alone", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    restore = time.time()
    subprocess.run([options.program, "restore", f"{work}/alone", "--to", f"{work}/restored", "--quiet"], check=True, stdout=subprocess.DEVNULL)
    print(f"verify {megabytes / (restore - verify):.0f} MB/s, restore {megabytes / (time.time() - restore):.0f} MB/s")
    for seed in range(4):
        path = f"{work}/updates-{seed}.sql"
        with open(path, "w") as file:
            file.writelines(f"UPDATE s.t SET n = n + 1 WHERE id = {dice.randrange(1, rows)};\n" for _ in range(400_000))
        writers.append(subprocess.Popen(client, stdin=open(path), stderr=subprocess.DEVNULL))
    time.sleep(1)
    shares = {"throttled": [], "unthrottled": []}
    for _ in range(options.rounds):
        for name, more in [("throttled", ["--rate", str(options.rate)]), ("unthrottled", [])]:
            without = slice_of(3)
            process, _ = backup("busy", *more)
            time.sleep(0.3)
            during = slice_of(3)
            ended = process.poll() is not None
            process.kill() if not ended else None
            process.communicate()
            again = slice_of(3)
            shares[name].append(during / ((without + again) / 2))
            if ended:
                print(f"  ({name}: the backup ended within the slice)")
    for name, list_of in shares.items():
        print(f"{name}: {statistics.median(list_of) * 100:.0f} % of the transactions a second are left (each of {len(list_of)}: {', '.join(f'{share * 100:.0f}' for share in list_of)})")
    print(f"load {os.getloadavg()[0]:.1f}")
finally:
    for writer in writers:
        writer.kill()
    server.send_signal(signal.SIGTERM)
    server.wait()
    shutil.rmtree(work, ignore_errors=True)
