// The daily things of an application, through mysql2 with server-side prepared statements. Usage: node daily.js PORT
const assert = require('assert');
const mysql = require('mysql2/promise');

(async () => {
  const connection = await mysql.createConnection({ host: '127.0.0.1', port: +process.argv[2], user: 'root', charset: 'utf8mb4', dateStrings: true, supportBigNumbers: true, bigNumberStrings: false });
  await connection.query('DROP DATABASE IF EXISTS daily_js');
  await connection.query('CREATE DATABASE daily_js');
  await connection.changeUser({ database: 'daily_js' });
  await connection.query(`CREATE TABLE item (id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, title VARCHAR(100) NOT NULL, price DECIMAL(12,2), stock BIGINT,
    sold DATETIME(3), day DATE, t TIME, payload BLOB, score DOUBLE, flag TINYINT(1), KEY price_k (price))`);
  const payload = Buffer.from([0, 1, 2, 255, 254, 39, 34, 92]);
  const values = ['Llama 🦙', '1234567890.12', 9007199254740991, '2026-11-20 13:14:15.678', '2024-02-29', '-12:34:56', payload, -1.5e-7, 1];
  const [inserted] = await connection.execute('INSERT INTO item (title, price, stock, sold, day, t, payload, score, flag) VALUES (?,?,?,?,?,?,?,?,?)', values);
  assert.strictEqual(inserted.insertId, 1);
  assert.strictEqual(inserted.affectedRows, 1);
  const [[row]] = await connection.execute('SELECT * FROM item WHERE id = ?', [1]);
  assert.deepStrictEqual([row.title, row.price, row.stock, row.sold, row.day, row.t, row.payload, row.score, row.flag], values);
  await connection.execute('INSERT INTO item (title, price, stock, sold, day, t, payload, score, flag) VALUES (?,?,?,?,?,?,?,?,?)', ['nulls', null, null, null, null, null, null, null, null]);
  const [[nulls]] = await connection.execute('SELECT price, sold, payload, score FROM item WHERE title = ?', ['nulls']);
  assert.deepStrictEqual({ ...nulls }, { price: null, sold: null, payload: null, score: null });

  await connection.beginTransaction();
  await connection.execute('UPDATE item SET stock = stock - ? WHERE id = ?', [10, 1]);
  await connection.rollback();
  const [[kept]] = await connection.query('SELECT stock FROM item WHERE id = 1');
  assert.strictEqual(kept.stock, 9007199254740991);
  await connection.beginTransaction();
  const [updated] = await connection.execute('UPDATE item SET price = price + 1 WHERE id IN (1, 2, 3)');
  assert.strictEqual(updated.affectedRows, 2);
  assert.strictEqual(updated.changedRows, 1);
  await connection.commit();

  for (const [statement, code, state] of [['SELECT x FROM item', 1054, '42S22'], ['SELECT 1 FROM nowhere', 1146, '42S02'], ['INSERT INTO item (id, title) VALUES (1, "a")', 1062, '23000'], ['nonsense', 1064, '42000']]) {
    await assert.rejects(connection.query(statement), (e) => e.errno === code && e.sqlState === state, statement);
  }
  await assert.rejects(connection.execute('SELECT * FROM item WHERE nope = ?', [1]), (e) => e.errno === 1054);

  const rows = Array.from({ length: 1000 }, (_, n) => [`bulk ${n}`, n / 4]);
  await connection.query('INSERT INTO item (title, price) VALUES ?', [rows]);
  const [sums] = await connection.execute('SELECT COUNT(*) AS n, SUM(price) AS s, AVG(price) AS a, MAX(title) AS m FROM item WHERE title LIKE ?', ['bulk %']);
  assert.deepStrictEqual({ ...sums[0] }, { n: 1000, s: '124875.00', a: '124.875000', m: 'bulk 999' });
  const [page] = await connection.execute('SELECT title FROM item WHERE price BETWEEN ? AND ? ORDER BY price DESC, id LIMIT 2', [10, 20]);
  assert.deepStrictEqual(page.map((r) => r.title), ['bulk 80', 'bulk 79']);
  const [groups] = await connection.query('SELECT price DIV 100 AS p, COUNT(*) AS n FROM item WHERE price < 250 GROUP BY p HAVING n > 1 ORDER BY p');
  assert.deepStrictEqual(groups.map((g) => [g.p, g.n]), [[0, 400], [1, 400], [2, 200]]);
  await connection.query('DROP DATABASE daily_js');
  await connection.end();
  console.log('mysql2: all well');
})().catch((error) => { console.error(error); process.exit(1); });
