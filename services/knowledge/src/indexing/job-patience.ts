/** Number of failures of the job itself, by kind of failure. The job's attempts also count outages, shutdowns and lost leases. */
export type Failures = Readonly<Record<string, number>>;

export interface Patience {
  name: string;
  /** The job fails for good after this many failures of the kind `name`. */
  attempts: number;
  pauseMs: number;
}

/** Interval in ms at which a job of a suspended tenant checks whether it may continue. */
export const suspendedRetryMs = 10_000;

/** Returns the counts with one more failure of this kind; undefined if no more failures are allowed. */
export function oneMore(failures: Failures = {}, { name, attempts }: Patience): Failures | undefined {
  const count = (failures[name] ?? 0) + 1;
  return count < attempts ? { ...failures, [name]: count } : undefined;
}
