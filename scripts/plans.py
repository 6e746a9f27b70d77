#!/usr/bin/env python3
"""Whether the plans that the optimizer chooses are near the best there are, and its estimates near what is.

A server of its own is asked for TPC-H (`tpch/`), TPC-C's joins and the shapes of the Join Order Benchmark (stars and snowflakes around a big table, on
made data with skew). Each statement runs with the plan that is chosen, then with others that are forced: other orders of the join (JOIN_ORDER: those that
begin with each of the tables, and drawn ones), no hash tables (`block_nested_loop=off`), no index but the primary key (NO_INDEX), subqueries that are not
joined or not run ahead. What a plan costs is the processor time of the server's threads while it runs, the least of the rounds; a plan that takes ten
times the chosen one's is stopped. Then the estimates of conditions on single tables, by EXPLAIN, beside the rows that they leave.

    python3 scripts/plans.py --binary target/fast/altiplano [--only Q9 --forced 8]
"""
import argparse
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from joins import OWN_TABLES, SCHEMA, STATEMENTS, Side, load, own_data
from measure import start_server, stop_server
from tpch import data as tpch
from tpch.queries import QUERIES

# Films, who made and plays in them, and what is said of them: the Join Order Benchmark's graph with sizes of a test.
JOB_SCHEMA = """
CREATE TABLE kind_type (id INT PRIMARY KEY, kind VARCHAR(15) NOT NULL);
CREATE TABLE info_type (id INT PRIMARY KEY, info VARCHAR(32) NOT NULL);
CREATE TABLE company_type (id INT PRIMARY KEY, kind VARCHAR(32) NOT NULL);
CREATE TABLE role_type (id INT PRIMARY KEY, role VARCHAR(32) NOT NULL);
CREATE TABLE keyword (id INT PRIMARY KEY, keyword VARCHAR(40) NOT NULL);
CREATE TABLE company_name (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, country_code VARCHAR(10) NOT NULL);
CREATE TABLE name (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL, gender CHAR(1));
CREATE TABLE title (id INT PRIMARY KEY, title VARCHAR(80) NOT NULL, kind_id INT NOT NULL, production_year INT);
CREATE TABLE movie_companies (id INT PRIMARY KEY, movie_id INT NOT NULL, company_id INT NOT NULL, company_type_id INT NOT NULL, note VARCHAR(60), KEY (movie_id), KEY (company_id));
CREATE TABLE movie_keyword (id INT PRIMARY KEY, movie_id INT NOT NULL, keyword_id INT NOT NULL, KEY (movie_id), KEY (keyword_id));
CREATE TABLE movie_info (id INT PRIMARY KEY, movie_id INT NOT NULL, info_type_id INT NOT NULL, info VARCHAR(40) NOT NULL, KEY (movie_id));
CREATE TABLE cast_info (id INT PRIMARY KEY, person_id INT NOT NULL, movie_id INT NOT NULL, role_id INT NOT NULL, note VARCHAR(40), KEY (movie_id), KEY (person_id));
"""
JOB_TABLES = ["kind_type", "info_type", "company_type", "role_type", "keyword", "company_name", "name", "title", "movie_companies", "movie_keyword", "movie_info", "cast_info"]
JOB = {
    "JOB 1: companies of a kind": "SELECT MIN(mc.note), MIN(t.title), MIN(t.production_year) FROM company_type ct, info_type it, movie_companies mc, movie_info mi, title t WHERE ct.kind = 'production companies' AND it.info = 'top 250 rank' AND mc.note LIKE '%(co-production)%' AND ct.id = mc.company_type_id AND t.id = mc.movie_id AND t.id = mi.movie_id AND mc.movie_id = mi.movie_id AND it.id = mi.info_type_id",
    "JOB 2: a keyword and a country": "SELECT MIN(t.title) FROM company_name cn, keyword k, movie_companies mc, movie_keyword mk, title t WHERE cn.country_code = '[de]' AND k.keyword = 'character-name-in-title' AND cn.id = mc.company_id AND mc.movie_id = t.id AND t.id = mk.movie_id AND mk.keyword_id = k.id AND mc.movie_id = mk.movie_id",
    "JOB 3: a sequel's languages": "SELECT MIN(t.title) FROM keyword k, movie_info mi, movie_keyword mk, title t WHERE k.keyword LIKE '%sequel%' AND mi.info IN ('Sweden', 'Norway', 'Germany', 'Denmark') AND t.production_year > 2005 AND t.id = mi.movie_id AND t.id = mk.movie_id AND mk.movie_id = mi.movie_id AND k.id = mk.keyword_id",
    "JOB 6: a name and a keyword": "SELECT MIN(k.keyword), MIN(n.name), MIN(t.title) FROM cast_info ci, keyword k, movie_keyword mk, name n, title t WHERE k.keyword = 'marvel-cinematic-universe' AND n.name LIKE '%Downey%Robert%' AND t.production_year > 2010 AND k.id = mk.keyword_id AND t.id = mk.movie_id AND t.id = ci.movie_id AND ci.movie_id = mk.movie_id AND n.id = ci.person_id",
    "JOB 8: roles in films of a country": "SELECT MIN(n.name), MIN(t.title) FROM cast_info ci, company_name cn, movie_companies mc, name n, role_type rt, title t WHERE ci.note = '(voice: English version)' AND cn.country_code = '[jp]' AND mc.note LIKE '%(Japan)%' AND rt.role = 'actress' AND n.id = ci.person_id AND t.id = ci.movie_id AND t.id = mc.movie_id AND ci.movie_id = mc.movie_id AND mc.company_id = cn.id AND ci.role_id = rt.id",
    "JOB 13: ratings of films of a country": "SELECT MIN(mi.info), MIN(t.title) FROM company_name cn, company_type ct, info_type it, kind_type kt, movie_companies mc, movie_info mi, title t WHERE cn.country_code = '[us]' AND ct.kind = 'production companies' AND it.info = 'rating' AND kt.kind = 'movie' AND mi.movie_id = t.id AND it.id = mi.info_type_id AND kt.id = t.kind_id AND mc.movie_id = t.id AND cn.id = mc.company_id AND ct.id = mc.company_type_id AND mi.movie_id = mc.movie_id",
    "JOB 17: names in films with a keyword": "SELECT MIN(n.name) FROM cast_info ci, company_name cn, keyword k, movie_companies mc, movie_keyword mk, name n, title t WHERE cn.country_code = '[us]' AND k.keyword = 'character-name-in-title' AND n.name LIKE 'B%' AND n.id = ci.person_id AND ci.movie_id = t.id AND t.id = mk.movie_id AND mk.keyword_id = k.id AND t.id = mc.movie_id AND mc.company_id = cn.id AND ci.movie_id = mc.movie_id AND ci.movie_id = mk.movie_id AND mc.movie_id = mk.movie_id",
    "JOB 20: a franchise, whole": "SELECT MIN(t.title) FROM cast_info ci, keyword k, kind_type kt, movie_keyword mk, name n, title t WHERE kt.kind = 'movie' AND k.keyword IN ('superhero', 'sequel', 'based-on-comic', 'fight') AND n.gender = 'm' AND t.production_year > 1990 AND kt.id = t.kind_id AND t.id = mk.movie_id AND t.id = ci.movie_id AND mk.movie_id = ci.movie_id AND k.id = mk.keyword_id AND n.id = ci.person_id",
}


