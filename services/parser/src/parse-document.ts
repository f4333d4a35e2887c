import { serviceCaller } from '@parley/kernel/caller';
import { isDomainError } from '@parley/kernel/errors';
import { isShapeless } from '@parley/kernel/input-checks';
import { backoff } from '@parley/kernel/timing/backoff';
import { readObject } from '@parley/objects/object-store';
import { tenantObjects } from '@parley/objects/tenant-objects';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { TenantJob } from '@parley/postgres/jobs/job-rows';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import type { BeginDocumentResponse } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { ParserConfig } from './config.ts';
import { endedItsReaders, FileProblem, maxFileBytes, reasonOf } from './file-problem.ts';
import { type FileType, fileTypeOf } from './file-types.ts';
import type { ReadText } from './markdown.ts';
import type { Ports } from './ports.ts';
import { textParts } from './text-parts.ts';
import { warningsOf } from './warnings.ts';

export interface ParseDocumentJob {
  documentId: number;
  version: number;
  /** Number of times that the job has waited for knowledge or the object store. */
  waits?: number;
}

export const parseKind = 'parser.parse';

/** If every one of this many attempts to read a file ends the reader or this process, the document is FAILED. */
const maxAttempts = 5;
/**
 * Time in ms that jobs have to end when this process stops. Most documents are parsed within it. Another process parses the other documents
 * again.
 */
const stopGraceMs = 5_000;
const waitAfter = backoff({ firstMs: 1_000, maxMs: 30_000, jitter: true });
const completeTimeoutMs = 60_000;

export function parseJob(ports: Ports, config: ParserConfig): JobDeclaration {
  const { concurrency, perTenant, leaseMs } = config;
  return job<ParseDocumentJob>({
    kind: parseKind,
    gauge: { name: 'parley_parser_documents_running', help: 'Documents that this process parses' },
    concurrency,
    perTenantLimit: perTenant,
    leaseMs,
    retry: { maxAttempts },
    stopGraceMs,
    handler: async (run) => {
      try {
        await parseDocument(ports, config, run);
      } catch (error) {
        if (isDomainError(error, 'notFound')) return; // knowledge no longer waits for this version of the document
        if (!isDomainError(error, 'unavailable')) throw error;
        await waitAndRetry(ports, run, error);
      }
    },
    beforeExhausted: (failed) => failExhausted(ports, failed),
    onExhausted: async () => undefined,
  });
}

/**
 * Parses a document.
 * @throws DomainError `notFound` if knowledge no longer waits for this version; `unavailable` if knowledge or the store does not respond
 */
async function parseDocument(ports: Ports, config: ParserConfig, run: JobRun<ParseDocumentJob>): Promise<void> {
  const { documentId, version } = run.data;
  const { knowledge, metrics } = ports;
  const call = { ...callOf(run), signal: run.signal };
  const document = await knowledge.beginDocument({ documentId, version }, call);
  const type = fileTypeOf(document.mimeType);
  const read = await readDocument(ports, run, document, type);
  if (read instanceof FileProblem) {
    await knowledge.failDocument({ documentId, version, reason: reasonOf(read, type, config) }, call);
    metrics.outcome(type, read.problem);
    ports.log.info({ documentId, type, problem: read.problem, err: read.cause }, 'document cannot be read');
    return;
  }
  await knowledge.completeDocument(partsOf(run.data, read), { ...call, timeoutMs: completeTimeoutMs });
  metrics.outcome(type, 'parsed');
  for (const { kind } of read.losses ?? []) metrics.loss(type, kind);
}

async function readDocument(
  { objects, reader, metrics }: Ports,
  { tenantId, signal }: JobRun<ParseDocumentJob>,
  { objectKey, objectEtag, sizeBytes }: BeginDocumentResponse,
  type: FileType,
): Promise<ReadText | FileProblem> {
  try {
    const bytes = await readConfirmed();
    const ended = metrics.read(type);
    try {
      const read = await reader.read({ type, bytes }, { tenantId, signal });
      if (isShapeless(read.text)) throw new FileProblem(type === 'pdf' ? 'noText' : 'empty');
      return read;
    } finally {
      ended();
    }
  } catch (error) {
    if (error instanceof FileProblem) return error;
    throw error;
  }

  async function readConfirmed(): Promise<Buffer> {
    const options = { ifMatch: objectEtag, maxBytes: maxFileBytes };
    try {
      const { bytes } = await readObject(tenantObjects(objects, tenantId), objectKey, options);
      // While an object is replaced, some stores return the old object's size with the new object's ETag.
      if (BigInt(bytes.length) !== sizeBytes) throw new FileProblem('replaced');
      return bytes;
    } catch (error) {
      if (isDomainError(error, 'notFound')) throw new FileProblem('gone');
      if (isDomainError(error) && error.reason === 'OBJECT_CHANGED') throw new FileProblem('replaced');
      if (isDomainError(error) && error.reason === 'OBJECT_TOO_LARGE') throw new FileProblem('tooLarge');
      throw error;
    }
  }
}

async function* partsOf({ documentId, version }: ParseDocumentJob, { text, pageStarts, losses = [] }: ReadText) {
  let about = { pageStarts, warnings: warningsOf({ losses }) };
  for (const part of textParts(text)) {
    yield { documentId, version, text: part, ...about };
    about = { pageStarts: [], warnings: [] };
  }
}

/** Retries the job later. This uses up no attempt, because an outage is no fault of the document. */
async function waitAndRetry(ports: Ports, run: JobRun<ParseDocumentJob>, error: Error): Promise<void> {
  const waits = (run.data.waits ?? 0) + 1;
  const delayMs = Math.round(waitAfter(waits));
  ports.log.warn({ documentId: run.data.documentId, delayMs, err: error }, 'document not parsed yet; will retry');
  await run.retryLater({ ...run.data, waits }, delayMs);
}

/** Fails a document if each attempt to parse it crashed this process or its reader. The job retries while knowledge is unavailable. */
async function failExhausted({ knowledge, metrics }: Ports, failed: TenantJob<ParseDocumentJob>): Promise<undefined> {
  const { documentId, version } = failed.data;
  try {
    await knowledge.failDocument({ documentId, version, reason: endedItsReaders }, callOf(failed));
    metrics.endedItsReaders();
  } catch (error) {
    if (!isDomainError(error, 'notFound')) throw error;
  }
  return undefined;
}

function callOf({ tenantId, data }: TenantJob<ParseDocumentJob>) {
  const caller = serviceCaller('parser', tenantId, `parse-${data.documentId}`);
  return { caller, expectedErrors: ['notFound' as const] };
}
