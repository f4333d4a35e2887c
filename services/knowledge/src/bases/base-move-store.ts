import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Chunk } from '../indexing/chunk-text.ts';
import type { BuiltGeneration } from '../indexing/index-text.ts';

export interface MovedDocument {
  id: number;
  generation: number;
  fileName: string;
}

/**
 * Stores the progress of a base's move to another embedding model. Each document gets a new generation of chunks, which is prepared while
 * the old generation is searched.
 */
export function baseMoveStore({ knex, tenantId }: TenantDb, knowledgeBaseId: number) {
  const rows = rowsBy(knex);
  const ids = { tenantId, knowledgeBaseId };
  const searched = `tenant_id = :tenantId AND knowledge_base_id = :knowledgeBaseId AND deleted_at IS NULL AND generation > 0`;
  const base = 'tenant_id = :tenantId AND id = :knowledgeBaseId AND deleted_at IS NULL';

  /** Releases the generations in `column` of the base's documents, so that the sweep deletes them. */
  const release = (column: 'generation' | 'prepared_generation') =>
    rows(
      `INSERT INTO unsearched_generations (tenant_id, document_id, generation, sweep_at)
       SELECT tenant_id, id, ${column}, parley_now() FROM knowledge_documents
        WHERE ${searched} AND prepared_generation IS NOT NULL ORDER BY id
       ON CONFLICT (tenant_id, document_id, generation) DO UPDATE SET sweep_at = excluded.sweep_at
       RETURNING generation`,
      ids,
    );

  const next = async (which: string): Promise<MovedDocument | undefined> => {
    const [document] = await rows<MovedDocument>(
      `SELECT id, generation, file_name FROM knowledge_documents WHERE ${searched} AND ${which} ORDER BY id LIMIT 1`,
      ids,
    );
    return document;
  };

  return {
    /**
     * Prevents other transactions from giving the base's documents a new generation until the commit. Returns undefined if the base is
     * deleted.
     */
    async lock(): Promise<{ embeddingModel: string; preparedModel: string | null } | undefined> {
      const [locked] = await rows<{ embeddingModel: string; preparedModel: string | null }>(
        `SELECT embedding_model, prepared_model FROM knowledge_bases WHERE ${base} FOR NO KEY UPDATE`,
        ids,
      );
      return locked;
    },

    /** Sets the model that documents are prepared for; null if there is none. Releases generations that were prepared for another model. */
    async prepareFor(model: string | null): Promise<void> {
      await release('prepared_generation');
      await rows(`UPDATE knowledge_documents SET prepared_generation = NULL WHERE ${searched} RETURNING id`, ids);
      await rows(`UPDATE knowledge_bases SET prepared_model = cast(:model AS text) WHERE ${base} RETURNING id`, {
        ...ids,
        model,
      });
    },

    /** Finds a document that is not prepared yet. */
    nextDocument: () => next('prepared_generation IS NULL'),

    /** Finds a document whose passages were embedded without its current name. */
    nextOutdated: () => next('(named_generation <> generation OR embedded_name IS DISTINCT FROM file_name)'),

    /** Stores the prepared generation of a document. The generation is searched once all documents of the base are prepared. */
    async prepared(documentId: number, { generation, name, chunkCount }: BuiltGeneration): Promise<void> {
      const facts = JSON.stringify({ generation, name, chunkCount });
      await rows(
        `UPDATE knowledge_documents SET prepared_generation = cast(:generation AS integer), prepared_facts = cast(:facts AS jsonb)
          WHERE tenant_id = :tenantId AND id = :documentId RETURNING id`,
        { tenantId, documentId, generation, facts },
      );
    },

    /** Reads the chunks of a document in order. */
    chunksOf(documentId: number, generation: number): Promise<Chunk[]> {
      return rows(
        `SELECT content, heading, page FROM knowledge_chunks
          WHERE tenant_id = :tenantId AND document_id = :documentId AND generation = :generation ORDER BY chunk_index`,
        { ...ids, documentId, generation },
      );
    },

    /**
     * Switches the base and all its documents, which must be prepared, to the model in one step. @returns by how many chunks the base has
     * grown
     */
    async switchTo(model: string): Promise<number> {
      await release('generation');
      const [growth] = await rows<{ chunks: number }>(
        `WITH before AS (
           SELECT id, chunk_count FROM knowledge_documents WHERE ${searched}
         ), switched AS (
           UPDATE knowledge_documents SET generation = prepared_generation, prepared_generation = NULL, prepared_facts = NULL,
             named_generation = CASE WHEN ${factsHold} THEN prepared_generation ELSE 0 END,
             embedded_name = CASE WHEN ${factsHold} THEN prepared_facts ->> 'name' END,
             chunk_count = CASE WHEN ${factsHold} THEN cast(prepared_facts ->> 'chunkCount' AS integer) ELSE chunk_count END
            WHERE ${searched} RETURNING id, chunk_count
         )
         SELECT coalesce(sum(switched.chunk_count - before.chunk_count), 0) AS chunks FROM switched JOIN before USING (id)`,
        ids,
      );
      await rows(
        `UPDATE knowledge_bases SET embedding_model = :model, prepared_model = NULL WHERE ${base} RETURNING id`,
        { ...ids, model },
      );
      return Number(growth?.chunks ?? 0);
    },
  };
}

/**
 * SQL condition: `prepared_facts` describe the prepared generation. This is false if an older version of the service, which stores no
 * facts, has prepared the document.
 */
const factsHold = `prepared_facts IS NOT NULL AND cast(prepared_facts ->> 'generation' AS integer) = prepared_generation`;
