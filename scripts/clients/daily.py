"""The daily things of an application, through PyMySQL. Usage: daily.py PORT; exits with 1 and a traceback on the first surprise."""
import datetime, decimal, sys
import pymysql

connection = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", charset="utf8mb4", autocommit=False)
cursor = connection.cursor()
cursor.execute("DROP DATABASE IF EXISTS daily_py")
cursor.execute("CREATE DATABASE daily_py")
connection.select_db("daily_py")
cursor.execute("""CREATE TABLE account (
    id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50) NOT NULL, balance DECIMAL(20,4) NOT NULL DEFAULT 0,
    born DATE, seen DATETIME(6), at TIMESTAMP NULL, wake TIME, photo BLOB, note TEXT, ratio DOUBLE, UNIQUE KEY name_u (name)) ENGINE=InnoDB""")
photo = bytes(range(256)) * 8
seen = datetime.datetime(2026, 11, 20, 13, 14, 15, 123456)
row = ("Zoë 🦙", decimal.Decimal("12345678901234.5678"), datetime.date(1970, 2, 28), seen, datetime.datetime(2020, 1, 2, 3, 4, 5), datetime.timedelta(hours=-25, minutes=-1),
       photo, "emoji 😀 'quotes' \"double\" back\\slash \0 zero\nline", 0.1)
columns = "name, balance, born, seen, at, wake, photo, note, ratio"
cursor.execute(f"INSERT INTO account ({columns}) VALUES (%s,%s,%s,%s,%s,%s,_binary %s,%s,%s)", row)
assert cursor.rowcount == 1 and cursor.lastrowid == 1, (cursor.rowcount, cursor.lastrowid)
cursor.execute(f"SELECT {columns} FROM account WHERE id = %s", (1,))
got = cursor.fetchone()
assert got == row, f"\n{got}\n{row}"
cursor.execute("INSERT INTO account (name) VALUES (%s)", ("nulls",))
cursor.execute("SELECT born, photo, ratio, balance FROM account WHERE name = 'nulls'")
assert cursor.fetchone() == (None, None, None, decimal.Decimal("0.0000"))
connection.commit()

cursor.execute("UPDATE account SET balance = balance - 100 WHERE id = 1")
connection.rollback()
cursor.execute("SELECT balance FROM account WHERE id = 1")
assert cursor.fetchone()[0] == row[1]

try:
    cursor.execute("INSERT INTO account (name) VALUES ('nulls')")
    raise SystemExit("a duplicate key went in")
except pymysql.err.IntegrityError as error:
    assert error.args[0] == 1062 and error.args[1] == "Duplicate entry 'nulls' for key 'account.name_u'", error.args
for statement, code in (("SELECT nothing FROM account", 1054), ("SELECT 1 FROM missing", 1146), ("SELEC 1", 1064), ("INSERT INTO account (name) VALUES (REPEAT('x', 51))", 1406),
                        ("INSERT INTO account (name) VALUES (NULL)", 1048), ("USE missing_db", 1049)):
    try:
        cursor.execute(statement)
        raise SystemExit(f"{statement}: no error")
    except pymysql.err.Error as error:
        assert error.args[0] == code, (statement, error.args)

cursor.executemany("INSERT INTO account (name, balance) VALUES (%s, %s)", [(f"bulk{n}", n) for n in range(500)])
assert cursor.rowcount == 500
connection.commit()
cursor.execute("SELECT COUNT(*), SUM(balance), MIN(name), MAX(id) FROM account WHERE name LIKE 'bulk%'")
assert cursor.fetchone()[:3] == (500, decimal.Decimal("124750.0000"), "bulk0")
cursor.execute("SELECT name FROM account WHERE name LIKE 'bulk%%' ORDER BY balance DESC LIMIT %s OFFSET %s", (3, 1))
assert [r[0] for r in cursor.fetchall()] == ["bulk498", "bulk497", "bulk496"]
named = connection.cursor(pymysql.cursors.DictCursor)
named.execute("SELECT a.id, b.name AS other FROM account a LEFT JOIN account b ON b.id = a.id + 1 WHERE a.id = 1")
assert named.fetchall() == [{"id": 1, "other": "nulls"}]
streaming = connection.cursor(pymysql.cursors.SSCursor)
streaming.execute("SELECT id FROM account ORDER BY id")
assert sum(1 for _ in streaming) == 502
streaming.close()

other = pymysql.connect(host="127.0.0.1", port=int(sys.argv[1]), user="root", database="daily_py", charset="utf8mb4")
cursor.execute("SELECT balance FROM account WHERE id = 1")
with other.cursor() as c:
    c.execute("UPDATE account SET balance = 1 WHERE id = 1")
    other.commit()
cursor.execute("SELECT balance FROM account WHERE id = 1")
assert cursor.fetchone()[0] == row[1], "the snapshot moved"
connection.commit()
cursor.execute("SELECT balance FROM account WHERE id = 1")
assert cursor.fetchone()[0] == 1
cursor.execute("DROP DATABASE daily_py")
print("PyMySQL: all well")
