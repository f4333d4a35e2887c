import { hash, verify } from '@node-rs/argon2';
import { unavailable } from '@parley/chassis/errors';
import { BulkheadRejectedError, bulkhead } from 'cockatiel';

/** Hashes and compares passwords, off the event loop. */
export interface Passwords {
  /** @throws DomainError `unavailable` when too many wait already. */
  hash(password: string): Promise<string>;
  /**
   * Whether the password is the one hashed. Without a hash (no such account, or one without a password) it costs the same
   * and answers false. @throws DomainError `unavailable` when too many wait already.
   */
  verify(passwordHash: string | null | undefined, password: string): Promise<boolean>;
}

/** argon2id with the parameters of OWASP's first choice: 19 MiB, two passes, one lane; some 25 ms of one core. */
const parameters = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The hash of a password that nobody has, with the same parameters: what an unknown account is compared with. */
const nobodysHash = '$argon2id$v=19$m=19456,t=2,p=1$yUYskcCVYnM0vViJrd9S2g$7xbXYf0gvgeSOoFODMVxEwXxtKKuFUgYzxPOsgznCFA';

/** `atOnce` bounds memory and cores; `queue` how many may wait, so that a flood of sign-ins is refused rather than kept. */
export function createPasswords({ atOnce, queue }: { atOnce: number; queue: number }): Passwords {
  const lanes = bulkhead(atOnce, queue);

  async function inLane<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await lanes.execute(work);
    } catch (error) {
      if (error instanceof BulkheadRejectedError)
        throw unavailable('Too many sign-ins at once; try again in a moment', error);
      throw error;
    }
  }

  return {
    hash: (password) => inLane(() => hash(password, parameters)),
    verify: (passwordHash, password) =>
      inLane(async () => (await verify(passwordHash || nobodysHash, password)) && Boolean(passwordHash)),
  };
}
