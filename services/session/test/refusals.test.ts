import { createGate } from '@parley/testing/gate';
import { requestOf } from '@parley/testing/request-of';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { lockQueueOf } from '../src/session-lock-queue.ts';
import { sessionSchema } from '../src/session-schema.ts';
import { inTenant, isReply, sessionMesh, subscribe } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

test("another tenant's session looks absent to every operation", async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const otherTenant = inTenant(2);
  for (const session of [id, id + 1000]) {
    const absent = { kind: 'notFound', message: `Session ${session} not found` };
    t.is(await app.findSession(otherTenant, session), undefined);
    t.is(await app.findEvaluation(otherTenant, { sessionId: session, maxTranscriptBytes: 0 }), undefined);
    t.deepEqual(await app.listMessages(otherTenant, { sessionIds: [session], page: {} }), [[]]);
    t.like(await t.throwsAsync(app.sendMessage(otherTenant, { sessionId: session, text: 'hello' })), absent);
    t.like(await t.throwsAsync(app.interruptSession(otherTenant, String(session))), absent);
    t.like(await t.throwsAsync(app.endSession(otherTenant, String(session))), absent);
    t.like(await t.throwsAsync(app.getTranscript(otherTenant, session)), absent);
  }
  t.deepEqual(await app.listSessions(otherTenant, {}), []);
  t.deepEqual(await app.listSessions(otherTenant, { agentId: 1 }), []);
  t.is(await app.countSessions(otherTenant), 0);
  t.like(await app.findSession(inTenant(1), id), { status: 'ACTIVE', interruptCount: 0 });
});

test('an invalid id is treated as an absent one', async (t) => {
  const { app } = await sessionMesh(t);
  for (const id of ['abc', '0', '-1', '99999999999', '2147483648', '1.5', '1e3', '']) {
    t.is(await app.findSession(inTenant(1), id), undefined, id);
    t.like(await t.throwsAsync(app.endSession(inTenant(1), id)), { kind: 'notFound' }, id);
    t.like(await t.throwsAsync(app.interruptSession(inTenant(1), id)), { kind: 'notFound' }, id);
  }
  for (const sessionId of [0, -1, 2 ** 31 - 1]) {
    t.like(await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId, text: 'hello' })), { kind: 'notFound' });
    t.is(await app.findEvaluation(inTenant(1), { sessionId, maxTranscriptBytes: 0 }), undefined);
  }
  t.deepEqual(await app.listSessions(inTenant(1), { agentId: -1 }), []);
});

test('a message may have 10,000 characters, counted as code points; one more is refused and not stored', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  const text = '🙂'.repeat(10_000);
  const error = await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: id, text: `${text}x` }));
  t.like(error, { kind: 'invalid', fields: [{ path: 'input.text', message: 'must have at most 10000 characters' }] });
  t.deepEqual((await app.getTranscript(inTenant(1), id)).messages, []);

  await app.sendMessage(inTenant(1), { sessionId: id, text });
  await subscriber.until('the reply', isReply);
  const { messages } = await app.getTranscript(inTenant(1), id);
  t.is(messages[0]?.text, text);
});

test('blank text, NUL and lone surrogates are refused and not stored', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  for (const text of ['', ' \n\t ', 'a\0b', '\ud800', 'x\udc00y']) {
    t.like(await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: id, text })), { kind: 'invalid' });
  }
  for (const clientTurnId of ['\0', '\udfff', 'x'.repeat(1001)]) {
    const refused = app.sendMessage(inTenant(1), { sessionId: id, text: 'hello', clientTurnId });
    t.like(await t.throwsAsync(refused), { kind: 'invalid', fields: [{ path: 'input.clientTurnId' }] });
  }
  t.deepEqual((await app.getTranscript(inTenant(1), id)).messages, []);
});

test('metadata up to 64 KB is returned unchanged; what cannot be stored is refused', async (t) => {
  const { app } = await sessionMesh(t);
  const startWith = (metadata: unknown, clientExternalId = 'x') =>
    app.startSession(inTenant(1), { agentId: 1, clientExternalId, metadata });
  const values = [
    null,
    false,
    0,
    'text',
    [1, [2]],
    { a: { 'b c': [null, 'é🙂'] } },
    { __proto__x: 1 },
    'x'.repeat(65_534),
  ];
  for (const metadata of values) {
    const { id } = await startWith(metadata);
    t.deepEqual((await app.findSession(inTenant(1), id))?.metadata, metadata);
  }
  const before = await app.countSessions(inTenant(1));
  for (const metadata of [{ deep: [{ a: 'x\0' }] }, { 'k\0': 1 }, ['\ud800'], 'x'.repeat(65_535)]) {
    t.like(await t.throwsAsync(startWith(metadata)), { kind: 'invalid', fields: [{ path: 'input.metadata' }] });
  }
  t.like(await t.throwsAsync(startWith(null, 'a\0')), {
    kind: 'invalid',
    fields: [{ path: 'input.clientExternalId' }],
  });
  t.is(await app.countSessions(inTenant(1)), before);
});

test('calls for one session queue for its lock, leave the queue with their caller, and are not delayed by other tenants', async (t) => {
  const { database, replica } = await sessionMesh(t);
  const own = await replicaOf(t, database, sessionSchema);
  const { app } = await replica({ database: own });
  const { id } = await app.startSession(inTenant(1), start);
  const gate = createGate();
  const first = own.transact(1, gate.pass, { lockQueue: lockQueueOf({ tenantId: 1, sessionId: id }) });
  const leaving = new AbortController();
  const refusals = [
    app.sendMessage(requestOf(inTenant(1), leaving), { sessionId: id, text: 'Too late' }),
    app.interruptSession(requestOf(inTenant(1), leaving), String(id)),
    app.endSession(requestOf(inTenant(1), leaving), String(id)),
  ].map((call) => t.throwsAsync(call));
  const foreign = t.throwsAsync(app.sendMessage(requestOf(inTenant(2)), { sessionId: id, text: 'Mine' }));
  leaving.abort();
  gate.open();
  for (const refused of refusals) t.like(await refused, { kind: 'unavailable', message: 'The caller has gone' });
  t.like(await foreign, { kind: 'notFound' });
  await first;
  t.like(await app.findSession(inTenant(1), id), { status: 'ACTIVE', interruptCount: 0 });
});
