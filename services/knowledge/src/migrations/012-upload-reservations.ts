import type { Migration } from '@parley/postgres/database/types';

export const uploadReservations: Migration = {
  name: '012-upload-reservations',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE knowledge_uploads
        -- Counts as storage while the upload is open. Null if a version without this column requested the upload.
        ADD COLUMN declared_bytes integer,
        -- When the file was refused or the base was deleted. After that the upload cannot be confirmed, and declared_bytes no longer
        -- counts.
        ADD COLUMN refused_at timestamptz
    `);
  },
};
