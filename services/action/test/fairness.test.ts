import { rowsBy } from '@parley/postgres/database/rows';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { actionUnit, inTenant } from './action-unit.ts';
import { restServer, sendJson } from './custom-actions/rest-server.ts';
import { scriptedServer } from './mcp/scripted-server.ts';

const own = { ACTION_CALLS_PER_TENANT: '24', ACTION_CALLS_PER_TARGET: '8', ACTION_CALLS_WAITING: '512' };

test("200 concurrent calls to a slow server delay neither other tenants' calls nor the tenant's other targets", async (t) => {
  const unit = await actionUnit(t, { env: own });
  const waiting: (() => void)[] = [];
  const slow = await restServer(t, async (_, response) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    sendJson(response, 200, {});
  });
  const slowTools = await scriptedServer(t, { 'tools/call': () => undefined });
  const quick = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const [slowId, otherId] = [
    await unit.createAction(1, { url: slow.url }),
    await unit.createAction(1, { url: quick.url }),
  ];
  const slowConnector = await unit.createConnector(1, slowTools.url);
  const strangers = await unit.createAction(2, { url: quick.url });
  const calls = Array.from({ length: 192 }, () => unit.callAction(1, slowId));
  const tools = Array.from({ length: 8 }, () => unit.callTool(1, slowConnector, 'echo').catch(() => undefined));
  await eventually('as many as may are under way', () => waiting.length === 8 && slowTools.count('tools/call') === 8);
  // Each of these calls returns before any of the slow calls above. This test asserts no times; scripts/bench measures them.
  for (let n = 0; n < 15; n += 1) t.like(await unit.callAction(2, strangers), { errorKind: '' });
  t.like(await unit.callAction(1, otherId), { errorKind: '' });
  t.is(waiting.length, 8);

  const drain = setInterval(() => {
    for (const end of waiting.splice(0)) end();
  }, 1);
  t.teardown(() => clearInterval(drain));
  const results = await Promise.all(calls);
  t.deepEqual(new Set(results.map((result) => result?.errorKind)), new Set(['']));
  t.is(slow.seen.length, 192);
  void tools;
});

test.serial("calls of sixty tenants to slow servers do not delay another tenant's call and list", async (t) => {
  const unit = await actionUnit(t);
  const ends: (() => void)[] = [];
  const slow = await restServer(t, async (_, response) => {
    await new Promise<void>((resolve) => ends.push(resolve));
    sendJson(response, 200, {});
  });
  const quick = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const tools = await scriptedServer(t);
  const strangers = await unit.createAction(99, { url: quick.url });
  const connectorId = await unit.createConnector(99, tools.url);
  const tenants = Array.from({ length: 60 }, (_, n) => n + 1);
  const ids = await Promise.all(tenants.map((tenantId) => unit.createAction(tenantId, { url: slow.url })));
  const calls = tenants.flatMap((tenantId, n) =>
    Array.from({ length: 6 }, () => unit.callAction(tenantId, ids[n] ?? 0).catch(() => undefined)),
  );
  await eventually('all are under way', () => ends.length === calls.length);
  t.like(await unit.callAction(99, strangers), { errorKind: '' });
  const ref = { target: { $case: 'tool' as const, value: { connectorId, name: 'echo' } } };
  t.is((await unit.rpc.describeTools({ tools: [ref] }, { caller: inTenant(99) })).tools.length, 1);
  for (const end of ends) end();
  t.deepEqual(new Set((await Promise.all(calls)).map((result) => result?.errorKind)), new Set(['']));
});

