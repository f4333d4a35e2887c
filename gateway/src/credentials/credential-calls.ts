import { clientNetwork } from '@parley/kernel/http/client-network';
import { type FairQueueLimits, fairQueue } from '@parley/kernel/queues/fair-queue';
import { enterQueue } from '../limits/enter-queue.ts';

/** Who requests a lookup. No credential is verified before the lookup, so the lookup counts against the client address. */
export interface Requester {
  ip: string;
  /** Default: `request`. */
  purpose?: CredentialPurpose;
  begun?: boolean;
  signal?: AbortSignal | undefined;
}

/** Each purpose has its own queue, so that many new sockets cannot delay the check that closes a revoked socket. */
export type CredentialPurpose = 'request' | 'newSocket' | 'openSocket';

/** Runs credential lookups in a queue that is fair between client addresses. */
export interface CredentialCalls {
  /**
   * Waits for a slot, then runs `call`.
   * @throws DomainError `tooManyRequests` when the queue is full, `unavailable` when the maximum wait has passed; the signal's reason if
   * the signal is aborted
   */
  queued<T>(requester: Requester, call: () => Promise<T>): Promise<T>;
  readonly waiting: number;
}

export interface CredentialCallsOptions {
  /**
   * Limits for lookups with purpose `request`. Lookups for open sockets run with the same concurrency. Their queue is unbounded, because
   * each credential has at most one lookup in it.
   */
  limits: FairQueueLimits<'address' | 'tenant'>;
  /** Maximum number of waiting lookups for new sockets, per client. Default: unbounded. */
  newSocketsWaiting?: number;
  /** Maximum wait in ms. Default 5,000, the timeout of the call itself. */
  queueTimeoutMs?: number;
}

export function credentialCalls({
  limits,
  newSocketsWaiting = Number.POSITIVE_INFINITY,
  queueTimeoutMs = 5_000,
}: CredentialCallsOptions): CredentialCalls {
  const queueFor = (waiting: number) =>
    fairQueue<'address'>({ ...limits, shares: { address: { ...limits.shares.address, waiting } } });
  const queues = {
    request: queueFor(limits.shares.address.waiting ?? Number.POSITIVE_INFINITY),
    newSocket: queueFor(newSocketsWaiting),
    openSocket: queueFor(Number.POSITIVE_INFINITY),
  };
  return {
    async queued({ ip, purpose = 'request', begun = false, signal }, call) {
      const parties = { address: clientNetwork(ip) };
      const end = await enterQueue(queues[purpose], parties, {
        withinMs: queueTimeoutMs,
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
