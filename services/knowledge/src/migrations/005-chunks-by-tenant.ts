import type { Migration } from '@parley/postgres/database/types';

export const chunksByTenant: Migration = {
  name: '005-chunks-by-tenant',
  contracts: 'Nothing: knowledge_chunks is replaced in one transaction by a table of the same name, columns and keys.',
  async up(knex) {
    await knex.raw(`
      -- One index over the chunks of all tenants has poor recall for a single base, so each partition has its own index.
      CREATE SEQUENCE knowledge_chunk_ids AS integer;
      CREATE TABLE knowledge_chunks_by_tenant (
        id integer NOT NULL DEFAULT nextval('knowledge_chunk_ids'),
        tenant_id integer NOT NULL,
        knowledge_base_id integer NOT NULL,
        document_id integer NOT NULL,
        generation integer NOT NULL,
        chunk_index integer NOT NULL,
        content text NOT NULL,
        -- The headings above the chunk, joined by ' > '; empty if there are none.
        heading text NOT NULL DEFAULT '',
        page integer,
        embedding halfvec(768) NOT NULL,
        -- Punctuation is removed, because PostgreSQL would otherwise read numbers and names with punctuation as single words.
        search tsvector NOT NULL GENERATED ALWAYS AS (
          to_tsvector('pg_catalog.simple', translate(left(heading || ' ' || content, 20000), '-_./@:+#', '        '))
        ) STORED
      ) PARTITION BY HASH (tenant_id);
      -- Stored inline, so that a scan does not read a second table.
      ALTER TABLE knowledge_chunks_by_tenant ALTER COLUMN embedding SET STORAGE PLAIN;
      ALTER SEQUENCE knowledge_chunk_ids OWNED BY knowledge_chunks_by_tenant.id;
      DO $$
      DECLARE partitions integer := CASE WHEN version() LIKE '%PGlite%' THEN 1 ELSE 32 END;
      BEGIN
        FOR remainder IN 0 .. partitions - 1 LOOP
          EXECUTE format('CREATE TABLE knowledge_chunks_p%s PARTITION OF knowledge_chunks_by_tenant
                            FOR VALUES WITH (MODULUS %s, REMAINDER %s)', remainder, partitions, remainder);
        END LOOP;
      END $$;

      ALTER TABLE knowledge_chunks NO FORCE ROW LEVEL SECURITY;
      LOCK TABLE knowledge_chunks IN ACCESS EXCLUSIVE MODE;
      INSERT INTO knowledge_chunks_by_tenant
        (id, tenant_id, knowledge_base_id, document_id, generation, chunk_index, content, heading, page, embedding)
        SELECT id, tenant_id, knowledge_base_id, document_id, generation, chunk_index, content, heading, page, embedding
          FROM knowledge_chunks;
      SELECT setval('knowledge_chunk_ids', coalesce(max(id), 0) + 1, false) FROM knowledge_chunks;
      DROP TABLE knowledge_chunks;
      ALTER TABLE knowledge_chunks_by_tenant RENAME TO knowledge_chunks;

      ALTER TABLE knowledge_chunks
        ADD PRIMARY KEY (tenant_id, id),
        ADD UNIQUE (tenant_id, document_id, generation, chunk_index),
        ADD FOREIGN KEY (tenant_id, document_id) REFERENCES knowledge_documents (tenant_id, id);
      CREATE INDEX knowledge_chunks_of_base ON knowledge_chunks (tenant_id, knowledge_base_id);
      -- PGlite has no index: it takes 20 to 40 ms for each stored chunk, and PGlite compares all chunks of a base anyway.
      DO $$ BEGIN
        IF version() NOT LIKE '%PGlite%' THEN
          CREATE INDEX knowledge_chunks_nearest ON knowledge_chunks USING hnsw (embedding halfvec_cosine_ops) WITH (m = 24, ef_construction = 128);
        END IF;
      END $$;
    `);
  },
};
