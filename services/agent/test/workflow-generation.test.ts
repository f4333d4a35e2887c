import type { ModelAnswer } from '@parley/testing/model-answer';
import type { ModelScript } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { applyPatch } from 'rfc6902';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { unitOn } from './agent-turns.ts';
import { type AgentUnit, agentUnit, inTenant } from './agent-unit.ts';
import { ask, greeting, naming, owner, type Refusal, workflowsOf } from './workflow-unit.ts';

// allow-name workflow: the name under which the ledger records these calls, not the query

interface Generated {
  definition: unknown;
  patch?: unknown[];
  summary: string;
  costUsd: number;
}

const usage = { prompt_tokens: 1_000, completion_tokens: 100 }; // costs 0.0035 USD with gpt-4o
const answer = (definition: unknown, summary: unknown = 'Says hello.'): ModelAnswer => ({
  text: JSON.stringify({ summary, definition }),
  deltas: 'whole',
  usage,
});
const words = (text: string): ModelAnswer => ({ text, deltas: 'whole', usage });

const unitWith = (t: ExecutionContext, script: ModelScript) => unitOn(t, 'openai', script);

function generate(unit: AgentUnit, prompt: unknown = 'Say hello.', caller = owner): Promise<Generated> {
  return ask(
    unit,
    'mutation ($input: AiGenerateWorkflowInput!) { aiGenerateWorkflow(input: $input) { definition summary costUsd } }',
    { input: { prompt } },
    caller,
  );
}

function change(unit: AgentUnit, workflowId: number, instruction: string): Promise<Generated> {
  return ask(
    unit,
    `mutation ($input: GenerateWorkflowDiffInput!) {
      generateWorkflowDiff(input: $input) { definition patch summary costUsd } }`,
    { input: { workflowId, instruction } },
  );
}

test('a model is told what a definition is and what the tenant has, and its definition is answered but not saved', async (t) => {
  const unit = await unitWith(t, answer(naming()));
  const generated = await generate(unit, 'Answer from the documents.');
  t.deepEqual(generated, { definition: naming(), summary: 'Says hello.', costUsd: 0.0035 });
  t.deepEqual(await workflowsOf(unit).list(), []);

  const [request] = unit.server.requests;
  const sent = JSON.stringify(request?.body.messages);
  for (const known of ['"$schema', 'Base 1', 'knowledgeBaseId', 'Connector 3', 'Does search.', 'action 5']) {
    t.true(sent.includes(JSON.stringify(known).slice(1, -1)), known);
  }
  t.true(sent.includes('Answer from the documents.'));
  const [settled] = unit.ledger.settled;
  t.like(settled?.call, { operation: 'workflow', costUsdE8: 350_000n, modelId: 'gpt-4o' });
  t.is(unit.ledger.open.size, 0);
});

test('the prompt contains no resources of another tenant', async (t) => {
  const unit = await unitWith(t, answer(greeting));
  await generate(unit, 'Say hello.', inTenant(2));
  const sent = JSON.stringify(unit.server.requests[0]?.body.messages);
  for (const foreign of ['Base 1', 'Connector 3', 'action 5']) t.false(sent.includes(foreign), foreign);
});

test('words and code fences around the JSON are ignored', async (t) => {
  const unit = await unitWith(
    t,
    words(`Here it is:\n\`\`\`json\n${JSON.stringify({ definition: greeting }, null, 2)}\n\`\`\`\nEnjoy!`),
  );
  t.deepEqual(await generate(unit), { definition: greeting, summary: '', costUsd: 0.0035 });
});

test('a model gets the problems of its answer twice, and all attempts are charged', async (t) => {
  const bad = workflow({ greet: say('{{ variables.who }}', { next: 'gone' }) });
  const unit = await unitWith(
    t,
    (_, index) => [answer(bad), answer(naming({ base: 77 })), answer(greeting)][index] ?? {},
  );
  const { definition, costUsd } = await generate(unit);
  t.deepEqual(definition, greeting);
  t.is(costUsd, 0.0105);
  t.is(unit.ledger.spent, 1_050_000n);
  t.is(new Set(unit.ledger.settled.map(({ call }) => call?.callId)).size, 3);

  const [, second, third] = unit.server.requests.map(({ body }) => body.messages);
  t.deepEqual(
    second?.map(({ role }) => role),
    ['system', 'user', 'assistant', 'user'],
  );
  t.regex(JSON.stringify(second?.at(-1)), /nodes\.greet\.next names the node gone, which is not there/);
  t.is(third?.length, 4, 'only the last try is sent again');
  t.regex(JSON.stringify(third?.at(-1)), /nodes\.think\.knowledgeBaseId names the knowledge base 77/);
});

