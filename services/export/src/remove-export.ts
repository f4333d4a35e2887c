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
/** A job waits at most so long, below the 24 days that a delay may have; then it looks again. */
const maxDelayMs = 20 * dayMs;

/** Has an export removed after so many days; by then they may be others. */
export async function removeLater(db: TenantDb, exportId: number, keptDays: number): Promise<void> {
  const delayMs = Math.min(keptDays * dayMs, maxDelayMs);
  await jobs(db).append<RemoveExportJob>({ kind: removeKind, key: String(exportId), data: { exportId }, delayMs });
}

/** Removes an export when its time is over, first its files: a link to it ends with them. */
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
    handler: async ({ tenantId, data, signal, lease, retryLater }: JobRun<RemoveExportJob>) => {
      const { exportId } = data;
      const keptMs = limits.keptDays * dayMs;
      const leftMs = await database.transact(tenantId, (db) => exportStore(db).timeLeftMs(exportId, keptMs));
      if (leftMs > 0) return retryLater(data, Math.min(Math.ceil(leftMs), maxDelayMs));
      await removeFiles(objects, { tenantId, prefix: filesPrefix({ tenantId, id: exportId }), signal });
      await database.transact(tenantId, async (db) => {
        await exportStore(db).delete(exportId);
        await lease.complete(db);
      });
    },
  });
}

/** Removes all files below a prefix. @throws DomainError `unavailable`; the signal's reason */
export async function removeFiles(
  objects: ObjectStore,
  { tenantId, prefix, signal }: { tenantId: number; prefix: string; signal: AbortSignal },
): Promise<void> {
  const files = tenantObjects(objects, tenantId);
  for (let after: string | undefined; ; ) {
    const page = await files.list({ prefix, ...(after !== undefined && { after }) });
    for (const { key } of page.objects) {
      signal.throwIfAborted();
      await files.delete(key);
    }
    after = page.next;
    if (after === undefined) return;
  }
}
