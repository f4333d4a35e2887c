import { tenantObjects } from '@parley/objects/tenant-objects';
import type { TenantDb } from '@parley/postgres/database/types';
import { type JobDeclaration, job } from '@parley/postgres/jobs/job';
import { jobs } from '@parley/postgres/jobs/jobs';
import type { Ports } from '../ports.ts';

interface RemoveObject {
  objectKey: string;
}

const kind = 'knowledge.remove-object';

/** Deletes a tenant's object after the transaction commits, retrying while the object store is unavailable. */
export async function removeObjectLater(db: TenantDb, objectKey: string): Promise<void> {
  await jobs(db).append<RemoveObject>({ kind, key: objectKey, data: { objectKey } });
}

export function removeObjectJob({ objects }: Pick<Ports, 'objects'>): JobDeclaration {
  return job<RemoveObject>({
    kind,
    concurrency: 4,
    perTenantLimit: 2,
    retry: 'untilDone',
    stopGraceMs: 1_000,
    handler: ({ tenantId, data }) => tenantObjects(objects, tenantId).delete(data.objectKey),
  });
}
