/** How often a job has failed of its own, by what failed. Its attempts count outages, stops and lost leases too. */
export type Failures = Readonly<Record<string, number>>;

export interface Patience {
  name: string;
  /** The last failure is that of so many of this name. */
  attempts: number;
  pauseMs: number;
}

/** While its tenant is suspended a job waits, and looks again after so long. */
export const suspendedRetryMs = 10_000;

/** With one more of these; undefined for the last one. */
export function oneMore(failures: Failures = {}, { name, attempts }: Patience): Failures | undefined {
  const count = (failures[name] ?? 0) + 1;
  return count < attempts ? { ...failures, [name]: count } : undefined;
}
