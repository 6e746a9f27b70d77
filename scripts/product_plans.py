#!/usr/bin/env python3
"""product_plans.py: the queries of whole products over many times their data, here and on the MySQL beside it; which take longer here, and what differs.

  scripts/product_plans.py wordpress --copies 1000
  --server PATH (target/fast/altiplano)    --peer HOST:PORT (127.0.0.1:13097)    --work DIR (/tmp/altiplano-product-plans)
  --again (what was kept of the run before)    --times N (of which the least counts)    --hold (servers and data stay until a line is read)

The product (scripts/apps/product_NAME.py) runs here once, with every statement logged. Its data is loaded into both servers, and then into itself so many
times: each copy has its keys (what is named like one, or is in a foreign key; numbers, and texts of hexadecimal digits) moved by as much, so that rows lead to rows of their own copy; what is unique and
no number gets the copy's number at its end; times go back by an hour for each. Then every SELECT of the log, two of each form, is asked of both in turns. Plans
that suit some rows only show as what takes longer here; results that differ (of queries without a LIMIT) are printed, too. Times are those of one client in
Python on whatever else runs: look at what is several times slower, by EXPLAIN ANALYZE, and not at the rest.
"""
import pymysql  # before `suites` is in the path, which has a module of this name

import argparse, json, re, subprocess, sys, time
from pathlib import Path

sys.dont_write_bytecode = True  # no __pycache__ in the tree
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "suites"), str(HERE / "apps")]
import apps, harness

WHOLE = ("int", "bigint", "mediumint")
KEY_NAME = r"(?i)(^|_)(id|parent|post|author|user|page|from|actor|latest|lft|rgt)$|id$"
TEXTS = ("char", "varchar", "text", "varbinary")
MADE_BY_CHANCE = "^[0-9a-f]{20,64}$"  # ids that are texts: UUIDs and the like
ROWS_MAX = 200_000  # of one table
NUMBERS_MAX = 2_000_000_000
OF_THE_SERVER = r"(?i)information_schema|@@|performance_schema|_lock\(|sleep\(|for update|into outfile|last_insert_id|found_rows\(\)|version\(\)"


def connect(target, database):
    connection = pymysql.connect(host=target.host, port=target.port, user=target.user, password=target.password, database=database, autocommit=True, charset="utf8mb4", ssl_disabled=True, read_timeout=300)
    asked(connection, "SET sql_mode = '', foreign_key_checks = 0, unique_checks = 0, max_execution_time = 20000, cte_max_recursion_depth = 1000000")
    return connection


def asked(connection, text, values=None):
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return cursor.fetchall()


def logged(target, database):
    """The product's SELECTs: two of each form."""
    found, kept = {}, []
    rows = asked(connect(target, database), "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log WHERE command_type IN ('Query', 'Execute')")
    for text in (row[0].strip() for row in rows if row[0]):  # others hold bytes that are no text
        if not re.match(r"(?is)^(/\*.*?\*/\s*)*\(?\s*(select|with)\b", text) or re.search(OF_THE_SERVER, text) or text.startswith("SELECT * FROM `"):
            continue
        form = re.sub(r"\?(\s*,\s*\?)+", "?+", re.sub(r"'(?:[^'\\]|\\.|'')*'|\b\d+\b", "?", text))
        found[form] = found.get(form, 0) + 1
        if found[form] <= 2 and text not in kept:
            kept.append(text)
    return kept


