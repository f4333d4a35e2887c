import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { runTurn, unitWithModel } from './agent-turns.ts';
import { ada, agentUnit, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);

test('GetAgent returns an agent, deleted and inactive ones included', async (t) => {
  const unit = await agentUnit(t, {}, { migrated: false });
  const { id } = await createAgent(unit, owner, { openingGreeting: 'Hi.', evaluationRecommendationLabels: [] });
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

test('GetExternalSync says where to post, by what secret and in what shape, as the agent has it now', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const read = () => unit.rpc.getExternalSync({ agentId: id }, { caller: owner });
  t.deepEqual(await read(), { url: '', secretRef: '', ownerId: undefined, schemaConfigJson: '' });

  const changes =
    'externalSyncUrl: "https://example.com/hook", externalSyncOwnerId: 9, externalSyncSchemaConfig: { points: "$.score" }';
  await unit.graph(owner, `mutation { updateAgent(id: ${id}, input: { ${changes} }) { id } }`);
  await unit.graph(owner, `mutation { deleteAgent(id: ${id}) }`);
  t.deepEqual(await read(), {
    url: 'https://example.com/hook',
    secretRef: '',
    ownerId: 9,
    schemaConfigJson: '{"points":"$.score"}',
  });
});

test("gRPC does not find another tenant's or an unknown agent", async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  for (const [agentId, caller] of [
    [id, inTenant(2)],
    [999, owner],
    [0, owner],
    [-1, owner],
  ] as const) {
    const expected = { kind: 'notFound', message: `Agent ${agentId} not found` };
    const options = { caller, expectedErrors: ['notFound' as const] };
    t.like(await t.throwsAsync(unit.rpc.getAgent({ agentId }, options)), expected);
    t.like(await t.throwsAsync(unit.rpc.getExternalSync({ agentId }, options)), expected);
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
    t.like((await runTurn(unit, agentId, { caller })).error, expected);
  }
});

const generation = { sessionId: 1, operation: 'evaluation', callId: 'c', system: 'Judge.', prompt: 'A talk.' };

test('Generate returns one completion, as JSON if a schema is given', async (t) => {
  const unit = await unitWithModel(t, {
    text: 'Good.',
    json: { score: 7 },
    usage: { prompt_tokens: 5, completion_tokens: 2 },
  });
  const { id } = await createAgent(unit, owner);
  const asked = { ...generation, agentId: id };

  t.deepEqual(await unit.rpc.generate({ ...asked, jsonSchemaJson: '' }, { caller: owner }), {
    text: 'Good.',
    offline: false,
    tokensIn: 5,
    tokensOut: 2,
    costUsdE8: 0n,
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'small-1',
    finishReason: 'STOP',
  });
  const schema = { type: 'object', properties: { score: { type: 'integer' } }, required: ['score'] };
  const answer = await unit.rpc.generate({ ...asked, jsonSchemaJson: JSON.stringify(schema) }, { caller: owner });
  t.is(answer.text, '{"score":7}');
  t.like(unit.server.requests[1]?.body.response_format?.json_schema?.schema, schema);
});

test('Generate with the offline model returns no text and `offline`', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const answer = await unit.rpc.generate({ ...generation, agentId: id, jsonSchemaJson: '{}' }, { caller: owner });
  t.like(answer, { text: '', offline: true, tokensIn: 0, tokensOut: 0, costUsdE8: 0n, providerId: 'OFFLINE' });
});

