import type { Transaction } from '../database/types.ts';

/** A job that was appended. */
export interface TenantJob<Data = unknown> {
  id: number;
  kind: string;
  /** Jobs of one kind and key run one at a time, in the order in which they were appended. */
  key: string;
  tenantId: number;
  /** What `append` was given, after serialization as JSON. */
  data: Data;
  /** 1 at the first claim, one more at each retry, take-over or handover. */
  attempt: number;
}

/** The right to run a job, valid while it is renewed. */
export interface Lease {
  /**
   * Ends the job in the transaction of its effect, so that both commit together, and claims the next job of its key.
   * @throws LeaseLost when another process has the job: let it roll the transaction back. Call it last, to prevent a
   * deadlock: it may wait for an `append` of the same key, which may wait for rows that this transaction locks later.
   */
  complete(db: Transaction): Promise<void>;
}

/** What a handler gets. */
export type JobRun<Data, Prepared = undefined> = TenantJob<Data> & {
  /** Aborted with `JobCancelled`, `JobHandover` or `LeaseLost` as `reason`. Already aborted for a job cancelled before. */
  signal: AbortSignal;
  lease: Lease;
  /** The result of `prepare`; undefined when the search claimed the job, so that the handler has to read it itself. */
  prepared: Prepared | undefined;
};

/** Carries cancellations between processes. Without it they take effect at the next renewal. */
export interface JobNotifier {
  publish(channel: string, message: string): Promise<unknown>;
  /** Resolves, once subscribed, with how to unsubscribe. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<unknown> | void>;
}
