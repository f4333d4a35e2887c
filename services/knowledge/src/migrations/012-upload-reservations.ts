import type { Migration } from '@parley/postgres/database/types';

export const uploadReservations: Migration = {
  name: '012-upload-reservations',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE knowledge_uploads
        -- Counts as storage while the upload is open; null where a version before this column requested it.
        ADD COLUMN declared_bytes integer,
        -- When its file was refused, or its base deleted: it cannot be confirmed, and declared_bytes no longer counts.
        ADD COLUMN refused_at timestamptz
    `);
  },
};
