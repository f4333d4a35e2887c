import { eventually } from '@parley/testing/eventually';
import { kafkaLine } from './support/kafka-line.ts';
import { kafkaSetup, onKafka } from './support/kafka-test.ts';

const keys = ['1', '2', '3', '4', '5', '6'];

onKafka((test) => {
  test('lines to Kafka that are cut among events lose none, and the order of each key stays', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const line = kafkaLine();
    const taken = new Map<string, number[]>(keys.map((key) => [key, []]));
    const consumer = connect({ socketFactory: line.socketFactory });
    await consumer.subscribe({
      group: 'a',
      topics: [event('1').topic],
      async handler({ key, data }) {
        const number = new DataView(data.buffer, data.byteOffset).getInt32(0);
        const ofKey = taken.get(key) ?? [];
        if (!ofKey.includes(number)) ofKey.push(number);
      },
    });
    const bus = connect({ socketFactory: line.socketFactory });
    const over = new AbortController();
    /** As a relay does: the next event of a key when this one was taken, else the same again. */
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
      line.cut();
      const refused = () => writers.every(({ refusals }) => refusals > round);
      await eventually('publishing is refused', refused);
      const before = acknowledged();
      line.restore();
      await eventually('events flow again', () => acknowledged() >= before + 100, { timeoutMs: 40_000 });
    }
    over.abort();
    await Promise.all(writers.map(({ running }) => running));
    await eventually('all have taken effect', () => effects() >= acknowledged(), { timeoutMs: 40_000 });
    for (const [key, numbers] of taken) t.deepEqual(numbers, [...numbers.keys()], `the order of ${key}`);
  });

  test('who starts while Kafka is away takes its part when it is there', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const line = kafkaLine();
    line.cut();
    const bus = connect({ joinTimeoutMs: 100, socketFactory: line.socketFactory });
    const taken: string[] = [];
    const given = event('1');
    await bus.subscribe({ group: 'a', topics: [given.topic], handler: async ({ id }) => void taken.push(id) });
    await t.throwsAsync(async () => bus.ping?.());
    line.restore();
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
