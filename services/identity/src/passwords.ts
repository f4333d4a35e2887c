import type { Caller } from '@parley/chassis/caller';
import { clientNetwork } from '@parley/chassis/client-network';
import { type Asker, type FairQueueOptions, fairQueue } from './fair-queue.ts';
import { type HashThread, startHashThread } from './hash-thread.ts';

/** Hashes and compares passwords, in threads of their own. Whoever asks takes their turn: all throw what `FairQueue` does. */
export interface Passwords {
  /** Says, before anything is done, that a password will be hashed or compared. Disposed of when all is done. */
  enter(asker: Asker): Disposable;
  hash(password: string, asker: Asker): Promise<string>;
  /**
   * Whether the password is the one hashed. Without a hash (no such account, or one without a password) it costs the same
   * and answers false.
   */
  verify(passwordHash: string | null | undefined, password: string, asker: Asker): Promise<boolean>;
  /** Ends the threads, with whatever they are at. The next password would start new ones. */
  close(): Promise<void>;
}

/** For whom a password is hashed. @param gone aborted when the request that it is for has been given up. */
export function askerOf({ ip, userId }: Caller, gone?: AbortSignal): Asker {
  return { address: clientNetwork(ip ?? ''), userId, gone };
}

/** The hash of a password that nobody has, with the parameters of all others: what an unknown account is compared with. */
const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$yUYskcCVYnM0vViJrd9S2g$7xbXYf0gvgeSOoFODMVxEwXxtKKuFUgYzxPOsgznCFA';

/**
 * `atOnce` bounds memory and cores: so many threads there are at most, each started when it is needed first. A flood of sign-ins
 * is refused rather than kept.
 */
export function createPasswords(options: FairQueueOptions): Passwords {
  const queue = fairQueue(options);
  const threads = new Set<HashThread>();
  const idle: HashThread[] = [];

  function takeThread(): HashThread {
    for (let thread = idle.pop(); thread; thread = idle.pop()) {
      if (!thread.ended) return thread;
      threads.delete(thread);
    }
    const started = startHashThread();
    threads.add(started);
    return started;
  }

  function inTurn<T>(asker: Asker, work: (thread: HashThread) => Promise<T>): Promise<T> {
    return queue.run(asker, async () => {
      const thread = takeThread();
      try {
        return await work(thread);
      } finally {
        idle.push(thread);
      }
    });
  }

  return {
    enter: (asker) => queue.enter(asker),
    hash: (password, asker) => inTurn(asker, async (thread) => String(await thread.run({ password }))),
    verify: (passwordHash, password, asker) =>
      inTurn(asker, async (thread) => {
        const right = await thread.run({ password, hash: passwordHash || nobodysHash });
        return right === true && Boolean(passwordHash);
      }),
    async close() {
      const ending = [...threads];
      threads.clear();
      idle.length = 0;
      await Promise.all(ending.map((thread) => thread.end()));
    },
  };
}
