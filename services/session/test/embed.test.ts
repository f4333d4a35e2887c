import type { TenantCaller } from '@parley/kernel/caller';
import { createSessionTokens } from '@parley/kernel/secrets/session-token';
import { eventually } from '@parley/testing/eventually';
import { requestOf } from '@parley/testing/request-of';
import test from 'ava';
import { avatar, createGate, foreignAgentId, gatedReply, hosted, used } from './scripted-agent.ts';
import {
  failureOf,
  inTenant,
  isFailure,
  isReply,
  isTurnEnd,
  joinedChunks,
  replyOf,
  sessionMesh,
  subscribe,
  tokenKeys,
} from './session-mesh.ts';

const byKey: TenantCaller = { kind: 'apiKey', tenantId: 1, apiKeyId: 1, requestId: 'test' };
const byToken = (sessionId: number): TenantCaller => ({ kind: 'session', tenantId: 1, sessionId, requestId: 'test' });
const key = Buffer.from(tokenKeys.slice('k1:'.length), 'base64');
const tokens = createSessionTokens([{ id: 'k1', key }]);
const anonymous = { kind: 'anonymous', tenantId: null, requestId: 'test' } as const;
/** The index of the opening turn inside the mesh; clients see 0. */
const opening = -1;

test('an embedded session starts with a generated greeting, and returns what a browser needs', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const started = await app.sdkStart(byKey, { agentId: 2, clientId: 'customer 7' });
  t.like(started, {
    agentId: 2,
    avatarServiceUrl: 'http://localhost:4100',
    graphqlEndpoint: 'http://localhost:4000/graphql',
    avatarGlb: avatar.glb,
    avatarGender: 'F',
    ttsVoice: avatar.ttsVoice,
    ttsLang: 'en-US',
    lipsyncLang: 'en',
    speakingRate: 1.5,
    vadThreshold: 0.25,
  });
  const { sessionId } = started;
  t.like(tokens.verify(started.avatarToken, 'session'), { tenantId: 1, sessionId, avatarBackendConfig: hosted });
  t.like(await app.findSession(inTenant(1), sessionId), {
    status: 'ACTIVE',
    clientExternalId: 'customer 7',
    metadata: null,
  });

  const subscriber = subscribe(t, app, sessionId, { after: '0' });
  const reply = replyOf(await subscriber.until('the greeting', isReply));
  t.like(reply, { text: 'Re: ', interrupted: false, turnIndex: opening, rowIndex: 0 });
  t.is(joinedChunks(subscriber.events, opening), 'Re: ');
  t.like(agent.calls[0]?.request, { agentId: 2, opens: true, history: [] });
  const [messages] = await app.listMessages(inTenant(1), { sessionIds: [sessionId], page: {} });
  t.like(messages, [{ role: 'MODEL', turnIndex: 0, tokensOut: 5 }]);
});

test('a message sent during the greeting waits, and its history begins with the greeting', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'Welcome');
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  const subscriber = subscribe(t, app, sessionId, { after: '0' });
  t.true(await app.sdkSendMessage(byToken(sessionId), { sessionId, text: 'Hi', clientTurnId: 'c' }));
  t.is(agent.calls.length, 1);
  gate.open();
  await subscriber.until('both replies', isReply, 2);

  t.deepEqual(
    subscriber.events.filter(isReply).map((event) => replyOf(event)),
    [
      { text: 'Welcome', interrupted: false, turnIndex: opening, clientTurnId: undefined, rowIndex: 1 },
      { text: 'Welcome', interrupted: false, turnIndex: 0, clientTurnId: 'c', rowIndex: 2 },
    ],
  );
  t.deepEqual(
    agent.calls[1]?.request.history.map(({ text }) => text),
    ['Welcome', 'Hi'],
  );
  t.false(agent.calls[1]?.request.opens);
});

test('an interrupted greeting keeps its text', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'Wel', 'come');
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  const subscriber = subscribe(t, app, sessionId, { after: '0' });
  gate.release();
  await subscriber.until('a chunk', ({ kind }) => kind?.$case === 'aiResponseChunk');
  t.true(await app.interruptSession(byToken(sessionId), String(sessionId)));
  t.like(replyOf(await subscriber.until('the greeting', isReply)), { text: 'Wel', interrupted: true, rowIndex: 0 });
});

test('after a failed greeting the session accepts messages, numbered from 0', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { script } = agent;
  agent.script = async function* () {
    yield used({ tokensIn: 1 });
    throw new Error('no model');
  };
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  const subscriber = subscribe(t, app, sessionId, { after: '0' });
  t.like(failureOf(await subscriber.until('the failure', isFailure)), { turnIndex: opening });
  agent.script = script;
  await app.sdkSendMessage(byToken(sessionId), { sessionId, text: 'Hi' });
  t.like(replyOf(await subscriber.until('the reply', isReply)), { turnIndex: 0, rowIndex: 1 });
});

