import type { ServerResponse } from 'node:http';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { mcpApp } from './mcp-app.ts';
import { type Message, type Script, scriptedServer } from './scripted-server.ts';

test('concurrent and consecutive calls share one session, with an id for each request', async (t) => {
  const server = await scriptedServer(t);
  const { call, list } = mcpApp(t, server.url);
  await Promise.all([call(), call(), list()]);
  await call();
  t.is(server.count('initialize'), 1);
  t.is(server.count('notifications/initialized'), 1);
  const ids = server.received.flatMap(({ message: { id } }) => id ?? []);
  t.is(new Set(ids).size, ids.length);
});

test('each tenant, connector, version and credential has its own session', async (t) => {
  const server = await scriptedServer(t);
  const { client, connector } = mcpApp(t, server.url);
  const others = [{}, { tenantId: 2 }, { id: 8 }, { version: '2' }, { apiKey: 'other' }];
  for (const change of others) await client.callTool({ ...connector, ...change }, { name: 'echo', args: {} });
  const used = server.received.filter(({ message }) => message.method === 'tools/call');
  t.is(new Set(used.map(({ headers }) => headers['mcp-session-id'])).size, others.length);
  t.is(used.at(-1)?.headers.authorization, 'Bearer other');
});

/** Returns a server that loses its first session. It then responds with this status to requests in that session. */
function forgetful(status: number): Script {
  let calls = 0;
  const isLost = ({ id }: Message, response: ServerResponse, session: unknown): boolean => {
    if (session !== 'session-1' || calls < 2) return false;
    const error = { code: -32_000, message: 'Bad Request: No valid session ID provided' };
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
    return true;
  };
  const handle = (message: Message, response: ServerResponse, session: unknown, result: object) => {
    calls += 1;
    return isLost(message, response, session) ? undefined : result;
  };
  return {
    'tools/call': (message, response, { headers }) =>
      handle(message, response, headers['mcp-session-id'], { content: [] }),
    'tools/list': (message, response, { headers }) =>
      handle(message, response, headers['mcp-session-id'], { tools: [] }),
  };
}

test('a session that the server lost is initialized again once, and the call is sent again', async (t) => {
  const server = await scriptedServer(t, forgetful(404));
  const { call } = mcpApp(t, server.url);
  await call();
  t.false((await call({ idempotencyKey: 'a' })).isError);
  t.is(server.count('initialize'), 2);
  t.is(server.count('tools/call'), 3);
  t.is(server.last('tools/call')?.headers['mcp-session-id'], 'session-2');
  t.is(server.last('tools/call')?.headers['idempotency-key'], 'a');
  t.is(server.count('DELETE'), 0, 'a lost session is not ended');
});

