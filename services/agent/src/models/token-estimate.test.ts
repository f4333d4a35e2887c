import test from 'ava';
import { countCharacters, estimateRequestTokens, estimateTokens } from './token-estimate.ts';

test('characters are code points, whatever a text holds', (t) => {
  for (const text of ['', 'abc', '👋', 'a👋b', '👩‍👩‍👧', '\ud83d', '\ude42', '\ud83d\ud83d\ude42', '你好', 'e\u0301']) {
    t.is(countCharacters(text), [...text].length, JSON.stringify(text));
  }
});

test('four characters are a token, and what is begun counts', (t) => {
  t.deepEqual(['', 'a', 'abcd', 'abcde', '👋👋👋👋'].map(estimateTokens), [0, 1, 1, 2, 1]);
  const messages = [
    { role: 'user' as const, text: 'abc' },
    { role: 'assistant' as const, text: 'defg' },
  ];
  t.is(estimateRequestTokens({ system: 'a', messages }), 2);
});
