#!/usr/bin/env python3
"""Generates the weights of language-specific collations in crates/types/src/collation/ by asking a running MySQL 9.7 (needs PyMySQL):

    scripts/generate_tailorings.py HOST PORT USER [PASSWORD] [--only=NAME,…] [--kept=DIRECTORY]

MySQL took the order of these languages from CLDR's tailorings of Unicode's DUCET (see LICENSE-UNICODE.txt there). This script does not read them: it asks the
weights of every code point, and of what may be a contraction, and keeps what differs from the collation of no language (`uca900.bin`, `uca400.bin`).
For each language it prints what it found, and how many of 20000 texts made at random weigh otherwise than that says. It asks for half an hour;
`--kept` keeps what is known of a language in a file there and does not ask again. `--only` writes nothing else.

- `tailored900.bin`, `tailored400.bin`: for every language of `LANGUAGES` and `OLD` in their order: a varint count of bytes, and so many bytes.
  Those begin with the rules about weights (only 900): a varint count of moved ranges of primary weights, each as varints: distance of its first weight
  from the last of the range before, count of weights less 1, zigzag of the distance it moves, lead weight put before each (0: none); a varint count of pairs of
  tertiary weights, root's and the language's, varints. The weight behind one of FBxx does not move. Then single code points: a varint count of runs; a run
  is a distance from the code point behind the last run, a count of code points less 1, and a kind: 0: weights follow for each code point; 1 (only 900):
  each has one primary weight, as a zigzag distance from the primary weight before, the secondary one 20 and the tertiary one that 2 becomes.
  Then contractions: a varint count; each: the count of its code points, these, and weights (for Japanese the weights of the last behind the first). Weights: for every level (400: one; 900: three) a count
  and the weights, primary ones as a zigzag distance from the primary weight before, others as they are. All numbers are varints.
- `tailored_kana.bin`: fourth level of `utf8mb4_ja_0900_as_cs_ks`. Varints: count of runs; each: distance from the code point behind the last, count of code
  points, count of weights, weights; then the count of contractions, and of each in order the count of its weights and these.
- `tailored_weights.txt`: for every collation CRC-32 of `HEX(WEIGHT_STRING(c))` as in `weights.txt`: over the characters of `sample`, over contractions.
- `tailored_words.txt`: for every collation a line of words as it sorts them.
"""
import os
import pickle
import random
import sys
import zlib

import pymysql

from packed import varint, zigzag

WHERE = "crates/types/src/collation/"
LANGUAGES = ["bg", "bs", "cs", "da", "de_pb", "eo", "es", "es_trad", "et", "gl", "hr", "hu", "is", "ja", "la", "lt", "lv", "mn_cyrl", "nb", "nn", "pl", "ro",
             "ru", "sk", "sl", "sr_latn", "sv", "tr", "vi", "zh"]
OLD = ["croatian", "czech", "danish", "esperanto", "estonian", "german2", "hungarian", "icelandic", "latvian", "lithuanian", "persian", "polish", "roman",
       "romanian", "sinhala", "slovak", "slovenian", "spanish", "spanish2", "swedish", "turkish", "vietnamese"]
KANA = [*range(0x3041, 0x3100), *range(0x31F0, 0x3200), *range(0xFF65, 0xFFA0), 0x1B000, 0x1B001]


def groups(text, count=0):
    """The weights of a WEIGHT_STRING by levels. Of more than `count` the first have a primary weight 0 between them: Lithuanian contractions of accents."""
    levels = [[]]
    for at in range(0, len(text), 4):
        weight = int(text[at:at + 4], 16)
        if weight:
            levels[-1].append(weight)
        else:
            levels.append([])
    while 0 < count < len(levels):
        levels[:2] = [levels[0] + [0] + levels[1]]
    return levels


def text_of(points):
    return "".join(map(chr, points))


