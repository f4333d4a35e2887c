import type { ObjectStore } from '@parley/objects/object-store';
import { eventually } from '@parley/testing/eventually';
import { createGate } from '@parley/testing/gate';
import test from 'ava';
import { parserMesh } from './parser-mesh.ts';

const flood = [1, 2, 3, 4, 5, 6];
const other = 7;

test("a tenant with many documents has one slot over all parsers, and another tenant's document ends before them", async (t) => {
  const mesh = await parserMesh(t);
  const gate = createGate();
  const [underWay, max] = [new Set<string>(), { atOnce: 0 }];
  /** An object store that returns the files of tenant 1 only when the gate is open. */
  const slow: ObjectStore = {
    ...mesh.store,
    async get(key, options) {
      if (key.startsWith('tenants/1/')) {
        underWay.add(key);
        max.atOnce = Math.max(max.atOnce, underWay.size);
        await gate.pass();
        underWay.delete(key);
      }
      return mesh.store.get(key, options);
    },
  };
  const parsers = [await mesh.replica(slow), await mesh.replica(slow)];
  for (const id of flood) await mesh.upload(id, 'markdown', `file ${id}`);
  await mesh.upload(other, 'markdown', 'of another', 2);

  for (const { eventBus } of parsers) await eventBus.publish(flood.map((id) => mesh.uploaded(id)));
  await eventually('the flood has a place', () => underWay.size > 0);
  await parsers[0]?.eventBus.publish([{ ...mesh.uploaded(other), tenantId: 2 }]);
  t.is((await mesh.ended(other)).text, 'of another');
  t.deepEqual(
    flood.map((id) => mesh.documents.get(id)?.text),
    flood.map(() => undefined),
  );

  gate.open();
  for (const id of flood) t.is((await mesh.ended(id)).text, `file ${id}`);
  t.is(max.atOnce, 1);
});
