import { unavailable } from '@parley/kernel/errors';
import { clientNetwork } from '@parley/kernel/http/client-network';
import { type DegradingCountsOptions, degradingCounts } from '@parley/live/key-value/degrading-counts';
import type { CountEntry, CountWindow } from '@parley/live/key-value/key-value';
import { type FieldRules, ruleOf } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';

export interface ThrottleWindow {
  operation: string;
  requests: number;
  windowSeconds: number;
  remaining: number;
  endsInSeconds: number;
}

export interface ThrottleResult {
  refused?: ThrottleWindow;
  windows: ThrottleWindow[];
}

/**
 * Counts all throttled fields of a request; if one of them is refused, counts none. Without Redis, each process counts alone.
 * @throws DomainError `unavailable` without Redis if a throttle fails closed
 */
export type Throttle = (fields: RootField[], clientIp: string) => Promise<ThrottleResult | undefined>;

export interface ThrottleOptions extends DegradingCountsOptions {
  rules: FieldRules;
}

interface Entry extends CountEntry {
  operation: string;
  windowSeconds: number;
  failsClosed: boolean;
}

export function createThrottle({ rules, ...options }: ThrottleOptions): Throttle {
  const countAll = degradingCounts(options);

  function entriesOf(fields: RootField[], clientIp: string): Entry[] {
    const entries = new Map<string, Entry>();
    for (const field of fields) {
      const throttle = ruleOf(rules, field)?.throttle;
      if (!throttle) continue;
      const { name } = field;
      const { requests, windowSeconds, failsClosed = false } = throttle;
      const key = `parley:throttle:${name}:${clientNetwork(clientIp)}`;
      const known = entries.get(key);
      if (known) known.amount += 1;
      else {
        entries.set(key, {
          key,
          operation: name,
          requests,
          windowSeconds,
          windowMs: windowSeconds * 1000,
          amount: 1,
          failsClosed,
        });
      }
    }
    return [...entries.values()];
  }

  return async (fields, clientIp) => {
    const entries = entriesOf(fields, clientIp);
    if (entries.length === 0) return undefined;
    const counted = entries.map(({ key, requests, windowMs, amount }) => ({ key, requests, windowMs, amount }));
    const answer = await countAll(counted, (error) => {
      if (entries.some(({ failsClosed }) => failsClosed))
        throw unavailable('This is not available at the moment; try again in a while', error);
    });
    const windowOf = ({ key, count, endsInMs }: CountWindow): ThrottleWindow => {
      const { operation, requests, windowSeconds } = entries.find((entry) => entry.key === key) as Entry;
      // Redis may round the remaining time up to more than the window.
      const endsInSeconds = Math.min(windowSeconds, Math.ceil(endsInMs / 1000));
      return { operation, requests, windowSeconds, remaining: requests - count, endsInSeconds };
    };
    if (answer.counted) return { windows: answer.windows.map(windowOf) };
    const refused = windowOf(answer.refused);
    return { refused, windows: [refused] };
  };
}

/** Returns the headers of draft-ietf-httpapi-ratelimit-headers, and `retry-after` for a refusal. */
export function throttleHeaders({ refused, windows }: ThrottleResult): [string, string][] {
  const headers: [string, string][] = [
    [
      'ratelimit-policy',
      windows
        .map(({ operation, requests, windowSeconds }) => `"${operation}";q=${requests};w=${windowSeconds}`)
        .join(', '),
    ],
    [
      'ratelimit',
      windows
        .map(({ operation, remaining, endsInSeconds }) => `"${operation}";r=${remaining};t=${endsInSeconds}`)
        .join(', '),
    ],
  ];
  return refused ? [['retry-after', String(refused.endsInSeconds)], ...headers] : headers;
}

export function throttleMessage({ operation, requests, windowSeconds, endsInSeconds }: ThrottleWindow): string {
  return `${operation} takes ${requests} requests in ${windowSeconds} seconds from one address; try again in ${endsInSeconds} seconds`;
}
