import { join, relative } from 'node:path';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { localMesh } from '@parley/local';
import { root } from '../root.ts';
import { banner } from './banner.ts';
import { prepareDataFolder } from './data-folder.ts';

const stopTimeoutMs = 9_000;

/** Starts the whole mesh in this process, says how to use it, and stops it on Ctrl-C or SIGTERM. */
export async function upOneProcess(env: NodeJS.ProcessEnv, dataFolder: string): Promise<void> {
  const logFile = env.LOG_FILE || join(dataFolder, 'parley.log');
  process.env.LOG_FILE = logFile; // every unit's logger reads it: the terminal is for the person

  // `scripts/dev` has gone without a word, for instance by kill -9.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));

  try {
    prepareDataFolder(dataFolder);
    const mesh = await localMesh(env, { dataFolder });
    await run([telemetry(env), mesh], {
      log: createLogger('mesh'),
      addresses: mesh.surroundings.addresses,
      stopTimeoutMs,
      failed: mesh.failed,
      onReady: async () => {
        await mesh.ready();
        const seconds = performance.now() / 1000; // since the process began
        process.stdout.write(banner(mesh, { seconds, dataFolder: shown(dataFolder), logFile: shown(logFile) }));
      },
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

/** Paths inside the checkout are shown from there: that is where people type. */
function shown(path: string): string {
  const inside = relative(root, path);
  return inside.startsWith('..') ? path : inside;
}
