import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test, { type ExecutionContext } from 'ava';
import {
  type ConnectOptions,
  connect,
  ParleyError,
  type Session,
  type SessionEvent,
  type State,
} from '../src/client.ts';
import { type Call, type Follower, fakeGateway } from './fake-gateway.ts';

const refused = { errors: [{ message: 'Invalid or expired avatar token', extensions: { code: 'UNAUTHENTICATED' } }] };
const bearer = (token: string) => `Bearer ${token}`;
const isRefresh = ({ query }: Call) => query.includes('expiresInMs');
const nothing = () => ({ data: { sdkSendMessage: true } });

function renewed(avatarToken = 'second', sessionId = 7, expiresInMs = 3_600_000) {
  return { data: { refreshAvatarToken: { sessionId, avatarToken, expiresInMs } } };
}

function event(n: number, text = `piece ${n} `): object {
  const turn = { clientTurnId: 'a', turnIndex: 1, attempt: 1, text };
  return {
    __typename: 'AiResponseChunkEvent',
    eventId: `${n}-0`,
    sessionId: 7,
    occurredAt: '2026-01-01T00:00:00.000Z',
    ...turn,
  };
}

/** Connects to a session and records its events and states. */
function join(t: ExecutionContext, endpoint: string, options: Partial<ConnectOptions> = {}) {
  const events: SessionEvent[] = [];
  const states: State[] = [];
  const heard = Promise.withResolvers<void>();
  const session = connect({
    endpoint,
    token: 'first',
    sessionId: 7,
    onEvent: (each) => events.push(each),
    onState(state) {
      states.push(state);
      if (['ended', 'failed', 'closed'].includes(state.name)) heard.resolve();
    },
    ...options,
  });
  t.teardown(() => session.close());
  return { session, events, states, over: heard.promise, ids: () => events.map(({ eventId }) => eventId) };
}

async function take(session: Session, count: number): Promise<string[]> {
  const ids: string[] = [];
  for await (const { eventId } of session) if (ids.push(eventId) === count) return ids;
  return ids;
}

test('a lost connection resumes after the last event, and repeated events are dropped', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  const { session, ids, states } = join(t, gateway.endpoint);
  const all = take(session, 4);
  const first = await gateway.follower(1);
  t.is(first.after, '0');
  t.is(first.authorization, bearer('first'));
  first.next(event(1));
  first.next(event(2));
  await take(session, 2);
  first.cut();
  const second = await gateway.follower(2);
  t.is(second.after, '2-0');
  for (const n of [1, 2, 3, 4]) second.next(event(n));

  t.deepEqual(await all, ['1-0', '2-0', '3-0', '4-0']);
  t.deepEqual(ids(), ['1-0', '2-0', '3-0', '4-0']);
  t.deepEqual(
    states.map(({ name }) => name),
    ['open', 'reconnecting', 'open'],
  );
  t.is(session.lastEventId, '4-0');
});

test('every iterator gets all events since its start, and one that stops does not affect others', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  const { session } = join(t, gateway.endpoint);
  const [short, long] = [take(session, 1), take(session, 3)];
  const follower = await gateway.follower(1);
  for (const n of [1, 2, 3]) follower.next(event(n));
  t.deepEqual([await short, await long], [['1-0'], ['1-0', '2-0', '3-0']]);
});

test('iteration ends with the session, after the events that are still queued', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  const { session, over, states } = join(t, gateway.endpoint);
  const all = take(session, 10);
  const follower = await gateway.follower(1);
  follower.next(event(1));
  follower.complete();
  t.deepEqual(await all, ['1-0']);
  await over;
  t.deepEqual(
    states.map(({ name }) => name),
    ['open', 'ended'],
  );
  t.deepEqual(await take(session, 1), []);
});

