import { type Environment, readSettings } from '@parley/chassis/config';
import { readTopic } from '@parley/chassis/events/kafka-dead-letters';
import { kafkaProducer } from '@parley/chassis/events/kafka-producer';
import { kafkaBrokers } from '@parley/chassis/events/kafka-settings';
import { topics } from '@parley/local/topics';

/** Where the topics of a mesh are. */
export function kafkaOf(env: Environment) {
  const { KAFKA_BROKERS: brokers } = readSettings(env, { KAFKA_BROKERS: kafkaBrokers });
  return { brokers };
}

/** Publishes all that the topics hold so many times more, in no order. Answers how many messages that were. */
export async function deliverAgain(env: Environment, times: number): Promise<number> {
  const connection = kafkaOf(env);
  const producer = kafkaProducer(connection);
  try {
    let count = 0;
    for (const { name: topic } of topics) {
      const read = await readTopic(connection, topic);
      const copies = Array.from({ length: times }, () => read).flat();
      const messages = copies.map(({ message: { key, value, headers = {} } }) => ({ key, value, headers }));
      if (messages.length > 0) await producer.send(topic, shuffled(messages));
      count += messages.length;
    }
    return count;
  } finally {
    await producer.close();
  }
}

function shuffled<T>(items: T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item);
}
