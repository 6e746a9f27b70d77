// The documented features of mysql2, whose own tests are not in its package.
'use strict';
const assert = require('node:assert/strict');
const { Readable } = require('node:stream');
const callbacks = require('mysql2');
const mysql = require('mysql2/promise');
const { settings, test, main } = require('./check');

let db;

/** Runs `body` with a connection of its own. */
async function connected(options, body) {
  const own = await mysql.createConnection({ ...settings, ...options });
  try {
    return await body(own);
  } finally {
    own.destroy();
  }
}

/** The error that a promise ends with. */
async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('expected an error');
}

const TYPES = `CREATE TABLE types_all (
  id INT AUTO_INCREMENT PRIMARY KEY, t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, m MEDIUMINT, i INT, iu INT UNSIGNED,
  b BIGINT, bu BIGINT UNSIGNED, f FLOAT, d DOUBLE, n DECIMAL(20,6), y YEAR, da DATE, ti TIME(3), dt DATETIME(6), ts TIMESTAMP NULL,
  c CHAR(10), v VARCHAR(100), bi BINARY(4), vb VARBINARY(10), bl BLOB, tx TEXT, e ENUM('a','b','c'), se SET('x','y','z'),
  bt BIT(10), j JSON, bo BOOLEAN)`;
const VALUES = [-128, 255, -32768, -8388608, -2147483648, 4294967295, '-9223372036854775808', '18446744073709551615', 1.5, -2.25, '12345678901234.567890',
  2024, '2024-02-29', '-12:34:56.789', '2024-12-31 23:59:59.123456', '2024-06-01 12:00:00', 'char', 'größe 😀', Buffer.from([1, 2, 3, 4]),
  Buffer.from([0, 255]), Buffer.from('blob'), 'text', 'b', 'x,z', 515, '{"a": [1, 2, {"b": null}]}', true];

function checkTypes(row) {
  assert.equal(row.t, -128);
  assert.equal(row.tu, 255);
  assert.equal(row.iu, 4294967295);
  assert.equal(String(row.b), '-9223372036854775808');
  assert.equal(String(row.bu), '18446744073709551615');
  assert.equal(row.f, 1.5);
  assert.equal(row.d, -2.25);
  assert.equal(row.n, '12345678901234.567890');
  assert.equal(row.y, 2024);
  assert.equal(row.da, '2024-02-29');
  assert.equal(row.ti, '-12:34:56.789');
  assert.equal(row.dt, '2024-12-31 23:59:59.123456');
  assert.equal(row.ts, '2024-06-01 12:00:00');
  assert.equal(row.c, 'char');
  assert.equal(row.v, 'größe 😀');
  assert.deepEqual(row.bi, Buffer.from([1, 2, 3, 4]));
  assert.deepEqual(row.vb, Buffer.from([0, 255]));
  assert.deepEqual(row.bl, Buffer.from('blob'));
  assert.equal(row.tx, 'text');
  assert.equal(row.e, 'b');
  assert.equal(row.se, 'x,z');
  assert.deepEqual(row.bt, Buffer.from([2, 3]));
  assert.deepEqual(row.j, { a: [1, 2, { b: null }] });
  assert.equal(row.bo, 1);
}

const TYPED = { supportBigNumbers: true, bigNumberStrings: true, dateStrings: true };

test('types: written as text, read as text and as prepared', () => connected(TYPED, async (own) => {
  await own.query(TYPES);
  await own.query(`INSERT INTO types_all VALUES (NULL, ${VALUES.map(() => '?').join(',')})`, VALUES);
  checkTypes((await own.query('SELECT * FROM types_all'))[0][0]);
  checkTypes((await own.execute('SELECT * FROM types_all'))[0][0]);
}));

test('types: written as prepared, read as both', () => connected(TYPED, async (own) => {
  await own.query('TRUNCATE types_all');
  await own.execute(`INSERT INTO types_all VALUES (NULL, ${VALUES.map(() => '?').join(',')})`, VALUES);
  checkTypes((await own.query('SELECT * FROM types_all'))[0][0]);
  checkTypes((await own.execute('SELECT * FROM types_all WHERE id = ?', [1]))[0][0]);
}));

test('types: NULL in every column', async () => {
  await db.execute(`INSERT INTO types_all VALUES (NULL, ${VALUES.map(() => '?').join(',')})`, VALUES.map(() => null));
  const [[row]] = await db.execute('SELECT * FROM types_all ORDER BY id DESC LIMIT 1');
  for (const [name, value] of Object.entries(row)) if (name !== 'id') assert.equal(value, null, name);
});

