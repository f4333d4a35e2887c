import type { Spent } from '@parley/metering/ledger';
import { readPrices } from '@parley/metering/prices';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import { noUsage as noTurnUsage } from '@parley/protos/turn-usage';
import { estimateTokens } from '@parley/text/token-estimate';
import test from 'ava';
import { type ModelRequest, noUsage } from '../models/model.ts';
import { ModelError } from '../models/model-error.ts';
import type { ChosenModel } from '../models/models.ts';
import type { ChainEvent, ProviderChain } from '../models/provider-chain.ts';
import { countTokens, loadTokenizer } from '../models/token-counter.ts';
import { callCosts } from './call-cost.ts';
import { type CallOptions, meteredGenerate, meteredStream } from './metered-chain.ts';

const request: ModelRequest = { system: '', messages: [{ role: 'user', text: 'Hi' }] };
const account = { tenantId: 1, requestId: 'r', callId: 'c', operation: 'session' };
const thought = { tokensIn: 1_000, tokensCached: 0, tokensOut: 500, estimated: true };
const usage = { tokensIn: 100, tokensCached: 10, tokensOut: 20, estimated: false };

const modelOf = (modelId: string) =>
  ({
    providerId: 'P',
    modelId,
    maxOutputTokens: 10,
    contextTokens: 1_000,
    vision: false,
    offline: false,
  }) as ChosenModel;
/**
 * These models have no tokenizer. For other models, another test of the process may have loaded the tokenizer, and its counts would differ
 * from the estimates.
 */
const [first, second] = [modelOf('gemini-2.5-pro'), modelOf('gemini-2.5-flash')];

/** Returns the settlement that the ledger receives for a call whose chain yields these events. */
async function settledAfter(
  events: (ChainEvent | Error | { thought: string })[],
  ask: (...args: Parameters<typeof meteredStream>) => Promise<unknown> = meteredGenerate,
  asked = request,
) {
  const settled: object[] = [];
  const { prices } = readPrices(undefined);
  const metering = {
    meter: {
      open: () => ({
        reserve: async () => undefined,
        begin: async () => undefined,
        settle: async (spent: object) => void settled.push(spent),
      }),
    },
    costs: callCosts(prices),
    metrics: { spent: () => undefined },
  };
  const chain: ProviderChain = {
    first,
    candidates: [first, second].map((model) => ({ model, retries: 0 })),
    async *stream(_request, { beforeFirst, onThought }) {
      await beforeFirst?.();
      for (const event of events) {
        if (event instanceof Error) throw event;
        if ('thought' in event) onThought?.(event.thought);
        else yield event;
      }
    },
  };
  const { signal } = new AbortController();
  const answer = await ask(metering, chain, asked, { account, signal }).catch((error: unknown) => error);
  const costOf = (model: ChosenModel, of: typeof usage) => metering.costs.costOf(model, of).costUsdE8;
  return { answer, settled, costOf };
}

test('the cost of a call includes failed attempts, under the model that answered', async (t) => {
  const { answer, settled, costOf } = await settledAfter([
    { type: 'asked', model: first },
    { type: 'abandoned', model: first, usage: thought },
    { type: 'asked', model: second },
    { type: 'text', text: 'Hello' },
    { type: 'finish', model: second, finishReason: 'stop', ...usage },
  ]);
  const costUsdE8 = costOf(first, thought) + costOf(second, usage);
  const spent = {
    providerId: 'P',
    modelId: second.modelId,
    tokensIn: 1_100,
    tokensCached: 10,
    tokensOut: 520,
    costUsdE8,
  };
  t.deepEqual(settled, [{ ...spent, estimated: true, served: true }]);
  t.deepEqual(answer, { text: 'Hello', finishReason: 'stop', spent, estimated: true });
});

test('the context of an answer is the request that was answered, not those that failed before', async (t) => {
  const { answer } = await settledAfter(
    [
      { type: 'abandoned', model: first, usage: thought },
      { type: 'finish', model: second, finishReason: 'stop', ...usage },
    ],
    async (...args) => {
      let last: unknown;
      for await (const event of meteredStream(...args)) last = event;
      return last;
    },
  );
  t.like(answer, { usage: { contextTokens: 100, tokensIn: 1_100, modelId: second.modelId } });
});

/** Collects the usage that a stream reports, until its first text (where the reader stops) or its end. */
function usagesInto(usages: TurnUsage[], more: Partial<CallOptions> = {}): typeof meteredGenerate {
  return async (metering, chain, asked, options) => {
    for await (const event of meteredStream(metering, chain, asked, { ...options, ...more })) {
      usages.push(event.usage);
      if (event.type === 'text') break;
    }
    return { text: '', estimated: false, spent: {} as Spent };
  };
}

