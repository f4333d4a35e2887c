import type { Knex } from 'knex';
import type { Transaction } from '../database/types.ts';
import type { ClaimedJob } from './job-rows.ts';

/** What `jobs(db)` finds in the registry by a job's kind, in order to claim a job for it as it is appended. */
export interface JobClaimer {
  readonly kind: string;
  /** Unique to this runner in this process. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly perTenantLimit: number | undefined;
  /** A place for one more job, kept until it is freed or the transaction is over; undefined when there is none. */
  reserve(knex: Knex.Transaction): { free(): void } | undefined;
  /** Reads, in the claiming transaction, what the handler will want first. */
  prepare(db: Transaction, job: ClaimedJob): Promise<unknown>;
  /** Starts a job whose claim has been committed. `claimedAtMs`: monotonic, taken before the claiming statement. */
  begin(job: ClaimedJob, claim: { claimedAtMs: number; prepared: unknown }): void;
  /** A cancellation of the job with this token has been committed. */
  cancelled(token: string): void;
}

/** What a `Database` is woken for when a job of this kind may be runnable. */
export function wakeOf(kind: string): string {
  return `jobs:${kind}`;
}
