// What `typeorm migration:run`, `migration:revert` and `schema:log` do.
'use strict';
const { source } = require('./source');

async function main() {
  await source.initialize();
  if (process.argv[2] === 'up') {
    const done = await source.runMigrations({ transaction: 'each' });
    console.log(done.map((migration) => migration.name).join('\n'));
  } else if (process.argv[2] === 'down') {
    await source.undoLastMigration({ transaction: 'each' });
  } else {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    console.log(upQueries.map((query) => query.query).join('\n'));
  }
  await source.destroy();
}

main().catch((error) => { console.error(error); process.exit(1); });
