// A small shop in TypeORM: migrations, synchronize, introspection (generate), CRUD, relations, trees, locks.
'use strict';
require('reflect-metadata');
const assert = require('node:assert/strict');
const { DataSource, EntitySchema, In, Like, Between, IsNull, MoreThan, Not, QueryFailedError, Table, TableColumn, TableForeignKey, TableIndex, TableUnique, TableCheck } = require('typeorm');
const { settings, test, main } = require('./check');

const Author = new EntitySchema({
  name: 'Author',
  columns: {
    id: { type: 'int', unsigned: true, primary: true, generated: 'increment' },
    uuid: { type: 'varchar', length: 36, generated: 'uuid' },
    name: { type: 'varchar', length: 100, charset: 'utf8mb4', collation: 'utf8mb4_bin', comment: "the author's name" },
    email: { type: 'varchar', nullable: true, unique: true },
    kind: { type: 'enum', enum: ['guest', 'staff'], default: 'guest' },
    flags: { type: 'set', enum: ['a', 'b', 'c'], nullable: true },
    salary: { type: 'decimal', precision: 12, scale: 2, default: 0 },
    ratio: { type: 'double', nullable: true },
    born: { type: 'date', nullable: true },
    wakes: { type: 'time', nullable: true },
    extra: { type: 'json', nullable: true },
    photo: { type: 'mediumblob', nullable: true },
    year: { type: 'year', nullable: true },
    active: { type: 'boolean', default: true },
    upper: { type: 'varchar', length: 100, asExpression: 'UPPER(`name`)', generatedType: 'STORED', nullable: true },
    createdAt: { type: 'datetime', precision: 6, createDate: true },
    updatedAt: { type: 'timestamp', precision: 6, updateDate: true },
    deletedAt: { type: 'datetime', precision: 6, deleteDate: true, nullable: true },
    version: { type: 'int', version: true },
  },
  indices: [{ name: 'name_kind', columns: ['name', 'kind'] }],
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } },
});
const Book = new EntitySchema({
  name: 'Book',
  columns: {
    id: { type: 'bigint', primary: true, generated: 'increment' },
    title: { type: 'varchar', length: 200 },
    text: { type: 'longtext', nullable: true },
    price: { type: 'float', default: 9.5 },
  },
    relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', onDelete: 'CASCADE', nullable: true },
    labels: { type: 'many-to-many', target: 'Label', joinTable: { name: 'book_labels' }, cascade: true },
  },
});
const Label = new EntitySchema({ name: 'Label', columns: { name: { type: 'varchar', length: 30, primary: true } } });
const Category = new EntitySchema({
  name: 'Category',
  columns: { id: { type: 'int', primary: true, generated: true }, name: { type: 'varchar' } },
  trees: [{ type: 'closure-table' }],
  relations: { parent: { type: 'many-to-one', target: 'Category', treeParent: true }, children: { type: 'one-to-many', target: 'Category', treeChildren: true, inverseSide: 'parent', cascade: true } },
});
const Summary = new EntitySchema({
  name: 'Summary', type: 'view', expression: 'SELECT a.id AS id, a.name AS name, COUNT(b.id) AS books FROM author a LEFT JOIN book b ON b.authorId = a.id GROUP BY a.id, a.name',
  columns: { id: { type: 'int', primary: true }, name: { type: 'varchar' }, books: { type: 'int' } },
});

