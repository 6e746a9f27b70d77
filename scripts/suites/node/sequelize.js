// A small shop in Sequelize: sync, alter, associations, CRUD, transactions, introspection.
'use strict';
const assert = require('node:assert/strict');
const { Sequelize, DataTypes, Op, Transaction, UniqueConstraintError, ForeignKeyConstraintError, DatabaseError, literal, fn, col } = require('sequelize');
const { settings, test, main } = require('./check');

let db;
let User, Profile, Post, Tag, PostTag;

function define() {
  User = db.define('User', {
    id: { type: DataTypes.BIGINT.UNSIGNED, autoIncrement: true, primaryKey: true },
    uuid: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4, unique: true },
    name: { type: DataTypes.STRING(80), allowNull: false },
    email: { type: DataTypes.STRING, unique: 'email_key', validate: { isEmail: true } },
    role: { type: DataTypes.ENUM('admin', 'writer', 'reader'), defaultValue: 'reader' },
    active: { type: DataTypes.BOOLEAN, defaultValue: true },
    balance: { type: DataTypes.DECIMAL(12, 2), defaultValue: 0 },
    score: DataTypes.DOUBLE,
    born: DataTypes.DATEONLY,
    seen: DataTypes.DATE(6),
    alarm: DataTypes.TIME,
    settings: DataTypes.JSON,
    photo: DataTypes.BLOB('medium'),
    bio: { type: DataTypes.TEXT, comment: "what they say of 'themselves'" },
    version: { type: DataTypes.INTEGER, defaultValue: 0, allowNull: false },
  }, { paranoid: true, version: true, underscored: true, tableName: 'Users', indexes: [{ name: 'users_name_role', fields: ['name', { name: 'role', order: 'DESC' }] }, { name: 'users_bio', fields: [{ name: 'bio', length: 20 }] }], comment: 'people' });
  Profile = db.define('Profile', { site: DataTypes.STRING });
  Post = db.define('Post', { title: { type: DataTypes.STRING, allowNull: false }, body: DataTypes.TEXT('long'), views: { type: DataTypes.INTEGER, defaultValue: 0 } });
  Tag = db.define('Tag', { label: { type: DataTypes.STRING(30), primaryKey: true } }, { timestamps: false });
  PostTag = db.define('PostTag', { weight: DataTypes.TINYINT }, { timestamps: false });
  User.hasOne(Profile, { onDelete: 'CASCADE' });
  Profile.belongsTo(User);
  User.hasMany(Post, { foreignKey: { name: 'authorId', allowNull: true }, as: 'posts', onDelete: 'SET NULL', onUpdate: 'CASCADE' });
  Post.belongsTo(User, { foreignKey: 'authorId', as: 'author' });
  Post.belongsToMany(Tag, { through: PostTag });
  Tag.belongsToMany(Post, { through: PostTag });
}

test('authenticate and version', async () => {
  await db.authenticate();
  assert.match(await db.databaseVersion(), /^\d+\.\d+\.\d+/);
});

test('sync makes all tables, twice', async () => {
  define();
  await db.sync({ force: true });
  await db.sync();
  await db.sync({ force: true });
});

test('sync with alter leaves and changes columns', async () => {
  await db.sync({ alter: true });
  await db.sync({ alter: true });
  const before = await db.getQueryInterface().describeTable('Posts');
  assert.equal(before.title.type, 'VARCHAR(255)');
  Post.rawAttributes.title.type = DataTypes.STRING(300);
  Post.rawAttributes.views.defaultValue = 5;
  Post.rawAttributes.extra = { type: DataTypes.STRING };
  Post.refreshAttributes();
  await Post.sync({ alter: true });
  const after = await db.getQueryInterface().describeTable('Posts');
  assert.equal(after.title.type, 'VARCHAR(300)');
  assert.equal(after.views.defaultValue, '5');
  assert.ok(after.extra);
});

