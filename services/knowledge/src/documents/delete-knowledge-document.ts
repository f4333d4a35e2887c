import type { TenantRequest } from '@parley/kernel/caller-request';
import { generationStore } from '../indexing/generation-store.ts';
import { endParsing } from '../parsing/queue-parsing.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { removeObjectLater } from '../uploads/remove-object.ts';
import { documentStore } from './document-store.ts';

/**
 * Deletes a document, also one in a deleted base, and releases its quota. Later, a sweep deletes its chunks, and a job deletes its uploaded
 * file.
 */
export async function deleteKnowledgeDocument(
  { database }: Ports,
  { caller: { tenantId } }: TenantRequest,
  id: number,
): Promise<boolean> {
  await database.transact(
    tenantId,
    async (db) => {
      const { chunkCount, storedBytes, objectKey, ...document } = await documentStore(db).lock(id);
      await documentStore(db).markDeleted(id);
      await generationStore(db).release(id, document.generation);
      await generationStore(db).release(id, document.preparedGeneration);
      await endParsing(db, { documentId: id, version: document.version });
      if (objectKey !== null) await removeObjectLater(db, objectKey);
      await usageStore(db).change({ chunks: -chunkCount, storedBytes: -storedBytes });
    },
    { lockQueue: usageQueueKey(tenantId) },
  );
  return true;
}
