import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { canary, mcpApp } from './mcp-app.ts';
import { event, type Script, scriptedServer, sse } from './scripted-server.ts';

const anyObject = { type: 'object' };

test('all pages of tools are listed, with names, descriptions and schemas', async (t) => {
  const server = await scriptedServer(t, {
    'tools/list': ({ params: { cursor } }) => {
      const page = Number(cursor ?? 0);
      const inputSchema = {
        type: 'object',
        properties: { a: { $ref: '#/$defs/a' } },
        $defs: { a: { type: 'string' } },
      };
      const tools = [{ name: `tool-${page}`, description: `Does ${page}`, inputSchema, annotations: {}, more: 1 }];
      return { tools, ...(page < 4 ? { nextCursor: String(page + 1) } : {}) };
    },
  });
  const { list } = mcpApp(t, server.url);
  const tools = await list();
  t.deepEqual(
    tools.map(({ name }) => name),
    ['tool-0', 'tool-1', 'tool-2', 'tool-3', 'tool-4'],
  );
  t.deepEqual(tools[4], {
    name: 'tool-4',
    description: 'Does 4',
    inputSchema: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: { type: 'string' } } },
  });
});

test('an invalid tool is omitted, or only its invalid field', async (t) => {
  const server = await scriptedServer(t, {
    'tools/list': () => ({
      _meta: 'wrong',
      nextCursor: 7,
      tools: [
        null,
        'text',
        {},
        { name: 7 },
        { name: '' },
        { name: 'a'.repeat(1_000) },
        { name: 'nul\0' },
        { name: 'half\ud800' },
        { name: 'bare' },
        { name: 'wrong', description: ['a'], inputSchema: 'text', outputSchema: 7, icons: 'none' },
        { name: 'untyped', description: null, inputSchema: { properties: { a: {} } } },
        { name: 'typed', inputSchema: { type: ['object', 'null'], additionalProperties: false } },
        { name: 'bare', description: 'the second of that name' },
        { name: 'dirty', description: 'a\0b\ud800' },
      ],
    }),
  });
  t.deepEqual(await mcpApp(t, server.url).list(), [
    { name: 'bare', inputSchema: anyObject },
    { name: 'wrong', inputSchema: anyObject },
    { name: 'untyped', inputSchema: { type: 'object', properties: { a: {} } } },
    { name: 'typed', inputSchema: { type: 'object', additionalProperties: false } },
    { name: 'dirty', description: 'ab\ufffd', inputSchema: anyObject },
  ]);
});

