import { readFileSync } from 'node:fs';
import { isDomainError } from '@parley/kernel/errors';
import { Role } from '@parley/protos/parley/agent/v1/agent';
import { ToolCallStatus } from '@parley/protos/parley/agent/v1/tool_calls';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import type { ModelAnswer } from '@parley/testing/model-answer';
import test, { type ExecutionContext } from 'ava';
import type { WorkflowDefinition, WorkflowNode } from '../src/workflow/definition.ts';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { type Reply, unitWithModel } from './agent-turns.ts';
import { type AgentUnit, agentUnit, createAgent, inTenant } from './agent-unit.ts';
import { passage } from './scripted-knowledge.ts';
import { agentWith, ask, promptOf, publish, runsOf, saveDraft, textOf } from './workflow-run-unit.ts';

const usage = { prompt_tokens: 1_000, completion_tokens: 50 };
const priced = { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o' };
const bot = JSON.parse(readFileSync(new URL('../examples/support-bot.json', import.meta.url), 'utf8'));
const write = (prompt: string, rest: Partial<Extract<WorkflowNode, { kind: 'llm' }>> = {}): WorkflowNode => ({
  kind: 'llm',
  prompt,
  output: 'answer',
  next: 'end',
  ...rest,
});

/** Starts a unit whose model chooses its answer by the beginning of the prompt, and by default repeats the prompt. */
function modelOf(t: ExecutionContext, answers: Record<string, ModelAnswer>, env = {}) {
  return unitWithModel(
    t,
    (body) => {
      const prompt = promptOf(body);
      const found = Object.entries(answers).find(([beginning]) => prompt.startsWith(beginning))?.[1];
      return { usage, ...(found ?? { text: `Re: ${prompt}` }) };
    },
    { ...priced, ...env },
  );
}

/** Asserts that the ledger contains every model request of a turn, and that the turn's last usage report is their sum. */
function assertMetered(t: ExecutionContext, unit: AgentUnit, { usages }: Reply): void {
  const last = usages.at(-1);
  t.is(last?.costUsdE8, unit.ledger.spent);
  t.is(last?.tokensIn, sum(unit.ledger.settled.map(({ call }) => call?.tokensIn ?? 0)));
  t.is(last?.tokensOut, sum(unit.ledger.settled.map(({ call }) => call?.tokensOut ?? 0)));
  t.is(unit.ledger.open.size, 0);
}

const sum = (figures: number[]) => figures.reduce((all, each) => all + each, 0);

function reasonOf({ error }: Reply): string | undefined {
  return isDomainError(error) ? error.reason : undefined;
}

test('an llm node writes from its prompt, with the persona and without the conversation, and a response says it', async (t) => {
  const unit = await modelOf(t, {});
  const { agentId } = await agentWith(
    unit,
    workflow({ a: write('Shout: {{ message }}'), end: say('{{ variables.answer }}') }),
  );
  const history = [
    { role: Role.ROLE_USER, text: 'Before.' },
    { role: Role.ROLE_MODEL, text: 'Re before.' },
    { role: Role.ROLE_USER, text: 'hello' },
  ];
  const reply = await ask(unit, agentId, '', { history });
  t.is(reply.error, undefined);
  t.is(textOf(reply), 'Re: Shout: hello');
  const [request] = unit.server.requests;
  t.deepEqual(
    request?.body.messages.map(({ role }) => role),
    ['system', 'user'],
  );
  t.regex(JSON.stringify(request?.body.messages[0]), /You are Ada, a patient maths tutor/u);
  assertMetered(t, unit, reply);
  t.is(unit.ledger.settled[0]?.call?.operation, 'session');
  const [run] = await runsOf(unit);
  t.like(run, { version: 1, status: 'ENDED', failureCode: null, tokensIn: 1_000, tokensOut: 50 });
  t.deepEqual(
    run?.trace.map(({ nodeId, kind, output, tokensIn }) => [nodeId, kind, output, tokensIn]),
    [
      ['a', 'llm', 'Re: Shout: hello', 1_000],
      ['end', 'response', { text: 'Re: Shout: hello', structuredContent: null }, 0],
    ],
  );
  t.true((run?.costUsd ?? 0) > 0);
});

test('an llm node with history and a system prompt sends both, its message in place of the last', async (t) => {
  const unit = await modelOf(t, {});
  const node = write('Answer: {{ message }}', { history: true, system: 'For {{ session.clientExternalId }}.' });
  const { agentId } = await agentWith(unit, workflow({ a: node, end: say('{{ variables.answer }}') }));
  const history = [
    { role: Role.ROLE_USER, text: 'Before.' },
    { role: Role.ROLE_MODEL, text: 'Re before.' },
    { role: Role.ROLE_USER, text: 'hello' },
  ];
  await ask(unit, agentId, '', { history, clientExternalId: 'customer-1' });
  t.deepEqual(
    unit.server.requests[0]?.body.messages.map(({ content }) => content),
    ['For customer-1.', 'Before.', 'Re before.', 'Answer: hello'],
  );
});

test('text that a response only repeats arrives while it is written; other text when its node has ended', async (t) => {
  const gate = createGate();
  const unit = await modelOf(t, { Stream: { text: 'one two', beforeDelta: gate }, Hold: { text: 'held' } });
  const streams = workflow({
    first: write('Hold {{ message }}', { output: 'held', next: 'a' }),
    a: write('Stream'),
    end: say('{{ variables.answer }}'),
  });
  const { agentId } = await agentWith(unit, streams);
  const seen: string[] = [];
  gate.release();
  const reply = await ask(unit, agentId, 'hello', {
    onText(text) {
      seen.push(text);
      if (seen.length === 1) t.is(unit.server.counts.running, 1, 'the model still writes');
      gate.open();
    },
  });
  t.is(textOf(reply), 'one two');
  t.true(seen.length > 1, 'word by word');
  assertMetered(t, unit, reply);
  const other = await agentWith(unit, workflow({ a: write('Hold'), end: say('It says: {{ variables.answer }}') }));
  t.deepEqual((await ask(unit, other.agentId, 'hello')).texts, ['It says: held']);
});

test('passages of a node are searched for the message, given to its model and cited', async (t) => {
  const unit = await modelOf(t, {});
  unit.knowledge.find = async ({ topK }) => [passage(topK, 'Thirty days.')];
  unit.knowledge.usage = { tokensIn: 9, costUsdE8: 40n, modelId: 'embedding' } as never;
  const nodes = {
    a: write('Answer {{ message }}', { knowledgeBaseId: 3, topK: 4, next: 'b' }),
    b: write('Check {{ variables.answer }}', { knowledgeBaseId: 4, topK: 5 }),
    end: say('{{ variables.answer }}'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  const reply = await ask(unit, agentId, 'How many days after the purchase can lamps be returned?');
  t.deepEqual(
    unit.knowledge.asked.map(({ knowledgeBaseIds, topK, query }) => [knowledgeBaseIds, topK, query]),
    [
      [[3], 4, 'How many days after the purchase can lamps be returned?'],
      [[4], 5, 'How many days after the purchase can lamps be returned?'],
    ],
  );
  t.deepEqual(
    reply.cited?.citations.map(({ documentName }) => documentName),
    ['document-4.md', 'document-5.md'],
  );
  t.true(JSON.stringify(unit.server.requests[0]?.body.messages).includes('Thirty days.'));
  t.is(reply.usages.at(-1)?.tokensIn, 2_018);
});

const routes = [
  { label: 'order', description: 'Asks where an order is.', next: 'order' },
  { label: 'return', description: 'Wants to send something back.', next: 'return' },
];
const routed = workflow({
  r: { kind: 'router', instruction: 'What does {{ session.clientExternalId }} want?', routes, fallback: 'other' },
  order: say('An order.'),
  return: say('A return.'),
  other: say('Something else.'),
});

test('a router asks for a label by JSON; one that is none is asked for once more, then the fallback is next', async (t) => {
  const answers: (string | object)[] = [];
  const unit = await unitWithModel(
    t,
    () => {
      const answer = answers.shift() ?? '';
      return { usage, ...(typeof answer === 'string' ? { text: answer } : { text: JSON.stringify(answer) }) };
    },
    priced,
  );
  const { agentId } = await agentWith(unit, routed);
  const route = async (...given: (string | object)[]) => {
    answers.push(...given);
    const before = unit.server.requests.length;
    const reply = await ask(unit, agentId, 'hello', { clientExternalId: 'Bo' });
    return [textOf(reply), unit.server.requests.length - before];
  };
  t.deepEqual(await route({ label: 'order' }), ['An order.', 1]);
  t.deepEqual(await route({ label: 'none of these' }), ['Something else.', 1]);
  t.deepEqual(await route('I think that it is\n```json\n{"label": "return"}\n```'), ['A return.', 1]);
  t.deepEqual(await route('order'), ['An order.', 1]);
  t.deepEqual(await route({ label: 'Order!' }, { label: 'return' }), ['A return.', 2]);
  t.deepEqual(await route('no idea', { lable: 'x' }), ['Something else.', 2]);
  const [first] = unit.server.requests;
  const { schema } = first?.body.response_format?.json_schema ?? {};
  t.deepEqual((schema as { properties: unknown }).properties, {
    label: { type: 'string', enum: ['order', 'return', 'none of these'] },
  });
  t.true(JSON.stringify(first?.body.messages[0]).includes('What does Bo want?'));
  t.true(unit.server.requests.at(-1)?.text.includes('no idea'));
});

test('a route whose label is the word for none of them can be taken', async (t) => {
  const answers = ['none of these', 'none of these routes'];
  const unit = await unitWithModel(t, () => ({ text: JSON.stringify({ label: answers.shift() }), usage }), priced);
  const labelled = [{ label: 'none of these', description: 'Something else.', next: 'end' }];
  const { agentId } = await agentWith(
    unit,
    workflow({
      r: { kind: 'router', instruction: 'What?', routes: labelled, fallback: 'other' },
      end: say('A route.'),
      other: say('The fallback.'),
    }),
  );
  t.is(textOf(await ask(unit, agentId, 'hello')), 'A route.');
  t.is(textOf(await ask(unit, agentId, 'hello')), 'The fallback.');
});

test('what an llm node goes on without, because its tools are not there, is in the trace', async (t) => {
  const unit = await modelOf(t, {});
  unit.action.deleted.add('3/search');
  const tools = [{ connectorId: 3, tool: 'search' }, { actionId: 5 }];
  const { agentId } = await agentWith(
    unit,
    workflow({ a: write('Hi', { tools }), end: say('{{ variables.answer }}') }),
  );
  t.is(textOf(await ask(unit, agentId, 'hello', { testDraft: true })), 'Re: Hi');
  const [run] = await runsOf(unit);
  t.deepEqual(
    run?.trace.map(({ nodeId, error }) => [nodeId, error]),
    [
      ['a', 'TOOLS_LEFT_OUT: It went on without search of connector 3 (NOT_FOUND)'],
      ['end', null],
    ],
  );
});

test('neither the clock of a node nor that of its turn runs while a call waits for a slot of the model', async (t) => {
  const gate = createGate();
  const unit = await modelOf(
    t,
    { Hold: { text: 'held', beforeHeaders: gate } },
    { SESSION_TURNS_AT_ONCE: '1', AGENT_WORKFLOW_TURN_MS: '400' },
  );
  unit.action.answer = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  const plain = await createAgent(unit, inTenant(1));
  const holding = ask(unit, plain.id, 'Hold', { sessionId: 7 });
  await eventually('it has the slot', () => unit.server.requests.length === 1);
  const waits = await agentWith(
    unit,
    workflow({ a: write('Wait', { timeoutMs: 300 }), end: say('{{ variables.answer }}') }),
  );
  const waiting = ask(unit, waits.agentId, 'hello');
  await eventually('it waits', async () => (await runsOf(unit))[0]?.status === 'RUNNING');
  // This turn begins later and has the same time limit. Its action never answers, so it reaches the limit while the first turn still waits.
  const slow = await agentWith(unit, workflow({ a: call, end: say('Done.') }));
  t.is(reasonOf(await ask(unit, slow.agentId, 'hello', { sessionId: 2 })), 'TURN_TIMEOUT');
  gate.release();
  const reply = await waiting;
  t.is(textOf(reply), 'Re: Wait');
  t.is(reply.error, undefined);
  await holding;
});

test('a turn makes no further call once its tenant is deleted, and finishes where it is only suspended', async (t) => {
  const unit = await agentUnit(t, { AGENT_WORKFLOW_ACCESS_MS: '1' });
  const nodes: Record<string, WorkflowNode> = {
    a: { ...call, next: 'b' } as WorkflowNode,
    b: { ...call, output: 'other' } as WorkflowNode,
    end: say('Done.'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  unit.action.answer = () => {
    unit.ledger.tenant.suspended = true;
    return { body: { $case: 'text', value: 'x' } };
  };
  t.is(textOf(await ask(unit, agentId, 'hello')), 'Done.');
  unit.action.answer = () => {
    unit.ledger.tenant.deleted = true;
    return { body: { $case: 'text', value: 'x' } };
  };
  t.not((await ask(unit, agentId, 'hello')).error, undefined);
  t.is(unit.action.asked.length, 3);
});

test('a router of a provider that refuses JSON mode is asked in words, and both requests are metered', async (t) => {
  const unit = await unitWithModel(
    t,
    (body) => (body.response_format ? { status: 400 } : { text: '{"label":"order"}', usage }),
    priced,
  );
  const { agentId } = await agentWith(unit, routed);
  const reply = await ask(unit, agentId, 'hello');
  t.is(textOf(reply), 'An order.');
  assertMetered(t, unit, reply);
});

test('without a model a router takes the route that shares the most words, else the fallback, at no cost', async (t) => {
  const unit = await agentUnit(t);
  const { agentId } = await agentWith(unit, routed);
  t.is(textOf(await ask(unit, agentId, 'I want to send it back')), 'A return.');
  t.is(textOf(await ask(unit, agentId, 'Where are my orders?')), 'An order.');
  const reply = await ask(unit, agentId, 'Good morning');
  t.is(textOf(reply), 'Something else.');
  t.like(reply.finished, { costUsdE8: 0n, tokensIn: 0, modelId: '' });
  t.is(unit.ledger.reserved.length, 0);
});

const call: WorkflowNode = {
  kind: 'action',
  actionId: 5,
  args: { order: '{{ message }}', n: 1 },
  output: 'order',
  next: 'end',
};
const shownOrder = say('{{ variables.order.status }}', {
  structuredContent: { kind: 'card', title: 'Order {{ message }}', body: '{{ variables.order.status }}' },
});

test('tool and action nodes make one call each, show it, and a response has a card of its result', async (t) => {
  const unit = await agentUnit(t);
  unit.action.answer = ({ tool }) =>
    tool === '#5'
      ? { body: { $case: 'json', value: '{"status":"sent"}' } }
      : { body: { $case: 'text', value: 'found it' } };
  const search: WorkflowNode = {
    kind: 'tool',
    connectorId: 3,
    tool: 'search',
    args: { q: '{{ message }}' },
    output: 'found',
    next: 'b',
  };
  const { agentId } = await agentWith(unit, workflow({ a: search, b: call, end: shownOrder }));
  const reply = await ask(unit, agentId, '4711', { turnKey: 'turn x' });
  t.is(textOf(reply), 'sent');
  t.deepEqual(reply.structuredContent, { kind: 'card', title: 'Order 4711', body: 'sent' });
  t.deepEqual(
    unit.action.made.map(({ key, tool, arguments: given }) => [key, tool, given]),
    [
      ['turn x a#1', '3/search', { q: '4711' }],
      ['turn x b#1', '#5', { order: '4711', n: 1 }],
    ],
  );
  t.like(unit.action.made[1]?.request, { agentId, sessionId: 1 });
  t.deepEqual(
    reply.toolCalls.map(({ callId, name, status }) => [callId, name, status]),
    [
      ['a#1', 'search', ToolCallStatus.TOOL_CALL_STATUS_STARTED],
      ['a#1', 'search', ToolCallStatus.TOOL_CALL_STATUS_SUCCEEDED],
      ['b#1', 'b', ToolCallStatus.TOOL_CALL_STATUS_STARTED],
      ['b#1', 'b', ToolCallStatus.TOOL_CALL_STATUS_SUCCEEDED],
    ],
  );
  const [run] = await runsOf(unit);
  t.deepEqual(
    run?.trace.map(({ output }) => output),
    ['found it', { status: 'sent' }, { text: 'sent', structuredContent: reply.structuredContent }],
  );
});

test('the model of an llm node calls its tools, by keys of that node, and the calls of two nodes differ', async (t) => {
  const unit = await modelOf(t, { Look: { toolCalls: [{ name: 'search', arguments: { q: 1 } }] } });
  unit.server.answerWith((body, _, { results }) =>
    results.length > 0
      ? { text: 'Found.', usage }
      : { toolCalls: [{ name: 'search', arguments: { q: promptOf(body) } }], usage },
  );
  const tools = [{ connectorId: 3, tool: 'search' }];
  const nodes = {
    a: write('one', { tools, next: 'b' }),
    b: write('two', { tools }),
    end: say('{{ variables.answer }}'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  const reply = await ask(unit, agentId, 'hello', { turnKey: 'turn y' });
  t.is(textOf(reply), 'Found.');
  t.deepEqual(
    unit.action.made.map(({ key, arguments: given }) => [key, given]),
    [
      ['turn y a#1/1.0', { q: 'one' }],
      ['turn y b#1/1.0', { q: 'two' }],
    ],
  );
  t.is(unit.server.requests.length, 4);
  assertMetered(t, unit, reply);
  t.true(
    reply.usages.some(({ contextTokens, tokensIn }) => contextTokens === 0 && tokensIn > 0),
    'none is asked between two',
  );
});

for (const [what, result, code] of [
  ['a failed action', { errorKind: 'HTTP_STATUS', errorMessage: 'It answered 500', status: 500 }, 'HTTP_STATUS'],
  ['a result that is cut', { body: { $case: 'json', value: '{"a":' }, truncated: true }, 'OUTPUT_TOO_LARGE'],
  [
    'a result that is nested too deeply',
    { body: { $case: 'json', value: `${'['.repeat(9_000)}${']'.repeat(9_000)}` } },
    'OUTPUT_TOO_LARGE',
  ],
] as const) {
  test(`${what} goes to onError with its code, and without one fails the turn`, async (t) => {
    const unit = await agentUnit(t);
    unit.action.answer = () => result;
    const nodes = { a: { ...call, onError: 'sorry' }, end: say('Done.'), sorry: say('{{ nodes.a.error.code }}') };
    const { agentId } = await agentWith(unit, workflow(nodes));
    t.is(textOf(await ask(unit, agentId, 'hello')), code);
    const other = await agentWith(unit, workflow({ a: call, end: say('Done.') }));
    const reply = await ask(unit, other.agentId, 'hello', { sessionId: 2 });
    t.is(reasonOf(reply), 'WORKFLOW_FAILED');
    const [run] = await runsOf(unit, 2);
    t.like(run, { status: 'FAILED', failureCode: 'WORKFLOW_FAILED' });
    t.true(run?.trace.at(-1)?.error?.startsWith(`${code}: `));
  });
}

test('a model that fails goes to onError; what was seen of its text stays, and what follows is a paragraph of its own', async (t) => {
  const unit = await modelOf(
    t,
    { Fail: { status: 500 }, Cut: { text: 'Half a', ending: 'error-event' } },
    {
      HOSTED_SMALL_MODEL_RETRIES: '0',
    },
  );
  const nodes = (prompt: string): WorkflowDefinition =>
    workflow({
      a: write(prompt, { onError: 'sorry' }),
      end: say('{{ variables.answer }}'),
      sorry: say('{{ nodes.a.error.code }}'),
    });
  const { agentId } = await agentWith(unit, nodes('Fail'));
  t.is(textOf(await ask(unit, agentId, 'hello')), 'MODEL_UNAVAILABLE');
  const cut = await agentWith(unit, nodes('Cut'));
  t.is(textOf(await ask(unit, cut.agentId, 'hello')), 'Half a\n\nMODEL_FAILED');
});

test('a node that takes longer than its limit has failed, also within a call, which is cancelled', async (t) => {
  const never = createGate();
  const unit = await modelOf(t, { Slow: { beforeHeaders: never } });
  let isCancelled = false;
  unit.action.answer = (_, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        isCancelled = true;
        reject(new Error('cancelled'));
      });
    });
  const nodes = {
    a: write('Slow', { timeoutMs: 100, onError: 'b', next: 'end' }),
    b: { ...call, timeoutMs: 100, onError: 'sorry' },
    end: say('Done.'),
    sorry: say('{{ nodes.a.error.code }} {{ nodes.b.error.code }}'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  const reply = await ask(unit, agentId, 'hello');
  t.is(textOf(reply), 'NODE_TIMEOUT NODE_TIMEOUT');
  t.true(isCancelled);
  t.is(unit.action.made[0]?.request.timeLimitMs, 100);
});

test('a turn ends with TURN_TIMEOUT after its time, with WORKFLOW_LIMIT after its nodes', async (t) => {
  const unit = await modelOf(
    t,
    { Slow: { beforeHeaders: createGate() } },
    {
      AGENT_WORKFLOW_TURN_MS: '300',
      AGENT_WORKFLOW_NODES: '2',
    },
  );
  const slow = await agentWith(unit, workflow({ a: write('Slow', { onError: 'end' }), end: say('Done.') }));
  t.is(reasonOf(await ask(unit, slow.agentId, 'hello')), 'TURN_TIMEOUT');
  t.like((await runsOf(unit))[0], { status: 'FAILED', failureCode: 'TURN_TIMEOUT' });
  const check = (next: string): WorkflowNode => ({
    kind: 'condition',
    cases: [{ when: 'true', next }],
    otherwise: next,
  });
  const long = await agentWith(unit, workflow({ a: check('b'), b: check('end'), end: say('Done.') }));
  t.is(reasonOf(await ask(unit, long.agentId, 'hello', { sessionId: 2 })), 'WORKFLOW_LIMIT');
  t.like((await runsOf(unit, 2))[0], { status: 'FAILED', failureCode: 'WORKFLOW_LIMIT' });
});

test("at the tenant's cap a turn ends with SPEND_CAP_REACHED, whatever onError says", async (t) => {
  const unit = await modelOf(t, {});
  unit.ledger.cap = 0n;
  const { agentId } = await agentWith(unit, workflow({ a: write('Hi', { onError: 'end' }), end: say('Done.') }));
  t.is(reasonOf(await ask(unit, agentId, 'hello')), 'SPEND_CAP_REACHED');
  t.like((await runsOf(unit))[0], { status: 'FAILED', failureCode: 'SPEND_CAP_REACHED' });
});

test('a workflow that is not published fails the turn; once it is, the next turn of the session takes it', async (t) => {
  const unit = await agentUnit(t);
  const sessionStartedAt = new Date();
  const definition = workflow({ a: say('Hello {{ message }}') });
  const { agentId, workflowId } = await agentWith(unit, definition, { isPublished: false });
  t.is(reasonOf(await ask(unit, agentId, 'Bo', { sessionStartedAt })), 'WORKFLOW_NOT_PUBLISHED');
  t.deepEqual(await runsOf(unit), []);
  t.is(textOf(await ask(unit, agentId, 'Bo', { sessionStartedAt, testDraft: true })), 'Hello Bo');
  await publish(unit, workflowId, definition);
  t.is(textOf(await ask(unit, agentId, 'Bo', { sessionStartedAt })), 'Hello Bo');
});

test('a session runs the version that was published when it started, another one the newest, testDraft the draft', async (t) => {
  const unit = await agentUnit(t);
  const version = (n: number | string) => workflow({ a: say(`Version ${n}`) });
  const { agentId, workflowId } = await agentWith(unit, version(1));
  const sessionStartedAt = await unit.database.transact(1, async ({ knex }) => {
    const { rows } = await knex.raw("SELECT clock_timestamp() + interval '2 ms' AS now");
    return rows[0].now as Date;
  });
  await new Promise((resolve) => setTimeout(resolve, 10));
  await publish(unit, workflowId, version(2), 2);
  const said = async (options: object) => textOf(await ask(unit, agentId, 'hello', options));
  t.is(await said({ sessionStartedAt }), 'Version 1');
  await publish(unit, workflowId, version(3), 3);
  await saveDraft(unit, workflowId, version('draft'));
  t.is(await said({ sessionStartedAt }), 'Version 1');
  t.is(await said({ sessionId: 2, sessionStartedAt: new Date(Date.now() + 60_000) }), 'Version 3');
  t.is(await said({ sessionStartedAt, testDraft: true }), 'Version draft');
  await saveDraft(unit, workflowId, { nodes: {} });
  t.is(reasonOf(await ask(unit, agentId, 'hello', { testDraft: true })), 'WORKFLOW_FAILED');
  t.is(await said({ sessionStartedAt }), 'Version 1');
  t.deepEqual(
    (await runsOf(unit)).map((run) => run.version),
    [1, null, 1, 1],
  );
});

test('after a response with next the session continues there with its variables; a failed turn changes nothing', async (t) => {
  const unit = await agentUnit(t);
  let fails = false;
  unit.action.answer = () => (fails ? { errorKind: 'HTTP_STATUS' } : { body: { $case: 'text', value: 'A1' } });
  const nodes = {
    a: { ...call, next: 'first' },
    first: say('What is your name?', { next: 'b' }),
    b: { ...call, output: 'other', next: 'second' },
    second: say('{{ message }}, {{ variables.order }} {{ nodes.a.output }}'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  t.is(textOf(await ask(unit, agentId, 'hello')), 'What is your name?');
  fails = true;
  t.is(reasonOf(await ask(unit, agentId, 'Al')), 'WORKFLOW_FAILED');
  fails = false;
  t.is(textOf(await ask(unit, agentId, 'Bo', { testDraft: true })), 'What is your name?', 'the draft has its own');
  t.is(textOf(await ask(unit, agentId, 'Cy')), 'Cy, A1 A1');
  t.is(textOf(await ask(unit, agentId, 'again')), 'What is your name?');
  t.deepEqual(
    (await runsOf(unit)).map(({ status }) => status),
    ['WAITING', 'ENDED', 'WAITING', 'FAILED', 'WAITING'],
  );
});

test('templates see what the session says of the person, and the offline model writes without a provider', async (t) => {
  const unit = await agentUnit(t);
  const text =
    '{{ session.id }} {{ session.clientExternalId }} {{ session.metadata.plan }} {{ session.startedAt }} {{ identity.name }}';
  const { agentId } = await agentWith(unit, workflow({ a: say(text) }));
  const reply = await ask(unit, agentId, 'hello', {
    sessionId: 9,
    clientExternalId: 'customer-1',
    metadataJson: '{"plan":"gold"}',
    sessionStartedAt: new Date(0),
    identityJson: '{"name":"Bo"}',
  });
  t.is(textOf(reply), '9 customer-1 gold 1970-01-01T00:00:00.000Z Bo');
  const nothing = await ask(unit, agentId, 'hello', { sessionId: 9 });
  t.is(textOf(nothing), '9    ');
  const offline = await agentWith(
    unit,
    workflow({ a: write('What is a fraction?'), end: say('{{ variables.answer }}') }),
  );
  const written = await ask(unit, offline.agentId, 'hello');
  t.true(textOf(written).length > 0);
  t.is(written.finished?.modelId, 'offline-extractive');
});

test('messages, passages and results of tools that look like templates or expressions are only text', async (t) => {
  const evil = "{{ variables.secret }} {% assign x = 1 %} ${variables.secret} ' || true || '";
  const unit = await modelOf(t, {});
  unit.action.answer = () => ({ body: { $case: 'json', value: JSON.stringify({ text: evil, $ref: evil }) } });
  unit.knowledge.find = async () => [passage(1, evil)];
  const nodes: Record<string, WorkflowNode> = {
    a: { ...call, args: { given: '{{ message }}', '{{ message }}': 1 }, next: 'b' },
    b: write('Say {{ variables.order.text }} {{ message }}', { knowledgeBaseId: 1, next: 'c' }),
    c: {
      kind: 'condition',
      cases: [{ when: "message == 'x' || variables.answer == 'y'", next: 'wrong' }],
      otherwise: 'end',
    },
    wrong: say('wrong'),
    end: say('{{ variables.answer }}', { structuredContent: { kind: 'card', title: '{{ variables.order.text }}' } }),
  };
  const { agentId } = await agentWith(unit, workflow(nodes, { secret: 'canary' }));
  const reply = await ask(unit, agentId, evil);
  t.is(textOf(reply), `Re: Say ${evil} ${evil}`);
  t.deepEqual(unit.action.made[0]?.arguments, { given: evil, '{{ message }}': 1 });
  t.deepEqual(reply.structuredContent, { kind: 'card', title: evil });
  t.false(JSON.stringify(unit.server.requests.map((request) => request.text)).includes('canary'));
  t.false(JSON.stringify(await runsOf(unit)).includes('canary'));
});

test('characters that PostgreSQL cannot store are removed from results and from model output', async (t) => {
  const unit = await modelOf(t, { Hi: { text: 'a\0b' } });
  unit.action.answer = () => ({ body: { $case: 'json', value: '{"k\\u0000":"a\\u0000b\\ud800"}' } });
  const nodes = {
    a: { ...call, next: 'b' },
    b: write('Hi'),
    end: say('{{ variables.order.k }} {{ variables.answer }}'),
  };
  const { agentId } = await agentWith(unit, workflow(nodes));
  const reply = await ask(unit, agentId, 'hello');
  t.is(textOf(reply), 'ab\ufffd ab');
});

test('runs are listed for their tenant alone, and a session that is not there has none', async (t) => {
  const unit = await agentUnit(t);
  const { agentId } = await agentWith(unit, workflow({ a: say('Hello') }));
  await ask(unit, agentId, 'hello');
  t.is((await runsOf(unit)).length, 1);
  t.deepEqual(await runsOf(unit, 1, inTenant(2)), []);
  for (const sessionId of [2, 0, -1, 2_147_483_647]) t.deepEqual(await runsOf(unit, sessionId), []);
});

test('a turn without a workflow reads nothing more than before', async (t) => {
  const unit = await agentUnit(t);
  const { agentId } = await agentWith(unit, workflow({ a: say('Hello') }));
  await unit.database.transact(1, ({ knex }) => knex('agents').where({ id: agentId }).update({ workflowId: null }));
  const before = unit.transactions();
  await ask(unit, agentId, 'hello');
  t.is(unit.transactions() - before, 1);
});

test('the support bot answers from passages, asks for the number of an order and shows a card of it', async (t) => {
  const unit = await unitWithModel(
    t,
    (body) => {
      const prompt = promptOf(body);
      if (body.response_format)
        return { text: JSON.stringify({ label: prompt.includes('order') ? 'order' : 'question' }) };
      if (prompt.startsWith('Write the order number')) return { text: /\d{4,}/u.exec(prompt)?.[0] ?? 'NONE' };
      return { text: 'Within 30 days.' };
    },
    priced,
  );
  unit.knowledge.find = async () => [passage(1, 'Within 30 days.')];
  const trackingUrl = 'https://example.com/4711';
  unit.action.answer = () => ({
    body: {
      $case: 'json',
      value: JSON.stringify({ status: 'sent', trackingUrl, items: [{ count: 2, name: 'Lamp' }] }),
    },
  });
  const { agentId } = await agentWith(unit, bot);
  const answered = await ask(unit, agentId, 'How long may I send lamps back?');
  t.is(textOf(answered), 'Within 30 days.');
  t.is(answered.cited?.citations.length, 1);
  t.is(textOf(await ask(unit, agentId, 'Where is my order?')), 'What is the number of your order?');
  const shown = await ask(unit, agentId, 'It is 4711', { clientExternalId: 'customer-1' });
  t.is(textOf(shown), 'Order 4711 is sent.');
  t.like(shown.structuredContent, { kind: 'card', title: 'Order 4711', subtitle: 'sent', body: '2 × Lamp' });
  t.deepEqual(unit.action.made[0]?.arguments, { order: '4711', customer: 'customer-1' });
  assertMetered(t, unit, { texts: [], toolCalls: [], usages: [await total(unit)] });
});

async function total(unit: AgentUnit) {
  const runs = await runsOf(unit);
  return {
    tokensIn: sum(runs.map(({ tokensIn }) => tokensIn)),
    tokensOut: sum(runs.map(({ tokensOut }) => tokensOut)),
    costUsdE8: BigInt(Math.round(sum(runs.map(({ costUsd }) => costUsd)) * 1e8)),
    contextTokens: 0,
    providerId: '',
    modelId: '',
    estimated: false,
  };
}
