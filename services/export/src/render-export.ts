import { createHash } from 'node:crypto';
import { serviceRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import { backoff } from '@parley/kernel/timing/backoff';
import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { TenantJob } from '@parley/postgres/jobs/job-rows';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { ExportConfig } from './config.ts';
import { charactersOf, halved } from './excerpt.ts';
import { type ExportRecord, fallbackKey, filesPrefix, pdf } from './export-record.ts';
import { exportStore, type StoredFile } from './export-store.ts';
import { isLiveTenant } from './live-tenant.ts';
import type { Ports } from './ports.ts';
import { readContent, readState } from './read-content.ts';
import { removeExcess, removeOwnFiles } from './remove-export.ts';
import { isLasting, LastingProblem, RenderProblem, reasonOf } from './render-problem.ts';
import type { DocumentSize, PreparedContent, Rendered } from './renderer.ts';
import type { StudyKitContent } from './study-kit.ts';

export interface RenderExportJob {
  exportId: number;
  /** Number of times that the export has waited for the evaluation. */
  evaluationWaits?: number;
  /** Number of times that the export has waited for another service or the object store. */
  waits?: number;
  /** When the first wait for another service or the object store began: milliseconds since 1970 by the database's clock. */
  waitingSinceMs?: number;
}

/** The kind of job for every new export, which is rendered as a small document first. */
export const renderKind = 'export.render';
/** The kind of job for large documents. It has its own concurrency limit, so that large documents do not block small ones. */
export const renderLargeKind = 'export.render-large';

/** Number of failures after which the export is FAILED or FALLBACK_READY. */
const maxAttempts = 3;
/** Grace period when the process stops. Most documents finish within this period; another process renders the rest from the start. */
const stopGraceMs = 5_000;
const evaluationRetryMs = 1_000;
/** Maximum time that an export waits for another service or the object store; then it is FAILED or FALLBACK_READY. */
const maxWaitMs = 24 * 60 * 60 * 1_000;
const waitAfter = backoff({ firstMs: 1_000, maxMs: 30_000, jitter: true });

export function renderJob(ports: Ports, config: ExportConfig): JobDeclaration {
  return renderJobOf(ports, config, {
    size: 'small',
    kind: renderKind,
    gauge: { name: 'parley_exports_rendering_small', help: 'Small exports that this process reads and renders' },
    concurrency: config.smallConcurrency,
  });
}

export function renderLargeJob(ports: Ports, config: ExportConfig): JobDeclaration {
  return renderJobOf(ports, config, {
    size: 'large',
    kind: renderLargeKind,
    gauge: { name: 'parley_exports_rendering', help: 'Exports other than small ones that this process renders' },
    concurrency: config.concurrency,
  });
}

function renderJobOf(
  ports: Ports,
  { perTenant, leaseMs }: ExportConfig,
  { size, ...queue }: Pick<JobDeclaration, 'kind' | 'gauge'> & { size: DocumentSize; concurrency: number },
): JobDeclaration {
  return job<RenderExportJob, undefined, StoredFile | undefined>({
    ...queue,
    perTenantLimit: perTenant,
    leaseMs,
    retry: { maxAttempts },
    retryable: (error) =>
      !(error instanceof LastingProblem || (error instanceof RenderProblem && error.problem === 'unavailable')),
    stopGraceMs,
    handler: async (run) => {
      try {
        await renderExport(ports, run, size);
      } catch (error) {
        if (isDomainError(error, 'unavailable')) return waitAndRetry(ports, run, error);
        if (!run.signal.aborted) ports.metrics.attemptFailed(problemOf(error));
        if (size === 'small' && isOfSmallLimits(error)) return renderAsLarge(ports, run);
        throw error;
      }
    },
    beforeExhausted: (failed) => storeFallback(ports, failed),
    onExhausted: (db, failed, error, fallback) => recordFailure(ports, db, { failed, error, fallback }),
  });
}

/**
 * Renders an export.
 * @throws RenderProblem if the document cannot be rendered
 * @throws DomainError `unavailable` if a service or the object store does not respond
 */
async function renderExport(ports: Ports, run: JobRun<RenderExportJob>, size: DocumentSize): Promise<void> {
  const { tenantId, data, signal, lease } = run;
  const { exportId } = data;
  const request = serviceRequest('export', tenantId, `export-${exportId}`, signal);
  const record = await ports.database.transact(tenantId, (db) => exportStore(db).find(exportId));
  if (!record) return removeFilesIfGone(ports, run);

  const state = await readState(ports, request, record);
  if (!state.isActive && !state.evaluation) {
    const evaluationWaits = (data.evaluationWaits ?? 0) + 1;
    const mayWait = evaluationWaits * evaluationRetryMs <= ports.limits.evaluationWaitMs;
    if (mayWait) return run.retryLater({ ...data, evaluationWaits }, evaluationRetryMs);
  }
  if (!(await ports.database.transact(tenantId, (db) => exportStore(db).markRendering(exportId)))) {
    return removeFilesIfGone(ports, run);
  }

  const maxCharacters = size === 'small' ? ports.limits.smallCharacters : undefined;
  const content = await readContent(ports, request, { source: record, state, maxCharacters });
  if (!content) return renderAsLarge(ports, run);
  const prepared = ports.renderer.prepare(content);
  const { contentHash, failureHash } = prepared;
  if (await shareFile(ports, run, { record, contentHash })) return ports.metrics.ended('reused');
  const failed = await ports.database.transact(tenantId, (db) =>
    exportStore(db).findFailure(record.sessionId, failureHash),
  );
  if (failed !== undefined) throw new LastingProblem({ failureHash, reason: failed });
  const { pdf: file } = await renderFitting(ports, { content, prepared, size, signal });
  const objectKey = `${filesPrefix(record)}${run.attempt}-${contentHash.slice(0, 16)}.pdf`;
  const { sizeBytes: fileSizeBytes } = await tenantObjects(ports.objects, tenantId).put(objectKey, file, {
    contentType: pdf,
  });

  const outcome = await ports.database.transact(tenantId, async (db) => {
    const store = exportStore(db);
    await store.lock();
    // Another export of the same content may have been rendered in the meantime. Its file is then used, and the file that was stored above
    // is removed.
    const known = await store.findFile(record.sessionId, contentHash);
    if (!(await store.markReady(exportId, { ...(known ?? { objectKey, fileSizeBytes }), contentHash })))
      return undefined;
    if (!known) await removeExcess(db, objectKey, ports.limits.keptBytesPerTenant);
    await lease.complete(db);
    return known ? 'reused' : 'rendered';
  });
  if (!outcome) return removeFilesIfGone(ports, run);
  if (outcome === 'reused') await removeOwnFiles(ports, { tenantId, exportId, signal });
  ports.metrics.ended(outcome);
}

/**
 * Makes the export refer to an existing file of the session with the same content, because rendering would give the same file. Returns
 * false if there is no such file.
 */
async function shareFile(
  { database }: Ports,
  { tenantId, lease }: JobRun<RenderExportJob>,
  { record: { id, sessionId }, contentHash }: { record: ExportRecord; contentHash: string },
): Promise<boolean> {
  return database.transact(tenantId, async (db) => {
    const store = exportStore(db);
    await store.lock();
    const file = await store.findFile(sessionId, contentHash);
    if (!file || !(await store.markReady(id, { ...file, contentHash }))) return false;
    await lease.complete(db);
    return true;
  });
}

/** If an excerpt has fewer characters than this, a shorter one hardly reduces the size of the file. */
const minCharacters = 1_000;

interface RenderedContent {
  content: StudyKitContent;
  prepared: PreparedContent;
  size: DocumentSize;
  signal: AbortSignal;
}

/**
 * Renders content. If the file is too large, halves the excerpt and tries again.
 * @throws LastingProblem if even a short excerpt makes a file that is too large, or if rendering fails with another problem that recurs at
 * every attempt
 */
async function renderFitting(ports: Ports, { content, prepared, size, signal }: RenderedContent): Promise<Rendered> {
  let { transcript } = content;
  for (let json = prepared.json; ; json = ports.renderer.prepare({ ...content, transcript }).json) {
    try {
      return await render(ports, { json, size, signal });
    } catch (error) {
      if (!isLasting(error)) throw error;
      const isShort = charactersOf([...transcript.first, ...transcript.last]) < minCharacters;
      if (error.problem !== 'tooLarge' || isShort) {
        throw new LastingProblem({ failureHash: prepared.failureHash, reason: reasonOf(error), cause: error });
      }
      transcript = halved(transcript);
    }
  }
}

function problemOf(error: unknown): string {
  if (error instanceof LastingProblem) return error.cause ? problemOf(error.cause) : 'known';
  return error instanceof RenderProblem ? error.problem : 'other';
}

async function render(
  { renderer, metrics }: Ports,
  { json, size, signal }: { json: string; size: DocumentSize; signal: AbortSignal },
): Promise<Rendered> {
  const ended = metrics.rendering();
  try {
    const rendered = await renderer.render({ json }, signal, size);
    metrics.rendered(rendered.pages);
    return rendered;
  } finally {
    ended();
  }
}

/** Sets the export back to PENDING and queues it as a large document. */
async function renderAsLarge(
  { database }: Ports,
  { tenantId, key, data, lease }: JobRun<RenderExportJob>,
): Promise<void> {
  await database.transact(tenantId, async (db) => {
    await exportStore(db).markWaiting(data.exportId);
    await jobs(db).append<RenderExportJob>({ kind: renderLargeKind, key, data });
    await lease.complete(db);
  });
}

/** Reports whether a document failed only because of the limits for small documents, so that it may succeed as a large document. */
function isOfSmallLimits(error: unknown): boolean {
  return error instanceof RenderProblem && (error.problem === 'tooSlow' || error.problem === 'tooMuchMemory');
}

/** Removes the files of an export that was removed while it was rendered, because it expired or its tenant was deleted. */
async function removeFilesIfGone(ports: Ports, { tenantId, data, signal }: JobRun<RenderExportJob>): Promise<void> {
  const { exportId } = data;
  const isThere = await ports.database.transact(tenantId, (db) => exportStore(db).find(exportId));
  if (!isThere) await removeOwnFiles(ports, { tenantId, exportId, signal });
}

/**
 * Retries without consuming an attempt, because an outage is not the document's fault.
 * @throws RenderProblem if the export has waited for `maxWaitMs`
 */
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
      // The database, which gives the time, is unavailable too; the job is retried without the time.
      if (isDomainError(failure, 'unavailable')) return undefined;
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
 * Stores the fallback document, once per tenant. During an outage of the object store this function throws, so that the export's failure is
 * recorded later. Once the export is `maxWaitMs` old, the function returns undefined, so that the failure is recorded without the document.
 */
async function storeFallback(
  { database, fallback, objects }: Ports,
  { tenantId, data }: TenantJob<RenderExportJob>,
): Promise<StoredFile | undefined> {
  if (!fallback) return undefined;
  const objectKey = fallbackKey(tenantId, createHash('sha256').update(fallback).digest('hex'));
  const files = tenantObjects(objects, tenantId);
  try {
    const { sizeBytes } = await files.put(objectKey, fallback, { contentType: pdf });
    // If the tenant was deleted before this file was stored, the removal of the tenant's files may have missed it.
    if (!(await database.transact(tenantId, isLiveTenant))) await files.delete(objectKey);
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
  const failureHash = error instanceof LastingProblem ? error.failureHash : undefined;
  if (!(await exportStore(db).markFailed(exportId, { errorMessage: reasonOf(error), failureHash, fallback }))) return;
  db.afterCommit(() => {
    metrics.ended(fallback ? 'fallback' : 'failed');
    log.error({ exportId, tenantId: failed.tenantId, err: error }, 'export failed for good');
  });
}
