import type { Caller } from '@parley/kernel/caller';
import { clientNetwork } from '@parley/kernel/client-network';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import { fairQueue, type Release } from '@parley/kernel/fair-queue';
import { type HashThread, startHashThread } from './hash-thread.ts';

/** For whom a password is hashed or compared; decides its place in the queue. */
export interface Requester {
  /** The client's network; networks are served round-robin. */
  address: string;
  /** The signed-in user, if any. */
  user?: number | undefined;
  signIn?: string | undefined;
  /** Aborted when the client has disconnected. */
  signal?: AbortSignal | undefined;
}

export interface PasswordLimits {
  /** Maximum number of threads. */
  atOnce: number;
  /** Maximum number of queued passwords. */
  waiting: number;
  /** Maximum concurrent requests of one user; one sign-in may have half of them, so that it cannot exhaust the share. */
  perUser: number;
  /** Maximum concurrent requests of one client network. */
  perAddress: number;
}

export type Passwords = ReturnType<typeof createPasswords>;

/** @param signal aborted when the client has disconnected. */
export function requesterOf({ ip, userId, signInId }: Caller, signal?: AbortSignal): Requester {
  return { address: clientNetwork(ip ?? ''), user: userId, signIn: signInId, signal };
}

/** Compared against when an account has no hash; its parameters, and so its cost, are those of real hashes. */
const dummyHash = '$argon2id$v=19$m=19456,t=2,p=1$yUYskcCVYnM0vViJrd9S2g$7xbXYf0gvgeSOoFODMVxEwXxtKKuFUgYzxPOsgznCFA';

/**
 * Hashes and compares passwords in up to `atOnce` worker threads, started on demand, behind a fair queue. `hash` and `verify` throw
 * DomainError `tooManyRequests` or `unavailable` as `FairQueue` does, and `unavailable` when the requester aborts while queued.
 */
export function createPasswords({ perAddress, perUser, atOnce, waiting }: PasswordLimits) {
  const admissions = fairQueue({
    shares: {
      address: { inFlight: perAddress, waiting: 0 },
      user: { inFlight: perUser, waiting: 0 },
      'sign-in': { inFlight: Math.ceil(perUser / 2), waiting: 0 },
    },
  });
  const queue = fairQueue({ inFlight: atOnce, waiting, shares: { address: {} } });
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

  async function waitForSlot(requester: Requester): Promise<Release> {
    try {
      requester.signal?.throwIfAborted();
      return await queue.enter(requester, () => requester.signal);
    } catch (error) {
      throw isDomainError(error) ? error : unavailable('The caller has gone', error);
    }
  }

  async function onThread<T>(requester: Requester, work: (thread: HashThread) => Promise<T>): Promise<T> {
    using _slot = { [Symbol.dispose]: await waitForSlot(requester) };
    const thread = takeThread();
    try {
      return await work(thread);
    } finally {
      idle.push(thread);
    }
  }

  return {
    /**
     * Counts a request that will need a password hashed, until the result is disposed of. Called before any other work, so that
     * refused requests cost nothing. @throws DomainError `tooManyRequests` when the user, sign-in or network is at its limit.
     */
    admit: async (requester: Requester): Promise<Disposable> => ({
      [Symbol.dispose]: await admissions.enter({ ...requester, 'sign-in': requester.signIn }),
    }),
    hash: (password: string, requester: Requester) =>
      onThread(requester, async (thread) => String(await thread.run({ password }))),
    /**
     * Whether the password matches the hash. Without a hash (no such account, or one without a password) the result is false and takes
     * the same time, so that response times do not reveal which accounts exist.
     */
    verify: (passwordHash: string | null | undefined, password: string, requester: Requester) =>
      onThread(requester, async (thread) => {
        const matches = await thread.run({ password, hash: passwordHash || dummyHash });
        return matches === true && Boolean(passwordHash);
      }),
    /** Terminates the threads and what they are computing. Later calls start new ones. */
    async close(): Promise<void> {
      const ending = [...threads];
      threads.clear();
      idle.length = 0;
      await Promise.all(ending.map((thread) => thread.end()));
    },
  };
}