class Server:
    def __init__(self, host, port, user, password):
        self.db = pymysql.connect(host=host, port=int(port), user=user, password=password, charset="utf8mb4")
        self.run("SET SESSION cte_max_recursion_depth=2000000")
        self.run("CREATE DATABASE IF NOT EXISTS collate_helper")
        self.run("USE collate_helper")
        self.run("CREATE TEMPORARY TABLE p (n INT PRIMARY KEY, c VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin)")
        self.run("INSERT INTO p WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n+1 FROM s WHERE n<1114111) "
                 "SELECT n, CONVERT(CHAR(n USING utf32) USING utf8mb4) FROM s WHERE n<0xd800 OR n>0xdfff")
        self.run("CREATE TEMPORARY TABLE w (n INT PRIMARY KEY, c VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin)")

    def run(self, statement, *values):
        with self.db.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchall()

    def differing(self, collation, root):
        """(code point, weights) where they differ from the root's."""
        return self.run(f"SELECT n, HEX(WEIGHT_STRING(c COLLATE {collation})) FROM p "
                        f"WHERE WEIGHT_STRING(c COLLATE {collation}) <> WEIGHT_STRING(c COLLATE {root})")

    def all(self, collation, points="n >= 0"):
        text = "c" if collation.startswith("utf8mb4") else "CONVERT(c USING utf8mb3)"
        return self.run(f"SELECT HEX(WEIGHT_STRING({text} COLLATE {collation})) FROM p WHERE {points} ORDER BY n")

    def weights(self, collation, texts):
        """Weights of texts."""
        out = []
        for at in range(0, len(texts), 50000):
            part = texts[at:at + 50000]
            self.run("DELETE FROM w")
            with self.db.cursor() as cursor:
                cursor.executemany("INSERT INTO w VALUES (%s, %s)", list(enumerate(part)))
            text = "c" if collation.startswith("utf8mb4") else "CONVERT(c USING utf8mb3)"
            out += [row[0] for row in self.run(f"SELECT HEX(WEIGHT_STRING({text} COLLATE {collation})) FROM w ORDER BY n")]
        return out

    def sorted(self, collation, texts):
        self.run("DELETE FROM w")
        with self.db.cursor() as cursor:
            cursor.executemany("INSERT INTO w VALUES (%s, %s)", list(enumerate(texts)))
        return [row[0] for row in self.run(f"SELECT c FROM w ORDER BY c COLLATE {collation}, c COLLATE utf8mb4_0900_bin")]


class Root:
    """Weights of the collation of no language; ideographs and what is not assigned by the formula, to save memory."""

    def __init__(self, levels, rows):
        self.levels, self.leads, self.explicit = levels, {}, {}
        n = 0
        for row in rows:
            if n == 0xD800:
                n = 0xE000
            found = groups(row[0])
            if n > 0x7F and len(found[0]) == 2 and lead(found[0][0]) and found == self.computed(n, found[0][0]):
                self.leads.setdefault(found[0][0], []).append(n)
            else:
                self.explicit[n] = found
            n += 1
        self.lead_of = {n: weight for weight, points in self.leads.items() for n in points}

    def computed(self, n, weight):
        second = n & 0x7FFF | 0x8000 if not 0x17000 <= n <= 0x18AFF else n - 0x17000 | 0x8000
        return [[weight, second], [0x20], [2]][:self.levels]

    def __getitem__(self, n):
        return self.explicit[n] if n in self.explicit else self.computed(n, self.lead_of[n])

    def __iter__(self):
        yield from self.explicit
        yield from self.lead_of


def lead(weight):
    return weight >> 8 == 0xFB


def tokens(primaries):
    """Primary weights, those of an implicit pair together."""
    out, at = [], 0
    while at < len(primaries):
        count = 2 if lead(primaries[at]) and at + 1 < len(primaries) else 1
        out.append(tuple(primaries[at:at + count]))
        at += count
    return out


class Rules:
    """How the root's weights become the language's, apart from single code points."""

    def __init__(self):
        self.moves = {}      # primary weight -> (lead or 0, weight)
        self.ranges = []
        self.tertiary = {}

    def fit(self, rows):
        """Finds them in rows of (levels, root's levels), which are all that there are."""
        moves, tertiary = {}, {}
        for own, root in rows:
            before = tokens(root[0])
            if len(own[0]) == len(root[0]):
                after, at = [], 0
                for token in before:
                    after.append(tuple(own[0][at:at + len(token)]))
                    at += len(token)
            else:
                after = tokens(own[0])
            if len(before) == len(after):
                for a, b in zip(before, after):
                    if len(a) == 2:
                        if len(b) == 2 and a[1] == b[1]:
                            vote(moves, a[0], (0, b[0]))
                    else:
                        vote(moves, a[0], (0, b[0]) if len(b) == 1 else b)
            if len(own) > 2 and len(own[2]) == len(root[2]):
                for a, b in zip(root[2], own[2]):
                    vote(tertiary, a, b)
        # Of as many votes staying counts more.
        moves = {a: max(sorted(votes), key=lambda b: (votes[b], b == (0, a))) for a, votes in moves.items()}
        tertiary = {a: max(sorted(votes), key=votes.get) for a, votes in tertiary.items()}
        if tertiary[2] != 2:
            self.tertiary = tertiary
        last = None
        for weight in sorted(moves):
            before, new = moves[weight]
            key = (before, new - weight)
            # A lone weight that goes elsewhere is a tailored letter, not a script.
            if last and last[2] == key:
                last[1] = weight
            else:
                last = [weight, weight, key]
                self.ranges.append(last)
        self.ranges = [(first, end, *key) for first, end, key in self.ranges if key != (0, 0)]

    def primary(self, weight):
        for first, end, before, delta in self.ranges:
            if first <= weight <= end:
                return before, weight + delta
        return 0, weight

    def apply(self, root):
        primaries, behind = [], False
        for weight in root[0]:
            if behind:
                primaries.append(weight)
                behind = False
                continue
            behind = lead(weight)
            before, moved = self.primary(weight)
            primaries += [before, moved] if before else [moved]
        if len(root) == 1:
            return [primaries]
        return [primaries, root[1], [self.tertiary.get(weight, weight) for weight in root[2]]]


