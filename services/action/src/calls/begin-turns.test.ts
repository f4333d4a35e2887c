import { setImmediate as nextTick } from 'node:timers/promises';
import test from 'ava';
import { beginTurns } from './begin-turns.ts';

test("a stranger's transaction waits for one of each tenant, not for all that came before", async (t) => {
  const turns = beginTurns();
  const order: number[] = [];
  const step = (tenantId: number) =>
    turns(tenantId, async () => {
      order.push(tenantId);
      await nextTick();
    });
  const tenants = [1, 2, 3, 4];
  const all = tenants.flatMap((tenantId) => Array.from({ length: 50 }, () => step(tenantId)));
  await Promise.all([...all, step(99)]);
  t.is(order.length, 201);
  t.true(order.indexOf(99) < 12, String(order.indexOf(99)));
});

test('a tenant leaves room for others, and what fails gives its turn back', async (t) => {
  const turns = beginTurns();
  const held = Promise.withResolvers<void>();
  const own = [1, 1, 1, 1].map((tenantId) => turns(tenantId, () => held.promise));
  for (let each = 0; each < 5; each += 1) {
    await t.throwsAsync(turns(2, () => Promise.reject(new Error('the database is away'))));
  }
  const gone = new AbortController();
  const waiting = turns(1, async () => t.fail('it was given up'), gone.signal);
  gone.abort(new Error('left'));
  await t.throwsAsync(waiting, { message: 'left' });
  held.resolve();
  await t.notThrowsAsync(Promise.all(own));
});
