import { randomBytes } from 'node:crypto';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { tenantEnd } from '../src/end-tenant.ts';
import { sweepDeliveries } from '../src/external-sync/sweep-deliveries.ts';
import { syncDeliveryStore } from '../src/external-sync/sync-delivery-store.ts';
import { agentId, externalSyncMesh, hasFailed, isOver } from './external-sync-mesh.ts';
import { inTenant } from './session-mesh.ts';
import { webhookReceiver } from './webhook-receiver.ts';

const ada: Caller = { kind: 'operator', displayName: 'ada', tenantId: null, requestId: 'r1' };
const dayMs = 24 * 60 * 60_000;

test('a tenant sees the deliveries of its agent, newest first and page by page, and no others', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url });
  mesh.targets.set(6, { url: receiver.url });
  const ids: number[] = [];
  for (let n = 0; n < 3; n += 1) {
    ids.unshift(await mesh.evaluated());
    await mesh.delivery(ids[0] ?? 0, isOver);
  }
  await mesh.evaluated({ of: 6 });
  await mesh.evaluated({ tenantId: 2 });
  await eventually('all are delivered', () => receiver.received.length === 5);

  const all = await mesh.deliveries();
  const sessions = (deliveries: { sessionId: number }[]) => deliveries.map(({ sessionId }) => sessionId);
  t.deepEqual(sessions(all), ids);
  t.deepEqual(sessions(await mesh.deliveries({ first: 2 })), ids.slice(0, 2));
  t.deepEqual(sessions(await mesh.deliveries({ first: 2, after: String(all[1]?.id) })), ids.slice(2));
  t.deepEqual(sessions(await mesh.deliveries({ first: null, after: null })), ids);
  for (const absent of [7, 0, -1, 99_999_999_999])
    t.deepEqual(await mesh.deliveries({ agentId: absent }), [], `${absent}`);
  t.is((await mesh.deliveries({}, inTenant(2))).length, 1);
  t.deepEqual(await mesh.deliveries({}, inTenant(3)), []);
  for (const bounds of [
    { first: 0 },
    { first: 101 },
    { after: 'x' },
    { after: '-1' },
    { after: '' },
    { after: '1e3' },
  ]) {
    t.like(await t.throwsAsync(mesh.deliveries(bounds)), { kind: 'invalid' }, JSON.stringify(bounds));
  }
});

test('GraphQL returns a delivery without the contents of request and response', async (t) => {
  const mesh = await externalSyncMesh(t);
  const receiver = await webhookReceiver(t, (_, response) => response.writeHead(500).end('canary'));
  mesh.targets.set(agentId, { url: receiver.url });
  const id = await mesh.evaluated();
  await mesh.delivery(id, hasFailed);
  const fields = 'id agentId sessionId webhookId status attempts lastError nextAttemptAt createdAt deliveredAt';
  const { data, errors } = await mesh.graph(
    inTenant(1),
    `{ externalSyncDeliveries(agentId: ${agentId}) { ${fields} } }`,
  );
  t.is(errors, undefined);
  const [delivery] = (data?.['externalSyncDeliveries'] ?? []) as object[];
  t.like(delivery, {
    agentId,
    sessionId: id,
    status: 'PENDING',
    lastError: 'HTTP 500',
    deliveredAt: null,
  });
});

test('a deleted tenant has no deliveries, and nothing more is posted for it', async (t) => {
  const mesh = await externalSyncMesh(t);
  const arrived = createGate();
  const late = createGate();
  const receiver = await webhookReceiver(t, async (_, response) => {
    arrived.open();
    await late.pass();
    response.writeHead(500).end();
  });
  const failing = await webhookReceiver(t, (_, response) => response.writeHead(503, { 'retry-after': '600' }).end());
  mesh.targets.set(agentId, { url: failing.url });
  await mesh.delivery(await mesh.evaluated(), hasFailed);
  mesh.targets.set(agentId, { url: receiver.url });
  await mesh.evaluated();
  await arrived.pass();
  const unseen = await mesh.newSession();

  mesh.tenants.set(1, { deleted: true });
  await mesh.ports.database.transact(1, (db) => tenantEnd.close(db));
  t.deepEqual(await mesh.deliveries(), []);
  late.open();
  await mesh.completed(unseen.id);
  await eventually('no job is left', async () => (await mesh.jobs()) === 0);
  t.deepEqual(await mesh.deliveries(), []);
  t.is(receiver.received.length + failing.received.length, 2);
});

