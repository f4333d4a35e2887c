import { fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import test, { type ExecutionContext } from 'ava';

/** A process that logs to a pipe and ends as its argument says. */
function loggingChild(t: ExecutionContext) {
  const child = fork(new URL('./logging-child.ts', import.meta.url), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  t.teardown(() => child.kill('SIGKILL'));
  const { stdout } = child;
  if (!stdout) throw new Error('The child has no standard output to read');
  return { child, stdout, ended: once(child, 'exit') };
}

test('the log lines just before a kill are written', async (t) => {
  const { child, stdout, ended } = loggingChild(t);
  child.send('killed');
  const lines = (await text(stdout)).trim().split('\n');

  t.deepEqual(await ended, [null, 'SIGKILL']);
  t.deepEqual(
    lines.map((line) => JSON.parse(line).msg),
    ['the last but one', 'the last'],
  );
});

test('a process whose log reader has closed the pipe stops normally', async (t) => {
  const { child, stdout, ended } = loggingChild(t);
  stdout.destroy();
  await once(stdout, 'close');
  child.send('exits');

  t.deepEqual(await ended, [3, null]);
});

test('a process with a slow log reader continues, and logs how many lines it dropped', async (t) => {
  const { child, stdout, ended } = loggingChild(t);
  child.send('logs much');
  t.deepEqual(await once(child, 'message'), ['still here', undefined]);
  const read = text(stdout);
  child.send('logs much');
  await once(child, 'message');
  child.send('flushes');
  t.deepEqual(await ended, [3, null]);

  const lines: { n?: number; lines?: number; msg: string }[] = (await read)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const numbers = lines.flatMap(({ n }) => n ?? []);
  const lost = lines.flatMap((line) => line.lines ?? []);
  t.true(lost.length > 0 && numbers.length > 1_000);
  t.is(lines.length - lost.length + lost.reduce((sum, more) => sum + more, 0), 8_002);
  t.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  );
});

test('a process with a stalled log reader stops, although lines are left', async (t) => {
  const { child, ended } = loggingChild(t);
  child.send('logs much');
  await once(child, 'message');
  child.send('flushes');
  t.deepEqual(await ended, [3, null]);
});
