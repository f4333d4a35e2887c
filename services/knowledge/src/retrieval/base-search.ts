import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { Embedding } from '../embeddings/embedder.ts';
import { halfvec } from '../embeddings/halfvec.ts';

export interface SearchedBase {
  id: number;
  embeddingModel: string;
  /** Number of the base's chunks, counted only up to about the requested limit. */
  chunks: number;
}

export interface FoundChunk {
  chunkId: number;
  documentId: number;
  documentName: string;
  chunkIndex: number;
  content: string;
  heading: string;
  page: number | null;
  /** Cosine similarity of the chunk and the query. */
  score: number;
  /** The score for ranking; higher is better. */
  rank: number;
}

export interface ChunkSearch {
  base: SearchedBase;
  vector: Embedding;
  /** Terms in `tsquery` syntax; undefined: rank by cosine similarity alone. */
  terms: readonly string[] | undefined;
  topK: number;
}

/**
 * Number of results of the ranking by similarity that enter the fused ranking. The ranking by words contributes half as many ranks; chunks
 * with the same words share the mean of their ranks.
 */
const ranked = 60;
/** How many of a base's nearest chunks are also ranked by words. */
const comparedByWords = 2_000;
/**
 * Number of candidates that the index returns. Measured on a base with a twelfth of the 130,000 chunks in its partition: 240 candidates
 * contained 94 % of the best 20 chunks, and 120 candidates contained 91 %.
 */
const candidates = 240;
/**
 * Number of entries that the index finds per scan step (`hnsw.ef_search`). For a base that is alone in its partition, twice as many entries
 * took a third longer and found no more chunks.
 */
const atOnce = 400;
/**
 * Constant of the reciprocal rank fusion. It is small, so that the first result of either ranking is always among the best five: at most
 * four chunks that occur in both rankings can reach its score. With the usual constant of 60, sixty chunks could reach it.
 */
const fusionConstant = 1;

/** Finds the bases to search. Bases that are absent, deleted or of another tenant are skipped. */
export function findSearchedBases(
  { knex, tenantId }: TenantDb,
  ids: readonly number[],
  exactLimit: number,
): Promise<SearchedBase[]> {
  return rowsBy(knex)<SearchedBase>(
    `SELECT id, embedding_model,
            (SELECT coalesce(sum(chunk_count), 0) FROM (
               SELECT chunk_count FROM knowledge_documents
                WHERE tenant_id = :tenantId AND knowledge_base_id = bases.id AND deleted_at IS NULL AND generation > 0
                LIMIT cast(:exactLimit AS integer)) AS documents) AS chunks
       FROM knowledge_bases AS bases WHERE tenant_id = :tenantId AND id = ANY (cast(:ids AS integer[])) AND deleted_at IS NULL`,
    { tenantId, ids, exactLimit },
  );
}

// Adding zero prevents the use of an index on the distance. IS TRUE makes the planner build a hash table of the documents; otherwise, if it
// expects a single document, it would compare each chunk with all documents.
const compared = `
  SELECT c.id, c.search, (c.embedding <=> cast(:vector AS halfvec)) + 0 AS distance
    FROM knowledge_chunks c
   WHERE c.tenant_id = :tenantId AND c.knowledge_base_id = :id
     AND ((c.document_id, c.generation) IN (SELECT id, generation FROM live)) IS TRUE`;
const exactNearest = `
  SELECT c.id, c.distance, MATCHED AS matched FROM (${compared}) AS c`;
// Matching a chunk's words takes ten times as long as comparing its vector, so only the nearest chunks are matched.
const exactNearestByWords = `
  SELECT c.id, c.distance, MATCHED AS matched
    FROM (${compared} ORDER BY distance LIMIT ${comparedByWords}) AS c`;

