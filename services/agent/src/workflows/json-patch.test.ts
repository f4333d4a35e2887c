import test from 'ava';
import { applyPatch } from 'rfc6902';
import { jsonPatch } from './json-patch.ts';

function applied(from: unknown, to: unknown) {
  const holder = { value: structuredClone(from) };
  const patch = jsonPatch(from, to).map((each) => ({ ...each, path: `/value${each.path}` }));
  const failures = applyPatch(holder, patch as never).filter((result) => result !== null);
  return { value: holder.value, failures };
}

test('a patch turns one value into the other, whatever the keys are', (t) => {
  for (const [from, to] of [
    [{}, { a: 1 }],
    [{ a: [1, 2, 3] }, { a: [0, 1, 3] }],
    [{ 'a/b~c': 1, '': 2 }, { 'a/b~c': 2 }],
    [{ constructor: 1 }, { constructor: 2, toString: null }],
    [{ a: null }, { a: { b: [] } }],
    [[], {}],
    [{ a: '1' }, { a: 1 }],
  ] as [unknown, unknown][]) {
    t.deepEqual(applied(from, to), { value: to, failures: [] }, JSON.stringify([from, to]));
  }
  t.deepEqual(jsonPatch({ a: [{ b: 1 }] }, { a: [{ b: 1 }] }), []);
});

test('an element that is put into a list is one operation', (t) => {
  t.deepEqual(jsonPatch({ a: ['x', 'z'] }, { a: ['x', 'y', 'z'] }), [{ op: 'add', path: '/a/1', value: 'y' }]);
});

test('lists that would take long are replaced, within a bounded time', (t) => {
  const long = (salt: number) => Array.from({ length: 9_000 }, (_, n) => n * salt);
  t.deepEqual(jsonPatch({ a: long(1) }, { a: long(2) }), [{ op: 'replace', path: '/a', value: long(2) }]);

  // Many lists, each short enough for the shortest patch. Their elements differ only in their last value.
  const element = (salt: number) =>
    Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`k${n}`, n < 11 ? n : salt]));
  const many = (salt: number) =>
    Array.from({ length: 8 }, (_, list) => Array.from({ length: 190 }, (_, n) => element(salt + list * 1_000 + n)));
  const startedAt = process.threadCpuUsage().user;
  const [from, to] = [{ a: many(0) }, { a: many(7) }];
  t.deepEqual(applied(from, to).value, to);
  t.true((process.threadCpuUsage().user - startedAt) / 1_000 < 2_000);
});