def multiply(connection, database, copies):
    """Puts copies of each table's rows beside them; returns how many rows each table has then."""
    of_schema = lambda columns, table, condition="TRUE": asked(connection, f"SELECT {columns} FROM information_schema.{table} WHERE TABLE_SCHEMA = %s AND {condition} ORDER BY 1, 2, 3", (database,))
    views = {row[0] for row in of_schema("TABLE_NAME, 1, 2", "VIEWS")}
    columns, unique, keys = {}, {}, set()
    for table, position, name, kind, length, generated in of_schema("TABLE_NAME, ORDINAL_POSITION, COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, GENERATION_EXPRESSION", "COLUMNS"):
        if table not in views and not generated:
            columns.setdefault(table, {})[name] = (kind, length)
    for table, index, _, name in of_schema("TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME", "STATISTICS", "NON_UNIQUE = 0"):
        unique.setdefault(table, {}).setdefault(index, []).append(name)
    for table, name, parent, of in of_schema("TABLE_NAME, COLUMN_NAME, REFERENCED_TABLE_NAME, REFERENCED_COLUMN_NAME", "KEY_COLUMN_USAGE", "REFERENCED_TABLE_NAME IS NOT NULL"):
        keys |= {(table, name), (parent, of)}
    is_key = lambda table, name: columns[table][name][0] in WHOLE and ((table, name) in keys or re.search(KEY_NAME, name))
    is_name = lambda table, name: columns[table][name][0] in ("char", "varchar") and ((table, name) in keys or re.search(KEY_NAME, name))
    largest = [asked(connection, f"SELECT MAX(`{name}`) FROM `{table}`")[0][0] or 0 for table in columns for name in columns[table] if is_key(table, name)]
    step = 10 ** len(str(max((value for value in largest if value < 1_000_000), default=1)))
    step = min(step, NUMBERS_MAX // copies)
    counts = {}
    for table, of in columns.items():
        count = asked(connection, f"SELECT COUNT(*) FROM `{table}`")[0][0]
        made = {name: f"IF(`{name}` > 0, `{name}` + k * {step}, `{name}`)" if is_key(table, name) else None for name in of}
        moved = {name: f"IF(`{name}` REGEXP '{MADE_BY_CHANCE}', CONCAT(LPAD(LOWER(HEX(k)), 6, '0'), SUBSTRING(`{name}`, 7)), `{name}`)" for name in of if is_name(table, name)}
        for parts in unique.get(table, {}).values():
            # Each unique key has to change: by its last text, else by its last number or time.
            names = [name for name in reversed(parts) if name in of]
            if any(made[name] for name in names):
                continue
            texts = [name for name in names if (of[name][1] or 0) >= (32 if of[name][0] == "varbinary" else 8) and of[name][0] in TEXTS and name not in moved]
            if not texts and any(name in moved for name in names):
                continue
            for name in (texts or names)[:1]:
                kind, length = of[name]
                ways = {"binary": f"CONCAT(LEFT(`{name}`, {(length or 4) - 4}), UNHEX(LPAD(HEX(k), 8, '0')))", "datetime": f"`{name}` - INTERVAL k DAY", "date": f"`{name}` - INTERVAL k DAY"}
                made[name] = f"CONCAT(LEFT(`{name}`, {min(length, 190) - 7}), '_', k)" if name in texts else ways.get(kind, f"`{name}`" if "char" in kind else f"`{name}` + k * {step}")
        made |= {name: way for name, way in moved.items() if not made[name]}
        for name, (kind, _) in of.items():
            back = kind in ("datetime", "timestamp") and not made[name] and not asked(connection, f"SELECT COUNT(*) FROM `{table}` WHERE YEAR(`{name}`) < 1990")[0][0]
            made[name] = made[name] or (f"`{name}` - INTERVAL k HOUR" if back else f"`{name}`")
        if count:
            names = ", ".join(f"`{name}`" for name in made)
            series = f"WITH RECURSIVE s (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM s WHERE k < {max(1, min(copies, ROWS_MAX // count))})"
            asked(connection, f"INSERT IGNORE INTO `{table}` ({names}) {series} SELECT {', '.join(made.values())} FROM `{table}`, s")
            counts[table] = asked(connection, f"SELECT COUNT(*) FROM `{table}`")[0][0]
    asked(connection, "ANALYZE TABLE " + ", ".join(f"`{table}`" for table in columns))
    return counts


def timed(connection, text, times):
    """(least milliseconds, rows, error)."""
    least, rows = float("inf"), None
    for _ in range(times):
        began = time.perf_counter()
        try:
            rows = asked(connection, text)
        except pymysql.Error as error:
            return (time.perf_counter() - began) * 1000, None, str(error)[:150]
        least = min(least, (time.perf_counter() - began) * 1000)
        if least > 2000:
            break
    return least, rows, None


def compare(connections, texts, times):
    slower = quicker = 0
    found = []
    for text in texts:
        (here, rows, error), (there, others, their_error) = (timed(connection, text, times) for connection in connections)
        flat = re.sub(r"\s+", " ", text)
        if error != their_error:
            print(f"ERROR {error} | {their_error}: {flat[:1000]}")
        elif error is None and "LIMIT" not in text.upper() and sorted(map(repr, rows)) != sorted(map(repr, others)):
            print(f"ROWS {len(rows)} | {len(others)}: {flat[:1000]}")
        found.append((here, there, len(rows or ()), flat))
    for here, there, rows, flat in sorted(found, key=lambda one: one[1] - one[0]):
        if here > 1 and here > 1.5 * there:
            slower += 1
            print(f"SLOWER {here:.1f} | {there:.1f} ms, {rows} rows: {flat[:1500]}")
        quicker += there > 1 and there > 1.5 * here
    print(f"{len(found)} queries: {sum(one[0] for one in found):.0f} | {sum(one[1] for one in found):.0f} ms; more than 1.5 times as fast here {quicker}, there {slower}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("product")
    parser.add_argument("--copies", type=int, default=500)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--server")
    parser.add_argument("--peer", default="127.0.0.1:13097")
    parser.add_argument("--work", type=Path, default=Path("/tmp/altiplano-product-plans"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--hold", action="store_true")
    options = parser.parse_args()
    app = apps.module(options.product)
    database, work = app.__name__, options.work / app.__name__
    work.mkdir(parents=True, exist_ok=True)
    mysql = harness.peer(options.peer) or sys.exit(f"no MySQL at {options.peer}")
    with harness.server(options.server, settings=["innodb_flush_log_at_trx_commit=0"], pool="4G") as ours:  # as the peers have
        if not options.again:
            app.install(harness.TOOLS)
            ours.sql("SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON")
            _, wrong, _ = apps.run_on(app, ours, harness.TOOLS, work / "run")
            ours.sql("SET GLOBAL general_log = OFF")
            print("\n".join(wrong))
            (work / "statements.json").write_text(json.dumps(logged(ours, database)))
            with open(work / "dump.sql", "w") as dump:
                subprocess.run(["mysqldump", f"-h{ours.host}", f"-P{ours.port}", f"-u{ours.user}", "--skip-ssl", "--single-transaction", "--hex-blob", database], stdout=dump, check=True)
        connections = []
        for target in (ours, mysql):
            target.fresh(database)
            with open(work / "dump.sql") as dump:
                subprocess.run(["mysql", "--ssl=0", "--binary-mode", f"-h{target.host}", f"-P{target.port}", f"-u{target.user}", database], stdin=dump, check=True)
            connections.append(connect(target, database))
            counts = multiply(connections[-1], database, options.copies)
            harness.say(f"{target.name}: {sum(counts.values())} rows, most in {sorted(counts.items(), key=lambda one: -one[1])[:5]}")
        compare(connections, json.loads((work / "statements.json").read_text()), options.times)
        if options.hold:
            print(f"here at port {ours.port}, database {database}", flush=True)
            sys.stdin.readline()
        mysql.sql(f"DROP DATABASE IF EXISTS {database}")


if __name__ == "__main__":
    main()
