import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import { modelFirstChunkMs, openTalker } from './client.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile, tookMs } from './figures.ts';
import { type BenchOptions, limits, openPlace, residentKb, settled } from './processes.ts';

const content = 'How long does it take until you begin to answer?';

/** All of Parley in one process: its start, memory and latency. */
export async function localFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, say } = options;
  await using place = await openPlace(options);
  say('start-up, first and second');
  await using first = await place.start();
  const firstStopMs = await tookMs(first.stop);
  await using mesh = await place.start(limits);
  const memoryMb = () => residentKb(mesh.pid) / 1024;
  await settled(options); // background work and garbage of the start
  await settled(options);
  const idleMb = memoryMb();
  say(`first chunks, ${rounds} rounds`);
  const chunks = await firstChunkFigures(options, mesh.urls, place.model.url);
  const loadedMb = memoryMb();
  const stopMs = await tookMs(mesh.stop);
  return [
    figure('start-up, empty data folder', first.startMs / 1000, 's', { goal: 120 }),
    figure('start-up, second time', mesh.startMs / 1000, 's', { goal: 10 }),
    figure('stop', Math.max(firstStopMs, stopMs) / 1000, 's', { goal: 10 }),
    figure('memory (RSS), idle', idleMb, 'MB', { goal: 1024 }),
    figure('memory (RSS), after the load below', loadedMb, 'MB', { goal: 1024 }),
    ...chunks,
  ];
}

/**
 * The delay that Parley adds to the first chunk of the model: one conversation at a time, and fifty.
 * @param urls endpoints of one mesh; conversations use them in turn.
 */
export async function firstChunkFigures(
  { rounds, short }: BenchOptions,
  urls: string[],
  modelUrl: string,
): Promise<Figure[]> {
  const [messages, people, waves] = short ? [3, 4, 1] : [100, 50, 4];
  const person = new Client(urls[0] ?? '');
  await person.register();
  const agentId = await createAgent(person);
  await using sockets = new AsyncDisposableStack();
  const talkers = await oneByOne(people, async (index) =>
    sockets.use(await openTalker(person.at(urls[index % urls.length] ?? ''), agentId)),
  );
  const direct = () => modelFirstChunkMs(modelUrl, content);
  const whole = async (index: number) => talkers[index % people]?.firstChunkMs(content) ?? Number.NaN;

  /** Measures both paths in turn, after a warm-up. The quantiles of each round are subtracted. */
  async function added(measure: (path: typeof whole) => Promise<number[]>) {
    const round = async () => ({ own: await measure(direct), whole: await measure(whole) });
    await round();
    const measured = await oneByOne(rounds, round);
    return (q: number) => medianOf(measured, (times) => quantile(times.whole, q) - quantile(times.own, q));
  }
  const alone = await added((path) => oneByOne(messages, path));
  const together = await added(async (path) => (await oneByOne(waves, () => atOnce(people, path))).flat());
  const name = "first chunk over the model's own";
  return [
    figure(`${name}, 1 at once, p50`, alone(0.5), 'ms', { goal: 6 }),
    figure(`${name}, 1 at once, p99`, alone(0.99), 'ms', { goal: 15 }),
    figure(`${name}, ${people} at once, p50`, together(0.5), 'ms', { goal: 40 }),
    figure(`${name}, ${people} at once, p99`, together(0.99), 'ms'),
  ];
}
