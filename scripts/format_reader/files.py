"""The files of a directory, and the trees in `data`: docs/format/data.md, btree.md, wal.md, and the checkpoint of engine.md."""
import mmap
import struct
from pathlib import Path

from .basics import PAGE, Cursor, crc32c, list_of_tables, need, u


class Directory:
    """A directory that no server has open."""

    def __init__(self, path):
        self.path = Path(path)
        with open(self.path / "data", "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        header = self.page(0)
        need(header[4] == 1 and header[48:56] == b"ALTIPLAN", "data: no magic")
        self.format = u(header, 56, 4)
        need(1 <= self.format <= 5 and u(header, 60, 4) == PAGE, f"data: format {self.format} with pages of {u(header, 60, 4)}; this reader knows formats 1 to 5 with pages of {PAGE}")
        control = (self.path / "log/control").read_bytes()
        slots = [control[at : at + 512] for at in (0, 4096)]
        slots = [slot for slot in slots if slot[:8] == b"ALTIWAL1" and u(slot, 58, 4) == crc32c(slot[:58])]
        need(slots, "log/control: no good slot")
        slot = max(slots, key=lambda slot: u(slot, 8, 8))
        self.epoch, self.redo, self.durable, self.segment = u(slot, 16, 4), u(slot, 20, 8), u(slot, 28, 8), u(slot, 36, 8)
        payload = (self.path / f"log/checkpoint-{slot[45]}").read_bytes()[: u(slot, 46, 8)]
        need(slot[44] == 1 and crc32c(payload) == u(slot, 54, 4), "the checkpoint does not fit its checksum")
        self.read_payload(Cursor(payload))

    def read_payload(self, c):
        version = c.varint()
        need(1 <= version <= 5, f"checkpoint payload of version {version}")
        pair = lambda c: (c.varint(), c.varint())
        self.next_txn, self.next_table, self.next_index = c.varint(), c.varint(), c.varint()
        self.dictionary_root, self.counters_root = c.varint(), c.varint()
        self.running, self.history, self.counters = c.list(pair), c.list(pair), c.list(pair)
        self.leftovers = c.list(lambda c: (c.varint(), c.varint(), c.bytes()))
        undo = Cursor(c.bytes())
        need(undo.u8() == 1, "undo directory of another version")
        undo.varint()
        self.undo_segments = undo.list(lambda c: [c.varint() for _ in range(4)])
        undo.end("undo directory")
        self.prepared = c.list(lambda c: (c.varint(), c.varint(), c.bytes(), c.bytes())) if version >= 2 else []
        self.blocks = c.list(pair) if version >= 3 else []
        self.lacking = c.list(pair) if version >= 4 else []
        if version >= 5:
            self.prepared_tables = [list_of_tables(c) if c.varint() else None for _ in self.prepared]
        c.end("checkpoint payload")

    def page(self, number):
        page = self.data[number * PAGE : (number + 1) * PAGE]
        need(len(page) == PAGE, f"page {number}: past the end")
        need(u(page, 0, 4) == crc32c(page[4:]), f"page {number}: checksum")
        need(u(page, 8, 8) == number, f"page {number}: holds page {u(page, 8, 8)}")
        return page

    def records(self):
        """Position and body of each record of the log from the checkpoint on."""
        position, epoch, segments = self.redo, 1, {}

        def read(position, size):
            out = b""
            while size:
                number, at = divmod(position, self.segment)
                if number not in segments:
                    name = self.path / f"log/segment-{number:08}"
                    segments[number] = name.read_bytes() if name.exists() else b""
                piece = segments[number][at : at + min(size, self.segment - at)]
                if not piece:
                    return None
                out, position, size = out + piece, position + len(piece), size - len(piece)
            return out

        while header := read(position, 12):
            length, its_epoch = u(header, 0, 4), u(header, 8, 4)
            if not epoch <= its_epoch <= self.epoch or length > 256 << 20:
                break
            body = read(position + 12, length) if length else b""
            if body is None or u(header, 4, 4) != crc32c(struct.pack("<IQQ", crc32c(body), position, its_epoch << 32 | length)):
                break
            yield position, body
            position, epoch = (position + 12 + length + 7) // 8 * 8, its_epoch
        need(position >= self.durable, f"the log ends at {position}, and was durable up to {self.durable}")


def entries(directory, index, root):
    """Keys and values of all leaves of a tree, in order."""

    def node(number):
        page = directory.page(number)
        need(u(page, 24, 4) == index and page[4] == (4 if u(page, 6, 2) else 3), f"page {number}: not of the tree of index {index}")
        return page

    number, page, last = root, node(root), None
    while u(page, 6, 2):
        number = u(page, u(page, 88, 2), 8)
        page = node(number)
    while True:
        prefix = page[PAGE - u(page, 54, 2) :]
        for slot in range(88, 88 + 8 * u(page, 48, 2), 8):
            at, suffix, rest = u(page, slot, 2), u(page, slot + 2, 2), max(u(page, slot + 2, 2) - 4, 0)
            head = page[slot + 4 : slot + 8][::-1][: min(4, suffix)]
            key = prefix + head + page[at + 2 : at + 2 + rest]
            need(last is None or last < key, f"page {number}: keys out of order")
            last = key
            yield key, page[at + 2 + rest : at + 2 + rest + u(page, at, 2)]
        number = u(page, 64, 8)
        if not number:
            return
        page = node(number)
