import { DomainError, unavailable } from '@parley/kernel/errors';

/** The memory of one request. */
export interface MemoryShare {
  /**
   * @throws DomainError `tooManyRequests` where its tenant or its address has used up a share; `unavailable` where all requests together
   * have used up the budget
   */
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** Gives back what the request still has. It gets nothing more. */
  end(): void;
}

/** For whom a request is made. */
export interface MemoryParties {
  tenantId: number;
  /** As limits count it: an IPv4 address or an IPv6 /64. */
  network: string;
}

/** One tenant, and one address, may have this part of the budget. */
const sharesInBudget = 4;

/** Bounds the bytes of the bodies and of the unsent answers of all requests together, and those of each tenant and each address. */
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
