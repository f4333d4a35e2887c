import { eventually } from '@parley/testing/eventually';
import { kafkaNetwork } from './support/kafka-network.ts';
import { kafkaSetup, onKafka } from './support/kafka-test.ts';

const keys = ['1', '2', '3', '4', '5', '6'];

onKafka((test) => {
  test('broken connections to Kafka lose no event and keep the order of each key', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const network = kafkaNetwork();
    const taken = new Map<string, number[]>(keys.map((key) => [key, []]));
    const consumer = connect({ socketFactory: network.socketFactory });
    await consumer.subscribe({
      group: 'a',
      topics: [event('1').topic],
      async handler({ key, data }) {
        const number = new DataView(data.buffer, data.byteOffset).getInt32(0);
        const ofKey = taken.get(key) ?? [];
        if (!ofKey.includes(number)) ofKey.push(number);
      },
    });
    const bus = connect({ socketFactory: network.socketFactory });
    const over = new AbortController();
    /**
     * Each writer works as a relay does: it publishes the next event of its key after a success, and the same event again after a failure.
     */
    const writers = keys.map((key) => {
      const writer = { count: 0, refusals: 0, running: Promise.resolve() };
      const run = async () => {
        while (!over.signal.aborted) {
          const data = new Uint8Array(4);
          new DataView(data.buffer).setInt32(0, writer.count);
          await bus.publish([event(key, { id: `${key}-${writer.count}`, data })]).then(
            () => writer.count++,
            () => writer.refusals++,
          );
        }
      };
      writer.running = run();
      return writer;
    });
    t.teardown(() => over.abort());
    const acknowledged = () => writers.reduce((sum, { count }) => sum + count, 0);
    const effects = () => [...taken.values()].reduce((sum, ofKey) => sum + ofKey.length, 0);
    await eventually('events flow', () => effects() >= 100);
    for (let round = 0; round < 2; round++) {
      network.cut();
      const refused = () => writers.every(({ refusals }) => refusals > round);
      await eventually('publishing is refused', refused);
      const before = acknowledged();
      network.restore();
      await eventually('events flow again', () => acknowledged() >= before + 100, { timeoutMs: 40_000 });
    }
    over.abort();
    await Promise.all(writers.map(({ running }) => running));
    await eventually('all have taken effect', () => effects() >= acknowledged(), { timeoutMs: 80_000 });
    for (const [key, numbers] of taken) t.deepEqual(numbers, [...numbers.keys()], `the order of ${key}`);
  });

  test('a member that starts during an outage of Kafka consumes after it', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const network = kafkaNetwork();
    network.cut();
    const bus = connect({ joinTimeoutMs: 100, socketFactory: network.socketFactory });
    const taken: string[] = [];
    const given = event('1');
    await bus.subscribe({ group: 'a', topics: [given.topic], handler: async ({ id }) => void taken.push(id) });
    await t.throwsAsync(async () => bus.ping?.());
    network.restore();
    const publish = () =>
      bus.publish([given]).then(
        () => true,
        () => false,
      );
    await eventually('it publishes', publish, { timeoutMs: 40_000 });
    await eventually('it consumes', () => taken.includes(given.id), { timeoutMs: 40_000 });
    await bus.ping?.();
  });
});
