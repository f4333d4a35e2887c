import { memoryKeyValue } from '@parley/chassis/key-value/memory-key-value';
import { createLogger } from '@parley/chassis/log';
import { redisEngines } from '@parley/chassis/redis/redis-engines';
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';
import { readSupergraph } from '../../../gateway/src/graph/supergraph.ts';
import { createThrottle } from '../../../gateway/src/limits/throttle.ts';
import { ask, openReaders, type Readers } from './client.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { type BenchOptions, settled } from './options.ts';
import { type Child, collectedKb, perCpuSecond, startChild } from './processes.ts';

const sessionId = 1;

/** The gateway alone, in front of services that answer at once, beside what it is made of. Each in a process of its own. */
export async function gatewayFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, short, say } = options;
  const standIns = await startChild<{ env: Record<string, string>; token: string }>('stand-ins.ts');
  const { env, token } = standIns.hello;
  const ours = await startChild('our-gateway.ts', { env });
  const bare = await startChild('bare-gateway.ts', { env });
  const bareSockets = await startChild('bare-sockets.ts');
  try {
    say(`query of two subgraphs, ${rounds} rounds`);
    const federated = await federatedFigures(ours, bare, token, options);
    say('throttle');
    const throttle = await throttleFigures();
    say('idle sockets');
    const fresh = await startChild('our-gateway.ts', { env }); // one that nothing else has grown before
    const idle = await idleFigures([fresh.hello, token, sessionId], [fresh.pid], options, [50, 1_000]);
    await fresh.stop();
    say(`chunks to many readers, ${rounds} rounds`);
    const [readers, events, waves, warmUp] = short ? [5, 100, 2, 1] : [50, 100, 10, 3];
    const own = await openReaders(ours.hello, token, readers, sessionId);
    const other = await openReaders(bareSockets.hello, token, readers, sessionId);
    await settled(options);
    const times = async (count: number) => ({
      ours: await delivered(ours, own, standIns, [readers, events, count]),
      bare: await delivered(bareSockets, other, bareSockets, [readers, events, count]),
    });
    await times(warmUp);
    const rates = await oneByOne(rounds, () => times(waves));
    await Promise.all([own.close(), other.close()]);
    return [...federated, ...throttle, ...idle, ...deliveryFigures(rates, 'the gateway', 'chunks')];
  } finally {
    await Promise.all([ours, bare, bareSockets].map((child) => child.stop()));
    await standIns.stop();
  }
}

/** How many events a server delivers for a second of its CPU, when `source` sends so many to each reader, wave after wave. */
export function delivered(
  server: Child,
  readers: Readers,
  source: Child<unknown>,
  [count, events, waves]: [number, number, number],
) {
  return perCpuSecond(server.pid, count * events * waves, () =>
    oneByOne(waves, () => {
      const all = readers.received(count * events);
      source.child.send(events);
      return all;
    }),
  );
}

/** @param rates things delivered per second of CPU. */
export function deliveryFigures(
  rates: { ours: number; bare: number }[],
  who: string,
  what: string,
  prefix = '',
): Figure[] {
  const cost = 1_000_000 / medianOf(rates, (rate) => rate.ours);
  const ratio = medianOf(rates, (rate) => rate.ours / rate.bare);
  return [
    figure(`${prefix}CPU of ${who} for 1,000 ${what} delivered`, cost, 'ms'),
    figure(`${prefix}${what} per CPU-second over a bare graphql-ws server`, ratio, '×', { atLeast: 0.9 }),
  ];
}

/** What an open socket takes of a gateway's memory, and what one more with a subscription takes of it, and of the others. */
export async function idleFigures(
  [url, token, id]: [url: string, token: string, sessionId: number],
  [gateway, ...others]: [gateway: number, ...sessions: number[]],
  options: BenchOptions,
  [few, many]: [few: number, many: number],
  prefix = '',
): Promise<Figure[]> {
  const count = options.short ? few : many;
  const settle = () => settled(options);
  // What the first bring in for good is no socket's own.
  const first = [await openReaders(url, token, 25), await openReaders(url, token, 5, id)];
  const empty = await collectedKb([gateway], settle);
  const idle = await openReaders(url, token, count);
  const between = { gateway: await collectedKb([gateway], settle), others: await collectedKb(others, settle) };
  const subscribers = await openReaders(url, token, count, id);
  const after = { gateway: await collectedKb([gateway], settle), others: await collectedKb(others, settle) };
  await Promise.all([...first, idle, subscribers].map((readers) => readers.close()));
  const elsewhere = Math.max(0, after.others - between.others) / count;
  return [
    figure(`${prefix}memory of an idle socket, of ${count}`, (between.gateway - empty) / count, 'KB', { goal: 60 }),
    figure(`${prefix}memory of one with a subscription`, (after.gateway - between.gateway) / count, 'KB'),
    ...(others.length > 0 ? [figure(`${prefix}the same at session`, elsewhere, 'KB')] : []),
  ];
}