test('a tenant that is marked as deleted while its webhook is prepared gets no delivery', async (t) => {
  const mesh = await externalSyncMesh(t);
  await mesh.database.transact(1, ({ knex }) => knex('deleted_tenants').insert({ tenantId: 1 }));
  const made = await mesh.database.transact(1, (db) =>
    syncDeliveryStore(db).ensure({ sessionId: 1, agentId }, 'msg_1', 1_000),
  );
  t.is(made, undefined);
});

test('ended deliveries are kept for 30 days, and waiting ones until they end', async (t) => {
  let offsetMs = 0;
  const mesh = await externalSyncMesh(t, { clockOffsetMs: () => offsetMs });
  const receiver = await webhookReceiver(t);
  const failing = await webhookReceiver(t, (_, response) => response.writeHead(503, { 'retry-after': '600' }).end());
  mesh.targets.set(agentId, { url: receiver.url });
  const old = await mesh.evaluated();
  await mesh.delivery(old, isOver);
  mesh.targets.set(6, { url: failing.url });
  const waiting = await mesh.evaluated({ of: 6 });
  await eventually('it waits', async () => (await mesh.deliveries({ agentId: 6 })).some(hasFailed));
  await mesh.stop();
  const rows = async () => {
    const found = await mesh.database.transact(1, ({ knex }) =>
      knex('sync_deliveries').orderBy('id').select('sessionId'),
    );
    return found.map(({ sessionId }: { sessionId: number }) => sessionId);
  };

  offsetMs = 29 * dayMs;
  await sweepDeliveries({ ...mesh.ports, database: mesh.database });
  t.deepEqual(
    (await mesh.deliveries()).map(({ sessionId }) => sessionId),
    [old],
  );
  offsetMs = 30 * dayMs + 1_000;
  t.deepEqual(await mesh.deliveries(), []);
  offsetMs = 32 * dayMs;
  await sweepDeliveries({ ...mesh.ports, database: mesh.database });
  t.deepEqual(await rows(), [waiting]);
  const days = await mesh.database.transactShared(({ knex }) => knex('sync_delivery_days'));
  t.deepEqual(days, []);
});

test("a tenant's newest ended deliveries and all waiting ones are kept", async (t) => {
  const mesh = await externalSyncMesh(t, { env: { SESSION_SYNC_KEPT: '3' } });
  const receiver = await webhookReceiver(t);
  mesh.targets.set(agentId, { url: receiver.url });
  const ids: number[] = [];
  for (let n = 0; n < 9; n += 1) {
    ids.unshift(await mesh.evaluated());
    await mesh.delivery(ids[0] ?? 0, isOver);
  }
  await mesh.database.transact(1, (db) => syncDeliveryStore(db).deleteBeyond(3));
  t.deepEqual(
    (await mesh.deliveries()).map(({ sessionId }) => sessionId),
    ids.slice(0, 3),
  );
});

