import test from 'ava';
import { codePoints, inputChecks, whyUnstorable } from './input-checks.ts';

test('all that is wrong is told at once, with its path', (t) => {
  const check = inputChecks();
  t.true(check.text('name', 'Ada', { max: 3 }));
  t.false(check.text('title', '\u3000 ', { max: 3 }));
  t.false(check.text('body', 'a\0', { max: 3 }));
  check.optionalText('note', null, { max: 1 });
  check.optionalText('hint', '\ud800', { max: 1 });

  const error = t.throws(() => check.finish());
  t.like(error, {
    kind: 'invalid',
    fields: [
      { path: 'title', message: 'must not be blank' },
      { path: 'body', message: 'must not hold the character NUL' },
      { path: 'hint', message: 'must not hold half of a surrogate pair' },
    ],
  });
});

test('an input without a fault passes', (t) => {
  const check = inputChecks();
  check.text('name', 'Ada', { max: 3, min: 3 });
  t.notThrows(() => check.finish());
});

test('lengths count code points', (t) => {
  t.is(codePoints('👩‍🚀é'), 4);
  t.true(inputChecks().text('x', '🎉'.repeat(10), { max: 10 }));
  t.false(inputChecks().text('x', '🎉'.repeat(11), { max: 10 }));
});

test('unstorable strings are found inside JSON, keys included, however deep', (t) => {
  let deep: unknown = 'a\0';
  for (let depth = 0; depth < 50_000; depth += 1) deep = [deep];

  t.truthy(whyUnstorable(deep));
  t.truthy(whyUnstorable({ a: [{ '\udc00': 1 }] }));
  t.is(whyUnstorable({ a: ['👩‍🚀', 1, null, true, { b: 'c' }] }), undefined);
});
