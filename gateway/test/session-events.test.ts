import { DomainError, forbidden, invalid, notFound } from '@parley/kernel/errors';
import type { FollowResponse } from '@parley/protos/parley/live/v1/subscriptions';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { type GatewayMeshOptions, gatewayMesh } from './support/gateway-mesh.ts';
import { finishedEvent } from './support/session-script.ts';
import { openSocket, sessionEventsQuery } from './support/socket.ts';

const occurredAt = new Date('2026-01-02T03:04:05.678Z');

function event(n: number, __typename: string, fields: object): FollowResponse {
  return finishedEvent(__typename, { eventId: `1700000000000-${n}`, sessionId: 7, occurredAt, ...fields });
}

function chunk(n: number, text: string): FollowResponse {
  return event(n, 'AiResponseChunkEvent', { clientTurnId: 'c-1', turnIndex: 0, attempt: 1, text });
}

async function subscribedMesh(t: ExecutionContext, options: GatewayMeshOptions = {}) {
  const mesh = await gatewayMesh(t, options);
  const token = await mesh.identity.signIn('s-1', { tenantId: 42 });
  const open = () => openSocket(t, mesh.url, { 'x-app-platform': 'customer', authorization: `Bearer ${token}` });
  return { ...mesh, openSocket: open, socket: open() };
}

test('events arrive typed, whole and in order', async (t) => {
  const { socket, session } = await subscribedMesh(t);
  const { results } = socket.subscribe(sessionEventsQuery, { sessionId: '7', after: '0' });
  await eventually('it is subscribed', () => session.open() === 1);
  t.deepEqual(session.opened[0]?.request, { sessionId: '7', after: '0' });
  t.like(session.opened[0]?.caller, { kind: 'user', userId: 1, tenantId: 42, signInId: 's-1' });

  const call = { callId: '1.0', name: 'search', status: 'SUCCEEDED', durationMs: 12, errorKind: null };
  const structuredContent = { kind: 'card', title: 'Ü🦜', buttons: [{ label: 'a', value: 'b' }] };
  session.send(
    chunk(1, 'Hello '),
    chunk(2, '🦜'),
    event(3, 'AiResponseEvent', {
      clientTurnId: 'c-1',
      turnIndex: 0,
      interrupted: false,
      text: 'Hello 🦜',
      message: {
        id: 12,
        sessionId: 7,
        role: 'MODEL',
        text: 'Hello 🦜',
        turnIndex: 1,
        tokensIn: 10,
        tokensOut: 2,
        costUsd: 1.23456789,
        modelId: 'test-model',
        structuredContent,
        toolCalls: [call],
        createdAt: occurredAt,
        updatedAt: occurredAt,
      },
    }),
    event(4, 'ToolCallEvent', { turnIndex: 2, attempt: 1, ...call, status: 'STARTED', durationMs: null }),
    event(5, 'TurnFailedEvent', { turnIndex: 2, code: 'MODEL_FAILED', message: 'The model failed' }),
    event(6, 'SessionStatusEvent', { status: 'ENDED' }),
  );
  await eventually('all have arrived', () => results.length >= 6);
  const common = { sessionId: 7, occurredAt: '2026-01-02T03:04:05.678Z' };
  const piece = { __typename: 'AiResponseChunkEvent', ...common, clientTurnId: 'c-1', turnIndex: 0, attempt: 1 };
  t.deepEqual(
    results.map(({ data }) => data?.sessionEvents),
    [
      { ...piece, eventId: '1700000000000-1', text: 'Hello ' },
      { ...piece, eventId: '1700000000000-2', text: '🦜' },
      {
        __typename: 'AiResponseEvent',
        ...common,
        eventId: '1700000000000-3',
        clientTurnId: 'c-1',
        turnIndex: 0,
        text: 'Hello 🦜',
        interrupted: false,
        message: {
          id: 12,
          sessionId: 7,
          role: 'MODEL',
          text: 'Hello 🦜',
          turnIndex: 1,
          tokensIn: 10,
          tokensOut: 2,
          costUsd: 1.23456789,
          modelId: 'test-model',
          structuredContent,
          toolCalls: [call],
          createdAt: '2026-01-02T03:04:05.678Z',
          updatedAt: '2026-01-02T03:04:05.678Z',
        },
      },
      {
        __typename: 'ToolCallEvent',
        ...common,
        eventId: '1700000000000-4',
        clientTurnId: null,
        turnIndex: 2,
        attempt: 1,
        callId: '1.0',
        name: 'search',
        callStatus: 'STARTED',
        durationMs: null,
        errorKind: null,
      },
      {
        __typename: 'TurnFailedEvent',
        ...common,
        eventId: '1700000000000-5',
        clientTurnId: null,
        turnIndex: 2,
        code: 'MODEL_FAILED',
        failure: 'The model failed',
      },
      { __typename: 'SessionStatusEvent', ...common, eventId: '1700000000000-6', status: 'ENDED' },
    ],
  );
  t.true(results.every(({ errors }) => errors === undefined));
});

