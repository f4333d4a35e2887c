import { rowsBy } from '@parley/postgres/database/rows';
import type { Database } from '@parley/postgres/database/types';
import type { Embedding } from '../src/embeddings/embedder.ts';
import { halfvec } from '../src/embeddings/halfvec.ts';
import { embedOffline, offlineEmbeddingModel } from '../src/embeddings/offline-embedding.ts';

export interface StoredText {
  content: string;
  /** Default: the offline embedding of the content. */
  vector?: Embedding;
}

/** Returns tenants whose chunks are in the same partition, and so in the same indexes, as the chunks of tenant 1. */
export async function tenantsOfOnePartition(database: Database, count: number): Promise<number[]> {
  const rows = await database.read(1, ({ knex }) =>
    rowsBy(knex)<{ tenantId: number }>(
      `SELECT tenant_id FROM generate_series(1, 100 * cast(:count AS integer)) AS tenant_id
        WHERE (SELECT bool_and(satisfies_hash_partition(table_id, modulus, remainder, 1)
                             = satisfies_hash_partition(table_id, modulus, remainder, tenant_id))
                 FROM (SELECT cast('knowledge_chunks' AS regclass) AS table_id, count(*)::int AS modulus
                         FROM pg_inherits WHERE inhparent = cast('knowledge_chunks' AS regclass)) AS partitions,
                      generate_series(0, modulus - 1) AS remainder)
        ORDER BY tenant_id LIMIT :count`,
      { count },
    ),
  );
  return rows.map(({ tenantId }) => tenantId);
}

/** Writes documents and chunks as the service stores them, without its chunker. */
export function storedChunks(database: Database, tenantId: number) {
  const first = async (text: string, values: Record<string, unknown>) => {
    const [row] = await database.transact(tenantId, ({ knex }) =>
      rowsBy(knex)<{ id: number }>(text, { tenantId, ...values }),
    );
    return row?.id ?? 0;
  };

  async function addGeneration(base: number, documentId: number, generation: number, texts: readonly StoredText[]) {
    for (let from = 0; from < texts.length; from += 100) {
      const rows = texts.slice(from, from + 100).map(({ content, vector }, at) => ({
        tenantId,
        knowledgeBaseId: base,
        documentId,
        generation,
        chunkIndex: from + at,
        content,
        embedding: halfvec(vector ?? embedOffline(content)),
      }));
      await database.transact(tenantId, ({ knex }) => {
        const columns = 'tenant_id, knowledge_base_id, document_id, generation, chunk_index, content, embedding';
        const tuples = rows.map(() => '(?, ?, ?, ?, ?, ?, ?::halfvec)').join(', ');
        return knex.raw(`INSERT INTO knowledge_chunks (${columns}) VALUES ${tuples}`, rows.flatMap(Object.values));
      });
    }
  }

  return {
    addGeneration,

    base: (model = offlineEmbeddingModel, name = 'base') =>
      first(
        `INSERT INTO knowledge_bases (tenant_id, name, embedding_model) VALUES (:tenantId, :name, :model) RETURNING id`,
        { model, name },
      ),

    renameBase: (id: number, name: string) =>
      first(`UPDATE knowledge_bases SET name = :name WHERE tenant_id = :tenantId AND id = :id RETURNING id`, {
        id,
        name,
      }),

    async document(base: number, texts: readonly (StoredText | string)[], fileName = 'text.txt'): Promise<number> {
      const id = await first(
        `INSERT INTO knowledge_documents (tenant_id, knowledge_base_id, origin, file_name, mime_type, file_size_bytes,
           parse_status, stored_bytes) VALUES (:tenantId, :base, 'TEXT', :fileName, 'text/plain', 1, 'READY', 1) RETURNING id`,
        { base, fileName },
      );
      const rows = texts.map((text) => (typeof text === 'string' ? { content: text } : text));
      await addGeneration(base, id, 1, rows);
      await first(
        `UPDATE knowledge_documents SET generation = 1, next_generation = 2, chunk_count = :count
          WHERE tenant_id = :tenantId AND id = :id RETURNING id`,
        { id, count: texts.length },
      );
      return id;
    },

    /** Switches the search to another generation; the previous generation's chunks remain. */
    switchTo: (documentId: number, generation: number) =>
      first(
        `UPDATE knowledge_documents SET generation = :generation, next_generation = :generation + 1
          WHERE tenant_id = :tenantId AND id = :documentId RETURNING id`,
        { documentId, generation },
      ),

    deleteDocument: (id: number) =>
      first(
        `UPDATE knowledge_documents SET deleted_at = parley_now() WHERE tenant_id = :tenantId AND id = :id RETURNING id`,
        { id },
      ),

    deleteBase: (id: number) =>
      first(
        `UPDATE knowledge_bases SET deleted_at = parley_now() WHERE tenant_id = :tenantId AND id = :id RETURNING id`,
        {
          id,
        },
      ),
  };
}
