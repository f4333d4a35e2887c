import type { BenchOptions } from '../bench.ts';
import type { Figure } from '../figure.ts';
import { post } from '../post.ts';
import { median, quantile } from '../statistics.ts';
import { textOf } from '../text-of.ts';
import type { Child } from './child.ts';
import type { Reached } from './our-gateway.ts';

const query = 'query ($id: ID!) { session(id: $id) { agent { name } } }';
const answer = '{"data":{"session":{"agent":{"name":"Maya"}}}}';
const atOnce = 16;
/** How many requests. */
const full = { inTurn: 400, flood: 1_600, neverSeen: 200 };
const few: typeof full = { inTurn: 10, flood: 32, neverSeen: 5 };

export interface Gateways {
  ours: Child<Reached>;
  bare: Child<Reached>;
  /** An access token; the bare gateway looks at none. */
  token: string;
}

/** The query of two subgraphs through our gateway, beside the same through a bare one, in turn. */
export async function federatedFigures(
  { ours, bare, token }: Gateways,
  { rounds, short = false }: Pick<BenchOptions, 'rounds' | 'short'>,
): Promise<Figure[]> {
  const counts = short ? few : full;
  const headers = { 'x-app-platform': 'customer', authorization: `Bearer ${token}` };
  const ask = async (url: string, text = query, expected = answer) => {
    const before = performance.now();
    const body = await textOf(await post(url, { query: text, variables: { id: '3' } }, headers));
    const tookMs = performance.now() - before;
    if (body.trim() !== expected) throw new Error(`${url} answered ${body}`);
    return tookMs;
  };
  for (const { hello } of [ours, bare]) {
    await one(ask, hello.url, counts.inTurn * 2);
    await flooded(ask, hello.url, counts.flood);
  }
  const rounded: Record<'ours' | 'bare', Round[]> = { ours: [], bare: [] };
  for (let round = 0; round < rounds; round += 1) {
    rounded.ours.push(await measured(ask, ours, counts));
    rounded.bare.push(await measured(ask, bare, counts));
  }
  const of = (side: 'ours' | 'bare', figure: keyof Round) => median(rounded[side].map((round) => round[figure]));
  const ratio = (figure: keyof Round) =>
    median(rounded.ours.map((round, n) => round[figure] / (rounded.bare[n]?.[figure] ?? Number.NaN)));
  const fresh: Record<'ours' | 'bare', number[]> = { ours: [], bare: [] };
  for (let n = 0; n < counts.neverSeen; n += 1) {
    const alias = `s${n}_${Date.now()}`;
    const text = `query ($id: ID!) { ${alias}: session(id: $id) { agent { name } } }`;
    const expected = answer.replace('session', alias);
    fresh.ours.push(await ask(ours.hello.url, text, expected));
    fresh.bare.push(await ask(bare.hello.url, text, expected));
  }
  return [
    { name: 'query of two subgraphs, p50', value: of('ours', 'p50'), unit: 'ms' },
    { name: 'query of two subgraphs, p50, over a bare @apollo/gateway', value: ratio('p50'), unit: '×', goal: 1 },
    { name: `time to a request, ${atOnce} at once`, value: 1_000 / of('ours', 'rps'), unit: 'ms' },
    {
      name: `rate, ${atOnce} at once, over a bare @apollo/gateway`,
      value: ratio('rps'),
      unit: '×',
      atLeast: 1.5,
    },
    { name: 'CPU of a request', value: of('ours', 'cpuMs'), unit: 'ms' },
    { name: 'CPU of a request, over a bare @apollo/gateway', value: ratio('cpuMs'), unit: '×' },
    // What the machine itself adds to a p99, to judge the next ones by.
    { name: 'query of two subgraphs, p99, over its p50', value: of('ours', 'p99') / of('ours', 'p50'), unit: '×' },
    {
      name: 'never-seen operation, p50, over the warm p50',
      value: quantile(fresh.ours, 0.5) / of('ours', 'p50'),
      unit: '×',
    },
    {
      name: 'never-seen operation, p99, over the warm p50',
      value: quantile(fresh.ours, 0.99) / of('ours', 'p50'),
      unit: '×',
      goal: 3,
    },
    {
      name: 'never-seen operation, p50, over a bare @apollo/gateway',
      value: quantile(fresh.ours, 0.5) / quantile(fresh.bare, 0.5),
      unit: '×',
    },
  ];
}

interface Round {
  p50: number;
  p99: number;
  /** Requests a second with many at once. */
  rps: number;
  /** Of the gateway's process, for one of those. */
  cpuMs: number;
}

async function measured(ask: Ask, gateway: Child<Reached>, { inTurn, flood }: typeof full): Promise<Round> {
  const times = await one(ask, gateway.hello.url, inTurn);
  const [p50, p99] = [quantile(times, 0.5), quantile(times, 0.99)];
  const before = await gateway.cpuMs();
  const seconds = await flooded(ask, gateway.hello.url, flood);
  const after = await gateway.cpuMs();
  return { p50, p99, rps: flood / seconds, cpuMs: (after - before) / flood };
}

type Ask = (url: string) => Promise<number>;

async function one(ask: Ask, url: string, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let n = 0; n < count; n += 1) times.push(await ask(url));
  return times;
}

/** How many seconds the flood takes. */
async function flooded(ask: Ask, url: string, requests: number): Promise<number> {
  let left = requests;
  const before = performance.now();
  const ask1 = async () => {
    while (left > 0) {
      left -= 1;
      await ask(url);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, ask1));
  return (performance.now() - before) / 1_000;
}
