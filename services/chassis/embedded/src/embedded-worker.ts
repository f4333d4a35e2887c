import { randomUUID } from 'node:crypto';
import { existsSync, openAsBlob } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { serveOnSocket } from './embedded-socket.ts';

/** The options that `startEmbeddedDatabase` passes to this thread. */
export interface EmbeddedWorkerData {
  folder: string | null;
  snapshot: string | null;
  socketPath: string;
  idleInTransactionTimeoutMs: number;
}

/**
 * PGlite runs in a separate thread. Otherwise its statements would block the event loop, and its first start would block it longest. The
 * thread sends `ready` to its parent; any message to the thread stops it.
 */
async function main({ folder, snapshot, socketPath, idleInTransactionTimeoutMs }: EmbeddedWorkerData): Promise<void> {
  const port = parentPort;
  if (port === null) throw new Error('embedded-worker.ts runs in a worker thread only');

  const db = folder === null ? await open(undefined, snapshot) : await openFolder(folder, snapshot);
  const socket = await serveOnSocket(db, { path: socketPath, idleInTransactionTimeoutMs, failed: crash });

  port.once('message', () => {
    socket
      .stop()
      .then(() => db.close())
      .then(() => process.exit(0), crash);
  });
  port.postMessage('ready');
}

/**
 * Opens the cluster in the folder, and before that deletes an incomplete one. A marker file shows that the cluster's first start was
 * killed; nothing was committed to such a cluster.
 */
async function openFolder(folder: string, snapshot: string | null): Promise<PGlite> {
  const cluster = join(folder, 'cluster');
  const unfinished = join(folder, 'unfinished');
  if (existsSync(unfinished)) await rm(cluster, { recursive: true, force: true });
  if (!existsSync(cluster)) await writeFile(unfinished, 'The cluster beside this file is still being made.\n');
  const db = await open(cluster, snapshot);
  await rm(unfinished, { force: true });
  return db;
}

/**
 * PGlite clears all shared buffers when it starts, so all their memory is allocated then. Their default size is 128 MB. Pages that are not
 * in these buffers come from the operating system's cache.
 */
const startParams = [...PGlite.defaultStartParams, '-c', 'shared_buffers=32MB'];

async function open(cluster: string | undefined, snapshot: string | null): Promise<PGlite> {
  const fresh = cluster === undefined || !existsSync(join(cluster, 'PG_VERSION'));
  const options = { ...(cluster === undefined ? {} : { dataDir: cluster }), extensions: { vector }, startParams };
  if (snapshot === null || !fresh) return PGlite.create(options);
  if (existsSync(snapshot)) return PGlite.create({ ...options, loadDataDir: await openAsBlob(snapshot) });
  const db = await PGlite.create(options);
  await saveSnapshot(db, snapshot);
  return db;
}

/** Writes the snapshot under another name and renames the complete file, because other processes may read or create the same file. */
async function saveSnapshot(db: PGlite, snapshot: string): Promise<void> {
  const dump = await db.dumpDataDir('none');
  const draft = `${snapshot}.${randomUUID()}`;
  await mkdir(dirname(snapshot), { recursive: true });
  await writeFile(draft, dump.stream());
  await rename(draft, snapshot);
}

/** Throws outside of any promise, so that the thread ends and its parent receives an `error` event. */
function crash(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

main(workerData).catch(crash);