test('field packets: names, types, flags, charsets, lengths', async () => {
  for (const how of ['query', 'execute']) {
    const [, fields] = await db[how]('SELECT t.*, CONCAT(v, e) AS k, NOW() AS now FROM types_all t');
    const seen = fields.map((f) => [f.name, f.orgName, f.table, f.orgTable, f.columnType, f.flags, f.characterSet === 63 ? 'binary' : 'text', f.columnLength, f.decimals].join(' '));
    assert.deepEqual(seen, FIELDS, how);
  }
});
const FIELDS = [
  'id id t types_all 3 16899 binary 11 0',
  't t t types_all 1 0 binary 4 0',
  'tu tu t types_all 1 32 binary 3 0',
  's s t types_all 2 0 binary 6 0',
  'm m t types_all 9 0 binary 9 0',
  'i i t types_all 3 0 binary 11 0',
  'iu iu t types_all 3 32 binary 10 0',
  'b b t types_all 8 0 binary 20 0',
  'bu bu t types_all 8 32 binary 20 0',
  'f f t types_all 4 0 binary 12 31',
  'd d t types_all 5 0 binary 22 31',
  'n n t types_all 246 0 binary 22 6',
  'y y t types_all 13 96 binary 4 0',
  'da da t types_all 10 128 binary 10 0',
  'ti ti t types_all 11 128 binary 14 3',
  'dt dt t types_all 12 128 binary 26 6',
  'ts ts t types_all 7 128 binary 19 0',
  'c c t types_all 254 0 text 40 0',
  'v v t types_all 253 0 text 400 0',
  'bi bi t types_all 254 128 binary 4 0',
  'vb vb t types_all 253 128 binary 10 0',
  'bl bl t types_all 252 144 binary 65535 0',
  'tx tx t types_all 252 16 text 262140 0',
  'e e t types_all 254 256 text 4 0',
  'se se t types_all 254 2048 text 20 0',
  'bt bt t types_all 16 32 binary 10 0',
  'j j t types_all 245 144 binary 4294967295 0',
  'bo bo t types_all 1 0 binary 1 0',
  'k    253 0 text 404 31',
  'now    12 129 binary 19 0',
];

test('replies of changes: affectedRows, changedRows, insertId, info, warningStatus', async () => {
  await db.query('CREATE TABLE r (id INT AUTO_INCREMENT PRIMARY KEY, a INT, UNIQUE (a))');
  const [ins] = await db.query('INSERT INTO r (a) VALUES (1), (2), (3)');
  assert.deepEqual([ins.affectedRows, ins.insertId, ins.info, ins.warningStatus], [3, 1, 'Records: 3  Duplicates: 0  Warnings: 0', 0]);
  const [up] = await db.query('UPDATE r SET a = GREATEST(a, 3)  WHERE a = 3');
  assert.deepEqual([up.affectedRows, up.changedRows, up.info], [1, 0, 'Rows matched: 1  Changed: 0  Warnings: 0']);
  const [dup] = await db.query('INSERT INTO r (a) VALUES (1) ON DUPLICATE KEY UPDATE a = 10, id = LAST_INSERT_ID(id)');
  assert.deepEqual([dup.affectedRows, dup.insertId], [2, 1]);
  const [ign] = await db.query('INSERT IGNORE INTO r (a) VALUES (10), (11)');
  assert.deepEqual([ign.affectedRows, ign.warningStatus, ign.info], [1, 1, 'Records: 2  Duplicates: 1  Warnings: 1']);
  const [rep] = await db.execute('REPLACE INTO r (a) VALUES (?)', [11]);
  assert.equal(rep.affectedRows, 2);
  const [del] = await db.execute('DELETE FROM r WHERE a > ?', [2]);
  assert.equal(del.affectedRows, 3);
});

test('without FOUND_ROWS matched rows are not counted', () => connected({ flags: ['-FOUND_ROWS'] }, async (own) => {
  await own.query('INSERT INTO r (id, a) VALUES (100, 100)');
  const [up] = await own.query('UPDATE r SET a = 100 WHERE id = 100');
  assert.deepEqual([up.affectedRows, up.changedRows], [0, 0]);
}));

