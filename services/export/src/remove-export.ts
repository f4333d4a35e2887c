import type { ObjectStore } from '@parley/objects/object-store';
import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import { filesPrefix } from './export-record.ts';
import { exportStore } from './export-store.ts';
import type { Ports } from './ports.ts';

export interface RemoveExportJob {
  exportId: number;
}

export const removeKind = 'export.remove';

const dayMs = 24 * 60 * 60 * 1_000;
/** Maximum delay of one removal job, below the 24 days that a job can be delayed. For a longer retention the job is scheduled again. */
const maxDelayMs = 20 * dayMs;

/** Schedules the removal of an export. The job checks the age again when it runs, because the retention setting may have changed. */
export async function removeLater(db: TenantDb, exportId: number, keptDays: number): Promise<void> {
  const delayMs = Math.min(keptDays * dayMs, maxDelayMs);
  await jobs(db).append<RemoveExportJob>({ kind: removeKind, key: String(exportId), data: { exportId }, delayMs });
}

/**
 * Removes an expired export. Deletes its record first and schedules the removal of its file if no other export refers to that file. Then
 * deletes all other files that the export's attempts stored.
 */
export function removeJob({
  database,
  objects,
  limits,
}: Pick<Ports, 'database' | 'objects' | 'limits'>): JobDeclaration {
  return job<RemoveExportJob>({
    kind: removeKind,
    concurrency: 2,
    perTenantLimit: 1,
    retry: 'untilDone',
    stopGraceMs: 1_000,
    handler: async ({ tenantId, data, signal, retryLater }: JobRun<RemoveExportJob>) => {
      const { exportId } = data;
      const keptMs = limits.keptDays * dayMs;
      const leftMs = await database.transact(tenantId, (db) => exportStore(db).timeLeftMs(exportId, keptMs));
      if (leftMs > 0) return retryLater(data, Math.min(Math.ceil(leftMs), maxDelayMs));
      await database.transact(tenantId, (db) => deleteExports(db, [exportId]));
      await removeOwnFiles({ database, objects }, { tenantId, exportId, signal });
    },
  });
}

export interface RemoveFileJob {
  objectKey: string;
}

export const removeFileKind = 'export.remove-file';

/**
 * Removes a file that no export refers to. The file cannot gain a reference: a new export refers only to a new file or to a file that
 * another export refers to.
 */
export function removeFileJob({ objects }: Pick<Ports, 'objects'>): JobDeclaration {
  return job<RemoveFileJob>({
    kind: removeFileKind,
    concurrency: 2,
    perTenantLimit: 1,
    retry: 'untilDone',
    stopGraceMs: 1_000,
    handler: ({ tenantId, data }: JobRun<RemoveFileJob>) => tenantObjects(objects, tenantId).delete(data.objectKey),
  });
}

/** Deletes exports and schedules the removal of files that no other export refers to. */
async function deleteExports(db: TenantDb, ids: readonly number[]): Promise<void> {
  const store = exportStore(db);
  await store.lock();
  const keys = await store.delete(ids);
  if (keys.length === 0) return;
  const referenced = new Set(await store.listReferenced(keys));
  for (const objectKey of keys.filter((key) => !referenced.has(key)))
    await jobs(db).append<RemoveFileJob>({ kind: removeFileKind, key: objectKey, data: { objectKey } });
}

/**
 * Makes room for a new file, in the transaction that stores its reference. Removes the oldest files of the session with the most bytes
 * first, so that many exports of one session do not evict files of other sessions.
 */
export async function removeExcess(db: TenantDb, newKey: string, maxBytes: number): Promise<void> {
  const store = exportStore(db);
  await store.lock();
  while ((await store.keptBytes()) > maxBytes) {
    const ids = await store.findExcess(newKey);
    if (ids.length === 0) return; // the new file alone exceeds the limit
    await deleteExports(db, ids);
  }
}

/** Removes the files of a removed export, except those that later exports refer to. */
export async function removeOwnFiles(
  { database, objects }: Pick<Ports, 'database' | 'objects'>,
  { tenantId, exportId, signal }: { tenantId: number; exportId: number; signal: AbortSignal },
): Promise<void> {
  const prefix = filesPrefix({ tenantId, id: exportId });
  await removeFiles(objects, {
    tenantId,
    prefix,
    signal,
    keep: (keys) => database.transact(tenantId, (db) => exportStore(db).listReferenced(keys)),
  });
}

export interface RemovedFiles {
  tenantId: number;
  prefix: string;
  signal: AbortSignal;
  /** Returns which of these keys to keep. Default: none. */
  keep?: (keys: string[]) => Promise<string[]>;
}

/**
 * Removes all files below a prefix.
 * @throws DomainError `unavailable` if the object store is unavailable
 * @throws the signal's reason once the signal has aborted
 */
export async function removeFiles(
  objects: ObjectStore,
  { tenantId, prefix, signal, keep = async () => [] }: RemovedFiles,
): Promise<void> {
  const files = tenantObjects(objects, tenantId);
  for (let after: string | undefined; ; ) {
    const page = await files.list({ prefix, ...(after !== undefined && { after }) });
    const keys = page.objects.map(({ key }) => key);
    const kept = new Set(keys.length > 0 ? await keep(keys) : []);
    for (const key of keys.filter((each) => !kept.has(each))) {
      signal.throwIfAborted();
      await files.delete(key);
    }
    after = page.next;
    if (after === undefined) return;
  }
}
