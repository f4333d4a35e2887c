import { unavailable } from '@parley/kernel/errors';
import type { EventLog } from '@parley/live/event-log/event-log';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { toolCallOf } from '../src/tool-call.ts';
import { turnStore } from '../src/turn-store.ts';
import { called, createGate, finished, type ScriptedAgent, text, waitForGate } from './scripted-agent.ts';
import {
  type App,
  failureOf,
  inTenant,
  isCall,
  isFailure,
  isReply,
  isStatus,
  replyOf,
  type Subscriber,
  sessionMesh,
  subscribe,
} from './session-mesh.ts';
import { sessionUnit } from './session-unit.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };
const owner = inTenant(1);
const env = { SESSION_LEASE_MS: '2000' };

const call = (callId: string, status: string, fields: object = {}) => ({
  callId,
  name: 'search',
  status,
  durationMs: status === 'SUCCEEDED' || status === 'FAILED' ? 12 : null,
  errorKind: status === 'FAILED' ? 'TOOL_FAILED' : null,
  ...fields,
});

/** Summarizes an event: a chunk as its text, a tool call as its status and attempt, other events as their kind. */
function told({ kind }: SessionEvent): string {
  if (kind?.$case === 'aiResponseChunk') return kind.value.text;
  if (kind?.$case !== 'toolCallChanged') return kind?.$case ?? '';
  const { attempt, call } = kind.value;
  const { callId = '', status = '' } = (call && toolCallOf(call)) ?? {};
  return `${attempt}: ${callId} ${status}`;
}

const tale = ({ events }: Subscriber) => events.filter((event) => !isStatus(event)).map(told);

async function storedCalls(app: App, id: number) {
  return (await app.getTranscript(owner, id)).messages.map(({ toolCalls }) => toolCalls);
}

/** Makes the agent send text and start a tool call that never ends. */
function endlessCall(agent: ScriptedAgent): void {
  agent.script = async function* (turn) {
    yield text('Let me look. ');
    yield called('1.0', 'STARTED');
    await waitForGate(createGate(), turn);
  };
}

test('tool calls are streamed between the pieces of a reply where they were made, and stored with its message', async (t) => {
  const { app, agent, replica } = await sessionMesh(t);
  agent.script = async function* () {
    for (const word of ['Let ', 'me ', 'look.']) yield text(word);
    yield called('1.0', 'STARTED');
    yield called('1.1', 'STARTED');
    yield called('1.1', 'FAILED');
    yield called('1.0', 'SUCCEEDED');
    yield text('Found ');
    yield text('it.');
    yield { ...called('2.0', 'STARTED'), text: ' Or not.' };
    yield called('2.0', 'SUCCEEDED');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const live = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello', clientTurnId: 'x' });
  const reply = await live.until('the reply', isReply);

  t.regex(
    tale(live).join('|'),
    /^Let \|?me \|?look\.\|1: 1\.0 STARTED\|1: 1\.1 STARTED\|1: 1\.1 FAILED\|1: 1\.0 SUCCEEDED\|Found \|?it\.\|? Or not\.\|1: 2\.0 STARTED\|1: 2\.0 SUCCEEDED\|aiResponse$/u,
  );
  const { kind } = live.events.find(isCall) ?? t.fail();
  t.like(kind?.$case === 'toolCallChanged' && kind.value, { clientTurnId: 'x', turnIndex: 0 });
  const calls = [call('1.0', 'SUCCEEDED'), call('1.1', 'FAILED'), call('2.0', 'SUCCEEDED')];
  t.deepEqual(await storedCalls(app, id), [null, calls]);
  const message = reply.kind?.$case === 'aiResponse' ? reply.kind.value.message : undefined;
  t.deepEqual(message?.toolCalls?.calls.map(toolCallOf), calls as object[]);

  const again = subscribe(t, app, id, { after: live.events.find(isCall)?.eventId ?? t.fail() });
  await again.until('the reply', isReply);
  t.deepEqual(again.events, live.events.slice(live.events.findIndex(isCall) + 1));
  const { app: other } = await replica({ eventLog: memoryEventLog() });
  const stored = await subscribe(t, other, id, { after: '0' }).until('the reply from the database', isReply);
  t.deepEqual(stored.kind, reply.kind);
});

for (const what of ['interrupt', 'end'] as const) {
  test(`the ${what} of a session during a tool call cancels the call before the reply ends`, async (t) => {
    const { app, agent } = await sessionMesh(t);
    endlessCall(agent);
    const { id } = await app.startSession(owner, start);
    const subscriber = subscribe(t, app, id, { after: '0' });
    await app.sendMessage(owner, { sessionId: id, text: 'hello' });
    await subscriber.until('the call', isCall);
    if (what === 'interrupt') await app.interruptSession(owner, String(id));
    else await app.endSession(owner, String(id));
    t.true(replyOf(await subscriber.until('the reply', isReply)).interrupted);
    t.deepEqual(tale(subscriber), ['Let me look. ', '1: 1.0 STARTED', '1: 1.0 CANCELLED', 'aiResponse']);
    t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'CANCELLED')]]);
    await eventually('the agent is told', () => agent.calls[0]?.end === 'stopped');
  });
}

