import { createHmac } from 'node:crypto';

const prefix = 'whsec_';

/**
 * Returns the signing key of a secret. A secret with the prefix `whsec_` has the format of Standard Webhooks: its key is the decoded base64
 * after the prefix. The key of another secret is its bytes. Undefined if the base64 is invalid or empty.
 */
export function webhookKey(secret: string): Buffer | undefined {
  if (!secret.startsWith(prefix)) return Buffer.from(secret);
  const encoded = secret.slice(prefix.length).trim();
  const isBase64 = /^(?:[\w+/]{4})*(?:[\w+/]{2}(?:==)?|[\w+/]{3}=?)?$/u.test(encoded) && !encoded.includes('_');
  const key = Buffer.from(encoded, 'base64');
  return isBase64 && key.length > 0 ? key : undefined;
}

/** Returns the headers of a webhook as in Standard Webhooks: its id, its time and its signature. */
export function webhookHeaders(
  { id, timestamp, body }: { id: string; timestamp: Date; body: string },
  key: Buffer,
): Record<string, string> {
  const seconds = String(Math.floor(timestamp.getTime() / 1_000));
  const mac = createHmac('sha256', key).update(`${id}.${seconds}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${mac}` };
}
