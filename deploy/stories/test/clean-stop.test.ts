import { stat } from 'node:fs/promises';
import type { Environment } from '@parley/chassis/config';
import { createGate } from '@parley/chassis/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { converse, endSession, evaluated, follow, readSession, sendMessage } from '../src/conversation.ts';
import { startMesh } from '../src/mesh.ts';
import { dataFolder } from '../src/mesh-process.ts';
import { judgement, startScriptedModel } from '../src/scripted-model.ts';

/** What a person waits for a stop at most, whatever is under way. */
const stopWithinMs = 10_000;

/** @param settings how long it gives running turns where that is not what a story is about: short. */
async function restartable(t: ExecutionContext, settings: Environment = { SESSION_STOP_GRACE_MS: '500' }) {
  const model = await startScriptedModel();
  t.teardown(() => model.server.stop());
  const folder = await dataFolder(t, { ...model.env, ...settings });
  const mesh = await folder.start();
  const ada = await mesh.person();
  return { model, folder, mesh, ada };
}

/** Stops a mesh, which must end by itself and in time, and starts the next on its folder. */
async function restarted(t: ExecutionContext, { mesh, folder, ada }: Awaited<ReturnType<typeof restartable>>) {
  const from = performance.now();
  t.is(await mesh.stop(), 0, mesh.stderr());
  t.true(performance.now() - from < stopWithinMs, `${performance.now() - from} ms`);
  t.is(mesh.stderr(), '');
  const next = await folder.start();
  const back = next.visitor();
  back.tokens = ada.tokens;
  return { next, back };
}

test('a mesh stops in mid-turn by itself and in time, and the next start finishes the turn', async (t) => {
  const all = await restartable(t);
  const { model, ada } = all;
  const { sessionId, events } = await converse(t, ada);
  const gate = createGate();
  model.answer('Hold on.', { text: ['Wait', ' for it'], beforeDelta: gate });
  await sendMessage(ada, sessionId, 'Hold on.');
  gate.release();
  await events.until('the first word', ({ chunks }) => chunks.length > 0);
  model.answer('Hold on.', { text: ['Wait', ' for it'] });

  const { next, back } = await restarted(t, all);
  await events.until('the end of the socket', ({ closed }) => closed);
  const after = follow(t, back, sessionId);
  const [reply] = await after.turns(1);
  t.like(reply, { __typename: 'AiResponseEvent', text: 'Wait for it', interrupted: false });
  const { messages } = await readSession(back, sessionId);
  t.deepEqual(
    messages.map(({ role, turnIndex }) => `${turnIndex} ${role}`),
    ['0 USER', '1 MODEL'],
  );
  t.is(await next.stop(), 0, next.stderr());
});

test('a mesh stops while the judge thinks, and the next start has the session judged', async (t) => {
  const all = await restartable(t);
  const { model, ada } = all;
  const { sessionId, events } = await converse(t, ada);
  await sendMessage(ada, sessionId, 'Judge me later.');
  await events.turns(1);
  model.judge('Judge me later.', { beforeHeaders: createGate() });
  await endSession(ada, sessionId);
  await model.server.until(({ requests }) => requests.some(({ body }) => body.response_format));
  model.judge('Judge me later.', { json: judgement });

  const { back } = await restarted(t, all);
  t.like(await evaluated(back, sessionId, 20_000), judgement);
});

// By itself, before the others: half of the time is what running turns are given, and four meshes that start take the rest.
test.serial(
  'a mesh with no setting of its own stops in time, with a turn in mid-reply, one behind it and a judge at work',
  async (t) => {
    const all = await restartable(t, {});
    const { model, ada } = all;
    const [running, judged] = [await converse(t, ada), await converse(t, ada)];
    await sendMessage(ada, judged.sessionId, 'Judge me later.');
    await judged.events.turns(1);
    model.judge('Judge me later.', { beforeHeaders: createGate() });
    await endSession(ada, judged.sessionId);
    const gate = createGate();
    model.answer('Hold on.', { text: ['Wait', ' for it'], beforeDelta: gate });
    await sendMessage(ada, running.sessionId, 'Hold on.');
    await sendMessage(ada, running.sessionId, 'And then?');
    gate.release();
    await running.events.until('the first word', ({ chunks }) => chunks.length > 0);
    await model.server.until(({ requests }) => requests.some(({ body }) => body.response_format));
    model.answer('Hold on.', { text: ['Wait', ' for it'] });
    model.judge('Judge me later.', { json: judgement });

    const { back } = await restarted(t, all);
    const after = follow(t, back, running.sessionId);
    const [first, second] = await after.turns(2);
    t.like(first, { __typename: 'AiResponseEvent', text: 'Wait for it', interrupted: false });
    t.is(second?.__typename, 'AiResponseEvent');
    t.like(await evaluated(back, judged.sessionId, 20_000), judgement);
  },
);

test("the keys of a data folder are its owner's alone, and the same from start to start", async (t) => {
  const folder = await dataFolder(t, { MESH_KEY: '', OPERATOR_KEY: '', SECRETS_KEYS: '', AVATAR_TOKEN_KEYS: '' });
  const mesh = await folder.start();
  const ada = await mesh.person();
  t.is((await stat(`${folder.path}/keys.json`)).mode & 0o777, 0o600);
  await mesh.stop();
  const again = await folder.start();
  const back = again.visitor();
  back.tokens = ada.tokens;
  t.like(await back.query('{ getAuthProfile { email } }'), { getAuthProfile: { email: ada.account?.email } });
});

test('two meshes live side by side, and one that stops leaves the other as it was', async (t) => {
  const [one, other] = await Promise.all([startMesh(), startMesh()]);
  t.teardown(() => other.stop());
  const ada = await other.person();
  await one.person();
  await one.stop();
  t.like(await ada.query('{ agentCount }'), { agentCount: 0 });
});