test('a server that loses every session is not retried for ever', async (t) => {
  const server = await scriptedServer(t, { 'tools/call': (_, response) => void response.writeHead(404).end() });
  t.is(await mcpApp(t, server.url).callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(server.count('initialize'), 2);
  t.is(server.count('tools/call'), 2);
  const without = await scriptedServer(t, {
    initialize: () => ({ protocolVersion: '2025-06-18', capabilities: {} }),
    'tools/call': (_, response) => void response.writeHead(404).end(),
  });
  t.is(await mcpApp(t, without.url).callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(without.count('tools/call'), 1, 'without a session, none was lost');
});

test('after status 400, which some servers send for a lost session, only lists are retried', async (t) => {
  const calling = await scriptedServer(t, forgetful(400));
  const caller = mcpApp(t, calling.url);
  await caller.call();
  t.is(await caller.callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(calling.count('tools/call'), 2);
  t.false((await caller.call()).isError);
  t.is(calling.count('initialize'), 2);

  const listing = await scriptedServer(t, forgetful(400));
  const lister = mcpApp(t, listing.url);
  await lister.call();
  t.deepEqual(await lister.list(), []);
  t.is(listing.count('initialize'), 2);
});

test('the session id may change with any response', async (t) => {
  let n = 0;
  const server = await scriptedServer(t, {
    'tools/call': (_, response) => {
      n += 1;
      response.setHeader('mcp-session-id', `changed-${n}`);
      return { content: [] };
    },
  });
  const { call } = mcpApp(t, server.url);
  await call();
  await call();
  t.is(server.last('tools/call')?.headers['mcp-session-id'], 'changed-1');
  t.is(server.count('initialize'), 1);
});

test('a session is ended at the server when it is idle, when there are too many, and on shutdown', async (t) => {
  const idle = await scriptedServer(t);
  await mcpApp(t, idle.url, { limits: { sessionIdleMs: 1 } }).call();
  const ended = await eventually('the session is ended', () => idle.last('DELETE'));
  t.is(ended.headers['mcp-session-id'], 'session-1');

  const many = await scriptedServer(t);
  const { client, connector } = mcpApp(t, many.url, { limits: { maxSessions: 2 } });
  const use = (id: number) => client.callTool({ ...connector, id }, { name: 'echo', args: {} });
  for (const id of [1, 2, 1, 3]) await use(id);
  const evicted = await eventually('the least recently used one is ended', () => many.last('DELETE'));
  t.is(evicted.headers['mcp-session-id'], 'session-2');
  await use(1);
  t.is(many.count('initialize'), 3);
  await client.stop();
  t.is(many.count('DELETE'), 3);
});

test('a shutdown cancels running calls and refuses new ones', async (t) => {
  const server = await scriptedServer(t, { 'tools/call': () => undefined });
  const { client, callFailure } = mcpApp(t, server.url);
  const ended = callFailure();
  await eventually('the call has arrived', () => server.count('tools/call') === 1);
  await client.stop();
  t.is(await ended, 'unavailable CONNECTOR_UNREACHABLE');
  t.is(await callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(server.count('tools/call'), 1);
  t.is(server.count('DELETE'), 1);
  await eventually('all connections are closed', () => server.open === 0);
});

test('a shutdown does not wait for a session that is being initialized', async (t) => {
  const server = await scriptedServer(t, { initialize: () => undefined });
  const { client, callFailure } = mcpApp(t, server.url, { limits: { openMs: 300_000 } });
  const ended = callFailure();
  await eventually('the session is asked for', () => server.count('initialize') === 1);
  await client.stop();
  t.is(await ended, 'unavailable CONNECTOR_UNREACHABLE');
  await eventually('all connections are closed', () => server.open === 0);
});

test('a session survives a busy server and is replaced after a failure', async (t) => {
  let status = 0;
  const server = await scriptedServer(t, {
    'tools/call': (_, response) => (status === 0 ? { content: [] } : void response.writeHead(status).end()),
  });
  const { call, callFailure } = mcpApp(t, server.url);
  for (status of [429, 503]) t.is(await callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  status = 0;
  t.false((await call()).isError);
  t.is(server.count('initialize'), 1);
  status = 500;
  t.is(await callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  status = 0;
  t.false((await call()).isError);
  t.is(server.count('initialize'), 2);
  t.is(server.count('notifications/cancelled'), 0, 'what was refused is not cancelled');
  await eventually('the failed session is ended', () => server.count('DELETE') === 1);
});

test('a failed initialization fails the waiting calls and is retried by the next one', async (t) => {
  let isUp = false;
  const server = await scriptedServer(t, {
    initialize: (_, response) =>
      isUp ? { protocolVersion: '2025-06-18', capabilities: {} } : void response.writeHead(503).end(),
  });
  const { call, callFailure } = mcpApp(t, server.url);
  const failures = await Promise.all([callFailure(), callFailure()]);
  t.deepEqual(failures, ['unavailable CONNECTOR_UNREACHABLE', 'unavailable CONNECTOR_UNREACHABLE']);
  t.is(server.count('initialize'), 1);
  isUp = true;
  t.false((await call()).isError);
});

test('a caller that cancels during the initialization does not affect other callers', async (t) => {
  const waiting: (() => void)[] = [];
  const server = await scriptedServer(t, {
    initialize: async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { protocolVersion: '2025-06-18', capabilities: {} };
    },
  });
  const { call } = mcpApp(t, server.url);
  const leaving = new AbortController();
  const left = t.throwsAsync(call({}, { signal: leaving.signal }), { message: 'gone' });
  const stayed = call();
  await eventually('the session is asked for', () => waiting.length === 1);
  leaving.abort(new Error('gone'));
  await left;
  waiting.pop()?.();
  t.false((await stayed).isError);
  t.is(server.count('initialize'), 1);
  t.is(server.count('tools/call'), 1);
});

test('a server that does not respond to the initialization fails the call in time', async (t) => {
  const server = await scriptedServer(t, { initialize: () => undefined });
  t.is(await mcpApp(t, server.url, { limits: { openMs: 300 } }).callFailure(), 'unavailable CONNECTOR_UNREACHABLE');
  t.is(await mcpApp(t, server.url).callFailure({}, { timeoutMs: 300 }), 'unavailable CONNECTOR_UNREACHABLE');
  await eventually('all connections are closed', () => server.open === 0);
});
