// Migrations of Knex, its query builder, and models of Objection over it.
'use strict';
const assert = require('node:assert/strict');
const knex = require('knex');
const { Model, raw } = require('objection');
const { settings, test, main } = require('./check');

let db;

/** Two migrations, given as objects instead of files. */
const migrationSource = {
  getMigrations: async () => ['first', 'second'],
  getMigrationName: (name) => name,
  getMigration: async (name) => MIGRATIONS[name],
};
const MIGRATIONS = {
  first: {
    up: (k) => k.schema
      .createTable('persons', (t) => {
        t.increments('id');
        t.string('name', 80).notNullable().index();
        t.integer('parentId').unsigned().references('id').inTable('persons').onDelete('SET NULL');
        t.decimal('money', 14, 2).defaultTo(0);
        t.enu('kind', ['a', 'b']).defaultTo('a');
        t.json('address');
        t.boolean('ok').defaultTo(true);
        t.uuid('code').unique();
        t.binary('photo');
        t.date('born');
        t.dateTime('seen', { precision: 3 });
        t.timestamps(true, true);
        t.comment('people');
        t.engine('InnoDB'); t.charset('utf8mb4'); t.collate('utf8mb4_unicode_ci');
      })
      .createTable('movies', (t) => { t.bigIncrements(); t.string('name').collate('utf8mb4_bin'); t.check('length(??) > 0', ['name'], 'named'); })
      .createTable('persons_movies', (t) => {
        t.integer('personId').unsigned().references('persons.id').onDelete('CASCADE');
        t.bigInteger('movieId').unsigned().references('movies.id').onDelete('CASCADE').onUpdate('CASCADE');
        t.primary(['personId', 'movieId']);
      }),
    down: (k) => k.schema.dropTable('persons_movies').dropTable('movies').dropTable('persons'),
  },
  second: {
    up: (k) => k.schema.alterTable('persons', (t) => {
      t.string('nick').after('name').comment('short');
      t.renameColumn('money', 'balance');
      t.index(['kind', 'born'], 'kind_born');
      t.string('name', 120).alter();
      t.dropUnique(['code']);
    }).createView('rich', (v) => { v.columns(['id', 'name']); v.as(k('persons').select('id', 'name').where('balance', '>', 100)); }),
    down: (k) => k.schema.dropView('rich').alterTable('persons', (t) => {
      t.dropColumn('nick'); t.renameColumn('balance', 'money'); t.dropIndex([], 'kind_born'); t.unique(['code']);
    }),
  },
};

class Person extends Model {
  static get tableName() { return 'persons'; }
  static get jsonAttributes() { return ['address']; }
  static get relationMappings() {
    return {
      parent: { relation: Model.BelongsToOneRelation, modelClass: Person, join: { from: 'persons.parentId', to: 'persons.id' } },
      children: { relation: Model.HasManyRelation, modelClass: Person, join: { from: 'persons.id', to: 'persons.parentId' } },
      movies: { relation: Model.ManyToManyRelation, modelClass: Movie, join: { from: 'persons.id', through: { from: 'persons_movies.personId', to: 'persons_movies.movieId' }, to: 'movies.id' } },
    };
  }
}
class Movie extends Model {
  static get tableName() { return 'movies'; }
}

test('migrations up, down, up; each is once', async () => {
  const [batch, names] = await db.migrate.latest({ migrationSource });
  assert.deepEqual([batch, names], [1, ['first', 'second']]);
  assert.deepEqual((await db.migrate.latest({ migrationSource }))[1], []);
  await db.migrate.rollback({ migrationSource }, true);
  assert.equal(await db.schema.hasTable('persons'), false);
  await db.migrate.up({ migrationSource });
  await db.migrate.up({ migrationSource });
  assert.equal((await db.migrate.list({ migrationSource }))[1].length, 0);
  assert.equal(await db.migrate.currentVersion({ migrationSource }), 'second');
});

