//! The tables.

use crate::shape::{Column, Index, Shape, Table, Value, below, column, computed, extra, index, one_of};
use env::SplitMix64;

pub const SHAPES: [&Shape; 8] = [&NUMBERS, &WORDS, &BYTES, &PIECES, &BODIES, &WIDE, &MADE, &FAMILIES];

fn id(random: &mut SplitMix64) -> String {
    below(random, 60).to_string()
}

fn small(random: &mut SplitMix64) -> String {
    below(random, 4).to_string()
}

fn number(random: &mut SplitMix64) -> String {
    below(random, 50).to_string()
}

fn or_null(random: &mut SplitMix64, value: fn(&mut SplitMix64) -> String) -> String {
    if below(random, 5) == 0 { "NULL".to_owned() } else { value(random) }
}

fn number_or_null(random: &mut SplitMix64) -> String {
    or_null(random, number)
}

fn small_or_null(random: &mut SplitMix64) -> String {
    or_null(random, small)
}

const NUMBERS: Shape = Shape {
    name: "numbers",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(id INT PRIMARY KEY, u INT, a INT NOT NULL, n INT NOT NULL, s VARCHAR(20) NOT NULL, \
            UNIQUE KEY u (u), KEY an (a, n), KEY s (s))",
        columns: &[
            column("id", "id", id, &["id + 1", "59 - id"]),
            column("u", "u", number_or_null, &["u + 1", "u - 1"]),
            column("a", "a", small, &["(a + 1) % 4"]),
            column("n", "n", number, &["(n + 17) % 50"]),
            column("s", "QUOTE(s)", |random| format!("'s{}'", below(random, 50)), &["CONCAT('s', n)"]),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["id >= 0"] },
            Index { name: "u", columns: &[1], whole: &["u >= -9", "u IS NULL"] },
            Index { name: "an", columns: &[2, 3], whole: &["a >= 0"] },
            Index { name: "s", columns: &[4], whole: &["s >= ''"] },
        ],
        unique: &[&["u"]],
        always: "TRUE",
        upkeep: None,
        builds: &[
            index("ADD KEY x (n, s)", "n >= 0"),
            index("ADD UNIQUE KEY x (id, n)", "id >= -9"),
            index("ENGINE = InnoDB, ADD KEY x (n)", "n >= 0"),
            index("ADD KEY x (a, u), ALGORITHM = COPY", "a >= 0"),
        ],
    }],
};

/// Words that are equal by one collation or another: by case, by accent, as a composed letter and as two characters, by an expansion, by a space at the end.
const WORD_FORMS: [&[&str]; 12] = [
    &["a", "A", "ä", "Ä", "á", "a\u{308}"],
    &["e", "E", "é", "e "],
    &["o", "O", "ö", "ô"],
    &["u", "U", "ü", "U "],
    &["n", "N", "ñ"],
    &["ss", "SS", "ß", "Ss"],
    &["ab", "AB", "äB", "ab "],
    &["abc", "ABC", "ábc"],
    &["abd", "aBd"],
    &["zz", "ZZ", "žz"],
    &["z", "Z", "ž"],
    &["", " "],
];

fn word(random: &mut SplitMix64) -> String {
    let forms = *one_of(random, &WORD_FORMS);
    format!("'{}'", one_of(random, forms))
}

fn word_or_null(random: &mut SplitMix64) -> String {
    or_null(random, word)
}

const fn cased(name: &'static str, shown: &'static str, value: fn(&mut SplitMix64) -> String) -> Column {
    // What a step makes of a word is nearly always equal to it.
    match name.as_bytes()[0] {
        b'k' => column(name, shown, value, &["UPPER(k)", "LOWER(k)", "REPLACE(k, 'a', 'ä')", "TRIM(k)"]),
        b'u' => column(name, shown, value, &["UPPER(u)", "LOWER(u)", "REPLACE(u, 'a', 'Á')"]),
        b's' => column(name, shown, value, &["UPPER(s)", "LOWER(s)", "CONCAT(TRIM(s), ' ')", "TRIM(s)"]),
        _ => column(name, shown, value, &["UPPER(l)", "LOWER(l)"]),
    }
}

