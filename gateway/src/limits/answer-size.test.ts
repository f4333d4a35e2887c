import test from 'ava';
import { answerWriter, isLargerThan } from './answer-size.ts';

test('an answer of the limit is written, one byte more is refused with its reason', (t) => {
  const answer = { data: { a: 'ü'.repeat(50) } };
  const bytes = Buffer.byteLength(JSON.stringify(answer)) + 1;
  t.deepEqual(JSON.parse(answerWriter(bytes)(answer)), answer);
  t.like(JSON.parse(answerWriter(bytes - 1)(answer)), {
    errors: [{ extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' } }],
  });
});

test('a size is told exactly for plain values, and never too high', (t) => {
  const values = [
    null,
    1,
    true,
    '',
    'abc',
    [],
    [1],
    [1, 'a', []],
    {},
    { a: 1 },
    { a: [{ b: 'x' }], c: undefined, d: null },
  ];
  for (const value of values) {
    const exact = JSON.stringify(value).length;
    t.false(isLargerThan(value, exact), JSON.stringify(value));
  }
  t.true(isLargerThan({ a: [{ b: 'x'.repeat(100) }] }, 100));
  t.true(
    isLargerThan(
      Array.from({ length: 100 }, () => 'x'),
      399,
    ),
  );
});

test('what many places share counts in each, and endless answers are told at once', (t) => {
  const shared = { text: 'x'.repeat(100_000) };
  const answer = { data: { sessions: Array.from({ length: 1_000_000 }, () => shared) } };
  const started = performance.now();
  t.true(isLargerThan(answer, 33_554_432));
  t.true(performance.now() - started < 250);
});