test('columnInfo, hasTable, hasColumn', async () => {
  const info = await db('persons').columnInfo();
  assert.deepEqual(info.name, { defaultValue: null, type: 'varchar', maxLength: 120, nullable: true });
  assert.deepEqual(info.balance, { defaultValue: '0.00', type: 'decimal', maxLength: null, nullable: true });
  assert.deepEqual(info.kind, { defaultValue: 'a', type: 'enum', maxLength: 1, nullable: true });
  assert.equal(await db.schema.hasColumn('persons', 'nick'), true);
  assert.equal(await db.schema.hasColumn('persons', 'none'), false);
});

test('objection: graph insert, eager, joins', async () => {
  const made = await Person.query().insertGraph({
    name: 'Root', balance: '500.25', address: { city: 'Bern', zip: [3, 0] },
    children: [{ name: 'Child 1', movies: [{ name: 'Alien' }, { name: 'Brazil' }] }, { name: 'Child 2' }],
  });
  const read = await Person.query().findById(made.id).withGraphFetched('children(byName).movies').modifiers({ byName: (q) => q.orderBy('name') });
  assert.deepEqual(read.address, { city: 'Bern', zip: [3, 0] });
  assert.equal(read.balance, '500.25');
  assert.deepEqual(read.children.map((c) => c.movies.length), [2, 0]);
  const joined = await Person.query().withGraphJoined('movies').where('movies.name', 'Alien');
  assert.equal(joined.length, 1);
  assert.deepEqual((await Person.query().whereExists(Person.relatedQuery('movies')).select('name')).map((p) => p.name), ['Child 1']);
  assert.equal((await db('rich')).length, 1);
});

test('objection: upsertGraph, patch, relate, unrelate', async () => {
  const child = await Person.query().findOne({ name: 'Child 1' }).withGraphFetched('movies');
  await Person.query().upsertGraph({ id: child.id, name: 'Child one', movies: [{ id: child.movies[0].id, name: 'Alien 2' }, { name: 'Cube' }] });
  const after = await Person.query().findById(child.id).withGraphFetched('movies');
  assert.deepEqual(after.movies.map((m) => m.name).sort(), ['Alien 2', 'Cube']);
  assert.equal(await Person.query().patch({ balance: raw('balance + 1') }).whereNull('parentId'), 1);
  await Person.relatedQuery('movies').for(child.id).unrelate();
  assert.equal(await Person.relatedQuery('movies').for(child.id).resultSize(), 0);
  const page = await Person.query().orderBy('id').page(0, 2);
  assert.deepEqual([page.results.length, page.total], [2, 3]);
});

test('insert, onConflict merge and ignore, returning ids', async () => {
  assert.equal((await db('movies').insert({ name: 'Dune' }))[0] > 0, true);
  await db('movies').insert([{ id: 1000, name: 'E1' }, { id: 1001, name: 'F' }]);
  await db('movies').insert({ id: 1000, name: 'E2' }).onConflict('id').merge();
  await db('movies').insert({ id: 1000, name: 'E3' }).onConflict('id').ignore();
  assert.equal((await db('movies').where({ id: 1000 }).first()).name, 'E2');
  await db.batchInsert('movies', Array.from({ length: 500 }, (_, i) => ({ name: `m${i}` })), 100);
  assert.equal(Number((await db('movies').count({ n: '*' }))[0].n), 505);
});

