import { globSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/chassis/testing/eventually';
import { emptyFolder } from '@parley/servers/testing/folder';
import { serverTest } from '@parley/servers/testing/server-test';
import { startChild } from '../testing/child.ts';
import { processesOf } from './testing/processes.ts';

serverTest(
  ['postgres', 'redis', 'kafka', 's3'],
  'Ctrl-C among stories that are told on the mesh leaves no process and no file',
  async (t) => {
    t.timeout(300_000, 'a busy machine starts it in its own time');
    const temporary = join(emptyFolder(t), 'tmp');
    mkdirSync(temporary, { mode: 0o711 });
    const run = startChild(t, 'test', { args: ['--only', 'stories on the mesh'], env: { TMPDIR: temporary } });
    await eventually('stories are told', () => isTelling(temporary), { timeoutMs: 180_000 });
    t.true(processesOf(temporary).filter(({ command }) => command.includes('src/main.ts')).length >= 8);

    run.kill('SIGINT');
    t.is(await run.ended, 1, run.stderr);
    t.regex(run.stdout, /stories on the mesh/u);
    t.deepEqual(processesOf(temporary), []);
    t.deepEqual(readdirSync(temporary), []);
  },
);

/** Once the mesh is up and a file of stories runs on it. */
function isTelling(temporary: string): boolean {
  const isUp = globSync('parley-stories-*/data/addresses.json', { cwd: temporary }).length > 0;
  return isUp && processesOf(temporary).some(({ command }) => command.includes('ava'));
}
