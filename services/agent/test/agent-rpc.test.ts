import { createGate } from '@parley/chassis/testing/gate';
import { type ModelScript, type ModelServer, startModelServer } from '@parley/chassis/testing/model-server';
import { Role, type TurnFinished } from '@parley/protos/parley/agent/v1/agent';
import test, { type ExecutionContext } from 'ava';
import { type AgentUnit, ada, agentUnit, inTenant, made } from './agent-unit.ts';

const owner = inTenant(1);
const hello = [{ role: Role.ROLE_USER, text: 'Hello!' }];

/** The unit in front of a scripted model server. */
async function unitOn(
  t: ExecutionContext,
  script: ModelScript,
  env: Record<string, string> = {},
): Promise<AgentUnit & { server: ModelServer }> {
  const server = await startModelServer({ script });
  t.teardown(() => server.stop());
  const models = { HOSTED_SMALL_MODEL_URL: server.url, HOSTED_SMALL_MODEL_MODEL: 'small-1' };
  return { ...(await agentUnit(t, { ...models, ...env })), server };
}

interface Reply {
  texts: string[];
  finished?: TurnFinished;
  error?: unknown;
}

/** Runs one turn to its end, whatever that is. */
async function turn(
  unit: AgentUnit,
  agentId: number,
  { history = hello, caller = owner, signal, onText }: TurnOptions = {},
): Promise<Reply> {
  const reply: Reply = { texts: [] };
  const call = { caller, passOn: ['notFound', 'invalid'] as ('notFound' | 'invalid')[], ...(signal && { signal }) };
  try {
    for await (const { event } of unit.rpc.runTurn({ agentId, sessionId: 1, callId: 'c', history }, call)) {
      if (event?.$case === 'finished') reply.finished = event.value;
      if (event?.$case !== 'text') continue;
      reply.texts.push(event.value);
      onText?.(event.value);
    }
  } catch (error) {
    reply.error = error;
  }
  return reply;
}

interface TurnOptions {
  history?: { role: Role; text: string }[];
  caller?: typeof owner;
  signal?: AbortSignal;
  onText?: (text: string) => void;
}

