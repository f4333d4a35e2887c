import { isDomainError } from '@parley/kernel/errors';
import { decodedBody } from './decoded-body.ts';
import type { Hop } from './hop.ts';
import { broken, unreachable } from './outbound-errors.ts';
import { pinnedClient } from './pinned-client.ts';

export interface AnswerHead {
  status: number;
  headers: Record<string, string>;
  url: URL;
}

export interface HopAnswer {
  head: AnswerHead;
  /** The inflated body. The connection closes when the body ends, when it fails, or when `close` is called. */
  body: AsyncGenerator<Buffer, void>;
  close(): void;
}

export interface HopLimits {
  addresses: readonly string[];
  maxBytes: number;
  signal: AbortSignal;
}

/**
 * Sends one request over a new connection to these addresses.
 * @throws DomainError if the request fails
 * @throws the signal's reason if the signal aborts
 */
export async function sendHop(hop: Hop, { addresses, maxBytes, signal }: HopLimits): Promise<HopAnswer> {
  const { url, method, headers, body = null } = hop;
  const client = pinnedClient(url, addresses);
  let isConnected = false;
  client.once('connect', () => {
    isConnected = true;
  });
  const close = () => void client.destroy().catch(() => undefined);

  /** Closes the connection and returns the error that explains why the call ended. */
  function failure(error: unknown): unknown {
    close();
    if (signal.aborted) return signal.reason;
    if (isDomainError(error)) return error;
    return isConnected ? broken(error) : unreachable(error);
  }

  try {
    const answer = await client.request({
      method,
      path: url.pathname + url.search,
      headers: { ...headers, 'accept-encoding': acceptedEncodings },
      body,
      reset: true,
      signal,
    });
    answer.body.on('error', () => undefined); // the body may remain unread, so its error needs a listener
    const head = { status: answer.statusCode, headers: joined(answer.headers), url };
    const decoded = decodedBody(answer.body, head.headers['content-encoding'], maxBytes);
    return { head, body: endingWith(decoded, failure, close), close };
  } catch (error) {
    throw failure(error);
  }
}

const acceptedEncodings = 'gzip, deflate, br';

async function* endingWith(
  body: AsyncIterable<Buffer>,
  failure: (error: unknown) => unknown,
  close: () => void,
): AsyncGenerator<Buffer, void> {
  try {
    yield* body;
  } catch (error) {
    throw failure(error);
  } finally {
    close();
  }
}

function joined(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value = '']) => [
    name,
    Array.isArray(value) ? value.join(', ') : value,
  ]);
  return Object.fromEntries(entries);
}
