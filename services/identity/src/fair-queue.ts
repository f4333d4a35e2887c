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
  /** How much of one user may run and wait. */
  perUser: number;
  /** The same of one address. */
  perAddress: number;
}

export interface FairQueue {
  /**
   * Runs `work` when its turn comes: addresses are served one after another, each one's in the order in which they came.
   * @throws DomainError `tooManyRequests` when user or address has as much under way as it may, or when others need the room of an
   * address that has the most of a full queue; `unavailable` when the queue is full, or when the asker has gone while waiting.
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
  /** Running and waiting, by user and by address. */
  const underWay = new Map<string, number>();
  let running = 0;
  let waiting = 0;

  function enter({ address, userId }: Asker): () => void {
    const bounds = [
      { key: `address ${address}`, most: perAddress },
      ...(userId === undefined ? [] : [{ key: `user ${userId}`, most: perUser }]),
    ];
    const countOf = (key: string) => underWay.get(key) ?? 0;
    if (bounds.some(({ key, most }) => countOf(key) >= most)) throw tooMany();
    for (const { key } of bounds) underWay.set(key, countOf(key) + 1);
    return () => {
      for (const { key } of bounds) {
        if (countOf(key) > 1) underWay.set(key, countOf(key) - 1);
        else underWay.delete(key);
      }
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
    async run(asker, work) {
      if (asker.gone?.aborted) throw unavailable('The caller has gone', asker.gone.reason);
      const leave = enter(asker);
      try {
        const wait = turn(asker);
        if (wait) await wait;
        try {
          return await work();
        } finally {
          next();
        }
      } finally {
        leave();
      }
    },
  };
}

function tooMany(): DomainError {
  return new DomainError('tooManyRequests', 'Too many passwords at once; try again in a moment');
}
