import { join, relative, resolve } from 'node:path';
import { type Environment, port, readSettings } from '@parley/chassis/config';
import { lockFolder } from '@parley/chassis/database/embedded-lock';
import { poolSizeSetting } from '@parley/chassis/database/pool-size';
import { createAddresses } from '@parley/chassis/surroundings';
import { tellAddresses } from '@parley/local/addresses-file';
import { withKeys } from '@parley/local/keys';
import { readMeshSettings } from '@parley/local/mesh-settings';
import { schemas } from '@parley/local/schemas';
import { topics } from '@parley/local/topics';
import { type Logs, openLogs, shortLine } from '@parley/mesh/logs';
import { startMeshServers } from '@parley/mesh/mesh-servers';
import { migrateAll, type Terminal } from '@parley/mesh/migrate-all';
import { type ProcessMesh, startProcessMesh } from '@parley/mesh/process-mesh';
import { topicsCommand } from '@parley/mesh/topics-command';
import type { EngineName } from '@parley/servers/engine';
import { foldersOf, makeDataFolder } from '@parley/servers/folders';
import { isFree } from '@parley/servers/ports';
import { root } from '../root.ts';
import { prepareDataFolder } from './data-folder.ts';
import { meshBanner } from './mesh-banner.ts';

export interface UpMeshOptions {
  dataFolder: string;
  /** Shows every log line on the terminal, too. */
  showLogs: boolean;
}

const engines: EngineName[] = ['postgres', 'redis', 'kafka', 's3'];

/**
 * Starts real servers and every unit as processes of its own, says how to use them, and stops all on Ctrl-C or SIGTERM.
 * @returns the exit code.
 */
export async function upMesh(env: NodeJS.ProcessEnv, { dataFolder, showLogs }: UpMeshOptions): Promise<number> {
  const stopping = new AbortController();
  const closers: (() => Promise<unknown>)[] = [];
  let mesh: ProcessMesh | undefined;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (stopping.signal.aborted) mesh?.kill();
      stopping.abort(new Error(`${signal} before it was up: all is stopped again`));
    });
  }

  try {
    prepareDataFolder(dataFolder);
    const folder = join(dataFolder, 'mesh');
    prepareDataFolder(folder);
    const lock = lockFolder(folder, '', () => undefined);
    closers.push(async () => lock.release());
    const logs = openLogs({
      folder: join(folder, 'logs'),
      onLine: showLogs ? (name, line) => process.stdout.write(`${shortLine(name, line)}\n`) : undefined,
    });
    closers.push(() => logs.close());
    const say = (text: string) => {
      logs.tell(text);
      if (!showLogs) process.stdout.write(`parley: ${text}\n`);
    };

    const { GATEWAY_PORT, DATABASE_POOL_SIZE } = readSettings(env, {
      GATEWAY_PORT: port.default(4000),
      ...poolSizeSetting,
    });
    if (GATEWAY_PORT !== 0 && !(await isFree(GATEWAY_PORT))) {
      throw new Error(`Port ${GATEWAY_PORT} on 127.0.0.1 is taken by another program.`);
    }
    const given: Environment = { ...(await withKeys(env, dataFolder)), PARLEY_DATA_DIR: dataFolder };
    const { models } = readMeshSettings(given);

    const data = env.PARLEY_SERVERS_DIR ? foldersOf(env).data : join(dataFolder, 'servers');
    makeDataFolder(data);
    const { signal } = stopping;
    const servers = await startMeshServers({ folders: { ...foldersOf(env), data }, env, only: engines, signal, say });
    closers.push(() => servers.stop());
    const settings: Environment = { ...given, ...servers.env };
    signal.throwIfAborted();
    await Promise.all([
      told(logs, (terminal) => migrateAll(schemas, settings, terminal)),
      told(logs, (terminal) => topicsCommand(topics, undefined, settings, terminal)),
    ]);

    const { LOG_FILE: _file, ...rest } = settings;
    mesh = await startProcessMesh({ env: rest, publicPort: GATEWAY_PORT, logs, say, signal });
    const { stop } = mesh;
    closers.push(stop);
    const published = await publish(mesh, dataFolder);
    closers.push(() => published.stop());

    const seconds = performance.now() / 1000; // since this process began
    process.stdout.write(
      meshBanner({
        seconds,
        url: `http://localhost:${mesh.publicPort}`,
        gateways: mesh.replicas.flatMap(({ ports }) => (ports.public ? [`127.0.0.1:${ports.public}`] : [])),
        servers: servers.shown,
        databaseProcesses: mesh.replicas.filter(({ unit }) => schemas.some(({ name }) => name === unit)).length,
        poolSize: DATABASE_POOL_SIZE,
        models,
        processes: mesh.processes.map(({ name }) => name),
        dataFolder: shown(dataFolder),
        logFolder: shown(logs.folder),
        joinedLog: shown(logs.joinedFile),
      }),
    );
    if (!signal.aborted) await new Promise((done) => signal.addEventListener('abort', done, { once: true }));
    return await closeAll(closers);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    await closeAll(closers);
    return 1;
  }
}

/** Last opened, first closed. What cannot be closed is told and does not keep the others open. */
async function closeAll(closers: (() => Promise<unknown>)[]): Promise<0 | 1> {
  let code: 0 | 1 = 0;
  for (let close = closers.pop(); close; close = closers.pop()) {
    await close().catch((error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      code = 1;
    });
  }
  return code;
}

/** Runs a command whose report belongs into the log. @throws Error with what it says when it fails. */
async function told(logs: Logs, command: (terminal: Terminal) => Promise<0 | 1>): Promise<void> {
  let problem = '';
  const stdout = { write: (text: string) => logs.tell(text.trim()) };
  const stderr = { write: (text: string) => (problem += text) };
  if ((await command({ stdout, stderr })) !== 0) throw new Error(problem.trim());
}

/** Tells `scripts/rpc` where units are: the first of a kind by its unit's name, the others by their own. */
async function publish({ replicas, publicPort }: ProcessMesh, dataFolder: string) {
  const addresses = createAddresses({});
  for (const { name, unit, ports } of replicas) {
    const shownName = name.endsWith('-1') ? unit : name;
    for (const [door, number] of Object.entries(ports)) {
      const address = `127.0.0.1:${number}`;
      if (door === 'rpc') addresses.announce(shownName, 'rpc', address);
      else addresses.announce(shownName, door as 'graph' | 'ops' | 'public', `http://${address}`);
    }
  }
  addresses.announce('mesh', 'public', `http://127.0.0.1:${publicPort}`);
  const file = tellAddresses(dataFolder, addresses);
  await file.start();
  return file;
}

/** Paths inside the checkout are shown from there: that is where people type. */
function shown(path: string): string {
  const inside = relative(root, resolve(path));
  return inside.startsWith('..') ? path : inside;
}
