// Kills the processes that call tools. In a run at full length, this file has its own mesh.
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test, { type ExecutionContext } from 'ava';
import type { ToolCallStatus } from '../../../../services/session/src/generated/schema.ts';
import { createAction, outboundCallsOf, restApi } from '../../src/actions.ts';
import { createAgent, follow, readSession, startSession } from '../../src/conversation.ts';
import { idsGrow } from '../../src/session-events.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';

const shared = sharedFaultMesh(test);
/** The maximum number of concurrent calls to one action. */
const turnsInFlight = fullLength ? 8 : 4;
const timeoutMs = 60_000;

let runs = 0;

/** Starts turns of one tenant. Each turn calls an action once and then replies. The call's response and the reply each wait for a gate. */
async function callingTurns(t: ExecutionContext, mesh: FaultMesh) {
  const client = await mesh.person();
  const [answers, replies] = [createGate(), createGate()];
  const called: string[] = [];
  const { url } = await restApi(t, async ({ path }, response) => {
    called.push(path);
    await answers.pass();
    response.end('two euros');
  });
  const actionId = await createAction(client, { name: 'price', url: `${url}/{item}`, method: 'GET' });
  const agentId = await createAgent(client, { tools: [{ actionId }] });
  const run = ++runs;
  /** The tool results that the model has received, by item. Each model request that continues the item's turn adds one. */
  const results = new Map<string, string[]>();
  const turns: { item: string; text: string; sessionId: number }[] = [];
  for (let n = 0; n < turnsInFlight; n += 1) {
    const item = `item-${run}-${n}`;
    const asked = `What is the price of ${item}`;
    // In every other turn the model sends text before the call.
    const before = n % 2 === 0 ? {} : { text: 'I look.' };
    mesh.model.answerOthers(asked, (_text, sent) => {
      const [result] = sent.results;
      if (!result) return { ...before, toolCalls: [{ name: 'price', arguments: { item } }] };
      results.set(item, [...(results.get(item) ?? []), result.text]);
      return { text: `The price of ${item} is known.`, beforeHeaders: replies };
    });
    const { id: sessionId } = await startSession(client, agentId);
    turns.push({ item, sessionId, text: await mesh.ledger.send(client, sessionId, `${asked}, please?`) });
  }
  await eventually('all calls run', () => called.length === turnsInFlight, { timeoutMs });

  /**
   * Asserts that every turn ends once with a reply that contains one call with this status, that each call was sent once, and that the
   * invariants hold.
   */
  async function end(status: ToolCallStatus, errorKind: string | null): Promise<void> {
    answers.open();
    replies.open();
    for (const { item, sessionId } of turns) {
      const { messages } = await eventually(
        `the reply about ${item}`,
        async () => {
          const session = await readSession(client, sessionId);
          return session.messages.length > 1 && session;
        },
        { timeoutMs },
      );
      t.is(messages.length, 2);
      t.regex(messages[1]?.text ?? '', new RegExp(`^(I look\\.\n\n)?The price of ${item} is known\\.$`, 'u'));
      const calls = messages[1]?.toolCalls?.map((call) => ({ ...call, durationMs: 0 }));
      t.deepEqual(calls, [{ callId: '1.0', name: 'price', status, errorKind, durationMs: 0 }]);
      const events = follow(t, client, sessionId);
      await events.turns(1);
      t.is(events.ended.length, 1);
      t.is(events.toolCalls.at(-1)?.callStatus, status);
      t.true(idsGrow(events.all));
      await mesh.ledger.end(client, sessionId);
    }
    t.deepEqual(called.toSorted(), turns.map(({ item }) => `/${item}`).toSorted(), 'each is called once');
    const log = await outboundCallsOf(client);
    t.deepEqual(
      log.map((call) => call.errorKind),
      turns.map(() => errorKind),
    );
    t.deepEqual(await mesh.settled(), []);
  }

  return { answers, results, end };
}

/** Kills both agents, one after the other, so that one is always running. A turn may be interrupted by both kills. */
async function killAgents(mesh: FaultMesh): Promise<void> {
  for (const name of ['agent-1', 'agent-2']) await (await mesh.kill(name)).back();
}

serverTest(
  meshEngines,
  'after a kill -9 of agent during a call, nothing is called again, and the model receives the call as cancelled',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const { end } = await callingTurns(t, mesh);
    await killAgents(mesh);
    // The death of the requesting process cancels the call.
    await end('CANCELLED', 'CALL_CANCELLED');
  },
);

serverTest(
  meshEngines,
  'after a kill -9 of agent between result and reply, nothing is called again, and the model receives the result again',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const { answers, results, end } = await callingTurns(t, mesh);
    answers.open();
    await eventually('the model knows all results', () => results.size === turnsInFlight, { timeoutMs });
    await killAgents(mesh);
    await end('SUCCEEDED', null);
    for (const [first = '', ...again] of results.values()) {
      t.true(again.length > 0);
      for (const told of [first, ...again]) t.regex(told, /two euros/u);
    }
  },
);

serverTest(
  meshEngines,
  'after a kill -9 of action during a call, nothing is called again, and the turn continues with an interrupted call',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const { end } = await callingTurns(t, mesh);
    const { back } = await mesh.kill('action-1');
    await end('FAILED', 'CALL_INTERRUPTED');
    await back();
  },
);
