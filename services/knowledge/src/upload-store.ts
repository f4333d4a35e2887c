import { DomainError } from '@parley/kernel/errors';
import { column, type RowOf, table } from '@parley/postgres/database/table';
import type { TenantDb } from '@parley/postgres/database/types';

const uploads = table('knowledge_uploads', {
  id: column<number>(),
  tenantId: column<number>(),
  knowledgeBaseId: column<number>(),
  objectKey: column<string>(),
  mimeType: column<string>(),
  documentId: column<number | null>(),
  createdAt: column<Date>(),
});

export type Upload = RowOf<typeof uploads>;

const openLock = `hashtext(current_schema() || '.knowledge_uploads')`;

export function uploadStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex<Upload>('knowledge_uploads').where({ tenantId });
  return {
    /** @throws DomainError `tooManyRequests` at `maxOpen` of the tenant */
    async open(upload: Pick<Upload, 'knowledgeBaseId' | 'objectKey' | 'mimeType'>, maxOpen: number): Promise<number> {
      // Held to the commit, so that requests at once cannot pass the bound together.
      await knex.raw(`SELECT pg_advisory_xact_lock(${openLock}, cast(:tenantId AS integer))`, { tenantId });
      const { rows } = await knex.raw(
        `INSERT INTO knowledge_uploads (tenant_id, knowledge_base_id, object_key, mime_type)
         SELECT :tenantId, :knowledgeBaseId, :objectKey, :mimeType
          WHERE (SELECT count(*) FROM knowledge_uploads WHERE tenant_id = :tenantId AND document_id IS NULL) < :maxOpen
         RETURNING id`,
        { ...upload, tenantId, maxOpen },
      );
      if (rows[0]) return rows[0].id;
      const until = 'those that no file came for count for half an hour, the others for a day';
      throw new DomainError(
        'tooManyRequests',
        `${maxOpen} uploads wait to be confirmed: confirm them, or wait; ${until}`,
      );
    },

    /** Some of the unconfirmed ones that were requested that long ago, others each time. */
    async someUnconfirmed(olderThanMs: number, most: number): Promise<Pick<Upload, 'id' | 'objectKey'>[]> {
      const isOlder = knex.raw(`created_at <= parley_now() - cast(? AS integer) * interval '1 ms'`, [olderThanMs]);
      return mine()
        .where({ documentId: null })
        .where(isOlder)
        .orderByRaw('random()')
        .limit(most)
        .select('id', 'objectKey');
    },

    /** Those that were not confirmed meanwhile. They no longer can be. */
    async forget(ids: number[]): Promise<void> {
      await mine().whereIn('id', ids).where({ documentId: null }).delete();
    },

    /** Undefined where it was never offered for the base, or is gone. */
    async lock(knowledgeBaseId: number, objectKey: string): Promise<Upload | undefined> {
      return mine().where({ knowledgeBaseId, objectKey }).forUpdate().first();
    },

    async confirm(id: number, documentId: number): Promise<void> {
      await mine().where({ id }).update({ documentId });
    },

    /** Forgets it where it was not confirmed. @returns the ETag of the object that a live document still needs */
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
