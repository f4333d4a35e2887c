import type { EventBus } from '../src/events/event-bus.ts';
import { deadLetterTopic } from '../src/events/event-bus.ts';
import { kafkaDeadLetters } from '../src/events/kafka-dead-letters.ts';
import { kafkaEventBus } from '../src/events/kafka-event-bus.ts';
import { makeTopics } from '../src/events/kafka-topics.ts';
import { usualRetentionMs } from '../src/events/topics.ts';
import { eventBusContract } from '../src/testing/event-bus-contract.ts';
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
