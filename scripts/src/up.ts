import { resolve } from 'node:path';
import { readSettings } from '@parley/kernel/settings/config';
import { dataFolderSetting } from '@parley/kernel/settings/shared-settings';
import { attempt } from './attempt.ts';
import { readOptions } from './read-options.ts';
import { root } from './root.ts';

const usage = `Starts all of Parley on this machine, and stops it on Ctrl-C.

  scripts/up                  everything in one process, with embedded engines: needs only Node
  scripts/up --mesh [--logs]  a process for every unit, two for gateway, agent and session, on real PostgreSQL, Redis, Kafka
                              and S3; with --logs the terminal shows the logs of all processes

  GATEWAY_PORT       the port of the GraphQL endpoint, default 4000
  PARLEY_DATA_DIR    the data folder, default .parley

With --mesh, missing servers are installed into .tools and started without Docker, as scripts/servers does. If DATABASE_URL,
REDIS_URL, KAFKA_BROKERS or S3_ENDPOINT is set, that server is used instead. A process that ends unexpectedly is restarted.
`;

const { mesh, logs: showLogs = false } = readOptions(usage, { mesh: { type: 'boolean' }, logs: { type: 'boolean' } });
const dataFolder = resolve(root, readSettings(process.env, { folder: dataFolderSetting }).folder);

await attempt(async () => {
  // Each module is imported only here, because the supervisor of several processes does not need the code of the units.
  if (mesh) await (await import('./up/up-mesh.ts')).upMesh(process.env, dataFolder, showLogs);
  else await (await import('./up/up-one-process.ts')).upOneProcess(process.env, dataFolder);
});
