import test from 'ava';
import { checkPage, codePoints, inputChecks, whyUnstorable } from './input-checks.ts';

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
  for (const text of ['', 'abc', '👋', 'a👋b', '👩‍👩‍👧', '\ud83d', '\ude42', '\ud83d\ud83d\ude42', '你好', 'e\u0301']) {
    t.is(codePoints(text), [...text].length, JSON.stringify(text));
  }
  t.true(inputChecks().text('x', '🎉'.repeat(10), { max: 10 }));
  t.false(inputChecks().text('x', '🎉'.repeat(11), { max: 10 }));
});

test('unstorable strings are found inside JSON, keys included, however deep', (t) => {
  let deep: unknown = 'a\0';
  for (let depth = 0; depth < 50_000; depth += 1) deep = [deep];

  t.truthy(whyUnstorable(deep));
  t.truthy(whyUnstorable({ a: [{ '\udc00': 1 }] }));
  t.truthy(whyUnstorable({ a: [JSON.parse('1e999')] }));
  t.truthy(whyUnstorable(Number.NaN));
  t.is(whyUnstorable([1e308, -0, 0.1]), undefined);
  t.is(whyUnstorable({ a: ['👩‍🚀', 1, null, true, { b: 'c' }] }), undefined);
});

test('a page is at least one of something, from an id or from before all', (t) => {
  t.deepEqual(checkPage({}), { first: undefined, after: undefined });
  t.deepEqual(checkPage({ first: null, after: null }), { first: undefined, after: undefined });
  t.deepEqual(checkPage({ first: 1, after: 0 }), { first: 1, after: 0 });
  t.like(
    t.throws(() => checkPage({ first: 0, after: -1 })),
    { kind: 'invalid', fields: [{ path: 'first' }, { path: 'after' }] },
  );
});