def vote(votes, a, b):
    mine = votes.setdefault(a, {})
    mine[b] = mine.get(b, 0) + 1


class Language:
    """What is known of one: rules, single code points, contractions."""

    def __init__(self, collation, root, levels):
        self.collation, self.root, self.levels = collation, root, levels
        self.rules, self.points, self.contractions, self.marks = Rules(), {}, {}, {}
        self.memo = {}

    def ask_points(self, server, roots):
        changed = dict(server.differing(self.collation, self.root))
        self.roots = roots
        own = lambda n, root: groups(changed[n]) if n in changed else root
        every = changed
        if self.levels == 3 and len(changed) > 1000:
            every = roots
            self.rules.fit((own(n, roots[n]), roots[n]) for n in roots)
        for n in sorted(every):
            root = roots[n]
            mine = own(n, root)
            if self.rules.apply(root) != mine:
                self.points[n] = mine

    def of_point(self, n):
        if n in self.points:
            return self.points[n]
        if n not in self.memo:
            self.memo[n] = self.rules.apply(self.roots[n])
        return self.memo[n]

    def of(self, points):
        """The model: the longest contraction that starts here, else the code point; a Japanese mark by what is before it."""
        out, at = [[] for _ in range(self.levels)], 0
        if self.marks:
            for level, weights in enumerate(out):
                # MySQL begins every level but the first with the last character of the text as the one before.
                before = points[-1] if level else None
                for n in points:
                    weights += (self.marks.get((before, n)) or self.of_point(n))[level]
                    before = n
            return out
        while at < len(points):
            for count in (4, 3, 2):
                key = tuple(points[at:at + count])
                if len(key) == count and key in self.contractions:
                    found = self.contractions[key]
                    break
            else:
                count, found = 1, self.of_point(points[at])
            for level, weights in zip(out, found):
                level += weights
            at += count
        return out

    def try_sequences(self, server, sequences):
        found = []
        answers = server.weights(self.collation, [text_of(s) for s in sequences])
        for sequence, answer in zip(sequences, answers):
            observed = groups(answer, self.levels)
            if observed != self.of(sequence):
                found.append((tuple(sequence), observed))
        return found

    def alphabet(self):
        letters = {*range(0x41, 0x5B), *range(0x61, 0x7B), 0x27, 0x2D, 0xB7, 0x140, 0x2BC, 0x200D, 0x1, 0x20, *range(0xC0, 0x180),
                   *range(0x300, 0x346), 0x1C4, 0x1C5, 0x1C6, 0x1C7, 0x1C8, 0x1C9, 0x1CA, 0x1CB, 0x1CC}
        letters |= {n for n in self.points if n < 0x3000 or 0xA640 <= n < 0xA800}
        if "cyrl" in self.collation or "_ru_" in self.collation or "_bg_" in self.collation:
            letters |= set(range(0x400, 0x530))
        if "_ja_" in self.collation:
            letters |= set(KANA)
        if "sinhala" in self.collation:
            letters |= set(range(0xD81, 0xDF5)) - {0xD84}
        if "persian" in self.collation:
            letters |= set(range(0x600, 0x660))
        return sorted(letters)

    def ask_marks(self, server):
        """Japanese marks that weigh as the syllable before them says."""
        pairs = [(a, b) for a in KANA for b in (0x30FC, 0x30FD, 0x30FE, 0x309D, 0x309E, 0xFF70)]
        marks = {}
        for _, *pair, observed in [(*key, found) for key, found in self.try_sequences(server, [(0x61, *pair) for pair in pairs])]:
            before = self.of([0x61, pair[0]])
            assert all(level[:len(start)] == start for level, start in zip(observed, before)), pair
            marks[tuple(pair)] = [level[len(start):] for level, start in zip(observed, before)]
        self.marks = marks

    def ask_contractions(self, server):
        if "_ja_" in self.collation:
            return self.ask_marks(server)
        letters = self.alphabet()
        if len(letters) > 700:
            letters = [n for n in letters if not 0x400 <= n < 0x530 or 0x410 <= n < 0x460]
        pairs = [(a, b) for a in letters for b in letters]
        for key, observed in self.try_sequences(server, pairs):
            self.contractions[key] = observed
        small = list(range(0x61, 0x7B)) + [n for n in (0x41, 0x5A, 0x53, 0x43, 0x44)]
        triples = [(a, b, c) for a in small for b in small for c in small]
        ends = [n for n in letters if n < 0x180]
        triples += [(*pair, c) for pair in self.contractions for c in ends]
        triples += [(c, *pair) for pair in self.contractions for c in ends[:140]]
        more = self.try_sequences(server, triples)
        # First those of a length, so that longer ones which only hold them are not taken for others.
        for key, observed in more:
            self.contractions[key] = observed
        longer = [(*key, c) for key in self.contractions if len(key) == 3 for c in ends]
        for key, observed in self.try_sequences(server, longer):
            self.contractions[key] = observed

    def bytes(self):
        out, self.before = bytearray(), 0
        if self.levels == 3:
            out += varint(len(self.rules.ranges))
            last = 0
            for first, end, before, delta in self.rules.ranges:
                out += varint(first - last) + varint(end - first) + zigzag(delta) + varint(before)
                last = end
            out += varint(len(self.rules.tertiary))
            for a in sorted(self.rules.tertiary):
                out += varint(a) + varint(self.rules.tertiary[a])
        runs = []
        tertiary = self.rules.tertiary.get(2, 2)
        for n in sorted(self.points):
            levels = self.points[n]
            kind = int(self.levels == 3 and len(levels[0]) == 1 and levels[1:] == [[0x20], [tertiary]])
            if runs and runs[-1][0] + len(runs[-1][2]) == n and runs[-1][1] == kind:
                runs[-1][2].append(levels)
            else:
                runs.append((n, kind, [levels]))
        out += varint(len(runs))
        last = 0
        for first, kind, run in runs:
            out += varint(first - last) + varint(len(run) - 1) + varint(kind)
            last = first + len(run)
            for levels in run:
                out += self.primaries(levels[0]) if kind else self.weights_bytes(levels)
        joined = self.contractions | self.marks
        out += varint(len(joined))
        for key in sorted(joined):
            out += varint(len(key)) + b"".join(map(varint, key)) + self.weights_bytes(joined[key])
        return varint(len(out)) + out

    def primaries(self, weights):
        out = b""
        for weight in weights:
            out += zigzag(weight - self.before)
            self.before = weight
        return out

    def weights_bytes(self, levels):
        out = varint(len(levels[0])) + self.primaries(levels[0])
        for level in levels[1:]:
            out += varint(len(level)) + b"".join(map(varint, level))
        return out

    def describe(self):
        return (f"{self.collation}: {len(self.rules.ranges)} ranges, {len(self.rules.tertiary)} tertiaries, {len(self.points)} points, "
                f"{len(self.marks)} pairs with marks, {len(self.contractions)} contractions {sorted({text_of(k).lower() for k in self.contractions})[:12]}")


