import type { Caller } from '@parley/kernel/caller';
import { unavailable } from '@parley/kernel/errors';
import { compareEventIds } from '@parley/live/event-log/event-id';
import type { Entry, EventLog } from '@parley/live/event-log/event-log';
import { memoryEventLog } from '@parley/live/event-log/memory-event-log';
import { SessionLogEntry } from '@parley/protos/parley/session/v1/event_log';
import type { SessionEvent } from '@parley/protos/parley/session/v1/session';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { createGate, gatedReply } from './scripted-agent.ts';
import { inTenant, isChunk, isReply, isStatus, joinedChunks, replyIn, sessionMesh, watch } from './session-mesh.ts';

const start = { agentId: 1, clientExternalId: 'visitor' };

const ids = (events: SessionEvent[]) => events.map(({ eventId }) => eventId);

test('a stream that is cut in a turn and resumed shows every piece once', async (t) => {
  const { app, agent } = await sessionMesh(t);
  const gate = createGate();
  agent.script = gatedReply(gate, 'a ', 'b ', 'c ', 'd');
  const { id } = await app.startSession(inTenant(1), start);
  const whole = watch(t, app, id, { after: '0' });
  const first = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'go' });
  gate.release();
  await first.until('the first piece', isChunk);
  gate.release();
  await first.until('the second piece', isChunk, 2);
  await first.stop();
  gate.release();
  await whole.until('the third piece', isChunk, 3);

  const resumed = watch(t, app, id, { after: first.events.at(-1)?.eventId ?? t.fail() });
  gate.open();
  await resumed.until('the reply', isReply);
  await whole.until('the reply', isReply);
  t.deepEqual([...ids(first.events), ...ids(resumed.events)], ids(whole.events));
  t.is(joinedChunks([...first.events, ...resumed.events], 0), 'a b c d');

  const late = watch(t, app, id, { after: '0' });
  await late.until('the reply', isReply);
  t.deepEqual(late.events, whole.events);
});

test('a watcher is told when it will see whatever comes; one who has left is looked up for nothing', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const over = new AbortController();
  const told = Promise.withResolvers<void>();
  const watched = app.watchSession(inTenant(1), { sessionId: id, follows: told.resolve }, over.signal);
  const first = watched.next();
  await told.promise;
  await app.endSession(inTenant(1), String(id));
  const { value } = await first;
  t.true(value && isStatus(value));
  over.abort();
  const unknown = app.watchSession(inTenant(1), { sessionId: id + 1, follows: () => t.fail() }, over.signal);
  t.deepEqual(await unknown.next(), { done: true, value: undefined });
});

test('without a place to begin a watcher sees what comes from now on', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const all = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await all.until('the greeting and a reply', isReply, 2);

  const watching = watch(t, app, id);
  const ready = watch(t, app, id, { after: all.events.at(-1)?.eventId ?? '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  await ready.until('the second reply', isReply);
  await watching.until('the second reply', isReply);
  t.deepEqual(
    watching.events.filter(isReply).map((event) => replyIn(event).text),
    ['Re: two'],
  );
});

test('where the log is lost, what has ended is shown from the database, and then what comes', async (t) => {
  const { app, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), { ...start, agentId: 2 });
  const before = watch(t, app, id, { after: '0' });
  for (const text of ['one', 'two']) {
    await app.sendMessage(inTenant(1), { sessionId: id, text });
    await before.until(text, (event) => isReply(event) && replyIn(event).text === `Re: ${text}`);
  }
  const restarted = await replica({ eventLog: memoryEventLog() });
  const lasting = before.events.filter((event) => !isChunk(event));
  const [, greeting] = lasting;
  const all = watch(t, restarted.app, id, { after: '0' });
  const some = watch(t, restarted.app, id, { after: greeting?.eventId ?? t.fail() });
  await all.until('all replies', isReply, 3);
  await some.until('the later replies', isReply, 2);
  t.deepEqual(all.events, lasting);
  t.deepEqual(some.events, lasting.slice(2));

  await restarted.app.sendMessage(inTenant(1), { sessionId: id, text: 'three' });
  const reply = await all.until('the next reply', isReply, 4);
  t.is(replyIn(reply).text, 'Re: three');
  t.is(joinedChunks(all.events, replyIn(reply).turnIndex), 'Re: three');
  t.deepEqual(
    ids(all.events),
    ids(all.events).toSorted(
      (a, b) => Number(a.split('-')[0]) - Number(b.split('-')[0]) || Number(a.split('-')[1]) - Number(b.split('-')[1]),
    ),
  );
});