test('all live readers of a session share one stream, each with its own selection', async (t) => {
  const { openSocket: open, session } = await subscribedMesh(t);
  const live = (n: number, text: string) => ({ ...chunk(n, text), occurredAt: new Date() });
  const sockets = Array.from({ length: 6 }, open);
  const all = sockets.map((socket) => socket.subscribe(sessionEventsQuery, { sessionId: 7 }));
  const brief = open().subscribe('subscription { e: sessionEvents(sessionId: 7) { eventId } }');
  const other = open().subscribe(sessionEventsQuery, { sessionId: 8 });
  await eventually('all are subscribed', () => session.open() === 8);
  session.send(live(1, 'one'));
  await eventually('two streams are left, one of each session', () => session.open() === 2);
  session.send(live(2, 'two'), live(3, 'three'));

  for (const { results } of all) {
    await eventually('all has arrived', () => results.length === 3);
    t.deepEqual(
      results.map(({ data }) => (data as { sessionEvents: { text: string } } | undefined)?.sessionEvents.text),
      ['one', 'two', 'three'],
    );
  }
  await eventually('all has arrived', () => brief.results.length === 3 && other.results.length === 3);
  t.deepEqual(
    brief.results.map(({ data }) => data),
    [1, 2, 3].map((n) => ({ e: { eventId: `1700000000000-${n}` } })),
  );

  for (const { leave } of all) leave();
  session.send(live(4, 'four'));
  await eventually('the remaining reader still receives', () => brief.results.length === 4);
  t.true(all.every(({ results }) => results.length === 3));
  session.end(new Error('broken'));
  t.like(await eventually('the error reaches who stayed', brief.ended), [{ extensions: { code: 'INTERNAL' } }]);
});

test('a service without the streaming call is unavailable, and the socket stays open', async (t) => {
  const { socket, session } = await subscribedMesh(t, { oldSession: true });
  const { ended } = socket.subscribe(sessionEventsQuery, { sessionId: 7, after: '0' });
  t.like(await eventually('it is refused', ended), [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }]);
  t.is(session.open(), 0);
  t.is(socket.closed(), undefined);
});

test('a reader without access to a session gets none of its shared stream', async (t) => {
  const { socket, openSocket: open, session } = await subscribedMesh(t);
  const live = (n: number) => ({ ...chunk(n, 'x'), occurredAt: new Date() });
  const { results } = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  await eventually('it is subscribed', () => session.open() === 1);
  session.send(live(1));
  await eventually('it has arrived', () => results.length === 1);
  session.onOpen = () => {
    throw notFound('Session', 7);
  };
  const otherClient = open().subscribe(sessionEventsQuery, { sessionId: 7 });
  t.like(await eventually('the other client is refused', otherClient.ended), [{ extensions: { code: 'NOT_FOUND' } }]);
  session.send(live(2));
  await eventually('events flow', () => results.length === 2);
  t.deepEqual(otherClient.results, []);
});

