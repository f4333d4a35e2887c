import { eventConsumer } from '@parley/events/consumer';
import { kafkaEventBus } from '@parley/events/kafka-event-bus';
import { createLogger } from '@parley/kernel/telemetry/log';
import { once } from '@parley/postgres/outbox/inbox';
import { eventType, internalTablesOnly, sharedNowMs, topic } from '../events.ts';
import { serve } from '../processes.ts';

// A consumer like those of services: the effect of an event and its inbox mark commit in one transaction.
const { DATABASE_URL = '', KAFKA_BROKERS = '' } = process.env;
const database = internalTablesOnly(DATABASE_URL, 'bench_consumer');
await database.migrate();
const bus = kafkaEventBus({ brokers: KAFKA_BROKERS.split(',') });
const numbers: number[] = [];
const report = () => process.send?.({ numbers: numbers.splice(0), atMs: sharedNowMs() });

const consumer = eventConsumer<Record<typeof eventType, { number: number; hasEffect: boolean }>>({
  bus,
  group: 'bench',
  log: createLogger('bench'),
  handlers: {
    [eventType]: {
      topic: topic.name,
      decode: (data) => JSON.parse(Buffer.from(data).toString()),
      async handle({ id, tenantId, data: { number, hasEffect } }) {
        if (hasEffect) await database.transact(tenantId, (db) => once(db, 'bench', id, async () => undefined));
        numbers.push(number);
        if (numbers.length === 1) setImmediate(report); // sends one message for all events that this iteration of the event loop handles
      },
    },
  },
});
await consumer.start();
serve('up', async () => {
  await consumer.stop();
  for (const part of [bus, database]) await part.close();
});
