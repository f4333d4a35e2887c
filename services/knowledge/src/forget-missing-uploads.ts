import { tenantObjects } from '@parley/objects/tenant-objects';
import type { Ports } from './ports.ts';
import { etagOf } from './settle-upload.ts';
import { mayArriveMs } from './upload-rules.ts';
import { type Upload, uploadStore } from './upload-store.ts';

/** Objects that are asked for at most, and at once. */
const most = 20;
const atOnce = 10;

/** Forgets uploads that no file came for in time; a file that comes later still is removed. */
export async function forgetMissingUploads({ database, objects }: Ports, tenantId: number): Promise<void> {
  const open = await database.transact(tenantId, (db) => uploadStore(db).someUnconfirmed(mayArriveMs, most));
  const files = tenantObjects(objects, tenantId);
  const missing: number[] = [];
  const check = async ({ id, objectKey }: Pick<Upload, 'id' | 'objectKey'>) => {
    if ((await etagOf(files, objectKey)) === undefined) missing.push(id);
  };
  while (open.length > 0) await Promise.all(open.splice(0, atOnce).map(check));
  if (missing.length > 0) await database.transact(tenantId, (db) => uploadStore(db).forget(missing));
}