test('errors have code, errno, sqlState, sqlMessage', async () => {
  const cases = [
    ['SELECT * FROM missing', 'ER_NO_SUCH_TABLE', 1146, '42S02', `Table '${settings.database}.missing' doesn't exist`],
    ['SELECT nothing', 'ER_BAD_FIELD_ERROR', 1054, '42S22', "Unknown column 'nothing' in 'field list'"],
    ['INSERT INTO r (id, a) VALUES (100, 5)', 'ER_DUP_ENTRY', 1062, '23000', "Duplicate entry '100' for key 'r.PRIMARY'"],
    ['SELEC 1', 'ER_PARSE_ERROR', 1064, '42000', "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use near 'SELEC 1' at line 1"],
    ['CREATE TABLE r (a INT)', 'ER_TABLE_EXISTS_ERROR', 1050, '42S01', "Table 'r' already exists"],
    ['USE missing_db', 'ER_BAD_DB_ERROR', 1049, '42000', "Unknown database 'missing_db'"],
    ['SET @@no_such = 1', 'ER_UNKNOWN_SYSTEM_VARIABLE', 1193, 'HY000', "Unknown system variable 'no_such'"],
    ['', 'ER_EMPTY_QUERY', 1065, '42000', 'Query was empty'],
  ];
  for (const [sql, code, errno, state, message] of cases) {
    const error = await errorOf(db.query(sql));
    assert.deepEqual([error.code, error.errno, error.sqlState, error.sqlMessage], [code, errno, state, message]);
  }
  assert.equal((await errorOf(db.execute('SELECT ? FROM missing', [1]))).errno, 1146);
});

test('several statements in one text, with an error in the middle', () => connected({ multipleStatements: true }, async (own) => {
  const [results, fields] = await own.query("SELECT 1 AS a; SET @x = 2; SELECT @x AS b, 'c' AS d");
  assert.deepEqual(JSON.parse(JSON.stringify(results.map((r) => (Array.isArray(r) ? r : r.affectedRows)))), [[{ a: 1 }], 0, [{ b: 2, d: 'c' }]]);
  assert.equal(fields.length, 3);
  assert.equal((await errorOf(own.query('SELECT 1; SELECT * FROM missing; SELECT 2'))).errno, 1146);
  assert.equal((await own.query('SELECT 3 AS three'))[0][0].three, 3);
}));

test('without multipleStatements a second statement is refused', async () => {
  assert.equal((await errorOf(db.query('SELECT 1; SELECT 2'))).errno, 1064);
});

test('placeholders: escaped, named, arrays, objects, identifiers', () => connected({ namedPlaceholders: true }, async (own) => {
  assert.equal((await own.query('SELECT :a + :b AS s', { a: 1, b: 2 }))[0][0].s, 3);
  assert.equal((await own.execute('SELECT :a + :b AS s', { a: 1, b: 2 }))[0][0].s, 3);
  assert.equal((await db.query('SELECT 1 IN (?) AS x', [[1, 2, 3]]))[0][0].x, 1);
  await db.query('INSERT INTO r SET ?', { id: 200, a: 200 });
  await db.query('INSERT INTO r (id, a) VALUES ?', [[[201, 201], [202, 202]]]);
  assert.equal((await db.query('SELECT COUNT(*) AS c FROM ?? WHERE ?? BETWEEN ? AND ?', ['r', 'r.id', 200, 202]))[0][0].c, 3);
  const odd = 'a\'b"c\\d\n\r\0\x1a%_é😀';
  assert.equal((await db.query('SELECT ? AS v', [odd]))[0][0].v, odd);
  assert.equal((await db.execute('SELECT ? AS v', [odd]))[0][0].v, odd);
}));

test('parameters of prepared statements by type', async () => {
  const when = new Date(Date.UTC(2024, 1, 29, 12, 34, 56, 789));
  const [[row]] = await db.execute('SELECT ? AS n, ? AS i, ? AS f, ? AS s, ? AS b, ? AS d, ? AS t, ? AS j',
    [null, 42, 1.25, 'text', Buffer.from([0, 1, 255]), when, true, { k: [1] }]);
  assert.equal(row.n, null);
  assert.equal(row.i, 42);
  assert.equal(row.f, 1.25);
  assert.equal(row.s, 'text');
  assert.deepEqual(Buffer.from(row.b), Buffer.from([0, 1, 255]));
  assert.equal(new Date(row.d).getTime(), when.getTime());
  assert.equal(Number(row.t), 1);
  assert.deepEqual(JSON.parse(row.j), { k: [1] });
});

