import type { Migration } from '@parley/postgres/database/types';

export const evaluations: Migration = {
  name: '001-evaluations',
  async up(knex) {
    await knex.raw(`
      create table evaluations (
        id integer generated always as identity primary key,
        tenant_id integer not null,
        session_id integer not null,
        score smallint not null check (score between 0 and 100),
        summary text not null,
        strengths jsonb not null,
        weaknesses jsonb not null,
        recommendation text not null,
        transcript jsonb not null,
        judged_by text not null,
        generated_at timestamptz not null default parley_now(),
        created_at timestamptz not null default parley_now(),
        updated_at timestamptz not null default parley_now(),
        -- One evaluation per session, even if the end of the session is announced several times.
        unique (tenant_id, session_id)
      )`);
  },
};
