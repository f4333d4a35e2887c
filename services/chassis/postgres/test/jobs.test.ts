import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@parley/kernel/telemetry/log';
import { eventually } from '@parley/testing/eventually';
import { onDatabaseServer, onEveryDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import { noTenant } from '../src/database/identifiers.ts';
import { wakeOf } from '../src/jobs/job-claimer.ts';
import { jobRunner } from '../src/jobs/job-runner.ts';
import { jobs } from '../src/jobs/jobs.ts';
import {
  append,
  drained,
  effectsOf,
  effectsSchema,
  jobRows,
  kind,
  type Run,
  startRunner,
  statementsOf,
  withClaimer,
  writeEffect,
} from './support/queue.ts';

onEveryDatabase(({ replicaOf, test, testSchema }) => {
  const tenSorted = Array.from({ length: 10 }, (_, index) => `job ${index}`);

  test('ten jobs of one key, appended while the first runs, run one at a time, in order and without polling', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    let running = 0;
    const runner = await startRunner(t, database, async () => {
      running += 1;
      t.is(running, 1);
      await gate.pass();
      running -= 1;
    });

    const appended = [];
    for (const name of tenSorted) appended.push(await append(database, name, 'k', runner));
    gate.open();

    t.deepEqual(
      appended.map(({ claimed }) => claimed),
      tenSorted.map((_, index) => index === 0),
    );
    t.deepEqual(
      appended.map(({ ahead }) => ahead),
      [0, 0, 1, 2, 3, 4, 5, 6, 7, 8],
    );
    t.deepEqual(await drained(database), tenSorted);
  });

  test('a job without a tenant runs, sees no rows of tenants, and is retried and removed like others', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const seen: unknown[] = [];
    const runner = await startRunner(t, database, () => undefined, {
      async handler({ tenantId, attempt }) {
        seen.push([tenantId, attempt, await database.transact(tenantId, ({ knex }) => knex('effects').pluck('name'))]);
        if (attempt === 1) throw new Error('the first attempt fails');
      },
    });
    await database.transact(1, ({ knex }) => knex('effects').insert({ tenant_id: 1, name: 'of a tenant', attempt: 1 }));
    await database.transactShared((db) =>
      jobs(withClaimer(db, runner)).append({ kind, key: 'n', tenantId: noTenant, data: 'of none' }),
    );
    await eventually('the job has ended', async () => (await jobRows(database)).length === 0);
    t.deepEqual(seen, [
      [noTenant, 1, []],
      [noTenant, 2, []],
    ]);
  });

  test('ten jobs of one key, appended by concurrent transactions, all run, one at a time and without polling', async (t) => {
    const database = await testSchema(t, effectsSchema, { poolSize: 10 });
    let running = 0;
    const runner = await startRunner(t, database, async () => {
      running += 1;
      t.is(running, 1);
      await new Promise(setImmediate);
      running -= 1;
    });

    await Promise.all(tenSorted.map((name) => append(database, name, 'k', runner)));

    t.deepEqual((await drained(database)).toSorted(), tenSorted);
  });

  test('a job is appended and claimed in one statement', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await startRunner(t, database, () => undefined, { perTenantLimit: 50 });

    const statements = await database.transact(1, async (db) => {
      return statementsOf(db, async () => t.true((await jobs(db).append({ kind, key: 'k', data: 'a' })).claimed));
    });

    t.is(statements, 1);
    t.deepEqual(await drained(database), ['a']);
  });

  test('a claimed job whose transaction rolls back never starts, and frees its slot and key', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const started: string[] = [];
    const runner = await startRunner(t, database, ({ data }) => void started.push(data), { concurrency: 1 });

    const error = await t.throwsAsync(
      database.transact(1, async (db) => {
        t.true((await jobs(db).append({ kind, key: 'k', data: 'rolled back' })).claimed);
        throw new Error('no');
      }),
    );
    const { claimed } = await append(database, 'kept', 'k', runner);

    t.is(error.message, 'no');
    t.true(claimed);
    t.deepEqual(await drained(database), ['kept']);
    t.deepEqual(started, ['kept']);
  });

  test('a job that is not claimed at its append, e.g. without a free slot, begins without polling', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    const runner = await startRunner(t, database, () => gate.pass(), { concurrency: 2 });

    await append(database, 'unnamed', 'a');
    for (const key of ['b', 'c', 'd', 'e']) await append(database, key, key, runner);
    gate.open();

    t.deepEqual((await drained(database)).toSorted(), ['b', 'c', 'd', 'e', 'unnamed']);
  });

  test('a job that found the last slot reserved begins without polling once it is freed', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const runner = await startRunner(t, database, () => undefined, { concurrency: 1 });
    const { promise: executionPromise } = Promise.withResolvers();
    const open = { isCompleted: () => false, executionPromise } as Parameters<typeof runner.reserve>[0];
    const slot = runner.reserve(open);
    const woken = new Promise<void>((resolve) => {
      t.teardown(database.onWake(wakeOf(kind), resolve));
    });
    t.false((await append(database, 'waits', 'k', runner)).claimed);
    await woken;
    await delay(10); // a separate timer starts the search
    slot?.free();
    t.deepEqual(await drained(database), ['waits']);
  });

  test('a job of an unregistered kind is refused, and the error names the registered ones', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await startRunner(t, database, () => undefined);

    const error = await t.throwsAsync(
      database.transact(1, (db) => jobs(db).append({ kind: 'effects.wirte', key: 'k', data: 'a' })),
    );

    t.is(error.message, 'No runner is registered for jobs of the kind effects.wirte; registered kinds: effects.write');
    t.deepEqual(await jobRows(database), []);
  });

  test('a job without a tenant is refused at its append', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await startRunner(t, database, () => undefined);

    for (const tenantId of [undefined, -1]) {
      await t.throwsAsync(
        // @ts-expect-error: in a shared transaction a job needs a tenant
        database.transactShared((db) => jobs(db).append({ kind, key: 'k', data: 'a', tenantId })),
        { instanceOf: TypeError, message: /tenant/ },
      );
    }
    await database.transactShared((db) => jobs(db).append({ kind, key: 'k', data: 'of tenant 1', tenantId: 1 }));

    t.deepEqual(await drained(database), ['of tenant 1']);
  });

  test('the handler gets what prepare has read, at the append and behind another job', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    const seen: (string | undefined)[] = [];
    const runner = jobRunner<string, string>({
      database,
      kind,
      concurrency: 2, // with one slot, the search could claim the next job before the completion does
      perTenantLimit: 50,
      log: createLogger('jobs test', { LOG_LEVEL: 'silent' }),
      prepare: async ({ knex }) => (await knex('effects').pluck('name')).join(),
      async handler(run) {
        seen.push(run.prepared);
        await gate.pass();
        await database.transact(1, async (db) => {
          await db.knex('effects').insert({ tenant_id: 1, name: run.data, attempt: 1 });
          await run.lease.complete(db);
        });
      },
    });
    await runner.start();
    t.teardown(() => runner.stop());

    await append(database, 'first', 'k', runner);
    await append(database, 'second', 'k', runner);
    gate.open();
    await drained(database);

    t.deepEqual(seen, ['', 'first']);
  });

  test('a delayed job waits, holds back its key, and needs no polling', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await startRunner(t, database, () => undefined);

    const [late, behind] = await database.transact(1, async (db) => [
      await jobs(db).append({ kind, key: 'k', data: 'late', delayMs: 60 }),
      await jobs(db).append({ kind, key: 'k', data: 'behind' }),
    ]);

    t.like(late, { claimed: false });
    t.like(behind, { claimed: false, ahead: 1 });
    t.deepEqual(await drained(database), ['late', 'behind']);
  });

  test('removeQueued returns waiting jobs in order and keeps the running one', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    const runner = await startRunner(t, database, () => gate.pass());
    for (const name of ['a', 'b', 'c']) await append(database, name, 'k', runner);
    await append(database, 'elsewhere', 'other', runner);

    t.deepEqual(await database.transact(2, (db) => jobs(db).removeQueued(kind, 'k')), []);
    const removed = await database.transact(1, (db) => jobs(db).removeQueued(kind, 'k'));
    gate.open();

    t.deepEqual(
      removed.map(({ data }) => data),
      ['b', 'c'],
    );
    t.deepEqual((await drained(database)).toSorted(), ['a', 'elsewhere']);
  });

  for (const [limit, margin] of [
    [5, 'within the margin'],
    [40, 'beyond the margin'],
  ] as const) {
    test(`sixty jobs of a tenant never run more than ${limit} at once (${margin}), and finish without polling`, async (t) => {
      const database = await testSchema(t, effectsSchema, { poolSize: 8 });
      const other = await replicaOf(t, database, effectsSchema, { poolSize: 4 });
      const company = createGate(); // the first job waits until a second one runs at the same time
      let peak = 0;
      const work = async (): Promise<void> => {
        const { rows } = await database.transactShared(({ knex }) =>
          knex.raw(`select cast(count(*) as integer) as count from jobs where state = 'running'`),
        );
        peak = Math.max(peak, rows[0].count);
        if (peak > 1) company.open();
        await company.pass();
      };
      const runner = await startRunner(t, database, work, { perTenantLimit: limit });
      const second = await startRunner(t, other, work, { perTenantLimit: limit });

      await Promise.all(
        Array.from({ length: 60 }, (_, index) => {
          return index % 3 === 0
            ? append(other, `${index}`, `k${index}`, second)
            : append(database, `${index}`, `k${index}`, runner);
        }),
      );

      t.is((await drained(database)).length, 60);
      t.true(peak <= limit && peak > 1, `${peak} ran at once`);
    });
  }

  test("a tenant at its limit does not hold back another's jobs", async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    const runner = await startRunner(t, database, ({ tenantId }) => (tenantId === 1 ? gate.pass() : undefined), {
      perTenantLimit: 1,
    });

    await append(database, 'first', 'a', runner);
    await append(database, 'waits', 'b', runner);
    await database.transact(2, (db) => jobs(db).append({ kind, key: 'c', data: 'theirs' }));
    await database.transact(2, (db) => jobs(db).append({ kind, key: 'd', data: 'theirs too' }));
    const states = (await jobRows(database)).map(({ state }) => state);
    gate.open();

    t.deepEqual(states.slice(0, 2), ['running', 'queued']);
    t.deepEqual(await drained(database), ['first', 'waits']);
  });

  test('a job whose handler throws is retried after its backoff, before those behind it', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const waits: number[] = [];
    const work = ({ data, attempt }: Run): void => {
      if (data === 'shaky' && attempt < 3) throw new Error('not yet');
    };
    const backoffMs = (attempt: number): number => {
      waits.push(attempt);
      return 20;
    };
    const failures: string[] = [];
    const runner = await startRunner(t, database, work, { backoffMs, onFailure: (outcome) => failures.push(outcome) });

    await append(database, 'shaky', 'k', runner);
    await append(database, 'behind', 'k', runner);

    t.deepEqual(await drained(database), ['shaky@3', 'behind']);
    t.deepEqual(waits, [1, 2]);
    t.deepEqual(failures, ['retried', 'retried']);
  });

  test('a job that is retried until it is done has more attempts than others', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const work = ({ attempt }: Run): void => {
      if (attempt < 6) throw new Error('not yet');
    };
    const failures: string[] = [];
    const onFailure = (outcome: string): void => void failures.push(outcome);
    const runner = await startRunner(t, database, work, { retry: 'untilDone', onFailure });

    await append(database, 'shaky', 'k', runner);

    t.deepEqual(await drained(database), ['shaky@6']);
    t.deepEqual(new Set(failures), new Set(['retried']));
  });

  test('retryLater runs a job again with other data, at its first attempt and before those behind it', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const seen: string[] = [];
    const runner = await startRunner(t, database, () => undefined, {
      concurrency: 1,
      async handler(run) {
        seen.push(`${run.data}@${run.attempt}`);
        if (run.data === 'first' && run.attempt === 1) throw new Error('not yet');
        if (run.data === 'first') await run.retryLater('again', 60);
        else await writeEffect(database, run);
      },
    });

    await append(database, 'first', 'k', runner);
    await append(database, 'behind', 'k', runner);
    await append(database, 'of another key', 'l', runner);

    t.deepEqual(await drained(database), ['of another key', 'again', 'behind']);
    t.deepEqual(
      seen.filter((each) => !each.includes('key')),
      ['first@1', 'first@2', 'again@1', 'behind@1'],
    );
    t.is(runner.running, 0);
  });

  test('a job whose time has passed while its search ran is run without a warning of Node', async (t) => {
    const warnings: string[] = [];
    const onWarning = ({ name, message }: Error) => warnings.push(`${name}: ${message}`);
    process.on('warning', onWarning);
    t.teardown(() => process.off('warning', onWarning));
    const database = await testSchema(t, effectsSchema);
    const ran: string[] = [];
    const runner = await startRunner(t, database, async (run) => {
      ran.push(run.data);
      if (run.data === 'first') await run.retryLater('again', -4);
    });
    await append(database, 'first', 'k', runner);
    await eventually('the job runs again', () => ran.length === 2);
    t.deepEqual([ran, warnings], [['first', 'again'], []]);
  });

  test('retryLater commits or rolls back with the rest of its transaction', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const runner = await startRunner(t, database, () => undefined, {
      async handler(run) {
        if (run.data !== 'first') return writeEffect(database, run);
        const inOne = (fails: boolean) =>
          database.transact(run.tenantId, async (db) => {
            await db.knex('effects').insert({ tenant_id: run.tenantId, name: `fails: ${fails}`, attempt: 1 });
            await run.retryLater(fails ? 'rolled back' : 'again', 0, db);
            if (fails) throw new Error('no');
          });
        await t.throwsAsync(inOne(true), { message: 'no' });
        await inOne(false);
      },
    });

    await append(database, 'first', 'k', runner);

    t.deepEqual(await drained(database), ['fails: false', 'again']);
  });

  test('onExhausted runs in the transaction that removes a failed job, and the next one follows', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const work = ({ data }: Run): void => {
      if (data === 'hopeless') throw new Error('never');
    };
    const failures: string[] = [];
    const runner = await startRunner(t, database, work, {
      onFailure: (outcome) => failures.push(outcome),
      async onExhausted(db, { data, attempt }, error) {
        await db.knex('effects').insert({ tenant_id: db.tenantId, name: `${data}: ${String(error)}`, attempt });
      },
    });

    await append(database, 'hopeless', 'k', runner);
    await append(database, 'behind', 'k', runner);

    t.deepEqual(await drained(database), ['hopeless: Error: never@3', 'behind']);
    t.deepEqual(failures, ['retried', 'retried', 'given_up']);
  });

  test('without onExhausted a failed job stays in the table without secrets, and blocks no other', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const work = ({ data }: Run): void => {
      if (data === 'hopeless') throw new TypeError('sk-secret is no key');
    };
    const runner = await startRunner(t, database, work, { retryable: (error) => !(error instanceof TypeError) });

    await append(database, 'hopeless', 'k', runner);
    await append(database, 'behind', 'k', runner);
    await eventually('the next job has run', async () => (await effectsOf(database)).length === 1);

    t.like(await jobRows(database), [{ state: 'failed', attempt: 1, error: 'TypeError' }]);
  });

  test("runDelayedNow runs a tenant's delayed jobs at once, and not another tenant's", async (t) => {
    const database = await testSchema(t, effectsSchema);
    const runner = await startRunner(t, database, async () => undefined);
    const waiting = (tenantId: number) =>
      database.transact(tenantId, (db) =>
        jobs(db).append({ kind, key: `of ${tenantId}`, data: `of ${tenantId}`, delayMs: 3_600_000 }),
      );
    await waiting(1);
    await waiting(2);
    t.is(await database.transact(1, (db) => jobs(db).runDelayedNow('another kind')), 0);
    t.is(await database.transact(1, (db) => jobs(db).runDelayedNow(kind)), 1);
    await eventually('the one has run', async () => (await jobRows(database)).length === 1);
    t.like(await database.transactShared(({ knex }) => knex('jobs')), [{ key: 'of 2', state: 'queued' }]);
    t.is(runner.running, 0);
  });
});

