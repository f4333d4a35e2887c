import { randomUUID } from 'node:crypto';
import { leftOut } from '@parley/testing/left-out';
import test, { type ExecutionContext, type TestFn } from 'ava';
import type { Envelope } from '../../src/envelope.ts';
import { kafkaDeadLetters, type StoredDeadLetter } from '../../src/kafka-dead-letters.ts';
import { type KafkaEventBusOptions, kafkaEventBus } from '../../src/kafka-event-bus.ts';
import { makeTopics } from '../../src/kafka-topics.ts';
import { usualRetentionMs } from '../../src/topics.ts';

/** The brokers that TEST_KAFKA_BROKERS names; empty if it names none. */
export const testBrokers = (process.env['TEST_KAFKA_BROKERS'] ?? '').split(',').filter(Boolean);

/** Runs tests on the brokers of TEST_KAFKA_BROKERS. Without brokers the tests are skipped; if `CI` is set, this counts as a failure. */
export function onKafka(define: (test: TestFn) => void): void {
  if (testBrokers.length > 0) define(test);
  else
    leftOut('Kafka - left out: TEST_KAFKA_BROKERS is not set (scripts/servers up --only kafka; scripts/servers env)');
}

export const partitions = 3;

/** Makes a topic for this test, events for the topic, and connections that close with the test. */
export async function kafkaSetup(t: ExecutionContext, brokers = testBrokers) {
  const topic = `test-${randomUUID()}`;
  await makeTopics([{ name: topic, partitions, retentionMs: usualRetentionMs }], { brokers });
  const letters = kafkaDeadLetters({ brokers });
  t.teardown(() => letters.close());
  return {
    topic,
    connect(options: Partial<KafkaEventBusOptions> = {}) {
      const bus = kafkaEventBus({ brokers, backoffMs: () => 1, ...options });
      t.teardown(() => bus.close());
      return bus;
    },
    event: (key: string, rest: Partial<Envelope> = {}): Envelope => ({
      id: randomUUID(),
      topic,
      type: 'test.happened.v1',
      source: 'test',
      key,
      tenantId: 7,
      time: new Date(1_000),
      data: new Uint8Array([1]),
      ...rest,
    }),
    letters: () => letters.list(topic),
    forEachLetter: (visit: (letter: StoredDeadLetter) => Promise<void> | void) => letters.forEach(topic, visit),
    replay: letters.replay,
  };
}
