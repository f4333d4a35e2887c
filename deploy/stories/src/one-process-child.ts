import { createLogger } from '@parley/chassis/log';
import { run } from '@parley/chassis/run';
import type { Door } from '@parley/chassis/surroundings';
import { telemetry } from '@parley/chassis/telemetry';
import { migratedSnapshot } from '@parley/chassis/testing/test-database';
import type { Part } from '@parley/chassis/unit';
import { gateway } from '@parley/gateway';
import { localMesh } from '@parley/local';
import { schemas } from '@parley/local/schemas';
import type { MeshAddresses } from './one-process.ts';

/**
 * Runs the mesh on the data folder of its first argument as `scripts/up` does, with as many gateways as the second one says,
 * tells its addresses to the process that started it, and stops at SIGTERM or SIGINT.
 */
const [, , dataFolder, gateways] = process.argv;
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

const mesh = await localMesh(process.env, { dataFolder, databaseSnapshot: await migratedSnapshot(schemas) });
await run([telemetry(process.env), mesh, ...(gateways === '2' ? [secondGateway()] : [])], {
  log: createLogger('mesh'),
  addresses: mesh.surroundings.addresses,
  failed: mesh.failed,
  onReady: () => {
    const databaseUrl = mesh.databaseUrl() ?? '';
    process.send?.({ units: mesh.surroundings.addresses.announced(), databaseUrl } satisfies MeshAddresses);
  },
});

/** On the same engines and services; it announces itself as `gateway-2`. */
function secondGateway(): Part {
  const { addresses } = mesh.surroundings;
  const announce = (_unit: string, door: Door, address: string) => addresses.announce('gateway-2', door, address);
  const surroundings = { ...mesh.surroundings, addresses: { ...addresses, announce } };
  return gateway.unit(gateway.readConfig(process.env), surroundings);
}
