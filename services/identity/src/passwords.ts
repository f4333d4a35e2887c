import { unavailable } from '@parley/chassis/errors';
import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import { type HashThread, startHashThread } from './hash-thread.ts';

/** Hashes and compares passwords, in threads of their own. */
export interface Passwords {
  /** @throws DomainError `unavailable` when too many wait already. */
  hash(password: string): Promise<string>;
  /**
   * Whether the password is the one hashed. Without a hash (no such account, or one without a password) it costs the same
   * and answers false. @throws DomainError `unavailable` when too many wait already.
   */
  verify(passwordHash: string | null | undefined, password: string): Promise<boolean>;
  /** Ends the threads, with whatever they are at. The next password would start new ones. */
  close(): Promise<void>;
}

/** The hash of a password that nobody has, with the parameters of all others: what an unknown account is compared with. */
const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$yUYskcCVYnM0vViJrd9S2g$7xbXYf0gvgeSOoFODMVxEwXxtKKuFUgYzxPOsgznCFA';

/**
 * `atOnce` bounds memory and cores: so many threads there are at most, each started when it is needed first. `queue` is how many
 * may wait, so that a flood of sign-ins is refused rather than kept.
 */
export function createPasswords({ atOnce, queue }: { atOnce: number; queue: number }): Passwords {
  const lanes = bulkhead(atOnce, queue);
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

  async function inLane<T>(work: (thread: HashThread) => Promise<T>): Promise<T> {
    try {
      return await lanes.execute(async () => {
        const thread = takeThread();
        try {
          return await work(thread);
        } finally {
          idle.push(thread);
        }
      });
    } catch (error) {
      if (error instanceof BulkheadRejectedError)
        throw unavailable('Too many sign-ins at once; try again in a moment', error);
      throw error;
    }
  }

  return {
    hash: (password) => inLane(async (thread) => String(await thread.run({ password }))),
    verify: (passwordHash, password) =>
      inLane(async (thread) => {
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
