/** A job that was appended. */
export interface TenantJob<Data = unknown> {
  id: number;
  kind: string;
  /** Jobs of one kind and key run one at a time, in the order in which they were appended. */
  key: string;
  tenantId: number;
  /** The data that was passed to `append`, serialized as JSON and parsed again. */
  data: Data;
  /**
   * Number of the attempt: 1 at the first claim and at the first claim after `retryLater`; increased by one at each retry, take-over or
   * handover.
   */
  attempt: number;
}

/** A claimed job, with the token of its lease. */
export interface ClaimedJob extends TenantJob {
  /** The fencing token of the lease, new at every claim. */
  token: string;
  cancelRequested: boolean;
  /** The W3C trace context in which the job was appended. */
  traceparent: string | null;
}

/** Identifies a lease in the database. */
export type LeaseKey = Pick<ClaimedJob, 'id' | 'token'>;

export interface Claim {
  owner: string;
  leaseMs: number;
}

/** The columns of a `ClaimedJob`. */
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

/** Sets a new lease on each row. */
export const leaseAssignments = `lease_owner = :owner, lease_token = gen_random_uuid(),
  lease_until = parley_now() + cast(:leaseMs as integer) * interval '1 millisecond'`;

/** When a tenant is this close to its limit, its running jobs are counted exactly; see `appendJob`. */
export const limitMargin = 32;

/** The first half of the key of the advisory lock for a tenant's limit; the second half is the tenant's id. */
export const limitLock = `hashtext(current_schema() || '.jobs.' || :kind)`;
