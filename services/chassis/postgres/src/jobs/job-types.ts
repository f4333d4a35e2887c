import type { Transaction } from '../database/types.ts';
import type { TenantJob } from './job-rows.ts';

/** The right to run a job, valid while it is renewed. */
export interface Lease {
  /**
   * Ends the job in the transaction of its effect, so that both commit together, and claims the next job of its key.
   * @throws LeaseLost when another process has the job: let it roll the transaction back. Call it last, to prevent a
   * deadlock: it may wait for an `append` of the same key, which may wait for rows that this transaction locks later.
   */
  complete(db: Transaction): Promise<void>;
}

/** The input of a handler. */
export type JobRun<Data, Prepared = undefined> = TenantJob<Data> & {
  /** Aborted with `JobCancelled`, `JobHandover` or `LeaseLost` as `reason`. Already aborted for a job cancelled before. */
  signal: AbortSignal;
  lease: Lease;
  /**
   * Ends this run, in `db` where it is given. The job keeps its place among those of its key, and starts again after `delayMs`
   * with these data, at its first attempt: for a wait that is no failure, such as for a suspended tenant, or that the data count.
   * @throws LeaseLost when another process has the job
   */
  retryLater(data: Data, delayMs: number, db?: Transaction): Promise<void>;
  /** The result of `prepare`; undefined when the search claimed the job, so that the handler has to read it itself. */
  prepared: Prepared | undefined;
};

/** Carries cancellations between processes. Without it they take effect at the next renewal. */
export interface JobNotifier {
  publish(channel: string, message: string): Promise<unknown>;
  /** Resolves, once subscribed, with how to unsubscribe. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<unknown> | void>;
}
