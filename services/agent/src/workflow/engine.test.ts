import { readFileSync } from 'node:fs';
import test from 'ava';
import type { Json, WorkflowDefinition, WorkflowNode } from './definition.ts';
import { draw } from './draw.ts';
import { evaluationBudget, maxNodesOfTurn, workflowEngine } from './engine.ts';
import type { EffectOutcome, WorkflowEffect, WorkflowState } from './state.ts';
import { randomOf, randomOutcome, randomWorkflow } from './testing/random-workflow.ts';
import { advanced, runTurn, say, stored, turnOf, workflow } from './testing/workflows.ts';
import { validate } from './validate.ts';

const engine = workflowEngine({ now: () => 1_000 });

const llm = (next: string, rest: object = {}): WorkflowNode => ({
  kind: 'llm',
  prompt: '{{ message }}',
  output: 'answer',
  next,
  ...rest,
});
const tool = (next: string, rest: object = {}): WorkflowNode => ({
  kind: 'tool',
  connectorId: 1,
  tool: 'search',
  args: {},
  output: 'found',
  next,
  ...rest,
});

function run(
  definition: WorkflowDefinition,
  answer: (effect: WorkflowEffect) => EffectOutcome,
  message = 'Hello',
  previous?: WorkflowState,
) {
  return runTurn(engine, definition, engine.begin(definition, turnOf(message), previous), answer);
}

const output = (value: Json) => () => ({ output: value });
const never = () => {
  throw new Error('No effect is expected');
};

test('an llm node asks for a text, which the variable and the node get', (t) => {
  const nodes = {
    a: llm('end', {
      system: 'For {{ session.clientExternalId }}',
      history: true,
      knowledgeBaseId: 3,
      topK: 5,
      tools: [{ actionId: 4 }],
      timeoutMs: 2_000,
    }),
    end: say('{{ variables.answer }} {{ nodes.a.output }}'),
  };
  const { state, effects } = run(workflow(nodes), output('Hi'));
  t.deepEqual(effects, [
    {
      nodeId: 'a',
      key: 'a#1',
      timeoutMs: 2_000,
      kind: 'llm',
      prompt: 'Hello',
      system: 'For customer-1',
      history: true,
      knowledgeBaseId: 3,
      topK: 5,
      tools: [{ actionId: 4 }],
      isRepeated: false,
    },
  ]);
  t.like(state, {
    status: 'ended',
    reply: { nodeId: 'end', text: 'Hi Hi', structuredContent: null },
    variables: { answer: 'Hi' },
  });
});

test('a response that only repeats the text of the llm node before it is recognized', (t) => {
  const isRepeated = (text: string, next = 'end') => {
    const nodes = { 'a-b': llm(next), c: say('', { next: 'end' }), end: say(text) };
    return run(workflow(nodes), output('Hi')).effects.some((effect) => effect.kind === 'llm' && effect.isRepeated);
  };
  t.true(isRepeated('{{ variables.answer }}'));
  t.true(isRepeated('{{nodes["a-b"].output}}'));
  t.true(isRepeated('{{ nodes.a-b.output }}'));
  for (const text of [
    '{{ variables.answer }}!',
    '{{ variables.answer | upcase }}',
    '{{ nodes.end.output }}',
    '{{ message }}',
    'plain',
  ])
    t.false(isRepeated(text), text);
  t.false(isRepeated('{{ variables.answer }}', 'c'));
});

const route = (label: string) => ({ label, description: `About ${label}`, next: label });
const routed = workflow({
  a: { kind: 'router', instruction: 'What is it about?', routes: [route('x'), route('y')], fallback: 'z' },
  x: say('x'),
  y: say('y'),
  z: say('z'),
});

test('a router goes where the label leads', (t) => {
  const { state, effects } = run(routed, output('y'));
  t.like(effects[0], { kind: 'router', instruction: 'What is it about?', message: 'Hello', refused: null });
  t.is(state.reply?.text, 'y');
});

test('a router asks once more for a label that is not there, and then takes the fallback', (t) => {
  const { state, effects } = run(routed, output('q'));
  t.deepEqual(
    effects.map((effect) => [effect.key, effect.kind === 'router' && effect.refused]),
    [
      ['a#1', null],
      ['a#1.2', 'q'],
    ],
  );
  t.is(state.reply?.text, 'z');
  const answers: Json[] = ['q', 'x'];
  t.is(run(routed, () => ({ output: answers.shift() ?? null })).state.reply?.text, 'x');
});

