import type { TenantDb } from '@parley/postgres/database/types';
import type { TenantEnd } from '@parley/service/tenant-end';
import { closeSession } from './close-session.ts';
import type { SessionConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

/** Sessions closed at a time: each may wait some seconds for its running turn. */
const batchSize = 20;

export const tenantEnd: TenantEnd<Ports, SessionConfig> = {
  /** After its commit no session of the tenant can start, and none that ends is evaluated. */
  close: (db: TenantDb) => sessionStore(db).skipEvaluation(),

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
