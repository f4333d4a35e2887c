import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@parley/stories/client';
import { createAgent, sendMessage, startSession } from '@parley/stories/conversation';
import { messageOf } from '@parley/stories/scripted-model';
import { atOnce, type Figure, figure, oneByOne } from '../figures.ts';
import { type Flood, operations, type Scene, sum, whereRefused } from './flood.ts';

const begins = 'A burst: ';
const messagesOf = 'query ($id: ID!) { session(id: $id) { messages { role } } }';
const usage = '{ apiUsageSummary { costThisMonthUsd breakdown { operation count } } }';
/** The maximum time until the whole burst has been replied to. */
const longestMs = 300_000;

/**
 * A flood with more concurrent turns than a process runs: each of many sessions sends several messages, and replies are slow. The sessions
 * belong to a few tenants.
 */
export const burstOfTurns: Flood = {
  name: 'a burst of turns',
  probes: ['query', 'turn'],
  run,
};

async function run(scene: Scene): Promise<Figure[]> {
  const { short, say, mesh, model, logged } = scene;
  const [tenants, sessions, messages] = short ? [2, 2, 2] : [6, 40, 3];
  const words = Array.from({ length: 20 }, (_, n) => `word ${n} `);
  const slowly = { text: words, deltaDelayMs: short ? 5 : 500, usage: { prompt_tokens: 100, completion_tokens: 20 } };
  model.answerWith((body) => (messageOf(body).startsWith(begins) ? slowly : {}));
  const sent = operations();

  const owners = await oneByOne(tenants, async (n) => {
    const owner = new Client(mesh.urls[n % mesh.urls.length] ?? '');
    await owner.register();
    return { owner, agentId: await createAgent(owner) };
  });

  /** Sends all messages of one visitor at once, from a separate IP address. */
  async function visit(owner: Client, agentId: number, name: string) {
    const visitor = owner.at(owner.url);
    let session = await sent.count(() => startSession(visitor, agentId));
    while (!session) {
      await delay(1_000);
      session = await sent.count(() => startSession(visitor, agentId));
    }
    const { id } = session;
    const events = visitor.subscribe(id, { after: '0', timeoutMs: longestMs });
    const accepted = await atOnce(messages, (n) =>
      sent.count(async () => {
        await sendMessage(visitor, id, `${begins}${name}, ${n}`);
        return true;
      }),
    );
    const taken = accepted.filter(Boolean).length;
    await events.turns(taken).catch(() => undefined);
    const ends = events.ended.map(({ turnIndex }) => turnIndex);
    const read = () => visitor.value<{ messages: { role: string }[] }>(messagesOf, { id }).catch(whereRefused);
    let stored = await read();
    while (!stored) {
      await delay(1_000);
      stored = await read();
    }
    const roles = stored.messages.map(({ role }) => role);
    const asked = roles.filter((role) => role === 'USER').length;
    const answered = roles.slice(roles.indexOf('USER')).filter((role) => role === 'MODEL').length; // the greeting is not counted
    await events.close();
    return {
      withoutEnd: Math.max(0, taken - new Set(ends).size),
      endedTwice: ends.length - new Set(ends).size + Math.max(0, answered - asked),
      failed: events.failures.length,
    };
  }

  say(`${tenants * sessions} sessions with ${messages} messages each`);
  const begunAt = performance.now();
  const visits = await Promise.all(
    owners.flatMap(({ owner, agentId }, tenant) =>
      Array.from({ length: sessions }, (_, n) => visit(owner, agentId, `${tenant}, ${n}`)),
    ),
  );
  const seconds = (performance.now() - begunAt) / 1_000;

  // Reads the ledger several times, because its entries may be written shortly after the replies.
  const asked = model.requests.filter(({ body }) => messageOf(body).startsWith(begins));
  const ledgered = async () => {
    const read = await oneByOne(owners.length, async (n) => owners[n]?.owner.query<Usage>(usage));
    return sum(read.flatMap((each) => each?.apiUsageSummary.breakdown ?? []).map(({ count }) => count));
  };
  let inLedger = await ledgered();
  for (let tries = 0; inLedger < asked.length && tries < 40; tries += 1) {
    await delay(1_000);
    inLedger = await ledgered();
  }
  const ofVisits = (what: keyof (typeof visits)[number]) => sum(visits.map((each) => each[what]));
  const isDifferent = new Set(asked.map(({ body }) => messageOf(body))).size;
  return [
    ...sent.figures(),
    figure('until all turns have ended', seconds, 's'),
    figure('messages without an end of their turn', ofVisits('withoutEnd'), 'in all', { goal: 0 }),
    figure('messages with two ends', ofVisits('endedTwice'), 'in all', { goal: 0 }),
    figure('turns that failed', ofVisits('failed'), 'in all', { goal: 0 }),
    figure('calls of the model', asked.length, 'in all'),
    figure('calls of the model beyond one for each message', asked.length - isDifferent, 'in all', { goal: 0 }),
    figure('calls of the model that no ledger has', asked.length - inLedger, 'in all', { goal: 0 }),
    figure('leases that expired while their process ran', logged('job lease expired'), 'in all', { goal: 0 }),
    figure('renewals of leases that failed', logged('job lease renewal failed'), 'in all', { goal: 0 }),
    figure('settlements of spend that failed at first', logged('spend settlement failed'), 'in all', { goal: 0 }),
    figure('calls of subgraphs that failed', logged('subgraph call failed'), 'in all', { goal: 0 }),
    figure('waits for a connection that failed', logged('Timeout acquiring a connection'), 'in all', { goal: 0 }),
  ];
}

interface Usage {
  apiUsageSummary: { breakdown: { operation: string; count: number }[] };
}