/** A log that takes pieces and reservations, and loses what has been committed: as a process does that dies at that moment. */
function dyingLog(log: EventLog): EventLog {
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

/** A log that is away from `leave` to `back`, and then says so to those who follow. */
function leavingLog(log: EventLog) {
  let away = false;
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
      if (away) throw unavailable('The log is away');
      return log.append(stream, entries, options);
    },
    async tail(stream, options, signal) {
      const tail = await log.tail(stream, options, signal);
      return { ...tail, [Symbol.asyncIterator]: () => followed(tail) };
    },
  };
  return {
    eventLog,
    leave() {
      away = true;
    },
    back() {
      away = false;
      returned.resolve();
    },
  };
}

test('what was stored while the log was away is shown when it is back, and then what comes, in order', async (t) => {
  const { eventLog, replica } = await sessionMesh(t);
  const log = leavingLog(eventLog);
  const { app } = await replica({ eventLog: log.eventLog });
  const { id } = await app.startSession(inTenant(1), start);
  const live = watch(t, app, id, { after: '0' });
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await live.until('the first reply', isReply);

  log.leave();
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  await eventually('the second reply is stored', async () => {
    const [messages = []] = await app.listMessages(inTenant(1), [id], {});
    return messages.some(({ text }) => text === 'Re: two');
  });
  t.is(live.events.filter(isReply).length, 1, 'nobody can have told of it');
  log.back();
  t.is(replyIn(await live.until('the second reply', isReply, 2)).text, 'Re: two');

  await app.sendMessage(inTenant(1), { sessionId: id, text: 'three' });
  t.is(replyIn(await live.until('the third reply', isReply, 3)).text, 'Re: three');
  const late = watch(t, app, id, { after: '0' });
  await late.until('all replies', isReply, 3);
  t.deepEqual(ids(live.events.filter((event) => !isChunk(event))), ids(late.events.filter((event) => !isChunk(event))));
});

for (const by of ['its own process', 'another process'] as const) {
  test(`a reply that ${by} ends while the log is away, whose clock is ahead, is shown when it is back`, async (t) => {
    const env = { SESSION_LEASE_MS: '2000' };
    const { agent, database, replica, unit } = await sessionMesh(t, { env });
    await unit.stop(); // only those on the log that is ahead
    // Who has written the pieces knows their ids, however far ahead these are; another process counts on clocks that differ little.
    const aheadMs = by === 'its own process' ? 600_000 : 5_000;
    const log = leavingLog(memoryEventLog({ now: () => Date.now() + aheadMs }));
    const ownDatabase = await replicaOf(t, database, sessionSchema);
    const first = await replica({ eventLog: log.eventLog, database: ownDatabase });
    const gate = createGate();
    agent.script = gatedReply(gate, 'so far ', 'and on');
    const { id } = await first.app.startSession(inTenant(1), start);
    await first.app.sendMessage(inTenant(1), { sessionId: id, text: 'go' });
    const second = await replica({ eventLog: log.eventLog });
    const live = watch(t, second.app, id, { after: '0' });
    gate.release();
    await live.until('the first piece', isChunk);

    log.leave();
    if (by === 'another process') await ownDatabase.close(); // the first one can store nothing any more
    t.true(await second.app.interruptSession(inTenant(1), String(id)));
    await eventually('the reply is stored', async () => {
      const [messages = []] = await second.app.listMessages(inTenant(1), [id], {});
      return messages.length === 2;
    });
    log.back();
    t.is(replyIn(await live.until('the reply', isReply)).text, 'so far ');
    for (const [n, { eventId }] of live.events.entries()) {
      t.true(n === 0 || compareEventIds(live.events[n - 1]?.eventId ?? '0', eventId) < 0);
    }
  });
}

test('what a replica stored that the log was away from alone is shown to those who watch at others', async (t) => {
  const { app, eventLog, replica } = await sessionMesh(t);
  const log = leavingLog(eventLog);
  const cut = await replica({ eventLog: log.eventLog });
  const { id } = await app.startSession(inTenant(1), start);
  const live = watch(t, app, id, { after: '0' });
  await live.until('the status', isStatus);
  log.leave();
  await cut.app.endSession(inTenant(1), String(id));
  t.is(live.events.filter(isStatus).length, 1, 'nobody can have told of it');
  log.back();
  t.like((await live.until('the end', isStatus, 2)).kind?.value, { status: 'ENDED' });
});

