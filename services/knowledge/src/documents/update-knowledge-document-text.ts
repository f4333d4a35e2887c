import type { TenantRequest } from '@parley/kernel/caller-request';
import { parseInput, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { MutationUpdateKnowledgeDocumentTextArgs } from '../generated/schema.ts';
import { buildGeneration, discardGeneration, switchGeneration } from '../indexing/index-text.ts';
import type { KnowledgeDocument } from '../knowledge.ts';
import { refuseWhileParsing, replaceText } from '../parsing/parse-status.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { documentStore } from './document-store.ts';
import { maxTextLength } from './ingest-document.ts';

const replacedText = z.object({ id: z.number(), text: text(maxTextLength) });

/**
 * Replaces text and chunks in one step, and makes a FAILED document READY. Of two concurrent updates, the last one wins
 * as a whole.
 */
export async function updateKnowledgeDocumentText(
  ports: Ports,
  request: TenantRequest,
  input: MutationUpdateKnowledgeDocumentTextArgs,
): Promise<boolean> {
  const { caller } = request;
  const { tenantId } = caller;
  const { id, text } = parseInput(replacedText, input, '');
  const quotas = await ports.quotas(caller);
  const textBytes = Buffer.byteLength(text);

  const { document, base } = await ports.database.transact(tenantId, async (db) => {
    const found = await documentStore(db).getInBase(id);
    refuseWhileParsing(found.document);
    await usageStore(db).check({ storedBytes: growthOf(found.document, textBytes) }, quotas);
    return found;
  });
  const indexed = {
    documentId: id,
    name: document.fileName,
    knowledgeBaseId: base.id,
    model: base.embeddingModel,
    text,
  };
  const quota = (chunks: number) =>
    ports.database.transact(tenantId, (db) => usageStore(db).check({ chunks: chunks - document.chunkCount }, quotas));
  const built = await buildGeneration(ports, request, indexed, quota);
  try {
    const quotasNow = await ports.quotas(caller);
    await ports.database.transact(
      tenantId,
      async (db) => {
        const documents = documentStore(db);
        const { document } = await documents.lockInBase(id);
        await replaceText(db, document, text);
        await documents.update(id, sizesOf(document, textBytes));
        await switchGeneration(db, document, built, quotasNow);
        await usageStore(db).change({ storedBytes: growthOf(document, textBytes) }, quotasNow);
      },
      { lockQueue: usageQueueKey(tenantId) },
    );
  } catch (error) {
    await discardGeneration(ports, caller, id, built.generation);
    throw error;
  }
  return true;
}

function sizesOf({ origin, fileSizeBytes }: KnowledgeDocument, textBytes: number) {
  return origin === 'UPLOAD'
    ? { fileSizeBytes, storedBytes: fileSizeBytes + textBytes }
    : { fileSizeBytes: textBytes, storedBytes: textBytes };
}

function growthOf(document: KnowledgeDocument, textBytes: number): number {
  return sizesOf(document, textBytes).storedBytes - document.storedBytes;
}
