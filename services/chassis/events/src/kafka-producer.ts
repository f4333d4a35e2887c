import { setTimeout as delay } from 'node:timers/promises';
import { DomainError, unavailable } from '@parley/kernel/errors';
import { type Message, Partitioners, type Producer } from 'kafkajs';
import { type KafkaConnection, kafkaClient, within } from './kafka-client.ts';

export interface KafkaProducer {
  /**
   * Resolves when the broker has stored all of them, on all replicas in sync. Messages of one key are stored in order;
   * calls that come while another is on its way leave together in one request. Any rejection means "later", within about
   * 10 s, and some may have been stored.
   */
  send(topic: string, messages: Message[]): Promise<void>;
  /** Waits up to 4 s for what is on its way; what has not left is rejected. */
  close(): Promise<void>;
}

interface Call {
  messages: Message[];
  bytes: number;
  resolve: () => void;
  reject: (error: Error) => void;
}

interface Lane {
  send(messages: Message[]): Promise<void>;
  close(): Promise<void>;
}

const attemptMs = 5_000;
const closeMs = 4_000;
const retryPauseMs = 100;
/**
 * kafkajs must not try again by itself: where the leader of a partition moves meanwhile to a broker that has already
 * answered for others, it takes that answer for all and drops the rest. For an idempotent producer it refuses what is below 1, and none is below this.
 */
const noRetries = Number.NaN;
const maxMessages = 1_000;
/** Half of what a broker takes at once by default, so that many small calls are never refused for being together. */
const maxBytes = 512 * 1024;

/** What a broker answers when a message itself is at fault: its companions need not suffer for it. */
const refusals = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE', 'INVALID_RECORD', 'CORRUPT_MESSAGE']);

/** Each topic has a lane of its own, so that one that is missing or not writable holds up no other. */
export function kafkaProducer(connection: KafkaConnection): KafkaProducer {
  const lanes = new Map<string, Lane>();
  let closed = false;
  return {
    async send(topic, messages) {
      if (closed) throw unavailable('The event bus is closed');
      const lane = lanes.get(topic) ?? openLane(connection, topic);
      lanes.set(topic, lane);
      await lane.send(messages);
    },
    async close() {
      closed = true;
      await Promise.all([...lanes.values()].map((lane) => lane.close()));
    },
  };
}

/**
 * One request at a time. After a failure the producer is thrown away: kafkajs gives the sequence numbers of a failed
 * request to the next one, and a broker that had stored the first takes the second for its repetition, and drops it.
 */
function openLane(connection: KafkaConnection, topic: string): Lane {
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
      // Not waited for: it may hang for as long as the broker does.
      void current.disconnect().catch(() => undefined);
      throw error;
    }
  }

  /** A connection that the broker closed while it was idle shows itself only now, a new leader likewise: one more try. */
  async function transmit(messages: Message[]): Promise<void> {
    try {
      await attempt(messages);
    } catch (error) {
      if (isRefusal(error) || closed) throw error;
      await delay(retryPauseMs);
      await attempt(messages);
    }
  }

  async function settle(calls: Call[]): Promise<void> {
    try {
      // One call may be more than a request holds: its messages then follow each other in several.
      for (const part of inParts(calls.flatMap(({ messages }) => messages))) await transmit(part);
      for (const call of calls) call.resolve();
    } catch (error) {
      if (calls.length > 1 && isRefusal(error)) {
        for (const call of calls) await settle([call]);
      } else {
        for (const call of calls) call.reject(unavailable('Kafka has not taken the events', error));
      }
    }
  }

  async function drain(): Promise<void> {
    await Promise.resolve(); // calls of the same tick go together
    while (waiting.length > 0) await settle(takeBatch(waiting));
    draining = undefined;
  }

  return {
    send(messages) {
      return new Promise((resolve, reject) => {
        const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
        waiting.push({ messages, bytes, resolve, reject });
        draining ??= drain();
      });
    },
    async close() {
      closed = true;
      for (const call of waiting.splice(0)) call.reject(unavailable('The event bus is closed'));
      const work = async () => {
        await draining;
        await producer?.disconnect();
      };
      await within(closeMs, 'Closing', work()).catch(() => undefined);
    },
  };
}

/** As many calls as one request may hold, and at least one. */
function takeBatch(waiting: Call[]): Call[] {
  return waiting.splice(
    0,
    countThatFits(waiting, ({ messages, bytes }) => ({ messages: messages.length, bytes })),
  );
}

function inParts(messages: Message[]): Message[][] {
  const parts: Message[][] = [];
  for (let rest = messages; rest.length > 0; ) {
    const count = countThatFits(rest, (message) => ({ messages: 1, bytes: sizeOf(message) }));
    parts.push(rest.slice(0, count));
    rest = rest.slice(count);
  }
  return parts;
}

/** How many of the first ones fit into one request; one does in any case, and the broker decides over it. */
function countThatFits<T>(items: T[], weigh: (item: T) => { messages: number; bytes: number }): number {
  let messages = 0;
  let bytes = 0;
  const tooMany = items.findIndex((item, index) => {
    const weight = weigh(item);
    messages += weight.messages;
    bytes += weight.bytes;
    return index > 0 && (messages > maxMessages || bytes > maxBytes);
  });
  return tooMany === -1 ? items.length : tooMany;
}

function sizeOf({ value, headers }: Message): number {
  const ofHeaders = Object.values(headers ?? {}).reduce<number>((sum, header) => sum + 16 + (header?.length ?? 0), 0);
  return (value?.length ?? 0) + ofHeaders + 32;
}

/** Whether the broker will never take the messages, however often they come: for what they are, as for their size. */
export function isRefusal(error: unknown): boolean {
  if (error instanceof DomainError) return isRefusal(error.cause);
  return error instanceof Error && 'type' in error && refusals.has(String(error.type));
}
