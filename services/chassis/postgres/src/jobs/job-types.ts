import type { Transaction } from '../database/types.ts';

/** A job as those see it who deal with it after it was appended. */
export interface Job<Data = unknown> {
  id: number;
  kind: string;
  /** Jobs of one kind and key run one at a time, in the order in which they were appended. */
  key: string;
  /** The tenant it was appended for; null for what belongs to none. */
  tenantId: number | null;
  /** What `append` was given, after a trip through JSON. */
  data: Data;
  /** 1 at the first claim, higher after each retry, take-over or handover. */
  attempt: number;
}

export interface TenantJob<Data = unknown> extends Job<Data> {
  tenantId: number;
}

/** The right to do a job, good for as long as it is renewed. */
export interface Lease {
  /**
   * Ends the job within the transaction of its effect, so that both commit together, and claims the next job of its
   * key. Throws `LeaseLost` when somebody else has the job by now: let that roll the transaction back. Call it last: it
   * may wait for an `append` of the same key, which may itself wait for rows that this transaction has locked later.
   */
  complete(db: Transaction): Promise<void>;
}

/** What a handler is given. */
export type JobRun<Data, Prepared = undefined, J extends Job<Data> = Job<Data>> = J & {
  /** Aborted with `JobCancelled`, `JobHandover` or `LeaseLost` as `reason`. Already aborted for a job cancelled before. */
  signal: AbortSignal;
  lease: Lease;
  /** What `prepare` read in the claiming transaction; undefined when the search claimed the job (prepare it anew). */
  prepared: Prepared | undefined;
};

/** Carries cancellations between processes. Without one they take effect at the next renewal. */
export interface JobNotifier {
  publish(channel: string, message: string): Promise<unknown>;
  /** Resolves, once subscribed, with how to end it. */
  subscribe(channel: string, listener: (message: string) => void): Promise<() => Promise<unknown> | void>;
}
