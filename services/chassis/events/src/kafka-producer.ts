import { setTimeout as delay } from 'node:timers/promises';
import { DomainError, unavailable } from '@parley/kernel/errors';
import { within } from '@parley/kernel/timing/timers';
import { type Message, Partitioners, type Producer } from 'kafkajs';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';

export type KafkaProducer = ReturnType<typeof kafkaProducer>;

interface Call {
  messages: Message[];
  bytes: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

const attemptMs = 5_000;
const closeMs = 4_000;
const retryPauseMs = 100;
/**
 * kafkajs must not retry by itself. When the leader of a partition moves to a broker that has already responded for other partitions,
 * kafkajs applies that response to all partitions and loses messages. kafkajs rejects values below 1 for an idempotent producer; NaN passes
 * that check and disables retries.
 */
const noRetries = Number.NaN;
const maxMessages = 1_000;
/**
 * Maximum size of a request: half of a broker's default limit, so that messages that the broker accepts one by one are also accepted
 * together.
 */
export const maxRequestBytes = 512 * 1024;

/** Errors that a message itself causes: the other messages of its request are sent without it. */
const permanentErrors = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'CORRUPT_MESSAGE']);

/** Each topic has its own producer, so that a missing or unwritable topic delays no other. */
export function kafkaProducer(connection: KafkaConnection) {
  const producers = new Map<string, ReturnType<typeof topicProducer>>();
  let closed = false;
  return {
    /**
     * Resolves when the messages are stored on all in-sync replicas. Messages of one key are stored in order; calls made during a request
     * are sent together in the next request. Rejects within about 10 s. Some messages may have been stored before a rejection; send all of
     * them again later.
     */
    async send(topic: string, messages: Message[]): Promise<void> {
      if (closed) throw unavailable('The event bus is closed');
      const producer = producers.get(topic) ?? topicProducer(connection, topic);
      producers.set(topic, producer);
      await producer.send(messages);
    },
    /** Waits up to 4 s for the request in flight; calls that were not sent reject. */
    async close(): Promise<void> {
      closed = true;
      await Promise.all([...producers.values()].map((producer) => producer.close()));
    },
  };
}

/**
 * Sends one request at a time. After a failure the kafkajs producer is replaced: it would reuse the sequence numbers of the failed request,
 * and a broker that had stored that request would drop the next one as a duplicate.
 */
function topicProducer(connection: KafkaConnection, topic: string) {
  const waiting: Call[] = [];
  let producer: Producer | undefined;
  let draining: Promise<void> | undefined;
  let closed = false;

  async function attempt(messages: Message[]): Promise<void> {
    const isNew = producer === undefined;
    const current = (producer ??= kafkaClient(connection, { retries: noRetries }).producer({
      idempotent: true,
      maxInFlightRequests: 1,
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    }));
    const work = async () => {
      if (isNew) await current.connect();
      await current.send({ topic, messages, acks: -1, timeout: attemptMs });
    };
    try {
      await within(attemptMs, 'Sending', work());
    } catch (error) {
      producer = undefined;
      // The promise is not awaited, because disconnecting may hang for as long as the broker does.
      void current.disconnect().catch(() => undefined);
      throw error;
    }
  }

  /** Retries once: only sending reveals that the broker has closed an idle connection, or that a partition has a new leader. */
  async function sendRequest(messages: Message[]): Promise<void> {
    try {
      await attempt(messages);
    } catch (error) {
      if (isPermanentError(error) || closed) throw error;
      await delay(retryPauseMs);
      await attempt(messages);
    }
  }

  async function sendCalls(calls: Call[]): Promise<void> {
    try {
      // The messages of a call may exceed one request; they are then sent in several requests, in order.
      for (const request of splitRequests(calls.flatMap(({ messages }) => messages))) await sendRequest(request);
      for (const call of calls) call.resolve();
    } catch (error) {
      if (calls.length > 1 && isPermanentError(error)) {
        for (const call of calls) await sendCalls([call]);
      } else {
        for (const call of calls) call.reject(unavailable('Kafka has not taken the events', error));
      }
    }
  }

  async function drain(): Promise<void> {
    await Promise.resolve(); // waits, so that calls of the same tick share a request
    while (waiting.length > 0) await sendCalls(takeBatch(waiting));
    draining = undefined;
  }

  return {
    send(messages: Message[]): Promise<void> {
      return new Promise((resolve, reject) => {
        const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
        waiting.push({ messages, bytes, resolve, reject });
        draining ??= drain();
      });
    },
    async close(): Promise<void> {
      closed = true;
      for (const call of waiting.splice(0)) call.reject(unavailable('The event bus is closed'));
      const work = async () => {
        await draining;
        await producer?.disconnect();
      };
      await within(closeMs, 'Closing', work()).catch(() => undefined); // the relay publishes unacknowledged messages again
    },
  };
}

/** Takes as many calls as fit into one request, but at least one. */
function takeBatch(waiting: Call[]): Call[] {
  return waiting.splice(
    0,
    countThatFits(waiting, ({ messages, bytes }) => ({ messages: messages.length, bytes })),
  );
}

function splitRequests(messages: Message[]): Message[][] {
  const requests: Message[][] = [];
  for (let remaining = messages; remaining.length > 0; ) {
    const count = countThatFits(remaining, (message) => ({ messages: 1, bytes: sizeOf(message) }));
    requests.push(remaining.slice(0, count));
    remaining = remaining.slice(count);
  }
  return requests;
}

/** Counts the first items that fit into one request. Counts at least one item; the broker rejects it if it is too large. */
function countThatFits<T>(items: T[], weigh: (item: T) => { messages: number; bytes: number }): number {
  let messages = 0;
  let bytes = 0;
  const tooMany = items.findIndex((item, index) => {
    const weight = weigh(item);
    messages += weight.messages;
    bytes += weight.bytes;
    return index > 0 && (messages > maxMessages || bytes > maxRequestBytes);
  });
  return tooMany === -1 ? items.length : tooMany;
}

function sizeOf({ value, headers }: Message): number {
  const ofHeaders = Object.values(headers ?? {}).reduce<number>((sum, header) => sum + 16 + (header?.length ?? 0), 0);
  return (value?.length ?? 0) + ofHeaders + 32;
}

/** Reports whether the broker will never accept the messages, e.g. because they are too large. */
export function isPermanentError(error: unknown): boolean {
  if (error instanceof DomainError) return isPermanentError(error.cause);
  return error instanceof Error && 'type' in error && permanentErrors.has(String(error.type));
}