test('a router whose model finds no route that fits takes the fallback at once', (t) => {
  const { state, effects } = run(routed, output(null));
  t.is(effects.length, 1);
  t.is(state.reply?.text, 'z');
});

test('a condition takes its first case that holds', (t) => {
  const cases = [
    { when: 'message == "none"', next: 'x' },
    { when: 'message.startsWith("H")', next: 'y' },
    { when: 'true', next: 'x' },
  ];
  const definition = workflow({
    a: { kind: 'condition', cases, otherwise: 'z' },
    x: say('x'),
    y: say('y'),
    z: say('z'),
  });
  t.is(run(definition, never).state.reply?.text, 'y');
  t.is(
    run(workflow({ ...definition.nodes, a: { kind: 'condition', cases: cases.slice(0, 1), otherwise: 'z' } }), never)
      .state.reply?.text,
    'z',
  );
});

test('args of tools and actions are rendered and keep types', (t) => {
  const definition = workflow(
    {
      a: tool('b', {
        args: { q: '{{ message }}', ids: '{{ variables.ids }}', deep: [{ n: 1, s: 'no {{ variables.ids[0] }}' }] },
      }),
      b: { kind: 'action', actionId: 9, args: { found: '{{ variables.found }}' }, output: 'done', next: 'end' },
      end: say('{{ variables.done.text }}'),
    },
    { ids: [4, 5] },
  );
  const { state, effects } = run(definition, ({ kind }) => ({
    output: kind === 'tool' ? { hits: [1] } : { text: 'Done' },
  }));
  t.like(effects[0], {
    kind: 'tool',
    connectorId: 1,
    tool: 'search',
    args: { q: 'Hello', ids: [4, 5], deep: [{ n: 1, s: 'no 4' }] },
  });
  t.like(effects[1], { kind: 'action', actionId: 9, args: { found: { hits: [1] } } });
  t.is(state.reply?.text, 'Done');
});

test('after a node fails, its onError node runs and can read the error', (t) => {
  const definition = workflow({
    a: tool('end', { onError: 'sorry' }),
    end: say('ok'),
    sorry: say('{{ nodes.a.error.code }}: {{ nodes.a.error.message }}'),
  });
  const { state } = run(definition, () => ({ error: { code: 'IDENTITY_NOT_LINKED', message: 'Not linked' } }));
  t.is(state.reply?.text, 'IDENTITY_NOT_LINKED: Not linked');
  t.like(state.trace[0], { nodeId: 'a', error: { code: 'IDENTITY_NOT_LINKED' }, next: 'sorry' });
});

test('a node that fails without onError ends the turn', (t) => {
  const { state } = run(workflow({ a: tool('end'), end: say('ok') }), () => ({
    error: { code: 'UNAVAILABLE', message: 'Away' },
  }));
  t.like(state, {
    status: 'failed',
    reply: null,
    failure: { code: 'WORKFLOW_FAILED', nodeId: 'a', error: { code: 'UNAVAILABLE', message: 'Away' } },
  });
  t.is(engine.step(workflow({ a: say('a') }), state), state);
});

test('a template that fails is an error of its node, an expression that fails ends the turn', (t) => {
  const bad = '{% for a in (1..100000) %}{% for b in (1..100000) %}{% endfor %}{% endfor %}';
  const definition = workflow({
    a: llm('end', { prompt: bad, onError: 'sorry' }),
    end: say('ok'),
    sorry: say('{{ nodes.a.error.code }}'),
  });
  t.is(run(definition, never).state.reply?.text, 'TEMPLATE_FAILED');
  const condition = workflow({
    a: { kind: 'condition', cases: [{ when: 'message > 1', next: 'end' }], otherwise: 'end' },
    end: say('ok'),
  });
  t.like(run(condition, never).state, {
    status: 'failed',
    failure: { code: 'WORKFLOW_FAILED', error: { code: 'EXPRESSION_FAILED' } },
  });
});

test('a turn runs at most 50 nodes', (t) => {
  const chain = (count: number) =>
    workflow(
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [
          `n${index}`,
          index < count - 1 ? tool(`n${index + 1}`) : say('end'),
        ]),
      ),
    );
  t.is(run(chain(maxNodesOfTurn), output(1)).state.status, 'ended');
  const { state, effects } = run(chain(maxNodesOfTurn + 1), output(1));
  t.like(state, { status: 'failed', failure: { code: 'WORKFLOW_LIMIT', error: { code: 'TOO_MANY_NODES' } } });
  t.is(effects.length, 50);
});

