// The entities, and the connection.
'use strict';
require('reflect-metadata');
const { DataSource, EntitySchema } = require('typeorm');
const { First1735689600000, Stock1735776000000 } = require('./migrations');

const id = { type: 'int', unsigned: true, primary: true, generated: 'increment' };
const Author = new EntitySchema({
  name: 'Author', tableName: 'authors',
  columns: {
    id, name: { type: 'varchar', length: 100 }, email: { type: 'varchar', length: 255, unique: true }, born: { type: 'date', nullable: true }, kind: { type: 'enum', enum: ['writer', 'editor'], default: 'writer' },
    createdAt: { type: 'datetime', precision: 6, createDate: true, select: false }, version: { type: 'int', version: true },
  },
  indices: [{ name: 'author_by_name', columns: ['name', 'born'] }],
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author' } },
});
const Tag = new EntitySchema({ name: 'Tag', tableName: 'tags', columns: { id, name: { type: 'varchar', length: 30, unique: true } } });
const Book = new EntitySchema({
  name: 'Book', tableName: 'books',
  columns: {
    id, title: { type: 'varchar', length: 200 }, price: { type: 'decimal', precision: 10, scale: 2 }, stock: { type: 'int', unsigned: true, default: 0 }, publishedAt: { type: 'datetime', precision: 6, nullable: true },
    details: { type: 'json', nullable: true }, authorId: { type: 'int', unsigned: true },
  },
  relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', onDelete: 'CASCADE', nullable: false, joinColumn: { name: 'authorId' } },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: { name: 'book_tags', joinColumn: { name: 'bookId' }, inverseJoinColumn: { name: 'tagId' } } },
  },
});
const Order = new EntitySchema({
  name: 'Order', tableName: 'orders',
  columns: { id, count: { type: 'smallint', unsigned: true }, total: { type: 'decimal', precision: 12, scale: 2 }, bookId: { type: 'int', unsigned: true } },
  relations: { book: { type: 'many-to-one', target: 'Book', onDelete: 'CASCADE', nullable: false, joinColumn: { name: 'bookId' } } },
});

const source = new DataSource({
  type: 'mysql', host: process.env.APP_HOST, port: Number(process.env.APP_PORT), username: process.env.APP_USER, password: process.env.APP_PASSWORD, database: process.env.APP_DATABASE,
  charset: 'utf8mb4', dateStrings: true, entities: [Author, Tag, Book, Order], migrations: [First1735689600000, Stock1735776000000],
});
module.exports = { source };
