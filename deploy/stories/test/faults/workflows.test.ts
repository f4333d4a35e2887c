// Kills the processes that run workflows. At full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate, type Gate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import { createAction, outboundCallsOf, restApi } from '../../src/actions.ts';
import { createAgent, follow, readSession, startSession } from '../../src/conversation.ts';
import { idsGrow } from '../../src/session-events.ts';
import { attachWorkflow, createWorkflow, publishWorkflow, runsOf, workflowOf } from '../../src/workflows.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';

const shared = sharedFaultMesh(test);
/** The maximum number of concurrent calls to one action. */
const turnsInFlight = fullLength ? 8 : 4;
const timeoutMs = 60_000;

let runs = 0;

/**
 * Starts turns of one tenant through a workflow: action call, model call, action call, model call. Each of these four steps waits for its
 * own gate.
 */
async function workflowTurns(t: ExecutionContext, mesh: FaultMesh) {
  const client = await mesh.person();
  const run = ++runs;
  const gates: Record<Place, Gate> = {
    reserve: createGate(),
    draft: createGate(),
    order: createGate(),
    write: createGate(),
  };
  /** For each step, the items of the turns that have reached the step. If a turn reaches a step again, its item is added again. */
  const came: Record<Place, string[]> = { reserve: [], draft: [], order: [], write: [] };
  const keys: string[] = [];

  async function action(name: 'reserve' | 'order') {
    const { url } = await restApi(t, async ({ path, headers }, response) => {
      came[name].push(path.slice(1));
      keys.push(`${path} ${String(headers['idempotency-key'])}`);
      await gates[name].pass();
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ done: `${name} ${path.slice(1)}` }));
    });
    return createAction(client, { name, url: `${url}/{item}`, method: 'GET' });
  }
  function model(name: 'draft' | 'write') {
    const prompt = `Run ${run}, ${name} about `;
    mesh.model.answerOthers(prompt, (text) => {
      came[name].push(/item-\d+-\d+/u.exec(text)?.[0] ?? '');
      return { text: `The ${name}: ${text}`, beforeHeaders: gates[name] };
    });
    return prompt;
  }
  const args = { item: '{{ message }}' };
  const nodes = {
    known: { kind: 'condition', cases: [{ when: "message == ''", next: 'say' }], otherwise: 'reserve' },
    reserve: {
      kind: 'action',
      actionId: await action('reserve'),
      args,
      output: 'reserved',
      next: 'draft',
      onError: 'unknown',
    },
    draft: { kind: 'llm', prompt: `${model('draft')}{{ message }}`, output: 'draft', next: 'order' },
    order: { kind: 'action', actionId: await action('order'), args, output: 'ordered', next: 'write' },
    write: { kind: 'llm', prompt: `${model('write')}{{ message }}`, output: 'text', next: 'say' },
    say: {
      kind: 'response',
      text: '{{ variables.reserved.done }}; {{ variables.draft }}; {{ variables.ordered.done }}; {{ variables.text }}',
    },
  };
  const whole = Object.keys(nodes);
  const unknown = { kind: 'response', text: 'Nobody knows: {{ nodes.reserve.error.code }}' };
  const workflowId = await createWorkflow(client, { draft: workflowOf({ ...nodes, unknown }) });
  await publishWorkflow(client, workflowId);
  const agentId = await createAgent(client);
  await attachWorkflow(client, agentId, workflowId);

  const turns: { item: string; sessionId: number }[] = [];
  for (let n = 0; n < turnsInFlight; n += 1) {
    const { id: sessionId } = await startSession(client, agentId);
    const item = await mesh.ledger.send(client, sessionId, `item-${run}-${n}`);
    turns.push({ item, sessionId });
  }

  /** Waits until all turns have reached this step. */
  const all = (place: Place) =>
    eventually(`all turns come to ${place}`, () => new Set(came[place]).size === turnsInFlight, { timeoutMs });

  /**
   * Asserts that every turn ends once with the output of each node, that each call was sent once, and that the trace has each node once.
   * @param options.isCut whether the first call was interrupted, so that the turn got an error in place of the call's result. Default
   * false.
   */
  async function end({ isCut = false } = {}): Promise<void> {
    for (const gate of Object.values(gates)) gate.open();
    for (const { item, sessionId } of turns) {
      const messages = await eventually(
        `the reply about ${item}`,
        async () => {
          const session = await readSession(client, sessionId);
          return session.messages.length > 1 && session.messages;
        },
        { timeoutMs },
      );
      const said = (name: Place) => `The ${name}: Run ${run}, ${name} about ${item}`;
      t.is(messages.length, 2);
      t.is(
        messages[1]?.text,
        isCut ? 'Nobody knows: CALL_CANCELLED' : `reserve ${item}; ${said('draft')}; order ${item}; ${said('write')}`,
      );
      t.deepEqual(
        messages[1]?.toolCalls?.map(({ callId, status }) => `${callId} ${status}`),
        isCut ? ['reserve#1 CANCELLED'] : ['reserve#1 SUCCEEDED', 'order#1 SUCCEEDED'],
      );
      const [found, ...others] = await runsOf(client, sessionId);
      t.deepEqual(others, []);
      t.is(found?.status, 'ENDED');
      t.deepEqual(
        found?.trace.map(({ nodeId, error }) => [nodeId, error?.split(':')[0] ?? null]),
        isCut
          ? [
              ['known', null],
              ['reserve', 'CALL_CANCELLED'],
              ['unknown', null],
            ]
          : whole.map((nodeId) => [nodeId, null]),
      );
      // When a process was killed during a model call, the cost of that call is in the reply and in the ledger, but not in the run.
      t.true((messages[1]?.costUsd ?? 0) >= (found?.costUsd ?? Number.POSITIVE_INFINITY) - 1e-9);
      const events = follow(t, client, sessionId);
      await events.turns(1);
      t.is(events.ended.length, 1);
      t.is(events.streamed(0), messages[1]?.text ?? '');
      t.true(idsGrow(events.all));
      await mesh.ledger.end(client, sessionId);
    }
    const items = turns.map(({ item }) => item).toSorted();
    t.deepEqual(came.reserve.toSorted(), items, 'each is called once');
    t.deepEqual(came.order.toSorted(), isCut ? [] : items, 'each is called once');
    t.is(new Set(keys).size, keys.length);
    t.deepEqual(
      (await outboundCallsOf(client)).map(({ errorKind }) => errorKind),
      keys.map(() => (isCut ? 'CALL_CANCELLED' : null)),
    );
  }

  return {
    gates,
    all,
    end,
    /** Waits until the log of outbound calls contains the first call of every turn. */
    reserved: () =>
      eventually('all first calls have ended', async () => (await outboundCallsOf(client)).length === turnsInFlight, {
        timeoutMs,
      }),
  };
}

