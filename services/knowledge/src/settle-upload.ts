import { isDomainError } from '@parley/kernel/errors';
import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { Ports } from './ports.ts';
import { unconfirmedMs } from './upload-rules.ts';
import { uploadStore } from './upload-store.ts';

const settleKind = 'knowledge.settle-upload';

interface SettleUpload {
  uploadId: number;
  objectKey: string;
}

/** One job per upload, due when no PUT to its URL can be under way any more: nothing scans for old uploads. */
export async function settleLater(db: TenantDb, uploadId: number, objectKey: string): Promise<void> {
  const data = { uploadId, objectKey };
  await jobs(db).append<SettleUpload>({ kind: settleKind, key: String(uploadId), data, delayMs: unconfirmedMs });
}

export function settleJob(ports: Ports): JobDeclaration {
  return job<SettleUpload>({
    kind: settleKind,
    concurrency: 2,
    perTenantLimit: 1,
    retry: 'untilDone',
    stopGraceMs: 1_000,
    handler: (run) => settleUpload(ports, run),
  });
}

/** Removes an object that nobody confirmed, that came after its document was deleted, or that replaced the confirmed one. */
async function settleUpload({ database, objects }: Ports, { tenantId, data }: JobRun<SettleUpload>): Promise<void> {
  const { uploadId, objectKey } = data;
  const neededEtag = await database.transact(tenantId, (db) => uploadStore(db).settle(uploadId));
  const files = tenantObjects(objects, tenantId);
  if (neededEtag !== undefined && (await etagOf(files, objectKey)) === neededEtag) return;
  await files.delete(objectKey);
}

/** Undefined where there is no object. */
export async function etagOf(files: Pick<Ports['objects'], 'head'>, key: string): Promise<string | undefined> {
  try {
    return (await files.head(key)).etag;
  } catch (error) {
    if (isDomainError(error, 'notFound')) return undefined;
    throw error;
  }
}
