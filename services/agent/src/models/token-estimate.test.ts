import test from 'ava';
import { estimateRequestTokens } from './token-estimate.ts';

test('the estimate covers system prompt and messages', (t) => {
  const messages = [
    { role: 'user' as const, text: 'abc' },
    { role: 'assistant' as const, text: 'defg' },
  ];
  t.is(estimateRequestTokens({ system: 'a', messages }), 2);
});