def job_data(directory, seed=2015):
    rng = random.Random(seed)
    titles, people, companies, keywords = 30_000, 40_000, 3_000, 4_000
    skewed = lambda count: min(int(rng.paretovariate(0.7)), count)

    def table(name, rows):
        with open(directory / f"{name}.tsv", "w") as out:
            out.writelines("\t".join(map(str, row)) + "\n" for row in rows)

    words = tpch.COLORS
    kinds = ["movie", "tv series", "tv movie", "video movie", "tv mini series", "video game", "episode"]
    infos = ["rating", "votes", "top 250 rank", "budget", "languages", "countries", "genres"] + [f"info {i}" for i in range(8, 41)]
    known = ["character-name-in-title", "sequel", "superhero", "based-on-comic", "fight", "marvel-cinematic-universe"]
    places = ["Sweden", "Norway", "Germany", "Denmark", "USA", "France", "Japan"] + [f"place {i}" for i in range(60)]
    codes = ["[us]"] * 40 + ["[gb]"] * 12 + ["[de]"] * 8 + ["[fr]"] * 8 + ["[jp]"] * 6 + [f"[x{i}]" for i in range(40)]
    notes = ["(co-production)", "(presents)", "(2006) (USA) (TV)", "(2001) (Japan) (DVD)", "\\N", "\\N"]
    table("kind_type", ((i + 1, kind) for i, kind in enumerate(kinds)))
    table("info_type", ((i + 1, info) for i, info in enumerate(infos)))
    table("company_type", ((i + 1, kind) for i, kind in enumerate(["distributors", "production companies", "special effects companies", "miscellaneous companies"])))
    table("role_type", ((i + 1, role) for i, role in enumerate(["actor", "actress", "producer", "writer", "cinematographer", "composer", "costume designer", "director"])))
    table("keyword", ((i, known[i % 50] if i < len(known) else f"{rng.choice(words)}-{i}" + ("-sequel" if i % 400 == 0 else "")) for i in range(1, keywords + 1)))
    table("company_name", ((i, f"{rng.choice(words)} pictures {i}", rng.choice(codes)) for i in range(1, companies + 1)))
    table("name", ((i, "Downey Jr., Robert" if i == 17 else f"{rng.choice(words).title()}, {rng.choice(words).title()} {i}", rng.choice(["m", "m", "f", "\\N"])) for i in range(1, people + 1)))
    table("title", ((i, f"The {rng.choice(words)} {rng.choice(words)} {i}", skewed(len(kinds)), 2020 - min(int(rng.expovariate(0.05)), 120)) for i in range(1, titles + 1)))
    numbers = iter(range(1, 10_000_000))
    films = range(1, titles + 1)
    table("movie_companies", ((next(numbers), m, skewed(companies), rng.randrange(1, 5) if rng.random() < 0.3 else 1 + rng.randrange(2), rng.choice(notes)) for m in films for _ in range(rng.randrange(0, 4))))
    table("movie_keyword", ((next(numbers), m, skewed(keywords)) for m in films for _ in range(rng.randrange(0, 7))))
    table("movie_info", ((next(numbers), m, t, rng.choice(places) if t > 4 else rng.randrange(1000)) for m in films for t in rng.sample(range(1, 41), rng.randrange(2, 8)) if t != 3 or m % 120 == 0))
    table("cast_info", ((next(numbers), rng.randrange(1, people + 1), m, skewed(8), "(voice: English version)" if rng.random() < 0.02 else rng.choice(["\\N", "(uncredited)", "(as himself)"])) for m in films for _ in range(min(skewed(40) + 2, 25))))


