import type { TenantDb } from '@parley/postgres/database/types';
import type { TenantEnd } from '@parley/service/tenant-end';
import { closeSession } from './close-session.ts';
import type { SessionConfig } from './config.ts';
import type { Ports } from './ports.ts';
import { sessionStore } from './session-store.ts';

/** Sessions that are closed at once: a running turn has some seconds to be cut, and there may be many. */
const atOnce = 20;

/** Ends the sessions of a tenant that has been deleted. */
export const tenantEnd: TenantEnd<Ports, SessionConfig> = {
  /** From the commit on no session of the tenant starts, and no end of one is judged, whoever brings it about. */
  close: (db: TenantDb) => sessionStore(db).leaveUnjudged(),

  /** Ends all ACTIVE sessions: running turns are cut, waiting ones fail, and nothing is judged. */
  async finish(ports, { tenantId, signal }) {
    for (let after = 0; !signal.aborted; ) {
      const page = { after, limit: atOnce };
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
