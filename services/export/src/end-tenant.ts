import type { TenantDb } from '@parley/postgres/database/types';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { TenantEnd } from '@parley/service/tenant-end';
import type { ExportConfig } from './config.ts';
import { exportsPrefix } from './export-record.ts';
import { exportStore } from './export-store.ts';
import type { Ports } from './ports.ts';
import { removeFiles, removeKind } from './remove-export.ts';

/** Removes all exports of a deleted tenant with their files. An export that is being rendered removes its own file. */
export const tenantEnd: TenantEnd<Ports, ExportConfig> = {
  async close(db: TenantDb) {
    await exportStore(db).deleteAll();
    await jobs(db).runDelayedNow(removeKind);
    return true;
  },
  finish: ({ objects }, { tenantId, signal }) =>
    removeFiles(objects, { tenantId, prefix: exportsPrefix(tenantId), signal }),
};
