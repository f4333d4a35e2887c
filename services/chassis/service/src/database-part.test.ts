import { DomainError, unavailable } from '@parley/kernel/errors';
import { openDatabase } from '@parley/postgres/database/open';
import type { SchemaDeclaration } from '@parley/postgres/database/types';
import test from 'ava';
import { databasePart } from './database-part.ts';

const schema: SchemaDeclaration = { name: 'unit', tables: {}, migrations: [] };

/** A database whose first pings fail with these errors. */
function databaseThatSays(errors: Error[]) {
  let pings = 0;
  const database = openDatabase({ url: 'postgres://127.0.0.1:1/none', schema, poolSize: 1 });
  const ping = async () => {
    const error = errors[pings];
    pings += 1;
    if (error) throw error;
  };
  return { part: databasePart({ ...database, ping }, { migrateOnStart: false }), pings: () => pings };
}

test('a unit that starts before its database waits for it', async (t) => {
  const { part, pings } = databaseThatSays([unavailable('The database is not available'), unavailable('still not')]);
  await part.start();

  t.is(pings(), 3);
});

test('a database that refuses the login is not retried', async (t) => {
  const { part, pings } = databaseThatSays([new DomainError('internal', 'password authentication failed')]);

  await t.throwsAsync(part.start(), { message: 'password authentication failed' });
  t.is(pings(), 1);
});
