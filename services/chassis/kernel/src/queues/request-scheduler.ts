import { fairQueue, type Release } from './fair-queue.ts';

/** Runs requests round-robin between clients, and yields to the event loop between small batches. */
export interface RequestScheduler {
  /** Runs `work` at once if the request holds the current slot or the event loop is idle; otherwise queues it. */
  run(request: ScheduledRequest, work: () => void): Promise<void>;
  readonly waiting: number;
}

export interface ScheduledRequest {
  request: object;
  /** The party by which requests are scheduled: an address or a tenant. */
  client: string;
  /** Called only if the request has to wait; its work is skipped when the signal aborts. Default: the request cannot be aborted. */
  signal?: () => AbortSignal;
}

export interface RequestSchedulerOptions {
  /** Minimum time for requests per iteration of the event loop, in ms. Default 2: ten iterations delay other work by about 20 ms. */
  sliceMs?: number;
  maxInRound?: number;
}

export function requestScheduler({ sliceMs = 2, maxInRound = 16 }: RequestSchedulerOptions = {}): RequestScheduler {
  const queue = fairQueue<'address'>({ inFlight: 1, shares: { address: {} } });
  let last: { request: object; end: Release } | undefined;
  let isRoundDue = false;

  function endLast(): void {
    const ended = last;
    last = undefined;
    ended?.end(); // the next request starts after this callback
  }

  /**
   * The promise jobs of a callback run before the next callback. So each request has its own callback, which measures the full cost of the
   * request.
   */
  function goRound(): void {
    isRoundDue = true;
    const from = performance.now();
    const inRound = Math.min(Math.max(queue.waiting, 1), maxInRound);
    let endsAt = Number.POSITIVE_INFINITY;
    let nth = 0;
    const callback = () => {
      nth += 1;
      if (nth === 1) {
        const now = performance.now();
        // Requests get as much time as all other work has used; otherwise events of thousands of sockets would starve the requests.
        endsAt = now + Math.max(sliceMs, now - from);
      }
      const isTimeOver = nth > 1 && performance.now() >= endsAt;
      isRoundDue = nth < inRound;
      if (!isTimeOver) endLast();
      else if (!isRoundDue && last) goRound();
    };
    for (let n = 0; n < inRound; n += 1) setImmediate(callback);
  }

  return {
    async run({ request, client, signal }, work) {
      if (last?.request === request) return work();
      let end: Release;
      try {
        const entered = queue.enter({ address: client }, signal);
        end = typeof entered === 'function' ? entered : await entered;
      } catch {
        return; // the client has disconnected
      }
      last = { request, end };
      if (!isRoundDue) goRound();
      work();
    },
    get waiting() {
      return queue.waiting;
    },
  };
}
