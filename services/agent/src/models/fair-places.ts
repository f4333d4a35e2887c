/** Places for what may run at once, shared fairly. */
export interface FairPlaces {
  /** Waits for a place, until it is disposed of. @throws the signal's reason, where that comes first. */
  admit(tenantId: number, signal: AbortSignal): Promise<Disposable>;
  /** How many wait for one. */
  readonly waiting: number;
}

/** What one tenant has of it. */
interface Share {
  held: number;
  /** When it was last given a place, in places given. */
  servedAt: number;
  /** Its calls that wait, in order. */
  waiting: Set<() => void>;
}

/**
 * So many places. A free one goes to the tenant that holds fewest of those who wait, among equals to the one that was given its
 * last one longest ago, and within a tenant to who came first: whatever a tenant has waiting, another's first call comes next.
 */
export function fairPlaces(count: number): FairPlaces {
  let free = count;
  let given = 0;
  /** Of the tenants that hold a place or wait for one. */
  const shares = new Map<number, Share>();

  function shareOf(tenantId: number): Share {
    const share = shares.get(tenantId) ?? { held: 0, servedAt: 0, waiting: new Set() };
    shares.set(tenantId, share);
    return share;
  }

  function forgetIdle(tenantId: number, { held, waiting }: Share): void {
    if (held === 0 && waiting.size === 0) shares.delete(tenantId);
  }

  function take(tenantId: number): Disposable {
    const share = shareOf(tenantId);
    free -= 1;
    given += 1;
    share.held += 1;
    share.servedAt = given;
    let released = false;
    return {
      [Symbol.dispose]() {
        if (released) return;
        released = true;
        free += 1;
        share.held -= 1;
        forgetIdle(tenantId, share);
        serveNext();
      },
    };
  }

  function serveNext(): void {
    let next: Share | undefined;
    for (const share of shares.values()) {
      if (share.waiting.size > 0 && (!next || comesBefore(share, next))) next = share;
    }
    const [begin] = next?.waiting ?? [];
    begin?.();
  }

  return {
    async admit(tenantId, signal) {
      signal.throwIfAborted();
      if (free > 0) return take(tenantId);
      const share = shareOf(tenantId);
      const { promise, resolve } = Promise.withResolvers<Disposable | undefined>();
      const begin = () => {
        share.waiting.delete(begin);
        resolve(take(tenantId)); // at once, before anybody else can
      };
      const giveUp = () => {
        share.waiting.delete(begin);
        forgetIdle(tenantId, share);
        resolve(undefined);
      };
      share.waiting.add(begin);
      signal.addEventListener('abort', giveUp, { once: true });
      const place = await promise;
      signal.removeEventListener('abort', giveUp);
      if (!place) throw signal.reason;
      return place;
    },
    get waiting() {
      return [...shares.values()].reduce((sum, share) => sum + share.waiting.size, 0);
    },
  };
}

function comesBefore(a: Share, b: Share): boolean {
  return a.held === b.held ? a.servedAt < b.servedAt : a.held < b.held;
}
