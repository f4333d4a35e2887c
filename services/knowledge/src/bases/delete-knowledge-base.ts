import type { TenantRequest } from '@parley/kernel/caller-request';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { removeObjectLater } from '../uploads/remove-object.ts';
import { uploadStore } from '../uploads/upload-store.ts';
import { baseStore } from './base-store.ts';

/** Deletes a base. Its documents stay stored and counted until each of them is deleted. Its open uploads end and release their storage. */
export async function deleteKnowledgeBase(
  { database }: Ports,
  { caller: { tenantId } }: TenantRequest,
  id: number,
): Promise<boolean> {
  await database.transact(
    tenantId,
    async (db) => {
      await baseStore(db).markDeleted(id);
      for (const objectKey of await uploadStore(db).refuseAll(id)) await removeObjectLater(db, objectKey);
      await usageStore(db).change({ knowledgeBases: -1 });
    },
    { lockQueue: usageQueueKey(tenantId) },
  );
  return true;
}
