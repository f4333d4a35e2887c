import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type FolderLock, lockFolder } from './embedded-lock.ts';
import type { EmbeddedWorkerData } from './embedded-worker.ts';

export interface EmbeddedDatabaseOptions {
  /** The data folder, created with mode 0700 if missing. `null`: the data are in memory, and lost at `stop`. */
  folder: string | null;
  /**
   * A file with an empty cluster. With it, the first start on a data folder skips `initdb` and saves seconds. If the file is missing, such
   * a start creates it. The file is valid for one version of PGlite only. Default: no file.
   */
  snapshot?: string;
  /**
   * How long a client may keep a transaction open without a statement, in ms; then its connection is closed with SQLSTATE
   * 25P03, because the transaction blocks all other clients. Default: 30,000.
   */
  idleInTransactionTimeoutMs?: number;
}

/** PostgreSQL (PGlite with pgvector) inside this process, in a separate thread. */
export type EmbeddedDatabase = ReturnType<typeof running>;

/**
 * Starts the embedded database with the data in the folder. When the folder is in use, throws an error that names the process that holds
 * it.
 *
 * The database itself does not keep the process alive; open connections do. One session serves every connection: a transaction makes all
 * other connections wait, so keep it short and never wait for a second connection inside a transaction. `LISTEN`, `COPY FROM STDIN` and
 * session-wide `SET` are not supported.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<EmbeddedDatabase> {
  const folder = options.folder === null ? null : resolve(options.folder);
  const socketFolder = makeSocketFolder();
  let lock: FolderLock | undefined;
  const cleanUp = () => {
    process.removeListener('exit', cleanUp);
    rmSync(socketFolder, { recursive: true, force: true });
    lock?.release();
  };
  process.on('exit', cleanUp);

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
    return running(worker, ended, urlOf(socketFolder), cleanUp);
  } catch (error) {
    cleanUp();
    throw error;
  }
}

function running(worker: Worker, ended: Promise<Error>, url: string, cleanUp: () => void) {
  let stopping: Promise<void> | undefined;
  const exited = Promise.withResolvers<Error>();
  const cleanedUp = ended.then((reason) => {
    cleanUp();
    if (stopping === undefined) exited.resolve(reason);
    return reason;
  });

  async function stop(): Promise<void> {
    // Keeps the process alive until the data files are closed.
    worker.ref();
    worker.postMessage('stop');
    const timer = setTimeout(() => void worker.terminate(), STOP_TIMEOUT_MS);
    await cleanedUp;
    clearTimeout(timer);
  }

  return {
    /** Connection string for `pg` and knex, over a Unix socket that only the current user of the machine can reach. */
    url,
    /** Resolves with the reason when the database ends without `stop`; it does not restart. Otherwise stays pending. */
    exited: exited.promise,
    /** Closes all connections, rolls back their transactions, closes the data files and frees the folder. */
    stop: () => (stopping ??= stop()),
  };
}

function startWorker(workerData: EmbeddedWorkerData): Worker {
  // The thread does not inherit the options of the process, such as the loaders of a test runner or an inspector.
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

/** Makes a new folder that no other user can access. Its path has to fit into the 104 bytes of a socket address. */
function makeSocketFolder(): string {
  const short = join(tmpdir(), `${SOCKET_FOLDER_PREFIX}XXXXXX/.s.PGSQL.${PORT}`).length < 100;
  return mkdtempSync(join(short ? tmpdir() : '/tmp', SOCKET_FOLDER_PREFIX));
}

/** Removes the socket folder of a killed process. The path comes from a file, so its form is checked first. */
function removeSocketFolder(path: string): void {
  const ours = [tmpdir(), '/tmp'].includes(dirname(path)) && basename(path).startsWith(SOCKET_FOLDER_PREFIX);
  if (ours) rmSync(path, { recursive: true, force: true });
}

function urlOf(socketFolder: string): string {
  // Port and sslmode are explicit, so that PGPORT and PGSSLMODE in the environment have no effect.
  const url = new URL(`postgresql://postgres@localhost:${PORT}/postgres`);
  url.searchParams.set('host', socketFolder);
  url.searchParams.set('sslmode', 'disable');
  return url.href;
}

const PORT = 5432;
const SOCKET_FOLDER_PREFIX = 'parley-db-';
/**
 * How long `stop` waits before it terminates the thread. Closing takes less than a second, unless a statement hangs. Committed data
 * survives termination.
 */
const STOP_TIMEOUT_MS = 10_000;
