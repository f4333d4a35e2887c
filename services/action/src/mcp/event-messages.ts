import type { Transformer } from 'node:stream/web';
import { isDomainError } from '@parley/kernel/errors';
import { createParser } from 'eventsource-parser';
import { unreachable } from './connector-errors.ts';
import type { Exchange } from './exchange.ts';
import { answers, forClient, messagesOf, parsedMessage } from './messages.ts';

/** Bounds for the delay that a server requests before its stream is resumed. */
const resumeAfterMs = { min: 100, max: 5_000 };
/** Maximum number of server requests that are answered in one exchange; each costs an HTTP request of our own. */
const maxAsked = 20;
/** Maximum number of events and messages in one exchange, because each takes more of our time than of the server's. */
const maxMessages = 10_000;
/** The notifications that the client handles; it drops all other notifications. */
const changed = 'notifications/tools/list_changed';
const notifications = new Set<unknown>(['notifications/progress', changed]);

/** Runs `work` on received bytes when the tenant's queue of large work allows it. */
export type WorkOn = <T>(bytes: number, work: () => T) => Promise<T>;

/**
 * Rewrites a server's event stream, so that the SDK accepts every message in it. If the stream ends without a response and cannot be resumed, the
 * exchange fails at once; the SDK itself would wait until the time limit.
 */
export function eventMessages(exchange: Exchange, workOn: WorkOn): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const lineFeeds = lineFeedsOnly();
  /** Bytes received since the last event. */
  let pending = 0;
  let hasChanged = false;
  let feed: (text: string) => void;

  function count(): void {
    exchange.messages += 1;
    if (exchange.messages > maxMessages) throw unreachable(new Error('too many messages'));
  }

  /**
   * Reports whether to pass a notification on. Only the first notice of changed tools is passed on: handling a notice costs the SDK much
   * more than sending one costs the server.
   */
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

/** Node's types lack `cancel`, which is called when the source stream fails. */
type CancellableTransformer = Transformer<Uint8Array, Uint8Array> & { cancel(reason: unknown): void };

/** Converts all line ends to line feeds: with other line ends, the parser takes quadratic time. */
function lineFeedsOnly(): (text: string) => string {
  let isAfterReturn = false;
  return (text) => {
    if (text === '') return '';
    const rest = isAfterReturn && text.startsWith('\n') ? text.slice(1) : text;
    isAfterReturn = text.endsWith('\r');
    return rest.replaceAll(/\r\n?/gu, '\n');
  };
}
