import { randomUUID } from 'node:crypto';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { eventually } from '@parley/testing/eventually';
import { testSchema } from '@parley/testing/test-schema';
import test from 'ava';
import { actionSchema } from '../src/action-schema.ts';
import { sweepCalls } from '../src/calls/sweep-calls.ts';
import { actionSettings } from '../src/config.ts';
import { actionUnit, operator } from './action-unit.ts';
import { restServer, sendJson } from './custom-actions/rest-server.ts';

const day = 86_400_000;

test('calls of turns are deleted after a day and log entries after thirty, for every tenant', async (t) => {
  const clock = { offsetMs: 0 };
  const database = await testSchema(t, actionSchema, { clockOffsetMs: () => clock.offsetMs });
  const unit = await actionUnit(t, { database });
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const ids = [await unit.createAction(1, { url: rest.url }), await unit.createAction(2, { url: rest.url })];
  const turnCalls = () =>
    database.transactShared(async ({ knex }) => (await knex('turn_calls').count('* as n').first())?.['n']);
  const callBoth = () => Promise.all([unit.callAction(1, ids[0] ?? 0), unit.callAction(2, ids[1] ?? 0)]);
  const sweep = () => sweepCalls({ ...unit.unit.deps, database });
  await callBoth();
  clock.offsetMs = 2 * day;
  await callBoth();
  await sweep();
  t.is(await turnCalls(), 2);
  t.is((await unit.calls(1)).length, 2);

  clock.offsetMs = 30.5 * day;
  t.is((await unit.calls(1)).length, 1, 'what is older is not shown, whether it was deleted or not');
  clock.offsetMs = 40 * day;
  await sweep();
  t.is(await turnCalls(), 0);
  for (const tenantId of [1, 2])
    t.deepEqual(await database.transact(tenantId, ({ knex }) => knex('outbound_calls').pluck('id')), []);
  t.deepEqual(await database.transactShared(({ knex }) => knex('outbound_call_days').pluck('day')), []);
  await callBoth();
  t.like((await unit.calls(1))[0], { id: 3 }, 'ids go on');
  t.is(actionSettings.limits.logDays.name, 'ACTION_LOG_DAYS');
});

test('a call of a dead process is ended and logged even if nobody requests it again', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const id = await unit.createAction(1, { url: rest.url });
  await unit.callAction(1, id, { turn: 'turn 1' });
  await unit.database.transactShared(async ({ knex }) => {
    await knex('turn_calls').update({ resultSealed: null, processId: randomUUID() });
  });
  await sweepCalls(unit.unit.deps);
  t.like((await unit.calls(1))[0], { errorKind: 'CALL_INTERRUPTED', target: id });
  t.like(await unit.callAction(1, id, { turn: 'turn 1' }), { errorKind: 'CALL_INTERRUPTED' });
});

test("beyond a tenant's limit results are stored without bodies, until old ones are swept", async (t) => {
  const clock = { offsetMs: 0 };
  const database = await testSchema(t, actionSchema, { clockOffsetMs: () => clock.offsetMs });
  const unit = await actionUnit(t, { database, env: { ACTION_KEPT_BYTES: '25000' } });
  const rest = await restServer(t, (_, response) => sendJson(response, 200, { text: 'x'.repeat(10_000) }));
  const ids = [await unit.createAction(1, { url: rest.url }), await unit.createAction(2, { url: rest.url })];
  const keptAgain = async (tenantId: number, turn: string) => {
    const call = () => unit.callAction(tenantId, ids[tenantId - 1] ?? 0, { turn });
    t.is((await call())?.body?.value.length, 10_011);
    const again = await call();
    t.is(again?.truncated, again?.body === undefined);
    return again?.body !== undefined;
  };
  const kept = [];
  for (const turn of ['1', '2', '3', '4']) kept.push(await keptAgain(1, turn));
  t.deepEqual(kept, [true, true, true, false]);
  t.true(await keptAgain(2, '1'));
  clock.offsetMs = 2 * day;
  await sweepCalls({ ...unit.unit.deps, database });
  t.true(await keptAgain(1, '5'));
});

test('the log is paged, and an invalid page size is refused', async (t) => {
  const unit = await actionUnit(t);
  for (let n = 0; n < 5; n += 1) await unit.callAction(1, 999);
  const page = async (args: string) =>
    ((await unit.ask(1, `{ outboundCalls(${args}) { id } }`))['outboundCalls'] as { id: number }[]).map(({ id }) => id);
  t.deepEqual(await page('first: 2'), [5, 4]);
  t.deepEqual(await page('first: 2, after: "4"'), [3, 2]);
  t.deepEqual(await page('first: 100, after: "1"'), []);
  t.deepEqual(await page('first: null, after: null'), [5, 4, 3, 2, 1]);
  t.deepEqual((await unit.ask(2, '{ outboundCalls { id } }'))['outboundCalls'], []);
  for (const bad of ['first: 0', 'first: 101', 'after: "x"', 'after: ""', 'after: "-1"', 'after: "99999999999"'])
    t.like(await t.throwsAsync(page(bad)), { code: 'BAD_REQUEST' }, bad);
});

test('a deleted tenant loses its credentials, and cannot store new ones', async (t) => {
  const unit = await actionUnit(t);
  const rest = await restServer(t, (_, response) => sendJson(response, 200, {}));
  const [action, kept] = [
    await unit.createAction(1, { url: rest.url, bearerToken: 'canary' }),
    await unit.createAction(2, { url: rest.url, bearerToken: 'canary' }),
  ];
  const connector = await unit.createConnector(1, 'https://example.com/mcp');
  await unit.admin.putPartnerCredential({ tenantId: 1, partner: 'PARTNER_A', value: 'x' }, { caller: operator });
  await unit.callAction(1, action);
  await unit.dependencies.eventBus.publish([
    {
      id: randomUUID(),
      topic: 'tenant-deleted',
      type: 'tenant.deleted.v1',
      source: 'identity',
      key: '1',
      tenantId: 1,
      time: new Date(),
      data: TenantDeleted.encode({ tenantId: 1, deletedAt: new Date() }).finish(),
    },
  ]);
  const sealed = () =>
    unit.database.transact(1, async ({ knex }) => [
      ...(await knex('custom_actions').whereNotNull('credentialSealed').pluck('id')),
      ...(await knex('mcp_connectors').whereNotNull('apiKeySealed').pluck('id')),
      ...(await knex('partner_credentials').pluck('product')),
      ...(await knex('turn_calls').where({ tenantId: 1 }).pluck('turn')),
    ]);
  await eventually('they are gone', async () => (await sealed()).length === 0);
  t.like(await unit.callAction(1, action), { errorKind: 'NOT_FOUND' });
  t.like(await unit.callTool(1, connector, 'echo'), { errorKind: 'NOT_FOUND' });
  t.like(await unit.callAction(2, kept), { errorKind: '' });
  for (const made of [unit.createAction(1, { url: rest.url }), unit.createConnector(1, 'https://example.com/mcp')])
    t.like(await t.throwsAsync(made), { code: 'FORBIDDEN' });
});
