// Stops processes while they are working. At full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { readSession } from '../../src/conversation.ts';
import { callerWithKey } from '../../src/direct-calls.ts';
import type { SessionEvents } from '../../src/session-events.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { holdTurns } from './held-turns.ts';
import { seconds } from './traffic.ts';

const shared = sharedFaultMesh(test);
const turnsInFlight = fullLength ? 200 : 20;
/** The maximum time of a shutdown, whatever is running. */
const stopWithinMs = 25_000;

/** Sends SIGTERM to a replica. Resolves when the replica reports that it is not ready, which must happen while it is still running. */
async function stopping(t: ExecutionContext, { kill, isReady }: FaultMesh, name: string) {
  t.true(await isReady(name));
  let isGone = false;
  const gone = kill(name, 'SIGTERM').then((death) => {
    isGone = true;
    return death;
  });
  await eventually('it is not ready', async () => !(await isReady(name)));
  t.false(isGone, 'it is not ready at once, with turns still under way');
  return { gone };
}

/** Starts text generations on both replicas, and holds them after each listener has received the first words. */
async function holdGenerations(t: ExecutionContext, { person, model }: FaultMesh) {
  const prompt = 'Say what is heard while a replica stops.';
  const pieces = Array.from({ length: 200 }, (_, n) => `${n} `);
  const beforeDelta = createGate();
  model.answer(prompt, { text: pieces, beforeDelta });
  const { start, listen } = await callerWithKey(await person());
  const ids = await Promise.all(Array.from({ length: 8 }, () => start(prompt)));
  const listeners = ids.map((requestId) => listen(requestId));
  t.teardown(() => Promise.all(listeners.map((listener) => listener.close())));
  await eventually('all are heard', () => {
    const isHeard = listeners.every(({ events }) => events.length > 0);
    if (!isHeard) beforeDelta.release(listeners.length);
    return isHeard;
  });
  return {
    release: () => beforeDelta.open(),
    /** Asserts that each listener missed no text after the first piece that it received, and that each generation ended once. */
    async assertHeard() {
      for (const { events, end } of listeners) {
        t.is(await end, 'completed');
        const heard = events.map(({ text }) => text).join('');
        t.is(heard, pieces.slice(Number.parseInt(heard, 10)).join(''));
        t.deepEqual(
          events.filter(({ done }) => done).map(({ error }) => error),
          [null],
        );
      }
    },
  };
}

/** Asserts that all replies are complete and that none failed, then ends the sessions and checks the invariants. */
async function assertComplete(
  t: ExecutionContext,
  mesh: FaultMesh,
  { turns }: Awaited<ReturnType<typeof holdTurns>>,
): Promise<void> {
  for (const { client, sessionId, text, reply } of turns) {
    const { messages } = await eventually(
      `the reply in session ${sessionId}`,
      async () => {
        const session = await readSession(client, sessionId);
        return session.messages.length > 1 && session;
      },
      { timeoutMs: 60_000 },
    );
    t.deepEqual(
      messages.map((message) => message.text),
      [text, reply],
    );
    await mesh.ledger.end(client, sessionId);
  }
  t.deepEqual(await mesh.settled(), []);
}

async function assertEnded(t: ExecutionContext, gone: ReturnType<FaultMesh['kill']>): Promise<void> {
  const { how, endedAfterMs, back } = await gone;
  t.is(how, 'exit code 0');
  t.true(endedAfterMs < stopWithinMs, `${endedAfterMs} ms`);
  t.log(`exit code 0 after ${seconds(endedAfterMs)}, back after ${seconds(await back())}`);
}

serverTest(meshEngines, 'a session replica that is stopped completes its turns', async (t) => {
  t.timeout(180_000);
  const mesh = await shared();
  const held = await holdTurns(mesh, turnsInFlight);
  t.true((await mesh.metric('session-1', 'parley_session_turns_running')) > 0);
  const { gone } = await stopping(t, mesh, 'session-1');
  held.release();

  await assertEnded(t, gone);
  await assertComplete(t, mesh, held);
});

serverTest(
  meshEngines,
  'turns that do not end in time are handed over, and answered once by another replica',
  async (t) => {
    t.timeout(180_000);
    const mesh = await shared();
    const held = await holdTurns(mesh, turnsInFlight);
    t.true((await mesh.metric('session-2', 'parley_session_turns_running')) > 0);

    const { gone } = await stopping(t, mesh, 'session-2');
    await assertEnded(t, gone);
    held.release();
    await assertComplete(t, mesh, held);
  },
);

serverTest(meshEngines, 'an agent replica that is stopped completes the replies that have begun', async (t) => {
  t.timeout(180_000);
  const mesh = await shared();
  const held = await holdTurns(mesh, turnsInFlight);
  const generations = await holdGenerations(t, mesh);
  const { gone } = await stopping(t, mesh, 'agent-1');
  held.release();
  generations.release();

  await assertEnded(t, gone);
  await generations.assertHeard();
  await assertComplete(t, mesh, held);
});

serverTest(
  meshEngines,
  'a gateway that is stopped closes its sockets with 1001, and clients that reconnect miss nothing',
  async (t) => {
    t.timeout(180_000);
    const mesh = await shared();
    const held = await holdTurns(mesh, turnsInFlight);
    const followers = held.turns.map(({ client, sessionId, reply }) => {
      const before = client.at(mesh.gateways[0] ?? '').subscribe(sessionId, { after: '0' });
      return { client, sessionId, reply, before };
    });
    const all: SessionEvents[] = followers.map(({ before }) => before);
    t.teardown(() => Promise.all(all.map((events) => events.close())));
    for (const { before } of followers) await before.until('the first words', ({ chunks }) => chunks.length > 0);

    const gone = mesh.kill('gateway-1', 'SIGTERM');
    for (const { before } of followers) await before.until('the close', ({ closed }) => closed);
    t.deepEqual([...new Set(followers.map(({ before }) => before.closed?.code))], [1001]);
    await gone;
    held.release();
    for (const { client, sessionId, reply, before } of followers) {
      const after = client.subscribe(sessionId, { after: before.lastEventId });
      all.push(after);
      await after.turns(1);
      t.is([...before.chunks, ...after.chunks].map((chunk) => chunk.text).join(''), reply);
    }
    await assertEnded(t, gone);
    await assertComplete(t, mesh, held);
  },
);
