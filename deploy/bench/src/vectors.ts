import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { askWithKey } from './client.ts';
import { type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { type BenchOptions, type Child, startChild } from './processes.ts';

/** A message of `beside/loop-gap.ts`: the longest times between two iterations of an event loop. */
export interface LoopGap {
  gapMs: number;
  /**
   * The longest CPU time of the thread between two iterations. Unlike `gapMs`, it excludes the time for which the thread waited for a
   * processor.
   */
  busyMs: number;
}

/** Options for a process that is measured with `gapOf`. */
export const measuresGaps = { flags: [`--import=${pathToFileURL(join(import.meta.dirname, 'beside/loop-gap.ts'))}`] };

export const passedThrough = 'query ($texts: [String!]!) { embed(texts: $texts) { vectors } }';
/** The gateway must serialize the response to this query itself, because the query selects by a fragment. */
const written = 'query ($texts: [String!]!) { ... { embed(texts: $texts) { vectors } } }';

export function vectorsAnswer(count: number, dimensions: number): string {
  const vectors = Array.from({ length: count }, (_, row) =>
    Array.from({ length: dimensions }, (__, column) => Math.fround(Math.sin(row * dimensions + column) / 28)),
  );
  return JSON.stringify({ data: { embed: { vectors } } });
}

/** Measures how long a response of 100 × 768 numbers blocks the event loop of a gateway. */
export async function vectorsFigures(
  env: Record<string, string>,
  apiKey: string,
  options: BenchOptions,
): Promise<Figure[]> {
  const { rounds, short } = options;
  await using ours = await startChild('our-gateway.ts', { ...env, TRUSTED_PROXIES: '127.0.0.1' }, measuresGaps);
  await using bare = await startChild('bare-gateway.ts', env, measuresGaps);
  const [warmUp, count] = short ? [1, 2] : [30, 30];

  let clients = 0;
  async function gapsOf(server: Child, query: string, times: number): Promise<LoopGap[]> {
    return oneByOne(times, async () => {
      clients += 1; // many clients, so that each stays below its rate limit
      await gapOf(server);
      await askWithKey({ url: server.hello, apiKey }, `10.0.${clients >> 8}.${clients & 255}`, query, { texts: ['a'] });
      return gapOf(server);
    });
  }
  const round = async (times: number) => ({
    passed: await gapsOf(ours, passedThrough, times),
    written: await gapsOf(ours, written, times),
    bare: await gapsOf(bare, passedThrough, times),
  });
  await round(warmUp);
  const measured = await oneByOne(rounds, () => round(count));
  const at = (q: number, which: 'passed' | 'written' | 'bare', what: keyof LoopGap = 'gapMs') =>
    medianOf(measured, (each) => quantileOf(each[which], q, what));
  const name = 'loop blocked by 100 × 768 numbers';
  return [
    figure(`${name}, p50`, at(0.5, 'passed'), 'ms', { goal: 5 }),
    figure(`${name}, p99`, at(0.99, 'passed'), 'ms'),
    figure(`${name}, CPU time of its own, p99`, at(0.99, 'passed', 'busyMs'), 'ms', { goal: 5 }),
    figure(`${name}, written by the gateway, p50`, at(0.5, 'written'), 'ms'),
    figure(`${name}, by a bare @apollo/gateway, p50`, at(0.5, 'bare'), 'ms'),
  ];
}

/** Returns the longest time between two iterations of the child's event loop since the last call. */
export async function gapOf({ child }: Child): Promise<LoopGap> {
  const answer = once(child, 'message') as Promise<[LoopGap]>;
  child.send({});
  const [gap] = await answer;
  return gap;
}

export function quantileOf(gaps: readonly LoopGap[], q: number, what: keyof LoopGap): number {
  return quantile(
    gaps.map((gap) => gap[what]),
    q,
  );
}
