import { onOneDatabase } from '@parley/testing/every-database';
import type { Database } from '../src/database/types.ts';
import { countJobs } from '../src/jobs/count-jobs.ts';
import { effectsSchema } from './support/queue.ts';

/** Appends `count` jobs, each with its own tenant. */
async function append(database: Database, kind: string, count: number, { running = false, dueInS = 0 } = {}) {
  await database.transactShared(({ knex }) =>
    knex.raw(
      `insert into jobs (kind, key, tenant_id, payload, state, run_at, created_at, lease_token, lease_until)
       select :kind, :name || n, n, '""', :state, parley_now() + :dueInS * interval '1 second', parley_now(),
              case when :running then gen_random_uuid() end, case when :running then parley_now() end
         from generate_series(1, :count) as n`,
      { kind, name: `${running} ${dueInS} `, state: running ? 'running' : 'queued', running, dueInS, count },
    ),
  );
}

onOneDatabase(({ test, testSchema }) => {
  test('due jobs are counted by kind and state over all tenants', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await append(database, 'read', 3);
    await append(database, 'read', 2, { running: true });
    await append(database, 'read', 7, { dueInS: 3_600 });
    await append(database, 'unknown', 5);

    const counts = await countJobs(database, ['read', 'write']);

    t.deepEqual(counts.map(({ kind, state, count }) => `${kind} ${state} ${count}`).toSorted(), [
      'read running 2',
      'read waiting 3',
      'write running 0',
      'write waiting 0',
    ]);
  });

  test('more than 10,000 jobs of a kind and state are not counted one by one', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await append(database, 'read', 10_005);

    t.deepEqual(await countJobs(database, ['read']), [
      { kind: 'read', state: 'waiting', count: 10_000 },
      { kind: 'read', state: 'running', count: 0 },
    ]);
  });
});
