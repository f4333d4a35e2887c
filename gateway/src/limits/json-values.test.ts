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

test('the content of strings does not count', (t) => {
  t.false(more(JSON.stringify('[,{'.repeat(1_000)), 0));
  t.false(more(JSON.stringify({ a: '"[,', b: '\\', c: '\\"{[,' }), 9));
  t.true(more(JSON.stringify({ a: '"[,', b: '\\', c: '\\"{[,' }), 6));
  t.true(more(String.raw`["\\",1,1]`, 2));
  t.false(more('"never ends [,', 0));
});

test('counting values of megabytes of brackets and escapes takes about as long as reading them', (t) => {
  const brackets = `[${'[],'.repeat(2_500_000)}[]]`;
  const quotes = JSON.stringify('"'.repeat(1_000_000));
  const endless = `"${'\\'.repeat(1_000_000)}"`;
  const readMs = minMs(() => JSON.parse(quotes));
  for (const [json, max, isMore] of [
    [brackets, 100_000, true],
    [quotes, 1, false],
    [endless, 1, false],
  ] as const) {
    const body = Buffer.from(json);
    const ms = minMs(() => t.is(holdsMoreValues(body, max), isMore));
    t.true(ms < 5 * readMs, `${ms} ms, and ${readMs} ms to read as much`);
  }
});

/** The shortest duration of several runs, because other tests use the CPU too. */
function minMs(work: () => unknown): number {
  return Math.min(
    ...[1, 2, 3, 4, 5].map(() => {
      const started = performance.now();
      work();
      return performance.now() - started;
    }),
  );
}
