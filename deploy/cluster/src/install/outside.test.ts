import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test from 'ava';
import { startOutside, stopOutside } from './outside.ts';

test('the model and the mail server run until they are stopped, and no user can read the password of the mail server', async (t) => {
  const folder = emptyFolder(t);
  t.teardown(() => stopOutside(folder));
  const { pid, password } = await startOutside(folder, '127.0.0.1');
  t.is((await startOutside(folder, '127.0.0.1')).pid, pid);
  const processFile = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
  t.true(processFile('cmdline').includes('outside-process'));
  t.false(processFile('cmdline').includes(password));
  t.deepEqual(readdirSync(folder).toSorted(), ['outside.json', 'outside.log']);
  await stopOutside(folder);
  t.false(existsSync(`/proc/${pid}/exe`)); // the process's entry in /proc remains until its parent has noticed the end
});

test('a damaged record is not an error', async (t) => {
  const folder = emptyFolder(t);
  writeFileSync(join(folder, 'outside.json'), '{"pid":1');
  await t.notThrowsAsync(stopOutside(folder));
});
