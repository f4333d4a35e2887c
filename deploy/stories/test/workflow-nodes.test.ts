import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { createAction, createConnector, mcpServer, restApi } from '../src/actions.ts';
import type { Client } from '../src/client.ts';
import { interruptSession, sendMessage } from '../src/conversation.ts';
import { pricedProvider, usageOf } from '../src/direct-calls.ts';
import { createKnowledgeBase, ingestText } from '../src/knowledge.ts';
import type { TestMesh } from '../src/mesh.ts';
import { stories } from '../src/stories.ts';
import { contentsOf, converseBy, modelTag, runsOf, say, textOf, workflowOf } from '../src/workflows.ts';

// Each kind of node is tested with embedded and with real engines, because both store the state of a run.
const story = stories(test);

const saying = (text: string, rest: object = {}) => ({ kind: 'response', text, ...rest });

/**
 * Starts a conversation with these nodes. `end` sends a message and returns the event that ends the turn; `ask` sends a message and returns
 * the text of that event.
 */
async function conversation(t: ExecutionContext, owner: Client, nodes: Record<string, object>, variables?: object) {
  const talk = await converseBy(t, owner, workflowOf(nodes, variables));
  const { sessionId, events } = talk;
  return {
    ...talk,
    end: (text: string) => say(owner, sessionId, events, text),
    ask: async (text: string) => textOf(await say(owner, sessionId, events, text)),
    last: async () => (await runsOf(owner, sessionId))[0],
    way: async () => (await runsOf(owner, sessionId))[0]?.trace.map(({ nodeId }) => nodeId),
  };
}

/** Returns the routing requests that this file's model received. */
const routings = ({ model }: TestMesh, unique: string) =>
  model.server.requests.filter(({ text }) => text.includes('Choose the route') && text.includes(unique));

story.each(
  'an llm node writes from passages and with tools, and the reply has its citations, calls and unchanged text',
  async (t, mesh) => {
    const ada = await mesh.person();
    const knowledgeBaseId = await createKnowledgeBase(ada);
    await ingestText(
      ada,
      knowledgeBaseId,
      '# Lamps\n\nLamps are sold in their original box of cardboard.\n',
      'lamps.md',
    );
    const api = await restApi(t, (_request, response) => response.end('two euros'));
    const actionId = await createAction(ada, { name: 'price', url: `${api.url}/{item}`, method: 'GET' });
    const passages: string[] = [];
    mesh.model.answerOthers('Say what it costs: ', (_text, { results }) => {
      if (results.length === 0) return { text: 'I look.', toolCalls: [{ name: 'price', arguments: { item: 'lamp' } }] };
      return { text: `In a box, for ${/two euros/u.exec(results[0]?.text ?? '')?.[0]}.` };
    });
    const { end, last, events } = await conversation(t, ada, {
      write: {
        kind: 'llm',
        system: `You sell lamps.\n${modelTag(ada)}`,
        prompt: 'Say what it costs: {{ message }}',
        knowledgeBaseId,
        topK: 2,
        tools: [{ actionId }],
        output: 'answer',
        next: 'say',
      },
      say: saying('{{ variables.answer }}'),
    });
    const reply = await end('In which box is a lamp sold, and what does it cost?');
    if (reply.__typename !== 'AiResponseEvent') return t.fail(JSON.stringify(reply));
    t.is(reply.text, 'I look.\n\nIn a box, for two euros.');
    t.is(events.streamed(0), reply.text);
    t.deepEqual(
      reply.message.citations?.map(({ documentName }) => documentName),
      ['lamps.md'],
    );
    t.deepEqual(
      reply.message.toolCalls?.map(({ name, status }) => `${name} ${status}`),
      ['price SUCCEEDED'],
    );
    t.deepEqual(
      api.seen.map(({ path }) => path),
      ['/lamp'],
    );
    const asked = mesh.model.requestsFor('Say what it costs: In which box is a lamp sold, and what does it cost?');
    passages.push(...asked.map(({ text }) => text).filter((text) => text.includes('original box of cardboard')));
    t.is(passages.length, 2, 'the model is given the passages in both rounds');
    const run = await last();
    t.like(run, { status: 'ENDED', failureCode: null });
    t.like(run?.trace, [
      { nodeId: 'write', kind: 'llm', output: reply.text, error: null },
      { nodeId: 'say', kind: 'response', error: null },
    ]);
    t.true(run?.trace.every(({ durationMs }) => durationMs !== null));
  },
);

