import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineName, Place } from './engine.ts';
import { engines, superuserUrl } from './engines.ts';
import { down, isServed, settingsOf, up } from './fleet.ts';
import { foldersOf } from './folders.ts';
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
  const starting = { signal: options.signal ?? never, endWithParent: true };
  const fleet = { folders, env: {}, only, say, ...starting };

  async function stop(): Promise<void> {
    await down({ ...fleet, signal: never }, { clear: true });
    process.off('exit', remove);
    remove();
  }

  const servers = await up(fleet).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  const running = new Map(servers.flatMap((each) => (each.state === 'up' ? [[each.engine.name, each] as const] : [])));
  const database = running.get('postgres');

  return {
    env: settingsOf(servers, {}),
    superuserUrl: database && superuserUrl(database.place),
    missing: servers.flatMap((each) => (isServed(each) ? [] : [{ engine: each.engine.name, reason: each.note }])),
    server(name) {
      const found = running.get(name);
      if (!found) throw new Error(`${name} was not started`);
      const { engine, place } = found;
      return {
        place,
        pid: () => findProcess(place.home),
        async start() {
          if (findProcess(place.home) === undefined) await startServer(engine, place, starting);
        },
        stop: () => stopServer(place.home, engine.stopSignal).then(() => undefined),
        kill: () => stopServer(place.home, 'SIGKILL').then(() => undefined),
        clear: () => rmSync(place.home, { recursive: true, force: true }),
      };
    },
    stop,
  };
}
