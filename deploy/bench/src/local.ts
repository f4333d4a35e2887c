import { modelFirstChunkMs } from './client.ts';
import { embeddedUrl } from './costs.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile, tookMs } from './figures.ts';
import { type BenchOptions, limits, openPlace, residentKb, type StartedMesh, settled } from './processes.ts';
import { content, opener, turnFigures } from './turns.ts';

/** Measures all of Parley in one process: start time, memory, latency, and cost of a turn. */
export async function localFigures(options: BenchOptions): Promise<Figure[]> {
  await using place = await openPlace(options);
  options.say('start-up, first and second');
  await using first = await place.start();
  const firstStopMs = await tookMs(first.stop);
  await using mesh = await place.start(limits);
  const memoryMb = () => residentKb(mesh.pid) / 1024;
  await settled(options); // waits until the start's background work and its garbage collection are done
  await settled(options);
  const idleMb = memoryMb();
  const databaseUrl = embeddedUrl(mesh.temporary);
  const turns = () => turnFigures(mesh, { ...options, databaseUrl, overLangGraph: 0.3 });
  if (options.turnsOnly) return await turns(); // awaited here, because the mesh stops when this function returns
  options.say(`first chunks, ${options.rounds} rounds`);
  const chunks = await firstChunkFigures(options, mesh);
  const loadedMb = memoryMb();
  const cost = await turns();
  const stopMs = await tookMs(mesh.stop);
  return [
    figure('start-up, empty data folder', first.startMs / 1000, 's', { goal: 120 }),
    figure('start-up, second time', mesh.startMs / 1000, 's', { goal: 3 }),
    figure('stop', Math.max(firstStopMs, stopMs) / 1000, 's', { goal: 10 }),
    figure('memory (RSS), idle', idleMb, 'MB', { goal: 350 }),
    figure('memory (RSS), after first chunks', loadedMb, 'MB', { goal: 1024 }),
    ...chunks,
    ...cost,
  ];
}

/** Measures the delay that a mesh adds to the model's first chunk, with one, eight and fifty concurrent conversations. */
export async function firstChunkFigures({ rounds, short }: BenchOptions, { urls, modelUrl }: StartedMesh) {
  const [messages, few, people, waves] = short ? [3, 2, 4, 1] : [100, 8, 50, 4];
  await using sockets = new AsyncDisposableStack();
  const open = await opener(urls);
  const talkers = await oneByOne(people, async () => sockets.use(await open()));
  const direct = () => modelFirstChunkMs(modelUrl, content);
  const whole = async (index: number) => talkers[index % people]?.firstChunkMs(content) ?? Number.NaN;

  /**
   * Alternately measures direct calls of the model server and whole turns, after a warm-up. The returned function takes a quantile. For
   * each round, it subtracts the quantile of the calls from the quantile of the turns. It returns the median of these differences.
   */
  async function added(measure: (path: typeof whole) => Promise<number[]>) {
    const round = async () => ({ own: await measure(direct), whole: await measure(whole) });
    await round();
    const measured = await oneByOne(rounds, round);
    return (q: number) => medianOf(measured, (times) => quantile(times.whole, q) - quantile(times.own, q));
  }
  const alone = await added((path) => oneByOne(messages, path));
  const together = (count: number) =>
    added(async (path) => (await oneByOne((waves * people) / count, () => atOnce(count, path))).flat());
  const some = await together(few);
  const all = await together(people);
  const name = "first chunk over the model's own";
  return [
    figure(`${name}, 1 at once, p50`, alone(0.5), 'ms', { goal: 6 }),
    figure(`${name}, 1 at once, p99`, alone(0.99), 'ms', { goal: 15 }),
    figure(`${name}, ${few} at once, p50`, some(0.5), 'ms'),
    figure(`${name}, ${people} at once, p50`, all(0.5), 'ms'),
    figure(`${name}, ${people} at once, p50, over that of ${few}`, all(0.5) / some(0.5), '×', { goal: 4 }),
    figure(`${name}, ${people} at once, p99`, all(0.99), 'ms'),
  ];
}
