import type { Transaction } from '../database/types.ts';
import type { TenantJob } from './job-rows.ts';

/** The right to run a job, valid as long as it is renewed. */
export interface Lease {
  /**
   * Ends the job in the transaction of its effect, so that both commit together, and claims the next job of its key. Call it last, to
   * prevent a deadlock: it may wait for an `append` of the same key, which may wait for rows that this transaction locks later.
   * @throws LeaseLost when another process has the job; let the error roll the transaction back.
   */
  complete(db: Transaction): Promise<void>;
}

/** The input of a handler. */
export type JobRun<Data, Prepared = undefined> = TenantJob<Data> & {
  /**
   * Aborted with `JobCancelled`, `JobHandover` or `LeaseLost` as `reason`. It is already aborted if the job was cancelled before this run.
   */
  signal: AbortSignal;
  lease: Lease;
  /**
   * Ends this run, in the transaction `db` if given. The job keeps its place among the jobs of its key. After `delayMs` it starts again
   * with `data`, at attempt 1. Use this for waits that are not failures, e.g. while the tenant is suspended, or for waits that the handler
   * counts in the data itself.
   * @throws LeaseLost when another process has the job
   */
  retryLater(data: Data, delayMs: number, db?: Transaction): Promise<void>;
  /** The result of `prepare`. It is undefined when the search claimed the job; then the handler must read the data itself. */
  prepared: Prepared | undefined;
};

/** Carries cancellations between processes. Without a notifier, a cancellation takes effect at the next renewal of the job's lease. */
export interface JobNotifier {
  publish(channel: string, message: string): Promise<unknown>;
  /** Resolves when the subscription exists, with a function that unsubscribes. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<unknown> | void>;
}