test('an error in a callback is reported and does not stop the session', async (t) => {
  const thrown = Promise.withResolvers<unknown>();
  Object.assign(globalThis, { reportError: thrown.resolve }); // Node has no reportError
  const gateway = await fakeGateway(t, nothing);
  const onEvent = () => {
    throw new Error('of the page');
  };
  const { session } = join(t, gateway.endpoint, { onEvent });
  const all = take(session, 1);
  (await gateway.follower(1)).next(event(1));
  t.deepEqual(await all, ['1-0']);
  t.like(await thrown.promise, { message: 'of the page' });
});

test('a socket whose token is refused reconnects with a refreshed token, which the page receives', async (t) => {
  const given: string[] = [];
  const gateway = await fakeGateway(
    t,
    () => renewed(),
    (authorization) => authorization === bearer('second'),
  );
  const { states } = join(t, gateway.endpoint, { onToken: (token) => given.push(token) });
  t.is((await gateway.follower(1)).authorization, bearer('second'));
  t.deepEqual(given, ['second']);
  t.is(gateway.calls.length, 1);
  t.is(gateway.calls[0]?.headers.authorization, undefined);
  t.is(gateway.calls[0]?.headers['x-app-platform'], 'customer');
  t.deepEqual(
    states.map(({ name }) => name),
    ['open'],
  );
});

test('a socket that is closed when its token expires reconnects at once with the refreshed token', async (t) => {
  const gateway = await fakeGateway(t, () => renewed());
  join(t, gateway.endpoint, { tokenExpiresInMs: 1 });
  const first = await gateway.follower(1);
  await gateway.until(() => gateway.calls.some(isRefresh));
  first.next(event(1));
  first.close(4403);
  const second = await gateway.follower(2);
  t.deepEqual([second.authorization, second.after, gateway.calls.length], [bearer('second'), '1-0', 1]);
});

test('past the grace window the session and its iterators fail with EXPIRED', async (t) => {
  const gateway = await fakeGateway(
    t,
    () => refused,
    () => false,
  );
  const { session, over } = join(t, gateway.endpoint);
  await t.throwsAsync(take(session, 1), { instanceOf: ParleyError, code: 'EXPIRED' });
  await over;
  t.like(session.state, { name: 'failed', error: { code: 'EXPIRED', message: 'Invalid or expired avatar token' } });
});

test('a refused token of a session that is no longer active ends it', async (t) => {
  const answer = {
    errors: [{ message: 'Session 7 is not active (status: ENDED)', extensions: { code: 'BAD_REQUEST' } }],
  };
  const gateway = await fakeGateway(
    t,
    () => answer,
    () => false,
  );
  const { session, over } = join(t, gateway.endpoint);
  await over;
  t.is(session.state.name, 'ended');
});

test('a session fails when the server refuses every refreshed token', async (t) => {
  let count = 0;
  const gateway = await fakeGateway(
    t,
    () => renewed(`token ${(count += 1)}`),
    () => false,
  );
  const { session, over } = join(t, gateway.endpoint);
  await over;
  t.like(session.state, { name: 'failed', error: { code: 'FORBIDDEN' } });
  t.is(gateway.calls.length, 3);
});

test('a session without events survives any number of expired tokens', async (t) => {
  let count = 0;
  const gateway = await fakeGateway(t, () => renewed(`token ${(count += 1)}`));
  const { session, over } = join(t, gateway.endpoint);
  for (const n of [1, 2, 3, 4, 5]) {
    const follower = await Promise.race([gateway.follower(n), over.then(() => undefined)]);
    if (!follower) break;
    follower.send({ type: 'pong' }); // the client would send a ping, and get this pong, after 20 seconds without a message
    follower.close(4403);
  }
  t.is((await Promise.race([gateway.follower(6), over.then(() => undefined)]))?.authorization, bearer('token 5'));
  t.is(session.state.name, 'open');
});

