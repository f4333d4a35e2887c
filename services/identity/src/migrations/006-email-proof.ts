import type { Migration } from '@parley/postgres/database/types';

export const emailProof: Migration = {
  name: '006-email-proof',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE users
        ADD COLUMN email_proved_at timestamptz, -- when a code or link that was sent to the email was last used
        -- Set for a password that is older than the proof that the email belongs to this person: sign-ins with the
        -- password are limited until it is replaced.
        ADD COLUMN email_proof_required boolean NOT NULL DEFAULT false;
    `);
  },
};
