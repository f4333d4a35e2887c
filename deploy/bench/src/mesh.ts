import type { EngineName } from '@parley/servers/engine';
import { startServers } from '@parley/servers/start-servers';
import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import type { Measuring } from './bench.ts';
import { openReaders, openTalker } from './client.ts';
import { eventFigures } from './events.ts';
import { type Figure, oneByOne } from './figures.ts';
import { deliveryFigures, idleFigures, perCpuSecond, startBareSockets, throttleFigures } from './gateway.ts';
import { firstChunkFigures } from './local.ts';
import { atPlace, type Place } from './place.ts';
import { childrenOf, collectingFlags } from './processes.ts';

const needed: EngineName[] = ['postgres', 'redis', 'kafka'];
const prefix = 'mesh: ';

/** Every unit a process of its own, on real servers that are the bench's and gone afterwards. */
export async function meshFigures(measuring: Measuring): Promise<Figure[]> {
  const { rounds, say, leaveOut } = measuring;
  say('real servers');
  const servers = await startServers({ only: needed, say });
  try {
    for (const { engine, reason } of servers.missing) {
      leaveOut(`the mesh of processes, without ${engine}: ${reason}`);
    }
    const { DATABASE_URL, REDIS_URL, KAFKA_BROKERS } = servers.env;
    const figures: Figure[] = [];
    if (REDIS_URL) {
      say('throttle');
      figures.push(...(await throttleFigures(REDIS_URL, prefix)));
    }
    if (DATABASE_URL && KAFKA_BROKERS) {
      say(`events, ${rounds} rounds`);
      figures.push(...(await eventFigures(DATABASE_URL, KAFKA_BROKERS, measuring)));
    }
    if (servers.missing.length === 0) {
      figures.push(...(await atPlace(measuring, (place) => processFigures(measuring, place, servers.env))));
    }
    return figures;
  } finally {
    await servers.stop();
  }
}

async function processFigures(measuring: Measuring, place: Place, engines: Record<string, string>): Promise<Figure[]> {
  const { rounds, short, profileFolder, say, settle } = measuring;
  say('processes');
  const profiling = profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : [];
  // S3 is named, so that none is started: nobody keeps a file.
  const mesh = await place.start(
    {
      ...engines,
      ...storage,
      // All sockets come from this machine.
      GATEWAY_CONNECTIONS_PER_CLIENT: '20000',
      GATEWAY_SOCKETS_PER_CLIENT: '20000',
      NODE_OPTIONS: [...collectingFlags, ...profiling].join(' '),
    },
    ['--mesh'],
  );
  try {
    const [url = '', otherUrl = ''] = mesh.urls;
    const [gateway = 0] = childrenOf(mesh.pid, '/gateway/src/main.ts', `GATEWAY_PORT=${new URL(url).port}`);
    const person = new Client(otherUrl);
    await person.register();
    const token = person.tokens?.accessToken ?? '';
    // At another gateway than the one that is measured, which delivers.
    const talker = await openTalker(person, await createAgent(person));
    const { sessionId } = talker;
    await talker.firstChunkMs('Hello.');

    say('idle sockets');
    const sessions = childrenOf(mesh.pid, '/session/src/main.ts');
    const count = short ? 20 : 2_000;
    const idle = await idleFigures({ url, token, count, pids: [gateway, ...sessions], sessionId, prefix }, settle);
    say(`first chunks over both gateways, ${rounds} rounds`);
    const chunks = await firstChunkFigures(measuring, [url, otherUrl], place.model.url, prefix);

    say(`events to many readers, ${rounds} rounds`);
    const [words, waves, readers] = short ? [30, 2, 50] : [100, 8, 50];
    // At the pace of a model: what comes together becomes one event.
    const text = Array.from({ length: words }, (_, n) => `some more words, ${n} `);
    place.model.answerWith({ text, deltaDelayMs: 5 });
    const bare = await startBareSockets();
    const own = await openReaders(url, token, readers, sessionId);
    const other = await openReaders(bare.hello, token, readers, 1);
    await settle();
    /** Whole turns. */
    async function ofOurs(): Promise<number> {
      const before = own.count();
      const perSecond = await perCpuSecond(gateway, 1, async () => {
        await oneByOne(waves, () => talker.firstChunkMs('Tell me more.'));
        await settle(); // for the last frames
      });
      return perSecond * (own.count() - before);
    }
    /** One event after the other, as the chunks of a reply come. */
    const ofBare = () =>
      perCpuSecond(bare.pid, waves * words * readers, () =>
        oneByOne(waves * words, () => {
          const all = other.received(readers);
          bare.send(1);
          return all;
        }),
      );
    await ofOurs();
    await ofBare();
    const rates = await oneByOne(rounds, async () => ({ ours: await ofOurs(), bare: await ofBare() }));
    await Promise.all([own.close(), other.close(), bare.stop(), talker.close()]);
    return [...chunks, ...idle, ...deliveryFigures(rates, 'a gateway', 'events', prefix)];
  } finally {
    await mesh.stop();
  }
}

const storage = {
  S3_ENDPOINT: 'http://127.0.0.1:9',
  S3_BUCKET: 'none',
  S3_ACCESS_KEY_ID: 'n',
  S3_SECRET_ACCESS_KEY: 'n',
};
