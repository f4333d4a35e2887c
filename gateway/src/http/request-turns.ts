import { type EndCall, fairQueue } from '@parley/chassis/fair-queue';

/**
 * Lets requests be worked on in turn, one of each client, and the event loop go round between a few of them: what a request costs
 * before it waits for anything delays whatever else there is to do, and a client may send hundreds at once.
 */
export interface RequestTurns {
  /**
   * Does `work` at once where no other request has had its turn in this round of the event loop, or where the turn is still this
   * request's; else when its turn has come.
   */
  take(turn: RequestTurn, work: () => void): Promise<void>;
  /** Requests that wait for their turn. */
  readonly waiting: number;
}

export interface RequestTurn {
  /** The same for all turns of one request. */
  request: object;
  /** An IPv4 address, or an IPv6 /64. */
  client: string;
  /** Asked for only where it has to wait: nothing is done for one whose signal aborts. */
  signal: () => AbortSignal;
}

export interface RequestTurnsOptions {
  /**
   * How long requests are worked on before the event loop goes round, in ms; one is in any case. Default 2: a request that needs ten
   * rounds is delayed by some 20 ms. Where all else took longer in the round before, they have as long: events for thousands of
   * sockets would otherwise leave requests next to nothing.
   */
  sliceMs?: number;
  /** How many have their turn in one round at most, whatever they cost. Default 16. */
  mostInRound?: number;
}

export function requestTurns({ sliceMs = 2, mostInRound = 16 }: RequestTurnsOptions = {}): RequestTurns {
  const queue = fairQueue<'address'>({ underWay: 1, shares: { address: {} } });
  /** Whose turn it is. */
  let last: { request: object; end: EndCall } | undefined;
  let isRoundDue = false;

  function endLast(): void {
    const ended = last;
    last = undefined;
    ended?.end(); // the next one has its turn once this callback is over
  }

  /**
   * Node does whatever a callback has left behind, promises included, before it runs the next one: only there it is known how long a
   * request took. So each that may have its turn in a round has a callback of its own.
   */
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
      let end: EndCall;
      try {
        const entered = queue.enter({ address: client }, signal);
        end = typeof entered === 'function' ? entered : await entered;
      } catch {
        return; // it is signal
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
