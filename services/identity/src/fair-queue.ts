import { DomainError, unavailable } from '@parley/chassis/errors';

/** Who wants something done. */
export interface Asker {
  /** The client's network: they are served in turn. */
  address: string;
  /** The signed-in user, where there is one. */
  userId?: number | undefined;
  /** Aborted when nobody waits for the result any more. */
  gone?: AbortSignal | undefined;
}

export interface FairQueueOptions {
  /** How much runs at once. */
  atOnce: number;
  /** How much may wait besides. */
  waiting: number;
  /** How many of one user may have entered. */
  perUser: number;
  /** The same of one address. */
  perAddress: number;
}

export interface FairQueue {
  /**
   * Counts somebody who will ask for something, from now until they leave: before anything else is done for them, so that those who
   * are too many cost nothing. @throws DomainError `tooManyRequests` when their user or their address has as many already.
   */
  enter(asker: Asker): Disposable;
  /**
   * Runs `work` when its turn comes: addresses are served one after another, each one's in the order in which they came.
   * @throws DomainError `tooManyRequests` when others need the room of an address that has the most of a full queue; `unavailable`
   * when the queue is full, or when the asker has gone while waiting.
   */
  run<T>(asker: Asker, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  begin(): void;
  refuse(error: DomainError): void;
}

export function fairQueue({ atOnce, waiting: room, perUser, perAddress }: FairQueueOptions): FairQueue {
  /** In the order of their turns; without those of whom nothing waits. */
  const waitingOf = new Map<string, Waiting[]>();
  /** Those who have entered, by user and by address. */
  const entered = new Map<string, number>();
  let running = 0;
  let waiting = 0;

  function enter({ address, userId }: Asker): Disposable {
    const bounds = [
      { key: `address ${address}`, most: perAddress },
      ...(userId === undefined ? [] : [{ key: `user ${userId}`, most: perUser }]),
    ];
    const countOf = (key: string) => entered.get(key) ?? 0;
    if (bounds.some(({ key, most }) => countOf(key) >= most)) throw tooMany();
    for (const { key } of bounds) entered.set(key, countOf(key) + 1);
    return {
      [Symbol.dispose]: () => {
        for (const { key } of bounds) {
          if (countOf(key) > 1) entered.set(key, countOf(key) - 1);
          else entered.delete(key);
        }
      },
    };
  }

  /** Makes the address that has the most in a full queue give its last place to one that has less. */
  function makeRoom(address: string): boolean {
    let longest: Waiting[] = [];
    for (const each of waitingOf.values()) if (each.length > longest.length) longest = each;
    if (longest.length <= (waitingOf.get(address)?.length ?? 0) + 1) return false;
    waiting -= 1;
    longest.pop()?.refuse(tooMany());
    return true;
  }

  /** Resolves when it is this asker's turn; undefined where it is now. */
  function turn({ address, gone }: Asker): Promise<void> | undefined {
    if (running < atOnce) {
      running += 1;
      return undefined;
    }
    if (waiting >= room && !makeRoom(address)) throw unavailable('Too many sign-ins at once; try again in a moment');
    return new Promise((resolve, reject) => {
      const mine = waitingOf.get(address) ?? [];
      const leave = () => {
        mine.splice(mine.indexOf(entry), 1);
        if (mine.length === 0) waitingOf.delete(address);
        waiting -= 1;
        reject(unavailable('The caller has gone', gone?.reason));
      };
      const entry: Waiting = {
        begin: () => {
          gone?.removeEventListener('abort', leave);
          resolve();
        },
        refuse: (error) => {
          gone?.removeEventListener('abort', leave);
          reject(error);
        },
      };
      mine.push(entry);
      waitingOf.set(address, mine);
      waiting += 1;
      gone?.addEventListener('abort', leave, { once: true });
    });
  }

  function next(): void {
    running -= 1;
    for (const [address, mine] of waitingOf) {
      const entry = mine.shift();
      waitingOf.delete(address);
      if (mine.length > 0) waitingOf.set(address, mine); // behind the others
      waiting -= 1;
      running += 1;
      entry?.begin();
      return;
    }
  }

  return {
    enter,
    async run(asker, work) {
      if (asker.gone?.aborted) throw unavailable('The caller has gone', asker.gone.reason);
      const wait = turn(asker);
      if (wait) await wait;
      try {
        return await work();
      } finally {
        next();
      }
    },
  };
}

function tooMany(): DomainError {
  return new DomainError('tooManyRequests', 'Too many passwords at once; try again in a moment');
}