story.each(
  'a router takes the label that its model chooses, asks once more after an unknown label, and then takes the fallback',
  async (t, mesh) => {
    const ada = await mesh.person();
    const unique = `A clerk of ${ada.ip} sorts letters.`;
    const answers: string[] = [];
    mesh.model.judge(unique, () => ({ json: { label: answers.shift() } }));
    const route = (label: string) => ({ label, description: `About ${label}.`, next: `say_${label}` });
    const { ask, last } = await conversation(t, ada, {
      sort: {
        kind: 'router',
        instruction: `${unique}\n${modelTag(ada)}`,
        routes: [route('bills'), route('praise')],
        fallback: 'say_other',
      },
      say_bills: saying('A bill.'),
      say_praise: saying('Praise.'),
      say_other: saying('Something else, by {{ nodes.sort.output | json }}.'),
    });
    const asked = async (...labels: string[]) => {
      answers.push(...labels);
      const before = routings(mesh, unique).length;
      return [await ask('Here is a letter'), routings(mesh, unique).length - before];
    };
    t.deepEqual(await asked('praise'), ['Praise.', 1]);
    t.deepEqual(await asked('none of these'), ['Something else, by null.', 1]);
    t.deepEqual(await asked('letters', 'bills'), ['A bill.', 2]);
    t.deepEqual(await asked('letters', 'parcels'), ['Something else, by null.', 2]);
    const requests = routings(mesh, unique);
    // The choice uses the provider's structured output, limited to the labels of the routes.
    const schemas = requests.map(({ body }) => body.response_format?.json_schema?.schema);
    const label = { type: 'string', enum: ['bills', 'praise', 'none of these'] };
    for (const schema of schemas) t.like(schema, { properties: { label } });
    t.regex(requests.at(-1)?.text ?? '', /You have answered [^]{0,3}letters/u);
    t.like((await last())?.trace, [
      { nodeId: 'sort', kind: 'router', output: null, error: null },
      { nodeId: 'say_other' },
    ]);
  },
);

story('a router asks in plain text if its provider refuses structured output', async (t, mesh) => {
  const ada = await mesh.person();
  const unique = `A porter of ${ada.ip} sorts guests.`;
  mesh.model.judge(unique, { status: 400 });
  mesh.model.answer(JSON.stringify({ 'last message of the person': 'I stay' }), { text: '{"label": "guests"}' });
  const { ask } = await conversation(t, ada, {
    sort: {
      kind: 'router',
      instruction: `${unique}\n${modelTag(ada)}`,
      routes: [{ label: 'guests', description: 'Those who stay.', next: 'say' }],
      fallback: 'other',
    },
    say: saying('A guest.'),
    other: saying('Nobody.'),
  });
  t.is(await ask('I stay'), 'A guest.');
  t.deepEqual(
    routings(mesh, unique).map(({ body }) => body.response_format?.type ?? null),
    ['json_schema', null],
  );
});

story.each('a condition takes the first true case about message, variables, session and nodes', async (t, mesh) => {
  const ada = await mesh.person();
  const { ask, way } = await conversation(
    t,
    ada,
    {
      choose: {
        kind: 'condition',
        cases: [
          { when: "message.lowerAscii().contains('refund') && variables.limit > 2", next: 'refund' },
          { when: "session.metadata.from == 'test' && message == 'who'", next: 'who' },
          { when: "nodes.refund.output != null && nodes.refund.output.text == 'Refunded.'", next: 'again' },
        ],
        otherwise: 'other',
      },
      refund: saying('Refunded.', { next: 'choose' }),
      who: saying('{{ session.clientExternalId }} from {{ session.metadata.from }}', { next: 'choose' }),
      again: saying('Refunded before.', { next: 'choose' }),
      other: saying('No case.', { next: 'choose' }),
    },
    { limit: 3 },
  );
  t.is(await ask('hello'), 'No case.');
  t.is(await ask('A REFUND, please'), 'Refunded.');
  t.is(await ask('who'), 'customer-1 from test');
  t.is(await ask('hello'), 'Refunded before.');
  t.deepEqual(await way(), ['choose', 'again']);
});

