import test from 'ava';
import { estimateTokens } from './token-estimate.ts';

test('four characters are a token, and a remainder counts as one', (t) => {
  t.deepEqual(
    ['', 'a', 'abcd', 'abcde', '👋👋👋👋'].map((text) => estimateTokens(text)),
    [0, 1, 1, 2, 1],
  );
});

test('texts of one request are rounded up together', (t) => {
  t.is(estimateTokens('a', 'abc', 'defg'), 2);
});
