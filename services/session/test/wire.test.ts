import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import type { Caller } from '@parley/kernel/caller';
import test, { type ExecutionContext } from 'ava';
import { createGate, gatedReply } from './scripted-agent.ts';
import { inTenant } from './session-mesh.ts';
import { sessionUnit } from './session-unit.ts';

const user = inTenant(1);

const typeOf = ({ payloadJson }: { payloadJson: string }): string => JSON.parse(payloadJson).__typename;

/** Starts the unit; `user` sends requests to its subgraph. */
async function startUnit(t: ExecutionContext) {
  const { graph, rpc: client, ...unit } = await sessionUnit(t);
  const query = async (document: string, variables: object = {}, caller: Caller = user) =>
    (await graph(caller, document, variables)) as unknown as Answer;
  return { ...unit, client, query };
}

/** The results of the GraphQL documents below. */
interface Answer {
  data: {
    startSession: { id: number };
    session: { messages: object[]; endedAt: string; tail: object[] };
    sessions: { messages: object[] }[];
    sessionCount: number;
    evaluation: object | null;
  };
  errors: { extensions: object }[] | undefined;
}

const startSession = `mutation ($input: StartSessionInput!) { startSession(input: $input) { id status clientExternalId metadata } }`;
const sendMessage = `mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id status } }`;

test('a user without a tenant is refused with NO_TENANT', async (t) => {
  const { query } = await startUnit(t);
  for (const operation of [
    'mutation { startSession(input: { agentId: 1, clientExternalId: "me" }) { id } }',
    'mutation { sendMessage(input: { sessionId: 1, text: "Hi" }) { id } }',
    'mutation { endSession(sessionId: 1) { id } }',
    'mutation { interruptSession(sessionId: 1) }',
    '{ session(id: 1) { id } }',
    '{ sessions { id } }',
    '{ sessionCount }',
    '{ avatarToken }',
    '{ evaluation(sessionId: 1) { score } }',
    '{ exportRecord(id: 7) { id } }',
  ]) {
    const { errors } = await query(operation, {}, { ...user, tenantId: null });
    t.like(errors?.[0]?.extensions, { code: 'FORBIDDEN', reason: 'NO_TENANT' }, operation);
  }
});

