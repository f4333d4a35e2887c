import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type FolderLock, lockFolder } from './embedded-lock.ts';
import type { EmbeddedWorkerData } from './embedded-worker.ts';

export interface EmbeddedDatabaseOptions {
  /** Where the data is kept; made, for its owner alone, when missing. `null`: in memory, gone after `stop`. */
  folder: string | null;
  /**
   * A file with an empty cluster to begin from, so that a fresh start skips the seconds that `initdb` takes; made by
   * the first start that does not find it. Belongs to one version of PGlite. Default: none.
   */
  snapshot?: string;
  /**
   * How long one client may keep a transaction open without a statement. All clients share one session, so a forgotten
   * transaction would stop everybody; its connection is ended with SQLSTATE 25P03 instead. Default: 30,000.
   */
  idleInTransactionTimeoutMs?: number;
}

/** PostgreSQL (PGlite with pgvector) inside this process, in a thread of its own. */
export interface EmbeddedDatabase {
  /** Connection string for `pg` and knex, over a Unix socket that only this user of the machine can reach. */
  url: string;
  /** Ends all connections, rolls back what was open, closes the data files and frees the folder. */
  stop(): Promise<void>;
  /** Resolves with the reason when the database ends without `stop`; it does not come back. Else stays pending. */
  exited: Promise<Error>;
}

/**
 * Starts the embedded database, on data of an earlier start when the folder has some. Throws, and names the process
 * that holds it, when the folder is in use. It never keeps the process alive by itself; open connections to it do.
 *
 * One session serves every connection: a transaction makes all others wait, so keep it short and never wait for a
 * second connection inside one. No named statements, no `LISTEN`, no `COPY FROM STDIN`, no session-wide `SET`.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const folder = options.folder === null ? null : resolve(options.folder);
  const socketFolder = makeSocketFolder();
  let lock: FolderLock | undefined;
  const tidyUp = () => {
    process.removeListener('exit', tidyUp);
    rmSync(socketFolder, { recursive: true, force: true });
    lock?.release();
  };
  process.on('exit', tidyUp);

  try {
    if (folder !== null) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      lock = lockFolder(folder, socketFolder, removeSocketFolder);
    }
    const worker = startWorker({
      folder,
      snapshot: options.snapshot ?? null,
      socketPath: join(socketFolder, `.s.PGSQL.${PORT}`),
      idleInTransactionTimeoutMs: options.idleInTransactionTimeoutMs ?? 30_000,
    });
    const ended = endOf(worker);
    await Promise.race([
      new Promise((ready) => worker.once('message', ready)),
      ended.then((reason) => Promise.reject(reason)),
    ]);
    worker.unref();
    return running(worker, ended, urlOf(socketFolder), tidyUp);
  } catch (error) {
    tidyUp();
    throw error;
  }
}

function running(worker: Worker, ended: Promise<Error>, url: string, tidyUp: () => void): EmbeddedDatabase {
  let stopping: Promise<void> | undefined;
  const exited = Promise.withResolvers<Error>();
  const gone = ended.then((reason) => {
    tidyUp();
    if (stopping === undefined) exited.resolve(reason);
    return reason;
  });

  async function stop(): Promise<void> {
    // Until the data files are closed the process has to stay.
    worker.ref();
    worker.postMessage('stop');
    const timer = setTimeout(() => void worker.terminate(), STOP_TIMEOUT_MS);
    await gone;
    clearTimeout(timer);
  }

  return {
    url,
    exited: exited.promise,
    stop: () => (stopping ??= stop()),
  };
}

function startWorker(workerData: EmbeddedWorkerData): Worker {
  // What the process was started with (a test runner's loaders, an inspector) does not concern the database.
  return new Worker(new URL('./embedded-worker.ts', import.meta.url), { workerData, name: 'database', execArgv: [] });
}

function endOf(worker: Worker): Promise<Error> {
  return new Promise((resolve) => {
    let reason: unknown;
    worker.once('error', (error) => {
      reason = error;
    });
    worker.once('exit', (code) => {
      resolve(new Error(`The embedded database has ended (exit code ${code})`, { cause: reason }));
    });
  });
}

/** A fresh folder that no other user can enter; its path has to fit into the 104 bytes of a socket address. */
function makeSocketFolder(): string {
  const short = join(tmpdir(), `${SOCKET_FOLDER_PREFIX}XXXXXX/.s.PGSQL.${PORT}`).length < 100;
  return mkdtempSync(join(short ? tmpdir() : '/tmp', SOCKET_FOLDER_PREFIX));
}

/** Removes what a killed process left; a path in a file is only believed as far as it looks like one of ours. */
function removeSocketFolder(path: string): void {
  const ours = [tmpdir(), '/tmp'].includes(dirname(path)) && basename(path).startsWith(SOCKET_FOLDER_PREFIX);
  if (ours) rmSync(path, { recursive: true, force: true });
}

function urlOf(socketFolder: string): string {
  // Port and sslmode are spelled out so that PGPORT and PGSSLMODE in the environment change nothing.
  const url = new URL(`postgresql://postgres@localhost:${PORT}/postgres`);
  url.searchParams.set('host', socketFolder);
  url.searchParams.set('sslmode', 'disable');
  return url.href;
}

const PORT = 5432;
const SOCKET_FOLDER_PREFIX = 'parley-db-';
/** Closing takes well under a second; a thread that does not is stuck in a statement, and its data survives a kill. */
const STOP_TIMEOUT_MS = 10_000;
