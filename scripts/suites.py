#!/usr/bin/env python3
"""suites.py: clients' own test suites, unmodified, against a fresh Altiplano and the same against a MySQL beside it; prints one table and why tests fail.

  scripts/suites.py                          all suites of scripts/suites/
  scripts/suites.py pymysql sqlalchemy       only these
  --server PATH (target/fast/altiplano)      --keep (the data directory, for a look at its log)
  --peer HOST:PORT (127.0.0.1:13097)         --no-peer, --peer-only
  --work DIR (/tmp/altiplano-suites-work)    where each run's output is kept: NAME-altiplano.log, NAME-mysql.log, and failures with their texts
  --again                                    takes MySQL's results of an earlier run from DIR where they are there
  --write                                    puts the table into COMPAT.md, between its marks

Suites and clients are fetched from their registries into $ALTIPLANO_TOOLS (default /var/tmp/altiplano-tools). A row says how many tests passed on either server;
tests that fail here only must have a reason in the suite's file. Exits with 1 when one has none.
"""
import argparse, importlib, io, pickle, sys
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the tree
sys.path.insert(0, str(Path(__file__).resolve().parent / "suites"))
import harness

BEGIN, END = "<!-- suites: written by scripts/suites.py --write -->", "<!-- end of suites -->"


def names():
    return sorted(path.stem for path in (Path(__file__).resolve().parent / "suites").glob("*.py") if path.stem != "harness" and not path.stem.startswith("_"))


def run_on(suite, name, target, work):
    scratch = work / f"{name}-{target.name.lower()}"
    scratch.mkdir(parents=True, exist_ok=True)
    results = suite.run(target, harness.TOOLS, scratch)
    results = results if isinstance(results, dict) else {suite.TITLE: results}
    for part, result in results.items():
        with open(scratch / "failures.txt", "w" if part == next(iter(results)) else "a") as file:
            for test, text in sorted(result.failures.items()):
                file.write(f"==== {part}: {test}\n{text}\n")
        result.log = ""
    pickle.dump(results, open(scratch / "results.pickle", "wb"))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--server")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--peer", default="127.0.0.1:13097")
    parser.add_argument("--no-peer", action="store_true")
    parser.add_argument("--peer-only", action="store_true")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--work", type=Path, default=Path("/tmp/altiplano-suites-work"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    harness.TOOLS.mkdir(parents=True, exist_ok=True)
    mysql = None if options.no_peer else harness.peer(options.peer)
    if not mysql and not options.no_peer:
        harness.say(f"no MySQL at {options.peer}")
    rows, missing = [], False
    for name in options.suites or names():
        suite = importlib.import_module(name)
        suite.install(harness.TOOLS)
        theirs = {}
        kept = options.work / f"{name}-mysql" / "results.pickle"
        if options.again and kept.exists():
            theirs = pickle.load(open(kept, "rb"))
        elif mysql:
            theirs = run_on(suite, name, mysql, options.work)
        if options.peer_only:
            continue
        with harness.server(options.server, options.keep, getattr(suite, "SETTINGS", ())) as target:
            ours = run_on(suite, name, target, options.work)
        for part, result in ours.items():
            rows.append((part, result, theirs.get(part), getattr(suite, "EXPLAINED", []), getattr(suite, "SHARED", [])))
    text = io.StringIO()
    harness.report(rows, text)
    print(text.getvalue())
    if options.write:
        path = harness.ROOT / "COMPAT.md"
        before, rest = path.read_text().split(BEGIN)
        path.write_text(f"{before}{BEGIN}\n{text.getvalue()}{END}{rest.split(END)[1]}")
    return "NOT EXPLAINED" in text.getvalue()


if __name__ == "__main__":
    sys.exit(main())
