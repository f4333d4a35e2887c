import { randomUUID } from 'node:crypto';
import { existsSync, openAsBlob } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { vector } from '@electric-sql/pglite-pgvector';
import { serveOnSocket } from './embedded-socket.ts';

/** What `startEmbeddedDatabase` hands to this thread. */
export interface EmbeddedWorkerData {
  folder: string | null;
  snapshot: string | null;
  socketPath: string;
  idleInTransactionTimeoutMs: number;
}

/** What this thread says to the one that started it; it takes any message as the order to stop. */
export type EmbeddedWorkerMessage = 'ready';

/** The thread that PGlite runs in: a statement, and above all the first start, would stall the main event loop. */
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
  port.postMessage('ready' satisfies EmbeddedWorkerMessage);
}

/** A first start that was killed leaves half a cluster; the marker says so, and nobody has committed anything to it. */
async function openFolder(folder: string, snapshot: string | null): Promise<PGlite> {
  const cluster = join(folder, 'cluster');
  const unfinished = join(folder, 'unfinished');
  if (existsSync(unfinished)) await rm(cluster, { recursive: true, force: true });
  if (!existsSync(cluster)) await writeFile(unfinished, 'The cluster beside this file is still being made.\n');
  const db = await open(cluster, snapshot);
  await rm(unfinished, { force: true });
  return db;
}

async function open(cluster: string | undefined, snapshot: string | null): Promise<PGlite> {
  const fresh = cluster === undefined || !existsSync(join(cluster, 'PG_VERSION'));
  const options = { ...(cluster === undefined ? {} : { dataDir: cluster }), extensions: { vector } };
  if (snapshot === null || !fresh) return PGlite.create(options);
  if (existsSync(snapshot)) return PGlite.create({ ...options, loadDataDir: await openAsBlob(snapshot) });
  const db = await PGlite.create(options);
  await saveSnapshot(db, snapshot);
  return db;
}

/** Renamed into place when it is whole: others may be reading or making the same one. */
async function saveSnapshot(db: PGlite, snapshot: string): Promise<void> {
  const dump = await db.dumpDataDir('none');
  const half = `${snapshot}.${randomUUID()}`;
  await mkdir(dirname(snapshot), { recursive: true });
  await writeFile(half, dump.stream());
  await rename(half, snapshot);
}

/** Thrown outside any promise, so that it ends the thread and reaches the other one as its `error` event. */
function crash(error: Error): void {
  setImmediate(() => {
    throw error;
  });
}

main(workerData).catch(crash);