/// Strings under collations by which different bytes are equal.
const WORDS: Shape = Shape {
    name: "words",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(k VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL, \
            u VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, s CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL, \
            l VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_ci NOT NULL, n INT NOT NULL, \
            PRIMARY KEY (k), UNIQUE KEY u (u), KEY sn (s, n), KEY l (l DESC), UNIQUE KEY lun (l, u, n))",
        columns: &[
            cased("k", "QUOTE(k)", word),
            cased("u", "QUOTE(u)", word_or_null),
            cased("s", "QUOTE(s)", word),
            cased("l", "QUOTE(l)", word),
            column("n", "n", small, &["(n + 1) % 4"]),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["k >= ''"] },
            Index { name: "u", columns: &[1], whole: &["u >= ''", "u IS NULL"] },
            Index { name: "sn", columns: &[2, 4], whole: &["s >= ''"] },
            Index { name: "l", columns: &[3], whole: &["l >= ''"] },
            Index { name: "lun", columns: &[3, 1, 4], whole: &["l >= ''"] },
        ],
        unique: &[&["u"], &["l", "u", "n"]],
        always: "TRUE",
        upkeep: None,
        builds: &[
            index("ADD KEY x (s, u)", "s >= ''"),
            index("ADD UNIQUE KEY x (k DESC, n)", "k >= ''"),
            index("ENGINE = InnoDB, ADD KEY x (l(1), k)", "l >= ''"),
            index("ADD KEY x (n, u DESC), ALGORITHM = COPY", "n >= 0"),
            extra("ADD COLUMN extra INT NOT NULL DEFAULT 7, ADD KEY x (extra)", "extra = 7"),
            extra("ADD COLUMN extra VARCHAR(9) NOT NULL DEFAULT 'more' FIRST, ALGORITHM = INSTANT", ""),
        ],
    }],
};

/// Prefixes of each other, with bytes that collations and the encoding of keys know as special ones.
const BYTE_STRINGS: [&str; 15] =
    ["''", "0x00", "0x0000", "0x00FF", "0x01", "0x20", "0x61", "0x41", "0x6120", "0x6100", "0x61FF", "0xFF", "0xFFFF", "0xFF00", "0xC3A4"];

fn bytes(random: &mut SplitMix64) -> String {
    (*one_of(random, &BYTE_STRINGS)).to_owned()
}

fn bytes_or_null(random: &mut SplitMix64) -> String {
    or_null(random, bytes)
}

fn bits(random: &mut SplitMix64) -> String {
    (*one_of(random, &["'a'", "'A'", "'ä'", "'a '", "'b'", "''", "'B'"])).to_owned()
}

const BYTES: Shape = Shape {
    name: "bytes",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(k VARBINARY(8) NOT NULL, u VARBINARY(8), f BINARY(4) NOT NULL, s VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, \
            w VARCHAR(8) CHARACTER SET latin1 COLLATE latin1_bin, n INT NOT NULL, PRIMARY KEY (k, n), UNIQUE KEY u (u), KEY f (f, s), KEY s (s DESC, u), UNIQUE KEY wn (w, k))",
        columns: &[
            column("k", "IF(k = '', QUOTE(''), CONCAT('0x', HEX(k)))", bytes, &["LEFT(CONCAT(k, 0x00), 8)", "LEFT(k, 1)", "UPPER(k)"]),
            column("u", "HEX(u)", bytes_or_null, &["LEFT(CONCAT(u, 0xFF), 8)", "LEFT(u, 1)"]),
            column("f", "HEX(f)", bytes, &["REVERSE(f)"]),
            column("s", "HEX(s)", bits, &["UPPER(s)", "CONCAT(TRIM(s), ' ')"]),
            column("w", "HEX(w)", bits, &["LOWER(w)"]),
            column("n", "n", |_| "0".to_owned(), &[]),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["k >= ''"] },
            Index { name: "u", columns: &[1], whole: &["u >= ''", "u IS NULL"] },
            Index { name: "f", columns: &[2, 3], whole: &["f >= ''"] },
            Index { name: "s", columns: &[3, 1], whole: &["s >= ''"] },
            Index { name: "wn", columns: &[4, 0], whole: &["w >= ''"] },
        ],
        unique: &[&["u"], &["w", "k"]],
        always: "TRUE",
        upkeep: None,
        builds: &[
            index("ADD KEY x (s(1), f)", "s >= ''"),
            index("ADD UNIQUE KEY x (f, k DESC)", "f >= ''"),
            index("ADD KEY x (u DESC), ALGORITHM = COPY", "u >= '' OR u IS NULL"),
        ],
    }],
};

