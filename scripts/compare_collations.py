#!/usr/bin/env python3
"""Compares the collations of a running Altiplano with those of a running MySQL 9.7 (needs PyMySQL):

    scripts/compare_collations.py HOST:PORT --with HOST:PORT [--user root] [--only TEXT,…] [--texts 5000] [--seed N]

For every collation of utf8mb3 and utf8mb4 that both have: WEIGHT_STRING() of every code point, and of texts made at random of characters and of
the sequences that languages contract; that such texts, sorted by either server, come in the same order; what SHOW COLLATION says of it. Prints a line
for each collation with the counts of differences and the first of them, then collations that only one has. Ends with 1 when anything differs.
"""
import argparse
import random
import sys

import pymysql

POINTS = [n for n in range(0x110000) if not 0xD800 <= n <= 0xDFFF]
# Sequences with weights of their own in some language, and what looks like them.
SEQUENCES = ["ch", "Ch", "cH", "CH", "cs", "ccs", "dz", "ddz", "dzs", "ddzs", "gy", "ggy", "ly", "lly", "ny", "nny", "sz", "ssz", "ty", "tty", "zs", "zzs",
             "dž", "Dž", "DŽ", "lj", "Lj", "LJ", "nj", "Nj", "NJ", "ll", "Ll", "LL", "rr", "aa", "Aa", "AA", "aA", "l·", "L·", "d\u017e", "d\u200dz", "c\u0001h",
             "å", "ö", "n\u0303", "a\u030a", "o\u0302\u0301", "か", "カ", "ー", "ゝ", "ヽ", "ゞ", "ヾ", "ガ", "ｶ", "ｰ", "か\u3099", "ァ", "一", "丁", "啊",
             "я", "ѣ", "ґ", "θ", "각", "\u0dc3\u0dca", "ක", "\u0649", "\u0621", "ﷺ", "😀", "y", "w", "v", "i", "I", "ı", "İ", "ß", "œ", "æ", "'", " ", "-"]


class Server:
    def __init__(self, where, user):
        host, port = where.rsplit(":", 1)
        self.db = pymysql.connect(host=host, port=int(port), user=user, charset="utf8mb4", autocommit=True)
        self.run("DROP DATABASE IF EXISTS compare_collations")
        self.run("CREATE DATABASE compare_collations")
        self.run("USE compare_collations")
        self.run("CREATE TABLE p (n INT PRIMARY KEY, c VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin)")
        self.run("CREATE TABLE w (n INT PRIMARY KEY, c VARCHAR(80) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin)")

    def run(self, statement):
        with self.db.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchall()

    def fill(self, table, rows):
        self.run("DELETE FROM " + table)
        with self.db.cursor() as cursor:
            for at in range(0, len(rows), 20000):
                cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", rows[at:at + 20000])

    def collations(self):
        return {row[0]: row[1:] for row in self.run("SHOW COLLATION WHERE Charset IN ('utf8mb3', 'utf8mb4')")}

    def close(self):
        self.run("DROP DATABASE compare_collations")


def weight(collation):
    # utf8mb3 has the first plane only, and a cast to it would make others '?'.
    text = "c" if collation.startswith("utf8mb4") else "CONVERT(c USING utf8mb3)"
    return f"HEX(WEIGHT_STRING({text} COLLATE {collation}))"


def points_differing(servers, collation):
    within = "WHERE n < 65536" if collation.startswith("utf8mb3") else ""
    sums = [dict(server.run(f"SELECT n DIV 512, SUM(CRC32(CONCAT(n, {weight(collation)}))) FROM p {within} GROUP BY n DIV 512")) for server in servers]
    out = []
    for block in sums[0]:
        if sums[0][block] != sums[1][block]:
            rows = [dict(server.run(f"SELECT n, {weight(collation)} FROM p WHERE n BETWEEN {block * 512} AND {block * 512 + 511}")) for server in servers]
            out += [(hex(n), rows[0][n], rows[1][n]) for n in rows[0] if rows[0][n] != rows[1][n]]
    return out


def texts_differing(servers, collation, texts):
    if collation.startswith("utf8mb3"):
        where = "WHERE n NOT IN (" + ",".join(str(n) for n, text in texts if max(text) > "\uffff") + ",-1)"
    else:
        where = ""
    rows = [server.run(f"SELECT n, {weight(collation)} FROM w {where} ORDER BY n") for server in servers]
    out = [(dict(texts)[a[0]], a[1], b[1]) for a, b in zip(*rows) if a != b]
    orders = [[row[0] for row in server.run(f"SELECT n FROM w {where} ORDER BY c COLLATE {collation}, n")] for server in servers] if not where else [[], []]
    return out, sum(a != b for a, b in zip(*orders))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("own")
    parser.add_argument("--with", dest="other", required=True)
    parser.add_argument("--user", default="root")
    parser.add_argument("--only", default="")
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    options = parser.parse_args()
    servers = [Server(options.own, options.user), Server(options.other, options.user)]
    draw = random.Random(options.seed)
    letters = [chr(n) for n in (*range(0x20, 0x7F), *range(0xA0, 0x250), *range(0x300, 0x345), *range(0x410, 0x450), *range(0x3041, 0x3100))]
    texts = [(n, "".join(draw.choice(draw.choice((letters, SEQUENCES, SEQUENCES))) for _ in range(draw.randrange(1, 8)))) for n in range(options.texts)]
    for server in servers:
        server.fill("p", [(n, chr(n)) for n in POINTS])
        server.fill("w", texts)
    own, other = (server.collations() for server in servers)
    only = [text for text in options.only.split(",") if text]
    wrong = 0
    print(f"{len(POINTS)} code points, {len(texts)} texts, seed {options.seed}")
    for collation in sorted(own.keys() & other.keys()):
        if only and not any(text in collation for text in only):
            continue
        points = points_differing(servers, collation)
        found, order = texts_differing(servers, collation, texts)
        listed = own[collation] != other[collation]
        wrong += bool(points or found or order or listed)
        print(f"{collation}: {len(points)} code points, {len(found)} texts, {order} places in the order differ", points[:2] + found[:2],
              (own[collation], other[collation]) if listed else "", flush=True)
    print("only here:", *sorted(own.keys() - other.keys()))
    print("only there:", *sorted(other.keys() - own.keys()))
    for server in servers:
        server.close()
    sys.exit(wrong > 0)


main()
