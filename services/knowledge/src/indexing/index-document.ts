import { serviceRequest, type TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import type { JobRun } from '@parley/postgres/jobs/job-types';
import { findTenant } from '@parley/service/tenant-facts';
import { baseStore } from '../bases/base-store.ts';
import type { KnowledgeConfig } from '../config.ts';
import { documentStore } from '../documents/document-store.ts';
import { misconfigurationOf } from '../embeddings/embedder.ts';
import { failParse, finishParse, isParsed, lockWaiting, waits } from '../parsing/parse-status.ts';
import type { Parse } from '../parsing/queue-parsing.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { type BuiltGeneration, buildGeneration, discardGeneration, switchGeneration } from './index-text.ts';
import { type Failures, oneMore, suspendedRetryMs } from './job-patience.ts';

export const indexKind = 'knowledge.index';

/**
 * Maximum number of outages for one job. The pauses between attempts double up to a minute, so that this number takes about a day, or
 * longer if the endpoint is slow to fail.
 */
const maxOutages = 1_500;
const tooLongAway =
  'The text could not be indexed because a service that is needed for it was away for too long. Try again.';
/** After such a failure, the job is retried for several minutes, in which an operator may correct the settings. */
const misconfiguration = {
  name: 'misconfiguration',
  attempts: 10,
  pauseMs: 30_000,
  reason:
    'The text could not be indexed because the embeddings of this installation are not set up correctly. Ask its operator, then try again.',
};
const emptyAccount = {
  ...misconfiguration,
  name: 'empty account',
  reason:
    'The text could not be indexed because the account of this installation for embeddings has no credit or quota left. Ask its operator, then try again.',
};
const defect = {
  name: 'defect',
  attempts: 3,
  pauseMs: 2_000,
  reason: 'The text could not be indexed because something went wrong on our side. Try again later.',
};

interface IndexJob extends Parse {
  failures?: Failures | undefined;
}

interface IndexRun extends JobRun<IndexJob> {
  request: TenantRequest;
}

export function indexJob(ports: Ports, { indexConcurrency, indexPerTenant }: KnowledgeConfig): JobDeclaration {
  return job<IndexJob>({
    kind: indexKind,
    gauge: { name: 'parley_knowledge_indexing', help: 'Parsed documents being chunked and embedded' },
    concurrency: indexConcurrency,
    perTenantLimit: indexPerTenant,
    // The job's retries do not end by themselves: `indexDocument` gives up, with a reason.
    retry: 'untilDone',
    // A short grace time: nobody waits for the result, and another process can restart the job.
    stopGraceMs: 1_000,
    handler: (run) =>
      indexDocument(ports, {
        ...run,
        request: serviceRequest('knowledge', run.tenantId, `index-${run.data.documentId}`, run.signal),
      }),
  });
}

/**
 * Chunks and embeds the text of a parsed document, and makes the document READY, or FAILED with a reason. Waits while the tenant is
 * suspended.
 */
async function indexDocument(ports: Ports, run: IndexRun): Promise<void> {
  let built: BuiltGeneration | undefined;
  try {
    const tenant = await findTenant(ports.identity, run.request.caller, run.signal);
    if (!tenant) return await end(ports, run, 'The workspace was deleted.');
    if (tenant.suspended) return await run.retryLater(run.data, suspendedRetryMs);
    built = await build(ports, run);
    if (built === undefined) return;
    await publish(ports, run, built);
  } catch (error) {
    if (built) await discardGeneration(ports, run.request.caller, run.data.documentId, built.generation);
    if (run.signal.aborted) throw error;
    const refusal = refusalOf(error);
    if (refusal !== undefined) return end(ports, run, refusal);
    await waitOrGiveUp(ports, run, error);
  }
}

/** @throws the given error if it is an outage: the job starts again after a pause. */
async function waitOrGiveUp(ports: Ports, run: IndexRun, error: unknown): Promise<void> {
  const { data, tenantId, attempt } = run;
  const about = { err: error, tenantId, documentId: data.documentId };
  const fault = faultOf(error);
  if (!fault && attempt < maxOutages) throw error;
  const failures = fault && oneMore(data.failures, fault);
  if (fault && failures) {
    ports.log.warn({ ...about, failures }, 'document not indexed; will retry');
    return run.retryLater({ ...data, failures }, fault.pauseMs);
  }
  ports.log.error(about, 'document not indexed; given up');
  return end(ports, run, fault?.reason ?? tooLongAway);
}

async function build(ports: Ports, { data, tenantId, request }: IndexRun): Promise<BuiltGeneration | undefined> {
  const { documentId } = data;
  const parsed = await ports.database.transact(tenantId, async (db) => {
    const document = await documentStore(db).find(documentId);
    if (!document || !waits(document, data) || !isParsed(document)) return undefined;
    const { id: knowledgeBaseId, embeddingModel: model } = await baseStore(db).get(document.knowledgeBaseId);
    return { knowledgeBaseId, name: document.fileName, model, ...(await documentStore(db).readText(documentId)) };
  });
  if (!parsed) return undefined;
  const { rawText, ...about } = parsed;
  const quotas = await ports.quotas(request.caller);
  const quota = (chunks: number) => ports.database.transact(tenantId, (db) => usageStore(db).check({ chunks }, quotas));
  return buildGeneration(ports, request, { ...about, documentId, text: rawText }, quota);
}

async function publish(
  { database, ...ports }: Ports,
  { data, tenantId, request, lease }: IndexRun,
  built: BuiltGeneration,
): Promise<void> {
  const quotas = await ports.quotas(request.caller);
  await database.transact(
    tenantId,
    async (db) => {
      const { document } = await documentStore(db).lockInBase(data.documentId);
      if (waits(document, data)) {
        await switchGeneration(db, document, built, quotas);
        await finishParse(db, data);
      }
      await lease.complete(db);
    },
    { lockQueue: usageQueueKey(tenantId) },
  );
}

async function end({ database }: Ports, { data, tenantId, lease }: IndexRun, reason: string): Promise<void> {
  await database.transact(tenantId, async (db) => {
    if (await lockWaiting(db, data)) await failParse(db, data, reason);
    await lease.complete(db);
  });
}

function refusalOf(error: unknown): string | undefined {
  if (isDomainError(error, 'invalid')) return error.message;
  return isDomainError(error, 'notFound') ? 'The knowledge base was deleted.' : undefined;
}

/**
 * Returns the kind of a failure. Undefined for an outage, or while another service does not yet have a new key for calls between services.
 */
function faultOf(error: unknown): typeof defect | undefined {
  const what = misconfigurationOf(error);
  if (what !== undefined) return what === 'account' ? emptyAccount : misconfiguration;
  return isDomainError(error, 'unavailable') || isDomainError(error, 'unauthenticated') ? undefined : defect;
}
