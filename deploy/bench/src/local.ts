import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import { modelFirstChunkMs, openTalker, type Talker } from './client.ts';
import { atOnce, type Figure, figure, medianOf, oneByOne, quantile } from './figures.ts';
import { type BenchOptions, settled } from './options.ts';
import { atPlace, residentKb } from './processes.ts';

const content = 'How long does it take until you begin to answer?';

/** All of Parley in one process: how it starts, what it takes, and how soon it answers. */
export function localFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, say } = options;
  return atPlace(options, async ({ model, start }) => {
    say('start-up, first and second');
    const first = await start();
    const firstStopMs = await first.stop();
    const mesh = await start();
    const memoryMb = () => residentKb(mesh.pid) / 1024;
    await settled(options); // what a start leaves to be done and collected
    await settled(options);
    const idleMb = memoryMb();
    say(`first chunks, ${rounds} rounds`);
    const chunks = await firstChunkFigures(options, mesh.urls, model.url);
    const loadedMb = memoryMb();
    const stopMs = await mesh.stop();
    return [
      figure('start-up, empty data folder', first.startMs / 1000, 's', { goal: 120 }),
      figure('start-up, second time', mesh.startMs / 1000, 's', { goal: 10 }),
      figure('stop', Math.max(firstStopMs, stopMs) / 1000, 's', { goal: 10 }),
      figure('memory (RSS), idle', idleMb, 'MB', { goal: 1024 }),
      figure('memory (RSS), after the load below', loadedMb, 'MB', { goal: 1024 }),
      ...chunks,
    ];
  });
}

/**
 * How much later than the model's own the first chunk of a reply comes: one conversation at a time, and fifty.
 * @param urls endpoints of one mesh; conversations go round them.
 */
export async function firstChunkFigures(
  { rounds, short }: BenchOptions,
  urls: string[],
  modelUrl: string,
  prefix = '',
): Promise<Figure[]> {
  const [messages, warmUp, people, waves] = short ? [3, 1, 4, 1] : [100, 60, 50, 4];
  const person = new Client(urls[0] ?? '');
  await person.register();
  const agentId = await createAgent(person);
  const at = (index: number) => Object.assign(new Client(urls[index % urls.length] ?? ''), { tokens: person.tokens });
  const talkers = await oneByOne(people, (index) => openTalker(at(index), agentId));
  const direct = () => modelFirstChunkMs(modelUrl, content);
  const whole = (index: number) => (talkers[index % people] as Talker).firstChunkMs(content);
  const inWaves = async (path: typeof whole) => (await oneByOne(waves, () => atOnce(people, path))).flat();

  await oneByOne(messages, direct);
  await oneByOne(warmUp, whole);
  const alone = await oneByOne(rounds, async () => ({
    own: await oneByOne(messages, direct),
    whole: await oneByOne(messages, whole),
  }));
  await inWaves(direct);
  await inWaves(whole);
  const together = await oneByOne(rounds, async () => ({ own: await inWaves(direct), whole: await inWaves(whole) }));
  await Promise.all(talkers.map((talker) => talker.close()));
  const added = (measured: typeof alone, q: number) =>
    medianOf(measured, (round) => quantile(round.whole, q) - quantile(round.own, q));
  const name = `${prefix}first chunk over the model's own`;
  return [
    figure(`${name}, 1 at once, p50`, added(alone, 0.5), 'ms', { goal: 6 }),
    figure(`${name}, 1 at once, p99`, added(alone, 0.99), 'ms', { goal: 15 }),
    figure(`${name}, ${people} at once, p50`, added(together, 0.5), 'ms', { goal: 40 }),
    figure(`${name}, ${people} at once, p99`, added(together, 0.99), 'ms'),
  ];
}
