import type { Environment } from '@parley/chassis/config';
import { readSettings } from '@parley/chassis/config';
import { kafkaClient } from '@parley/chassis/events/kafka-client';
import { kafkaDeadLetters, readTopic } from '@parley/chassis/events/kafka-dead-letters';
import { toEnvelope } from '@parley/chassis/events/kafka-message';
import { kafkaBrokers } from '@parley/chassis/events/kafka-settings';
import { topics } from '@parley/local/topics';
import type { TopicFacts } from './facts.ts';

/** What every group has still to take. Quick, for whoever asks again and again. */
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

/** All that the topics hold. */
export async function readTopics(env: Environment, poison: readonly string[]): Promise<TopicFacts> {
  const connection = connectionOf(env);
  const letters = kafkaDeadLetters(connection);
  try {
    const read = topics.map(async ({ name: topic }) => {
      const [messages, stored] = await Promise.all([readTopic(connection, topic), letters.list(topic)]);
      const given = stored.filter(({ wasReplayed }) => !wasReplayed);
      const lettersOf = given.map(({ facts: { group, reason, partition, offset }, event }) => ({
        topic,
        group,
        eventId: event?.id ?? `${partition}:${offset}`,
        reason,
      }));
      // What is no event at all is a dead letter by its place, which the consumer has seen to.
      const events = messages.flatMap(({ message }) => {
        try {
          const { id, key, type, tenantId } = toEnvelope(topic, message);
          return [{ topic, id, key, type, tenantId }];
        } catch {
          return [];
        }
      });
      return { events, letters: lettersOf };
    });
    const all = await Promise.all(read);
    return {
      events: all.flatMap(({ events }) => events),
      letters: all.flatMap((each) => each.letters),
      groups: await readLag(env),
      poison,
    };
  } finally {
    await letters.close();
  }
}

function connectionOf(env: Environment) {
  const { KAFKA_BROKERS: brokers } = readSettings(env, { KAFKA_BROKERS: kafkaBrokers });
  return { brokers };
}
