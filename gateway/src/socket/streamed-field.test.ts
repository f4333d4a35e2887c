import type { Caller } from '@parley/kernel/caller';
import { DomainError, forbidden, unavailable } from '@parley/kernel/errors';
import type { FollowRequest, FollowResponse } from '@parley/protos/parley/live/v1/subscriptions';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { streamedField } from './streamed-field.ts';
import type { SubscriptionEvent } from './subscriptions.ts';

const caller: Caller = { kind: 'user', tenantId: 1, requestId: 'r-1' };
const news = { name: 'news', takesAfter: true };
const starts = { begin: async () => () => undefined, waiting: 0 };

function service(header: Record<string, string> = {}) {
  const streams: {
    request: Partial<FollowRequest>;
    send: (event: FollowResponse) => void;
    stop: (error?: Error) => void;
  }[] = [];
  async function* follow(
    requests: AsyncIterable<Partial<FollowRequest>>,
    { onHeader }: { onHeader?: (header: never) => void } = {},
  ): AsyncGenerator<FollowResponse> {
    const iterator = requests[Symbol.asyncIterator]();
    const { value: request } = await iterator.next();
    const unsent: FollowResponse[] = [];
    let wake: () => void = () => undefined;
    const disconnected = new AbortController();
    const send = (event: FollowResponse) => {
      unsent.push(event);
      wake();
    };
    let failure: Error | undefined;
    const stop = (error?: Error) => {
      failure = error;
      disconnected.abort();
      wake();
    };
    streams.push({ request, send, stop });
    onHeader?.({ get: (name: string) => header[name] } as never);
    const awaitEnd = async () => {
      await iterator.next();
      disconnected.abort();
      wake();
    };
    void awaitEnd();
    while (!disconnected.signal.aborted) {
      yield* unsent.splice(0);
      if (unsent.length > 0 || disconnected.signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    if (failure) throw failure;
  }
  return { streams, calls: { follow } };
}

const live = (n: number): FollowResponse => ({
  eventId: `1-${n}`,
  occurredAt: new Date(),
  payloadJson: JSON.stringify({ title: `news ${n}` }),
  isLast: false,
});

test('any field is served by its service from its name and arguments, and equal subscriptions share a stream', async (t) => {
  const { streams, calls } = service();
  const source = streamedField(news, () => calls, starts);
  const leaving = new AbortController();
  const reader = (args: Record<string, unknown>, asking = caller) => {
    const got: SubscriptionEvent[] = [];
    const read = async () => {
      for await (const event of source(args, asking, leaving.signal)) got.push(event);
    };
    return { got, done: read() };
  };
  const [one, two] = [reader({ topic: 'a' }), reader({ topic: 'a', after: '1-0' })];
  const [other, otherClient] = [reader({ topic: 'b' }), reader({ topic: 'a' }, { ...caller, tenantId: 2 })];
  await eventually('all follow', () => streams.length === 4);
  t.deepEqual(
    streams.map(({ request }) => request),
    [{ topic: 'a' }, { topic: 'a', after: '1-0' }, { topic: 'b' }, { topic: 'a' }].map((args) => ({
      field: 'news',
      argumentsJson: JSON.stringify(args),
      afterEventId: '',
    })),
  );

  for (const { send } of streams) send(live(1));
  const all = [one, two, other, otherClient];
  await eventually('all have it', () => all.every(({ got }) => got.length === 1));
  streams[0]?.send(live(2));
  await eventually('both are handed what comes', () => one.got.length === 2 && two.got.length === 2);
  t.is(one.got[1], two.got[1], 'decoded once for both');
  t.deepEqual(one.got[1]?.payload, { title: 'news 2' });
  t.deepEqual(
    [other.got.length, otherClient.got.length],
    [1, 1],
    'other arguments and tenants have streams of their own',
  );
  leaving.abort();
  await Promise.all(all.map(({ done }) => done));
});

test('a subscription completes after the last event, for all readers of its stream', async (t) => {
  const { streams, calls } = service();
  const source = streamedField(news, () => calls, starts);
  const read = async () => {
    const titles: unknown[] = [];
    for await (const { payload } of source({ topic: 'a' }, caller, new AbortController().signal)) titles.push(payload);
    return titles;
  };
  const readers = [read(), read()];
  await eventually('both follow', () => streams.length === 2);
  for (const { send } of streams) send(live(1));
  streams[0]?.send({ ...live(2), isLast: true });
  for (const titles of await Promise.all(readers)) t.deepEqual(titles, [{ title: 'news 1' }, { title: 'news 2' }]);
});

test('a lost stream resumes after its last event if the field has no argument for the position', async (t) => {
  const { streams, calls } = service();
  const source = streamedField({ name: 'news', takesAfter: false }, () => calls, starts);
  const titles: unknown[] = [];
  const read = async () => {
    for await (const { payload } of source({ topic: 'a' }, caller, new AbortController().signal)) titles.push(payload);
  };
  const reading = read();
  await eventually('it follows', () => streams.length === 1);
  const begun = Date.now();
  streams[0]?.stop();
  await eventually('it follows again before any event', () => streams.length === 2);
  const [ms = 0] = (streams[1]?.request.afterEventId ?? '').split('-').map(Number);
  t.true(ms < begun && ms > begun - 30_000, 'from about when it began, by a clock that may be ahead');
  streams[1]?.send(live(1));
  await eventually('it has it', () => titles.length === 1);
  streams[1]?.stop(unavailable('the connection was lost'));
  await eventually('it follows again', () => streams.length === 3);
  t.is(streams[2]?.request.afterEventId, '1-1');
  streams[2]?.send({ ...live(2), isLast: true });
  await reading;
  t.deepEqual(titles, [{ title: 'news 1' }, { title: 'news 2' }]);
});

test('a stream whose owner promises to resume does so after its last event, or after the one that the reader named', async (t) => {
  const { streams, calls } = service({ 'parley-resumes': '1' });
  let resumed = 0;
  const source = streamedField(
    news,
    () => calls,
    starts,
    () => (resumed += 1),
  );
  const titles: unknown[] = [];
  const read = async () => {
    const events = source({ topic: 'a', after: '0' }, caller, new AbortController().signal);
    for await (const { payload } of events) titles.push(payload);
  };
  const reading = read();
  await eventually('it follows', () => streams.length === 1);
  t.like(streams[0]?.request, { argumentsJson: '{"topic":"a","after":"0"}', afterEventId: '' });
  streams[0]?.stop();
  await eventually('it follows again before any event', () => streams.length === 2);
  t.is(streams[1]?.request.afterEventId, '0');
  streams[1]?.send(live(1));
  await eventually('it has it', () => titles.length === 1);
  streams[1]?.stop(unavailable('the connection was lost'));
  await eventually('it follows again', () => streams.length === 3);
  t.is(streams[2]?.request.afterEventId, '1-1');
  streams[2]?.send({ ...live(2), isLast: true });
  await reading;
  t.is(resumed, 2);
});

test('a lost stream fails if the reader names the position itself, and a refused one always fails', async (t) => {
  for (const takesAfter of [true, false]) {
    const { streams, calls } = service();
    const source = streamedField({ name: 'news', takesAfter }, () => calls, starts);
    const next = source({ topic: 'a' }, caller, new AbortController().signal)[Symbol.asyncIterator]().next();
    await eventually('it follows', () => streams.length === 1);
    streams[0]?.stop(takesAfter ? undefined : forbidden('not yours'));
    t.like(await t.throwsAsync(next), { kind: takesAfter ? 'unavailable' : 'forbidden' });
    t.is(streams.length, 1);
  }
});

test('a stream that is ended for a slow reader is not resumed', async (t) => {
  const { streams, calls } = service();
  const source = streamedField({ name: 'news', takesAfter: false }, () => calls, starts);
  const slow = source({ topic: 'a' }, caller, new AbortController().signal)[Symbol.asyncIterator]().next();
  await eventually('it follows', () => streams.length === 1);
  streams[0]?.stop(new DomainError('unavailable', 'too slow', { reason: 'SLOW_READER' }));
  t.like(await t.throwsAsync(slow), { reason: 'SLOW_READER' });
  t.is(streams.length, 1);
});