test('a caller that abandons a call after failed attempts gets their usage too', async (t) => {
  const usages: TurnUsage[] = [];
  const { settled, costOf } = await settledAfter(
    [
      { type: 'asked', model: first },
      { type: 'abandoned', model: first, usage: thought },
      { type: 'asked', model: second },
      { type: 'text', text: 'Hello' },
    ],
    usagesInto(usages),
  );
  const [asked, abandoned, again, answering] = usages;
  const contextTokens = asked?.contextTokens ?? 0;
  t.true(contextTokens > 0);
  t.like(asked, { tokensIn: contextTokens, tokensOut: 0, modelId: first.modelId });
  t.like(abandoned, { tokensIn: 1_000, tokensOut: 500, costUsdE8: costOf(first, thought), contextTokens: 0 });
  t.like(again, { tokensIn: 1_000 + contextTokens, tokensOut: 500, contextTokens, modelId: second.modelId });
  const { tokensIn, tokensOut, costUsdE8, modelId } = answering ?? noTurnUsage;
  t.is(tokensOut, 500 + estimateTokens('Hello'));
  t.like(settled, [{ tokensIn, tokensOut, costUsdE8, modelId }]);
});

test('a call that fails ends with its usage', async (t) => {
  const usages: TurnUsage[] = [];
  const { settled } = await settledAfter(
    [
      { type: 'asked', model: first },
      new ModelError('failed', { beforeFirstChunk: true, transient: false, usage: thought }),
    ],
    usagesInto(usages),
  );
  t.like(usages.at(-1), { tokensIn: 1_000, tokensOut: 500 });
  t.like(settled, [{ tokensIn: 1_000, tokensOut: 500, costUsdE8: usages.at(-1)?.costUsdE8 }]);
});

test('abandoning a call between two attempts settles the first one', async (t) => {
  const { settled, costOf } = await settledAfter([
    { type: 'asked', model: first },
    { type: 'abandoned', model: first, usage: thought },
    new Error('whoever asked has left'),
  ]);
  const { tokensIn, tokensOut } = thought;
  const spent = { modelId: first.modelId, tokensIn, tokensOut, costUsdE8: costOf(first, thought) };
  t.is(settled.length, 1);
  t.like(settled[0], { ...spent, estimated: true, served: false });
});

test('abandoning a call after an attempt that its provider does not charge settles nothing', async (t) => {
  const { settled } = await settledAfter([
    { type: 'asked', model: first },
    { type: 'abandoned', model: first, usage: noUsage },
    new Error('whoever asked has left'),
  ]);
  t.like(settled, [{ tokensIn: 0, tokensOut: 0, costUsdE8: 0n, estimated: false, served: false }]);
});

test('if all attempts fail, each is counted once', async (t) => {
  const abandoned: ChainEvent[] = [
    { type: 'asked', model: first },
    { type: 'abandoned', model: first, usage: thought },
  ];
  const failed = (of: typeof usage) => new ModelError('failed', { beforeFirstChunk: true, transient: true, usage: of });
  const two = await settledAfter([...abandoned, { type: 'asked', model: second }, failed(usage)]);
  t.like(two.settled, [{ tokensIn: 1_100, costUsdE8: two.costOf(first, thought) + two.costOf(second, usage) }]);
  // Here the second model is not asked, e.g. because its breaker is open, so the failure is the first model's.
  const one = await settledAfter([...abandoned, failed(thought)]);
  t.like(one.settled, [{ tokensIn: 1_000, tokensOut: 500, costUsdE8: one.costOf(first, thought) }]);
});

test('abandoning a call while the model thinks settles its thoughts, and not those of earlier attempts', async (t) => {
  const usages: TurnUsage[] = [];
  const { settled } = await settledAfter(
    [
      { type: 'asked', model: first },
      { thought: 'These are part of the usage of the attempt. ' },
      { type: 'abandoned', model: first, usage: thought },
      { type: 'asked', model: second },
      { thought: 'Which one ' },
      { thought: 'is it?' },
      { type: 'text', text: 'Hello' },
    ],
    usagesInto(usages, { reportsUsage: true }),
  );
  const written = estimateTokens('HelloWhich one is it?');
  t.like(settled, [{ tokensOut: thought.tokensOut + written, estimated: true, served: true }]);
  t.is(usages.at(-1)?.tokensOut, thought.tokensOut + written);
});

test('an abandoned call is counted by the tokenizer of its model, images included', async (t) => {
  await loadTokenizer('gpt-4o');
  const text = 'supercalifragilisticexpialidocious '.repeat(20);
  const image = 'data:image/png;base64,AAAA';
  const seeing = { ...modelOf('gpt-4o'), vision: true, maxOutputTokens: 1_000 };
  const { settled } = await settledAfter(
    [
      { type: 'asked', model: seeing },
      { type: 'text', text },
    ],
    async (...args) => {
      for await (const event of meteredStream(...args)) if (event.type === 'text') return;
    },
    { system: '', messages: [{ role: 'user', text }], images: [image] },
  );
  const tokens = await countTokens('gpt-4o', text);
  t.not(tokens, estimateTokens(text));
  t.like(settled, [{ tokensOut: tokens }]);
  t.is((settled[0] as { tokensIn: number }).tokensIn, tokens + 8 + 1_600);
});
