"""Undo, and copies of pages: docs/format/engine.md (undo segments, blocks of the history) and data.md (`doublewrite`)."""
import struct

from .basics import PAGE, Cursor, crc32c, need, u
from .log import undo_record

SEGMENT = 1 << 20


def undo_records(directory):
    """What each undo record is that the checkpoint keeps: in frames that fit their place, the chunks of long ones put together."""
    frames = {}
    with open(directory.path / "undo/segments", "rb") as file:
        for number, place, filled, _ in directory.undo_segments:
            file.seek(place * SEGMENT)
            frames |= segment_frames(number, file.read(filled))
    heads = [at for at, (is_head, _) in frames.items() if is_head]
    chunks = set()
    for at in heads:
        c = Cursor(frames[at][1])
        total, addresses = c.number(8), []
        while c.left():
            addresses.append(c.number(8))
        chunks |= set(addresses)
        record = b"".join(frames[address][1] for address in addresses)
        need(len(record) == total, f"undo record {at}: {len(record)} bytes where there are to be {total}")
        frames[at] = (False, record)
    for at, (_, record) in sorted(frames.items()):
        if at not in chunks:
            yield one_record(record)


def segment_frames(number, image):
    """Frames of a segment by their addresses: whether each is the head of a chain, and its record."""
    frames, at = {}, 0
    while at < len(image):
        length, crc = u(image, at, 4), u(image, at + 4, 4)
        if not length and not crc:
            # What a recovery did not put back.
            at += 8
            continue
        size = length & 0x7FFFFFFF
        record = image[at + 8 : at + 8 + size]
        need(len(record) == size and crc == crc32c(struct.pack("<IQQ", crc32c(record), number, at)), f"undo segment {number}: the record at {at}")
        frames[number << 20 | at] = (length >> 31 == 1, record)
        at += (8 + size + 7) // 8 * 8
    return frames


def one_record(record):
    c = Cursor(record)
    if record[0] == 0x80:
        c.u8()
        kind = f"block of {len(c.list(lambda c: (c.varint(), c.varint())))}"
    else:
        kind = undo_record(c)
    c.end(f"undo record ({kind})")
    return kind


def copies(directory):
    """Numbers of the pages in `doublewrite`, each of which fits its checksum after a stop in order."""
    area = (directory.path / "doublewrite").read_bytes()
    if not any(area[:24]):
        return []
    count = u(area, 12, 4)
    need(area[:8] == b"ALTIDBLW" and count <= 256 and u(area, 8, 4) == crc32c(area[12 : 24 + 8 * count]), "doublewrite: its header")
    numbers = [u(area, 24 + 8 * no, 8) for no in range(count)]
    for no, number in enumerate(numbers):
        image = area[4096 + PAGE * no : 4096 + PAGE * (no + 1)]
        need(u(image, 8, 8) == number and u(image, 0, 4) == crc32c(image[4:]), f"doublewrite: the copy of page {number}")
    return numbers
