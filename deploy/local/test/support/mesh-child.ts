import { telemetry } from '@parley/chassis/telemetry';
import { databaseSnapshot } from '@parley/chassis/testing/test-database';
import { localMesh } from '../../src/mesh.ts';
import type { MeshAddresses } from './mesh-process.ts';

/**
 * Runs the mesh on the data folder of its first argument, tells its addresses to the process that started it, and stops when
 * told to. It never calls `process.exit` then: when everything has stopped, nothing is left that would keep it alive.
 */
const dataFolder = process.argv[2];
if (!dataFolder) throw new Error('Give a data folder');

const traces = telemetry(process.env);
await traces.start();
const mesh = await localMesh(process.env, { dataFolder, databaseSnapshot: databaseSnapshot() });
await mesh.start();
const units = ['gateway', 'identity', 'agent', 'session', 'evaluation'];
const addresses: MeshAddresses = {
  url: `${mesh.publicUrl()}/graphql`,
  ops: Object.fromEntries(units.map((unit) => [unit, mesh.surroundings.addresses.of(unit, 'ops')])),
};
process.send?.(addresses);
const orphaned = () => process.exit(1); // whoever started it is gone, and with it its purpose
process.once('disconnect', orphaned);
process.once('message', async () => {
  process.off('disconnect', orphaned);
  await mesh.stop();
  await traces.stop();
  process.disconnect();
});
