#!/usr/bin/env python3
"""read_directory.py: what stands in a data directory, read by nothing but what docs/format says.

    scripts/read_directory.py DIR            databases, views, accounts, counters, how much undo there is, and every row of every table, of a directory whose server was stopped
    scripts/read_directory.py DIR --log      every record of the log from the newest checkpoint on, every operation decoded to its last byte; also where the server was killed

It (`format_reader/`) knows formats 1 to 5, uses none of the program's code, and refuses what it does not know. `crates/server/tests/formats.rs` compares what it prints with what the server answered: a page of
docs/format that says too little, or something else than the program does, fails there. Needs Python 3 and nothing else; checksums in Python take some 5 ms a page.
"""
import sys

from format_reader.basics import Cursor, Problem, need, u
from format_reader.definitions import account, table, view
from format_reader.files import Directory, entries
from format_reader.log import operations
from format_reader.rows import TEXT, rows, stored, whole
from format_reader.undo import copies, undo_records


def print_log(directory):
    for position, body in directory.records():
        print(f"{position}: " + "; ".join(name + (f" on {page}" if page else "") for name, page in operations(body)))


def print_contents(directory):
    need(next(directory.records(), None) is None, "the log goes on behind the checkpoint: the server was not stopped; look with --log")
    print(f"format {directory.format}")
    tables = []
    for _, row in entries(directory, 1, directory.dictionary_root):
        row = whole(directory, 1, row)
        if row is None:
            continue
        key, value = stored(row, [TEXT, TEXT])
        kind = key[:1]
        if kind == b"D":
            c = Cursor(value)
            need(c.u8() == 1, "a database of another number")
            print(f"database {c.text()}, collation {c.varint()}")
            c.end("database")
        elif kind == b"T":
            tables.append(table(value))
        elif kind == b"V":
            print(f"view {view(value)}")
        elif kind == b"A" and len(key) > 1:
            print(f"account {account(value)}")
        else:
            need(kind in (b"N", b"F", b"K", b"A"), f"a row of the dictionary under {key!r}")
    counters = {int.from_bytes(key, "big"): u(value, 0, 8) for key, value in entries(directory, 2, directory.counters_root)} | dict(directory.counters)
    for found in tables:
        if found["id"] in counters:
            print(f"next value of {found['database']}.{found['name']}: {counters[found['id']]}")
    for _, _, name, _ in directory.prepared:
        print(f"prepared {name.decode()}")
    print(f"undo: {len(list(undo_records(directory)))} records")
    print(f"doublewrite: {len(copies(directory))} pages")
    for found in tables:
        live = lambda index: sum(not value[0] & 1 for _, value in entries(directory, index["id"], index["root"]))
        counts = ", ".join(f"{index['name']}: {live(index)}" for index in found["indexes"][1:])
        print(f"table {found['database']}.{found['name']}" + (f" ({counts})" if counts else ""))
        for row in rows(directory, found):
            print("  " + " | ".join(row))


def main():
    options = [argument for argument in sys.argv[1:] if argument.startswith("-")]
    paths = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    if len(paths) != 1 or options not in ([], ["--log"]):
        sys.exit(__doc__)
    try:
        directory = Directory(paths[0])
        print_log(directory) if options else print_contents(directory)
    except (Problem, OSError, UnicodeDecodeError) as problem:
        sys.exit(f"read_directory.py: {problem}")


if __name__ == "__main__":
    main()
