'use strict';
const { PrismaMariaDb } = require('@prisma/adapter-mariadb');

exports.adapter = () => new PrismaMariaDb({
  host: process.env.APP_HOST, port: Number(process.env.APP_PORT), user: process.env.APP_USER, password: process.env.APP_PASSWORD, database: process.env.APP_DATABASE, connectionLimit: 3, allowPublicKeyRetrieval: true,
});
