import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@parley/kernel/telemetry/log';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { redisEngines } from '@parley/live/redis/redis-engines';
import { readFieldRules } from '../../../gateway/src/graph/field-rules.ts';
import { readSupergraph } from '../../../gateway/src/graph/supergraph.ts';
import { createThrottle } from '../../../gateway/src/limits/throttle.ts';
import { ask, openReaders, type Readers } from './client.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { installOther } from './others.ts';
import { type BenchOptions, type Child, collectedKb, limits, perCpuSecond, settled, startChild } from './processes.ts';
import { vectorsFigures } from './vectors.ts';

const sessionId = 1;

/**
 * Measures the gateway alone, in front of stub services, and compares it with the libraries that it uses. The gateway and each library run
 * in their own process.
 */
export async function gatewayFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, short, say } = options;
  await using standIns = await startChild<{ env: Record<string, string>; token: string; apiKey: string }>(
    'stand-ins.ts',
  );
  const { token } = standIns.hello;
  const env = { ...standIns.hello.env, ...limits, GATEWAY_PORT: '0' };
  await using ours = await startChild('our-gateway.ts', env);
  await using bare = await startChild('bare-gateway.ts', env);
  await using bareSockets = await startChild('bare-sockets.ts');
  const HIVE_GATEWAY = short ? undefined : await installOther('hive', options);
  const hiveEnv = HIVE_GATEWAY && { ...env, HIVE_GATEWAY, LOG_LEVEL: 'error' };
  await using hive = hiveEnv ? await startChild('hive-gateway.ts', hiveEnv) : undefined;
  say(`query of two subgraphs, ${rounds} rounds`);
  const federated = await federatedFigures({ ours, bare, hive }, token, options);
  say(`vectors, ${rounds} rounds`);
  const vectors = await vectorsFigures(env, standIns.hello.apiKey, options);
  say('throttle');
  const throttle = await throttleFigures(options);
  say('idle sockets');
  const fresh = await startChild('our-gateway.ts', env); // uses a new process, so that memory growth in other benchmarks does not count
  const idle = await idleFigures([fresh.hello, token, sessionId], [fresh.pid], options, [50, 1_000]);
  await fresh.stop();
  say(`chunks to many readers, ${rounds} rounds`);
  const [readers, events, waves, warmUp] = short ? [5, 100, 2, 1] : [50, 100, 10, 3];
  await using own = await openReaders(ours.hello, token, readers, sessionId);
  await using other = await openReaders(bareSockets.hello, token, readers, sessionId);
  await subscribed(own, standIns);
  await subscribed(other, bareSockets);
  await settled(options);
  const times = async (count: number) => ({
    ours: await delivered(ours, own, standIns, events, count),
    bare: await delivered(bareSockets, other, bareSockets, events, count),
  });
  await times(warmUp);
  const rates = await oneByOne(rounds, () => times(waves));
  return [...federated, ...vectors, ...throttle, ...idle, ...deliveryFigures(rates, 'the gateway', 'chunks')];
}

let chunks = 0;

/** Returns the next chunks of a reply. */
export function chunkEvents(count: number) {
  return Array.from({ length: count }, () => ({
    __typename: 'AiResponseChunkEvent',
    eventId: `1700000000000-${++chunks}`,
    sessionId,
    occurredAt: '2030-01-01T00:00:00.000Z',
    clientTurnId: 'turn-1',
    turnIndex: 4,
    attempt: 1,
    text: 'some more words of it ',
  }));
}

/** Sends events until each reader has received one, which shows that all subscriptions are active. */
export async function subscribed(readers: Readers, source: Child<unknown>): Promise<void> {
  while (!readers.allReached()) {
    source.child.send(chunkEvents(1));
    await delay(20);
  }
}

/**
 * Measures how many events a server delivers per CPU second. `source` sends the events in batches, and each reader receives all of them.
 */