test('outputs are bounded: a text is cut, other data is an error, and so is too much of all', (t) => {
  const definition = workflow({
    a: tool('end', { onError: 'sorry' }),
    end: say('{{ variables.found | size }}'),
    sorry: say('{{ nodes.a.error.code }}'),
  });
  const text = run(definition, output('é'.repeat(200_000))).state;
  t.true(Buffer.byteLength(text.variables['found'] as string) <= 100_000);
  t.true((text.variables['found'] as string).endsWith('é…'));
  t.is(run(definition, output(Array.from({ length: 30_000 }, () => 1))).state.reply?.text, 'OUTPUT_TOO_LARGE');
  t.true(JSON.stringify(text.trace).length < 10_000);

  const chain = workflow(
    Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [`n${index}`, index < 19 ? tool(`n${index + 1}`) : say('end')]),
    ),
  );
  t.like(run(chain, output('x'.repeat(99_000))).state, {
    failure: { code: 'WORKFLOW_LIMIT', error: { code: 'STATE_TOO_LARGE' } },
  });
});

test('after a response with next, the following message continues there', (t) => {
  const definition = workflow({
    a: llm('ask'),
    ask: say('And?', { next: 'end' }),
    end: say('{{ message }} {{ variables.answer }} {{ nodes.a.output }}'),
  });
  const first = run(definition, output('one')).state;
  t.like(first, { status: 'waiting', node: 'end', reply: { text: 'And?' } });
  const second = run(definition, never, 'Two', first).state;
  t.like(second, { status: 'ended', reply: { text: 'Two one one' } });
  t.deepEqual(
    second.trace.map(({ nodeId }) => nodeId),
    ['end'],
  );
});

test('after the end, a message starts the workflow again, with its variables and without outputs of nodes', (t) => {
  const definition = workflow(
    { a: llm('end'), end: say('{{ variables.count }} {{ nodes.end.output.text }}') },
    { count: 1 },
  );
  const first = run(definition, output('one')).state;
  const begun = engine.begin(definition, turnOf('Again'), { ...first, variables: { ...first.variables, count: 2 } });
  t.like(begun, { node: 'a', variables: { count: 2, answer: 'one' }, nodes: {} });
  t.is(engine.step(definition, begun).effect?.key, 'a#2');
});

test('if the node that waits no longer exists, the next turn starts the workflow again', (t) => {
  const first = run(workflow({ a: say('a', { next: 'b' }), b: say('b') }), never).state;
  t.is(run(workflow({ a: say('a') }), never, 'Hi', first).state.reply?.nodeId, 'a');
});

test('given variables override those of the definition', (t) => {
  const definition = workflow({ a: say('{{ variables.x }} {{ variables.y }}') }, { x: 1, y: 2 });
  const state = engine.begin(definition, turnOf('', { variables: { x: 5 } }));
  t.is(advanced(engine, definition, state).reply?.text, '5 2');
});

const content = (structuredContent: Json, found: Json) => {
  const end = { kind: 'response', text: 'Text', structuredContent } as WorkflowNode;
  return run(workflow({ a: tool('end'), end }), output(found)).state;
};

test('structured content is rendered', (t) => {
  const card = {
    kind: 'card',
    title: 'Order {{ variables.found.id }}',
    subtitle: '{{ variables.found.absent }}',
    imageUrl: '{{ variables.found.absent }}',
    buttons: [{ label: 'Open', url: '{{ variables.found.url }}' }],
  };
  t.deepEqual(content(card, { id: 5, url: 'https://shop.example/5' }).reply?.structuredContent, {
    kind: 'card',
    title: 'Order 5',
    buttons: [{ label: 'Open', url: 'https://shop.example/5' }],
  });
  const table = { kind: 'table', columns: ['a', 'b'], rows: '{{ variables.found }}' };
  t.deepEqual(
    content(table, [
      [1, 'x'],
      [null, true],
    ]).reply?.structuredContent,
    {
      kind: 'table',
      columns: ['a', 'b'],
      rows: [
        [1, 'x'],
        [null, true],
      ],
    },
  );
  const list = { kind: 'list', items: '{{ variables.found }}' };
  t.deepEqual(content(list, [{ title: 'a' }]).reply?.structuredContent, { kind: 'list', items: [{ title: 'a' }] });
});