class First1700000000000 {
  constructor() { this.name = 'First1700000000000'; }
  async up(q) {
    await q.createTable(new Table({
      name: 'm_user',
      columns: [
        { name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
        { name: 'name', type: 'varchar', length: '40', isNullable: false, default: "'none'" },
        { name: 'at', type: 'datetime', default: 'CURRENT_TIMESTAMP', onUpdate: 'CURRENT_TIMESTAMP' },
      ],
    }), true);
    await q.createTable(new Table({ name: 'm_post', columns: [{ name: 'id', type: 'int', isPrimary: true }, { name: 'user_id', type: 'int' }] }));
    await q.createForeignKey('m_post', new TableForeignKey({ columnNames: ['user_id'], referencedTableName: 'm_user', referencedColumnNames: ['id'], onDelete: 'CASCADE' }));
  }
  async down(q) { await q.dropTable('m_post', true, true); await q.dropTable('m_user'); }
}
class Second1700000000001 {
  constructor() { this.name = 'Second1700000000001'; }
  async up(q) {
    await q.addColumn('m_user', new TableColumn({ name: 'age', type: 'int', isNullable: true, unsigned: true }));
    await q.createIndex('m_user', new TableIndex({ name: 'by_age', columnNames: ['age', 'name'] }));
    await q.changeColumn('m_user', 'name', new TableColumn({ name: 'full_name', type: 'varchar', length: '80', isNullable: true }));
    await q.renameColumn('m_user', 'age', 'years');
  }
  async down(q) {
    await q.renameColumn('m_user', 'years', 'age');
    await q.changeColumn('m_user', 'full_name', new TableColumn({ name: 'name', type: 'varchar', length: '40', default: "'none'" }));
    await q.dropIndex('m_user', 'by_age');
    await q.dropColumn('m_user', 'age');
  }
}

let db;
const repo = (e) => db.getRepository(e);

test('synchronize makes the schema, and finds nothing to change the second time', async () => {
  await db.synchronize();
  const left = await db.driver.createSchemaBuilder().log();
  assert.deepEqual(left.upQueries.map((q) => q.query), []);
});

test('a changed schema is altered', async () => {
  await db.query("ALTER TABLE author ADD COLUMN odd INT, MODIFY kind ENUM('guest') NOT NULL DEFAULT 'guest', DROP INDEX name_kind, MODIFY ratio INT NULL, MODIFY email VARCHAR(50) NOT NULL");
  await db.query('ALTER TABLE book DROP COLUMN price, ADD COLUMN price INT');
  const before = await db.driver.createSchemaBuilder().log();
  assert.ok(before.upQueries.length >= 5, String(before.upQueries.length));
  await db.synchronize();
  const left = await db.driver.createSchemaBuilder().log();
  assert.deepEqual(left.upQueries.map((q) => q.query), []);
});

test('migrations up and down', async () => {
  assert.equal(await db.showMigrations(), true);
  assert.equal((await db.runMigrations()).length, 2);
  assert.equal(await db.showMigrations(), false);
  const q = db.createQueryRunner();
  const table = await q.getTable('m_user');
  assert.deepEqual(table.columns.map((c) => `${c.name} ${c.type} ${c.length || c.width || ''} ${c.isNullable} ${c.unsigned} ${c.default}`).sort(),
    ['at datetime  false false CURRENT_TIMESTAMP', 'full_name varchar 80 true false undefined', 'id int  false false undefined', 'years int  true true undefined']);
  assert.deepEqual(table.indices.map((i) => i.name), ['by_age']);
  const post = await q.getTable('m_post');
  assert.deepEqual(post.foreignKeys.map((k) => [k.columnNames, k.referencedTableName, k.onDelete]), [[['user_id'], 'm_user', 'CASCADE']]);
  assert.ok(await q.hasTable('m_post') && await q.hasColumn('m_post', 'user_id') && await q.hasDatabase(settings.database));
  await q.release();
  await db.undoLastMigration();
  await db.undoLastMigration();
  assert.equal(await db.showMigrations(), true);
});

test('a query runner changes tables', async () => {
  const q = db.createQueryRunner();
  await q.createTable(new Table({ name: 'qr', columns: [{ name: 'a', type: 'int' }, { name: 'b', type: 'varchar', length: '20', isNullable: true }] }));
  await q.createPrimaryKey('qr', ['a']);
  await q.updatePrimaryKeys('qr', [new TableColumn({ name: 'a', type: 'int' })]);
  await q.createIndex('qr', new TableIndex({ name: 'u', columnNames: ['b'], isUnique: true }));
  await q.renameTable('qr', 'qr2');
  await q.changeTableComment('qr2', "it's");
  const table = await q.getTable('qr2');
  assert.equal(table.comment, "it's");
  await q.clearTable('qr2');
  await q.dropPrimaryKey('qr2');
  await q.dropTable('qr2');
  await q.createDatabase(`${settings.database}_2`, true);
  await q.dropDatabase(`${settings.database}_2`);
  await q.release();
});

test('save and read back every type', async () => {
  const a = await repo(Author).save({ name: 'Ännä 😀', email: 'a@example.org', kind: 'staff', flags: ['a', 'c'], salary: '1234567890.12', ratio: 0.1, born: '2000-02-29', wakes: '06:30:00', extra: { k: [1, 'é'] }, photo: Buffer.from([0, 255]), year: 2024 });
  assert.equal(a.version, 1);
  const read = await repo(Author).findOneByOrFail({ id: a.id });
  assert.deepEqual([read.name, read.kind, read.flags, read.salary, read.ratio, read.born, read.wakes, read.extra, read.year, read.active, read.upper],
    ['Ännä 😀', 'staff', ['a', 'c'], '1234567890.12', 0.1, '2000-02-29', '06:30:00', { k: [1, 'é'] }, 2024, true, 'ÄNNÄ 😀']);
  assert.deepEqual(read.photo, Buffer.from([0, 255]));
  assert.ok(read.createdAt instanceof Date && read.updatedAt instanceof Date);
});

test('insert many, upsert, find with operators', async () => {
  await repo(Author).insert(Array.from({ length: 20 }, (_, i) => ({ name: `n${i}`, email: `n${i}@x.org`, salary: i, kind: i % 2 ? 'staff' : 'guest' })));
  await repo(Author).upsert([{ name: 'n0 again', email: 'n0@x.org' }, { name: 'new', email: 'new@x.org' }], ['email']);
  assert.equal(await repo(Author).count(), 22);
  assert.equal(await repo(Author).countBy({ name: Like('n1%') }), 11);
  assert.equal(await repo(Author).countBy({ salary: Between(5, 9) }), 5);
  assert.equal(await repo(Author).countBy([{ email: In(['n1@x.org', 'n2@x.org']) }, { ratio: Not(IsNull()) }]), 3);
  assert.equal(Number(await repo(Author).sum('salary', { salary: MoreThan(17), kind: 'staff' })) >= 19, true);
  const [page, total] = await repo(Author).findAndCount({ order: { id: 'DESC' }, skip: 2, take: 5, select: { id: true, name: true } });
  assert.deepEqual([page.length, total], [5, 22]);
});

test('relations: cascades, joins, relation loading', async () => {
  const author = await repo(Author).findOneByOrFail({ email: 'a@example.org' });
  for (let i = 0; i < 3; i += 1) await repo(Book).save({ title: `book ${i}`, text: 't'.repeat(100000), author, labels: [{ name: 'red' }, { name: `l${i}` }] });
  const loaded = await repo(Author).findOne({ where: { id: author.id }, relations: { books: { labels: true } }, order: { books: { id: 'ASC' } } });
  assert.equal(loaded.books.length, 3);
  assert.equal(loaded.books[0].text.length, 100000);
  assert.deepEqual(loaded.books[1].labels.map((l) => l.name).sort(), ['l1', 'red']);
  const paged = await repo(Author).find({ relations: { books: true }, take: 2, order: { id: 'ASC' } });
  assert.equal(paged.length, 2);
  const built = await repo(Book).createQueryBuilder('b').leftJoinAndSelect('b.author', 'a').innerJoin('b.labels', 'l', 'l.name = :n', { n: 'red' })
    .where('a.id = :id', { id: author.id }).orderBy('b.title', 'DESC').skip(1).take(1).getManyAndCount();
  assert.deepEqual([built[0][0].title, built[1]], ['book 1', 3]);
});

test('query builder: groups, having, subqueries, unions by CTE, update, delete', async () => {
  const groups = await repo(Author).createQueryBuilder('a').select('a.kind', 'kind').addSelect('COUNT(*)', 'n').groupBy('a.kind').having('n > 3').orderBy('n').getRawMany();
  assert.equal(groups.length, 2);
  const sub = await repo(Author).createQueryBuilder('a').where((q) => `a.id IN ${q.subQuery().select('b.authorId').from(Book, 'b').getQuery()}`).getCount();
  assert.equal(sub, 1);
  const cte = await repo(Author).createQueryBuilder('a').addCommonTableExpression('SELECT MAX(id) AS id FROM author', 'newest').innerJoin('newest', 'n', 'n.id = a.id').getCount();
  assert.equal(cte, 1);
  const updated = await repo(Author).createQueryBuilder().update().set({ ratio: () => 'salary / 2' }).where('kind = :k', { k: 'staff' }).execute();
  assert.ok(updated.affected >= 10);
  const deleted = await repo(Author).createQueryBuilder().delete().where('email = :e', { e: 'new@x.org' }).execute();
  assert.equal(deleted.affected, 1);
  const orIgnore = await repo(Author).createQueryBuilder().insert().orIgnore().updateEntity(false).values([{ name: 'dup', email: 'n1@x.org' }]).execute();
  assert.equal(orIgnore.raw.affectedRows, 0);
});

test('soft delete, restore, version', async () => {
  const a = await repo(Author).findOneByOrFail({ email: 'n3@x.org' });
  await repo(Author).softRemove(a);
  assert.equal(await repo(Author).countBy({ email: 'n3@x.org' }), 0);
  await repo(Author).restore(a.id);
  const b = await repo(Author).findOneByOrFail({ email: 'n3@x.org' });
  b.name = 'again'; await repo(Author).save(b);
  assert.ok(b.version >= 2);
  await repo(Author).increment({ id: b.id }, 'salary', 2.5);
});

test('errors', async () => {
  const dup = await repo(Author).insert({ name: 'x', email: 'n1@x.org' }).catch((e) => e);
  assert.ok(dup instanceof QueryFailedError);
  assert.equal(dup.driverError.code, 'ER_DUP_ENTRY');
  const long = await repo(Label).insert({ name: 'x'.repeat(31) }).catch((e) => e);
  assert.deepEqual([long.driverError.errno, long.driverError.sqlState], [1406, '22001']);
});

test('locks and isolation levels', async () => {
  for (const level of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
    await db.transaction(level, async (m) => {
      for (const mode of ['pessimistic_read', 'pessimistic_write', 'pessimistic_partial_write', 'pessimistic_write_or_fail']) {
        await m.findOne('Author', { where: { email: 'n1@x.org' }, lock: { mode } });
      }
    });
  }
  await assert.rejects(db.transaction(async (m) => { await m.delete('Book', {}).catch(() => {}); await m.createQueryBuilder().delete().from('Book').execute(); throw new Error('undo'); }), /undo/);
  assert.equal(await repo(Book).count(), 3);
});

test('a closure-table tree', async () => {
  const trees = db.getTreeRepository(Category);
  const root = await trees.save({ name: 'root' });
  const child = await trees.save({ name: 'child', parent: root });
  await trees.save({ name: 'leaf', parent: child });
  assert.equal(await trees.countDescendants(root), 3);
  assert.deepEqual((await trees.findAncestors(child)).map((c) => c.name).sort(), ['child', 'root']);
  assert.equal((await trees.findTrees())[0].children[0].children[0].name, 'leaf');
});

test('a view entity', async () => {
  const rows = await repo(Summary).find({ order: { books: 'DESC' }, take: 1 });
  assert.equal(Number(rows[0].books), 3);
});

test('a stream, and raw parameters', async () => {
  const stream = await repo(Author).createQueryBuilder('a').stream();
  let n = 0;
  for await (const row of stream) n += row.a_id ? 1 : 0;
  assert.equal(n, 21);
  assert.deepEqual(JSON.parse(JSON.stringify(await db.query('SELECT ? AS a, ? AS b', ['1', 'x']))), [{ a: '1', b: 'x' }]);
});

test('drop the schema', async () => {
  await db.dropDatabase();
  assert.deepEqual(await db.query('SHOW TABLES'), []);
});

main({
  before: async () => {
    const { user: username, ...rest } = settings;
    db = await new DataSource({ type: 'mysql', username, ...rest, entities: [Author, Book, Label, Category, Summary], migrations: [First1700000000000, Second1700000000001], logging: process.env.SUITE_SQL ? true : false }).initialize();
  },
  after: () => db.destroy(),
});
