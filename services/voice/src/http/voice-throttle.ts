import { DomainError } from '@parley/kernel/errors';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { type DegradingCountsOptions, degradingCounts } from '@parley/live/key-value/degrading-counts';

/** Routes that are throttled, with their requests a minute from one address. */
export const requestsPerMinute = {
  '/tts': 30,
  '/tts/google': 30,
  '/tts/stream': 30,
  '/stt': 10,
  '/avatar-session': 10,
};
export type ThrottledRoute = keyof typeof requestsPerMinute;

/** A tenant may make so many times the requests of one address. */
const tenantFactor = 20;
const windowMs = 60_000;

/**
 * Counts a request for its address and, where it has a valid token, for its tenant: both or neither.
 * @throws DomainError `tooManyRequests`, the same for both
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