// The index returns an approximate order. Adding zero prevents the planner from treating it as sorted by distance.
// The document of each chunk is looked up by its key, whatever the planner estimates.
const indexNearest = `
  SELECT c.id, (c.embedding <=> cast(:vector AS halfvec)) + 0 AS distance, MATCHED AS matched
    FROM knowledge_chunks c
    CROSS JOIN LATERAL (
      SELECT FROM knowledge_documents
       WHERE tenant_id = :tenantId AND id = c.document_id AND generation = c.generation AND deleted_at IS NULL OFFSET 0) AS live
   WHERE c.tenant_id = :tenantId AND c.knowledge_base_id = :id
   ORDER BY c.embedding <=> cast(:vector AS halfvec) LIMIT cast(:candidates AS integer)`;

const cosineRanking = `
  SELECT id, distance, cast(1 - distance AS double precision) AS rank, NULL AS weight FROM near
   ORDER BY distance, id LIMIT cast(:topK AS integer)`;

/**
 * SQL: the terms that a chunk contains, one bit for each term. `search` is concatenated with an empty string, so that a long value is
 * detoasted once rather than for each term.
 */
const matchedTerms = `(
    SELECT coalesce(sum(1 << (cast(place AS integer) - 1)), 0)
      FROM (SELECT c.search || cast('' AS tsvector) AS words OFFSET 0) AS text,
           unnest(cast(cast(:terms AS text[]) AS tsquery[])) WITH ORDINALITY AS terms (term, place)
     WHERE text.words @@ term)`;

/**
 * Rare terms count more (inverse document frequency). Chunks with the same terms share the mean of their ranks, because a word that
 * all of them contain does not distinguish them.
 */
const fusedRanking = `
  WITH sets AS MATERIALIZED (
    SELECT matched, count(*) AS chunks FROM near WHERE matched > 0 GROUP BY matched
  ), weights AS MATERIALIZED (
    SELECT place, ln(1 + (SELECT count(*) FROM near) / cast(sum(chunks) AS double precision)) AS weight
      FROM sets, generate_series(0, 30) AS place WHERE (matched >> place) & 1 = 1 GROUP BY place
  ), texts AS MATERIALIZED (
    SELECT jsonb_object_agg(matched, weight) AS by_set FROM (
      SELECT matched, sum(weight) AS weight FROM sets JOIN weights ON (matched >> place) & 1 = 1 GROUP BY matched) AS weighed
  )
  SELECT id, min(distance) AS distance, cast(sum(1.0 / (${fusionConstant} + place)) AS double precision) AS rank,
         coalesce(max(weight), 0) AS weight FROM (
    (SELECT id, distance, cast(NULL AS double precision) AS weight, row_number() OVER (ORDER BY distance, id) AS place
       FROM near ORDER BY place LIMIT ${ranked})
    UNION ALL
    (SELECT id, distance, weight, place FROM (
       SELECT id, distance, weight, rank() OVER (ORDER BY weight DESC) + (count(*) OVER (PARTITION BY weight) - 1) / 2.0 AS place
         FROM (SELECT id, distance, cast((SELECT by_set FROM texts) -> cast(matched AS text) AS double precision) AS weight
                 FROM near WHERE matched > 0) AS weighed) AS matching
      WHERE place <= ${ranked} / 2)) AS places
   GROUP BY id ORDER BY rank DESC, weight DESC, distance, id LIMIT cast(:topK AS integer)`;

/**
 * Returns the SQL of a search. The result has no row if the base was deleted or no longer has the model of the search, and one row without
 * a chunk if nothing was found. OFFSET 0 forces look-ups by key, because the planner may have no statistics of a new base.
 */