test('an operator lists deliveries and sends one again under its id, which the audit log records', async (t) => {
  const mesh = await externalSyncMesh(t);
  const admin = await mesh.admin();
  const receiver = await webhookReceiver(t, (_, response) => response.writeHead(410).end());
  mesh.targets.set(agentId, { url: receiver.url });
  const id = await mesh.evaluated();
  const failed = await mesh.delivery(id, isOver);
  const list = (request: object) =>
    admin.listSyncDeliveries(
      { tenantId: 1, status: '', first: 0, before: 0, ...request },
      { caller: ada, expectedErrors: ['invalid', 'notFound', 'forbidden'] },
    );
  t.like((await list({})).deliveries[0], {
    id: failed.id,
    sessionId: id,
    status: 'FAILED',
    lastError: 'HTTP 410',
    attempts: 1,
  });
  t.deepEqual((await list({ status: 'DELIVERED' })).deliveries, []);
  t.deepEqual((await list({ agent: 6 })).deliveries, []);
  t.deepEqual((await list({ tenantId: 2 })).deliveries, []);

  receiver.answer = (_, response) => response.writeHead(204).end();
  const redeliver = (deliveryId: number, tenantId = 1, caller = ada) =>
    admin.redeliverSync({ tenantId, deliveryId }, { caller, expectedErrors: ['notFound', 'forbidden'] });
  t.like((await redeliver(failed.id)).delivery, { id: failed.id, status: 'PENDING', webhookId: failed.webhookId });
  t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED', attempts: 2, lastError: null });
  await Promise.all([redeliver(failed.id), redeliver(failed.id), redeliver(failed.id)]);
  await eventually('no job is left', async () => (await mesh.jobs()) === 0);
  t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED' });
  t.true(receiver.received.length >= 3 && receiver.received.length <= 5);
  t.is(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size, 1);

  const { entries } = await admin.listAudit({ first: 0, before: 0 }, { caller: ada });
  t.is(entries.length, 4);
  t.like(entries.at(-1), { operator: 'ada', action: 'redeliver', tenantId: 1, requestId: 'r1' });
  t.deepEqual(JSON.parse(entries.at(-1)?.factsJson ?? ''), {
    delivery: failed.id,
    sessionId: id,
    status: 'FAILED',
    attempts: 1,
  });

  for (const [deliveryId, tenantId] of [
    [failed.id, 2],
    [999, 1],
    [0, 1],
    [failed.id, 0],
    [failed.id, -1],
  ] as const) {
    t.like(await t.throwsAsync(redeliver(deliveryId, tenantId)), { kind: 'notFound' }, `${deliveryId} ${tenantId}`);
  }
  mesh.tenants.set(3, { deleted: true });
  t.like(await t.throwsAsync(list({ tenantId: 3 })), { kind: 'notFound' });
  for (const wrong of [{ status: 'GONE' }, { first: 201 }, { first: -1 }, { before: -1 }]) {
    t.like(await t.throwsAsync(list(wrong)), { kind: 'invalid' }, JSON.stringify(wrong));
  }
  t.is(
    (await admin.listAudit({ first: 0, before: 0 }, { caller: ada })).entries.length,
    4,
    'what is refused is in no audit',
  );
  const user: Caller = { kind: 'user', userId: 1, tenantId: 1, requestId: 'r' };
  t.like(await t.throwsAsync(redeliver(failed.id, 1, user)), { kind: 'forbidden' });
});

test('a delivery that waits for its next attempt is sent at once when an operator redelivers it', async (t) => {
  const mesh = await externalSyncMesh(t);
  const admin = await mesh.admin();
  const receiver = await webhookReceiver(t, (_, response) => response.writeHead(503, { 'retry-after': '600' }).end());
  mesh.targets.set(agentId, { url: receiver.url });
  const id = await mesh.evaluated();
  const waiting = await mesh.delivery(id, hasFailed);
  receiver.answer = (_, response) => response.writeHead(204).end();
  await admin.redeliverSync({ tenantId: 1, deliveryId: waiting.id }, { caller: ada });
  t.like(await mesh.delivery(id, isOver), { status: 'DELIVERED', attempts: 2 });
  await eventually('no job is left', async () => (await mesh.jobs()) === 0);
  t.is(receiver.received.length, 2);
});

test('AdminService of session accepts only callers with OPERATOR_KEY', async (t) => {
  const mesh = await externalSyncMesh(t);
  const admin = await mesh.admin(createCallers(randomBytes(32)));
  await t.throwsAsync(admin.listAudit({ first: 0, before: 0 }, { caller: ada, expectedErrors: ['unauthenticated'] }), {
    message: /AdminService takes calls signed with OPERATOR_KEY only/u,
  });
});
