import type { Knex } from 'knex';
import type { Transaction } from '../database/types.ts';
import type { ClaimedJob } from './job-rows.ts';

export interface ReservedSlot {
  /** Gives it to a job that begins now. */
  use(): void;
  /** Gives it back for any other job. */
  free(): void;
}

/** The runner of a kind, as `jobs(db)` uses it to claim a job when it is appended. */
export interface JobClaimer {
  readonly kind: string;
  /** Unique to this runner in this process. */
  readonly owner: string;
  readonly leaseMs: number;
  readonly perTenantLimit: number | undefined;
  /** Reserves a slot for one job, until the transaction is rolled back at the latest; undefined when none is free. */
  reserve(knex: Knex.Transaction): ReservedSlot | undefined;
  /** Reads, in the claiming transaction, what the handler needs first. */
  prepare(db: Transaction, job: ClaimedJob): Promise<unknown>;
  /** Starts a job whose claim has been committed. `claimedAtMs`: monotonic, taken before the claiming statement. */
  begin(job: ClaimedJob, claim: { claimedAtMs: number; prepared: unknown }): void;
  /** A cancellation of the job with this token has been committed. */
  cancelled(token: string): void;
}

/** The `Database.onWake` name for runnable jobs of this kind. */
export function wakeOf(kind: string): string {
  return `jobs:${kind}`;
}
