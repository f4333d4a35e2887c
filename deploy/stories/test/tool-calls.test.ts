import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import type { ModelAnswer } from '@parley/testing/model-answer';
import test, { type ExecutionContext } from 'ava';
import { createAction, createConnector, endlessServer, mcpServer, outboundCallsOf, restApi } from '../src/actions.ts';
import type { Client } from '../src/client.ts';
import { converse, createAgent, endSession, interruptSession, readSession, sendMessage } from '../src/conversation.ts';
import { pricedProvider, usageOf } from '../src/direct-calls.ts';
import { pagesHost } from '../src/mesh.ts';
import { idsGrow, type SessionEvents } from '../src/session-events.ts';
import { stories } from '../src/stories.ts';

const story = stories(test, { on: 'processes' });

/** Secrets that must not appear in any response or event. */
const secrets = {
  argument: 'canary-argument',
  ofTool: 'canary-result-of-tool',
  ofAction: 'canary-result-of-action',
  apiKey: 'canary-connector-key',
  token: 'canary-bearer-token',
};

const itemSchema = {
  type: 'object',
  properties: { item: { type: 'string' } },
  required: ['item'],
  additionalProperties: false,
};

type CallHandler = (response: ServerResponse) => unknown;

/** Creates a connector with the tool `stock`, an action `price`, and a server for each. The responses of both servers can be held back. */
async function toolsOf(
  t: ExecutionContext,
  owner: Client,
  { onTool, onAction }: { onTool?: CallHandler; onAction?: CallHandler } = {},
) {
  const mcp = await mcpServer(t, {
    'tools/list': () => ({ tools: [{ name: 'stock', description: 'How many there are.', inputSchema: itemSchema }] }),
    'tools/call': (_message, response) => {
      if (onTool) return onTool(response);
      return { content: [{ type: 'text', text: `three ${secrets.ofTool}` }] };
    },
  });
  const rest = await restApi(t, (_request, response) => {
    if (onAction) return onAction(response);
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ euros: 2, note: secrets.ofAction }));
  });
  const connectorId = await createConnector(owner, { serverUrl: mcp.url, apiKey: secrets.apiKey });
  const url = `${rest.url}/prices/{item}`;
  const actionId = await createAction(owner, {
    name: 'price',
    url,
    method: 'GET',
    argsSchema: itemSchema,
    bearerToken: secrets.token,
  });
  const stock = { connectorId, tool: 'stock' };
  return { mcp, rest, connectorId, actionId, stock, price: { actionId }, tools: [stock, { actionId }] };
}

/** Summarizes events as texts: chunks by their text, tool calls by their status. */
function told({ all }: SessionEvents): string[] {
  return all.flatMap((event) => {
    if (event.__typename === 'AiResponseChunkEvent') return event.text;
    if (event.__typename !== 'ToolCallEvent') return [];
    const { callId, name, callStatus, errorKind } = event;
    return [callId, name, callStatus, errorKind].filter(Boolean).join(' ');
  });
}

const call = (name: string, given: object = { item: secrets.argument }) => ({ name, arguments: given });