fn piece(random: &mut SplitMix64) -> String {
    let head = one_of(random, &["abc", "Abc", "äbc", "abd", "ab", "b", ""]);
    format!("'{head}{}'", one_of(random, &["", "x", "xyz", "Ä", "0123456789"]))
}

fn binary_piece(random: &mut SplitMix64) -> String {
    format!("'{}{}'", one_of(random, &["", "a", "abcd", "abce", "aaaa"]), below(random, 30))
}

/// Prefixes of columns, descending columns, and NULLs within keys.
const PIECES: Shape = Shape {
    name: "pieces",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(id INT NOT NULL, c VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, e VARBINARY(20), d INT, f INT, x TEXT, \
            PRIMARY KEY (id DESC), KEY c3 (c(3)), KEY dc (d DESC, c(2)), UNIQUE KEY e6 (e(6)), UNIQUE KEY df (d, f DESC), KEY fe (f, e(1) DESC, d), KEY x5 (x(5)))",
        columns: &[
            column("id", "id", id, &["id + 1", "59 - id"]),
            column("c", "QUOTE(c)", piece, &["UPPER(c)", "LEFT(CONCAT(c, 'x'), 30)", "REPLACE(c, 'a', 'Ä')", "LEFT(c, 3)"]),
            column("e", "HEX(e)", binary_piece, &["LEFT(CONCAT(e, 'z'), 20)", "NULL"]),
            column("d", "d", small_or_null, &["(d + 1) % 4"]),
            column("f", "f", number_or_null, &["f + 1", "NULL", "f - 1"]),
            column("x", "QUOTE(x)", piece, &["REPEAT('long', 300)", "CONCAT(c, REPEAT('y', 2000))"]),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["id >= 0"] },
            Index { name: "c3", columns: &[1], whole: &["c >= ''"] },
            Index { name: "dc", columns: &[3, 1], whole: &["d >= 0", "d IS NULL"] },
            Index { name: "e6", columns: &[2], whole: &["e >= ''", "e IS NULL"] },
            Index { name: "df", columns: &[3, 4], whole: &["d >= 0", "d IS NULL"] },
            Index { name: "fe", columns: &[4, 2, 3], whole: &["f >= -9", "f IS NULL"] },
            Index { name: "x5", columns: &[5], whole: &["x >= ''"] },
        ],
        unique: &[&["LEFT(e, 6)"], &["d", "f"]],
        always: "TRUE",
        upkeep: None,
        builds: &[
            index("ADD KEY x (c(2) DESC, d)", "c >= '' OR c IS NULL"),
            index("ADD UNIQUE KEY x (id, e(3))", "id >= 0"),
            index("ENGINE = InnoDB, ADD KEY x (x(300), f)", "x >= '' OR x IS NULL"),
            index("ADD KEY x (e, f DESC), ALGORITHM = COPY", "e >= '' OR e IS NULL"),
            extra("ADD COLUMN extra INT DEFAULT 5 AFTER c, ALGORITHM = INSTANT", ""),
        ],
    }],
};

