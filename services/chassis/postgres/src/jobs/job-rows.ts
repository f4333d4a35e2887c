import type { Knex } from 'knex';
import type { Job } from './job-types.ts';

/** A job that somebody holds, and by which token. */
export interface ClaimedJob extends Job {
  /** Fences the lease: every claim has a token of its own. */
  token: string;
  cancelRequested: boolean;
  /** W3C trace context of who appended it. */
  traceparent: string | null;
}

/** What identifies a lease in the database. */
export type LeaseKey = Pick<ClaimedJob, 'id' | 'token'>;

export interface Claim {
  owner: string;
  leaseMs: number;
}

/** A row as a claimed job. */
export const claimedColumns = [
  'id',
  'kind',
  'key',
  'tenant_id',
  'payload as data',
  'attempt',
  'lease_token as token',
  'cancel_requested',
  'traceparent',
]
  .map((column) => `jobs.${column}`)
  .join(', ');

/** Sets a lease of its own on each row. */
export const leaseAssignments = `lease_owner = :owner, lease_token = gen_random_uuid(),
  lease_until = parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'`;

/** How many running jobs below a tenant's limit its exact count begins, see `appendJob`. */
export const limitMargin = 32;

/** The first half of the advisory lock's key; the tenant's id is the other. */
export const limitLock = `hashtext(current_schema() || '.jobs.' || :kind)`;

/** Sends statements with named values. */
export function rowsBy(knex: Knex.Transaction) {
  return async function rows<Row>(sql: string, values: Record<string, Knex.RawBinding>): Promise<Row[]> {
    const result: { rows: Row[] } = await knex.raw(sql, values);
    return result.rows;
  };
}
