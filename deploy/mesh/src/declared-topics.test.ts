import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { usualRetentionMs } from '@parley/events/topics';
import { topics } from '@parley/local/topics';
import { root } from '@parley/servers/root';
import test from 'ava';

const sources = globSync('services/*/src/**/*.ts', { cwd: root, exclude: ['services/chassis/**', '**/*.test.ts'] });

test('every topic that a service publishes to or takes from is declared, and nothing else is', (t) => {
  const used = sources.flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/\btopic: '([^']+)'/gu)].map(([, name = '']) => name),
  );
  t.true(used.length > 1);
  t.deepEqual([...new Set(used)].toSorted(), topics.map(({ name }) => name).toSorted());
});

test('events are kept no longer than consumers count on, and shared by several replicas', (t) => {
  for (const { name, retentionMs, partitions } of topics) {
    t.true(retentionMs <= usualRetentionMs, name);
    t.true(partitions > 1, name);
  }
});
