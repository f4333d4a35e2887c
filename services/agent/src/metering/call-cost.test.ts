import { readPrices } from '@parley/metering/prices';
import { usualTokenBound } from '@parley/text/token-bound';
import test from 'ava';
import type { ModelRequest } from '../models/model.ts';
import type { ChosenModel } from '../models/models.ts';
import type { ProviderChain } from '../models/provider-chain.ts';
import { callCosts } from './call-cost.ts';

const costs = callCosts(readPrices(undefined).prices);

const modelOf = (modelId: string) => ({ providerId: 'P', modelId, maxOutputTokens: 100 }) as ChosenModel;

function chainOf(...modelIds: [string, ...string[]]): ProviderChain {
  const candidates = modelIds.map((modelId) => ({ model: modelOf(modelId), retries: 0 }));
  return {
    first: modelOf(modelIds[0]),
    candidates,
    stream() {
      throw new Error('it is only estimated');
    },
  };
}

const ask = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: '',
  messages: [{ role: 'user', text: 'Hi' }],
  ...more,
});

test('the reservation is the cost of the most expensive model of the chain, at any position', (t) => {
  const [cheap, dear] = [chainOf('gpt-4o-mini'), chainOf('gpt-4o')].map((chain) => costs.upperEstimate(chain, ask()));
  t.is(dear?.modelId, 'gpt-4o');
  t.true((dear?.costUsdE8 ?? 0n) > (cheap?.costUsdE8 ?? 0n));
  for (const chain of [chainOf('gpt-4o-mini', 'gpt-4o'), chainOf('gpt-4o', 'gpt-4o-mini')]) {
    t.deepEqual(costs.upperEstimate(chain, ask()), dear);
  }
  t.deepEqual(costs.upperEstimate(chainOf('unpriced', 'gpt-4o-mini'), ask()), cheap);
});

test('the reservation counts the system prompt, all messages, passages and images', (t) => {
  const reserved = (more: Partial<ModelRequest> = {}) => costs.upperEstimate(chainOf('gpt-4o'), ask(more));
  const { tokensIn, costUsdE8 } = reserved();
  t.is(tokensIn, usualTokenBound('Hi'));
  t.is(costUsdE8, costs.costOf(modelOf('gpt-4o'), { tokensIn, tokensCached: 0, tokensOut: 100 }).costUsdE8);

  const text = 'The quick brown fox jumps over the lazy dog.';
  const more = tokensIn + usualTokenBound(text);
  t.is(reserved({ system: text }).tokensIn, more);
  const messages = [...ask().messages, { role: 'assistant' as const, text }, ...ask().messages];
  t.is(reserved({ messages }).tokensIn, more + tokensIn);
  t.true(reserved({ passages: [{ documentName: 'd', heading: '', text }] }).tokensIn > more);
  const tools = [{ name: 'look_up', description: text, inputSchema: { type: 'object' } }];
  t.true(reserved({ tools }).tokensIn > more);
  const toolCalls = [{ callId: '1', name: 'look_up', arguments: { word: text } }];
  const results = [{ callId: '1', name: 'look_up', text, isError: false }];
  const exchange = [...ask().messages, { role: 'assistant' as const, text: '', toolCalls }];
  const called = reserved({ tools, messages: exchange }).tokensIn;
  t.true(called > reserved({ tools }).tokensIn + usualTokenBound(text));
  t.true(reserved({ tools, messages: [...exchange, { role: 'tool', results }] }).tokensIn > called);
  const images = ['data:image/png;base64,AAAA', 'data:image/png;base64,BBBB'];
  t.is(reserved({ images }).tokensIn, tokensIn + 2 * 2_000);
  t.true(reserved({ images }).costUsdE8 > costUsdE8);
});