test('a turn that fails during a tool call cancels the call before the turn ends', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield called('1.0', 'SUCCEEDED');
    yield called('1.1', 'STARTED');
    throw new Error('It broke');
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the failure', isFailure);
  t.deepEqual(tale(subscriber), ['1: 1.0 SUCCEEDED', '1: 1.1 STARTED', '1: 1.1 CANCELLED', 'turnFailed']);
});

test('an attempt that takes over makes its own tool calls, which replace those of the previous attempt', async (t) => {
  const { agent, app, database, replica } = await sessionMesh(t, { env });
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase });
  agent.script = async function* (turn) {
    yield called('1.0', 'STARTED');
    if (!turn.request.resumes) {
      yield called('1.1', 'STARTED');
      await waitForGate(createGate(), turn);
    }
    yield called('1.0', 'SUCCEEDED');
    yield text('Found.');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await crashing.app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the calls', isCall, 2);
  await crashingDatabase.close();
  await subscriber.until('the reply', isReply);
  t.deepEqual(tale(subscriber), [
    '1: 1.0 STARTED',
    '1: 1.1 STARTED',
    '2: 1.0 STARTED',
    '2: 1.0 SUCCEEDED',
    'Found.',
    'aiResponse',
  ]);
  t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'SUCCEEDED')]]);
  t.is(agent.calls[0]?.request.turnKey, agent.calls[1]?.request.turnKey);
});

test('after an agent is lost during a tool call, the next one continues, and the call is stored once', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* ({ request }) {
    yield called('1.0', 'STARTED');
    if (!request.resumes) throw unavailable('This replica is stopping');
    yield called('1.0', 'SUCCEEDED');
    yield text('Found.');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the reply', isReply);
  t.deepEqual(
    agent.calls.map(({ request }) => request.resumes),
    [false, true],
  );
  t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'SUCCEEDED')]]);
});

for (const losses of [1, 3]) {
  test(`after ${losses} losses of the agent during a tool call that follows text, another attempt continues, twice at most`, async (t) => {
    const { app, agent } = await sessionMesh(t);
    agent.script = async function* () {
      yield text('Let me look. ');
      yield called('1.0', 'STARTED');
      if (agent.calls.length <= losses) throw unavailable('This replica is stopping');
      yield called('1.0', 'SUCCEEDED');
      yield text('Found.');
      yield finished();
    };
    const { id } = await app.startSession(owner, start);
    const subscriber = subscribe(t, app, id, { after: '0' });
    await app.sendMessage(owner, { sessionId: id, text: 'hello' });
    await subscriber.until('the end', (event) => isReply(event) || isFailure(event));
    const lost = (attempt: number) => ['Let me look. ', `${attempt}: 1.0 STARTED`, `${attempt}: 1.0 CANCELLED`];
    if (losses === 1) {
      t.deepEqual(tale(subscriber), [
        ...lost(1),
        'Let me look. ',
        '2: 1.0 STARTED',
        '2: 1.0 SUCCEEDED',
        'Found.',
        'aiResponse',
      ]);
      t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'SUCCEEDED')]]);
    } else {
      t.deepEqual(tale(subscriber), [...lost(1), ...lost(2), ...lost(3), 'turnFailed']);
    }
    t.deepEqual(
      agent.calls.map(({ request }) => request.resumes),
      [false, true, true].slice(0, losses + 1),
    );
  });
}

