#!/usr/bin/env python3
"""Generates crates/types/src/collation/general_ci.bin: the characters whose utf8mb4_general_ci weight is not their own code point.

The weights are observed: run this in a MySQL server and give the output file to the script.

    SET NAMES utf8mb4; SET SESSION cte_max_recursion_depth=2000000;
    WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM s WHERE n<65535)
    SELECT HEX(n), HEX(WEIGHT_STRING(CONVERT(CHAR(n USING utf32) USING utf8mb4) COLLATE utf8mb4_general_ci))
    FROM s WHERE n<0xd800 OR n>0xdfff;

The file holds pairs of little-endian u16: code point (ascending), weight.
"""
import struct
import sys

out = bytearray()
for line in open(sys.argv[1]):
    point, weight = line.rstrip("\n").split("\t")
    if not point.startswith("hex") and int(point, 16) <= 0xFFFF and int(point, 16) != int(weight, 16):
        out += struct.pack("<HH", int(point, 16), int(weight, 16))
open("crates/types/src/collation/general_ci.bin", "wb").write(out)
print(len(out) // 4, "characters")
