import type { RunningServers } from '@parley/servers/start-servers';
import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import { openReaders, openTalker } from './client.ts';
import { processesOf } from './costs.ts';
import { eventFigures } from './events.ts';
import { type Figure, oneByOne } from './figures.ts';
import { delivered, deliveryFigures, idleFigures, subscribed, throttleFigures } from './gateway.ts';
import { firstChunkFigures } from './local.ts';
import { enginesOf, onServers } from './on-servers.ts';
import { type BenchOptions, limits, openPlace, perCpuSecond, settled, startChild } from './processes.ts';
import { turnFigures } from './turns.ts';

/** Measures every unit as its own process, on real servers that are started for the bench. */
export function meshFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, turnsOnly, say } = options;
  return onServers('mesh', options, async (servers) => {
    const { DATABASE_URL = '', REDIS_URL, KAFKA_BROKERS = '' } = servers.env;
    const figures: Figure[] = [];
    if (!turnsOnly) {
      say('throttle');
      figures.push(...(await throttleFigures(options, REDIS_URL)));
      say(`events, ${rounds} rounds`);
      figures.push(...(await eventFigures(DATABASE_URL, KAFKA_BROKERS, options)));
    }
    figures.push(...(await processFigures(options, servers)));
    return figures;
  });
}

async function processFigures(options: BenchOptions, servers: RunningServers): Promise<Figure[]> {
  const { rounds, short, turnsOnly, say } = options;
  say('processes');
  await using place = await openPlace(options);
  await using mesh = await place.start({ ...servers.env, ...limits }, '--mesh');
  const { DATABASE_URL: databaseUrl = '' } = servers.env;
  const turns = () => turnFigures(mesh, { ...options, databaseUrl, servers: enginesOf(servers), overLangGraph: 0.2 });
  if (turnsOnly) return await turns(); // awaited here, because the mesh stops when this function returns
  const [url = '', otherUrl = ''] = mesh.urls;
  const [gateway = 0] = processesOf(mesh.pid, /\/gateway\/src\/main\.ts/u, `GATEWAY_PORT=${new URL(url).port}`);
  const person = new Client(otherUrl);
  await person.register();
  const token = person.tokens?.accessToken ?? '';
  // Sends the messages through the second gateway, so that the measured gateway only delivers events.
  await using talker = await openTalker(person, await createAgent(person));
  const { sessionId } = talker;
  await talker.firstChunkMs('Hello.');

  say('idle sockets');
  const sessions = processesOf(mesh.pid, /\/session\/src\/main\.ts/u);
  const idle = await idleFigures([url, token, sessionId], [gateway, ...sessions], options, [20, 2_000]);
  say(`first chunks over both gateways, ${rounds} rounds`);
  const chunks = await firstChunkFigures(options, mesh);
  const cost = await turns();

  say(`events to many readers, ${rounds} rounds`);
  const [words, waves, readers] = short ? [30, 1, 5] : [100, 8, 50];
  // The model server sends chunks at a real model's pace, because chunks that arrive together become one event.
  const text = Array.from({ length: words }, (_, n) => `some more words, ${n} `);
  place.model.answerWith({ text, deltaDelayMs: 5 });
  await using bare = await startChild('bare-sockets.ts');
  await using own = await openReaders(url, token, readers, sessionId);
  await using other = await openReaders(bare.hello, token, readers, 1);
  await subscribed(other, bare);
  await settled(options);
  /** Measures the delivery rate for the events of whole turns. */
  async function ofOurs(): Promise<number> {
    const before = own.count();
    const perSecond = await perCpuSecond(gateway, 1, async () => {
      await oneByOne(waves, () => talker.firstChunkMs('Tell me more.'));
      await settled(options); // waits for the last frames
    });
    return perSecond * (own.count() - before);
  }
  /** Measures the delivery rate of the plain graphql-ws server, with one event for each chunk. */
  const ofBare = () => delivered(bare, other, bare, 1, waves * words);
  const round = async () => ({ ours: await ofOurs(), bare: await ofBare() });
  await round(); // warm-up
  const rates = await oneByOne(rounds, round);
  return [...chunks, ...cost, ...idle, ...deliveryFigures(rates, 'a gateway', 'events')];
}
