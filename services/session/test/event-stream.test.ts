import type { TenantCaller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { compareEventIds } from '@parley/live/event-log/event-id';
import type { Entry, EventLog } from '@parley/live/event-log/event-log';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { eventually } from '@parley/testing/eventually';
import { requestOf } from '@parley/testing/request-of';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { createGate, gatedReply } from './scripted-agent.ts';
import { inTenant, isChunk, isReply, isStatus, joinedChunks, replyOf, sessionMesh, subscribe } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

const ids = (events: SessionEvent[]) => events.map(({ eventId }) => eventId);

test('a subscription resumed in the middle of a turn delivers every chunk once', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'a ', 'b ', 'c ', 'd');
  const { id } = await app.startSession(inTenant(1), start);
  const whole = subscribe(t, app, id, { after: '0' });
  const first = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'go' });
  gate.release();
  await first.until('the first chunk', isChunk);
  gate.release();
  await first.until('the second chunk', isChunk, 2);
  await first.stop();
  gate.release();
  await whole.until('the third chunk', isChunk, 3);

  const resumed = subscribe(t, app, id, { after: first.events.at(-1)?.eventId ?? t.fail() });
  gate.open();
  await resumed.until('the reply', isReply);
  await whole.until('the reply', isReply);
  t.deepEqual([...ids(first.events), ...ids(resumed.events)], ids(whole.events));
  t.is(joinedChunks([...first.events, ...resumed.events], 0), 'a b c d');

  const late = subscribe(t, app, id, { after: '0' });
  await late.until('the reply', isReply);
  t.deepEqual(late.events, whole.events);
});

test('a subscription reports when it is live, and one already cancelled reads nothing', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const controller = new AbortController();
  const live = Promise.withResolvers<void>();
  const events = app.watchSession(requestOf(inTenant(1), { signal: controller.signal }), {
    sessionId: id,
    follows: live.resolve,
  });
  const first = events.next();
  await live.promise;
  await app.endSession(inTenant(1), String(id));
  const { value } = await first;
  t.true(value && isStatus(value));
  controller.abort();
  const unknown = app.watchSession(requestOf(inTenant(1), { signal: controller.signal }), {
    sessionId: id + 1,
    follows: () => t.fail(),
  });
  t.deepEqual(await unknown.next(), { done: true, value: undefined });
});