test('queries: joins, unions, with, windows, json', async () => {
  const rows = await db('persons as p').leftJoin('persons as c', 'c.parentId', 'p.id').groupBy('p.id').select('p.id', db.raw('count(c.id) as n')).having('n', '>', 0).orderBy('n', 'desc', 'last');
  assert.equal(rows.length, 1);
  const union = await db('persons').select('name').union([db('movies').select('name').where('id', '>', 1000).limit(1)], true).orderBy('name');
  assert.equal(union.length, 4);
  const recursive = await db.withRecursive('tree', ['id', 'depth'], (q) => q.select('id', db.raw('0')).from('persons').whereNull('parentId').unionAll((u) => u.select('p.id', db.raw('t.depth + 1')).from('persons as p').join('tree as t', 't.id', 'p.parentId'))).from('tree').max({ d: 'depth' });
  assert.equal(recursive[0].d, 1);
  const ranked = await db('movies').select('id').rank('r', 'name', 'id').rowNumber('n', (o) => o.orderBy('id', 'desc')).orderBy('id').limit(3);
  assert.equal(ranked.length, 3);
  const [json] = await db('persons').jsonExtract('address', '$.city', 'city').whereJsonPath('address', '$.zip[0]', '=', 3);
  assert.match(json.city, /Bern/);
  assert.equal((await db('persons').whereJsonSupersetOf('address', { city: 'Bern' })).length, 1);
  assert.equal((await db('persons').whereILike('name', 'child%')).length, 2);
  assert.equal((await db('persons').whereRaw('name LIKE ? COLLATE utf8mb4_bin', ['child%'])).length, 0);
  assert.ok((await db('persons').distinct('kind').pluck('kind')).includes('a'));
});

test('update and delete with limit, join; truncate', async () => {
  assert.equal(await db('movies').where('id', '>', 0).orderBy('id', 'desc').limit(2).update({ name: 'last' }), 2);
  assert.equal(await db('movies').where('name', 'last').del(), 2);
  await db('persons as p').join('persons as q', 'q.id', 'p.parentId').update({ 'p.nick': db.ref('q.name') });
  assert.equal(Number((await db('persons').where('nick', 'Root').count({ n: '*' }))[0].n), 2);
  await db('persons_movies').truncate();
});

test('transactions: nested, isolation, locks', async () => {
  await db.transaction(async (t) => {
    await t('persons').forUpdate().where({ name: 'Root' }).first();
    await t('persons').forUpdate().skipLocked().first();
    await t('persons').forUpdate().noWait().first();
    await assert.rejects(t.transaction(async (u) => { await u('persons').del(); throw new Error('undo'); }), /undo/);
  }, { isolationLevel: 'read committed' });
  assert.equal(Number((await db('persons').count({ n: '*' }))[0].n), 3);
  await db.transaction(async (t) => { await t('persons').select(); }, { readOnly: true });
});

test('schema: alter, rename, drop', async () => {
  await db.schema.createTable('s', (t) => { t.integer('a'); t.tinyint('b').unsigned(); t.mediumint('c'); t.double('d'); t.float('e'); t.text('f', 'longtext'); t.specificType('g', 'set("x","y")'); t.time('h'); t.bigInteger('i'); t.timestamp('j').nullable(); });
  await db.schema.alterTable('s', (t) => { t.primary(['a']); t.unique(['b', 'c'], { indexName: 'bc' }); t.foreign('a').references('persons.id'); t.dropNullable('d'); }).catch((e) => { assert.equal(e.errno, 3780); });
  await db.schema.alterTable('s', (t) => { t.dropColumn('e'); t.dropTimestamps.length; });
  await db.schema.createTableLike('s2', 's');
  await db.schema.renameTable('s2', 's3');
  await db.schema.dropTableIfExists('s3');
  await db.schema.dropTable('s');
  await db.schema.raw('CREATE TABLE fin (a INT)');
  await db.schema.dropTable('fin');
});

test('streams', async () => {
  let n = 0;
  for await (const row of db('movies').select('id').stream()) n += row.id ? 1 : 0;
  assert.equal(n, 503);
});

main({
  before: async () => {
    db = knex({ client: 'mysql2', connection: { ...settings }, pool: { min: 0, max: 4 } });
    if (process.env.SUITE_SQL) db.on('query', (q) => console.error(q.sql));
    Model.knex(db);
  },
  after: () => db.destroy(),
});
