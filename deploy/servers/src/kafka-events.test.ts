import { randomUUID } from 'node:crypto';
import type { Envelope } from '@parley/chassis/events/envelope';
import type { EventBus } from '@parley/chassis/events/event-bus';
import { kafkaEventBus } from '@parley/chassis/events/kafka-event-bus';
import { makeTopics } from '@parley/chassis/events/kafka-topics';
import { eventually } from '@parley/chassis/testing/eventually';
import type { ExecutionContext } from 'ava';
import { startServers } from './start-servers.ts';
import { serverTest } from './testing/server-test.ts';

const keys = ['1', '2', '3', '4', '5', '6'];

serverTest(['kafka'], 'Kafka killed and started again loses nothing, and keeps the order of each key', async (t) => {
  const { server, connect, topic } = await broker(t);
  const consumer = connect();
  const taken = new Map<string, number[]>(keys.map((key) => [key, []]));
  let deliveries = 0;
  await consumer.subscribe({
    group: 'a',
    topics: [topic],
    async handler({ key, data }) {
      deliveries++;
      const number = new DataView(data.buffer, data.byteOffset).getInt32(0);
      const ofKey = taken.get(key) ?? [];
      if (!ofKey.includes(number)) ofKey.push(number);
    },
  });
  const bus = connect();
  const writers = keys.map((key) => write(bus, topic, key));
  const acknowledged = () => writers.reduce((sum, { count }) => sum + count(), 0);
  const effects = () => [...taken.values()].reduce((sum, ofKey) => sum + ofKey.length, 0);
  await eventually('events flow', () => effects() >= 100);

  for (let round = 0; round < 2; round++) {
    await server.kill();
    const refused = await eventually('publishing is refused', () =>
      writers.every(({ refusals }) => refusals() > round),
    );
    t.true(refused);
    const before = acknowledged();
    await server.start();
    await eventually('events flow again', () => acknowledged() >= before + 100, { timeoutMs: 40_000 });
  }
  for (const writer of writers) await writer.stop();
  await eventually('all have taken effect', () => effects() >= acknowledged(), { timeoutMs: 40_000 });
  for (const [key, numbers] of taken) {
    t.deepEqual(
      numbers,
      numbers.map((_, index) => index),
      `the order of ${key}`,
    );
  }
  t.log(`${acknowledged()} acknowledged, ${deliveries} deliveries`);
});

serverTest(['kafka'], 'who starts while Kafka is away takes its part when it is there', async (t) => {
  const { server, connect, topic } = await broker(t);
  await server.stop();
  const bus = connect({ joinTimeoutMs: 100 });
  const taken: string[] = [];
  await bus.subscribe({ group: 'a', topics: [topic], handler: async ({ id }) => void taken.push(id) });
  await t.throwsAsync(async () => bus.ping?.());
  await server.start();
  const writer = write(bus, topic, '1');
  await eventually('events flow', () => taken.length >= 5, { timeoutMs: 40_000 });
  await bus.ping?.();
  await writer.stop();
  t.pass();
});

async function broker(t: ExecutionContext) {
  const servers = await startServers({ only: ['kafka'] });
  t.teardown(() => servers.stop());
  const brokers = (servers.env['KAFKA_BROKERS'] ?? '').split(',');
  const topic = `test-${randomUUID()}`;
  await makeTopics([{ name: topic, partitions: 3, retentionMs: 3_600_000 }], { brokers });
  return {
    topic,
    server: servers.server('kafka'),
    connect(options: { joinTimeoutMs?: number } = {}) {
      const bus = kafkaEventBus({ brokers, ...options });
      t.teardown(() => bus.close());
      return bus;
    },
  };
}

/** Publishes numbered events of one key as a relay does: the next when this one was taken, else the same again. */
function write(bus: EventBus, topic: string, key: string) {
  let number = 0;
  let refusals = 0;
  const stopping = new AbortController();
  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await bus.publish([event(topic, key, number)]);
        number++;
      } catch {
        refusals++;
      }
    }
  }
  const running = run();
  return {
    count: () => number,
    refusals: () => refusals,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

function event(topic: string, key: string, number: number): Envelope {
  const data = new Uint8Array(4);
  new DataView(data.buffer).setInt32(0, number);
  const id = `${key}-${number}`;
  return { id, topic, type: 'test.happened.v1', source: 'test', key, tenantId: 1, time: new Date(0), data };
}
