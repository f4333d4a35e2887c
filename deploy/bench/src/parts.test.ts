// A mesh of its own for each part, since the bench starts and configures what it measures.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { EngineName } from '@parley/servers/engine';
import { root } from '@parley/servers/root';
import { serverTest } from '@parley/servers/testing/server-test';
import { needed } from './on-servers.ts';

/** The servers that each part starts, which this machine must be able to have. */
const parts: Record<string, EngineName[]> = {
  logins: [],
  gateway: [],
  mesh: needed,
  models: needed,
  parser: [],
  knowledge: ['postgres'],
};

for (const [part, engines] of Object.entries(parts)) {
  serverTest(engines, `the bench of ${part}, in its short form, measures all that it names`, async (t) => {
    t.timeout(300_000); // a whole mesh starts
    const args = [join(root, 'scripts/src/bench.ts'), '--only', part, '--short', '--rounds', '1', '--json'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { figures, leftOut } = JSON.parse(stdout);
    t.deepEqual(leftOut, []);
    t.true(figures.length > 9);
    for (const { name, value } of figures) t.true(Number.isFinite(value), `${name}: ${value}`);
  });
}
