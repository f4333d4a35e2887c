import { join, relative, resolve } from 'node:path';
import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { localMesh } from '@parley/local';
import { root } from './root.ts';
import { banner } from './up/banner.ts';

/** Starts the whole mesh in this process, says how to use it, and stops it on Ctrl-C or SIGTERM. */
const dataFolder = resolve(root, process.env.PARLEY_DATA_DIR || '.parley');
process.env.LOG_FILE ??= join(dataFolder, 'parley.log');

try {
  const mesh = await localMesh(process.env, { dataFolder });
  await run([telemetry(process.env), mesh], {
    log: createLogger('mesh'),
    stopTimeoutMs: 9_000,
    failed: mesh.failed,
    onReady: async () => {
      await mesh.ready();
      const seconds = performance.now() / 1000; // since the process began
      process.stdout.write(
        banner(mesh, { seconds, dataFolder: relative(root, dataFolder) || '.', logFile: process.env.LOG_FILE ?? '' }),
      );
    },
  });
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