test('a session fails when the server accepts every refreshed token but closes the socket at once', async (t) => {
  let count = 0;
  const gateway = await fakeGateway(t, () => renewed(`token ${(count += 1)}`));
  const { session, over } = join(t, gateway.endpoint);
  const closing = [1, 2, 3, 4].map(async (n) => (await gateway.follower(n)).close(4403));
  await Promise.all([over, ...closing]);
  t.like(session.state, { name: 'failed', error: { code: 'FORBIDDEN' } });
  t.is(gateway.calls.length, 3);
});

test('a refreshed token of another session is refused', async (t) => {
  const gateway = await fakeGateway(
    t,
    () => renewed('second', 8),
    () => false,
  );
  const { session, over } = join(t, gateway.endpoint);
  await over;
  t.like(session.state, { name: 'failed', error: { code: 'FORBIDDEN' } });
});

for (const code of ['FORBIDDEN', 'BAD_REQUEST', 'NOT_FOUND']) {
  test(`a subscription that is refused with ${code} is not retried`, async (t) => {
    const gateway = await fakeGateway(t, nothing);
    const { session, over } = join(t, gateway.endpoint);
    (await gateway.follower(1)).error(code);
    await over;
    t.like(session.state, { name: 'failed', error: { code } });
    t.is(gateway.followers.length, 1);
  });
}

test('a subscription that ends with UNAVAILABLE resumes after its last event', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  join(t, gateway.endpoint);
  const first = await gateway.follower(1);
  first.next(event(1));
  first.error('UNAVAILABLE');
  t.is((await gateway.follower(2)).after, '1-0');
});

test('an invalid event is ignored, and the next one is received', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  const { session, ids } = join(t, gateway.endpoint);
  const taken = take(session, 1);
  const follower = await gateway.follower(1);
  const next = (payload: unknown) => follower.send({ id: '1', type: 'next', payload });
  for (const payload of [{ data: { sessionEvents: null } }, { data: { sessionEvents: {} } }, { data: 7 }, null, {}])
    next(payload);
  follower.send({ type: 'newer' });
  follower.next(event(1));
  t.deepEqual(await taken, ['1-0']);
  t.deepEqual(ids(), ['1-0']);
});

test('a ping of the server is answered', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  join(t, gateway.endpoint);
  const follower: Follower = await gateway.follower(1);
  follower.send({ type: 'ping' });
  await gateway.until(() => follower.received.some(({ type }) => type === 'pong'));
  t.pass();
});

test('a message with an expired token is sent again with a refreshed one', async (t) => {
  const gateway = await fakeGateway(t, (call) => {
    if (isRefresh(call)) return renewed();
    return call.headers.authorization === bearer('second') ? nothing() : refused;
  });
  const { session } = join(t, gateway.endpoint);
  const { clientTurnId } = await session.send('Hello');
  const [, , last] = gateway.calls;
  t.deepEqual(last?.variables, { input: { sessionId: 7, text: 'Hello', clientTurnId } });
  t.is(gateway.calls.length, 3);
});

test('concurrent calls share one refresh', async (t) => {
  const gateway = await fakeGateway(t, (call) => {
    if (isRefresh(call)) return renewed();
    return call.headers.authorization === bearer('second') ? nothing() : refused;
  });
  const { session } = join(t, gateway.endpoint);
  await Promise.all(['a', 'b', 'c'].map((text) => session.send(text)));
  t.is(gateway.calls.filter(isRefresh).length, 1);
});

test('a message whose response is lost is retried with the same idempotency key', async (t) => {
  let isCut = false;
  const gateway = await fakeGateway(t, (_call, response) => {
    if (isCut) return nothing();
    isCut = true;
    response.destroy();
    return undefined;
  });
  await join(t, gateway.endpoint).session.send('Hello');
  const keys = gateway.calls.map(({ headers }) => headers['idempotency-key']);
  t.is(keys.length, 2);
  t.is(keys[0], keys[1]);
  t.regex(String(keys[0]), /^[0-9a-f]{32}$/u);
});

