"""Rows and JSON documents: docs/format/record.md, json.md."""
import datetime
import struct

from .basics import need, u
from .files import entries

HEADER = 19


def whole(directory, index, row):
    """A live row with its overflow chain behind the header; `None` of a deleted one."""
    if row[0] & 1:
        return None
    if not row[0] & 2:
        return row
    size, number, out = u(row, HEADER, 8), u(row, HEADER + 8, 8), row[:HEADER]
    while number:
        page = directory.page(number)
        need(page[4] == 5 and u(page, 24, 4) == index, f"page {number}: not of a chain of index {index}")
        out += page[64 : 64 + u(page, 56, 4)]
        number = u(page, 48, 8)
    need(len(out) == HEADER + size, f"a chain of {len(out) - HEADER} bytes where there are to be {size}")
    return out


FIXED = {1: 1, 26: 1, 2: 2, 27: 2, 3: 3, 22: 3, 4: 4, 7: 4, 5: 8, 8: 8, 24: 8, 25: 8, 28: 8, 23: 6}


def fixed_bytes(ty):
    if ty["kind"] == 6:
        return ((10 ** ty["length"] - 1).bit_length() + 1 + 7) // 8
    if ty["kind"] == 9:
        return (ty["length"] + 7) // 8
    return FIXED.get(ty["kind"])


def stored(row, types):
    """The bytes of each column of a row, `None` for NULL."""
    width = 2 if len(row) <= 65_535 else 4
    at = HEADER + (sum(ty["nullable"] for ty in types) + 7) // 8
    ends = at + sum(fixed_bytes(ty) or 0 for ty in types)
    data = ends + width * sum(fixed_bytes(ty) is None for ty in types)
    columns, null_no, begin = [], 0, 0
    for ty in types:
        is_null = False
        if ty["nullable"]:
            is_null = row[HEADER + null_no // 8] >> null_no % 8 & 1 == 1
            null_no += 1
        size = fixed_bytes(ty)
        if size is not None:
            column, at = row[at : at + size], at + size
        else:
            end = u(row, ends, width)
            ends += width
            need(begin <= end and data + end <= len(row), "a column past its row")
            column, begin = row[data + begin : data + end], end
        columns.append(None if is_null else column)
    need(data + begin == len(row), "a row is longer than its columns")
    return columns


def date(packed):
    return f"{packed >> 9:04}-{packed >> 5 & 15:02}-{packed & 31:02}"


def date_time(packed):
    return f"{date(packed >> 37)} {packed >> 32 & 31:02}:{packed >> 26 & 63:02}:{packed >> 20 & 63:02}.{packed & 0xFFFFF:06}"


def number_text(value):
    """A double as the server writes it where that is simple."""
    text = repr(value)
    return text[:-2] if text.endswith(".0") else text


def show(ty, data):
    """A value as text: as a client sees it, but for times (microseconds) and bytes (hexadecimal)."""
    if data is None:
        return "NULL"
    kind, number = ty["kind"], u(data, 0, len(data))
    signed = int.from_bytes(data, "little", signed=True)
    if kind in (1, 2, 3, 4, 5):
        return str(number if ty["unsigned"] else signed)
    if kind == 6:
        value = int.from_bytes(data, "big") - (1 << 8 * len(data) - 1)
        digits = str(abs(value)).rjust(ty["decimals"] + 1, "0")
        whole, part = digits[: len(digits) - ty["decimals"]], digits[len(digits) - ty["decimals"] :]
        return ("-" if value < 0 else "") + whole + ("." + part if part else "")
    if kind in (7, 8):
        return number_text(struct.unpack("<f" if kind == 7 else "<d", data)[0])
    if kind == 9:
        return str(number)
    if kind == 22:
        return date(number)
    if kind == 24:
        return date_time(number)
    if kind in (23, 25):
        return str(signed)
    if kind == 26:
        return str(1900 + number) if number else "0000"
    if kind == 27:
        return ty["members"][number - 1] if number else ""
    if kind == 28:
        return ",".join(name for no, name in enumerate(ty["members"]) if number >> no & 1)
    if kind == 29:
        return json_text(data)
    if 16 <= kind <= 21:
        return "0x" + data.hex()
    need(10 <= kind <= 15, f"a type of kind {kind}")
    return data.decode()


def json_text(data):
    need(data, "a JSON value without bytes")
    tag, data = data[0], data[1:]
    if tag in (0, 1, 2):
        return ("null", "false", "true")[tag]
    if tag in (3, 4):
        return str(int.from_bytes(data, "little", signed=tag == 3))
    if tag == 5:
        return repr(struct.unpack("<d", data)[0])
    if tag == 6:
        return data.decode()
    if tag == 7:
        return json_string(data.decode())
    if tag & 127 in (8, 9):
        return json_container(tag & 127 == 9, 4 if tag & 128 else 2, data)
    if tag == 10:
        return f'"{date(u(data, 0, 4))}"'
    if tag == 11:
        return f'"{datetime.timedelta(microseconds=int.from_bytes(data, "little", signed=True))}"'
    if tag == 12:
        return f'"{date_time(u(data, 0, 8))}"'
    need(tag == 13, f"a JSON value of tag {tag}")
    return f'"type {data[0]}: {data[1:].hex()}"'


def json_string(text):
    for what, instead in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(what, instead)
    return f'"{text}"'


def json_container(is_object, width, data):
    count = u(data, 0, width)
    tables = 2 if is_object else 1
    ends = [u(data, width * (1 + no), width) for no in range(tables * count)]
    pieces, data = [], data[width * (1 + tables * count) :]
    for begin, end in zip([0, *ends], ends):
        need(begin <= end <= len(data), "a JSON value past its container")
        pieces.append(data[begin:end])
    if not is_object:
        return "[" + ", ".join(map(json_text, pieces)) + "]"
    names = [name.decode() for name in pieces[:count]]
    return "{" + ", ".join(f"{json_string(name)}: {json_text(value)}" for name, value in zip(names, pieces[count:])) + "}"


TEXT = {"kind": 11, "nullable": False, "unsigned": False, "decimals": 0, "length": 0, "members": []}


def rows(directory, found):
    """The rows of a table by its primary key, each a list of texts; columns that a functional index has are left out."""
    types = [column["type"] for column in found["columns"]]
    for _, row in entries(directory, found["indexes"][0]["id"], found["indexes"][0]["root"]):
        row = whole(directory, found["indexes"][0]["id"], row)
        if row is None:
            continue
        # Where each stored column stands: in today's columns, or (an odd number) among those that are gone.
        version = u(row, 1, 2)
        if version == found["version"]:
            places = [2 * at for at in range(len(types))]
        elif found["versions"]:
            need(version in found["versions"], f"{found['name']}: a row of version {version}")
            places = found["versions"][version]
        else:
            places = [2 * at for at, column in enumerate(found["columns"]) if column["added_in"] <= version]
        held = stored(row, [found["gone"][place // 2] if place & 1 else types[place // 2] for place in places])
        by_place = dict(zip(places, held))
        shown = []
        for at, column in enumerate(found["columns"]):
            value = by_place[2 * at] if 2 * at in by_place else older(column)
            if not column["hidden"]:
                shown.append(show(column["type"], value))
        yield shown


def older(column):
    """What rows that are older than a column have in it: a row of one nullable column."""
    return stored(column["older"], [column["type"] | {"nullable": True}])[0] if column["older"] else None
