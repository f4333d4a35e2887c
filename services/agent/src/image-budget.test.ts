import test from 'ava';
import { imageBudget } from './image-budget.ts';

const image = (bytes: number) => ['x'.repeat(bytes)];

test('a tenant holds a quarter, all tenants together the whole, until their calls end', (t) => {
  const budget = imageBudget(100);
  const refused = { message: /Too many images/ };
  const first = budget.hold(1, image(25));
  t.throws(() => budget.hold(1, image(1)), refused);
  for (const tenant of [2, 3, 4]) budget.hold(tenant, image(25));
  t.throws(() => budget.hold(5, image(1)), refused);
  t.notThrows(() => budget.hold(1), 'without an image nothing is held');
  first[Symbol.dispose]();
  t.notThrows(() => budget.hold(5, image(25)));
});