test('the mesh reads an agent, deleted and inactive ones included', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner, { openingGreeting: 'Hi.', evaluationRecommendationLabels: [] });
  const read = async () => (await unit.rpc.getAgent({ agentId: id }, { caller: owner })).agent;

  const agent = await read();
  t.like(agent, {
    id,
    ...ada,
    subject: '',
    openingGreeting: 'Hi.',
    useCase: 'INTERVIEW',
    active: true,
    deleted: false,
  });
  t.deepEqual(agent?.evaluationRecommendationLabels, { labels: [] });
  t.is(agent?.workflowId, undefined);
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { status: INACTIVE }) { id } }`);
  t.like(await read(), { active: false, deleted: false });
  await unit.graph(owner, `mutation { deleteAgent(id: ${id}) }`);
  t.like(await read(), { active: false, deleted: true });
});

test("another tenant's agent is not found by gRPC, and neither is none", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner);
  for (const [agentId, caller] of [
    [id, inTenant(2)],
    [999, owner],
    [0, owner],
    [-1, owner],
  ] as const) {
    const expected = { kind: 'notFound', message: `Agent ${agentId} not found` };
    const options = { caller, passOn: ['notFound' as const] };
    t.like(await t.throwsAsync(unit.rpc.getAgent({ agentId }, options)), expected);
    const request = {
      agentId,
      sessionId: 1,
      operation: 'test',
      callId: 'c',
      system: '',
      prompt: 'a',
      jsonSchemaJson: '',
    };
    t.like(await t.throwsAsync(unit.rpc.generate(request, options)), expected);
    t.like((await turn(unit, agentId, { caller })).error, expected);
  }
});

test('a turn streams the words of the offline model and ends with its figures', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner);
  const { texts, finished } = await turn(unit, id);

  t.true(texts.length > 3);
  t.regex(texts.join(''), /I am Ada, a patient maths tutor/);
  t.like(finished, { providerId: 'OFFLINE', modelId: 'offline-extractive', costUsdE8: 0n });
  t.is(finished?.tokensOut, Math.ceil(texts.join('').length / 4));
  t.true((finished?.contextTokens ?? 0) > 10);
});

test('the model is told persona, position and subject, and the conversation as it is', async (t) => {
  const unit = await unitOn(t, { text: 'Fine.', usage: { prompt_tokens: 42, completion_tokens: 7 } });
  const { id } = await made(unit, owner, { subject: 'Fractions' });
  const { texts, finished } = await turn(unit, id, {
    history: [
      { role: Role.ROLE_MODEL, text: 'Hello, I am Ada.' },
      { role: Role.ROLE_USER, text: 'What is a half?' },
    ],
  });

  t.deepEqual(texts, ['Fine.']);
  t.deepEqual(finished, {
    tokensIn: 42,
    tokensOut: 7,
    contextTokens: 42,
    costUsdE8: 0n,
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'small-1',
  });
  const [request] = unit.server.requests;
  t.is(request?.body.model, 'small-1');
  const [system, ...messages] = request?.body.messages ?? [];
  t.is(system?.role, 'system');
  for (const part of [ada.personaPrompt, 'Maths tutor', 'Fractions']) t.true(String(system?.content).includes(part));
  t.like(messages, { 0: { role: 'assistant' }, 1: { role: 'user', content: 'What is a half?' }, length: 2 });
});

test('what the model says passes on before it says more', async (t) => {
  const next = createGate();
  const unit = await unitOn(t, { text: ['one ', 'two ', 'three'], beforeDelta: next });
  const { id } = await made(unit, owner);
  next.release();
  // Each delta is let out only when the one before it has arrived here.
  const { texts, finished } = await turn(unit, id, { onText: () => next.release() });
  t.deepEqual(texts, ['one ', 'two ', 'three']);
  t.truthy(finished);
});

test('a stream that arrives byte by byte, or cut inside characters, is whole', async (t) => {
  const text = 'Größe 👩‍👩‍👧‍👦 好 naïve';
  const unit = await unitOn(t, {});
  const { id } = await made(unit, owner);
  for (const packets of ['byte', 'split-utf8'] as const) {
    unit.server.answerWith({ text, packets });
    const { texts, finished } = await turn(unit, id);
    t.is(texts.join(''), text, packets);
    t.true(texts.every((part) => part.isWellFormed()));
    t.truthy(finished);
  }
});

test('a stream that breaks fails after what was said', async (t) => {
  const unit = await unitOn(t, {});
  const { id } = await made(unit, owner);
  for (const ending of ['cut', 'error-event', 'malformed', 'unfinished'] as const) {
    unit.server.answerWith({ text: ['one ', 'two '], ending });
    const { texts, finished, error } = await turn(unit, id);
    t.is(texts.join(''), 'one two ', ending);
    t.is(finished, undefined, ending);
    t.like(error, { kind: 'internal', reason: 'MODEL_FAILED' }, ending);
  }
});

test('a model that does not begin to answer is unavailable, and what it said instead is not told', async (t) => {
  const unit = await unitOn(t, {});
  const { id } = await made(unit, owner);
  for (const script of [{ status: 503 }, { status: 429 }, { status: 401 }, { status: 400 }, { text: '' }]) {
    unit.server.answerWith(script);
    const { texts, error } = await turn(unit, id);
    const what = JSON.stringify(script);
    t.deepEqual(texts, [], what);
    t.like(error, { kind: 'unavailable', reason: 'MODEL_UNAVAILABLE' }, what);
    t.notRegex(String(error), /127\.0\.0\.1|scripted|\d{3}/i, what);
  }
});

test('a model that does not begin in time has timed out', async (t) => {
  const unit = await unitOn(t, { beforeHeaders: createGate() }, { HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: '50' });
  const { id } = await made(unit, owner);
  const { texts, error } = await turn(unit, id);
  t.deepEqual(texts, []);
  t.like(error, { kind: 'unavailable', reason: 'TURN_TIMEOUT' });
});

test('cancelling a turn before its first word cancels the request to the model', async (t) => {
  const unit = await unitOn(t, { beforeDelta: createGate() });
  const { id } = await made(unit, owner);
  const cancel = new AbortController();
  const silent = turn(unit, id, { signal: cancel.signal });
  await unit.server.until(({ counts }) => counts.running === 1);
  cancel.abort();
  t.deepEqual((await silent).texts, []);
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});

test('cancelling a turn after its first word cancels the request to the model', async (t) => {
  const next = createGate();
  const unit = await unitOn(t, { text: ['one ', 'two '], beforeDelta: next });
  const { id } = await made(unit, owner);
  const cancel = new AbortController();
  next.release();
  const { texts, finished, error } = await turn(unit, id, { signal: cancel.signal, onText: () => cancel.abort() });
  t.deepEqual(texts, ['one ']);
  t.is(finished, undefined);
  t.like(error, { name: 'AbortError' });
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});

test('a running session goes on when its agent is deleted or switched off', async (t) => {
  const unit = await unitOn(t, { text: 'Still here.' });
  const { id } = await made(unit, owner);
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { status: INACTIVE }) { id } }`);
  t.is((await turn(unit, id)).texts.join(''), 'Still here.');
  await unit.graph(owner, `mutation { deleteAgent(id: ${id}) }`);
  t.is((await turn(unit, id)).texts.join(''), 'Still here.');
});

