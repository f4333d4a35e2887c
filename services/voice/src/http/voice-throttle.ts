import { DomainError } from '@parley/kernel/errors';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { type DegradingCountsOptions, degradingCounts } from '@parley/live/key-value/degrading-counts';

/** Throttled routes with their limit of requests per minute and address. */
export const requestsPerMinute = {
  '/tts': 30,
  '/tts/google': 30,
  '/tts/stream': 30,
  '/stt': 10,
  '/avatar-session': 10,
};
export type ThrottledRoute = keyof typeof requestsPerMinute;

/** The limit of a tenant as a multiple of the limit of an address. */
const tenantFactor = 20;
const windowMs = 60_000;

/**
 * Counts a request for its address and, with a valid token, for its tenant: both or neither.
 * @throws DomainError `tooManyRequests`, which does not reveal which limit was reached
 */
export function voiceThrottle(options: DegradingCountsOptions) {
  const countAll = degradingCounts(options);
  return async (route: ThrottledRoute, clientIp: string, tenantId: number | undefined): Promise<void> => {
    const requests = requestsPerMinute[route];
    const entry = { requests, windowMs, amount: 1 };
    const address = { ...entry, key: `parley:voice-throttle:${route}:${clientNetwork(clientIp)}` };
    const tenant = { ...entry, requests: requests * tenantFactor, key: `parley:${tenantId}:voice-throttle:${route}` };
    const { counted } = await countAll(tenantId === undefined ? [address] : [address, tenant]);
    if (!counted) throw new DomainError('tooManyRequests', 'Too many requests; try again in a minute');
  };
}
