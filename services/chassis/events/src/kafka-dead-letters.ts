import { randomUUID } from 'node:crypto';
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
  /** The dead letter's position in the dead-letter topic: `<partition>:<offset>`. */
  position: string;
  /** The failed group, the number of attempts, the reason and time, and the event's position in its topic. */
  facts: DeadLetterFacts;
  /** Undefined if the message was not an event, or if its value was too large to store; `facts.reason` shows which of the two applies. */
  event: Envelope | undefined;
  wasReplayed: boolean;
  message: KafkaMessage;
}

/** Time in ms without progress after which reading a topic rejects. */
const stalledMs = 30_000;

export function kafkaDeadLetters(connection: KafkaConnection) {
  const producer = kafkaProducer(connection);
  return {
    /**
     * Lists all dead letters of a topic, oldest first, including replayed ones. All of them are read into memory; `forEach` is for large
     * topics.
     */
    async list(topic: string): Promise<StoredDeadLetter[]> {
      const read = await readTopic(connection, deadLetterTopic(topic));
      const replayed = new Set(read.map(({ message }) => replayMark(message)));
      const letters = read.flatMap((each) => letterOf(topic, each, replayed) ?? []);
      return letters.toSorted((a, b) => a.facts.time.getTime() - b.facts.time.getTime());
    },
    /**
     * Calls `visit` with each dead letter of a topic, one after the other in the order of storing. Includes replayed dead letters, and
     * excludes those stored after the start. Reads the topic twice, because the mark of a replay comes after its dead letter, and keeps
     * only the marks in memory.
     */
    async forEach(topic: string, visit: (letter: StoredDeadLetter) => Promise<void> | void): Promise<void> {
      const replayed = new Set<string | undefined>();
      await visitTopic(connection, deadLetterTopic(topic), [
        ({ message }) => void replayed.add(replayMark(message)),
        async (each) => {
          const letter = letterOf(topic, each, replayed);
          if (letter) await visit(letter);
        },
      ]);
    },
    /**
     * Publishes the dead letter's event again, only for the group that failed, and marks the dead letter as replayed. Other groups skip the
     * event by its header, even if their inboxes have forgotten it. Rejects for a dead letter without a value.
     */
    async replay(topic: string, { position, facts, message }: StoredDeadLetter): Promise<void> {
      if (message.value === null) throw new Error(`The dead letter at ${position} has no value: ${facts.reason}`);
      await producer.send(topic, [toReplay(message, facts.group)]);
      await producer.send(deadLetterTopic(topic), [toReplayMark(message.key, position, new Date())]);
    },
    close: () => producer.close(),
  };
}

/** A message that was read from a topic. */
interface Read {
  /** The message's position in the topic: `<partition>:<offset>`. */
  position: string;
  message: KafkaMessage;
}

/** Returns the dead letter in a message; undefined if the message is something else, such as the mark of a replay. */
function letterOf(
  topic: string,
  { position, message }: Read,
  replayed: ReadonlySet<string | undefined>,
): StoredDeadLetter | undefined {
  const facts = deadLetterFacts(message);
  if (!facts) return undefined;
  const read = readEnvelope(topic, message);
  const event = read instanceof TypeError ? undefined : read;
  return { position, facts, event, wasReplayed: replayed.has(position), message };
}

/** Returns all messages of a topic up to its current end. */
export async function readTopic(connection: KafkaConnection, topic: string): Promise<Read[]> {
  const read: Read[] = [];
  await visitTopic(connection, topic, [(each) => void read.push(each)]);
  return read;
}

type Visit = (read: Read) => Promise<void> | void;

/**
 * Reads a topic up to its current end, once for each of `visits`; each visit receives one message after the other. kafkajs can read only as
 * a member of a group, so temporary groups are created and deleted.
 */
async function visitTopic(connection: KafkaConnection, topic: string, visits: Visit[]): Promise<void> {
  const admin = kafkaClient(connection, { retries: 5 }).admin();
  await admin.connect();
  try {
    const ends = new Map<number, bigint>();
    for (const { partition, high, low } of await admin.fetchTopicOffsets(topic)) {
      if (high !== low) ends.set(partition, BigInt(high));
    }
    if (ends.size === 0) return;
    for (const visit of visits) {
      const groupId = `dead-letters.${randomUUID()}`;
      await readUpTo(connection, topic, groupId, ends, visit);
      await admin.deleteGroups([groupId]);
    }
  } finally {
    await admin.disconnect();
  }
}

async function readUpTo(
  connection: KafkaConnection,
  topic: string,
  groupId: string,
  ends: ReadonlyMap<number, bigint>,
  visit: Visit,
): Promise<void> {
  const consumer = kafkaClient(connection, { retries: 5 }).consumer({
    groupId,
    maxWaitTimeInMs: 100,
    allowAutoTopicCreation: false,
  });
  const remaining = new Set(ends.keys());
  const done = Promise.withResolvers<void>();
  let isDone = false;
  const finish = (error?: unknown) => {
    isDone = true;
    if (error === undefined) done.resolve();
    else done.reject(error);
  };
  const stalled = setTimeout(
    () => finish(new Error(`Reading ${topic} has come no further for ${stalledMs} ms`)),
    stalledMs,
  );
  let hasBegun = false;
  consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
    if (hasBegun || !restart) finish(error); // otherwise kafkajs restarts the consumer, e.g. while a group coordinator is elected
  });
  try {
    await consumer.connect();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      async eachBatch({ batch, heartbeat }) {
        const end = ends.get(batch.partition) ?? 0n;
        try {
          for (const message of batch.messages) {
            if (isDone) return;
            hasBegun = true;
            stalled.refresh();
            if (BigInt(message.offset) < end)
              await visit({ position: `${batch.partition}:${message.offset}`, message });
            await heartbeat();
          }
        } catch (error) {
          finish(error); // otherwise kafkajs would read the batch again
          return;
        }
        if (BigInt(batch.lastOffset()) + 1n >= end) remaining.delete(batch.partition);
        if (remaining.size === 0) finish();
      },
    });
    await done.promise;
  } finally {
    clearTimeout(stalled);
    await consumer.disconnect();
  }
}
