import { setImmediate as tick } from 'node:timers/promises';
import type {
  FollowSessionRequest,
  SessionServiceDefinition,
  SessionServiceImplementation,
} from '@parley/protos/parley/session/v1/session';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import type { RpcClient } from '../src/client.ts';
import { acceptFollow, acknowledgeFollow, follow } from '../src/follow.ts';
import type { MeshContext } from '../src/server.ts';
import { caller, serving } from './support/rpc-served.ts';

type Handler = SessionServiceImplementation<MeshContext>['followSession'];
type Session = RpcClient<typeof SessionServiceDefinition>;

/** A stream of which nothing ends but by those who follow it. */
function endless() {
  const streams = { open: 0, cancelled: 0 };
  const handler: Handler = async function* (requests, { signal, draining }) {
    const { left } = await acceptFollow(requests, draining);
    streams.open += 1;
    try {
      yield {};
      await new Promise<void>((resolve) => {
        left.addEventListener('abort', () => resolve());
        if (left.aborted) resolve();
      });
    } finally {
      streams.open -= 1;
      if (signal.aborted) streams.cancelled += 1;
    }
  };
  return { streams, handler };
}

const followSession = (session: Session, sessionId: number, signal: AbortSignal) =>
  follow(
    (requests: AsyncIterable<FollowSessionRequest>, options) => session.followSession(requests, { caller, ...options }),
    { sessionId },
    signal,
  );

/** Reads to the end; answers how many responses there were. */
async function count(responses: AsyncIterable<unknown>, onResponse?: () => void): Promise<number> {
  let received = 0;
  for await (const _ of responses) {
    received += 1;
    onResponse?.();
  }
  return received;
}

// Serial: it keeps the event loop busy, on which other tests of this process would miss the answers to their keepalive pings.
test.serial('thousands may leave at once without an effect on those who stay', async (t) => {
  const { streams, handler } = endless();
  const { session } = await serving(t, { followSession: handler });
  const [staying, leaving] = [new AbortController(), new AbortController()];
  const stayer = count(followSession(session, 1, staying.signal));
  let answered = 0;
  const leavers = Array.from({ length: 1_500 }, () =>
    count(followSession(session, 2, leaving.signal), () => {
      answered += 1;
    }),
  );
  await eventually('all follow', () => answered === 1_500, { timeoutMs: 30_000 });

  leaving.abort();
  await Promise.all(leavers);
  await eventually('their streams are over', () => streams.open === 1, { timeoutMs: 30_000 });
  t.is(streams.cancelled, 0);
  const another = new AbortController();
  t.is(await count(followSession(session, 3, another.signal), () => another.abort()), 1);
  await eventually('the connection and what else it carries go on', () => streams.open === 1);
  staying.abort();
  t.is(await stayer, 1);
});

test('a reader that stops reading leaves the stream', async (t) => {
  const { streams, handler } = endless();
  const { session } = await serving(t, { followSession: handler });
  for await (const _ of followSession(session, 1, new AbortController().signal)) break;
  await eventually('the stream is over', () => streams.open === 0);
  t.is(streams.cancelled, 0);
});

test('a reader that leaves while it handles a response has left at once', async (t) => {
  const { streams, handler } = endless();
  const { session } = await serving(t, { followSession: handler });
  const leaving = new AbortController();
  const responses = followSession(session, 1, leaving.signal);
  await responses.next(); // no other is read
  t.is(streams.open, 1);
  leaving.abort();
  await eventually('the stream is over', () => streams.open === 0);
  t.deepEqual([streams.cancelled, await responses.next()], [0, { done: true, value: undefined }]);
});

test('a reader can leave a server that is blocked by flow control', async (t) => {
  let open = 0;
  const { session } = await serving(t, {
    async *followSession(requests, { draining }) {
      const { left } = await acceptFollow(requests, draining);
      open += 1;
      try {
        const event = { eventId: 'x'.repeat(100_000), sessionId: 1, occurredAt: undefined, kind: undefined };
        while (!left.aborted) yield { event };
      } finally {
        open -= 1;
      }
    },
  });
  const leaving = new AbortController();
  const responses = followSession(session, 1, leaving.signal);
  await responses.next();
  leaving.abort();
  await eventually('the stream is over', () => open === 0);
  t.deepEqual(await responses.next(), { done: true, value: undefined });
});

test('a server that stops does not wait for the request of a stream', async (t) => {
  const gate = createGate();
  const { session, stop } = await serving(t, {
    async *followSession(requests, { draining }) {
      gate.open();
      await acceptFollow(requests, draining);
      yield {};
    },
  });
  const silent = session.followSession(
    {
      [Symbol.asyncIterator]: () => ({
        next: () => new Promise<IteratorResult<FollowSessionRequest>>(() => undefined),
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
  const { session } = await serving(t, {
    async *followSession(requests, { draining }) {
      await acceptFollow(requests, draining);
      yield {};
      await gate.pass();
    },
  });
  const leaving = new AbortController();
  t.is(await count(followSession(session, 1, leaving.signal), () => leaving.abort()), 1);
  gate.open();
});

test('the end and the errors of a stream reach its reader', async (t) => {
  let isWhole = true;
  const { session } = await serving(t, {
    async *followSession(requests, { draining }) {
      const { request } = await acceptFollow(requests, draining);
      yield {};
      yield {};
      if (!isWhole) throw new Error(`${request.sessionId} broke`);
    },
  });
  const { signal } = new AbortController();
  t.is(await count(followSession(session, 1, signal)), 2);
  isWhole = false;
  await t.throwsAsync(count(followSession(session, 1, signal)), { any: true });
});

test('a signal that is aborted already makes no call', async (t) => {
  const { streams, handler } = endless();
  const { session } = await serving(t, { followSession: handler });
  t.is(await count(followSession(session, 1, AbortSignal.abort())), 0);
  await tick();
  t.is(streams.open, 0);
});

test('a stream that ends without a request is refused', async (t) => {
  const { session } = await serving(t, {
    async *followSession(requests, { draining }) {
      await acceptFollow(requests, draining);
      yield {};
    },
  });
  const nothing = session.followSession((async function* () {})(), { caller, expectedErrors: ['invalid'] });
  await t.throwsAsync(count(nothing), { message: 'The stream ended before its request' });
});

test('a reader gets the header of its stream before the first response', async (t) => {
  const gate = createGate();
  const { session } = await serving(t, {
    async *followSession(requests, call) {
      const { left } = await acceptFollow(requests, call.draining);
      await gate.pass();
      acknowledgeFollow(call);
      await new Promise((resolve) => left.addEventListener('abort', resolve));
      yield* [];
    },
  });
  const leaving = new AbortController();
  let headers = 0;
  const onHeader = () => {
    headers += 1;
  };
  const open = (requests: AsyncIterable<FollowSessionRequest>, options: { signal: AbortSignal }) =>
    session.followSession(requests, { caller, ...options, onHeader });
  const read = count(follow(open, { sessionId: 1 }, leaving.signal));
  await tick();
  t.is(headers, 0);
  gate.open();
  await eventually('the header has arrived', () => headers === 1);
  leaving.abort();
  t.is(await read, 0);
});