onDatabaseServer(({ test, testSchema }) => {
  test('a job that found the last slot reserved begins without polling once that transaction is rolled back', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const runner = await startRunner(t, database, () => undefined, { concurrency: 1 });
    const [appended, rollback] = [createGate(), createGate()];
    const rollingBack = database.transact(1, async (db) => {
      await jobs(withClaimer(db, runner)).append({ kind, key: 'k', data: 'rolled back' });
      appended.open();
      await rollback.pass();
      throw new Error('no');
    });
    await appended.pass();
    const woken = new Promise<void>((resolve) => {
      t.teardown(database.onWake(wakeOf(kind), resolve));
    });
    t.false((await append(database, 'waits', 'other', runner)).claimed);
    await woken;
    await delay(10); // a separate timer starts the search
    rollback.open();
    await t.throwsAsync(rollingBack, { message: 'no' });
    t.deepEqual(await drained(database), ['waits']);
  });

  test('a job is retried while another one is being appended behind it', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const [begun, failing, appended, commit] = [createGate(), createGate(), createGate(), createGate()];
    let attempts = 0;
    const runner = await startRunner(t, database, async ({ data }) => {
      if (data !== 'shaky') return;
      attempts += 1;
      if (attempts > 1) return;
      begun.open();
      await failing.pass();
      throw new Error('not yet');
    });
    await append(database, 'shaky', 'k', runner);
    await begun.pass();
    const behind = database.transact(1, async (db) => {
      await jobs(db).append({ kind, key: 'k', data: 'behind' });
      appended.open();
      await commit.pass();
    });
    await appended.pass();
    failing.open();
    await eventually('the second attempt', () => attempts === 2);
    commit.open();
    await behind;
    t.deepEqual(await drained(database), ['shaky@2', 'behind']);
  });
});
