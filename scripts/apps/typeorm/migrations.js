'use strict';
const { Table, TableColumn, TableForeignKey, TableIndex } = require('typeorm');

const id = { name: 'id', type: 'int', unsigned: true, isPrimary: true, isGenerated: true, generationStrategy: 'increment' };

class First1735689600000 {
  name = 'First1735689600000';
  async up(runner) {
    await runner.createTable(new Table({
      name: 'authors',
      columns: [
        id, { name: 'fullName', type: 'varchar', length: '60' }, { name: 'email', type: 'varchar', length: '255' }, { name: 'born', type: 'date', isNullable: true },
        { name: 'kind', type: 'enum', enum: ['writer', 'editor'], default: "'writer'" }, { name: 'createdAt', type: 'datetime', precision: 6, default: 'CURRENT_TIMESTAMP(6)' }, { name: 'version', type: 'int' },
      ],
      indices: [{ columnNames: ['email'], isUnique: true }],
    }));
    await runner.createTable(new Table({ name: 'tags', columns: [id, { name: 'name', type: 'varchar', length: '30' }], indices: [{ columnNames: ['name'], isUnique: true }] }));
    await runner.createTable(new Table({ name: 'books', columns: [id, { name: 'title', type: 'varchar', length: '200' }, { name: 'price', type: 'decimal', precision: 10, scale: 2 }, { name: 'authorId', type: 'int', unsigned: true }] }));
    await runner.createForeignKey('books', new TableForeignKey({ columnNames: ['authorId'], referencedTableName: 'authors', referencedColumnNames: ['id'], onDelete: 'CASCADE' }));
    await runner.createTable(new Table({
      name: 'book_tags',
      columns: [{ name: 'bookId', type: 'int', unsigned: true, isPrimary: true }, { name: 'tagId', type: 'int', unsigned: true, isPrimary: true }],
      indices: [{ columnNames: ['bookId'] }, { columnNames: ['tagId'] }],
      foreignKeys: [
        { columnNames: ['bookId'], referencedTableName: 'books', referencedColumnNames: ['id'], onDelete: 'CASCADE', onUpdate: 'CASCADE' },
        { columnNames: ['tagId'], referencedTableName: 'tags', referencedColumnNames: ['id'], onDelete: 'CASCADE', onUpdate: 'CASCADE' },
      ],
    }));
  }
  async down(runner) {
    for (const table of ['book_tags', 'books', 'tags', 'authors']) await runner.dropTable(table, true, true);
  }
}

class Stock1735776000000 {
  name = 'Stock1735776000000';
  async up(runner) {
    await runner.renameColumn('authors', 'fullName', 'name');
    await runner.query('ALTER TABLE authors MODIFY name varchar(100) NOT NULL');
    await runner.createIndex('authors', new TableIndex({ name: 'author_by_name', columnNames: ['name', 'born'] }));
    await runner.addColumns('books', [
      new TableColumn({ name: 'stock', type: 'int', unsigned: true, default: 0 }), new TableColumn({ name: 'publishedAt', type: 'datetime', precision: 6, isNullable: true }),
      new TableColumn({ name: 'details', type: 'json', isNullable: true }),
    ]);
    await runner.createTable(new Table({
      name: 'orders',
      columns: [id, { name: 'count', type: 'smallint', unsigned: true }, { name: 'total', type: 'decimal', precision: 12, scale: 2 }, { name: 'bookId', type: 'int', unsigned: true }],
      foreignKeys: [{ columnNames: ['bookId'], referencedTableName: 'books', referencedColumnNames: ['id'], onDelete: 'CASCADE' }],
    }));
  }
  async down(runner) {
    await runner.dropTable('orders');
    await runner.dropColumns('books', ['stock', 'publishedAt', 'details']);
    await runner.dropIndex('authors', 'author_by_name');
    await runner.query('ALTER TABLE authors MODIFY name varchar(60) NOT NULL');
    await runner.renameColumn('authors', 'name', 'fullName');
  }
}
module.exports = { First1735689600000, Stock1735776000000 };
