import type { EventReaction } from '@parley/events/consumer';
import type { Database, TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { RunnerOptions } from '@parley/postgres/jobs/runner-types';
import { once } from '@parley/postgres/outbox/inbox';
import { tenantTombstones } from '@parley/postgres/tenant-tombstones';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';

export const tenantDeleted = { topic: 'tenant-deleted', type: 'tenant.deleted.v1' } as const;

/** Handles a deleted tenant, whose credentials are already refused. */
export interface TenantEnd<Deps, Config> {
  /**
   * Ends everything that must not continue, in the transaction that marks the tenant as deleted (`tenantTombstones`), so that anything
   * started later sees the mark. Resolves to true if `finish` is needed.
   */
  close(db: TenantDb): Promise<boolean>;
  /**
   * Ends what `close` has not ended, in a job outside any transaction. The job runs on any replica and is retried until it succeeds, so
   * this function must be idempotent.
   */
  finish(deps: Deps, run: { tenantId: number; signal: AbortSignal }): Promise<void>;
  /** Lease and stop grace of the job of `finish`, if the defaults are too short. */
  lease?(config: Config): Pick<RunnerOptions, 'leaseMs' | 'stopGraceMs'>;
}

/** A handler without a job: everything ends in the transaction that marks the tenant as deleted. */
export interface TenantClosing {
  close(db: TenantDb): Promise<void>;
  finish?: undefined;
}

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
      // Each deleted tenant has one job of this kind. A long job may delay the jobs of other deleted tenants.
      unlimitedBecause: 'nobody waits for it: all credentials of a deleted tenant are refused before',
    },
    // The job is retried until it succeeds.
    retry: 'untilDone',
    ...end.lease?.(config),
    handler: (run) => end.finish(deps, run),
  });
}

/** Marks the tenant as deleted, runs `close`, and appends the job if there is one, all in one transaction. */
export function tenantEndReaction(
  service: string,
  end: Pick<TenantEnd<unknown, unknown> | TenantClosing, 'close'>,
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
