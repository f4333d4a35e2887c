import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { eventually } from '@parley/chassis/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { findProcess, type ProcessOptions, startProcess, stopProcess } from './server-process.ts';
import { emptyFolder } from './testing/folder.ts';

const sleeper = { command: 'sleep', args: ['300'], account: undefined };

function start(t: ExecutionContext, options: Partial<ProcessOptions> = {}) {
  const home = options.home ?? emptyFolder(t);
  const started = startProcess({ ...sleeper, home, ...options });
  t.teardown(() => started.stop('SIGKILL'));
  return { home, started };
}

const untilFound = (home: string) => eventually('a server runs', () => findProcess(home));

test('a server is found by what it wrote down, under the pid that it was started with', async (t) => {
  const { home, started } = start(t);
  t.is(await untilFound(home), started.pid);
  t.regex(readFileSync(`/proc/${started.pid}/cmdline`, 'utf8'), /sleep/);
});

test('a process that has the pid of a server that is gone is neither found nor stopped', async (t) => {
  const { home, started } = start(t);
  await untilFound(home);
  const [pid, boot, ticks] = readFileSync(join(home, 'process'), 'utf8').trim().split(' ');

  writeFileSync(join(home, 'process'), `${pid} ${boot} ${Number(ticks) - 1}\n`);
  t.is(findProcess(home), undefined);
  t.false(await stopProcess(home, 'SIGKILL'));
  t.true(process.kill(started.pid, 0));
});

test('a record of another boot of the machine finds nothing, and neither does half a record', (t) => {
  const home = emptyFolder(t);
  t.is(findProcess(home), undefined);
  for (const record of ['', '1', `${process.pid} 0-0 1`, 'x y z']) {
    writeFileSync(join(home, 'process'), record);
    t.is(findProcess(home), undefined, record);
  }
});

test('a stopped server is gone when the call ends, and one that ran not at all is told apart', async (t) => {
  const { home, started } = start(t);
  await untilFound(home);
  t.true(await stopProcess(home, 'SIGTERM'));
  await t.throwsAsync(started.ended, { message: /ended with SIGTERM/ });
  t.is(findProcess(home), undefined);
  t.false(await stopProcess(home, 'SIGTERM'));
});

test('a server that can be stopped before it wrote itself down leaves no process', async (t) => {
  const { started } = start(t);
  await started.stop('SIGTERM');
  t.throws(() => process.kill(started.pid, 0), { code: 'ESRCH' });
});

test('a second server in the same folder waits until the first and its children are gone', async (t) => {
  // The child keeps the lock after its parent was killed.
  const first = start(t, { command: 'sh', args: ['-c', 'sleep 1 & exec sleep 300'] });
  await untilFound(first.home);
  process.kill(first.started.pid, 'SIGKILL');
  await t.throwsAsync(first.started.ended, { message: /SIGKILL/ });

  const before = performance.now();
  const second = start(t, { home: first.home });
  t.is(await untilFound(first.home), second.started.pid);
  t.true(performance.now() - before > 300, 'it did not wait for the child');
});

test('the last lines of the log say why a server ended', async (t) => {
  const { started } = start(t, { command: 'sh', args: ['-c', 'echo the port is taken >&2; exit 4'] });
  await t.throwsAsync(started.ended, { message: /ended with 4; its log ends with\nthe port is taken/ });
});

test('nothing of this environment reaches a server but the path, a locale and what it is given', async (t) => {
  const { home, started } = start(t, { command: 'env', args: [], env: { GIVEN: 'yes' } });
  await t.throwsAsync(started.ended);
  const names = readFileSync(join(home, 'log'), 'utf8')
    .match(/^\w+/gm)
    ?.filter((name) => name !== '_' && name !== 'PWD');
  t.deepEqual(names?.toSorted(), ['GIVEN', 'HOME', 'LC_ALL', 'PATH']);
});

test('a server that is tied to its starter ends with it, even when that is cut off', async (t) => {
  const home = emptyFolder(t);
  const program = `
    import { startProcess } from ${JSON.stringify(new URL('server-process.ts', import.meta.url).href)};
    startProcess({ command: 'sleep', args: ['300'], account: undefined, home: ${JSON.stringify(home)}, endWithParent: 'SIGTERM' });
    setInterval(() => {}, 1000);
  `;
  const starter = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  const pid = await untilFound(home);
  await starter.terminate();
  await eventually('it is gone', () => findProcess(home) === undefined);
  t.truthy(pid);
});