const button = (url: string) => ({ kind: 'card', title: 'a', buttons: [{ label: 'b', url }] });
const refusedContent: [string, Json, Json][] = [
  ['a link that is a script', button('{{ variables.found }}'), 'javascript:alert(1)'],
  ['a link that is data', button('{{ variables.found }}'), 'data:text/html,x'],
  ['a button with neither link nor value', button('{{ variables.found }}'), ''],
  ['a title that is empty', { kind: 'card', title: '{{ variables.found }}' }, null],
  [
    'a field of the data that is not in the vocabulary',
    { kind: 'list', items: '{{ variables.found }}' },
    [{ title: 'a', onclick: 'x' }],
  ],
  ['a row that is too short', { kind: 'table', columns: ['a', 'b'], rows: '{{ variables.found }}' }, [[1]]],
  ['a cell that is an object', { kind: 'table', columns: ['a'], rows: '{{ variables.found }}' }, [[{}]]],
  [
    'more than 100 KB',
    {
      kind: 'list',
      items: Array.from({ length: 12 }, () => ({ title: 'a', description: '{{ variables.found }}' })),
    },
    'x'.repeat(9_000),
  ],
  [
    'a template that fails',
    {
      kind: 'card',
      title: '{{ variables.found | divided_by: 0 | date: "%99999999Y" }}{% for a in (1..10000000) %}{% endfor %}',
    },
    1,
  ],
];

for (const [what, structuredContent, found] of refusedContent) {
  test(`structured content with ${what} is omitted, and the text is sent`, (t) => {
    const { reply, status, trace } = content(structuredContent, found);
    t.deepEqual(reply, { nodeId: 'end', text: 'Text', structuredContent: null });
    t.is(status, 'ended');
    t.is(trace.at(-1)?.error?.code, 'STRUCTURED_CONTENT');
  });
}

test('what is said is read by later nodes without its content, as far as there is room', (t) => {
  const card = { kind: 'card', title: 'Order' };
  const said = run(workflow({ a: say('Text', { structuredContent: card, next: 'b' }), b: say('Bye') }), never).state;
  t.deepEqual(said.nodes['a'], { output: { text: 'Text' } });
  t.deepEqual(said.trace.at(-1)?.output, { text: 'Text', structuredContent: card });

  const nodes: [string, WorkflowNode][] = Array.from({ length: 12 }, (_, index) => [
    `n${index}`,
    say('{{ message }}', { next: `n${(index + 1) % 12}` }),
  ]);
  const definition = workflow(Object.fromEntries(nodes));
  let state: WorkflowState | undefined;
  for (let turn = 0; turn < 30; turn += 1) {
    state = run(definition, never, 'x'.repeat(99_000), state).state;
    t.is(state.reply?.text.length, 99_000);
    t.true(JSON.stringify(state.nodes).length < 1_000_000);
  }
  t.is(state?.nodes['n11']?.error?.code, 'STATE_TOO_LARGE');
});

test('texts of people, models and tools are never templates or expressions', (t) => {
  const evil = '{{ session.metadata.plan }}{% for i in (1..9) %}x{% endfor %} true || identity != null';
  const definition = workflow({
    a: llm('b'),
    b: tool('c', { args: { [evil]: '{{ variables.answer }}', message: '{{ message }}' } }),
    c: { kind: 'condition', cases: [{ when: 'variables.found == "gold"', next: 'wrong' }], otherwise: 'end' },
    wrong: say('wrong'),
    end: say('{{ message }}|{{ variables.answer }}|{{ variables.found }}', {
      structuredContent: { kind: 'card', title: '{{ variables.found }}' },
    }),
  });
  const { state, effects } = run(definition, output(evil), evil);
  t.like(effects[0], { prompt: evil });
  t.like(effects[1], { args: { [evil]: evil, message: evil } });
  t.is(state.reply?.text, `${evil}|${evil}|${evil}`);
  t.like(state.reply?.structuredContent, { title: evil });
});