type Place = 'reserve' | 'draft' | 'order' | 'write';

const replicasOf = (unit: string) => [`${unit}-1`, `${unit}-2`];

/** Kills both replicas of a unit, one after the other, so that one is always running. A turn may be interrupted by both kills. */
async function kill(mesh: FaultMesh, unit: string): Promise<void> {
  for (const name of replicasOf(unit)) await (await mesh.kill(name)).back();
}

for (const unit of ['agent', 'session']) {
  serverTest(
    meshEngines,
    `after a kill -9 of ${unit}, turns continue after the last completed node, interrupted calls go to onError, and nothing is called again`,
    async (t) => {
      t.timeout(300_000);
      const mesh = await shared();
      const [between, within] = [await workflowTurns(t, mesh), await workflowTurns(t, mesh)];
      between.gates.reserve.open();
      // Here the first call of each turn of `between` has ended, and the model of the next node has not sent anything.
      await between.all('draft');
      await within.all('reserve');
      await kill(mesh, unit);
      await between.end();
      await within.end({ isCut: true });
      t.deepEqual(await mesh.settled(), []);
    },
  );
}

serverTest(
  meshEngines,
  'after a kill -9 of agent that has not stored the result of a call, the turn continues with that result',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const { gates, all, reserved, end } = await workflowTurns(t, mesh);
    await all('reserve');
    // Agents are paused, so that they do not process the results that arrive.
    for (const name of replicasOf('agent')) process.kill(mesh.pid(name), 'SIGSTOP');
    gates.reserve.open();
    await reserved();
    await kill(mesh, 'agent');
    await end();
    t.deepEqual(await mesh.settled(), []);
  },
);
