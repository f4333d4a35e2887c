import { setImmediate as round } from 'node:timers/promises';
import type { Caller } from '@parley/kernel/caller';
import test from 'ava';
import { buildSchema } from 'graphql';
import { replayPace } from './replay-pace.ts';
import { replayScheduler } from './replay-scheduler.ts';
import { attachSubscriptions, type SubscriptionContext, type SubscriptionEvent } from './subscriptions.ts';

const caller: Caller = { kind: 'user', tenantId: 1, ip: '192.0.2.1', requestId: 'r-1' };

function subscribeTo(payloads: SubscriptionEvent[], { pace, signal }: Pick<SubscriptionContext, 'pace' | 'signal'>) {
  const schema = buildSchema('type Query { a: Int } type News { title: String } type Subscription { news: News }');
  attachSubscriptions(schema, {
    async *news() {
      yield* payloads;
    },
  });
  const { subscribe } = schema.getSubscriptionType()?.getFields().news ?? {};
  const context: SubscriptionContext = { caller, signal, pace };
  return subscribe?.(undefined, {}, context, undefined as never) as AsyncGenerator<object>;
}

const unabortedSignal = new AbortController().signal;
const at = (occurredAtMs: number) => ({ eventId: '1-0', occurredAtMs, payload: { title: 'a' } });
const old = (count: number) => Array.from({ length: count }, () => at(0));
const live = (count: number) => Array.from({ length: count }, () => at(Date.now()));

/** Counts event loop iterations while these events are read. */
async function roundsOf(payloads: SubscriptionEvent[]): Promise<number> {
  const pace = replayPace(async () => undefined, replayScheduler(0));
  const reading = { isDone: false };
  const read = async () => {
    for await (const _ of subscribeTo(payloads, { pace, signal: unabortedSignal }));
    reading.isDone = true;
  };
  const done = read();
  let rounds = 0;
  for (; !reading.isDone; rounds += 1) await round();
  await done;
  return rounds;
}

test('replayed events yield to the event loop, live ones are delivered at once', async (t) => {
  t.true((await roundsOf(old(100))) >= 99);
  t.true((await roundsOf(live(100))) <= 2);
  t.true((await roundsOf([...live(1), ...old(100)])) <= 2, 'a reader that has caught up gets live events');
});

test('the replay of a socket with a full buffer occupies no slot', async (t) => {
  const scheduler = replayScheduler();
  const room = Promise.withResolvers<void>();
  const full = subscribeTo(old(1), { pace: replayPace(() => room.promise, scheduler), signal: unabortedSignal }).next();
  const other = subscribeTo(old(100), { pace: replayPace(async () => undefined, scheduler), signal: unabortedSignal });
  let seen = 0;
  for await (const _ of other) seen += 1;
  t.is(seen, 100);
  room.resolve();
  t.false((await full).done);
});

test('an aborted replay ends, and its socket and others continue', async (t) => {
  const scheduler = replayScheduler();
  const end = await scheduler.next(caller, unabortedSignal);
  const pace = replayPace(async () => undefined, scheduler);
  const leaving = new AbortController();
  const left = subscribeTo(old(1), { pace, signal: leaving.signal }).next();
  const stays = subscribeTo(old(1), { pace, signal: unabortedSignal }).next();
  while (scheduler.waiting === 0) await round();
  leaving.abort();
  t.true((await left).done);
  end();
  t.false((await stays).done);
});
