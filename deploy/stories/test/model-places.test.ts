// This test uses its own mesh. The agent process has fewer model slots than the session process has turns, and the first-token timeout is
// short.
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planReplicas } from '@parley/mesh/replicas';
import { startServers } from '@parley/servers/start-servers';
import { unabortedSignal } from '@parley/servers/testing/folder';
import { eventually } from '@parley/testing/eventually';
import { createGate, type Gate } from '@parley/testing/gate';
import test from 'ava';
import type { Client } from '../src/client.ts';
import { createAgent, follow, sendMessage, startSession } from '../src/conversation.ts';
import { reachable, testEnvironment } from '../src/mesh.ts';
import { startProcesses } from '../src/processes.ts';
import { startScriptedModel } from '../src/scripted-model.ts';

const places = 2;
const firstTokenMs = 3_000;

/** Starts one process of each unit that a turn needs, with PostgreSQL and Redis. */
async function startMesh() {
  await using closers = new AsyncDisposableStack();
  const servers = await startServers({ only: ['postgres', 'redis'] });
  closers.defer(() => servers.stop());
  const model = await startScriptedModel();
  closers.defer(() => model.server.stop());
  const logFolder = join(tmpdir(), `parley-places-${randomUUID()}`);
  closers.defer(() => rmSync(logFolder, { recursive: true, force: true }));
  const processes = await startProcesses({
    settings: {
      ...testEnvironment(model.env),
      ...servers.env,
      LOG_LEVEL: 'warn',
      HOSTED_SMALL_MODEL_FIRST_TOKEN_TIMEOUT_MS: String(firstTokenMs),
      EVALUATION_RPC_URL: '127.0.0.1:1', // the evaluation service is neither started nor called
    },
    logFolder,
    signal: unabortedSignal,
    plan: async () =>
      (await planReplicas()).map((wave) =>
        wave.filter(({ name, unit }) => name.endsWith('-1') && unit !== 'evaluation'),
      ),
    wire: ({ unit }, own) => (unit === 'agent' ? { ...own, SESSION_TURNS_AT_ONCE: String(places) } : own),
  });
  closers.defer(async () => void (await processes.stop()));
  const started = closers.move();
  const gateway = `http://127.0.0.1:${processes.publicPort}/graphql`;
  return { ...reachable([gateway]), model, stop: () => started.disposeAsync() };
}

test('waiting for a model slot does not count as turn time, tenants are served round robin, and all turns are answered', async (t) => {
  const { model, person, stop } = await startMesh();
  t.teardown(stop);
  const gates: Gate[] = [];
  model.answerOthers('Slow', () => {
    const gate = createGate();
    gate.release(); // lets the first word of the reply pass
    gates.push(gate);
    return { text: ['Just ', 'so.'], beforeDelta: gate };
  });
  const [busy, other] = [await person(), await person()];
  const conversations = async (client: Client, count: number) => {
    const agentId = await createAgent(client);
    return Promise.all(Array.from({ length: count }, async () => (await startSession(client, agentId)).id));
  };
  const [busyIds, otherIds] = [await conversations(busy, 5), await conversations(other, 1)];
  const watched = [...busyIds.map((id) => follow(t, busy, id)), ...otherIds.map((id) => follow(t, other, id))];
  for (const [n, id] of busyIds.entries()) await sendMessage(busy, id, `Slow ${n}`);
  await eventually('all places are taken', () => gates.length === places);
  for (const id of otherIds) await sendMessage(other, id, 'Quick.');

  const fromMs = performance.now();
  await eventually('a first word would be late', () => performance.now() - fromMs > 1.2 * firstTokenMs);
  t.is(model.server.requests.length, places, 'nobody else has been asked yet');
  for (const gate of gates.slice(0, places)) gate.open();
  await model.server.until(({ requests }) => requests.length === 2 * places);
  t.is(model.requestsFor('Quick.').length, 1, 'of the next two places each tenant has one');

  const opening = setInterval(() => gates.forEach((gate) => gate.open()), 10);
  t.teardown(() => clearInterval(opening));
  for (const events of watched) {
    const [end] = await events.turns(1);
    t.is(end?.__typename, 'AiResponseEvent');
  }
  t.is(model.server.requests.length, 6);
});