test('fragments on the interface and on types, aliases and __typename resolve from the event', async (t) => {
  const { socket, session } = await subscribedMesh(t);
  const { results } = socket.subscribe(`
    subscription { e: sessionEvents(sessionId: 7) { ...common ... on SessionStatusEvent { now: status } } }
    fragment common on SessionEvent { kind: __typename id: eventId }`);
  await eventually('it is subscribed', () => session.open() === 1);
  t.deepEqual(session.opened[0]?.request, { sessionId: '7' });
  session.send(event(1, 'SessionStatusEvent', { status: 'EXPIRED' }));
  await eventually('it has arrived', () => results.length === 1);
  t.deepEqual(results[0]?.data, { e: { kind: 'SessionStatusEvent', id: '1700000000000-1', now: 'EXPIRED' } });
});

test('unsubscribing cancels the stream at once, also while it waits for an event', async (t) => {
  const { socket, session } = await subscribedMesh(t);
  const first = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  const second = socket.subscribe(sessionEventsQuery, { sessionId: 8 });
  await eventually('both are open', () => session.open() === 2);
  first.leave();
  await eventually('the one left is cancelled', () => session.open() === 1);
  session.send(chunk(1, 'still here'));
  await eventually('the other goes on', () => second.results.length === 1);
  t.is(first.results.length, 0);
  second.leave();
  await eventually('so is the other', () => session.open() === 0);
  t.is(socket.closed(), undefined);
});

test('closing a socket cancels its streams and no others', async (t) => {
  const { socket, session, openSocket: another } = await subscribedMesh(t);
  socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  socket.subscribe(sessionEventsQuery, { sessionId: 8 });
  const other = another().subscribe(sessionEventsQuery, { sessionId: 7 });
  await eventually('all are open', () => session.open() === 3);
  session.send(chunk(1, 'a'));
  await eventually('events flow', () => other.results.length === 1);
  socket.client.terminate();
  await eventually('its streams are cancelled', () => session.open() === 1);
  session.send(chunk(2, 'b'));
  await eventually('the other goes on', () => other.results.length === 2);
  t.is(other.ended(), undefined);
});

test("refusals of the session service reach the client in the contract's shape", async (t) => {
  const { socket, session } = await subscribedMesh(t);
  let refusal: Error | undefined;
  session.onOpen = () => {
    if (refusal) throw refusal;
  };
  const problem = { path: 'after', message: 'is no event id' };
  const cases: [Error, object][] = [
    [notFound('Session', 9), { message: 'Session 9 not found', extensions: { code: 'NOT_FOUND', statusCode: 404 } }],
    [
      forbidden('No', 'OTHER_SESSION'),
      { message: 'No', extensions: { code: 'FORBIDDEN', statusCode: 403, reason: 'OTHER_SESSION' } },
    ],
    [
      invalid(problem),
      {
        message: 'after is no event id',
        extensions: { code: 'BAD_REQUEST', statusCode: 400, fields: [problem] },
      },
    ],
    [
      new DomainError('unavailable', 'too slow at 10.0.0.7', { reason: 'SLOW_READER' }),
      { message: 'session is not available', extensions: { code: 'UNAVAILABLE', reason: 'SLOW_READER' } },
    ],
    [
      new Error('secret'),
      { message: 'Something went wrong on our side', extensions: { code: 'INTERNAL', statusCode: 500 } },
    ],
  ];
  for (const [error, expected] of cases) {
    refusal = error;
    const { ended } = socket.subscribe(sessionEventsQuery, { sessionId: 9 });
    t.like(await eventually(error.message, ended), [expected]);
  }
  refusal = undefined;
  const { results } = socket.subscribe(sessionEventsQuery, { sessionId: 9 });
  await eventually('the socket still serves', () => session.open() === 1);
  session.send(chunk(1, 'a'));
  await eventually('and streams', () => results.length === 1);
});