test('a list does not wait for calls', async (t) => {
  const unit = await actionUnit(t, { env: { ...own, ACTION_CALLS_PER_TENANT: '1' } });
  const slow = await restServer(t, () => undefined);
  const tools = await scriptedServer(t);
  const id = await unit.createAction(1, { url: slow.url });
  const connectorId = await unit.createConnector(1, tools.url);
  const client = new AbortController();
  const call = unit.callAction(1, id, { signal: client.signal }).catch(() => undefined);
  await eventually('it is sent', () => slow.seen.length === 1);
  const ref = { target: { $case: 'tool' as const, value: { connectorId, name: 'echo' } } };
  t.is((await unit.rpc.describeTools({ tools: [ref] }, { caller: inTenant(1) })).tools.length, 1);
  client.abort();
  await call;
});

test('a call beyond the queue limit is refused, one that waits too long is not sent, and both have an error kind', async (t) => {
  const unit = await actionUnit(t, { env: { ...own, ACTION_CALLS_PER_TARGET: '1', ACTION_CALLS_WAITING: '1' } });
  const waiting: (() => void)[] = [];
  const slow = await restServer(t, async (_, response) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    sendJson(response, 200, {});
  });
  const id = await unit.createAction(1, { url: slow.url });
  const first = unit.callAction(1, id);
  await eventually('it is sent', () => waiting.length === 1);
  const second = unit.callAction(1, id, { timeLimitMs: 1_000 });
  await eventually('one waits', () => unit.unit.deps.queue.waiting === 1);
  t.like(await unit.callAction(1, id), { errorKind: 'TOO_MANY_CALLS' });
  t.like(await second, { errorKind: 'TOO_MANY_CALLS' });
  waiting[0]?.();
  t.like(await first, { errorKind: '' });
  t.is(slow.seen.length, 1);
});

test("a tenant's results that wait for one another hold no database connections", async (t) => {
  const unit = await actionUnit(t, { env: { DATABASE_POOL_SIZE: '4' } });
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const busy = await unit.createAction(1, { url: rest.url });
  const strangers = await unit.createAction(2, { url: rest.url });
  await unit.callAction(1, busy);
  const [held, gate] = [createGate(), createGate()];
  const holding = unit.database.transact(1, async ({ knex }) => {
    await rowsBy(knex)('SELECT bytes FROM kept_call_bytes WHERE tenant_id = 1 FOR UPDATE', {});
    held.open();
    await gate.pass();
  });
  await held.pass();
  const calls = Array.from({ length: 8 }, () => unit.callAction(1, busy));
  await eventually('all have their answers', () => rest.seen.length === 9);
  const waits = unit.callAction(1, busy);
  t.like(await unit.callAction(2, strangers), { errorKind: '' });
  t.is(rest.seen.length, 10, 'as many as may run wait for their results to be stored');
  gate.open();
  await holding;
  t.like(await waits, { errorKind: '' });
  t.deepEqual(new Set((await Promise.all(calls)).map((result) => result?.errorKind)), new Set(['']));
});

test("the memory for a tenant's responses is limited, separately from other tenants", async (t) => {
  const unit = await actionUnit(t, { env: { ACTION_HELD_BYTES: '400000', ACTION_HELD_TENANT_BYTES: '250000' } });
  const gate = createGate();
  const begun = '"'.padEnd(100_000, 'x');
  const rest = await restServer(t, async (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write(begun);
    await gate.pass();
    response.end('"');
  });
  const [one, other] = [await unit.createAction(1, { url: rest.url }), await unit.createAction(2, { url: rest.url })];
  const own = [unit.callAction(1, one), unit.callAction(1, one)];
  await eventually('both are held', () => unit.unit.deps.held.bytes === 200_000);
  t.like(await unit.callAction(1, one), { errorKind: 'REMOTE_TOO_LARGE' });
  const strangers = unit.callAction(2, other);
  await eventually("the stranger's is held, too", () => unit.unit.deps.held.bytes === 300_000);
  gate.open();
  t.like(await strangers, { errorKind: '' });
  t.deepEqual(new Set((await Promise.all(own)).map((result) => result?.errorKind)), new Set(['']));
  t.is(unit.unit.deps.held.bytes, 0);
});
