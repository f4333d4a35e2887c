import { unavailable } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { onOneDatabase } from '@parley/testing/every-database';
import { createGate } from '@parley/testing/gate';
import type { Database } from '../src/database/types.ts';
import type { JobNotifier } from '../src/jobs/job-types.ts';
import { jobs } from '../src/jobs/jobs.ts';
import { leaseTimes, soleOwnerSearchMs } from '../src/jobs/lease-times.ts';
import {
  aborted,
  append,
  drained,
  dyingRunner,
  effectsOf,
  effectsSchema,
  jobRows,
  kind,
  type Run,
  startRunner,
  writeEffect,
} from './support/queue.ts';

onOneDatabase(({ replicaOf, test, testSchema }) => {
  const searchIntervalMs = 30;
  /** A long lease: no test waits until it expires. */
  const patient = { leaseMs: 20_000, searchIntervalMs };
  /** A short lease: tests wait until it expires. */
  const quick = { leaseMs: 2_000, searchIntervalMs };
  const forever = (): Promise<never> => new Promise(() => undefined);

  test('another process finishes the jobs of a dead one, which can no longer complete them', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const doomed = await replicaOf(t, database, effectsSchema);
    const runs: Run[] = [];
    const dead = await startRunner(
      t,
      doomed,
      (run) => {
        runs.push(run);
        return forever();
      },
      { leaseMs: 300 },
    );
    await append(doomed, 'a', 'k', dead);
    await append(doomed, 'behind', 'k', dead);
    await doomed.close(); // renewals fail from now on
    const takenOver = createGate();
    const gate = createGate();
    await startRunner(
      t,
      database,
      () => {
        takenOver.open();
        return gate.pass();
      },
      patient,
    );
    await takenOver.pass();
    const [late] = runs;
    if (!late) throw new Error('the first process has not begun the job');

    t.is(await aborted(late.signal), 'LeaseLost');
    await t.throwsAsync(writeEffect(database, late), { name: 'LeaseLost' });
    const restart = database.transact(1, (db) => late.retryLater('late', 0, db));
    await t.throwsAsync(restart, { name: 'LeaseLost' });
    gate.open();
    t.deepEqual(await drained(database), ['a@2', 'behind']);
  });

  test('a lease is renewed at its declared length for as long as its job runs', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const other = await replicaOf(t, database, effectsSchema);
    const leaseMs = 4_000; // long enough to tolerate a late renewal
    const gate = createGate();
    const runner = await startRunner(t, database, () => gate.pass(), { leaseMs });
    await startRunner(t, other, () => undefined, patient);
    const lease = () =>
      database.transactShared(async ({ knex }): Promise<{ until: Date; leftMs: number }> => {
        const left = 'extract(epoch from lease_until - parley_now()) * 1000';
        const { rows } = await knex.raw(`select lease_until as until, cast(${left} as float8) as left_ms from jobs`);
        return rows[0];
      });

    await append(database, 'long', 'k', runner);
    const { until: claimedUntil, leftMs } = await lease();
    t.true(leftMs <= leaseMs, `${leftMs} ms left after the claim`);
    await eventually('two leases have passed', async () => {
      const { until, leftMs } = await lease();
      if (leftMs > leaseMs) throw new Error(`${leftMs} ms left after a renewal`);
      return until.getTime() > claimedUntil.getTime() + leaseMs;
    });
    gate.open();

    t.deepEqual(await drained(database), ['long']);
  });

  test('leases are renewed and jobs end while new work waits for all connections', async (t) => {
    const database = await testSchema(t, effectsSchema, { poolSize: 2 });
    const watching = await replicaOf(t, database, effectsSchema);
    const { leaseMs } = quick;
    const gate = createGate();
    const runner = await startRunner(t, database, () => gate.pass(), { leaseMs, handler: () => gate.pass() });
    await append(database, 'long', 'k', runner);
    const untilMs = () =>
      watching.transactShared(async ({ knex }) => {
        const [lease]: { leaseUntil: Date }[] = await knex('jobs').select('lease_until');
        return lease?.leaseUntil.getTime() ?? 0;
      });
    const claimedUntilMs = await untilMs();

    const newWork = createGate();
    t.teardown(() => newWork.open());
    const flood = Array.from({ length: 20 }, () => database.transact(1, () => newWork.pass()));
    await eventually('two leases have passed', async () => (await untilMs()) > claimedUntilMs + 2 * leaseMs);
    gate.open();
    await eventually('the job has ended', async () => (await jobRows(watching)).length === 0);
    t.true(database.connections().waiting > 0, 'the new work still waits');
    newWork.open();
    await Promise.all(flood);
  });

  test('a lease is shorter than the take-over time by the time of the search', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    const runner = await startRunner(t, database, () => gate.pass(), { searchIntervalMs: undefined });
    await append(database, 'a', 'k', runner);
    const { rows } = await database.transactShared(({ knex }) =>
      knex.raw(`select cast(extract(epoch from lease_until - parley_now()) as float8) as left from jobs`),
    );
    gate.open();
    const [{ left }] = rows;
    t.true(left > 0 && left < 28, `${left} s are left of it`); // 30 s, less 5 % and the longest pause between searches (1.9 s)
  });

  test('a process whose lease was taken over aborts the job and writes no result', async (t) => {
    const database = await testSchema(t, effectsSchema);
    let reason = '';
    const runner = await startRunner(
      t,
      database,
      async ({ signal }) => {
        reason = await aborted(signal);
      },
      { leaseMs: 300 },
    );

    await append(database, 'stolen', 'k', runner);
    await database.transactShared(({ knex }) => knex('jobs').update({ lease_token: knex.raw('gen_random_uuid()') }));
    await eventually('the job has been told', () => reason !== '');

    t.is(reason, 'LeaseLost');
    t.like(await jobRows(database), [{ state: 'running', attempt: 1 }]);
    t.deepEqual(await effectsOf(database), []);
  });

  test('a job whose process dies at each of three attempts is exhausted, and the next of its key runs', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await append(database, 'deadly', 'k', dyingRunner());
    await append(database, 'behind', 'k');
    await database.transactShared(({ knex }) => knex('jobs').where({ state: 'running' }).update({ attempt: 3 }));

    await startRunner(t, database, () => undefined, {
      ...patient,
      async onExhausted(db, { data, attempt }, error) {
        const name = error instanceof Error ? error.name : '';
        await db.knex('effects').insert({ tenant_id: db.tenantId, name: `${data}: ${name}`, attempt });
      },
    });

    t.deepEqual(await drained(database), ['deadly: LeaseLost@3', 'behind']);
  });

  test('a job that is retried until it is done is taken over at any attempt', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await append(database, 'deadly', 'k', dyingRunner());
    await database.transactShared(({ knex }) => knex('jobs').where({ state: 'running' }).update({ attempt: 3_000 }));

    await startRunner(t, database, () => undefined, { ...patient, retry: 'untilDone' });

    t.deepEqual(await drained(database), ['deadly@3001']);
  });

  test('a failure that cannot be recorded at first is recorded later', async (t) => {
    const database = await testSchema(t, effectsSchema);
    let tries = 0;
    const runner = await startRunner(t, database, () => Promise.reject(new Error('never')), {
      ...quick,
      retry: { maxAttempts: 1 },
      async onExhausted(db, { data }) {
        tries += 1;
        if (tries === 1) throw new Error('not now');
        await db.knex('effects').insert({ tenant_id: db.tenantId, name: `${data} failed`, attempt: 1 });
      },
    });

    await append(database, 'a', 'k', runner);

    t.deepEqual(await drained(database), ['a failed']);
  });

  test("leases expire by the database's clock, not by that of a process", async (t) => {
    const database = await testSchema(t, effectsSchema);
    const ahead = await replicaOf(t, database, effectsSchema, { clockOffsetMs: () => 60_000 });
    await append(database, 'a', 'k', dyingRunner({ leaseMs: 30_000 }));

    const same = await startRunner(t, database, () => undefined);
    await append(database, 'other', 'other', same);
    await eventually('a search has passed it by', async () => (await effectsOf(database)).length === 1);
    await startRunner(t, ahead, () => undefined);

    t.deepEqual(await drained(database), ['other', 'a@2']);
  });

  test('a sole owner takes over jobs at once, although their leases are valid', async (t) => {
    const database = await testSchema(t, effectsSchema);
    await append(database, 'a', 'k', dyingRunner({ leaseMs: 3_600_000 }));

    const heir = await startRunner(t, database, () => undefined, { soleOwner: true, searchIntervalMs: undefined });

    t.deepEqual(await drained(database), ['a@2']);
    t.is(heir.leaseMs, leaseTimes(30_000, soleOwnerSearchMs).leaseMs, 'it seldom searches');
  });

  test('a cancellation aborts a job of this process at once, and the next one of its key follows', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const reasons: string[] = [];
    const runner = await startRunner(t, database, async ({ data, signal }) => {
      if (data === 'long') reasons.push(await aborted(signal));
    });
    await append(database, 'long', 'k', runner);
    await append(database, 'behind', 'k', runner);

    t.false(await database.transact(2, (db) => jobs(db).cancel({ kind, key: 'k' })), "another tenant's");
    t.true(await database.transact(1, (db) => jobs(db).cancel({ kind, key: 'k' })));

    t.deepEqual(await drained(database), ['long', 'behind']);
    t.deepEqual(reasons, ['JobCancelled']);
    t.false(await database.transact(1, (db) => jobs(db).cancel({ kind, key: 'k' })));
  });

  test('a handler that throws its cancellation ends the job without a retry', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const begun = createGate();
    const runner = await startRunner(t, database, async ({ signal }) => {
      begun.open();
      await aborted(signal);
      signal.throwIfAborted();
    });
    await append(database, 'long', 'k', runner);
    await begun.pass();

    await database.transact(1, (db) => jobs(db).cancel({ kind, key: 'k' }));

    t.deepEqual(await drained(database), []);
  });

  test('a cancellation from another process arrives by the notifier, without waiting for a renewal', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const other = await replicaOf(t, database, effectsSchema);
    const notifier = localNotifier();
    const holder = await startRunner(t, database, async ({ signal }) => void (await aborted(signal)), { notifier });
    await startRunner(t, other, () => undefined, { notifier });
    await append(database, 'long', 'k', holder);

    t.true(await other.transact(1, (db) => jobs(db).cancel({ kind, key: 'k' })));

    t.deepEqual(await drained(database), ['long']);
  });

  test('a runner starts and stops while the notifier does not answer, and unsubscribes once it does', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const subscribed = Promise.withResolvers<() => void>();
    let isSubscribed = true;
    const silent: JobNotifier = { publish: async () => undefined, subscribe: () => subscribed.promise };

    const runner = await startRunner(t, database, () => undefined, { notifier: silent });
    await append(database, 'a', 'k', runner);
    t.deepEqual(await drained(database), ['a']);
    await runner.stop();
    subscribed.resolve(() => (isSubscribed = false));

    await eventually('it has unsubscribed', () => !isSubscribed);
  });

  test('without a notifier a cancellation arrives with the next renewal', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const other = await replicaOf(t, database, effectsSchema);
    const holder = await startRunner(t, database, async ({ signal }) => void (await aborted(signal)), {
      leaseMs: 2_000,
    });
    const { id } = await append(database, 'long', 'k', holder);

    t.true(await other.transact(1, (db) => jobs(db).cancel({ id })));

    t.deepEqual(await drained(database), ['long']);
  });

  test('a queued job that was cancelled by its id begins with an aborted signal', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const gate = createGate();
    const aborts: boolean[] = [];
    const runner = await startRunner(t, database, ({ signal }) => {
      aborts.push(signal.aborted);
      return gate.pass();
    });
    await append(database, 'a', 'k', runner);
    const { id } = await append(database, 'b', 'k', runner);

    await database.transact(1, (db) => jobs(db).cancel({ id }));
    gate.open();
    await drained(database);

    t.deepEqual(aborts, [false, true]);
  });

  test('stop waits for short jobs and hands over long and queued ones, which begin elsewhere at once', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const other = await replicaOf(t, database, effectsSchema);
    const gate = createGate();
    const reasons: string[] = [];
    const runner = await startRunner(
      t,
      database,
      async ({ data, signal }) => {
        if (data === 'short') return gate.pass();
        reasons.push(await aborted(signal));
        throw new Error('cut short');
      },
      { stopGraceMs: 200 },
    );
    for (const name of ['short', 'long']) await append(database, name, name, runner);
    await append(database, 'behind', 'long', runner);

    const stopped = runner.stop();
    const refused = await append(database, 'refused', 'short', runner);
    gate.open();
    await stopped;
    const left = await jobRows(database);
    await startRunner(t, other, () => undefined);

    t.false(refused.claimed);
    t.deepEqual(reasons, ['JobHandover']);
    t.deepEqual(
      left.map(({ state, attempt }) => `${state} ${attempt}`),
      ['queued 1', 'queued 0', 'queued 0'],
    );
    t.deepEqual((await drained(database)).toSorted(), ['behind', 'long@2', 'refused', 'short']);
  });

  test('a job takes effect once, at whatever point its process dies', async (t) => {
    const database = await testSchema(t, effectsSchema);
    const steps = ['claimed', 'in the work', 'before the commit', 'after the commit', 'none'];
    for (const step of steps) await append(database, step, step, dyingRunner());
    await append(database, 'behind', 'after the commit');

    const cut = lossy(database, 'the answer is lost');
    await startRunner(t, cut, () => undefined, {
      ...quick,
      async handler(run) {
        const dies = (point: string): boolean => run.attempt === 2 && run.data === point;
        if (dies('in the work')) throw new Error('dead');
        const work = cut.loses(dies('after the commit')).transact;
        await work(run.tenantId, async (db) => {
          await db.knex('effects').insert({ tenant_id: run.tenantId, name: run.data, attempt: 1 });
          await run.lease.complete(db);
          if (dies('before the commit')) throw new Error('dead');
        });
      },
    });

    t.deepEqual((await drained(database)).toSorted(), [...steps, 'behind'].toSorted());
  });

  /** A database that commits some transactions without returning the result. */
  function lossy(database: Database, message: string): Database & { loses(answer: boolean): Database } {
    const silent: Database = {
      ...database,
      async transact(tenantId, work) {
        // Unlike `database`, this database runs no effects after the commit, because the process never learns of the commit.
        await database.transact(tenantId, (db) => work({ ...db, afterCommit: () => undefined, wake: () => undefined }));
        throw unavailable(message);
      },
    };
    return { ...database, loses: (answer) => (answer ? silent : database) };
  }

  function localNotifier(): JobNotifier {
    const bus = new EventTarget();
    return {
      async publish(channel, message) {
        bus.dispatchEvent(new CustomEvent(channel, { detail: message }));
      },
      async subscribe(channel, listener) {
        const onEvent = (event: Event): void => {
          if (event instanceof CustomEvent) listener(String(event.detail));
        };
        bus.addEventListener(channel, onEvent);
        return () => bus.removeEventListener(channel, onEvent);
      },
    };
  }
});