test('an error in mid-stream ends the subscription after what came before it', async (t) => {
  const { socket, session } = await subscribedMesh(t);
  const { results, ended } = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  await eventually('it is open', () => session.open() === 1);
  session.send(chunk(1, 'a'), chunk(2, 'b'));
  await eventually('both have arrived', () => results.length === 2);
  session.end(new Error('secret'));
  t.like(await eventually('it has ended', ended), [{ extensions: { code: 'INTERNAL', statusCode: 500 } }]);
  t.is(socket.closed(), undefined);
});

test('when session restarts, its streams end as unavailable and new ones reach it again', async (t) => {
  const { socket, session, stop, restartRpc } = await subscribedMesh(t);
  const first = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  await eventually('it is open', () => session.open() === 1);
  await stop('session rpc');
  t.like(await eventually('it has ended', first.ended), [{ extensions: { code: 'UNAVAILABLE', statusCode: 503 } }]);
  const meanwhile = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  t.like(await eventually('nobody is there', meanwhile.ended), [{ extensions: { code: 'UNAVAILABLE' } }]);

  await restartRpc('session');
  const again = await eventually('it is found again', async () => {
    const { ended, results, leave } = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
    await eventually('an answer', () => session.open() === 1 || ended());
    if (ended()) leave();
    return ended() ? undefined : { results };
  });
  session.send(chunk(1, 'back'));
  await eventually('events flow again', () => again.results.length === 1);
  t.is(socket.closed(), undefined);
});

test('a suspended tenant and a limited sign-in may not subscribe', async (t) => {
  const { socket, session, identity, announce } = await subscribedMesh(t);
  await socket.settled();
  await identity.signIn('s-1', { tenantId: 42, limitedReason: 'TWO_FACTOR_REQUIRED' });
  await announce({ $case: 'signInId', value: 's-1' });
  const { ended } = socket.subscribe(sessionEventsQuery, { sessionId: 7 });
  const errors = await eventually('it is refused', ended);
  // The periodic check of open sockets may have closed the socket first.
  if (socket.closed() !== undefined) t.is(socket.closed(), 4403);
  else t.like(errors, [{ extensions: { code: 'FORBIDDEN', statusCode: 403, reason: 'TWO_FACTOR_REQUIRED' } }]);
  t.is(session.opened.length, 0);
});

test('a subscription may use variables, and selects one root field however it is written', async (t) => {
  const { socket, session } = await subscribedMesh(t);
  const conditional = `subscription ($x: Boolean!) { sessionEvents(sessionId: 7) @include(if: $x) { eventId } }`;
  const { results } = socket.subscribe(conditional, { x: true });
  await eventually('it is subscribed', () => session.open() === 1);
  session.send(event(1, 'SessionStatusEvent', { status: 'ENDED' }));
  await eventually('it has arrived', () => results.length === 1);
  t.deepEqual(results[0]?.data, { sessionEvents: { eventId: '1700000000000-1' } });

  for (const document of [
    'subscription { a: sessionEvents(sessionId: 7) { eventId } b: sessionEvents(sessionId: 7) { eventId } }',
    'subscription { ...f ... { sessionEvents(sessionId: 7) { eventId } } } fragment f on Subscription { b: sessionEvents(sessionId: 7) { eventId } }',
    'subscription { __typename }',
    'subscription { __schema { queryType { name } } }',
  ]) {
    const refused = socket.subscribe(document);
    const errors = await eventually(`${document} is refused`, refused.ended);
    t.like(errors, [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }]);
  }
  const nothing = socket.subscribe(conditional, { x: false });
  t.like(await eventually('nothing is left to subscribe to', nothing.ended), [{ extensions: { code: 'BAD_REQUEST' } }]);
  t.is(socket.closed(), undefined);
});
