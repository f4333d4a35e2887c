import { clientNetwork } from '@parley/chassis/client-network';
import { type FairQueueLimits, fairQueue } from '@parley/chassis/fair-queue';
import { takeTurn } from '../limits/turns.ts';

/** Who shows a credential. Nobody has said yet whether it is any good, so calls for it count for where it comes from. */
export interface Asker {
  ip: string;
  /** It is asked for something that has begun, or that has a bound of its own: however many wait, it is not refused. */
  begun?: boolean;
}

/** The calls that say what stands behind credentials: those of a client that shows many keep no other waiting. */
export interface CredentialCalls {
  /**
   * Makes a call when it is its client's turn.
   * @throws DomainError `tooManyRequests` when as many of the client wait as may, `unavailable` when its turn does not come.
   */
  inTurn<T>(asker: Asker, call: () => Promise<T>): Promise<T>;
  /** Those that wait for their turn. */
  readonly waiting: number;
}

/** As long as the call itself may take. */
const turnWithinMs = 5_000;

export function credentialCalls(limits: FairQueueLimits<'address' | 'tenant'>): CredentialCalls {
  const queue = fairQueue(limits);
  return {
    async inTurn({ ip, begun = false }, call) {
      const end = await takeTurn(queue, { address: clientNetwork(ip) }, { withinMs: turnWithinMs, begun });
      try {
        return await call();
      } finally {
        end();
      }
    },
    get waiting() {
      return queue.waiting;
    },
  };
}
