// Kills processes of every unit. At full length, this file has its own mesh.
import { setTimeout as delay } from 'node:timers/promises';
import { identitySchema } from '@parley/identity/schema';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import type { ReceivedRequest } from '@parley/testing/model-server';
import test, { type ExecutionContext } from 'ava';
import { createAgent, startSession } from '../../src/conversation.ts';
import { callerWithKey } from '../../src/direct-calls.ts';
import { judgement } from '../../src/scripted-model.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { type HeldTurn, holdTurns } from './held-turns.ts';
import { seconds } from './traffic.ts';

const shared = sharedFaultMesh(test);
const turnsInFlight = fullLength ? 200 : 20;
/** The maximum number of concurrent evaluations of one tenant. */
const judgementsInFlight = 4;
/** The maximum time after the restart until 99 % of the interrupted turns are done. */
const goalMs = 60_000;

/** Ends conversations, and holds their evaluations at the model until the returned gate opens. */
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

/**
 * Starts direct calls, and holds each call at the first word of its response. If the process that runs a call is killed, the call fails.
 */
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

type Call = Awaited<ReturnType<FaultMesh['rows']>>['calls'][number];

/**
 * Returns the kind of a model call: `session`, `evaluation`, or `direct` for any other, because requests to the model server show no more.
 */
function kindOf({ operation }: Pick<Call, 'operation'>): string {
  return operation === 'session' || operation === 'evaluation' ? operation : 'direct';
}

function kindAsked({ response_format: judges, messages }: ReceivedRequest['body']): string {
  if (judges) return 'evaluation';
  return messages[0]?.role === 'system' ? 'session' : 'direct';
}

/**
 * Asserts that each response that the model server billed is one call in the ledger. The call is exact if the response was received, and
 * estimated if the calling process was killed. Requests are distinguished by their number of input tokens.
 */
async function assertBilled(t: ExecutionContext, { rows, model }: FaultMesh): Promise<void> {
  const calls = (await rows()).calls.filter(({ operation }) => operation !== 'embed'); // allow-name embed: the ledger's word
  const figuresOf = (kind: string, modelId: string, { tokensIn, tokensOut }: Pick<Call, 'tokensIn' | 'tokensOut'>) =>
    `${kind} by ${modelId}: ${tokensIn} and ${tokensOut}`;
  const unclaimed = Map.groupBy(
    model.server.requests.flatMap(({ state, billed, body }) =>
      state === 'finished' && billed ? [{ kind: kindAsked(body), modelId: body.model, billed }] : [],
    ),
    ({ kind, modelId, billed }) => figuresOf(kind, modelId, billed),
  );
  const received = calls.filter(({ estimated, tokensIn, tokensOut }) => !estimated && tokensIn + tokensOut > 0);
  const notBilled = received.filter((call) => !unclaimed.get(figuresOf(kindOf(call), call.modelId, call))?.pop());
  t.deepEqual(notBilled, [], 'nothing twice');

  const cut = [...unclaimed.values()].flat();
  for (const kind of ['session', 'evaluation', 'direct']) {
    const lost = cut.filter((each) => each.kind === kind);
    const guessed = calls.filter((call) => call.estimated && kindOf(call) === kind);
    t.true(guessed.length >= lost.length, `nothing lost: ${kind}, ${JSON.stringify(lost)}`);
    const sum = (figures: { tokensOut: number }[]) => figures.reduce((all, { tokensOut }) => all + tokensOut, 0);
    t.true(sum(guessed) >= sum(lost.map(({ billed }) => billed)), `at least as much: ${kind}`);
  }
}

/** Returns the given turns that have ended so far, and the text of the last reply in each session. */
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