test('LIMIT with placeholders', async () => {
  assert.equal((await db.execute('SELECT id FROM r ORDER BY id LIMIT ?, ?', ['0', '2']))[0].length, 2);
  assert.equal((await db.execute('SELECT id FROM r ORDER BY id LIMIT ? OFFSET ?', [1, 1]))[0].length, 1);
});

test('many executions of one statement, unprepare, prepare again', async () => {
  const statement = await db.prepare('SELECT ? + 1 AS v');
  for (let i = 0; i < 300; i += 1) assert.equal((await statement.execute([i]))[0][0].v, i + 1);
  await statement.close();
  db.unprepare('SELECT ? + 1 AS v');
  for (let i = 0; i < 50; i += 1) assert.equal((await db.execute(`SELECT ? + ${i} AS v`, [1]))[0][0].v, i + 1);
});

test('rowsAsArray, nestTables, typeCast', async () => {
  assert.deepEqual((await db.query({ sql: 'SELECT 1, 2', rowsAsArray: true }))[0], [[1, 2]]);
  const [[nested]] = await db.query({ sql: 'SELECT a.id, b.id FROM r a JOIN r b USING (id) WHERE a.id = 100', nestTables: true });
  assert.deepEqual(JSON.parse(JSON.stringify(nested)), { a: { id: 100 }, b: { id: 100 } });
  const [[cast]] = await db.query({ sql: 'SELECT CAST(1 AS UNSIGNED) AS flag', typeCast: (field, next) => (field.name === 'flag' ? field.string() === '1' : next()) });
  assert.equal(cast.flag, true);
});

test('a stream of rows', async () => {
  const plain = callbacks.createConnection(settings);
  let count = 0;
  for await (const row of plain.query('WITH RECURSIVE n (v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 1000) SELECT v FROM n').stream()) {
    count += row.v;
  }
  plain.destroy();
  assert.equal(count, 500500);
});

test('LOAD DATA LOCAL INFILE from a stream', async () => {
  await db.query('SET GLOBAL local_infile = ON');
  await db.query('CREATE TABLE loaded (id INT PRIMARY KEY, name VARCHAR(40))');
  const text = Array.from({ length: 1000 }, (_, i) => `${i},"name ${i}"`).join('\n');
  const [result] = await db.query({
    sql: `LOAD DATA LOCAL INFILE 'x' INTO TABLE loaded FIELDS TERMINATED BY ',' ENCLOSED BY '"' LINES TERMINATED BY '\\n' (id, name)`,
    infileStreamFactory: () => Readable.from([Buffer.from(text)]),
  });
  assert.equal(result.affectedRows, 1000);
  assert.equal((await db.query('SELECT name FROM loaded WHERE id = 999'))[0][0].name, 'name 999');
});

test('transactions, savepoints, rollback', async () => {
  await db.beginTransaction();
  await db.query('INSERT INTO r (id, a) VALUES (300, 300)');
  await db.query('SAVEPOINT s1');
  await db.query('INSERT INTO r (id, a) VALUES (301, 301)');
  await db.query('ROLLBACK TO SAVEPOINT s1');
  await db.commit();
  await db.beginTransaction();
  await db.query('DELETE FROM r');
  await db.rollback();
  assert.equal((await db.query('SELECT COUNT(*) AS c FROM r WHERE id >= 300'))[0][0].c, 1);
});

test('changeUser and reset forget the session', async () => {
  await connected({}, async (own) => {
    await own.query('SET @x = 1, SESSION sql_mode = ""');
    await own.query('CREATE TEMPORARY TABLE gone (a INT)');
    await own.changeUser({ database: settings.database });
    assert.equal((await own.query('SELECT @x AS x'))[0][0].x, null);
    assert.equal((await errorOf(own.query('SELECT * FROM gone'))).errno, 1146);
    await own.query('SET @x = 1');
    await own.reset();
    assert.equal((await own.query('SELECT @x AS x'))[0][0].x, null);
  });
});

