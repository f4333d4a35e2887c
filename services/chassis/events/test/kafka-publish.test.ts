import { readSettings } from '@parley/kernel/config';
import { processSettings } from '@parley/kernel/shared-settings';
import { eventually } from '@parley/testing/eventually';
import { pino } from 'pino';
import { kafkaEventBus } from '../src/kafka-event-bus.ts';
import { kafkaBusOf } from '../src/kafka-settings.ts';
import { kafkaLine } from './support/kafka-line.ts';
import { kafkaSetup, onKafka } from './support/kafka-test.ts';

onKafka((test) => {
  test('calls of one tick, one for each key as a relay makes them, leave in one request', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const line = kafkaLine();
    const bus = connect(line);
    await bus.publish([event('first')]);
    const before = line.produceRequests;
    const calls = Array.from({ length: 50 }, (_, key) => bus.publish([event(`${key}`), event(`${key}`)]));
    await Promise.all(calls);
    t.is(line.produceRequests - before, 1);
  });

  test('calls that come while a request is on its way go together with the next', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const line = kafkaLine();
    const bus = connect(line);
    await bus.publish([event('first')]);
    const before = line.produceRequests;
    const release = line.holdAnswers();
    const calls = [bus.publish([event('a')])];
    await eventually('the first is on its way', () => line.produceRequests > before);
    for (const key of ['b', 'c', 'd']) {
      calls.push(bus.publish([event(key)]));
      await new Promise(setImmediate);
    }
    release();
    await Promise.all(calls);
    t.is(line.produceRequests - before, 2);
  });

  test('an event that is too large for the broker holds up no other', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const bus = connect();
    const seen = new Set<string>();
    await bus.subscribe({ group: 'a', topics: [topic], handler: async ({ key }) => void seen.add(key) });
    const large = event('large', { data: new Uint8Array(1_200_000) });
    const outcomes = await Promise.allSettled([[event('1')], [large], [event('2')]].map((one) => bus.publish(one)));
    t.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    await eventually('the others have arrived', () => seen.size === 2);
  });

  test('a topic that is missing rejects within seconds and holds up no other', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const bus = connect();
    const missing = bus.publish([event('1', { topic: 'test-missing' })]);
    await bus.publish([event('1')]);
    t.like(await t.throwsAsync(missing), { kind: 'unavailable' });
    t.like(await t.throwsAsync(bus.publish([event('1'), event('1', { topic: 'test-missing' })])), {
      kind: 'unavailable',
    });
  });

  test('while Kafka is away publishing rejects within seconds, and works again when it is back', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const line = kafkaLine();
    const bus = connect(line);
    const seen = new Set<string>();
    await connect().subscribe({ group: 'a', topics: [topic], handler: async ({ id }) => void seen.add(id) });
    const [before, after] = [event('1'), event('1')];
    await bus.publish([before]);
    await bus.ping?.();
    line.cut();
    const cutAt = performance.now();
    await t.throwsAsync(bus.publish([event('1')]));
    await t.throwsAsync(bus.publish([event('2')]));
    t.like(await t.throwsAsync(async () => bus.ping?.()), { kind: 'unavailable' });
    t.true(performance.now() - cutAt < 30_000);
    line.restore();
    await eventually('it is published', () =>
      bus.publish([after]).then(
        () => true,
        () => false,
      ),
    );
    await bus.ping?.();
    await eventually('both have arrived', () => seen.has(before.id) && seen.has(after.id));
  });

  test('a line that carries nothing and does not end rejects within its time, and the next call takes another', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const line = kafkaLine();
    const bus = connect(line);
    await bus.publish([event('1')]);
    line.freeze();
    const frozenAt = performance.now();
    await bus.publish([event('1')]); // once more over a new connection, since the old one may have been idle
    t.true(performance.now() - frozenAt < 30_000);
  });

  test('a connection that ended while it was idle costs no rejection', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const line = kafkaLine();
    const bus = connect(line);
    await bus.publish([event('1')]);
    line.cut();
    line.restore();
    await t.notThrowsAsync(bus.publish([event('1')]));
  });

  test('a unit that starts while Kafka is away does not wait for it', async (t) => {
    const { topic } = await kafkaSetup(t);
    const log = pino({ level: 'silent' });
    const settings = readSettings({ KAFKA_BROKERS: '127.0.0.1:1' }, processSettings.kafka);
    const bus = kafkaBusOf(settings, log) ?? t.fail('it is configured');
    t.teardown(() => bus.close());
    const since = performance.now();
    await bus.subscribe({ group: 'a', topics: [topic], handler: async () => undefined });
    t.true(performance.now() - since < 5_000);
  });

  test('closing while Kafka is away ends within seconds', async (t) => {
    const { event, topic } = await kafkaSetup(t);
    const lines: string[] = [];
    const log = pino({ level: 'debug' }, { write: (text: string) => lines.push(text) });
    const bus = kafkaEventBus({ brokers: ['127.0.0.1:1'], log, joinTimeoutMs: 200 });
    await bus.subscribe({ group: 'a', topics: [topic], handler: async () => undefined });
    await t.throwsAsync(bus.publish([event('1')]));
    const closingAt = performance.now();
    await bus.close();
    t.true(performance.now() - closingAt < 30_000);
    t.false(
      lines.some((text) => /"level":(50|60)/.test(text)),
      'nothing of it is an error',
    );
  });
});