test('describeTable, showIndex, showAllTables, references', async () => {
  const queries = db.getQueryInterface();
  const columns = await queries.describeTable('Users');
  assert.equal(columns.id.type, 'BIGINT UNSIGNED');
  assert.equal(columns.id.autoIncrement, true);
  assert.equal(columns.id.primaryKey, true);
  assert.equal(columns.role.type, "ENUM('admin','writer','reader')");
  assert.equal(columns.balance.type, 'DECIMAL(12,2)');
  assert.equal(columns.bio.comment, "what they say of 'themselves'");
  const indexes = await queries.showIndex('Users');
  const byName = Object.fromEntries(indexes.map((i) => [i.name, i]));
  assert.ok(byName.PRIMARY.primary);
  assert.ok(byName.email_key.unique);
  assert.deepEqual(byName.users_name_role.fields.map((f) => f.attribute), ['name', 'role']);
  assert.equal(byName.users_bio.fields[0].length, 20);
  const tables = (await queries.showAllTables()).map((t) => t.tableName || t).sort();
  assert.deepEqual(tables, ['PostTags', 'Posts', 'Profiles', 'Tags', 'Users']);
  const [reference] = await queries.getForeignKeyReferencesForTable('Posts');
  assert.deepEqual([reference.columnName, reference.referencedTableName, reference.referencedColumnName], ['authorId', 'Users', 'id']);
  assert.ok((await queries.showAllSchemas()).length > 0);
});

test('create, read back every type', async () => {
  const seen = new Date('2024-02-29T12:34:56.789Z');
  const made = await User.create({ name: 'Ann', email: 'ann@example.org', role: 'admin', balance: '1234567890.12', score: 1.5, born: '2000-02-29', seen, alarm: '06:30:00', settings: { dark: true, list: [1, 'é'] }, photo: Buffer.from([0, 255]), bio: "it's \\ 😀" });
  const read = await User.findByPk(made.id);
  assert.equal(read.balance, '1234567890.12');
  assert.equal(read.born, '2000-02-29');
  assert.equal(read.seen.getTime(), seen.getTime());
  assert.equal(read.alarm, '06:30:00');
  assert.deepEqual(read.settings, { dark: true, list: [1, 'é'] });
  assert.deepEqual(read.photo, Buffer.from([0, 255]));
  assert.equal(read.bio, "it's \\ 😀");
  assert.equal(read.active, true);
  assert.match(read.uuid, /^[0-9a-f-]{36}$/);
});

test('bulkCreate, with updateOnDuplicate and ignoreDuplicates', async () => {
  await User.bulkCreate(Array.from({ length: 20 }, (_, i) => ({ name: `user ${i}`, email: `u${i}@example.org`, role: i % 2 ? 'writer' : 'reader', balance: i })));
  await User.bulkCreate([{ name: 'changed', email: 'u0@example.org' }], { updateOnDuplicate: ['name'] });
  assert.equal((await User.findOne({ where: { email: 'u0@example.org' } })).name, 'changed');
  await User.bulkCreate([{ name: 'never', email: 'u1@example.org' }], { ignoreDuplicates: true });
  assert.equal(await User.count(), 21);
});

test('errors of constraints', async () => {
  await assert.rejects(User.create({ name: 'x', email: 'ann@example.org' }), (error) => {
    assert.ok(error instanceof UniqueConstraintError, error.name);
    assert.deepEqual(Object.keys(error.fields), ['email']);
    return true;
  });
  await assert.rejects(Post.create({ title: 'x', authorId: 999999 }), (error) => {
    assert.ok(error instanceof ForeignKeyConstraintError, error.name);
      assert.equal(error.table, 'Users');
    assert.deepEqual(error.fields, ['authorId']);
    return true;
  });
  await assert.rejects(db.query('SELECT * FROM missing'), DatabaseError);
});

test('where: operators', async () => {
  const count = (where) => User.count({ where });
  assert.equal(await count({ role: 'writer' }), 10);
  assert.equal(await count({ balance: { [Op.between]: [5, 9] } }), 5);
  assert.equal(await count({ name: { [Op.like]: 'user 1%' } }), 11);
  assert.equal(await count({ name: { [Op.startsWith]: 'user' } }), 19);
  assert.equal(await count({ [Op.or]: [{ role: 'admin' }, { balance: { [Op.gte]: 18 } }] }), 3);
  assert.equal(await count({ email: { [Op.in]: ['u1@example.org', 'u2@example.org'] } }), 2);
  assert.equal(await count({ score: { [Op.is]: null } }), 20);
  assert.equal(await count({ name: { [Op.regexp]: '^user 1[0-9]$' } }), 10);
  assert.equal(await count({ settings: { dark: { [Op.eq]: true } } }), 1);
  assert.equal(await count(db.where(fn('lower', col('name')), 'ann')), 1);
});

