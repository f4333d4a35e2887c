import { setImmediate as tick } from 'node:timers/promises';
import type {
  FollowRequest,
  SubscriptionServiceDefinition,
  SubscriptionServiceImplementation,
} from '@parley/protos/parley/live/v1/subscriptions';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import type { RpcClient } from '../src/client.ts';
import { acceptFollow, acknowledgeFollow, follow } from '../src/follow.ts';
import type { MeshContext } from '../src/server.ts';
import { caller, serving } from './support/rpc-served.ts';

type Handler = SubscriptionServiceImplementation<MeshContext>['follow'];
type Subscriptions = RpcClient<typeof SubscriptionServiceDefinition>;

/** An endless stream, which ends only when its followers end it. */
function endless() {
  const streams = { open: 0, cancelled: 0 };
  const handler: Handler = async function* (requests, { signal, drainSignal }) {
    const { closeSignal } = await acceptFollow(requests, drainSignal);
    streams.open += 1;
    try {
      yield {};
      await new Promise<void>((resolve) => {
        closeSignal.addEventListener('abort', () => resolve());
        if (closeSignal.aborted) resolve();
      });
    } finally {
      streams.open -= 1;
      if (signal.aborted) streams.cancelled += 1;
    }
  };
  return { streams, handler };
}

const requestOf = (field: string): FollowRequest => ({ field, argumentsJson: '{}', afterEventId: '' });

const followField = (subscriptions: Subscriptions, field: string, signal: AbortSignal) =>
  follow(
    (requests: AsyncIterable<FollowRequest>, options) => subscriptions.follow(requests, { caller, ...options }),
    requestOf(field),
    signal,
  );

/**
 * Reads the responses to their end.
 * @returns the number of responses
 */
async function count(responses: AsyncIterable<unknown>, onResponse?: () => void): Promise<number> {
  let received = 0;
  for await (const _ of responses) {
    received += 1;
    onResponse?.();
  }
  return received;
}

// Serial, because it keeps the event loop busy: other tests of this process would miss the responses to their keepalive pings.
test.serial('thousands of concurrent disconnects do not affect the remaining readers', async (t) => {
  const { streams, handler } = endless();
  const { subscriptions } = await serving(t, { follow: handler });
  const [staying, leaving] = [new AbortController(), new AbortController()];
  const stayer = count(followField(subscriptions, 'news', staying.signal));
  let answered = 0;
  const leavers = Array.from({ length: 1_500 }, () =>
    count(followField(subscriptions, 'weather', leaving.signal), () => {
      answered += 1;
    }),
  );
  await eventually('all follow', () => answered === 1_500, { timeoutMs: 30_000 });

  leaving.abort();
  await Promise.all(leavers);
  await eventually('their streams are over', () => streams.open === 1, { timeoutMs: 30_000 });
  t.is(streams.cancelled, 0);
  const another = new AbortController();
  t.is(await count(followField(subscriptions, 'sport', another.signal), () => another.abort()), 1);
  await eventually('the connection and what else it carries go on', () => streams.open === 1);
  staying.abort();
  t.is(await stayer, 1);
});

test('a reader that stops reading leaves the stream', async (t) => {
  const { streams, handler } = endless();
  const { subscriptions } = await serving(t, { follow: handler });
  for await (const _ of followField(subscriptions, 'news', new AbortController().signal)) break;
  await eventually('the stream is over', () => streams.open === 0);
  t.is(streams.cancelled, 0);
});

test('a reader that leaves while it handles a response has left at once', async (t) => {
  const { streams, handler } = endless();
  const { subscriptions } = await serving(t, { follow: handler });
  const leaving = new AbortController();
  const responses = followField(subscriptions, 'news', leaving.signal);
  await responses.next(); // no further response is read
  t.is(streams.open, 1);
  leaving.abort();
  await eventually('the stream is over', () => streams.open === 0);
  t.deepEqual([streams.cancelled, await responses.next()], [0, { done: true, value: undefined }]);
});

