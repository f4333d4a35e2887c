import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { createLogger } from '../src/telemetry/log.ts';

/** A process that logs to a pipe and ends in the way that its argument selects. */
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

test('a process with a stalled log reader stops, although some lines are not written', async (t) => {
  const { child, ended } = loggingChild(t);
  child.send('logs much');
  await once(child, 'message');
  child.send('flushes');
  t.deepEqual(await ended, [3, null]);
});

test('a full disk does not end the process; once it has space, lines are written again and the lost ones counted', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'parley-log-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const file = join(folder, 'logs', 'parley.log');
  // A process may not make a file larger than its limit, which is 1,000 blocks here; an emptied file has space again.
  const limited = ['-c', 'ulimit -f 1000 && exec "$0" "$@"', process.execPath];
  const script = fileURLToPath(new URL('./logging-child.ts', import.meta.url));
  const child = spawn('sh', [...limited, script, file], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
  t.teardown(() => child.kill('SIGKILL'));
  if (!child.stderr) throw new Error('The child has no standard error to read');
  const reported = text(child.stderr);
  const ended = once(child, 'exit');
  child.send('logs much');
  t.deepEqual(await once(child, 'message'), ['still here', undefined]);
  const full = await readFile(file, 'utf8');
  await truncate(file);
  child.send('flushes');
  t.deepEqual(await ended, [3, null]);

  const written = full + (await readFile(file, 'utf8'));
  const lines: { n?: number; lines?: number; msg: string }[] = written
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const lost = lines.flatMap((line) => line.lines ?? []);
  t.is(lost.length, 1);
  t.is(lines.filter(({ n }) => n !== undefined).length + (lost[0] ?? 0), 4_000);
  t.deepEqual(
    lines.slice(-2).map(({ msg }) => msg),
    ['the last but one', 'the last'],
  );
  const [failing, working, ...more] = (await reported).trim().split('\n');
  t.regex(failing ?? '', /^Log lines cannot be written to \S+parley\.log: EFBIG/u);
  t.regex(working ?? '', /^Log lines are written to \S+parley\.log again; \d+ were lost\.$/u);
  t.deepEqual(more, []);
});

test('a log file that cannot be made is named with its setting', (t) => {
  for (const file of ['/proc/nowhere/folder/parley.log', '/dev/null/parley.log']) {
    t.throws(() => createLogger('test', { LOG_FILE: file }), { name: 'SettingsError', message: /LOG_FILE: E\w+: / });
  }
});
