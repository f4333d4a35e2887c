import { eventBusContract } from '@parley/testing/event-bus-contract';
import type { EventBus } from '../src/event-bus.ts';
import { deadLetterTopic } from '../src/event-bus.ts';
import { kafkaDeadLetters } from '../src/kafka-dead-letters.ts';
import { kafkaEventBus } from '../src/kafka-event-bus.ts';
import { makeTopics } from '../src/kafka-topics.ts';
import { usualRetentionMs } from '../src/topics.ts';
import { testBrokers as brokers, onKafka, partitions } from './support/kafka-test.ts';

onKafka((test) => {
  eventBusContract(test, 'Kafka', async (times) => {
    const buses: EventBus[] = [];
    const letters = kafkaDeadLetters({ brokers });
    return {
      async connect() {
        const bus = kafkaEventBus({ brokers, ...times });
        buses.push(bus);
        return bus;
      },
      createTopic: async (name) =>
        void (await makeTopics([{ name, partitions, retentionMs: usualRetentionMs }], { brokers })),
      deadLetters: async (topic) =>
        (await letters.list(topic)).flatMap(({ facts: { group, attempts, reason, time }, event }) =>
          event ? [{ topic: deadLetterTopic(topic), group, attempts, reason, time, event }] : [],
        ),
      async close() {
        await Promise.all([...buses.map((bus) => bus.close()), letters.close()]);
      },
    };
  });
});
