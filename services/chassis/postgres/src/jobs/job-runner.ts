import type { TenantDb, Transaction } from '../database/types.ts';
import type { ClaimedJob } from './job-rows.ts';
import type { JobRun, TenantJob } from './job-types.ts';
import { runnerOf } from './runner-core.ts';
import type { JobRunner, RunnerOptions } from './runner-types.ts';

/**
 * Options of a runner for one kind of job. The handler works outside any transaction and ends the job by
 * `lease.complete(db)` in one of its own; if it resolves without that, the runner completes the job, unless the signal was
 * aborted with `JobHandover` or `LeaseLost`. A handler that throws is retried; after a cancellation an AbortError or the
 * signal's reason ends the job.
 */
export interface JobRunnerOptions<Data, Prepared = undefined, Fetched = undefined> extends RunnerOptions {
  handler(run: JobRun<Data, Prepared>): Promise<void>;
  /**
   * Reads what the handler needs first, in the transaction that claims the job: its append, or the completion of the job
   * before it. Saves the handler a transaction. When it throws, that transaction rolls back.
   */
  prepare?: ((db: TenantDb, job: TenantJob<Data>) => Promise<Prepared>) | undefined;
  /**
   * Fetches, before the transaction of `onExhausted`, what that needs, e.g. from another service. When it throws, the failure
   * of the job is recorded later.
   */
  beforeExhausted?: ((job: TenantJob<Data>) => Promise<Fetched>) | undefined;
  /**
   * Records, in the transaction that removes the job, that it has failed for good: with the error of its last attempt, or
   * `LeaseLost` when its process died at the last one. Without this function the job stays in the table with state `failed`
   * and the message of a `DomainError` or the name of any other error.
   */
  onExhausted?: ((db: TenantDb, job: TenantJob<Data>, error: unknown, fetched: Fetched) => Promise<void>) | undefined;
}

export function jobRunner<Data, Prepared = undefined, Fetched = undefined>(
  options: JobRunnerOptions<Data, Prepared, Fetched>,
): JobRunner {
  const { database, handler, prepare, beforeExhausted, onExhausted } = options;
  const typed = ({ id, kind, key, tenantId, data, attempt }: ClaimedJob): TenantJob<Data> => ({
    id,
    kind,
    key,
    tenantId,
    data: data as Data,
    attempt,
  });
  return runnerOf(options, {
    async handle(job, { signal, lease, prepared }) {
      await handler({ ...typed(job), signal, lease, prepared: prepared as Prepared | undefined });
    },
    async prepare(db, job) {
      // A claim in a shared transaction cannot read the tenant's rows.
      return prepare && isOfTenant(db, job.tenantId) ? prepare(db, typed(job)) : undefined;
    },
    keepsFailed: onExhausted === undefined,
    async exhaust(job, error, end) {
      const fetched = (await beforeExhausted?.(typed(job))) as Fetched;
      await database.transact(typed(job).tenantId, async (db) => {
        if (await end(db)) await onExhausted?.(db, typed(job), error, fetched);
      });
    },
  });
}

function isOfTenant(db: Transaction, tenantId: number): db is TenantDb {
  return 'tenantId' in db && db.tenantId === tenantId;
}
