import test from 'ava';
import { lookUpQueue } from './look-up-queue.ts';

test('a tenant has one look-up at a time, two tenants have two, and others are served in between', async (t) => {
  const queue = lookUpQueue();
  const { signal } = new AbortController();
  let [running, peak] = [0, 0];
  const begun: number[] = [];
  const one = (tenantId: number) =>
    queue(
      tenantId,
      async () => {
        begun.push(tenantId);
        running += 1;
        peak = Math.max(peak, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
      signal,
    );
  await Promise.all([...Array.from({ length: 30 }, () => one(1)), one(2), one(3)]);
  t.is(peak, 2);
  t.true(begun.indexOf(2) < 3 && begun.indexOf(3) < 6, begun.join());
});
