import { randomUUID } from 'node:crypto';
import { within } from '@parley/kernel/timers';
import type { KafkaMessage } from 'kafkajs';
import type { Envelope } from './envelope.ts';
import { deadLetterTopic } from './event-bus.ts';
import { type KafkaConnection, kafkaClient } from './kafka-client.ts';
import {
  type DeadLetterFacts,
  deadLetterFacts,
  readEnvelope,
  replayMark,
  toReplay,
  toReplayMark,
} from './kafka-message.ts';
import { kafkaProducer } from './kafka-producer.ts';

/** A dead letter in Kafka. */
export interface StoredDeadLetter {
  /** Its position in the dead-letter topic: `<partition>:<offset>`. */
  position: string;
  /** Which group failed, after how many attempts, why and when; and the event's position in its own topic. */
  facts: DeadLetterFacts;
  /** Undefined where the message was not an event, or its value was too large to be stored: the reason says which. */
  event: Envelope | undefined;
  wasReplayed: boolean;
  message: KafkaMessage;
}

const readMs = 30_000;

export function kafkaDeadLetters(connection: KafkaConnection) {
  const producer = kafkaProducer(connection);
  return {
    /** All dead letters of a topic, oldest first, replayed ones included. */
    async list(topic: string): Promise<StoredDeadLetter[]> {
      const letterTopic = deadLetterTopic(topic);
      const read = await readTopic(connection, letterTopic);
      const replayed = new Set(read.map(({ message }) => replayMark(message)));
      const letters = read.flatMap(({ position, message }): StoredDeadLetter[] => {
        const facts = deadLetterFacts(message);
        if (!facts) return [];
        const read = readEnvelope(topic, message);
        const event = read instanceof TypeError ? undefined : read;
        return [{ position, facts, event, wasReplayed: replayed.has(position), message }];
      });
      return letters.toSorted((a, b) => a.facts.time.getTime() - b.facts.time.getTime());
    },
    /**
     * Publishes the dead letter's event again, for the group that failed alone, and marks the dead letter as replayed. Other
     * groups skip it by its header, so it does not matter whether their inboxes still know it. Rejects for a dead letter
     * without a value.
     */
    async replay(topic: string, { position, facts, message }: StoredDeadLetter): Promise<void> {
      if (message.value === null) throw new Error(`The dead letter at ${position} has no value: ${facts.reason}`);
      await producer.send(topic, [toReplay(message, facts.group)]);
      await producer.send(deadLetterTopic(topic), [toReplayMark(message.key, position, new Date())]);
    },
    close: () => producer.close(),
  };
}

/** Reads a topic up to its current end. kafkajs reads in groups only, so a temporary group is made and deleted. */
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
  const read: { position: string; message: KafkaMessage }[] = [];
  const done = Promise.withResolvers<void>();
  consumer.on(consumer.events.CRASH, ({ payload }) => done.reject(payload.error));
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachBatch({ batch }) {
        for (const message of batch.messages) read.push({ position: `${batch.partition}:${message.offset}`, message });
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
