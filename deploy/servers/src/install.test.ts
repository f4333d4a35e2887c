import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '@parley/testing/eventually';
import test from 'ava';
import { exec, UnavailableError } from './exec.ts';
import { ensureInstalled, isInstalled, scriptFolder } from './install.ts';
import { fakeEngine } from './testing/fake-engine.ts';
import { emptyFolder, unabortedSignal } from './testing/folder.ts';

const silent = { signal: unabortedSignal, say: () => undefined };

test('a program is installed once, also by two calls at the same time, and nothing else is left', async (t) => {
  const tools = join(emptyFolder(t), 'tools');
  const engine = fakeEngine(emptyFolder(t), { install: 'date +%N >"$TARGET/made"; echo once >>../../runs' });
  t.false(isInstalled(engine, tools));
  await Promise.all([1, 2].map(() => ensureInstalled(engine, { tools, ...silent })));
  await ensureInstalled(engine, { tools, ...silent });
  t.true(isInstalled(engine, tools));
  t.is(readFileSync(join(tools, 'runs'), 'utf8'), 'once\n');
  t.deepEqual(readdirSync(tools).toSorted(), ['fake-1', 'fake-1.lock', 'runs']);
});

test('a failed install leaves nothing but its downloads; the next one has an empty target', async (t) => {
  const tools = emptyFolder(t);
  const folder = emptyFolder(t);
  const broken = fakeEngine(folder, { install: 'touch "$TARGET/half" download; echo the line is cut >&2; exit 1' });
  await t.throwsAsync(ensureInstalled(broken, { tools, ...silent }), { message: /ended with 1\nthe line is cut$/ });
  t.false(isInstalled(broken, tools));

  const whole = fakeEngine(folder, { install: 'ls >"$TARGET/found"; ls "$TARGET" >>"$TARGET/found"' });
  await ensureInstalled(whole, { tools, ...silent });
  t.is(readFileSync(join(tools, 'fake-1/found'), 'utf8'), 'download\nfound\n');
});

test('where a machine cannot install something, its reason is the error', async (t) => {
  const tools = emptyFolder(t);
  const engine = fakeEngine(emptyFolder(t), { install: "false || unavailable 'there is no forge'; touch made" });
  await t.throwsAsync(ensureInstalled(engine, { tools, ...silent }), {
    instanceOf: UnavailableError,
    message: 'there is no forge',
  });
  t.false(isInstalled(engine, tools));
});

test('an interrupted install leaves nothing, and the next one waits until all its processes have ended', async (t) => {
  const tools = emptyFolder(t);
  const folder = emptyFolder(t);
  const interruption = new AbortController();
  const slow = fakeEngine(folder, { install: 'sleep 300 & echo $! >pid.new; mv pid.new ../pid; wait' });
  const installing = ensureInstalled(slow, { tools, ...silent, signal: interruption.signal });
  const failed = t.throwsAsync(installing, { message: 'interrupted' });
  const file = join(tools, 'fake-1.building/pid');
  const pid = Number(await eventually('it has begun', () => existsSync(file) && readFileSync(file, 'utf8')));
  interruption.abort(new Error('interrupted'));
  await failed;
  t.false(isInstalled(slow, tools));

  let isDone = false;
  const next = ensureInstalled(fakeEngine(folder), { tools, ...silent }).then(() => (isDone = true));
  await t.throwsAsync(exec('flock', ['-n', join(tools, 'fake-1.lock'), 'true']));
  t.false(isDone);
  process.kill(pid);
  await next;
  t.true(isInstalled(slow, tools));
});

test('an install of Kafka goes on without the archive of its classes where its broker neither starts nor ends', async (t) => {
  const [programs, tools] = [emptyFolder(t), emptyFolder(t)];
  const pids = join(programs, 'pids');
  const program = (name: string, script: string) => {
    writeFileSync(join(programs, name), `#!/bin/sh\n${script}`);
    chmodSync(join(programs, name), 0o755);
  };
  program('mvn', '');
  program('sleep', ''); // replaces sleep, so that waiting for a minute takes no time
  program(
    'java',
    `case "$*" in
      *--version*) echo openjdk 17.0.1 ;;
      *StorageTool*) mkdir template ;;
      *) trap '' TERM; echo "$$" >>${pids}; exec /bin/sleep 300 ;;
    esac`,
  );
  t.teardown(() => {
    for (const pid of readFileSync(pids, 'utf8').trim().split('\n')) {
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {} // the process has ended, as expected
    }
  });
  const env = { ...process.env, PATH: `${programs}:${process.env.PATH}`, SCRIPTS: join(scriptFolder, 'kafka') };
  const target = join(tools, 'kafka-1');
  await exec('sh', [join(scriptFolder, 'install.sh'), target], { env, signal: AbortSignal.timeout(30_000) });
  t.deepEqual(readdirSync(target), ['template']);
  t.regex(readFileSync(pids, 'utf8'), /^\d+\n$/);
  await t.throwsAsync(async () => process.kill(Number(readFileSync(pids, 'utf8')), 0), { code: 'ESRCH' });
});

test('a command returns its output; the error of one that fails has the end of it', async (t) => {
  t.is(await exec('echo', ['hello']), 'hello\n');
  const failing = exec('sh', ['-c', 'seq 100; echo broken >&2; exit 7']);
  const { message } = (await t.throwsAsync(failing)) ?? { message: '' };
  t.regex(message, /^sh ended with 7\n/);
  t.regex(message, /broken$/);
  t.notRegex(message, /\n50\n/);
});
