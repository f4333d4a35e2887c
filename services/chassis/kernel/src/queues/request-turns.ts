import { fairQueue, type Release } from './fair-queue.ts';

/** Runs requests round-robin between clients, and yields to the event loop between small batches. */
export interface RequestTurns {
  /** Runs `work` now within the request's turn or in an idle iteration of the event loop; else when its turn comes. */
  take(turn: RequestTurn, work: () => void): Promise<void>;
  readonly waiting: number;
}

export interface RequestTurn {
  request: object;
  /** Whose turn it takes: an address, a tenant. */
  client: string;
  /** Called only if the request has to wait; work is skipped when the signal aborts. Default: it waits in any case. */
  signal?: () => AbortSignal;
}

export interface RequestTurnsOptions {
  /** Least time per iteration of the event loop, in ms. Default 2: ten iterations delay other work by some 20 ms. */
  sliceMs?: number;
  mostInRound?: number;
}

export function requestTurns({ sliceMs = 2, mostInRound = 16 }: RequestTurnsOptions = {}): RequestTurns {
  const queue = fairQueue<'address'>({ inFlight: 1, shares: { address: {} } });
  let last: { request: object; end: Release } | undefined;
  let isRoundDue = false;

  function endLast(): void {
    const ended = last;
    last = undefined;
    ended?.end(); // the next one starts after this callback
  }

  /** A callback's promise jobs run before the next callback, so each turn has its own to measure its full cost. */
  function goRound(): void {
    isRoundDue = true;
    const from = performance.now();
    const most = Math.min(Math.max(queue.waiting, 1), mostInRound);
    let endsAt = Number.POSITIVE_INFINITY;
    let nth = 0;
    const callback = () => {
      nth += 1;
      if (nth === 1) {
        const now = performance.now();
        // As much as all other work took: events for thousands of sockets would otherwise leave requests almost nothing.
        endsAt = now + Math.max(sliceMs, now - from);
      }
      const isTimeOver = nth > 1 && performance.now() >= endsAt;
      isRoundDue = nth < most;
      if (!isTimeOver) endLast();
      else if (!isRoundDue && last) goRound();
    };
    for (let n = 0; n < most; n += 1) setImmediate(callback);
  }

  return {
    async take({ request, client, signal }, work) {
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