/** Kills these replicas together while turns and evaluations are running, and asserts that all turns and evaluations are completed. */
async function killAmongTurns(t: ExecutionContext, names: string[], mayFail: boolean): Promise<void> {
  t.timeout(400_000);
  const mesh = await shared();
  const gate = await judgesAtWork(mesh, names.join(' and '));
  const { turns, release } = await holdTurns(mesh, turnsInFlight);
  const visitor = await mesh.person();
  const { id: visit } = await startSession(visitor, await createAgent(visitor));
  const direct = await directCalls(mesh, names.join(' and '));
  const deaths = await Promise.all(names.map((name) => mesh.kill(name)));
  // New requests during the outage are served by the remaining replicas, or by the restarted ones.
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
  // Another agent cannot repeat a reply that has begun. If the agent is killed during a reply, the reply's turn is recorded as failed.
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

serverTest(meshEngines, 'a kill -9 of one replica of each unit, among many turns, loses and duplicates nothing', (t) =>
  killAmongTurns(t, ['identity-1', 'agent-1', 'session-1', 'evaluation-1', 'gateway-1'], true),
);

/** Returns the spent and the reserved part of the spend cap, in 1e-8 USD. */
async function spendOf({ database }: FaultMesh, tenantId: number) {
  const months = await database(identitySchema.name).transact<{ spentUsd: string; reservedUsd: string }[]>(
    tenantId,
    ({ knex }) => knex('usage_months').select('spentUsd', 'reservedUsd'),
  );
  const sum = (amounts: string[]) => amounts.reduce((all, usd) => all + BigInt(usd.replace('.', '')), 0n);
  return {
    spent: sum(months.map(({ spentUsd }) => spentUsd)),
    reserved: sum(months.map(({ reservedUsd }) => reservedUsd)),
  };
}

const callsAtOnce = 100;
/**
 * Half of the spend cap, as usage of gpt-4o-mini (0.15 and 0.6 USD per million tokens). After two calls with this usage, the rest of the
 * cap is less than the maximum cost of one call.
 */
const halfOfCap = { completion_tokens: 8_332_000 };

serverTest(
  meshEngines,
  'after a kill -9 of agent with a hundred calls just below the spend cap, the interrupted one is charged its estimate, once',
  async (t) => {
    t.timeout(400_000);
    const mesh = await shared();
    const { model } = mesh;
    const owner = await mesh.person();
    const { id: tenantId } = await owner.value<{ id: number }>('{ myTenant { id } }');
    const { generate } = await callerWithKey(owner);
    const answered = ['One half of the cap', 'The other half of the cap'];
    for (const text of answered) {
      model.answer(text, { usage: halfOfCap });
      t.is((await generate(text, { provider: null })).errors, undefined);
    }
    const billed = answered
      .flatMap((text) => model.requestsFor(text).flatMap((request) => request.billed ?? []))
      .reduce((sum, { tokensIn, tokensOut }) => sum + BigInt(15 * tokensIn + 60 * tokensOut), 0n);
    const isFree = async () => (await spendOf(mesh, tenantId)).reserved === 0n;
    await eventually('both are settled', isFree);
    t.is((await spendOf(mesh, tenantId)).spent, billed);

    const text = 'Asked a hundred times at once';
    model.answer(text, { beforeHeaders: createGate() });
    const calls = Array.from({ length: callsAtOnce }, () => generate(text, { provider: null }));
    const asked = await eventually('one call is made', () => model.requestsFor(text)[0]);
    const { reserved } = await spendOf(mesh, tenantId);
    t.true(reserved > 0n);
    const isCut = () => asked.state === 'cancelled';
    // The model server cannot see which agent made the request, so the agents are killed one after the other until the call is cut.
    let killed = performance.now();
    for (const name of ['agent-1', 'agent-2']) {
      killed = performance.now();
      const { back } = await mesh.kill(name);
      const cut = await eventually('its call is cut', isCut, { timeoutMs: 2_000 }).catch(() => false);
      await back();
      if (cut) break;
    }
    t.true(isCut());

    const answers = await Promise.all(calls);
    const reasons = answers.map(({ errors }) => errors?.[0]?.extensions).map((given) => given?.reason ?? given?.code);
    t.true(reasons.includes('SPEND_CAP_REACHED'));
    // Calls with any other error were waiting in the killed process.
    const others = reasons.filter((reason) => reason !== 'SPEND_CAP_REACHED');
    t.log(`${others.length} of ${callsAtOnce} calls were not refused at the cap`);
    t.true(
      others.every((reason) => reason?.endsWith('UNAVAILABLE')),
      JSON.stringify(others),
    );
    t.is(model.requestsFor(text).length, 1, 'no call beyond the cap reaches the model');

    await eventually('nothing is reserved', isFree, { timeoutMs: goalMs });
    t.true(performance.now() - killed < goalMs);
    t.deepEqual(await spendOf(mesh, tenantId), { spent: billed + reserved, reserved: 0n });
    const own = (await mesh.rows()).calls.filter((call) => call.tenantId === tenantId && call.tokensIn > 0);
    t.is(own.length, answered.length + 1);
    t.is(own.filter(({ estimated }) => estimated).length, 1);
    t.deepEqual(await mesh.settled(), []);
    await assertBilled(t, mesh);
  },
);
