import { unavailable } from '@parley/kernel/errors';
import { isJsonObject } from '@parley/kernel/json';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { actionUnit, inTenant } from './action-unit.ts';
import { restServer, sendJson } from './custom-actions/rest-server.ts';
import { scriptedServer } from './mcp/scripted-server.ts';

test('an action is called with its arguments and credential, and its response body is typed', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 201, { id: 7 }, { location: '/orders/7' }));
  const id = await unit.createAction(1, { url: `${rest.url}/orders/{customer}`, bearerToken: 'canary-token' });
  const result = await unit.callAction(1, id, { args: { customer: 'ada', amount: 3 } });
  t.like(result, {
    errorKind: '',
    status: 201,
    body: { $case: 'json', value: '{"id":7}' },
    truncated: false,
  });
  t.is(result?.headers['location'], '/orders/7');
  t.like(rest.seen[0], { method: 'POST', path: '/orders/ada', body: '{"amount":3}' });
  t.is(rest.seen[0]?.headers['authorization'], 'Bearer canary-token');
  t.regex(String(rest.seen[0]?.headers['idempotency-key']), /^[\w-]{43}$/u);
  const [entry] = await unit.calls(1);
  t.like(entry, { id: 1, kind: 'ACTION', target: id, name: 'Call', status: 201, bytes: 8, errorKind: null });
});

test('numbers in a response keep all their digits', async (t) => {
  const unit = await actionUnit(t);
  const body = '{ "id": 12345678901234567890, "price": 1.10 }';
  const rest = await restServer(t, (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(body),
  );
  const id = await unit.createAction(1, { url: rest.url, bearerToken: 'canary-token' });
  const call = { turn: 'numbers', call: '1.0' };
  t.deepEqual((await unit.callAction(1, id, call))?.body, { $case: 'json', value: body });
  t.deepEqual((await unit.callAction(1, id, call))?.body, { $case: 'json', value: body }, 'as it was stored');
});

test('a repeated call, concurrent or later, is sent once and returns the same result', async (t) => {
  const unit = await actionUnit(t);
  let served = 0;
  const rest = await restServer(t, async (_, response) => {
    served += 1;
    await new Promise((resolve) => setTimeout(resolve, 100));
    sendJson(response, 200, { served });
  });
  const id = await unit.createAction(1, { url: rest.url });
  const same = () => unit.callAction(1, id, { turn: 'turn 1' });
  const results = [...(await Promise.all([same(), same(), same()])), await same()];
  t.deepEqual(new Set(results.map((result) => JSON.stringify(result))).size, 1);
  t.is(rest.seen.length, 1);
  await unit.callAction(1, id, { turn: 'turn 1', call: '1.1' });
  await unit.callAction(2, await unit.createAction(2, { url: rest.url }), { turn: 'turn 1' });
  t.is(rest.seen.length, 3);
  t.is(new Set(rest.seen.map(({ headers }) => headers['idempotency-key'])).size, 3);
  t.is((await unit.calls(1)).length, 2);
});

test('a call of a dead process is marked as interrupted and not sent again', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const id = await unit.createAction(1, { url: rest.url });
  await unit.callAction(1, id, { turn: 'done', args: { a: 1 } });
  await unit.database.transactShared(async ({ knex }) => {
    await knex.raw(`INSERT INTO calling_processes (id, lease_until)
      VALUES ('00000000-0000-4000-8000-000000000001', parley_now() + interval '1 second')`);
    await knex.raw(`INSERT INTO turn_calls (tenant_id, turn, call, kind, target, process_id, note_sealed, arguments_sealed)
      SELECT 1, 'lost', call, kind, target, '00000000-0000-4000-8000-000000000001', note_sealed, arguments_sealed
        FROM turn_calls`);
    // A sealed value that is moved to another row cannot be decrypted.
    await knex.raw(`UPDATE turn_calls SET call = '1.0' WHERE turn = 'lost'`);
  });
  const result = await unit.callAction(1, id, { turn: 'lost' });
  t.like(result, { errorKind: 'CALL_INTERRUPTED', status: 0 });
  t.like(await unit.callAction(1, id, { turn: 'lost' }), { errorKind: 'CALL_INTERRUPTED' });
  t.is(rest.seen.length, 1);
  t.deepEqual(
    (await unit.calls(1)).map(({ errorKind }) => errorKind),
    ['CALL_INTERRUPTED', null],
  );
});