test('a reply that was committed and never shown reaches those who watch live, and those who resume', async (t) => {
  const { app, eventLog, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const dying = await replica({ eventLog: dyingLog(eventLog) });
  const live = watch(t, app, id, { after: '0' });
  await live.until('the status', isStatus);
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  await live.until('the last piece', (event) => isChunk(event) && joinedChunks(live.events, 0) === 'Re: hello');
  const reply = await live.until('the reply', isReply);
  t.is(replyIn(reply).text, 'Re: hello');

  const resumed = watch(t, app, id, { after: live.events.findLast(isChunk)?.eventId ?? t.fail() });
  t.deepEqual(await resumed.until('the reply', isReply), reply);

  // Nothing is shown twice or out of order by what comes later.
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'again' });
  await live.until('the next reply', isReply, 2);
  t.is(new Set(ids(live.events)).size, live.events.length);
  t.is(live.events.filter(isReply).length, 2);
});

test('what comes after a reply that was not shown waits for it', async (t) => {
  const { app, agent, eventLog, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const dying = await replica({ eventLog: dyingLog(eventLog) });
  const live = watch(t, app, id, { after: '0' });
  await live.until('the status', isStatus);
  const gate = createGate();
  agent.script = gatedReply(gate, 'said');
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'one' });
  await dying.app.sendMessage(inTenant(1), { sessionId: id, text: 'two' });
  gate.open(); // the second turn begins with the commit of the first
  await live.until('both replies', isReply, 2);
  t.deepEqual(
    live.events.filter((event) => !isStatus(event)).map(({ kind }) => kind?.$case),
    ['aiResponseChunk', 'aiResponse', 'aiResponseChunk', 'aiResponse'],
  );
});

test('while the event log is away, messages are answered and stored all the same', async (t) => {
  const { app, replica } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  const away = memoryEventLog();
  await away.close();
  const without = await replica({ eventLog: away });
  await without.app.sendMessage(inTenant(1), { sessionId: id, text: 'hello' });
  const watching = watch(t, app, id, { after: '0' });
  const { eventually } = await import('@parley/testing/eventually');
  await eventually('the reply', async () => (await app.getTranscript(inTenant(1), id)).messages.length === 2);
  const late = watch(t, app, id, { after: '0' });
  t.is(replyIn(await late.until('the reply', isReply)).text, 'Re: hello');
  await app.sendMessage(inTenant(1), { sessionId: id, text: 'back' });
  await late.until('the next reply', isReply, 2);
  t.is(joinedChunks(late.events, 2), 'Re: back');
  await watching.stop();
});

test('a malformed place to begin is refused; a foreign session is not found, another one than the token is for forbidden', async (t) => {
  const { app } = await sessionMesh(t);
  const { id } = await app.startSession(inTenant(1), start);
  for (const after of ['', 'x', '1', '-1', '1-', '1-2-3', '01-1']) {
    await t.throwsAsync(watch(t, app, id, { after }).done, { message: 'after is no event id' }, after);
  }
  const foreign = await t.throwsAsync(watch(t, app, id, { caller: inTenant(2) }).done);
  const absent = await t.throwsAsync(watch(t, app, id + 1000, { caller: inTenant(2) }).done);
  t.like(foreign, { kind: 'notFound', message: `Session ${id} not found` });
  t.like(absent, { kind: 'notFound' });

  const other = await app.startSession(inTenant(1), start);
  const token = { kind: 'session', tenantId: 1, sessionId: other.id, requestId: 'test' } as const;
  t.like(await t.throwsAsync(watch(t, app, id, { caller: token }).done), { kind: 'forbidden' });
  t.like(await t.throwsAsync(watch(t, app, id + 1000, { caller: token }).done), { kind: 'forbidden' });
  for (const sessionId of ['abc', '0', '-1', '99999999999', '1.5', '', ' 1', '1e3', '٣', '01', '+1', `0${id}`]) {
    const seenBy = async (caller: Caller) => {
      for await (const _ of app.watchSession(caller, { sessionId }, new AbortController().signal));
    };
    const message = `Session ${sessionId} not found`;
    t.like(await t.throwsAsync(seenBy(inTenant(1))), { kind: 'notFound', message }, 'nobody has such an id');
    t.like(await t.throwsAsync(seenBy(token)), { kind: 'forbidden' }, 'that would tell which are there');
  }
  t.like(await t.throwsAsync(app.interruptSession(token, String(id))), { kind: 'forbidden' });
  t.false(await app.interruptSession(token, String(other.id)));
  const own = watch(t, app, other.id, { caller: token, after: '0' });
  await own.until('the status', isStatus);
});
