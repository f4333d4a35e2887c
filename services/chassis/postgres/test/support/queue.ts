import { createLogger } from '@parley/kernel/telemetry/log';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import type { Database, JobClaimer, SchemaDeclaration, Transaction } from '../../src/database/types.ts';
import { jobRunner } from '../../src/jobs/job-runner.ts';
import type { JobRun } from '../../src/jobs/job-types.ts';
import { jobs } from '../../src/jobs/jobs.ts';
import type { JobRunner, JobRunnerOptions } from '../../src/jobs/runner-types.ts';

/** A service whose jobs write one row each. */
export const effectsSchema: SchemaDeclaration = {
  name: 'effects',
  tables: { effects: 'tenant' },
  migrations: [
    {
      name: '001-effects',
      async up(knex) {
        await knex.raw(`create table effects (
          id integer generated always as identity, tenant_id integer not null, name text not null, attempt integer not null,
          primary key (tenant_id, id))`);
      },
    },
  ],
};

export type Run = JobRun<string>;

export const kind = 'effects.write';
export const never = 3_600_000;

/** Starts a runner that never polls, retries at once, and calls `work` before it writes the job's effect. */
export async function startRunner(
  t: ExecutionContext,
  database: Database,
  work: (run: Run) => Promise<void> | void,
  options: Partial<JobRunnerOptions<string>> = {},
): Promise<JobRunner> {
  const runner = jobRunner<string>({
    database,
    kind,
    concurrency: 100,
    perTenantLimit: { unlimitedBecause: 'only tests of the limit have one' },
    searchIntervalMs: never,
    stopGraceMs: 0,
    backoffMs: () => 0,
    log: createLogger('jobs test', { LOG_LEVEL: 'silent' }),
    async handler(run) {
      await work(run);
      await writeEffect(database, run);
    },
    ...options,
  });
  await runner.start();
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= runner.stop());
  t.teardown(stop);
  return {
    ...runner,
    stop,
    get running() {
      return runner.running;
    },
  };
}

export function writeEffect(database: Database, run: Run): Promise<void> {
  return database.transact(run.tenantId, async (db) => {
    await db.knex('effects').insert({ tenant_id: run.tenantId, name: run.data, attempt: run.attempt });
    await run.lease.complete(db);
  });
}

/** Appends a job named `data`; without a claimer the job is queued at first. */
export function append(database: Database, data: string, key: string, claimer: JobClaimer = queueing) {
  return database.transact(1, (db) => jobs(withClaimer(db, claimer)).append({ kind, key, data }));
}

/** Returns a transaction whose registry has this claimer instead of the registered runners. */
export function withClaimer<Db extends Transaction>(db: Db, claimer: JobClaimer): Db {
  return { ...db, registry: { ...db.registry, runners: new Map([[claimer.kind, claimer]]) } };
}

/** Returns the effects so far, in order: `name` for a first attempt, otherwise `name@attempt`. */
export function effectsOf(database: Database): Promise<string[]> {
  return database.transact(1, async ({ knex }) => {
    const rows: { name: string; attempt: number }[] = await knex('effects').orderBy('id');
    return rows.map(({ name, attempt }) => (attempt === 1 ? name : `${name}@${attempt}`));
  });
}

export function jobRows(
  database: Database,
): Promise<{ id: string; state: string; attempt: number; error: string | null }[]> {
  return database.transactShared(({ knex }) => knex('jobs').select('id', 'state', 'attempt', 'error').orderBy('id'));
}

/** Resolves with the effects when no job is left. */
export async function drained(database: Database): Promise<string[]> {
  await eventually('no job is left', async () => (await jobRows(database)).length === 0, { timeoutMs: 60_000 });
  return effectsOf(database);
}

/** A process that dies at the moment its claim commits. */
export function dyingRunner(overrides: Partial<JobClaimer> = {}): JobClaimer {
  return {
    kind,
    owner: 'dying',
    leaseMs: 1,
    perTenantLimit: undefined,
    reserve: () => ({ use: () => undefined, free: () => undefined }),
    prepare: async () => undefined,
    begin: () => undefined,
    cancelled: () => undefined,
    ...overrides,
  };
}

/** A runner without a free slot. */
export const queueing = dyingRunner({ reserve: () => undefined });

/** Resolves when the signal is aborted, with the name of the reason. */
export function aborted(signal: AbortSignal): Promise<string> {
  const name = () => (signal.reason instanceof Error ? signal.reason.name : 'unknown');
  if (signal.aborted) return Promise.resolve(name());
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(name()), { once: true }));
}

/** Counts the statements that `work` sends. */
export async function statementsOf(db: Transaction, work: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const listener = () => {
    count += 1;
  };
  db.knex.on('query', listener);
  await work();
  db.knex.removeListener('query', listener);
  return count;
}
