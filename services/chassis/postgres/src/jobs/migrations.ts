import type { Migration } from '../database/types.ts';

/** The leased queue, in the schema of every service that declares it: a plumbing table, without row-level security. */
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
      // One running job a key, held by the database itself: the arbiter of every race between two claims.
      await knex.raw(`create unique index jobs_one_running on jobs (kind, key) where state = 'running'`);
      // What waits behind a key, in order.
      await knex.raw(`create index jobs_waiting on jobs (kind, key, id) where state = 'queued'`);
      // What is due, and when the next one will be.
      await knex.raw(`create index jobs_due on jobs (kind, run_at) where state = 'queued'`);
      // The oldest job of a tenant that waits, for the limit a tenant has.
      await knex.raw(`create index jobs_waiting_of_tenant on jobs (kind, tenant_id, id) where state = 'queued'`);
      // How many run a tenant. The end of a lease is in no index, so that a renewal stays a heap-only update; the
      // running jobs of a kind are few enough to be looked through for leases that have run out.
      await knex.raw(`create index jobs_running on jobs (kind, tenant_id) where state = 'running'`);
    },
  },
  {
    name: 'jobs-002-heads-of-tenants',
    async up(knex) {
      // The first waiting job of each key, tenant by tenant: by it the search passes over all that waits behind others.
      await knex.raw(`create index jobs_heads_of_tenant on jobs (kind, tenant_id, key, id)
        where state <> 'running' and state <> 'failed' and run_at <= created_at`);
      // Jobs that had to wait for a time are not among those, but here, where the ones that are due come first.
      await knex.raw(`create index jobs_delayed_of_tenant on jobs (kind, tenant_id, run_at, id)
        where state <> 'running' and state <> 'failed' and run_at > created_at`);
    },
  },
];
