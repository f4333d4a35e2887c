import test from 'ava';
import { answerWriter, isLargerThan, JsonText } from './answer-size.ts';

test('an answer at the limit is written, and one byte more is refused with a reason', (t) => {
  const answer = { data: { a: 'ü'.repeat(50) } };
  const bytes = Buffer.byteLength(JSON.stringify(answer)) + 1;
  t.deepEqual(JSON.parse(answerWriter(bytes)(answer)), answer);
  t.like(JSON.parse(answerWriter(bytes - 1)(answer)), {
    errors: [{ extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' } }],
  });
});

test('a value that is already JSON is inserted unchanged, and its size counts', (t) => {
  const textOf = (json: string) => new JsonText(Buffer.from(json));
  const [one, two] = [textOf('[1,{"a":"ü"}]'), textOf('[2]')];
  const answer = { data: { a: { b: one, c: [two] }, d: 3 } };
  const written = '{"data":{"a":{"b":[1,{"a":"ü"}],"c":[[2]]},"d":3}}\n';
  const bytes = Buffer.byteLength(written);
  t.is(answerWriter(bytes)(answer, [one, two]).toString(), written);
  t.like(JSON.parse(answerWriter(bytes - 1)(answer, [one, two]).toString()), { errors: { length: 1 } });
  t.true(isLargerThan(textOf('x'.repeat(100)), 99));
  t.false(isLargerThan(textOf('x'.repeat(100)), 100));
});

test('the size of a plain value is exact', (t) => {
  const values = [{}, [], [[]], { '': 'b' }, { a: [true, 'text'], b: {}, c: undefined }, ['x', { y: 'z' }], 'text'];
  for (const value of values) {
    // The estimate counts one byte for each number, boolean or null. So it may be too low, but never too high.
    const bytes = JSON.stringify(value).replaceAll('true', '1').length;
    t.false(isLargerThan(value, bytes), JSON.stringify(value));
    t.true(isLargerThan(value, bytes - 1), JSON.stringify(value));
  }
});

test('a shared object counts in each place, and depth does not matter', (t) => {
  const shared = { persona: 'x'.repeat(20_000) };
  t.true(isLargerThan({ agents: Array.from({ length: 1_000_000 }, () => shared) }, 33_554_432));
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  t.true(isLargerThan(deep, 200_000));
  t.false(isLargerThan(deep, 200_001));
});