test('a call that its own process began and lost is marked as interrupted at once', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const id = await unit.createAction(1, { url: rest.url });
  await unit.callAction(1, id, { turn: 'turn 1' });
  // Sets the state that remains if the response to a commit was lost, or if a result could not be stored.
  await unit.database.transactShared(({ knex }) => knex('turn_calls').update({ resultSealed: null }));
  const { calls } = await unit.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) });
  t.is(calls[0]?.result?.errorKind, 'CALL_INTERRUPTED');
  t.like(await unit.callAction(1, id, { turn: 'turn 1' }), { errorKind: 'CALL_INTERRUPTED' });
  t.is(rest.seen.length, 1);
});

test('a call is sent once even if the response to the commit of its begin was lost', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const id = await unit.createAction(1, { url: rest.url });
  const { database } = unit.unit.deps;
  const { transact } = database;
  let lost = 0;
  database.transact = async (...args: Parameters<typeof transact>) => {
    const answer = await transact(...args);
    lost += 1;
    if (lost === 1) throw unavailable('The answer of the commit was lost');
    return answer as never;
  };
  t.like(await unit.callAction(1, id, { turn: 'turn 1' }), { errorKind: '', status: 200 });
  t.true(lost > 1);
  t.is(rest.seen.length, 1);
});

test('a result that cannot be stored is kept in memory and stored when the database is back', async (t) => {
  const unit = await actionUnit(t);
  const { database } = unit.unit.deps;
  const { transact } = database;
  const rest = await restServer(t, (_, response) => {
    database.transact = () => Promise.reject(unavailable('away'));
    sendJson(response, 200, { n: 1 });
  });
  const id = await unit.createAction(1, { url: rest.url });
  await t.throwsAsync(unit.callAction(1, id, { turn: 'turn 1' }));
  const { calls } = await unit.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) });
  t.like(calls, [{ result: undefined }]);
  database.transact = transact;
  t.like(await unit.callAction(1, id, { turn: 'turn 1' }), { errorKind: '', body: { value: '{"n":1}' } });
  t.is(rest.seen.length, 1);
  t.is((await unit.calls(1)).length, 1);
});

test('a turn lists its calls with their notes, arguments and results, in order', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, ({ body }, response) => {
    if (!body.includes('never')) sendJson(response, 200, {});
  });
  const id = await unit.createAction(1, { url: rest.url });
  await unit.callAction(1, id, { turn: 'turn 1', call: '2.0', args: { a: 1 } });
  const client = new AbortController();
  const running = t.throwsAsync(
    unit.callAction(1, id, { turn: 'turn 1', call: '1.0', args: { never: 1 }, signal: client.signal }),
  );
  await eventually('it is sent', () => rest.seen.length === 2);
  const list = async () => (await unit.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) })).calls;
  const calls = await list();
  t.deepEqual(
    calls.map(({ key, argumentsJson, result }) => [key?.call, String(key?.note), argumentsJson, result?.status]),
    [
      ['2.0', 'note', '{"a":1}', 200],
      ['1.0', 'note', '{"never":1}', undefined],
    ],
  );
  t.deepEqual((await unit.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(2) })).calls, []);

  client.abort();
  await running;
  await eventually('it is cancelled', async () => (await list())[1]?.result?.errorKind === 'CALL_CANCELLED');
  const again = await unit.callAction(1, id, { turn: 'turn 1', call: '1.0', args: { never: 1 } });
  t.like(again, { errorKind: 'CALL_CANCELLED' });
  t.is(rest.seen.length, 2);
});

test('every failure has an error kind, and refused calls are logged too', async (t) => {
  const unit = await actionUnit(t, { env: { OUTBOUND_ALLOWLIST: '127.0.0.1' } });
  const rest = await restServer(t, ({ path }, response) => {
    if (path === '/slow') return;
    if (path === '/moved') return void response.writeHead(302, { location: rest.url }).end();
    sendJson(response, Number(path.slice(1)), { error: 'canary of the remote' });
  });
  const action = (path: string, input = {}) => unit.createAction(1, { url: `${rest.url}${path}`, ...input });
  const kindOf = async (id: number, given: object = {}) => {
    const result = await unit.callAction(1, id, given);
    t.false(result?.errorMessage.includes('canary'));
    return [result?.errorKind, result?.status];
  };
  t.deepEqual(await kindOf(await action('/503')), ['HTTP_STATUS', 503]);
  t.deepEqual(await kindOf(await action('/401')), ['HTTP_STATUS', 401]);
  t.deepEqual(await kindOf(await action('/moved')), ['REDIRECT_REFUSED', 0]);
  t.deepEqual(await kindOf(await action('/slow'), { timeLimitMs: 200 }), ['REMOTE_TOO_SLOW', 0]);
  t.deepEqual(await kindOf(12_345), ['NOT_FOUND', 0]);
  const schema = { argsSchema: { type: 'object', required: ['city'] } };
  t.deepEqual(await kindOf(await action('/200', schema)), ['ARGUMENTS_REFUSED', 0]);
  const session = { credentialSource: 'SESSION_PARTNER_A' };
  t.deepEqual(await kindOf(await action('/200', session)), ['IDENTITY_NOT_LINKED', 0]);
  t.deepEqual(
    (await unit.calls(1)).map(({ errorKind }) => errorKind),
    [
      'IDENTITY_NOT_LINKED',
      'ARGUMENTS_REFUSED',
      'NOT_FOUND',
      'REMOTE_TOO_SLOW',
      'REDIRECT_REFUSED',
      'HTTP_STATUS',
      'HTTP_STATUS',
    ],
  );
});

