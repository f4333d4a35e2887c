import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { canary, mcpApp } from './mcp-app.ts';
import { event, scriptedServer, sse } from './scripted-server.ts';

test('a call initializes a session, and sends credential, idempotency key and arguments', async (t) => {
  const server = await scriptedServer(t);
  const { call } = mcpApp(t, server.url);
  const result = await call({ args: { a: [1] }, idempotencyKey: 'turn-1-call-2' });
  t.deepEqual(result, { isError: false, content: [{ type: 'text', text: '{"a":[1]}' }], isCut: false, bytes: 9 });
  const sent = server.last('tools/call');
  t.like(sent?.headers, {
    authorization: `Bearer ${canary}`,
    'idempotency-key': 'turn-1-call-2',
    'mcp-session-id': 'session-1',
    'mcp-protocol-version': '2025-11-25',
  });
  t.like(sent?.message.params, { name: 'echo', arguments: { a: [1] } });
  t.is(sent?.message.params._meta?.idempotencyKey, 'turn-1-call-2');
  t.is(server.last('initialize')?.headers['idempotency-key'], undefined);
  t.is(server.count('GET'), 0, 'no stream is held open');
  await eventually('all connections are closed', () => server.open === 0);
});

test('the server chooses the protocol version', async (t) => {
  for (const protocolVersion of ['2025-11-25', '2025-06-18', '2025-03-26']) {
    const server = await scriptedServer(t, {
      initialize: () => ({ protocolVersion, capabilities: {}, serverInfo: { name: 'a', version: '1' } }),
    });
    const { call } = mcpApp(t, server.url);
    t.false((await call()).isError);
    t.is(server.last('tools/call')?.headers['mcp-protocol-version'], protocolVersion);
    t.is(server.last('tools/call')?.headers['mcp-session-id'], undefined, 'the server keeps no session');
  }
  const future = await scriptedServer(t, { initialize: () => ({ protocolVersion: '2999-01-01', capabilities: {} }) });
  t.is(await mcpApp(t, future.url).callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(future.count('tools/call'), 0);
});

test('a response arrives in an event stream after progress, server requests and invalid messages', async (t) => {
  const server = await scriptedServer(t, {
    'tools/call': ({ id, params }, response) => {
      const progressToken = params._meta?.progressToken;
      response.writeHead(200, sse);
      response.write(': hello\r\n\r\nevent: other\ndata: {}\n\ndata: [DONE]\n\nretry: 1\n\n');
      response.write(event({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } }));
      response.write(event({ method: 'notifications/progress', params: { progressToken: {}, progress: 'wrong' } }));
      response.write(event({ id: 'a', method: 'ping' }));
      response.write(event({ id: 'b', method: 'sampling/createMessage', params: {} }));
      const text = event({ id, result: { content: [{ type: 'text', text: 'dóne' }] } });
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
      // The handler does not close the stream: the call must end when its response has arrived.
    },
  });
  const { call } = mcpApp(t, server.url);
  const progress: unknown[] = [];
  const { content } = await call({}, { onProgress: (each) => progress.push(each) });
  t.deepEqual(content, [{ type: 'text', text: 'dóne' }]);
  t.deepEqual(progress, [{ progress: 1, total: 2 }]);
  await eventually('the requests of the server are answered', () => server.received.length === 5);
  await eventually('all connections are closed', () => server.open === 0);
});

test('a stream that ends before the response resumes after its last event, and the call is not sent again', async (t) => {
  const resumed: unknown[] = [];
  let asked = 0;
  const server = await scriptedServer(t, {
    'tools/call': ({ id = 0 }, response) => {
      asked = id;
      response.writeHead(200, sse).end('id: one\nretry: 5\ndata:\n\n');
    },
    GET: (_, response, { headers }) => {
      resumed.push(headers['last-event-id']);
      response.writeHead(200, sse);
      if (resumed.length === 1) response.end('id: two\ndata:\n\n');
      else response.end(event({ id: asked, result: { content: [] } }, 'three'));
    },
  });
  const { call } = mcpApp(t, server.url);
  t.deepEqual((await call()).content, []);
  t.deepEqual(resumed, ['one', 'two']);
  t.is(server.count('tools/call'), 1);
});

