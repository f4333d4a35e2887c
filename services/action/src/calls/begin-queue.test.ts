import { setImmediate as nextTick } from 'node:timers/promises';
import test from 'ava';
import { beginQueue } from './begin-queue.ts';

test('a queued transaction waits for at most one transaction of each other tenant', async (t) => {
  const queue = beginQueue();
  const order: number[] = [];
  const step = (tenantId: number) =>
    queue(tenantId, async () => {
      order.push(tenantId);
      await nextTick();
    });
  const tenants = [1, 2, 3, 4];
  const all = tenants.flatMap((tenantId) => Array.from({ length: 50 }, () => step(tenantId)));
  await Promise.all([...all, step(99)]);
  t.is(order.length, 201);
  t.true(order.indexOf(99) < 12, String(order.indexOf(99)));
});

test('a tenant leaves room for others, and failed work releases its slot', async (t) => {
  const queue = beginQueue();
  const held = Promise.withResolvers<void>();
  const own = [1, 1, 1, 1].map((tenantId) => queue(tenantId, () => held.promise));
  for (let each = 0; each < 5; each += 1) {
    await t.throwsAsync(queue(2, () => Promise.reject(new Error('the database is away'))));
  }
  const controller = new AbortController();
  const waiting = queue(1, async () => t.fail('it was given up'), controller.signal);
  controller.abort(new Error('aborted'));
  await t.throwsAsync(waiting, { message: 'aborted' });
  held.resolve();
  await t.notThrowsAsync(Promise.all(own));
});
