import { type ToolCall, ToolCallStatus } from '@parley/protos/parley/agent/v1/tool_calls';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import type { ModelAnswer } from '@parley/testing/model-answer';
import type { ModelServer } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { apis } from '../src/models/testing/apis.ts';
import { type Reply, runTurn, type TurnOptions, unitOn, unitWithModel } from './agent-turns.ts';
import { type AgentUnit, createAgent, inTenant } from './agent-unit.ts';
import type { ScriptedResult } from './scripted-action.ts';

const owner = inTenant(1);
const search = { connectorId: 3, tool: 'search' };
const order = { actionId: 5 };
const { TOOL_CALL_STATUS_STARTED: STARTED, TOOL_CALL_STATUS_SUCCEEDED: SUCCEEDED } = ToolCallStatus;
const call = (given: object = {}, name = 'search'): ModelAnswer => ({ toolCalls: [{ name, arguments: given }] });
const text = (value: string): ScriptedResult => ({ body: { $case: 'text', value } });
const keysOf = (made: readonly { key: string }[]) => made.map(({ key }) => key);
const shown = ({ toolCalls }: { toolCalls: ToolCall[] }) => toolCalls.map(({ callId, status }) => [callId, status]);

type Unit = AgentUnit & { server: ModelServer };

/**
 * Starts a turn and abandons it, as if the process had died, once `at.made` tool calls have begun or the model has received `at.requests`
 * requests.
 */
async function lostTurn(unit: Unit, id: number, at: { made: number } | { requests: number }): Promise<Reply> {
  const lost = new AbortController();
  const turn = runTurn(unit, id, { signal: lost.signal, callId: 'lost' });
  await eventually('it is there', () =>
    'made' in at ? unit.action.made.length === at.made : unit.server.requests.length === at.requests,
  );
  lost.abort();
  return turn;
}

const takeOver = (unit: Unit, id: number, more: TurnOptions = {}) =>
  runTurn(unit, id, { resumes: true, callId: 'taken', ...more });

async function unitWithTools(t: ExecutionContext, script: ModelAnswer[], env: Record<string, string> = {}) {
  const unit = await unitWithModel(t, (_, index) => script[index] ?? { text: 'Enough.' }, env);
  unit.action.outlivesItsCaller = true;
  const { id } = await createAgent(unit, owner, { tools: [search, order] });
  return { unit, id };
}

test('a take-over awaits the call that still runs, makes none again, and the reply goes on after it', async (t) => {
  const script = [{ text: 'I look.', ...call({ q: 1 }) }, call({ q: 2 }), { text: 'Found both.' }];
  const { unit, id } = await unitWithTools(t, script);
  const gate = createGate();
  unit.action.answer = async ({ arguments: { q } }) => {
    await gate.pass();
    return text(`result ${q}`);
  };
  await lostTurn(unit, id, { made: 1 });
  const turn = takeOver(unit, id, { onToolCall: () => gate.open() });
  const reply = await turn;

  t.deepEqual(keysOf(unit.action.made), ['turn 1 1.0', 'turn 1 2.0']);
  t.deepEqual(keysOf(unit.action.asked), ['turn 1 1.0', 'turn 1 1.0', 'turn 1 2.0']);
  t.is(reply.texts.join(''), 'I look.\n\nFound both.');
  t.deepEqual(shown(reply), [
    ['1.0', STARTED],
    ['1.0', SUCCEEDED],
    ['2.0', STARTED],
    ['2.0', SUCCEEDED],
  ]);
  const [, second, third] = unit.server.requests;
  t.deepEqual(
    second?.body.messages.slice(1).map(({ role }) => role),
    ['user', 'assistant', 'tool'],
  );
  t.deepEqual(second?.sent.calls, [{ id: 'call_1', name: 'search', arguments: { q: 1 } }]);
  t.true(second?.text.includes('I look.'));
  t.regex(second?.sent.results[0]?.text ?? '', /\nresult 1\n/u);
  t.is(third?.sent.results.length, 2);
});

