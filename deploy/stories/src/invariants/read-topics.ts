import { kafkaClient } from '@parley/events/kafka-client';
import { kafkaDeadLetters, readTopic } from '@parley/events/kafka-dead-letters';
import { toEnvelope } from '@parley/events/kafka-message';
import type { Environment } from '@parley/kernel/settings/config';
import { topics } from '@parley/units';
import type { TopicFacts } from './facts.ts';

export const connectionOf = ({ KAFKA_BROKERS = '' }: Environment) => ({ brokers: KAFKA_BROKERS.split(',') });

/** Returns the lag of every consumer group. The function must be fast, because it is called again and again until a mesh is idle. */
export async function readLag(env: Environment): Promise<TopicFacts['groups']> {
  const admin = kafkaClient(connectionOf(env), { retries: 5 }).admin();
  await admin.connect();
  try {
    const { groups } = await admin.listGroups();
    const found: TopicFacts['groups'] = [];
    for (const { name: topic } of topics) {
      const ends = await admin.fetchTopicOffsets(topic);
      const suffix = `.${topic}`;
      for (const { groupId } of groups.filter((each) => each.groupId.endsWith(suffix))) {
        const [taken] = await admin.fetchOffsets({ groupId, topics: [topic] });
        const lag = ends.reduce((sum, { partition, high, low }) => {
          const offset = Number(taken?.partitions.find((each) => each.partition === partition)?.offset ?? -1);
          return sum + Number(high) - Math.max(offset, Number(low));
        }, 0);
        found.push({ group: groupId.slice(0, -suffix.length), topic, lag });
      }
    }
    return found;
  } finally {
    await admin.disconnect();
  }
}

/** Reads the content of all topics. */
export async function readTopics(env: Environment, poison: readonly string[]): Promise<TopicFacts> {
  const connection = connectionOf(env);
  const deadLetters = kafkaDeadLetters(connection);
  const found: TopicFacts = { events: [], letters: [], groups: [], poison };
  async function read(topic: string): Promise<void> {
    const [messages, stored] = await Promise.all([readTopic(connection, topic), deadLetters.list(topic)]);
    for (const { facts, event, wasReplayed } of stored) {
      const eventId = event?.id ?? `${facts.partition}:${facts.offset}`;
      if (!wasReplayed) found.letters.push({ topic, group: facts.group, eventId, reason: facts.reason });
    }
    for (const { message } of messages) {
      try {
        found.events.push(toEnvelope(topic, message));
      } catch {
        // The message is not an event. Its dead letter identifies it by partition and offset, because it has no event id.
      }
    }
  }
  try {
    await Promise.all(topics.map(({ name }) => read(name)));
    return { ...found, groups: await readLag(env) };
  } finally {
    await deadLetters.close();
  }
}
