import type { Logger } from '@parley/kernel/telemetry/log';
import type { Database } from '../database/types.ts';
import type { Claim, ClaimedJob } from './job-rows.ts';
import { jobSearchStore } from './job-search-store.ts';

export interface JobSearchOptions {
  database: Database;
  kind: string;
  claim: Claim;
  perTenantLimit: number | undefined;
  maxAttempts: number;
  /** The interval in ms after which a search runs without a wake-up, randomized by a quarter. */
  intervalMs: number;
  /** Returns the number of free slots for jobs in this process. */
  capacity(): number;
  /** Sets the number of slots reserved for this search. */
  reserveSlots(count: number): void;
  begin(job: ClaimedJob, claimedAtMs: number): void;
  exhausted(job: ClaimedJob): void;
  log: Logger;
}

/**
 * Maximum number of jobs that one search claims. The sum of this number and of the claims by concurrent appends stays below `limitMargin`.
 */
const batchSize = 16;
/** Maximum pause after a failed search, before the pause is randomized. */
const retryMs = 1_500;

/** Finds jobs that no process runs: jobs of dead processes, and queued ones that were not claimed when appended. */
export function jobSearch(options: JobSearchOptions) {
  const { database, kind, claim, perTenantLimit, maxAttempts, intervalMs, log } = options;
  let stopped = true;
  let timer: NodeJS.Timeout | undefined;
  let dueAtMs = Number.POSITIVE_INFINITY;
  let searching: Promise<void> | undefined;
  let neededSlot = false;
  /** Whether a slot was freed after a search that found no free slot. */
  let freedSinceSearch = false;
  /** The last tenant served: the next search begins with the tenant after it. */
  let servedTenantId = 0;

  /**
   * Schedules a search in `ms` milliseconds, if none is due earlier. `ms` is negative if the time of a job has passed since the database
   * was asked for it.
   */
  function within(ms: number): void {
    const atMs = performance.now() + ms;
    if (stopped || atMs >= dueAtMs) return;
    clearTimeout(timer);
    dueAtMs = atMs;
    timer = setTimeout(pass, Math.max(0, Math.ceil(ms))).unref();
  }

  function pass(): void {
    dueAtMs = Number.POSITIVE_INFINITY;
    if (stopped) return;
    if (searching) {
      // The job that caused this wake-up may have been committed after the running search has read the table.
      void searching.finally(() => within(0));
      return;
    }
    searching = searchOnce();
  }

  async function searchOnce(): Promise<void> {
    let pauseMs = intervalMs;
    try {
      await search();
    } catch (error) {
      log.warn({ kind, err: error }, 'job search failed; will retry');
      pauseMs = Math.min(pauseMs, retryMs);
    }
    searching = undefined;
    within(pauseMs * (0.75 + Math.random() / 2));
  }

  async function search(): Promise<void> {
    const free = Math.min(batchSize, options.capacity());
    if (free <= 0) {
      neededSlot = true;
      return;
    }
    // When slots are scarce, they are reserved before the search; otherwise new appends would take every freed slot.
    const reserved = freedSinceSearch ? free : 0;
    freedSinceSearch = false;
    options.reserveSlots(reserved);
    try {
      const { nextDueMs, mayBeMore } = await database.transactShared(async (db) => {
        const store = jobSearchStore(db.knex, kind);
        const { expired, ...seen } = await store.look();
        const due = seen.oldestDueMs !== undefined;
        if (!expired && !due) return { nextDueMs: seen.nextDueMs, mayBeMore: false };
        options.reserveSlots(reserved);
        const slots = reserved || Math.min(batchSize, options.capacity());
        if (slots <= 0) return { nextDueMs: seen.nextDueMs, mayBeMore: true };
        options.reserveSlots(slots);

        const limit = due ? perTenantLimit : undefined;
        const tenantIds = limit === undefined ? [] : await store.listTenantsBelowLimit(limit, servedTenantId, slots);
        if (tenantIds.length > 0) await store.lockTenants(tenantIds);

        const claimedAtMs = performance.now();
        const claimed = expired ? await store.takeOver(claim, maxAttempts, slots) : [];
        const exhausted = expired ? await store.findExhausted(maxAttempts) : [];
        let moreOfTenants = tenantIds.length === slots;
        if (limit !== undefined && tenantIds.length > 0 && claimed.length < slots) {
          const count = slots - claimed.length;
          const share = Math.ceil(count / tenantIds.length);
          const served = await store.claimOfTenants(tenantIds, { limit, share, count }, claim);
          claimed.push(...served);
          const counts = tenantIds.map((tenantId) => served.filter((job) => job.tenantId === tenantId).length);
          servedTenantId = tenantIds[counts.findLastIndex((served) => served > 0)] ?? servedTenantId;
          moreOfTenants ||= counts.includes(share);
        }
        if (due && perTenantLimit === undefined && claimed.length < slots) {
          claimed.push(...(await store.claimAny(claim, slots - claimed.length)));
        }
        db.afterCommit(() => {
          options.reserveSlots(0);
          for (const job of claimed) options.begin(job, claimedAtMs);
          for (const job of exhausted) options.exhausted(job);
        });
        return { nextDueMs: seen.nextDueMs, mayBeMore: moreOfTenants || claimed.length >= slots };
      });
      if (nextDueMs !== undefined) within(nextDueMs);
      if (mayBeMore) {
        neededSlot = options.capacity() <= 0;
        if (!neededSlot) within(0);
      }
    } finally {
      options.reserveSlots(0);
    }
  }

  return {
    /** Whether the last search found no free slot; the next free slot then goes to the next tenant in round robin order. */
    get needsSlot() {
      return neededSlot;
    },
    start(): void {
      stopped = false;
      within(0);
    },
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await searching;
    },
    within,
    /** Call this when a slot is free: searches at once if the last search found no free slot. */
    slotFreed(): void {
      if (!neededSlot || options.capacity() <= 0) return;
      neededSlot = false;
      freedSinceSearch = true;
      within(0);
    },
  };
}
