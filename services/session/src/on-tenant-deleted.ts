import type { Database } from '@parley/chassis/database/types';
import { eventConsumer } from '@parley/chassis/events/consumer';
import type { EventBus } from '@parley/chassis/events/event-bus';
import { once } from '@parley/chassis/events/inbox';
import type { JobClaimer } from '@parley/chassis/jobs/job-claimer';
import type { Logger } from '@parley/chassis/log';
import type { Metrics } from '@parley/chassis/metrics';
import type { Part } from '@parley/chassis/unit';
import { TenantDeleted } from '@parley/protos/parley/identity/v1/events';
import { giveUpSessions } from './end-tenant.ts';

export interface TenantConsumerOptions {
  bus: EventBus;
  database: Database;
  /** Ends the tenant's sessions: that waits for running turns, so the event leaves a job behind for it. */
  tenantEnds: JobClaimer;
  log: Logger;
  metrics?: Pick<Metrics, 'gauge'>;
}

/** Takes the news of deleted tenants. */
export function tenantConsumer({ bus, database, tenantEnds, log, metrics }: TenantConsumerOptions): Part {
  return eventConsumer({
    bus,
    group: 'session',
    database,
    handlers: {
      'tenant.deleted.v1': {
        topic: 'tenant-deleted',
        decode: TenantDeleted.decode,
        handle: ({ id, tenantId }) =>
          database.transact(tenantId, (db) => once(db, 'session', id, () => giveUpSessions(db, tenantEnds))),
      },
    },
    log,
    metrics,
  });
}