test('Generate is MODEL_UNAVAILABLE if the model fails, and refuses invalid schemas and blank prompts', async (t) => {
  const unit = await unitWithModel(t, { status: 500 });
  const { id } = await createAgent(unit, owner);
  const options = { caller: owner, expectedErrors: ['invalid' as const] };
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

test('Generate is CONTEXT_TOO_LONG if the request exceeds the context', async (t) => {
  const body = JSON.stringify({ error: { message: 'Too long', code: 'context_length_exceeded' } });
  const unit = await unitWithModel(t, { status: 400, body });
  const { id } = await createAgent(unit, owner);
  const asked = { ...generation, agentId: id, jsonSchemaJson: '' };
  const error = await t.throwsAsync(unit.rpc.generate(asked, { caller: owner, expectedErrors: ['invalid'] }));
  t.like(error, { kind: 'invalid', reason: 'CONTEXT_TOO_LONG' });
});

test('Generate is MODEL_BUSY without calling the model if no slot is free within max_wait_ms', async (t) => {
  const unit = await unitWithModel(t, { ending: 'never' }, { SESSION_TURNS_AT_ONCE: '1' });
  const { id } = await createAgent(unit, owner);
  const asked = { ...generation, agentId: id, jsonSchemaJson: '' };
  const holding = new AbortController();
  const held = unit.rpc.generate(asked, { caller: owner, signal: holding.signal });
  await unit.server.until(({ counts }) => counts.running === 1);
  const busy = await t.throwsAsync(unit.rpc.generate({ ...asked, maxWaitMs: 1 }, { caller: owner }));
  t.like(busy, { kind: 'unavailable', reason: 'MODEL_BUSY' });
  t.is(unit.server.requests.length, 1);

  unit.server.answerWith({ text: 'Good.' });
  const waiting = unit.rpc.generate({ ...asked, maxWaitMs: 60_000 }, { caller: owner });
  holding.abort();
  await t.throwsAsync(held);
  t.is((await waiting).text, 'Good.');
  for (const maxWaitMs of [0, -1]) {
    const refused = unit.rpc.generate({ ...asked, maxWaitMs }, { caller: owner, expectedErrors: ['invalid'] });
    t.like(await t.throwsAsync(refused), { kind: 'invalid', fields: [{ path: 'max_wait_ms' }] });
  }
});

test('max_output_tokens is limited by the maximum of the model', async (t) => {
  const unit = await unitWithModel(t, { text: 'Good.' }, { HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS: '100' });
  const { id } = await createAgent(unit, owner);
  const asked = { ...generation, agentId: id, jsonSchemaJson: '' };
  for (const maxOutputTokens of [20, 5_000]) await unit.rpc.generate({ ...asked, maxOutputTokens }, { caller: owner });
  t.deepEqual(
    unit.server.requests.map(({ body }) => body.max_tokens),
    [20, 100],
  );
  for (const maxOutputTokens of [0, -1]) {
    const refused = unit.rpc.generate({ ...asked, maxOutputTokens }, { caller: owner, expectedErrors: ['invalid'] });
    t.like(await t.throwsAsync(refused), { kind: 'invalid', fields: [{ path: 'max_output_tokens' }] });
  }
});

test("DescribeModel returns the limits of the agent's model", async (t) => {
  const limits = { HOSTED_SMALL_MODEL_CONTEXT_TOKENS: '8000', HOSTED_SMALL_MODEL_MAX_OUTPUT_TOKENS: '500' };
  const unit = await unitWithModel(t, {}, limits);
  const { id } = await createAgent(unit, owner);
  t.deepEqual(await unit.rpc.describeModel({ agentId: id }, { caller: owner }), {
    offline: false,
    contextTokens: 8_000,
    maxOutputTokens: 500,
    providerId: 'HOSTED_SMALL_MODEL',
    modelId: 'small-1',
  });
  for (const [agentId, caller] of [
    [id, inTenant(2)],
    [999, owner],
    [-1, owner],
  ] as const) {
    const asked = unit.rpc.describeModel({ agentId }, { caller, expectedErrors: ['notFound'] });
    t.like(await t.throwsAsync(asked), { kind: 'notFound', message: `Agent ${agentId} not found` });
  }
  const offline = await agentUnit(t);
  const { id: other } = await createAgent(offline, owner);
  t.like(await offline.rpc.describeModel({ agentId: other }, { caller: owner }), { offline: true, contextTokens: 0 });
});

test('cancelling Generate cancels the request to the model', async (t) => {
  const unit = await unitWithModel(t, { beforeHeaders: createGate() });
  const { id } = await createAgent(unit, owner);
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
