import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, escapeIdentifier } from 'pg';
import type { EngineName } from './engine.ts';
import { superuserUrl } from './engines.ts';
import { down, isServed, settingsOf, up } from './fleet.ts';
import { foldersOf } from './folders.ts';
import { findProcess, startServer, stopServer } from './server.ts';

export interface StartServersOptions {
  only: EngineName[];
  /** Receives messages about installations and starts. Default: none. */
  say?(line: string): void;
  signal?: AbortSignal;
  /** Whether a COMMIT waits for the disk. Needed by benches that measure commits. Default: false, because the data are deleted anyway. */
  durable?: boolean;
}

export type RunningServers = Awaited<ReturnType<typeof startServers>>;

/**
 * Starts real servers in a separate folder, for tests and benches. `stop` stops the servers and deletes the folder. The servers also end
 * with the thread that started them. `missing` lists engines that this machine cannot run.
 */
export async function startServers(options: StartServersOptions) {
  const { only, say = () => undefined, durable = false } = options;
  const unabortedSignal = new AbortController().signal;
  const data = mkdtempSync(join(tmpdir(), 'parley-servers-'));
  const remove = () => rmSync(data, { recursive: true, force: true, maxRetries: 3 });
  process.once('exit', remove);
  const folders = { ...foldersOf(process.env), data };
  const starting = { signal: options.signal ?? unabortedSignal, endWithParent: true, disposable: !durable };
  const fleet = { folders, env: {}, only, say, ...starting };

  async function stop(): Promise<void> {
    await down({ ...fleet, signal: unabortedSignal }, { clear: true });
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
    /** The settings for clients: `DATABASE_URL` and so on. */
    env: settingsOf(servers, {}),
    /** The superuser's URL for PostgreSQL; undefined if PostgreSQL does not run. */
    superuserUrl: database && superuserUrl(database.place),
    /** Requested engines that are not available, with the reason. */
    missing: servers.flatMap((each) => (isServed(each) ? [] : { engine: each.engine.name, reason: each.note })),
    /**
     * Controls one server in a test. Its address and passwords do not change.
     * @throws Error if no server of that kind was started.
     */
    server(name: EngineName) {
      const found = running.get(name);
      if (!found) throw new Error(`${name} was not started`);
      const { engine, place } = found;
      /** Returns the server's pid; undefined while the server is down. */
      const pid = () => findProcess(place.home);
      return {
        place,
        pid,
        /** Starts the server. Resolves when the server responds. */
        start: async () => void (pid() ?? (await startServer(engine, place, starting))),
        /** Stops the server regularly. Resolves when its process has ended. */
        stop: async () => void (await stopServer(place.home, engine.stopSignal)),
        /** Sends SIGKILL. Resolves when its process has ended. */
        kill: async () => void (await stopServer(place.home, 'SIGKILL')),
        /** Deletes the server's data. The server must be down. */
        clear: () => rmSync(place.home, { recursive: true, force: true }),
      };
    },
    /**
     * Creates an empty database with the same rights as the application's database. Meanwhile, nobody may be connected to the application's
     * database.
     * @returns the new database's URL, with the application's login
     */
    async createDatabase(name: string): Promise<string> {
      const { DATABASE_URL } = settingsOf(servers, {});
      if (!database || !DATABASE_URL) throw new Error('postgres was not started');
      const url = new URL(DATABASE_URL);
      const client = new Client(superuserUrl(database.place, 'postgres'));
      await client.connect();
      try {
        const [made, template, owner] = [name, url.pathname.slice(1), url.username].map(escapeIdentifier);
        await client.query(`CREATE DATABASE ${made} TEMPLATE ${template} OWNER ${owner}`);
      } finally {
        await client.end();
      }
      url.pathname = name;
      return url.href;
    },
    stop,
  };
}
