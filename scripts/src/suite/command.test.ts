import test from 'ava';
import { type Command, run } from './command.ts';

const { signal } = new AbortController();
const node = (code: string, { timeoutMs = 30_000, ...rest }: Partial<Command> = {}) =>
  run({ command: process.execPath, args: ['--eval', code], cwd: import.meta.dirname, timeoutMs, signal, ...rest });

test('a successful command returns all its output', async (t) => {
  const { ok, output } = await node("console.log('out'); console.error('err')");
  t.true(ok);
  t.deepEqual(output.trim().split('\n').toSorted(), ['err', 'out']);
});

test('a command fails by its exit code, by a signal or if it does not exist', async (t) => {
  t.false((await node('process.exit(3)')).ok);
  t.false((await node("process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)")).ok);

  const absent = await run({ command: 'no-such-command', args: [], cwd: '.', timeoutMs: 1000, signal });
  t.false(absent.ok);
  t.regex(absent.output, /spawn no-such-command ENOENT/);
});

test('a command that hangs is killed, and the output contains the reason', async (t) => {
  const { ok, output } = await node("console.log('before'); setInterval(() => {}, 1000)", { timeoutMs: 1500 });
  t.false(ok);
  t.regex(output, /before\n\n.* did not end within 1\.5 s\n$/);
});

test('a command may extend its limit, which then starts anew after the extension', async (t) => {
  const { ok, output } = await node("process.send(''); setInterval(() => {}, 1000)", {
    timeoutMs: 1500,
    onMessage: (_, extend) => extend(1000),
  });
  t.false(ok);
  const [, seconds] = /did not end within (\S+) s/u.exec(output) ?? [];
  t.true(Number(seconds) > 2.5, output);
});

test('a command is killed when the run is interrupted, also before it starts', async (t) => {
  const cut = new AbortController();
  const hanging = node('setInterval(() => {}, 1000)', { signal: cut.signal });
  cut.abort(new Error('it was interrupted'));
  for (const { ok, output } of [await hanging, await node('', { signal: cut.signal })]) {
    t.false(ok);
    t.regex(output, /it was interrupted/);
  }
});

test('a command ends although a process that left its group keeps its output open', async (t) => {
  const cut = new AbortController();
  const left = Promise.withResolvers<number[]>();
  const ending = node(
    `const child = require('node:child_process').spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)'], {
      stdio: [0, 1, 2, 3], // 3 is the descriptor of the IPC channel
      detached: true,
    });
    child.on('spawn', () => process.send([process.pid, child.pid], () => process.exit()));`,
    { signal: cut.signal, onMessage: (pids) => left.resolve(pids as number[]) },
  );
  const [leader = 0, holder = 0] = await left.promise;
  t.teardown(() => process.kill(holder));
  await t.throwsAsync(async () => untilGone(leader), { code: 'ESRCH' });
  cut.abort(new Error('it was interrupted'));

  const { ok, output } = await ending;
  t.false(ok);
  t.regex(output, /it was interrupted/);
});

test('processes that a command leaves behind are killed', async (t) => {
  const { ok, output } = await node(`
    const child = require('node:child_process').spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], {
      stdio: 'inherit',
    });
    console.log(child.pid);
    child.on('spawn', () => process.exit());
  `);
  t.true(ok);
  await t.throwsAsync(async () => untilGone(Number(output)), { code: 'ESRCH' });
});

/** Waits until the process has ended: `kill` then throws ESRCH. Only the test's own timeout limits the wait. */
async function untilGone(pid: number): Promise<void> {
  for (;;) {
    process.kill(pid, 0);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
