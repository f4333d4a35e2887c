import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { enter } from '@parley/scripts/talk/account';
import { publicApi } from '@parley/scripts/talk/api';
import type { EngineName } from '@parley/servers/engine';
import { type RunningServers, startServers } from '@parley/servers/start-servers';
import type { BenchOptions, Measured } from '../bench.ts';
import { atPlace, type BenchPlace } from '../bench-place.ts';
import type { Figure } from '../figure.ts';
import { accessTokenOf, firstChunkFigures, makeAgent, signInAs } from '../first-chunk.ts';
import { throttleFigures } from '../gateway/throttle-figures.ts';
import { startMesh } from '../mesh-under-test.ts';
import { openTalker } from '../talker.ts';
import { eventFigures } from './event-figures.ts';
import { fanOutFigures } from './fan-out-figures.ts';
import { childrenOf, collectingOptions, startedWith } from './processes.ts';
import { idleSocketFigures } from './socket-figures.ts';

const needed: EngineName[] = ['postgres', 'redis', 'kafka'];

/** Every unit a process of its own, on real servers that are the bench's and gone afterwards. */
export async function meshFigures(options: BenchOptions): Promise<Measured> {
  const { rounds, short = false, say } = options;
  say('real servers');
  const servers = await startServers({ only: needed, say });
  const remove = () => removeData(servers);
  process.once('exit', remove);
  try {
    const leftOut = servers.missing.map(({ engine, reason }) => `the mesh of processes, without ${engine}: ${reason}`);
    const { DATABASE_URL, REDIS_URL, KAFKA_BROKERS } = servers.env;
    const figures: Figure[] = [];
    if (REDIS_URL) {
      say('throttle');
      figures.push(...(await throttleFigures(REDIS_URL, 'mesh: ')));
    }
    if (DATABASE_URL && KAFKA_BROKERS) {
      say(`events, ${rounds} rounds`);
      const brokers = KAFKA_BROKERS.split(',');
      figures.push(...(await eventFigures({ databaseUrl: DATABASE_URL, brokers, rounds, short })));
    }
    if (leftOut.length === 0) {
      figures.push(...(await atPlace((place) => processFigures(options, place, servers.env))));
    }
    return { figures, leftOut };
  } finally {
    await servers.stop();
    process.off('exit', remove);
  }
}

/** Where the bench is cut short, its servers end by themselves; their data would stay. */
function removeData({ server, missing }: RunningServers): void {
  const absent = missing.map(({ engine }) => engine);
  const one = needed.find((name) => !absent.includes(name));
  if (one) rmSync(dirname(server(one).place.home), { recursive: true, force: true, maxRetries: 3 });
}

async function processFigures(
  { rounds, short = false, profileFolder, say }: BenchOptions,
  { folder, model, env: ofModel }: BenchPlace,
  engines: Record<string, string>,
): Promise<Figure[]> {
  say('processes');
  const profiling = profileFolder ? ` --cpu-prof --cpu-prof-dir=${profileFolder}` : '';
  const mesh = await startMesh({
    folder,
    args: ['--mesh'],
    env: {
      ...ofModel,
      ...engines,
      PARLEY_SERVERS_DIR: join(folder, 'servers'),
      // All of them come from this machine.
      GATEWAY_CONNECTIONS_PER_CLIENT: '20000',
      GATEWAY_SOCKETS_PER_CLIENT: '20000',
      NODE_OPTIONS: `${collectingOptions}${profiling}`,
    },
  });
  try {
    const [url = '', otherUrl = ''] = mesh.gatewayUrls;
    const gateways = childrenOf(mesh.pid, '/gateway/src/main.ts');
    const gateway = { url, pid: startedWith(gateways, 'GATEWAY_PORT', new URL(url).port) };
    const [api, elsewhere] = [publicApi(url), publicApi(otherUrl)];
    await enter(api, {});
    await signInAs(api, elsewhere);
    const token = await accessTokenOf(api);
    const talker = await openTalker(elsewhere, await makeAgent(api));
    const { sessionId } = talker;
    await talker.firstChunkMs('Hello.');

    say('idle sockets');
    const sessionPids = childrenOf(mesh.pid, '/session/src/main.ts');
    const idle = await idleSocketFigures({ gateway, sessionPids, token, sessionId, short });
    say(`first chunks over both gateways, ${rounds} rounds`);
    const prefix = 'mesh: ';
    const chunks = await firstChunkFigures({ urls: [url, otherUrl], modelUrl: model.url, rounds, prefix, short });
    say(`events to many readers, ${rounds} rounds`);
    const fanOut = await fanOutFigures({ gateway, model, talker, sessionId, token, rounds, short });
    await talker.close();
    return [...chunks, ...idle, ...fanOut];
  } finally {
    await mesh.stop();
  }
}