test("a connector's tool is called once, and its key appears in no response", async (t) => {
  const unit = await actionUnit(t);
  const server = await scriptedServer(t, {
    'tools/list': () => ({
      tools: [{ name: 'echo', inputSchema: { properties: { city: { type: 'string' } }, required: ['city'] } }],
    }),
    'tools/call': ({ params }, _, { headers }) => {
      const said = String(headers.authorization);
      return isJsonObject(params['arguments']) && 'json' in params['arguments']
        ? { structuredContent: { said }, content: [] }
        : { content: [{ type: 'text', text: said }] };
    },
  });
  const id = await unit.createConnector(1, server.url, 'canary "key"');
  const result = await unit.callTool(1, id, 'echo', { city: 'Bern' }, 'turn 1');
  t.like(result, { errorKind: '', body: { $case: 'text', value: 'Bearer [credential]' } });
  t.deepEqual(await unit.callTool(1, id, 'echo', { city: 'Bern' }, 'turn 1'), result);
  t.is(server.count('tools/call'), 1);
  const json = await unit.callTool(1, id, 'echo', { city: 'Bern', json: true });
  t.like(json, { body: { $case: 'json', value: '{"said":"Bearer [credential]"}' } });
  t.regex(String(server.last('tools/call')?.headers['idempotency-key']), /^[\w-]{43}$/u);

  const refused = await unit.callTool(1, id, 'echo', { city: 3 });
  t.like(refused, { errorKind: 'ARGUMENTS_REFUSED' });
  t.regex(refused?.errorMessage ?? '', /args\.city/u);
  t.like(await unit.callTool(2, id, 'echo'), { errorKind: 'NOT_FOUND' });
  t.is(server.count('tools/call'), 2);
});

test("a different call with the same key is refused, and does not get the first call's result", async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, { secret: 1 }));
  const [id, other] = [
    await unit.createAction(1, { url: rest.url }),
    await unit.createAction(1, { url: `${rest.url}/other` }),
  ];
  await unit.callAction(1, id, { turn: 'turn 1', args: { a: 1, b: 2 } });
  t.like(await unit.callAction(1, id, { turn: 'turn 1', args: { b: 2, a: 1 } }), { errorKind: '' });
  for (const again of [
    unit.callAction(1, other, { turn: 'turn 1', args: { a: 1, b: 2 } }),
    unit.callAction(1, id, { turn: 'turn 1', args: { a: 2 } }),
    unit.callTool(1, id, 'echo', { a: 1, b: 2 }, 'turn 1'),
  ])
    t.like(await again, { errorKind: 'CALL_INTERRUPTED', body: undefined });
  t.is(rest.seen.length, 1);
});

test('the most recent calls of a long turn get most of the space for bodies', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, { text: 'x'.repeat(200_000) }));
  const id = await unit.createAction(1, { url: rest.url });
  const names = Array.from({ length: 40 }, (_, n) => `${n}.0`);
  for (const call of names) await unit.callAction(1, id, { turn: 'turn 1', call });
  const { calls } = await unit.rpc.listTurnCalls({ turn: 'turn 1' }, { caller: inTenant(1) });
  t.deepEqual(
    calls.map(({ key }) => key?.call),
    names,
  );
  const lengths = calls.map(({ result }) => result?.body?.value.length);
  t.is(lengths[39], 131_072);
  t.is(lengths[10], 131_072);
  t.is(lengths[0], 1_000);
});

test('a tool is called even if the server lists no tools or its list times out', async (t) => {
  const unit = await actionUnit(t);
  for (const list of [() => undefined, () => ({ tools: 'none' })]) {
    const server = await scriptedServer(t, { 'tools/list': list });
    const id = await unit.createConnector(1, server.url);
    t.like(await unit.callTool(1, id, 'echo', { a: 1 }), { errorKind: '', body: { value: '{"a":1}' } });
    t.is(server.count('tools/list'), 1);
  }
});
