#!/usr/bin/env python3
"""ways.py: the ways in which applications ask - point looks in text and prepared, lists of ids, transactions of an ORM, upserts, small reports, questions about schemas, logins, small DDL -
each beside a MySQL: processor time that the server takes for one, and the time until it is answered.

  scripts/ways.py                        a server of its own (--server PATH, target/release/altiplano) beside --peer HOST:PORT (127.0.0.1:13097)
  --only WORD[,WORD]  those whose name has it    --seconds N (0.4) of each slice    --rounds N (3)    --slower R (1.0): print only those where MySQL takes less than R times ours
  --server-argument ARGUMENT, may be repeated
  --fresh                                each statement is of a form that neither server has seen: what planning costs. Ours is measured with known forms, too, and what planning adds is told.

A form is made new by a name for its block (/*+ QB_NAME(…) */), which MySQL reads and forgets, and by which a plan is looked for here; what has no place for it is left out.

One connection asks, in slices of both servers in turns. Processor time is of all threads of the server's process, read by its clock (CPUCLOCK_SCHED, nanoseconds; the MySQL's process is the
one that listens on its port, so it must run here); nothing spins: the server is started with altiplano_stand_in=OFF and altiplano_look_for_client=0. Medians of the rounds. Times until an answer
have the client's own in them, which is Python's. What must answer alike is checked by the tests; here only that neither fails.
"""
import argparse, os, random, re, shutil, statistics, subprocess, sys, tempfile, time
from pathlib import Path

import pymysql

ROOT = Path(__file__).resolve().parent.parent
ROWS = 20_000
TEXT = "The quick brown fox jumps over the lazy dog, again and again, until somebody tells it to stop. "

SCHEMA = [
    """CREATE TABLE users (id INT PRIMARY KEY AUTO_INCREMENT, email VARCHAR(120) NOT NULL, name VARCHAR(80), status ENUM('new','active','gone') NOT NULL DEFAULT 'new', balance DECIMAL(12,2) NOT NULL DEFAULT 0,
       score DOUBLE, is_admin TINYINT(1) NOT NULL DEFAULT 0, born DATE, settings JSON, about TEXT, created_at DATETIME(6) NOT NULL, updated_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
       UNIQUE KEY email (email), KEY status_created (status, created_at))""",
    "CREATE TABLE posts (id BIGINT PRIMARY KEY AUTO_INCREMENT, user_id INT NOT NULL, title VARCHAR(200) NOT NULL, body TEXT, views INT NOT NULL DEFAULT 0, posted DATETIME NOT NULL, KEY user_posted (user_id, posted), KEY posted (posted), CONSTRAINT of_user FOREIGN KEY (user_id) REFERENCES users (id))",
    "CREATE TABLE tags (post_id BIGINT NOT NULL, tag VARCHAR(40) NOT NULL, PRIMARY KEY (post_id, tag), KEY tag (tag))",
    "CREATE TABLE counters (name VARCHAR(60) PRIMARY KEY, n BIGINT NOT NULL, at DATETIME NOT NULL)",
    "CREATE TABLE events (id CHAR(36) PRIMARY KEY, kind VARCHAR(20) NOT NULL, payload JSON, at DATETIME(3) NOT NULL, KEY kind_at (kind, at))",
    "CREATE TABLE blobs (id INT PRIMARY KEY, data LONGBLOB NOT NULL)",
]


def fill(c):
    for at in range(0, ROWS, 1000):
        users = [f"({i + 1}, 'user{i}@example.org', 'User {i}', '{('new', 'active', 'active', 'gone')[i % 4]}', {i % 1000}.{i % 100:02d}, {i / 7:.3f}, {i % 2}, '19{i % 60 + 40}-0{i % 9 + 1}-1{i % 9}', "
                 f"'{{\"lang\": \"en\", \"page\": {i % 50}}}', '{TEXT}', '2026-01-01' + INTERVAL {i} MINUTE, '2026-06-01')" for i in range(at, at + 1000)]
        c.query("INSERT INTO users VALUES " + ",".join(users))
    for at in range(0, 2 * ROWS, 1000):
        c.query("INSERT INTO posts VALUES " + ",".join(f"({i + 1}, {i % ROWS + 1}, 'Post number {i}', '{TEXT * 3}', {i % 977}, '2026-01-01' + INTERVAL {i * 7 % 500000} MINUTE)" for i in range(at, at + 1000)))
        c.query("INSERT INTO tags VALUES " + ",".join(f"({i + 1}, 'tag{i % 50}'), ({i + 1}, 'topic{i % 7}')" for i in range(at, at + 1000)))
    c.query("INSERT INTO counters VALUES " + ",".join(f"('counter{i}', 0, NOW())" for i in range(100)))
    c.query("ANALYZE TABLE users, posts, tags, counters, events, blobs")