story.each(
  'a model calls a tool, gets an error, corrects itself, calls a tool and an action concurrently, and answers',
  async (t, mesh) => {
    const ada = await mesh.person();
    const { mcp, rest, tools, connectorId, actionId } = await toolsOf(t, ada);
    const rounds: ModelAnswer[] = [
      { text: ['I ', 'look.'], toolCalls: [call('stock', { item: 5 })] },
      { toolCalls: [call('stock'), call('price')] },
      { text: ['Three, ', 'at two euros.'] },
    ];
    const usage = { prompt_tokens: 1_000, completion_tokens: 50 };
    let results: string[] = [];
    mesh.model.answer('How many?', (sent) => {
      results = sent.results.map(({ text }) => text);
      const round = results.length === 3 ? 2 : results.length;
      return { ...rounds[round], usage };
    });
    const { sessionId, events } = await converse(t, ada, { tools, llmProviderOverride: pricedProvider });
    await sendMessage(ada, sessionId, 'How many?', 'asked');
    const [reply] = await events.turns(1);
    if (reply?.__typename !== 'AiResponseEvent') return t.fail(JSON.stringify(reply));

    const seen = told(events).join('|');
    t.regex(
      seen,
      /^I \|?look\.\|?\n\n\|1\.0 stock STARTED\|1\.0 stock FAILED ARGUMENTS_REFUSED\|2\.0 stock STARTED\|2\.1 price STARTED\|2\.\d/u,
    );
    t.regex(seen, /\|2\.0 stock SUCCEEDED\|/u);
    t.regex(seen, /\|2\.1 price SUCCEEDED\|/u);
    t.regex(seen, /SUCCEEDED\|Three, \|?at two euros\.$/u);
    t.true(idsGrow(events.all));
    for (const event of events.toolCalls) {
      t.like(event, { clientTurnId: 'asked', turnIndex: 0, attempt: 1, sessionId });
      t.is(event.durationMs === null, event.callStatus === 'STARTED');
    }
    t.is(reply.text, 'I look.\n\nThree, at two euros.');
    t.is(events.streamed(0), reply.text);
    const ended = [
      { callId: '1.0', name: 'stock', status: 'FAILED', errorKind: 'ARGUMENTS_REFUSED' },
      { callId: '2.0', name: 'stock', status: 'SUCCEEDED', errorKind: null },
      { callId: '2.1', name: 'price', status: 'SUCCEEDED', errorKind: null },
    ];
    t.like(reply.message.toolCalls, ended);
    const { messages } = await readSession(ada, sessionId);
    t.deepEqual(messages[1], reply.message);

    // Each server receives one call, with the credentials, and the model receives every result.
    t.is(mcp.count('tools/call'), 1);
    t.deepEqual(mcp.last('tools/call')?.message.params['arguments'], { item: secrets.argument });
    t.is(mcp.last('tools/call')?.headers.authorization, `Bearer ${secrets.apiKey}`);
    t.like(rest.seen, [{ method: 'GET', path: `/prices/${secrets.argument}` }]);
    t.is(rest.seen.length, 1);
    t.is(rest.seen[0]?.headers.authorization, `Bearer ${secrets.token}`);
    const [refused = '', ofTool = '', ofAction = ''] = results;
    t.regex(refused, /ARGUMENTS_REFUSED: args\.item must be string/u);
    t.true(ofTool.includes(secrets.ofTool));
    t.true(ofAction.includes(secrets.ofAction));

    const log = await outboundCallsOf(ada);
    const entries = log.map(({ kind, target, name, status, errorKind }) => ({ kind, target, name, status, errorKind }));
    const tool = { kind: 'TOOL', target: connectorId, name: 'stock' };
    t.deepEqual(entries.filter(({ kind }) => kind === 'TOOL').toReversed(), [
      { ...tool, status: null, errorKind: 'ARGUMENTS_REFUSED' },
      { ...tool, status: 200, errorKind: null },
    ]);
    t.deepEqual(
      entries.filter(({ kind }) => kind === 'ACTION'),
      [{ kind: 'ACTION', target: actionId, name: 'price', status: 200, errorKind: null }],
    );
    t.true(entries.some(({ kind, errorKind }) => kind === 'TOOL_LIST' && errorKind === null));

    // Each of the three model calls is metered, and the reply's cost is their sum.
    const { costThisMonthUsd, breakdown } = await usageOf(ada);
    t.deepEqual(breakdown, [{ model: 'gpt-4o', operation: 'session', count: 3 }]);
    t.like(reply.message, { tokensIn: 3_000, tokensOut: 150, costUsd: costThisMonthUsd });

    const shown = JSON.stringify([events.all, messages, log, await configured(ada)]);
    for (const secret of Object.values(secrets)) t.false(shown.includes(secret), secret);
  },
);

