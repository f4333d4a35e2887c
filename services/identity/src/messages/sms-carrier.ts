import { type Carrier, type DeliverySettings, MessageRefused } from './carrier.ts';
import { writeToOutbox } from './outbox-folder.ts';

const timeoutMs = 10_000;

/**
 * Sends text messages to the HTTP gateway `SMS_URL`: a POST of JSON `{id, to, text}`, where a 2xx means acceptance. Without a
 * gateway it writes them to the outbox folder as `<id>.txt`.
 */
export function smsCarrier({ smsUrl, smsToken, dataFolder }: DeliverySettings): Carrier<string> {
  return {
    async send({ id, to, text }) {
      if (smsUrl === undefined) return writeToOutbox(dataFolder, `${id}.txt`, `To: ${to}\n\n${text}`);
      const response = await fetch(smsUrl, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'idempotency-key': id,
          ...(smsToken !== undefined && { authorization: `Bearer ${smsToken}` }),
        },
        body: JSON.stringify({ id, to, text: text.trim() }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      await response.body?.cancel();
      if (response.ok) return;
      const { status } = response;
      const what = `the SMS gateway answered ${status}`;
      // A refused credential is retried, because the operator can correct it.
      const isFinal = status >= 400 && status < 500 && ![401, 403, 408, 425, 429].includes(status);
      throw isFinal ? new MessageRefused(what) : new Error(what);
    },
    close() {},
  };
}
