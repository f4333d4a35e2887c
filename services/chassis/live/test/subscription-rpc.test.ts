import type { Caller } from '@parley/kernel/caller';
import type { FollowRequest, FollowResponse } from '@parley/protos/parley/live/v1/subscriptions';
import type { MeshCall } from '@parley/rpc/server';
import test from 'ava';
import { finishEvent, type SubscriptionField, subscriptionRpc } from '../src/subscriptions/subscription-rpc.ts';

const caller: Caller = { kind: 'user', tenantId: 1, requestId: 'r' };
const event = (n: number): FollowResponse => ({
  eventId: `1-${n}`,
  occurredAt: undefined,
  payloadJson: '{}',
  isLast: false,
});

/**
 * Subscribes to one of these fields, as `given` requests. `stop` acts as a stopping server does, `leave` as a client that leaves. `sent`
 * has the names of the headers that were sent.
 */
function follow(
  fields: Record<string, SubscriptionField>,
  given: Omit<FollowRequest, 'afterEventId'> & { afterEventId?: string },
) {
  const [stop, cancelled, left] = [new AbortController(), new AbortController(), Promise.withResolvers<void>()];
  const header = new Map<string, string>();
  const sent: string[][] = [];
  const sendHeader = () => sent.push([...header.keys()]);
  const call = {
    caller,
    drainSignal: stop.signal,
    signal: cancelled.signal,
    header,
    sendHeader,
  } as unknown as MeshCall;
  const requests = (async function* () {
    yield { afterEventId: '', ...given };
    await left.promise;
  })();
  const responses = subscriptionRpc(fields).follow(requests, call);
  return { responses: responses[Symbol.asyncIterator](), sent, leave: left.resolve, stop: () => stop.abort() };
}

test('a field gets its arguments and caller, and ends when the server stops, also during a replay', async (t) => {
  const asked: unknown[] = [];
  const news: SubscriptionField = async function* (args, call) {
    asked.push(args, call.caller, call.afterEventId);
    for (let n = 0; ; n += 1) yield event(n);
  };
  const { responses, stop } = follow({ news }, { field: 'news', argumentsJson: '{"topic":"a"}' });
  t.deepEqual((await responses.next()).value, event(0));
  t.deepEqual(asked, [{ topic: 'a' }, caller, undefined]);
  stop();
  t.true((await responses.next()).done);
  await follow({ news }, { field: 'news', argumentsJson: '{}', afterEventId: '1-7' }).responses.next();
  t.is(asked.at(-1), '1-7');
});

test('a replay ends when its client leaves', async (t) => {
  let isOver = false;
  const news: SubscriptionField = async function* () {
    try {
      for (let n = 0; ; n += 1) yield event(n);
    } finally {
      isOver = true;
    }
  };
  const { responses, leave } = follow({ news }, { field: 'news', argumentsJson: '{}' });
  await responses.next();
  leave();
  let shown = 1;
  while (!(await responses.next()).done) shown += 1;
  t.true(isOver && shown < 100, `${shown} events`);
});

test('a stream sends its header when it is live, before the first event', async (t) => {
  const news: SubscriptionField = async function* (_args, { follows }) {
    t.deepEqual(sent, []);
    follows();
    t.deepEqual(sent, [['parley-following']]);
    yield event(1);
  };
  const { responses, sent } = follow({ news }, { field: 'news', argumentsJson: '{}' });
  t.false((await responses.next()).done);
});

test('an unknown field is unavailable; arguments that are no JSON object are refused', async (t) => {
  const news: SubscriptionField = async function* () {
    yield event(1);
  };
  for (const field of ['weather', 'toString']) {
    const { responses } = follow({ news }, { field, argumentsJson: '{}' });
    t.like(await t.throwsAsync(responses.next()), { kind: 'unavailable' });
  }
  for (const argumentsJson of ['{', 'null', '[]', '7']) {
    const { responses } = follow({ news }, { field: 'news', argumentsJson });
    t.like(await t.throwsAsync(responses.next()), { kind: 'invalid' }, argumentsJson);
  }
});

test('an event is serialized once for all readers, and not at all if its kind is unknown', (t) => {
  let times = 0;
  const shared = { eventId: '1-0', occurredAt: new Date(0), text: 'a' };
  const payload = ({ text }: typeof shared) => {
    times += 1;
    return { text };
  };
  const finished = finishEvent(shared, payload);
  t.deepEqual(finished, { eventId: '1-0', occurredAt: new Date(0), payloadJson: '{"text":"a"}', isLast: false });
  t.deepEqual(finishEvent(shared, payload), finished);
  t.is(times, 1);
  t.is(
    finishEvent({ eventId: '1-1' }, () => undefined),
    undefined,
  );
});
