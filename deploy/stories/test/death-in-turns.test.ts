import { eventually } from '@parley/chassis/testing/eventually';
import { createGate } from '@parley/chassis/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { Client } from '../src/client.ts';
import { createAgent, endSession, evaluated, findEvaluation, sendMessage, startSession } from '../src/conversation.ts';
import { brokenInvariants } from '../src/invariants.ts';
import { dataFolder, type MeshProcess } from '../src/mesh-process.ts';
import { startScriptedModel } from '../src/scripted-model.ts';

// One after another: each has the machine to itself.

/** How many turns run when the end comes; behind some of them others wait. */
const running = 50;

/** Conversations of one person whose turns all wait for the model. */
async function inManyTurns(t: ExecutionContext, more: Record<string, string> = {}) {
  const model = await startScriptedModel();
  t.teardown(() => model.server.stop());
  const folder = await dataFolder(t, { ...model.env, ...more });
  const mesh = await folder.start();
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const open: number[] = [];
  while (open.length < running) {
    const some = Array.from({ length: 10 }, () => startSession(ada, agentId));
    open.push(...(await Promise.all(some)).map(({ id }) => id));
  }
  const over = await Promise.all(Array.from({ length: 5 }, () => startSession(ada, agentId)));
  const gate = createGate();
  const asked = open.flatMap((sessionId, n) => [
    { sessionId, text: `First in ${sessionId}` },
    ...(n % 5 === 0 ? [{ sessionId, text: `Second in ${sessionId}` }] : []),
  ]);
  for (const { text } of asked) model.answer(text, { text: ['Half ', `of: ${text}`], beforeDelta: gate });
  for (const { sessionId, text } of asked) await sendMessage(ada, sessionId, text);
  await model.server.until(({ counts }) => counts.running >= running, 20_000);
  gate.release(running / 2); // half of them have said something
  for (const { id } of over) await endSession(ada, id);
  return { folder, mesh, ada, model, gate, asked, open, over: over.map(({ id }) => id) };
}

type Turns = Awaited<ReturnType<typeof inManyTurns>>;

/** Lets everything come to its end on the next start, stops that, and looks at what is left. */
async function assertNothingLost(t: ExecutionContext, turns: Turns, next: MeshProcess): Promise<void> {
  const { ada, gate, asked, open, over, folder, model } = turns;
  gate.open();
  const back: Client = next.visitor();
  back.tokens = ada.tokens;
  const read = async () => {
    const { data, errors } = await back.send<{
      sessions: { id: number; messages: { role: string; text: string; turnIndex: number }[] }[];
    }>('{ sessions { id messages { role text turnIndex } } }');
    // While all turns go on at once a read may find no connection in time: it says so, and is asked again.
    if (errors?.every(({ extensions }) => extensions.code === 'UNAVAILABLE')) return undefined;
    if (!data) throw new Error(`refused: ${JSON.stringify(errors)}`);
    return new Map(data.sessions.map((session) => [session.id, session.messages]));
  };
  const replies = (messages: { role: string }[]) => messages.filter(({ role }) => role === 'MODEL').length;
  const byId = await eventually(
    'every message has its reply',
    async () => {
      const all = await read();
      if (!all) return false;
      const count = open.reduce((sum, id) => sum + replies(all.get(id) ?? []), 0);
      return count >= asked.length && all;
    },
    { timeoutMs: 60_000 },
  );
  for (const id of open) {
    const messages = byId.get(id) ?? [];
    const said = messages.filter(({ role }) => role === 'MODEL').map(({ text }) => text);
    const mine = asked.filter(({ sessionId }) => sessionId === id).map(({ text }) => `Half of: ${text}`);
    t.deepEqual(said, mine, `session ${id}`);
    t.deepEqual(
      messages.map(({ turnIndex }) => turnIndex),
      messages.map((_, n) => n),
    );
  }
  const ended = open.slice(0, 10);
  for (const id of ended) await endSession(back, id);
  for (const id of [...over, ...ended]) await evaluated(back, id, 30_000);
  t.is(await findEvaluation(back, open.at(-1) ?? 0), null);
  const requests = model.server.requests.filter(({ body }) => !body.response_format).length;
  t.true(requests >= asked.length);

  t.is(await next.stop(), 0, next.stderr());
  t.deepEqual(await brokenInvariants(folder.path), []);
}

test.serial('a kill among fifty turns loses no message, doubles no reply and leaves nothing behind', async (t) => {
  const turns = await inManyTurns(t);
  await turns.mesh.kill();
  t.notDeepEqual(await brokenInvariants(turns.folder.path), [], 'the dead left something to do');
  await assertNothingLost(t, turns, await turns.folder.start());
});

for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  test.serial(
    `a mesh that gets ${signal} among fifty turns hands them over, and the next start answers each once`,
    async (t) => {
      const turns = await inManyTurns(t, { SESSION_STOP_GRACE_MS: '300' });
      const from = performance.now();
      t.is(await turns.mesh.stop(signal), 0, turns.mesh.stderr());
      t.true(performance.now() - from < 25_000);
      t.is(turns.mesh.stderr(), '');
      await assertNothingLost(t, turns, await turns.folder.start());
    },
  );
}