def families(only):
    for language in LANGUAGES:
        yield language, f"utf8mb4_{language}_0900_as_cs", 3
    for language in OLD:
        yield language, f"utf8mb4_{language}_ci", 1


def collations_of(language, levels):
    if levels == 1:
        return [f"utf8mb3_{language}_ci", f"utf8mb4_{language}_ci"]
    if language == "ja":
        return ["utf8mb4_ja_0900_as_cs", "utf8mb4_ja_0900_as_cs_ks"]
    if language == "zh":
        return ["utf8mb4_zh_0900_as_cs"]
    return [f"utf8mb4_{language}_0900_ai_ci", f"utf8mb4_{language}_0900_as_cs"]


def sample(collation):
    """The code points that a test looks at, as SQL."""
    points = "(n < 13312 OR n BETWEEN 40960 AND 44031 OR n BETWEEN 63744 AND 65535 OR MOD(n, 61) = 0"
    if "_ja_" in collation or "_zh_" in collation:
        points += " OR n < 40960 OR n BETWEEN 131072 AND 196607"
    return points + (") AND n < 65536" if collation.startswith("utf8mb3") else ")")


def words(language):
    """Some words with what the language orders in its own way."""
    points = [n for n in language.points if n < 0x3100 or 0x4E00 <= n < 0x9000]
    step = max(1, len(points) // 14)
    out = {chr(n) for n in points[::step]} | {chr(n) + "a" for n in points[1::step]}
    keys = sorted(language.contractions | language.marks)
    step = max(1, len(keys) // 8)
    out |= {text_of(k) for k in keys[::step]} | {text_of(k[:1]) + "zz" for k in keys[::step]}
    return sorted(out | {"a", "A", "z", "Z", "x", "b", "n", "y", "w"})


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    kept = next((a.split("=")[1] for a in sys.argv if a.startswith("--kept=")), None)
    only = next((a.split("=")[1].split(",") for a in sys.argv if a.startswith("--only=")), None)
    server = Server(*arguments[:3], "".join(arguments[3:4]))
    roots = {}
    for levels, root in ((3, "utf8mb4_0900_as_cs"), (1, "utf8mb4_unicode_ci")):
        roots[levels] = Root(levels, server.all(root))
    japanese = None
    files, hashes, sorts = {3: bytearray(), 1: bytearray()}, [], []
    for name, collation, levels in families(only):
        if only and name not in only:
            continue
        file = kept and os.path.join(kept, f"{name}{levels}.pickle")
        if file and os.path.exists(file):
            language = pickle.load(open(file, "rb"))
            language.roots = roots[levels]
        else:
            language = Language(collation, "utf8mb4_0900_as_cs" if levels == 3 else "utf8mb4_unicode_ci", levels)
            language.ask_points(server, roots[levels])
            language.ask_contractions(server)
            language.roots, language.memo = None, {}
            if file:
                pickle.dump(language, open(file, "wb"))
            language.roots = roots[levels]
            print(language.describe(), flush=True)
            seed = random.randrange(1 << 30)
            draw = random.Random(seed)
            letters = language.alphabet()
            special = [n for key in language.contractions | language.marks for n in key] or letters
            texts = [[draw.choice(draw.choice((letters, special, special))) for _ in range(draw.randrange(2, 9))] for _ in range(20000)]
            wrong = language.try_sequences(server, texts)
            print(f"  {len(wrong)} of {len(texts)} random texts differ (seed {seed})", wrong[:3], flush=True)
        japanese = language if name == "ja" else japanese
        data = language.bytes()
        if only:
            continue
        files[levels] += data
        keys = sorted(language.contractions | language.marks)
        for own in collations_of(name, levels):
            crc = lambda weights: zlib.crc32("".join(weight + "\n" for weight in weights).encode())
            hashes.append(f"{own} {crc(row[0] for row in server.all(own, sample(own))):08x} {crc(server.weights(own, [text_of(k) for k in keys])):08x}\n")
            if not own.startswith("utf8mb3"):
                sorts.append(own + " " + " ".join(server.sorted(own, words(language))) + "\n")
    if only:
        return
    open(WHERE + "tailored900.bin", "wb").write(files[3])
    open(WHERE + "tailored400.bin", "wb").write(files[1])
    open(WHERE + "tailored_weights.txt", "w").write("".join(hashes))
    open(WHERE + "tailored_words.txt", "w").write("".join(sorts))
    last, runs = 0, []
    for n, row in zip((n for n in range(0x110000) if not 0xD800 <= n <= 0xDFFF), server.all("utf8mb4_ja_0900_as_cs_ks")):
        fourth = (groups(row[0]) + [[]])[3]
        if fourth and runs and runs[-1][0] + runs[-1][1] == n and runs[-1][2] == fourth:
            runs[-1][1] += 1
        elif fourth:
            runs.append([n, 1, fourth])
    listed = lambda weights: varint(len(weights)) + b"".join(map(varint, weights))
    out = varint(len(runs))
    for first, count, fourth in runs:
        out += varint(first - last) + varint(count) + listed(fourth)
        last = first + count
    keys = sorted(japanese.marks)
    out += varint(len(keys))
    for (before, _), answer in zip(keys, server.weights("utf8mb4_ja_0900_as_cs_ks", ["a" + text_of(key) for key in keys])):
        fourth = next((fourth for first, count, fourth in runs if first <= before < first + count), [])
        both = (groups(answer) + [[]])[3]
        assert both[:len(fourth)] == fourth
        out += listed(both[len(fourth):])
    open(WHERE + "tailored_kana.bin", "wb").write(out)
    server.run("DROP DATABASE collate_helper")


main()