/** Returns everything that the API shows about connectors, actions and agents. */
function configured(client: Client) {
  return client.query(
    `{ mcpConnectors { id name serverUrl createdAt updatedAt }
       customActions { id name description url method argsSchema extraHeaders credentialSecretHeaderName credentialSource }
       agents { id name tools { connectorId tool actionId } } }`,
  );
}

for (const [what, stop] of [
  ['an interruption', interruptSession],
  ['the end of a session', endSession],
] as const) {
  story(`${what} cancels running calls: their servers see it, and they are stored as cancelled`, async (t, mesh) => {
    const ada = await mesh.person();
    let [begun, left] = [0, 0];
    const hold: CallHandler = (response) => {
      begun += 1;
      response.on('close', () => (left += 1));
    };
    const { tools } = await toolsOf(t, ada, { onTool: hold, onAction: hold });
    mesh.model.answer(what, { text: 'I look.', toolCalls: [call('stock'), call('price')] });
    const { sessionId, events } = await converse(t, ada, { tools });
    await sendMessage(ada, sessionId, what);
    await eventually('both run', () => begun === 2);
    t.is(left, 0);
    await stop(ada, sessionId);

    const [reply] = await events.turns(1);
    const cut = { status: 'CANCELLED', durationMs: null, errorKind: null };
    t.like(reply, {
      __typename: 'AiResponseEvent',
      interrupted: true,
      message: { toolCalls: [cut, cut], text: 'I look.\n\n' },
    });
    const changes = events.toolCalls.map(({ callId, callStatus }) => `${callId} ${callStatus}`);
    t.deepEqual(changes.toSorted(), ['1.0 CANCELLED', '1.0 STARTED', '1.1 CANCELLED', '1.1 STARTED']);
    await eventually('both servers see the end', () => left === 2);
    const calls = await eventually('both are in the log', async () => {
      const log = (await outboundCallsOf(ada)).filter(({ kind }) => kind !== 'TOOL_LIST');
      return log.length === 2 && log;
    });
    t.deepEqual(calls.map(({ kind, errorKind }) => `${kind} ${errorKind}`).toSorted(), [
      'ACTION CALL_CANCELLED',
      'TOOL CALL_CANCELLED',
    ]);
    t.is(mesh.model.requestsFor(what).length, 1);
  });
}

story('an agent can use only tools of its own tenant', async (t, mesh) => {
  const [ada, eve] = [await mesh.person(), await mesh.person()];
  const { stock, price, tools } = await toolsOf(t, ada);
  const own = await createAgent(eve);
  const update =
    'mutation ($id: ID!, $tools: [AgentToolInput!]) { updateAgent(id: $id, input: { tools: $tools }) { id } }';
  for (const foreign of [stock, price]) {
    await t.throwsAsync(createAgent(eve, { tools: [foreign] }), { message: /"NOT_FOUND"/u });
    t.is((await eve.refusal(update, { id: own, tools: [foreign] })).extensions.code, 'NOT_FOUND');
  }
  const agentId = await createAgent(ada, { tools });
  const read = 'query ($id: ID!) { agent(id: $id) { tools { connectorId tool actionId } } }';
  t.deepEqual(await ada.value(read, { id: agentId }), {
    tools: [
      { ...stock, actionId: null },
      { connectorId: null, tool: null, ...price },
    ],
  });
});

story('deleted tools are ignored, and a turn continues even without any tool', async (t, mesh) => {
  const ada = await mesh.person();
  const { tools, connectorId, actionId, rest, mcp } = await toolsOf(t, ada);
  const { sessionId, events } = await converse(t, ada, { tools });
  const offered: string[][] = [];
  mesh.model.answer('What is it?', (sent) => {
    offered.push(sent.tools.map(({ name }) => name));
    return sent.results.length > 0 || sent.tools.length === 0 ? { text: 'Two.' } : { toolCalls: [call('price')] };
  });
  t.true(await ada.value('mutation ($id: Int!) { deleteMcpConnector(id: $id) }', { id: connectorId }));
  await sendMessage(ada, sessionId, 'What is it?');
  await events.turns(1);
  t.deepEqual(offered, [['price'], ['price']]);
  t.true(await ada.value('mutation ($id: Int!) { deleteCustomAction(id: $id) }', { id: actionId }));
  await sendMessage(ada, sessionId, 'What is it?');
  const [, reply] = await events.turns(2);
  t.like(reply, { __typename: 'AiResponseEvent', text: 'Two.', message: { toolCalls: null } });
  t.deepEqual(offered.at(-1), []);
  t.is(rest.seen.length, 1);
  t.is(mcp.count('tools/list'), 0);
});

