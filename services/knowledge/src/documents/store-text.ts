import type { TenantRequest } from '@parley/kernel/caller-request';
import { baseStore } from '../bases/base-store.ts';
import { chunkSizeFor } from '../indexing/embed-passages.ts';
import { generationStore } from '../indexing/generation-store.ts';
import { chunksOf, fillGeneration, switchGeneration } from '../indexing/index-text.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { documentStore, type NewDocument } from './document-store.ts';

export interface NewText extends Pick<NewDocument, 'knowledgeBaseId' | 'fileName' | 'mimeType' | 'parseWarnings'> {
  origin: 'TEXT' | 'URL';
  text: string;
}

/**
 * Stores a text as a document. The document is invisible until its chunks are stored; if it is refused or fails, no row and no usage
 * remain.
 * @returns the number of its chunks
 * @throws DomainError `notFound` if the base is absent or was deleted
 * @throws DomainError `invalid` if a quota is exceeded
 * @throws the errors of `Embedder.embed`
 */
export async function storeText(ports: Ports, request: TenantRequest, { text, ...given }: NewText): Promise<number> {
  const { caller, signal } = request;
  const { tenantId } = caller;
  const { knowledgeBaseId } = given;
  const storedBytes = Buffer.byteLength(text);
  const quotas = await ports.quotas(caller);
  const { embeddingModel: model } = await ports.database.read(tenantId, (db) => baseStore(db).get(knowledgeBaseId));
  const chunks = await chunksOf(text, [], chunkSizeFor(ports.embedder, model), signal);

  const draft = await ports.database.transact(tenantId, async (db) => {
    await usageStore(db).check({ chunks: chunks.length, storedBytes }, quotas);
    const facts = { ...given, storedBytes, fileSizeBytes: storedBytes, parseStatus: 'READY' as const };
    const { id } = await documentStore(db).insertDraft(facts, text);
    const generation = await generationStore(db).begin(id);
    return { knowledgeBaseId, documentId: id, generation, model, name: given.fileName };
  });

  const id = draft.documentId;
  try {
    const built = await fillGeneration(ports, request, draft, chunks);
    const quotasNow = await ports.quotas(caller);
    await ports.database.transact(
      tenantId,
      async (db) => {
        await baseStore(db).lockShared(knowledgeBaseId);
        await switchGeneration(db, await documentStore(db).publish(id), built, quotasNow);
        await usageStore(db).change({ storedBytes }, quotasNow);
      },
      { lockQueue: usageQueueKey(tenantId) },
    );
    return built.chunkCount;
  } catch (error) {
    const removed = ports.database.transact(tenantId, (db) => documentStore(db).removeDraft(id));
    await removed.catch((err: unknown) => ports.log.warn({ err, documentId: id }, 'draft not removed; swept later'));
    throw error;
  }
}
