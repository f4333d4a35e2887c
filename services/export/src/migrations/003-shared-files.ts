import type { Migration } from '@parley/postgres/database/types';

export const sharedFiles: Migration = {
  name: '003-shared-files',
  contracts: 'Nothing: the new check is on a new column, which only processes that know it set.',
  async up(knex) {
    await knex.raw(`
      -- Of a failure that the same content has each time: the content and the limits that it failed at.
      ALTER TABLE export_records ADD COLUMN failure_hash text CHECK (failure_hash IS NULL OR status IN ('FAILED', 'FALLBACK_READY'));
      -- Exports that refer to a file, and the bytes that a tenant keeps.
      CREATE INDEX export_records_files ON export_records (tenant_id, object_key) INCLUDE (session_id, file_size_bytes, id)
        WHERE status = 'READY'`);
  },
};
