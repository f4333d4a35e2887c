import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { mcpApp } from './mcp-app.ts';
import { scriptedServer } from './scripted-server.ts';

test('200 calls to a slow server leave slots for other connectors and tenants, and begin in order', async (t) => {
  const waiting: (() => void)[] = [];
  const slow = await scriptedServer(t, {
    'tools/call': async () => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return { content: [] };
    },
  });
  const { client, connector, call } = mcpApp(t, slow.url);
  const calls = Array.from({ length: 200 }, () => call({}, { timeoutMs: 300_000 }));
  await eventually('as many as may are under way', () => waiting.length === 8);

  const quick = await scriptedServer(t);
  const other = { ...connector, id: 8, serverUrl: quick.url };
  t.false((await client.callTool(other, { name: 'echo', args: {} })).isError);
  t.false((await client.callTool({ ...other, tenantId: 2 }, { name: 'echo', args: {} })).isError);
  t.is(slow.count('tools/call'), 8);

  const drain = setInterval(() => {
    for (const end of waiting.splice(0)) end();
  }, 1);
  t.teardown(() => clearInterval(drain));
  t.is((await Promise.all(calls)).length, 200);
  t.is(slow.count('initialize'), 1);
});

test('a call beyond the queue limit is refused, and a queued call can be cancelled and counts its waiting time', async (t) => {
  const slow = await scriptedServer(t, { 'tools/call': () => undefined });
  const shares = { connector: { inFlight: 1, waiting: 1, label: 'to this connector' }, tenant: {} };
  const { call, callFailure, client } = mcpApp(t, slow.url, { limits: { calls: { shares } } });
  const first = callFailure();
  const leaving = new AbortController();
  const second = t.throwsAsync(call({}, { signal: leaving.signal }), { message: 'gone' });
  t.is(await callFailure(), 'tooManyRequests');
  leaving.abort(new Error('gone'));
  await second;
  t.is(await callFailure({}, { timeoutMs: 200 }), 'tooManyRequests');
  await eventually('the first call has arrived', () => slow.count('tools/call') === 1);
  await client.stop();
  t.is(await first, 'unavailable CONNECTOR_UNREACHABLE');
  t.is(slow.count('tools/call'), 1);
});