test('a persona is resolved to a hidden agent, with defaults for omitted fields', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const { agentId } = await app.sdkStart(byKey, { personaPrompt: 'You are Max', agentName: 'Max', useCase: 'SALES' });
  t.is(agentId, 9);
  t.deepEqual(agent.personas, [
    { name: 'Max', personaPrompt: 'You are Max', position: 'Assistant', useCase: 'SALES', voiceTier: '' },
  ]);
});

test('two sessions without a client id, or with a blank one, belong to different clients', async (t) => {
  const { app } = await sessionMesh(t);
  const ids = new Set<string | undefined>();
  for (let each = 0; each < 3; each += 1) {
    const { sessionId } = await app.sdkStart(byKey, { agentId: 1, ...(each > 0 && { clientId: ' ' }) });
    ids.add((await app.findSession(inTenant(1), sessionId))?.clientExternalId);
  }
  t.is(ids.size, 3);
});

test('a start with no agent, with two, or with one that accepts no sessions is refused', async (t) => {
  const { app } = await sessionMesh(t);
  const cases: [input: Parameters<typeof app.sdkStart>[1], error: object][] = [
    [{}, { kind: 'invalid', fields: [{ path: 'input.personaPrompt' }] }],
    [
      { agentName: 'Max', position: 'Clerk' },
      { kind: 'invalid', fields: [{ path: 'input.personaPrompt' }] },
    ],
    [
      { agentId: 1, agentName: 'Max', personaPrompt: 'x', position: 'y' },
      {
        kind: 'invalid',
        fields: [{ path: 'input.agentName' }, { path: 'input.personaPrompt' }, { path: 'input.position' }],
      },
    ],
    [{ personaPrompt: ' ' }, { kind: 'invalid', fields: [{ path: 'input.personaPrompt' }] }],
    [
      { agentId: 1, clientId: 'x'.repeat(1_001) },
      { kind: 'invalid', fields: [{ path: 'input.clientId' }] },
    ],
    [{ agentId: 3 }, { kind: 'invalid', message: 'Agent 3 is not active' }],
    [{ agentId: 4 }, { kind: 'notFound', message: 'Agent 4 not found' }],
    [{ agentId: foreignAgentId }, { kind: 'notFound', message: `Agent ${foreignAgentId} not found` }],
    [
      { personaPrompt: 'x', agentName: 'One too many' },
      { kind: 'invalid', reason: 'LIMIT_REACHED' },
    ],
    [{ agentId: 0 }, { kind: 'notFound', message: 'Agent 0 not found' }],
  ];
  for (const [input, expected] of cases) {
    t.like(await t.throwsAsync(app.sdkStart(byKey, input)), expected, JSON.stringify(input));
  }
  t.is(await app.countSessions(inTenant(1)), 0);
  // `useCase` and `voiceTier` are ignored if `agentId` is given.
  await t.notThrowsAsync(app.sdkStart(byKey, { agentId: 1, useCase: 'SALES', voiceTier: 'NEURAL2' }));
});

test('a repeated start returns the same session, even if its agent has been deleted since', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const request = requestOf(byKey, { effectKey: 'k' });
  const first = await app.sdkStart(request, { agentId: 1 });
  const known = agent.agents.get(1);
  if (known) known.deleted = true;
  const again = await app.sdkStart(request, { agentId: 1 });
  t.is(again.sessionId, first.sessionId);
  t.is(tokens.verify(again.avatarToken, 'session').sessionId, first.sessionId);
});

test('a session token gives no access to other sessions', async (t) => {
  const { app } = await sessionMesh(t);
  const { sessionId: other } = await app.sdkStart(byKey, { agentId: 1 });
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  for (const id of [other, 999_999, 0]) {
    const attempts = [
      app.sdkSendMessage(byToken(sessionId), { sessionId: id, text: 'Hi' }),
      app.sdkEndSession(byToken(sessionId), { sessionId: id }),
    ];
    for (const attempt of attempts) t.like(await t.throwsAsync(attempt), { kind: 'forbidden' });
  }
  t.is((await app.findSession(inTenant(1), other))?.status, 'ACTIVE');
});

