import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/chassis/testing/eventually';
import test from 'ava';
import { exec, works } from './exec.ts';
import { emptyFolder } from './testing/folder.ts';

test('a command answers what it wrote, and reads what it is given', async (t) => {
  t.is(await exec('cat', [], { input: 'hello' }), 'hello');
  t.is(await exec('true', [], { input: 'x'.repeat(1_000_000) }), '');
});

test('a command that fails tells the end of its output', async (t) => {
  const failing = exec('sh', ['-c', 'seq 100; echo broken >&2; exit 7']);
  const { message } = (await t.throwsAsync(failing)) ?? { message: '' };
  t.regex(message, /^sh ended with 7\n/);
  t.regex(message, /broken$/);
  t.notRegex(message, /\n50\n/);
});

test('a command that is not there does not work', async (t) => {
  t.false(await works('no-such-command', []));
  t.false(await works('false', []));
  t.true(await works('true', []));
});

test('an interrupted command ends with all that it started', async (t) => {
  const file = join(emptyFolder(t), 'pid');
  const interruption = new AbortController();
  const running = exec('sh', ['-c', `sleep 300 & echo $! >${file}; wait`], { signal: interruption.signal });
  const failed = t.throwsAsync(running, { message: 'interrupted' });
  const pid = await eventually('it has begun', () => existsSync(file) && Number(readFileSync(file, 'utf8')));
  interruption.abort(new Error('interrupted'));
  await failed;
  await eventually('its child is gone', () => !existsSync(`/proc/${pid}/exe`));
});
