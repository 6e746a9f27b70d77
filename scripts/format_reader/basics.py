"""Numbers, texts, the checksum: docs/format/README.md."""
PAGE = 16_384


class Problem(Exception):
    """What does not fit the pages of docs/format."""


def need(fits, what):
    if not fits:
        raise Problem(what)


def crc_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ 0x82F63B78 if value & 1 else value >> 1
        table.append(value)
    return table


CRC = crc_table()


def crc32c(data):
    table, value = CRC, 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ table[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def u(data, at, size):
    return int.from_bytes(data[at : at + size], "little")


class Cursor:
    """Reads from the front."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        need(self.at + size <= len(self.data), "bytes end too early")
        self.at += size
        return bytes(self.data[self.at - size : self.at])

    def number(self, size):
        return u(self.take(size), 0, size)

    def u8(self):
        return self.number(1)

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                need(value < 1 << 64, "a varint too long")
                return value

    def bytes(self):
        return self.take(self.varint())

    def text(self):
        return self.bytes().decode()

    def list(self, one):
        return [one(self) for _ in range(self.varint())]

    def rest(self):
        return self.take(len(self.data) - self.at)

    def left(self):
        return len(self.data) - self.at

    def end(self, what):
        need(not self.left(), f"{what}: {self.left()} bytes behind its end")


def list_of_tables(c):
    tables, last = [], 0
    for _ in range(c.varint()):
        last += c.varint()
        tables.append(last)
    return tables
