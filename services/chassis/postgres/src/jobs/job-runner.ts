import type { TenantDb, Transaction } from '../database/types.ts';
import type { ClaimedJob } from './job-rows.ts';
import type { JobRun, TenantJob } from './job-types.ts';
import { runnerOf } from './runner-core.ts';
import type { JobRunner, RunnerOptions } from './runner-types.ts';

/**
 * Does a tenant's jobs of one kind. The handler works outside any transaction and ends the job by `lease.complete(db)`
 * inside its own; if it returns without, the runner completes it, unless the signal was aborted by a handover or a loss
 * of the lease. What it throws is retried; after a cancellation an AbortError or the signal's reason ends the job.
 */
export interface JobRunnerOptions<Data, Prepared = undefined, Asked = undefined> extends RunnerOptions {
  handler(run: JobRun<Data, Prepared, TenantJob<Data>>): Promise<void>;
  /**
   * Reads what the handler will want first within the transaction that claims the job, at its append or when the one
   * before it completes, and so saves it a transaction of its own. When it throws, that transaction rolls back.
   */
  prepare?: ((db: TenantDb, job: TenantJob<Data>) => Promise<Prepared>) | undefined;
  /**
   * Asks elsewhere, before the transaction of `onExhausted`, for what that needs: it may take its time. When it throws, the job
   * stays, and that it has failed is recorded later.
   */
  askExhausted?: ((job: TenantJob<Data>) => Promise<Asked>) | undefined;
  /**
   * Records, in the transaction that removes it, that a job has failed for good: by the error of its last attempt, or by
   * `LeaseLost` when its process died once too often. Without it the job stays as failed, with the message of a
   * `DomainError` or the name of any other error.
   */
  onExhausted?: ((db: TenantDb, job: TenantJob<Data>, error: unknown, asked: Asked) => Promise<void>) | undefined;
}

export function jobRunner<Data, Prepared = undefined, Asked = undefined>(
  options: JobRunnerOptions<Data, Prepared, Asked>,
): JobRunner {
  const { database, handler, prepare, askExhausted, onExhausted } = options;
  const typed = ({ id, kind, key, tenantId, data, attempt }: ClaimedJob): TenantJob<Data> => {
    if (tenantId === null) throw new Error(`job ${id} of kind ${kind} was appended without a tenant`);
    return { id, kind, key, tenantId, data: data as Data, attempt };
  };
  return runnerOf(options, {
    async handle(job, { signal, lease, prepared }) {
      await handler({ ...typed(job), signal, lease, prepared: prepared as Prepared | undefined });
    },
    async prepare(db, job) {
      // A claim in a shared transaction sees no tenant's rows.
      return prepare && isOfTenant(db, job.tenantId) ? prepare(db, typed(job)) : undefined;
    },
    keepsFailed: onExhausted === undefined,
    async exhaust(job, error, end) {
      const asked = (await askExhausted?.(typed(job))) as Asked;
      await database.transact(typed(job).tenantId, async (db) => {
        if (await end(db)) await onExhausted?.(db, typed(job), error, asked);
      });
    },
  });
}

function isOfTenant(db: Transaction, tenantId: number | null): db is TenantDb {
  return tenantId !== null && 'tenantId' in db && db.tenantId === tenantId;
}
