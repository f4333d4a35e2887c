import test from 'ava';
import { generationBudget, imageBudget, tenantBudget } from './tenant-budget.ts';

test('a tenant holds its share, all tenants together the whole, until their calls end', (t) => {
  const budget = tenantBudget({ max: 100, maxPerTenant: 25, refusal: 'Too many' });
  const refused = { message: 'Too many' };
  const first = budget.hold(1, 25);
  t.throws(() => budget.hold(1, 1), refused);
  for (const tenant of [2, 3, 4]) budget.hold(tenant, 25);
  t.throws(() => budget.hold(5, 1), refused);
  t.notThrows(() => budget.hold(1, 0), 'nothing is held');
  first[Symbol.dispose]();
  t.notThrows(() => budget.hold(5, 25));
});

for (const [what, budget, max, maxPerTenant] of [
  ['images of a process are 256 MiB at once', imageBudget, 256 * 1024 ** 2, 64 * 1024 ** 2],
  ['text generations of a process are 2,000 at once', generationBudget, 2_000, 100],
] as const) {
  test(`${what}, shared by tenants`, (t) => {
    const { hold } = budget();
    for (let tenant = 1; tenant <= max / maxPerTenant; tenant += 1) {
      hold(tenant, maxPerTenant);
      t.like(
        t.throws(() => hold(tenant, 1)),
        { kind: 'tooManyRequests' },
      );
    }
    t.throws(() => hold(0, 1), { message: /try again later$/u });
  });
}