test('a reader can leave a server that is blocked by flow control', async (t) => {
  let open = 0;
  const { subscriptions } = await serving(t, {
    async *follow(requests, { drainSignal }) {
      const { closeSignal } = await acceptFollow(requests, drainSignal);
      open += 1;
      try {
        while (!closeSignal.aborted) yield { payloadJson: 'x'.repeat(100_000) };
      } finally {
        open -= 1;
      }
    },
  });
  const leaving = new AbortController();
  const responses = followField(subscriptions, 'news', leaving.signal);
  await responses.next();
  leaving.abort();
  await eventually('the stream is over', () => open === 0);
  t.deepEqual(await responses.next(), { done: true, value: undefined });
});

test('a server that stops does not wait for the request of a stream', async (t) => {
  const gate = createGate();
  const { subscriptions, stop } = await serving(t, {
    async *follow(requests, { drainSignal }) {
      gate.open();
      await acceptFollow(requests, drainSignal);
      yield {};
    },
  });
  const silent = subscriptions.follow(
    {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<FollowRequest>>(() => undefined),
      }),
    },
    { caller },
  );
  const ended = count(silent);
  await gate.pass();
  const stopped = stop();
  await t.throwsAsync(ended, { message: 'it is not available' });
  await stopped;
});

test('a reader does not wait for a server that does not end its stream', async (t) => {
  const gate = createGate();
  const { subscriptions } = await serving(t, {
    async *follow(requests, { drainSignal }) {
      await acceptFollow(requests, drainSignal);
      yield {};
      await gate.pass();
    },
  });
  const leaving = new AbortController();
  t.is(await count(followField(subscriptions, 'news', leaving.signal), () => leaving.abort()), 1);
  gate.open();
});

test('the end and the errors of a stream reach its reader', async (t) => {
  let isWhole = true;
  const { subscriptions } = await serving(t, {
    async *follow(requests, { drainSignal }) {
      const { request } = await acceptFollow(requests, drainSignal);
      yield {};
      yield {};
      if (!isWhole) throw new Error(`${request.field} broke`);
    },
  });
  const { signal } = new AbortController();
  t.is(await count(followField(subscriptions, 'news', signal)), 2);
  isWhole = false;
  await t.throwsAsync(count(followField(subscriptions, 'news', signal)), { any: true });
});

test('no call is made for a signal that is already aborted', async (t) => {
  const { streams, handler } = endless();
  const { subscriptions } = await serving(t, { follow: handler });
  t.is(await count(followField(subscriptions, 'news', AbortSignal.abort())), 0);
  await tick();
  t.is(streams.open, 0);
});

test('a stream that ends without a request is refused', async (t) => {
  const { subscriptions } = await serving(t, {
    async *follow(requests, { drainSignal }) {
      await acceptFollow(requests, drainSignal);
      yield {};
    },
  });
  const nothing = subscriptions.follow((async function* () {})(), { caller, expectedErrors: ['invalid'] });
  await t.throwsAsync(count(nothing), { message: 'The stream ended before its request' });
});

test('a reader gets the header of its stream before the first response', async (t) => {
  const gate = createGate();
  const { subscriptions } = await serving(t, {
    async *follow(requests, call) {
      const { closeSignal } = await acceptFollow(requests, call.drainSignal);
      await gate.pass();
      acknowledgeFollow(call);
      await new Promise((resolve) => closeSignal.addEventListener('abort', resolve));
      yield* [];
    },
  });
  const leaving = new AbortController();
  let headers = 0;
  const onHeader = () => {
    headers += 1;
  };
  const open = (requests: AsyncIterable<FollowRequest>, options: { signal: AbortSignal }) =>
    subscriptions.follow(requests, { caller, ...options, onHeader });
  const read = count(follow(open, requestOf('news'), leaving.signal));
  await tick();
  t.is(headers, 0);
  gate.open();
  await eventually('the header has arrived', () => headers === 1);
  leaving.abort();
  t.is(await read, 0);
});