story.each(
  'a tool node and an action node make one call each, with arguments that keep their types',
  async (t, mesh) => {
    const ada = await mesh.person();
    const mcp = await mcpServer(t, {
      'tools/list': () => ({ tools: [{ name: 'count', inputSchema: { type: 'object' } }] }),
      'tools/call': () => ({ content: [{ type: 'text', text: 'seven' }], structuredContent: { count: 7 } }),
    });
    const api = await restApi(t, (_request, response) =>
      response.setHeader('content-type', 'application/json').end('{"stored": [1, "two"]}'),
    );
    const connectorId = await createConnector(ada, { serverUrl: mcp.url });
    const actionId = await createAction(ada, { name: 'store', url: `${api.url}/stock/{place}`, method: 'POST' });
    const { end, last } = await conversation(
      t,
      ada,
      {
        count: {
          kind: 'tool',
          connectorId,
          tool: 'count',
          args: {
            of: '{{ message }}',
            colours: '{{ variables.colours }}',
            exact: true,
            text: 'about {{ variables.max }}',
          },
          output: 'counted',
          next: 'store',
        },
        store: {
          kind: 'action',
          actionId,
          args: { place: '{{ message }}', max: '{{ variables.max }}', note: '{{ variables.unset }}' },
          output: 'stored',
          next: 'say',
        },
        say: saying('{{ variables.stored.stored[1] }} of {{ variables.counted | json }}'),
      },
      { colours: ['red', 'blue'], max: 12, unset: null },
    );
    const reply = await end('lamps');
    t.regex(textOf(reply), /^two of .*7/u);
    t.is(mcp.count('tools/call'), 1);
    const given = { of: 'lamps', colours: ['red', 'blue'], exact: true, text: 'about 12' };
    t.deepEqual(mcp.last('tools/call')?.message.params['arguments'], given);
    t.deepEqual(
      api.seen.map(({ method, path, body }) => [method, path, JSON.parse(body)]),
      [['POST', '/stock/lamps', { max: 12, note: null }]],
    );
    if (reply.__typename !== 'AiResponseEvent') return t.fail();
    t.deepEqual(
      reply.message.toolCalls?.map(({ callId, name, status }) => [callId, name, status]),
      [
        ['count#1', 'count', 'SUCCEEDED'],
        ['store#1', 'store', 'SUCCEEDED'],
      ],
    );
    t.like((await last())?.trace, [
      { nodeId: 'count', kind: 'tool', error: null },
      { nodeId: 'store', kind: 'action', output: { stored: [1, 'two'] }, error: null },
      { nodeId: 'say', kind: 'response' },
    ]);
  },
);

story.each(
  'a response has a card, a table or a list; invalid content is left out, and only the text is sent',
  async (t, mesh) => {
    const ada = await mesh.person();
    const content = (structuredContent: object, next: string) => saying('See below.', { structuredContent, next });
    const { ask, sessionId, last } = await conversation(
      t,
      ada,
      {
        card: content(
          { kind: 'card', title: '{{ message }}', buttons: [{ label: 'More', value: '{{ variables.n }} more' }] },
          'table',
        ),
        table: content(
          { kind: 'table', columns: ['n', 'name'], rows: [['{{ variables.n }}', '{{ message }}']] },
          'list',
        ),
        list: content(
          { kind: 'list', items: [{ title: '{{ message }}', url: 'https://example.com/{{ variables.n }}' }] },
          'wrong',
        ),
        wrong: content(
          { kind: 'card', title: '{{ message }}', buttons: [{ label: 'Go', url: '{{ variables.scheme }}:alert(1)' }] },
          'card',
        ),
      },
      { n: 3, scheme: 'javascript' },
    );
    for (const message of ['One', 'Two', 'Three', 'Four']) t.is(await ask(message), 'See below.');
    const contents = (await contentsOf(ada, sessionId)).filter((_, index) => index % 2 === 1);
    t.deepEqual(contents, [
      { kind: 'card', title: 'One', buttons: [{ label: 'More', value: '3 more' }] },
      { kind: 'table', columns: ['n', 'name'], rows: [[3, 'Two']] },
      { kind: 'list', items: [{ title: 'Three', url: 'https://example.com/3' }] },
      null,
    ]);
    const run = await last();
    t.is(run?.status, 'WAITING');
    t.regex(run?.trace[0]?.error ?? '', /^STRUCTURED_CONTENT: /u);
  },
);