test('an invalid list is an error, and a server without tools has an empty one', async (t) => {
  for (const result of [{}, { tools: null }, { tools: { a: 1 } }]) {
    const server = await scriptedServer(t, { 'tools/list': () => result });
    t.is(await mcpApp(t, server.url).listFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  }
  const none = await scriptedServer(t, {
    'tools/list': ({ id }, response) => {
      const error = { code: -32_601, message: 'Method not found' };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    },
  });
  t.deepEqual(await mcpApp(t, none.url).list(), []);
});

test('a list ends when a cursor repeats, and at the limits of pages, tools and bytes', async (t) => {
  let page = 0;
  const manyTools = Array.from({ length: 1_500 }, (_, n) => ({ name: `tool-${n}` }));
  const wide = { description: 'a'.repeat(300_000) };
  const servers: Record<string, [number, number, () => Record<string, unknown>]> = {
    repeating: [2, 1, () => ({ tools: [{ name: 'a' }], nextCursor: 'again' })],
    endless: [100, 100, () => ({ tools: [{ name: `tool-${(page += 1)}` }], nextCursor: `${page}` })],
    many: [1, 1_000, () => ({ tools: manyTools })],
    large: [
      1,
      4,
      () => ({ tools: [...'abcd'].map((name) => ({ name, ...wide })).concat({ name: 'small', description: '' }) }),
    ],
  };
  for (const [what, [pages, tools, result]] of Object.entries(servers)) {
    const server = await scriptedServer(t, { 'tools/list': result });
    const { list, logged } = mcpApp(t, server.url);
    t.is((await list()).length, tools, what);
    t.is(server.count('tools/list'), pages, what);
    t.is(logged.join('').includes('tool list of a connector cut'), what !== 'repeating', what);
  }
});

test('a list is cached for a minute, per connector with its settings and credential', async (t) => {
  let now = 1_000;
  const server = await scriptedServer(t);
  const { client, connector, list } = mcpApp(t, server.url, { now: () => now });
  await list();
  now += 59_000;
  await list();
  t.is(server.count('tools/list'), 1);
  now += 2_000;
  await list();
  t.is(server.count('tools/list'), 2);
  for (const change of [{ version: '2' }, { apiKey: 'other' }, { id: 8 }, { tenantId: 2 }])
    await client.listTools({ ...connector, ...change });
  t.is(server.count('tools/list'), 6);
});

test('concurrent callers share one list, one of them may cancel, and a failure is not cached', async (t) => {
  const waiting: (() => void)[] = [];
  let isBroken = true;
  const server = await scriptedServer(t, {
    'tools/list': async (_, response) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (!isBroken) return { tools: [{ name: 'late' }] };
      return void response.writeHead(500).end();
    },
  });
  const { list, listFailure } = mcpApp(t, server.url);
  const failures = Promise.all([listFailure(), listFailure()]);
  await eventually('the list is asked for', () => waiting.length === 1);
  waiting.pop()?.();
  t.deepEqual(await failures, ['unavailable CONNECTOR_UNREACHABLE', 'unavailable CONNECTOR_UNREACHABLE']);

  isBroken = false;
  const leaving = new AbortController();
  const left = t.throwsAsync(list(leaving.signal), { message: 'gone' });
  const stayed = list();
  await eventually('the list is asked for', () => waiting.length === 1);
  leaving.abort(new Error('gone'));
  await left;
  waiting.pop()?.();
  t.deepEqual(await stayed, [{ name: 'late', inputSchema: anyObject }]);
  t.is(server.count('tools/list'), 2);
});

test('a caller that has already cancelled gets its reason, whatever the result of the list', async (t) => {
  const server = await scriptedServer(t, { 'tools/list': (_, response) => void response.writeHead(500).end() });
  const { list } = mcpApp(t, server.url);
  await t.throwsAsync(list(AbortSignal.abort(new Error('gone'))), { message: 'gone' });
  await eventually('the list has failed', () => server.count('DELETE') === 1);
});

test('a notice of changed tools during a call invalidates the cached list', async (t) => {
  const server = await scriptedServer(t, {
    'tools/call': ({ id }, response) => {
      response.writeHead(200, sse).write(event({ method: 'notifications/tools/list_changed' }));
      response.end(event({ id, result: { content: [] } }));
    },
  });
  const { list, call } = mcpApp(t, server.url);
  await list();
  await list();
  t.is(server.count('tools/list'), 1);
  await call();
  await list();
  t.is(server.count('tools/list'), 2);
});

test("a tenant's lists and sessions beyond its limit evict its own older ones", async (t) => {
  const tools = [{ name: 'large', description: 'x'.repeat(900_000) }];
  const server = await scriptedServer(t, { 'tools/list': () => ({ tools }) });
  const { client, connector } = mcpApp(t, server.url, { limits: { maxTenantSessions: 2 } });
  const listOf = async (tenantId: number, id: number) => {
    const before = server.count('tools/list');
    await client.listTools({ ...connector, tenantId, id });
    return server.count('tools/list') - before;
  };
  await listOf(2, 1);
  for (const id of [1, 2, 3, 4, 5]) await listOf(1, id);
  t.deepEqual([await listOf(2, 1), await listOf(1, 5), await listOf(1, 1)], [0, 0, 1]);
  t.is(server.count('initialize'), 7);
  await client.callTool({ ...connector, tenantId: 2, id: 1 }, { name: 'large', args: {} });
  t.is(server.count('initialize'), 7);
});

