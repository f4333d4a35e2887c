import { LRUCache } from 'lru-cache';

/** The share of the cache that one tenant may use, so that no tenant can evict the entries of all others. */
const tenantPart = 1 / 4;

interface Entry<Value> {
  tenantId: number | undefined;
  value: Value;
  size: number;
}

/** An LRU cache with bounds per tenant and for all tenants together. */
export function tenantCache<Value extends object>({ max, maxSize }: { max: number; maxSize: number }) {
  const taken = new Map<number | undefined, number>();
  const kept = new LRUCache<string, Entry<Value>>({
    max,
    maxSize,
    sizeCalculation: ({ size }) => size,
    disposeAfter: ({ tenantId, size }) => take(tenantId, -size),
  });

  function take(tenantId: number | undefined, size: number): void {
    const now = (taken.get(tenantId) ?? 0) + size;
    if (now === 0) taken.delete(tenantId);
    else taken.set(tenantId, now);
  }

  const isOver = (tenantId: number) => (taken.get(tenantId) ?? 0) > maxSize * tenantPart;

  function makeRoom(tenantId: number): void {
    if (!isOver(tenantId)) return;
    for (const key of [...kept.rkeys()].filter((each) => kept.peek(each)?.tenantId === tenantId)) {
      kept.delete(key);
      if (!isOver(tenantId)) return;
    }
  }

  return {
    get: (tenantId: number | undefined, key: string): Value | undefined => kept.get(`${tenantId}:${key}`)?.value,
    /** Adds a new entry; `key` must not be in the cache. */
    set(tenantId: number | undefined, key: string, value: Value, size: number): void {
      take(tenantId, size);
      kept.set(`${tenantId}:${key}`, { tenantId, value, size });
      if (tenantId !== undefined) makeRoom(tenantId);
    },
    get size() {
      return kept.size;
    },
    get bytes() {
      return kept.calculatedSize;
    },
  };
}