fn body(random: &mut SplitMix64) -> String {
    let length = *one_of(random, &[0, 1, 20, 300, 700, 3_000, 8_000, 16_500, 33_000, 60_000]);
    format!("RPAD('', {length}, '{:x}')", random.next())
}

fn body_or_null(random: &mut SplitMix64) -> String {
    or_null(random, body)
}

fn few(random: &mut SplitMix64) -> String {
    below(random, 16).to_string()
}

/// Long values, with a checksum of them beside.
const BODIES: Shape = Shape {
    name: "bodies",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(id INT PRIMARY KEY, a LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, b LONGBLOB NOT NULL, n INT NOT NULL, u INT, total BIGINT NOT NULL, \
            KEY a4 (a(4)), KEY bn (b(20), n), UNIQUE KEY u (u), KEY n (n))",
        columns: &[
            column("id", "id", few, &["id + 1", "15 - id"]),
            column(
                "a",
                "LENGTH(a)",
                body_or_null,
                &["LEFT(CONCAT(a, a), 60000)", "UPPER(a)", "LEFT(a, 100)", "SUBSTRING(a, 1000)", "CONCAT('é', LEFT(a, 30000))"],
            ),
            column(
                "b",
                "LENGTH(b)",
                body,
                &["LEFT(CONCAT(b, 'tail'), 60000)", "SUBSTRING(b, 2)", "INSERT(b, 500, 3, 'mid')", "LEFT(b, 9000)", "COALESCE(a, b)"],
            ),
            column("n", "n", number, &["(n + 17) % 50"]),
            column("u", "u", number_or_null, &["u + 1"]),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["id >= 0"] },
            Index { name: "a4", columns: &[1], whole: &["a >= ''", "a IS NULL"] },
            Index { name: "bn", columns: &[2, 3], whole: &["b >= ''"] },
            Index { name: "u", columns: &[4], whole: &["u >= 0", "u IS NULL"] },
            Index { name: "n", columns: &[3], whole: &["n >= 0"] },
        ],
        unique: &[&["u"]],
        always: "total = CRC32(COALESCE(a, '-')) + CRC32(b) * 2",
        upkeep: Some(("total", "CRC32(COALESCE(a, '-')) + CRC32(b) * 2")),
        builds: &[
            index("ADD KEY x (a(300), n)", "a >= '' OR a IS NULL"),
            index("ENGINE = InnoDB, ADD KEY x (b(700))", "b >= ''"),
            index("ADD KEY x (b(1), a(1)), ALGORITHM = COPY", "b >= ''"),
            extra("ADD COLUMN extra TEXT AFTER id, ALGORITHM = INSTANT", ""),
        ],
    }],
};

/// Each character weighs once: an index over the beginning of a column hides others from ranges, as MySQL's does ('ß' weighs as two, a combining accent nothing).
fn wide(random: &mut SplitMix64) -> String {
    let (word, length) = (one_of(random, &["a", "A", "ä", "ab", "äb", "e", "zz", "žZ"]), one_of(random, &[1, 100, 300, 600]));
    format!("CONCAT(RPAD('{word}', {length}, '{word}'), '{}')", below(random, 10))
}

fn many(random: &mut SplitMix64) -> String {
    below(random, 120).to_string()
}

