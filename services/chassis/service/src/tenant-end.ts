import type { EventReaction } from '@parley/events/consumer';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { RunnerOptions } from '@parley/postgres/jobs/runner-types';
import { once } from '@parley/postgres/outbox/inbox';
import { tenantTombstones } from '@parley/postgres/tenant-tombstones';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';

/** How it is announced that a tenant has been deleted. */
export const tenantDeleted = { topic: 'tenant-deleted', type: 'tenant.deleted.v1' } as const;

/** What a service does when a tenant is deleted, at most a moment after its credentials have ceased to be good. */
export interface TenantEnd<Deps, Config> {
  /**
   * Closes what must not go on, in the transaction that marks the tenant as deleted (`tenantTombstones`): whoever starts
   * something afterwards sees the mark. Answers whether there is anything left for `finish`.
   */
  close(db: TenantDb): Promise<boolean>;
  /**
   * Ends what is left. It is a job: outside any transaction, on any replica, again until it succeeds, perhaps on something that
   * has ended already.
   */
  finish(deps: Deps, run: { tenantId: number; signal: AbortSignal }): Promise<void>;
  /** How that job is leased and handed over, where the usual does not do. */
  lease?(config: Config): Pick<RunnerOptions, 'leaseMs' | 'stopGraceMs'>;
}

/** A service that keeps rows of tenants says what becomes of a deleted one, or why nothing has to. */
export type OnTenantEnd<Deps, Config> = TenantEnd<Deps, Config> | { nothingBecause: string };

/** The job that `finish` is. */
export function tenantEndJob<Deps, Config>(
  service: string,
  end: TenantEnd<Deps, Config>,
  deps: Deps,
  config: Config,
): JobDeclaration {
  return job({
    kind: kindOf(service),
    concurrency: 2,
    perTenantLimit: {
      // A tenant has one such job, which takes long where it has much to end; the jobs of other deleted tenants wait meanwhile.
      unlimitedBecause: 'nobody waits for it: all credentials of a deleted tenant are refused before',
    },
    // Whatever is in the way, nothing may go on for a tenant that is gone.
    maxAttempts: 1_000_000,
    ...end.lease?.(config),
    handler: (run) => end.finish(deps, run),
  });
}

/** Marks the tenant as deleted, closes what must not go on, and leaves the job behind. */
export function tenantEndReaction(
  service: string,
  end: Pick<TenantEnd<unknown, unknown>, 'close'>,
  database: Database,
): EventReaction<TenantDeleted> {
  return {
    topic: tenantDeleted.topic,
    decode: TenantDeleted.decode,
    handle: ({ id, tenantId }) =>
      database.transact(tenantId, (db) =>
        once(db, service, id, async () => {
          await tenantTombstones(db).markDeleted();
          if (!(await end.close(db))) return;
          await jobs(db).append({ kind: kindOf(service), key: `tenant ${tenantId}`, data: {} });
        }),
      ),
  };
}

function kindOf(service: string): string {
  return `${service}.end-tenant`;
}
