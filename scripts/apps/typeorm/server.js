'use strict';
const http = require('node:http');
const { Like, MoreThanOrEqual } = require('typeorm');
const { source } = require('./source');

const shown = (book) => ({ id: book.id, title: book.title, author: book.author.name, price: book.price, stock: book.stock, published_at: book.publishedAt, details: book.details, tags: book.tags.map((tag) => tag.name).sort() });
const refused = (status, error) => Object.assign(new Error(error), { status });
const bookOf = (manager, id) => manager.findOne('Book', { where: { id }, relations: { author: true, tags: true } });

const routes = {
  'GET authors': () => source.getRepository('Author').createQueryBuilder('a').loadRelationCountAndMap('a.bookCount', 'a.books').orderBy({ 'a.name': 'ASC', 'a.id': 'ASC' }).getMany(),
  'POST authors': async ({ body }) => {
    const { id } = await source.getRepository('Author').save(body);
    return [201, await source.getRepository('Author').findOneBy({ id })];
  },
  'GET authors/': async ({ key }) => (await source.getRepository('Author').findOneBy({ id: key })) ?? [404, { error: 'not found' }],
  'PUT authors/': async ({ key, body }) => {
    const author = await source.getRepository('Author').findOneBy({ id: key });
    await source.getRepository('Author').save(Object.assign(author, body));
    return source.getRepository('Author').findOneBy({ id: key });
  },
  'DELETE authors/': async ({ key }) => ((await source.getRepository('Author').delete(key)).affected ? [204] : [404, { error: 'not found' }]),
  'POST books': async ({ body }) => [201, await source.transaction(async (manager) => {
    const tags = [];
    for (const name of body.tags) tags.push((await manager.findOneBy('Tag', { name })) ?? (await manager.save('Tag', { name })));
    const { id } = await manager.save('Book', { title: body.title, authorId: body.author_id, price: body.price, stock: body.stock, publishedAt: body.published_at && body.published_at.replace('T', ' '), details: body.details, tags });
    return shown(await bookOf(manager, id));
  })],
  'GET books': async ({ query }) => {
    const where = {};
    if (query.has('tag')) where.tags = { name: query.get('tag') };
    if (query.has('min_price')) where.price = MoreThanOrEqual(query.get('min_price'));
    if (query.has('q')) where.title = Like(`%${query.get('q').replace(/[\\%_]/g, '\\$&')}%`);
    const [books, total] = await source.getRepository('Book').findAndCount({ where, relations: { author: true, tags: true }, order: { price: 'DESC', id: 'ASC' }, take: 3, skip: 3 * (Number(query.get('page') ?? 1) - 1) });
    return { total, books: books.map(shown) };
  },
  'GET books/': async ({ key }) => shown(await bookOf(source.manager, key)),
  'PATCH books/': async ({ key, body }) => {
    const { affected } = await source.getRepository('Book').update(key, body);
    return affected ? shown(await bookOf(source.manager, key)) : [404, { error: 'not found' }];
  },
  'POST orders': async ({ body }) => [201, await source.transaction('READ COMMITTED', async (manager) => {
    const made = [];
    for (const line of body) {
      const book = await manager.findOne('Book', { where: { id: line.book_id }, lock: { mode: 'pessimistic_write' } });
      if (book.stock < line.count) throw refused(409, 'out of stock');
      await manager.decrement('Book', { id: book.id }, 'stock', line.count);
      made.push(await manager.save('Order', { bookId: book.id, count: line.count, total: (book.price * line.count).toFixed(2) }));
    }
    return made;
  })],
  'GET orders': () => source.getRepository('Order').createQueryBuilder('o').innerJoin('o.book', 'b').select(['o.id AS id', 'b.title AS title', 'o.count AS count', 'o.total AS total']).orderBy('o.id').getRawMany(),
  'GET report': () => source.getRepository('Book').createQueryBuilder('b').innerJoin('b.author', 'a').select(['a.name AS name', 'COUNT(*) AS books', 'SUM(b.price * b.stock) AS value', 'AVG(b.price) AS average', 'MAX(b.publishedAt) AS latest'])
    .groupBy('a.name').orderBy('value', 'DESC').addOrderBy('a.name').getRawMany(),
};

async function answer(request, response) {
  const url = new URL(request.url, 'http://shop');
  const [, first, key] = url.pathname.split('/');
  let text = '';
  for await (const part of request.setEncoding('utf8')) text += part;
  let status, value;
  try {
    const found = await routes[`${request.method} ${first}${key ? '/' : ''}`]({ key: Number(key), query: url.searchParams, body: text && JSON.parse(text) });
    [status, value] = Array.isArray(found) && typeof found[0] === 'number' ? found : [200, found];
  } catch (error) {
    const known = { ER_DUP_ENTRY: 409, ER_NO_REFERENCED_ROW_2: 409 }[error.code];
    [status, value] = [error.status ?? known ?? 500, { error: error.sqlMessage ?? error.message }];
  }
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(value === undefined ? '' : JSON.stringify(value));
}

source.initialize().then(() => http.createServer(answer).listen(Number(process.env.APP_HTTP_PORT), '127.0.0.1'));
