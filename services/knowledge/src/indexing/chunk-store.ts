import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Embedding } from '../embeddings/embedder.ts';
import { halfvec } from '../embeddings/halfvec.ts';
import type { Chunk } from './chunk-text.ts';

export interface EmbeddedChunk extends Chunk {
  chunkIndex: number;
  embedding: Embedding;
}

export interface GenerationOfChunks {
  knowledgeBaseId: number;
  documentId: number;
  generation: number;
}

export const chunksPerStatement = 100;

export function chunkStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    async insert(of: GenerationOfChunks, chunks: readonly EmbeddedChunk[]): Promise<void> {
      for (let at = 0; at < chunks.length; at += chunksPerStatement) {
        const some = chunks.slice(at, at + chunksPerStatement);
        await rows(insertOf(some.length), { tenantId, ...of, ...valuesOf(some) });
      }
    },
  };
}

const insertTexts = new Map<number, string>();

/** Returns an INSERT of `count` rows. Vectors are binary parameters, because their text form is several times as large. */
function insertOf(count: number): string {
  const known = insertTexts.get(count);
  if (known) return known;
  const tuples = Array.from(
    { length: count },
    (_, n) =>
      `(:tenantId, :knowledgeBaseId, :documentId, :generation, :chunkIndex${n}, :content${n}, :heading${n}, :page${n}, cast(:embedding${n} AS halfvec))`,
  );
  const text = `INSERT INTO knowledge_chunks
    (tenant_id, knowledge_base_id, document_id, generation, chunk_index, content, heading, page, embedding)
    VALUES ${tuples.join(', ')}`;
  insertTexts.set(count, text);
  return text;
}

function valuesOf(chunks: readonly EmbeddedChunk[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [n, { chunkIndex, content, heading, page, embedding }] of chunks.entries()) {
    values[`chunkIndex${n}`] = chunkIndex;
    values[`content${n}`] = content;
    values[`heading${n}`] = heading;
    values[`page${n}`] = page;
    values[`embedding${n}`] = halfvec(embedding);
  }
  return values;
}
