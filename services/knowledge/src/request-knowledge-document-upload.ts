import { type Caller, inTenant } from '@parley/kernel/caller';
import { between, parseInput } from '@parley/kernel/input';
import { tenantObjects } from '@parley/objects/tenant-objects';
import { z } from 'zod';
import { baseStore } from './base-store.ts';
import { fileName } from './file-name.ts';
import type { RequestKnowledgeDocumentUploadInput, RequestKnowledgeDocumentUploadResult } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { settleLater } from './settle-upload.ts';
import { maxUploadBytes, newUploadKey, uploadType, uploadUrlMs } from './upload-rules.ts';
import { uploadStore } from './upload-store.ts';
import { usageStore } from './usage-store.ts';

const wanted = z.object({
  knowledgeBaseId: z.number(),
  fileName: fileName(),
  mimeType: uploadType(),
  declaredSizeBytes: between(1, maxUploadBytes),
});

/** The declared size is only compared with what the plan has left. @throws DomainError `invalid`, `notFound`, `tooManyRequests`, `unavailable` */
export async function requestKnowledgeDocumentUpload(
  { database, objects, quotas: quotasOf, openUploads }: Ports,
  given: Caller,
  input: RequestKnowledgeDocumentUploadInput,
): Promise<RequestKnowledgeDocumentUploadResult> {
  const caller = inTenant(given);
  const { knowledgeBaseId, fileName, mimeType, declaredSizeBytes } = parseInput(wanted, input);
  const objectKey = newUploadKey(caller.tenantId, fileName);
  const signing = { key: objectKey, contentType: mimeType, expiresInMs: uploadUrlMs };
  const [quotas, { url }] = await Promise.all([
    quotasOf(caller),
    tenantObjects(objects, caller.tenantId).presignPut(signing),
  ]);

  await database.transact(caller.tenantId, async (db) => {
    await baseStore(db).lockShared(knowledgeBaseId);
    await usageStore(db).check({ storedBytes: declaredSizeBytes }, quotas);
    const uploadId = await uploadStore(db).open({ knowledgeBaseId, objectKey, mimeType }, openUploads);
    await settleLater(db, uploadId, objectKey);
  });
  return { uploadUrl: url, objectStorageKey: objectKey };
}
