import { fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';

/** A process that logs to a pipe, and ends as it is told to. */
function loggingChild(t: ExecutionContext) {
  const child = fork(new URL('./logging-child.ts', import.meta.url), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  t.teardown(() => child.kill('SIGKILL'));
  const { stdout } = child;
  if (!stdout) throw new Error('The child has no standard output to read');
  return { child, stdout, ended: once(child, 'exit') };
}

test('what a process logs just before it is killed is written', async (t) => {
  const { child, stdout, ended } = loggingChild(t);
  child.send('killed');
  const lines = (await text(stdout)).trim().split('\n');

  t.deepEqual(await ended, [null, 'SIGKILL']);
  t.deepEqual(
    lines.map((line) => JSON.parse(line).msg),
    ['the last but one', 'the last'],
  );
});

test('a process whose log nobody reads any more ends like any other', async (t) => {
  const { child, stdout, ended } = loggingChild(t);
  stdout.destroy();
  await once(stdout, 'close');
  child.send('exits');

  t.deepEqual(await ended, [3, null]);
});
