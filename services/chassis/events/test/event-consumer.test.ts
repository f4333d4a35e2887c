import { context as otel, propagation, trace } from '@opentelemetry/api';
import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { readSettings } from '@parley/kernel/settings/config';
import { tracingSettings } from '@parley/kernel/settings/shared-settings';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import { registerTracing } from '@parley/kernel/telemetry/tracing-sdk';
import test from 'ava';
import { pino } from 'pino';
import { eventConsumer } from '../src/consumer.ts';
import type { Envelope } from '../src/envelope.ts';
import type { DeadLetter } from '../src/event-bus.ts';
import { inProcessEventBus } from '../src/in-process-event-bus.ts';

const ended: ReadableSpan[] = [];
const recorder: SpanProcessor = {
  onStart: () => undefined,
  onEnd: (span) => void ended.push(span),
  forceFlush: async () => undefined,
  shutdown: async () => undefined,
};
registerTracing(readSettings({}, tracingSettings), [recorder]);

function setup() {
  const letters: DeadLetter[] = [];
  const lines: string[] = [];
  const bus = inProcessEventBus({
    backoffMs: () => 0,
    deadLetters: { append: async (letter) => void letters.push(letter) },
  });
  const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(line) });
  const event = (rest: Partial<Envelope>): Envelope => ({
    id: crypto.randomUUID(),
    topic: 'greeted',
    type: 'person.greeted.v1',
    source: 'test',
    key: '5',
    tenantId: 3,
    time: new Date(1_000),
    data: new TextEncoder().encode('{"name":"Ada"}'),
    ...rest,
  });
  return { bus, log, event, letters, lines };
}

function decode(data: Uint8Array): { name: string } {
  return JSON.parse(new TextDecoder().decode(data));
}

test('a handler gets the envelope and the decoded payload, from start to stop', async (t) => {
  const { bus, log, event } = setup();
  const seen: unknown[] = [];
  const part = eventConsumer({
    bus,
    group: 'greeter',
    log,
    handlers: { 'person.greeted.v1': { topic: 'greeted', decode, handle: async (one) => seen.push(one) } },
  });
  const sent = event({});
  await bus.publish([event({ id: 'before the start' })]);
  await part.start();
  await bus.publish([sent]);
  await part.stop();
  await t.throwsAsync(bus.publish([event({})]), undefined, 'it waits for the next start');
  t.deepEqual(seen, [{ id: sent.id, tenantId: 3, key: '5', time: new Date(1_000), data: { name: 'Ada' } }]);
});

test('an event type without a handler is skipped, and logged at debug', async (t) => {
  const { bus, log, event, letters, lines } = setup();
  const handle = async () => t.fail('not for this one');
  await eventConsumer({
    bus,
    group: 'greeter',
    log,
    handlers: { 'person.greeted.v1': { topic: 'greeted', decode, handle } },
  }).start();
  await bus.publish([event({ type: 'person.greeted.v2' }), event({ type: 'toString' })]);
  t.is(letters.length, 0);
  t.is(lines.filter((line) => line.includes('person.greeted.v2') && line.includes('"level":20')).length, 1);
});

test('a payload that cannot be decoded goes to the dead letters, and is counted', async (t) => {
  const { bus, log, event, letters } = setup();
  const metrics = createMetrics('greeter');
  const givenUp = async () => /^parley_events_given_up_total{.*} (\d+)$/m.exec(await metrics.registry.metrics())?.[1];
  const handle = async () => t.fail('not for this one');
  await eventConsumer({
    bus,
    group: 'greeter',
    log,
    metrics,
    maxAttempts: 2,
    handlers: { 'person.greeted.v1': { topic: 'greeted', decode, handle } },
  }).start();
  t.is(await givenUp(), '0', 'alerts see the first one only if there was a value before');
  await bus.publish([event({ data: new TextEncoder().encode('{') })]);
  t.like(letters, [{ group: 'greeter', attempts: 2 }]);
  t.is(await givenUp(), '1');
});

test('an event is handled in a trace of its own, linked to the one that caused it', async (t) => {
  const { bus, log, event } = setup();
  let inside: string | undefined;
  const handle = async () => {
    inside = trace.getActiveSpan()?.spanContext().traceId;
  };
  await eventConsumer({
    bus,
    group: 'greeter',
    log,
    handlers: { 'person.greeted.v1': { topic: 'greeted', decode, handle } },
  }).start();

  const carrier: { traceparent?: string } = {};
  const cause = trace.getTracer('test').startSpan('cause');
  propagation.inject(trace.setSpan(otel.active(), cause), carrier);
  const sent = event(carrier);
  await otel.with(trace.setSpan(otel.active(), cause), () => bus.publish([sent]));

  const span = ended.find(({ attributes }) => attributes['messaging.message.id'] === sent.id);
  t.is(span?.spanContext().traceId, inside);
  t.not(inside, cause.spanContext().traceId);
  t.is(span?.links[0]?.context.traceId, cause.spanContext().traceId);
  t.is(span?.links[0]?.context.spanId, cause.spanContext().spanId);
});

test('an event goes to the dead letters only while the database of its consumer answers', async (t) => {
  const { bus, log, event, letters } = setup();
  let isDown = true;
  let attempts = 0;
  const part = eventConsumer({
    bus,
    group: 'greeter',
    log,
    database: {
      async ping() {
        if (isDown) throw new Error('it does not answer');
      },
    },
    handlers: {
      'person.greeted.v1': {
        topic: 'greeted',
        decode,
        async handle() {
          attempts += 1;
          if (attempts === 20) isDown = false;
          throw new Error('not handled');
        },
      },
    },
  });
  await part.start();
  await bus.publish([event({})]);
  await part.stop();
  t.is(attempts, 19 + 5);
  t.is(letters[0]?.attempts, 5);
});

test('metrics have the partitions of each topic that it holds, from start on', async (t) => {
  const { log } = setup();
  const metrics = createMetrics('greeter');
  const partitions = () => new Map([['greeted', 0]]);
  const part = eventConsumer({
    bus: { ...setup().bus, subscribe: async () => ({ stop: async () => undefined, partitions }) },
    group: 'greeter',
    log,
    metrics,
    handlers: { 'person.greeted.v1': { topic: 'greeted', decode, handle: async () => undefined } },
  });
  const held = async () => /^parley_consumer_partitions\{.*$/mu.exec(await metrics.registry.metrics())?.[0];
  t.is(await held(), undefined);
  await part.start();
  t.is(await held(), 'parley_consumer_partitions{topic="greeted",unit="greeter"} 0');
});
