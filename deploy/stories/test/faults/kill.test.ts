// A mesh of its own at full length: it kills every unit.
import { setTimeout as delay } from 'node:timers/promises';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { createAgent, startSession } from '../../src/conversation.ts';
import { callerWithKey } from '../../src/direct-calls.ts';
import { judgement } from '../../src/scripted-model.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { type HeldTurn, holdTurns } from './held-turns.ts';
import { seconds } from './traffic.ts';

const shared = sharedFaultMesh(test);
const turnsInFlight = fullLength ? 200 : 20;
/** As many as one tenant may have at once. */
const judgementsInFlight = 4;
/** Most of what was under way is done again by then, counted from the restart. */
const goalMs = 60_000;

/** Conversations that have ended, each with a judge who thinks until the gate opens. */
async function judgesAtWork({ person, ledger, model }: FaultMesh, title: string) {
  const gate = createGate();
  const client = await person();
  const agentId = await createAgent(client);
  for (let n = 0; n < judgementsInFlight; n += 1) {
    const { id } = await startSession(client, agentId);
    const text = await ledger.send(client, id, `Judged after ${title}, ${n}.`);
    model.judge(text, { beforeHeaders: gate, json: judgement });
    await eventually('its reply', () => model.requestsFor(text).some(({ state }) => state === 'finished'));
    await ledger.end(client, id);
  }
  const underWay = () => model.server.requests.filter(({ body, state }) => body.response_format && state === 'running');
  await eventually('the judges are asked', () => underWay().length >= judgementsInFlight);
  return gate;
}

/** Calls without a session, each held at its first word; those that a dead process has made fail. */
async function directCalls({ person, model }: FaultMesh, title: string) {
  const { generate } = await callerWithKey(await person());
  const gate = createGate();
  const text = `Directly asked before ${title}`;
  model.answer(text, { text: 'Said at last.', beforeDelta: gate });
  const calls = Array.from({ length: 10 }, () => generate(text, { provider: null }));
  const all = Promise.allSettled(calls);
  await eventually('all are asked', () => model.requestsFor(text).length === calls.length);
  return {
    async ended() {
      gate.open();
      await all;
    },
  };
}

/** What the model server has billed is spent: exactly where its answer was received, at an estimate where its caller was gone. */
async function assertBilled(t: ExecutionContext, { rows, model }: FaultMesh): Promise<void> {
  const { calls } = await rows();
  const tokens = (some: typeof calls) => some.reduce((sum, { tokensOut }) => sum + tokensOut, 0);
  const { tokensOut } = model.server.billed;
  t.true(tokens(calls.filter(({ estimated }) => !estimated)) <= tokensOut, 'nothing twice');
  t.true(tokens(calls) >= tokensOut, 'nothing lost');
  t.true(calls.length >= model.server.counts.finished, 'each answer has a row');
}

/** Those of the turns that have ended by now, with what became of them. */
async function endsOf(mesh: FaultMesh, turns: HeldTurn[]) {
  const rows = await mesh.rows();
  const ids = new Set(turns.map(({ sessionId }) => sessionId));
  return {
    ended: rows.turns.filter(({ sessionId, state }) => ids.has(sessionId) && (state === 'DONE' || state === 'FAILED')),
    replies: new Map(
      rows.messages.flatMap(({ role, sessionId, text }) => (role === 'MODEL' ? [[sessionId, text] as const] : [])),
    ),
  };
}

/** Kills these replicas at once among turns and judgements under way, and looks at what becomes of all that. */
async function killAmongTurns(t: ExecutionContext, names: string[], mayFail: boolean): Promise<void> {
  t.timeout(400_000);
  const mesh = await shared();
  const gate = await judgesAtWork(mesh, names.join(' and '));
  const { turns, release } = await holdTurns(mesh, turnsInFlight);
  const visitor = await mesh.person();
  const { id: visit } = await startSession(visitor, await createAgent(visitor));
  const direct = await directCalls(mesh, names.join(' and '));
  const deaths = await Promise.all(names.map((name) => mesh.kill(name)));
  // Whoever comes meanwhile is served, by the replicas that are left and by those that come back.
  const served = mesh.ledger.send(visitor, visit, `Sent after the end of ${names.join(' and ')}`);
  const backMs = await Promise.all(deaths.map(({ back }) => back()));
  const restarted = performance.now();
  release();
  gate.open();
  await direct.ended();
  await served;
  await mesh.ledger.end(visitor, visit);
  const enough = async () => (await endsOf(mesh, turns)).ended.length >= turns.length * 0.99;
  while (!(await enough())) {
    t.true(performance.now() - restarted < goalMs, '99 % are done');
    await delay(200);
  }
  const tookMs = performance.now() - restarted;
  for (const { client, sessionId } of turns) await mesh.ledger.end(client, sessionId);
  t.deepEqual(await mesh.settled({ timeoutMs: 2 * goalMs }), []);

  await assertBilled(t, mesh);
  const { ended, replies } = await endsOf(mesh, turns);
  const failures = ended.filter(({ state }) => state === 'FAILED');
  t.log(
    `${turns.length} turns in flight, ${names.join(', ')} back after ${backMs.map(seconds).join(', ')}; 99 % done ` +
      `${seconds(tookMs)} later, ${failures.length} recorded failures`,
  );
  t.true(tookMs < goalMs);
  const failed = new Set(failures.map(({ sessionId }) => sessionId));
  for (const { sessionId, reply } of turns) {
    if (!failed.has(sessionId)) t.is(replies.get(sessionId), reply);
  }
  // A reply that has begun cannot be repeated elsewhere: that of the killed agent is recorded as failed.
  if (!mayFail) t.is(failures.length, 0);
  t.true(failures.every(({ failureCode }) => failureCode?.startsWith('MODEL_')));
}

if (fullLength) {
  for (const name of ['identity-1', 'agent-1', 'agent-2', 'session-1', 'session-2', 'evaluation-1', 'gateway-1']) {
    serverTest(meshEngines, `a kill -9 of ${name} among ${turnsInFlight} turns loses and duplicates nothing`, (t) =>
      killAmongTurns(t, [name], name.startsWith('agent')),
    );
  }
}

serverTest(meshEngines, 'a kill -9 of one of each unit at once, among many turns, loses and duplicates nothing', (t) =>
  killAmongTurns(t, ['identity-1', 'agent-1', 'session-1', 'evaluation-1', 'gateway-1'], true),
);
