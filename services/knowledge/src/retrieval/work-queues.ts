import type { CallerRequest } from '@parley/kernel/caller-request';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

type Enqueue = <Request extends CallerRequest, T>(
  request: Request,
  work: (request: Request) => Promise<T>,
) => Promise<T>;

/**
 * Limits the concurrent work of each kind in this process, in total and for one tenant. The limits of kinds that use the database are below
 * the number of the pool's connections. When too many calls of a tenant wait, further calls fail with `tooManyRequests`.
 */
export interface WorkQueues {
  /** Queues a whole search over up to five bases. The search may wait for embeddings. */
  search: Enqueue;
  /** Queues reads of one base during a search. */
  readBase: Enqueue;
  storeText: Enqueue;
  /** Queues embeddings, which use no database. The embedder limits the requests to its endpoint. */
  vectorize: Enqueue;
}

export function workQueues(): WorkQueues {
  return {
    search: workQueue({ inFlight: 40, perTenant: 10, waiting: 50 }),
    readBase: workQueue({ inFlight: 3, perTenant: 2, waiting: 50 }),
    storeText: workQueue({ inFlight: 3, perTenant: 1, waiting: 20 }),
    vectorize: workQueue({ inFlight: 20, perTenant: 4, waiting: 20 }),
  };
}

interface QueueLimits {
  inFlight: number;
  perTenant: number;
  /** How many calls of one tenant may wait. */
  waiting: number;
}

function workQueue({ inFlight, perTenant, waiting }: QueueLimits): Enqueue {
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
