import { askWithKey } from './client.ts';
import { type Figure, figure, median, medianOf, oneByOne, tookMs } from './figures.ts';
import { type BenchOptions, limits, startChild } from './processes.ts';
import { passage } from './prose.ts';
import { gapOf, type LoopGap, measuresGaps, passedThrough, quantileOf } from './vectors.ts';

/**
 * Measures how long `embed` of 100 passages blocks the event loop of the gateway, and how long it blocks the event loop of the knowledge
 * service.
 */
export async function embedFigures(databaseUrl: string, options: BenchOptions): Promise<Figure[]> {
  const { rounds, short, say } = options;
  const [warmUp, count] = short ? [1, 2] : [30, 30];
  say(`embed of 100 texts, ${rounds} rounds`);
  await using standIns = await startChild<{ env: Record<string, string>; apiKey: string }>('stand-ins.ts');
  const { env, apiKey } = standIns.hello;
  await using knowledge = await startChild('our-knowledge.ts', { ...env, DATABASE_URL: databaseUrl }, measuresGaps);
  const settings = { ...env, ...limits, KNOWLEDGE_GRAPH_URL: knowledge.hello, TRUSTED_PROXIES: '127.0.0.1' };
  await using gateway = await startChild(
    'our-gateway.ts',
    { ...settings, GATEWAY_PORT: '0', VOICE_PORT: '0' },
    measuresGaps,
  );
  const next = passage(1);
  const texts = Array.from({ length: 100 }, next);

  let clients = 0;
  const one = async () => {
    clients += 1; // uses many clients, so that each stays below its rate limit
    const address = `10.1.${clients >> 8}.${clients & 255}`;
    await gapOf(gateway);
    await gapOf(knowledge);
    const wholeMs = await tookMs(() => askWithKey({ url: gateway.hello, apiKey }, address, passedThrough, { texts }));
    return { gateway: await gapOf(gateway), knowledge: await gapOf(knowledge), wholeMs };
  };
  await oneByOne(warmUp, one);
  const measured = await oneByOne(rounds, () => oneByOne(count, one));
  const at = (q: number, unit: 'gateway' | 'knowledge', what: keyof LoopGap) =>
    medianOf(measured, (calls) =>
      quantileOf(
        calls.map((call) => call[unit]),
        q,
        what,
      ),
    );
  const loopFigures = (unit: 'gateway' | 'knowledge', title: string) => {
    const name = `embed of 100 texts, loop of ${title} blocked`;
    return [
      figure(`${name}, p50`, at(0.5, unit, 'gapMs'), 'ms', { goal: 5 }),
      figure(`${name}, p99`, at(0.99, unit, 'gapMs'), 'ms'),
      figure(`${name}, CPU time of its own, p99`, at(0.99, unit, 'busyMs'), 'ms', { goal: 5 }),
    ];
  };
  const whole = medianOf(measured, (calls) => median(calls.map(({ wholeMs }) => wholeMs)));
  return [
    ...loopFigures('gateway', 'the gateway'),
    ...loopFigures('knowledge', 'knowledge'),
    figure('embed of 100 texts, p50', whole, 'ms'),
  ];
}