function statement(nearest: string, isFused: boolean): string {
  const matched = isFused ? matchedTerms : 'NULL';
  // An exact search by similarity ranks all chunks of a base while it reads them. Materializing and counting them would take a tenth
  // longer.
  const isKept = isFused || nearest === indexNearest;
  const candidates = nearest === indexNearest ? '(SELECT count(*) FROM near)' : '0';
  return `
    WITH base AS MATERIALIZED (
      SELECT id FROM knowledge_bases
       WHERE tenant_id = :tenantId AND id = :id AND deleted_at IS NULL AND embedding_model = :embeddingModel
    ), live AS MATERIALIZED (
      SELECT id, generation FROM knowledge_documents
       WHERE tenant_id = :tenantId AND knowledge_base_id = :id AND deleted_at IS NULL AND generation > 0
    ), near AS ${isKept ? '' : 'NOT '}MATERIALIZED (${nearest.replace('MATCHED', matched)}
    ), best AS MATERIALIZED (${isFused ? fusedRanking : cosineRanking}
    )
    SELECT found.*, ${candidates} AS candidates
      FROM base LEFT JOIN (
        SELECT c.id AS chunk_id, c.document_id, d.file_name AS document_name, c.chunk_index, c.content, c.heading, c.page,
               1 - best.distance AS score, best.rank, best.weight, best.distance
          FROM best
          CROSS JOIN LATERAL (
            SELECT id, document_id, chunk_index, content, heading, page FROM knowledge_chunks
             WHERE tenant_id = :tenantId AND id = best.id OFFSET 0) AS c
          CROSS JOIN LATERAL (
            SELECT file_name FROM knowledge_documents WHERE tenant_id = :tenantId AND id = c.document_id OFFSET 0) AS d
      ) AS found ON true
     ORDER BY found.rank DESC, found.weight DESC, found.distance, found.chunk_id`;
}

const statements = {
  exact: { cosine: statement(exactNearest, false), fused: statement(exactNearestByWords, true) },
  index: { cosine: statement(indexNearest, false), fused: statement(indexNearest, true) },
};

/** Compares all chunks of the base. Returns undefined if the base was deleted or no longer has the model of the search. */
export async function searchExactly(db: TenantDb, search: ChunkSearch): Promise<FoundChunk[] | undefined> {
  return (await run(db, search, 'exact'))?.chunks;
}

/**
 * Searches the HNSW index of the tenant's partition and sorts the results by exact distance. `isEnough` is false if the index stopped
 * before it found enough chunks. Returns undefined if the base was deleted or no longer has the model of the search.
 */
export async function searchByIndex(
  db: TenantDb,
  search: ChunkSearch,
): Promise<{ chunks: FoundChunk[]; isEnough: boolean } | undefined> {
  const [, found] = await Promise.all([useIndex(db), run(db, search, 'index')]);
  return found && { chunks: found.chunks, isEnough: found.candidates >= candidates };
}

/** Applies the index settings to the rest of the transaction. */
export async function useIndex({ knex }: TenantDb): Promise<void> {
  const set = Object.entries(indexSettings).map(([name, value]) => `set_config('${name}', '${value}', true)`);
  await rowsBy(knex)(`SELECT ${set.join(', ')}`, {});
}

/** Settings that force the query plan that reads the index in order, whatever the planner estimates. */
const indexSettings = {
  'hnsw.iterative_scan': 'relaxed_order',
  'hnsw.ef_search': atOnce,
  'hnsw.max_scan_tuples': 200_000,
  'hnsw.scan_mem_multiplier': 8,
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

async function run(db: TenantDb, search: ChunkSearch, how: 'exact' | 'index') {
  const { text, values } = searchStatement(db, search, how);
  const rows = await rowsBy(db.knex)<(FoundChunk | { chunkId: null }) & { candidates: number }>(text, values);
  const [first] = rows;
  if (!first) return undefined;
  return { chunks: rows.filter((row) => row.chunkId !== null), candidates: first.candidates };
}

export function searchStatement({ tenantId }: TenantDb, search: ChunkSearch, how: 'exact' | 'index') {
  const { base, vector, terms, topK } = search;
  return {
    text: statements[how][terms === undefined ? 'cosine' : 'fused'],
    values: {
      tenantId,
      id: base.id,
      embeddingModel: base.embeddingModel,
      vector: halfvec(vector),
      topK,
      terms: terms ?? [],
      candidates,
    },
  };
}
