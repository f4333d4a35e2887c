import { clientNetwork } from '@parley/chassis/client-network';
import { type DomainError, isDomainError, unavailable } from '@parley/chassis/errors';
import type { CountAnswer, CountEntry, CountWindow, KeyValue } from '@parley/chassis/key-value/key-value';
import { memoryKeyValue } from '@parley/chassis/key-value/memory-key-value';
import type { Logger } from '@parley/chassis/log';
import { type FieldRules, ruleOf } from '../graph/field-rules.ts';
import type { RootField } from '../graph/root-fields.ts';

/** How an operation's window stands for one client. */
export interface ThrottleWindow {
  operation: string;
  /** Requests that one window takes, and how long it is. */
  requests: number;
  windowSeconds: number;
  /** Requests that the window still takes. */
  left: number;
  /** Seconds until it ends, rounded up. */
  endsInSeconds: number;
}

export interface ThrottleResult {
  /** The window that has no room for this request; undefined where the request may run. */
  refused?: ThrottleWindow;
  /** The windows that the request counts in; the one that refuses it. */
  windows: ThrottleWindow[];
}

/**
 * Counts a request in the windows of all throttled fields that it selects, each as often as it is selected, or in none: one
 * step, and nothing is counted of what is refused. It is asked last, when nothing else can refuse the request, so that
 * windows hold what ran. Undefined where no field has a throttle.
 * @throws DomainError `unavailable` when counts cannot be reached and a throttle that fails closed is among the
 * fields': guesses must not gain from an outage. Others are counted by this process alone then.
 */
export type Throttle = (fields: RootField[], clientIp: string) => Promise<ThrottleResult | undefined>;

export interface ThrottleOptions {
  rules: FieldRules;
  keyValue: Pick<KeyValue, 'countAll'>;
  /** Told of each request that is counted without the others, or refused for it. */
  onDegraded: () => void;
  log: Logger;
  /** Milliseconds of a clock that only grows. */
  now?: () => number;
}

interface Entry extends CountEntry {
  operation: string;
  windowSeconds: number;
  failsClosed: boolean;
}

/** How often at most the log says that counts cannot be reached, in ms. */
const logIntervalMs = 30_000;

export function createThrottle({
  rules,
  keyValue,
  onDegraded,
  log,
  now = () => performance.now(),
}: ThrottleOptions): Throttle {
  const localCounts = memoryKeyValue({ now });
  let loggedAt = Number.NEGATIVE_INFINITY;

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

  function countLocally(entries: Entry[], error: DomainError): Promise<CountAnswer> {
    onDegraded();
    if (now() - loggedAt >= logIntervalMs) {
      loggedAt = now();
      log.warn({ err: error }, 'throttle counts unavailable; counting per process');
    }
    if (entries.some(({ failsClosed }) => failsClosed)) {
      throw unavailable('This is not available at the moment; try again in a while', error);
    }
    return localCounts.countAll(entries);
  }

  return async (fields, clientIp) => {
    const entries = entriesOf(fields, clientIp);
    if (entries.length === 0) return undefined;
    const answer = await keyValue
      .countAll(entries.map(({ key, requests, windowMs, amount }) => ({ key, requests, windowMs, amount })))
      .catch((error: unknown) => {
        if (!isDomainError(error, 'unavailable')) throw error;
        return countLocally(entries, error);
      });
    const windowOf = ({ key, count, endsInMs }: CountWindow): ThrottleWindow => {
      const { operation, requests, windowSeconds } = entries.find((entry) => entry.key === key) as Entry;
      // An engine's clock may round up; no window is longer than it is.
      const endsInSeconds = Math.min(windowSeconds, Math.ceil(endsInMs / 1000));
      return { operation, requests, windowSeconds, left: requests - count, endsInSeconds };
    };
    if (answer.counted) return { windows: answer.windows.map(windowOf) };
    const refused = windowOf(answer.refused);
    return { refused, windows: [refused] };
  };
}

/** The headers that tell a client how its windows stand (draft-ietf-httpapi-ratelimit-headers), and when to come again. */
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
      windows.map(({ operation, left, endsInSeconds }) => `"${operation}";r=${left};t=${endsInSeconds}`).join(', '),
    ],
  ];
  return refused ? [['retry-after', String(refused.endsInSeconds)], ...headers] : headers;
}

/** What a client is told whose request is refused. */
export function throttleMessage({ operation, requests, windowSeconds, endsInSeconds }: ThrottleWindow): string {
  return `${operation} takes ${requests} requests in ${windowSeconds} seconds from one address; try again in ${endsInSeconds} seconds`;
}
