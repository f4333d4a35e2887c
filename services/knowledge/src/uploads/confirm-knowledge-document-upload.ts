import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, isDomainError, notFound } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import type { ObjectFacts } from '@parley/objects/object-store';
import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { z } from 'zod';
import { baseStore } from '../bases/base-store.ts';
import { fileName } from '../documents/file-name.ts';
import type { ConfirmKnowledgeDocumentUploadInput, ConfirmKnowledgeDocumentUploadResult } from '../generated/schema.ts';
import { insertPending } from '../parsing/parse-status.ts';
import type { Ports } from '../ports.ts';
import { usageQueueKey, usageStore } from '../quotas/usage-store.ts';
import { removeObjectLater } from './remove-object.ts';
import { storedFacts } from './stored-facts.ts';
import { maxStoredBytes, maxUploadBytes, mayArriveMs, uploadType } from './upload-rules.ts';
import { type Upload, uploadStore } from './upload-store.ts';

const uploaded = z.object({
  knowledgeBaseId: z.number(),
  fileName: fileName(),
  mimeType: uploadType(),
  objectStorageKey: anyText(),
});

/** Reasons of errors after which the stored file is deleted. The client then has to request another upload. */
const fileRefusals = ['UPLOAD_EMPTY', 'UPLOAD_TOO_LARGE', 'UPLOAD_TYPE_DIFFERS', 'QUOTA_EXCEEDED'];

/**
 * Confirms an upload. Checks the stored object rather than the declared facts. Bytes that arrive later are never parsed.
 * @throws DomainError `invalid` if the file is missing or refused, or the upload has ended
 * @throws DomainError `notFound` if the base or the upload does not exist
 * @throws DomainError `unavailable` if the object store or the identity service does not respond
 */
export async function confirmKnowledgeDocumentUpload(
  { database, objects, quotas: quotasOf, parseWaitMs }: Ports,
  { caller }: TenantRequest,
  input: ConfirmKnowledgeDocumentUploadInput,
): Promise<ConfirmKnowledgeDocumentUploadResult> {
  const { tenantId } = caller;
  const { knowledgeBaseId, fileName, mimeType, objectStorageKey } = parseInput(uploaded, input);

  const unused = async (db: TenantDb) => {
    await baseStore(db).lockShared(knowledgeBaseId);
    const upload = await uploadStore(db).lock(knowledgeBaseId, objectStorageKey);
    if (!upload) throw notFound('Upload', objectStorageKey);
    if (upload.refusedAt !== null)
      throw badRequest('This upload was refused before: request another', 'UPLOAD_REFUSED');
    if (upload.documentId !== null) throw badRequest('This upload has been confirmed before', 'UPLOAD_USED');
    return upload;
  };
  const readUnused = () => database.transact(tenantId, unused, { lockQueue: usageQueueKey(tenantId) });
  const offered = await readUnused();
  if (mimeType !== offered.mimeType) throw anotherType(offered);
  const files = tenantObjects(objects, tenantId);
  const readStored = async () => {
    const stored = await storedFacts(files, objectStorageKey);
    if (stored) return stored;
    await readUnused(); // throws another error if the upload has ended, because its file was then deleted
    throw badRequest('Nothing has been uploaded to this key', 'UPLOAD_MISSING');
  };
  await readStored(); // a confirmation that comes before the PUT must not end the upload
  const quotas = await quotasOf(caller);
  await files.refuseUploads(objectStorageKey, { forMs: mayArriveMs });
  const stored = await readStored();

  const store = async (db: TenantDb) => {
    const upload = await unused(db);
    const { sizeBytes, etag } = stored;
    const file = {
      knowledgeBaseId,
      origin: 'UPLOAD' as const,
      fileName,
      mimeType,
      fileSizeBytes: sizeBytes,
      storedBytes: sizeBytes,
      objectKey: objectStorageKey,
      objectEtag: etag,
    };
    const { id: documentId, parseStatus } = await insertPending(db, file, parseWaitMs);
    await uploadStore(db).confirm(upload.id, documentId);
    await usageStore(db).change({ storedBytes: sizeBytes }, quotas);
    return { documentId, parseStatus };
  };
  const refuse = async (db: TenantDb) => {
    if (await uploadStore(db).refuse(offered.id)) await removeObjectLater(db, objectStorageKey);
  };
  try {
    checkStored(stored, offered);
    return await database.transact(tenantId, store, { lockQueue: usageQueueKey(tenantId) });
  } catch (error) {
    if (isDomainError(error, 'invalid') && fileRefusals.includes(error.reason ?? '')) {
      await database.transact(tenantId, refuse);
    }
    throw error;
  }
}

function checkStored({ sizeBytes, contentType }: ObjectFacts, offered: Upload): void {
  if (sizeBytes === 0) throw badRequest('The uploaded file is empty', 'UPLOAD_EMPTY');
  const { declaredBytes } = offered;
  const maxBytes = maxStoredBytes(declaredBytes);
  if (sizeBytes > maxBytes) {
    const why = maxBytes < maxUploadBytes ? ` where ${declaredBytes} were declared` : '';
    const message = `The uploaded file is too large: ${sizeBytes} bytes, and at most ${maxBytes} are allowed${why}`;
    throw badRequest(message, 'UPLOAD_TOO_LARGE');
  }
  if (contentType !== offered.mimeType) throw anotherType(offered);
}

function anotherType({ mimeType }: Upload) {
  const message = `The uploaded file is of another type than requested, which was ${mimeType}`;
  return badRequest(message, 'UPLOAD_TYPE_DIFFERS');
}
