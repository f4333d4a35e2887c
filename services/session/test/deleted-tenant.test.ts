import { randomUUID } from 'node:crypto';
import type { Envelope } from '@parley/chassis/events/envelope';
import { eventually } from '@parley/chassis/testing/eventually';
import { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import test from 'ava';
import { credentialsChannel } from '../src/announce-end.ts';
import { createGate, gatedReply } from './scripted-agent.ts';
import {
  failureIn,
  inTenant,
  isChunk,
  isFailure,
  isReply,
  isStatus,
  replyIn,
  type SessionMesh,
  sessionMesh,
  watch,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

/** What identity publishes when a tenant is deleted. */
function tenantDeleted(tenantId: number, id: string = randomUUID()): Envelope {
  return {
    id,
    topic: 'tenant-deleted',
    type: 'tenant.deleted.v1',
    source: 'identity',
    key: String(tenantId),
    tenantId,
    time: new Date(),
    data: TenantDeleted.encode({ tenantId, deletedAt: new Date() }).finish(),
  };
}

const statusOf = async ({ app }: SessionMesh, id: number) => (await app.findSession(inTenant(1), id))?.status;

test('the end of a tenant cuts what runs, fails what waits and ends its sessions; nobody judges them', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, published, eventBus, database } = mesh;
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const quiet = await Promise.all(Array.from({ length: 25 }, () => app.startSession(inTenant(1), start)));
  const watching = watch(t, app, id);
  for (const text of ['one', 'two']) await app.sendMessage(inTenant(1), { sessionId: id, text });
  gate.release();
  await watching.until('the first piece', isChunk);

  const event = tenantDeleted(1);
  await eventBus.publish([event]);
  await eventBus.publish([event]); // delivery is at least once
  await watching.until('the status', isStatus);
  const kinds = watching.events.filter((each) => !isChunk(each)).map(({ kind }) => kind?.$case);
  t.deepEqual(kinds, ['aiResponse', 'turnFailed', 'sessionStatusChanged']);
  t.like(replyIn(watching.events.filter(isReply)[0] ?? t.fail()), { text: 'Well, ', interrupted: true });
  t.like(watching.events.filter(isFailure).map(failureIn), [{ code: 'SESSION_ENDED', turnIndex: 1 }]);
  await eventually('all others have ended too', async () => {
    const statuses = await Promise.all(quiet.map((session) => statusOf(mesh, session.id)));
    return statuses.every((status) => status === 'ENDED');
  });

  const other = { ...start, agentId: 2 };
  agent.agents.set(2, { ...(agent.agents.get(1) ?? t.fail()), id: 2 });
  const later = await app.startSession(inTenant(1), other); // of what came after, an end is judged as ever
  await app.endSession(inTenant(1), String(later.id));
  await eventually('the event', () => published.length > 0);
  t.deepEqual(
    published.map(({ key }) => key),
    [String(later.id)],
  );
  const left = await database.transactShared(({ knex }) => knex('jobs').count().first());
  t.is(Number(left?.count), 0);
});

test('an end that comes between the event and the job is not judged either', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, published, eventBus } = mesh;
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id);
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  gate.release();
  await watching.until('the first piece', isChunk);
  await eventBus.publish([tenantDeleted(1)]);
  await app.endSession(inTenant(1), String(id));
  await watching.until('the status', isStatus);

  const fresh = await app.startSession(inTenant(1), start);
  await app.endSession(inTenant(1), String(fresh.id));
  await eventually('a later event', () => published.some(({ key }) => key === String(fresh.id)));
  t.deepEqual(
    published.map(({ key }) => key),
    [String(fresh.id)],
  );
  t.is(watching.events.filter(isStatus).length, 1);
});

test("another tenant's sessions go on", async (t) => {
  const mesh = await sessionMesh(t);
  const { app, eventBus } = mesh;
  const { id } = await app.startSession(inTenant(1), start);
  await eventBus.publish([tenantDeleted(2)]);
  t.is(await statusOf(mesh, id), 'ACTIVE');
});

test('gateways are told of the end of a session after whoever watches has been', async (t) => {
  const { app, keyValue } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id);
  await eventually('the watcher is there', async () => {
    await app.interruptSession(inTenant(1), String(id));
    return true;
  });
  const told: CredentialsChanged['whose'][] = [];
  await keyValue.subscribe(credentialsChannel, (message) => {
    told.push(CredentialsChanged.decode(Buffer.from(message, 'base64')).whose);
  });
  await app.endSession(inTenant(1), String(id));
  await watching.until('the status', isStatus);
  await eventually('the gateways', () => told.length > 0);
  t.deepEqual(told, [{ $case: 'sessionId', value: id }]);
});