/// Rows and keys of which few are in a page, so that pages are split and merged all the time.
const WIDE: Shape = Shape {
    name: "wide",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(id INT PRIMARY KEY, s VARCHAR(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL, \
            u VARCHAR(700) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, r VARBINARY(3000) NOT NULL, n INT NOT NULL, \
            KEY sn (s, n), UNIQUE KEY u (u), KEY ns (n, s(100) DESC))",
        columns: &[
            column("id", "id", many, &["id + 1", "119 - id", "(id * 7) % 120"]),
            column("s", "CONCAT(LENGTH(s), ' ', CRC32(s))", wide, &["UPPER(s)", "LEFT(s, 1)", "LEFT(CONCAT(s, s), 700)"]),
            column(
                "u",
                "CONCAT(LENGTH(u), ' ', CRC32(u))",
                |random| or_null(random, wide),
                &["UPPER(u)", "REVERSE(u)", "LEFT(CONCAT(u, u), 700)"],
            ),
            column("r", "CONCAT(LENGTH(r), ' ', CRC32(r))", body_of_row, &["LEFT(CONCAT(r, r, '+'), 3000)", "LEFT(r, 10)"]),
            column("n", "n", small, &["(n + 1) % 4"]),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["id >= 0"] },
            Index { name: "sn", columns: &[1, 4], whole: &["s >= ''"] },
            Index { name: "u", columns: &[2], whole: &["u >= ''", "u IS NULL"] },
            Index { name: "ns", columns: &[4, 1], whole: &["n >= 0"] },
        ],
        unique: &[&["u"]],
        always: "TRUE",
        upkeep: None,
        builds: &[
            index("ADD KEY x (u DESC, n)", "u >= '' OR u IS NULL"),
            index("ADD UNIQUE KEY x (s(200), id)", "s >= ''"),
            index("ENGINE = InnoDB, ADD KEY x (r(600))", "r >= ''"),
            index("ADD KEY x (r(700), n), ALGORITHM = COPY", "r >= ''"),
        ],
    }],
};

fn body_of_row(random: &mut SplitMix64) -> String {
    format!("RPAD('', {}, '{:x}')", one_of(random, &[0, 10, 500, 1_500, 3_000]), random.next())
}

/// Generated columns and expressions.
const MADE: Shape = Shape {
    name: "made",
    orphans: &[],
    joint: &[],
    tables: &[Table {
        name: "t",
        definition: "(id INT PRIMARY KEY, n INT, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL, \
            v INT AS (n % 7) VIRTUAL, g VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci AS (CONCAT(s, '-', COALESCE(n, 'none'))) STORED, \
            w VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin AS (REVERSE(s)) VIRTUAL, \
            KEY v (v, id), UNIQUE KEY g (g), KEY w (w, v DESC), KEY e ((n * 3 + id)), UNIQUE KEY fs ((LOWER(s)), (n + 1)), KEY ng (n, g(3)))",
        columns: &[
            column("id", "id", id, &["id + 1", "59 - id"]),
            column("n", "n", number_or_null, &["n + 7", "n - 1", "NULL"]),
            column("s", "QUOTE(s)", piece, &["UPPER(s)", "REVERSE(s)", "LEFT(s, 1)"]),
            computed("v", "v", |random| below(random, 7).to_string()),
            computed("g", "QUOTE(g)", piece),
            computed("w", "QUOTE(w)", piece),
            computed("(n * 3 + id)", "n * 3 + id", number),
            computed("(LOWER(s))", "QUOTE(LOWER(s))", piece),
        ],
        indexes: &[
            Index { name: "PRIMARY", columns: &[0], whole: &["id >= -99"] },
            Index { name: "v", columns: &[3, 0], whole: &["v >= -9", "v IS NULL"] },
            Index { name: "g", columns: &[4], whole: &["g >= ''"] },
            Index { name: "w", columns: &[5, 3], whole: &["w >= ''"] },
            Index { name: "e", columns: &[6], whole: &["(n * 3 + id) >= -999"] },
            Index { name: "ng", columns: &[1, 4], whole: &["n >= -99", "n IS NULL"] },
        ],
        unique: &[&["g"], &["LOWER(s)", "n"]],
        always: "v <=> n % 7 AND g = CONCAT(s, '-', COALESCE(n, 'none')) AND w = REVERSE(s)",
        upkeep: None,
        builds: &[
            index("ADD KEY x (v, s)", "v >= -9 OR v IS NULL"),
            index("ADD UNIQUE KEY x (w, id)", "w >= ''"),
            index("ENGINE = InnoDB, ADD KEY x (g DESC)", "g >= ''"),
            index("ADD KEY x (n, w), ALGORITHM = COPY", "n >= -99 OR n IS NULL"),
            extra("ADD COLUMN extra INT AS (n + 1) VIRTUAL, ADD KEY x (extra)", "extra >= -99 OR extra IS NULL"),
            extra("ADD COLUMN extra VARCHAR(30) AS (LOWER(s)) STORED AFTER id, ADD KEY x (extra)", "extra >= ''"),
        ],
    }],
};

