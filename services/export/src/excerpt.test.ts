import test from 'ava';
import { charactersOf, excerpt, halved } from './excerpt.ts';

const message = (text: string, n = 0) => ({ text, n });

function of(texts: string[], limits = { maxCharacters: 100, maxMessages: 10 }) {
  const collecting = excerpt<{ text: string; n: number }>(limits);
  texts.forEach((text, n) => {
    collecting.add(message(text, n));
  });
  const { first, leftOut, last } = collecting.excerpt();
  return { first: first.map(({ n }) => n), leftOut, last: last.map(({ n }) => n) };
}

test('a conversation within the limits is whole', (t) => {
  const { first, leftOut, last } = of(Array(10).fill('ab'));
  t.deepEqual([...first, ...last], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  t.is(leftOut, 0);
});

test('of a conversation with too many messages, the first and the last ones are kept', (t) => {
  t.deepEqual(of(Array(5_000).fill('a')), {
    first: [0, 1, 2, 3, 4],
    leftOut: 4_990,
    last: [4_995, 4_996, 4_997, 4_998, 4_999],
  });
});

test('of a conversation with too many characters, the first and the last messages are kept', (t) => {
  t.deepEqual(of(['x'.repeat(30), 'y'.repeat(30), 'z'.repeat(10), 'x'.repeat(45), 'a', 'b']), {
    first: [0],
    leftOut: 2,
    last: [3, 4, 5],
  });
});

test('a message longer than half of the limit is truncated and marked as such', (t) => {
  const collecting = excerpt<{ text: string }>({ maxCharacters: 100, maxMessages: 10 });
  collecting.add({ text: 'x'.repeat(1_000) });
  t.deepEqual(collecting.excerpt(), { first: [{ text: `${'x'.repeat(46)} […]` }], leftOut: 0, last: [] });
});

test('line ends count as full lines', (t) => {
  const collecting = excerpt<{ text: string }>({ maxCharacters: 1_000, maxMessages: 10 });
  collecting.add({ text: 'ab\n'.repeat(1_000) });
  t.deepEqual(collecting.excerpt().first, [{ text: 'ab\nab\nab\nab\nab\na […]' }]);
});

test('halving an excerpt keeps its beginning and end, and the earlier gap', (t) => {
  const texts = Array.from({ length: 100 }, () => 'x'.repeat(10));
  const collecting = excerpt<{ text: string; n: number }>({ maxCharacters: 400, maxMessages: 1_000 });
  texts.forEach((text, n) => {
    collecting.add(message(text, n));
  });
  const half = halved(collecting.excerpt());
  t.deepEqual(
    [half.first.map(({ n }) => n), half.last.map(({ n }) => n)],
    [Array.from({ length: 10 }, (_, n) => n), Array.from({ length: 10 }, (_, n) => 90 + n)],
  );
  t.is(half.leftOut, 80);
});

test('a message from before the gap of an excerpt never comes after it', (t) => {
  const half = halved({
    first: [message('a'.repeat(60), 0), message('b'.repeat(40), 1)],
    leftOut: 5,
    last: [message('c'.repeat(20), 7)],
  });
  t.deepEqual([half.first.map(({ n }) => n), half.leftOut, half.last.map(({ n }) => n)], [[0], 6, [7]]);
});

test('an excerpt of one long message is truncated', (t) => {
  const half = halved({ first: [message('x'.repeat(1_000))], leftOut: 0, last: [] });
  t.true(charactersOf([...half.first, ...half.last]) <= 500);
});
