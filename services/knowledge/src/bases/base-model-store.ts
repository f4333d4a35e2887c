import { rowsBy } from '@parley/postgres/database/rows';
import type { SharedDb, TenantDb, Transaction } from '@parley/postgres/database/types';

/**
 * Stores, for each live base of all tenants, the embedding model and whether the base's passages are current. Also stores the model in use.
 */
export function baseModelStore({ knex }: Transaction) {
  const rows = rowsBy(knex);
  return {
    /** Sets the model that bases are moved to: the model of the process that started last. */
    async setModelInUse(model: string): Promise<void> {
      await rows(
        `INSERT INTO knowledge_model_in_use (tenant_id, embedding_model) VALUES (0, :model)
         ON CONFLICT (tenant_id) DO UPDATE SET embedding_model = excluded.embedding_model`,
        { model },
      );
    },

    async modelInUse(): Promise<string | undefined> {
      const [inUse] = await rows<{ embeddingModel: string }>(
        'SELECT embedding_model FROM knowledge_model_in_use WHERE tenant_id = 0',
        {},
      );
      return inUse?.embeddingModel;
    },

    /**
     * Lists bases with a model other than `model`, or with outdated passages. Excludes bases that already have a job of kind `jobKind`,
     * running or failed. Lists none if `model` is no longer the model in use.
     */
    basesToMove(
      _db: SharedDb,
      { model, jobKind, limit }: { model: string; jobKind: string; limit: number },
    ): Promise<{ tenantId: number; knowledgeBaseId: number }[]> {
      return rows(
        `SELECT tenant_id, knowledge_base_id FROM knowledge_base_models b
          WHERE (embedding_model <> :model OR NOT is_current)
            AND EXISTS (SELECT FROM knowledge_model_in_use WHERE tenant_id = 0 AND embedding_model = :model)
            AND NOT EXISTS (SELECT FROM jobs WHERE kind = :jobKind AND key = cast(b.knowledge_base_id AS text))
          ORDER BY tenant_id, knowledge_base_id LIMIT cast(:limit AS integer)`,
        { model, jobKind, limit },
      );
    },

    async forgetFailedMoves(_db: SharedDb, jobKind: string): Promise<void> {
      await rows(`DELETE FROM jobs WHERE kind = :jobKind AND state = 'failed' RETURNING id`, { jobKind });
    },

    /**
     * Stores a base's model.
     * @param isCurrent whether the passages are embedded with the current names of their documents. Check the names only after a call with
     * `false`, which locks the row.
     */
    async register({ tenantId }: TenantDb, knowledgeBaseId: number, model: string, isCurrent: boolean): Promise<void> {
      await rows(
        `INSERT INTO knowledge_base_models (tenant_id, knowledge_base_id, embedding_model, is_current)
         VALUES (:tenantId, :knowledgeBaseId, :model, :isCurrent)
         ON CONFLICT (tenant_id, knowledge_base_id)
           DO UPDATE SET embedding_model = excluded.embedding_model, is_current = excluded.is_current`,
        { tenantId, knowledgeBaseId, model, isCurrent },
      );
    },

    async forget({ tenantId }: TenantDb, knowledgeBaseId: number): Promise<void> {
      await rows(
        `DELETE FROM knowledge_base_models WHERE tenant_id = :tenantId AND knowledge_base_id = :knowledgeBaseId
         RETURNING knowledge_base_id`,
        { tenantId, knowledgeBaseId },
      );
    },
  };
}
