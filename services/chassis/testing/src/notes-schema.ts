import type { SchemaDeclaration } from '@parley/postgres/database/types';

/** The tables of a small service: notes of tenants with their lines, and people without a tenant. */
export const notesSchema: SchemaDeclaration = {
  name: 'notes',
  tables: { notes: 'tenant', lines: 'tenant', people: 'people' },
  migrations: [
    {
      name: '001-notes',
      async up(knex) {
        await knex.raw(`
          CREATE TABLE notes (
            tenant_id integer NOT NULL,
            id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            text text NOT NULL,
            written_at timestamptz NOT NULL DEFAULT parley_now(),
            UNIQUE (tenant_id, id)
          );
          CREATE TABLE lines (
            tenant_id integer NOT NULL,
            id serial PRIMARY KEY,
            note_id integer NOT NULL,
            FOREIGN KEY (tenant_id, note_id) REFERENCES notes (tenant_id, id)
          );
          CREATE TABLE people (id serial PRIMARY KEY, email text NOT NULL UNIQUE);
        `);
      },
    },
  ],
};
