import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import { telemetry } from '@parley/chassis/telemetry';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import { localMesh } from '@parley/local';
import type { MeshAddresses } from './mesh-process.ts';

/**
 * Runs the mesh on the data folder of its first argument as `scripts/up` does, tells its addresses to the process that started
 * it, and stops at SIGTERM or SIGINT.
 */
const dataFolder = process.argv[2];
if (!dataFolder) throw new Error('Give a data folder');

/** Past this something that was not closed has kept the process alive. */
const endsWithinMs = 10_000;
const exitNow = process.exit.bind(process);

const orphaned = () => exitNow(1); // whoever started it is gone, and with it its purpose
process.once('disconnect', orphaned);

// `run` ends the process when all has stopped. Here it has to end by itself then, so that what was left open shows.
Object.defineProperty(process, 'exit', {
  value: (code: number) => {
    process.exitCode = code;
    process.off('disconnect', orphaned);
    if (process.connected) process.disconnect();
    setTimeout(() => {
      process.stderr.write(
        `The mesh has stopped and yet does not end: ${process.getActiveResourcesInfo().join(', ')}\n`,
      );
      exitNow(1);
    }, endsWithinMs).unref();
  },
});

const mesh = await localMesh(process.env, { dataFolder, databaseSnapshot: databaseSnapshot() });
const units = ['gateway', 'identity', 'agent', 'session', 'evaluation'];
await run([telemetry(process.env), mesh], {
  log: createLogger('mesh'),
  addresses: mesh.surroundings.addresses,
  failed: mesh.failed,
  onReady: () => {
    const addresses: MeshAddresses = {
      url: `${mesh.publicUrl()}/graphql`,
      ops: Object.fromEntries(units.map((unit) => [unit, mesh.surroundings.addresses.of(unit, 'ops')])),
    };
    process.send?.(addresses);
  },
});
