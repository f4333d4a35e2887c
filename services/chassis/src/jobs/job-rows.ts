import type { Knex } from 'knex';
import type { Job } from './job-types.ts';

/** A job that somebody holds, and by which token. */
export interface ClaimedJob extends Job {
  /** Fences the lease: every claim has a token of its own. */
  token: string;
  cancelRequested: boolean;
  /** W3C trace context of who appended it. */
  traceparent: string | undefined;
}

/** What identifies a lease in the database. */
export type LeaseKey = Pick<ClaimedJob, 'id' | 'token'>;

export interface Claim {
  owner: string;
  leaseMs: number;
}

export interface ClaimedRow {
  id: string;
  kind: string;
  key: string;
  tenant_id: number | null;
  payload: unknown;
  attempt: number;
  lease_token: string;
  cancel_requested: boolean;
  traceparent: string | null;
}

const columns = [
  'id',
  'kind',
  'key',
  'tenant_id',
  'payload',
  'attempt',
  'lease_token',
  'cancel_requested',
  'traceparent',
];
/** What `fromRow` reads. */
export const claimedColumns = columns.map((column) => `jobs.${column}`).join(', ');

/** Sets a lease of its own on each row. */
export const leaseAssignments = `lease_owner = :owner, lease_token = gen_random_uuid(),
  lease_until = parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'`;

/** How many running jobs below a tenant's limit its exact count begins, see `appendJob`. */
export const limitMargin = 32;

/** The first half of the advisory lock's key; the tenant's id is the other. */
export const limitLock = `hashtext(current_schema() || '.jobs.' || :kind)`;

export function fromRow(row: ClaimedRow): ClaimedJob {
  return {
    id: Number(row.id),
    kind: row.kind,
    key: row.key,
    tenantId: row.tenant_id ?? undefined,
    data: row.payload,
    attempt: row.attempt,
    token: row.lease_token,
    cancelRequested: row.cancel_requested,
    traceparent: row.traceparent ?? undefined,
  };
}

/** Sends statements with named values. */
export function rowsBy(knex: Knex.Transaction) {
  return async function rows<Row>(sql: string, values: Record<string, Knex.RawBinding>): Promise<Row[]> {
    const result: { rows: Row[] } = await knex.raw(sql, values);
    return result.rows;
  };
}