test('ending a session returns its duration, a second call returns the same, and later messages are refused', async (t) => {
  const { app, published } = await sessionMesh(t);
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  await subscribe(t, app, sessionId, { after: '0' }).until('the greeting', isTurnEnd);
  const ended = await app.sdkEndSession(byToken(sessionId), { sessionId });
  t.like(ended, { sessionId, evaluation: null }); // the evaluation service does not run
  t.true(ended.durationSeconds >= 0);
  t.deepEqual(await app.sdkEndSession(byToken(sessionId), { sessionId }), ended);
  await eventually('the end is published', () => published.length > 0);
  t.is(published.length, 1);
  const error = await t.throwsAsync(app.sdkSendMessage(byToken(sessionId), { sessionId, text: 'Hi' }));
  t.like(error, { kind: 'invalid', message: `Session ${sessionId} is not active (status: ENDED)` });
});

/** Returns a token of the session that was issued `agoMs` ago. */
function aged(session: { tenantId?: number; sessionId: number }, agoMs: number): string {
  const clock = () => new Date(Date.now() - agoMs);
  const old = createSessionTokens([{ id: 'k1', key }], { clock });
  return old.mint({ audience: 'session', tenantId: 1, avatarBackendConfig: hosted, ...session }).token;
}

const minuteMs = 60_000;

test('a token is refreshed until ten minutes after its end, for the same session and avatar', async (t) => {
  const { app } = await sessionMesh(t);
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  for (const agoMs of [0, 59 * minuteMs, 69 * minuteMs]) {
    const result = await app.refreshAvatarToken(anonymous, { avatarToken: aged({ sessionId }, agoMs) });
    t.like(result, { sessionId, expiresInMs: 60 * minuteMs });
    const claims = tokens.verify(result.avatarToken, 'session');
    t.like(claims, { tenantId: 1, sessionId, avatarBackendConfig: hosted });
  }
});

test('every invalid token gets the same error', async (t) => {
  const { app, tenants } = await sessionMesh(t);
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  tenants.set(7, { deleted: true });
  const good = aged({ sessionId }, 0);
  const foreign = createSessionTokens([{ id: 'k1', key: Buffer.alloc(32, 9) }]);
  const refused = {
    'past the grace window': aged({ sessionId }, 71 * minuteMs),
    'of the other audience': tokens.mint({ audience: 'voice', tenantId: 1 }).token,
    'of a session that is not there': aged({ sessionId: 999_999 }, 0),
    "of another tenant's session": aged({ sessionId, tenantId: 2 }, 0),
    'of a deleted tenant': aged({ sessionId, tenantId: 7 }, 0),
    'signed by another key': foreign.mint({ audience: 'session', tenantId: 1, sessionId }).token,
    'cut short': good.slice(0, -1),
    'of two': `${good}.${good}`,
    'too long': `${good}${'A'.repeat(5_000)}`,
    empty: '',
  };
  for (const [what, avatarToken] of Object.entries(refused)) {
    const error = await t.throwsAsync(app.refreshAvatarToken(anonymous, { avatarToken }), undefined, what);
    t.like(error, { kind: 'unauthenticated', message: 'Invalid or expired avatar token' }, what);
  }
});

test('a token of an ended session or of a suspended tenant is not refreshed', async (t) => {
  const { app, tenants } = await sessionMesh(t);
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  const avatarToken = aged({ sessionId }, 0);
  tenants.set(1, { suspended: true });
  t.like(await t.throwsAsync(app.refreshAvatarToken(anonymous, { avatarToken })), {
    kind: 'forbidden',
    reason: 'TENANT_SUSPENDED',
  });
  tenants.clear();
  await app.sdkEndSession(byToken(sessionId), { sessionId });
  t.like(await t.throwsAsync(app.refreshAvatarToken(anonymous, { avatarToken })), {
    kind: 'invalid',
    message: `Session ${sessionId} is not active (status: ENDED)`,
  });
});

test('after a key rotation, refreshing an old token returns one signed with the new key', async (t) => {
  const rotated = `k2:${Buffer.alloc(32, 8).toString('base64')},${tokenKeys}`;
  const { app } = await sessionMesh(t, { env: { AVATAR_TOKEN_KEYS: rotated } });
  const { sessionId } = await app.sdkStart(byKey, { agentId: 1 });
  const { avatarToken } = await app.refreshAvatarToken(anonymous, { avatarToken: aged({ sessionId }, 65 * minuteMs) });
  t.true(avatarToken.startsWith('pst1.k2.'));
});

test("a tenant's token gives access to the voice service but to no session", async (t) => {
  const { app } = await sessionMesh(t);
  const token = app.avatarToken(inTenant(1));
  t.is(tokens.verify(token, 'voice').tenantId, 1);
  t.throws(() => tokens.verify(token, 'session'));
});
