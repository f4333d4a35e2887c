import { isDomainError } from '@parley/kernel/errors';
import { retryAfterMs } from '@parley/kernel/http/retry-after';
import type { Outbound } from '@parley/outbound/outbound';
import { webhookHeaders } from './sign-webhook.ts';
import type { SyncPorts } from './sync-ports.ts';

export interface Failure {
  kind: 'failed';
  /** An error kind, or `HTTP` followed by a status. Never contains text that the receiver sent. */
  error: string;
  /** Whether this failure ends the delivery, so that there is no further attempt. */
  isFinal?: boolean;
  /** The pause, in ms, that the receiver asks for in `Retry-After`. */
  retryAfterMs?: number | undefined;
}

export type Outcome = { kind: 'delivered' } | Failure;

export interface Webhook {
  url: string;
  id: string;
  body: string;
  key: Buffer;
  signal: AbortSignal;
}

/**
 * Posts a webhook once. The outcome depends only on the response's status; the body is not read. @throws the signal's reason if the signal
 * aborts
 */
export async function sendWebhook(
  { outbound, clock, settings }: Pick<SyncPorts, 'clock' | 'settings'> & { outbound: Pick<Outbound, 'stream'> },
  { url, id, body, key, signal }: Webhook,
): Promise<Outcome> {
  const headers = {
    'content-type': 'application/json',
    ...webhookHeaders({ id, timestamp: clock(), body }, key),
  };
  try {
    const { timeoutMs } = settings;
    const answer = await outbound.stream(url, { method: 'POST', headers, body, timeoutMs, maxBytes: 0, signal });
    answer.cancel();
    const { status } = answer;
    if (status >= 200 && status < 300) return { kind: 'delivered' };
    return {
      kind: 'failed',
      error: `HTTP ${status}`,
      isFinal: status === 410, // Standard Webhooks: with this status, the receiver unsubscribes
      retryAfterMs: retryAfterMs(answer.headers['retry-after'], clock().getTime()),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!isDomainError(error) || error.reason === undefined) throw error;
    return { kind: 'failed', error: error.reason };
  }
}