export function delivered(server: Child, readers: Readers, source: Child<unknown>, events: number, waves: number) {
  return perCpuSecond(server.pid, readers.size * events * waves, () =>
    oneByOne(waves, async () => {
      const all = readers.count() + readers.size * events;
      source.child.send(chunkEvents(events));
      while (readers.count() < all) await delay(1);
    }),
  );
}

/**
 * Compares the gateway's deliveries with those of the plain graphql-ws server.
 * @param rates deliveries per CPU second
 */
export function deliveryFigures(rates: { ours: number; bare: number }[], who: string, what: string): Figure[] {
  const cost = 1_000_000 / medianOf(rates, (rate) => rate.ours);
  const ratio = medianOf(rates, (rate) => rate.ours / rate.bare);
  return [
    figure(`CPU of ${who} for 1,000 ${what} delivered`, cost, 'ms'),
    figure(`${what} per CPU-second over a bare graphql-ws server`, ratio, '×', { atLeast: 0.9 }),
  ];
}

/** Measures the memory of a gateway per open socket, and per socket with a subscription. */
export async function idleFigures(
  [url, token, id]: [url: string, token: string, sessionId: number],
  pids: [gateway: number, ...sessions: number[]],
  options: BenchOptions,
  [few, many]: [few: number, many: number],
): Promise<Figure[]> {
  const count = options.short ? few : many;
  await using sockets = new AsyncDisposableStack();
  const open = async (readers: number, of?: number) => sockets.use(await openReaders(url, token, readers, of));
  // Opens some sockets before the measurement, because the first ones also load code, whose memory must not be counted.
  await open(25);
  await open(5, id);
  const empty = await collectedKb(pids, options);
  await open(count);
  const idle = await collectedKb(pids, options);
  await open(count, id);
  const subscribed = await collectedKb(pids, options);
  const grown = (from: number[], to: number[]) => to.map((kb, index) => (kb - (from[index] ?? 0)) / count);
  const [ofIdle = 0] = grown(empty, idle);
  const [ofSubscriber = 0, ...elsewhere] = grown(idle, subscribed);
  const atSession = elsewhere.reduce((sum, kb) => sum + kb, 0);
  return [
    figure(`memory of an idle socket, of ${count}`, ofIdle, 'KB', { goal: 60 }),
    figure('memory of one with a subscription', ofSubscriber, 'KB'),
    ...(elsewhere.length > 0 ? [figure('the same at session', Math.max(0, atSession), 'KB')] : []),
  ];
}

const side = 16;

type Gateways = Record<'ours' | 'bare', Child> & { hive: Child | undefined };