/** Makes one node of each kind that can fail. The node's model or server behaves like `broken`. */
async function failing(t: ExecutionContext, mesh: TestMesh, owner: Client, unique: string, broken: Broken) {
  mesh.model.answerOthers(`Fail ${unique}`, () => broken.model);
  mesh.model.judge(`Sort ${unique}`, broken.model);
  const mcp = await mcpServer(t, { 'tools/call': (_message, response) => broken.server(response) });
  const api = await restApi(t, (_request, response) => broken.server(response));
  const connectorId = await createConnector(owner, { serverUrl: mcp.url });
  const actionId = await createAction(owner, { url: api.url });
  const tag = modelTag(owner);
  return {
    llm: { kind: 'llm', system: tag, prompt: `Fail ${unique}`, output: 'out' },
    router: {
      kind: 'router',
      instruction: `Sort ${unique}\n${tag}`,
      routes: [{ label: 'a', description: 'a', next: 'done' }],
      fallback: 'done',
    },
    tool: { kind: 'tool', connectorId, tool: 'echo', args: {}, output: 'out' },
    action: { kind: 'action', actionId, args: {}, output: 'out' },
  };
}

interface Broken {
  model: object;
  server: (response: ServerResponse) => unknown;
}

type Failing = Awaited<ReturnType<typeof failing>>;
const kinds = ['llm', 'router', 'tool', 'action'] as const;

/**
 * Returns a chain of the four nodes that fail. Each node is linked to the next one only by `onError`. The final text contains the errors.
 */
function chained(nodes: Failing, rest: object = {}) {
  const entries = kinds.map((kind, index) => {
    const onError = kinds[index + 1] ?? 'done';
    const next = kind === 'router' ? {} : { next: 'never' };
    return [kind, { ...nodes[kind], ...next, onError, ...rest }];
  });
  const text = kinds.map((kind) => `{{ nodes.${kind}.error.code }}`).join(' ');
  return { ...Object.fromEntries(entries), done: saying(text), never: saying('It worked.') };
}

story.each('a node that fails continues at its onError, and without one the turn fails there', async (t, mesh) => {
  const ada = await mesh.person();
  const nodes = await failing(t, mesh, ada, ada.ip, {
    model: { status: 500 },
    server: (response) => void response.writeHead(500).end('{"wrong": "canary"}'),
  });
  const chain = chained(nodes);
  const { ask, last } = await conversation(t, ada, { ...chain, router: { ...chain.router, fallback: 'never' } });
  const codes = (await ask('hello')).split(' ');
  t.deepEqual(codes, ['MODEL_UNAVAILABLE', 'MODEL_UNAVAILABLE', 'CONNECTOR_UNREACHABLE', 'HTTP_STATUS']);
  const run = await last();
  t.is(run?.status, 'ENDED');
  t.deepEqual(
    run?.trace.map(({ nodeId, error }) => [nodeId, error?.split(': ')[0] ?? null]),
    [...kinds.map((kind, index) => [kind, codes[index]]), ['done', null]],
  );

  for (const [index, kind] of kinds.entries()) {
    const alone = { [kind]: { ...nodes[kind], ...(kind === 'router' ? {} : { next: 'done' }) }, done: saying('Done.') };
    const other = await conversation(t, ada, alone);
    const end = await other.end('hello');
    if (end.__typename !== 'TurnFailedEvent') return t.fail(`${kind}: ${JSON.stringify(end)}`);
    t.is(end.code, 'WORKFLOW_FAILED');
    t.notRegex(end.failure, /canary/u);
    const failed = await other.last();
    t.like(failed, { status: 'FAILED', failureCode: 'WORKFLOW_FAILED' });
    t.is(failed?.trace.length, 1);
    t.true(failed?.trace[0]?.error?.startsWith(`${codes[index]}: `), failed?.trace[0]?.error ?? 'no error');
  }
});

