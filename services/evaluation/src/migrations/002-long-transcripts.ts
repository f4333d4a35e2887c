import type { Migration } from '@parley/postgres/database/types';

export const longTranscripts: Migration = {
  name: '002-long-transcripts',
  async up(knex) {
    await knex.raw(`
      -- In how many parts the transcript stands in transcript_parts; 0: it is the value of \`transcript\`, which else is empty.
      alter table evaluations add column transcript_parts integer not null default 0;
      -- What the transcript takes as JSON where it has parts.
      alter table evaluations add column transcript_bytes bigint;
      create table transcript_parts (
        tenant_id integer not null,
        session_id integer not null,
        -- From 0. The parts of one session are the same whoever writes them: where each ends follows from the messages alone.
        part integer not null,
        -- A JSON array of lines.
        lines text not null,
        primary key (tenant_id, session_id, part)
      )`);
  },
};