def block(sql):
    """The block with the longest plain list in FROM: where its SELECT ends in the text, and its tables by alias."""
    lists = re.finditer(r"\bfrom\s+((?:\w+(?:\s+(?!where\b|group\b|order\b|join\b|left\b|limit\b)\w+)?(?:,\s*)?)+)(?=\s*(?:where|group|order|limit|\)|$))", sql, re.I)
    best = (0, [])
    for found in lists:
        names = [part.split()[-1] for part in re.split(r",\s*", found.group(1).strip(", \n"))]
        depth, at = 0, found.start()
        while at > 0 and not (depth == 0 and re.match(r"select\b", sql[at:], re.I)):
            at -= 1
            depth += {")": 1, "(": -1}.get(sql[at], 0)
            if depth < 0:
                break
        if depth == 0 and re.match(r"select\b", sql[at:], re.I) and len(names) > len(best[1]):
            best = (at + len("select"), names)
    return best


def forced(sql, count, rng):
    """Other ways to run a statement: (what is forced, settings, text)."""
    behind, tables = block(sql)
    hinted = lambda hint: f"{sql[:behind]} /*+ {hint} */{sql[behind:]}"
    ways = [("no hash joins", "block_nested_loop=off", sql), ("no semijoins", "semijoin=off", sql), ("nothing run ahead", "materialization=off", sql),
            ("subqueries run ahead", "subquery_materialization_cost_based=off", sql), ("nothing pushed down", "derived_condition_pushdown=off", sql)]
    if not re.search(r"\b(in|exists) \(\s*select|\(\s*select", sql, re.I):
        ways = ways[:1]
    if len(tables) > 1:
        orders = [[table] + [t for t in tables if t != table] for table in tables]
        while len(orders) < count + len(tables):
            orders.append(rng.sample(tables, len(tables)))
        ways += [(f"begin with {order[0]}", "default", hinted(f"JOIN_PREFIX({order[0]})")) for order in orders[: len(tables)]]
        ways += [(f"order {', '.join(order)}", "default", hinted(f"JOIN_ORDER({', '.join(order)})")) for order in orders[len(tables):]]
        ways += [(f"no index of {table}", "default", hinted(f"NO_INDEX({table})")) for table in tables]
    return ways


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="target/fast/altiplano")
    parser.add_argument("--port", type=int, default=13292)
    parser.add_argument("--work", default="/tmp/altiplano-plans")
    parser.add_argument("--scale", type=float, default=0.1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--forced", type=int, default=6, help="drawn orders of a join, beside those that begin with each table")
    parser.add_argument("--only", help="statements whose name has this in it; several by commas")
    parser.add_argument("--histograms", action="store_true", help="with histograms of all columns that conditions name and no index begins with")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    work = pathlib.Path(args.work)
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "made").exists():
        own_data(work)
        tpch.generate(args.scale, work)
        job_data(work)
        (work / "made").touch()
    fresh = not (work / "server").exists()
    server = start_server(args.binary, work / "server", args.port, "1G", ["local_infile=1"], work / "server.log")
    try:
        side = Side(args.port, server.pid, "plans", False, options=("--comments", "--force"))
        ask = side.session.ask
        if fresh:
            schema = SCHEMA + tpch.SCHEMA + JOB_SCHEMA
            load(side.session, "plans", work, schema, OWN_TABLES + tpch.TABLES + JOB_TABLES)
        ask("USE plans")
        for column in HISTOGRAMS if args.histograms else []:
            table, columns = column.split(": ")
            ask(f"ANALYZE TABLE {table} UPDATE HISTOGRAM ON {columns} WITH 100 BUCKETS")
        tpcc = {name: sql for name, (sql, _) in STATEMENTS.items() if name.startswith("TPC-C")}
        statements = {**{f"TPC-H {name}": sql for name, sql in QUERIES.items()}, **JOB, **tpcc}
        if args.only:
            wanted = args.only.split(",")
            statements = {name: sql for name, sql in statements.items() if any(w == name.split()[-1] or w in name and not w.startswith("Q") for w in wanted)}
        print(f"seed {args.seed}", file=sys.stderr)
        rng = random.Random(args.seed)
        print("| statement | chosen, ms | best of the others, ms | which | chosen ÷ best | others tried |\n|---|--:|--:|---|--:|--:|")
        worse = []
        for name, sql in statements.items():
            ask("SET SESSION max_execution_time = 0")
            ask("SET optimizer_switch = 'default'")
            expected = side.measure(sql, 1)[1]
            # Short ones are run often enough for the clock.
            once = min(side.measure(sql, 1)[0] for _ in range(2))
            times = max(1, min(100, int(20 / max(once, 0.01))))
            run = lambda text: min(side.measure(text, times)[0] / times for _ in range(args.rounds))
            chosen = run(sql)
            best, which, tried = None, "", 0
            for what, switch, text in forced(sql, args.forced, rng):
                ask(f"SET optimizer_switch = '{switch}'")
                ask(f"SET SESSION max_execution_time = {int(10 * chosen) + 500}")
                once, first = side.measure(text, 1)
                if any("ERROR 3024" in row for row in first):
                    tried += 1
                    continue
                if sorted(first) != sorted(expected):
                    raise SystemExit(f"{name}, {what}: other rows: {first[:3]}, not {expected[:3]}")
                # What is slower by far is not run again.
                took = once if once > 3 * chosen + 1 else run(text)
                tried += 1
                if best is None or took < best:
                    best, which = took, what
            ask("SET optimizer_switch = 'default'")
            ratio = chosen / best if best else 0
            if ratio > 2:
                worse.append(name)
            print(f"| {name} | {chosen:,.3f} | {best or 0:,.3f} | {which} | {ratio:.2f} | {tried} |", flush=True)
        print("\n| table | condition | estimated | is | factor |\n|---|---|--:|--:|--:|")
        wrong = []
        ask("SET SESSION max_execution_time = 0")
        for table, condition in SINGLE:
            told = "".join(ask(f"EXPLAIN FORMAT=TRADITIONAL SELECT * FROM {table} WHERE {condition}")).strip().split("\t")
            rows = float(told[9]) * float(told[10]) / 100
            found = float(ask(f"SELECT COUNT(*) FROM {table} WHERE {condition}")[0])
            factor = max(rows, 1) / max(found, 1)
            if not 0.1 <= factor <= 10:
                wrong.append(f"{table} WHERE {condition}")
            print(f"| {table} | `{condition}` | {rows:,.0f} | {found:,.0f} | {factor:.2f} |", flush=True)
        print(f"\nMore than twice the best: {', '.join(worse) or 'none'}. Estimates off by more than ten: {'; '.join(wrong) or 'none'}.")
    finally:
        stop_server(server)


