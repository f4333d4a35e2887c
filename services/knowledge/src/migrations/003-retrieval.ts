import type { Migration } from '@parley/postgres/database/types';

export const retrieval: Migration = {
  name: '003-retrieval',
  async up(knex) {
    await knex.raw(`
      -- Without punctuation between the parts of numbers and names, which would be words of their own then.
      ALTER TABLE knowledge_chunks ADD COLUMN search tsvector NOT NULL GENERATED ALWAYS AS (
        to_tsvector('pg_catalog.simple', translate(left(heading || ' ' || content, 20000), '-_./@:+#', '        '))
      ) STORED;
      -- Not on PGlite, where it takes 20 to 40 ms for each chunk that is stored, and all chunks of a base are compared anyway.
      DO $$ BEGIN
        IF version() NOT LIKE '%PGlite%' THEN
          CREATE INDEX knowledge_chunks_nearest ON knowledge_chunks USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);
        END IF;
      END $$;

      -- The model that prepared_generation of the base's documents is embedded with.
      ALTER TABLE knowledge_bases ADD COLUMN prepared_model text;

      -- Live bases and the model of their chunks, for finding those of an earlier model over all tenants.
      CREATE TABLE knowledge_base_models (
        tenant_id integer NOT NULL,
        knowledge_base_id integer NOT NULL,
        embedding_model text NOT NULL,
        PRIMARY KEY (tenant_id, knowledge_base_id)
      );
      -- One row: the model of the process that was started last, so that two versions of settings do not undo each other's work.
      CREATE TABLE knowledge_model_in_use (
        tenant_id integer PRIMARY KEY CHECK (tenant_id = 0),
        embedding_model text NOT NULL
      );
    `);
  },
};