test('an agent that is lost while it repeats the text before a call is asked to go on', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield text('Let me look. ');
    if (agent.calls.length === 2) throw unavailable('This replica is stopping');
    yield called('1.0', 'STARTED');
    if (agent.calls.length === 1) throw unavailable('This replica is stopping');
    yield called('1.0', 'SUCCEEDED');
    yield text('Found.');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the end', (event) => isReply(event) || isFailure(event));
  t.deepEqual(tale(subscriber).slice(-3), ['3: 1.0 SUCCEEDED', 'Found.', 'aiResponse']);
  t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'SUCCEEDED')]]);
});

for (const how of [
  'is interrupted in its next attempt',
  'has to end with its session',
  'has no attempts left',
] as const) {
  test(`the tool call of a dead process is cancelled and stored when its turn ${how}`, async (t) => {
    const { agent, database, replica, unit } = await sessionMesh(t);
    await unit.stop(); // only the replica that dies and its successor remain
    const crashingDatabase = await replicaOf(t, database, sessionSchema);
    const crashing = await replica({ database: crashingDatabase });
    agent.script = async function* (turn) {
      if (!turn.request.resumes) {
        yield called('1.0', 'SUCCEEDED');
        yield called('2.0', 'STARTED');
      }
      await waitForGate(createGate(), turn);
    };
    const { id } = await crashing.app.startSession(owner, start);
    const before = subscribe(t, crashing.app, id, { after: '0' });
    await crashing.app.sendMessage(owner, { sessionId: id, text: 'hello', clientTurnId: 'x' });
    await before.until('the calls', isCall, 2);
    await crashingDatabase.close(); // the lease of the dead process lasts longer than the wait for the end of a session
    const expireLease = (attempt: number) =>
      database.transactShared(({ knex }) =>
        knex('jobs')
          .where({ kind: 'session.turn' })
          .update({ attempt, lease_until: knex.raw(`parley_now() - interval '1 second'`) }),
      );
    if (how === 'has no attempts left') {
      await database.transact(1, (db) => turnStore(db).markFirstInterrupted(id));
      await expireLease(3);
    } else if (how === 'is interrupted in its next attempt') await expireLease(1);

    const { app } = await replica();
    const subscriber = subscribe(t, app, id, { after: '0' });
    if (how === 'has to end with its session') await app.endSession(owner, String(id));
    if (how === 'is interrupted in its next attempt') {
      await eventually('the next attempt', () => agent.calls.length === 2);
      t.true(await app.interruptSession(owner, String(id)));
    }
    t.true(replyOf(await subscriber.until('the reply', isReply)).interrupted);
    t.deepEqual(tale(subscriber), ['1: 1.0 SUCCEEDED', '1: 2.0 STARTED', '1: 2.0 CANCELLED', 'aiResponse']);
    const { kind } = subscriber.events.findLast(isCall) ?? t.fail();
    t.like(kind?.$case === 'toolCallChanged' && kind.value, { clientTurnId: 'x', turnIndex: 0 });
    t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'SUCCEEDED'), call('2.0', 'CANCELLED')]]);
  });
}

test('the tool call of a dead process is cancelled before its turn fails', async (t) => {
  const { agent, app, database } = await sessionMesh(t, { env });
  endlessCall(agent);
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the call', isCall);
  await database.transactShared(({ knex }) =>
    knex('jobs')
      .where({ kind: 'session.turn' })
      .update({
        attempt: 3,
        lease_token: knex.raw('gen_random_uuid()'),
        lease_until: knex.raw(`parley_now() - interval '1 second'`),
      }),
  );
  t.like(failureOf(await subscriber.until('the failure', isFailure)), { code: 'TURN_LOST' });
  t.deepEqual(tale(subscriber).slice(1), ['1: 1.0 STARTED', '1: 1.0 CANCELLED', 'turnFailed']);
});

test('tool calls are stored although the event log is unavailable', async (t) => {
  const { replica, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield called('1.0', 'STARTED');
    yield called('1.0', 'SUCCEEDED');
    yield text('Found.');
    yield finished();
  };
  const eventLog = memoryEventLog();
  await eventLog.close();
  const { app } = await replica({ eventLog });
  const { id } = await app.startSession(owner, start);
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await eventually('the reply', async () => (await storedCalls(app, id)).length === 2);
  t.deepEqual(await storedCalls(app, id), [null, [call('1.0', 'SUCCEEDED')]]);
});

