import { readSettings } from '@parley/kernel/settings/config';
import { eventSettings } from '@parley/kernel/settings/shared-settings';
import { eventually } from '@parley/testing/eventually';
import { pino } from 'pino';
import { kafkaEventBus } from '../src/kafka-event-bus.ts';
import { kafkaBusOf } from '../src/kafka-settings.ts';
import { kafkaNetwork } from './support/kafka-network.ts';
import { kafkaSetup, onKafka } from './support/kafka-test.ts';

onKafka((test) => {
  test('calls of one tick, one for each key as of a relay, share a request', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const network = kafkaNetwork();
    const bus = connect(network);
    await bus.publish([event('first')]);
    const before = network.produceRequests;
    const calls = Array.from({ length: 50 }, (_, key) => bus.publish([event(`${key}`), event(`${key}`)]));
    await Promise.all(calls);
    t.is(network.produceRequests - before, 1);
  });

  test('calls during a request share the next one', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const network = kafkaNetwork();
    const bus = connect(network);
    await bus.publish([event('first')]);
    const before = network.produceRequests;
    const release = network.holdResponses();
    const calls = [bus.publish([event('a')])];
    await eventually('the first is in flight', () => network.produceRequests > before);
    for (const key of ['b', 'c', 'd']) {
      calls.push(bus.publish([event(key)]));
      await new Promise(setImmediate);
    }
    release();
    await Promise.all(calls);
    t.is(network.produceRequests - before, 2);
  });

  test('an event that is too large for the broker delays no other', async (t) => {
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

  test('a missing topic rejects within seconds and delays no other', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const bus = connect();
    const missing = bus.publish([event('1', { topic: 'test-missing' })]);
    await bus.publish([event('1')]);
    t.like(await t.throwsAsync(missing), { kind: 'unavailable' });
    t.like(await t.throwsAsync(bus.publish([event('1'), event('1', { topic: 'test-missing' })])), {
      kind: 'unavailable',
    });
  });

  test('publishing rejects within seconds during an outage, and works after it', async (t) => {
    const { connect, event, topic } = await kafkaSetup(t);
    const network = kafkaNetwork();
    const bus = connect(network);
    const seen = new Set<string>();
    await connect().subscribe({ group: 'a', topics: [topic], handler: async ({ id }) => void seen.add(id) });
    const [before, after] = [event('1'), event('1')];
    await bus.publish([before]);
    await bus.ping?.();
    network.cut();
    const cutAt = performance.now();
    await t.throwsAsync(bus.publish([event('1')]));
    await t.throwsAsync(bus.publish([event('2')]));
    t.like(await t.throwsAsync(async () => bus.ping?.()), { kind: 'unavailable' });
    t.true(performance.now() - cutAt < 30_000);
    network.restore();
    await eventually('it is published', () =>
      bus.publish([after]).then(
        () => true,
        () => false,
      ),
    );
    await bus.ping?.();
    await eventually('both have arrived', () => seen.has(before.id) && seen.has(after.id));
  });

  test('a frozen connection times out, and the event is published over a new one', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const network = kafkaNetwork();
    const bus = connect(network);
    await bus.publish([event('1')]);
    network.freeze();
    const frozenAt = performance.now();
    await bus.publish([event('1')]); // retried on a new connection, because the broker may have closed an idle one
    t.true(performance.now() - frozenAt < 30_000);
  });

  test('a connection that ended while it was idle costs no rejection', async (t) => {
    const { connect, event } = await kafkaSetup(t);
    const network = kafkaNetwork();
    const bus = connect(network);
    await bus.publish([event('1')]);
    network.cut();
    network.restore();
    await t.notThrowsAsync(bus.publish([event('1')]));
  });

  test('a unit starts during an outage of Kafka without waiting for it', async (t) => {
    const { topic } = await kafkaSetup(t);
    const log = pino({ level: 'silent' });
    const settings = readSettings({ KAFKA_BROKERS: '127.0.0.1:1' }, eventSettings.kafka);
    const bus = kafkaBusOf(settings, log) ?? t.fail('it is configured');
    t.teardown(() => bus.close());
    const since = performance.now();
    await bus.subscribe({ group: 'a', topics: [topic], handler: async () => undefined });
    t.true(performance.now() - since < 5_000);
  });

  test('closing during an outage of Kafka ends within seconds', async (t) => {
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
      'no network has level error',
    );
  });
});