/** Measures a query that needs two subgraphs, alternately through our gateway and through other gateways. */
async function federatedFigures({ ours, bare, hive }: Gateways, token: string, options: BenchOptions) {
  const [sequential, flood, neverSeen] = options.short ? [10, 32, 5] : [400, 1_600, 200];
  /** Sends the query. A new alias makes it a new operation, which needs a new query plan. */
  const send = async ({ hello: url }: Child, alias = 'session') => {
    const field = alias === 'session' ? alias : `${alias}: session`;
    const query = `query ($id: ID!) { ${field}(id: $id) { agent { name } } }`;
    const { answer, tookMs } = await ask(url, token, query, { id: '3' });
    if (answer.trim() !== `{"data":{"${alias}":{"agent":{"name":"Maya"}}}}`) throw new Error(`${url}: ${answer}`);
    return tookMs;
  };
  const flooded = (server: Child) => atOnce(side, () => oneByOne(flood / side, () => send(server)));

  async function round(server: Child) {
    const times = await oneByOne(sequential, () => send(server));
    const begunAt = performance.now();
    const perCpu = await perCpuSecond(server.pid, flood, () => flooded(server));
    const rps = (flood * 1_000) / (performance.now() - begunAt);
    return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), rps, cpuMs: 1_000 / perCpu };
  }
  for (const server of [ours, bare, ...(hive ? [hive] : [])]) {
    await oneByOne(sequential * 2, () => send(server));
    await flooded(server);
  }
  const rounds = await oneByOne(options.rounds, async () => ({
    ours: await round(ours),
    bare: await round(bare),
    hive: hive && (await round(hive)),
  }));
  type Which = keyof (typeof rounds)[number]['ours'];
  const of = (which: Which) => medianOf(rounds, (each) => each.ours[which]);
  const ratio = (which: Which, to: 'bare' | 'hive' = 'bare') =>
    medianOf(rounds, (each) => each.ours[which] / (each[to]?.[which] ?? Number.NaN));
  const overHive = [
    figure('query of two subgraphs, p50, over Hive Gateway', ratio('p50', 'hive'), '×'),
    figure(`rate, ${side} at once, over Hive Gateway`, ratio('rps', 'hive'), '×', { atLeast: 1 }),
    figure('CPU of a request, over Hive Gateway', ratio('cpuMs', 'hive'), '×'),
  ];
  const fresh = await oneByOne(neverSeen, async (n) => {
    const alias = `s${n}_${Date.now()}`;
    return { ours: await send(ours, alias), bare: await send(bare, alias) };
  });
  const freshTimes = fresh.map((each) => each.ours);
  const freshAt = (q: number) => quantile(freshTimes, q);
  const over = 'over a bare @apollo/gateway';
  return [
    figure('query of two subgraphs, p50', of('p50'), 'ms'),
    figure(`query of two subgraphs, p50, ${over}`, ratio('p50'), '×', { goal: 1 }),
    figure(`time to a request, ${side} at once`, 1_000 / of('rps'), 'ms'),
    figure(`rate, ${side} at once, ${over}`, ratio('rps'), '×', { atLeast: 2 }),
    figure('CPU of a request', of('cpuMs'), 'ms'),
    figure(`CPU of a request, ${over}`, ratio('cpuMs'), '×'),
    ...(hive ? overHive : []),
    // The ratio of p99 to p50 of the same query shows how much the speed of this machine varies. Compare the following figures with this
    // ratio.
    figure('query of two subgraphs, p99, over its p50', of('p99') / of('p50'), '×'),
    figure('never-seen operation, p50, over the warm p50', freshAt(0.5) / of('p50'), '×'),
    figure('never-seen operation, p99, over the warm p50', freshAt(0.99) / of('p50'), '×', { goal: 3 }),
    figure(`never-seen operation, p50, ${over}`, freshAt(0.5) / medianOf(fresh, (each) => each.bare), '×'),
  ];
}

/** Measures how long the rate limit check of a request takes. The check counts in this process or, with `redisUrl`, in Redis. */
export async function throttleFigures({ short }: BenchOptions, redisUrl?: string): Promise<Figure[]> {
  const log = createLogger('bench', { LOG_LEVEL: 'fatal' });
  const rules = readFieldRules(await readSupergraph());
  const redis = redisUrl ? redisEngines(redisUrl, log) : undefined;
  await redis?.start();
  const keyValue = redis?.keyValue ?? memoryKeyValue();
  const throttle = createThrottle({ rules, keyValue, onDegraded: () => undefined, log });
  const [warmUp, count] = short ? [1, 20] : [500, 5_000];
  const times = await oneByOne(warmUp + count, async (n) => {
    // Enough clients that none reaches its limit. allow-name login: an operation with @throttle.
    const client = `10.${(n >> 10) & 255}.${(n >> 2) & 255}.1`;
    const before = performance.now();
    const outcome = await throttle([{ type: 'Mutation', name: 'login' }], client);
    if (outcome?.refused) throw new Error('A request was refused');
    return performance.now() - before;
  });
  await keyValue.close();
  await redis?.stop();
  const warm = times.slice(warmUp);
  const name = `throttle of a request, counted in ${redis ? 'Redis' : 'memory'}`;
  return [
    figure(`${name}, p50`, quantile(warm, 0.5), 'ms', { goal: 0.3 }),
    figure(`${name}, p99`, quantile(warm, 0.99), 'ms'),
  ];
}
