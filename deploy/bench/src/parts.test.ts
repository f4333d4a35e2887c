// This test starts its own meshes, because the bench starts and configures what it measures.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@parley/servers/root';
import { serverTest } from '@parley/servers/testing/server-test';
import { needed } from './on-servers.ts';

// allow-name workflows: the part of the bench.

const parts = [
  'logins',
  'gateway',
  'mesh',
  'models',
  'actions',
  'workflows',
  'embedded',
  'storage',
  'parser',
  'exports',
  'voice',
  'knowledge',
  'retrieval',
  'follow-ups',
  'floods',
];

serverTest(needed, 'the bench, in its short form, measures all that its parts name', async (t) => {
  t.timeout(600_000); // long, because whole meshes start
  const only = parts.flatMap((part) => ['--only', part]);
  const args = [join(root, 'scripts/src/bench.ts'), ...only, '--short', '--rounds', '1', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const { figures, leftOut } = JSON.parse(stdout);
  t.deepEqual(leftOut, []);
  for (const part of parts) {
    const own = figures.filter((figure: { part: string }) => figure.part === part);
    t.true(own.length > 4, part);
    for (const { name, value } of own) t.true(Number.isFinite(value), `${part}: ${name}: ${value}`);
  }
});
