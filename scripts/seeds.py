#!/usr/bin/env python3
"""seeds.py: the randomised tests again and again, each round with another seed and with more cases than `cargo test` takes.

A fault that one random run in a hundred shows passes many runs of the tests before it stops one. This runs the test programs whose sources read a seed or have properties
(`proptest!`), found by what their sources say; each seed variable of theirs (`SEED`, `ENGINE_SEED`, `ALTIPLANO_TEST_SEED` ...) is the round's number. What fails is told at once, with the
command that repeats it, and the rounds go on. Exit code 1 if anything failed.

  --minutes M      how long to go on; the round that runs is ended after its program (60)
  --rounds N       at most that many rounds
  --seed S         the first round's number (random); those behind it count on
  --cases N        cases of a property for each that `cargo test` takes (20)
  --only A,B       test programs whose names contain one of these
  --package P,Q    tests of these packages alone
  --profile P      build that is used (dev)
  --limit S        a program that takes longer is ended, and told of (2400; with twenty times the cases txn/against_classic took 216 s, and 1,037 beside builds)
  --logs DIR       what failing programs printed (/var/tmp/altiplano-seeds)
"""
import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Tests of what a property takes by default; proptest's own number.
CASES = 256
SEED = re.compile(r'env::var\("([A-Z_]*SEED)"\)')


def sources(target):
    """The files that a test program is made of: a library's all, or a test's file and the folder of its modules."""
    path = Path(target["src_path"])
    if "test" not in target["kind"] or path.name == "main.rs":
        return sorted(path.parent.rglob("*.rs"))
    modules = re.findall(r"^mod (\w+);", path.read_text(), re.M)
    named = [path.parent / f"{module}.rs" for module in modules]
    return [path] + [file for file in named if file.exists()] + sorted(file for module in modules for file in (path.parent / module).rglob("*.rs"))


def programs(arguments):
    """Names, folders and files of the test programs that have something random in them, and the names of all seeds."""
    command = ["cargo", "test", "--no-run", "--message-format=json"] + ([] if arguments.profile == "dev" else ["--profile", arguments.profile])
    command += [part for package in arguments.package for part in ("-p", package)] or ["--workspace"]
    # Their tests read them through functions of this one.
    seeds = set(SEED.findall((ROOT / "testing/histories/src/seed.rs").read_text()))
    found = []
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit("the tests were not built")
    for line in built.stdout.splitlines():
        message = json.loads(line)
        if message.get("reason") != "compiler-artifact" or not message.get("executable") or not message["profile"]["test"]:
            continue
        text = "".join(file.read_text() for file in sources(message["target"]))
        own = SEED.findall(text)
        if not own and "proptest!" not in text and "seed::" not in text:
            continue
        seeds.update(own)
        folder = Path(message["manifest_path"]).parent
        name = f"{folder.name}/{message['target']['name']}"
        if not arguments.only or any(part in name for part in arguments.only):
            found.append((name, folder, message["executable"]))
    return sorted(found), sorted(seeds)


def main():
    words = lambda text: [word for word in text.split(",") if word]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--rounds", type=int, default=1 << 30)
    parser.add_argument("--seed", type=int, default=random.randrange(1, 1 << 31))
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--only", type=words, default=[])
    parser.add_argument("--package", type=words, default=[])
    parser.add_argument("--profile", default="dev")
    parser.add_argument("--limit", type=float, default=2400)
    parser.add_argument("--logs", type=Path, default=Path("/var/tmp/altiplano-seeds"))
    arguments = parser.parse_args()
    tests, seeds = programs(arguments)
    if not tests:
        sys.exit("no test program of that name has anything random in it")
    arguments.logs.mkdir(parents=True, exist_ok=True)
    print(f"{len(tests)} test programs, seeds {', '.join(seeds)}", flush=True)
    until = time.monotonic() + arguments.minutes * 60
    failed = runs = 0
    for number in range(arguments.seed, arguments.seed + arguments.rounds):
        for name, folder, program in tests:
            if time.monotonic() > until:
                break
            runs += 1
            environment = dict(os.environ, CARGO_MANIFEST_DIR=str(folder), PROPTEST_CASES=str(CASES * arguments.cases), PROPTEST_MAX_GLOBAL_REJECTS=str(1 << 30))
            environment.update({seed: str(number) for seed in seeds})
            began = time.monotonic()
            # In a group of its own: the servers that a test has started end with it.
            running = subprocess.Popen([program], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                output, code = running.communicate(timeout=arguments.limit)[0], running.returncode
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                output, code = running.communicate()[0], "none: it took too long"
            if code != 0:
                failed += 1
                log = arguments.logs / f"{name.replace('/', '-')}-{number}.log"
                log.write_bytes(output)
                lost = re.findall(r"^test (\S+) .*FAILED$", output.decode(errors="replace"), re.M)
                print(f"FAILED {name} {' '.join(lost)} (exit code {code}, {log}): scripts/seeds.py --seed {number} --rounds 1 --only {name} --cases {arguments.cases}", flush=True)
            elif time.monotonic() - began > 60:
                print(f"ok     {name} took {time.monotonic() - began:.0f} s", flush=True)
        else:
            print(f"seed {number}: {runs} runs so far, {failed} failed", flush=True)
            continue
        break
    print(f"{runs} runs of {len(tests)} test programs, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
