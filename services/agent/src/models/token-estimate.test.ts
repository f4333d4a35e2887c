import test from 'ava';
import { estimateRequestTokens } from './token-estimate.ts';

test('a request is as large as its instructions and its messages together', (t) => {
  const messages = [
    { role: 'user' as const, text: 'abc' },
    { role: 'assistant' as const, text: 'defg' },
  ];
  t.is(estimateRequestTokens({ system: 'a', messages }), 2);
});