test('a subscription without `after` delivers new events only', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const all = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await all.until('the greeting and a reply', isReply, 2);

  const subscriber = subscribe(t, app, id);
  const ready = subscribe(t, app, id, { after: all.events.at(-1)?.eventId ?? '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  await ready.until('the second reply', isReply);
  await subscriber.until('the second reply', isReply);
  t.deepEqual(
    subscriber.events.filter(isReply).map((event) => replyOf(event).text),
    ['Re: two'],
  );
});

test('after the loss of the event log, stored events come from the database, followed by new ones', async (t) => {
  const { app, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const before = subscribe(t, app, id, { after: '0' });
  for (const text of ['one', 'two']) {
    await app.sendMessage(inTenant(1), { sessionId: id, text });
    await before.until(text, (event) => isReply(event) && replyOf(event).text === `Re: ${text}`);
  }
  const restarted = await replica({ eventLog: memoryEventLog() });
  const lasting = before.events.filter((event) => !isChunk(event));
  const [, greeting] = lasting;
  const all = subscribe(t, restarted.app, id, { after: '0' });
  const some = subscribe(t, restarted.app, id, { after: greeting?.eventId ?? t.fail() });
  await all.until('all replies', isReply, 3);
  await some.until('the later replies', isReply, 2);
  t.deepEqual(all.events, lasting);
  t.deepEqual(some.events, lasting.slice(2));

  await restarted.app.sendMessage(inTenant(1), { sessionId: id, text: 'three' });
  const reply = await all.until('the next reply', isReply, 4);
  t.is(replyOf(reply).text, 'Re: three');
  t.is(joinedChunks(all.events, replyOf(reply).turnIndex), 'Re: three');
  t.deepEqual(
    ids(all.events),
    ids(all.events).toSorted(
      (a, b) => Number(a.split('-')[0]) - Number(b.split('-')[0]) || Number(a.split('-')[1]) - Number(b.split('-')[1]),
    ),
  );
});

/** Accepts chunks and reservations but drops committed events, like a process that dies after its commit. */
function logLosingCommitted(log: EventLog): EventLog {
  return {
    ...log,
    async append(stream, entries, options) {
      const isCommitted = entries.some((entry) => {
        const { kind } = SessionLogEntry.decode(entry);
        return kind?.$case === 'event' && kind.value.eventId !== '';
      });
      if (isCommitted) throw unavailable('The process has died');
      return log.append(stream, entries, options);
    },
  };
}

/**
 * A log that is unavailable between `fail` and `recover`. After `recover` it notifies its subscribers of the outage, as a real log does.
 */
function logWithOutage(log: EventLog) {
  let isDown = false;
  let returned = Promise.withResolvers<void>();
  async function* followed(tail: AsyncIterable<Entry[]>): AsyncGenerator<Entry[]> {
    const batches = tail[Symbol.asyncIterator]();
    let next = batches.next();
    for (;;) {
      const batch = await Promise.race([next, returned.promise]);
      if (batch?.done) return;
      yield batch ? batch.value : [];
      if (batch) next = batches.next();
      else returned = Promise.withResolvers();
    }
  }
  const eventLog: EventLog = {
    ...log,
    async append(stream, entries, options) {
      if (isDown) throw unavailable('The event log is unavailable');
      return log.append(stream, entries, options);
    },
    async tail(stream, options, signal) {
      const tail = await log.tail(stream, options, signal);
      return { ...tail, [Symbol.asyncIterator]: () => followed(tail) };
    },
  };
  return {
    eventLog,
    fail() {
      isDown = true;
    },
    recover() {
      isDown = false;
      returned.resolve();
    },
  };
}

test('events stored during an outage of the event log are delivered afterwards, in order', async (t) => {
  const { eventLog, replica } = await sessionMesh(t);
  const log = logWithOutage(eventLog);
  const { app } = await replica({ eventLog: log.eventLog });
  const { id } = await app.startSession(inTenant(1), start);
  const live = subscribe(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await live.until('the first reply', isReply);

  log.fail();
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  await eventually('the second reply is stored', async () => {
    const [messages = []] = await app.listMessages(inTenant(1), { sessionIds: [id], page: {} });
    return messages.some(({ text }) => text === 'Re: two');
  });
  t.is(live.events.filter(isReply).length, 1, 'not published during the outage');
  log.recover();
  t.is(replyOf(await live.until('the second reply', isReply, 2)).text, 'Re: two');

  await app.sendMessage(inTenant(1), { sessionId: id, text: 'three' });
  t.is(replyOf(await live.until('the third reply', isReply, 3)).text, 'Re: three');
  const late = subscribe(t, app, id, { after: '0' });
  await late.until('all replies', isReply, 3);
  t.deepEqual(ids(live.events.filter((event) => !isChunk(event))), ids(late.events.filter((event) => !isChunk(event))));
});

for (const by of ['its own process', 'another process'] as const) {
  test(`a reply that ${by} ends during an outage of the event log, whose clock is ahead, is delivered afterwards`, async (t) => {
    const env = { SESSION_LEASE_MS: '2000' };
    const { agent, database, replica, unit } = await sessionMesh(t, { env });
    await unit.stop(); // all remaining replicas use the log with the advanced clock
    // The process that wrote the chunks knows their ids. Another process relies on clock differences being small.
    const aheadMs = by === 'its own process' ? 600_000 : 5_000;
    const log = logWithOutage(memoryEventLog({ now: () => Date.now() + aheadMs }));
    const ownDatabase = await replicaOf(t, database, sessionSchema);
    const first = await replica({ eventLog: log.eventLog, database: ownDatabase });
    const gate = createGate();
    agent.script = gatedReply(gate, 'so far ', 'and on');
    const { id } = await first.app.startSession(inTenant(1), start);
    await first.app.sendMessage(inTenant(1), { sessionId: id, text: 'go' });
    const second = await replica({ eventLog: log.eventLog });
    const live = subscribe(t, second.app, id, { after: '0' });
    gate.release();
    await live.until('the first chunk', isChunk);

    log.fail();
    if (by === 'another process') await ownDatabase.close(); // from now on the first replica cannot store anything
    t.true(await second.app.interruptSession(inTenant(1), String(id)));
    await eventually('the reply is stored', async () => {
      const [messages = []] = await second.app.listMessages(inTenant(1), { sessionIds: [id], page: {} });
      return messages.length === 2;
    });
    log.recover();
    t.is(replyOf(await live.until('the reply', isReply)).text, 'so far ');
    for (const [n, { eventId }] of live.events.entries()) {
      t.true(n === 0 || compareEventIds(live.events[n - 1]?.eventId ?? '0', eventId) < 0);
    }
  });
}

test('events of a replica that alone cannot reach the event log are delivered by others', async (t) => {
  const { app, eventLog, replica } = await sessionMesh(t);
  const log = logWithOutage(eventLog);
  const cut = await replica({ eventLog: log.eventLog });
  const { id } = await app.startSession(inTenant(1), start);
  const live = subscribe(t, app, id, { after: '0' });
  await live.until('the status', isStatus);
  log.fail();
  await cut.app.endSession(inTenant(1), String(id));
  t.is(live.events.filter(isStatus).length, 1, 'not published during the outage');
  log.recover();
  t.like((await live.until('the end', isStatus, 2)).kind?.value, { status: 'ENDED' });
});

test('a reply committed but never published reaches live and resumed subscriptions', async (t) => {
  const { app, eventLog, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const crashing = await replica({ eventLog: logLosingCommitted(eventLog) });
  const live = subscribe(t, app, id, { after: '0' });
  await live.until('the status', isStatus);
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await live.until('the last chunk', (event) => isChunk(event) && joinedChunks(live.events, 0) === 'Re: hello');
  const reply = await live.until('the reply', isReply);
  t.is(replyOf(reply).text, 'Re: hello');

  const resumed = subscribe(t, app, id, { after: live.events.findLast(isChunk)?.eventId ?? t.fail() });
  t.deepEqual(await resumed.until('the reply', isReply), reply);

  // Later events cause no duplicates.
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'again' });
  await live.until('the next reply', isReply, 2);
  t.is(new Set(ids(live.events)).size, live.events.length);
  t.is(live.events.filter(isReply).length, 2);
});

test('events after an unpublished reply are delivered after it', async (t) => {
  const { app, agent, eventLog, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const crashing = await replica({ eventLog: logLosingCommitted(eventLog) });
  const live = subscribe(t, app, id, { after: '0' });
  await live.until('the status', isStatus);
  const gate = createGate();
  agent.script = gatedReply(gate, 'said');
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await crashing.app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  gate.open(); // the second turn starts when the first is committed
  await live.until('both replies', isReply, 2);
  t.deepEqual(
    live.events.filter((event) => !isStatus(event)).map(({ kind }) => kind?.$case),
    ['aiResponseChunk', 'aiResponse', 'aiResponseChunk', 'aiResponse'],
  );
});

test('messages are answered and stored while the event log is unavailable', async (t) => {
  const { app, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const unavailableLog = memoryEventLog();
  await unavailableLog.close();
  const other = await replica({ eventLog: unavailableLog });
  await other.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  const subscriber = subscribe(t, app, id, { after: '0' });
  const { eventually } = await import('@parley/testing/eventually');
  await eventually('the reply', async () => (await app.getTranscript(inTenant(1), id)).messages.length === 2);
  const late = subscribe(t, app, id, { after: '0' });
  t.is(replyOf(await late.until('the reply', isReply)).text, 'Re: hello');
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'back' });
  await late.until('the next reply', isReply, 2);
  t.is(joinedChunks(late.events, 2), 'Re: back');
  await subscriber.stop();
});

test("an invalid `after` is refused, another tenant's session is not found, another session than the token's is forbidden", async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  for (const after of ['', 'x', '1', '-1', '1-', '1-2-3', '01-1']) {
    await t.throwsAsync(subscribe(t, app, id, { after }).done, { message: 'after is no event id' }, after);
  }
  const foreign = await t.throwsAsync(subscribe(t, app, id, { caller: inTenant(2) }).done);
  const absent = await t.throwsAsync(subscribe(t, app, id + 1000, { caller: inTenant(2) }).done);
  t.like(foreign, { kind: 'notFound', message: `Session ${id} not found` });
  t.like(absent, { kind: 'notFound' });

  const other = await app.startSession(inTenant(1), start);
  const token = { kind: 'session', tenantId: 1, sessionId: other.id, requestId: 'test' } as const;
  t.like(await t.throwsAsync(subscribe(t, app, id, { caller: token }).done), { kind: 'forbidden' });
  t.like(await t.throwsAsync(subscribe(t, app, id + 1000, { caller: token }).done), { kind: 'forbidden' });
  for (const sessionId of ['abc', '0', '-1', '99999999999', '1.5', '', ' 1', '1e3', '٣', '01', '+1', `0${id}`]) {
    const seenBy = async (caller: TenantCaller) => {
      for await (const _ of app.watchSession(caller, {
        sessionId,
      }));
    };
    const message = `Session ${sessionId} not found`;
    t.like(await t.throwsAsync(seenBy(inTenant(1))), { kind: 'notFound', message }, 'no row can have such an id');
    t.like(await t.throwsAsync(seenBy(token)), { kind: 'forbidden' }, 'must not reveal which sessions exist');
  }
  t.like(await t.throwsAsync(app.interruptSession(token, String(id))), { kind: 'forbidden' });
  t.false(await app.interruptSession(token, String(other.id)));
  const own = subscribe(t, app, other.id, { caller: token, after: '0' });
  await own.until('the status', isStatus);
});
