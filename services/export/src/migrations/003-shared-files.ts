import type { Migration } from '@parley/postgres/database/types';

export const sharedFiles: Migration = {
  name: '003-shared-files',
  contracts: 'Nothing: the new check is on a new column, which only processes that know it set.',
  async up(knex) {
    await knex.raw(`
      -- Hash of content and limits, for a failure that recurs whenever the same content is rendered.
      ALTER TABLE export_records ADD COLUMN failure_hash text CHECK (failure_hash IS NULL OR status IN ('FAILED', 'FALLBACK_READY'));
      -- Finds the exports that refer to a file, and the bytes that a tenant stores.
      CREATE INDEX export_records_files ON export_records (tenant_id, object_key) INCLUDE (session_id, file_size_bytes, id)
        WHERE status = 'READY'`);
  },
};
