import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyFolder, unabortedSignal } from '@parley/servers/testing/folder';
import test from 'ava';
import { exclusively } from './lock.ts';

test.serial('without flock, nothing runs without the lock', async (t) => {
  const path = process.env.PATH;
  process.env.PATH = emptyFolder(t);
  t.teardown(() => {
    process.env.PATH = path;
  });
  await t.throwsAsync(
    exclusively(join(emptyFolder(t), 'lock'), unabortedSignal, async () => t.fail()),
    { code: 'ENOENT' },
  );
});

test('work with the same lock runs one after the other, also after a failure', async (t) => {
  const file = join(emptyFolder(t), 'below', 'lock');
  let running = 0;
  let peak = 0;
  const work = async () => {
    running += 1;
    peak = Math.max(peak, running);
    await delay(20);
    running -= 1;
    throw new Error('failed');
  };
  const all = await Promise.allSettled([1, 2, 3].map(() => exclusively(file, unabortedSignal, work)));
  t.deepEqual(
    all.map((each) => 'reason' in each && each.reason.message),
    ['failed', 'failed', 'failed'],
  );
  t.is(peak, 1);
});

test('the lock is held until aborted work has cleaned up', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const stop = new AbortController();
  const steps: string[] = [];
  const begun = Promise.withResolvers<void>();
  const first = exclusively(file, stop.signal, async () => {
    begun.resolve();
    stop.abort(new Error('interrupted'));
    await delay(500); // cleanup
    steps.push('cleaned up');
  });
  await begun.promise;
  await Promise.all([first, exclusively(file, unabortedSignal, async () => steps.push('next'))]);
  t.deepEqual(steps, ['cleaned up', 'next']);
});

test('a process that waits for a lock can stop waiting', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const stop = new AbortController();
  await exclusively(file, unabortedSignal, async () => {
    const second = exclusively(file, stop.signal, async () => t.fail());
    stop.abort(new Error('no longer wanted'));
    await t.throwsAsync(second, { message: 'no longer wanted' });
  });
});

test('only the owner of a lock can open it', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  await exclusively(file, unabortedSignal, async () => t.is(statSync(file).mode & 0o777, 0o600));
});
