import type { Transformer } from 'node:stream/web';
import { isDomainError } from '@parley/kernel/errors';
import { createParser } from 'eventsource-parser';
import { unreachable } from './connector-errors.ts';
import type { Exchange } from './exchange.ts';
import { answers, forClient, messagesOf, parsedMessage } from './messages.ts';

/** A server says after how long its stream may be resumed; these bound it. */
const resumeAfterMs = { min: 100, max: 5_000 };
/** Requests of a server within one exchange that are answered; each costs one of ours. */
const maxAsked = 20;
/** Events and messages within one exchange, since each costs more of our time than of the server's. */
const maxMessages = 10_000;
/** The client ignores all others. */
const changed = 'notifications/tools/list_changed';
const notifications = new Set<unknown>(['notifications/progress', changed]);

/** Works on what was received, of so many bytes, when it is the tenant's turn. */
export type WorkOn = <T>(bytes: number, work: () => T) => Promise<T>;

/**
 * Rewrites an event stream of a server, so that the SDK takes each message in it. A stream that ends without an answer, and cannot be
 * resumed, fails the exchange at once: the SDK would wait for the end of the time.
 */
export function eventMessages(exchange: Exchange, workOn: WorkOn): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const lineFeeds = lineFeedsOnly();
  /** Bytes that were received since the last event. */
  let pending = 0;
  let hasChanged = false;
  let feed: (text: string) => void;

  function count(): void {
    exchange.messages += 1;
    if (exchange.messages > maxMessages) throw unreachable(new Error('too many messages'));
  }

  /** Passes on only the first notice of changed tools, because each costs the SDK much more than the server. */
  function isNews(method: unknown): boolean {
    const isRepeated = method === changed && hasChanged;
    hasChanged ||= method === changed;
    return !isRepeated && notifications.has(method);
  }

  function isTaken(message: Record<string, unknown>): boolean {
    count();
    if (exchange.id !== undefined && answers(message, exchange.id)) exchange.isAnswered = true;
    if (!('method' in message)) return exchange.isAnswered;
    if (!('id' in message)) return isNews(message.method);
    exchange.asked += 1;
    return exchange.asked <= maxAsked;
  }

  const events: CancellableTransformer = {
    start(controller) {
      const send = (text: string) => controller.enqueue(encoder.encode(text));
      const parser = createParser({
        onEvent({ id, event, data }) {
          count();
          pending = 0;
          if (id) {
            exchange.isResumable = true;
            send(`id: ${id}\n`);
          }
          const isMessage = event === undefined || event === '' || event === 'message';
          const messages = isMessage ? messagesOf(parsedMessage(data)).filter(isTaken) : [];
          for (const message of messages) send(`data: ${JSON.stringify(forClient(exchange, message))}\n\n`);
          if (id && messages.length === 0) send('data:\n\n');
        },
        onRetry: (ms) => send(`retry: ${Math.min(resumeAfterMs.max, Math.max(resumeAfterMs.min, ms))}\n`),
      });
      feed = (text) => parser.feed(text);
    },
    async transform(chunk) {
      try {
        pending += chunk.length;
        await workOn(pending, () => feed(lineFeeds(decoder.decode(chunk, { stream: true }))));
      } catch (error) {
        exchange.fail(error);
        throw error;
      }
    },
    flush() {
      if (!exchange.isResumable && !exchange.isAnswered)
        exchange.fail(unreachable(new Error('ended without an answer')));
    },
    cancel(reason) {
      if (!exchange.isResumable || isDomainError(reason, 'invalid')) exchange.fail(reason);
    },
  };
  return new TransformStream(events);
}

/** The types of Node.js lack `cancel`, which is called where the stream that is read fails. */
type CancellableTransformer = Transformer<Uint8Array, Uint8Array> & { cancel(reason: unknown): void };

/** Makes a line feed of each end of a line, since the parser's time grows with the square of the lines that end otherwise. */
function lineFeedsOnly(): (text: string) => string {
  let isAfterReturn = false;
  return (text) => {
    if (text === '') return '';
    const rest = isAfterReturn && text.startsWith('\n') ? text.slice(1) : text;
    isAfterReturn = text.endsWith('\r');
    return rest.replaceAll(/\r\n?/gu, '\n');
  };
}
