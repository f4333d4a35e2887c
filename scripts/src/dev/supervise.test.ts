import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import test, { type ExecutionContext } from 'ava';
import { supervise } from './supervise.ts';

/** Code of a process that holds a lock while it runs, takes a moment to stop, and records what happens to it. */
const worker = (folder: string) => `
  import { appendFileSync, existsSync, rmSync, writeFileSync } from 'node:fs';
  const [lock, log] = ['lock', 'log'].map((name) => ${JSON.stringify(folder)} + '/' + name);
  if (existsSync(lock)) appendFileSync(log, 'two at once\\n');
  writeFileSync(lock, String(process.pid));
  appendFileSync(log, 'started\\n');
  let end = () => setTimeout(() => { appendFileSync(log, 'stopped\\n'); rmSync(lock); process.exit(0); }, 50);
  process.once('SIGTERM', () => end());
  process.once('disconnect', () => end());
`;

function supervised(t: ExecutionContext, { failing = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-dev-'));
  const [log, bad] = [join(folder, 'log'), join(folder, 'bad')];
  writeFileSync(log, '');
  if (failing) writeFileSync(bad, '');
  const said: string[] = [];
  const pending: string[] = [];
  const stopping = new AbortController();
  let wake = () => {};
  const script = `process.exit(require('fs').existsSync(${JSON.stringify(bad)}) ? 1 : 0)`;
  const code = supervise({
    args: ['--input-type=module', '-e', worker(folder)],
    steps: [{ name: 'compose', after: /\.graphql$/u, args: ['-e', script] }],
    changes: (async function* () {
      yield [];
      while (!stopping.signal.aborted) {
        if (pending.length > 0) yield pending.splice(0);
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    })(),
    say: (text) => said.push(text),
  });
  const stop = () => {
    stopping.abort();
    wake();
  };
  t.teardown(async () => {
    stop();
    await code;
    rmSync(folder, { recursive: true });
  });

  const lines = () => readFileSync(log, 'utf8').trim().split('\n').filter(Boolean);
  return {
    said,
    lines,
    code,
    bad,
    lock: join(folder, 'lock'),
    stop,
    change(...paths: string[]) {
      pending.push(...paths);
      wake();
    },
    starts: (count: number) =>
      eventually(`start ${count}`, () => lines().filter((line) => line === 'started').length === count),
    says: (pattern: RegExp) => eventually(String(pattern), () => said.some((line) => pattern.test(line))),
  };
}

test('a change restarts the process after the old one has exited', async (t) => {
  const dev = supervised(t);
  await dev.starts(1);
  dev.change('a.ts', 'b.ts');
  await dev.starts(2);

  t.deepEqual(dev.lines(), ['started', 'stopped', 'started']);
  t.deepEqual(dev.said, ['a.ts and 1 more changed, starting anew']);
});

test('a failed step leaves the old process running, and is repeated after the next change', async (t) => {
  const dev = supervised(t);
  await dev.starts(1);
  writeFileSync(dev.bad, '');
  dev.change('schema.graphql');
  await dev.says(/^compose failed; what runs goes on/u);
  dev.change('a.ts');
  await eventually('a second failure', () => dev.said.length === 2);
  t.deepEqual(dev.lines(), ['started']);

  rmSync(dev.bad);
  dev.change('a.ts');
  await dev.starts(2);
  t.deepEqual(dev.lines(), ['started', 'stopped', 'started']);
});

test('after a step that fails before the first start, the supervisor waits for a change', async (t) => {
  const dev = supervised(t, { failing: true });
  await dev.says(/^compose failed; what runs/u);
  t.deepEqual(dev.lines(), []);
  rmSync(dev.bad);
  dev.change('schema.graphql');
  await dev.starts(1);
});

test('a process that exits by itself is reported, and the next change restarts it', async (t) => {
  const dev = supervised(t);
  await dev.starts(1);
  process.kill(Number(readFileSync(dev.lock, 'utf8')), 'SIGKILL');
  await dev.says(/has ended \(SIGKILL\); waiting for a change/u);
  rmSync(dev.lock);
  dev.change('a.ts');
  await dev.starts(2);
  t.deepEqual(dev.lines(), ['started', 'started']);
});

test('the supervisor waits for the process to exit, and uses its exit code', async (t) => {
  const dev = supervised(t);
  await dev.starts(1);
  dev.stop();

  t.is(await dev.code, 0);
  t.deepEqual(dev.lines(), ['started', 'stopped']);
  t.false(existsSync(dev.lock));
});
