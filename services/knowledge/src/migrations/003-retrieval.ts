import type { Migration } from '@parley/postgres/database/types';

export const retrieval: Migration = {
  name: '003-retrieval',
  async up(knex) {
    await knex.raw(`
      -- Punctuation is removed, because PostgreSQL would otherwise read numbers and names with punctuation as single words.
      ALTER TABLE knowledge_chunks ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
        to_tsvector('pg_catalog.simple', translate(left(heading || ' ' || content, 20000), '-_./@:+#', '        '))
      ) STORED;
      -- PGlite has no index: it takes 20 to 40 ms for each stored chunk, and PGlite compares all chunks of a base anyway.
      DO $$ BEGIN
        IF version() NOT LIKE '%PGlite%' THEN
          CREATE INDEX knowledge_chunks_nearest ON knowledge_chunks USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);
        END IF;
      END $$;

      -- The embedding model of prepared_generation in the base's documents.
      ALTER TABLE knowledge_bases ADD COLUMN prepared_model text;

      -- Live bases and the model of their chunks, to find bases of an earlier model over all tenants.
      CREATE TABLE knowledge_base_models (
        tenant_id integer NOT NULL,
        knowledge_base_id integer NOT NULL,
        embedding_model text NOT NULL,
        PRIMARY KEY (tenant_id, knowledge_base_id)
      );
      -- One row: the model of the process that started last. It prevents processes with different settings from undoing each other's work.
      CREATE TABLE knowledge_model_in_use (
        tenant_id integer PRIMARY KEY CHECK (tenant_id = 0),
        embedding_model text NOT NULL
      );
    `);
  },
};
