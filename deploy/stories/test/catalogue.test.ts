import { catalogueViolations } from '@parley/chassis/database/catalogue';
import { startEmbeddedDatabase } from '@parley/chassis/database/embedded';
import { openPool } from '@parley/chassis/database/pool';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import { schemas } from '@parley/local/schemas';
import test, { type ExecutionContext } from 'ava';
import { converse, endSession, evaluated, sendMessage } from '../src/conversation.ts';
import { openMesh } from '../src/mesh.ts';
import { runningMesh } from '../src/running-mesh.ts';

/** The database of a mesh on which people have been; in one process it is the test's own. */
async function usedDatabase(t: ExecutionContext): Promise<string> {
  const url = runningMesh()?.settings['DATABASE_URL'] ?? (await ownDatabase(t));
  const mesh = await openMesh({ DATABASE_URL: url });
  t.teardown(() => mesh.stop());
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Leave rows everywhere.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  return url;
}

async function ownDatabase(t: ExecutionContext): Promise<string> {
  const database = await startEmbeddedDatabase({ folder: null, snapshot: databaseSnapshot() });
  t.teardown(() => database.stop());
  return database.url;
}

test("the walls between tenants stand in every service's schema, and are seen to fall", async (t) => {
  const url = await usedDatabase(t);
  t.true(schemas.length >= 4);
  for (const schema of schemas) t.deepEqual(await catalogueViolations({ url, schema }), [], schema.name);

  const session = schemas.find(({ name }) => name === 'session');
  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 5_000 });
  const alter = (how: string) =>
    pool.transaction((transaction) => transaction.raw(`ALTER TABLE session.sessions ${how} ROW LEVEL SECURITY`));
  try {
    await alter('NO FORCE');
    t.is(session && (await catalogueViolations({ url, schema: session })).length, 1);
  } finally {
    await alter('FORCE');
    await pool.destroy();
  }
});

test('no table of a mesh in use belongs to no schema', async (t) => {
  const pool = openPool({ url: await usedDatabase(t), poolSize: 1, statementTimeoutMs: 5_000 });
  try {
    const { rows }: { rows: { schema: string }[] } = await pool.transaction((transaction) =>
      transaction.raw(
        `SELECT DISTINCT nspname AS schema FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace
          WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1`,
      ),
    );
    t.deepEqual(
      rows.map(({ schema }) => schema),
      schemas.map(({ name }) => name).toSorted(),
    );
  } finally {
    await pool.destroy();
  }
});