test('a process that dies between a result and its reply: the result is taken over, and its call is not asked for', async (t) => {
  const never = createGate();
  const { unit, id } = await unitWithTools(t, [call({ q: 1 }), { beforeHeaders: never }, { text: 'Found.' }]);
  unit.action.answer = () => text('result 1');
  const lost = await lostTurn(unit, id, { requests: 2 });
  t.deepEqual(shown(lost).at(-1), ['1.0', SUCCEEDED]);
  const reply = await takeOver(unit, id);
  t.is(reply.texts.join(''), 'Found.');
  t.deepEqual(keysOf(unit.action.asked), ['turn 1 1.0']);
  t.deepEqual(unit.action.listed, ['turn 1']);
  t.regex(unit.server.requests[2]?.sent.results[0]?.text ?? '', /\nresult 1\n/u);
  await eventually('all is settled', () => unit.ledger.open.size === 0);
});

test('calls keep their places in a round of which some were never begun', async (t) => {
  const toolCalls = [
    { name: 'invented' },
    { name: 'action_5', arguments: { n: 1 } },
    { name: 'search', arguments: [] },
    { name: 'search', arguments: { n: 3 } },
  ];
  const script = [{ text: 'I try.', toolCalls }, call({ n: 4 }), { text: 'Done.' }];
  const { unit, id } = await unitWithTools(t, script);
  const gate = createGate();
  unit.action.answer = async ({ arguments: { n } }) => {
    if (n !== 4) await gate.pass();
    return text(`result ${n}`);
  };
  await lostTurn(unit, id, { made: 2 });
  gate.open();
  const reply = await takeOver(unit, id);
  t.is(reply.texts.join(''), 'I try.\n\nDone.');
  t.deepEqual(keysOf(unit.action.made).toSorted(), ['turn 1 1.1', 'turn 1 1.3', 'turn 1 2.0']);
  const { calls = [], results = [] } = unit.server.requests[1]?.sent ?? {};
  t.deepEqual(
    calls.map(({ name, arguments: given }) => [name, given]),
    [
      ['action_5', { n: 1 }],
      ['search', { n: 3 }],
    ],
  );
  t.deepEqual(
    results.map((result) => /result \d/u.exec(result.text)?.[0]),
    ['result 1', 'result 3'],
  );
});

test('rounds in which nothing was begun keep their numbers, and a tool is shown by its own name', async (t) => {
  const script = [
    call({}, 'invented'),
    { text: 'I look.', ...call({ q: 1 }, 'search_2') },
    call({ q: 2 }),
    { text: 'Done.' },
  ];
  const { unit, id } = await unitWithTools(t, script);
  const tools = [search, { connectorId: 4, tool: 'search' }];
  await unit.graph(
    owner,
    'mutation ($id: ID!, $tools: [AgentToolInput!]) { updateAgent(id: $id, input: { tools: $tools }) { id } }',
    { id, tools },
  );
  const gate = createGate();
  unit.action.answer = async ({ arguments: { q } }) => {
    if (q === 1) await gate.pass();
    return text(`result ${q}`);
  };
  await lostTurn(unit, id, { made: 1 });
  gate.open();
  const reply = await takeOver(unit, id);
  t.deepEqual(
    unit.action.made.map(({ key, tool }) => [key, tool]),
    [
      ['turn 1 2.0', '4/search'],
      ['turn 1 3.0', '3/search'],
    ],
  );
  t.deepEqual(
    reply.toolCalls.map(({ callId, name }) => [callId, name]),
    ['2.0', '2.0', '3.0', '3.0'].map((key) => [key, 'search']),
  );
  t.is(reply.texts.join(''), 'I look.\n\nDone.');
});

test('a model that fails after text of an earlier attempt fails the turn as in the middle of a reply', async (t) => {
  const never = createGate();
  const script = [{ text: 'I look.', ...call() }, { beforeHeaders: never }, { status: 400 }];
  const { unit, id } = await unitWithTools(t, script);
  await lostTurn(unit, id, { requests: 2 });
  const reply = await takeOver(unit, id);
  t.like(reply.error, { kind: 'internal', reason: 'MODEL_FAILED' });
  t.is(reply.texts.join(''), 'I look.\n\n');
});

