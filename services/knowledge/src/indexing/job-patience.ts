/**
 * How often a job itself has failed, by kind of failure. The job's attempts also count outages, shutdowns and lost
 * leases.
 */
export type Failures = Readonly<Record<string, number>>;

export interface Patience {
  name: string;
  /** The job fails for good at this many failures of this kind. */
  attempts: number;
  pauseMs: number;
}

/** How often a job of a suspended tenant checks whether it may continue, in ms. */
export const suspendedRetryMs = 10_000;

/** Returns the counts with one more failure of this kind; undefined if no more failures are allowed. */
export function oneMore(failures: Failures = {}, { name, attempts }: Patience): Failures | undefined {
  const count = (failures[name] ?? 0) + 1;
  return count < attempts ? { ...failures, [name]: count } : undefined;
}
