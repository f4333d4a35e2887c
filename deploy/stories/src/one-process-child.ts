import { gateway } from '@parley/gateway';
import type { Endpoint } from '@parley/kernel/addresses';
import { createLogger } from '@parley/kernel/log';
import { run } from '@parley/kernel/run';
import { telemetry } from '@parley/kernel/telemetry';
import type { Part } from '@parley/kernel/unit';
import { localMesh } from '@parley/local';
import { schemas } from '@parley/local/schemas';
import { migratedSnapshot } from '@parley/testing/test-database';
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
  addresses: mesh.dependencies.addresses,
  failed: mesh.failed,
  onReady: () => {
    const databaseUrl = mesh.databaseUrl() ?? '';
    process.send?.({ units: mesh.dependencies.addresses.announced(), databaseUrl } satisfies MeshAddresses);
  },
});

/** On the same engines and services; it announces itself as `gateway-2`. */
function secondGateway(): Part {
  const { addresses } = mesh.dependencies;
  const announce = (_unit: string, door: Endpoint, address: string) => addresses.announce('gateway-2', door, address);
  const dependencies = { ...mesh.dependencies, addresses: { ...addresses, announce } };
  return gateway.unit(gateway.readConfig(process.env), dependencies);
}
