// Kills a gateway whose responses are held back, and loses responses to COMMIT in the proxy to PostgreSQL. At full length, this file has
// its own mesh.
import { randomInt } from 'node:crypto';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import type { Answer, Client } from '../../src/client.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import { callerWithKey, usageOf } from '../../src/direct-calls.ts';
import { type FaultMesh, fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { sessionLine, slowDown, unhindered } from './session-line.ts';

const shared = sharedFaultMesh(test, { tap: sessionLine });
const rounds = fullLength ? 200 : 20;

const start = 'mutation ($agentId: Int!) { startSession(input: { agentId: $agentId, clientExternalId: "x" }) { id } }';
const send = 'mutation ($input: SendMessageInput!) { sendMessage(input: $input) { id } }';
const generate = 'query ($input: GenerateTextInput!) { generateText(input: $input) { text } }';

/** Repeats a request with the same idempotency key until the request succeeds. */
async function insist<Data>(client: Client, query: string, variables: object, key: string): Promise<Data> {
  let last = '';
  const once = async () => {
    // Each attempt uses another client address, because the rate limit of direct calls applies to each address.
    const headers = { 'idempotency-key': key, 'x-forwarded-for': `10.9.${randomInt(256)}.${randomInt(1, 255)}` };
    const answer = await client.send<Data>(query, variables, headers).catch((error: unknown) => error as Error);
    last = answer instanceof Error ? String(answer) : answer.text;
    if (answer instanceof Error) return undefined;
    const code = answer.errors?.[0]?.extensions.code;
    if (code !== undefined && code !== 'CONFLICT' && code !== 'UNAVAILABLE') throw new Error(last);
    return answer.errors ? undefined : answer.data;
  };
  return eventually(`an answer after ${last}`, once, { timeoutMs: 60_000 }) as Promise<Data>;
}

/** Returns the sessions and user messages of one agent. */
async function rowsOf(mesh: FaultMesh, agent: number) {
  const rows = await mesh.rows();
  const sessions = rows.sessions.filter(({ agentId }) => agentId === agent).map(({ id }) => id);
  const messages = rows.messages.filter(({ role, sessionId }) => role === 'USER' && sessions.includes(sessionId));
  return { sessions, messages: messages.map(({ text }) => text) };
}

serverTest(
  meshEngines,
  'when a gateway is killed between effect and response, retries get one session, one message and one metered call',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const ada = await mesh.person();
    const agentId = await createAgent(ada);
    const { id: sessionId } = await startSession(ada, agentId);
    const { caller } = await callerWithKey(ada);
    const gate = createGate();
    mesh.model.answer('Think before the end.', { text: 'Thought.', beforeHeaders: gate });
    const [dying = t.fail()] = mesh.gateways;
    const requests = [
      { client: ada, query: start, variables: { agentId }, key: 'start' },
      { client: ada, query: send, variables: { input: { sessionId, text: 'Said once.' } }, key: 'send' },
      { client: caller(), query: generate, variables: { input: { prompt: 'Think before the end.' } }, key: 'generate' },
    ];

    slowDown({ pauseMs: 10 * 60_000, bytes: Number.POSITIVE_INFINITY });
    const unanswered = requests.map(({ client, query, variables, key }) =>
      Object.assign(client.at(dying), { apiKey: client.apiKey }).send(query, variables, { 'idempotency-key': key }),
    );
    const failures = Promise.allSettled(unanswered);
    await eventually('all have taken effect', async () => {
      const { sessions, messages } = await rowsOf(mesh, agentId);
      const asked = mesh.model.requestsFor('Think before the end.').length;
      return sessions.length === 2 && messages.length === 1 && asked === 1;
    });
    const { back } = await mesh.kill('gateway-1');
    slowDown(unhindered);
    t.true((await failures).every(({ status }) => status === 'rejected'));
    gate.open();

    const answers = await Promise.all(
      requests.map(({ client, query, variables, key }) => insist<object>(client, query, variables, key)),
    );
    const { sessions, messages } = await rowsOf(mesh, agentId);
    const started = sessions.find((id) => id !== sessionId);
    t.deepEqual(answers, [
      { startSession: { id: started } },
      { sendMessage: { id: sessionId } },
      { generateText: { text: 'Thought.' } },
    ]);
    t.is(sessions.length, 2);
    t.deepEqual(messages, ['Said once.']);
    t.is(mesh.model.requestsFor('Think before the end.').length, 1);
    // allow-name generateText: the operation's name in the ledger
    const counted = async () =>
      (await usageOf(ada)).breakdown.find(({ operation }) => operation === 'generateText')?.count;
    t.is(await counted(), 1);

    await back();
    for (const id of sessions) await mesh.ledger.end(ada, id);
    t.deepEqual(await mesh.settled(), []);
  },
);

serverTest(meshEngines, 'when responses to COMMIT are lost, a retry with the key does nothing twice', async (t) => {
  t.timeout(300_000);
  const mesh = await shared();
  const ada = await mesh.person();
  const agentId = await createAgent(ada);
  const before = mesh.toPostgres.lost();
  mesh.toPostgres.loseAnswers(0.3);
  try {
    await Promise.all(
      Array.from({ length: rounds }, async (_, n) => {
        const { startSession: session } = await insist<{ startSession: { id: number } }>(
          ada,
          start,
          { agentId },
          `start ${n}`,
        );
        const input = { sessionId: session.id, text: `Message ${n}` };
        await insist<Answer<unknown>>(ada, send, { input }, `send ${n}`);
      }),
    );
  } finally {
    mesh.toPostgres.loseAnswers(0);
  }
  const lost = mesh.toPostgres.lost() - before;
  const { sessions, messages } = await rowsOf(mesh, agentId);
  t.is(sessions.length, rounds);
  t.deepEqual(messages.toSorted(), Array.from({ length: rounds }, (_, n) => `Message ${n}`).toSorted());
  t.true(lost > 0);
  for (const id of sessions) await mesh.ledger.end(ada, id);
  t.deepEqual(await mesh.settled({ timeoutMs: 120_000, repeats: lost }), []);
});
