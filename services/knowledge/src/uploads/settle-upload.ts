import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { Ports } from '../ports.ts';
import { storedFacts } from './stored-facts.ts';
import { maxStoredBytes, mayArriveMs, unconfirmedMs } from './upload-rules.ts';
import { uploadStore } from './upload-store.ts';

const checkKind = 'knowledge.check-upload';
const settleKind = 'knowledge.settle-upload';

interface SettleUpload {
  uploadId: number;
  objectKey: string;
}

/**
 * Schedules two jobs for an upload. One runs after the URL has expired, the other when no PUT can be in progress any more. So no scan for
 * old uploads is needed.
 */
export async function settleLater(db: TenantDb, uploadId: number, objectKey: string): Promise<void> {
  const upload = { key: String(uploadId), data: { uploadId, objectKey } };
  await jobs(db).append<SettleUpload>({ ...upload, kind: checkKind, delayMs: mayArriveMs });
  await jobs(db).append<SettleUpload>({ ...upload, kind: settleKind, delayMs: unconfirmedMs });
}

export function checkJob(ports: Ports): JobDeclaration {
  return uploadJob(checkKind, (run) => checkUpload(ports, run));
}

export function settleJob(ports: Ports): JobDeclaration {
  return uploadJob(settleKind, (run) => settleUpload(ports, run));
}

function uploadJob(kind: string, handler: (run: JobRun<SettleUpload>) => Promise<void>): JobDeclaration {
  return job<SettleUpload>({
    kind,
    concurrency: 2,
    perTenantLimit: 1,
    retry: 'untilDone',
    stopGraceMs: 1_000,
    handler,
  });
}

/**
 * Calls `settleUpload` if an upload can no longer be confirmed: it was confirmed or refused, or its file is missing or larger than allowed.
 */
async function checkUpload(ports: Ports, run: JobRun<SettleUpload>): Promise<void> {
  const { uploadId, objectKey } = run.data;
  const upload = await ports.database.transact(run.tenantId, (db) => uploadStore(db).find(uploadId));
  if (upload && upload.documentId === null && upload.refusedAt === null) {
    const stored = await storedFacts(tenantObjects(ports.objects, run.tenantId), objectKey);
    if (stored && stored.sizeBytes <= maxStoredBytes(upload.declaredBytes)) return;
  }
  await settleUpload(ports, run);
}

/**
 * Deletes an upload's object, unless the object was confirmed and its document still exists. An object that replaced the confirmed one is
 * deleted too.
 */
async function settleUpload({ database, objects }: Ports, { tenantId, data }: JobRun<SettleUpload>): Promise<void> {
  const { uploadId, objectKey } = data;
  const neededEtag = await database.transact(tenantId, (db) => uploadStore(db).settle(uploadId));
  const files = tenantObjects(objects, tenantId);
  if (neededEtag !== undefined && (await storedFacts(files, objectKey))?.etag === neededEtag) return;
  await files.delete(objectKey);
}
