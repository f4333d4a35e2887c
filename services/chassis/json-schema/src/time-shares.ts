import { LRUCache } from 'lru-cache';

export interface TimeShareOptions {
  burstMs: number;
  msPerSecond: number;
  now: () => number;
}

/** Limits the processor time of each tenant on this thread by a token bucket. */
export function timeShares({ burstMs, msPerSecond, now }: TimeShareOptions) {
  const used = new LRUCache<number, { ms: number; at: number }>({ max: 10_000 });

  function usedBy(tenantId: number): number {
    const { ms, at } = used.get(tenantId) ?? { ms: 0, at: 0 };
    return Math.max(0, ms - ((now() - at) / 1_000) * msPerSecond);
  }

  return {
    /** Whether work of the tenant may begin; work without a tenant always may. */
    has: (tenantId: number | undefined): boolean => tenantId === undefined || usedBy(tenantId) < burstMs,

    /** Runs synchronous work and charges its time. */
    take<Result>(tenantId: number | undefined, work: () => Result): Result {
      if (tenantId === undefined) return work();
      const before = process.threadCpuUsage();
      try {
        return work();
      } finally {
        const { user, system } = process.threadCpuUsage(before);
        used.set(tenantId, { ms: usedBy(tenantId) + (user + system) / 1_000, at: now() });
      }
    },
  };
}