test('keys such as __proto__ in data stay data', (t) => {
  const found = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": {"name": "x"}, "id": 3}') as Json;
  const definition = workflow({
    a: tool('b'),
    b: {
      kind: 'condition',
      cases: [{ when: 'variables.found.constructor.name == "x" && variables.found.id == 3', next: 'c' }],
      otherwise: 'end',
    },
    c: tool('end', { args: { all: '{{ variables.found }}' } }),
    end: say('{{ variables.polluted }}{{ message.polluted }}'),
  });
  const { state, effects } = run(definition, output(found));
  t.is(JSON.stringify((effects[1] as { args: object }).args), JSON.stringify({ all: found }));
  t.is(state.reply?.text, '');
  t.false('polluted' in {});
});

test('session and identity have the fields of the contract only', (t) => {
  const definition = workflow({ a: say('{{ session.id }} {{ session.secret }} {{ identity.name }}') });
  const turn = turnOf('Hi', { identity: { name: 'Ada' } });
  const state = engine.begin(definition, { ...turn, session: Object.assign(turn.session, { secret: 'x' }) });
  t.is(advanced(engine, definition, state).reply?.text, '7  Ada');
});

test('an effect is the same when another process takes the turn over, and its outcome is taken once', (t) => {
  const definition = workflow({ a: tool('b'), b: tool('end'), end: say('ok') });
  const calling = engine.step(definition, engine.begin(definition, turnOf('Hi')));
  t.deepEqual(workflowEngine().step(definition, stored(calling)).effect, calling.effect);
  const taken = engine.step(definition, engine.resume(definition, calling, 'a#1', { output: 1 }));
  t.is(taken.effect?.key, 'b#1');
  t.throws(() => engine.resume(definition, taken, 'a#1', { output: 2 }), {
    message: 'The workflow does not wait for the effect a#1',
  });
});

test('states are never changed', (t) => {
  const definition = workflow({ a: tool('b'), b: say('{{ variables.found }}') });
  const states = [engine.begin(definition, turnOf('Hi'))];
  const before = [JSON.stringify(states[0])];
  const add = (state: WorkflowState) => {
    states.push(state);
    before.push(JSON.stringify(state));
    return state;
  };
  const calling = add(engine.step(definition, states[0] as WorkflowState));
  add(advanced(engine, definition, add(engine.resume(definition, calling, 'a#1', { output: [1] }))));
  t.deepEqual(
    states.map((state) => JSON.stringify(state)),
    before,
  );
});

/** A workflow of 49 conditions, each of which evaluates for some milliseconds. */
const slow = workflow(
  Object.fromEntries([
    ...Array.from({ length: 49 }, (_, index) => [
      `n${index}`,
      {
        kind: 'condition',
        cases: [{ when: 'variables.a.all(x, variables.a.all(y, x + y >= 0.0))', next: `n${index + 1}` }],
        otherwise: 'n49',
      },
    ]),
    ['n49', say('ok')],
  ]),
  { a: Array.from({ length: 50 }, (_, index) => index) },
);

test.serial('the nodes of a turn share its processor time', (t) => {
  t.is(evaluationBudget().leftMs, 200);
  const begun = engine.begin(slow, turnOf('Hi'));
  const spent = evaluationBudget();
  engine.step(slow, begun, spent);
  t.true(spent.leftMs < 200);
  const budget = { leftMs: 40 };
  const before = process.threadCpuUsage();
  const state = advanced(engine, slow, begun, budget);
  const { user, system } = process.threadCpuUsage(before);
  t.like(state.failure, { code: 'WORKFLOW_LIMIT', error: { code: 'EVALUATION_TIME' } });
  t.true((user + system) / 1_000 < 200, `${user + system} µs`);
});

test('a turn that has used up its processor time ends at the next node', (t) => {
  const definition = workflow({ a: tool('end', { onError: 'end' }), end: say('ok') });
  const state = engine.step(definition, engine.begin(definition, turnOf('Hi')), { leftMs: 0 });
  t.like(state, { status: 'failed', failure: { code: 'WORKFLOW_LIMIT', nodeId: 'a' } });
});

test('a trace has the time of each node', (t) => {
  let now = 1_000;
  const ticking = workflowEngine({ now: () => (now += 10) });
  const definition = workflow({ a: tool('end'), end: say('ok') });
  const { state } = runTurn(ticking, definition, ticking.begin(definition, turnOf('Hi')), output('x'));
  t.deepEqual(state.trace, [
    { nodeId: 'a', kind: 'tool', visit: 1, startedAt: 1_010, durationMs: 10, output: 'x', error: null, next: 'end' },
    {
      nodeId: 'end',
      kind: 'response',
      visit: 1,
      startedAt: 1_030,
      durationMs: 10,
      output: { text: 'ok', structuredContent: null },
      error: null,
      next: null,
    },
  ]);
});

