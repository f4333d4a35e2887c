import { unavailable } from '@parley/kernel/errors';
import { fairQueue } from '@parley/kernel/queues/fair-queue';
import type { IdpOneSettings } from '@parley/kernel/settings/shared-settings';
import type { Logger } from '@parley/kernel/telemetry/log';
import type { Requester } from '../passwords/passwords.ts';
import { ticketExchange } from './ticket-exchange.ts';

export type IdpOne = ReturnType<typeof createIdpOne>;

/** The identity provider, asked for a bounded number of exchanges at once, of which no client has more than a part. */
export function createIdpOne({ timeoutMs, ...settings }: IdpOneSettings, log: Logger) {
  const queue = fairQueue({
    inFlight: 64,
    waiting: 500,
    shares: { address: { inFlight: 8, waiting: 32 }, user: { inFlight: 2, waiting: 8 } },
  });
  return {
    exchange: ticketExchange(settings, log),
    /** Ends when an exchange that begins now has taken too long, or its caller has left. */
    deadline: (signal: AbortSignal): AbortSignal => AbortSignal.any([AbortSignal.timeout(timeoutMs), signal]),
    /** Resolves when the requester may ask; dispose of the result afterwards. @throws DomainError as `FairQueue` */
    async enterQueue({ address, user }: Requester, deadline: AbortSignal): Promise<Disposable> {
      const waited = async () => queue.enter({ address, user }, () => deadline);
      const release = await waited().catch((error: unknown) => {
        throw deadline.aborted ? unavailable('The identity provider is not available at the moment', error) : error;
      });
      return { [Symbol.dispose]: release };
    },
  };
}
