import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';

test('a killed process leaves its compile cache to the next one', async (t) => {
  const NODE_COMPILE_CACHE = mkdtempSync(join(tmpdir(), 'parley-run-'));
  t.teardown(() => rmSync(NODE_COMPILE_CACHE, { recursive: true, force: true }));
  const program = `
    import { createLogger } from '../src/telemetry/log.ts';
    import { run } from '../src/processes/run.ts';
    setInterval(() => {}, 1000);
    await run([], { log: createLogger('test') });
  `;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    cwd: import.meta.dirname,
    env: { ...process.env, LOG_LEVEL: 'info', NODE_COMPILE_CACHE },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const cacheFiles = () =>
    readdirSync(NODE_COMPILE_CACHE, { recursive: true, withFileTypes: true }).filter((it) => it.isFile());
  t.is(cacheFiles().length, 0);
  await eventually('the compile cache is written while it runs', () => cacheFiles().length > 0);
  child.kill('SIGKILL');
});