test('an account with caching_sha2_password, right and wrong', async () => {
  await db.query("DROP USER IF EXISTS suite_node_user@'%'");
  await db.query("CREATE USER suite_node_user@'%' IDENTIFIED BY 'päss'");
  await db.query(`GRANT SELECT ON ${settings.database}.* TO suite_node_user@'%'`);
  const account = { user: 'suite_node_user', password: 'päss' };
  for (let i = 0; i < 2; i += 1) {
    await connected(account, async (own) => {
      assert.match((await own.query('SELECT CURRENT_USER() AS u'))[0][0].u, /^suite_node_user@%$/);
      assert.equal((await errorOf(own.query('DELETE FROM r'))).errno, 1142);
    });
  }
  assert.equal((await errorOf(connected({ ...account, password: 'wrong' }, async () => {}))).errno, 1045);
  assert.equal((await errorOf(connected({ database: 'missing_db' }, async () => {}))).errno, 1049);
  await db.query("DROP USER suite_node_user@'%'");
});

test('TLS', () => connected({ ssl: { rejectUnauthorized: false } }, async (own) => {
  assert.notEqual((await own.query("SHOW STATUS LIKE 'Ssl_cipher'"))[0][0].Value, '');
}));

test('compression', () => connected({ compress: true }, async (own) => {
  assert.equal((await own.query("SELECT REPEAT('x', 3000000) AS x"))[0][0].x.length, 3000000);
  assert.equal((await own.query("SHOW STATUS LIKE 'Compression'"))[0][0].Value, 'ON');
}));

test('connection attributes', () => connected({ connectAttributes: { program_name: 'suite' } }, async (own) => {
  assert.equal((await own.query('SELECT 1 AS one'))[0][0].one, 1);
}));

test('a packet above 16 MiB both ways', async () => {
  const big = Buffer.alloc(17 * 1024 * 1024, 'a');
  assert.equal((await db.query('SELECT LENGTH(?) AS l', [big.toString()]))[0][0].l, big.length);
  assert.equal((await db.query(`SELECT REPEAT('b', ${big.length}) AS x`))[0][0].x.length, big.length);
  assert.equal((await db.execute('SELECT LENGTH(?) AS l', [big]))[0][0].l, big.length);
});

test('a pool: many queries at once', async () => {
  const pool = mysql.createPool({ ...settings, connectionLimit: 8 });
  const sums = await Promise.all(Array.from({ length: 200 }, (_, i) => pool.execute('SELECT ? + 1 AS v', [i])));
  sums.forEach(([[row]], i) => assert.equal(row.v, i + 1));
  await pool.end();
});

test('timeout of a query, and KILL', async () => {
  await connected({}, async (own) => {
    const sleeping = own.query('SELECT SLEEP(20) AS s');
    await new Promise((resolve) => setTimeout(resolve, 200));
    await db.query(`KILL QUERY ${own.threadId}`);
    const [[row]] = await sleeping;
    assert.equal(row.s, 1);
    await db.query(`KILL ${own.threadId}`);
    const error = await errorOf(own.query('SELECT 1'));
    assert.ok(error.fatal || error.errno === 4031 || error.code === 'PROTOCOL_CONNECTION_LOST', error.code);
  });
});

test('character sets of the connection', async () => {
  for (const charset of ['utf8mb4', 'utf8mb4_0900_ai_ci', 'utf8mb4_bin', 'latin1_swedish_ci']) {
    await connected({ charset }, async (own) => {
      assert.equal((await own.query("SELECT 'é' AS e"))[0][0].e, 'é', charset);
    });
  }
});

test('dates in time zones', async () => {
  for (const [timezone, hour] of [['Z', 12], ['+02:00', 10], ['-05:00', 17]]) {
    await connected({ timezone }, async (own) => {
      const [[row]] = await own.execute("SELECT CAST('2024-06-01 12:00:00' AS DATETIME) AS d");
      assert.equal(row.d.getUTCHours(), hour, timezone);
    });
  }
});

test('ping, SHOW forms, EXPLAIN', async () => {
  await db.ping();
  for (const sql of ['SHOW TABLES', 'SHOW FULL COLUMNS FROM r', 'SHOW INDEX FROM r', 'SHOW CREATE TABLE r', 'SHOW WARNINGS', 'SHOW VARIABLES LIKE "version%"', 'EXPLAIN SELECT * FROM r', 'DESCRIBE r']) {
    const [rows] = await db.query(sql);
    assert.ok(Array.isArray(rows), sql);
  }
});

main({
  before: async () => { db = await mysql.createConnection({ ...settings, timezone: 'Z' }); },
  after: async () => { db.destroy(); },
});