test('a turn without tool calls makes no writes for them', async (t) => {
  const { agent, eventLog, replica, unit } = await sessionMesh(t);
  await unit.stop();
  const appended: number[] = [];
  const counted: EventLog = {
    ...eventLog,
    append: (stream, entries, options) => {
      appended.push(entries.length);
      return eventLog.append(stream, entries, options);
    },
  };
  const { app } = await replica({ eventLog: counted });
  agent.script = async function* () {
    yield text('Hello');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await subscriber.until('the status', isStatus);
  appended.length = 0;
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the reply', isReply);
  t.deepEqual(appended, [1, 1, 1], 'the piece, the reserved id, the reply');
});

test('history and transcript contain text only, and an invented tool name is cut to what can be stored', async (t) => {
  const { app, agent } = await sessionMesh(t);
  agent.script = async function* () {
    yield called('1.0', 'FAILED', { name: `${'🦜'.repeat(99)}x🦜🦜` });
    yield called('1.1', 'FAILED', { name: 'no\0thing' });
    yield text('Found.');
    yield finished();
  };
  const { id } = await app.startSession(owner, start);
  const subscriber = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(owner, { sessionId: id, text: 'hello' });
  await subscriber.until('the reply', isReply);
  await app.sendMessage(owner, { sessionId: id, text: 'and?' });
  await subscriber.until('the next reply', isReply, 2);
  t.deepEqual(
    agent.calls[1]?.request.history.map((message) => message.text),
    ['hello', 'Found.', 'and?'],
  );
  const lines = [];
  for await (const part of app.streamTranscript(owner, { sessionId: id })) lines.push(...part);
  t.deepEqual(Object.keys(lines[1] ?? {}).sort(), ['createdAt', 'role', 'text', 'turnIndex']);
  const [, calls] = await storedCalls(app, id);
  t.deepEqual(
    calls?.map(({ name }) => name),
    [`${'🦜'.repeat(99)}x\ufffd`, 'nothing'],
  );
});

test('a message has its tool calls without arguments and results, or null if there were none', async (t) => {
  const { agent, graph, events } = await sessionUnit(t);
  agent.script = async function* ({ asked }) {
    if (asked === 'call') {
      yield called('1.0', 'STARTED');
      yield called('1.0', 'FAILED');
    }
    yield text('Re');
    yield finished();
  };
  const ask = async (document: string, variables: object = {}) => {
    const { data, errors } = await graph(owner, document, variables);
    t.is(errors, undefined);
    return data as {
      startSession: { id: number };
      session: { messages: object[] };
    };
  };
  const { startSession } = await ask('mutation ($input: StartSessionInput!) { startSession(input: $input) { id } }', {
    input: start,
  });
  const { id: sessionId } = startSession;
  const shown: object[] = [];
  for (const said of ['call', 'none']) {
    await ask('mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }', {
      input: { sessionId, text: said },
    });
    const replies = said === 'call' ? 1 : 2;
    shown.length = 0;
    for await (const { payloadJson } of events(owner, sessionId)) {
      shown.push(JSON.parse(payloadJson));
      if (shown.filter((event) => 'message' in event).length === replies) break;
    }
  }
  const fields = 'toolCalls { callId name status durationMs errorKind }';
  const read = await ask(`query ($id: ID!) { session(id: $id) { messages { ${fields} } } }`, { id: sessionId });
  const calls = [call('1.0', 'FAILED')];
  t.deepEqual(
    read.session.messages.map((message) => ({ ...message })),
    [{ toolCalls: null }, { toolCalls: calls }, { toolCalls: null }, { toolCalls: null }],
  );
  const changes = shown.filter((event) => 'callId' in event);
  t.like(changes[0] ?? {}, { __typename: 'ToolCallEvent', attempt: 1, turnIndex: 0, ...call('1.0', 'STARTED') });
  t.like(changes[1] ?? {}, call('1.0', 'FAILED'));
  const about = ['__typename', 'attempt', 'eventId', 'occurredAt', 'sessionId', 'turnIndex'];
  t.deepEqual(Object.keys(changes[1] ?? {}).sort(), [...about, ...Object.keys(call('', ''))].sort());
});
