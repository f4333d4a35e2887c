import type { CallerRequest } from '@parley/kernel/caller-request';
import { fairQueue } from '@parley/kernel/queues/fair-queue';

type Enqueue = <Request extends CallerRequest, T>(
  request: Request,
  work: (request: Request) => Promise<T>,
) => Promise<T>;

/**
 * Limits how much work of each kind runs at once in this process, and how much of it for one tenant. Kinds that use the database run fewer
 * at once than the pool has connections. When too many calls of a tenant wait, further ones fail with `tooManyRequests`.
 */
export interface WorkQueues {
  /** A whole search, over up to five bases. It may wait for embeddings. */
  search: Enqueue;
  /** Queues reads of one base during a search. */
  readBase: Enqueue;
  storeText: Enqueue;
  /** Uses no database. The embedder limits the requests that its endpoint gets. */
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
