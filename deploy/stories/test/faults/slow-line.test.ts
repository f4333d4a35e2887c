// Slows down the connection to one subgraph. At full length, this file has its own mesh.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { serverTest } from '@parley/servers/testing/server-test';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import type { Client } from '../../src/client.ts';
import { createAgent, startSession } from '../../src/conversation.ts';
import { fullLength, meshEngines, sharedFaultMesh } from './fault-mesh.ts';
import { sessionLine, slowDown, unhindered } from './session-line.ts';
import { seconds } from './traffic.ts';

const slowRequests = fullLength ? 400 : 60;
/**
 * Heap limit of gateways. With a higher limit, V8 would not collect garbage during the test. With a limit of 160 MB, gateways would spend
 * most of their time collecting garbage.
 */
const heapMb = 256;
/** Limit for a gateway's memory, inside and outside the heap. */
const maxMemoryMb = 500;
/** The pause between two probe requests. Probe requests measure delays, and the pause keeps their load negligible. */
const paceMs = 50;
/** Total timeout of a request to a subgraph, in ms. The full length uses the default; the short form waits less. */
const subgraphTimeoutMs = fullLength ? 30_000 : 5_000;

const shared = sharedFaultMesh(test, {
  env: { GATEWAY_SUBGRAPH_TIMEOUT_MS: String(subgraphTimeoutMs) },
  wire: ({ unit }, env) => (unit === 'gateway' ? { ...env, NODE_OPTIONS: `--max-old-space-size=${heapMb}` } : env),
  tap: sessionLine,
});

const memoryMb = (pid: number) =>
  Number(/VmRSS:\s+(\d+) kB/u.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Sends a request and returns its outcome and duration. */
async function timed(client: Client, query: string, variables: object = {}) {
  const before = performance.now();
  const { errors } = await client.send(query, variables);
  return { code: errors?.[0]?.extensions.code ?? 'OK', message: errors?.[0]?.message, ms: performance.now() - before };
}

const quantile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? Number.NaN;

serverTest(
  meshEngines,
  'a slow connection to one subgraph delays only requests that need it, and only within bounds',
  async (t) => {
    t.timeout(300_000);
    t.teardown(() => slowDown(unhindered)); // the next test uses the same mesh
    const mesh = await shared();
    const client = await mesh.person();
    const agentId = await createAgent(client);
    const { id } = await startSession(client, agentId);
    const gateways = ['gateway-1', 'gateway-2'].map(mesh.pid);
    const read = () => timed(client, 'query ($id: ID!) { session(id: $id) { id status } }', { id });
    const memory = () => gateways.map(memoryMb);
    /** Sends many concurrent requests that need the session subgraph. Meanwhile sends, one by one, requests that do not need it. */
    async function burst() {
      const begun = performance.now();
      const over = new AbortController();
      const all = Promise.all(Array.from({ length: slowRequests }, read)).finally(() => over.abort());
      const others: number[] = [];
      while (!over.signal.aborted) {
        const { code, ms } = await timed(client, '{ agentCount myTenant { id } }');
        t.is(code, 'OK');
        others.push(ms);
        await delay(paceMs);
      }
      return { outcomes: await all, others: quantile(others, 0.95), tookMs: performance.now() - begun };
    }
    await burst();
    const usual = await burst();
    t.deepEqual([...new Set(usual.outcomes.map(({ code }) => code))], ['OK']);

    // First case: no response arrives in time. Second case: responses arrive very slowly.
    for (const [how, slowness] of [
      ['late', { pauseMs: 10 * subgraphTimeoutMs, bytes: Number.POSITIVE_INFINITY }],
      ['byte by byte', { pauseMs: 1_000, bytes: 1 }],
    ] as const) {
      slowDown(slowness);
      const { outcomes, others } = await burst();
      const codes = new Set(outcomes.map(({ code }) => code));
      codes.delete('TOO_MANY_REQUESTS'); // refusals of calls whose estimated wait in the queue was too long
      t.deepEqual([...codes], ['UNAVAILABLE']);
      t.regex(outcomes.find(({ code }) => code === 'UNAVAILABLE')?.message ?? '', /not available at the moment/);
      const longest = Math.max(...outcomes.map(({ ms }) => ms));
      t.log(
        `${how}: ${slowRequests} requests given up after ${seconds(longest)} at most, usually answered within ` +
          `${seconds(usual.tookMs)}; 95 % of the others took ${others.toFixed(0)} ms at most, usually ${usual.others.toFixed(0)} ms`,
      );
      t.true(longest < subgraphTimeoutMs + 10 * usual.tookMs);
      t.true(others < 10 * usual.others);

      slowDown(unhindered);
      const cleared = performance.now();
      await eventually('it works again', async () => (await read()).code === 'OK');
      t.true(performance.now() - cleared < 10 * usual.tookMs);
    }
    t.log(`memory of the gateways: ${memory().map(Math.round).join(' and ')} MB`);
    t.true(memory().every((mb) => mb < maxMemoryMb));
    t.deepEqual(['gateway-1', 'gateway-2'].map(mesh.pid), gateways);
    await mesh.ledger.end(client, id);
    t.deepEqual(await mesh.settled(), []);
  },
);