# The first word of a text, or of the query behind WITH, that a hint may follow. Of texts that are something else (EXPLAIN, CREATE) nothing is planned, or kept.
HINTED = re.compile(r"^\s*(?:\(\s*|WITH\b.*?\()*(?:SELECT|INSERT|REPLACE|UPDATE|DELETE)\b")


class Client:
    """A connection, with what PyMySQL hides: prepared statements and single commands."""

    def __init__(self, target):
        self.target = target
        self.login()
        self.fresh = False
        self.forms = 0

    def formed(self, text):
        """The text, of a form of its own if forms are to be new."""
        if not self.fresh:
            return text
        formed, found = HINTED.subn(lambda at: f"{at.group()} /*+ QB_NAME(q{self.forms}) */", text, count=1)
        self.forms += found
        return formed

    def login(self, **more):
        self.c = pymysql.connect(host=self.target[0], port=self.target[1], user="root", password="", database=self.target[2], charset="utf8mb4", autocommit=True, ssl_disabled=True, **more)

    def query(self, text):
        self.c.query(self.formed(text))
        result = self.c._result
        while result is not None and result.has_next:
            self.c.next_result()
            result = self.c._result
        return result.rows if result is not None else None

    def packets_until_end(self, wanted):
        """Reads `wanted` groups that end with EOF."""
        for _ in range(wanted):
            while not self.c._read_packet().is_eof_packet():
                pass

    def prepare(self, text):
        self.c._execute_command(0x16, self.formed(text))
        first = self.c._read_packet().get_all_data()
        columns, parameters = int.from_bytes(first[5:7], "little"), int.from_bytes(first[7:9], "little")
        self.packets_until_end((columns > 0) + (parameters > 0))
        return int.from_bytes(first[1:5], "little"), columns

    def execute(self, statement, values):
        number, columns = statement
        body = number.to_bytes(4, "little") + b"\0\1\0\0\0"
        if values:
            body += bytes((len(values) + 7) // 8) + b"\1" + b"\x08\0" * len(values) + b"".join(v.to_bytes(8, "little", signed=True) for v in values)
        self.c._execute_command(0x17, body)
        self.c._read_packet()
        if columns:
            self.packets_until_end(2)

    def close_statement(self, statement):
        self.c._execute_command(0x19, statement[0].to_bytes(4, "little"))


def some(n=ROWS):
    return random.randint(1, n)


def ids(n):
    return ", ".join(str(some()) for _ in range(n))


def transaction(*texts):
    def do(c):
        c.query("BEGIN")
        for text in texts:
            c.query(text() if callable(text) else text)
        c.query("COMMIT")
    return do


def asks(text):
    """A statement made anew each time (a function) or the same."""
    return (lambda c: c.query(text())) if callable(text) else (lambda c: c.query(text))


def prepared(text, values):
    made = {}

    def do(c):
        if id(c) not in made:
            made[id(c)] = c.prepare(text)
        c.execute(made[id(c)], values())
    return do


def prepared_each_time(text, values):
    def do(c):
        statement = c.prepare(text)
        c.execute(statement, values())
        c.close_statement(statement)
    return do


def logs_in(c):
    c.c.close()
    c.login()


def fails(text):
    def do(c):
        try:
            c.query(text)
        except pymysql.MySQLError:
            return
        raise AssertionError(text)
    return do


def update_by_case(chosen):
    return "UPDATE posts SET views = CASE id " + " ".join(f"WHEN {k} THEN {some(900)}" for k in chosen) + f" END WHERE id IN ({', '.join(map(str, chosen))})"


def uuid():
    return "%08x-%04x-4%03x-a%03x-%012x" % (random.getrandbits(32), random.getrandbits(16), random.getrandbits(12), random.getrandbits(12), random.getrandbits(48))


LISTED = "SELECT id, email, name, status, balance, score, is_admin, born, settings, about, created_at, updated_at FROM users WHERE "
WAYS = {
    "SELECT 1": asks("SELECT 1"),
    "ping": lambda c: c.c.ping(reconnect=False),
    "USE": lambda c: c.c.select_db(c.target[2]),
    "reset connection": lambda c: (c.c._execute_command(0x1F, b""), c.c._read_packet()),
    "login and quit": logs_in,
    "SET NAMES": asks("SET NAMES utf8mb4"),
    "SET of an ORM": asks("SET autocommit=1, sql_mode='STRICT_TRANS_TABLES', time_zone='+00:00', wait_timeout=28800"),
    "variables of a driver": asks("SELECT @@session.auto_increment_increment AS auto_increment_increment, @@character_set_client AS character_set_client, @@character_set_connection AS character_set_connection, @@character_set_results AS character_set_results, "
                                  "@@collation_connection AS collation_connection, @@init_connect AS init_connect, @@interactive_timeout AS interactive_timeout, @@license AS license, @@lower_case_table_names AS lower_case_table_names, @@max_allowed_packet AS max_allowed_packet, "
                                  "@@net_write_timeout AS net_write_timeout, @@sql_mode AS sql_mode, @@system_time_zone AS system_time_zone, @@time_zone AS time_zone, @@transaction_isolation AS transaction_isolation, @@wait_timeout AS wait_timeout"),
    "SHOW VARIABLES LIKE": asks("SHOW VARIABLES LIKE 'sql_mode'"),
    "SHOW STATUS": asks("SHOW GLOBAL STATUS"),
    "point look, two columns": asks(lambda: f"SELECT id, name FROM users WHERE id = {some()}"),
    "point look, an ORM's row": asks(lambda: LISTED + f"id = {some()} LIMIT 1"),
    "point look, a comment of its own": asks(lambda: f"SELECT id, name FROM users WHERE id = {some()} /*traceparent='00-{random.getrandbits(128):032x}-01',route='users'*/"),
    "point look, backquoted": asks(lambda: f"SELECT `users`.`id`, `users`.`name`, `users`.`email` FROM `users` WHERE `users`.`id` = {some()} LIMIT 1"),
    "point look by a unique text": asks(lambda: LISTED + f"email = 'user{some() - 1}@example.org' LIMIT 1"),
    "point look, a condition besides": asks(lambda: f"SELECT id, title, posted FROM posts WHERE id = {some()} AND views >= 0 AND title IS NOT NULL LIMIT 1"),
    "by a unique text, a condition besides": asks(lambda: LISTED + f"email = 'user{some() - 1}@example.org' AND status <> 'gone' LIMIT 1"),
    "point look, prepared": prepared("SELECT id, name FROM users WHERE id = ?", lambda: [some()]),
    "point look, prepared each time": prepared_each_time("SELECT id, name FROM users WHERE id = ?", lambda: [some()]),
    "an ORM's row, prepared each time": prepared_each_time(LISTED + "id = ? LIMIT 1", lambda: [some()]),
    "exists": asks(lambda: f"SELECT EXISTS(SELECT 1 FROM users WHERE email = 'user{some()}@example.org') AS e"),
    "ids, 10": asks(lambda: f"SELECT id, name FROM users WHERE id IN ({ids(10)})"),
    "ids, 3 to 60": asks(lambda: f"SELECT id, name FROM users WHERE id IN ({ids(random.randint(3, 60))})"),
    "ids, 100": asks(lambda: f"SELECT id, name FROM users WHERE id IN ({ids(100)})"),
    "ids, 1,000": asks(lambda: f"SELECT id, name FROM users WHERE id IN ({ids(1000)})"),
    "ids, 900 to 1,100": asks(lambda: f"SELECT id, name FROM users WHERE id IN ({ids(random.randint(900, 1100))})"),
    "children of 100": asks(lambda: f"SELECT posts.* FROM posts WHERE posts.user_id IN ({ids(100)})"),
    "children of 80 to 120": asks(lambda: f"SELECT posts.* FROM posts WHERE posts.user_id IN ({ids(random.randint(80, 120))})"),
    "children of 900 to 1,100": asks(lambda: f"SELECT id, user_id FROM posts WHERE user_id IN ({ids(random.randint(900, 1100))})"),
    "texts, 100": asks(lambda: "SELECT id, name FROM users WHERE email IN (" + ", ".join(f"'user{some()}@example.org'" for _ in range(100)) + ")"),
    "page by time": asks(lambda: f"SELECT id, title, posted FROM posts ORDER BY posted DESC LIMIT 20 OFFSET {random.randint(0, 50)}"),
    "page of one's posts": asks(lambda: f"SELECT * FROM posts WHERE user_id = {some()} ORDER BY posted DESC LIMIT 20"),
    "page joined": asks(lambda: f"SELECT p.id, p.title, u.name FROM posts p INNER JOIN users u ON u.id = p.user_id WHERE p.posted < '2026-03-01' + INTERVAL {some()} MINUTE ORDER BY p.posted DESC LIMIT 20"),
    "join of three": asks(lambda: f"SELECT u.id, u.name, p.title, t.tag FROM users u JOIN posts p ON p.user_id = u.id LEFT JOIN tags t ON t.post_id = p.id WHERE u.id = {some()}"),
    "by a tag": asks(lambda: f"SELECT p.id, p.title FROM posts p JOIN tags t ON t.post_id = p.id WHERE t.tag = 'tag{some(49)}' ORDER BY p.id DESC LIMIT 20"),
    "begins with": asks(lambda: f"SELECT id, email FROM users WHERE email LIKE 'user{some(1999)}%' ORDER BY email LIMIT 10"),
    "contains, all rows": asks(lambda: f"SELECT COUNT(*) FROM posts WHERE title LIKE '%number {some()}%'"),
    "COUNT of a status": asks("SELECT COUNT(*) FROM users WHERE status = 'gone'"),
    "COUNT of one's posts": asks(lambda: f"SELECT COUNT(*) FROM posts WHERE user_id = {some()}"),
    "GROUP BY of all": asks("SELECT status, COUNT(*), SUM(balance), MAX(created_at) FROM users GROUP BY status"),
    "GROUP BY of days": asks(lambda: f"SELECT DATE(posted) AS d, COUNT(*), SUM(views) FROM posts WHERE posted >= '2026-02-01' + INTERVAL {some(9999)} MINUTE AND posted < '2026-02-08' + INTERVAL {some(999)} MINUTE GROUP BY d ORDER BY d"),
    "derived and window": asks(lambda: f"SELECT * FROM (SELECT id, user_id, title, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY posted DESC) AS n FROM posts WHERE user_id BETWEEN {(a := some(19000))} AND {a} + 50) x WHERE n = 1"),
    "CTE and UNION": asks(lambda: f"WITH mine AS (SELECT id, title FROM posts WHERE user_id = {some()}) SELECT id, title FROM mine UNION ALL SELECT id, name FROM users WHERE id = {some()}"),
    "correlated subquery": asks(lambda: f"SELECT u.id, u.name, (SELECT COUNT(*) FROM posts p WHERE p.user_id = u.id) AS n FROM users u WHERE u.id BETWEEN {(a := some(19000))} AND {a} + 20"),
    "not there": asks(lambda: f"SELECT u.id FROM users u LEFT JOIN posts p ON p.user_id = u.id AND p.views > 900 WHERE u.id BETWEEN {(a := some(19000))} AND {a} + 50 AND p.id IS NULL"),
    "JSON": asks(lambda: f"SELECT id, settings->>'$.page' AS page, JSON_EXTRACT(settings, '$.lang') FROM users WHERE id BETWEEN {(a := some(19000))} AND {a} + 20"),
    "DISTINCT": asks("SELECT DISTINCT tag FROM tags"),
    "MIN and MAX of groups": asks("SELECT tag, MIN(post_id), MAX(post_id) FROM tags GROUP BY tag"),
    "COUNT by a text": asks("SELECT tag, COUNT(*) AS n FROM tags GROUP BY tag ORDER BY n DESC LIMIT 10"),
    "COUNT of all": asks("SELECT COUNT(*) FROM posts"),
    "COUNT of different": asks("SELECT COUNT(DISTINCT user_id) FROM posts"),
    "last row": asks("SELECT * FROM posts ORDER BY id DESC LIMIT 1"),
    "largest": asks("SELECT MAX(posted) FROM posts"),
    "deep page": asks(lambda: f"SELECT id, title FROM posts ORDER BY id LIMIT 20 OFFSET {some()}"),
    "page sorted by no index": asks("SELECT id, title FROM posts ORDER BY views DESC, id LIMIT 20"),
    "page and how many": asks(lambda: f"SELECT id, title, COUNT(*) OVER () FROM posts WHERE user_id < {some(200)} ORDER BY posted LIMIT 10"),
    "page behind a key": asks(lambda: f"SELECT id, title, posted FROM posts WHERE (posted, id) < ('2026-06-01', {some()}) ORDER BY posted DESC, id DESC LIMIT 20"),
    "by chance": asks("SELECT id FROM users ORDER BY RAND() LIMIT 1"),
    "in a subquery": asks(lambda: f"SELECT id, name FROM users WHERE id IN (SELECT user_id FROM posts WHERE posted BETWEEN '2026-03-01' AND '2026-03-01 0{some(9)}:30')"),
    "not in a subquery": asks(lambda: f"SELECT COUNT(*) FROM users WHERE id < {some(500)} AND id NOT IN (SELECT user_id FROM posts WHERE views = 7)"),
    "exists of many": asks(lambda: f"SELECT COUNT(*) FROM users u WHERE status = 'new' AND EXISTS (SELECT 1 FROM posts p WHERE p.user_id = u.id AND p.views > {some(976)})"),
    "HAVING": asks(lambda: f"SELECT user_id, COUNT(*) AS n FROM posts WHERE user_id BETWEEN {(a := some(15000))} AND {a} + 500 GROUP BY user_id HAVING n > 1"),
    "UNION of two": asks(lambda: f"(SELECT id, 'user' AS kind FROM users WHERE id > {some()} LIMIT 5) UNION ALL (SELECT id, 'post' FROM posts WHERE id > {some()} LIMIT 5) ORDER BY id"),
    "time of the clock": asks("SELECT COUNT(*) FROM posts WHERE posted > NOW() - INTERVAL 7 DAY"),
    "time that moves": asks(lambda: f"SELECT id, title FROM posts WHERE posted > '2026-03-01' + INTERVAL {some()} MINUTE ORDER BY posted LIMIT 20"),
    "tags in a line": asks(lambda: f"SELECT post_id, GROUP_CONCAT(tag ORDER BY tag SEPARATOR ', ') FROM tags WHERE post_id IN ({ids(20)}) GROUP BY post_id"),
    "pairs": asks(lambda: "SELECT post_id, tag FROM tags WHERE (post_id, tag) IN (" + ", ".join(f"({some()}, 'tag{some(49)}')" for _ in range(20)) + ")"),
    "UPDATE of a join": asks(lambda: f"UPDATE posts p JOIN users u ON u.id = p.user_id SET p.views = p.views + 1 WHERE u.email = 'user{some()}@example.org'"),
    "UPDATE by CASE": lambda c: c.query(update_by_case(random.sample(range(1, ROWS), 20))),
    "INSERT of a SELECT": asks(lambda: f"INSERT IGNORE INTO tags SELECT id, 'copied' FROM posts WHERE user_id = {some()}"),
    "DELETE of a few": asks(lambda: f"DELETE FROM tags WHERE post_id BETWEEN {(a := some())} AND {a} + 2 AND tag LIKE 'copied%'"),
    "OR of two indexes": asks(lambda: f"SELECT id, name FROM users WHERE id = {some()} OR email = 'user{some()}@example.org'"),
    "UPDATE by id": asks(lambda: f"UPDATE users SET score = {some()}, updated_at = NOW() WHERE id = {some()}"),
    "UPDATE of a counter": asks(lambda: f"UPDATE counters SET n = n + 1, at = NOW() WHERE name = 'counter{some(99)}'"),
    "UPDATE prepared each time": prepared_each_time("UPDATE posts SET views = views + 1 WHERE id = ?", lambda: [some()]),
    "UPDATE by a unique text": asks(lambda: f"UPDATE users SET score = {some()} WHERE email = 'user{some() - 1}@example.org'"),
    "UPDATE of the version that was seen": asks(lambda: f"UPDATE posts SET views = views + 1, title = 'seen {some()}' WHERE id = {some()} AND views < 1000000"),
    "UPDATE of 50": asks(lambda: f"UPDATE posts SET views = views + 1 WHERE user_id BETWEEN {(a := some(19000))} AND {a} + 25"),
    "upsert": asks(lambda: f"INSERT INTO counters (name, n, at) VALUES ('counter{some(99)}', 1, NOW()) ON DUPLICATE KEY UPDATE n = n + VALUES(n), at = VALUES(at)"),
    "upsert of 20": asks(lambda: "INSERT INTO counters (name, n, at) VALUES " + ", ".join(f"('counter{k}', 1, NOW())" for k in random.sample(range(99), 20)) + " AS new ON DUPLICATE KEY UPDATE n = counters.n + new.n"),
    "INSERT": asks(lambda: f"INSERT INTO posts (user_id, title, body, posted) VALUES ({some()}, 'A new one', '{TEXT}', NOW())"),
    "INSERT of 20": asks(lambda: "INSERT INTO posts (user_id, title, body, posted) VALUES " + ", ".join(f"({some()}, 'A new one', '{TEXT}', NOW())" for _ in range(20))),
    "INSERT of 5 to 50": asks(lambda: "INSERT INTO posts (user_id, title, body, posted) VALUES " + ", ".join(f"({some()}, 'A new one', '{TEXT}', NOW())" for _ in range(random.randint(5, 50)))),
    "INSERT of a UUID": asks(lambda: f"INSERT INTO events VALUES ('{uuid()}', 'click', '{{\"x\": {some()}, \"of\": \"page\"}}', NOW(3))"),
    "INSERT and its id": lambda c: (c.query(f"INSERT INTO posts (user_id, title, posted) VALUES ({some()}, 'x', NOW())"), c.query("SELECT LAST_INSERT_ID()")),
    "INSERT IGNORE of what is there": asks(lambda: f"INSERT IGNORE INTO counters VALUES ('counter{some(99)}', 1, NOW())"),
    "UPDATE to what it is": asks("UPDATE counters SET n = 0 WHERE name = 'counter0'"),
    "UPDATE of nothing": asks(lambda: f"UPDATE counters SET n = 0 WHERE name = 'nobody{some()}'"),
    "upsert of what is there": asks(lambda: f"INSERT INTO posts (id, user_id, title, posted) VALUES ({(a := some())}, {a}, 'x', NOW()) ON DUPLICATE KEY UPDATE user_id = VALUES(user_id)"),
    "REPLACE": asks(lambda: f"REPLACE INTO counters VALUES ('counter{some(99)}', 1, NOW())"),
    "DELETE by id": asks(lambda: f"DELETE FROM tags WHERE post_id = {some()} AND tag = 'tag{some(49)}'"),
    "blob of 100 kB": asks(lambda: f"REPLACE INTO blobs VALUES ({some(50)}, REPEAT('x{some()}', 20000))"),
    "blob sent": asks(lambda: f"REPLACE INTO blobs VALUES ({some(50)}, '{'y' * 100_000}')"),
    "blob read": asks(lambda: f"SELECT data FROM blobs WHERE id = {some(50)}"),
    "empty transaction": transaction(),
    "transaction, look and change": transaction(lambda: f"SELECT * FROM users WHERE id = {some()} FOR UPDATE", lambda: f"UPDATE users SET balance = balance + 1 WHERE id = {some()}"),
    "transaction, look by a unique text and change": transaction(lambda: f"SELECT * FROM users WHERE email = 'user{some() - 1}@example.org' FOR UPDATE", lambda: f"UPDATE users SET balance = balance + 1 WHERE id = {some()}"),
    "transaction with a savepoint": transaction("SAVEPOINT active_record_1", lambda: f"INSERT INTO posts (user_id, title, posted) VALUES ({some()}, 'x', NOW())", "RELEASE SAVEPOINT active_record_1"),
    "rolled back": lambda c: (c.query("BEGIN"), c.query(f"UPDATE users SET balance = 0 WHERE id = {some()}"), c.query("ROLLBACK")),
    "queue": transaction("SELECT id FROM posts WHERE views >= 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"),
    "lock with a name": lambda c: (c.query("SELECT GET_LOCK('migration', 10)"), c.query("SELECT RELEASE_LOCK('migration')")),
    "duplicate": fails("INSERT INTO users (email, created_at) VALUES ('user1@example.org', NOW())"),
    "wrong statement": fails("SELEC 1"),
    "no such table": fails("SELECT * FROM nothing"),
    "several statements": lambda c: c.query("SELECT 1; SELECT 2; SELECT 3") if c.c.client_flag & 0x10000 else c.query("SELECT 1"),
    "SHOW TABLES": asks("SHOW TABLES"),
    "SHOW FULL COLUMNS": asks("SHOW FULL FIELDS FROM users"),
    "SHOW CREATE TABLE": asks("SHOW CREATE TABLE posts"),
    "SHOW KEYS": asks("SHOW KEYS FROM posts"),
    "DESCRIBE": asks("DESCRIBE users"),
    "information_schema: columns of one": asks("SELECT column_name, data_type, is_nullable, column_default, column_type, column_key, extra FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'users' ORDER BY ordinal_position"),
    "information_schema: tables": asks("SELECT table_name, table_type, engine, table_rows FROM information_schema.tables WHERE table_schema = DATABASE()"),
    "information_schema: foreign keys": asks("SELECT fk.referenced_table_name AS to_table, fk.referenced_column_name AS primary_key, fk.column_name AS col, fk.constraint_name AS name, rc.update_rule, rc.delete_rule FROM information_schema.referential_constraints rc "
                                             "JOIN information_schema.key_column_usage fk USING (constraint_schema, constraint_name) WHERE fk.referenced_column_name IS NOT NULL AND fk.table_schema = DATABASE() AND fk.table_name = 'posts' AND rc.constraint_schema = DATABASE() AND rc.table_name = 'posts'"),
    "temporary table": lambda c: (c.query("CREATE TEMPORARY TABLE tt (id INT PRIMARY KEY, v VARCHAR(20))"), c.query("INSERT INTO tt VALUES (1, 'a'), (2, 'b')"), c.query("SELECT * FROM tt"), c.query("DROP TEMPORARY TABLE tt")),
    "table made and dropped": lambda c: (c.query("CREATE TABLE made (id INT PRIMARY KEY, v VARCHAR(20), KEY v (v))"), c.query("DROP TABLE made")),
    "column added and dropped": lambda c: (c.query("ALTER TABLE counters ADD COLUMN extra INT"), c.query("ALTER TABLE counters DROP COLUMN extra")),
    "TRUNCATE": asks("TRUNCATE TABLE events"),
    "EXPLAIN": asks(lambda: f"EXPLAIN SELECT * FROM posts WHERE user_id = {some()}"),
}


def clock(pid):
    """Nanoseconds of processor that all threads of the process have taken, those that ended too."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def listens(port):
    """The process that listens on a port here."""
    wanted = {line.split()[9] for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:] if line.split()[3] == "0A" and int(line.split()[1].rsplit(":", 1)[1], 16) == port}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") in {f"socket:[{inode}]" for inode in wanted} for fd in os.listdir(f"/proc/{pid}/fd")):
                return int(pid)
        except OSError:
            continue
    sys.exit(f"nobody listens on port {port} here")


def slice_of(client, pid, way, seconds):
    """Microseconds of the server's processor and until the answer, for each."""
    count, began, before = 0, time.monotonic_ns(), clock(pid)
    while count < 3 or time.monotonic_ns() - began < seconds * 1e9:
        way(client)
        count += 1
    until = time.monotonic_ns() - began
    return (clock(pid) - before) / count / 1000, until / count / 1000


def medians(askers, way, o):
    """Medians of the rounds for each of (client, its server's process, whether forms are new): microseconds of the server's processor, and until the answer."""
    found = [[] for _ in askers]
    for round in range(-1, o.rounds):
        for (client, pid, client.fresh), slices in zip(askers, found):
            # The first round warms.
            slices.append(slice_of(client, pid, way, o.seconds if round >= 0 else 0.05))
    found = [slices[1:] for slices in found]
    return [tuple(statistics.median(one[k] for one in slices) for k in (0, 1)) for slices in found]


def compare(ways, clients, pids, o):
    print(f"{'':42} {'ours: µs of processor':>22} {'until answered':>15} {'MySQL: processor':>17} {'until answered':>15} {'x':>6}")
    for name, way in ways.items():
        (ours, our_answer), (theirs, their_answer) = medians([(clients[0], pids[0], False), (clients[1], pids[1], False)], way, o)
        if not o.slower or theirs < o.slower * ours:
            print(f"{name:42} {ours:22.1f} {our_answer:15.1f} {theirs:17.1f} {their_answer:15.1f} {theirs / ours:6.2f}", flush=True)


def has_forms(client, way):
    """Whether each asking is of a form of its own (what is prepared once is not)."""
    client.fresh = True
    way(client)
    before = client.forms
    way(client)
    return client.forms > before


def compare_fresh(ways, clients, pids, o):
    print(f"{'µs of processor':42} {'ours, known':>12} {'ours, new':>12} {'planning':>10} {'MySQL, new':>12} {'x':>6}")
    for name, way in ways.items():
        if not has_forms(clients[0], way):
            continue
        known, new, theirs = [processor for processor, _ in medians([(clients[0], pids[0], False), (clients[0], pids[0], True), (clients[1], pids[1], True)], way, o)]
        if not o.slower or theirs < o.slower * new:
            print(f"{name:42} {known:12.1f} {new:12.1f} {new - known:10.1f} {theirs:12.1f} {theirs / new:6.2f}", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--server", default=str(ROOT / "target/release/altiplano"))
    arguments.add_argument("--peer", default="127.0.0.1:13097")
    arguments.add_argument("--port", type=int, default=13396)
    arguments.add_argument("--only", default="")
    arguments.add_argument("--seconds", type=float, default=0.4)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--slower", type=float, default=0.0)
    arguments.add_argument("--fresh", action="store_true")
    arguments.add_argument("--server-argument", action="append", default=[])
    o = arguments.parse_args()
    directory = tempfile.mkdtemp(prefix="ways-", dir="/var/tmp")
    server = subprocess.Popen([o.server, "serve", "--data-dir", f"{directory}/data", "--port", str(o.port), "--socket", f"{directory}/socket", "--set", "altiplano_stand_in=OFF", "--set", "altiplano_look_for_client=0", *o.server_argument], stdout=subprocess.DEVNULL, stderr=open(f"{directory}/errors", "w"))
    host, port = o.peer.rsplit(":", 1)
    targets = [("127.0.0.1", o.port, "ways"), (host, int(port), "ways")]
    try:
        while True:
            if server.poll() is not None:
                sys.exit(Path(f"{directory}/errors").read_text())
            try:
                pymysql.connect(host="127.0.0.1", port=o.port, user="root", ssl_disabled=True).close()
                break
            except pymysql.MySQLError:
                time.sleep(0.1)
        clients, pids = [], [server.pid, listens(int(port))]
        for target in targets:
            with pymysql.connect(host=target[0], port=target[1], user="root", ssl_disabled=True, autocommit=True).cursor() as cursor:
                cursor.execute("DROP DATABASE IF EXISTS ways")
                cursor.execute("CREATE DATABASE ways")
            client = Client(target)
            for text in SCHEMA:
                client.query(text)
            fill(client)
            clients.append(client)
        wanted = [word for word in o.only.split(",") if word]
        ways = {name: way for name, way in WAYS.items() if not wanted or any(word in name for word in wanted)}
        (compare_fresh if o.fresh else compare)(ways, clients, pids, o)
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
