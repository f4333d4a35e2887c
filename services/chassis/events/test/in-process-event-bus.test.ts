import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventBusContract } from '@parley/testing/event-bus-contract';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { type DeadLetters, fileDeadLetters } from '../src/dead-letters.ts';
import type { Envelope } from '../src/envelope.ts';
import { type DeadLetter, deadLetterTopic } from '../src/event-bus.ts';
import { inProcessEventBus } from '../src/in-process-event-bus.ts';

async function letterFile(t: ExecutionContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-dead-letters-'));
  t.teardown(() => rm(folder, { recursive: true }));
  return join(folder, 'dead-letters.jsonl');
}

eventBusContract(test, 'in process', async (times) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-dead-letters-'));
  const deadLetters = fileDeadLetters(join(folder, 'dead-letters.jsonl'));
  const bus = inProcessEventBus({ ...times, deadLetters });
  return {
    connect: async () => bus,
    createTopic: async () => undefined,
    deadLetters: async (topic) =>
      (await deadLetters.list()).filter((letter) => letter.topic === deadLetterTopic(topic)),
    async close() {
      await bus.close();
      await rm(folder, { recursive: true });
    },
  };
});

const event = (id: string, key = '1'): Envelope => ({
  id,
  topic: 'happened',
  type: 'happened.v1',
  source: 'test',
  key,
  tenantId: 1,
  time: new Date(0),
  data: new Uint8Array([1]),
});
const keep = (letters: DeadLetter[]): DeadLetters => ({ append: async (letter) => void letters.push(letter) });
const immediately = { backoffMs: () => 0 };

test('publish resolves when every group has handled the event', async (t) => {
  const bus = inProcessEventBus({ deadLetters: keep([]) });
  const gate = createGate();
  const done: string[] = [];
  await bus.subscribe({ group: 'quick', topics: ['happened'], handler: async () => void done.push('quick') });
  await bus.subscribe({
    group: 'slow',
    topics: ['happened'],
    async handler() {
      await gate.pass();
      done.push('slow');
    },
  });
  const publishing = bus.publish([event('a')]).then(() => done.push('published'));
  await new Promise(setImmediate);
  t.deepEqual(done, ['quick']);
  gate.open();
  await publishing;
  t.deepEqual(done, ['quick', 'slow', 'published']);
});

test('an event whose dead letter cannot be stored stays unpublished, and so do later ones of its key', async (t) => {
  const stored: DeadLetter[] = [];
  let diskFull = true;
  const deadLetters: DeadLetters = {
    async append(letter) {
      if (diskFull) throw new Error('no space left');
      stored.push(letter);
    },
  };
  const bus = inProcessEventBus({ ...immediately, deadLetters });
  const handled: string[] = [];
  await bus.subscribe({
    group: 'a',
    topics: ['happened'],
    maxAttempts: 2,
    async handler({ id }) {
      if (id === 'poison') throw new Error('poison');
      handled.push(id);
    },
  });
  const events = [event('poison'), event('behind'), event('beside', '2')];
  t.like(await t.throwsAsync(bus.publish(events)), { kind: 'unavailable' });
  t.deepEqual(handled, ['beside'], 'the order of its key is kept');
  diskFull = false;
  await bus.publish(events);
  t.deepEqual(handled.toSorted(), ['behind', 'beside', 'beside']);
  t.is(stored.length, 1);
});

test('a group that is known beforehand misses no event by subscribing late', async (t) => {
  const bus = inProcessEventBus({ deadLetters: keep([]), groups: { happened: ['early', 'late'] } });
  const seen: string[] = [];
  await bus.subscribe({ group: 'early', topics: ['happened'], handler: async () => void seen.push('early') });
  t.like(await t.throwsAsync(bus.publish([event('a')])), { kind: 'unavailable' });
  t.deepEqual(seen, [], 'no group gets it before all have subscribed');
  await bus.subscribe({ group: 'late', topics: ['happened'], handler: async () => void seen.push('late') });
  await bus.publish([event('a')]);
  t.deepEqual(seen.toSorted(), ['early', 'late']);
});

test('stop lets the running handler end and leaves other events unpublished', async (t) => {
  const bus = inProcessEventBus({ deadLetters: keep([]) });
  const entered = createGate();
  const gate = createGate();
  const handled: string[] = [];
  const subscription = await bus.subscribe({
    group: 'a',
    topics: ['happened'],
    concurrency: 1,
    async handler({ id }) {
      entered.release();
      await gate.pass();
      handled.push(id);
    },
  });
  const outcomes = Promise.allSettled([
    bus.publish([event('one')]),
    bus.publish([event('two')]),
    bus.publish([event('three', '2')]),
  ]);
  await entered.pass();
  const stopped = subscription.stop();
  gate.open();
  await stopped;
  t.deepEqual(
    (await outcomes).map(({ status }) => status),
    ['fulfilled', 'rejected', 'rejected'],
  );
  t.deepEqual(handled, ['one']);
});

test('remaining members handle what a stopped one has not begun', async (t) => {
  const bus = inProcessEventBus({ deadLetters: keep([]) });
  const entered = createGate();
  const gate = createGate();
  const handled: string[] = [];
  const blocked = { group: 'a', topics: ['happened'], concurrency: 1 };
  const first = await bus.subscribe({
    ...blocked,
    async handler({ id }) {
      entered.release();
      await gate.pass();
      handled.push(`first ${id}`);
    },
  });
  const publishing = bus.publish([event('one'), event('two'), event('three')]);
  await entered.pass();
  await bus.subscribe({ ...blocked, handler: async ({ id }) => void handled.push(`second ${id}`) });
  const stopped = first.stop();
  gate.open();
  await Promise.all([stopped, publishing]);
  t.deepEqual(handled, ['first one', 'second two', 'second three']);
});

test('dead letters are lines of a private file, readable after a truncated line', async (t) => {
  const file = await letterFile(t);
  const letter = (id: string): DeadLetter => ({
    topic: 'happened.dead-letter',
    group: 'a',
    attempts: 5,
    reason: 'Error: no',
    time: new Date(1_000),
    event: { ...event(id), data: new Uint8Array([0, 255]) },
  });
  t.deepEqual(await fileDeadLetters(file).list(), []);
  await Promise.all([letter('a'), letter('b')].map((one) => fileDeadLetters(file).append(one)));
  await writeFile(file, (await readFile(file, 'utf8')) + '{"topic":"happened.dea');
  const letters = fileDeadLetters(file);
  await Promise.all(['c', 'd'].map((id) => letters.append(letter(id))));

  const listed = await letters.list();
  t.deepEqual(listed.map(({ event }) => event.id).toSorted(), ['a', 'b', 'c', 'd']);
  t.deepEqual(
    listed.find(({ event }) => event.id === 'c'),
    letter('c'),
  );
  t.is((await stat(file)).mode & 0o777, 0o600);
});
