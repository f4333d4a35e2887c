import { backoff } from '@parley/kernel/backoff';
import { serviceRequest, type TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import { readObject } from '@parley/objects/object-store';
import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun, TenantJob } from '@parley/postgres/jobs/job-types';
import type { ExportConfig } from './config.ts';
import { type ExportRecord, filesPrefix, pdf } from './export-record.ts';
import { exportStore, type StoredFile } from './export-store.ts';
import type { Ports } from './ports.ts';
import { readContent, readState } from './read-content.ts';
import { removeFiles } from './remove-export.ts';
import { RenderProblem, reasonOf } from './render-problem.ts';
import type { PreparedContent } from './renderer.ts';

export interface RenderExportJob {
  exportId: number;
  /** How often it has waited for the evaluation. */
  evaluationWaits?: number;
  /** How often it has waited for another service or the object store. */
  waits?: number;
  /** When the first of these waits began, by the database's clock: milliseconds since 1970. */
  waitingSinceMs?: number;
}

export const renderKind = 'export.render';

/** So many failures make it FAILED or FALLBACK_READY. */
const maxAttempts = 3;
/** Most documents are rendered by then; another process starts anew with the others. */
const stopGraceMs = 5_000;
const evaluationRetryMs = 1_000;
/** An export that has waited so long for another service or the object store is FAILED or FALLBACK_READY. */
const maxWaitMs = 24 * 60 * 60 * 1_000;
const waitAfter = backoff({ firstMs: 1_000, maxMs: 30_000, jitter: true });

export function renderJob(ports: Ports, { concurrency, perTenant, leaseMs }: ExportConfig): JobDeclaration {
  return job<RenderExportJob, undefined, StoredFile | undefined>({
    kind: renderKind,
    gauge: { name: 'parley_exports_rendering', help: 'Exports that this process renders' },
    concurrency,
    perTenantLimit: perTenant,
    leaseMs,
    retry: { maxAttempts },
    retryable: (error) => !(error instanceof RenderProblem && error.problem === 'unavailable'),
    stopGraceMs,
    handler: async (run) => {
      try {
        await renderExport(ports, run);
      } catch (error) {
        if (isDomainError(error, 'unavailable')) return waitAndRetry(ports, run, error);
        if (!run.signal.aborted) ports.metrics.attemptFailed(error instanceof RenderProblem ? error.problem : 'other');
        throw error;
      }
    },
    beforeExhausted: (failed) => storeFallback(ports, failed),
    onExhausted: (db, failed, error, fallback) => recordFailure(ports, db, { failed, error, fallback }),
  });
}

/** @throws RenderProblem; DomainError `unavailable` where a service or the object store does not answer */
async function renderExport(ports: Ports, run: JobRun<RenderExportJob>): Promise<void> {
  const { tenantId, data, signal, lease } = run;
  const { exportId } = data;
  const request = serviceRequest('export', tenantId, `export-${exportId}`, signal);
  const record = await ports.database.transact(tenantId, (db) => exportStore(db).find(exportId));
  if (!record) return removeOwnFiles(ports, run);

  const state = await readState(ports, request, record);
  if (!state.isActive && !state.evaluation) {
    const evaluationWaits = (data.evaluationWaits ?? 0) + 1;
    const mayWait = evaluationWaits * evaluationRetryMs <= ports.limits.evaluationWaitMs;
    if (mayWait) return run.retryLater({ ...data, evaluationWaits }, evaluationRetryMs);
  }
  if (!(await ports.database.transact(tenantId, (db) => exportStore(db).markRendering(exportId)))) {
    return removeOwnFiles(ports, run);
  }

  const content = await readContent(ports, request, { source: record, state });
  const prepared = ports.renderer.prepare(content);
  const { contentHash } = prepared;
  const { file, outcome } = await makeFile(ports, request, { record, prepared });
  const objectKey = `${filesPrefix(record)}${run.attempt}-${contentHash.slice(0, 16)}.pdf`;
  const stored = await tenantObjects(ports.objects, tenantId).put(objectKey, file, { contentType: pdf });

  const isStored = await ports.database.transact(tenantId, async (db) => {
    const marked = await exportStore(db).markReady(exportId, {
      objectKey,
      fileSizeBytes: stored.sizeBytes,
      contentHash,
    });
    if (marked) await lease.complete(db);
    return marked;
  });
  if (!isStored) return removeOwnFiles(ports, run);
  ports.metrics.ended(outcome);
}

