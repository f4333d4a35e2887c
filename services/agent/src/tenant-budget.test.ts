import test from 'ava';
import { tenantBudget } from './tenant-budget.ts';

test('a tenant holds its share, all tenants together the whole, until their calls end', (t) => {
  const budget = tenantBudget({ most: 100, mostOfTenant: 25, refusal: 'Too many' });
  const refused = { message: 'Too many' };
  const first = budget.hold(1, 25);
  t.throws(() => budget.hold(1, 1), refused);
  for (const tenant of [2, 3, 4]) budget.hold(tenant, 25);
  t.throws(() => budget.hold(5, 1), refused);
  t.notThrows(() => budget.hold(1, 0), 'nothing is held');
  first[Symbol.dispose]();
  t.notThrows(() => budget.hold(5, 25));
});
