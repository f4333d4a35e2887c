import { setImmediate as nextTick } from 'node:timers/promises';
import test from 'ava';
import { largeWork, schemaBytes } from './large-work.ts';

const large = 1_000_000;

test('small work runs at once, even while large work is queued', async (t) => {
  const workOn = largeWork();
  const done: string[] = [];
  const slow = workOn(1, large, () => void done.push('large'));
  const small = workOn(1, 10, () => void done.push('small'));
  await Promise.all([slow, small]);
  t.deepEqual(done, ['small', 'large']);
});

test('large work runs one piece at a time, and other work runs in between', async (t) => {
  const workOn = largeWork();
  const done: string[] = [];
  const over = new AbortController();
  const pieces = [1, 2, 3].map((tenantId) => workOn(tenantId, large, () => void done.push('piece')));
  const others = (async () => {
    while (!over.signal.aborted) {
      done.push('other');
      await nextTick();
    }
  })();
  await Promise.all(pieces);
  over.abort();
  await others;
  t.notRegex(done.join(' '), /piece piece/u);
});

test('large work waits for at most one piece of another tenant, however many that tenant queued', async (t) => {
  const workOn = largeWork();
  const done: number[] = [];
  const pieces = Array.from({ length: 20 }, () => workOn(1, large, () => void done.push(1)));
  await workOn(2, large, () => void done.push(2));
  await Promise.all(pieces);
  t.true(done.indexOf(2) <= 1, `after ${done.indexOf(2)} of another tenant`);
});

test("work that throws is rejected, and the tenant's next piece runs", async (t) => {
  const workOn = largeWork();
  await t.throwsAsync(
    workOn(1, large, () => {
      throw new Error('broken');
    }),
    { message: 'broken' },
  );
  t.is(await workOn(1, large, () => 7), 7);
});

test('a schema is large if its text is long or it has many values', (t) => {
  t.is(schemaBytes(null), 0);
  t.is(schemaBytes({ type: 'object', properties: { a: { type: 'string' } } }), 0);
  t.true(schemaBytes({ description: 'x'.repeat(10_000) }) > large);
  t.true(schemaBytes({ enum: Array.from({ length: 1_000 }, (_, n) => n) }) > large);
});