test('one read of the database stands before the model is asked', async (t) => {
  const unit = await unitOn(t, { text: 'Yes.' });
  const { id } = await made(unit, owner, { llmProviderOverride: 'DIRECT_MODEL_API' });
  const before = unit.transactions();
  await turn(unit, id);
  t.is(unit.transactions() - before, 1);
});

test('a history without a message to answer is refused', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner);
  for (const history of [
    [],
    [...hello, { role: Role.ROLE_MODEL, text: 'Hi.' }],
    [{ role: Role.ROLE_UNSPECIFIED, text: 'Boo' }],
  ]) {
    t.like((await turn(unit, id, { history })).error, { kind: 'invalid', fields: [{ path: 'history' }] });
  }
});

const generation = { sessionId: 1, operation: 'evaluation', callId: 'c', system: 'Judge.', prompt: 'A talk.' };

test('one completion is generated, as JSON where a schema asks for it', async (t) => {
  const unit = await unitOn(t, {
    text: 'Good.',
    json: { score: 7 },
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  });
  const { id } = await made(unit, owner);
  const asked = { ...generation, agentId: id };

  t.deepEqual(await unit.rpc.generate({ ...asked, jsonSchemaJson: '' }, { caller: owner }), {
    text: 'Good.',
    offline: false,
    tokensIn: 5,
    tokensOut: 2,
    costUsdE8: 0n,
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'small-1',
  });
  const schema = { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] };
  const answer = await unit.rpc.generate({ ...asked, jsonSchemaJson: JSON.stringify(schema) }, { caller: owner });
  t.is(answer.text, '{"score":7}');
  t.like(unit.server.requests[1]?.body.response_format?.json_schema?.schema, schema);
});

test('the offline model generates nothing, and says so', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await made(unit, owner);
  const answer = await unit.rpc.generate({ ...generation, agentId: id, jsonSchemaJson: '{}' }, { caller: owner });
  t.like(answer, { text: '', offline: true, tokensIn: 0, tokensOut: 0, costUsdE8: 0n, providerId: 'OFFLINE' });
});

test('where no model generates, it is unavailable; what is no schema is refused', async (t) => {
  const unit = await unitOn(t, { status: 500 });
  const { id } = await made(unit, owner);
  const options = { caller: owner, passOn: ['invalid' as const] };
  const asked = { ...generation, agentId: id };
  t.like(await t.throwsAsync(unit.rpc.generate({ ...asked, jsonSchemaJson: '' }, options)), {
    kind: 'unavailable',
    reason: 'MODEL_UNAVAILABLE',
  });
  for (const jsonSchemaJson of ['{', '[]', 'null', '3']) {
    t.like(await t.throwsAsync(unit.rpc.generate({ ...asked, jsonSchemaJson }, options)), { kind: 'invalid' });
  }
  t.like(await t.throwsAsync(unit.rpc.generate({ ...asked, prompt: ' ', jsonSchemaJson: '' }, options)), {
    kind: 'invalid',
  });
});

test('cancelling a generation cancels the request to the model', async (t) => {
  const unit = await unitOn(t, { beforeHeaders: createGate() });
  const { id } = await made(unit, owner);
  const abort = new AbortController();
  const asked = unit.rpc.generate(
    { ...generation, agentId: id, jsonSchemaJson: '' },
    { caller: owner, signal: abort.signal },
  );
  await unit.server.until(({ counts }) => counts.running === 1);
  abort.abort();
  await t.throwsAsync(asked, { name: 'AbortError' });
  await unit.server.until(({ counts }) => counts.cancelled === 1);
});
