import { randomUUID } from 'node:crypto';
import type { Envelope } from '@parley/events/envelope';
import { createLogger } from '@parley/kernel/log';
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

/** Begins and ends a session of another tenant: that end is judged, after all that was to be judged before. */
async function judgeAnother({ app, database, published }: SessionMesh): Promise<string> {
  const begun = await database.transact(2, (db) =>
    sessionStore(db).insert({ agentId: 1, clientExternalId: 'x', metadata: null }),
  );
  const key = String(begun?.id);
  await app.endSession(inTenant(2), key);
  await eventually('its event', () => published.some((event) => event.key === key));
  return key;
}

const statusOf = async ({ app }: SessionMesh, id: number) => (await app.findSession(inTenant(1), id))?.status;

test('the end of a tenant cuts what runs, fails what waits and ends its sessions; nobody judges them', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, published, eventBus, database } = mesh;
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const quiet = await Promise.all(Array.from({ length: 25 }, () => app.startSession(inTenant(1), start)));
  const watching = watch(t, app, id, { after });
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

  const judged = await judgeAnother(mesh);
  t.deepEqual(
    published.map(({ key }) => key),
    [judged],
  );
  const left = await database.transactShared(({ knex }) => knex('jobs').count().first());
  t.is(Number(left?.count), 0);
});

test('an end that comes between the event and the job is not judged either', async (t) => {
  const mesh = await sessionMesh(t);
  const { app, agent, published, eventBus } = mesh;
  const gate = createGate();
  agent.script = gatedReply(gate, 'Well, ', 'never');
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  gate.release();
  await watching.until('the first piece', isChunk);
  await eventBus.publish([tenantDeleted(1)]);
  await app.endSession(inTenant(1), String(id));
  await watching.until('the status', isStatus);

  const judged = await judgeAnother(mesh);
  t.deepEqual(
    published.map(({ key }) => key),
    [judged],
  );
  t.is(watching.events.filter(isStatus).length, 1);
});

test('a session whose start comes after the end of its tenant is refused, and none of it stays', async (t) => {
  const { app, eventBus } = await sessionMesh(t);
  await eventBus.publish([tenantDeleted(1)]);
  t.like(await t.throwsAsync(app.startSession(inTenant(1), start)), { kind: 'forbidden', reason: 'NO_TENANT' });
  t.deepEqual(await app.listSessions(inTenant(1), {}), []);
});

test('a session whose start is under way as its tenant ends is ended with the others', async (t) => {
  const mesh = await sessionMesh(t);
  const { eventBus, eventLog, database } = mesh;
  const begun = createGate();
  const gate = createGate();
  const { app } = await mesh.replica({
    eventLog: {
      ...eventLog,
      async append(...entries) {
        begun.open();
        await gate.pass();
        return eventLog.append(...entries);
      },
    },
  });
  const starting = app.startSession(inTenant(1), start);
  await begun.pass(); // its row is there, and not committed
  const published = eventBus.publish([tenantDeleted(1)]);
  // The embedded database runs one transaction at a time by itself: there the news waits for the start without any lock.
  if (process.env['TEST_DATABASE_URL']) await Promise.race([published, untilLocked(database)]);
  gate.open();
  const [{ id }] = await Promise.all([starting, published]);
  await t.notThrowsAsync(eventually('the end', async () => (await statusOf(mesh, id)) === 'ENDED'));
});

/** Waits until a transaction on this schema waits for an advisory lock. */
function untilLocked(database: Database): Promise<boolean> {
  return eventually('somebody waits', () =>
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

test("another tenant's sessions go on", async (t) => {
  const mesh = await sessionMesh(t);
  const { app, eventBus } = mesh;
  const { id } = await app.startSession(inTenant(1), start);
  await eventBus.publish([tenantDeleted(2)]);
  t.is(await statusOf(mesh, id), 'ACTIVE');
});

test('gateways are told of the end of a session after whoever watches has been', async (t) => {
  const { app, keyValue } = await sessionMesh(t);
  const { id, lastEventId: after } = await app.startSession(inTenant(1), start);
  const watching = watch(t, app, id, { after });
  await eventually('the watcher is there', async () => {
    await app.interruptSession(inTenant(1), String(id));
    return true;
  });
  const told: CredentialsChanged['whose'][] = [];
  await onAnnouncement(keyValue, credentialsChanged, (changed) => told.push(changed?.whose), createLogger('test'));
  await app.endSession(inTenant(1), String(id));
  await watching.until('the status', isStatus);
  await eventually('the gateways', () => told.length > 0);
  t.deepEqual(told, [{ $case: 'sessionId', value: id }]);
});
