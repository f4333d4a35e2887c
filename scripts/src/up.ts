import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './root.ts';

const usage = `Starts all of Parley on this machine, and stops it on Ctrl-C.

  scripts/up                  everything in one process, on engines of that process: Node is all it needs
  scripts/up --mesh [--logs]  every unit as a process of its own, two of gateway, agent and session, on a real PostgreSQL,
                              Redis, Kafka and S3; with --logs the terminal shows what all of them log

  GATEWAY_PORT       where the GraphQL endpoint listens, default 4000
  PARLEY_DATA_DIR    the data folder, default .parley

With --mesh, servers that are missing are installed into .tools and started without Docker, as scripts/servers does it; one
that the environment names (DATABASE_URL, REDIS_URL, KAFKA_BROKERS, S3_ENDPOINT) is used as it is. A process that ends by
itself is started again.
`;

const { values } = readArguments();
const dataFolder = resolve(root, process.env.PARLEY_DATA_DIR || '.parley');
// Loaded only then: the process that looks after the others needs none of their code.
if (values.help) {
  process.stdout.write(usage);
} else if (values.mesh) {
  const { upMesh } = await import('./up/up-mesh.ts');
  process.exitCode = await upMesh(process.env, { dataFolder, showLogs: values.logs });
} else {
  const { upOneProcess } = await import('./up/up-one-process.ts');
  await upOneProcess(process.env, dataFolder);
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        mesh: { type: 'boolean', default: false },
        logs: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}
