import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EngineName } from './engine.ts';
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

export type RunningServers = Awaited<ReturnType<typeof startServers>>;

/**
 * Starts real servers in a folder of their own, for tests and benches; both are gone after `stop`. The servers also end by
 * themselves when the thread that started them does. What this machine cannot have stands in `missing`.
 */
export async function startServers(options: StartServersOptions = {}) {
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
    /** What clients are configured with: `DATABASE_URL` and so on. */
    env: settingsOf(servers, {}),
    /** A login of that PostgreSQL that may do everything; undefined where none runs. */
    superuserUrl: database && superuserUrl(database.place),
    /** Engines that were asked for and are not there, with the reason. */
    missing: servers
      .filter((each) => !isServed(each))
      .map(({ engine, note }) => ({ engine: engine.name, reason: note })),
    /**
     * One server in the hands of a test. Its address and passwords stay the same throughout.
     * @throws Error where no server of that kind was started.
     */
    server(name: EngineName) {
      const found = running.get(name);
      if (!found) throw new Error(`${name} was not started`);
      const { engine, place } = found;
      /** Undefined while it is down. */
      const pid = () => findProcess(place.home);
      return {
        place,
        pid,
        /** Resolves when it answers. */
        start: async () => void (pid() ?? (await startServer(engine, place, starting))),
        /** In good order. Resolves when its process is gone. */
        stop: async () => void (await stopServer(place.home, engine.stopSignal)),
        /** By SIGKILL. Resolves when its process is gone. */
        kill: async () => void (await stopServer(place.home, 'SIGKILL')),
        /** Deletes all that it kept; it must be down. */
        clear: () => rmSync(place.home, { recursive: true, force: true }),
      };
    },
    stop,
  };
}
