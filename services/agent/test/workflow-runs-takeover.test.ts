import { isDomainError } from '@parley/kernel/errors';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import type { ModelAnswer } from '@parley/testing/model-answer';
import test, { type ExecutionContext } from 'ava';
import type { WorkflowNode } from '../src/workflow/definition.ts';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { type Reply, type TurnOptions, unitWithModel } from './agent-turns.ts';
import { type AgentUnit, inTenant } from './agent-unit.ts';
import { passage } from './scripted-knowledge.ts';
import { agentWith, ask, promptOf, publish, runsOf, saveDraft, textOf } from './workflow-run-unit.ts';

const usage = { prompt_tokens: 1_000, completion_tokens: 50 };
const text = (value: string) => ({ body: { $case: 'text' as const, value } });

const write = (prompt: string, output: string, next: string, rest: object = {}): WorkflowNode => ({
  kind: 'llm',
  prompt,
  output,
  next,
  ...rest,
});
const order: WorkflowNode = {
  kind: 'action',
  actionId: 5,
  args: { q: '{{ variables.one }}' },
  output: 'order',
  next: 'b',
};
/** A workflow with a model node, an action, and a model node whose text is streamed. */
const chain = workflow({
  a: write('First {{ message }}', 'one', 'call'),
  call: order,
  b: write('Last {{ variables.order }}', 'two', 'end'),
  end: say('{{ variables.two }}'),
});

/**
 * Starts a unit whose model repeats the prompt. For the first prompt that begins with a key of `held`, the model gives that key's answer,
 * e.g. one that waits.
 */