/** Files of the same content are the same, so one of the session's that is there is taken before another is rendered. */
async function makeFile(
  { database, objects, renderer, metrics }: Ports,
  { caller: { tenantId }, signal }: TenantRequest,
  { record: { sessionId }, prepared }: { record: ExportRecord; prepared: PreparedContent },
): Promise<{ file: Buffer; outcome: 'rendered' | 'reused' }> {
  const known = await database.transact(tenantId, (db) => exportStore(db).findFile(sessionId, prepared.contentHash));
  const file = known && (await read(known));
  if (file) return { file, outcome: 'reused' };
  const ended = metrics.rendering();
  try {
    const rendered = await renderer.render(prepared, signal);
    metrics.rendered(rendered.pages);
    return { file: rendered.pdf, outcome: 'rendered' };
  } finally {
    ended();
  }

  /** Undefined if it was removed meanwhile. */
  async function read({ objectKey, fileSizeBytes }: StoredFile): Promise<Buffer | undefined> {
    try {
      const { bytes } = await readObject(tenantObjects(objects, tenantId), objectKey, { maxBytes: fileSizeBytes });
      return bytes.length === fileSizeBytes ? bytes : undefined;
    } catch (error) {
      if (isDomainError(error, 'notFound') || isDomainError(error, 'invalid')) return undefined;
      throw error;
    }
  }
}

/** Of an export that is gone, with its tenant or its time, while it was rendered. */
async function removeOwnFiles({ database, objects }: Ports, run: JobRun<RenderExportJob>): Promise<void> {
  const { tenantId, data, signal } = run;
  const isThere = await database.transact(tenantId, (db) => exportStore(db).find(data.exportId));
  if (!isThere) await removeFiles(objects, { tenantId, prefix: filesPrefix({ tenantId, id: data.exportId }), signal });
}

/** Uses up no attempt: an outage is no fault of the document. @throws RenderProblem where it has waited too long */
async function waitAndRetry(
  { database, log }: Ports,
  { tenantId, data, retryLater }: JobRun<RenderExportJob>,
  error: Error,
): Promise<void> {
  const { exportId } = data;
  const waits = (data.waits ?? 0) + 1;
  const delayMs = Math.round(waitAfter(waits));
  const nowMs = await database
    .transact(tenantId, (db) => exportStore(db).markWaiting(exportId))
    .catch((failure: unknown) => {
      if (isDomainError(failure, 'unavailable')) return undefined; // then so is the time, and the job waits for both
      throw failure;
    });
  const waitingSinceMs = data.waitingSinceMs ?? nowMs;
  if (nowMs !== undefined && waitingSinceMs !== undefined && nowMs - waitingSinceMs >= maxWaitMs) {
    throw new RenderProblem('unavailable', error);
  }
  log.warn({ exportId, delayMs, err: error }, 'export not rendered yet; will retry');
  await retryLater({ ...data, waits, ...(waitingSinceMs !== undefined && { waitingSinceMs }) }, delayMs);
}

/**
 * A copy for each export, which is removed with it. While the object store is away, the failure is recorded later; it is recorded without the
 * document once the export is as old as one may wait.
 */
async function storeFallback(
  { database, fallback, objects }: Ports,
  { tenantId, data }: TenantJob<RenderExportJob>,
): Promise<StoredFile | undefined> {
  if (!fallback) return undefined;
  const objectKey = `${filesPrefix({ tenantId, id: data.exportId })}fallback.pdf`;
  try {
    const { sizeBytes } = await tenantObjects(objects, tenantId).put(objectKey, fallback, { contentType: pdf });
    return { objectKey, fileSizeBytes: sizeBytes };
  } catch (error) {
    const leftMs = await database.transact(tenantId, (db) => exportStore(db).timeLeftMs(data.exportId, maxWaitMs));
    if (leftMs > 0 || !isDomainError(error, 'unavailable')) throw error;
    return undefined;
  }
}

interface Failure {
  failed: TenantJob<RenderExportJob>;
  error: unknown;
  fallback: StoredFile | undefined;
}

async function recordFailure(
  { log, metrics }: Ports,
  db: TenantDb,
  { failed, error, fallback }: Failure,
): Promise<void> {
  const { exportId } = failed.data;
  if (!(await exportStore(db).markFailed(exportId, reasonOf(error), fallback))) return;
  db.afterCommit(() => {
    metrics.ended(fallback ? 'fallback' : 'failed');
    log.error({ exportId, tenantId: failed.tenantId, err: error }, 'export failed for good');
  });
}
