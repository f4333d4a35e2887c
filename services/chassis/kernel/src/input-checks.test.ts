import test from 'ava';
import { codePoints, storageProblem } from './input-checks.ts';

test('lengths count code points', (t) => {
  t.is(codePoints('👩‍🚀é'), 4);
  for (const text of ['', 'abc', '👋', 'a👋b', '👩‍👩‍👧', '\ud83d', '\ude42', '\ud83d\ud83d\ude42', '你好', 'e\u0301']) {
    t.is(codePoints(text), [...text].length, JSON.stringify(text));
  }
});

test('unstorable strings are found inside JSON, keys included, however deep', (t) => {
  let deep: unknown = 'a\0';
  for (let depth = 0; depth < 50_000; depth += 1) deep = [deep];

  t.truthy(storageProblem(deep));
  t.truthy(storageProblem({ a: [{ '\udc00': 1 }] }));
  t.truthy(storageProblem({ a: [JSON.parse('1e999')] }));
  t.truthy(storageProblem(Number.NaN));
  t.is(storageProblem([1e308, -0, 0.1]), undefined);
  t.is(storageProblem({ a: ['👩‍🚀', 1, null, true, { b: 'c' }] }), undefined);
});
