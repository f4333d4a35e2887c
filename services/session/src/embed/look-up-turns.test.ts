import test from 'ava';
import { lookUpTurns } from './look-up-turns.ts';

test('a tenant has one look-up at a time, two tenants have two, and others take turns', async (t) => {
  const inTurn = lookUpTurns();
  const { signal } = new AbortController();
  let [running, most] = [0, 0];
  const begun: number[] = [];
  const one = (tenantId: number) =>
    inTurn(
      tenantId,
      async () => {
        begun.push(tenantId);
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
      },
      signal,
    );
  await Promise.all([...Array.from({ length: 30 }, () => one(1)), one(2), one(3)]);
  t.is(most, 2);
  t.true(begun.indexOf(2) < 3 && begun.indexOf(3) < 6, begun.join());
});
