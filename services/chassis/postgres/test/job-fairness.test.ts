import { eventually } from '@parley/testing/eventually';
import { onOneDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import type { Database } from '../src/database/types.ts';
import { appendJob } from '../src/jobs/append-job.ts';
import { jobSearchStore } from '../src/jobs/job-search-store.ts';
import { jobs } from '../src/jobs/jobs.ts';
import { effectsSchema, kind, queueing, type Run, startRunner, withClaimer } from './support/queue.ts';

/** The id of a tenant, greater than the ids of the tenants that have only blocked jobs. */
const stranger = 1_000_000;

/** Gives each tenant one running job for each of its keys, held by another process, with jobs queued behind it. */
async function blockedTenants(
  database: Database,
  tenants: number,
  behind: number,
  { analyzed = true, keys = 1 } = {},
): Promise<void> {
  await database.transactShared(async ({ knex }) => {
    await knex.raw(
      `insert into jobs (kind, key, tenant_id, payload, state, attempt, run_at, created_at, lease_owner, lease_token, lease_until)
       select :kind, tenant || ' ' || key, tenant, '"held"', 'running', 1, parley_now(), parley_now(),
              'elsewhere', gen_random_uuid(), parley_now() + interval '1 hour'
         from generate_series(1, cast(:tenants as integer)) as tenant, generate_series(1, cast(:keys as integer)) as key`,
      { kind, tenants, keys },
    );
    await knex.raw(
      `insert into jobs (kind, key, tenant_id, payload, run_at, created_at)
       select :kind, tenant || ' ' || key, tenant, '"blocked"', parley_now(), parley_now()
         from generate_series(1, cast(:tenants as integer)) as tenant, generate_series(1, cast(:keys as integer)) as key,
              generate_series(1, cast(:behind as integer))`,
      { kind, tenants, keys, behind },
    );
  });
  if (analyzed) await analyze(database);
}

/** Updates the planner's statistics of the table, which only its owner may do. */
async function analyze(database: Database): Promise<void> {
  await database.transactShared(async ({ knex }) => {
    await knex.raw('reset role');
    await knex.raw('analyze jobs');
    const { rows } = await knex.raw(
      `select reltuples = (select count(*) from jobs) as known from pg_class where oid = 'jobs'::regclass`,
    );
    if (rows[0]?.known !== true) throw new Error('the table of jobs has not been analyzed');
  });
}

/** Appends jobs for keys of seven tenants; none of the jobs is due within an hour. */
async function delayedKeys(database: Database, name: string, count: number): Promise<void> {
  await database.transactShared(({ knex }) =>
    knex.raw(
      `insert into jobs (kind, key, tenant_id, payload, run_at, created_at)
       select :kind, cast(:name as text) || n, 1 + n % 7, '"later"', parley_now() + interval '1 hour', parley_now()
         from generate_series(1, cast(:count as integer)) as n`,
      { kind, name, count },
    ),
  );
}

/** Appends due jobs for keys of seven tenants. The last key has been due for longest; keys of a later call became due later. */
async function dueKeys(database: Database, name: string, count: number): Promise<void> {
  await database.transactShared(({ knex }) =>
    knex.raw(
      `insert into jobs (kind, key, tenant_id, payload, run_at, created_at)
       select :kind, cast(:name as text) || n, 1 + n % 7, '"due"',
              moment - cast(n as float8) / cast(:count as integer) * interval '1 millisecond', moment
         from generate_series(1, cast(:count as integer)) as n, parley_now() as moment`,
      { kind, name, count },
    ),
  );
}

/** Appends three jobs of a tenant, with the keys late1 to late3, that had to wait and are now due. */
async function lateJobs(database: Database, tenantId: number): Promise<void> {
  await database.transactShared(({ knex }) =>
    knex.raw(
      `insert into jobs (kind, key, tenant_id, payload, run_at, created_at)
       select :kind, 'late' || n, cast(:tenantId as integer), '"late"',
              parley_now() - n * interval '1 second', parley_now() - interval '1 hour'
         from generate_series(1, 3) as n`,
      { kind, tenantId },
    ),
  );
}

/** Queues jobs with different keys; none is claimed when it is appended. */
function queue(database: Database, tenantId: number, count: number, key = (n: number) => `${tenantId}-${n}`) {
  return database.transact(tenantId, async (db) => {
    for (let n = 1; n <= count; n++)
      await jobs(withClaimer(db, queueing)).append({ kind, key: key(n), data: `${tenantId}` });
  });
}

onOneDatabase(({ test, testSchema }) => {
  for (const tenants of [10, 51, 2_000]) {
    test(`all jobs of a tenant begin although jobs of ${tenants} tenants wait behind running ones`, async (t) => {
      const database = await testSchema(t, effectsSchema);
      await blockedTenants(database, tenants, 1);
      await queue(database, stranger, 24);
      const begun: number[] = [];
      const gate = createGate();
      await startRunner(
        t,
        database,
        ({ tenantId }) => {
          begun.push(tenantId);
          return gate.pass();
        },
        { perTenantLimit: 50 },
      );
      await eventually('all of them run', () => begun.length === 24);
      gate.open();
      t.deepEqual(new Set(begun), new Set([stranger]));
    });
  }

  test('the cost of finding runnable tenants does not depend on how many jobs wait behind running ones', async (t) => {
    const [few, many] = [await testSchema(t, effectsSchema), await testSchema(t, effectsSchema)];
    await blockedTenants(few, 100, 10);
    await blockedTenants(many, 100, 100);
    for (const database of [few, many]) await queue(database, stranger, 1);
    const blocks = { few: await blocksRead(t, few), many: await blocksRead(t, many) };
    // With ten times as many rows, the index is deeper and the rows are scattered. This costs something, but not twice as many blocks.
    t.true(blocks.many < 2 * blocks.few, JSON.stringify(blocks));
  });

  test('the cost of claiming does not depend on how many jobs of the tenants wait behind running ones', async (t) => {
    const tenantIds = [1, 2, 3, 4];
    const blocks: number[] = [];
    for (const behind of [8, 80]) {
      const database = await testSchema(t, effectsSchema);
      await blockedTenants(database, tenantIds.length, behind, { keys: 20 });
      for (const tenantId of tenantIds) await queue(database, tenantId, 3);
      await analyze(database);
      blocks.push(
        await blocksOf(database, async (store) => {
          const claim = { owner: 'here', leaseMs: 60_000 };
          const claimed = await store.claimOfTenants(tenantIds, { limit: 50, share: 2, count: 8 }, claim);
          const keys = tenantIds.flatMap((tenantId) => [`${tenantId}-1`, `${tenantId}-2`]);
          t.deepEqual(claimed.map(({ key }) => key).sort(), keys);
        }),
      );
    }
    const [few = 0, many = 0] = blocks;
    t.true(many < 2 * few, JSON.stringify(blocks));
  });

  test('the cost of finding runnable tenants does not depend on how many jobs are delayed', async (t) => {
    const [few, many] = [await testSchema(t, effectsSchema), await testSchema(t, effectsSchema)];
    for (const [database, later] of [
      [few, 2_000],
      [many, 20_000],
    ] as const) {
      await queue(database, stranger, 1);
      await delayedKeys(database, 'later', later);
      await analyze(database);
    }
    const blocks = { few: await blocksRead(t, few), many: await blocksRead(t, many) };
    t.true(blocks.many < 3 * blocks.few, JSON.stringify(blocks));
  });

  for (const known of ['nothing', 'few jobs'] as const) {
    test(`delayed jobs cost nothing when many are due, with statistics of ${known}`, async (t) => {
      const database = await testSchema(t, effectsSchema);
      await blockedTenants(database, 60, 10, { analyzed: known === 'few jobs' });
      await queue(database, stranger, 1);
      await delayedKeys(database, 'early', 70);
      const few = await blocksRead(t, database);
      await delayedKeys(database, 'later', 30_000);
      const unknown = await blocksRead(t, database);
      await analyze(database);
      const blocks = { few, unknown, analyzed: await blocksRead(t, database) };
      t.true(Math.max(blocks.unknown, blocks.analyzed) < 3 * few, JSON.stringify(blocks));
    });
  }

  for (const known of ['nothing', 'few jobs'] as const) {
    test(`appending a job and claiming any cost the same however many are due, with statistics of ${known}`, async (t) => {
      const database = await testSchema(t, effectsSchema);
      const claim = { owner: 'here', leaseMs: 60_000 };
      const append = () =>
        blocksOf(database, (_, knex) =>
          appendJob(
            knex,
            { kind, key: 'new', tenantId: 1, payload: '1', delayMs: 0, traceparent: null },
            { ...claim, perTenantLimit: 50 },
          ),
        );
      const claimAny = () =>
        blocksOf(database, async (store) => {
          const claimed = await store.claimAny(claim, 5);
          t.deepEqual(
            claimed.map(({ key }) => key),
            ['few96', 'few97', 'few98', 'few99', 'few100'],
          );
        });
      await dueKeys(database, 'few', 100);
      if (known === 'few jobs') await analyze(database);
      const few = { append: await append(), claimAny: await claimAny() };
      await dueKeys(database, 'more', 10_000);
      const many = { append: await append(), claimAny: await claimAny() };
      t.true(many.append < 3 * few.append && many.claimAny < 3 * few.claimAny, JSON.stringify({ few, many }));
    });
  }

  test('a delayed job is found among many due ones once it is due', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await blockedTenants(database, 60, 10);
    await delayedKeys(database, 'later', 70);
    await lateJobs(database, stranger);
    await blocksRead(t, database);
    const begun: number[] = [];
    await startRunner(t, database, ({ tenantId }) => void begun.push(tenantId), { perTenantLimit: 50 });
    await eventually('all of them ran', () => begun.length === 3);
    t.deepEqual(new Set(begun), new Set([stranger]));
  });

  test("a delayed job is claimed once due, although its tenant's older ones wait behind running jobs", async (t) => {
    const database = await testSchema(t, effectsSchema);
    await blockedTenants(database, 1, 6, { keys: 20 });
    await delayedKeys(database, 'later', 7);
    await lateJobs(database, 1);
    const claimed = await database.transactShared(({ knex }) => {
      const claim = { owner: 'here', leaseMs: 60_000 };
      return jobSearchStore(knex, kind).claimOfTenants([1], { limit: 50, share: 5, count: 5 }, claim);
    });
    t.deepEqual(
      claimed.map(({ key }) => key),
      ['late1', 'late2', 'late3'],
    );
  });

  test('when slots are scarce, tenants are served round robin', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const served: number[] = [];
    const work = ({ tenantId }: Run) => void served.push(tenantId);
    for (const [tenantId, count] of [
      [1, 12],
      [2, 3],
      [3, 3],
    ] as const) {
      await queue(database, tenantId, count);
    }
    await startRunner(t, database, work, { perTenantLimit: 5, concurrency: 1 });
    await eventually('all are served', () => served.length === 18);
    t.deepEqual(served.slice(0, 9), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
  });

  test('when slots are scarce, a key with a long queue yields its slot to another tenant', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const served: number[] = [];
    await queue(database, 1, 10, () => 'one key');
    await queue(database, 2, 1);
    const work = ({ tenantId }: Run) => void served.push(tenantId);
    await startRunner(t, database, work, { perTenantLimit: 5, concurrency: 1 });
    await eventually('the other tenant is served', () => served.includes(2));
    t.deepEqual(served.slice(0, 2), [1, 2]);
    await eventually('all are served', () => served.length === 11);
  });
});

