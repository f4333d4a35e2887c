import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { emptyFolder, never } from '@parley/servers/testing/folder';
import test from 'ava';
import { exclusively } from './lock.ts';

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
  const all = await Promise.allSettled([1, 2, 3].map(() => exclusively(file, never, work)));
  t.deepEqual(
    all.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  t.is(peak, 1);
});

test('who waits for a lock can stop waiting', async (t) => {
  const file = join(emptyFolder(t), 'lock');
  const stop = new AbortController();
  await exclusively(file, never, async () => {
    const second = exclusively(file, stop.signal, async () => t.fail());
    stop.abort(new Error('no longer wanted'));
    await t.throwsAsync(second, { message: 'no longer wanted' });
  });
});
