import { randomUUID } from 'node:crypto';
import type { AttemptTimes } from '@parley/events/attempts';
import type { Envelope } from '@parley/events/envelope';
import { type DeadLetter, deadLetterTopic, type EventBus } from '@parley/events/event-bus';
import { unavailable } from '@parley/kernel/errors';
import type { ExecutionContext, TestFn } from 'ava';
import { eventually } from './eventually.ts';
import { createGate } from './gate.ts';

export interface EventBusHarness {
  /** Opens a connection, as another process would; an in-process bus has only one connection. */
  connect(): Promise<EventBus>;
  /** Creates a topic and its dead-letter topic, if the engine requires that. */
  createTopic(topic: string): Promise<void>;
  /** Returns the dead letters of a topic so far. */
  deadLetters(topic: string): Promise<DeadLetter[]>;
  /** Ends the bus and all its connections. */
  close(): Promise<void>;
}

/** The pauses between attempts are short in these tests. */
const times: AttemptTimes = { backoffMs: () => 1 };

/** The contract of every event bus, tested on the buses that `make` returns. */
export function eventBusContract(
  test: TestFn,
  name: string,
  make: (times: AttemptTimes) => Promise<EventBusHarness>,
): void {
  async function setup(t: ExecutionContext, attemptTimes: AttemptTimes = times) {
    const harness = await make(attemptTimes);
    t.teardown(() => harness.close());
    const topic = `test-${randomUUID()}`;
    await harness.createTopic(topic);
    const event = (key: string, rest: Partial<Envelope> = {}): Envelope => ({
      id: randomUUID(),
      topic,
      type: 'test.happened.v1',
      source: 'test',
      key,
      tenantId: 7,
      time: new Date('2026-01-02T03:04:05.678Z'),
      data: new Uint8Array([0, 1, 254, 255]),
      ...rest,
    });
    const letters = () => harness.deadLetters(topic);
    return { producer: await harness.connect(), consumer: await harness.connect(), topic, event, letters };
  }

  test(`${name}: an event arrives unchanged`, async (t) => {
    const { producer, consumer, topic, event } = await setup(t);
    const sent = [
      event('1', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }),
      event('2', { tenantId: 2_147_483_647, type: 'é.v1', data: new Uint8Array() }),
    ];
    const got = new Map<string, Envelope>();
    await consumer.subscribe({ group: 'a', topics: [topic], handler: async (one) => void got.set(one.id, one) });
    await producer.publish(sent);
    await eventually('both have arrived', () => got.size === 2);
    for (const one of sent) t.deepEqual(plain(got.get(one.id)), plain(one));
  });

  test(`${name}: every group gets every event, and the members of one group share them`, async (t) => {
    const { producer, consumer, topic, event } = await setup(t);
    const effects = { alone: new Set<string>(), shared: new Set<string>() };
    const record = (group: 'alone' | 'shared') => async (one: Envelope) => void effects[group].add(one.id);
    await consumer.subscribe({ group: 'alone', topics: [topic], handler: record('alone') });
    await consumer.subscribe({ group: 'shared', topics: [topic], handler: record('shared') });
    await producer.subscribe({ group: 'shared', topics: [topic], handler: record('shared') });
    const sent = Array.from({ length: 50 }, (_, n) => event(String(n)));
    await publish(producer, sent);
    await eventually('both groups have all', () => effects.alone.size === 50 && effects.shared.size === 50);
    t.deepEqual([...effects.alone].toSorted(), sent.map(({ id }) => id).toSorted());
  });

  test(`${name}: events of one key are handled in order, those of other keys concurrently within the limit`, async (t) => {
    const { producer, consumer, topic, event } = await setup(t);
    const handled = new Map<string, string[]>();
    const busy = new Set<string>();
    const company = createGate();
    let peak = 0;
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      concurrency: 4,
      async handler({ id, key }) {
        t.false(busy.has(key), 'two of one key at once');
        busy.add(key);
        peak = Math.max(peak, busy.size);
        if (busy.size > 1) company.open(); // the first event waits until another key is handled at the same time
        await company.pass();
        await new Promise(setImmediate);
        handled.set(key, [...(handled.get(key) ?? []), id]);
        busy.delete(key);
      },
    });
    const sent = Array.from({ length: 400 }, (_, n) => event(`key ${n % 20}`));
    // Four concurrent relays, each with its own keys and several events of each key in one batch.
    await Promise.all(
      [0, 1, 2, 3].map((relay) =>
        publish(
          producer,
          sent.filter((_, n) => (n % 20) % 4 === relay),
        ),
      ),
    );
    await eventually('all are handled', () => [...handled.values()].flat().length === 400);
    for (const [key, ids] of handled) {
      t.deepEqual(
        ids,
        sent.filter((one) => one.key === key).map(({ id }) => id),
      );
    }
    t.true(peak > 1 && peak <= 4, `${peak} at once`);
  });

  test(`${name}: each event delivered five times, shuffled, takes effect once`, async (t) => {
    const { producer, consumer, topic, event } = await setup(t);
    const inbox = new Set<string>();
    let deliveries = 0;
    let effects = 0;
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      async handler({ id }) {
        deliveries++;
        if (inbox.has(id)) return;
        inbox.add(id);
        effects++;
      },
    });
    const sent = Array.from({ length: 40 }, (_, n) => event(String(n % 7)));
    const shuffled = [sent, sent, sent, sent, sent].flat().map((one) => ({ one, at: Math.random() }));
    shuffled.sort((a, b) => a.at - b.at);
    for (let n = 0; n < shuffled.length; n += 9) await producer.publish(shuffled.slice(n, n + 9).map(({ one }) => one));
    await eventually('all have been delivered', () => deliveries >= 200);
    t.is(effects, 40);
  });

  for (const when of ['before', 'after'] as const) {
    test(`${name}: an event whose consumer dies ${when} its effect is handled by the next one`, async (t) => {
      const { producer, consumer, topic, event, letters } = await setup(t);
      const inbox = new Set<string>();
      let effects = 0;
      const take = ({ id }: Envelope) => {
        if (!inbox.has(id)) effects++;
        inbox.add(id);
      };
      const entered = createGate();
      const dying = await consumer.subscribe({
        group: 'a',
        topics: [topic],
        maxAttempts: 1,
        handlerTimeoutMs: 3_000, // longer than the time until the process stops
        async handler(one) {
          if (when === 'after') take(one);
          entered.release();
          await new Promise(() => undefined); // as if the member's process had been killed
        },
      });
      const sent = [event('1'), event('1'), event('2')];
      const relayed = publish(producer, sent);
      await entered.pass();
      await dying.stop();
      const seen: string[] = [];
      await consumer.subscribe({
        group: 'a',
        topics: [topic],
        async handler(one) {
          seen.push(one.id);
          take(one);
        },
      });
      await relayed;
      await eventually('all have taken effect', () => inbox.size === 3 && seen.length >= 3);
      t.is(effects, 3);
      const ofKey = [...new Set(seen)].filter((id) => id !== sent[2]?.id);
      t.deepEqual(ofKey, [sent[0]?.id, sent[1]?.id], 'in order');
      t.deepEqual(await letters(), [], 'an attempt that was cut short is no failure');
    });
  }

  test(`${name}: a failing handler is retried, and a later success makes no dead letter`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t);
    let attempts = 0;
    const handler = async () => {
      attempts++;
      if (attempts < 3) throw new Error('not yet');
    };
    await consumer.subscribe({ group: 'a', topics: [topic], handler });
    await producer.publish([event('1')]);
    await eventually('the third attempt has been made', () => attempts === 3);
    t.deepEqual(await letters(), []);
  });

  test(`${name}: a poison event becomes a dead letter with its reason, and later events are handled`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t);
    const poison = event('1');
    const handled = new Set<string>();
    const other = new Set<string>();
    let attempts = 0;
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 3,
      async handler({ id }) {
        if (id !== poison.id) return void handled.add(id);
        attempts++;
        throw new TypeError('cannot read it');
      },
    });
    await consumer.subscribe({ group: 'b', topics: [topic], handler: async ({ id }) => void other.add(id) });
    await publish(producer, [event('1'), poison, event('1'), event('2')]);
    await eventually('the others are handled', () => handled.size === 3 && other.size === 4);
    const [letter, ...more] = await eventually('the letter is there', async () =>
      (await letters()).length ? letters() : undefined,
    );
    t.is(more.length, 0);
    t.is(attempts, 3);
    t.like(letter, { topic: deadLetterTopic(topic), group: 'a', attempts: 3, reason: 'TypeError: cannot read it' });
    t.deepEqual(plain(letter?.event), plain(poison));
  });

  test(`${name}: a handler that hangs is aborted at its timeout, and its key continues`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t);
    const hanging = event('1');
    const handled = new Set<string>();
    const signals: AbortSignal[] = [];
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 2,
      handlerTimeoutMs: 30,
      async handler({ id }, signal) {
        if (id !== hanging.id) return void handled.add(id);
        signals.push(signal);
        await new Promise(() => undefined);
      },
    });
    await publish(producer, [hanging, event('1'), event('2')]);
    await eventually('the others are handled', () => handled.size === 2);
    const [letter] = await eventually('the letter is there', async () =>
      (await letters()).length ? letters() : undefined,
    );
    t.like(letter, { group: 'a', attempts: 2, event: { id: hanging.id } });
    t.regex(letter?.reason ?? '', /longer than 30 ms/);
    t.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, true],
    );
  });

  test(`${name}: a handler that throws unavailable is retried until it succeeds, blocks its key only, and makes no dead letter`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t, { ...times, perEventMs: 300 });
    const handled: string[] = [];
    const outage = performance.now() + 400;
    let attempts = 0;
    let away = true;
    const waiting = Array.from({ length: 5 }, (_, n) => event(`away ${n}`));
    const behind = event('away 0');
    const others = Array.from({ length: 5 }, (_, n) => event(`here ${n}`));
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      concurrency: 2,
      maxAttempts: 2,
      async handler({ id, key }) {
        if (key.startsWith('away')) attempts++;
        if (key.startsWith('away') && away) throw unavailable('The database is not available');
        handled.push(id);
      },
    });
    const published = publish(producer, [...waiting, behind, ...others]);
    await eventually('the other keys are handled', () => others.every(({ id }) => handled.includes(id)));
    await eventually('more attempts and time than one event has', () => attempts > 20 && performance.now() > outage);
    t.is(handled.length, others.length);
    away = false;
    await published;
    await eventually('all are handled', () => handled.length === 11);
    t.true(handled.indexOf(waiting[0]?.id ?? '') < handled.indexOf(behind.id), 'in order');
    t.deepEqual(await letters(), []);
  });

  test(`${name}: a handler that commits after its timeout has handled the event, without a concurrent attempt`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t);
    const slow = event('1');
    const behind = event('1');
    const handled: string[] = [];
    let attempts = 0;
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 1,
      handlerTimeoutMs: 200,
      async handler({ id }, signal) {
        if (id === slow.id) {
          attempts++;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        }
        handled.push(id);
      },
    });
    await publish(producer, [slow, behind]);
    await eventually('both are handled', () => handled.length === 2);
    t.deepEqual(handled, [slow.id, behind.id]);
    t.is(attempts, 1);
    t.deepEqual(await letters(), []);
  });

  test(`${name}: during an outage of what handlers need no event becomes a dead letter, and all are handled afterwards`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t, { ...times, perEventMs: 300 });
    const handled = new Set<string>();
    const outage = performance.now() + 400;
    let attempts = 0;
    let away = true;
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 2,
      isUnavailable: async () => away,
      async handler({ id }) {
        attempts++;
        if (away) throw new Error('it is away');
        handled.add(id);
      },
    });
    const published = publish(producer, [event('1'), event('1'), event('2')]);
    await eventually('more attempts and time than one event has', () => attempts > 10 && performance.now() > outage);
    away = false;
    await published;
    await eventually('all are handled', () => handled.size === 3);
    t.deepEqual(await letters(), []);
  });

  test(`${name}: all attempts at one event share one time limit`, async (t) => {
    const { producer, consumer, topic, event, letters } = await setup(t, { ...times, perEventMs: 100 });
    let handled = false;
    const hanging = event('1');
    await consumer.subscribe({
      group: 'a',
      topics: [topic],
      maxAttempts: 1_000_000,
      handlerTimeoutMs: 60_000,
      async handler({ id }) {
        if (id === hanging.id) await new Promise(() => undefined);
        handled = true;
      },
    });
    await publish(producer, [hanging, event('1')]);
    await eventually('the key has moved on', () => handled);
    t.is((await letters()).length, 1);
  });

  test(`${name}: events that arrive while a group has no member wait for its next one`, async (t) => {
    const { producer, consumer, topic, event } = await setup(t);
    const seen: string[] = [];
    const options = { group: 'a', topics: [topic], handler: async ({ id }: Envelope) => void seen.push(id) };
    const first = await consumer.subscribe(options);
    await publish(producer, [event('1', { id: 'one' })]);
    await eventually('the first is handled', () => seen.includes('one'));
    await first.stop();
    await first.stop();
    const waiting = publish(producer, [event('1', { id: 'two' })]);
    await consumer.subscribe(options);
    await waiting;
    await eventually('the second is handled', () => seen.includes('two'));
    t.is(seen.filter((id) => id === 'two').length, 1);
  });

  test(`${name}: a closed connection refuses further calls`, async (t) => {
    const { producer, topic, event } = await setup(t);
    await producer.ping?.();
    await producer.close();
    await t.throwsAsync(producer.publish([event('1')]));
    await t.throwsAsync(producer.subscribe({ group: 'a', topics: [topic], handler: async () => undefined }));
  });
}

/** Publishes as the relay does: retries until the bus has accepted all events. */
async function publish(bus: EventBus, events: Envelope[]): Promise<void> {
  await eventually('the events are published', () =>
    bus.publish(events).then(
      () => true,
      () => false,
    ),
  );
}

/** Makes events comparable: a Buffer and a Uint8Array of the same bytes are the same payload. */
function plain(event: Envelope | undefined) {
  return event && { ...event, data: [...event.data] };
}
