// What the programs beside this file share: settings from the environment, and tests that each say `ok` or `not ok`.
'use strict';

const settings = {
  host: process.env.SUITE_HOST || '127.0.0.1',
  port: Number(process.env.SUITE_PORT || 3306),
  user: process.env.SUITE_USER || 'root',
  password: process.env.SUITE_PASSWORD || '',
  database: process.env.SUITE_DATABASE || 'suite_node',
};

const tests = [];

/** Declares a test. Tests run one after the other, in the order of the file; one that fails does not stop the others. */
function test(name, body) {
  tests.push({ name, body });
}

/** Makes the database anew, runs all tests, and ends the process with 1 if one failed. */
async function main({ before, after } = {}) {
  const mysql = require('mysql2/promise');
  const { database, ...server } = settings;
  const admin = await mysql.createConnection(server);
  await admin.query(`DROP DATABASE IF EXISTS ${database}`);
  await admin.query(`CREATE DATABASE ${database}`);
  let failed = 0;
  try {
    if (before) await before();
    for (const { name, body } of tests) {
      try {
        await withTimeout(body(), 60000);
        console.log(`ok ${name}`);
      } catch (error) {
        failed += 1;
        const text = String((error && error.stack) || error).split('\n').slice(0, 12).join(' | ');
        console.log(`not ok ${name} # ${text}`);
      }
    }
    if (after) await after();
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${database}`);
    await admin.end();
  }
  console.log(`# ${tests.length - failed} of ${tests.length} passed`);
  process.exit(failed === 0 ? 0 : 1);
}

function withTimeout(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer in ${ms} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

module.exports = { settings, test, main };