story('a suspended tenant starts no turn, and a running turn completes with its calls', async (t, mesh) => {
  const ada = await mesh.person();
  const gate = createGate();
  let begun = 0;
  const { tools, connectorId, mcp } = await toolsOf(t, ada, {
    async onAction(response) {
      begun += 1;
      await gate.pass();
      response.end('two euros');
    },
  });
  const rounds: ModelAnswer[] = [{ toolCalls: [call('price')] }, { toolCalls: [call('stock')] }, { text: 'Bought.' }];
  mesh.model.answer('Begin.', ({ results }) => rounds[results.length] ?? {});
  const { sessionId, events } = await converse(t, ada, { tools });
  await sendMessage(ada, sessionId, 'Begin.');
  await eventually('the call runs', () => begun === 1);
  await ada.query('mutation { updateTenant(input: { isSuspended: true }) { isSuspended } }');
  const suspended = { extensions: { code: 'FORBIDDEN', reason: 'TENANT_SUSPENDED' } };
  const remove = 'mutation ($id: Int!) { deleteMcpConnector(id: $id) }';
  t.like(await ada.refusal(remove, { id: connectorId }), suspended);
  await t.throwsAsync(sendMessage(ada, sessionId, 'Begin.'), { message: /TENANT_SUSPENDED/u });
  gate.open();
  const reply = await eventually('the reply', async () => (await readSession(ada, sessionId)).messages[1]);
  t.is(reply.text, 'Bought.');
  t.deepEqual(
    reply.toolCalls?.map(({ name, status }) => `${name} ${status}`),
    ['price SUCCEEDED', 'stock SUCCEEDED'],
  );
  t.is(mcp.count('tools/call'), 1);
  t.is((await outboundCallsOf(ada)).filter(({ kind }) => kind !== 'TOOL_LIST').length, 2);
  await events.close();
});

story(
  'the model receives errors of a server that never ends, one that is unreachable and one that fails',
  async (t, mesh) => {
    const ada = await mesh.person();
    const endless = await endlessServer(t);
    const busy = await restApi(t, (_request, response) => response.writeHead(503).end('busy'));
    const urls = { endless: endless.url, away: `http://${pagesHost}:1/`, busy: busy.url };
    const tools: { actionId: number }[] = [];
    for (const [name, url] of Object.entries(urls)) tools.push({ actionId: await createAction(ada, { name, url }) });
    let told: string[] = [];
    mesh.model.answer('All of them.', ({ results }) => {
      told = results.map(({ text }) => text);
      return told.length > 0 ? { text: 'None works.' } : { toolCalls: Object.keys(urls).map((name) => call(name, {})) };
    });
    const { sessionId, events } = await converse(t, ada, { tools });
    await sendMessage(ada, sessionId, 'All of them.');
    const [reply] = await events.turns(1);
    if (reply?.__typename !== 'AiResponseEvent') return t.fail(JSON.stringify(reply));
    t.is(reply.text, 'None works.');
    t.deepEqual(
      reply.message.toolCalls?.map(({ errorKind }) => errorKind),
      ['REMOTE_TOO_LARGE', 'REMOTE_UNREACHABLE', 'HTTP_STATUS'],
    );
    t.regex(told[2] ?? '', /HTTP status 503\nbusy/u);
    await eventually('the endless server is left', () => endless.open() === 0);
  },
);
