import { join } from 'node:path';
import { run } from '@parley/kernel/processes/run';
import { createLogger } from '@parley/kernel/telemetry/log';
import { telemetry } from '@parley/kernel/telemetry/telemetry';
import { localMesh } from '@parley/local';
import { embeddingsOf } from '@parley/local/mesh-settings';
import { banner, unknownRow } from './banner.ts';
import { prepareDataFolder, shown } from './data-folder.ts';
import { demoPage } from './demo-page.ts';
import { withPublicUrls } from './public-urls.ts';
import { untilReady } from './until-ready.ts';

const stopTimeoutMs = 9_000;

/** Starts the whole mesh in this process, prints how to use it, and stops it on Ctrl-C or SIGTERM. */
export async function upOneProcess(given: NodeJS.ProcessEnv, dataFolder: string): Promise<void> {
  const env = withPublicUrls(given);
  const logFile = env.LOG_FILE || join(dataFolder, 'parley.log');
  process.env.LOG_FILE = logFile; // read by the loggers of all units, so that they do not write to the terminal

  // The channel to `scripts/dev` closes if `scripts/dev` ends without stopping this process, e.g. by kill -9.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

  prepareDataFolder(dataFolder);
  const mesh = await localMesh(env, { dataFolder });
  const demo = demoPage(env, dataFolder, mesh);
  await run([telemetry(env), mesh, demo], {
    log: createLogger('mesh'),
    addresses: mesh.dependencies.addresses,
    stopTimeoutMs,
    failed: mesh.failed,
    onReady: async () => {
      await untilReady(mesh.ready);
      const url = mesh.publicUrl().replace('127.0.0.1', 'localhost');
      const rows: [string, string][] = [
        ['keys of tokens', `${url}/.well-known/jwks.json`],
        ['voice', mesh.voiceUrl().replace('127.0.0.1', 'localhost')],
        ...demo.rows(),
        ...Object.entries(mesh.engines()),
        ['embeddings', embeddingsOf(env)],
        ['data', shown(dataFolder)],
        ['log', shown(logFile)],
        ...unknownRow(mesh.unknownSettings()),
      ];
      process.stdout.write(banner(url, mesh.models(), rows));
    },
  });
}
