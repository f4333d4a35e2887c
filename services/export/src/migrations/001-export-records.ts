import type { Migration } from '@parley/postgres/database/types';

export const exportRecords: Migration = {
  name: '001-export-records',
  async up(knex) {
    await knex.raw(`
      CREATE TABLE export_records (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        tenant_id integer NOT NULL,
        session_id integer NOT NULL,
        agent_id integer NOT NULL,
        kind text NOT NULL CHECK (kind IN ('STUDY_KIT')),
        status text NOT NULL DEFAULT 'PENDING'
          CHECK (status IN ('PENDING', 'RENDERING', 'READY', 'FAILED', 'FALLBACK_READY')),
        -- Requests with the same key are retries of one request.
        request_key text NOT NULL,
        -- Why the document was not rendered.
        error_message text CHECK ((error_message IS NOT NULL) = (status IN ('FAILED', 'FALLBACK_READY'))),
        -- Key of the file to download.
        object_key text CHECK ((object_key IS NOT NULL) = (status IN ('READY', 'FALLBACK_READY'))),
        file_size_bytes integer CHECK ((file_size_bytes IS NOT NULL) = (object_key IS NOT NULL)),
        -- Hash of the content and of everything else that determines the file: files with the same hash have the same bytes.
        content_hash text CHECK ((content_hash IS NOT NULL) = (status = 'READY')),
        created_at timestamptz NOT NULL DEFAULT parley_now(),
        updated_at timestamptz NOT NULL DEFAULT parley_now(),
        UNIQUE (tenant_id, id),
        UNIQUE (tenant_id, request_key)
      );
      CREATE INDEX export_records_session ON export_records (tenant_id, session_id, id);
      CREATE INDEX export_records_waiting ON export_records (tenant_id, session_id) WHERE status IN ('PENDING', 'RENDERING')`);
  },
};
