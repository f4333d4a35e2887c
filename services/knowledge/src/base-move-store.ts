import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Chunk } from './chunk-text.ts';

/** A base whose documents are embedded with another model beside the one that is searched. */
export function baseMoveStore({ knex, tenantId }: TenantDb, knowledgeBaseId: number) {
  const rows = rowsBy(knex);
  const ids = { tenantId, knowledgeBaseId };
  const searched = `tenant_id = :tenantId AND knowledge_base_id = :knowledgeBaseId AND deleted_at IS NULL AND generation > 0`;
  const base = 'tenant_id = :tenantId AND id = :knowledgeBaseId AND deleted_at IS NULL';

  /** Leaves what the documents name in `column` to the sweep. */
  const release = (column: 'generation' | 'prepared_generation') =>
    rows(
      `INSERT INTO unsearched_generations (tenant_id, document_id, generation, sweep_at)
       SELECT tenant_id, id, ${column}, parley_now() FROM knowledge_documents
        WHERE ${searched} AND prepared_generation IS NOT NULL ORDER BY id
       ON CONFLICT (tenant_id, document_id, generation) DO UPDATE SET sweep_at = excluded.sweep_at
       RETURNING generation`,
      ids,
    );

  return {
    /** Until the commit no document of the base gets another generation. Undefined where it is gone. */
    async lock(): Promise<{ embeddingModel: string; preparedModel: string | null } | undefined> {
      const [locked] = await rows<{ embeddingModel: string; preparedModel: string | null }>(
        `SELECT embedding_model, prepared_model FROM knowledge_bases WHERE ${base} FOR NO KEY UPDATE`,
        ids,
      );
      return locked;
    },

    /** From now on documents are prepared for this model; null: for none. What was prepared for another one is dropped. */
    async prepareFor(model: string | null): Promise<void> {
      await release('prepared_generation');
      await rows(`UPDATE knowledge_documents SET prepared_generation = NULL WHERE ${searched} RETURNING id`, ids);
      await rows(`UPDATE knowledge_bases SET prepared_model = cast(:model AS text) WHERE ${base} RETURNING id`, {
        ...ids,
        model,
      });
    },

    async nextDocument(): Promise<{ id: number; generation: number } | undefined> {
      const [next] = await rows<{ id: number; generation: number }>(
        `SELECT id, generation FROM knowledge_documents
          WHERE ${searched} AND prepared_generation IS NULL ORDER BY id LIMIT 1`,
        ids,
      );
      return next;
    },

    /** In order. */
    chunksOf(documentId: number, generation: number): Promise<Chunk[]> {
      return rows(
        `SELECT content, heading, page FROM knowledge_chunks
          WHERE tenant_id = :tenantId AND document_id = :documentId AND generation = :generation ORDER BY chunk_index`,
        { ...ids, documentId, generation },
      );
    },

    /** The base and all its documents, which are prepared, in one step. */
    async switchTo(model: string): Promise<void> {
      await release('generation');
      await rows(
        `UPDATE knowledge_documents SET generation = prepared_generation, prepared_generation = NULL
          WHERE ${searched} RETURNING id`,
        ids,
      );
      await rows(
        `UPDATE knowledge_bases SET embedding_model = :model, prepared_model = NULL WHERE ${base} RETURNING id`,
        { ...ids, model },
      );
    },
  };
}
