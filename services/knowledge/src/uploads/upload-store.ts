import { DomainError } from '@parley/kernel/errors';
import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';
import { mayArriveMs, recentPerOpen } from './upload-rules.ts';

const uploads = table('knowledge_uploads', {
  id: column<number>(),
  tenantId: column<number>(),
  knowledgeBaseId: column<number>(),
  objectKey: column<string>(),
  mimeType: column<string>(),
  declaredBytes: column<number | null>(),
  documentId: column<number | null>(),
  refusedAt: column<Date | null>(),
  createdAt: column<Date>(),
});

export type Upload = RowOf<typeof uploads>;
export type NewUpload = Pick<Upload, 'knowledgeBaseId' | 'objectKey' | 'mimeType'> & { declaredBytes: number };

export function uploadStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex<Upload>('knowledge_uploads').where({ tenantId });
  /** Finds open uploads. An open upload can still be confirmed, and its declared bytes count as used storage. */
  const open = () => mine().whereNull('documentId').whereNull('refusedAt');
  const refusal = { refusedAt: knex.raw('parley_now()') };
  return {
    /**
     * Opens an upload. The caller must hold the lock on the tenant's usage, so that concurrent requests do not exceed the limits. A
     * confirmed upload counts as recent while a PUT to its URL is possible, because a larger file may replace its file.
     * @throws DomainError `tooManyRequests` if the tenant has `maxOpen` unconfirmed uploads, or `recentPerOpen` times `maxOpen` recent
     * uploads
     */
    async open(upload: NewUpload, maxOpen: number): Promise<number> {
      const maxRecent = maxOpen * recentPerOpen;
      const { rows } = await knex.raw(
        `INSERT INTO knowledge_uploads (tenant_id, knowledge_base_id, object_key, mime_type, declared_bytes)
         SELECT :tenantId, :knowledgeBaseId, :objectKey, :mimeType, :declaredBytes
          WHERE (SELECT count(*) FROM knowledge_uploads WHERE tenant_id = :tenantId AND document_id IS NULL) < :maxOpen
            AND (SELECT count(*) FROM knowledge_uploads
                  WHERE tenant_id = :tenantId AND created_at > parley_now() - cast(:mayArriveMs AS integer) * interval '1 ms') < :maxRecent
         RETURNING id`,
        { ...upload, tenantId, maxOpen, maxRecent, mayArriveMs },
      );
      if (rows[0]) return rows[0].id;
      const unconfirmed = await mine().whereNull('documentId').count<{ count: string }>('* as count').first();
      if (Number(unconfirmed?.count) < maxOpen) {
        throw new DomainError('tooManyRequests', `${maxRecent} uploads were requested within half an hour: wait`);
      }
      const until = 'those that were refused or got no file count for half an hour, the others for a day';
      throw new DomainError(
        'tooManyRequests',
        `${maxOpen} uploads wait to be confirmed: confirm them, or wait; ${until}`,
      );
    },

    /** Returns the sum of the open uploads' declared bytes. */
    async reservedBytes(): Promise<number> {
      const sum = await open().sum<{ bytes: string | null }>('declaredBytes as bytes').first();
      return Number(sum?.bytes ?? 0);
    },

    async find(id: number): Promise<Upload | undefined> {
      return mine().where({ id }).first();
    },

    /** Locks an upload. Returns undefined if the base has no such upload, or if it was removed. */
    async lock(knowledgeBaseId: number, objectKey: string): Promise<Upload | undefined> {
      return mine().where({ knowledgeBaseId, objectKey }).forUpdate().first();
    },

    async confirm(id: number, documentId: number): Promise<void> {
      await mine().where({ id }).update({ documentId });
    },

    /**
     * Refuses an upload if it is open. A refused upload counts toward `maxOpen` until no PUT to its URL is possible. @returns whether the
     * upload was open
     */
    async refuse(id: number): Promise<boolean> {
      return (await open().where({ id }).update(refusal)) > 0;
    },

    /** Refuses all open uploads of a base. @returns the object keys of these uploads */
    async refuseAll(knowledgeBaseId: number): Promise<string[]> {
      const refused = await open().where({ knowledgeBaseId }).update(refusal, ['objectKey']);
      return refused.map(({ objectKey }) => objectKey);
    },

    /**
     * Deletes the row of an upload if the upload is unconfirmed.
     * @returns the ETag of the upload's object if the upload is confirmed and its document is not deleted; otherwise undefined
     */
    async settle(id: number): Promise<string | undefined> {
      const unconfirmed = await mine().where({ id, documentId: null }).delete();
      if (unconfirmed > 0) return undefined;
      const { rows } = await knex.raw(
        `SELECT object_etag FROM knowledge_documents AS document JOIN knowledge_uploads AS upload
             ON upload.tenant_id = document.tenant_id AND upload.document_id = document.id
          WHERE upload.tenant_id = :tenantId AND upload.id = :id AND deleted_at IS NULL`,
        { tenantId, id },
      );
      return rows[0]?.objectEtag;
    },
  };
}
