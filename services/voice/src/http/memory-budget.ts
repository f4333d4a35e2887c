import { DomainError, unavailable } from '@parley/kernel/errors';

/** The share of the memory budget that one request holds. */
export interface MemoryShare {
  /**
   * Reserves bytes.
   * @throws DomainError `tooManyRequests` if the request's tenant or address has used up its share; `unavailable` if the whole budget is
   * used up
   */
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** Releases the memory of the request. No more bytes can then be reserved. */
  end(): void;
}

/** The tenant and address that a request counts for. */
export interface MemoryParties {
  tenantId: number;
  /** The client's IPv4 address or IPv6 /64. */
  network: string;
}

/** The budget divided by this number is the share of one tenant or one address. */
const sharesInBudget = 4;

/** Bounds the bytes of request bodies and unsent answers: in total, per tenant and per address. */
export function memoryBudget(maxBytes: number): { share(parties: MemoryParties): MemoryShare } {
  const maxShare = Math.ceil(maxBytes / sharesInBudget);
  const heldBy = new Map<string, number>();
  let held = 0;

  return {
    share({ tenantId, network }) {
      const parties = [`tenant ${tenantId}`, `address ${network}`];
      let own = 0;
      let hasEnded = false;
      const change = (bytes: number) => {
        held += bytes;
        own += bytes;
        for (const party of parties) {
          const now = (heldBy.get(party) ?? 0) + bytes;
          if (now > 0) heldBy.set(party, now);
          else heldBy.delete(party);
        }
      };
      return {
        take(bytes) {
          if (parties.some((party) => (heldBy.get(party) ?? 0) + bytes > maxShare))
            throw new DomainError('tooManyRequests', 'Too many requests; try again in a minute');
          if (hasEnded || held + bytes > maxBytes)
            throw unavailable('Too many requests at once; try again in a moment');
          change(bytes);
        },
        giveBack(bytes) {
          if (!hasEnded) change(-bytes);
        },
        end() {
          hasEnded = true;
          change(-own);
        },
      };
    },
  };
}
