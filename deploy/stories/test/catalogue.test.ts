import { catalogueViolations } from '@parley/postgres/database/catalogue';
import { openPool } from '@parley/postgres/driver/pool';
import { sessionSchema } from '@parley/session/schema';
import { testDatabaseUrl } from '@parley/testing/test-database';
import { testSchema } from '@parley/testing/test-schema';
import { schemas } from '@parley/units';
import test from 'ava';
import { converse, endSession, evaluated, sendMessage } from '../src/conversation.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Lets users store data in a mesh, and returns its database. */
async function usedDatabase(t: Parameters<typeof converse>[0], mesh: TestMesh): Promise<string> {
  const ada = await mesh.person();
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Leave rows everywhere.');
  await events.turns(1);
  await endSession(ada, sessionId);
  await evaluated(ada, sessionId);
  return mesh.settings['DATABASE_URL'] ?? '';
}

story("tenants are isolated in every service's schema of a mesh in use", async (t, mesh) => {
  const url = await usedDatabase(t, mesh);
  t.true(schemas.length >= 4);
  for (const schema of schemas) t.deepEqual(await catalogueViolations({ url, schema }), [], schema.name);
});

test('a table that is no longer isolated by tenant is reported', async (t) => {
  const { schemaName } = await testSchema(t, sessionSchema); // a separate schema, because other tests use the mesh's schemas
  const url = await testDatabaseUrl();
  const violations = () => catalogueViolations({ url, schema: sessionSchema, schemaName });
  t.deepEqual(await violations(), []);

  const pool = openPool({ url, poolSize: 1, statementTimeoutMs: 5_000 });
  t.teardown(() => pool.destroy());
  await pool.transaction((transaction) =>
    transaction.raw(`ALTER TABLE ${schemaName}.sessions NO FORCE ROW LEVEL SECURITY`),
  );
  t.is((await violations()).length, 1);
});

story('every table of a mesh in use belongs to a declared schema', async (t, mesh) => {
  const pool = openPool({ url: await usedDatabase(t, mesh), poolSize: 1, statementTimeoutMs: 5_000 });
  t.teardown(() => pool.destroy());
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
});