test('1,000 random workflows end, give the same result twice, and never use an effect key twice', (t) => {
  const ends = new Map<string, number>();
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const definition = randomWorkflow(randomOf(seed));
    t.deepEqual(validate(definition), [], `seed ${seed}`);
    const [first, second] = [0, 1].map(() => threeTurns(definition, seed));
    t.deepEqual(first, second, `seed ${seed}`);
    const { keys, last } = first as ReturnType<typeof threeTurns>;
    t.is(new Set(keys).size, keys.length, `seed ${seed}`);
    ends.set(last, (ends.get(last) ?? 0) + 1);
  }
  t.deepEqual([...ends.keys()].sort(), ['WORKFLOW_FAILED', 'WORKFLOW_LIMIT', 'ended', 'waiting']);
});

function threeTurns(definition: WorkflowDefinition, seed: number) {
  const random = randomOf(seed + 1_000_000);
  const states: string[] = [];
  const keys: string[] = [];
  let previous: WorkflowState | undefined;
  for (const message of ['Hi', 'Hello {{ message }}', 'x']) {
    const { state, effects } = run(definition, (effect) => randomOutcome(random, effect), message, previous);
    states.push(JSON.stringify(state));
    keys.push(...effects.map(({ key }) => key));
    if (state.status === 'failed') return { states, keys, last: state.failure?.code ?? '' };
    previous = state;
  }
  return { states, keys, last: previous?.status ?? '' };
}

const bot = JSON.parse(
  readFileSync(new URL('../../examples/support-bot.json', import.meta.url), 'utf8'),
) as WorkflowDefinition;

test('the support bot routes, finds an order and shows it as a card', (t) => {
  const outputs: Record<string, Json> = {
    classify: 'order',
    ask_number: ' 4711 \n',
    find_order: { status: 'shipped', trackingUrl: 'https://shop.example/t/1', items: [{ count: 2, name: 'Cups' }] },
  };
  const { state } = run(bot, ({ nodeId }) => ({ output: outputs[nodeId] ?? null }), 'Where is 4711?');
  t.is(state.reply?.text, 'Order 4711 is shipped.');
  t.deepEqual(state.reply?.structuredContent, {
    kind: 'card',
    title: 'Order 4711',
    subtitle: 'shipped',
    body: '2 × Cups',
    buttons: [
      { label: 'Track the parcel', url: 'https://shop.example/t/1' },
      { label: 'Something else', value: 'I have another question' },
    ],
  });
  t.like(state, { status: 'waiting', node: 'classify' });

  const drawn = draw(bot, state);
  t.true(drawn.startsWith('flowchart TD\n  start(( )) --> n0\n  n0{"classify<br/><small>router</small>"}\n'));
  t.regex(drawn, /n0 -->\|"1: order"\| n\d+/);
  t.regex(drawn, /class n0,n\d+,n\d+,n\d+,n\d+ taken/);
  t.is(drawn.match(/stroke-width:3px$/gmu)?.length, 1);
});

test('the answer of the support bot is streamed while it is written', (t) => {
  const { effects } = run(bot, ({ nodeId }) => ({ output: nodeId === 'classify' ? 'question' : 'Answer' }));
  t.like(effects.at(-1), { nodeId: 'answer', knowledgeBaseId: 1, isRepeated: true });
});

test('a drawing escapes text that Mermaid would interpret', (t) => {
  const definition = workflow({
    end: {
      kind: 'condition',
      cases: [{ when: 'message == "a" && 1 < 2 || "]|\n%%{init}" == ""', next: 'b' }],
      otherwise: 'b',
    },
    b: say('b'),
  });
  const drawn = draw(definition, { trace: [{ nodeId: 'end' }, { nodeId: 'b', error: 'x' }, { nodeId: 'gone' }] });
  t.true(drawn.includes('|"1: message == #34;a#34; && 1 #60; 2 || #34;]| #37;#37;{init}#34; == #34;#34;"|'), drawn);
  t.regex(drawn, /class n1 failed/);
  t.is(drawn.split('\n').filter((line) => line.includes('-->')).length, 3);
});