test('a conversation works over GraphQL and gRPC from start to evaluation', async (t) => {
  const { query, client, events, ops } = await startUnit(t);
  const input = { agentId: 2, clientExternalId: 'me', metadata: { a: [1] } };
  const { data } = await query(startSession, { input });
  t.like(data.startSession, { status: 'ACTIVE', clientExternalId: 'me', metadata: { a: [1] } });
  const sessionId: number = data.startSession.id;
  t.deepEqual(await query(`query ($id: Int!) { evaluation(sessionId: $id) { score } }`, { id: sessionId }), {
    data: { evaluation: null },
  });

  await query(sendMessage, { input: { sessionId, text: 'Hi', clientTurnId: 'c' } });
  const types: string[] = [];
  for await (const event of events(user, sessionId)) {
    if (typeOf(event) !== 'AiResponseChunkEvent') types.push(typeOf(event));
    if (types.length === 3)
      await query(`mutation ($id: ID!) { endSession(sessionId: $id) { status } }`, { id: sessionId });
    if (types.length === 4) break;
  }
  t.deepEqual(types, ['SessionStatusEvent', 'AiResponseEvent', 'AiResponseEvent', 'SessionStatusEvent']);

  const whole = await query(
    `query ($id: ID!, $number: Int!) {
       session(id: $id) { id agentId agent { id } status interruptCount totalTokensInContext startedAt endedAt lastEventAt
         messages { role text turnIndex tokensIn tokensOut costUsd modelId structuredContent sessionId }
         tail: messages(first: 1, after: 1) { turnIndex } }
       sessions(agentId: 2, first: 5) { id messages { id } }
       sessionCount
       evaluation(sessionId: $number) { score transcript generatedAt }
     }`,
    { id: String(sessionId), number: sessionId },
  );
  t.is(whole.errors, undefined);
  t.like(whole.data.session, { agentId: 2, agent: { id: 2 }, status: 'ENDED', totalTokensInContext: 25 });
  t.like(whole.data.session.messages, [
    { role: 'MODEL', text: 'Hello there', turnIndex: 0, costUsd: 0, modelId: null },
    { role: 'USER', text: 'Hi', turnIndex: 1, modelId: null },
    { role: 'MODEL', text: 'Re: Hi', turnIndex: 2, modelId: 'script', structuredContent: null, sessionId },
  ]);
  t.regex(whole.data.session.endedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.deepEqual(whole.data.session.tail, [{ turnIndex: 1 }]);
  t.is(whole.data.sessions[0]?.messages.length, 3);
  t.is(whole.data.sessionCount, 1);
  t.like(whole.data.evaluation, { score: 80, transcript: [{ role: 'USER' }], generatedAt: '1970-01-01T00:00:00.000Z' });

  for (const [asked, path] of [
    ['sessions(first: 0) { id }', 'first'],
    ['sessions(after: -1) { id }', 'after'],
    ['session(id: $id) { messages(first: 0) { id } }', 'first'],
    ['session(id: $id) { messages(after: -5) { id } }', 'after'],
  ]) {
    const refused = await query(`query ($id: ID = "${sessionId}") { ${asked} asked: session(id: $id) { id } }`, {});
    t.like(refused.errors?.[0]?.extensions, { code: 'BAD_REQUEST', fields: [{ path }] }, asked ?? '');
  }

  const said = [];
  for await (const part of client.streamTranscript({ sessionId }, { caller: user })) said.push(...part.lines);
  t.like(said[0], { role: 'MODEL', turnIndex: 0 });
  t.true(said[0]?.createdAt instanceof Date);
  const absent = client.streamTranscript({ sessionId: 999 }, { caller: user, expectedErrors: ['notFound'] });
  t.like(await t.throwsAsync(absent[Symbol.asyncIterator]().next()), { kind: 'notFound' });
  const transcript = await client.getTranscript({ sessionId }, { caller: user });
  t.deepEqual(
    said,
    transcript.messages.map(({ role, text, turnIndex, createdAt }) => ({ role, text, turnIndex, createdAt })),
  );
  t.like(transcript, { agentId: 2, status: 'ENDED' });
  t.deepEqual(
    transcript.messages.map(({ text, costUsdE8 }) => [text, costUsdE8]),
    [
      ['Hello there', 0n],
      ['Hi', 0n],
      ['Re: Hi', 150n],
    ],
  );
  const { sessions } = await client.resolveSessions({ sessionIds: [sessionId, 999] }, { caller: user });
  t.deepEqual(sessions, [{ sessionId, status: 'ENDED' }]);
  const foreign = await client.resolveSessions({ sessionIds: [sessionId] }, { caller: inTenant(2) });
  t.deepEqual(foreign.sessions, []);
  const metrics = await (await fetch(`${ops}/metrics`)).text();
  t.regex(metrics, /parley_session_first_chunk_seconds_count\{unit="session"\} 1/);
  t.regex(metrics, /parley_session_turns_running\{unit="session"\} 0/);
  t.regex(metrics, /parley_jobs\{kind="session.turn",state="waiting",unit="session"\} 0/);
});

test('a transcript is read only if selected and within the answer budget', async (t) => {
  const { query, evaluations } = await startUnit(t);
  const { data } = await query(startSession, { input: { agentId: 1, clientExternalId: 'x' } });
  const id = data.startSession.id;
  await query(`mutation ($id: ID!) { endSession(sessionId: $id) { id } }`, { id });
  const ask = (fields: string) => query(`query ($id: Int!) { evaluation(sessionId: $id) { ${fields} } }`, { id });

  t.deepEqual((await ask('score summary')).data.evaluation, { score: 80, summary: 'Well done' });
  t.deepEqual(evaluations.asked, [0n]);
  t.deepEqual((await ask('score transcript again: transcript')).data.evaluation, {
    score: 80,
    transcript: [{ role: 'USER' }],
    again: [{ role: 'USER' }],
  });
  t.is(evaluations.asked.at(-1), BigInt(defaultMaxAnswerBytes / 2));

  evaluations.transcriptBytes = BigInt(defaultMaxAnswerBytes / 2 + 1);
  const { errors } = await ask('transcript again: transcript');
  t.like(errors?.[0]?.extensions, { code: 'BAD_REQUEST', reason: 'ANSWER_TOO_LARGE' });
  t.deepEqual((await ask('score')).data.evaluation, { score: 80 });
});

test('a session token requests an export under the key of the request, and reads the export by its id', async (t) => {
  const { query, exports } = await startUnit(t);
  const input = { agentId: 2, clientExternalId: 'me' };
  const { id: sessionId } = (await query(startSession, { input })).data.startSession;
  const browser: Caller = { kind: 'session', tenantId: 1, sessionId, requestId: 'test' };
  const ask =
    'mutation ($id: Int) { requestStudyKitExport(sessionId: $id) { id kind status downloadUrl errorMessage fileSizeBytes } }';
  const pending = {
    id: 7,
    kind: 'STUDY_KIT',
    status: 'PENDING',
    downloadUrl: null,
    errorMessage: null,
    fileSizeBytes: null,
  };
  t.deepEqual((await query(ask, {}, browser)).data as unknown, { requestStudyKitExport: pending });
  const keyed = { ...browser, idempotencyKey: 'a key' };
  t.deepEqual((await query(ask, { id: sessionId }, keyed)).data as unknown, { requestStudyKitExport: pending });
  await query(ask, { id: sessionId }, keyed);
  const [first, second, third] = exports.asked;
  t.like(first, { sessionId, agentId: 2 });
  t.true((first?.requestKey.length ?? 0) > 20);
  t.not(first?.requestKey, second?.requestKey);
  t.deepEqual(third, second, 'a retry has the same key');
  for (const id of [sessionId + 1, 0, -1])
    t.like((await query(ask, { id }, browser)).errors?.[0]?.extensions, { code: 'FORBIDDEN' });
  t.like((await query(ask)).errors?.[0]?.extensions, { code: 'UNAUTHENTICATED' });
  t.is(exports.asked.length, 3);

  const read = 'query ($id: Int!) { exportRecord(id: $id) { status downloadUrl createdAt } }';
  const ready = { status: 'READY', downloadUrl: 'https://files.test/7', createdAt: '1970-01-01T00:00:00.000Z' };
  for (const caller of [user, browser])
    t.deepEqual((await query(read, { id: 7 }, caller)).data as unknown, { exportRecord: ready });
  t.like(await query(read, { id: 8 }), {
    errors: [{ message: 'Export 8 not found', extensions: { code: 'NOT_FOUND' } }],
  });
});

test('errors have the common shape, and absent sessions are null', async (t) => {
  const { query } = await startUnit(t);
  t.deepEqual(await query(`{ a: session(id: "abc") { id } b: session(id: "99") { id } }`), {
    data: { a: null, b: null },
  });
  const refused = await query(sendMessage, { input: { sessionId: 5, text: ' ' } });
  t.like(refused.errors?.[0] ?? {}, {
    message: 'input.text must not be blank',
    extensions: {
      code: 'BAD_REQUEST',
      statusCode: 400,
      fields: [{ path: 'input.text', message: 'must not be blank' }],
    },
  });
  const absent = await query(sendMessage, { input: { sessionId: 5, text: 'hello' } });
  t.like(absent.errors?.[0] ?? {}, {
    message: 'Session 5 not found',
    extensions: { code: 'NOT_FOUND', statusCode: 404 },
  });
  const asToken = await query(`{ sessionCount }`, {}, { kind: 'session', tenantId: 1, sessionId: 1, requestId: 'r' });
  t.like(asToken.errors?.[0] ?? {}, { extensions: { code: 'UNAUTHENTICATED' } });
});

test('a subscription with a credential that its @access does not accept is refused by the service', async (t) => {
  const { query, firstEvent } = await startUnit(t);
  const { data } = await query(startSession, { input: { agentId: 1, clientExternalId: 'x' } });
  const { id: sessionId } = data.startSession;
  const inTenantOne = { tenantId: 1, requestId: 'r' };

  const refused: Caller[] = [
    { kind: 'apiKey', ...inTenantOne, apiKeyId: 1 },
    { kind: 'anonymous', ...inTenantOne },
  ];
  for (const caller of refused)
    t.like(await t.throwsAsync(firstEvent(caller, sessionId)), { kind: 'unauthenticated' }, caller.kind);
  const accepted: Caller[] = [user, { kind: 'session', ...inTenantOne, sessionId }];
  for (const caller of accepted) t.truthy((await firstEvent(caller, sessionId))?.eventId, caller.kind);
});

test('a client that disconnects cancels no turn, and a stopping server ends streams without error', async (t) => {
  const { query, events, agent, unit } = await startUnit(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'one ', 'two');
  const { data } = await query(startSession, { input: { agentId: 1, clientExternalId: 'x' } });
  const sessionId: number = data.startSession.id;
  await query(sendMessage, { input: { sessionId, text: 'Hi' } });
  gate.release();
  for await (const event of events(user, sessionId)) if (typeOf(event) === 'AiResponseChunkEvent') break;
  t.is(agent.calls[0]?.end, undefined);

  const seen: string[] = [];
  const rest = (async () => {
    for await (const event of events(user, sessionId)) {
      seen.push(typeOf(event));
      if (seen.length === 2) gate.open();
      if (typeOf(event) === 'AiResponseEvent') void unit.stop();
    }
  })();
  await t.notThrowsAsync(rest);
  t.is(seen.at(-1), 'AiResponseEvent');
});

test('ending an embedded session again returns at once: the evaluation is read once and not awaited', async (t) => {
  const { query, evaluations } = await startUnit(t);
  const key: Caller = { kind: 'apiKey', tenantId: 1, apiKeyId: 1, requestId: 'test' };
  const start = 'mutation { sdkStart(input: { agentId: 1 }) { sessionId } }';
  const { data } = (await query(start, {}, key)) as unknown as { data: { sdkStart: { sessionId: number } } };
  const { sessionId } = data.sdkStart;
  const browser: Caller = { kind: 'session', tenantId: 1, sessionId, requestId: 'test' };
  evaluations.isMade = false;
  const end = () =>
    query(`mutation { sdkEndSession(input: { sessionId: ${sessionId} }) { evaluation { score } } }`, {}, browser);
  t.like(await end(), { data: { sdkEndSession: { evaluation: null } } });
  t.is(evaluations.asked.length, 6);
  t.like(await end(), { data: { sdkEndSession: { evaluation: null } } });
  t.is(evaluations.asked.length, 7);
  evaluations.isMade = true;
  t.like(await end(), { data: { sdkEndSession: { evaluation: { score: 80 } } } });
});
