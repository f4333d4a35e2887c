import type { Migration } from '../database/types.ts';

/** The job queue. Each schema has one. It is an internal table, without row-level security. */
export const jobsMigrations: Migration[] = [
  {
    name: 'jobs-001-queue',
    async up(knex) {
      await knex.raw(`
        create table jobs (
          id bigint generated always as identity primary key,
          kind text not null,
          key text not null,
          tenant_id integer,
          payload jsonb not null,
          state text not null default 'queued' check (state in ('queued', 'running', 'failed')),
          attempt integer not null default 0,
          run_at timestamptz not null,
          lease_owner text,
          lease_token uuid,
          lease_until timestamptz,
          cancel_requested boolean not null default false,
          error text,
          traceparent text,
          created_at timestamptz not null,
          check ((state = 'running') = (lease_token is not null)),
          check ((state = 'running') = (lease_until is not null))
        ) with (fillfactor = 70)
      `);
      // The database enforces one running job per key, which decides every race between two claims.
      await knex.raw(`create unique index jobs_one_running on jobs (kind, key) where state = 'running'`);
      // This index lists the waiting jobs of a key, in order.
      await knex.raw(`create index jobs_waiting on jobs (kind, key, id) where state = 'queued'`);
      // This index finds the due jobs, and the time when the next job will be due.
      await knex.raw(`create index jobs_due on jobs (kind, run_at) where state = 'queued'`);
      // This index finds the oldest waiting jobs of a tenant.
      await knex.raw(`create index jobs_waiting_of_tenant on jobs (kind, tenant_id, id) where state = 'queued'`);
      // This index serves to count the running jobs of a tenant. `lease_until` is in no index, so that a renewal stays a heap-only update;
      // a kind has few enough running jobs to scan them for expired leases.
      await knex.raw(`create index jobs_running on jobs (kind, tenant_id) where state = 'running'`);
    },
  },
  {
    name: 'jobs-002-heads-of-tenants',
    async up(knex) {
      // This index finds the first waiting job of each key, by tenant, so that the search skips all jobs that wait behind others.
      await knex.raw(`create index jobs_heads_of_tenant on jobs (kind, tenant_id, key, id)
        where state <> 'running' and state <> 'failed' and run_at <= created_at`);
      // Delayed jobs are not in the index above. This index lists them by due time.
      await knex.raw(`create index jobs_delayed_of_tenant on jobs (kind, tenant_id, run_at, id)
        where state <> 'running' and state <> 'failed' and run_at > created_at`);
    },
  },
];
