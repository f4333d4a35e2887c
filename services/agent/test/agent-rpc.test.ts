import { createGate } from '@parley/chassis/testing/gate';
import test from 'ava';
import { turn, unitOn } from './agent-turns.ts';
import { ada, agentUnit, inTenant, made } from './agent-unit.ts';

const owner = inTenant(1);

test('the mesh reads an agent, deleted and inactive ones included', async (t) => {
  const unit = await agentUnit(t, {}, { migrated: false });
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