const query = 'query ($id: ID!) { session(id: $id) { agent { name } } }';
const answer = '{"data":{"session":{"agent":{"name":"Maya"}}}}';
const side = 16;

/** The query of two subgraphs through our gateway, beside the same through a bare one, in turn. */
async function federatedFigures(ours: Child, bare: Child, token: string, options: BenchOptions): Promise<Figure[]> {
  const [inTurn, flood, neverSeen] = options.short ? [10, 32, 5] : [400, 1_600, 200];
  const send = async ({ hello: url }: Child, document = query, expected = answer) => {
    const answered = await ask(url, token, document, { id: '3' });
    if (answered.answer.trim() !== expected) throw new Error(`${url} answered ${answered.answer}`);
    return answered.tookMs;
  };
  const flooded = (server: Child) => atOnce(side, () => oneByOne(flood / side, () => send(server)));

  async function round(server: Child) {
    const times = await oneByOne(inTurn, () => send(server));
    const begunAt = performance.now();
    const perCpu = await perCpuSecond(server.pid, flood, () => flooded(server));
    const rps = (flood * 1_000) / (performance.now() - begunAt);
    return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), rps, cpuMs: 1_000 / perCpu };
  }
  for (const server of [ours, bare]) {
    await oneByOne(inTurn * 2, () => send(server));
    await flooded(server);
  }
  const rounds = await oneByOne(options.rounds, async () => ({ ours: await round(ours), bare: await round(bare) }));
  type Which = keyof (typeof rounds)[number]['ours'];
  const of = (which: Which) => medianOf(rounds, (each) => each.ours[which]);
  const ratio = (which: Which) => medianOf(rounds, (each) => each.ours[which] / each.bare[which]);
  const fresh = await oneByOne(neverSeen, async (n) => {
    const alias = `s${n}_${Date.now()}`;
    const document = `query ($id: ID!) { ${alias}: session(id: $id) { agent { name } } }`;
    const expected = answer.replace('session', alias);
    return { ours: await send(ours, document, expected), bare: await send(bare, document, expected) };
  });
  const freshTimes = fresh.map((each) => each.ours);
  const freshAt = (q: number) => quantile(freshTimes, q);
  const over = 'over a bare @apollo/gateway';
  return [
    figure('query of two subgraphs, p50', of('p50'), 'ms'),
    figure(`query of two subgraphs, p50, ${over}`, ratio('p50'), '×', { goal: 1 }),
    figure(`time to a request, ${side} at once`, 1_000 / of('rps'), 'ms'),
    figure(`rate, ${side} at once, ${over}`, ratio('rps'), '×', { atLeast: 1.5 }),
    figure('CPU of a request', of('cpuMs'), 'ms'),
    figure(`CPU of a request, ${over}`, ratio('cpuMs'), '×'),
    // What the machine itself adds to a p99, to judge the next ones by.
    figure('query of two subgraphs, p99, over its p50', of('p99') / of('p50'), '×'),
    figure('never-seen operation, p50, over the warm p50', freshAt(0.5) / of('p50'), '×'),
    figure('never-seen operation, p99, over the warm p50', freshAt(0.99) / of('p50'), '×', { goal: 3 }),
    figure(`never-seen operation, p50, ${over}`, freshAt(0.5) / medianOf(fresh, (each) => each.bare), '×'),
  ];
}

/** What the throttle of a request takes: counted in this process, or in Redis where `redisUrl` names one. */
export async function throttleFigures(redisUrl?: string, prefix = ''): Promise<Figure[]> {
  const log = createLogger('bench', { LOG_LEVEL: 'fatal' });
  const rules = readFieldRules(await readSupergraph());
  const redis = redisUrl ? redisEngines(redisUrl, log) : undefined;
  await redis?.start();
  const keyValue = redis?.keyValue ?? memoryKeyValue();
  const throttle = createThrottle({ rules, keyValue, onDegraded: () => undefined, log });
  const times = await oneByOne(5_500, async (n) => {
    // So many clients that none comes to the end of its window.
    const client = `10.${(n >> 10) & 255}.${(n >> 2) & 255}.1`;
    const before = performance.now();
    const told = await throttle([{ type: 'Mutation', name: 'login' }], client);
    if (told?.refused) throw new Error('A request was refused');
    return performance.now() - before;
  });
  await keyValue.close();
  await redis?.stop();
  const warm = times.slice(500);
  const name = `${prefix}throttle of a request, counted in ${redis ? 'Redis' : 'memory'}`;
  return [
    figure(`${name}, p50`, quantile(warm, 0.5), 'ms', { goal: 0.3 }),
    figure(`${name}, p99`, quantile(warm, 0.99), 'ms'),
  ];
}
