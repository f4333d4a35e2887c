import { randomUUID } from 'node:crypto';
import type { KafkaMessage } from 'kafkajs';
import type { Envelope } from './envelope.ts';
import { deadLetterTopic } from './event-bus.ts';
import { type KafkaConnection, kafkaClient, within } from './kafka-client.ts';
import { type LetterFacts, letterFacts, replayMark, toEnvelope, toReplay, toReplayMark } from './kafka-message.ts';
import { kafkaProducer } from './kafka-producer.ts';

/** A dead letter as Kafka keeps it. */
export interface StoredLetter {
  /** Where it stands in the dead-letter topic: `<partition>:<offset>`. */
  place: string;
  /** Who gave it up, how often it was tried, why and when; and where the event stands in its own topic. */
  facts: LetterFacts;
  /** Undefined where the message was none, or where its value was too large to be kept: the reason says which. */
  event: Envelope | undefined;
  wasReplayed: boolean;
  message: KafkaMessage;
}

export interface KafkaDeadLetters {
  /** All letters of a topic up to now, oldest first, those that were replayed included. */
  list(topic: string): Promise<StoredLetter[]>;
  /**
   * Publishes the letter's event again for the group that gave it up, and marks the letter as replayed. The other groups
   * had it already; they pass over a replay that is not for them, however long ago it was, and need not remember. Of a
   * letter without a value there is nothing to publish: it rejects.
   */
  replay(topic: string, letter: StoredLetter): Promise<void>;
  close(): Promise<void>;
}

const readMs = 30_000;

export function kafkaDeadLetters(connection: KafkaConnection): KafkaDeadLetters {
  const producer = kafkaProducer(connection);
  return {
    async list(topic) {
      const letterTopic = deadLetterTopic(topic);
      const read = await readTopic(connection, letterTopic);
      const replayed = new Set(read.map(({ message }) => replayMark(message)));
      const letters = read.flatMap(({ place, message }): StoredLetter[] => {
        const facts = letterFacts(message);
        if (!facts) return [];
        return [{ place, facts, event: readEvent(topic, message), wasReplayed: replayed.has(place), message }];
      });
      return letters.toSorted((a, b) => a.facts.time.getTime() - b.facts.time.getTime());
    },
    async replay(topic, { place, facts, message }) {
      if (message.value === null) throw new Error(`The letter at ${place} holds no event: ${facts.reason}`);
      await producer.send(topic, [toReplay(message, facts.group)]);
      await producer.send(deadLetterTopic(topic), [toReplayMark(message.key, place, new Date())]);
    },
    close: () => producer.close(),
  };
}

/** A consumer of kafkajs is always one of a group: this one reads to what is the end now, and is gone again. */
export async function readTopic(connection: KafkaConnection, topic: string) {
  const admin = kafkaClient(connection, { retries: 5 }).admin();
  await admin.connect();
  try {
    const ends = new Map<number, bigint>();
    for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
      if (high !== low) ends.set(partition, BigInt(high));
    }
    if (ends.size === 0) return [];
    const groupId = `dead-letters.${randomUUID()}`;
    const read = await within(readMs, `Reading ${topic}`, readUpTo(connection, topic, groupId, ends));
    await admin.deleteGroups([groupId]);
    return read;
  } finally {
    await admin.disconnect();
  }
}

async function readUpTo(connection: KafkaConnection, topic: string, groupId: string, ends: Map<number, bigint>) {
  const consumer = kafkaClient(connection, { retries: 5 }).consumer({
    groupId,
    maxWaitTimeInMs: 100,
    allowAutoTopicCreation: false,
  });
  const read: { place: string; message: KafkaMessage }[] = [];
  const done = Promise.withResolvers<void>();
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error));
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachBatch({ batch }) {
        for (const message of batch.messages) read.push({ place: `${batch.partition}:${message.offset}`, message });
        if (BigInt(batch.lastOffset()) + 1n >= (ends.get(batch.partition) ?? 0n)) ends.delete(batch.partition);
        if (ends.size === 0) done.resolve();
      },
    });
    await done.promise;
    return read;
  } finally {
    await consumer.disconnect();
  }
}

function readEvent(topic: string, message: KafkaMessage): Envelope | undefined {
  try {
    return toEnvelope(topic, message);
  } catch {
    return undefined;
  }
}
