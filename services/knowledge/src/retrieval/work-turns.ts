import type { CallerRequest } from '@parley/kernel/caller-request';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

type Turn = <Request extends CallerRequest, T>(request: Request, work: (request: Request) => Promise<T>) => Promise<T>;

/**
 * Of one process. What needs the database has fewer turns at once than there are connections, and one tenant fewer of these; beyond
 * `waiting` calls are `tooManyRequests`.
 */
export interface WorkTurns {
  /** A whole search: of up to five bases, and it may wait for embeddings. */
  search: Turn;
  /** What a search reads of one base. */
  readBase: Turn;
  storeText: Turn;
  /** Needs no database; how many requests the endpoint gets is the embedder's matter. */
  vectorize: Turn;
}

export function workTurns(): WorkTurns {
  return {
    search: turns({ inFlight: 40, perTenant: 10, waiting: 50 }),
    readBase: turns({ inFlight: 3, perTenant: 2, waiting: 50 }),
    storeText: turns({ inFlight: 3, perTenant: 1, waiting: 20 }),
    vectorize: turns({ inFlight: 20, perTenant: 4, waiting: 20 }),
  };
}

function turns({ inFlight, perTenant, waiting }: { inFlight: number; perTenant: number; waiting: number }): Turn {
  const queue = fairQueue({
    inFlight,
    waiting: 500,
    shares: { tenant: { inFlight: perTenant, waiting, label: 'of this tenant' } },
  });
  return async (request, work) => {
    const release = await queue.enter({ tenant: request.caller.tenantId }, () => request.signal);
    try {
      return await work(request);
    } finally {
      release();
    }
  };
}
