import type { Migration } from '@parley/postgres/database/types';

export const longTranscripts: Migration = {
  name: '002-long-transcripts',
  async up(knex) {
    await knex.raw(`
      -- Number of the transcript's parts in transcript_parts. 0: the column \`transcript\` holds the transcript; otherwise that column is
      -- empty.
      alter table evaluations add column transcript_parts integer not null default 0;
      -- Size of a transcript with parts, as JSON.
      alter table evaluations add column transcript_bytes bigint;
      create table transcript_parts (
        tenant_id integer not null,
        session_id integer not null,
        -- Counts from 0. The end of a part depends on the messages only, so every process that stores a session writes the same parts.
        part integer not null,
        -- A JSON array of lines.
        lines text not null,
        primary key (tenant_id, session_id, part)
      )`);
  },
};
