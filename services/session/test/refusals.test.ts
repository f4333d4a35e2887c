import { createGate } from '@parley/testing/gate';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { turnOf } from '../src/session-turn.ts';
import { inTenant, isReply, sessionMesh, watch } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

test("another tenant's session looks like one that is not there, over every operation", async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const stranger = inTenant(2);
  for (const session of [id, id + 1000]) {
    const absent = { kind: 'notFound', message: `Session ${session} not found` };
    t.is(await app.findSession(stranger, session), undefined);
    t.is(await app.findEvaluation(stranger, session, 0), undefined);
    t.deepEqual(await app.listMessages(stranger, [session], {}), [[]]);
    t.like(await t.throwsAsync(app.sendMessage(stranger, { sessionId: session, text: 'hello' })), absent);
    t.like(await t.throwsAsync(app.interruptSession(stranger, String(session))), absent);
    t.like(await t.throwsAsync(app.endSession(stranger, String(session))), absent);
    t.like(await t.throwsAsync(app.getTranscript(stranger, session)), absent);
  }
  t.deepEqual(await app.listSessions(stranger, {}), []);
  t.deepEqual(await app.listSessions(stranger, { agentId: 1 }), []);
  t.is(await app.countSessions(stranger), 0);
  t.like(await app.findSession(inTenant(1), id), { status: 'ACTIVE', interruptCount: 0 });
});

test('what is no id is an id that is not there', async (t) => {
  const { app } = await sessionMesh(t);
  for (const id of ['abc', '0', '-1', '99999999999', '2147483648', '1.5', '1e3', '']) {
    t.is(await app.findSession(inTenant(1), id), undefined, id);
    t.like(await t.throwsAsync(app.endSession(inTenant(1), id)), { kind: 'notFound' }, id);
    t.like(await t.throwsAsync(app.interruptSession(inTenant(1), id)), { kind: 'notFound' }, id);
  }
  for (const sessionId of [0, -1, 2 ** 31 - 1]) {
    t.like(await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId, text: 'hello' })), { kind: 'notFound' });
    t.is(await app.findEvaluation(inTenant(1), sessionId, 0), undefined);
  }
  t.deepEqual(await app.listSessions(inTenant(1), { agentId: -1 }), []);
});

test('a person without a tenant is told so', async (t) => {
  const { app } = await sessionMesh(t);
  const nobody = { ...inTenant(1), tenantId: null };
  t.like(await t.throwsAsync(app.startSession(nobody, start)), { kind: 'forbidden', reason: 'NO_TENANT' });
  t.like(await t.throwsAsync(app.listSessions(nobody, {})), { kind: 'forbidden', reason: 'NO_TENANT' });
});

test('ten thousand characters pass, counted as people count them; one more is refused and stores nothing', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after: '0' });
  const text = '🙂'.repeat(10_000);
  const error = await t.throwsAsync(app.sendMessage(inTenant(1), { sessionId: id, text: `${text}x` }));
  t.like(error, { kind: 'invalid', fields: [{ path: 'input.text', message: 'must have at most 10000 characters' }] });
  t.deepEqual((await app.getTranscript(inTenant(1), id)).messages, []);

  await app.sendMessage(inTenant(1), { sessionId: id, text });
  await watching.until('the reply', isReply);
  const { messages } = await app.getTranscript(inTenant(1), id);
  t.is(messages[0]?.text, text);
});

test('blank text, NUL and halves of characters are refused and store nothing', async (t) => {
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

test('metadata is echoed as it was given, up to 64 KB, and refused where it cannot be stored', async (t) => {
  const { app } = await sessionMesh(t);
  const begin = (metadata: unknown, clientExternalId = 'x') =>
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
    const { id } = await begin(metadata);
    t.deepEqual((await app.findSession(inTenant(1), id))?.metadata, metadata);
  }
  const before = await app.countSessions(inTenant(1));
  for (const metadata of [{ deep: [{ a: 'x\0' }] }, { 'k\0': 1 }, ['\ud800'], 'x'.repeat(65_535)]) {
    t.like(await t.throwsAsync(begin(metadata)), { kind: 'invalid', fields: [{ path: 'input.metadata' }] });
  }
  t.like(await t.throwsAsync(begin(null, 'a\0')), { kind: 'invalid', fields: [{ path: 'input.clientExternalId' }] });
  t.is(await app.countSessions(inTenant(1)), before);
});

test('what a client wants of one session takes turns, for as long as it waits, and nobody else can hold it up', async (t) => {
  const { database, replica } = await sessionMesh(t);
  const own = await replicaOf(t, database, sessionSchema);
  const { app } = await replica({ database: own });
  const { id } = await app.startSession(inTenant(1), start);
  const gate = createGate();
  const first = own.transact(1, gate.pass, { turn: turnOf({ tenantId: 1, sessionId: id }) });
  const leaving = new AbortController();
  const refusals = [
    app.sendMessage(inTenant(1), { sessionId: id, text: 'Too late' }, leaving.signal),
    app.interruptSession(inTenant(1), String(id), leaving.signal),
    app.endSession(inTenant(1), String(id), leaving.signal),
  ].map((call) => t.throwsAsync(call));
  const foreign = t.throwsAsync(app.sendMessage(inTenant(2), { sessionId: id, text: 'Mine' }, leaving.signal));
  leaving.abort();
  gate.open();
  for (const refused of refusals) t.like(await refused, { kind: 'unavailable', message: 'The caller has gone' });
  t.like(await foreign, { kind: 'notFound' });
  await first;
  t.like(await app.findSession(inTenant(1), id), { status: 'ACTIVE', interruptCount: 0 });
});