fn member(random: &mut SplitMix64) -> String {
    below(random, 30).to_string()
}

/// Mostly none: a row that refers to several others is seldom let in.
fn seldom(random: &mut SplitMix64, value: Value) -> String {
    if below(random, 3) > 0 { "NULL".to_owned() } else { value(random) }
}

/// Rows that refer to others by strings, numbers and to their own table, and are changed with them.
const FAMILIES: Shape = Shape {
    name: "families",
    orphans: &[
        "c LEFT JOIN p ON c.k = p.k WHERE c.k IS NOT NULL AND p.k IS NULL",
        "g LEFT JOIN p ON g.k = p.k AND g.n = p.n WHERE g.k IS NOT NULL AND g.n IS NOT NULL AND p.k IS NULL",
        "c LEFT JOIN p ON c.u = p.u WHERE c.u IS NOT NULL AND p.u IS NULL",
        "c LEFT JOIN c AS c1 ON c.boss = c1.id WHERE c.boss IS NOT NULL AND c1.id IS NULL",
        "c LEFT JOIN c AS c1 ON c.rival = c1.tag WHERE c.rival IS NOT NULL AND c1.tag IS NULL",
    ],
    joint: &[
        |random| {
            format!("UPDATE p JOIN c ON c.k = p.k SET p.n = {}, c.n = {} WHERE c.id < {}", small(random), small(random), member(random))
        },
        |random| format!("UPDATE p JOIN c ON c.k = p.k SET p.k = {} WHERE c.id = {}", word(random), member(random)),
        |random| format!("UPDATE c LEFT JOIN p ON c.u = p.u SET c.k = p.k WHERE c.id > {}", member(random)),
        |random| format!("DELETE p, c FROM p JOIN c ON c.u = p.u WHERE c.n = {}", small(random)),
        |random| format!("UPDATE p JOIN c ON c.k = p.k SET p.u = p.u + 1, c.tag = NULL WHERE p.n = {}", small(random)),
        |random| format!("INSERT IGNORE INTO c (id, k, u, n) SELECT id + 1, k, u, n FROM c WHERE n = {}", small(random)),
    ],
    tables: &[
        Table {
            name: "p",
            definition: "(k VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, u INT, n INT NOT NULL, long_one TEXT, UNIQUE KEY u (u), KEY n (n), UNIQUE KEY kn (k, n))",
            columns: &[
                cased("k", "QUOTE(k)", word),
                column("u", "u", few, &["u + 1", "u - 1"]),
                column("n", "n", small, &["(n + 1) % 4"]),
                column("long_one", "QUOTE(long_one)", word, &["REPEAT('long', 2500)"]),
            ],
            indexes: &[
                Index { name: "PRIMARY", columns: &[0], whole: &["k >= ''"] },
                Index { name: "u", columns: &[1], whole: &["u >= -9", "u IS NULL"] },
                Index { name: "n", columns: &[2], whole: &["n >= 0"] },
            ],
            unique: &[&["u"]],
            always: "TRUE",
            upkeep: None,
            builds: &[index("ADD KEY x (n, k)", "n >= 0"), index("ENGINE = InnoDB, ADD KEY x (k, n)", "k >= ''")],
        },
        Table {
            name: "c",
            definition: "(id INT PRIMARY KEY, k VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, u INT, boss INT, tag INT, rival INT, n INT NOT NULL, \
                KEY kn (k, n), KEY u (u), UNIQUE KEY tag (tag), KEY boss (boss), KEY rival (rival), \
                CONSTRAINT by_k FOREIGN KEY (k) REFERENCES p (k) ON UPDATE CASCADE ON DELETE SET NULL, \
                CONSTRAINT by_u FOREIGN KEY (u) REFERENCES p (u) ON UPDATE SET NULL ON DELETE CASCADE, \
                CONSTRAINT by_boss FOREIGN KEY (boss) REFERENCES c (id) ON DELETE CASCADE, \
                CONSTRAINT by_rival FOREIGN KEY (rival) REFERENCES c (tag) ON DELETE SET NULL)",
            columns: &[
                column("id", "id", member, &["id + 1"]),
                cased("k", "QUOTE(k)", |random| seldom(random, word)),
                column("u", "u", |random| seldom(random, few), &["NULL"]),
                column("boss", "boss", |random| seldom(random, member), &["NULL", "id"]),
                column("tag", "tag", |random| or_null(random, member), &["tag + 1"]),
                column("rival", "rival", |random| seldom(random, small), &["NULL", "tag"]),
                column("n", "n", small, &["(n + 1) % 4"]),
            ],
            indexes: &[
                Index { name: "PRIMARY", columns: &[0], whole: &["id >= 0"] },
                Index { name: "kn", columns: &[1, 6], whole: &["k >= ''", "k IS NULL"] },
                Index { name: "u", columns: &[2], whole: &["u >= -9", "u IS NULL"] },
                Index { name: "boss", columns: &[3], whole: &["boss >= 0", "boss IS NULL"] },
                Index { name: "tag", columns: &[4], whole: &["tag >= 0", "tag IS NULL"] },
                Index { name: "rival", columns: &[5], whole: &["rival >= 0", "rival IS NULL"] },
            ],
            unique: &[&["tag"]],
            always: "TRUE",
            upkeep: None,
            builds: &[
                index("ADD KEY x (n, k)", "n >= 0"),
                index("ENGINE = InnoDB, ADD KEY x (u, id)", "u >= -9 OR u IS NULL"),
                index("ADD KEY x (boss, n), ALGORITHM = COPY", "boss >= 0 OR boss IS NULL"),
                extra("ADD COLUMN extra INT NOT NULL DEFAULT 7, ADD KEY x (extra)", "extra = 7"),
            ],
        },
        // Its generated column follows cascades, beside a value off page.
        Table {
            name: "g",
            definition: "(id INT PRIMARY KEY, k VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci, n INT, body LONGTEXT NOT NULL, \
                w VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_as_cs AS (CONCAT(k, '-', n)) VIRTUAL, KEY w (w), KEY kn (k, n), \
                CONSTRAINT by_kn FOREIGN KEY (k, n) REFERENCES p (k, n) ON UPDATE CASCADE ON DELETE SET NULL)",
            columns: &[
                column("id", "id", member, &["id + 1"]),
                cased("k", "QUOTE(k)", word_or_null),
                column("n", "n", small_or_null, &["NULL"]),
                column("body", "CONCAT(LENGTH(body), ' ', CRC32(body))", body, &["LEFT(body, 8000)"]),
                computed("w", "QUOTE(w)", word),
            ],
            indexes: &[
                Index { name: "PRIMARY", columns: &[0], whole: &["id >= 0"] },
                Index { name: "w", columns: &[4], whole: &["w >= ''", "w IS NULL"] },
                Index { name: "kn", columns: &[1, 2], whole: &["k >= ''", "k IS NULL"] },
            ],
            unique: &[],
            always: "HEX(w) <=> HEX(CONCAT(k, '-', n))",
            upkeep: None,
            builds: &[
                index("ADD KEY x (w(3), n)", "w >= '' OR w IS NULL"),
                extra("ADD COLUMN extra INT AS (n + id) VIRTUAL, ADD KEY x (extra)", "extra >= -9 OR extra IS NULL"),
                index("ADD KEY x (body(9)), ALGORITHM = COPY", "body >= ''"),
            ],
        },
    ],
};
