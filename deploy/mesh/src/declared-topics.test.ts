import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usualRetentionMs } from '@parley/events/topics';
import { root } from '@parley/servers/root';
import { type ListedUnit, topics, units } from '@parley/units';
import test from 'ava';

/** Finds the events that a unit's code appends, written as `topic: '…', type: '…'`. */
function appendedBy(folder: string): string[] {
  const sources = globSync(`${folder}/src/**/*.ts`, { cwd: root, exclude: ['**/*.test.ts'] });
  return sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\btopic: '([^']+)',\s*type: '([^']+)'/gu)].map(
      ([, topic, type]) => `${topic} ${type}`,
    ),
  );
}

test('every event type that a unit declares is one that its code appends, and the other way round', (t) => {
  for (const { folder, publishes = [] } of units as readonly ListedUnit[]) {
    const declared = publishes.flatMap(({ name, types }) => types.map((type) => `${name} ${type}`));
    t.deepEqual([...new Set(appendedBy(folder))].toSorted(), declared.toSorted(), folder);
  }
  t.true(topics.length > 1);
});

test('events are kept no longer than consumers count on, and shared by several replicas', (t) => {
  for (const { name, retentionMs, partitions } of topics) {
    t.true(retentionMs <= usualRetentionMs, name);
    t.true(partitions > 1, name);
  }
});
