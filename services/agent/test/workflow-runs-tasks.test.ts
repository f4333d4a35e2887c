import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import type { WorkflowNode } from '../src/workflow/definition.ts';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { unitWithModel } from './agent-turns.ts';
import { type AgentUnit, agentUnit, inTenant } from './agent-unit.ts';
import { agentWith, publish, runsOf, runTask, saveDraft, type TaskAnswer } from './workflow-run-unit.ts';

// allow-name workflow: the name under which the ledger records these calls, not the query

const owner = inTenant(1);
const usage = { prompt_tokens: 1_000, completion_tokens: 50 };
const write: WorkflowNode = {
  kind: 'llm',
  prompt: 'Say {{ message }} {{ variables.tone }}',
  output: 'answer',
  next: 'end',
};
const order: WorkflowNode = { kind: 'action', actionId: 5, args: { q: '{{ message }}' }, output: 'order', next: 'end' };

test('a task runs one pass with its variables, and answers text, content, variables, trace and cost', async (t) => {
  const unit = await unitWithModel(t, { text: 'Well.', usage }, { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o' });
  const nodes = {
    a: write,
    end: say('{{ variables.answer }} {{ session.metadata.plan }}', {
      structuredContent: { kind: 'card', title: '{{ variables.answer }}' },
      next: 'a',
    }),
  };
  const { workflowId } = await agentWith(unit, workflow(nodes, { tone: 'softly', other: 1 }));
  const input = { message: 'hello', variables: { tone: 'loudly' }, metadata: { plan: 'gold' } };
  const { task } = await runTask(unit, { workflowId, input });
  t.like(task, {
    text: 'Well. gold',
    structuredContent: { kind: 'card', title: 'Well.' },
    variables: { tone: 'loudly', other: 1, answer: 'Well.' },
    costUsd: Number(unit.ledger.spent) / 1e8,
  });
  t.true((task?.costUsd ?? 0) > 0);
  t.deepEqual(
    task?.trace.map(({ nodeId, tokensIn, tokensOut, costUsd, error }) => [nodeId, tokensIn, tokensOut, costUsd, error]),
    [
      ['a', 1_000, 50, task?.costUsd, null],
      ['end', 0, 0, 0, null],
    ],
  );
  t.true(JSON.stringify(unit.server.requests[0]?.body.messages).includes('Say hello loudly'));
  t.like(unit.ledger.settled[0]?.call, { operation: 'workflow', sessionId: undefined, agentId: undefined });
  t.deepEqual(await runsOf(unit), []);
});

test('a task takes an API key, and nothing but message, variables and metadata', async (t) => {
  const unit = await agentUnit(t);
  const { workflowId } = await agentWith(unit, workflow({ a: say('Hello {{ message }}') }));
  const key = { kind: 'apiKey', tenantId: 1, apiKeyId: 9, requestId: 'r' };
  t.is((await runTask(unit, { workflowId }, key)).task?.text, 'Hello ');
  t.is((await runTask(unit, { workflowId, input: null })).task?.text, 'Hello ');
  for (const input of [
    { other: 1 },
    'text',
    [],
    { message: 5 },
    { message: 'a\0' },
    { message: 'x'.repeat(10_001) },
    { variables: [] },
    { variables: { a: 'x'.repeat(200_000) } },
    { metadata: 'x'.repeat(200_000) },
  ]) {
    const { error } = await runTask(unit, { workflowId, input });
    t.is(error?.extensions?.['code'], 'BAD_REQUEST', JSON.stringify(input).slice(0, 50));
  }
});

test('a task runs the newest version, or the draft; neither there is refused, another tenant finds none', async (t) => {
  const unit = await agentUnit(t);
  const { workflowId } = await agentWith(unit, workflow({ a: say('draft') }), { isPublished: false });
  const reasonOf = async (input: object, caller: object = owner) => {
    const { error } = await runTask(unit, { workflowId, ...input }, caller);
    return [error?.extensions?.['code'], error?.extensions?.['reason']];
  };
  t.deepEqual(await reasonOf({}), ['BAD_REQUEST', 'WORKFLOW_NOT_PUBLISHED']);
  t.is((await runTask(unit, { workflowId, testDraft: true })).task?.text, 'draft');
  await publish(unit, workflowId, workflow({ a: say('one') }), 1);
  await publish(unit, workflowId, workflow({ a: say('two') }), 2);
  t.is((await runTask(unit, { workflowId })).task?.text, 'two');
  await saveDraft(unit, workflowId, {});
  t.deepEqual(await reasonOf({ testDraft: true }), ['BAD_REQUEST', 'WORKFLOW_FAILED']);
  t.deepEqual(await reasonOf({}, inTenant(2)), ['NOT_FOUND', undefined]);
  for (const id of [0, -1, 2_147_483_647]) t.deepEqual(await reasonOf({ workflowId: id }), ['NOT_FOUND', undefined]);
});

test('a task fails by the node that failed, by its limits, and at the cap before a provider is asked', async (t) => {
  const unit = await unitWithModel(
    t,
    { text: 'x', usage },
    {
      HOSTED_SMALL_MODEL_MODEL: 'gpt-4o',
      // This time limit is long enough for every task below, even on a busy machine, except for the one whose action never answers.
      AGENT_WORKFLOW_TURN_MS: '1000',
      AGENT_WORKFLOW_NODES: '1',
    },
  );
  const failing = await agentWith(unit, workflow({ a: order, end: say('Done.') }));
  const reasonOf = async (workflowId: number) => (await runTask(unit, { workflowId })).error;
  unit.action.answer = () => ({ errorKind: 'HTTP_STATUS', errorMessage: 'It answered 500' });
  const failed = await reasonOf(failing.workflowId);
  t.like(failed?.extensions, { code: 'BAD_REQUEST', reason: 'WORKFLOW_FAILED' });
  t.true(failed?.message.includes('node a') && failed.message.includes('HTTP_STATUS'));
  unit.action.answer = () => ({ body: { $case: 'text', value: 'x' } });
  t.like((await reasonOf(failing.workflowId))?.extensions, { code: 'BAD_REQUEST', reason: 'WORKFLOW_LIMIT' });
  unit.action.answer = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  t.like((await reasonOf(failing.workflowId))?.extensions, { code: 'UNAVAILABLE', reason: 'TURN_TIMEOUT' });
  unit.ledger.cap = 0n;
  const asking = await agentWith(unit, workflow({ a: write, end: say('Done.') }));
  t.like((await reasonOf(asking.workflowId))?.extensions, { code: 'BAD_REQUEST', reason: 'SPEND_CAP_REACHED' });
  t.is(unit.server.requests.length, 0);
});

/** Returns the `extensions.details` of a failed task's error. */
const detailsOf = ({ error }: TaskAnswer) =>
  error?.extensions?.['details'] as { trace: Record<string, unknown>[]; costUsd: number } | undefined;

test('a task that fails answers the trace and cost of the nodes that have run, and they are metered', async (t) => {
  const env = { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o', AGENT_WORKFLOW_TURN_MS: '500' };
  const unit = await unitWithModel(t, { text: 'x', usage }, env);
  const nodes = { a: { ...write, next: 'b' }, b: { ...order, next: 'end' }, end: say('Done.') };
  const { workflowId } = await agentWith(unit, workflow(nodes));
  unit.action.answer = () => ({ errorKind: 'HTTP_STATUS', errorMessage: 'It answered 500' });
  const failed = detailsOf(await runTask(unit, { workflowId }));
  t.is(failed?.costUsd, Number(unit.ledger.spent) / 1e8);
  t.true((failed?.costUsd ?? 0) > 0);
  const steps = (given: typeof failed) => given?.trace.map(({ nodeId, tokensIn, error }) => [nodeId, tokensIn, error]);
  t.deepEqual(steps(failed), [
    ['a', 1_000, null],
    ['b', 0, 'HTTP_STATUS: It answered 500'],
  ]);
  unit.action.answer = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  const cut = detailsOf(await runTask(unit, { workflowId }));
  t.deepEqual(steps(cut), [
    ['a', 1_000, null],
    ['b', 0, 'TURN_TIMEOUT: The workflow took too long'],
  ]);
  t.is(detailsOf(await runTask(unit, { workflowId: 0 })), undefined);
});

test('a task that reaches a limit says which', async (t) => {
  const unit = await agentUnit(t, { AGENT_WORKFLOW_NODES: '1' });
  const { workflowId } = await agentWith(unit, workflow({ a: order, end: say('Done.') }));
  const { error } = await runTask(unit, { workflowId });
  t.is(error?.extensions?.['reason'], 'WORKFLOW_LIMIT');
  t.true(error?.message.includes('A turn runs at most 1 nodes'), error?.message);
});

const key = { kind: 'apiKey', tenantId: 1, apiKeyId: 9, requestId: 'r' };
for (const [what, caller, end, code] of [
  ['its API key is replaced', key, ({ tenant }: AgentUnit['ledger']) => (tenant.apiKeyId = 10), 'UNAUTHENTICATED'],
  ['its API key is revoked', key, ({ tenant }: AgentUnit['ledger']) => (tenant.apiKeyId = 0), 'UNAUTHENTICATED'],
  ['its sign-in is revoked', owner, (ledger: AgentUnit['ledger']) => ledger.revokedSignIns.add('s'), 'UNAUTHENTICATED'],
  ['its tenant is suspended', owner, ({ tenant }: AgentUnit['ledger']) => (tenant.suspended = true), 'FORBIDDEN'],
  ['its tenant is deleted', owner, ({ tenant }: AgentUnit['ledger']) => (tenant.deleted = true), 'FORBIDDEN'],
] as const) {
  test(`once ${what} a task makes no further call`, async (t) => {
    const gate = createGate();
    const unit = await agentUnit(t, { AGENT_WORKFLOW_ACCESS_MS: '1' });
    unit.action.answer = async () => {
      await gate.pass();
      return { body: { $case: 'text', value: 'x' } };
    };
    const { workflowId } = await agentWith(
      unit,
      workflow({ a: { ...order, next: 'b' }, b: { ...order, output: 'other', next: 'end' }, end: say('Done.') }),
    );
    const running = runTask(unit, { workflowId }, caller);
    await eventually('it calls', () => unit.action.asked.length === 1);
    end(unit.ledger);
    gate.release();
    const answer = await running;
    t.is(answer.error?.extensions?.['code'], code);
    t.is(unit.action.asked.length, 1);
    t.deepEqual(
      detailsOf(answer)?.trace.map(({ nodeId, output }) => [nodeId, output]),
      [
        ['a', 'x'],
        ['b', null],
      ],
    );
  });
}

test('while identity does not answer, runs without models go on', async (t) => {
  const unit = await agentUnit(t);
  unit.ledger.isDown = true;
  const { workflowId } = await agentWith(unit, workflow({ a: order, end: say('{{ variables.order }}') }));
  t.is((await runTask(unit, { workflowId })).task?.text, 'Done.');
});

test('a retry under an Idempotency-Key makes no call a second time; two tasks make one each', async (t) => {
  const unit = await agentUnit(t);
  let made = 0;
  unit.action.answer = () => {
    made += 1;
    return { body: { $case: 'text', value: `call ${made}` } };
  };
  const { workflowId } = await agentWith(unit, workflow({ a: order, end: say('{{ variables.order }}') }));
  const keyed = { ...owner, idempotencyKey: 'key-1' };
  const said = async (caller: object) => (await runTask(unit, { workflowId }, caller)).task?.text;
  t.deepEqual(
    [await said(keyed), await said(keyed), await said(owner), await said(owner)],
    ['call 1', 'call 1', 'call 2', 'call 3'],
  );
});

test('a task ends when its caller leaves', async (t) => {
  const never = createGate();
  const unit = await unitWithModel(t, { beforeHeaders: never }, { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o' });
  const { workflowId } = await agentWith(unit, workflow({ a: write, end: say('Done.') }));
  const stop = new AbortController();
  const asked = unit.ask(
    owner,
    'mutation ($input: RunWorkflowTaskInput!) { runWorkflowTask(input: $input) { text } }',
    { input: { workflowId } },
    stop.signal,
  );
  asked.catch(() => undefined);
  await eventually('it is asked', () => unit.server.requests.length === 1);
  stop.abort();
  await eventually('it is cancelled', () => unit.server.requests[0]?.state === 'cancelled');
  await eventually('it is settled', () => unit.ledger.open.size === 0);
  t.is(unit.server.requests.length, 1);
});