story.each('a node that exceeds its time limit fails, and its call is cancelled', async (t, mesh) => {
  const ada = await mesh.person();
  const never = createGate();
  t.teardown(() => never.open());
  let [begun, closed] = [0, 0];
  const nodes = await failing(t, mesh, ada, ada.ip, {
    model: { text: 'Too late.', beforeHeaders: never },
    server(response) {
      begun += 1;
      response.on('close', () => (closed += 1));
    },
  });
  const { ask, last } = await conversation(t, ada, chained(nodes, { timeoutMs: 400 }));
  t.is(await ask('hello'), 'NODE_TIMEOUT NODE_TIMEOUT NODE_TIMEOUT NODE_TIMEOUT');
  await eventually('no server is waited for any longer', () => closed === begun);
  const run = await last();
  for (const { nodeId, durationMs, error } of run?.trace.slice(0, 4) ?? []) {
    t.regex(error ?? '', /^NODE_TIMEOUT: .*400 ms/u, nodeId);
    t.true((durationMs ?? 0) >= 390, `${nodeId} took ${durationMs} ms`);
  }
});

story.each('a turn runs at most 50 nodes, and its expressions take a limited time', async (t, mesh) => {
  const ada = await mesh.person();
  const chain = (count: number, node: (next: string) => object) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, node(n + 1 < count ? `n${n + 1}` : 'say')]));
  const pass = (next: string) => ({ kind: 'condition', cases: [{ when: 'false', next: 'say' }], otherwise: next });
  const longest = await conversation(t, ada, { ...chain(49, pass), say: saying('Fifty.') });
  t.is(await longest.ask('hello'), 'Fifty.');
  const more = await conversation(t, ada, { ...chain(50, pass), say: saying('Fifty-one.') });
  t.is(await more.ask('hello'), 'failed: WORKFLOW_LIMIT');
  t.like(await more.last(), { status: 'FAILED', failureCode: 'WORKFLOW_LIMIT' });
  t.is((await more.last())?.trace.length, 50);

  const endless =
    '{% for a in (1..100000) %}{% for b in (1..100000) %}{% assign c = b | plus: a %}{% endfor %}{% endfor %}';
  const slow = (next: string) => ({
    kind: 'llm',
    system: modelTag(ada),
    prompt: endless,
    output: 'x',
    next,
    onError: next,
  });
  const busy = await conversation(t, ada, { ...chain(40, slow), say: saying('Done.') });
  t.is(await busy.ask('hello'), 'failed: WORKFLOW_LIMIT');
  const run = await busy.last();
  t.like(run?.trace.at(-1), { output: null });
  t.regex(run?.trace.at(-1)?.error ?? '', /^EVALUATION_TIME: /u);
  // Evaluation may take 50 ms in each node, and 200 ms in all nodes together.
  t.true((run?.trace.length ?? 0) < 12, `${run?.trace.length} nodes`);
  t.false(mesh.model.server.requests.some(({ text }) => text.includes('{% for')));
});

story.each('the outputs of each node and of all nodes together are limited in size', async (t, mesh) => {
  const ada = await mesh.person();
  const api = await restApi(t, ({ path }, response) => {
    const size = Number(path.slice(1));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ x: 'x'.repeat(size) }));
  });
  const actionId = await createAction(ada, { url: `${api.url}/{size}`, method: 'GET' });
  const call = (size: number, output: string, next: string, rest: object = {}) => ({
    kind: 'action',
    actionId,
    args: { size },
    output,
    next,
    ...rest,
  });
  const large = await conversation(t, ada, {
    call: call(110_000, 'x', 'say', { onError: 'sorry' }),
    say: saying('It fits.'),
    sorry: saying('{{ nodes.call.error.code }}'),
  });
  t.is(await large.ask('hello'), 'OUTPUT_TOO_LARGE');
  const many = Object.fromEntries(
    Array.from({ length: 8 }, (_, n) => [
      `n${n}`,
      call(90_000, `v${n}`, n < 7 ? `n${n + 1}` : 'say', { onError: 'say' }),
    ]),
  );
  // Each value is stored twice: as the variable and as the output of its node.
  const all = await conversation(t, ada, { ...many, say: saying('They fit.') });
  t.is(await all.ask('hello'), 'failed: WORKFLOW_LIMIT');
  t.regex((await all.last())?.trace.at(-1)?.error ?? '', /^STATE_TOO_LARGE: /u);
  const shown = JSON.stringify((await all.last())?.trace[0]?.output);
  t.true(shown.length < 4_100 && shown.endsWith('…"'), 'a trace has the beginning of an output');
});