/** Returns the number of blocks that are read to list the tenants that have a job to run. */
function blocksRead(t: ExecutionContext, database: Database): Promise<number> {
  return blocksOf(database, async (store) => t.deepEqual(await store.listTenantsBelowLimit(50, 0, 1), [stranger]));
}

/** Returns the number of blocks that the statements of `work` read; its transaction is rolled back. */
function blocksOf(
  database: Database,
  work: (store: ReturnType<typeof jobSearchStore>, knex: Knex.Transaction) => Promise<unknown>,
): Promise<number> {
  return database.transactShared(async ({ knex }) => {
    const sent: { sql: string; bindings: string[] }[] = [];
    const listener = (query: { sql: string; bindings: string[] }) => void sent.push(query);
    await knex.raw('savepoint before');
    knex.on('query', listener);
    await work(jobSearchStore(knex, kind), knex);
    knex.removeListener('query', listener);
    let blocks = 0;
    for (const { sql, bindings } of sent) {
      await knex.raw('rollback to before');
      const statement = `explain (analyze, buffers, format json) ${sql.replaceAll(/\$\d+/g, '?')}`;
      const { rows } = await knex.raw(statement, bindings);
      const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
      blocks += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
    }
    await knex.raw('rollback to before');
    return blocks;
  });
}