test('associations: create, eager and lazy loading, many to many', async () => {
  const ann = await User.findOne({ where: { name: 'Ann' } });
  await Profile.create({ site: 'example.org', UserId: ann.id });
  for (let i = 0; i < 5; i += 1) await Post.create({ title: `post ${i}`, body: 'b'.repeat(70000), authorId: ann.id });
  await Tag.bulkCreate([{ label: 'red' }, { label: 'green' }]);
  const [first, second] = await Post.findAll({ order: [['id', 'ASC']] });
  await first.addTags(['red', 'green'], { through: { weight: 3 } });
  await second.setTags(['red']);
  const loaded = await User.findOne({ where: { id: ann.id }, include: [Profile, { model: Post, as: 'posts', include: [Tag] }], order: [[{ model: Post, as: 'posts' }, 'id', 'ASC']] });
  assert.equal(loaded.Profile.site, 'example.org');
  assert.equal(loaded.posts.length, 5);
  assert.equal(loaded.posts[0].body.length, 70000);
  assert.deepEqual(loaded.posts[0].Tags.map((t) => [t.label, t.PostTag.weight]).sort(), [['green', 3], ['red', 3]]);
  const tagged = await Post.findAndCountAll({ include: [{ model: Tag, where: { label: 'red' } }], distinct: true, limit: 1, order: [['id', 'DESC']] });
  assert.deepEqual([tagged.count, tagged.rows[0].id], [2, second.id]);
  assert.equal(await ann.countPosts(), 5);
});

test('limit with a subquery, and separate includes', async () => {
  const users = await User.findAll({ include: [{ model: Post, as: 'posts', required: true }], limit: 2, order: [['id', 'ASC']] });
  assert.equal(users.length, 1);
  const separate = await User.findAll({ include: [{ model: Post, as: 'posts', separate: true, limit: 2 }], where: { name: 'Ann' } });
  assert.equal(separate[0].posts.length, 2);
});

test('aggregates, groups, literals', async () => {
  assert.equal(Number(await User.sum('balance', { where: { role: 'writer' } })), 100);
  assert.equal(await User.max('id') >= 21, true);
  const groups = await User.findAll({ attributes: ['role', [fn('COUNT', col('id')), 'n']], group: ['role'], having: literal('n > 1'), order: [['role', 'ASC']], raw: true });
  assert.deepEqual(groups.map((g) => [g.role, g.n]), [['writer', 10], ['reader', 10]]);
});

test('update, increment, optimistic version, paranoid delete', async () => {
  const [count] = await User.update({ score: 7 }, { where: { role: 'writer' } });
  assert.equal(count, 10);
  await User.increment({ balance: 5 }, { where: { name: 'Ann' } });
  const a = await User.findOne({ where: { name: 'Ann' } });
  const b = await User.findOne({ where: { name: 'Ann' } });
  a.score = 1; await a.save();
  b.score = 2;
  await assert.rejects(b.save(), { name: 'SequelizeOptimisticLockError' });
  const gone = await User.findOne({ where: { name: 'user 5' } });
  await gone.destroy();
  assert.equal(await User.count({ where: { name: 'user 5' } }), 0);
  assert.equal(await User.count({ where: { name: 'user 5' }, paranoid: false }), 1);
  await gone.restore();
  await gone.destroy({ force: true });
  assert.equal(await User.count({ where: { name: 'user 5' }, paranoid: false }), 0);
});

test('upsert and findOrCreate', async () => {
  const [, made] = await User.upsert({ name: 'up', email: 'up@example.org' });
  assert.equal(made, true);
  await User.upsert({ name: 'upper', email: 'up@example.org' });
  assert.equal((await User.findOne({ where: { email: 'up@example.org' } })).name, 'upper');
  const [found, fresh] = await User.findOrCreate({ where: { email: 'foc@example.org' }, defaults: { name: 'foc' } });
  assert.deepEqual([found.name, fresh], ['foc', true]);
  const [, again] = await User.findOrCreate({ where: { email: 'foc@example.org' }, defaults: { name: 'x' } });
  assert.equal(again, false);
});

