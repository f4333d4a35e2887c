import type { TenantRequest } from '@parley/kernel/caller-request';
import { between, parseInput } from '@parley/kernel/input';
import { tenantObjects } from '@parley/objects/tenant-objects';
import { z } from 'zod';
import { baseStore } from '../bases/base-store.ts';
import { fileName } from '../documents/file-name.ts';
import type { RequestKnowledgeDocumentUploadInput, RequestKnowledgeDocumentUploadResult } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { settleLater } from './settle-upload.ts';
import { maxUploadBytes, newUploadKey, uploadType, uploadUrlMs } from './upload-rules.ts';
import { uploadStore } from './upload-store.ts';

const wanted = z.object({
  knowledgeBaseId: z.number(),
  fileName: fileName(),
  mimeType: uploadType(),
  declaredSizeBytes: between(1, maxUploadBytes),
});

/**
 * Returns a URL to upload a file to. Reserves the declared size until the upload is confirmed, refused or a day old.
 * @throws DomainError `invalid` if the input is malformed or a quota is exceeded
 * @throws DomainError `notFound` if the base does not exist
 * @throws DomainError `tooManyRequests` if too many uploads are open
 * @throws DomainError `unavailable` if the identity service or the object store does not respond
 */
export async function requestKnowledgeDocumentUpload(
  { database, objects, quotas: quotasOf, openUploads }: Ports,
  { caller }: TenantRequest,
  input: RequestKnowledgeDocumentUploadInput,
): Promise<RequestKnowledgeDocumentUploadResult> {
  const { knowledgeBaseId, fileName, mimeType, declaredSizeBytes } = parseInput(wanted, input);
  const objectKey = newUploadKey(caller.tenantId, fileName);
  const signing = { key: objectKey, contentType: mimeType, expiresInMs: uploadUrlMs };
  const [quotas, { url }] = await Promise.all([
    quotasOf(caller),
    tenantObjects(objects, caller.tenantId).presignPut(signing),
  ]);

  await database.transact(
    caller.tenantId,
    async (db) => {
      await baseStore(db).lockShared(knowledgeBaseId);
      await usageStore(db).lock();
      await usageStore(db).check({ storedBytes: declaredSizeBytes }, quotas);
      const upload = { knowledgeBaseId, objectKey, mimeType, declaredBytes: declaredSizeBytes };
      const uploadId = await uploadStore(db).open(upload, openUploads);
      await settleLater(db, uploadId, objectKey);
    },
    { lockQueue: usageQueueKey(caller.tenantId) },
  );
  return { uploadUrl: url, objectStorageKey: objectKey };
}
