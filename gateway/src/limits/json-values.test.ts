import test from 'ava';
import { holdsMoreValues } from './json-values.ts';

const more = (json: string, max: number) => holdsMoreValues(Buffer.from(json), max);

test('lists, objects and their elements count', (t) => {
  t.false(more('[[1,2,3]]', 4));
  t.true(more('[[1,2,3]]', 3));
  t.true(more('[[[[', 3));
  t.false(more('"x"', 0));
});

test('members of objects count for more than elements', (t) => {
  t.false(more('{"a":1,"b":[]}', 7));
  t.true(more('{"a":1,"b":[]}', 6));
});

test('what stands in strings does not', (t) => {
  t.false(more(JSON.stringify('[,{'.repeat(1_000)), 0));
  t.false(more(JSON.stringify({ a: '"[,', b: '\\', c: '\\"{[,' }), 9));
  t.true(more(JSON.stringify({ a: '"[,', b: '\\', c: '\\"{[,' }), 6));
  t.true(more(String.raw`["\\",1,1]`, 2));
  t.false(more('"never ends [,', 0));
});

test('megabytes of brackets and of escapes are told in no time', (t) => {
  const started = performance.now();
  t.true(more('[],'.repeat(2_500_000), 100_000));
  t.false(more(JSON.stringify('"'.repeat(1_000_000)), 1));
  t.false(more(`"${'\\'.repeat(1_000_000)}`, 1));
  t.true(performance.now() - started < 500);
});
