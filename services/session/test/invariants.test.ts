import { isDomainError } from '@parley/kernel/errors';
import { compareEventIds } from '@parley/live/event-log/event-id';
import { eventually } from '@parley/testing/eventually';
import { replicaOf } from '@parley/testing/test-schema';
import test from 'ava';
import { sessionSchema } from '../src/session-schema.ts';
import { createGate, finished, text, waitForGate } from './scripted-agent.ts';
import { inTenant, isStatus, isTurnEnd, joinedChunks, sessionMesh, subscribe } from './session-mesh.ts';

/** Pseudo-random numbers below 1, the same in every run. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return state / 2_147_483_648;
  };
}

test('under concurrent messages, interrupts, ends and a crash every turn ends once and all subscribers get the same events', async (t) => {
  const { app, agent, database, replica, published } = await sessionMesh(t, { env: { SESSION_LEASE_MS: '2000' } });
  const second = await replica();
  const crashingDatabase = await replicaOf(t, database, sessionSchema);
  const crashing = await replica({ database: crashingDatabase });
  const random = numbers(42);
  const gate = createGate(); // chunks are sent while clients act, so that many interrupts meet an unfinished reply
  agent.script = async function* (call) {
    for (const word of `So ${call.asked} it is`.split(/(?<= )/)) {
      await waitForGate(gate, call);
      yield text(word);
    }
    yield finished();
  };
  const apps = [app, second.app, crashing.app];
  const pick = () => apps[Math.floor(random() * apps.length)] ?? app;
  const sessions = await Promise.all(
    Array.from({ length: 12 }, () => app.startSession(inTenant(1), { agentId: 2, clientExternalId: 'x' })),
  );
  const subscribers = sessions.map(({ id }) => subscribe(t, app, id, { after: '0' }));

  /** Runs a random action. Refusals are valid results; calls to the dead replica fail with `unavailable`. */
  async function act(id: number, n: number): Promise<void> {
    const chance = random();
    gate.release(3);
    try {
      if (chance < 0.6) {
        const send = (part: string) => pick().sendMessage(inTenant(1), { sessionId: id, text: `message ${n} ${part}` });
        await Promise.all([send('a'), send('b')]);
      } else if (chance < 0.96) await pick().interruptSession(inTenant(1), String(id));
      else await pick().endSession(inTenant(1), String(id));
    } catch (error) {
      t.true(isDomainError(error, 'invalid') || isDomainError(error, 'unavailable'), String(error));
    }
  }
  for (let round = 0; round < 15; round += 1) {
    await Promise.all(sessions.map(({ id }) => act(id, round)));
    if (round === 9) {
      await crashingDatabase.close();
      apps.pop();
    }
  }
  gate.open();
  const openTurns = () =>
    database.transact(1, async ({ knex }) => {
      const rows = await knex('turns').whereIn('state', ['QUEUED', 'RUNNING']).count().first();
      return Number(rows?.count);
    });
  await eventually('all turns have ended', async () => (await openTurns()) === 0, { timeoutMs: 30_000 });
  await Promise.all(sessions.map(({ id }) => app.endSession(inTenant(1), String(id))));
  await eventually('every session is announced', () => published.length >= sessions.length);
  t.is(new Set(published.map(({ key }) => key)).size, published.length);
  t.is(published.length, sessions.length);

  for (const [index, { id }] of sessions.entries()) {
    const subscriber = subscribers[index] ?? t.fail();
    await subscriber.until('the end', isStatus, 2);
    const { messages } = await app.getTranscript(inTenant(1), id);
    t.deepEqual(
      messages.map(({ turnIndex }) => turnIndex),
      messages.map((_, n) => n),
    );
    const asked = messages.filter(({ role }) => role === 'USER').map(({ turnIndex }) => turnIndex);
    const ends = subscriber.events
      .filter(isTurnEnd)
      .map(({ kind }) => (kind && 'turnIndex' in kind.value ? kind.value.turnIndex : -1));
    t.deepEqual(ends, [0, ...asked], 'the greeting, and one end for each message, in order');
    const ids = subscriber.events.map(({ eventId }) => eventId);
    t.deepEqual(ids, ids.toSorted(compareEventIds));
    t.is(new Set(ids).size, ids.length);
    const replies = subscriber.events.flatMap(({ kind }) => (kind?.$case === 'aiResponse' ? [kind.value] : []));
    for (const { turnIndex, message } of replies.slice(1)) {
      t.is(joinedChunks(subscriber.events, turnIndex), message?.text ?? '(none)', `session ${id}, turn ${turnIndex}`);
      t.is(messages.find((row) => row.id === message?.id)?.text, message?.text);
    }
    t.is(replies.length, messages.filter(({ role }) => role === 'MODEL').length);

    const late = subscribe(t, second.app, id, { after: '0' });
    await late.until('the end', isStatus, 2);
    t.deepEqual(late.events, subscriber.events);
  }
});
