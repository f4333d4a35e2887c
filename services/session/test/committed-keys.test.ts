import type { Caller } from '@parley/kernel/caller';
import { requestOf } from '@parley/testing/request-of';
import test, { type ExecutionContext } from 'ava';
import { createGate, gatedReply } from './scripted-agent.ts';
import { inTenant, isReply, isStatus, sessionMesh, subscribe } from './session-mesh.ts';
import { sessionUnit } from './session-unit.ts';

const ada = inTenant(1);
const under = (effectKey: string | undefined) => requestOf(ada, { effectKey });
const start = { agentId: 2, clientExternalId: 'visitor' };

async function keyedMesh(t: ExecutionContext, env: Record<string, string> = {}) {
  const mesh = await sessionMesh(t, { env });
  const { app, database } = mesh;
  const messagesOf = async (sessionId: number) => {
    const { messages } = await app.getTranscript(ada, sessionId);
    return messages.map(({ text }) => text);
  };
  const count = async (table: string) => (await database.transact(1, ({ knex }) => knex(table).select('id'))).length;
  return { ...mesh, messagesOf, count };
}

test('a session is started once per key, even if its agent has been deleted since', async (t) => {
  const { app, agent, replica, count, messagesOf } = await keyedMesh(t);
  const other = await replica();
  const first = await app.startSession(under('a'), start);
  agent.agents.delete(2);
  const again = await other.app.startSession(under('a'), start);
  t.deepEqual(again, first);
  t.is(await count('sessions'), 1); // allow-name sessions: the database table, not the query
  t.deepEqual(await messagesOf(first.id), ['Hello there'], 'greeted once');
  t.like(await t.throwsAsync(app.startSession(under('b'), start)), { kind: 'notFound' });

  const events = subscribe(t, app, first.id, { after: '0' });
  await app.endSession(ada, String(first.id));
  await events.until('the end', isStatus, 2);
  t.is(events.events.filter(isReply).length, 1);
  t.is((await app.startSession(under('a'), start)).status, 'ENDED', 'as it is now');
});

test('a message is accepted once per key, even if the session has ended since', async (t) => {
  const { app, replica, count, messagesOf } = await keyedMesh(t);
  const other = await replica();
  const { id } = await app.startSession(ada, { ...start, agentId: 1 });
  const message = { sessionId: id, text: 'Hello', clientTurnId: 'mine' };
  const events = subscribe(t, app, id, { after: '0' });
  t.is((await app.sendMessage(under('a'), message)).id, id);
  await events.until('the reply', isReply);
  t.is((await other.app.sendMessage(under('a'), message)).id, id);
  await app.endSession(ada, String(id));
  t.like(await app.sendMessage(under('a'), message), { id, status: 'ENDED' });
  t.deepEqual(await messagesOf(id), ['Hello', 'Re: Hello']);
  t.is(await count('turns'), 1);
  t.like(await t.throwsAsync(app.sendMessage(under('b'), message)), { kind: 'invalid' });
});

test('clientTurnId is not an idempotency key', async (t) => {
  const { app, count } = await keyedMesh(t);
  const { id } = await app.startSession(ada, { ...start, agentId: 1 });
  for (let i = 0; i < 2; i++) await app.sendMessage(ada, { sessionId: id, text: 'Hello', clientTurnId: 'mine' });
  t.is(await count('turns'), 2);
});

test('of parallel calls with one key on two replicas, only one takes effect', async (t) => {
  const { app, replica, count } = await keyedMesh(t);
  const other = await replica();
  const apps = Array.from({ length: 10 }, (_, n) => (n % 2 ? app : other.app));
  const sessions = await Promise.all(apps.map((each) => each.startSession(under('a'), start)));
  t.is(new Set(sessions.map(({ id }) => id)).size, 1);
  t.is(await count('sessions'), 1); // allow-name sessions: the database table, not the query
  const [{ id } = t.fail()] = sessions;
  const send = { sessionId: id, text: 'Hello' };
  await Promise.all(apps.map((each) => each.sendMessage(under('b'), send)));
  t.is(await count('turns'), 1);
});

test('a refused request commits no key', async (t) => {
  const { app, agent, messagesOf } = await keyedMesh(t, { SESSION_QUEUED_PER_SESSION: '1' });
  const gate = createGate();
  agent.script = gatedReply(gate, 'Slowly');
  const { id } = await app.startSession(ada, { ...start, agentId: 1 });
  const send = (text: string, key?: string) => app.sendMessage(under(key), { sessionId: id, text });
  await send('One');
  await send('Two');
  t.like(await t.throwsAsync(send('Three', 'a')), { kind: 'tooManyRequests' });
  const events = subscribe(t, app, id, { after: '0' });
  gate.open();
  await events.until('both replies', isReply, 2);
  await send('Three', 'a');
  await events.until('the third reply', isReply, 3);
  t.deepEqual((await messagesOf(id)).filter((text) => text === 'Three').length, 1);
});

test('each startSession field of a request starts its own session, and a retry returns the same sessions', async (t) => {
  const { graph } = await sessionUnit(t);
  const document = `mutation ($input: StartSessionInput!) {
    one: startSession(input: $input) { id } two: startSession(input: $input) { id }
  }`;
  const ask = async (caller: Caller) => {
    const { data, errors } = await graph(caller, document, { input: { agentId: 1, clientExternalId: 'x' } });
    t.is(errors, undefined);
    const { one, two } = data as Record<'one' | 'two', { id: number }>;
    return [one.id, two.id];
  };
  const keyed = { ...ada, idempotencyKey: 'use-1' };
  const first = await ask(keyed);
  t.not(first[0], first[1]);
  t.deepEqual(await ask({ ...keyed, requestId: 'retry' }), first);
  t.notDeepEqual(await ask({ ...ada, idempotencyKey: 'use-2' }), first);
  t.notDeepEqual(await ask(ada), await ask(ada));
});
