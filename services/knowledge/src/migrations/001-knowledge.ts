import type { Migration } from '@parley/postgres/database/types';

export const knowledge: Migration = {
  name: '001-knowledge',
  async up(knex) {
    // Several schemas of a database may be migrated at the same time. Without the lock, IF NOT EXISTS could fail.
    await knex.raw(`SELECT pg_advisory_xact_lock(hashtext('parley extension vector'))`);
    await knex.raw('CREATE EXTENSION IF NOT EXISTS vector SCHEMA public');
    await knex.raw(`
      -- Usage that counts against the plan, one row for each tenant. Changed in the same transaction as the counted rows.
      CREATE TABLE knowledge_usage (
        tenant_id integer PRIMARY KEY,
        knowledge_bases integer NOT NULL DEFAULT 0 CHECK (knowledge_bases >= 0),
        chunks integer NOT NULL DEFAULT 0 CHECK (chunks >= 0),
        stored_bytes bigint NOT NULL DEFAULT 0 CHECK (stored_bytes >= 0)
      );

      CREATE TABLE knowledge_bases (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        name text NOT NULL,
        description text,
        -- The model of all searched chunks.
        embedding_model text NOT NULL,
        deleted_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id)
      );

      CREATE TABLE knowledge_documents (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        knowledge_base_id integer NOT NULL,
        origin text NOT NULL CHECK (origin IN ('TEXT', 'URL', 'UPLOAD')),
        file_name text NOT NULL,
        mime_type text NOT NULL,
        file_size_bytes integer NOT NULL,
        parse_status text NOT NULL CHECK (parse_status IN ('PENDING', 'PARSING', 'READY', 'FAILED')),
        parse_error text CHECK ((parse_error IS NOT NULL) = (parse_status = 'FAILED')),
        raw_text text NOT NULL DEFAULT '',
        -- Where pages begin in raw_text, in UTF-16 code units; null without pages.
        page_starts integer[],
        -- For an upload: its object, and the confirmed version of the object.
        object_key text,
        object_etag text,
        -- Grows each time the file is queued for parsing.
        version integer NOT NULL DEFAULT 1,
        -- The generation of chunks that is searched; 0 if there is none yet. A new generation is built in addition and replaces this one in
        -- one step.
        generation integer NOT NULL DEFAULT 0,
        next_generation integer NOT NULL DEFAULT 1,
        -- The generation that was built for another embedding model and waits for the base's other documents.
        prepared_generation integer,
        -- Number of chunks of the searched generation.
        chunk_count integer NOT NULL DEFAULT 0,
        -- Bytes counted as storage: the size of the object, and of a text that was given instead of or after the object.
        stored_bytes bigint NOT NULL,
        deleted_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        FOREIGN KEY (tenant_id, knowledge_base_id) REFERENCES knowledge_bases (tenant_id, id)
      );
      CREATE INDEX knowledge_documents_of_base ON knowledge_documents (tenant_id, knowledge_base_id, id) WHERE deleted_at IS NULL;

      CREATE TABLE knowledge_chunks (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
        UNIQUE (tenant_id, document_id, generation, chunk_index),
        FOREIGN KEY (tenant_id, document_id) REFERENCES knowledge_documents (tenant_id, id)
      );
      -- Stored inline, so that a scan does not read a second table.
      ALTER TABLE knowledge_chunks ALTER COLUMN embedding SET STORAGE PLAIN;
      CREATE INDEX knowledge_chunks_of_base ON knowledge_chunks (tenant_id, knowledge_base_id);

      -- Requested uploads. An upload that is not confirmed within 24 hours is removed together with its object.
      CREATE TABLE knowledge_uploads (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        knowledge_base_id integer NOT NULL,
        object_key text NOT NULL,
        mime_type text NOT NULL,
        -- The document that was created from the upload.
        document_id integer,
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, object_key),
        FOREIGN KEY (tenant_id, knowledge_base_id) REFERENCES knowledge_bases (tenant_id, id),
        FOREIGN KEY (tenant_id, document_id) REFERENCES knowledge_documents (tenant_id, id)
      );
      CREATE INDEX knowledge_uploads_open ON knowledge_uploads (tenant_id, created_at) WHERE document_id IS NULL;
    `);
  },
};