# table: columns, for --histograms.
HISTOGRAMS = [
    "part: p_brand, p_type, p_size, p_container, p_name", "lineitem: l_shipdate, l_receiptdate, l_commitdate, l_returnflag, l_shipmode, l_shipinstruct, l_quantity, l_discount",
    "orders: o_orderdate, o_orderstatus, o_orderpriority", "customer: c_mktsegment, c_acctbal, c_phone", "nation: n_name", "region: r_name", "supplier: s_acctbal, s_comment",
    "partsupp: ps_availqty, ps_supplycost", "title: production_year, kind_id", "company_name: country_code", "keyword: keyword", "name: gender, name", "movie_info: info_type_id, info",
    "cast_info: note, role_id", "movie_companies: company_type_id, note", "kind_type: kind", "info_type: info", "company_type: kind", "role_type: role",
]
# The conditions on single tables of TPC-H and of the Join Order Benchmark's shapes, and some on keys.
SINGLE = [
    ("lineitem", "l_shipdate <= '1998-09-02'"), ("lineitem", "l_shipdate > '1995-03-15'"), ("lineitem", "l_shipdate >= '1994-01-01' AND l_shipdate < '1995-01-01'"),
    ("lineitem", "l_shipdate >= '1995-09-01' AND l_shipdate < '1995-10-01'"), ("lineitem", "l_returnflag = 'R'"), ("lineitem", "l_shipmode IN ('MAIL', 'SHIP')"),
    ("lineitem", "l_quantity < 24"), ("lineitem", "l_discount BETWEEN 0.05 AND 0.07"), ("lineitem", "l_partkey = 1000"), ("lineitem", "l_orderkey BETWEEN 1000 AND 2000"),
    ("lineitem", "l_suppkey IN (1, 2, 3)"), ("orders", "o_orderdate < '1995-03-15'"), ("orders", "o_orderdate >= '1993-07-01' AND o_orderdate < '1993-10-01'"),
    ("orders", "o_orderdate BETWEEN '1995-01-01' AND '1996-12-31'"), ("orders", "o_orderstatus = 'F'"), ("orders", "o_custkey = 100"), ("customer", "c_mktsegment = 'BUILDING'"),
    ("customer", "c_acctbal > 0"), ("customer", "c_nationkey = 7"), ("part", "p_size = 15"), ("part", "p_size IN (49, 14, 23, 45, 19, 3, 36, 9)"),
    ("part", "p_type = 'ECONOMY ANODIZED STEEL'"), ("part", "p_brand = 'Brand#23'"), ("part", "p_brand <> 'Brand#45'"), ("part", "p_brand = 'Brand#23' AND p_container = 'MED BOX'"),
    ("part", "p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')"), ("nation", "n_name = 'CANADA'"), ("region", "r_name = 'ASIA'"), ("supplier", "s_nationkey = 3"),
    ("title", "production_year > 2005"), ("title", "production_year > 2010 AND kind_id = 1"), ("title", "kind_id = 4"), ("company_name", "country_code = '[de]'"),
    ("company_name", "country_code = '[us]'"), ("movie_info", "info_type_id = 3"), ("movie_info", "info IN ('Sweden', 'Norway', 'Germany', 'Denmark')"), ("cast_info", "role_id = 2"),
    ("cast_info", "note = '(voice: English version)'"), ("name", "gender = 'm'"), ("movie_companies", "company_id = 1"), ("movie_keyword", "keyword_id = 2"),
]

if __name__ == "__main__":
    main()
