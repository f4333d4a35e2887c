import type { Migration } from '@parley/postgres/database/types';

export const identities: Migration = {
  name: '009-identities',
  async up(knex) {
    await knex.raw(`
      ALTER TABLE users ADD COLUMN idp_one_subject text; -- the identity of IDP_ONE that is linked
      CREATE UNIQUE INDEX users_idp_one_subject_live ON users (idp_one_subject) WHERE deleted_at IS NULL;

      ALTER TABLE tenants ADD COLUMN idp_one_company text; -- whose new users join it
      CREATE UNIQUE INDEX tenants_idp_one_company_live ON tenants (idp_one_company) WHERE deleted_at IS NULL;

      CREATE TABLE seen_tickets (
        ticket_sha256 bytea PRIMARY KEY,
        seen_at timestamptz NOT NULL DEFAULT parley_now()
      );
      CREATE INDEX seen_tickets_seen_at ON seen_tickets (seen_at);
    `);
  },
};