test('transactions: levels, locks, rollback, nested', async () => {
  for (const isolationLevel of Object.values(Transaction.ISOLATION_LEVELS)) {
    await db.transaction({ isolationLevel }, async (transaction) => {
      await User.findOne({ where: { name: 'Ann' }, transaction, lock: transaction.LOCK.UPDATE });
    });
  }
  await db.transaction(async (transaction) => {
    await User.findAll({ transaction, lock: { level: transaction.LOCK.SHARE }, skipLocked: true, limit: 1 });
  });
  await assert.rejects(db.transaction(async (transaction) => {
    await User.destroy({ where: {}, transaction, force: true });
    throw new Error('undo');
  }), /undo/);
  assert.ok(await User.count() > 10);
  const outer = await db.transaction();
  const inner = await db.transaction({ transaction: outer });
  await Tag.create({ label: 'inner' }, { transaction: inner });
  await inner.rollback();
  await outer.commit();
  assert.equal(await Tag.count({ where: { label: 'inner' } }), 0);
});

test('migrations by hand: columns, indexes, constraints, renames', async () => {
  const q = db.getQueryInterface();
  await q.createTable('migrated', { id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true }, a: { type: DataTypes.STRING(10), defaultValue: 'x' }, at: { type: DataTypes.DATE, defaultValue: literal('CURRENT_TIMESTAMP') } }, { charset: 'utf8mb4', collate: 'utf8mb4_unicode_ci', engine: 'InnoDB' });
  await q.addColumn('migrated', 'b', { type: DataTypes.BIGINT, allowNull: false, defaultValue: 1, after: 'id' });
  await q.changeColumn('migrated', 'a', { type: DataTypes.TEXT });
  await q.renameColumn('migrated', 'b', 'bb');
  await q.addIndex('migrated', ['bb'], { name: 'bb_index', unique: true });
  await q.addIndex('migrated', { fields: [{ name: 'a', length: 10 }], name: 'a_index' });
  await q.addColumn('migrated', 'userId', { type: DataTypes.BIGINT.UNSIGNED, references: { model: 'Users', key: 'id' }, onDelete: 'cascade' });
  await q.addConstraint('migrated', { fields: ['bb'], type: 'check', name: 'positive', where: { bb: { [Op.gt]: 0 } } });
  await q.addConstraint('migrated', { fields: ['at', 'bb'], type: 'unique', name: 'two' });
  await assert.rejects(q.bulkInsert('migrated', [{ bb: -1 }]));
  await q.bulkInsert('migrated', [{ bb: 1 }, { bb: 2 }]);
  assert.deepEqual((await q.showConstraint('migrated')).map((c) => c.constraintName || c.CONSTRAINT_NAME || c.constraint_name).length >= 4, true);
  await q.removeConstraint('migrated', 'two');
  await db.query('ALTER TABLE migrated DROP CHECK positive');
  await q.removeIndex('migrated', 'bb_index');
  for (const key of await q.getForeignKeyReferencesForTable('migrated')) await q.removeConstraint('migrated', key.constraintName);
  await q.removeColumn('migrated', 'userId');
  await q.renameTable('migrated', 'moved');
  assert.deepEqual(Object.keys(await q.describeTable('moved')), ['id', 'bb', 'a', 'at']);
  await q.dropTable('moved');
  await q.createDatabase(`${settings.database}_2`, { charset: 'utf8mb4', collate: 'utf8mb4_bin' });
  await q.dropDatabase(`${settings.database}_2`);
});

test('raw queries: replacements, bind, types', async () => {
  const { QueryTypes } = require('sequelize');
  const [row] = await db.query('SELECT :a AS a, :b AS b', { replacements: { a: 1, b: "q'" }, type: QueryTypes.SELECT });
  assert.deepEqual({ ...row }, { a: 1, b: "q'" });
  const [bound] = await db.query('SELECT $1 + $2 AS s', { bind: [1, 2], type: QueryTypes.SELECT });
  assert.equal(Number(bound.s), 3);
  const [id, rows] = await db.query("INSERT INTO Tags (label) VALUES ('raw')", { type: QueryTypes.INSERT });
  assert.deepEqual([id, rows], [0, 1]);
});

test('drop all', async () => {
  await db.query('SET FOREIGN_KEY_CHECKS = 0');
  await db.getQueryInterface().dropAllTables();
  assert.deepEqual(await db.getQueryInterface().showAllTables(), []);
});

main({
  before: async () => {
    const { host, port, user, password, database } = settings;
    db = new Sequelize(database, user, password, { host, port, dialect: 'mysql', logging: process.env.SUITE_SQL ? console.error : false, pool: { max: 4 } });
  },
  after: () => db.close(),
});