test('rounds and time of an earlier attempt count', async (t) => {
  const never = createGate();
  const script = [call({ q: 1 }), call({ q: 2 }), { beforeHeaders: never }, call({ q: 3 }), { text: 'Done.' }];
  const { unit, id } = await unitWithTools(t, script, { AGENT_TOOL_ROUNDS: '3', AGENT_TOOL_TURN_MS: '2000' });
  unit.action.answer = () => ({ ...text('x'), durationMs: 900 });
  await lostTurn(unit, id, { requests: 3 });
  const reply = await takeOver(unit, id);
  t.is(reply.texts.join(''), 'Done.');
  t.deepEqual(keysOf(unit.action.made), ['turn 1 1.0', 'turn 1 2.0', 'turn 1 3.0']);
  const { timeLimitMs = 0 } = unit.action.made[2]?.request ?? {};
  t.true(timeLimitMs > 0 && timeLimitMs <= 200, String(timeLimitMs));

  const other = await unitWithTools(t, script, { AGENT_TOOL_ROUNDS: '2' });
  await lostTurn(other.unit, other.id, { requests: 3 });
  await takeOver(other.unit, other.id);
  t.is(other.unit.action.made.length, 2, 'the third round is one too many');
});

test('the model learns that the outcome of a call that died with its process is unknown', async (t) => {
  const { unit, id } = await unitWithTools(t, [call(), { text: 'I do not know.' }]);
  unit.action.outlivesItsCaller = false;
  unit.action.answer = async (_, signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    throw new Error('cancelled');
  };
  await lostTurn(unit, id, { made: 1 });
  const reply = await takeOver(unit, id);
  t.is(unit.action.made.length, 1);
  t.deepEqual(shown(reply).at(-1), ['1.0', ToolCallStatus.TOOL_CALL_STATUS_CANCELLED]);
  t.regex(
    unit.server.requests[1]?.sent.results[0]?.text ?? '',
    /Error CALL_CANCELLED[^]*Whether it took effect is not known/u,
  );
});

test('a take-over uses the stored results even if the tools were deleted, and calls none again', async (t) => {
  const never = createGate();
  const { unit, id } = await unitWithTools(t, [call(), { beforeHeaders: never }, { text: 'Found.' }]);
  unit.action.answer = () => text('result 1');
  await lostTurn(unit, id, { requests: 2 });
  unit.action.deleted.add('3/search').add('#5');
  t.is((await takeOver(unit, id)).texts.join(''), 'Found.');
  t.deepEqual(unit.server.requests[2]?.sent.tools, []);
  t.regex(unit.server.requests[2]?.text ?? '', /result 1/u);
  t.is(unit.action.asked.length, 1);
});

test('if the begun calls cannot be read, no tool is called', async (t) => {
  const never = createGate();
  const { unit, id } = await unitWithTools(t, [call(), { beforeHeaders: never }, { text: 'Sorry.' }]);
  await lostTurn(unit, id, { requests: 2 });
  unit.action.listFails = true;
  t.is((await takeOver(unit, id)).texts.join(''), 'Sorry.');
  t.deepEqual(unit.server.requests[2]?.sent.tools, []);
  t.is(unit.action.asked.length, 1);
});

test('a take-over of a turn that called nothing, and another turn, begin at the first round', async (t) => {
  const { unit, id } = await unitWithTools(t, [call(), { text: 'One.' }, call(), { text: 'Two.' }]);
  t.is((await takeOver(unit, id)).texts.join(''), 'One.');
  t.is((await runTurn(unit, id, { turnKey: 'turn 2' })).texts.join(''), 'Two.');
  t.deepEqual(keysOf(unit.action.made), ['turn 1 1.0', 'turn 2 1.0']);
  t.deepEqual(unit.action.listed, ['turn 1'], 'a first attempt does not ask');
});

for (const api of apis) {
  test(`${api}: what a model has signed is sent back to it after a take-over`, async (t) => {
    const never = createGate();
    const signed = { thoughts: ['Hm.'], text: 'I look.', signature: 'c2lnbmVk', ...call({ q: 1 }) };
    const unit = await unitOn(t, api, (_, index) => [signed, { beforeHeaders: never }][index] ?? { text: 'Found.' });
    const { id } = await createAgent(unit, owner, { tools: [search] });
    await lostTurn(unit, id, { requests: 2 });
    const reply = await takeOver(unit, id);
    t.is(reply.texts.join(''), 'I look.\n\nFound.');
    const [, before, after] = unit.server.requests.map(({ sent, body }) => ({ ...sent, messages: body.messages }));
    t.deepEqual(after, before, 'the request of the process that died');
    if (api !== 'openai') t.deepEqual([...new Set(after?.signatures)], ['c2lnbmVk']);
  });
}