test('frequent notices of changed tools invalidate the list only a few times a minute', async (t) => {
  let now = 1_000;
  const server = await scriptedServer(t, {
    'tools/call': ({ id }, response) => {
      response.writeHead(200, sse).write(event({ method: 'notifications/tools/list_changed' }));
      response.end(event({ id, result: { content: [] } }));
    },
  });
  const { list, call } = mcpApp(t, server.url, { now: () => now });
  const rounds = async () => {
    for (let round = 0; round < 10; round += 1) {
      await list();
      await call();
    }
  };
  await rounds();
  t.is(server.count('tools/list'), 5);
  now += 61_000;
  await rounds();
  t.is(server.count('tools/list'), 10);
});

test('all pages of a list together are limited to twice the size that is kept', async (t) => {
  let page = 0;
  const bulk = { annotations: { text: 'a'.repeat(900_000) } };
  const results = () => ({ tools: [{ name: `tool-${(page += 1)}`, ...bulk }], nextCursor: `${page}` });
  const answers: Record<string, Script> = {
    json: { 'tools/list': results },
    events: {
      'tools/list': ({ id }, response) => {
        response.writeHead(200, sse);
        response.end(event({ id: id ?? 0, result: results() }));
      },
    },
  };
  for (const [what, script] of Object.entries(answers)) {
    const server = await scriptedServer(t, script);
    t.is((await mcpApp(t, server.url).list()).length, 2, what);
    t.is(server.count('tools/list'), 3, what);
  }
  const large = await scriptedServer(t, { 'tools/list': () => ({ tools: [{ name: 'a'.repeat(2_200_000) }] }) });
  t.is(await mcpApp(t, large.url).listFailure(), 'invalid REMOTE_TOO_LARGE');
});

test('a response with too many JSON values is refused', async (t) => {
  const tools = Array.from({ length: 150_000 }, () => ({}));
  const server = await scriptedServer(t, { 'tools/list': () => ({ tools }) });
  t.is(await mcpApp(t, server.url).listFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  const text = `"\\${',[{'.repeat(200_000)}\\"`;
  const wordy = await scriptedServer(t, { 'tools/list': () => ({ tools: [{ name: 'a', title: text }] }) });
  t.is((await mcpApp(t, wordy.url).list()).length, 1);
});

test("the connector's key is redacted in its tools", async (t) => {
  const server = await scriptedServer(t, {
    'tools/list': (_message, _response, { headers }) => {
      const key = String(headers.authorization);
      const inputSchema = { title: key, properties: { [key]: { enum: [key] } } };
      return { tools: [{ name: `tool ${key}`, description: `says ${key}`, inputSchema }] };
    },
  });
  const [tool, ...more] = await mcpApp(t, server.url).list();
  t.is(more.length, 0);
  t.regex(JSON.stringify(tool), /tool .*\[credential\]/u);
  t.false(JSON.stringify(tool).includes(canary));
});

test('only the tool whose schema is nested too deeply is omitted', async (t) => {
  const nested = (levels: number, open: string, close: string) =>
    JSON.parse(`${open.repeat(levels)}{}${close.repeat(levels)}`) as unknown;
  const server = await scriptedServer(t, {
    'tools/list': () => ({
      tools: [
        { name: 'objects', inputSchema: nested(1_500, '{"not":', '}') },
        { name: 'arrays', inputSchema: { allOf: nested(2_000, '[', ']') } },
        { name: 'flat', inputSchema: nested(60, '{"not":', '}') },
      ],
    }),
  });
  t.deepEqual(
    (await mcpApp(t, server.url).list()).map(({ name }) => name),
    ['flat'],
  );
});
