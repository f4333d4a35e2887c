import { clientNetwork } from '@parley/chassis/client-network';
import { type FairQueueLimits, fairQueue } from '@parley/chassis/fair-queue';
import { takeTurn } from '../limits/turns.ts';

/** Who shows a credential. Nobody has said yet whether it is any good, so calls for it count for where it comes from. */
export interface Requester {
  ip: string;
  /** What it is asked for. Default: a request. */
  purpose?: CredentialPurpose;
  /** It is asked for a request that has begun: however many wait, it is not refused. */
  begun?: boolean;
  /** Aborts when nobody wants the answer any more: then it does not wait for its turn. */
  signal?: AbortSignal | undefined;
}

/**
 * Each has turns of its own, so that no number of requests or new sockets delays the look at sockets that are open: whoever holds
 * a revoked credential could keep a socket open by asking for others.
 */
export type CredentialPurpose = 'request' | 'newSocket' | 'openSocket';

/** The calls that say what stands behind credentials: those of a client that shows many keep no other waiting. */
export interface CredentialCalls {
  /**
   * Makes a call when it is its client's turn.
   * @throws DomainError `tooManyRequests` when as many of the client wait as may, `unavailable` when its turn does not come; what
   * the requester's signal aborted with.
   */
  inTurn<T>(requester: Requester, call: () => Promise<T>): Promise<T>;
  /** Those that wait for their turn. */
  readonly waiting: number;
}

export interface CredentialCallsOptions {
  /** For requests. For open sockets as many may be under way, and any number may wait: each credential has one at a time. */
  limits: FairQueueLimits<'address' | 'tenant'>;
  /** How many questions about new sockets may wait for one client. Default: any number. */
  newSocketsWaiting?: number;
  /** How long a turn may take to come, in ms. Default 5,000: as long as the call itself may take. */
  turnWithinMs?: number;
}

export function credentialCalls({
  limits,
  newSocketsWaiting = Number.POSITIVE_INFINITY,
  turnWithinMs = 5_000,
}: CredentialCallsOptions): CredentialCalls {
  const queueFor = (waiting: number) =>
    fairQueue<'address'>({ ...limits, shares: { address: { ...limits.shares.address, waiting } } });
  const queues = {
    request: queueFor(limits.shares.address.waiting ?? Number.POSITIVE_INFINITY),
    newSocket: queueFor(newSocketsWaiting),
    openSocket: queueFor(Number.POSITIVE_INFINITY),
  };
  return {
    async inTurn({ ip, purpose = 'request', begun = false, signal }, call) {
      const parties = { address: clientNetwork(ip) };
      const end = await takeTurn(queues[purpose], parties, {
        withinMs: turnWithinMs,
        begun,
        ...(signal && { signal }),
      });
      try {
        return await call();
      } finally {
        end();
      }
    },
    get waiting() {
      return queues.request.waiting + queues.newSocket.waiting + queues.openSocket.waiting;
    },
  };
}
