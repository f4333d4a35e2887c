import { DomainError, unavailable } from '@parley/kernel/errors';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import test from 'ava';
import { createGate, finished, shown, text, used, waitForGate } from './scripted-agent.ts';
import { failureOf, inTenant, isFailure, isReply, sessionMesh, subscribe } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor', metadata: { plan: 'gold', list: [1] } };
const owner = inTenant(1);
function contentOf({ kind }: SessionEvent): unknown {
  return kind?.$case === 'aiResponse' ? JSON.parse(kind.value.message?.structuredContentJson || 'null') : undefined;
}

const card = { kind: 'card', title: 'Order 4711', buttons: [{ label: 'Track', url: 'https://example.com' }] };

test("the agent gets the session's person, metadata and start time, and whether a draft is tested", async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { id, startedAt } = await app.startSession(owner, start);
  const events = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'one', testDraft: true });
  await events.until('the first reply', isReply);
  await app.sendMessage(owner, { sessionId: id, text: 'two' });
  await events.until('the second reply', isReply, 2);
  const [first, second] = agent.calls.map(({ request }) => request);
  t.like(first, { clientExternalId: 'visitor', testDraft: true, identityJson: '', resumes: false });
  t.false(first?.includesEarlierUsage);
  t.deepEqual(JSON.parse(first?.metadataJson ?? ''), start.metadata);
  t.deepEqual(first?.sessionStartedAt, startedAt ?? undefined);
  t.like(second, { testDraft: false, metadataJson: first?.metadataJson, sessionStartedAt: first?.sessionStartedAt });
});

test('a queued turn gets the same data of the session', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = async function* (call) {
    await waitForGate(gate, call);
    yield text('Re');
    yield finished();
  };
  const { id, startedAt } = await app.startSession(owner, { agentId: 1, clientExternalId: 'visitor' });
  const events = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'one' });
  await app.sendMessage(owner, { sessionId: id, text: 'two', testDraft: true });
  gate.open();
  await events.until('the first reply', isReply);
  gate.open();
  await events.until('the second reply', isReply, 2);
  t.like(agent.calls[1]?.request, { clientExternalId: 'visitor', metadataJson: '', testDraft: true });
  t.deepEqual(agent.calls[1]?.request.sessionStartedAt, startedAt ?? undefined);
});

test('structured content is stored with the message, and is in its event and in a replay from the database', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  agent.script = async function* () {
    yield text('Here it is.');
    yield shown({ ...card, subtitle: 'NUL \0 and half a pair \ud83d' });
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const live = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  const event = await live.until('the reply', isReply);
  const stored = { ...card, subtitle: 'NUL  and half a pair \ufffd' };
  t.deepEqual(contentOf(event), stored);
  const { app: other } = await replica({ eventLog: memoryEventLog() });
  const replayed = await subscribe(t, other, id, { after: '0' }).until('the replayed reply', isReply);
  t.deepEqual(contentOf(replayed), stored);
});

test('a turn without a model leaves the last context size unchanged', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* ({ asked }) {
    yield text('Re');
    yield asked === 'one' ? finished() : used({});
  };
  const { id } = await app.startSession(owner, start);
  const events = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'one' });
  await events.until('the first reply', isReply);
  await app.sendMessage(owner, { sessionId: id, text: 'two' });
  await events.until('the second reply', isReply, 2);
  t.is((await app.findSession(owner, id))?.totalTokensInContext, 25);
});

for (const reason of ['WORKFLOW_NOT_PUBLISHED', 'WORKFLOW_FAILED', 'WORKFLOW_LIMIT', 'TURN_TIMEOUT'] as const) {
  test(`a workflow that ends with ${reason} fails its turn with that code`, async (t) => {
    const { app, agent } = await sessionMesh(t);
    agent.script = async function* () {
      yield used({ tokensIn: 1 });
      throw new DomainError(reason === 'TURN_TIMEOUT' ? 'unavailable' : 'invalid', 'secret detail', { reason });
    };
    const { id } = await app.startSession(owner, start);
    const events = subscribe(t, app, id, { after: '0' });
    await app.sendMessage(owner, { sessionId: id, text: 'hello' });
    const failure = failureOf(await events.until('the failure', isFailure));
    t.is(failure.code, reason);
    t.false(failure.message.includes('secret'));
    t.is(agent.calls.length, 1);
  });
}

test('usage of earlier attempts is requested only if this process does not know it', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    if (agent.calls.length === 1) throw unavailable('it restarts');
    if (agent.calls.length === 2) {
      yield used({ tokensIn: 7 });
      throw unavailable('it restarts');
    }
    yield text('Re');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const events = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  const { kind } = await events.until('the reply', isReply);
  t.deepEqual(
    agent.calls.map(({ request }) => [request.resumes, request.includesEarlierUsage]),
    [
      [false, false],
      [true, true],
      [true, false],
    ],
  );
  t.is(kind?.$case === 'aiResponse' && kind.value.message?.tokensIn, 27);
});
