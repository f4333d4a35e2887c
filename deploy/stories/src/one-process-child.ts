import { flushCompileCache } from 'node:module';
import { gateway } from '@parley/gateway';
import type { Endpoint } from '@parley/kernel/processes/addresses';
import { run } from '@parley/kernel/processes/run';
import type { Part } from '@parley/kernel/processes/unit';
import { createLogger } from '@parley/kernel/telemetry/log';
import { telemetry } from '@parley/kernel/telemetry/telemetry';
import { localMesh } from '@parley/local';
import { migratedSnapshot } from '@parley/testing/test-database';
import { schemas } from '@parley/units';
import type { MeshAddresses } from './one-process.ts';

/**
 * Runs a mesh as `scripts/up` does. Arguments: the data folder and the number of gateways. Sends the mesh's addresses to the parent
 * process, and stops at SIGTERM or SIGINT.
 */
const [, , dataFolder, gateways] = process.argv;
if (!dataFolder) throw new Error('Give a data folder');

/** If the process still runs this long after the mesh has stopped, an open resource keeps it alive. */
const endsWithinMs = 10_000;
const exitNow = process.exit.bind(process);

const orphaned = () => exitNow(1); // the parent process has ended
process.once('disconnect', orphaned);

// `run` calls `process.exit` when everything has stopped. Here the process must end by itself, so that open resources are detected.
Object.defineProperty(process, 'exit', {
  value: (code: number) => {
    process.exitCode = code;
    process.off('disconnect', orphaned);
    if (process.connected) process.disconnect();
    setTimeout(() => {
      process.stderr.write(
        `The mesh has stopped, but its process does not end: ${process.getActiveResourcesInfo().join(', ')}\n`,
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
    flushCompileCache(); // processes started from now on find the compiled code in the cache
    const databaseUrl = mesh.databaseUrl() ?? '';
    process.send?.({ units: mesh.dependencies.addresses.announced(), databaseUrl } satisfies MeshAddresses);
  },
});

/** Returns a second gateway, which uses the engines and services of the first one and announces its addresses as `gateway-2`. */
function secondGateway(): Part {
  const { addresses } = mesh.dependencies;
  const announce = (_unit: string, endpoint: Endpoint, address: string) =>
    addresses.announce('gateway-2', endpoint, address);
  const dependencies = { ...mesh.dependencies, addresses: { ...addresses, announce } };
  return gateway.unit(gateway.readConfig(process.env), dependencies);
}
