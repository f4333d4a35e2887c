import type { Caller } from '@parley/kernel/caller';
import { clientNetwork } from '@parley/kernel/client-network';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import { type EndCall, fairQueue } from '@parley/kernel/fair-queue';
import { type HashThread, startHashThread } from './hash-thread.ts';

/** Who wants a password hashed or compared. */
export interface Asker {
  /** The client's network: they are served in turn. */
  address: string;
  /** The signed-in user, where there is one. */
  user?: number | undefined;
  /** Their sign-in. */
  signIn?: string | undefined;
  /** Aborted when nobody waits for the result any more. */
  gone?: AbortSignal | undefined;
}

export interface PasswordLimits {
  /** How many are hashed at once. */
  atOnce: number;
  /** How many may wait besides. */
  waiting: number;
  /** How many requests of one user that need one may be under way; of one sign-in half as many, so that none takes all of them. */
  perUser: number;
  /** The same of one address. */
  perAddress: number;
}

/**
 * Hashes and compares passwords, in threads of their own. Whoever asks takes their turn: all throw what `FairQueue` does, and
 * `unavailable` when the asker has gone while waiting.
 */
export interface Passwords {
  /**
   * Counts somebody who will ask, until that is disposed of: before anything else is done for them, so that those who are too many
   * cost nothing. @throws DomainError `tooManyRequests` when their user, sign-in or address has as many as may be already.
   */
  enter(asker: Asker): Promise<Disposable>;
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
export function askerOf({ ip, userId, signInId }: Caller, gone?: AbortSignal): Asker {
  return { address: clientNetwork(ip ?? ''), user: userId, signIn: signInId, gone };
}

/** The hash of a password that nobody has, with the parameters of all others: what an unknown account is compared with. */
const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$yUYskcCVYnM0vViJrd9S2g$7xbXYf0gvgeSOoFODMVxEwXxtKKuFUgYzxPOsgznCFA';

/**
 * `atOnce` bounds memory and cores: so many threads there are at most, each started when it is needed first. A flood of sign-ins
 * is refused rather than kept.
 */
export function createPasswords({ perAddress, perUser, atOnce, waiting }: PasswordLimits): Passwords {
  const entered = fairQueue({
    shares: {
      address: { underWay: perAddress, waiting: 0 },
      user: { underWay: perUser, waiting: 0 },
      'sign-in': { underWay: Math.ceil(perUser / 2), waiting: 0 },
    },
  });
  const turns = fairQueue({ underWay: atOnce, waiting, shares: { address: {} } });
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

  async function turnOf(asker: Asker): Promise<EndCall> {
    try {
      asker.gone?.throwIfAborted();
      return await turns.enter(asker, () => asker.gone);
    } catch (error) {
      throw isDomainError(error) ? error : unavailable('The caller has gone', error);
    }
  }

  async function inTurn<T>(asker: Asker, work: (thread: HashThread) => Promise<T>): Promise<T> {
    using _turn = { [Symbol.dispose]: await turnOf(asker) };
    const thread = takeThread();
    try {
      return await work(thread);
    } finally {
      idle.push(thread);
    }
  }

  return {
    enter: async (asker) => ({ [Symbol.dispose]: await entered.enter({ ...asker, 'sign-in': asker.signIn }) }),
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