story.each('a turn that exceeds its time limit ends with TURN_TIMEOUT, whatever onError says', async (t, mesh) => {
  const ada = await mesh.person();
  const never = createGate();
  t.teardown(() => never.open());
  mesh.model.answer(`Never ${ada.ip}`, { text: 'Too late.', beforeHeaders: never });
  const { ask, last, events } = await conversation(t, ada, {
    write: { kind: 'llm', system: modelTag(ada), prompt: `Never ${ada.ip}`, output: 'x', next: 'say', onError: 'say' },
    say: saying('{{ nodes.write.error.code }}'),
  });
  t.is(await ask('hello'), 'failed: TURN_TIMEOUT');
  t.like(await last(), { status: 'FAILED', failureCode: 'TURN_TIMEOUT' });
  t.is(events.ended.length, 1);
});

story("at the tenant's cap a turn ends with SPEND_CAP_REACHED, whatever onError says", async (t, mesh) => {
  const ada = await mesh.person();
  const prompt = `Dear ${ada.ip}`;
  mesh.model.answer(prompt, { text: 'Dear.', usage: { prompt_tokens: 1, completion_tokens: 1_000_000 } });
  const nodes = {
    write: { kind: 'llm', system: modelTag(ada), prompt, output: 'x', next: 'say', onError: 'say' },
    say: saying('{{ variables.x }}'),
  };
  const { sessionId, events } = await converseBy(t, ada, workflowOf(nodes), { llmProviderOverride: pricedProvider });
  t.is(textOf(await say(ada, sessionId, events, 'hello')), 'Dear.');
  t.is(textOf(await say(ada, sessionId, events, 'hello')), 'failed: SPEND_CAP_REACHED');
  t.is(mesh.model.requestsFor(prompt).length, 1);
  const [run, before] = await runsOf(ada, sessionId);
  t.like(run, { status: 'FAILED', failureCode: 'SPEND_CAP_REACHED', costUsd: 0 });
  t.is(before?.costUsd, (await usageOf(ada)).costThisMonthUsd);
});

story('interrupting a turn during a call cancels the call, and no further node runs', async (t, mesh) => {
  const ada = await mesh.person();
  let [begun, left] = [0, 0];
  const api = await restApi(t, (_request, response) => {
    begun += 1;
    response.on('close', () => (left += 1));
  });
  const actionId = await createAction(ada, { url: api.url });
  const { sessionId, events, last, ask } = await conversation(t, ada, {
    check: { kind: 'condition', cases: [{ when: "message == 'call'", next: 'call' }], otherwise: 'say' },
    call: { kind: 'action', actionId, args: {}, output: 'x', next: 'say', onError: 'say' },
    say: saying('Not called.'),
  });
  await sendMessage(ada, sessionId, 'call');
  await eventually('the call runs', () => begun === 1);
  t.true(await interruptSession(ada, sessionId));
  const [end] = await events.turns(1);
  t.like(end, { __typename: 'AiResponseEvent', interrupted: true, text: '' });
  await eventually('the server sees the end', () => left === 1);
  const run = await eventually('the run is closed', async () => {
    const found = await last();
    return found?.status === 'INTERRUPTED' && found;
  });
  t.deepEqual(
    run.trace.map(({ nodeId }) => nodeId),
    ['check', 'call'],
  );
  t.is(await ask('hello'), 'Not called.');
  t.is(begun, 1);
});