for (const [what, text, named] of [
  ['no JSON', 'I would rather not.', /the answer must be one whole JSON object/],
  ['JSON without a definition', '{"summary":"x"}', /the answer must be one whole JSON object/],
  ['what cannot be stored', JSON.stringify({ definition: workflow({ a: say('\0') }) }), /without NUL/],
  ['a definition that stays wrong', JSON.stringify({ definition: { version: 2 } }), /version must be 1/],
] as const) {
  test(`a model that answers ${what} three times is an error, and all attempts are charged`, async (t) => {
    const unit = await unitWith(t, words(text));
    const error = await t.throwsAsync<Refusal>(generate(unit));
    t.like(error?.extensions, { code: 'BAD_REQUEST', statusCode: 400, reason: 'WORKFLOW_NOT_GENERATED' });
    t.regex(error?.message ?? '', named);
    t.is(unit.server.requests.length, 3);
    t.is(unit.ledger.spent, 1_050_000n);
    t.is(unit.ledger.open.size, 0);
  });
}

test('a changed draft is answered with the patch to it, and nothing is saved', async (t) => {
  const changed = workflow({ greet: say('Good day.', { next: 'bye' }), bye: say('Bye.') });
  const unit = await unitWith(t, answer(changed, 'Says bye too.'));
  const app = workflowsOf(unit);
  const made = await app.create();
  const generated = await change(unit, made.id, 'Be formal, and say goodbye.');
  t.like(generated, { definition: changed, summary: 'Says bye too.', costUsd: 0.0035 });
  const draft = structuredClone(greeting);
  applyPatch(draft, generated.patch as never);
  t.deepEqual(draft, changed);
  t.is(generated.patch?.length, 3);
  t.deepEqual(await app.find(made.id), made);
  const sent = JSON.stringify(unit.server.requests[0]?.body.messages);
  t.true(sent.includes('Be formal, and say goodbye.') && sent.includes('Hello.'));

  for (const id of [made.id + 1, 0, -1]) {
    t.like(await t.throwsAsync<Refusal>(change(unit, id, 'x')), { extensions: { code: 'NOT_FOUND' } });
  }
  t.is(unit.server.requests.length, 1);
});

test('an instruction is checked, and the offline model is refused in plain words', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await workflowsOf(unit).create();
  for (const bad of [' ', 'x'.repeat(4_001), '\0']) {
    t.is((await t.throwsAsync<Refusal>(generate(unit, bad)))?.extensions.fields?.[0]?.path, 'input.prompt');
    t.is((await t.throwsAsync<Refusal>(change(unit, id, bad)))?.extensions.fields?.[0]?.path, 'input.instruction');
  }
  for (const call of [generate(unit), change(unit, id, 'Be formal.')]) {
    const error = await t.throwsAsync<Refusal>(call);
    t.is(error?.message, 'The offline model cannot write workflows: a language model must be configured');
    t.like(error?.extensions, { code: 'BAD_REQUEST', reason: 'WORKFLOW_NOT_GENERATED' });
  }
  t.deepEqual(unit.ledger.reserved, []);
});

test('at the spend cap no model is asked, also between two tries', async (t) => {
  const unit = await unitWith(t, words('no'));
  unit.ledger.cap = 350_000n;
  t.is((await t.throwsAsync<Refusal>(generate(unit)))?.extensions.reason, 'SPEND_CAP_REACHED');
  t.is(unit.server.requests.length, 1);
  t.is((await t.throwsAsync<Refusal>(generate(unit)))?.extensions.reason, 'SPEND_CAP_REACHED');
  t.is(unit.server.requests.length, 1);
});

test('a provider that fails is said to, and what the tries before it took is settled', async (t) => {
  const unit = await unitWith(t, (_, index) => (index === 0 ? words('no') : { status: 500 }));
  const error = await t.throwsAsync<Refusal>(generate(unit));
  t.like(error?.extensions, { code: 'UNAVAILABLE', reason: 'MODEL_UNAVAILABLE' });
  t.is(unit.ledger.settled.filter(({ served }) => served).length, 1);
  t.is(unit.ledger.open.size, 0);
});
