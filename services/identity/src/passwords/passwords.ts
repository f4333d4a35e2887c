import type { CallerRequest } from '@parley/kernel/caller-request';
import { isDomainError, unavailable } from '@parley/kernel/errors';
import { clientNetwork, widerNetwork } from '@parley/kernel/http/client-network';
import { workerPool } from '@parley/kernel/processes/worker-pool';
import { fairQueue, type Release } from '@parley/kernel/queues/fair-queue';
import type { IdentityConfig } from '../config.ts';
import { type HashThread, startHashThread } from './hash-thread.ts';

export interface Requester {
  /** The client's IPv4 address or IPv6 /64. */
  address: string;
  /**
   * The wider network that contains the address. Networks are served round-robin, because many addresses of one attacker are often in few
   * networks. Default: the address.
   */
  network?: string | undefined;
  /** Whether the requester is signed in, or the account has been used from this address. Capacity is reserved for such requesters. */
  isKnown?: boolean | undefined;
  /** The requester's account; at a login, the account whose password is checked. */
  user?: number | undefined;
  signIn?: string | undefined;
  signal?: AbortSignal | undefined;
}

export type Passwords = ReturnType<typeof createPasswords>;

export function requesterOf({ caller: { ip, userId, signInId }, signal }: CallerRequest): Requester {
  const isKnown = userId != null;
  return {
    address: clientNetwork(ip ?? ''),
    network: widerNetwork(ip ?? ''),
    isKnown,
    user: userId,
    signIn: signInId,
    signal,
  };
}

/**
 * The hash that is verified for accounts without a password. It has the parameters of a real hash, so that verification takes the same
 * time.
 */
const dummyHash = '$argon2id$v=19$m=19456,t=2,p=1$yUYskcCVYnM0vViJrd9S2g$7xbXYf0gvgeSOoFODMVxEwXxtKKuFUgYzxPOsgznCFA';

/**
 * Hashes and verifies passwords in threads. `hash` and `verify` throw the errors of `FairQueue`, and
 * `unavailable` when the requester aborts while queued.
 */
export function createPasswords({ perAddress, perUser, atOnce, waiting }: IdentityConfig['hashes']) {
  const admissions = fairQueue({
    shares: {
      address: { inFlight: perAddress, waiting: 0 },
      user: { inFlight: perUser, waiting: 0 },
      // One sign-in gets half of the user's share, so that it cannot exhaust the whole share.
      'sign-in': { inFlight: Math.ceil(perUser / 2), waiting: 0 },
    },
  });
  const strangers = fairQueue({ inFlight: atOnce, waiting, shares: { network: {} } });
  // Known requesters have slots in addition to `atOnce`. Slots reserved within `atOnce` would be idle most of the time; under load, the
  // operating system shares the processors. The additional slots are shared evenly by account, not by network, because a requester who uses
  // many networks still has only one account.
  const known = fairQueue({ inFlight: Math.ceil(atOnce / 2), waiting, shares: { user: {} } });
  const threads = workerPool(startHashThread);

  async function waitForSlot(requester: Requester): Promise<Release> {
    try {
      requester.signal?.throwIfAborted();
      const queue = requester.isKnown ? known : strangers;
      return await queue.enter({ network: requester.address, ...requester }, () => requester.signal);
    } catch (error) {
      throw isDomainError(error) ? error : unavailable('The caller has gone', error);
    }
  }

  async function onThread<T>(requester: Requester, work: (thread: HashThread) => Promise<T>): Promise<T> {
    using _slot = { [Symbol.dispose]: await waitForSlot(requester) };
    return await threads.use(work);
  }

  return {
    /** Counts a request until the result is disposed. Must be called before any other work, so that refused requests cost nothing. */
    admit: async (requester: Requester): Promise<Disposable> => ({
      [Symbol.dispose]: await admissions.enter({ ...requester, 'sign-in': requester.signIn }),
    }),
    hash: (password: string, requester: Requester) =>
      onThread(requester, async (thread) => String(await thread.run({ password }))),
    /**
     * Compares a password with a hash. Without a hash (no account, or no password) it returns false after the same
     * time, because response times must not reveal which accounts exist.
     */
    verify: (passwordHash: string | null | undefined, password: string, requester: Requester) =>
      onThread(requester, async (thread) => {
        const matches = await thread.run({ password, hash: passwordHash || dummyHash });
        return matches === true && Boolean(passwordHash);
      }),
    close: () => threads.close(),
  };
}
