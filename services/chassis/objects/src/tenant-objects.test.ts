import test from 'ava';
import { absentObjectStore, type ObjectStore } from './object-store.ts';
import { tenantObjects } from './tenant-objects.ts';

test("another tenant's keys are not found in any call, and the store is not called", async (t) => {
  const asked: string[] = [];
  const store: ObjectStore = {
    ...absentObjectStore(),
    head: async (key) => {
      asked.push(key);
      return { etag: 'e', sizeBytes: 1, contentType: 'text/plain', lastModified: new Date(0) };
    },
  };
  const mine = tenantObjects(store, 1);
  for (const key of ['tenants/2/a', 'tenants/11/a', 'tenants/1', 'other/tenants/1/a', 'Tenants/1/a', '']) {
    const calls = [
      () => mine.put(key, Buffer.of(1), { contentType: 'text/plain' }),
      () => mine.get(key),
      () => mine.head(key),
      () => mine.delete(key),
      () => mine.list({ prefix: key }),
      () => mine.presignPut({ key, contentType: 'text/plain', expiresInMs: 1_000 }),
      () => mine.refuseUploads(key, { forMs: 1_000 }),
      () => mine.presignGet({ key, expiresInMs: 1_000 }),
    ];
    for (const call of calls) t.like(await t.throwsAsync(call), { kind: 'notFound' });
  }
  t.deepEqual(asked, []);
  t.is((await mine.head('tenants/1/a')).sizeBytes, 1);
  t.deepEqual(asked, ['tenants/1/a']);
});

test('an invalid tenant id is refused', (t) => {
  for (const id of [0, -1, 1.5, Number.NaN])
    t.throws(() => tenantObjects(absentObjectStore(), id), { instanceOf: RangeError });
});
