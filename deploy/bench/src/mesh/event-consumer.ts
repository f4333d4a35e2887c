import { openDatabase } from '@parley/chassis/database/open';
import { eventConsumer } from '@parley/chassis/events/consumer';
import { once } from '@parley/chassis/events/inbox';
import { kafkaEventBus } from '@parley/chassis/events/kafka-event-bus';
import { serve } from '../gateway/child.ts';
import { quietLog } from '../quiet-log.ts';
import {
  decode,
  eventType,
  type Happening,
  plumbingOnly,
  poolSize,
  sharedNowMs,
  type Taken,
  topic,
} from './bench-events.ts';

// A consumer as services are: an event's effect commits together with its inbox mark, in a transaction of its own.
const { DATABASE_URL = '', KAFKA_BROKERS = '' } = process.env;
const database = openDatabase({ url: DATABASE_URL, schema: plumbingOnly('bench_consumer'), poolSize });
await database.migrate();
const bus = kafkaEventBus({ brokers: KAFKA_BROKERS.split(',') });

let numbers: number[] = [];
function tell(): void {
  process.send?.({ numbers, atMs: sharedNowMs() } satisfies Taken);
  numbers = [];
}

const consumer = eventConsumer<Record<typeof eventType, Happening>>({
  bus,
  group: 'bench',
  log: quietLog(),
  handlers: {
    [eventType]: {
      topic: topic.name,
      decode,
      async handle({ id, tenantId, data: { number, hasEffect } }) {
        if (hasEffect) await database.transact(tenantId, (db) => once(db, 'bench', id, async () => undefined));
        numbers.push(number);
        if (numbers.length === 1) setImmediate(tell); // those of one turn of the loop go together
      },
    },
  },
});
await consumer.start();

serve({
  hello: {},
  async stop() {
    await consumer.stop();
    await bus.close();
    await database.close();
  },
});
