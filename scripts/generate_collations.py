#!/usr/bin/env python3
"""Generates the weights of collations in crates/types/src/collation/ by asking a running MySQL 9.7 (needs PyMySQL):

    scripts/generate_collations.py HOST PORT USER [PASSWORD]

- `latin1.bin`: for each of the six collations of `LATIN1` below 256 weights of a byte each, in order of the latin1 byte.
- `tolower_ci.bin`: pairs of little-endian u16, a code point and its weight where that is another number (`general_ci.bin` is alike, by
  `generate_general_ci.py`).
- `german2.bin`, `uca400.bin`, `uca520.bin`: characters with several weights. Varints: how many code points, then for each the distance
  from the one before, the count of its weights, and each weight as a zigzag distance from the weight before. What has the weights that the
  formula for ideographs and unassigned code points gives (`implicit` below and in `expanding.rs`) is left out.
- `weights.txt`: for every collation the CRC-32 of `HEX(WEIGHT_STRING(c))` over all characters of its character set, in order of code points (of
  bytes for latin1), lines ended by a newline. The test `weights_of_every_character_are_those_of_mysql` compares.

All weights are observed; nothing comes from anybody's source.
"""
import struct
import sys
import zlib

import pymysql

from packed import varint, zigzag

WHERE = "crates/types/src/collation/"
LATIN1 = ["latin1_swedish_ci", "latin1_german1_ci", "latin1_danish_ci", "latin1_general_ci", "latin1_general_cs", "latin1_spanish_ci"]
EXPANDING = {"german2": "latin1_german2_ci", "uca400": "utf8mb4_unicode_ci", "uca520": "utf8mb4_unicode_520_ci"}
PAIRS = {"tolower_ci": "utf8mb3_tolower_ci"}
HASHED = LATIN1 + ["latin1_bin", "latin1_german2_ci", "ascii_general_ci", "ascii_bin", "utf8mb3_general_ci", "utf8mb3_bin",
                   "utf8mb3_tolower_ci", "utf8mb3_general_mysql500_ci",
                   "utf8mb3_unicode_ci", "utf8mb3_unicode_520_ci", "utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci",
                   "utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_as_cs", "utf8mb4_0900_bin"]


def points_of(charset):
    last = {"ascii": 0x7F, "latin1": 0xFF, "utf8mb3": 0xFFFF}.get(charset, 0x10FFFF)
    return [n for n in range(last + 1) if not 0xD800 <= n <= 0xDFFF]


def weights_of(db, collation):
    """(character number, weights in hexadecimal) of every character of a collation's character set; latin1's are its bytes."""
    charset = collation.split("_")[0]
    points = points_of(charset)
    text = f"_{charset} CHAR(n USING {charset})" if charset in ("latin1", "ascii") else "CONVERT(CHAR(n USING utf32) USING %s)" % charset
    text = text.replace(f"_{charset} CHAR", "CHAR")
    rows = {}
    with db.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM s WHERE n<{points[-1]}) "
            f"SELECT n, HEX(WEIGHT_STRING({text} COLLATE {collation})) FROM s WHERE n<0xd800 OR n>0xdfff")
        for n, weight in cursor:
            rows[n] = weight.decode() if isinstance(weight, bytes) else weight
    return [(n, rows[n]) for n in points]


def implicit(kind, point):
    """The weights of a code point that has no entry."""
    if kind == "german2":
        return [point]
    if kind == "uca400" and point > 0xFFFF:
        return [0xFFFD]
    base = 0xFBC0
    if 0x4E00 <= point <= 0x9FA5:
        base = 0xFB40
    elif 0x3400 <= point <= 0x4DB5:
        base = 0xFB80
    return [base + (point >> 15), point & 0x7FFF | 0x8000]


def write_pairs(name, weights):
    with open(WHERE + name + ".bin", "wb") as out:
        for point, weight in weights:
            if int(weight, 16) != point:
                out.write(struct.pack("<HH", point, int(weight, 16)))


def main():
    host, port, user = sys.argv[1:4]
    db = pymysql.connect(host=host, port=int(port), user=user, password="".join(sys.argv[4:5]), charset="utf8mb4")
    with db.cursor() as cursor:
        cursor.execute("SET SESSION cte_max_recursion_depth=2000000")
    seen, hashes = {}, []
    for collation in HASHED:
        seen[collation] = weights_of(db, collation)
        crc = zlib.crc32("".join(weight + "\n" for _, weight in seen[collation]).encode())
        hashes.append(f"{collation} {crc:08x}\n")
    open(WHERE + "weights.txt", "w").write("".join(hashes))
    with open(WHERE + "latin1.bin", "wb") as out:
        for collation in LATIN1:
            out.write(bytes(int(weight, 16) for _, weight in seen[collation]))
    for name, collation in PAIRS.items():
        write_pairs(name, seen[collation])
    for kind, collation in EXPANDING.items():
        digits = 2 if kind == "german2" else 4
        entries = []
        for point, weight in seen[collation]:
            weights = [int(weight[at:at + digits], 16) for at in range(0, len(weight), digits)]
            if weights != implicit(kind, point):
                entries.append((point, weights))
        body, last, before = bytearray(), 0, 0
        for point, weights in entries:
            body += varint(point - last) + varint(len(weights))
            last = point
            for weight in weights:
                delta = weight - before
                body += zigzag(delta)
                before = weight
        open(WHERE + kind + ".bin", "wb").write(varint(len(entries)) + body)
        print(kind, len(entries), "characters,", len(body), "bytes, at most", max(len(w) for _, w in entries), "weights")


if __name__ == "__main__":
    main()
