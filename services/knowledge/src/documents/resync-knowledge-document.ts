import type { TenantCaller } from '@parley/kernel/caller';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, isDomainError } from '@parley/kernel/errors';
import { tenantObjects } from '@parley/objects/tenant-objects';
import { buildGeneration, discardGeneration, switchGeneration } from '../indexing/index-text.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import { parseAgain, refuseWhileParsing } from '../parsing/parse-status.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { documentStore } from './document-store.ts';

/** Queues a FAILED upload for parsing again, or chunks and embeds a READY document anew from its text. */
export async function resyncKnowledgeDocument(ports: Ports, request: TenantRequest, id: number): Promise<boolean> {
  const { caller } = request;
  const document = await ports.database.transact(caller.tenantId, async (db) => {
    const found = await documentStore(db).getInBase(id);
    refuseWhileParsing(found.document);
    return found.document;
  });
  if (document.parseStatus === 'FAILED') await queueAgain(ports, caller, document);
  else await indexAgain(ports, request, id);
  return true;
}

async function queueAgain(ports: Ports, caller: TenantCaller, { id, ...failed }: KnowledgeDocument): Promise<void> {
  if (!(await isFileThere(ports, caller, failed))) throw badRequest(`Document ${id} has no uploaded file any more`);
  await ports.database.transact(caller.tenantId, async (db) => {
    const { document } = await documentStore(db).lockInBase(id);
    refuseWhileParsing(document);
    if (document.parseStatus === 'READY') return; // another request has just replaced the text
    await parseAgain(db, document, ports.parseWaitMs);
  });
}

async function isFileThere(
  { objects }: Ports,
  { tenantId }: TenantCaller,
  { objectKey, objectEtag }: Pick<KnowledgeDocument, 'objectKey' | 'objectEtag'>,
): Promise<boolean> {
  if (objectKey === null) return false;
  try {
    return (await tenantObjects(objects, tenantId).head(objectKey)).etag === objectEtag;
  } catch (error) {
    if (isDomainError(error, 'notFound')) return false;
    throw error;
  }
}

async function indexAgain(ports: Ports, request: TenantRequest, id: number): Promise<void> {
  const { caller } = request;
  const { tenantId } = caller;
  const quotas = await ports.quotas(caller);
  const { document, base, text } = await ports.database.transact(tenantId, async (db) => ({
    ...(await documentStore(db).getInBase(id)),
    text: await documentStore(db).readText(id),
  }));
  const quota = (chunks: number) =>
    ports.database.transact(tenantId, (db) => usageStore(db).check({ chunks: chunks - document.chunkCount }, quotas));
  const { fileName: name } = document;
  const indexed = { documentId: id, name, knowledgeBaseId: base.id, model: base.embeddingModel };
  const { rawText, pageStarts } = text;
  const built = await buildGeneration(ports, request, { ...indexed, text: rawText, pageStarts }, quota);
  try {
    const quotasNow = await ports.quotas(caller);
    const isSwitched = await ports.database.transact(
      tenantId,
      async (db) => {
        const { document: current } = await documentStore(db).lockInBase(id);
        if (current.generation !== document.generation) return false; // another update of the text or another re-sync was committed first
        await switchGeneration(db, current, built, quotasNow);
        return true;
      },
      { lockQueue: usageQueueKey(tenantId) },
    );
    if (!isSwitched) await discardGeneration(ports, caller, id, built.generation);
  } catch (error) {
    await discardGeneration(ports, caller, id, built.generation);
    throw error;
  }
}
