import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineName, Place } from './engine.ts';
import { down, type FleetOptions, reset, type Server, settingsOf, up } from './fleet.ts';
import { foldersOf } from './folders.ts';
import { startServer } from './one-server.ts';
import { clearPlace, ensurePlace } from './place.ts';
import { superuserUrl } from './postgres.ts';
import { findProcess, stopProcess } from './server-process.ts';

export interface StartServersOptions {
  /** Default: all four. */
  only?: EngineName[];
  /**
   * Where data and passwords stay from one time to the next. Default: a folder of their own, deleted at `stop`, whose servers
   * also end by themselves when the thread that started them does.
   */
  folder?: string;
  /** Engines that are configured in here are used as they are. Default: none is. */
  env?: NodeJS.ProcessEnv;
  /** Hears of installs and starts. Default: nobody. */
  say?(line: string): void;
  signal?: AbortSignal;
}

/** One server in the hands of a test. Its address and passwords stay the same throughout. */
export interface ServerControl {
  readonly place: Place;
  /** Undefined while it is down. */
  pid(): number | undefined;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** In good order. Resolves when its process is gone. */
  stop(): Promise<void>;
  /** By SIGKILL. Resolves when its process is gone. */
  kill(): Promise<void>;
  /** Deletes all that it kept; it must be down. */
  clear(): void;
}

export interface RunningServers {
  /** What clients are configured with: `DATABASE_URL` and so on. */
  env: Record<string, string>;
  /** A login of that PostgreSQL that may do everything; undefined where none of ours runs. */
  superuserUrl: string | undefined;
  /** Engines that were asked for and are not there, with the reason. */
  missing: { engine: EngineName; reason: string }[];
  /** @throws Error where no server of ours of that kind was started. */
  server(engine: EngineName): ServerControl;
  stop(): Promise<void>;
}

/** Starts real servers, for test suites and the mesh. What this machine cannot have stands in `missing`. */
export async function startServers(options: StartServersOptions = {}): Promise<RunningServers> {
  const { only = ['postgres', 'redis', 'kafka', 's3'], folder, env = {}, say = () => undefined } = options;
  const data = folder ?? privateFolder();
  const fleet: FleetOptions = {
    folders: { ...foldersOf(process.env), data },
    env,
    only,
    signal: options.signal ?? new AbortController().signal,
    say,
  };
  const endWithParent = folder === undefined;

  async function stop(): Promise<void> {
    const quiet = { ...fleet, signal: new AbortController().signal };
    await (folder === undefined ? reset(quiet) : down(quiet));
    if (folder === undefined) rmSync(data, { recursive: true, force: true });
  }

  const servers = await up({ ...fleet, endWithParent }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });

  return {
    env: settingsOf(servers, env),
    superuserUrl: servers.flatMap((each) => (isOurs(each, 'postgres') ? [superuserUrl(each.place)] : []))[0],
    missing: servers.flatMap((each) => ('reason' in each ? [{ engine: each.engine.name, reason: each.reason }] : [])),
    server(name) {
      const found = servers.find((each) => isOurs(each, name));
      if (found?.state !== 'up') throw new Error(`${name} was not started`);
      const { engine, place } = found;
      return {
        place,
        pid: () => findProcess(place.home),
        async start() {
          if (findProcess(place.home) !== undefined) return;
          const again = await ensurePlace(engine, fleet.folders);
          if (again.ports.main !== place.ports.main) throw new Error(`${name}: its port was taken in between`);
          await startServer(engine, again, { signal: fleet.signal, endWithParent });
        },
        stop: () => stopProcess(place.home, engine.stopSignal).then(() => undefined),
        kill: () => stopProcess(place.home, 'SIGKILL').then(() => undefined),
        clear: () => clearPlace(place),
      };
    },
    stop,
  };
}

function isOurs(server: Server, name: EngineName): server is Extract<Server, { state: 'up' }> {
  return server.engine.name === name && server.state === 'up';
}

/** A server that does not run as root must get into it. */
function privateFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'parley-servers-'));
  chmodSync(folder, 0o711);
  return folder;
}
