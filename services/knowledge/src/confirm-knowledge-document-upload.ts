import type { TenantRequest } from '@parley/kernel/caller-request';
import { badRequest, isDomainError, notFound } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import type { ObjectFacts } from '@parley/objects/object-store';
import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { z } from 'zod';
import { baseStore } from './base-store.ts';
import { documentStore } from './document-store.ts';
import { fileName } from './file-name.ts';
import type { ConfirmKnowledgeDocumentUploadInput, ConfirmKnowledgeDocumentUploadResult } from './generated/schema.ts';
import type { Ports } from './ports.ts';
import { queueParsing } from './queue-parsing.ts';
import { maxUploadBytes, uploadType } from './upload-rules.ts';
import { type Upload, uploadStore } from './upload-store.ts';
import { usageStore, usageTurn } from './usage-store.ts';

const uploaded = z.object({
  knowledgeBaseId: z.number(),
  fileName: fileName(),
  mimeType: uploadType(),
  objectStorageKey: anyText(),
});

/** The stored object counts, not what was declared: bytes put later are never parsed. @throws DomainError `invalid`, `notFound`, `unavailable` */
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
    if (upload.documentId !== null) throw badRequest('This upload has been confirmed before', 'UPLOAD_USED');
    return upload;
  };
  const offered = await database.transact(tenantId, unused, { turn: usageTurn(tenantId) });
  const stored = await storedObject(tenantObjects(objects, tenantId), objectStorageKey);
  checkStored(stored, offered, mimeType);
  const quotas = await quotasOf(caller);

  const documentId = await database.transact(
    tenantId,
    async (db) => {
      const upload = await unused(db);
      const { sizeBytes, etag } = stored;
      const document = await documentStore(db).insert({
        knowledgeBaseId,
        origin: 'UPLOAD',
        fileName,
        mimeType,
        fileSizeBytes: sizeBytes,
        storedBytes: sizeBytes,
        parseStatus: 'PENDING',
        objectKey: objectStorageKey,
        objectEtag: etag,
      });
      await uploadStore(db).confirm(upload.id, document.id);
      await queueParsing(db, document, parseWaitMs);
      await usageStore(db).change({ storedBytes: sizeBytes }, quotas);
      return document.id;
    },
    { turn: usageTurn(tenantId) },
  );
  return { documentId, parseStatus: 'PENDING' };
}

async function storedObject(files: Pick<Ports['objects'], 'head'>, key: string): Promise<ObjectFacts> {
  try {
    return await files.head(key);
  } catch (error) {
    if (!isDomainError(error, 'notFound')) throw error;
    throw badRequest('Nothing has been uploaded to this key', 'UPLOAD_MISSING');
  }
}

function checkStored({ sizeBytes, contentType }: ObjectFacts, offered: Upload, mimeType: string): void {
  if (sizeBytes === 0) throw badRequest('The uploaded file is empty', 'UPLOAD_EMPTY');
  if (sizeBytes > maxUploadBytes) {
    const message = `The uploaded file is too large: ${sizeBytes} bytes, and at most ${maxUploadBytes} are allowed`;
    throw badRequest(message, 'UPLOAD_TOO_LARGE');
  }
  if (contentType !== offered.mimeType || mimeType !== offered.mimeType) {
    const message = `The uploaded file is of another type than requested, which was ${offered.mimeType}`;
    throw badRequest(message, 'UPLOAD_TYPE_DIFFERS');
  }
}
