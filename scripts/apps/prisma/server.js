// The bookshop, by Prisma's client.
'use strict';
const http = require('node:http');
const { PrismaClient, Prisma } = require('@prisma/client');
const { adapter } = require('./adapter');

const prisma = new PrismaClient({ adapter: adapter() });
BigInt.prototype.toJSON = function () { return this.toString(); };

const include = { author: true, tags: { orderBy: { name: 'asc' } } };
const shown = (book) => ({ id: book.id, title: book.title, author: book.author.name, price: book.price, stock: book.stock, published_at: book.publishedAt, details: book.details, tags: book.tags.map((tag) => tag.name) });
const written = (body) => ({ ...body, born: body.born && new Date(body.born) });
const refused = (status, error) => Object.assign(new Error(error), { status });

const routes = {
  'GET authors': () => prisma.author.findMany({ include: { _count: { select: { books: true } } }, orderBy: [{ name: 'asc' }, { id: 'asc' }] }),
  'POST authors': async ({ body }) => [201, await prisma.author.create({ data: written(body) })],
  'GET authors/': ({ key }) => prisma.author.findUniqueOrThrow({ where: { id: key } }),
  'PUT authors/': ({ key, body }) => prisma.author.update({ where: { id: key }, data: written(body) }),
  'DELETE authors/': async ({ key }) => { await prisma.author.delete({ where: { id: key } }); return [204]; },
  'POST books': async ({ body }) => [201, shown(await prisma.book.create({
    data: {
      title: body.title, price: body.price, stock: body.stock, publishedAt: body.published_at && new Date(body.published_at + 'Z'), details: body.details ?? Prisma.DbNull, author: { connect: { id: body.author_id } },
      tags: { connectOrCreate: body.tags.map((name) => ({ where: { name }, create: { name } })) },
    }, include,
  }))],
  'GET books': async ({ query }) => {
    const where = {};
    if (query.has('tag')) where.tags = { some: { name: query.get('tag') } };
    if (query.has('min_price')) where.price = { gte: query.get('min_price') };
    if (query.has('q')) where.title = { contains: query.get('q') };
    const [total, books] = await prisma.$transaction([
      prisma.book.count({ where }), prisma.book.findMany({ where, include, orderBy: [{ price: 'desc' }, { id: 'asc' }], take: 3, skip: 3 * (Number(query.get('page') ?? 1) - 1) })]);
    return { total, books: books.map(shown) };
  },
  'GET books/': async ({ key }) => shown(await prisma.book.findUniqueOrThrow({ where: { id: key }, include })),
  'PATCH books/': async ({ key, body }) => shown(await prisma.book.update({ where: { id: key }, data: body, include })),
  'POST orders': async ({ body }) => [201, await prisma.$transaction(async (tx) => {
    const made = [];
    for (const line of body) {
      const [book] = await tx.$queryRaw`SELECT id, price, stock FROM books WHERE id = ${line.book_id} FOR UPDATE`;
      if (book.stock < line.count) throw refused(409, 'out of stock');
      await tx.book.update({ where: { id: book.id }, data: { stock: { decrement: line.count } } });
      made.push(await tx.order.create({ data: { bookId: book.id, count: line.count, total: new Prisma.Decimal(book.price).mul(line.count) } }));
    }
    return made;
  }, { isolationLevel: 'Serializable' })],
  'GET orders': () => prisma.order.findMany({ include: { book: { select: { title: true } } }, orderBy: { id: 'asc' } }),
  'GET report': async () => ({
    groups: await prisma.book.groupBy({ by: ['authorId'], _count: true, _avg: { price: true }, _sum: { stock: true }, _max: { publishedAt: true }, orderBy: { authorId: 'asc' } }),
    all: await prisma.$queryRaw`SELECT a.name, COUNT(*) AS books, SUM(b.price * b.stock) AS value FROM books b JOIN authors a ON a.id = b.author_id GROUP BY a.name ORDER BY value DESC, a.name`,
  }),
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
    // P2002: a duplicate; P2003: a foreign key; P2025: no such row, of what is connected (by a POST) or of what is asked for.
    const known = { P2002: 409, P2003: 409, P2025: request.method === 'POST' ? 409 : 404 }[error.code];
    [status, value] = [error.status ?? known ?? 500, { error: error.code ?? error.message, meta: known && { ...error.meta, driverAdapterError: undefined } }];
  }
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(value === undefined ? '' : JSON.stringify(value));
}

http.createServer(answer).listen(Number(process.env.APP_HTTP_PORT), '127.0.0.1');
