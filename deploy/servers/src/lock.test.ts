import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import test from 'ava';
import { withLock } from './lock.ts';
import { emptyFolder, never } from './testing/folder.ts';

const silent = () => undefined;

test('two pieces of work under one lock never overlap, and the second is told that it waits', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const events: string[] = [];
  const waits = Promise.withResolvers<void>();
  const first = withLock(file, { signal: never, waiting: silent }, async () => {
    events.push('first begins');
    const second = withLock(file, { signal: never, waiting: waits.resolve }, async () => events.push('second begins'));
    await waits.promise;
    events.push('first ends');
    return { second };
  });
  await (await first).second;
  t.deepEqual(events, ['first begins', 'first ends', 'second begins']);
});

test('work that fails gives the lock back', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const failing = withLock(file, { signal: never, waiting: silent }, () => Promise.reject(new Error('no luck')));
  await t.throwsAsync(failing, { message: 'no luck' });
  t.is(await withLock(file, { signal: never, waiting: silent }, async () => 'taken again'), 'taken again');
});

test('whoever waits can give up, and does none of the work', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const patience = new AbortController();
  await withLock(file, { signal: never, waiting: silent }, async () => {
    const waiting = () => patience.abort(new Error('enough'));
    const second = withLock(file, { signal: patience.signal, waiting }, async () => t.fail());
    await t.throwsAsync(second, { message: 'enough' });
  });
});

test('a holder that is killed leaves no lock behind', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const program = `
    import { withLock } from ${JSON.stringify(new URL('lock.ts', import.meta.url).href)};
    await withLock(${JSON.stringify(file)}, { signal: new AbortController().signal, waiting() {} }, async () => {
      console.log('held');
      await new Promise(() => setInterval(() => {}, 1000));
    });
  `;
  const holder = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  holder.kill('SIGKILL');
  t.is(await withLock(file, { signal: never, waiting: silent }, async () => 'taken'), 'taken');
});

test('a lock that cannot be made is an error that names it', async (t) => {
  const file = join(emptyFolder(t), 'absent/lock');
  await t.throwsAsync(
    withLock(file, { signal: never, waiting: silent }, async () => t.fail()),
    { message: `${file} cannot be locked` },
  );
});
