import { readFileSync } from 'node:fs';
import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import type { Client } from '../../src/client.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import { readRows } from '../../src/invariants/read-rows.ts';
import { seconds, traffic } from './events-traffic.ts';
import { fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { type PostgresLine, postgresLine } from './postgres-line.ts';
import { type Line, startToxiproxy, type Toxiproxy } from './toxiproxy.ts';
import { toxiproxyTest } from './toxiproxy-test.ts';

/** So many sends, of all that lose an answer somewhere, leave their sender without an answer as well. */
const unknownSends = fullLength ? 80 : 8;
const shareOfCuts = 0.2;
const slowRequests = fullLength ? 400 : 150;
/** The heap that gateways have here: with more, V8 would not collect what is no longer used before the test is over. */
const heapMb = 160;
/** With what lies outside the heap. */
const maxMemoryMb = 400;
/** What a request to a subgraph may take in all. Default 30,000; the short form waits less. */
const subgraphTimeoutMs = fullLength ? 30_000 : 3_000;
const goalMs = 1_000;

let toxiproxy: Promise<Toxiproxy> | undefined;
let toSessions: Promise<Line> | undefined;
let toPostgres: Promise<PostgresLine> | undefined;
test.after.always('the lines end', async () => {
  await (await toPostgres?.catch(() => undefined))?.close();
  await (await toxiproxy?.catch(() => undefined))?.stop();
});

async function lineToSessions(upstream: string): Promise<Line> {
  toxiproxy ??= startToxiproxy();
  return (await toxiproxy).line(upstream);
}

/** Gateways reach the session subgraph over one line, and session and evaluation their database over another. */
const shared = sharedFaultMesh(test, {
  env: {
    GATEWAY_SUBGRAPH_TIMEOUT_MS: String(subgraphTimeoutMs),
    ...(!fullLength && { SESSION_LEASE_MS: '5000', EVALUATION_LEASE_MS: '5000' }),
  },
  async wire({ unit }, env) {
    if (unit === 'gateway') {
      toSessions ??= lineToSessions(new URL(env.SESSION_GRAPH_URL ?? '').host);
      return {
        ...env,
        NODE_OPTIONS: `--max-old-space-size=${heapMb}`,
        SESSION_GRAPH_URL: `http://${(await toSessions).address}`,
      };
    }
    if (unit !== 'session' && unit !== 'evaluation') return env;
    toPostgres ??= postgresLine(env.DATABASE_URL ?? '');
    return { ...env, DATABASE_URL: (await toPostgres).url };
  },
});

toxiproxyTest(
  meshEngines,
  'where the answer to a COMMIT is lost nothing is done twice, and nothing is left',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const line = await toPostgres;
    if (!line) throw new Error('nobody uses the line to PostgreSQL');
    const people = await Promise.all(Array.from({ length: 4 }, () => traffic(mesh)));
    const before = line.lost;
    const unknown = () => mesh.ledger.messages.filter(({ outcome }) => outcome === 'unknown').length;
    line.loseAnswers(shareOfCuts);
    try {
      const talking = people.map(async ({ talk }) => {
        // A start may be refused and have happened: such a session is nobody's, and idle.
        while (unknown() < unknownSends) await talk().catch(() => undefined);
      });
      await Promise.all(talking);
    } finally {
      line.loseAnswers(0);
    }
    // A relay that does not know that it holds an event lets go of it after 30 s.
    for (const { client, sessionIds } of people) for (const id of sessionIds) await mesh.ledger.end(client, id);
    // Who hears nothing of its commit asks once more where it had asked already.
    t.deepEqual(await mesh.settled({ timeoutMs: 120_000, repeats: line.lost - before }), []);
    const { messages } = await readRows(mesh.checker.database);
    const said = messages.filter(({ role }) => role === 'USER').map(({ sessionId, text }) => `${sessionId} ${text}`);
    t.is(new Set(said).size, said.length);
    t.log(`${line.lost - before} answers lost, ${said.length} messages, ${unknown()} sends whose fate nobody was told`);
  },
);

const memoryMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** What became of a request, and how long that took. */
async function timed(client: Client, query: string, variables: object = {}) {
  const before = performance.now();
  const { errors } = await client.send(query, variables);
  return { code: errors?.[0]?.extensions.code ?? 'OK', message: errors?.[0]?.message, ms: performance.now() - before };
}

const quantile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN;

toxiproxyTest(
  meshEngines,
  'a slow line to one subgraph holds up what needs that one, within bounds, and nothing else',
  async (t) => {
    t.timeout(300_000);
    const mesh = await shared();
    const line = await toSessions;
    if (!line) throw new Error('nobody uses the line to the session subgraph');
    const client = await mesh.person();
    const agentId = await createAgent(client);
    const { id } = await startSession(client, agentId);
    const gateways = ['gateway-1', 'gateway-2'].map(mesh.pid);
    const read = () => timed(client, 'query ($id: ID!) { session(id: $id) { id status } }', { id });
    const memory = () => gateways.map(memoryMb);
    await Promise.all(Array.from({ length: slowRequests }, read));
    t.is((await read()).code, 'OK');

    // Nothing comes back in time at first; then it does, one byte in a while.
    for (const toxic of [
      { type: 'latency', attributes: { latency: 10 * subgraphTimeoutMs } } as const,
      { type: 'slicer', attributes: { average_size: 1, size_variation: 0, delay: 1_000_000 } } as const,
    ]) {
      await line.add(toxic);
      const slow = Array.from({ length: slowRequests }, read);
      const over = new AbortController();
      const all = Promise.all(slow).finally(() => over.abort());
      const quick: number[] = [];
      while (!over.signal.aborted) {
        const { code, ms } = await timed(client, '{ agentCount myTenant { id } }');
        t.is(code, 'OK');
        quick.push(ms);
      }
      const outcomes = await all;
      t.deepEqual([...new Set(outcomes.map(({ code }) => code))], ['UNAVAILABLE']);
      t.regex(outcomes[0]?.message ?? '', /not available at the moment/);
      const longest = Math.max(...outcomes.map(({ ms }) => ms));
      t.true(longest < subgraphTimeoutMs + 3_000, `${longest} ms`);
      t.log(
        `${toxic.type}: ${slowRequests} requests given up after ${seconds(longest)} at most; of ${quick.length} others ` +
          `half took ${quantile(quick, 0.5).toFixed(0)} ms, 99 % below ${quantile(quick, 0.99).toFixed(0)} ms`,
      );
      t.true(quantile(quick, 0.95) < goalMs);

      await line.clear();
      const cleared = performance.now();
      await eventually('it works again', async () => (await read()).code === 'OK');
      t.true(performance.now() - cleared < 2_000);
    }
    t.log(
      `memory of the gateways: ${memory()
        .map((mb) => mb.toFixed(0))
        .join(' and ')} MB`,
    );
    t.true(memory().every((mb) => mb < maxMemoryMb));
    t.deepEqual(['gateway-1', 'gateway-2'].map(mesh.pid), gateways);
    await mesh.ledger.end(client, id);
    t.deepEqual(await mesh.settled(), []);
  },
);
