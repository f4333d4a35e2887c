import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { TenantEnd } from '@parley/service/tenant-end';
import { closeSession } from './close-session.ts';
import type { SessionConfig } from './config.ts';
import { syncDeliveryStore } from './external-sync/sync-delivery-store.ts';
import { syncKind } from './external-sync/sync-job.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

/** How many sessions are closed at a time; each may wait some seconds for its running turn. */
const batchSize = 20;

export const tenantEnd: TenantEnd<Ports, SessionConfig> = {
  /** Deletes the tenant's webhook deliveries. After the transaction's commit, no session of the tenant can start or be evaluated. */
  async close(db: TenantDb) {
    await syncDeliveryStore(db).deleteAll();
    // Delayed delivery jobs run now, find the tenant deleted, and end.
    await jobs(db).runDelayedNow(syncKind);
    return sessionStore(db).skipEvaluation();
  },

  async finish(ports, { tenantId, signal }) {
    for (let after = 0; !signal.aborted; ) {
      const page = { after, limit: batchSize };
      const ids = await ports.database.transact(tenantId, (db) => sessionStore(db).listActive(page));
      const last = ids.at(-1);
      if (last === undefined) return;
      await Promise.all(ids.map((sessionId) => closeSession(ports, { tenantId, sessionId, status: 'ENDED' })));
      after = last;
    }
    signal.throwIfAborted();
  },

  lease: ({ settings: { leaseMs }, stopGraceMs }) => ({ leaseMs, stopGraceMs }),
};
