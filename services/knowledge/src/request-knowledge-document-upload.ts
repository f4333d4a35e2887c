import type { TenantRequest } from '@parley/kernel/caller-request';
import { isDomainError } from '@parley/kernel/errors';
import { between, parseInput } from '@parley/kernel/input';
import { tenantObjects } from '@parley/objects/tenant-objects';
import { z } from 'zod';
import { baseStore } from './base-store.ts';
import { fileName } from './file-name.ts';
import { forgetMissingUploads } from './forget-missing-uploads.ts';
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
  ports: Ports,
  { caller }: TenantRequest,
  input: RequestKnowledgeDocumentUploadInput,
): Promise<RequestKnowledgeDocumentUploadResult> {
  const { database, objects, quotas: quotasOf, openUploads } = ports;
  const { knowledgeBaseId, fileName, mimeType, declaredSizeBytes } = parseInput(wanted, input);
  const objectKey = newUploadKey(caller.tenantId, fileName);
  const signing = { key: objectKey, contentType: mimeType, expiresInMs: uploadUrlMs };
  const [quotas, { url }] = await Promise.all([
    quotasOf(caller),
    tenantObjects(objects, caller.tenantId).presignPut(signing),
  ]);

  const open = () =>
    database.transact(caller.tenantId, async (db) => {
      await baseStore(db).lockShared(knowledgeBaseId);
      await usageStore(db).check({ storedBytes: declaredSizeBytes }, quotas);
      const uploadId = await uploadStore(db).open({ knowledgeBaseId, objectKey, mimeType }, openUploads);
      await settleLater(db, uploadId, objectKey);
    });
  try {
    await open();
  } catch (error) {
    if (!isDomainError(error, 'tooManyRequests')) throw error;
    await forgetMissingUploads(ports, caller.tenantId);
    await open(); // also where another request has just made room
  }
  return { uploadUrl: url, objectStorageKey: objectKey };
}
