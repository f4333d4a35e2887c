import { catalogueViolations } from '@parley/chassis/database/catalogue';
import { startEmbeddedDatabase } from '@parley/chassis/database/embedded';
import { openPool } from '@parley/chassis/database/pool';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import test, { type ExecutionContext } from 'ava';
import { schemas } from '../src/schemas.ts';
import { converse, endSession, evaluated, sendMessage } from './support/conversation.ts';
import { startMesh } from './support/mesh.ts';

/** A mesh on a database of the test's own, on which people have been. */
async function usedMesh(t: ExecutionContext) {
  const database = await startEmbeddedDatabase({ folder: null, snapshot: databaseSnapshot() });
  t.teardown(() => database.stop());
  const mesh = await startMesh({ DATABASE_URL: database.url });
  t.teardown(() => mesh.stop());
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Leave rows everywhere.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  return database.url;
}

test("the walls between tenants stand in every service's schema, and are seen to fall", async (t) => {
  const url = await usedMesh(t);
  t.true(schemas.length >= 4);
  for (const schema of schemas) t.deepEqual(await catalogueViolations({ url, schema }), [], schema.name);

  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 5_000 });
  try {
    await pool.transaction((transaction) =>
      transaction.raw('ALTER TABLE session.sessions NO FORCE ROW LEVEL SECURITY'),
    );
  } finally {
    await pool.destroy();
  }
  const session = schemas.find(({ name }) => name === 'session');
  t.is(session && (await catalogueViolations({ url, schema: session })).length, 1);
});

test('no table of a mesh in use belongs to no schema', async (t) => {
  const pool = openPool({ url: await usedMesh(t), poolSize: 1, statementTimeoutMs: 5_000 });
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
