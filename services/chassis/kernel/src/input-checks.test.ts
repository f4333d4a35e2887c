import test from 'ava';
import { codePoints, isShapeless, storageProblem } from './input-checks.ts';

test('lengths count code points', (t) => {
  t.is(codePoints('👩‍🚀é'), 4);
  for (const text of ['', 'abc', '👋', 'a👋b', '👩‍👩‍👧', '\ud83d', '\ude42', '\ud83d\ud83d\ude42', '你好', 'e\u0301']) {
    t.is(codePoints(text), [...text].length, JSON.stringify(text));
  }
});

test('a text is shapeless if it has no visible characters', (t) => {
  const nothings = ['', ' \n', '\u0001', '\u00ad', '\u200b\u2060', '\u200e', '\ufe0f', '\u3164', '\u{e0041}'];
  const inkless = ['\u2800', '\ufff9', '\ufffc', '\u{13430}', '\u{16fe4}', '\u{1d159}'];
  for (const text of [...nothings, ...inkless]) {
    t.true(isShapeless(` ${text} ${text}`), JSON.stringify(text));
    t.false(isShapeless(`${text}.${text}`), JSON.stringify(text));
  }
  t.false(isShapeless('\u2803\u2800\u2801'));
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
