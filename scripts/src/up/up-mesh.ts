import { once } from 'node:events';
import { join } from 'node:path';
import { type Environment, port, readSettings } from '@parley/chassis/config';
import { lockFolder } from '@parley/chassis/database/embedded-lock';
import { poolSizeSetting } from '@parley/chassis/database/pool-size';
import { createAddresses, type Door } from '@parley/chassis/surroundings';
import { tellAddresses } from '@parley/local/addresses-file';
import { withKeys } from '@parley/local/keys';
import { readMeshSettings } from '@parley/local/mesh-settings';
import { schemas } from '@parley/local/schemas';
import { topics } from '@parley/local/topics';
import { Logs, shortLine } from '@parley/mesh/logs';
import { startMeshServers } from '@parley/mesh/mesh-servers';
import { migrateAll, type Terminal } from '@parley/mesh/migrate-all';
import { type ProcessMesh, startProcessMesh } from '@parley/mesh/process-mesh';
import { topicsCommand } from '@parley/mesh/topics-command';
import { foldersOf, makeDataFolder } from '@parley/servers/folders';
import { isFree } from '@parley/servers/ports';
import { banner } from './banner.ts';
import { prepareDataFolder, shown } from './data-folder.ts';

export interface UpMeshOptions {
  dataFolder: string;
  /** Shows every log line on the terminal, too. */
  showLogs: boolean;
}

/**
 * Starts real servers and every unit as processes of its own, says how to use them, and stops all on Ctrl-C or SIGTERM.
 * @throws Error where it cannot come up or end in good order; then all is stopped.
 */
export async function upMesh(env: NodeJS.ProcessEnv, { dataFolder, showLogs }: UpMeshOptions): Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  let kill = () => {};
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (signal.aborted) kill();
      stopping.abort(new Error(`${name} before it was up: all is stopped again`));
    });
  }
  const folder = join(dataFolder, 'mesh');
  for (const each of [dataFolder, folder]) prepareDataFolder(each);

  const stack = new AsyncDisposableStack(); // last opened, first closed
  try {
    const lock = lockFolder(folder, '', () => undefined);
    stack.defer(() => lock.release());
    const onLine = (name: string, line: string) => void process.stdout.write(`${shortLine(name, line)}\n`);
    const logs = new Logs({ folder: join(folder, 'logs'), onLine: showLogs ? onLine : undefined });
    stack.defer(() => logs.close());
    const say = (text: string) => {
      logs.tell(text);
      if (!showLogs) process.stdout.write(`parley: ${text}\n`);
    };

    const numbers = { GATEWAY_PORT: port.default(4000), ...poolSizeSetting };
    const { GATEWAY_PORT: publicPort, DATABASE_POOL_SIZE: poolSize } = readSettings(env, numbers);
    if (publicPort !== 0 && !(await isFree(publicPort))) {
      throw new Error(`Port ${publicPort} on 127.0.0.1 is taken by another program.`);
    }
    const given: Environment = { ...(await withKeys(env, dataFolder)), PARLEY_DATA_DIR: dataFolder };
    const { models } = readMeshSettings(given);

    const folders = { ...foldersOf(env), ...(!env.PARLEY_SERVERS_DIR && { data: join(dataFolder, 'servers') }) };
    makeDataFolder(folders.data);
    const servers = await startMeshServers({ folders, env, only: ['postgres', 'redis', 'kafka', 's3'], signal, say });
    stack.defer(() => servers.stop());
    const { LOG_FILE: _, ...settings }: Environment = { ...given, ...servers.env };
    signal.throwIfAborted();
    await Promise.all([
      told(logs, (terminal) => migrateAll(schemas, settings, terminal)),
      told(logs, (terminal) => topicsCommand(topics, undefined, settings, terminal)),
    ]);

    const mesh = await startProcessMesh({ env: settings, publicPort, logs, say, signal });
    kill = mesh.kill;
    stack.defer(mesh.stop);
    const published = publish(mesh, dataFolder);
    await published.start();
    stack.defer(() => published.stop());

    const gateways = mesh.replicas.flatMap(({ ports }) => ports.public ?? []);
    const withSchema = mesh.replicas.filter(({ unit }) => schemas.some(({ name }) => name === unit)).length;
    const rows: [string, string][] = [
      ['gateways', `${gateways.map((each) => `http://127.0.0.1:${each}/graphql`).join('  ')}   (each alone)`],
      ...servers.shown,
      ['connections', `at most ${withSchema * poolSize} to PostgreSQL: ${withSchema} processes, ${poolSize} each`],
      ['processes', mesh.processes.map(({ name }) => name).join(' ')],
      ['data', shown(dataFolder)],
      ['logs', `${shown(logs.folder)}/<process>.log`],
      ['all logs', `tail -f ${shown(logs.joinedFile)}`],
    ];
    const what = ` as ${mesh.processes.length} processes`;
    process.stdout.write(banner({ what, url: `http://localhost:${mesh.publicPort}`, models, rows }));
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await stack.disposeAsync();
  }
}

/** Runs a command whose report belongs into the log. @throws Error with what it says when it fails. */
async function told(logs: Logs, command: (terminal: Terminal) => Promise<0 | 1>): Promise<void> {
  let problem = '';
  const stdout = { write: (text: string) => logs.tell(text.trim()) };
  const stderr = { write: (text: string) => (problem += text) };
  if ((await command({ stdout, stderr })) !== 0) throw new Error(problem.trim());
}

/** Tells `scripts/rpc` where units are: the first of a kind by its unit's name, the others by their own. */
function publish({ replicas, publicPort }: ProcessMesh, dataFolder: string) {
  const addresses = createAddresses({});
  for (const { name, unit, ports } of replicas) {
    for (const [door, number] of Object.entries(ports) as [Door, number][]) {
      const address = `${door === 'rpc' ? '' : 'http://'}127.0.0.1:${number}`;
      addresses.announce(name.endsWith('-1') ? unit : name, door, address);
    }
  }
  addresses.announce('mesh', 'public', `http://127.0.0.1:${publicPort}`);
  return tellAddresses(dataFolder, addresses);
}