test('a stream that cannot be resumed, or ends without a response, fails the call at once', async (t) => {
  const cut = await scriptedServer(t, {
    'tools/call': (_, response) => void response.writeHead(200, sse).end(': nothing\n\n'),
  });
  const broken = await scriptedServer(t, {
    'tools/call': (_, response) => {
      response.writeHead(200, sse).write(': begun\n\n');
      setImmediate(() => response.destroy());
    },
  });
  const gone = await scriptedServer(t, {
    'tools/call': (_, response) => void response.writeHead(200, sse).end('id: one\nretry: 0\ndata:\n\n'),
    GET: (_, response) => void response.writeHead(410).end(),
  });
  const forgotten = await scriptedServer(t, {
    'tools/call': (_, response) => void response.writeHead(200, sse).end('id: one\nretry: 0\ndata:\n\n'),
    GET: (_, response) => void response.writeHead(404).end(),
  });
  const noStream = await scriptedServer(t, {
    'tools/call': (_, response) => void response.writeHead(200, sse).end('id: one\nretry: 0\ndata:\n\n'),
    GET: () => ({ content: [] }),
  });
  for (const server of [cut, broken, gone, forgotten, noStream]) {
    t.is(await mcpApp(t, server.url).callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
    t.is(server.count('tools/call'), 1);
  }
});

test('an aborted call is cancelled at the server, and its connection is closed', async (t) => {
  const server = await scriptedServer(t, { 'tools/call': () => undefined });
  const { call } = mcpApp(t, server.url);
  const leaving = new AbortController();
  const ended = t.throwsAsync(call({}, { signal: leaving.signal }), { message: 'gone' });
  const sent = await eventually('the call has arrived', () => server.last('tools/call'));
  leaving.abort(new Error('gone'));
  await ended;
  const cancelled = await eventually('the server is notified', () => server.last('notifications/cancelled'));
  t.deepEqual(cancelled.message.params, { requestId: sent.message.id, reason: 'no longer needed' });
  await eventually('all connections are closed', () => server.open === 0);
  await t.throwsAsync(call({}, { signal: leaving.signal }), { message: 'gone' });
  t.is(server.count('tools/call'), 1);
});

test('progress extends the idle timeout of a call, but not its total time', async (t) => {
  const server = await scriptedServer(t, {
    'tools/call': async ({ id, params }, response) => {
      if (params.name === 'silent') return undefined;
      const progressToken = params._meta?.progressToken;
      response.writeHead(200, sse);
      const until = params.name === 'endless' ? Number.POSITIVE_INFINITY : 40;
      for (let progress = 1; progress <= until && !response.destroyed; progress += 1) {
        response.write(event({ method: 'notifications/progress', params: { progressToken, progress } }));
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      response.end(event({ id, result: { content: [] } }));
    },
  });
  const { call, callFailure } = mcpApp(t, server.url, { limits: { idleMs: 3_000 } });
  t.is(await callFailure({ name: 'silent' }), 'unavailable CONNECTOR_UNREACHABLE');
  t.false((await call({ name: 'long' }, { timeoutMs: 60_000 })).isError);
  t.is(await callFailure({ name: 'endless' }, { timeoutMs: 4_000 }), 'unavailable CONNECTOR_UNREACHABLE');
  await eventually('the server is notified of both', () => server.count('notifications/cancelled') === 2);
  t.is(server.count('initialize'), 1, 'a slow call does not end the session');
});

test('a refused credential and every other error status has an error for the tenant', async (t) => {
  const expected: Record<number, string> = {
    401: 'invalid CONNECTOR_UNAUTHORIZED',
    403: 'invalid CONNECTOR_UNAUTHORIZED',
    307: 'invalid REDIRECT_REFUSED',
    202: 'unavailable CONNECTOR_UNREACHABLE',
    204: 'unavailable CONNECTOR_UNREACHABLE',
    404: 'unavailable CONNECTOR_UNREACHABLE',
    405: 'unavailable CONNECTOR_UNREACHABLE',
    429: 'unavailable CONNECTOR_UNREACHABLE',
    500: 'unavailable CONNECTOR_UNREACHABLE',
    503: 'unavailable CONNECTOR_UNREACHABLE',
  };
  for (const [status, outcome] of Object.entries(expected)) {
    const answer = (_: unknown, response: ServerResponse) => {
      response.writeHead(Number(status), { location: 'http://127.0.0.1:1/', 'www-authenticate': canary }).end(canary);
    };
    const refusing = await scriptedServer(t, { initialize: answer });
    t.is(await mcpApp(t, refusing.url).callFailure(), outcome, `initialize ${status}`);
    t.is(await mcpApp(t, refusing.url).listFailure(), outcome, `initialize ${status}`);
    t.is(refusing.count('initialize'), 2);
    const failing = await scriptedServer(t, { 'tools/call': answer });
    t.is(await mcpApp(t, failing.url).callFailure(), outcome, `call ${status}`);
    t.is(failing.count('tools/call'), status === '404' ? 2 : 1, `call ${status}`);
  }
});

test('an error status with an endless body is reported without waiting for the body', async (t) => {
  for (const [status, outcome] of [
    [401, 'invalid CONNECTOR_UNAUTHORIZED'],
    [400, 'unavailable CONNECTOR_UNREACHABLE'],
  ] as const) {
    const server = await scriptedServer(t, {
      initialize: async (_, response) => {
        response.writeHead(status);
        while (!response.destroyed)
          if (!response.write('a'.repeat(65_536))) await once(response, 'drain').catch(() => undefined);
      },
    });
    t.is(await mcpApp(t, server.url).callFailure(), outcome);
    await eventually('all connections are closed', () => server.open === 0);
  }
});

test('responses that are not JSON-RPC, too large or of another type are errors, and no call is sent twice', async (t) => {
  const wrong: Record<string, string> = {
    html: '<html>',
    empty: '',
    null: 'null',
    text: '{"jsonrpc":"2.0","id":1,"result":"text"}',
    other: '{"jsonrpc":"2.0","id":12345,"result":{}}',
    request: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    deep: `{"jsonrpc":"2.0","id":1,"result":${'['.repeat(200_000)}`,
  };
  const server = await scriptedServer(t, {
    'tools/call': ({ params }, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      if (params.name === 'large') response.end(`"${'a'.repeat(9 * 2 ** 20)}"`);
      else response.end(wrong[params.name ?? '']);
    },
  });
  const { callFailure } = mcpApp(t, server.url);
  for (const name of Object.keys(wrong)) {
    const before = server.count('tools/call');
    t.is(await callFailure({ name }, { timeoutMs: 300_000 }), 'unavailable CONNECTOR_UNREACHABLE', name);
    t.is(server.count('tools/call'), before + 1, name);
  }
  t.is(await callFailure({ name: 'large' }), 'invalid REMOTE_TOO_LARGE');
});

test('responses that slightly violate the protocol are accepted', async (t) => {
  const content = [{ type: 'text', text: 'ok' }];
  const sloppy: Record<string, (id?: number) => [string, string?]> = {
    'no content type': (id) => [JSON.stringify({ jsonrpc: '2.0', id, result: { content } }), ''],
    'text/plain': (id) => [JSON.stringify({ jsonrpc: '2.0', id, result: { content } }), 'text/plain'],
    members: (id) => [JSON.stringify({ jsonrpc: '2.0', id, error: null, extra: 1, result: { content, _meta: 'a' } })],
    'no version': (id) => [JSON.stringify({ id, result: { content, isError: 'no' } })],
    'id as text': (id) => [JSON.stringify({ jsonrpc: '2.0', id: String(id), result: { content } })],
    'a batch': (id) => [
      JSON.stringify([
        { jsonrpc: '2.0', method: 'x' },
        { jsonrpc: '2.0', id, result: { content } },
      ]),
    ],
    'a batch in an event': (id) => [
      `data: ${JSON.stringify([7, { id, result: { content } }])}\n\n`,
      'text/event-stream',
    ],
    'lines in an event': (id) => [
      `data: {"jsonrpc":"2.0","id":${id},\r\ndata: "result":{"content":${JSON.stringify(content)}}}\r\n\r\n`,
      'Text/Event-Stream; charset=utf-8',
    ],
  };
  const server = await scriptedServer(t, {
    initialize: () => ({ protocolVersion: '2025-06-18', capabilities: null, serverInfo: 'mine', more: 1 }),
    'tools/call': ({ id, params }, response) => {
      const [body = '', type = 'application/json'] = sloppy[params.name ?? '']?.(id) ?? [];
      if (type) response.setHeader('content-type', type);
      response.end(body);
    },
  });
  const { call } = mcpApp(t, server.url);
  for (const name of Object.keys(sloppy)) t.like(await call({ name }), { isError: false, content }, name);
  t.is(server.count('initialize'), 1);
});

test("an unknown tool, refused arguments and a JSON-RPC error are results with the server's message", async (t) => {
  const errors: Record<string, [number, object]> = {
    echo: [200, { code: -32_602, message: 'a must be a number' }],
    other: [400, { code: -32_602, message: 'Unknown tool: other' }],
    none: [404, { code: -32_601, message: 'Method not found' }],
    crash: [200, { code: -32_603, message: 'Internal error', data: { stack: 'at' } }],
    own: [200, { code: -32_001, message: 'Request timed out' }],
    odd: [200, { code: 'E1', message: { a: 1 } }],
    parse: [200, { code: -32_700, message: 'Parse error' }],
  };
  const server = await scriptedServer(t, {
    'tools/call': ({ id, params }, response) => {
      const [status, error] = errors[params.name ?? ''] ?? [500, {}];
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    },
  });
  const { call, callFailure } = mcpApp(t, server.url);
  const refused = (refusal: string, ...texts: string[]) => ({
    isError: true,
    refusal,
    content: texts.map((text) => ({ type: 'text', text })),
  });
  t.like(await call({ name: 'echo' }), refused('TOOL_ARGUMENTS_REFUSED', 'a must be a number'));
  t.like(await call({ name: 'other' }), refused('TOOL_NOT_FOUND', 'Unknown tool: other'));
  t.like(await call({ name: 'none' }), refused('TOOL_NOT_FOUND', 'Method not found'));
  t.like(await call({ name: 'crash' }), refused('TOOL_FAILED', 'Internal error'));
  t.like(await call({ name: 'own' }), refused('TOOL_FAILED', 'Request timed out'));
  t.like(await call({ name: 'odd' }), refused('TOOL_FAILED'));
  t.is(await callFailure({ name: 'parse' }), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(server.count('notifications/cancelled'), 0);
});

test('a refusal of the outbound guard keeps its reason', async (t) => {
  const server = await scriptedServer(t);
  const refused = mcpApp(t, server.url, { allowlist: [] });
  t.is(await refused.callFailure(), 'invalid URL_REFUSED');
  t.is(await refused.listFailure(), 'invalid URL_REFUSED');
  t.is(server.received.length, 0);
  t.is(await mcpApp(t, 'http://127.0.0.1:1/mcp').callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(await mcpApp(t, 'no url').callFailure(), 'invalid URL_REFUSED');
});

test('a credential that is invalid in a header is refused and never shown', async (t) => {
  const server = await scriptedServer(t);
  const { client, connector, failure } = mcpApp(t, server.url);
  for (const apiKey of [`${canary}\r\nx-a: b`, `${canary}\0`, `${canary}😀`]) {
    const refused = client.callTool({ ...connector, apiKey }, { name: 'echo', args: {} });
    t.is(await failure(refused), 'invalid CONNECTOR_UNAUTHORIZED');
  }
  t.is(server.received.length, 0);
});

test('a credential that a server echoes in an error does not appear in ours', async (t) => {
  const server = await scriptedServer(t, {
    'tools/list': (_, response) => void response.writeHead(500).end(canary),
    initialize: (_, response, { headers }) => {
      response.setHeader('mcp-session-id', `${headers.authorization}`);
      return { protocolVersion: canary };
    },
  });
  t.is(await mcpApp(t, server.url).listFailure(), 'unavailable CONNECTOR_UNREACHABLE');
});

test("a server's requests are answered up to a limit, and an endless stream is cut off", async (t) => {
  const server = await scriptedServer(t, {
    'tools/call': async ({ id, params }, response) => {
      response.writeHead(200, sse);
      if (params.name === 'asks') {
        for (let n = 0; n < 500; n += 1) response.write(event({ id: n, method: 'ping' }));
        return void response.end(event({ id, result: { content: [] } }));
      }
      const piece =
        params.name === 'lines' ? 'data: aaaaaaaa\n' : event({ method: 'notifications/message', params: {} });
      while (!response.destroyed)
        if (!response.write(piece.repeat(1_000))) await once(response, 'drain').catch(() => undefined);
    },
  });
  const { call, callFailure } = mcpApp(t, server.url);
  t.false((await call({ name: 'asks' })).isError);
  t.is(await callFailure({ name: 'lines' }), 'invalid REMOTE_TOO_LARGE');
  t.is(await callFailure({ name: 'events' }), 'unavailable CONNECTOR_UNREACHABLE');
  const answers = server.received.filter(({ http, message }) => http === 'POST' && message.method === undefined);
  t.true(answers.length <= 20, `${answers.length} answers`);
  await eventually('all connections are closed', () => server.open === 0);
});
