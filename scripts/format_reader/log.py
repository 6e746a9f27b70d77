"""Operations of the log: the tables of docs/format/data.md, btree.md and engine.md."""
from .basics import Cursor, list_of_tables, need


def undo_record(c):
    def old_header():
        return c.u8(), c.varint(), c.varint(), c.varint()

    def difference():
        return old_header(), c.varint(), c.varint(), c.bytes()

    kind = c.u8()
    c.varint(), c.varint(), c.varint(), c.bytes()
    if kind == 7:
        keys = Cursor(c.bytes())
        while keys.left():
            keys.varint(), keys.bytes()
    elif kind in (2, 6):
        difference()
        left_behind = Cursor(c.bytes())
        while left_behind.left():
            left_behind.varint(), left_behind.bytes()
        if kind == 6:
            difference()
    elif kind in (3, 5):
        old_header()
        if kind == 5:
            c.bytes()
    elif kind == 4:
        c.varint(), c.varint()
    else:
        need(kind == 1, f"an undo record of kind {kind}")
    return ("", "insert", "update", "delete", "chain", "delete", "update", "insert of several")[kind]


def delta(c):
    """An entry told by what differs from the one on its left, in groups of eight pairs of bytes; the first four are those of the suffix, or zeros."""
    left = max(c.varint(), 4)
    left += c.varint()
    while left > 0:
        mask = c.u8()
        if mask in (0, 255):
            size = 16 if mask else 0
            c.take(size)
            more = c.u8()
            c.take(more * size)
            left -= 16 * more
            need(left > 0 and left + 1 >= size, "an entry whose groups go past its end")
        else:
            c.take(2 * mask.bit_count())
            need(2 * mask.bit_length() <= left + 1, "an entry whose groups go past its end")
        left -= 16


def insert_run(c):
    form = c.u8()
    need(form <= 3, f"INSERT_RUN of form {form}")
    c.varint()
    if form in (1, 3):
        c.bytes()
    count = c.varint()
    if form < 2:
        c.bytes()
    for _ in range(count):
        c.varint()
        if form < 2:
            c.varint(), c.bytes(), c.bytes()
        else:
            delta(c)
    return f"insert run of {count}"


def pairs(c, count):
    for _ in range(count):
        c.bytes(), c.bytes()


def load(c):
    [c.varint() for _ in range(6)], c.bytes()
    pairs(c, c.varint())
    return "load"


def load_leaf(c):
    [c.varint() for _ in range(6)], c.bytes()
    for _ in range(c.varint()):
        delta(c)
    return "load leaf"


def append(c):
    c.varint(), c.varint()
    pairs(c, c.varint())
    return "append"


def prepare(c):
    c.varint(), c.varint(), c.bytes(), c.bytes()
    if c.left():
        list_of_tables(c)
    return "prepare"


def numbers(name, *sizes):
    """An operation of numbers: a size in bytes each, 0 a varint, -1 the rest."""

    def read(c):
        for size in sizes:
            c.varint() if size == 0 else c.rest() if size < 0 else c.number(size)
        return name

    return read


OPERATIONS = {
    0x01: numbers("write bytes", 2, -1), 0x02: numbers("new page", 1, 2, 4), 0x03: numbers("page image", 2, 2, -1), 0x0F: numbers("mark", 8), 0x10: numbers("set owner", 1, 1, 1, 1, 4),
    0x20: load, 0x21: lambda c: (c.u8(), c.varint(), c.bytes(), c.rest(), "insert")[-1], 0x22: numbers("remove", 0), 0x23: numbers("replace", 0, -1), 0x24: numbers("patch", 0, 0, -1),
    0x25: numbers("truncate", 0, 0), 0x26: append, 0x27: numbers("set left", 0), 0x28: numbers("raise txn_max", 0), 0x29: numbers("retire"), 0x2A: numbers("overflow fill", 0, -1),
    0x2B: numbers("overflow link", 0), 0x2C: insert_run, 0x2D: load_leaf, 0x40: lambda c: (c.varint(), "row: " + undo_record(c))[-1], 0x41: numbers("commit", 0, 0, 8), 0x42: numbers("rolled back to", 0, 0),
    0x43: numbers("rollback end", 0), 0x44: numbers("auto increment", 0, 0), 0x45: numbers("next ids", 0, 0), 0x46: numbers("leftover", 0, 0, -1), 0x47: prepare,
}  # fmt: skip


def operations(body):
    c = Cursor(body)
    while c.left():
        code, page = c.u8(), c.varint()
        payload = Cursor(c.bytes())
        need(code in OPERATIONS, f"operation {code:#04x}")
        name = OPERATIONS[code](payload)
        payload.end(name)
        need((page == 0) == (code >= 0x40 or code == 0x0F), f"{name} on page {page}")
        yield name, page