async function unitOn(t: ExecutionContext, held: Record<string, ModelAnswer> = {}) {
  const answers = { ...held };
  const unit = await unitWithModel(
    t,
    (body) => {
      const prompt = promptOf(body);
      const beginning = Object.keys(answers).find((each) => prompt.startsWith(each)) ?? '';
      const answer = answers[beginning];
      delete answers[beginning];
      return { text: `Re: ${prompt}`, usage, ...answer };
    },
    { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o' },
  );
  unit.action.outlivesItsCaller = true;
  unit.action.answer = ({ arguments: { q } }) => text(`result of ${q}`);
  return unit;
}

/** Starts a turn and abandons it as soon as `isThere` returns true, as if the process had died. */
async function lost(unit: AgentUnit, agentId: number, isThere: () => boolean, more: TurnOptions = {}): Promise<Reply> {
  const dead = new AbortController();
  const turn = ask(unit, agentId, 'hello', { turnKey: 'turn', callId: 'lost', signal: dead.signal, ...more });
  await eventually('it is there', isThere);
  dead.abort();
  return turn;
}

const takeOver = (unit: AgentUnit, agentId: number, more: TurnOptions = {}) =>
  ask(unit, agentId, 'hello', { turnKey: 'turn', callId: 'taken', resumes: true, includesEarlierUsage: true, ...more });

const keysOf = (made: readonly { key: string }[]) => made.map(({ key }) => key);
const promptsOf = (unit: Awaited<ReturnType<typeof unitOn>>) => unit.server.requests.map(({ body }) => promptOf(body));

test('a turn that is lost between nodes goes on after the last one that ended', async (t) => {
  const never = createGate();
  const unit = await unitOn(t, { Last: { beforeHeaders: never } });
  const { agentId } = await agentWith(unit, chain);
  await lost(unit, agentId, () => unit.server.requests.length === 2);
  await eventually('it is closed', async () => (await runsOf(unit))[0]?.status === 'INTERRUPTED');
  const reply = await takeOver(unit, agentId);
  t.is(textOf(reply), 'Re: Last result of Re: First hello');
  t.deepEqual(promptsOf(unit), ['First hello', 'Last result of Re: First hello', 'Last result of Re: First hello']);
  t.deepEqual(keysOf(unit.action.asked), ['turn call#1']);
  await eventually('all is settled', () => unit.ledger.open.size === 0);
  const taken = unit.ledger.settled.filter(({ call }) => !call?.callId.startsWith('lost.b'));
  t.is(reply.usages.at(-1)?.tokensIn, 2_000, 'with what the first node took');
  t.is(
    reply.usages.at(-1)?.costUsdE8,
    taken.reduce((sum, { call }) => sum + (call?.costUsdE8 ?? 0n), 0n),
  );
  const [run, ...more] = await runsOf(unit);
  t.deepEqual(more, []);
  t.like(run, { status: 'ENDED', tokensIn: 2_000 });
  t.deepEqual(
    run?.trace.map(({ nodeId, tokensIn }) => [nodeId, tokensIn]),
    [
      ['a', 1_000],
      ['call', 0],
      ['b', 1_000],
      ['end', 0],
    ],
  );
});

test('a take-over reports the calls of finished nodes again, with their final status', async (t) => {
  const never = createGate();
  const unit = await unitOn(t, { Last: { beforeHeaders: never } });
  const { agentId } = await agentWith(unit, chain);
  const first = await lost(unit, agentId, () => unit.server.requests.length === 2);
  const ended = first.toolCalls.at(-1);
  t.like(ended, { callId: 'call#1', name: 'call', errorKind: '' });
  const reply = await takeOver(unit, agentId);
  t.deepEqual(reply.toolCalls, [ended]);
  const again = await takeOver(unit, agentId, { callId: 'again' });
  t.deepEqual(again.toolCalls, [ended], 'also of a run that has ended');
  t.deepEqual(keysOf(unit.action.asked), ['turn call#1']);
});

test('a take-over reports the first attempt’s usage only if asked to', async (t) => {
  const never = createGate();
  const unit = await unitOn(t, { Last: { beforeHeaders: never } });
  const { agentId } = await agentWith(unit, chain);
  await lost(unit, agentId, () => unit.server.requests.length === 2);
  const reply = await takeOver(unit, agentId, { includesEarlierUsage: false });
  t.is(reply.usages.at(-1)?.tokensIn, 1_000);
  t.is((await runsOf(unit))[0]?.tokensIn, 2_000);
});

test('a turn that is lost within a call asks for it by the same key, and it is made once', async (t) => {
  const gate = createGate();
  const unit = await unitOn(t);
  unit.action.answer = async () => {
    await gate.pass();
    return text('sent');
  };
  const { agentId } = await agentWith(unit, chain);
  await lost(unit, agentId, () => unit.action.made.length === 1);
  const reply = await takeOver(unit, agentId, { onToolCall: () => gate.open() });
  t.is(textOf(reply), 'Re: Last sent');
  t.deepEqual(keysOf(unit.action.made), ['turn call#1']);
  t.deepEqual(keysOf(unit.action.asked), ['turn call#1', 'turn call#1']);
  t.deepEqual(unit.action.asked[1]?.arguments, unit.action.asked[0]?.arguments);
});

test("a text that was being streamed is written again, and a finished node's text is taken from its state", async (t) => {
  const gate = createGate();
  const unit = await unitOn(t, { Last: { text: 'half a text', beforeDelta: gate } });
  const { agentId } = await agentWith(unit, chain);
  let seen = '';
  gate.release();
  const first = await lost(unit, agentId, () => seen !== '', { onText: (piece) => (seen += piece) });
  t.is(textOf(first).trim(), 'half');
  const whole = await takeOver(unit, agentId);
  t.is(textOf(whole), 'Re: Last result of Re: First hello');
  const again = await takeOver(unit, agentId, { callId: 'again' });
  t.is(textOf(again), 'Re: Last result of Re: First hello', 'whose reply was lost');
  t.is(unit.server.requests.length, 3);
  t.is(again.usages.at(-1)?.tokensIn, 2_000);
});

test('calls of the model of a node are taken over within that node', async (t) => {
  const never = createGate();
  const unit = await unitOn(t);
  const tools = [{ connectorId: 3, tool: 'search' }];
  unit.server.answerWith((_, index) =>
    index === 0
      ? { toolCalls: [{ name: 'search', arguments: { q: 1 } }], usage }
      : index === 1
        ? { beforeHeaders: never }
        : { text: 'Found.', usage },
  );
  const nodes = {
    a: write('Look', 'one', 'call', { tools }),
    call: { ...order, next: 'end' } as WorkflowNode,
    end: say('{{ variables.one }}'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  await lost(unit, agentId, () => unit.server.requests.length === 2);
  const reply = await takeOver(unit, agentId);
  t.is(textOf(reply), 'Found.');
  t.deepEqual(keysOf(unit.action.made), ['turn a#1/1.0', 'turn call#1']);
  t.is(unit.server.requests[2]?.sent.results.length, 1);
});

test('passages of finished nodes are cited after a take-over too', async (t) => {
  const never = createGate();
  const unit = await unitOn(t, { Last: { beforeHeaders: never } });
  unit.knowledge.find = async () => [passage(1, 'Thirty days.')];
  const nodes = {
    ...chain.nodes,
    a: write('First {{ message }}', 'one', 'call', { knowledgeBaseId: 1 }),
  };
  const { agentId } = await agentWith(unit, { ...chain, nodes });
  await lost(unit, agentId, () => unit.server.requests.length === 2);
  const reply = await takeOver(unit, agentId);
  t.deepEqual(
    reply.cited?.citations.map(({ documentName, preview }) => [documentName, preview]),
    [['document-1.md', 'Thirty days.']],
  );
  t.is(unit.knowledge.asked.length, 1);
});

test('a process whose turn was taken over writes nothing more, and its turn fails', async (t) => {
  const gate = createGate();
  const unit = await unitOn(t, { First: { text: 'old', beforeHeaders: gate } });
  const { agentId } = await agentWith(unit, chain);
  const paused = ask(unit, agentId, 'hello', { turnKey: 'turn', callId: 'paused' });
  await eventually('it is asked', () => unit.server.requests.length === 1);
  t.is(textOf(await takeOver(unit, agentId)), 'Re: Last result of Re: First hello');
  const before = await runsOf(unit);
  gate.open();
  t.true(isDomainError((await paused).error, 'internal'));
  t.deepEqual(await runsOf(unit), before);
  t.deepEqual(keysOf(unit.action.asked), ['turn call#1']);
});

test('a first attempt takes over a turn that another attempt has begun, and makes none of its calls again', async (t) => {
  const gate = createGate();
  const unit = await unitOn(t);
  unit.action.answer = async () => {
    await gate.pass();
    return text('sent');
  };
  const { agentId } = await agentWith(
    unit,
    workflow({ a: { ...order, next: 'end' }, end: say('{{ variables.order }}') }),
  );
  const first = ask(unit, agentId, 'hello', { turnKey: 'turn', callId: 'first' });
  await eventually('it calls', () => unit.action.asked.length === 1);
  const second = ask(unit, agentId, 'hello', { turnKey: 'turn', callId: 'second' });
  await eventually('it calls too', () => unit.action.asked.length === 2);
  gate.release();
  t.is(textOf(await second), 'sent');
  t.not((await first).error, undefined, 'one of them answers');
  t.is(unit.action.made.length, 1);
  t.is(textOf(await ask(unit, agentId, 'hello', { turnKey: 'turn', callId: 'late' })), 'sent', 'from its state');
  t.is(unit.action.asked.length, 2);
  t.is((await runsOf(unit)).length, 1);
});

for (const [what, change] of [
  ['was detached', { workflowId: null }],
  ['has another workflow', { workflowId: undefined }],
] as const) {
  test(`a take-over goes on with the workflow of its run, where the agent's ${what} meanwhile`, async (t) => {
    const never = createGate();
    const unit = await unitOn(t, { Last: { beforeHeaders: never } });
    const { agentId } = await agentWith(unit, chain);
    const other = await agentWith(unit, workflow({ a: say('other') }));
    await lost(unit, agentId, () => unit.server.requests.length === 2);
    const { workflowId = other.workflowId } = change;
    await unit.database.transact(1, ({ knex }) => knex('agents').where({ id: agentId }).update({ workflowId }));
    t.is(textOf(await takeOver(unit, agentId)), 'Re: Last result of Re: First hello');
    t.deepEqual(keysOf(unit.action.made), ['turn call#1']);
  });
}

test('a take-over of a turn that has failed fails alike, and one that never began begins', async (t) => {
  const unit = await unitOn(t);
  unit.action.answer = () => ({ errorKind: 'HTTP_STATUS' });
  const { agentId } = await agentWith(unit, chain);
  t.is(textOf(await takeOver(unit, agentId)), '');
  const { error } = await takeOver(unit, agentId, { callId: 'again' });
  t.is(isDomainError(error) && error.reason, 'WORKFLOW_FAILED');
  t.is(unit.action.asked.length, 1);
});

test('a take-over goes on with the draft, and with the version, that the turn began with', async (t) => {
  const never = createGate();
  for (const testDraft of [true, false]) {
    const unit = await unitOn(t, { Last: { beforeHeaders: never } });
    const { agentId, workflowId } = await agentWith(unit, chain);
    await lost(unit, agentId, () => unit.server.requests.length === 2, { testDraft });
    await saveDraft(unit, workflowId, workflow({ a: say('other') }));
    await publish(unit, workflowId, workflow({ a: say('other') }), 2);
    t.is(textOf(await takeOver(unit, agentId, { testDraft })), 'Re: Last result of Re: First hello');
  }
});

test('an interrupted turn cancels its request, and the next turn of the session begins without it', async (t) => {
  const never = createGate();
  const unit = await unitOn(t, { Last: { beforeHeaders: never } });
  const { agentId } = await agentWith(unit, chain);
  await lost(unit, agentId, () => unit.server.requests.length === 2);
  await eventually('it is cancelled', () => unit.server.requests[1]?.state === 'cancelled');
  await eventually('all is settled', () => unit.ledger.open.size === 0);
  t.is(textOf(await ask(unit, agentId, 'next')), 'Re: Last result of Re: First next');
  const [next, interrupted] = await runsOf(unit);
  t.like(next, { status: 'ENDED' });
  t.like(interrupted, { status: 'INTERRUPTED', failureCode: null });
  t.like(interrupted?.trace.at(-1), { nodeId: 'b', durationMs: 0, output: null });
});

test('the session’s next turn closes a run whose process died', async (t) => {
  const unit = await unitOn(t);
  const { agentId } = await agentWith(unit, workflow({ a: say('Hello') }));
  await ask(unit, agentId, 'one');
  await unit.database.transact(1, ({ knex }) => knex('workflow_runs').update({ status: 'RUNNING' }));
  await ask(unit, agentId, 'two');
  t.deepEqual(
    (await runsOf(unit, 1, inTenant(1))).map(({ status }) => status),
    ['ENDED', 'INTERRUPTED'],
  );
});
