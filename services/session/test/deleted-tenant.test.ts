import { randomUUID } from 'node:crypto';
import type { Envelope } from '@parley/events/envelope';
import { createLogger } from '@parley/kernel/telemetry/log';
import { onAnnouncement } from '@parley/live/key-value/announcements';
import type { Database } from '@parley/postgres/database/types';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { sessionStore } from '../src/session-store.ts';
import { createGate, gatedReply } from './scripted-agent.ts';
import {
  failureOf,
  inTenant,
  isChunk,
  isFailure,
  isReply,
  isStatus,
  replyOf,
  type SessionMesh,
  sessionMesh,
  subscribe,
} from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

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

/** Starts and ends a session of another tenant. Its event is published after all earlier ones in the outbox. */
async function endSessionOfOtherTenant({ app, database, published }: SessionMesh): Promise<string> {
  const started = await database.transact(2, (db) =>
    sessionStore(db).insert({ agentId: 1, clientExternalId: 'x', metadata: null }),
  );
  const key = String(started?.id);
  await app.endSession(inTenant(2), key);
  await eventually('its event', () => published.some((event) => event.key === key));
  return key;
}

const statusOf = async ({ app }: SessionMesh, id: number) => (await app.findSession(inTenant(1), id))?.status;

test('deleting a tenant interrupts its running turns, fails queued ones and ends its sessions without evaluation', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, published, eventBus, database } = mesh;
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const idle = await Promise.all(Array.from({ length: 25 }, () => app.startSession(inTenant(1), start)));
  const subscriber = subscribe(t, app, id, { after });
  for (const text of ['one', 'two']) await app.sendMessage(inTenant(1), { sessionId: id, text });
  gate.release();
  await subscriber.until('the first chunk', isChunk);

  const event = tenantDeleted(1);
  await eventBus.publish([event]);
  await eventBus.publish([event]); // events may be delivered more than once
  await subscriber.until('the status', isStatus);
  const kinds = subscriber.events.filter((each) => !isChunk(each)).map(({ kind }) => kind?.$case);
  t.deepEqual(kinds, ['aiResponse', 'turnFailed', 'sessionStatusChanged']);
  t.like(replyOf(subscriber.events.filter(isReply)[0] ?? t.fail()), { text: 'Well, ', interrupted: true });
  t.like(subscriber.events.filter(isFailure).map(failureOf), [{ code: 'SESSION_ENDED', turnIndex: 1 }]);
  await eventually('all others have ended too', async () => {
    const statuses = await Promise.all(idle.map((session) => statusOf(mesh, session.id)));
    return statuses.every((status) => status === 'ENDED');
  });

  const otherKey = await endSessionOfOtherTenant(mesh);
  t.deepEqual(
    published.map(({ key }) => key),
    [otherKey],
  );
  const left = await database.transactShared(({ knex }) => knex('jobs').count().first());
  t.is(Number(left?.count), 0);
});

test('a session ended between the event and the job is not evaluated either', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, published, eventBus } = mesh;
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  gate.release();
  await subscriber.until('the first chunk', isChunk);
  await eventBus.publish([tenantDeleted(1)]);
  await app.endSession(inTenant(1), String(id));
  await subscriber.until('the status', isStatus);

  const otherKey = await endSessionOfOtherTenant(mesh);
  t.deepEqual(
    published.map(({ key }) => key),
    [otherKey],
  );
  t.is(subscriber.events.filter(isStatus).length, 1);
});

test('a deleted tenant cannot start a session, and nothing is stored', async (t) => {
  const { app, eventBus } = await sessionMesh(t);
  await eventBus.publish([tenantDeleted(1)]);
  t.like(await t.throwsAsync(app.startSession(inTenant(1), start)), { kind: 'forbidden', reason: 'NO_TENANT' });
  t.deepEqual(await app.listSessions(inTenant(1), {}), []);
});

test('a session started while its tenant is deleted is ended too', async (t) => {
  const mesh = await sessionMesh(t);
  const { eventBus, eventLog, database } = mesh;
  const started = createGate();
  const gate = createGate();
  const { app } = await mesh.replica({
    eventLog: {
      ...eventLog,
      async append(...entries) {
        started.open();
        await gate.pass();
        return eventLog.append(...entries);
      },
    },
  });
  const starting = app.startSession(inTenant(1), start);
  await started.pass(); // the session's row is inserted but not committed
  const published = eventBus.publish([tenantDeleted(1)]);
  // The embedded database runs one transaction at a time, so there the event waits for the session start even without the lock.
  if (process.env['TEST_DATABASE_URL']) await Promise.race([published, untilLockWaits(database)]);
  gate.open();
  const [{ id }] = await Promise.all([starting, published]);
  await t.notThrowsAsync(eventually('the end', async () => (await statusOf(mesh, id)) === 'ENDED'));
});

function untilLockWaits(database: Database): Promise<boolean> {
  return eventually('a transaction waits for the lock', () =>
    database.transactShared(async ({ knex }) => {
      const { rows } = await knex.raw(
        `SELECT count(*) > 0 AS waits FROM pg_locks
          WHERE locktype = 'advisory' AND NOT granted
            AND cast(classid AS bigint) = cast(hashtext(current_schema() || '.deleted_tenants') AS bigint) & 4294967295`,
      );
      return rows[0].waits;
    }),
  );
}

test('sessions of other tenants stay active', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, eventBus } = mesh;
  const { id } = await app.startSession(inTenant(1), start);
  await eventBus.publish([tenantDeleted(2)]);
  t.is(await statusOf(mesh, id), 'ACTIVE');
});

test('the end of a session is announced to gateways', async (t) => {
  const { app, keyValue } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const subscriber = subscribe(t, app, id, { after });
  await eventually('the interrupt is stored', async () => {
    await app.interruptSession(inTenant(1), String(id));
    return true;
  });
  const announced: CredentialsChanged['whose'][] = [];
  await onAnnouncement(keyValue, credentialsChanged, (changed) => announced.push(changed?.whose), createLogger('test'));
  await app.endSession(inTenant(1), String(id));
  await subscriber.until('the status', isStatus);
  await eventually('the announcement', () => announced.length > 0);
  t.deepEqual(announced, [{ $case: 'sessionId', value: id }]);
});
