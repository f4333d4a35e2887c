import { unavailable } from '@parley/kernel/errors';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { IdpOneSettings } from '@parley/kernel/settings/shared-settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Requester } from '../passwords/passwords.ts';
import { ticketExchange } from './ticket-exchange.ts';

export type IdpOne = ReturnType<typeof createIdpOne>;

/** Creates a client of the identity provider. The client limits concurrent exchanges, in total and per requester. */
export function createIdpOne({ timeoutMs, ...settings }: IdpOneSettings, log: Logger) {
  const queue = fairQueue({
    inFlight: 64,
    waiting: 500,
    shares: { address: { inFlight: 8, waiting: 32 }, user: { inFlight: 2, waiting: 8 } },
  });
  return {
    exchange: ticketExchange(settings, log),
    /** Returns a signal for an exchange that begins now. It aborts when the exchange would time out, or when the given signal aborts. */
    deadlineSignal: (signal: AbortSignal): AbortSignal => AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]),
    /**
     * Waits for a slot. Disposing of the result releases the slot.
     * @throws DomainError the errors of `FairQueue`
     */
    async enterQueue({ address, user }: Requester, signal: AbortSignal): Promise<Disposable> {
      const waited = async () => queue.enter({ address, user }, () => signal);
      const release = await waited().catch((error: unknown) => {
        throw signal.aborted ? unavailable('The identity provider is not available at the moment', error) : error;
      });
      return { [Symbol.dispose]: release };
    },
  };
}
