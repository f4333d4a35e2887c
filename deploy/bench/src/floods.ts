import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { openChecker } from '@parley/stories/invariants';
import { embeddedUrl } from './costs.ts';
import { type Figure, figure } from './figures.ts';
import { burstOfTurns } from './floods/burst-of-turns.ts';
import { failingLogins } from './floods/failing-logins.ts';
import { type Flood, loggedIn } from './floods/flood.ts';
import { largerUploads } from './floods/larger-uploads.ts';
import { probeFigures, startProbe } from './floods/probe.ts';
import { namedFor, onServers } from './on-servers.ts';
import { type BenchOptions, openPlace } from './processes.ts';

/** All floods; each runs in its own mesh. */
export const floods: readonly Flood[] = [burstOfTurns, failingLogins, largerUploads];

/** Runs each flood first against a mesh in one process, then against a mesh of processes. Measures another client during each flood. */
export async function floodsFigures(options: BenchOptions): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const flood of floods) {
    if (options.flood !== undefined && !flood.name.includes(options.flood)) continue;
    options.say(`${flood.name}, one process`);
    const inOne = await floodFigures(flood, options);
    figures.push(...namedFor(`${flood.name}, one process`, inOne));
    // In a mesh of processes, a short run measures only the first flood, because most of the time would go into starting meshes.
    if (options.short && flood !== floods[0]) continue;
    const inMesh = await onServers(`${flood.name}, mesh`, options, (servers) => {
      options.say(`${flood.name}, processes`);
      return floodFigures(flood, options, servers.env);
    });
    figures.push(...inMesh);
  }
  return figures;
}

/** Measures one flood. @param servers the settings of real servers. Default: none; the mesh is one process with embedded engines */
async function floodFigures(flood: Flood, options: BenchOptions, servers?: Record<string, string>): Promise<Figure[]> {
  await using place = await openPlace(options);
  // The bench is a trusted proxy that gives each client its own IP address, as real users have.
  const env = { TRUSTED_PROXIES: '127.0.0.1/32', ...flood.settings, ...servers };
  await using mesh = await place.start(env, ...(servers ? ['--mesh'] : []));
  const logFile = servers ? 'mesh/logs/all.log' : 'parley.log';
  const { model } = place;
  const scene = { ...options, mesh, model, logged: loggedIn(join(place.folder, logFile)) };
  const [url = ''] = mesh.urls;
  await using probe = await startProbe(url, flood.probes);
  const probed = async (work: () => Promise<unknown>) => {
    probe.begin();
    await work();
    return probe.end();
  };
  const quietMs = options.short ? 500 : 15_000;
  await probed(() => delay(quietMs)); // warm-up
  const alone = await probed(() => delay(quietMs));
  let own: Figure[] = [];
  const beside = await probed(async () => {
    own = await flood.run(scene);
  });
  const checker = openChecker({ DATABASE_URL: embeddedUrl(mesh.temporary), ...servers });
  try {
    await checker.rest();
    const broken = await checker.broken({ model });
    for (const problem of broken.slice(0, 20)) options.say(`broken: ${problem}`);
    return [...own, ...probeFigures(alone, beside), figure('invariants broken', broken.length, 'in all', { goal: 0 })];
  } finally {
    await checker.close();
  }
}
