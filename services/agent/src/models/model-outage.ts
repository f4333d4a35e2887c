import { LRUCache } from 'lru-cache';

/** For so many tenants a model fails before it is one outage of all. */
const enoughTenants = 2;
/** The longest that a tenant is kept out while a model fails for all. */
const longestMs = 5 * 60_000;
/** Nobody has opened a breaker for so long: what is known of the outage is too old. */
const knownMs = 30 * 60_000;
/** So long a tenant whose calls failed while the model answered another one counts for nothing. */
const ownFaultMs = 10 * 60_000;
const mostTenants = 1_000;
/** By the clock that tests set. */
const bounds = { max: mostTenants, perf: { now: () => Date.now() }, ttlResolution: 0 };

export type ModelOutage = ReturnType<typeof modelOutage>;

/**
 * What the calls of all tenants show of one model. It has an outage where breakers of several tenants opened since it answered anybody.
 * Then about one call every `openMs` tries it, in place of one of each tenant: each waits as many times longer as the outage has tenants, and
 * of those for whom it has not failed yet one at a time is let through. So whoever makes their own calls fail keeps nobody else out for
 * longer than one of those takes.
 */
export function modelOutage(openMs: number) {
  const failingFor = new Set<number>();
  const ownFaults = new LRUCache<number, true>({ ...bounds, ttl: ownFaultMs });
  /** Those that have tried it and found out nothing. */
  const undecided = new LRUCache<number, true>({ ...bounds, ttl: 2 * openMs });
  let openedAtMs = 0;
  let nextTrialMs = 0;
  let ended = 0;

  const isKnown = () => failingFor.size > 0 && Date.now() < openedAtMs + knownMs;
  const isOfAll = () => failingFor.size >= enoughTenants && isKnown();
  const isNew = (tenantId: number) => isOfAll() && !failingFor.has(tenantId);

  return {
    /** Whether the model has kept anybody out and has answered nobody since. */
    isKnown,
    /** Whether one failure of a tenant is enough. */
    isOfAll,
    /** How many outages of all have ended; after each one a breaker that opened before it lets calls through. */
    get ended() {
      return ended;
    },
    /** How long a breaker stays open. */
    get openMs() {
      return isOfAll() ? Math.min(openMs * failingFor.size, longestMs) : openMs;
    },
    /** Whether another tenant for whom it has not failed yet tries it now, or did so just before. */
    keepsOut: (tenantId: number) => isNew(tenantId) && (Date.now() < nextTrialMs || undecided.has(tenantId)),
    asked(tenantId: number): void {
      if (isNew(tenantId)) nextTrialMs = Date.now() + openMs;
    },
    /** A call has shown nothing: its caller left, or its request was refused. Another tenant may try. */
    undecided(tenantId: number): void {
      if (!isNew(tenantId)) return;
      undecided.set(tenantId, true);
      nextTrialMs = 0;
    },
    /** A breaker of the tenant has opened. */
    opened(tenantId: number): void {
      if (!isKnown()) failingFor.clear();
      if (ownFaults.has(tenantId)) return;
      openedAtMs = Date.now();
      failingFor.add(tenantId);
    },
    answered(tenantId: number): void {
      if (isOfAll()) ended += 1;
      for (const other of failingFor) ownFaults.set(other, true);
      failingFor.clear();
      ownFaults.delete(tenantId);
      nextTrialMs = 0;
    },
  };
}
