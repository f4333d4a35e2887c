import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineName, Place } from './engine.ts';
import { engines, superuserUrl } from './engines.ts';
import { down, settingsOf, up } from './fleet.ts';
import { foldersOf } from './folders.ts';
import { clearPlace, ensurePlace } from './place.ts';
import { findProcess, startServer, stopServer } from './server.ts';

export interface StartServersOptions {
  /** Default: all four. */
  only?: EngineName[];
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
  /** A login of that PostgreSQL that may do everything; undefined where none runs. */
  superuserUrl: string | undefined;
  /** Engines that were asked for and are not there, with the reason. */
  missing: { engine: EngineName; reason: string }[];
  /** @throws Error where no server of that kind was started. */
  server(engine: EngineName): ServerControl;
  stop(): Promise<void>;
}

/**
 * Starts real servers in a folder of their own, for tests and benches; both are gone after `stop`. The servers also end by
 * themselves when the thread that started them does. What this machine cannot have stands in `missing`.
 */
export async function startServers(options: StartServersOptions = {}): Promise<RunningServers> {
  const { only = engines.map(({ name }) => name), say = () => undefined } = options;
  const never = new AbortController().signal;
  const data = mkdtempSync(join(tmpdir(), 'parley-servers-'));
  const remove = () => rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const folders = { ...foldersOf(process.env), data };
  const fleet = { folders, env: {}, only, signal: options.signal ?? never, say };

  async function stop(): Promise<void> {
    await down({ ...fleet, signal: never }, { clear: true });
    process.off('exit', remove);
    remove();
  }

  const servers = await up({ ...fleet, endWithParent: true }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const running = new Map(servers.flatMap((each) => (each.state === 'up' ? [[each.engine.name, each] as const] : [])));
  const database = running.get('postgres');

  return {
    env: settingsOf(servers, {}),
    superuserUrl: database && superuserUrl(database.place),
    missing: servers.flatMap((each) => ('reason' in each ? [{ engine: each.engine.name, reason: each.reason }] : [])),
    server(name) {
      const found = running.get(name);
      if (!found) throw new Error(`${name} was not started`);
      const { engine, place } = found;
      return {
        place,
        pid: () => findProcess(place.home),
        async start() {
          if (findProcess(place.home) !== undefined) return;
          const again = await ensurePlace(engine, folders);
          if (again.ports.main !== place.ports.main) throw new Error(`${name}: its port was taken in between`);
          await startServer(engine, again, { signal: fleet.signal, endWithParent: true });
        },
        stop: () => stopServer(place.home, engine.stopSignal).then(() => undefined),
        kill: () => stopServer(place.home, 'SIGKILL').then(() => undefined),
        clear: () => clearPlace(place),
      };
    },
    stop,
  };
}
