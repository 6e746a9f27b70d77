"""Definitions of the dictionary: docs/format/engine.md."""
from .basics import Cursor, Problem, need


def column_type(c):
    kind, flags, length, decimals, collation = c.u8(), c.u8(), c.varint(), c.u8(), c.varint()
    return {
        "kind": kind, "unsigned": bool(flags & 1), "nullable": bool(flags & 4), "length": length, "decimals": decimals, "collation": collation,
        "members": c.list(lambda c: c.text()),
    }  # fmt: skip


def column(c):
    found = {"name": c.text(), "type": column_type(c), "flags": c.u8(), "default": c.u8()}
    need(found["default"] <= 3, f"a default of kind {found['default']}")
    if found["default"] == 2:
        c.bytes()
    found |= {"comment": c.text(), "added_in": c.varint(), "older": c.bytes(), "hidden": False}
    return found


def part(c):
    return c.varint(), c.varint(), c.u8()


def index(c):
    return {"name": c.text(), "id": c.varint(), "root": c.varint(), "unique": c.u8(), "parts": c.list(part), "comment": c.text()}


def foreign_key(c):
    return {
        "name": c.text(), "columns": c.list(lambda c: c.varint()), "parent": (c.text(), c.text()), "parent_columns": c.list(lambda c: c.text()), "actions": (c.u8(), c.u8()),
        "index": c.text(),
    }  # fmt: skip


def table(data):
    c = Cursor(data)
    form = c.u8()
    need(form in (1, 2), f"a definition of number {form}")
    found = {"id": c.varint(), "database": c.text(), "name": c.text(), "version": c.varint(), "collation": c.varint(), "comment": c.text(), "smallest": c.varint(), "made": c.varint()}
    found |= {"columns": c.list(column), "indexes": c.list(index), "options": c.list(lambda c: (c.text(), c.text())), "gone": [], "versions": {}, "checks": [], "keys": []}
    while form == 2 and (tag := c.varint()):
        section(found, tag, Cursor(c.bytes()))
    c.end(f"definition of {found['name']}")
    return found


def section(found, tag, c):
    columns = found["columns"]
    if tag == 1:
        for at, flags, _ in c.list(lambda c: (c.varint(), c.u8(), c.text())):
            columns[at]["hidden"] = bool(flags & 8)
    elif tag == 2:
        found["checks"] = c.list(lambda c: (c.text(), c.text(), c.u8()))
    elif tag == 3:
        c.list(lambda c: c.varint())
    elif tag == 4:
        found["keys"] = c.list(foreign_key)
    elif tag == 5:
        c.list(lambda c: histogram(c))
    elif tag == 6:
        found["gone"] = c.list(column_type)
    elif tag == 7:
        found["versions"] = dict(c.list(lambda c: (c.varint(), c.list(lambda c: c.varint()))))
    elif tag == 8:
        c.list(lambda c: (c.varint(), c.u8()))
    elif tag == 9:
        c.list(lambda c: (c.varint(), c.u8(), c.varint()))
    else:
        raise Problem(f"a section of tag {tag}")
    c.end(f"section {tag}")


def histogram(c):
    at, flags = c.varint(), c.u8()
    c.varint(), c.varint(), c.number(8), c.number(8)
    bucket = lambda c: (c.bytes(), c.bytes() if flags & 1 else None, c.varint() if flags & 1 else None, c.number(8))
    return at, c.list(bucket)


def view(data):
    c = Cursor(data)
    need(c.u8() == 1, "a view of another number")
    c.varint()
    database, name, query = c.text(), c.text(), c.text()
    for _ in range(5):
        c.text()
    c.u8(), c.u8(), c.u8(), c.varint()
    c.list(lambda c: c.text()), c.list(lambda c: (c.text(), c.text()))
    c.end(f"view {name}")
    return f"{database}.{name}: {query}"


def account(data):
    c = Cursor(data)
    need(c.u8() == 1, "an account of another number")
    user, host, plugin = c.text(), c.text(), c.text()
    c.bytes(), c.bytes(), c.u8(), c.number(8), c.varint()
    if c.u8() == 3:
        c.text(), c.text(), c.text()
    c.number(16), [c.varint() for _ in range(5)], c.text(), c.list(lambda c: (c.number(8), c.bytes())), c.number(4)
    c.list(lambda c: (c.text(), c.u8())), c.list(lambda c: (c.text(), c.number(4)))
    c.list(lambda c: (c.text(), c.text(), c.number(4), c.text(), c.list(lambda c: (c.text(), c.number(4)))))
    roles = c.list(lambda c: (c.text(), c.text(), c.u8()))
    c.list(lambda c: (c.text(), c.text()))
    c.end(f"account {user}")
    return f"{user}@{host} by {plugin}, {len(roles)} roles"