for (const [what, answer, status] of [
  ['a proxy that answers HTML', undefined, 502],
  ['UNAVAILABLE', { errors: [{ extensions: { code: 'UNAVAILABLE' } }] }, 200],
  [
    'a repetition in progress',
    { errors: [{ extensions: { code: 'CONFLICT', reason: 'IDEMPOTENCY_KEY_IN_PROGRESS' } }] },
    200,
  ],
  ['TOO_MANY_REQUESTS', { errors: [{ extensions: { code: 'TOO_MANY_REQUESTS' } }] }, 429],
] as const) {
  test(`a message is sent again after ${what}`, async (t) => {
    let count = 0;
    const gateway = await fakeGateway(t, (_call, response) => {
      count += 1;
      if (count > 1) return nothing();
      response.statusCode = status;
      if (!answer) response.end('<html>');
      return answer;
    });
    await join(t, gateway.endpoint).session.send('Hello');
    t.is(count, 2);
  });
}

test('a refused message is rejected with the reason and not retried', async (t) => {
  const gateway = await fakeGateway(t, () => ({
    errors: [{ message: 'text: is blank', extensions: { code: 'BAD_REQUEST' } }],
  }));
  const { session } = join(t, gateway.endpoint);
  await t.throwsAsync(session.send(' '), { instanceOf: ParleyError, code: 'BAD_REQUEST', message: 'text: is blank' });
  t.is(gateway.calls.length, 1);
});

test('an interrupt is not retried, since it could interrupt the next reply', async (t) => {
  const gateway = await fakeGateway(t, (_call, response) => {
    response.destroy();
    return undefined;
  });
  await t.throwsAsync(join(t, gateway.endpoint).session.interrupt(), { code: 'NETWORK' });
  t.is(gateway.calls.length, 1);
});

test('end() returns its result even when the session ends before the response arrives', async (t) => {
  const ended = { sessionId: 7, durationSeconds: 3, evaluation: null };
  const gateway = await fakeGateway(t, () => {
    for (const each of gateway.followers) each.complete();
    return { data: { sdkEndSession: ended } };
  });
  const { session, over } = join(t, gateway.endpoint);
  await gateway.follower(1);
  t.deepEqual(await session.end(), ended);
  await over;
  await t.throwsAsync(session.send('more'), { instanceOf: ParleyError, code: 'CLOSED' });
});

test('a closed session sends and receives nothing more', async (t) => {
  const gateway = await fakeGateway(t, nothing);
  const { session, ids } = join(t, gateway.endpoint);
  const all = take(session, 5);
  const follower = await gateway.follower(1);
  follower.next(event(1));
  await take(session, 1).catch(() => undefined);
  session.close();
  follower.next(event(2));
  t.deepEqual(await all, ['1-0']);
  t.deepEqual(ids(), ['1-0']);
  t.is(session.state.name, 'closed');
});

test('fetch sends the token of the session, and retries once with a refreshed one after a 401', async (t) => {
  const gateway = await fakeGateway(t, (call) => (isRefresh(call) ? renewed() : nothing()));
  const seen: (string | undefined)[] = [];
  let accepted = bearer('second');
  const server = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(request.headers.authorization === accepted ? 200 : 401, { 'x-asked': request.headers['x-own'] });
    response.end('answer');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tts`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { session } = join(t, gateway.endpoint);
  const ask = () => session.fetch(url, { method: 'POST', headers: { 'x-own': 'mine' }, body: 'text' });
  const answer = await ask();
  t.is(answer.status, 200);
  t.is(answer.headers.get('x-asked'), 'mine');
  t.deepEqual(seen, [bearer('first'), bearer('second')]);
  accepted = bearer('another');
  t.is((await ask()).status, 401, 'a server that takes no token is asked twice at most');
  t.deepEqual(seen.slice(2), [bearer('second'), bearer('second')]);
  const left = new AbortController();
  left.abort(new Error('left'));
  t.is((await t.throwsAsync(session.fetch(url, { signal: left.signal })))?.message, 'left');
});
