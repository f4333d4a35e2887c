import { isDomainError } from '@parley/kernel/errors';
import { retryAfterMs } from '@parley/kernel/http/retry-after';
import type { Outbound } from '@parley/outbound/outbound';
import { webhookHeaders } from './sign-webhook.ts';
import type { SyncPorts } from './sync-ports.ts';

export interface Failure {
  kind: 'failed';
  /** An error kind, or `HTTP` and a status. Never contains text of the receiver. */
  error: string;
  /** Whether the delivery ends without another attempt. */
  isFinal?: boolean;
  /** The receiver's `Retry-After`, in ms. */
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

/** Posts once. The outcome depends on the status alone; the response body is not read. @throws the signal's reason */
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
      isFinal: status === 410, // Standard Webhooks: the receiver has unsubscribed
      retryAfterMs: retryAfterMs(answer.headers['retry-after'], clock().getTime()),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (!isDomainError(error) || error.reason === undefined) throw error;
    return { kind: 'failed', error: error.reason };
  }
}
